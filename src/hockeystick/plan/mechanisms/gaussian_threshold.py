"""Release of keys whose count with normal noise reaches a threshold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from hockeystick.numerics.rounding import UNIT_ROUNDOFF, exp_above, exp_below
from hockeystick.pairs import GaussianPair
from hockeystick.pairs.discrete import REACH, DiscreteGaussianPair
from hockeystick.plan.mechanisms.base import AS_ABSENT
from hockeystick.plan.mechanisms.discrete_gaussian import NOISE as SIGMA
from hockeystick.plan.mechanisms.key_threshold import INTEGER, KEYS, NOISE, THRESHOLD, KeyThreshold
from hockeystick.values import domains
from hockeystick.values.exact import decimal

UNITS = 8192.0
"""Error of the logarithm of a sum of discrete masses, in unit roundoffs.

Terms whose exponent is more than 770 below that of the first one vanish, and each of these 770 costs ten unit
roundoffs. The errors of the normaliser and of the normal distribution function are smaller.
"""

SQUARED_UNITS = 16.0
"""Error of the logarithm relative to the square of the argument, in unit roundoffs.

Eight are for the normal distribution function, the others for the rounding of its argument.
"""


@dataclass(frozen=True)
class GaussianThreshold(KeyThreshold):
    """Counts with normal noise of the keys whose noisy count is at least a threshold.

    A key is released with its noisy count, to which one person adds at most 1. Keys that nobody has are ignored. If a
    person has more keys than allowed, some are dropped, and the choice does not depend on other people's data.

    Args:
        noise_multiplier: standard deviation of the noise on each count; greater than 0. For integer noise it is the
            parameter sigma of :class:`DiscreteGaussian` instead, from 1e-3 to 500.
        threshold: smallest noisy count that is released, at least 1.
        keys: largest number of keys of one person in one release.
        noise: ``"continuous"``, noise with a density, or ``"integer"``, whole-number noise on counts to which a person
            adds 1 or 0. At a whole threshold, integer noise is likelier than continuous noise to release a key that
            only one person has.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> low, high = GaussianThreshold(noise_multiplier=2.0, threshold=11.0, keys=3).alone()
    >>> low < 2.8665157187919391e-07 < high
    True
    >>> GaussianThreshold(noise_multiplier=2.0, threshold=11.0, keys=3, noise="integer").alone()[0] > high
    True
    """

    noise_multiplier: Annotated[float, domains.NOISE.of("standard deviation of the noise on a count")]
    threshold: Annotated[float, THRESHOLD]
    keys: Annotated[int, KEYS]
    noise: Annotated[str, NOISE] = "continuous"

    name = "gaussian-threshold"
    zeroed = AS_ABSENT
    not_monotone: ClassVar[Mapping[str, str]] = {
        "noise_multiplier": "more noise makes it likelier that a key held by one person exceeds the threshold"
    }

    def check_integer(self) -> None:
        """Refuse integer noise with a sigma outside its domain, or with nearly zero noise at a threshold of 1.

        Raises:
            InvalidInputError: noise_multiplier is outside the domain of integer noise, or nearly zero.
        """
        SIGMA.of("sigma of integer noise on a count").check(self.noise_multiplier, "noise_multiplier")
        super().check_integer()

    @property
    def shared(self) -> GaussianPair | DiscreteGaussianPair:
        """Pair of normal noise at distance 1."""
        return self._discrete if self.noise == INTEGER else GaussianPair(1 / self.noise_multiplier)

    @property
    def _discrete(self) -> DiscreteGaussianPair:
        return DiscreteGaussianPair(1, decimal(self.noise_multiplier) ** 2)

    def alone(self) -> tuple[float, float]:
        """Lower and upper bound on ``P(Z >= T - 1)``; for continuous noise this is ``Phi(-(T - 1) / sigma)``."""
        x = -float(self.gap / decimal(self.noise_multiplier))
        if self.noise == INTEGER:
            log = self._log_sum()
        else:
            from scipy.special import log_ndtr

            log = float(log_ndtr(x))
        slack = UNIT_ROUNDOFF * (UNITS + SQUARED_UNITS * x * x)
        return exp_below(log - slack), min(exp_above(log + slack), 1.0)

    def _log_sum(self) -> float:
        """Logarithm of ``P(Z >= T - 1)`` for integer noise, as a sum of terms divided by the first one."""
        start, sigma = float(self.gap), self.noise_multiplier
        j = np.arange(math.ceil(REACH * sigma) + 2)
        terms = math.fsum(np.exp(-0.5 * (j / sigma) * ((2 * start + j) / sigma)))
        return math.log(terms) - 0.5 * (start / sigma) ** 2 - self._discrete.log_normaliser
