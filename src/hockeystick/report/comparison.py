"""Every accountant on one plan, side by side: its number, guarantee and time, or the reason for its refusal."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hockeystick.accountants import ACCOUNTANTS
from hockeystick.plan.plan import Plan, asked_delta
from hockeystick.report.answer import caveat_lines, caveats_json, ends_said, finite_ends
from hockeystick.report.kinds import Found
from hockeystick.report.rounding import exact
from hockeystick.report.tables import print_table
from hockeystick.values import domains
from hockeystick.values.bounds import Answer, DeltaAnswer
from hockeystick.values.errors import InvalidInputError, UnsupportedError

ESTIMATED = "~"
"""Mark before a number that is not a proved bound in either direction."""

_ORDER = ("proved", "certified", "upper bound", "estimate")
"""Guarantees from strongest to weakest, the order of the table."""

_FIRST = "auto"  # recommended accountant, first among those with its guarantee


@dataclass(frozen=True, slots=True)
class Entry:
    """Result of one accountant for a plan.

    Attributes:
        name: name of the accountant.
        answer: its bound or estimate; ``None`` if it refused the plan.
        seconds: wall-clock time of the answer or refusal; results that an earlier accountant cached shorten it.
        reason: reason for a refusal, an infinite end or a wide interval; ``None`` otherwise.
    """

    name: str
    answer: Answer | None
    seconds: float
    reason: str | None = None

    @property
    def cells(self) -> tuple[str, str, str]:
        """Lower end, estimate and upper end as text, rounded outward; empty where missing."""
        said = {} if self.answer is None else ends_said(self.answer)
        guess = said.get("estimate", said.get("value", ""))
        mark = ESTIMATED if guess and guess != "infinite" else ""
        return said.get("lower", ""), mark + guess, said.get("upper", "")


class Entries(tuple[Entry, ...]):
    """Results of all accountants in the order of the table."""

    def __getitem__(self, key: Any) -> Any:
        """Return the row with this name or index.

        Raises:
            KeyError: no accountant has this name.
        """
        if not isinstance(key, str):
            return super().__getitem__(key)
        for entry in self:
            if entry.name == key:
                return entry
        raise KeyError(f"there is no accountant {key!r}")

    def __str__(self) -> str:
        return "\n".join(f"{entry.name}: {entry.reason if entry.answer is None else entry.answer}" for entry in self)


def compared(plan: Plan, delta: float | None, epsilon: float | None = None) -> Entries:
    """Return the results of all accountants for a plan.

    Args:
        plan: the plan.
        delta: delta at which epsilons are compared; the plan's own by default.
        epsilon: epsilon at which deltas are compared instead.

    Raises:
        InvalidInputError: both are given, no delta is known, or a value is outside its domain.
    """
    if epsilon is None:
        delta = asked_delta(plan, delta)
    return Entries(comparison_asked(plan, lambda text: None, delta, epsilon).result)


def comparison_asked(plan: Plan, say: Callable[[str], None], /, delta: Any = None, epsilon: Any = None) -> Found:
    """Answer ``hockeystick compare``, at a delta or at an epsilon."""
    if epsilon is not None and delta is not None:
        raise InvalidInputError("give delta to compare epsilons or epsilon to compare deltas; received both")
    if epsilon is None:
        quantity, given, at = "epsilon", "delta", domains.delta(delta)
    else:
        quantity, given, at = "delta", "epsilon", domains.epsilon(epsilon, "epsilon", "the target epsilon")
    entries = []
    for number, accountant in enumerate(ACCOUNTANTS, start=1):
        say(f"{accountant} ({number} of {len(ACCOUNTANTS)})")
        entries.append(_entry(plan, quantity, at, accountant))
    entries.sort(key=_place)
    first = entries[0].answer
    warned = at if given == "delta" else None if first is None else first.quoted  # delta that determines the warnings
    headline = f"{quantity} at {given} = {exact(at)}"
    return Found(
        entries,
        lambda: {"quantity": quantity, given: at, "accountants": _rows(entries), **caveats_json(plan, warned)},
        lambda: print_comparison(headline, entries, caveat_lines(plan, warned)),
    )


def _entry(plan: Plan, quantity: str, at: float, accountant: str) -> Entry:
    """Result of one accountant, epsilon at a delta or delta at an epsilon, with the time it took."""
    answer: Answer | None = None
    start = time.perf_counter()
    try:
        answer = getattr(plan, quantity)(at, accountant=accountant)
        reason = answer.reason
    except UnsupportedError as error:
        reason = str(error)
    return Entry(accountant, answer, time.perf_counter() - start, reason)


def _place(entry: Entry) -> tuple[int, bool, float]:
    """Sort key of the table: by guarantee, from the strongest, and then by number; refusals come last.

    The recommended accountant ``auto`` comes first among the results with its guarantee.
    """
    if entry.answer is None:
        return len(_ORDER), True, 0.0
    return _ORDER.index(entry.answer.guarantee), entry.name != _FIRST, entry.answer.quoted


def print_comparison(headline: str, entries: Sequence[Entry], caveats: Sequence[tuple[str, str]] = ()) -> None:
    """Print the numbers of all accountants in one table, then the reasons for missing ones and the caveats."""
    rows: list[Sequence[str]] = [("accountant", "guarantee", "lower", "estimate", "upper", "seconds")]
    remarks: list[tuple[str, str]] = []
    refused: list[tuple[str, str]] = []
    for entry in entries:
        if entry.answer is not None:
            rows.append((entry.name, entry.answer.guarantee, *entry.cells, f"{entry.seconds:.3f}"))
        if entry.reason:
            (refused if entry.answer is None else remarks).append((entry.name, entry.reason))
    print_table(headline, rows, {0, 1}, [("Remarks", remarks), ("Not answered", refused)], caveats)


def _rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Rows of the JSON answer; an infinite end is ``None``, with a ``reason``."""
    rows = []
    for entry in entries:
        row: dict[str, Any] = {"name": entry.name, "guarantee": None}
        if entry.answer is not None:
            row |= {"guarantee": entry.answer.guarantee, **finite_ends(entry.answer)}
        if isinstance(entry.answer, DeltaAnswer):
            row["log_delta"] = finite_ends(entry.answer.log_delta)
        rows.append({**row, "seconds": entry.seconds, "reason": entry.reason})
    return rows
