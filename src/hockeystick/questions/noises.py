"""The noise multiplier with which each of many plans meets an epsilon, all searched side by side.

Every plan has its own search, which asks for epsilon at one noise after another. The questions of all searches are
answered together (``questions/many.py``), and a search depends on its own answers alone. It begins at the noise of the
Gaussian limit, in which the sum of the rounds has the law of one Gaussian release with parameter ``mu = q sqrt(T (e^(1
/ sigma^2) - 1))`` (Dong, Roth, Su 2022 [DRS22], Section 5). It continues by the secant method on the logarithms of
epsilon and noise, which are nearly linear in one another. The search only proposes values. The result is a noise whose
certified upper end meets the target, beside one within the tolerance whose certified lower end does not. If a search
ends otherwise, the plan is left to ``calibrate``, which handles one plan with more work.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from hockeystick.plan.plan import Plan
from hockeystick.questions.many import NOISES, Kind, epsilons_of_kinds, kind_of
from hockeystick.questions.search import CLOSE, FAR_SIDE, MARGIN
from hockeystick.questions.targets import NEXT_TO_0

STEPS = 12  # largest number of secant steps; five to eight suffice except for hard plans
LONGEST_STEP = 1.0  # longest step in the logarithm of the noise
SLOPE = -1.2  # initial slope of log epsilon by log noise, as in everyday plans
HALVINGS = 40  # halvings of the range of mu in the search of the Gaussian limit
MUS = (1e-4, 1e2)  # range of mu in that search
LARGEST_EPSILON = 500.0  # largest target: e^epsilon and its product with a tail are doubles


@dataclass(frozen=True, slots=True)
class Ends:
    """Certified ends of epsilon at one noise, the estimate between them, and the reason if they are wide."""

    lower: float
    estimate: float
    upper: float
    reason: str | None


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise multiplier that meets the target, and the epsilon of the plan with it, computed by the contour."""

    value: float
    achieved: Ends


Searching = Generator[float, Ends | None, Noise | None]


def noises(
    plans: Sequence[Plan],
    epsilon: Sequence[float],
    delta: Sequence[float],
    tolerance: float,
    gap: float | None = None,
) -> list[Noise | None]:
    """Return the smallest noise of each plan that meets its target, to the tolerance; ``None`` is left to
    ``calibrate``.

    Args:
        plans: any plans; those that the batch does not handle get ``None``.
        epsilon, delta: target of each.
        tolerance: relative tolerance of the noise.
        gap: widest relative width wanted of the intervals of epsilon.

    >>> from hockeystick import dp_sgd
    >>> found, other = noises([dp_sgd(1.0, 0.01, 10_000), dp_sgd(1.0, 1.0, 5)], [1.0, 1.0], [1e-6, 1e-6], 1e-6)
    >>> round(found.value, 4), found.achieved.upper <= 1.0, other
    (4.3021, True, None)
    """
    found: list[Noise | None] = [None] * len(plans)
    kinds: dict[int, Kind] = {}
    asking: dict[int, tuple[Searching, float]] = {}
    for number, (plan, limit, at) in enumerate(zip(plans, epsilon, delta, strict=True)):
        kind = kind_of(plan)
        if kind is None or not (NEXT_TO_0 <= limit <= LARGEST_EPSILON and 0 < at < 1):
            continue
        search = _search(_limiting(kind, limit, at), limit, tolerance)
        kinds[number], asking[number] = kind, (search, next(search))
    while asking:
        numbers = list(asking)
        asked = [Kind(noise, *kinds[number][1:]) for number, (_, noise) in asking.items()]
        answers = epsilons_of_kinds(asked, np.array([delta[number] for number in numbers]), gap)
        following = {}
        for at, number in enumerate(numbers):
            search, _ = asking[number]
            lower, middle, upper = answers.ends[:, at].tolist()
            ends = None if math.isnan(upper) else Ends(lower, middle, upper, answers.reasons[at])
            try:
                following[number] = search, search.send(ends)
            except StopIteration as end:
                found[number] = end.value
        asking = following
    return found


def _search(start: float, limit: float, tolerance: float) -> Searching:
    """Search that yields noises, receives epsilon or ``None``, and returns its result."""
    y, slope, before = math.log(start), SLOPE, 1.0
    last: tuple[float, float] | None = None
    for _ in range(STEPS):
        ends = yield math.exp(y)
        if ends is None or not ends.estimate > 0:
            return None
        excess = math.log(ends.estimate / limit)
        if last is not None:
            slope = (excess - last[1]) / (y - last[0])
        if not slope < 0:
            return None
        last = y, excess
        step = min(max(-excess / slope, -LONGEST_STEP), LONGEST_STEP)
        # the error of a secant step is about the product of the last two
        if abs(step) * before <= CLOSE * tolerance or y + step == y:
            break
        y, before = y + step, abs(step)
    else:
        return None
    value = math.exp(y + step + MARGIN * tolerance)
    met = yield value
    if met is None or met.upper > limit:
        return None
    beside = yield value * math.exp(-FAR_SIDE * tolerance)
    if beside is None or not beside.lower > limit:
        return None
    return Noise(value, met)


def _limiting(kind: Kind, epsilon: float, delta: float) -> float:
    """The noise at which the Gaussian limit has this epsilon, clipped to the range of the batch.

    >>> from hockeystick import Adjacency
    >>> round(_limiting(Kind(1.0, 0.01, 10_000, Adjacency.ADD_OR_REMOVE), 1.0, 1e-6), 1)
    4.3
    """
    low, high = map(math.log, MUS)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _gaussian_delta(math.exp(middle), epsilon) < delta else (low, middle)
    spread = (math.exp(low) / kind.rate) ** 2 / kind.rounds
    noise = 1 / math.sqrt(math.log1p(spread)) if spread > 0 else NOISES[1]
    return min(max(noise, NOISES[0]), NOISES[1])


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """Delta at an epsilon of one Gaussian release with parameter mu."""
    a, b = (epsilon / mu - mu / 2) / math.sqrt(2), (epsilon / mu + mu / 2) / math.sqrt(2)
    return 0.5 * (math.erfc(a) - math.exp(epsilon) * math.erfc(b))


__all__ = ["Ends", "Noise", "noises"]
