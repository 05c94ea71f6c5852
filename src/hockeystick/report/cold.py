"""Slightly changed plans for which nothing is cached, so that timings measure the computation and not the cache."""

from __future__ import annotations

import itertools

from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import of_plan
from hockeystick.values.errors import InvalidInputError

STEP = 1e-6
"""Relative step of the noise, whose multiples are used in turn."""

_moves = itertools.count(1)


def cold(plan: Plan) -> Plan | None:
    """Return the plan with its noise changed slightly, each time by another amount.

    Intermediate results are cached by the parameters of a round, so that a repeated question is answered far faster,
    even by another accountant. The answers for the changed plan differ little and take the same work. The noise is
    increased; if it is already the largest allowed, it is decreased.

    Args:
        plan: any plan.

    Returns:
        The changed plan; ``None`` if no round has noise, or if one noise is the largest allowed and another the
        smallest.
    """
    try:
        _, build = of_plan(plan, "noise")
    except InvalidInputError:
        return None
    move = STEP * next(_moves)
    for factor in (1 + move, 1 / (1 + move)):
        try:
            return build(factor)
        except InvalidInputError:  # some noise is at the end of its domain
            continue
    return None
