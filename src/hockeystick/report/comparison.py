"""Every accountant on one plan, side by side: what each says, what kind of number that is, how long it took, or why it
has none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hockeystick.accountants import ACCOUNTANTS, Accountant
from hockeystick.numerics.rounding import SMALLEST_NORMAL
from hockeystick.plan.plan import Plan
from hockeystick.report.answer import assumption_lines, caveats_json, finite_ends, warning_lines
from hockeystick.report.cold import cold
from hockeystick.report.rounding import SHOWN_DIGITS, exp_down, exp_up, round_down, round_up
from hockeystick.values import domains
from hockeystick.values.bounds import Answer, DeltaAnswer
from hockeystick.values.domains import one_line
from hockeystick.values.errors import HockeystickError, InvalidInputError, UnsupportedError
from hockeystick.values.outward import html_table

ESTIMATED = "~"
"""What stands before a number that is on no known side of the truth."""

QUICK = 0.1
"""Seconds below which an answer is timed again, with noise that nothing is kept for."""

_ORDER = ("proved", "certified", "upper bound", "estimate")
"""Guarantees, those that say most first: the order of the table."""

_FIRST = "auto"  # the recommended one leads its kind


@dataclass(frozen=True, slots=True)
class Entry:
    """What one accountant says of a plan.

    Attributes:
        name: the accountant.
        answer: its number; ``None`` where it refuses the plan, or failed.
        seconds: wall-clock time of the answer or the refusal, with nothing kept from an accountant before.
        reason: why it refuses, why an end is infinite or the interval wider than asked, or how it failed; ``None``
            otherwise.
        log: for a delta, its logarithm.
        failed: whether it raised what no accountant should: a fault of this library, which somebody has to be told.
    """

    name: str
    answer: Answer | None
    seconds: float
    reason: str | None = None
    log: Answer | None = None
    failed: bool = False

    @property
    def guarantee(self) -> str | None:
        """The kind of number, ``None`` where there is none."""
        return None if self.answer is None else self.answer.guarantee

    @property
    def cells(self) -> tuple[str, str, str]:
        """Lower end, estimate and upper end as shown to people, empty where there is none; rounded outward."""
        if self.answer is None:
            return "", "", ""
        if self.log is not None and 0 < self.answer.quoted < SMALLEST_NORMAL:
            return _cells(self.log.ends, exp_down, exp_up)
        return _cells(self.answer.ends, round_down, round_up)


class Entries(tuple[Entry, ...]):
    """What all accountants say of a plan, in the order of the table, which notebooks show."""

    def __getitem__(self, key: Any) -> Any:
        """The row of an accountant by its name, or of a place by its number.

        Raises:
            KeyError: no accountant has that name.
        """
        if not isinstance(key, str):
            return super().__getitem__(key)
        for entry in self:
            if entry.name == key:
                return entry
        raise KeyError(f"no accountant is called {key!r}")

    def __str__(self) -> str:
        return "\n".join(f"{entry.name}: {entry.reason if entry.answer is None else entry.answer}" for entry in self)

    def _repr_html_(self) -> str:
        rows = [(entry.name, entry.guarantee or "no answer", *entry.cells, entry.reason or "") for entry in self]
        return html_table("All accountants", rows, ("accountant", "guarantee", "lower", "estimate", "upper", "reason"))


def compared(plan: Plan, delta: float | None, epsilon: float | None = None) -> Entries:
    """What every accountant says of a plan.

    Args:
        plan: what was run.
        delta: at which epsilons are compared; the plan's own by default.
        epsilon: at which deltas are compared, in place of that.

    Raises:
        InvalidInputError: both, no delta anywhere, or a value outside its domain.
    """
    if epsilon is not None and delta is not None:
        raise InvalidInputError("give delta, to compare epsilons, or epsilon, to compare deltas; received both")
    if epsilon is not None:
        at = domains.epsilon(epsilon, "epsilon", "the target epsilon")
        return Entries(sorted_entries([delta_entry(plan, at, each) for each in ACCOUNTANTS.values()]))
    target = plan.delta_target if delta is None else delta
    if target is None:
        raise InvalidInputError("no delta: the plan has no default target; pass delta", "delta")
    at = domains.open_probability(target, "delta", "the target delta")
    return Entries(sorted_entries([epsilon_entry(plan, at, each) for each in ACCOUNTANTS.values()]))


def epsilon_entry(plan: Plan, delta: float, accountant: Accountant) -> Entry:
    """What an accountant says of epsilon at delta."""

    def ask(plan: Plan) -> tuple[Answer, Answer | None]:
        if plan.whole:  # answered by its own route, which the others refuse in its words
            return plan.epsilon(delta, accountant=accountant.name), None
        return accountant.epsilon(plan.directions, delta, None), None

    return _timed(accountant.name, plan, ask)


def delta_entry(plan: Plan, epsilon: float, accountant: Accountant) -> Entry:
    """What an accountant says of delta at epsilon."""

    def ask(plan: Plan) -> tuple[DeltaAnswer, Answer]:
        if plan.whole:
            found = plan.delta(epsilon, accountant=accountant.name)
        else:
            found = accountant.delta(plan.directions, epsilon, None)
        return found, found.log_delta

    return _timed(accountant.name, plan, ask)


def sorted_entries(entries: Sequence[Entry]) -> list[Entry]:
    """Certified intervals first, then upper bounds, then estimates, each from the smallest; then those that refuse."""

    def key(entry: Entry) -> tuple[int, bool, float]:
        if entry.answer is None:
            return len(_ORDER), True, 0.0
        return _ORDER.index(entry.answer.guarantee), entry.name != _FIRST, entry.answer.quoted

    return sorted(entries, key=key)


def compared_delta(at: Mapping[str, float], entries: Sequence[Entry]) -> float | None:
    """The delta that a comparison is about: the one that is asked at, else the first answer, a certified one if any."""
    answers = [entry.answer.quoted for entry in sorted_entries(entries) if entry.answer is not None]
    return at.get("delta", answers[0] if answers else None)


def comparison_lines(plan: Plan, at: Mapping[str, float], entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """What stands under the table: what all the numbers assume, and what to mind."""
    return [*assumption_lines(plan), *warning_lines(plan, compared_delta(at, entries))]


def comparison_json(plan: Plan, quantity: str, at: Mapping[str, float], entries: Sequence[Entry]) -> dict[str, Any]:
    """The object that ``hockeystick compare --json`` prints; an infinite end is ``None``, and ``reason`` says why.

    A row has the key ``failed`` where the accountant raised something that it should not have.
    """
    rows = [
        {
            "name": entry.name,
            "guarantee": entry.guarantee,
            **({} if entry.answer is None else finite_ends(entry.answer)),
            **({} if entry.log is None else {"log_delta": finite_ends(entry.log)}),
            "seconds": entry.seconds,
            "reason": entry.reason,
            **({"failed": True} if entry.failed else {}),
        }
        for entry in sorted_entries(entries)
    ]
    caveats = caveats_json(plan, compared_delta(at, entries))
    return {"quantity": quantity, **at, "accountants": rows, **caveats}


def _cells(
    ends: Mapping[str, float], down: Callable[[float, int], str], up: Callable[[float, int], str]
) -> tuple[str, str, str]:
    guess = ends.get("estimate", ends.get("value"))
    mark = ESTIMATED if guess is not None and math.isfinite(guess) else ""
    return (
        down(ends["lower"], SHOWN_DIGITS) if "lower" in ends else "",
        mark + up(guess, SHOWN_DIGITS) if guess is not None else "",
        up(ends["upper"], SHOWN_DIGITS) if "upper" in ends else "",
    )


def failure_of(error: Exception) -> str:
    """How an accountant failed, in the words of the command line for all that is raised by mistake."""
    return f"failed: {type(error).__name__}: {one_line(str(error))}: please report"


def _timed(name: str, plan: Plan, ask: Callable[[Plan], tuple[Answer, Answer | None]]) -> Entry:
    """The answer, the refusal, or what was raised by mistake: an accountant's fault takes no other row with it.

    A fault is shown in its row and by the exit status of the command, so that it is not taken for a refusal. What was
    quick may have found something that another accountant had left; it is timed again with other noise.
    """
    start = time.perf_counter()
    try:
        answer, log = ask(plan)
        seconds = time.perf_counter() - start
        if seconds < QUICK:
            seconds = _cold_seconds(plan, ask, seconds)
    except UnsupportedError as error:
        return Entry(name, None, time.perf_counter() - start, str(error))
    except HockeystickError:  # the question itself is wrong, for every accountant
        raise
    except Exception as error:
        return Entry(name, None, time.perf_counter() - start, failure_of(error), failed=True)
    return Entry(name, answer, seconds, answer.reason, log)


def _cold_seconds(plan: Plan, ask: Callable[[Plan], tuple[Answer, Answer | None]], seconds: float) -> float:
    """How long the same question takes with other noise; as long as it took, where that has no answer."""
    other = cold(plan)
    if other is None:
        return seconds
    start = time.perf_counter()
    try:
        ask(other)
    except UnsupportedError:  # the plan is at an end of what the accountant treats
        return seconds
    return time.perf_counter() - start
