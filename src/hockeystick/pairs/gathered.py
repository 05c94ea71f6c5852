"""Many kinds of rounds gathered into few, on either side of the truth.

The price of every engine grows with the number of different rounds. Where there are too many, those of a family with
parameters near one another are replaced by one: by one that *dominates* each of them for an upper bound, by one that
each of them dominates for a lower bound. A product of pairs is dominated by the product of pairs that dominate them
(Zhu, Dong, Wang 2022 [ZDW22], Theorem 10), at every epsilon, mass at infinite loss included.

Each family has parameters in which it is ordered. (P', Q') dominates (P, Q) if some kernel takes P' to P and Q' to Q:

- Laplace, by distance / scale: ``1 / (1 + b'^2 t^2) = 1 / (1 + b^2 t^2) * (r + (1 - r) / (1 + b'^2 t^2))`` with
  ``r = (b / b')^2``, so that noise of the larger scale b' is noise of the scale b, and nothing or more noise added;
- sampled Gaussians, by mu: independent normal noise is added; replacing a record likewise;
- epochs of random allocation, by mu: independent normal noise is added to every step;
- black boxes, by epsilon and delta: the worst pair of (epsilon', delta') dominates all that satisfy it, and a pair
  that is (epsilon, delta)-private is (epsilon', delta')-private for ``epsilon' >= epsilon, delta' >= delta``;
- sampling, by the rate: the kernel that keeps the outcome with probability ``q / q'``, and draws from O otherwise,
  takes ``(1 - q') O + q' W`` to ``(1 - q) O + q W`` and O to O. A kernel from one base pair to another does so with
  their mixtures. The pair of batches of a fixed size has the curve of a removed record for ``b >= 1``, and its mirror
  image below: the order of those is its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick import pairs  # those of families that are rare are imported when they are met
from hockeystick.pairs.base import DominatingPair
from hockeystick.pairs.composition import Composition, RenyiComposition
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]

MOST = 200  # kinds up to which all are composed as they are
TRIED = 1000  # kinds of which a contour, the engine that is least troubled by many, is tried all the same
KINDS = 32  # of what is gathered: both sides of two directions are composed
MIXTURES = 192  # where all are Gaussians, sampled or not, which a contour serves quickly
LEAST = 1e-300  # stands for smaller parameters where ratios are compared

Parameters = tuple[float, ...]
Made = Callable[[Parameters], DominatingPair]


class Family(NamedTuple):
    """An ordered family, and what makes a pair from its parameters, each of which is larger for a worse pair."""

    key: Hashable
    made: Made
    parameters: Parameters


@dataclass(frozen=True)
class Gathered:
    """Compositions on either side of the one that is meant; both are that one where it has few kinds.

    The two sides are made when they are asked for: where a contour serves all kinds nobody does.

    Attributes:
        exact: the one that is meant.
        many: whether it has so many kinds that they are gathered.
        curves: all rounds as they are known, where a pair stands in ``exact`` for those that have only a Renyi curve.
        moments: the Renyi curves of all rounds, where those of some may be below those of their pairs.
    """

    exact: Composition
    many: bool = False
    curves: RenyiComposition | None = None
    moments: RenyiComposition | None = None

    @cached_property
    def _sides(self) -> tuple[Composition, Composition]:
        return _gathered(self.exact, self.families) if self.many else (self.exact, self.exact)

    @cached_property
    def families(self) -> list[Family | None]:
        """Family in which each kind of rounds is gathered; ``None`` where no order is known."""
        return [_family(pair) for pair, _ in self.exact.rounds]

    @property
    def milder(self) -> Composition:
        """A composition that is dominated by the one that is meant."""
        return self._sides[0]

    @property
    def worse(self) -> Composition:
        """A composition that dominates the one that is meant."""
        return self._sides[1]

    @property
    def reason(self) -> str | None:
        """Why there are two; ``None`` where there is one."""
        if not self.many:
            return None
        return (
            f"{len(self.exact.rounds)} different rounds are too many to compose separately; they were merged into "
            f"{len(self.worse.rounds)} kinds that bound them from above and below"
        )

    @property
    def tried(self) -> bool:
        """True if a contour of all rounds should be tried."""
        return len(self.exact.rounds) <= TRIED or self.bundled

    @cached_property
    def bundled(self) -> bool:
        """True if a contour takes so many kinds as one factor that those beside it are few."""
        split = self.exact.bundle
        return split is not None and len(split[2]) <= MOST


def gathered(composition: Composition) -> Gathered:
    """The composition itself, or two of fewer kinds.

    Raises:
        NotApplicableError: too many kinds of a family of which no order is known.
    """
    one = Gathered(composition)
    if 2 * len(composition.rounds) <= MOST:
        return one
    kinds = len(composition.rounds)
    if kinds <= MOST:  # of boxes, which have twice as many atoms as others, fewer
        boxes = sum(isinstance(getattr(pair, "base", None), pairs.BlackBoxPair) for pair, _ in composition.rounds)
        if kinds + boxes <= MOST:
            return one
    one = Gathered(composition, many=True)
    if one.bundled:
        return one
    alone = one.families.count(None)
    if alone > MOST:
        raise NotApplicableError(
            f"the plan has {alone} different rounds that cannot be merged; at most {MOST} can be composed; give some "
            "of them equal parameters"
        )
    return one


def _gathered(composition: Composition, families: list[Family | None]) -> tuple[Composition, Composition]:
    """Compositions of few kinds: one that is dominated, and one that dominates."""
    boxes: dict[Hashable, list[tuple[Family, int]]] = defaultdict(list)
    milder: list[tuple[DominatingPair, int]] = []
    for family, (pair, count) in zip(families, composition.rounds, strict=True):
        if family is None:
            milder.append((pair, count))
        else:
            boxes[family.key].append((family, count))
    worse = list(milder)
    for made, low, high, count in _boxes(list(boxes.values())):
        milder.append((made(low), count))
        worse.append((made(high), count))
    return Composition(milder), Composition(worse)


def _family(pair: DominatingPair) -> Family | None:
    """The family of a pair; ``None`` where no order is known."""
    if isinstance(pair, _sampled()):  # which plans of many kinds are made of
        return _sampled_family(pair)
    if isinstance(pair, pairs.LaplacePair):
        distance = pair.distance
        return Family((pairs.LaplacePair, distance), lambda of: pairs.LaplacePair(distance, -of[0]), (-pair.scale,))
    if isinstance(pair, pairs.BlackBoxPair):
        return Family(pairs.BlackBoxPair, lambda of: pairs.BlackBoxPair(*of), (pair.epsilon, pair.delta))
    if isinstance(pair, GaussianPair):
        return Family(GaussianPair, lambda of: GaussianPair(*of), (pair.mu,))
    if isinstance(pair, pairs.PoissonSubstitutionPair):
        made: Made = lambda of: pairs.PoissonSubstitutionPair(*of)  # noqa: E731
        return Family(pairs.PoissonSubstitutionPair, made, (pair.mu, pair.rate))
    if isinstance(pair, pairs.AllocationPair):
        law, add = pair.law, pair.add
        key = (pairs.AllocationPair, replace(law, mu=1.0), add)
        return Family(key, lambda of: pairs.AllocationPair(replace(law, mu=of[0]), add), (law.mu,))
    return None


def _sampled_family(pair: PoissonRemovePair | PoissonAddPair | pairs.WithoutReplacementPair) -> Family | None:
    """The family of a pair sampled from a base pair: ordered by the rate, and by the order of the base."""
    base, kind = _family(pair.base), type(pair)
    if base is None:
        return None
    inner = base.made
    return Family((kind, base.key), lambda of: kind(inner(of[:-1]), of[-1]), (*base.parameters, pair.rate))


def _sampled() -> tuple[type[PoissonRemovePair], type[PoissonAddPair], type[pairs.WithoutReplacementPair]]:
    """Pairs sampled from a base pair at a rate, ordered by both."""
    return PoissonRemovePair, PoissonAddPair, pairs.WithoutReplacementPair


def _innermost(key: Hashable) -> Hashable:
    """Key of the family from which a sampled family is sampled."""
    return _innermost(key[1]) if isinstance(key, tuple) and key[0] in _sampled() else key


def _boxes(families: Sequence[list[tuple[Family, int]]]) -> list[tuple[Made, Parameters, Parameters, int]]:
    """The boxes of each family: least and most of each parameter, and the rounds within.

    The box in which the logarithms of parameters spread most, times its rounds, is cut in the middle of them, until
    there are enough of them.
    """
    import heapq  # late: few plans have so many kinds

    heap: list[tuple[float, int, int, Array, Array, Family]] = []
    number = 0

    def push(values: Array, counts: Array, family: Family) -> None:
        nonlocal number
        logs = np.log(np.maximum(np.abs(values), LEAST))
        spread = logs.max(axis=0) - logs.min(axis=0)
        axis = int(np.argmax(spread))
        number += 1
        heapq.heappush(heap, (-float(spread[axis] * counts.sum()), number, axis, values, counts, family))

    for items in families:
        values = np.array([family.parameters for family, _ in items])
        push(values, np.array([float(count) for _, count in items]), items[0][0])
    gaussian = all(_innermost(items[0][0].key) in (GaussianPair, pairs.PoissonSubstitutionPair) for items in families)
    while len(heap) < (MIXTURES if gaussian else KINDS) and heap[0][0] < 0:
        _, _, axis, values, counts, family = heapq.heappop(heap)
        logs = np.log(np.maximum(np.abs(values[:, axis]), LEAST))
        high = logs > 0.5 * (logs.min() + logs.max())
        for part in (high, ~high):
            push(values[part], counts[part], family)
    return [
        (
            family.made,
            tuple(values.min(axis=0).tolist()),
            tuple(values.max(axis=0).tolist()),
            sum(int(count) for count in counts.tolist()),
        )
        for _, _, _, values, counts, family in heap
    ]
