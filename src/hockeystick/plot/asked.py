"""One accountant's answer at one point: its ends, its time, or the reason for its absence."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from hockeystick.plan.plan import Plan
from hockeystick.values.bounds import Answer, DeltaAnswer
from hockeystick.values.errors import UnsupportedError


@dataclass(frozen=True)
class Asked:
    """Answer of an accountant.

    Attributes:
        lower: lower end, or ``nan``.
        value: number to quote, an upper end or an estimate, or ``nan``.
        estimate: best estimate, or ``nan``.
        seconds: wall-clock time of the call.
        reason: reason for a missing or wide answer; empty otherwise.
    """

    lower: float
    value: float
    estimate: float
    seconds: float
    reason: str = ""


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
    ends = answer.ends
    estimate = ends.get("estimate", ends.get("value", math.nan))
    return Asked(ends.get("lower", math.nan), answer.quoted, estimate, seconds, answer.reason or "")
