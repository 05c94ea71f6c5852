"""A toy discrete Laplace mechanism: whole-number noise on a count, to which one record contributes a bounded amount.

The noise Z has ``P(Z = k) = (1 - r) / (1 + r) r^|k|`` with ``r = e^(-1/scale)``. Let the counts of neighbouring
datasets differ by at most D. Then the law of Z + D against the law of Z is a dominating pair.

Proof. Let the difference be d, ``0 <= d <= D`` (if it is negative, mirror the line). The ratio of the law at d to the
law at 0 is ``r^(|k - d| - |k|)``, which does not decrease in k. So by Neyman and Pearson the best event against any
``alpha >= 0`` is a half-line ``{k >= c}``, and the hockey-stick divergence is the maximum over c of ``P(Z >= c - d) -
alpha P(Z >= c)``. For every c, this difference does not decrease in d. It is attained at d = D, so the pair is tight.
The law is symmetric, so the same pair serves both directions.

With the record, the answer is centred at D; without it, at 0. The loss is ``(|k| - |k - D|) / scale``, which equals
``(2j - D) / scale`` for ``j = min(max(k, 0), D)``. The masses of the ``D + 1`` values of j are geometric sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from hockeystick.pairs.base import Atoms, DominatingPair
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Status
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import NOISE, whole_numbers
from hockeystick.values.exact import decimal

_TIGHT = Claim(Status.TIGHT, "proof in toy_discrete_laplace.py")


@dataclass(frozen=True, slots=True)
class ToyDiscreteLaplacePair(DominatingPair):
    """Discrete Laplace noise around ``distance`` against the same noise around 0.

    Args:
        distance: distance between the two centres, a whole number of at least 1.
        scale: scale of the noise.
    """

    distance: int
    scale: float

    @property
    def atoms(self) -> Atoms:
        """The ``distance + 1`` losses and the logarithms of their masses, as sums of one sign without cancellation."""
        j = np.arange(self.distance + 1, dtype=np.float64)
        log_end = -math.log1p(math.exp(-1 / self.scale))  # log P(Z >= 0)
        log_p = (j - self.distance) / self.scale + log_end
        log_p[1:-1] += math.log(-math.expm1(-1 / self.scale))
        return Atoms((2 * j - self.distance) / self.scale, log_p, log_p[::-1])

    @property
    def smooth(self) -> None:
        """None, because all losses are atoms."""

    @property
    def loss_range(self) -> tuple[float, float]:
        """From ``-distance / scale`` to ``distance / scale``."""
        return -self.distance / self.scale, self.distance / self.scale

    @property
    def exact_supremum(self) -> Fraction:
        """The largest loss as a fraction; it makes the answer at delta 0 exact."""
        return self.distance / decimal(self.scale)

    def log_moment(self, t: float) -> float:
        """Return the sum over the losses, rounded up."""
        return self.atoms.log_moment(t)


@dataclass(frozen=True)
class ToyDiscreteLaplace(Mechanism):
    """Discrete Laplace noise on a count, to which each record adds a whole number of size at most ``sensitivity``.

    Args:
        scale: scale of the noise; greater than 0.
        sensitivity: largest absolute contribution of one record to the count, 1 to 1000.

    Raises:
        InvalidInputError: a value outside its domain.

    >>> ToyDiscreteLaplace(scale=2.0).pair(Direction.ADD).loss_range
    (-0.5, 0.5)
    """

    scale: Annotated[float, NOISE.of("scale of the noise")]
    sensitivity: Annotated[int, whole_numbers(1, 1000).of("largest contribution of one record to the count")] = 1

    name = "toy-discrete-laplace"
    claims = dict.fromkeys(Direction, _TIGHT)

    def pair(self, direction: Direction) -> ToyDiscreteLaplacePair:
        """Return the pair; replacing a record can move the count by twice the sensitivity."""
        return ToyDiscreteLaplacePair(self.sensitivity * (2 if direction is Direction.REPLACE_ONE else 1), self.scale)

    def with_against_without(self) -> ToyDiscreteLaplacePair:
        """Return the law with the record against the law without it, from which Poisson sampling derives its pairs."""
        return ToyDiscreteLaplacePair(self.sensitivity, self.scale)
