"""Quadrature for a Poisson-sampled Laplace round: Gauss-Legendre panels between two atoms, with every error bounded.

Let l be the loss of the unsampled round, from ``-theta`` to theta, ``g(l) = 1 - q + q e^l``, ``u = log g``, and Q the
law without the record: it has atoms at the ends (and, for truncated noise, at loss minus infinity, where g is 1 - q),
and between them the density ``c e^(-(l + theta)/2)`` in l. In the direction remove the loss is u and ``m(z) = E_Q
g^(1+z)``; in the direction add it is -u and ``m(z) = E_Q g^(-z)``. Let p be ``1 + z`` for remove and ``-z`` for add.
Since Q has the mass 1,

    m(z) - 1 = sum_atoms Q (g^p - 1) + int c e^(-(l + theta)/2) (g^p - 1) dl .

**Rule.** On a panel of half-width w about b the 16-point rule errs by at most ``(64/15) w M rho^(-32) / (1 - rho^-2)``.
M is a bound on the integrand on the ellipse with foci at the panel's ends and semi-axes ``A = w (rho + 1/rho) / 2``,
``B = w (rho - 1/rho) / 2`` (Trefethen 2008 [Tre08], Theorem 4.5). Let ``B <= pi/2``. Then ``|g(x + iy)|^2 = (1-q)^2 + 2
q (1-q) e^x cos y + q^2 e^(2x)`` rises with x and falls with ``|y|``, and ``arg g(x + iy)`` rises with x and with y. So
on the ellipse

    |g| <= g(b + A),    |g| >= |g(b - A + iB)|,    |arg g| <= arg g(b + A + iB) .

For ``|s| <= S`` the power ``|g^p|`` is at most ``G = e^(S arg) g(b + A)^(1+t)``, or ``e^(S arg) |g(b - A + iB)|^(-t)``,
and ``|g^p - 1| <= 1 + G``. Where ``X = q min(e^(b + A) + 1, e^R - 1) <= 1/2``, with R the largest ``|l|`` on the
ellipse, we have ``|g - 1| <= X``, hence ``|log g| <= X / (1 - X) <= 2 X`` and ``|g^p - 1| <= |p log g| max(1, G) <= 2
(1 + t + S) X max(1, G)``.

**Panels.** The widths of the panels are a guess, which is checked by the error bound. The integral of ``1/2 + (1 + t +
S) u'`` over a panel is about ``2 c0``. No panel is wider than the singularities of log g at ``log((1-q)/q) +- i pi``
allow.

**Density.** Between the atoms, the loss under the law tilted by t has the density ``H = c e^(-(l + theta)/2) e^(p u) /
(u' m(t))`` with p at Re z = t. As ``u'' = u' (1 - u')``, ``(log H)' = (p + 1) u' - 3/2``, whose derivative is at most
``C = max(p + 1, 0) min(u', 1/4)``, where between two losses u' is taken at the upper one, because u' rises. So between
two losses l at a distance d, H is at least ``e^(-C d^2 / 8)`` times the lesser of its values at the two.

**Rounding.** Let e be the unit round-off. The error of theta (three roundings) and the error of a node together move l
by at most ``8 e theta``, and hence u by u' times as much. An error of q moves u by ``|1 - 1/g|`` times this error. u
itself has a few roundings of its own size. The relative errors of masses are a few roundings of their logarithms and of
theta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.boxes import lengths_between
from hockeystick.numerics.legendre import rule
from hockeystick.numerics.rounding import LARGEST, SMALLEST_NORMAL, SPARE, TINY, UNIT_ROUNDOFF
from hockeystick.pairs.sampled.poisson import mixed_loss, mixed_slope, rate_error

Array = npt.NDArray[np.float64]

NODES = 16  # number of nodes of the rule on each panel
TURNS = 2.5  # c0 in the module docstring: half-width of a panel times the rate at which the integrand changes
WIDEST = 0.8  # largest half-width of a panel: log g has singularities at a distance of pi
TABLE, FINE = 128, 8.0  # number of points from which panels are placed: the least number, and that per unit of theta
CELLS = 512  # least number of points from which boxes below the density are made
FINEST = 32.0  # distance of the nearest point from an end, relative to the integrand's reach at tilt t
MAX_THETA = 16_000.0  # largest theta that is supported
DEEP, FAINTER = 40.0, 8.0  # log of the weight, relative to the heaviest place, below which panels become wider
MAX_PANELS = 1 << 14  # most panels of a line: a line that needs more is not available
RADII = np.exp(np.array([0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.8, 2.2, 2.8, 3.5, 4.5]))
"""Values of rho that are tried: a small panel allows a large rho."""

THETA_UNITS = 8.0  # error of a loss l in units, relative to theta
OWN_UNITS = 24.0  # error of u in units, relative to u
RATE_UNITS = 4.0  # error of q in units, relative to q


@dataclass(frozen=True, slots=True)
class LaplaceLaw:
    """A Poisson-sampled round whose loss before sampling has the Laplace mechanism's density.

    Attributes:
        theta: the largest finite loss before sampling; the least one is -theta.
        log_top: log of Q's density at ``l = -theta`` as a density in ``x = (l + theta) / 2``, which is twice the
            density in l.
        losses: losses before sampling of the atoms of Q; one of them may be minus infinity.
        log_masses: log-masses of these atoms under Q.
        rate: q, the sampling rate.
        add: True for the direction that adds a record.
    """

    theta: float
    log_top: float
    losses: tuple[float, ...]
    log_masses: tuple[float, ...]
    rate: float
    add: bool

    def power(self, t: float) -> float:
        """The real part of p at Re z = t."""
        return -t if self.add else 1 + t

    @property
    def sign(self) -> float:
        """The sign of the loss relative to u: 1 for remove, -1 for add."""
        return -1.0 if self.add else 1.0

    def graded(self, t: float, points: int) -> Array | None:
        """Return losses from -theta to theta, denser near both of these ends; ``None`` if theta is too large."""
        if not self.theta < MAX_THETA:
            return None
        finest = 1 / (FINEST * (1 + t) * (1 + self.theta))
        near = (
            2 * self.theta * np.geomspace(finest, 1.0, math.ceil(points * (1 - math.log10(finest)) / 4), endpoint=False)
        )
        even = np.linspace(-self.theta, self.theta, math.ceil(max(points, FINE * self.theta)))
        return np.unique(np.concatenate([even, near - self.theta, self.theta - near]))

    def cells(self, t: float, log_m: float) -> tuple[Array, Array]:
        """Return lower bounds on the density of the tilted loss on pieces of its range, and on the pieces' lengths.

        Args:
            t: tilt.
            log_m: upper bound on log m(t).
        """
        edges = self.graded(t, CELLS)
        if edges is None:
            return np.zeros(1), np.zeros(1)
        u, power = mixed_loss(edges, self.rate), self.power(t)
        slope, slip = mixed_slope(edges, u, self.rate), self.slip(edges, u)
        log_slope = np.log(np.maximum(slope, SMALLEST_NORMAL))
        log_density = self.log_top - math.log(2) - 0.5 * (edges + self.theta) + power * u - log_slope - log_m
        log_density -= (abs(power) + 1) * slip + SPARE * (1 + abs(self.log_top) + np.abs(power * u))
        bend = max(power + 1, 0.0) * np.minimum(slope[1:], 0.25)
        height = np.exp(np.minimum(log_density[1:], log_density[:-1]) - bend * np.square(np.diff(edges)) / 8)
        return height, lengths_between(u, slip)

    def slip(self, loss: Array, u: Array) -> Array:
        """Bound on the absolute rounding error of u at losses before sampling."""
        finite = np.where(np.isfinite(loss), loss, -self.theta)
        slope = np.where(np.isfinite(loss), mixed_slope(finite, u, self.rate), 0.0)
        units = OWN_UNITS * np.abs(u) + THETA_UNITS * self.theta * slope + RATE_UNITS * rate_error(loss, u, self.rate)
        out: Array = UNIT_ROUNDOFF * units
        return out

    def panels(self, t: float, reach: float, narrower: float) -> Array | None:
        """Return the edges of panels on which the rule is accurate; ``None`` if there would be too many panels.

        Args:
            t: tilt.
            reach: largest height ``|Im z|``.
            narrower: factor by which the number of panels is increased.
        """
        loss = self.graded(t, TABLE)
        if loss is None:
            return None
        u = mixed_loss(loss, self.rate)
        log_size = self.power(t) * u - 0.5 * loss
        depth = log_size.max() - np.maximum(log_size[1:], log_size[:-1])
        turns = (1 + t + reach) * np.diff(u) / (2 * TURNS * np.maximum((depth - DEEP) / FAINTER, 1.0))
        steps = (0.5 / WIDEST + 0.25 / TURNS) * np.diff(loss) + turns
        density = narrower * np.concatenate([[0.0], np.cumsum(steps)])
        if not density[-1] <= MAX_PANELS:
            return None
        number = max(math.ceil(float(density[-1])), 1)
        edges: Array = np.interp(np.linspace(0.0, float(density[-1]), number + 1), density, loss)
        edges[0], edges[-1] = -self.theta, self.theta
        return np.unique(edges)

    def log_remainder(self, edges: Array, t: float, reach: float, *, moved: bool) -> float:
        """Return the log of a bound on the error of the rule on all panels together.

        The error is that of ``m - 1`` if ``moved`` is True, and that of m if not.
        """
        b, w = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
        with np.errstate(over="ignore", invalid="ignore"):
            best = self._log_errors(b, w, RADII[:, None], t, reach, moved).min(axis=0)
        top = float(best.max())
        return top + math.log(float(np.exp(best - top).sum())) + SPARE if math.isfinite(top) else top

    def _log_errors(self, b: Array, w: Array, rho: Array, t: float, reach: float, moved: bool) -> Array:
        """Return the log of the bound on the rule's error for each ellipse on each panel, shape (radii, panels).

        The bound is infinite where the ellipse is higher than ``pi/2``.
        """
        log_density = self.log_top - math.log(2) - 0.5 * (b + self.theta)
        high, up = (0.5 * w * (rho + sign / rho) * (1 + SPARE) for sign in (1, -1))
        allowed = up < 0.5 * math.pi
        up = np.minimum(up, 0.5 * math.pi)
        log_odds = math.log(self.rate) - math.log1p(-self.rate)
        sine, cosine = np.sin(up), np.cos(up)
        if self.add:
            lower = np.exp(np.minimum(b - high + log_odds, LARGEST))
            least = np.hypot(1 + lower * cosine, lower * sine)
            log_power = -t * (np.log(least) + math.log1p(-self.rate))
        else:
            log_power = (1 + t) * mixed_loss(b + high, self.rate)
        if reach:
            odds = np.exp(np.minimum(b + high + log_odds, LARGEST))
            log_power = log_power + reach * np.arctan2(odds * sine, 1 + odds * cosine)
        log_size = np.logaddexp(0.0, log_power) if moved else log_power
        if moved:
            farthest = np.hypot(np.abs(b) + high, up)
            with np.errstate(over="ignore"):
                off = self.rate * np.minimum(
                    np.exp(np.minimum(b + high, LARGEST)) + 1, np.expm1(np.minimum(farthest, LARGEST))
                )
            off = 2 * off + TINY  # for a rate close to 0, X is below the range of a double, but not 0
            little = np.log(2 * (1 + t + reach) * np.minimum(off, 1.0)) + np.maximum(log_power, 0.0)
            log_size = np.where(off <= 0.5, np.minimum(log_size, little), log_size)
        log_error = log_density + 0.5 * high + log_size - 2 * NODES * np.log(rho) - np.log1p(-(rho**-2.0))
        log_error += np.log(w) + math.log(64 / 15) + SPARE * (1 + np.abs(log_power) + np.abs(log_density))
        return np.where(allowed, log_error, math.inf)


class LaplaceNodes:
    """The nodes of the quadrature rule and the atoms, together treated as a law of finitely many losses.

    Args:
        law: the round.
        edges: edges of the panels.
        t: tilt.

    Attributes:
        loss: shape (n,), the loss L of the round at the nodes and atoms.
        log_weight: shape (n,), logs of their weights under Q.
        exponent: shape (n,), ``log g^p`` at Re z = t.
        slip: shape (n,), bound on the absolute rounding error of the loss.
        care: shape (n,), bound on the relative rounding error of the weight.
        doubt: shape (n,), bound on the absolute rounding error of the exponent.
    """

    def __init__(self, law: LaplaceLaw, edges: Array, t: float) -> None:
        nodes, weights = rule(NODES)
        b, w = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
        between = (b[:, None] + np.multiply.outer(w, nodes)).ravel()
        log_between = law.log_top - math.log(2) - 0.5 * (between + law.theta)
        log_between += np.log(np.multiply.outer(w, weights).ravel())
        loss = np.concatenate([between, np.array(law.losses)])
        self.log_weight: Array = np.concatenate([log_between, np.array(law.log_masses)])
        u = mixed_loss(loss, law.rate)
        power = law.power(t)
        self.loss: Array = law.sign * u
        self.exponent: Array = power * u
        self.slip: Array = law.slip(loss, u)
        sizes = np.abs(self.log_weight) + abs(law.log_top)
        self.care: Array = UNIT_ROUNDOFF * (32 + 2 * THETA_UNITS * law.theta + 8 * sizes)
        self.doubt: Array = abs(power) * self.slip + 4 * UNIT_ROUNDOFF * np.abs(self.exponent)
