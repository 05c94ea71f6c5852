"""Release of keys whose count with Laplace noise reaches a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from hockeystick.numerics.rounding import exp_above, exp_below, next_down, next_up
from hockeystick.pairs import LaplacePair
from hockeystick.pairs.discrete import DiscreteLaplacePair
from hockeystick.plan.mechanisms.base import AS_ABSENT
from hockeystick.plan.mechanisms.key_threshold import INTEGER, KEYS, NOISE, THRESHOLD, KeyThreshold
from hockeystick.values import domains
from hockeystick.values.exact import decimal


@dataclass(frozen=True)
class LaplaceThreshold(KeyThreshold):
    """Counts with Laplace noise of the keys whose noisy count is at least a threshold.

    A key is released with its noisy count, to which one person adds at most 1. Keys that nobody has are ignored. If a
    person has more keys than allowed, some are dropped, and the choice does not depend on other people's data.

    Args:
        scale: scale of the noise on each count; greater than 0.
        threshold: smallest noisy count that is released, at least 1.
        keys: largest number of keys of one person in one release.
        noise: ``"continuous"``, noise with a density, or ``"integer"``, whole-number noise on counts to which a person
            adds 1 or 0. At a whole threshold, integer noise is likelier than continuous noise to release a key that
            only one person has.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> import math
    >>> low, high = LaplaceThreshold(scale=2.0, threshold=41.0, keys=3).alone()
    >>> low <= math.exp(-20) / 2 <= high
    True
    >>> LaplaceThreshold(scale=2.0, threshold=41.0, keys=3, noise="integer").alone()[0] > high  # 1 / (1 + e^(-1/2))
    True
    """

    scale: Annotated[float, domains.NOISE.of("scale of the noise on a count")]
    threshold: Annotated[float, THRESHOLD]
    keys: Annotated[int, KEYS]
    noise: Annotated[str, NOISE] = "continuous"

    name = "laplace-threshold"
    zeroed = AS_ABSENT
    not_monotone: ClassVar[Mapping[str, str]] = {
        "scale": "more noise makes it likelier that a key held by one person exceeds the threshold"
    }

    @property
    def shared(self) -> LaplacePair | DiscreteLaplacePair:
        """Pair of Laplace noise at distance 1."""
        return DiscreteLaplacePair(1, decimal(self.scale)) if self.noise == INTEGER else LaplacePair(1.0, self.scale)

    def alone(self) -> tuple[float, float]:
        """Lower and upper bound on ``a^(T - 1) / 2``, or for integer noise on ``a^(T - 1) / (1 + a)``.

        Here ``a = e^(-1 / scale)``.
        """
        low, high = self._decay(self.gap)
        least, most = self._decay(Fraction(1)) if self.noise == INTEGER else (1.0, 1.0)
        return max(next_down(low / next_up(1 + most)), 0.0), min(next_up(high / next_down(1 + least)), 1.0)

    def _decay(self, gap: Fraction) -> tuple[float, float]:
        """Lower and upper bound on ``a^gap``, where ``a = e^(-1 / scale)``."""
        exponent = -float(gap / decimal(self.scale))  # to half a unit in the last place
        return exp_below(next_down(exponent)), exp_above(next_up(exponent))
