"""Interrupted plans: the plan after a fraction of its rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hockeystick.plan.plan import Plan


def partly_run(plan: Plan, shares: Iterable[float]) -> dict[int, Plan]:
    """Return the plan after each fraction of its rounds, by number of steps.

    The fraction applies to each kind of rounds, and is rounded up to whole rounds.

    Args:
        plan: the plan.
        shares: ascending numbers above 0, at most 1; if several give the same number of steps, the last one counts.

    >>> from hockeystick import dp_sgd
    >>> list(partly_run(dp_sgd(1.0, 0.01, 10), [0.25, 0.26, 1.0]))
    [3, 10]
    """
    parts = (
        plan.with_rounds([item.changed(count=math.ceil(share * item.count)) for item in plan.rounds])
        for share in shares
    )
    return {part.steps: part for part in parts}
