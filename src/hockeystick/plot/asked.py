"""One accountant asked at one place: its ends, how long it took, or why it has no answer."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from hockeystick.plan.plan import Plan
from hockeystick.plot.panel import Bracket, Line
from hockeystick.report.comparison import failure_of
from hockeystick.values.bounds import Answer, DeltaAnswer
from hockeystick.values.errors import HockeystickError, UnsupportedError


@dataclass(frozen=True)
class Asked:
    """What an accountant said.

    Attributes:
        lower: its lower end; ``nan`` where it has none.
        value: the number to quote: an upper end or an estimate; ``nan`` where it has none.
        estimate: its best guess; ``nan`` where it has none.
        seconds: time of the call, by the wall clock.
        reason: why there is no answer, or none better; empty otherwise.
        failed: whether it raised what no accountant should: a fault of this library.
    """

    lower: float
    value: float
    estimate: float
    seconds: float
    reason: str = ""
    failed: bool = False


def ask(plan: Plan, quantity: str, at: float, accountant: str = "auto", **options: float) -> Asked:
    """``plan.epsilon`` at a delta, or ``plan.delta`` at an epsilon; a method that cannot treat the plan has no answer.

    Args:
        plan: what was run.
        quantity: ``"epsilon"`` or ``"delta"``.
        at: the other one.
        accountant: its name.
        options: of the accountant.
    """
    start = time.perf_counter()
    try:
        asked = plan.epsilon if quantity == "epsilon" else plan.delta
        answer: Answer | DeltaAnswer = asked(at, accountant=accountant, gap=None, proof=False, **options)
    except UnsupportedError as error:
        return Asked(math.nan, math.nan, math.nan, time.perf_counter() - start, str(error))
    seconds = time.perf_counter() - start
    lower, estimate = _ends(answer)
    return Asked(lower, answer.quoted, estimate, seconds, answer.reason or "")


def ask_beside_others(plan: Plan, quantity: str, at: float, accountant: str) -> Asked:
    """:func:`ask`, where a fault of one accountant must not take the others' answers with it: it is said, not raised.

    Raises:
        HockeystickError: the question itself is wrong, for every accountant.
    """
    start = time.perf_counter()
    try:
        return ask(plan, quantity, at, accountant)
    except HockeystickError:
        raise
    except Exception as error:
        return Asked(math.nan, math.nan, math.nan, time.perf_counter() - start, failure_of(error), failed=True)


def _ends(answer: Answer | DeltaAnswer) -> tuple[float, float]:
    ends = answer.ends
    return ends.get("lower", math.nan), ends.get("estimate", ends.get("value", math.nan))


def line_of(label: str, x: Sequence[float], answers: Sequence[Asked], style: str = "") -> Line:
    """A method's answers as a line, with its lower ends where it has any."""
    two_sided = any(not math.isnan(answer.lower) for answer in answers)
    lower = [answer.lower for answer in answers] if two_sided else None
    values = [answer.value for answer in answers]
    failures = [answer.reason for answer in answers if answer.failed]
    if failures:
        note = f"at {len(failures)} of {len(answers)} places it {failures[0]}"
        return Line(label, x, values, lower, style, note, failed=True)
    return Line(label, x, values, lower, style)


def bracket_of(x: Sequence[float], answers: Sequence[Asked]) -> Bracket:
    """Certified answers as a bracket."""
    return Bracket(x, [answer.lower for answer in answers], [answer.value for answer in answers])
