"""Points of the figures of a report: the certified bounds at each position, as stored in JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from hockeystick.plan.plan import Plan
from hockeystick.questions.partly_run import partly_run
from hockeystick.report.answer import finite_ends
from hockeystick.report.document.differences import TOLERANCE
from hockeystick.values.band import Band
from hockeystick.values.bounds import Answer
from hockeystick.values.domains import LEAST_DELTA, MOST_EPSILON

POINTS = 49  # points of a curve: enough to show its bends, a few kilobytes in the file
STEP_POINTS = 24  # points of the curve of epsilon over rounds; each point needs a separate query
RELATIVE_DELTA = 1e-3  # smallest delta of the curve, relative to the delta of the report
LEAST_RATE = 1e-4  # smallest false-positive rate of the curve of attacks
RATES = tuple(np.geomspace(LEAST_RATE, 1.0, POINTS).tolist())
"""False-positive rates of the curve of attacks."""

Points = list[dict[str, Any]]


def band_points(key: str, places: Iterable[float], band: Band) -> Points:
    """Return a row for each place: the place under ``key``, the bounds under ``lower`` and ``upper``."""
    ends = zip(places, band.lower, band.upper, strict=True)
    return [{key: float(at), "lower": float(low), "upper": float(high)} for at, low, high in ends]


def last_epsilon(plan: Plan, delta: float, headline: Answer) -> float:
    """Return the epsilon at which delta is a thousandth of ``delta``; if it is infinite, the epsilon at ``delta``."""
    reach = plan.epsilon(max(delta * RELATIVE_DELTA, LEAST_DELTA)).quoted
    return reach if math.isfinite(reach) else headline.quoted


def delta_points(plan: Plan, delta: float, headline: Answer, stated: float | None = None) -> Points:
    """Return points of delta as a function of epsilon; none if epsilon is infinite.

    The points begin at epsilon 0 and end where delta is a thousandth of the report's delta.

    Args:
        plan: the plan.
        delta: delta of the report.
        headline: epsilon at the report's delta.
        stated: last epsilon of the curve in a stored report. If it differs from the last epsilon found here by rounding
            only, it is used instead, so that both curves have points at the same places.

    Raises:
        UnsupportedError: no guarantee is proved for the plan.
    """
    reach = last_epsilon(plan, delta, headline)
    if not math.isfinite(reach):
        return []
    if stated is not None and math.isclose(stated, reach, rel_tol=TOLERANCE):
        reach = stated
    epsilons = np.linspace(0.0, min(reach, MOST_EPSILON) or 1.0, POINTS)
    if not plan.whole and plan.directions.known_from_below:
        return band_points("epsilon", epsilons, plan.profile().delta(epsilons))
    return [{"epsilon": float(at), **finite_ends(plan.delta(float(at)))} for at in epsilons[:: POINTS // STEP_POINTS]]


def steps_points(plan: Plan, delta: float) -> Points:
    """Return points of epsilon as a function of the number of rounds run, up to the whole plan.

    At each point, the same fraction of every kind of round is run, rounded up to whole rounds. There are no points for
    a plan with a single round. There are none either if the best of several runs is released, since nothing is then
    released before the end.
    """
    if plan.best_of is not None:
        return []
    by_steps = partly_run(plan, [number / STEP_POINTS for number in range(1, STEP_POINTS + 1)])
    if len(by_steps) < 2:
        return []
    return [{"rounds": steps, **finite_ends(each.epsilon(delta))} for steps, each in by_steps.items()]
