"""The pair of one epoch of random allocation: a record takes part in exactly one of t Gaussian steps, each as likely.

With the record the outcome of an epoch is ``P = (1/t) sum_j N(e_j mu, I_t)``, without it ``Q = N(0, I_t)``. The pair
dominates every epoch of adaptive steps with sums of norm at most 1 (Chua et al. 2024 [CGH+24]; Feldman, Shenfeld 2025
[FS25]); it is the truth where every other contribution is 0, so that it is tight. By the choice of the record's step:
given the step j, and the outcomes before i, step i is dominated by ``N(mu [i = j], 1)`` against ``N(0, 1)``, and the
choice of j does not depend on the outcomes; mixing over j on one side is joint convexity. Epochs compose as products,
each with an assignment of its own, fresh and secret.

Nothing but its moments is known of it (``allocation_law.py``, ``allocation_line.py``): it has neither atoms nor
densities to be had, and only engines that ask for its characteristic function can answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.work import remembered
from hockeystick.pairs.base import Atoms, DominatingPair
from hockeystick.pairs.sampled.allocation_guide import standing_in
from hockeystick.pairs.sampled.allocation_law import AllocationLaw
from hockeystick.pairs.sampled.allocation_line import AllocationLine
from hockeystick.pairs.transform import line_upper
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]

HIGHEST_TILT = 16.0  # of a line: the power of Lambda grows with it
KEPT_BOUNDS = 512  # on K
FARTHEST = 300.0  # tilts up to which K of adding is had by quadrature


@dataclass(frozen=True, slots=True)
class AllocationTransform:
    """The characteristic function of one epoch.

    Args:
        law: the epoch.
        add: whether the record is added; else it is removed.
    """

    law: AllocationLaw
    add: bool

    @property
    def highest_tilt(self) -> float:
        """The largest tilt at which a line may be laid."""
        return min(HIGHEST_TILT, self.law.highest - 1.5)

    def _power(self, t: float) -> float:
        return -t if self.add else 1 + t

    def line(self, t: float, reach: float, tolerance: float) -> AllocationLine:
        """The line through t, by Mellin's integral."""
        return AllocationLine(self.law, self._power(t), -1 if self.add else 1, reach, tolerance)

    def envelope(self, t: float, count: int) -> AllocationEnvelope:
        """The envelope, which is the same at every tilt."""
        return AllocationEnvelope(self.law)

    def upper(self, t: float, slack: float) -> float:
        """An upper bound on K(t)."""
        return upper(self.law, self.add, t, slack)


@dataclass(frozen=True, slots=True)
class AllocationEnvelope:
    """The decay from moving every coordinate by the same imaginary number."""

    law: AllocationLaw

    @property
    def cost(self) -> float:
        """One evaluation an edge: a closed form."""
        return 1.0

    def log_bound(self, edges: Array) -> Array:
        """``-(mu s)^2 / (2 t)``, rounded up."""
        return self.law.log_decay(edges)


def upper(law: AllocationLaw, add: bool, t: float, slack: float) -> float:
    """An upper bound on K(t), about slack above it where there is a line: by quadrature, or between whole moments."""
    if not add:
        found, bent = law.log_moment_above(1 + t)
        if bent <= slack or 1 + t > law.highest - 1.0:
            return found
        return min(found, _by_line(law, 1 + t))
    rough = law.log_power_above(-t)
    return rough if t > FARTHEST else min(rough, _by_line(law, -t))


@remembered(KEPT_BOUNDS)
def _by_line(law: AllocationLaw, alpha: float) -> float:
    found = line_upper(AllocationLine(law, alpha, 1, 0.0, 1e-9))
    return found if math.isfinite(found) else math.inf


@dataclass(frozen=True, slots=True)
class AllocationPair(DominatingPair):
    """One epoch.

    Args:
        mu: distance of the two laws of a step, in standard deviations.
        steps: of an epoch, at least 2.
        add: whether the record is added; else it is removed.
    """

    mu: float
    steps: int
    add: bool

    seconds: ClassVar[float] = 0.05

    @property
    def law(self) -> AllocationLaw:
        """The law of the likelihood ratio."""
        return AllocationLaw(self.mu, self.steps)

    @property
    def atoms(self) -> Atoms:
        """Refused: the law of the loss is known by its moments only."""
        _refuse()

    @property
    def smooth(self) -> None:
        """Refused: the law of the loss is known by its moments only."""
        _refuse()

    @property
    def infinite_mass(self) -> float:
        """None: normal laws are positive everywhere."""
        return 0.0

    @property
    def loss_range(self) -> tuple[float, float]:
        """``Lambda`` takes all positive values."""
        return -math.inf, math.inf

    @property
    def transform(self) -> AllocationTransform:
        """The characteristic function, by Mellin's integral."""
        return AllocationTransform(self.law, self.add)

    @property
    def rho(self) -> float:
        """That of a step that is known to hold the record: ``(p, q) -> p^(1+t) q^(-t)`` is jointly convex."""
        return 0.5 * self.mu * self.mu * (1 + 1e-12)

    @property
    def limit_variance(self) -> float:
        """``E_Q (Lambda - 1)^2 = (e^(mu^2) - 1) / t``."""
        return math.expm1(min(self.mu * self.mu, 700.0)) / self.steps

    def log_moment(self, t: float) -> float:
        """K(t), from above."""
        return upper(self.law, self.add, t, 0.0)

    def standing_in(self, log_floor: float) -> tuple[Array, Array]:
        """Losses and log-masses that stand in for the law where engines look for the place to answer at."""
        return standing_in(self.mu, self.steps, self.add, log_floor)


def _refuse() -> NoReturn:
    raise NotApplicableError(
        "of an epoch of random allocation only the moments are known, not the law of its loss: "
        'use accountant="auto", "contour" or "rdp"'
    )
