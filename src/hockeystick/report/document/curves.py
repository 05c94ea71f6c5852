"""The points of the figures of a report: both certified ends at each place, as JSON has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hockeystick.numerics.work import one_call, part, short
from hockeystick.plan.plan import Plan
from hockeystick.questions.partly_run import partly_run
from hockeystick.report.answer import finite_ends
from hockeystick.values.bounds import Answer
from hockeystick.values.errors import HockeystickError

POINTS = 49  # places of a curve: its bends are seen, and its numbers take a few kilobytes
FEWER = 24  # numbers of rounds at which epsilon is computed, each a question of its own
BEYOND = 1e-3  # part of the delta in question to which the curve reaches, three decades below it
LEAST_RATE = 1e-4  # false-positive rate at which the curve of attacks begins

Points = list[dict[str, Any]]


def delta_points(plan: Plan, delta: float, headline: Answer) -> Points:
    """Delta from epsilon 0 to where it is a thousandth of the one in question; none where epsilon is infinite.

    Raises:
        UnsupportedError: a plan of which nothing is proven.
    """
    reach = plan.epsilon(max(delta * BEYOND, 1e-300)).quoted
    reach = reach if math.isfinite(reach) else headline.quoted
    if not math.isfinite(reach):
        return []
    epsilons = np.linspace(0.0, reach if reach > 0 else 1.0, POINTS)
    if not plan.whole and plan.known_from_below:
        band = plan.profile().delta(epsilons)
        return [
            {"epsilon": float(at), "lower": float(low), "upper": float(high)}
            for at, low, high in zip(epsilons, band.lower, band.upper, strict=True)
        ]
    return [{"epsilon": float(at), **finite_ends(plan.delta(float(at)))} for at in epsilons[:: POINTS // FEWER]]


def trade_off_points(plan: Plan) -> Points:
    """The largest true-positive rate of an attack at each false-positive rate; none where there are no error rates."""
    try:
        rates = np.geomspace(LEAST_RATE, 1.0, POINTS)
        band = plan.profile().tpr(rates)
    except HockeystickError:
        return []
    return [
        {"fpr": float(at), "lower": float(low), "upper": float(high)}
        for at, low, high in zip(rates, band.lower, band.upper, strict=True)
    ]


def steps_points(plan: Plan, delta: float) -> Points:
    """Epsilon after equal shares of every kind of round, rounded up, until all are run.

    None of a plan of one round, none where the best of several runs is released, as nothing is while they go on, and
    none where the work of one call is too little for all of them: a line whose points are not of one kind would show
    bends that are not there.
    """
    if plan.best_of is not None:
        return []
    by_steps = partly_run(plan, [number / FEWER for number in range(1, FEWER + 1)])
    if len(by_steps) < 2:
        return []
    found: Points = []
    with one_call(len(plan.kinds)):
        for number, (steps, each) in enumerate(by_steps.items()):
            with part(1 / (len(by_steps) - number)):
                found.append({"rounds": steps, **finite_ends(each.epsilon(delta))})
        return [] if short() else found
