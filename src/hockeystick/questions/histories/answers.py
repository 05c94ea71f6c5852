"""One certified epsilon for each of many histories.

A history is a tuple of (noise multiplier, sample rate, steps), sorted, each pair of noise and rate once. Its plan is
that of Poisson-sampled Gaussian rounds in this order, unsampled ones at rate 1. Histories of sampled steps are answered
side by side by ``questions/many.py``, those with unsampled ones beside others one by one, and the bits of an answer do
not depend on the other histories, on their order or on how many there are: what is computed on many machines is what
one would say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import NO_SAMPLING, Round
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.questions.many import epsilons, side_by_side
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import HockeystickError, InvalidInputError

History = tuple[tuple[float, float, int], ...]
"""What a user took part in: (noise multiplier, sample rate, steps), sorted, each noise and rate once, steps above 0."""


def canonical(entries: Iterable[tuple[float, float, float]]) -> History:
    """The history of some entries: steps of one noise and rate added up, sorted, without what has no steps.

    >>> canonical([(2.0, 0.01, 100), (1.0, 0.01, 50), (2.0, 0.01, 20), (3.0, 1.0, 0)])
    ((1.0, 0.01, 50), (2.0, 0.01, 120))
    """
    steps: dict[tuple[float, float], int] = {}
    for noise, rate, count in entries:
        steps[noise, rate] = steps.get((noise, rate), 0) + int(count)
    return tuple((noise, rate, count) for (noise, rate), count in sorted(steps.items()) if count)


def plan_of(history: History, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> Plan:
    """The plan of a history.

    Raises:
        InvalidInputError: a number outside its domain: steps that come to more than 1e12, for one.

    >>> plan_of(((1.0, 0.01, 50), (2.0, 1.0, 3))).steps
    53
    """
    return Plan(
        [Round(Gaussian(noise), NO_SAMPLING if rate == 1 else Poisson(rate), steps) for noise, rate, steps in history],
        adjacency,
    )


@dataclass(frozen=True, slots=True)
class Answers:
    """What is known of each history.

    Attributes:
        lower, estimate, upper: certified ends of epsilon, and the guess between, shape (histories,); not a number
            where there is no answer.
        reasons: why an interval is wide, an end infinite, or an answer missing; ``None`` otherwise.
    """

    lower: npt.NDArray[np.float64]
    estimate: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    reasons: list[str | None]


def answers(
    histories: Sequence[History],
    delta: float,
    adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    gap: float | None = None,
    *,
    stop: bool = True,
) -> Answers:
    """The epsilon of each history at one delta.

    Args:
        histories: any number of them, equal or different.
        delta: for all of them.
        adjacency: neighbouring relation.
        gap: widest relative width wanted, as for :func:`hockeystick.epsilons`.
        stop: whether a history that has no answer stops all; else it has no numbers, and the reason.

    Raises:
        InvalidInputError: a delta, adjacency or gap outside its domain; a history with a number outside its domain,
            where that stops all.
        UnsupportedError: a history that ``plan.epsilon`` does not answer, likewise.

    >>> found = answers([((1.0, 0.01, 1000),), ()], 1e-5)
    >>> found.upper.round(4).tolist(), found.reasons
    ([1.8282, 0.0], [None, None])
    """
    delta = domains.delta(delta)
    epsilons([], delta, gap=gap)  # what is wrong with the question is no fault of a history
    Plan([], adjacency)
    many = len(histories)
    ends = np.full((3, many), np.nan)
    reasons: list[str | None] = [None] * many
    plans: dict[int, Plan] = {}
    for number, history in enumerate(histories):
        try:
            plans[number] = plan_of(history, adjacency)
        except InvalidInputError as error:
            if stop:
                raise
            reasons[number] = str(error)
    laid = {number: len(plan.rounds) <= 1 or side_by_side(plan) for number, plan in plans.items()}
    together = [number for number, is_laid in laid.items() if is_laid]
    apart = [[number] for number, is_laid in laid.items() if not is_laid]
    for group in ([together] if together else []) + apart:
        _ask(group, plans, delta, gap, ends, reasons, stop)
    return Answers(ends[0], ends[1], ends[2], reasons)


def _ask(
    group: list[int],
    plans: dict[int, Plan],
    delta: float,
    gap: float | None,
    ends: npt.NDArray[np.float64],
    reasons: list[str | None],
    stop: bool,
) -> None:
    """Put down the answers of a group, each by itself where one of them has none."""
    try:
        found = epsilons([plans[number] for number in group], delta, gap=gap)
    except HockeystickError as error:
        if len(group) > 1:
            for number in group:
                _ask([number], plans, delta, gap, ends, reasons, stop)
            return
        error.args = (str(error).removeprefix("plan 0: "), *error.args[1:])
        if stop:
            raise
        reasons[group[0]] = str(error)
        return
    ends[:, group] = found.lower, found.estimate, found.upper
    for number, reason in zip(group, found.reasons, strict=True):
        reasons[number] = reason


__all__ = ["Answers", "History", "answers", "canonical", "plan_of"]
