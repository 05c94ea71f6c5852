"""A plan of which nothing is kept yet: for the time of an answer, not of finding it again."""

from __future__ import annotations

import itertools

from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import of_plan
from hockeystick.values.errors import InvalidInputError

STEP = 1e-6
"""By what part of itself the noise is moved, once, twice, ... until :data:`MOST` and from the beginning again."""

MOST = 1000  # moves, after which the first comes again

_moves = itertools.cycle(range(1, MOST + 1))


def cold(plan: Plan) -> Plan | None:
    """A plan with its noise larger by some parts in a million, others than before; less, where it cannot be larger.

    Laws, moments and contours of rounds are kept by their parameters, so that a question that was asked before, by
    another accountant too, is answered in a fraction of its time. The answers of the moved plan differ in the sixth
    digit, and its work does not.

    Args:
        plan: any plan.

    Returns:
        The moved plan; ``None`` where no round has noise, as in plans of guarantees, and where one noise is the largest
        that may be and another one the smallest.
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
