"""Which rounds of a composition a contour takes as one bundle, and the few kinds that steer it in their place.

Where to lay a contour is a guess, for which a few kinds stand in for many (:func:`stand_ins`): boxes of kinds near one
another, each replaced by its middle. The guess certifies nothing.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hockeystick.engines.contour.bundle import bundle_of
from hockeystick.engines.contour.path import upper
from hockeystick.numerics.arrays import Array
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.gathered import is_sampled_gaussian
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.transform import Transform

FEWEST = 12
"""Kinds from which on they are bundled: fewer are as quick one by one, and keep their kept paths."""

DISTANCES = (1e-3, 20.0)  # mu, one over the noise multiplier, between which nodes are few
LARGEST_RATE = 0.9  # beyond, a chord of the rounding errors is steep
MOST_ROUNDS = 10**8  # beyond, rounding is charged more exactly for each kind by itself
STAND_INS = 32  # kinds that steer, at most
NEAR = 1e-4  # spread, squared and by the share of the variance, up to which a box is not cut any more
STEEPEST = 600.0  # exponent that a double can hold

Rounds = tuple[tuple[DominatingPair, int], ...]
Kind = tuple[float, float, int]


class Bundled(NamedTuple):
    """A composition with one factor for many of its kinds.

    Attributes:
        transforms: the characteristic functions and counts; that of the bundle, the last, has the count 1.
        steering: a composition of few kinds with about the same cumulants.
    """

    transforms: list[tuple[Transform, int]]
    steering: Composition


def may_be_bundled(pair: DominatingPair) -> bool:
    """Whether it is a Poisson-sampled Gaussian of a size at which nodes are few."""
    if not is_sampled_gaussian(pair):
        return False
    mu, rate = pair.base.mu, pair.rate  # type: ignore[attr-defined]
    return bool(DISTANCES[0] <= mu <= DISTANCES[1] and rate <= LARGEST_RATE)


def bundled(rounds: Rounds) -> Bundled | None:
    """The composition with its sampled Gaussians bundled; ``None`` where these are few, or too many rounds.

    Those of the direction that has more kinds are bundled; all are of one direction but where somebody composes pairs
    of both.

    Raises:
        NotApplicableError: another pair has no characteristic function.
    """
    if len(rounds) < FEWEST:
        return None
    found: dict[bool, list[tuple[DominatingPair, int]]] = {False: [], True: []}
    for pair, count in rounds:
        if may_be_bundled(pair):
            found[isinstance(pair, PoissonAddPair)].append((pair, count))
    add = len(found[True]) > len(found[False])
    if len(found[add]) < FEWEST or sum(count for _, count in found[add]) > MOST_ROUNDS:
        return None
    some = {id(pair) for pair, _ in found[add]}
    others = [(pair, count) for pair, count in rounds if id(pair) not in some]
    kinds = [(pair.base.mu, pair.rate, count) for pair, count in found[add]]  # type: ignore[attr-defined]
    transforms: list[tuple[Transform, int]] = []
    for pair, count in others:
        transform = pair.transform
        if transform is None:
            return None  # which the engine refuses, with its name
        transforms.append((transform, count))
    made = PoissonAddPair if add else PoissonRemovePair
    few = [(made(GaussianPair(mu), rate), count) for mu, rate, count in stand_ins(kinds)]
    return Bundled([*transforms, (bundle_of(kinds, add), 1)], Composition([*others, *few]))


def bundled_moment(composition: Composition) -> Callable[[float], float] | None:
    """Upper bounds on K(t) of a composition whose kinds are bundled; ``None`` where they are not."""
    found = bundled(composition.rounds)
    if found is None:
        return None
    transforms = found.transforms
    return lambda t: upper(transforms, t)


def stand_ins(kinds: list[Kind], most: int = STAND_INS) -> list[Kind]:
    """A few kinds with about the cumulants of many: as many rounds, and the same ``sum k q^2 (e^(mu^2) - 1)``.

    The box in which parameters spread most, weighted by its part of that variance, is cut in its middle until none
    spreads much. Uncertified.
    """
    mu, rate, count = (np.array(column, dtype=np.float64) for column in zip(*kinds, strict=True))
    logs = np.log(np.stack([mu, rate]))
    grown = np.expm1(np.minimum(np.square(mu), STEEPEST))
    variance = count * np.square(rate) * grown
    whole = float(variance.sum())
    heap: list[tuple[float, int, int, Array]] = []

    def push(number: int, which: Array) -> None:
        here = logs[:, which]
        spread = here.max(axis=1) - here.min(axis=1)
        axis = int(np.argmax(spread))
        share = float(variance[which].sum()) / whole
        heapq.heappush(heap, (-share * float(spread[axis]) ** 2, number, axis, which))

    push(0, np.arange(len(mu)))
    number = 1
    while len(heap) < most and heap[0][0] < -NEAR:
        _, _, axis, which = heapq.heappop(heap)
        here = logs[axis, which]
        high = here > 0.5 * (float(here.min()) + float(here.max()))
        for side in (which[high], which[~high]):
            push(number, side)
            number += 1
    out = []
    for _, _, _, which in heap:
        weight = variance[which]
        part = float(weight.sum())
        middle = math.exp(float(weight @ logs[0, which]) / part)
        times = int(count[which].sum())
        of_one = part / (times * math.expm1(min(middle * middle, STEEPEST)))
        out.append((middle, min(math.sqrt(of_one), float(rate[which].max())), times))
    return out
