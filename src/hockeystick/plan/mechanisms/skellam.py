"""The Skellam mechanism: noise on a count that is the difference of two Poisson variables.

Valovich, Aldà 2017 [VA17] and Agarwal, Kairouz, Liu 2021 [AKL21] proposed it. The noise Z is the difference of two
independent Poisson variables of mean ``v / 2``, where v is the variance of Z. So ``f(k) = P(Z = k) = e^-v I_k(v)`` with
the modified Bessel functions I_k, and f is symmetric.

**The pair.** The law of ``Z + D`` against the law of Z is a tight dominating pair if neighbouring counts differ by at
most D. Proof: a law on the whole numbers without gaps is log-concave if and only if no minor of order 2 of the Toeplitz
matrix ``f(i - j)`` is negative. Poisson laws are log-concave, since ``p(k + 1) / p(k)`` falls in k, and so are their
mirror images. The matrix of a sum of independent variables is the product of their matrices. By the formula of Cauchy
and Binet, the minors of the product are sums of products of minors. So f is log-concave, and the lemma on shifts of
log-concave noise (``pairs/discrete.py``) applies, in every direction. A larger variance protects more, because it adds
independent Skellam noise.

**Outcomes far out.** For ``0 <= t < 3``, ``log E e^(tZ) = v (cosh t - 1) <= v t^2 / (2 - 2t/3)``. With ``t = m / (v +
m/3)`` this gives Bernstein's bound ``P(Z >= m) <= e^(-m^2 / (2v + 2m/3))``. The tails are cut off
(``pairs/discrete.py``) from the first m at which this bound is below ``e^-746``.

**Masses.** The ratios ``r_k = f(k + 1) / f(k)`` satisfy ``r_(k-1) = 1 / (2k/v + r_k)`` (Olver, Lozier, Boisvert, Clark
2010 [OLBC10], 10.29(i)). Let g follow the same recurrence, but from ``g_N = 1``. Then ``g_(k-1) - r_(k-1) = -g_(k-1)
r_(k-1) (g_k - r_k)``. The product of all g from k to ``N - 1`` is at most 1, as ``g_(N-1) < 1`` and ``g_(k-1) g_k <
1``. So the error of ``g_k`` is below ``r_k ... r_(N-1) = f(N) / f(k)``. Let K be the farthest outcome and ``N = 2K``.
By log-concavity ``f(N) / f(K) <= f(K) / f(0)``, which is below ``e^-700``: ``f(K) <= e^-746``, and ``f(0)`` is the
largest mass, while half of all mass lies within ``sqrt(2v)``. Each step adds its own roundings. Later steps multiply
them by a product of consecutive g and r. It is below 2: ``r < 1``, two consecutive g multiply to less than 1, and one
that is left over is below ``r_k + f(N) / f(k) < 2``. With 40 digits and ``N < 50,000``, the error is below ``10^-33``.

Since the ratios fall in k, ``r_1 >= 1 / (4/v + r_1)``. So ``r_1 >= sqrt(1 + 4/v^2) - 2/v``, and all ratios are at most
``r_0 <= 1 / sqrt(1 + 4/v^2) < 1 - 10^-11``. Hence the logarithm of each ratio has a relative error of a few roundings
of doubles. A loss is a sum of such logarithms, all of one sign, formed with 40 digits. So the atoms declare no errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate
from typing import Annotated

import numpy as np

from hockeystick.pairs.base import Array
from hockeystick.pairs.discrete import LEFT_OUT, CutNoisePair
from hockeystick.plan.mechanisms.base import AS_ABSENT, Claim, Property, Status, claims_of
from hockeystick.plan.mechanisms.replacement import DISTANCE, FULL_DISTANCE, MOST_COUNTS, NoiseOnCount
from hockeystick.values.domains import Domain, whole_numbers
from hockeystick.values.exact import PRECISE, decimal

VARIANCE = Domain(f"a number from 0.01 to {MOST_COUNTS**2}", {"minimum": 0.01, "maximum": MOST_COUNTS**2})
"""Domain of the variance of the noise."""


_TIGHT = Claim(Status.TIGHT, "proof in plan/mechanisms/skellam.py")


@dataclass(frozen=True, slots=True)
class SkellamPair(CutNoisePair):
    """Skellam noise around ``distance`` against the same noise around 0.

    Attributes:
        distance: difference of the two centres, a whole number of at least 1.
        variance: variance of the noise, as the exact value of the decimal that was written.
    """

    distance: int
    variance: Fraction

    @property
    def reach(self) -> int:
        """The first whole number at which Bernstein's bound on the tail is at most ``e^-746``."""
        third = LEFT_OUT / 3
        return math.ceil(third + math.sqrt(third**2 + 2 * LEFT_OUT * float(self.variance)))

    def law(self, x: Array) -> tuple[Array, Array]:
        """Return the losses and the log-masses, from the ratios of neighbouring masses."""
        last = self.distance + self.reach
        near, away = (abs(x - centre).astype(np.int64) for centre in (0, self.distance))
        with localcontext(PRECISE):
            v, ratio = Decimal(self.variance.numerator) / self.variance.denominator, Decimal(1)
            ratios = [ratio := 1 / (2 * k / v + ratio) for k in range(2 * last, 0, -1)]
            logs = (Decimal(math.log1p(r - 1) if r > 0.5 else math.log(r)) for r in ratios[: -last - 1 : -1])
            f = np.array([*accumulate(logs, initial=Decimal(0))])  # log f(k) - log f(0)
            loss = (f[away] - f[near]).astype(np.float64)
        sizes = f.astype(np.float64)
        return loss, sizes[near] - math.log(2 * math.fsum(np.exp(sizes)) - 1)


@dataclass(frozen=True)
class Skellam(NoiseOnCount):
    """Skellam noise on a count: the difference of two independent Poisson variables, each of mean ``variance / 2``.

    Args:
        variance: variance of the noise, in squares of counts, not relative to the sensitivity.
        sensitivity: largest change of the count by one record, a whole number.
        replace_one_distance: as for :class:`Gaussian`, in units of the sensitivity.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> Skellam(variance=40.0).at(1).infinite_mass
    5e-324
    """

    variance: Annotated[float, VARIANCE.of("variance of the noise, in squares of counts")]
    sensitivity: Annotated[int, whole_numbers(1, MOST_COUNTS).of("maximum change in the count due to one record")] = 1
    replace_one_distance: Annotated[float, DISTANCE] = FULL_DISTANCE

    name = "skellam"
    noise_key = "variance"
    claims = claims_of(_TIGHT, _TIGHT)
    zeroed = AS_ABSENT
    properties = frozenset({Property.SUM})

    def at(self, distance: int) -> SkellamPair:
        """Return the pair of noise centred at a distance against noise centred at 0."""
        return SkellamPair(self._counts(distance), decimal(self.variance))
