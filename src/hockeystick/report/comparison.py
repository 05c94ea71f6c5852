"""Every accountant on one plan, side by side: its number, guarantee and time, or the reason for its refusal."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hockeystick.accountants import ACCOUNTANTS, Accountant
from hockeystick.plan.plan import Plan, asked_delta
from hockeystick.report.answer import assumption_lines, caveats_json, ends_said, finite_ends, warning_lines
from hockeystick.report.kinds import Found
from hockeystick.report.rounding import exact
from hockeystick.report.tables import print_table
from hockeystick.values import domains
from hockeystick.values.bounds import Answer
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
        seconds: wall-clock time of the answer or refusal, which may use results cached by an earlier accountant.
        reason: reason for a refusal, an infinite end or a wide interval; ``None`` otherwise.
    """

    name: str
    answer: Answer | None
    seconds: float
    reason: str | None = None

    @property
    def log(self) -> Answer | None:
        """Logarithm of the answer, if it is a delta."""
        return getattr(self.answer, "log_delta", None)

    @property
    def guarantee(self) -> str | None:
        """Kind of guarantee of the answer, such as ``certified``; ``None`` if there is no answer."""
        return None if self.answer is None else self.answer.guarantee

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
    found = comparison_asked(plan, lambda text: None, delta, epsilon)
    return Entries(sorted_entries(found.result))


def comparison_asked(plan: Plan, say: Callable[[str], None], /, delta: Any = None, epsilon: Any = None) -> Found:
    """Answer ``hockeystick compare``, at a delta or at an epsilon."""
    if epsilon is not None and delta is not None:
        raise InvalidInputError("give delta to compare epsilons or epsilon to compare deltas; received both")
    if epsilon is None:
        quantity, given, at = "epsilon", "delta", domains.delta(delta)
    else:
        quantity, given, at = "delta", "epsilon", domains.epsilon(epsilon, "epsilon", "the target epsilon")
    entries = []
    for number, accountant in enumerate(ACCOUNTANTS.values(), start=1):
        say(f"{accountant.name} ({number} of {len(ACCOUNTANTS)})")
        entries.append(_entry(plan, quantity, at, accountant))
    return Found(
        entries,
        lambda: comparison_json(plan, quantity, {given: at}, entries),
        lambda: print_comparison(
            f"{quantity} at {given} = {exact(at)}",
            entries,
            [*assumption_lines(plan), *warning_lines(plan, _delta({given: at}, entries))],
        ),
    )


def _entry(plan: Plan, quantity: str, at: float, accountant: Accountant) -> Entry:
    """Result of one accountant, epsilon at a delta or delta at an epsilon, with the time it took."""
    answer: Answer | None = None
    start = time.perf_counter()
    try:
        if plan.whole:  # has its own route; the others refuse with its reason
            answer = getattr(plan, quantity)(at, accountant=accountant.name)
        else:
            answer = getattr(accountant, quantity)(plan.directions, at, None)
        reason = answer.reason
    except UnsupportedError as error:
        reason = str(error)
    return Entry(accountant.name, answer, time.perf_counter() - start, reason)


def sorted_entries(entries: Sequence[Entry]) -> list[Entry]:
    """Return the results sorted by guarantee, from the strongest, and then by number; refusals come last.

    The recommended accountant ``auto`` comes first among the results with its guarantee.
    """

    def key(entry: Entry) -> tuple[int, bool, float]:
        if entry.answer is None:
            return len(_ORDER), True, 0.0
        return _ORDER.index(entry.answer.guarantee), entry.name != _FIRST, entry.answer.quoted

    return sorted(entries, key=key)


def print_comparison(headline: str, entries: Sequence[Entry], caveats: Sequence[tuple[str, str]] = ()) -> None:
    """Print the numbers of all accountants in one table, then the reasons for missing ones and the caveats."""
    rows: list[Sequence[str]] = [("accountant", "guarantee", "lower", "estimate", "upper", "seconds")]
    remarks: list[tuple[str, str]] = []
    refused: list[tuple[str, str]] = []
    for entry in sorted_entries(entries):
        if entry.answer is not None:
            rows.append((entry.name, entry.answer.guarantee, *entry.cells, f"{entry.seconds:.3f}"))
        if entry.reason:
            (refused if entry.answer is None else remarks).append((entry.name, entry.reason))
    print_table(headline, rows, {0, 1}, [("Remarks", remarks), ("Not answered", refused)], caveats)


def _delta(at: Mapping[str, float], entries: Sequence[Entry]) -> float | None:
    """Return the delta of a comparison, which determines its warnings.

    It is the given delta, or else the delta that the first accountant in the sorted table found.
    """
    answers = [entry.answer.quoted for entry in sorted_entries(entries) if entry.answer is not None]
    return at.get("delta", answers[0] if answers else None)


def comparison_json(plan: Plan, quantity: str, at: Mapping[str, float], entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the object that ``hockeystick compare --json`` prints; infinite ends are ``None``, with a ``reason``."""
    rows = [
        {
            "name": entry.name,
            "guarantee": entry.guarantee,
            **({} if entry.answer is None else finite_ends(entry.answer)),
            **({} if entry.log is None else {"log_delta": finite_ends(entry.log)}),
            "seconds": entry.seconds,
            "reason": entry.reason,
        }
        for entry in sorted_entries(entries)
    ]
    caveats = caveats_json(plan, _delta(at, entries))
    return {"quantity": quantity, **at, "accountants": rows, **caveats}
