"""One accountant's answer at one point: its ends, its time, or the reason for its absence."""

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
    """Answer of an accountant.

    Attributes:
        lower: lower end, or ``nan``.
        value: number to quote, an upper end or an estimate, or ``nan``.
        estimate: best estimate, or ``nan``.
        seconds: wall-clock time of the call.
        reason: reason for a missing or wide answer; empty otherwise.
        failed: True if it raised an unexpected exception, which is a bug of this library.
    """

    lower: float
    value: float
    estimate: float
    seconds: float
    reason: str = ""
    failed: bool = False


def ask(plan: Plan, quantity: str, at: float, accountant: str = "auto", **options: float) -> Asked:
    """Compute ``plan.epsilon`` at a delta, or ``plan.delta`` at an epsilon; an unsupported plan gives a reason instead.

    Args:
        plan: the plan.
        quantity: ``"epsilon"`` or ``"delta"``.
        at: the delta at which epsilon is computed, or the epsilon at which delta is.
        accountant: name of the accountant.
        options: options of the accountant.
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
    """Like :func:`ask`, but return an unexpected exception as a failed answer, so that other answers remain.

    Raises:
        HockeystickError: the question itself is invalid for every accountant.
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
    """Return a method's answers as a line, with its lower ends if it has any."""
    two_sided = any(not math.isnan(answer.lower) for answer in answers)
    lower = [answer.lower for answer in answers] if two_sided else None
    values = [answer.value for answer in answers]
    failures = [answer.reason for answer in answers if answer.failed]
    if failures:
        note = f"at {len(failures)} of {len(answers)} points it {failures[0]}"
        return Line(label, x, values, lower, style, note, failed=True)
    return Line(label, x, values, lower, style)


def bracket_of(x: Sequence[float], answers: Sequence[Asked]) -> Bracket:
    """Return certified answers as a bracket."""
    return Bracket(x, [answer.lower for answer in answers], [answer.value for answer in answers])
