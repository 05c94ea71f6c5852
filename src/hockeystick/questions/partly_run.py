"""A plan that was broken off: what has been run after a share of it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hockeystick.plan.plan import Plan


def partly_run(plan: Plan, shares: Iterable[float]) -> dict[int, Plan]:
    """The plan after each share of every kind of its rounds, rounded up, by the number of steps that this comes to.

    Args:
        plan: what is run.
        shares: numbers above 0, at most 1, ascending; of those that come to as many steps the last one counts.

    >>> from hockeystick import dp_sgd
    >>> list(partly_run(dp_sgd(1.0, 0.01, 10), [0.25, 0.26, 1.0]))
    [3, 10]
    """
    parts = (
        plan.with_rounds([item.changed(count=math.ceil(share * item.count)) for item in plan.rounds])
        for share in shares
    )
    return {part.steps: part for part in parts}
