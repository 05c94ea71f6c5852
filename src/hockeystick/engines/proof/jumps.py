"""Rare jumps taken apart from the core of the law: few points where a sampled round at a small rate needed many.

Symbols as in ``mixture.py``, for remove. With ``chi(x) = Phi((x - c) / w)`` the law of one loss is a core plus jumps,
``m = C + J``, ``C(z) = int phi g^(1+z) (1 - chi)``, ``J(z) = int phi g^(1+z) chi``, both of positive measures. Of the
k-fold law the core's k-fold law is a part, and what remains is positive too, with the transform ``m^k - C^k``. So

    delta = delta_C + delta_R ,   0 <= delta_C(eps) <= C(y)^k e^(-y eps) peak(y)  for every y > 0 (``contour.py``),

negligible where eps is beyond the reach of the core, and delta_R is had from the line with ``m^k - C^k`` for ``m^k``;
its aliases are at most those of delta. What is cut off is small much earlier than without the core, whose narrow law is
what needs a long line: as ``|C(t + is)| <= C(t) <= m(t)``,

    |m^k - C^k| = |J| |sum_i m^i C^(k-1-i)| <= k |J(t + is)| m(t)^(k-1) .

- J: moved to ``x + iy``, ``0 < mu y <= pi/2``, with ``|Phi(a + ib)| <= e^(b^2/2) Phi(a)`` (as ``|phi(v + ib)| =
  e^(b^2/2) phi(v)``), ``|g(x + iy)| <= g(x)``, and ``a_y(x) = arg g(x + iy)``, which rises with x (``strip.py``),

      |J(t + is)| <= e^(y^2 (1 + 1/w^2) / 2) int phi g^(1+t) chi e^(-s a_y) ,

  which falls with s. The integral is bounded on panels, phi by its mass, g and chi at their upper ends, a_y at their
  lower ends; below them by ``Phi(x_0) g(x_0)^(1+t) chi(x_0)``, above by that of ``range_remainder`` and ``e^(-s a_y)``.
- C(y): on panels too, ``1 - chi`` at their lower ends; below them by ``Phi(x_0) g(x_0)^(1+y)``. Above, as ``u' <= mu``
  and ``-log Phi(-v)`` is convex with the slope ``phi(v) / Phi(-v) >= v`` at v >= 0, with ``v = (x_n - c) / w``: at most
  ``phi(x_n) g(x_n)^(1+y) Phi(-v) / (v/w - (1+y) mu)`` for x_n >= 0, where that is positive.
- The quadrature of C: that of m with ``|1 - chi| <= e^(h^2 / (2 w^2))`` in the strip, and at most 1 on the real line.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from flint import arb

from hockeystick.engines.proof.mixture import Core, MixtureBalls
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.numerics.balls import Ball, ComplexBall, ball, normal_tail, precision, upper
from hockeystick.numerics.work import spend
from hockeystick.pairs.renyi import log_peak
from hockeystick.values.adjacency import Direction

Array = npt.NDArray[np.float64]

PANEL = 1.0 / 32  # width at most
FINE = 0.375  # width of the panels about c, of w
LOWEST = -4.0  # where panels begin
FRACTIONS = (
    0.9,
    0.75,
    0.6,
    0.5,
    0.42,
    0.36,
    0.3,
    0.25,
    0.21,
    0.18,
    0.15,
    0.12,
    0.1,
    0.08,
    0.06,
    0.03,
)  # of eps: the loss at c
WIDTHS = (0.015, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0)  # w, of 1 / mu
WIDEST = 16.0  # w at most: a core that fades over more standard deviations than that keeps every outcome that counts
SHIFTS = (1.5, 2.5, 4.0, 6.0)  # y, of w
REACHES = np.geomspace(1.0, 1e5, 61)  # heights s at which the line may end
TILTS = np.geomspace(2.0, 2000.0, 25)  # y of the core, of 1 / eps
LOOK = 30.0  # units of work of a tilt at a panel, when cores are compared
BITS = 128  # precision of the bounds on the core and on what is cut off
DEEPER = 5.0  # log of how much lighter than what is wanted the integrand is beyond the range
BEYOND = 12.0  # of w: where the panels of the core end


class Jumps(NamedTuple):
    """A choice: any is sound.

    Attributes:
        core: c and w.
        shift: y of the bound on J.
        reach: about where the line may be cut.
        tilt: y of the bound on the core.
    """

    core: Core
    shift: float
    reach: float
    tilt: float


class JumpBalls:
    """The bounds on core and jumps of one kind of round.

    Args:
        mixture: the round, a record being removed.
        count: how many there are.
    """

    def __init__(self, mixture: MixtureBalls, count: int) -> None:
        self.mixture, self.count = mixture, count
        self._mu, self._rate = float(mixture.item.mu), float(mixture.item.rate)

    def proposal(self, t: float, log_moment: float, epsilon: float, wanted: float, high: float) -> Jumps | None:
        """The choice with the shortest line among some; None where the core reaches eps.

        Args:
            t: tilt of the line.
            log_moment: about log m(t).
            epsilon: where delta is sought.
            wanted: log of what may be left out of delta.
            high: outcomes above which the integrand of m(t) is light.
        """
        best: Jumps | None = None
        scale = math.log(self.count) + (self.count - 1) * log_moment - t * epsilon - math.log(math.pi)
        for width in WIDTHS:
            w = width / self._mu
            if w > WIDEST:
                break
            for fraction in FRACTIONS:
                odds = math.expm1(min(fraction * epsilon, 600.0)) / self._rate + 1
                if math.isinf(odds):  # beyond the range of a double no outcome is that far out
                    continue
                core = Core((math.log(odds) + 0.5 * self._mu**2) / self._mu, w)
                tilt, log_core = self._core_about(core, epsilon)
                if log_core > wanted - 1.0:
                    continue
                for shift in SHIFTS:
                    y = min(shift * w, 0.49 * math.pi / self._mu)
                    rest = self._jump_about(core, t, y, high) + scale - np.log(REACHES)
                    fine = np.flatnonzero(rest < wanted - 1.0)
                    if len(fine) and (best is None or REACHES[fine[0]] < best.reach):
                        best = Jumps(core, y, float(REACHES[fine[0]]), tilt)
                break
        return best

    def _log_g(self, x: Array) -> Array:
        out: Array = np.logaddexp(math.log1p(-self._rate), math.log(self._rate) + self._mu * x - 0.5 * self._mu**2)
        return out

    def _core_about(self, core: Core, epsilon: float) -> tuple[float, float]:
        """The best y, and about the log of the bound on delta_C."""
        from scipy.special import log_ndtr, ndtr

        x = _edges(core.centre + BEYOND * core.width, core)
        weights = -np.diff(ndtr(-x)) * np.exp(log_ndtr((core.centre - x[:-1]) / core.width))
        spend(LOOK * len(TILTS) * len(x))
        y = TILTS / epsilon
        exponents = (1 + y[:, None]) * self._log_g(x[1:])
        exponents = exponents + np.log(np.maximum(weights, 1e-300))
        top = exponents.max(axis=1)
        logs = top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))
        steep = BEYOND / core.width > 2 * (1 + y) * self._mu
        bounds = np.where(steep, self.count * logs - y * epsilon, math.inf)
        best = int(np.argmin(bounds))
        return float(y[best]), float(bounds[best]) + log_peak(float(y[best]))

    def _jump_about(self, core: Core, t: float, y: float, high: float) -> Array:
        """A guess at the log of the bound on J at all reaches, of shape (m,)."""
        from scipy.special import log_ndtr

        x = _edges(high, core)
        density = -0.5 * np.square(np.where(x[:-1] > 0, x[:-1], x[1:])) + np.log(np.diff(x) / math.sqrt(2 * math.pi))
        logs = density + (1 + t) * self._log_g(x[1:]) + log_ndtr((x[1:] - core.centre) / core.width)
        log_odds = math.log(self._rate) + self._mu * x[:-1] - 0.5 * self._mu**2 - math.log1p(-self._rate)
        odds = np.exp(np.minimum(log_odds, 300.0))  # beyond, the angle is what it is there
        turn = np.arctan2(odds * math.sin(self._mu * y), 1 + odds * math.cos(self._mu * y))
        exponents = logs[:, None] - turn[:, None] * REACHES
        top = exponents.max(axis=0)
        out: Array = top + np.log(np.exp(exponents - top).sum(axis=0)) + 0.5 * y * y * (1 + core.width**-2)
        return out

    def core_bound(self, jumps: Jumps) -> Ball:
        """Upper bound on ``C(y)^k peak(y)``: of delta_C, less ``e^(-y eps)``."""
        (centre, width), y = (arb(part) for part in jumps.core), arb(jumps.tilt)
        x, power = [arb(at) for at in _edges(jumps.core.centre + BEYOND * jumps.core.width, jumps.core).tolist()], 1 + y
        g = [(power * self._log_g_ball(at)).exp() for at in x]
        tails = [normal_tail(at) for at in x]
        total = (1 - tails[0]) * g[0]
        for i in range(len(x) - 1):
            total += (tails[i] - tails[i + 1]) * g[i + 1] * normal_tail((x[i] - centre) / width)
        v = (x[-1] - centre) / width
        falls = v / width - power * ball(self.mixture.item.mu)
        if not (falls > 0 and v >= 0 and x[-1] >= 0):
            return arb.pos_inf()
        total += (-(x[-1] ** 2) / 2).exp() / (2 * arb.pi()).sqrt() * g[-1] * normal_tail(v) / falls
        return upper((self.count * total.log() + y * y.log() - power * power.log()).exp())

    def jump_bound(self, jumps: Jumps, t: float, reach: float, high: float) -> Ball:
        """Upper bound on ``|J(t + is)|`` for all s >= reach."""
        (centre, width), y, at = (arb(part) for part in jumps.core), arb(jumps.shift), arb(reach)
        mu, q, power = ball(self.mixture.item.mu), ball(self.mixture.item.rate), 1 + arb(t)
        if not mu * y <= arb.pi() / 2:
            return arb.pos_inf()
        sine, cosine = (mu * y).sin_cos()
        x = [arb(at) for at in _edges(high, jumps.core).tolist()]
        tails, total, turn = [normal_tail(one) for one in x], arb(0), arb(0)
        g = [(power * self._log_g_ball(one)).exp() for one in x]
        chi = [normal_tail((centre - one) / width) for one in x]
        total += (1 - tails[0]) * g[0] * chi[0]
        for i in range(len(x)):
            odds = q * (mu * x[i] - mu * mu / 2).exp()
            turn = arb.atan2(odds * sine, 1 - q + odds * cosine)
            if i < len(x) - 1:
                total += (tails[i] - tails[i + 1]) * g[i + 1] * chi[i + 1] * (-at * turn).exp()
        total += self.mixture.range_remainder(t, arb(-1000), x[-1]) * (-at * turn).exp()
        return upper(total * (y * y * (1 + width**-2) / 2).exp())

    def _log_g_ball(self, x: Ball) -> Ball:
        mu, q = ball(self.mixture.item.mu), ball(self.mixture.item.rate)
        return (1 - q + q * (mu * x - mu * mu / 2).exp()).log()


class Apart:
    """The line of a composition without its core.

    Args:
        pieces: of the one kind of round.
        jumps: the choice.
        t: tilt of the line.
        high: outcomes above which the integrand of m(t) is light.
    """

    def __init__(self, pieces: JumpBalls, jumps: Jumps, t: float, high: float) -> None:
        self._pieces, self._jumps, self._t, self._high = pieces, jumps, t, high
        with precision(BITS):
            self._core = pieces.core_bound(jumps)

    @classmethod
    def of(cls, rounds: ExactRounds, t: float, epsilon: float, wanted: float) -> Apart | None:
        """The pieces of sampled Gaussian rounds of one kind, a record being removed.

        None for other rounds, and where the core reaches eps.

        Args:
            rounds: the rounds.
            t: tilt of the line.
            epsilon: where delta is sought.
            wanted: log of what may be left out of delta.
        """
        if rounds.kinds != 1 or len(rounds.sampled) != 1 or epsilon <= 0:
            return None
        ((item, count),) = rounds.sampled.items()
        if item.direction is not Direction.REMOVE:
            return None
        mixture = MixtureBalls(item)
        pieces = JumpBalls(mixture, count)
        with precision(BITS):
            log_moment = float(mixture.values(t, 1.0, 1, -20.0)[0].real.log().mid())
        high = mixture.grid(t, 0.0, wanted + min(t * epsilon - count * log_moment, 0.0) - DEEPER).high
        jumps = pieces.proposal(t, log_moment, epsilon, wanted, high)
        return None if jumps is None else cls(pieces, jumps, t, high)

    @property
    def reach(self) -> float:
        """The height s at which the line ends."""
        return self._jumps.reach

    def rest(self, step: float) -> Ball:
        """Bound on what is cut off a sum of this step, in units of ``m(t)^k e^(-t eps)``; by Jensen m(t) >= 1."""
        with precision(BITS):
            at = arb(self.reach)
            largest = self._pieces.jump_bound(self._jumps, self._t, self.reach, self._high)
            return upper(self._pieces.count * largest * (arb(step) / at**2 + 1 / at) / arb.pi())

    def core(self, epsilon: Ball) -> Ball:
        """Upper bound on delta_C, the core's part of delta."""
        return upper(self._core * (-arb(self._jumps.tilt) * epsilon).exp())

    def values(self, step: float, count: int, log_tolerance: float) -> tuple[list[ComplexBall], Ball]:
        """``m^k - C^k`` at the points, and an upper bound on ``m(t)^k``."""
        whole, inner = self._pieces.mixture.apart(self._t, step, count, log_tolerance, self._jumps.core)
        power = self._pieces.count
        return [m**power - c**power for m, c in zip(whole, inner, strict=True)], upper(whole[0].real ** power)


def _edges(high: float, core: Core) -> Array:
    """Ends of the panels from the lowest outcome to ``high``, close together about the core's edge."""
    number = max(math.ceil((high - LOWEST) / PANEL), 1)
    coarse = LOWEST + PANEL * np.arange(number + 1, dtype=np.float64)
    fine = core.centre + np.arange(-BEYOND, BEYOND + FINE, FINE) * core.width
    out: Array = np.unique(np.concatenate([coarse, fine[(fine > LOWEST) & (fine < coarse[-1])]]))
    return out
