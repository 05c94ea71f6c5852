"""The pair of a black box: the worst case of an (epsilon, delta) guarantee.

Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.4 and its proof: any mechanism that satisfies (epsilon, delta) is
dominated by the following pair. P has the masses delta at loss +inf, (1 - delta) e^eps/(1 + e^eps) at +eps, and (1 -
delta)/(1 + e^eps) at -eps. Q has the same masses at the negated losses. With delta = 0 the pair is that of binary
randomised response.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from hockeystick.pairs import concentrated
from hockeystick.pairs.base import Atoms, DominatingPair
from hockeystick.values.exact import decimal


@dataclass(frozen=True, slots=True)
class BlackBoxPair(DominatingPair):
    """The pair that dominates every mechanism with an (epsilon, delta) guarantee; epsilon >= 0, 0 <= delta < 1."""

    epsilon: float
    delta: float = 0.0

    failure: ClassVar[str] = "a black box fails"

    @property
    def atoms(self) -> Atoms:
        """Atoms at the losses -epsilon and epsilon, and at -inf and +inf if delta > 0."""
        log_high = math.log1p(-self.delta) - math.log1p(math.exp(-self.epsilon))
        log_low = log_high - self.epsilon
        log_p = np.array([log_low, log_high])
        return Atoms(np.array([-self.epsilon, self.epsilon]), log_p, log_p[::-1]).beside(self.delta, self.delta)

    @property
    def exact_supremum(self) -> Fraction:
        """Epsilon as an exact fraction, equal to the decimal that it is written as."""
        return decimal(self.epsilon)

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy for the finite losses, ``epsilon tanh(epsilon / 2)``, rounded up."""
        return concentrated.mutual(self.epsilon)
