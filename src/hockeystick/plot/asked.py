"""Answer of one accountant at one point: its bounds and its running time, or the reason why there is no answer."""

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
        lower: lower bound; ``nan`` if there is none.
        value: number to quote: an upper bound, or an estimate if there is none; ``nan`` without an answer.
        estimate: best estimate; ``nan`` if there is none.
        seconds: processor time of the call.
        reason: reason for a missing answer or a wide interval; empty otherwise.
    """

    lower: float
    value: float
    estimate: float
    seconds: float
    reason: str = ""


def ask(plan: Plan, quantity: str, at: float, accountant: str = "auto", **options: float) -> Asked:
    """Return an accountant's answer for a plan's epsilon or delta; for an unsupported plan, the answer has the reason.

    Args:
        plan: the plan.
        quantity: ``"epsilon"`` or ``"delta"``.
        at: the delta at which epsilon is computed, or the epsilon at which delta is.
        accountant: name of the accountant.
        options: options of the accountant.
    """
    start = time.process_time()
    try:
        asked = plan.epsilon if quantity == "epsilon" else plan.delta
        answer: Answer | DeltaAnswer = asked(at, accountant=accountant, proof=False, **options)
    except UnsupportedError as error:
        return Asked(math.nan, math.nan, math.nan, time.process_time() - start, str(error))
    seconds = time.process_time() - start
    ends = answer.ends
    estimate = ends.get("estimate", ends.get("value", math.nan))
    return Asked(ends.get("lower", math.nan), answer.quoted, estimate, seconds, answer.reason or "")
