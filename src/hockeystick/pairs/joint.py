"""The product of several pairs released in one round.

A round that releases several things with independent noise is dominated by the product of their pairs (Zhu, Dong, Wang
2022 [ZDW22], Theorem 10). A composition replaces such a pair by its factors (``RenyiCurve.factors``), so that engines
never have to handle the product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hockeystick.numerics.rounding import next_up
from hockeystick.pairs.base import Atoms, DominatingPair
from hockeystick.values.errors import NotApplicableError

SPARE = 4
"""Number of doubles by which a sum is raised to cover its roundings, each at most a rounding of one part."""


@dataclass(frozen=True)
class JointPair(DominatingPair):
    """The product of several pairs, each of which may occur more than once.

    Attributes:
        factors: (pair, multiplicity) tuples, with multiplicities of at least 1.

    >>> from hockeystick.pairs import Composition, GaussianPair
    >>> Composition([(JointPair(((GaussianPair(0.5), 4),)), 9)]) == Composition([(GaussianPair(0.5), 36)])
    True
    """

    factors: tuple[tuple[DominatingPair, int], ...]

    @property
    def atoms(self) -> Atoms:
        """Not available, because the law of the product's loss is not computed.

        Raises:
            NotApplicableError: always.
        """
        raise NotApplicableError(_NO_LAW)

    @property
    def smooth(self) -> None:
        """Not available, because the law of the product's loss is not computed.

        Raises:
            NotApplicableError: always.
        """
        raise NotApplicableError(_NO_LAW)

    @property
    def infinite_mass(self) -> float:
        """The probability that some part has infinite loss, rounded up."""
        finite = math.fsum(count * math.log1p(-part.infinite_mass) for part, count in self.factors)
        return next_up(-math.expm1(finite), SPARE) if finite < 0 else 0.0

    @property
    def loss_range(self) -> tuple[float, float]:
        """The sum of the parts' least losses and the sum of their largest losses, counted with multiplicity."""
        ranges = [(part.loss_range, count) for part, count in self.factors]
        return sum(count * low for (low, _), count in ranges), sum(count * high for (_, high), count in ranges)

    @property
    def exact_supremum(self) -> Fraction | None:
        """The sum of the parts' largest losses as an exact fraction; ``None`` unless all of these are known exactly."""
        found = [(part.exact_supremum, count) for part, count in self.factors]
        if any(exact is None for exact, _ in found):
            return None
        return sum((exact * count for exact, count in found if exact is not None), Fraction(0))

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy: the sum of the parts' rhos, rounded up."""
        return next_up(math.fsum(count * part.rho for part, count in self.factors), SPARE)

    def log_moment(self, t: float) -> float:
        """Upper bound on the log-moment K(t): the sum of the parts' bounds, rounded up."""
        return next_up(math.fsum(count * part.log_moment(t) for part, count in self.factors), SPARE)


_NO_LAW = "a round with several simultaneous releases has no single loss distribution; hockeystick composes its parts"
"""Message of the error raised where an engine needs the law of a product's loss."""
