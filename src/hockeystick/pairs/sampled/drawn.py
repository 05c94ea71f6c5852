"""A Gaussian with a random, revealed shift: the pair of a replaced record that may be drawn many times.

The pair is ``B = sum_k w_k N(mu_k)`` against ``A = sum_k w_k N(0)``, with k revealed along with the outcome. So with
probability w_k it is the pair of Gaussian noise at distance mu_k. With the remaining probability ``beyond``, the two
laws have no outcome in common. The pair is its own mirror image, as each of its parts is. An outcome is represented by
its loss, which is normal given k,

    N(mu_k^2 / 2, mu_k^2) under B,      N(-mu_k^2 / 2, mu_k^2) under A.

The loss is taken in units of the least shift, so that off the real line no density grows faster than the standard
normal one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hockeystick.numerics.logarithm import log_sum
from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.pairs import concentrated, moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair, Masses

CARE = 8.0  # relative error of a density, in units: roundings of a weight, of a centre and of a width


@dataclass(frozen=True, slots=True)
class RevealedSmooth:
    """The densities of both laws, which are normal mixtures; an outcome x is a loss divided by the least shift."""

    shifts: tuple[float, ...]
    weights: tuple[float, ...]

    def _columns(self) -> tuple[Array, Array, Array]:
        """Return the standard deviations, centres and weights of the normal terms, one row per term.

        Standard deviations and centres are in units of the least shift.
        """
        shifts = np.array(self.shifts)[:, None]
        return shifts / self.shifts[0], 0.5 * shifts * shifts / self.shifts[0], np.array(self.weights)[:, None]

    def _log_density(self, x: Array, sign: int) -> Array:
        widths, centres, weights = self._columns()
        logs = np.log(weights / widths) - 0.5 * np.square((x - sign * centres) / widths) - HALF_LOG_TWO_PI
        top = logs.max(axis=0)
        out: Array = top + np.log(np.exp(logs - top).sum(axis=0))
        return out

    def log_p(self, x: Array) -> Array:
        """The log-density under B at each x."""
        return self._log_density(x, +1)

    def log_q(self, x: Array) -> Array:
        """The log-density under A at each x."""
        return self._log_density(x, -1)

    def loss(self, x: Array) -> Array:
        """Return the loss at each x: x times the least shift."""
        return self.shifts[0] * x

    def log_contrast(self, x: Array) -> Array:
        """The logarithm of the sum of both densities, a bound on their difference."""
        return np.logaddexp(self.log_p(x), self.log_q(x))

    def masses(self, x: Array) -> Masses:
        """The masses of both laws below and above each x, summed over the normal terms."""
        from scipy.special import ndtr

        widths, centres, weights = self._columns()
        up, down = (x - centres) / widths, (x + centres) / widths
        return Masses(*((weights * ndtr(v)).sum(axis=0) for v in (up, -up, down, -down)))

    def outcome(self, loss: Array) -> Array:
        """Return the outcome with the given loss: the loss divided by the least shift."""
        with np.errstate(over="ignore"):
            return loss / self.shifts[0]

    def loss_error(self, x: Array) -> Array:
        """Bound on the rounding error of the loss, from the roundings of the least shift and of its product with x."""
        return 4 * self.shifts[0] * np.abs(x)

    def log_p_error(self, x: Array) -> Array:
        """Bound on the rounding error of the log-density, from the roundings of the squares and of the sum of terms."""
        widths, centres, weights = self._columns()
        farthest = (np.abs(x) + centres) / widths
        size = np.square(farthest).max(axis=0) + np.abs(np.log(weights / widths)).max()
        error: Array = CARE * (4 + size) + len(self.shifts)
        return error

    def growth(self, x: Array) -> Array:
        """The growth constant of a normal density around the farthest centre, with standard deviation 1 or more."""
        return np.abs(x) + float(self._columns()[1].max())

    def support(self, log_mass: float) -> tuple[float, float]:
        """Return an interval around all centres, from the normal tail bound; terms of small weight need less reach."""
        widths, centres, weights = self._columns()
        share = log_mass - math.log(len(self.shifts))
        depth = np.maximum(np.log(weights) - share, 0.0)
        reach = float((centres + widths * np.sqrt(2 * depth)).max())
        return -reach, reach


@dataclass(frozen=True, slots=True)
class RevealedPair(DominatingPair):
    """The pair sum_k w_k N(mu_k, 1) against sum_k w_k N(0, 1) with k revealed, and a rest without common outcomes.

    Attributes:
        shifts: the mu_k, positive and increasing.
        weights: the w_k, positive; their sum is ``1 - beyond``.
        beyond: mass at infinite loss under the first law, and at loss minus infinity under the second.
    """

    shifts: tuple[float, ...]
    weights: tuple[float, ...]
    beyond: float

    symmetric: ClassVar[bool] = True

    @property
    def atoms(self) -> Atoms:
        """Atoms at plus and minus infinity, where only one of the two laws has mass."""
        return Atoms.none().beside(self.beyond, self.beyond)

    @property
    def smooth(self) -> RevealedSmooth:
        """The densities of the finite losses."""
        return RevealedSmooth(self.shifts, self.weights)

    loss_range: ClassVar[tuple[float, float]] = -math.inf, math.inf
    """The loss is normal given k, hence unbounded."""

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy: that of the largest shift, or infinite if ``beyond`` is positive."""
        return math.inf if self.beyond else concentrated.gaussian(self.shifts[-1])

    def log_moment(self, t: float) -> float:
        """The log-moment K(t) in closed form, the log of ``sum_k w_k e^(t (1 + t) mu_k^2 / 2)``, rounded up."""
        each = np.array([moment.gaussian(mu, t) for mu in self.shifts])
        if float(each[-1]) < 1.0 and not self.beyond:  # computed as log(1 + mean of (each term minus 1))
            return moment.rounded_up(math.log1p(math.fsum(np.array(self.weights) * np.expm1(each))))
        exponents = np.log(np.array(self.weights)) + each
        return moment.rounded_up(log_sum(exponents), 1.0 + float(each[-1]))
