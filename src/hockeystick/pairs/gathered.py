"""Replaces many kinds of rounds by few kinds, whose compositions bound the given composition from both sides.

The cost of every engine grows with the number of different rounds. If there are too many, rounds of one family with
similar parameters are replaced by rounds of a single kind. For an upper bound, this kind *dominates* each of the
rounds; for a lower bound, each of the rounds dominates it. A product of pairs is dominated by the product of pairs that
dominate them (Zhu, Dong, Wang 2022 [ZDW22], Theorem 10). This holds at every epsilon, also with mass at infinite loss.

A pair (P', Q') dominates (P, Q) if some Markov kernel takes P' to P and Q' to Q. Therefore the families are ordered by
their parameters:

- Laplace, by distance / scale: the characteristic functions satisfy ``1 / (1 + b'^2 t^2) = 1 / (1 + b^2 t^2) * (r + (1
  - r) / (1 + b'^2 t^2))`` with ``r = (b / b')^2``, so that noise of the larger scale b' is the sum of noise of scale b
  and, with probability 1 - r, independent noise of scale b';
- sampled Gaussians, by mu, also where a record is replaced: the kernel adds independent normal noise;
- epochs of random allocation, by mu: the kernel adds independent normal noise to every step;
- black boxes, by epsilon and delta: the pair of (epsilon', delta') dominates every (epsilon', delta')-private pair, and
  a pair that is (epsilon, delta)-private is (epsilon', delta')-private for ``epsilon' >= epsilon, delta' >= delta``;
- Poisson sampling of a base pair (W, O), by the rate: the kernel that keeps the outcome with probability ``q / q'``,
  and draws from O otherwise, takes ``(1 - q') O + q' W`` to ``(1 - q) O + q W`` and O to O. A kernel that takes one
  base pair to another also takes the sampled pair of the first base to the sampled pair of the second, at equal rates;
- sampling of batches of a fixed size: the curve at ``b = e^eps >= 1`` is that of Poisson sampling for a removed record,
  and the curve at b < 1 follows by exchanging P and Q. So these pairs have the order of pairs for a removed record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hockeystick import pairs  # modules of rare families are imported on first use
from hockeystick.numerics.rounding import SMALLEST_NORMAL
from hockeystick.pairs.base import Array, DominatingPair
from hockeystick.pairs.composition import Composition, RenyiComposition
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.values.errors import NotApplicableError

MOST = 200  # largest number of kinds of rounds that are composed without merging
TRIED = 2000  # largest number of kinds for which the contour engine is tried without merging: it takes some 5 s
KINDS = 32  # number of kinds after merging: four compositions are evaluated, two sides in each of two directions
MIXTURES = 192  # number of kinds after merging if some rounds are Gaussian, sampled or not: contours are quick then

Parameters = tuple[float, ...]
Made = Callable[[Parameters], DominatingPair]


class Family(NamedTuple):
    """A pair as a member of an ordered family: the pair with larger parameters dominates.

    Attributes:
        key: identifies the family.
        made: function that makes a pair of the family from its parameters.
        parameters: the parameters of this pair.
    """

    key: Hashable
    made: Made
    parameters: Parameters


@dataclass(frozen=True)
class Gathered:
    """A composition, and two compositions of fewer kinds of rounds that bound it from both sides.

    All three are equal if the given composition has few kinds of rounds. The bounding compositions are built on first
    use, as an engine that handles all kinds does not need them.

    Attributes:
        exact: the given composition.
        many: True if ``exact`` has so many kinds of rounds that they are merged into fewer.
        curves: all rounds as they were before a pair replaced those with only a Renyi curve; ``None`` if none was
            replaced.
        moments: the Renyi curves of all rounds, if some may be lower than the curves of the pairs in ``exact``; else
            ``None``.
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
        """The ordered family that each kind of round belongs to; ``None`` for a kind without a known order."""
        return [_family(pair) for pair, _ in self.exact.rounds]

    @property
    def milder(self) -> Composition:
        """A composition that ``exact`` dominates, for lower bounds."""
        return self._sides[0]

    @property
    def worse(self) -> Composition:
        """A composition that dominates ``exact``, for upper bounds."""
        return self._sides[1]

    @property
    def reason(self) -> str | None:
        """Sentence that tells the user why ``milder`` and ``worse`` differ; ``None`` if they are equal."""
        if not self.many:
            return None
        return (
            f"{len(self.exact.rounds)} different rounds are too many to compose separately; they were merged into "
            f"{len(self.worse.rounds)} kinds that bound them from above and below"
        )

    @property
    def tried(self) -> bool:
        """True if the contour engine should first be tried on all kinds of rounds, without merging."""
        return len(self.exact.rounds) <= TRIED


