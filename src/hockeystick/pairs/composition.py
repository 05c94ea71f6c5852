"""The rounds of a plan in one direction, as dominating pairs or Renyi curves with their counts.

The product of the pairs of several mechanisms dominates their composition (Zhu, Dong, Wang 2022 [ZDW22], Theorem 10).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from hockeystick.numerics.rounding import TINY, next_down, next_up
from hockeystick.pairs.base import DominatingPair, RenyiCurve

if TYPE_CHECKING:
    from fractions import Fraction

    from hockeystick.pairs.lattice import Lattice

MOST_BITS = 8192  # most bits of a denominator: enough for the exact sum of a hundred decimals of 17 digits
FINEST = 1 << 1200  # denominator of sums that need more bits: they are rounded in steps below the smallest double
SPARE = 1 + 2.0**-50  # factor that covers the four roundings of each term in a sum of positive numbers
RELATIVE = 2e-12  # relative error of the mass at infinity: roundings of log1p, expm1 and a logarithm of up to 745


def _merged(rounds: Iterable[tuple[RenyiCurve, int]]) -> Iterable[tuple[RenyiCurve, int]]:
    """Yield each curve once, in order of first appearance, with the sum of its counts."""
    places: dict[RenyiCurve, int] = {}  # index of each curve in ``counts``; each hash is computed once
    counts: list[int] = []
    for curve, count in rounds:
        place = places.setdefault(curve, len(counts))
        if place == len(counts):
            counts.append(count)
        else:
            counts[place] += count
    return zip(places, counts, strict=True)


class RenyiComposition:
    """A composition of rounds in one direction with known Renyi curves.

    The curve of the composition is the sum of those curves (Mironov 2017 [Mir17], Proposition 1).

    Args:
        rounds: (curve, count) tuples with counts >= 0. Products are replaced by their factors, equal curves are merged,
            and curves of a class closed under composition are folded into one.
    """

    rounds: tuple[tuple[RenyiCurve, int], ...]

    def __init__(self, rounds: Iterable[tuple[RenyiCurve, int]]) -> None:
        parts = [
            (curve, count * times) for whole, times in rounds if times for curve, count in whole.factors or [(whole, 1)]
        ]
        if len(parts) == 1:  # as in most plans; avoids hashing the curve
            self.rounds = tuple(type(parts[0][0]).fold(parts))
            return
        families: dict[type[RenyiCurve], list[tuple[RenyiCurve, int]]] = defaultdict(list)
        for curve, count in _merged(parts):
            families[type(curve)].append((curve, count))
        self.rounds = tuple(item for family, items in families.items() for item in family.fold(items))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RenyiComposition) and self.rounds == other.rounds

    __hash__ = None  # type: ignore[assignment]  # compared, never kept in a set

    @cached_property
    def count(self) -> int:
        """Number of rounds in ``rounds``; rounds that were folded into one count once."""
        return sum(count for _, count in self.rounds)

    @cached_property
    def supremum(self) -> tuple[Fraction, Fraction]:
        """Lower and upper bound on the largest finite loss; to be used only if the losses are bounded above.

        The two bounds are equal if every pair has an exact supremum and the exact sum has few enough digits. A sum of
        more digits is rounded outward.
        """
        from fractions import Fraction  # late, as below: no loss of the common plan is bounded

        low = high = Fraction(0)
        for pair, count in self.rounds:
            exact = pair.exact_supremum
            if exact is None:
                value = Fraction(pair.loss_range[1])
                slack = Fraction(pair.supremum_error)
                low, high = low + count * (value - slack), high + count * (value + slack)
            else:
                low, high = low + count * exact, high + count * exact
            if max(low.denominator.bit_length(), high.denominator.bit_length()) > MOST_BITS:
                low = Fraction(math.floor(low * FINEST), FINEST)
                high = Fraction(math.ceil(high * FINEST), FINEST)
        return low, high

    @cached_property
    def bounded(self) -> bool:
        """True if the finite losses are bounded above."""
        return all(pair.loss_range[1] < math.inf for pair, _ in self.rounds)

    def variation(self, most: float) -> float:
        """Upper bound on the total variation distance of the two product laws; infinite if the bound exceeds ``most``.

        The bound is the sum of the distances of all rounds. It holds because replacing P by Q in one round moves the
        product law by at most the distance of that round.
        """
        distance = 0.0
        for pair, count in self.rounds:
            distance = (distance + count * pair.variation) * SPARE
            if not distance <= most:
                return math.inf
        return distance

    @cached_property
    def _masses(self) -> list[tuple[float, int]]:
        """List of (p_inf, count) for each kind of round whose probability ``p_inf`` of infinite loss is positive."""
        found = ((pair.infinite_mass, count) for pair, count in self.rounds)
        return [(mass, count) for mass, count in found if mass]

    @cached_property
    def tells_all(self) -> bool:
        """True if the loss of some round is infinite with probability 1, up to rounding: no finite loss has mass."""
        return any(mass >= 1 for mass, _ in self._masses)

    @cached_property
    def log_finite_mass(self) -> float:
        """The logarithm of the probability that no round has infinite loss, to a few roundings."""
        if self.tells_all:
            return -math.inf
        return math.fsum(count * math.log1p(-mass) for mass, count in self._masses)

    @property
    def infinite_mass(self) -> float:
        """The probability ``1 - prod (1 - p_inf)^count`` that some round has infinite loss, to a few roundings."""
        return -math.expm1(self.log_finite_mass)

    @property
    def infinite_mass_ends(self) -> tuple[float, float]:
        """Lower and upper bound on the probability that some round has infinite loss; ``(0, 0)`` if no round can."""
        mass = self.infinite_mass
        lost = 4 * TINY * sum(count for _, count in self._masses)  # error of masses near 0
        return max(mass * (1 - RELATIVE) - lost, 0.0), mass * (1 + RELATIVE) + lost

    @cached_property
    def standing_mass(self) -> float:
        """Total mass of the atoms that replace outcomes cut off in the tail.

        Lower bounds on delta are reduced by this mass. This is enough, as an outcome adds between 0 and its own mass to
        delta. Upper bounds include the mass, and stay valid.
        """
        return 4 * TINY * sum(count for pair, count in self.rounds if pair.stands_in)

    @cached_property
    def largest_loss(self) -> tuple[float, float] | None:
        """Lower and upper bound on the largest finite loss, as doubles of at least 0; ``None`` for unbounded losses."""
        if not self.bounded:
            return None
        from hockeystick.values.exact import decimal

        low, high = self.supremum
        below, above = float(low), float(high)
        if decimal(below) > low:
            below = next_down(below)
        if decimal(above) < high:
            above = next_up(above)
        return max(below, 0.0), max(above, 0.0)


class Composition(RenyiComposition):
    """The product of dominating pairs in one direction.

    Args:
        rounds: (pair, count) tuples with counts >= 0. Products are replaced by their factors, equal pairs are merged,
            and pairs of a class closed under composition are folded into one.
    """

    rounds: tuple[tuple[DominatingPair, int], ...]

    def __init__(self, rounds: Iterable[tuple[DominatingPair, int]]) -> None:
        super().__init__(rounds)

    @cached_property
    def lattices(self) -> tuple[Lattice, ...]:
        """The lattice on which the atoms of each kind of round lie, in the order of ``rounds``."""
        from hockeystick.pairs.lattice import Lattice

        return tuple(Lattice.of(pair) for pair, _ in self.rounds)


class Kept(NamedTuple):
    """A composition from which extremely improbable outcomes in the tail have been left out.

    Attributes:
        rounds: the composition without these outcomes.
        log_lost: upper bound on the log of the P-mass left out, summed over all rounds.
        reach: approximate largest sum of the losses that are kept.
    """

    rounds: Composition
    log_lost: float
    reach: float
