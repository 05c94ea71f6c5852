"""Laws of the privacy loss on a grid, and the law of their sum on a window, with every error charged to one side.

The tilted masses of each law are convolved circularly on a window of n points. Let S be the sum of the losses of all
rounds under the tilted law P_t. Then ``delta(eps) = e^(norm - t eps) E f(S - eps)``, where ``f(x) = e^(-tx) (1 -
e^-x)`` for x > 0, and f = 0 otherwise. This is exact for every t > 0. The rounding error of a Fourier transform is
relative to the total tilted mass, and thus to delta, however small delta is. The window [low, high), of width W,
contains eps and most of the tilted law. The circular sum has three errors, each charged:

- Mass above ``high`` is missing. It would add at most ``P_t(S >= high) f(high - eps)``, as f decreases from there on.
  Only the upper bound is charged.
- Mass below ``low``, and mass at or above ``eps + W``, may be wrapped to a place where f > 0. It then adds at most its
  probability times the peak of f. Only the lower bound is charged. Mass between ``high`` and ``eps + W`` is wrapped to
  places between ``low`` and ``eps``, where f = 0.
- The Fourier transform errs by at most ``error`` in each entry (``numerics/fourier.py``), hence by at most ``error *
  sum f`` in the sum. Both bounds are charged.

Tail probabilities are bounded by Markov's inequality, ``P_t(S >= b) <= E_t e^(theta (S - b))``, with moments of the
same masses that were convolved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.arrays import BLOCK
from hockeystick.numerics.fourier import ConvolutionPower, convolution_power, fast_length
from hockeystick.numerics.logarithm import log_peak
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]

FADE = 60.0  # f is summed up to FADE / t beyond its peak; later terms are below (1 + t) e^-60 of the peak, and charged
SUM_ERROR = 1e-13  # relative error of a pairwise sum of up to 2^23 products, each with three elementary functions
TAIL_TILTS = (1.0, 0.6, 0.3, 0.1)  # tilts tried for Markov's bound, as shares of the largest one


@dataclass(frozen=True, slots=True)
class Mesh:
    """The grid of losses ``offset + j h`` for whole j, with the tilt t and the scale kappa of the masses stored on it.

    A stored mass m at the loss g represents the P-mass ``m e^(kappa - t g)``.
    """

    offset: float
    h: float
    t: float
    kappa: float

    def moved(self, by: float) -> Mesh:
        """Return the mesh with all losses raised by ``by``, and with kappa changed so that P-masses stay the same."""
        return Mesh(self.offset + by, self.h, self.t, self.kappa + self.t * by)


@dataclass(frozen=True, slots=True)
class GridLaw:
    """Law of a finite loss on a grid, with the P-mass ``mass[i] e^(kappa - t g)`` at ``g = offset + (first + i) h``.

    Bounds on delta need only the P-masses, because ``delta(eps) = E_P (1 - e^(eps - L))_+`` is increasing in every mass
    and every loss. To cover rounding, masses may therefore be scaled, or moved to other losses.
    """

    mesh: Mesh
    first: int
    mass: Array

    @property
    def losses(self) -> Array:
        """Return the grid points of the masses, of shape (n,)."""
        return self.mesh.offset + (self.first + np.arange(len(self.mass), dtype=np.float64)) * self.mesh.h

    def log_moment(self, theta: float) -> float:
        """Return ``log sum mass e^(theta g)`` over the grid points g, with the stored masses; it may be infinite."""
        with np.errstate(over="ignore"):  # a moment beyond the range of a double is infinite, and gives no bound
            exponent = theta * self.losses
            top = float(exponent[self.mass > 0].max(initial=-math.inf))
            if math.isinf(top):
                return top
            return top + math.log(float((self.mass * np.exp(np.minimum(exponent - top, 0.0))).sum()))

    @property
    def ends(self) -> tuple[float, float]:
        """Return the least and the largest loss with positive mass."""
        held = self.losses[np.flatnonzero(self.mass)[[0, -1]]]
        return float(held[0]), float(held[1])

    @property
    def log_mass(self) -> float:
        """Return ``log E e^(t L)``, where L is the loss under P and t the tilt of the mesh."""
        return self.log_moment(0.0) + self.mesh.kappa


Counted = Sequence[tuple[GridLaw, int]]


def convolved(laws: Counted, start: int, n: int) -> ConvolutionPower:
    """Return the circular convolution of all laws, each to the power of its count, on n grid points from ``start`` on.

    Index j of the result's grid is the loss ``j h`` plus the sum of the offsets of all rounds.
    """
    power = convolution_power([(law.mass, count) for law, count in laws], n)
    shift = (start - power.origin - sum(count * law.first for law, count in laws)) % n
    return replace(power, values=np.roll(power.values, -shift), origin=start)


@dataclass(frozen=True, slots=True)
class Window:
    """The range [low, high) of losses in which the law of a sum is computed.

    The largest extra tilts ``theta_low`` and ``theta_high`` are for bounds on the mass below and above this range.
    """

    low: float
    high: float
    theta_low: float
    theta_high: float


class Tail:
    """Bounds on one tail of the tilted sum S of losses, by Markov's inequality at a few extra tilts theta.

    For every theta, the tail probability ``P_t(sign S >= sign b)`` is at most the weighted tail ``E_t [e^(theta sign (S
    - b)); sign S >= sign b]``.

    Args:
        laws: laws of independent rounds, each with its count. Each law is normalised here.
        theta: largest extra tilt tried.
        sign: +1 for the upper tail, -1 for the lower one.
    """

    def __init__(self, laws: Counted, theta: float, sign: int) -> None:
        self._sign = sign
        self._moments = [(theta * share, log_markov(laws, sign * theta * share)) for share in TAIL_TILTS]
        self._end = math.fsum(count * sign * law.ends[sign > 0] for law, count in laws)
        size = math.fsum(
            count * (abs(law.mesh.offset) + (abs(law.first) + len(law.mass)) * law.mesh.h) for law, count in laws
        )
        self._end += 16 * UNIT_ROUNDOFF * size

    def log_beyond(self, b: float) -> float:
        """Return the log of the bound on the tail probability at b: at most 0; ``-inf`` beyond the last atom of S."""
        return min(0.0, self.log_weight_beyond(b))

    def log_weight_beyond(self, b: float) -> float:
        """Return the log of the bound on the weighted tail at b; ``-inf`` beyond the last atom of S.

        The result may exceed 0. It is the least of the bounds at all tilts. A bound that is NaN, as a difference of two
        infinite terms, is ignored.
        """
        b = self._sign * b
        if b > self._end:
            return -math.inf
        bounds = [log - float(theta) * b + 8 * UNIT_ROUNDOFF * abs(float(theta) * b) for theta, log in self._moments]
        return min((bound for bound in bounds if not math.isnan(bound)), default=math.inf)


def log_markov(laws: Counted, theta: float) -> float:
    """Return ``log E_t e^(theta S)`` for the sum S of the losses of normalised laws, rounded up; it may be infinite."""
    parts = [count * (law.log_moment(theta) - law.log_moment(0.0)) for law, count in laws]
    sizes = [count * (1 + abs(theta) * float(np.abs(law.losses[[0, -1]]).max())) for law, count in laws]
    try:
        return math.fsum(parts) + 64 * UNIT_ROUNDOFF * math.fsum(sizes)
    except OverflowError:  # no bound
        return math.inf


class GridSum:
    """The law of the total loss of all rounds on a window, with bounds on delta from one side.

    Args:
        laws: pairs (law, number of rounds with it); all laws have the same h and tilt.
        window: range of losses in which the sum is computed.
        side: the side of the bounds: above or below the true delta.
        log_infinite: log of the P-mass at infinite loss over all rounds. For an upper bound, it includes the mass that
            was left out of the laws.
    """

    def __init__(self, laws: Counted, window: Window, side: Side, log_infinite: float = -math.inf) -> None:
        mesh = laws[0][0].mesh
        self.t, self.h, self.side, self.log_infinite = mesh.t, mesh.h, side, log_infinite
        self._empty = not all(law.mass.any() for law, _ in laws)  # no round has a finite loss, or none could be merged
        if self._empty:
            return
        self._origin = math.fsum(count * law.mesh.offset for law, count in laws)
        self._origin_size = math.fsum(count * abs(law.mesh.offset) for law, count in laws)
        n = fast_length(max(math.ceil((window.high - window.low) / self.h), 16))
        self.start = math.floor((window.low - self._origin) / self.h)
        power = convolved(laws, self.start, n)
        self._values, self._error = power.values, power.error
        self.log_norm = power.log_scale + math.fsum(count * law.mesh.kappa for law, count in laws)
        self._tail_low = Tail(laws, window.theta_low, -1)
        self._tail_high = Tail(laws, window.theta_high, +1)
        kappas = math.fsum(count * abs(law.mesh.kappa) for law, count in laws)
        self._norm_error = power.scale_error + 8 * UNIT_ROUNDOFF * (1 + kappas + abs(self.log_norm))

    @property
    def _reach(self) -> float:
        """Largest ``S - epsilon`` up to which the weights f (see the module docstring) are summed."""
        return FADE / self.t + math.log1p(1 / self.t)

    def log_delta(self, epsilon: float) -> float:
        """Return a certified bound on log delta from this object's side, including the mass at infinite loss.

        The bound is ``-inf`` if no positive delta is certified.
        """
        finite = -math.inf if self._empty else self._log_finite(epsilon)
        return finite if math.isinf(self.log_infinite) else float(np.logaddexp(finite, self.log_infinite))

    def _log_finite(self, epsilon: float) -> float:
        """Return a certified bound on ``log E (1 - e^(eps - S))_+`` over finite losses S, from this object's side."""
        t, h, n = self.t, self.h, len(self._values)
        slip = 32 * UNIT_ROUNDOFF * (self._origin_size + abs(epsilon) + (abs(self.start) + n) * h)
        epsilon -= self.side * slip
        first = math.floor((epsilon - self._origin) / h) + 1 - self.start
        below_window = first < 0  # epsilon lies below the window: no place with f = 0 absorbs wrapped mass
        first = min(max(first, 0), n)
        last = min(n, first + math.ceil(self._reach / h) + 1)
        total, weight, size = self._weighed(epsilon, first, last)
        noise = self._error * weight + SUM_ERROR * size
        peak = math.exp(log_peak(t))
        low, high = self._origin + self.start * h, self._origin + (self.start + n) * h
        below = math.exp(self._tail_low.log_beyond(low + slip))
        if self.side is Side.ABOVE:
            log_above = self._tail_high.log_beyond(high - slip)
            missing = math.exp(log_above + _log_weight(max(high - epsilon, math.log1p(1 / t)), t))
            missing += peak * (1.1 * (1 + t) * math.exp(-FADE) + (below if below_window else 0.0))
            log_value = math.log(total + noise + 1.01 * missing) + self.log_norm - t * epsilon
            log_value += self._norm_error + t * slip
            if math.isnan(log_value):
                return math.inf
            return log_value
        wrapped = math.exp(self._tail_high.log_beyond(max(epsilon, low) + (n - 1) * h - slip))
        total -= noise + 1.01 * peak * (below + wrapped)
        if not total > 0 or math.isnan(self.log_norm):
            return -math.inf
        return math.log(total) + self.log_norm - t * epsilon - self._norm_error - t * slip

    def _weighed(self, epsilon: float, first: int, last: int) -> tuple[float, float, float]:
        """Return the sums of ``f v``, of ``f`` and of ``f |v|`` over the places from ``first`` to ``last - 1``.

        Here v is the convolved mass of a place, and f its weight (see the module docstring). Each sum is computed block
        by block, and the sums of the blocks are added without rounding.
        """
        sums: list[tuple[float, float, float]] = []
        for start in range(first, last, BLOCK):
            end = min(start + BLOCK, last)
            # in doubles: if a grid is far finer than the losses, its places exceed the range of an integer
            x = self._origin + (self.start + np.arange(start, end, dtype=np.float64)) * self.h - epsilon
            x = np.maximum(x, 0.0)
            f = np.exp(-self.t * x) * -np.expm1(-x)
            product = self._values[start:end] * f
            sums.append((float(product.sum()), float(f.sum()), float(np.abs(product).sum())))
        total, weight, size = (math.fsum(part) for part in zip(*sums, strict=True)) if sums else (0.0, 0.0, 0.0)
        return total, weight, size

    def slope(self, epsilon: float) -> float:
        """Return an approximation of ``-d log delta / d eps``, a difference quotient of the bounds.

        The result is 0 if the bound at the larger epsilon is ``-inf``.
        """
        step = max(2 * self.h, 1e-4 * epsilon)
        high, low = self.log_delta(epsilon), self.log_delta(epsilon + step)
        return (high - low) / step if low > -math.inf else 0.0


def _log_weight(x: float, t: float) -> float:
    """Return the logarithm of the weight ``f(x) = e^(-tx) (1 - e^-x)`` for x > 0."""
    return -t * x + math.log(-math.expm1(-x))