def gathered(composition: Composition) -> Gathered:
    """Return bounds on a composition: the composition itself, or two compositions with fewer kinds of rounds.

    Raises:
        NotApplicableError: too many kinds of rounds belong to no ordered family.
    """
    one = Gathered(composition)
    if 2 * len(composition.rounds) <= MOST:
        return one
    kinds = len(composition.rounds)
    if kinds <= MOST:  # fewer if some are sampled black boxes, which have twice as many atoms as others
        boxes = sum(isinstance(getattr(pair, "base", None), pairs.BlackBoxPair) for pair, _ in composition.rounds)
        if kinds + boxes <= MOST:
            return one
    one = Gathered(composition, many=True)
    alone = one.families.count(None)
    if alone > MOST:
        raise NotApplicableError(
            f"the plan has {alone} different rounds that cannot be merged; at most {MOST} can be composed; give some "
            "of them equal parameters"
        )
    return one


def _gathered(composition: Composition, families: list[Family | None]) -> tuple[Composition, Composition]:
    """Return two compositions of few kinds: the first is dominated by ``composition``, the second dominates it."""
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
    """Return the ordered family that a pair belongs to, with its parameters; ``None`` if no order is known."""
    if isinstance(pair, _sampled()):  # the usual families in plans of many kinds
        return _sampled_family(pair)
    if isinstance(pair, pairs.LaplacePair):
        distance = pair.distance
        return Family((pairs.LaplacePair, distance), lambda of: pairs.LaplacePair(distance, -of[0]), (-pair.scale,))
    if isinstance(pair, pairs.BlackBoxPair | GaussianPair | pairs.PoissonSubstitutionPair):  # worse with each field
        kind = type(pair)
        return Family(kind, lambda of: kind(*of), astuple(pair))
    if isinstance(pair, pairs.AllocationPair):
        law, add = pair.law, pair.add
        key = (pairs.AllocationPair, replace(law, mu=1.0), add)
        return Family(key, lambda of: pairs.AllocationPair(replace(law, mu=of[0]), add), (law.mu,))
    return None


def _sampled_family(pair: PoissonRemovePair | PoissonAddPair | pairs.WithoutReplacementPair) -> Family | None:
    """Return the family of a sampled pair, ordered by the parameters of its base pair and by the sampling rate."""
    base, kind = _family(pair.base), type(pair)
    if base is None:
        return None
    inner = base.made
    return Family((kind, base.key), lambda of: kind(inner(of[:-1]), of[-1]), (*base.parameters, pair.rate))


def _sampled() -> tuple[type[PoissonRemovePair], type[PoissonAddPair], type[pairs.WithoutReplacementPair]]:
    """Return the classes of sampled pairs that are ordered by the parameters of the base pair and the sampling rate."""
    return PoissonRemovePair, PoissonAddPair, pairs.WithoutReplacementPair


def _innermost(key: Hashable) -> Hashable:
    """Return the key of the unsampled family at the base of a sampled family."""
    return _innermost(key[1]) if isinstance(key, tuple) and key[0] in _sampled() else key


def _boxes(families: Sequence[list[tuple[Family, int]]]) -> list[tuple[Made, Parameters, Parameters, int]]:
    """Return boxes in parameter space that contain all pairs of each family.

    A box is (constructor, least value of each parameter, largest value of each parameter, number of rounds within). The
    spread of a parameter is the difference of the logarithms of its largest and its least value. The spread of a box is
    that of its widest parameter. Each step takes the box with the largest product of spread and number of rounds, and
    halves it along its widest parameter.
    """
    import heapq  # late: few plans have so many kinds

    heap: list[tuple[float, int, int, Array, Array, Family]] = []
    number = 0

    def push(values: Array, counts: Array, family: Family) -> None:
        nonlocal number
        logs = np.log(np.maximum(np.abs(values), SMALLEST_NORMAL))
        spread = logs.max(axis=0) - logs.min(axis=0)
        axis = int(np.argmax(spread))
        number += 1
        heapq.heappush(heap, (-float(spread[axis] * counts.sum()), number, axis, values, counts, family))

    for items in families:
        values = np.array([family.parameters for family, _ in items])
        push(values, np.array([float(count) for _, count in items]), items[0][0])
    gaussian = any(_innermost(items[0][0].key) in (GaussianPair, pairs.PoissonSubstitutionPair) for items in families)
    while len(heap) < (MIXTURES if gaussian else KINDS) and heap[0][0] < 0:
        _, _, axis, values, counts, family = heapq.heappop(heap)
        logs = np.log(np.maximum(np.abs(values[:, axis]), SMALLEST_NORMAL))
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
