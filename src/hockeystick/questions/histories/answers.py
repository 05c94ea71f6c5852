"""One certified epsilon for each of many histories.

A history is a sorted tuple of (noise multiplier, sample rate, steps), with each pair of noise and rate once. Its plan
has Poisson-sampled Gaussian rounds in this order, unsampled at rate 1. ``questions/many.py`` answers all histories that
have sampled steps together; the other histories are answered one by one. An answer is bit-identical whatever the other
histories, their order and their number are, so many machines give the same answers as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from hockeystick.directions.certified import checked_gap
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import NO_SAMPLING, Round
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.questions.many import answered, ends_of, tried
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.band import PlanBand
from hockeystick.values.errors import HockeystickError

History = tuple[tuple[float, float, int], ...]
"""History of a user: (noise multiplier, sample rate, steps), sorted, each noise and rate once, steps above 0."""


def plan_of(history: History, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> Plan:
    """Return the plan of a history.

    Raises:
        InvalidInputError: a number is outside its domain, such as more than 1e12 steps in all.

    >>> plan_of(((1.0, 0.01, 50), (2.0, 1.0, 3))).steps
    53
    """
    return Plan(
        [Round(Gaussian(noise), NO_SAMPLING if rate == 1 else Poisson(rate), steps) for noise, rate, steps in history],
        adjacency,
    )


def answers(
    histories: Sequence[History],
    delta: float,
    adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    gap: float | None = None,
    *,
    stop: bool = True,
) -> PlanBand:
    """Return the epsilon of each history at one delta.

    Args:
        histories: any number of histories, equal or different.
        delta: delta of all histories.
        adjacency: neighbouring relation.
        gap: widest relative width wanted, as for :func:`hockeystick.epsilons`.
        stop: True if a history without an answer raises an error; otherwise it gets a reason in place of numbers.

    Returns:
        Certified ends and an estimate of each history, NaN if it has no answer, and the reason for a wide interval, an
        infinite end or a missing answer.

    Raises:
        InvalidInputError: delta, adjacency, gap or, with ``stop``, a number of a history is outside its domain.
        UnsupportedError: with ``stop``, ``plan.epsilon`` does not answer a history.

    >>> found = answers([((1.0, 0.01, 1000),), ()], 1e-5)
    >>> found.upper.round(4).tolist(), found.reasons
    ([1.8282, 0.0], (None, None))
    """
    delta, relation = domains.delta(delta), Adjacency.parse(adjacency)
    plans = [tried(partial(plan_of, history, relation)) for history in histories]
    ends = np.full((3, len(histories)), np.nan)
    reasons: list[str | None] = []
    for number, one in enumerate(answered(plans, "epsilon", [delta] * len(plans), checked_gap(gap))):
        if isinstance(one, HockeystickError):
            if stop:
                raise one
            reasons.append(str(one))
        else:
            ends[:, number] = ends_of(one)
            reasons.append(one.reason)
    return PlanBand(ends[0], ends[1], ends[2], "upper", reasons=tuple(reasons))
