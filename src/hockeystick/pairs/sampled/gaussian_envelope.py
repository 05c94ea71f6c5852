"""Bound on the decay of the characteristic function of a mixture of Gaussians, by moving x into the complex plane.

Let H be the integrand of ``m(t + is)``, analytic where g does not vanish, and y(x) >= 0 smooth (y <= 0 for add, where
everything is mirrored). Then ``m(t + is) = int H(x + iy(x)) (1 + iy'(x)) dx``, and

    |m(t + is)| <= B(s) = int phi e^A e^psi dx,
    psi = y^2/2 + ca log |g(x+iy) / g(x)| + cb log |g(-x-iy) / g(-x)| - s (arg g(x+iy) + arg g(-x+iy)) + log(1 + y'^2/2)

(the terms with g(-x) occur only for replace-one; ca and cb are the coefficients of :class:`Kind`). **B is decreasing in
s**, so its value at s is also a bound for all larger s. With r(x) the slope ``d psi / d l = q e^l / g``, a number in
(0, 1), the loss has the slope mu r (replace-one: ``mu (r(x) + r(-x))``). The shift is ``y = Y R^p``, where R is that
slope **at another rate** q_*, whose odds are ``max(1, ODDS mu s)`` times those of q:

    R = r_*(x) (replace-one: r_*(x) + r_*(-x)),      r_* = q_* e^l / (1 - q_* + q_* e^l) .

Where ``s mu r`` is small, psi is about ``y^2/2 - s mu r y``, and the shift has to follow the slope. Where ``s mu r`` is
large, the whole shift Y pays off. Between these two cases r_* saturates. Small y gives ``log B/m(t) = -s^2/2`` times
nearly the variance of the loss; the best y would be s times the Stein kernel. p is 1/2. Where the best Y exceeds the
largest Y allowed, a constant shift (p = 0) is tried too.

**Quadrature.** ``D = 1 - B / m(t) = int phi e^A (1 - e^psi) / m(t)`` is needed from below, with an error well below
1/k. The trapezoid rule sums ``phi e^A (1 - e^psi)``, whose two parts are analytic in a strip. For the second part,
``phi e^A e^psi``, let ``zeta = x + i eta`` and ``y(zeta) = a + ib``, and let ``H*`` be the integrand with conjugated
coefficients. Then

    e^A e^psi continues to [H(zeta + iy(zeta)) H*(zeta - iy(zeta))]^(1/2) (1 + y'(zeta)^2 / 2).

Let nu = mu |eta|. As ``(1 + rho)^2 cos^2(nu/2) <= |1 + rho e^(i nu)|^2``, we have ``|R(zeta)| <= R(x) / cos(nu/2)``.
The argument of R is at most nu, whatever the rate. So ``|y| <= Y' = Y (max R / cos(nu/2))^p`` and ``|b| <= Y' sin(p
nu)``. Then

- Gaussian factor: ``phi(x) e^((eta^2 + Y'^2) / 2)``, since phi at x - b and at x + b leaves a factor ``e^(-b^2/2)``;
- ``|g|^(1+t)``: ``(u(x-b) + u(x+b)) / 2 <= u(x) + mu^2 b^2 / 8`` as ``u'' = mu^2 r (1 - r)``: a factor ``e^((1+t) mu^2
  b^2 / 8)``;
- ``|g|^(-t)``: u is convex, which leaves :meth:`MixtureLaw.log_dip` at ``|eta| + Y'``;
- phase: ``log g(zeta+iy) - log g(zeta-iy) = int_-1^1 iy mu r(zeta + i theta y) dtheta`` has an imaginary part >= 0
  where the argument of y r is at most pi/2, that is for ``p nu + mu (|eta| + Y') <= pi/2``; its factor is then at most
  1 for every s >= 0. For p = 0 (y = a constant) it is enough that ``|eta| <= Y`` and ``mu (|eta| + Y) < pi``: the
  arguments of g at heights Y + eta and Y - eta are then both >= 0;
- ``1 + y'^2/2``: ``|dR/dx| <= mu (|r_*(zeta)| + |r_*(-zeta)|) / cos(nu/2)`` and ``|R| >= (|r_*(zeta)| + |r_*(-zeta)|)
  cos nu``, so that ``|y'| <= p mu Y' / (cos(nu/2) cos nu)``, kept below 0.9, which leaves a factor below 3/2.

The rule errs by at most ``2 M / (e^(2 pi eta / dx) - 1)`` with M the product of these factors and of m(t) (Trefethen,
Weideman 2014 [TW14], Theorem 5.1). Beyond the range of the nodes, only the part ``-phi e^A e^psi`` can make D smaller.
Its size is at most ``e^(Y'^2/2) 3/2`` times the tails of :meth:`MixtureLaw.log_beyond`. For ``mu Y' <= pi / 2``, the
bounds on g that these tails use hold as on the real line: ``|g(x + iy)| <= g(x)`` and ``|g(x + iy)| >= Re g >= 1 - q``.
The exception is add above the range, where g >= 1 is used. There ``|g(x + iy)|^2 >= (1 - q)^2 + 2 q (1 - q) e^l cos(mu
Y') + q^2 e^(2l)``, which increases in x; its value at the end of the range takes the place of 1 where it is less than
1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.arrays import BLOCK
from hockeystick.numerics.rounding import SPARE, UNIT_ROUNDOFF
from hockeystick.pairs.sampled.gaussian_share import Shares
from hockeystick.pairs.sampled.mixture_law import Kind, MixtureLaw, Nodes, log_density

Array = npt.NDArray[np.float64]

STRIP = 0.45  # eta, in units of 1 / mu
LARGEST_SHIFT = 2.5  # Y: beyond, e^(y^2/2) is too large
POWER = 0.5  # p of the module docstring
ODDS = 0.5  # of q_*: the odds of q grow by this times mu s
FAR_SHIFT = 2.0  # Y of the constant shift for remove, in units of 1 / mu; its eta is half of that
LIGHT = -70.0  # log of what a node may contribute, at any shift, if it is skipped
LEAST_SHARE = (
    -300.0
)  # log of the least share of m of a kept node: psi is cut at 300 (_log_values), where e^psi times this share is 1
MANY = 8  # number of rounds from which on each need not fall far
MAX_NODES = 400_000  # beyond, a round has no envelope


class MixtureEnvelope:
    """Bounds on ``|m(t + is)| / m(t)`` of one sampled round.

    Args:
        law: the round.
        t: tilt.
        count: number of rounds, the power to which the bounds will be raised.
    """

    def __init__(self, law: MixtureLaw, t: float, count: int) -> None:
        self._law, self._t = law, t
        self._slack = min(1e-2 / count, 1e-6) if count >= MANY else 1e-8
        mu = law.mu
        self._eta = min(STRIP / mu, 4.0)
        highest = 2.0 if law.kind is Kind.REPLACE else 1.0
        self._spread = highest / math.cos(0.5 * mu * self._eta)
        self._widest = self._widest_shift(POWER)
        self._far, self._far_eta = self._widest_shift(0.0), self._eta
        if law.kind is Kind.REMOVE:
            self._far = min(FAR_SHIFT / mu, LARGEST_SHIFT)
            self._far_eta = min(0.5 * FAR_SHIFT / mu, self._far)
        tallest = self._tallest = max(self._far, self._widest * self._spread**POWER)
        depth = -math.log(self._slack) + 4.0
        growth = 0.5 * (self._eta**2 + tallest**2)
        growth += float(law.log_dip(self._eta + tallest, t)) if law.kind is not Kind.REMOVE else 0.0
        growth += self._log_bent(POWER, self._widest)
        self._dx = 2 * math.pi * self._eta / (depth + growth)
        self._low, high = law.range_for(t, 0.0, self._slack * math.exp(-0.5 * tallest**2 - 2))
        nodes = math.ceil((high - self._low) / self._dx) + 1
        self.usable = nodes * law.terms <= MAX_NODES
        if self.usable:
            self._build(self._low + self._dx * np.arange(nodes, dtype=np.float64))

    def _widest_shift(self, p: float) -> float:
        """Return the largest Y that the conditions of the module docstring allow for a power p."""
        mu = self._law.mu
        largest = (0.5 * math.pi - (1 + p) * mu * self._eta) / mu * (1 - 1e-9)
        nu = mu * self._eta
        slope = 0.9 / (p * mu) * math.cos(0.5 * nu) * math.cos(nu) if p else math.inf
        shift: float = min(largest, slope, LARGEST_SHIFT) * self._spread**-p
        return shift

    def _log_bent(self, p: float, shift: float) -> float:
        """Return the log of the factor that ``|g|^(1+t)`` adds to M for a shift Y and a power p; 0 for add.

        See the list of factors in the module docstring; for add, the integrand has no such power of g.
        """
        if self._law.kind is Kind.ADD:
            return 0.0
        mu = self._law.mu
        bend: float = shift * self._spread**p * math.sin(p * mu * self._eta)  # the largest |b| of the module docstring
        return (1 + self._t) * (mu * bend) ** 2 / 8

    def _build(self, x: Array) -> None:
        law = self._law
        nodes = Nodes(law, x, self._t)
        log_tilted = log_density(x) + math.log(self._dx) + nodes.exponent
        top = float(log_tilted.max())
        weight = np.exp(log_tilted - top)
        total = float(weight.sum())
        self._log_total = top + math.log(total)
        sides = list(zip(nodes.shares, law.kind.coefficients(self._t), strict=False))  # add and remove: g(x) alone
        reached = self._log_reached(log_tilted - self._log_total, sides)
        share = log_tilted - self._log_total
        keep = (weight > 1e-40 * total) | ((reached > LIGHT) & (share > LEAST_SHARE))
        self._weight = weight[keep] / total
        self._sides = [(shares.chosen(keep), power) for shares, power in sides]
        tallest = self._tallest
        self._left_out = 2 * float(np.exp(np.minimum(reached[~keep], 300.0)).sum())
        outside = law.log_beyond(self._t, self._low, float(x[-1]), tallest)  # also where g is taken off the real line
        self._beyond = math.exp(min(outside - self._log_total, 300.0) + 0.5 * tallest**2 + 1)
        self._care = nodes.care()[keep]
        self._slip = SPARE + 2 * float(self._care @ self._weight)
        self.usable = self._slip < 1  # otherwise only the size of m(t) is known, and nothing relative to it
        self._scale = nodes.share_units()[keep]

    def _log_reached(self, log_weight: Array, sides: list[tuple[Shares, float]]) -> Array:
        """Return at each node the log of a bound on ``phi e^A e^psi`` for every shift; it is charged for skipped nodes.

        At each node, ``e^psi`` is at most ``3/2 e^(Y^2/2)`` times the growth of ``|g|^-t`` at the largest angle. A
        bound on the integral of the growth, such as :meth:`MixtureLaw.log_dip`, would not suffice for single nodes.
        """
        reached: Array = log_weight + 0.5 * self._tallest**2
        for shares, power in sides:
            if power < 0:
                reached = reached + power * shares.turned(np.full_like(log_weight, self._tallest))[0]
        return reached

    def _shapes(self, edges: Array) -> tuple[Array, Array]:
        """Return ``R^p`` and its derivative at the nodes, with one row per edge."""
        mu = self._law.mu
        odds = np.maximum(1.0, ODDS * mu * edges)[:, None]
        rising, *others = (shares.lifted(odds) for shares, _ in self._sides)
        if not others:
            shape = np.sqrt(rising)
            return shape, POWER * mu * shape * (1 - rising)
        (falling,) = others
        slope = np.maximum(rising + falling, 1e-300)
        shape = np.sqrt(slope)
        # the difference of two slope bounds does not bound the difference of slopes; for one term both are exact
        back = falling * (1 - falling) * (1 if self._law.terms == 1 else -1)
        return shape, POWER * mu * shape * ((rising * (1 - rising) - back) / slope)

    @property
    def cost(self) -> float:
        """Return the cost of the bound at one edge: nodes times terms of g, or 1 if there is no bound."""
        return float(len(self._weight)) * self._law.terms if self.usable else 1.0

    def log_bound(self, edges: Array) -> Array:
        """Return, for each edge, an upper bound of at most 0 on ``log |m(t + is) / m(t)|`` for all ``s >= edge``."""
        out = np.zeros(len(edges))
        if not self.usable:
            return out
        batch = max(1, BLOCK // len(self._weight))
        for start in range(0, len(edges), batch):
            out[start : start + batch] = self._log_batch(edges[start : start + batch])
        return np.minimum.accumulate(out)

    def _log_batch(self, edges: Array) -> Array:
        """Return, for each edge, the smaller of the bounds from ``y = Y R^p`` and from a constant shift y."""
        out, wide = self._shifted(edges)
        far = np.flatnonzero(wide)
        if len(far):
            y = np.full((len(far), 1), self._far)
            remainder = self._step_remainder(0.0, self._far, self._far_eta)
            out[far] = np.minimum(out[far], self._log_values(y, np.zeros_like(y), edges[far], remainder))
        return out

    def _shifted(self, edges: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Return for each edge the bound from ``y = Y R^p``, and a flag that is True where the best Y is too large."""
        mu = self._law.mu
        linear = sum(shares.slope for shares, _ in self._sides)
        bends = sum(shares.bends(power) for shares, power in self._sides)
        shape, change = self._shapes(edges)
        # psi = Y^2 Q / 2 - s Y J to leading order
        linear = shape @ (self._weight * linear) * mu
        square = np.square(shape) @ (self._weight * (1 - mu * mu * bends)) + np.square(change) @ self._weight
        best = np.full(len(edges), np.inf)
        np.divide(edges * linear, square, out=best, where=square > 0)
        shifts = np.minimum(best, self._widest)[:, None]
        remainder = self._step_remainder(POWER, float(shifts.max()), self._eta)
        return self._log_values(shifts * shape, shifts * change, edges, remainder), best > self._widest

    def _log_values(self, y: Array, change: Array, edges: Array, remainder: float) -> Array:
        """Return ``log B(s) / m(t)`` for each edge, rounded up; ``change`` is the derivative of the shift y."""
        half = 0.5 * np.square(y)
        rest, size, fall = half + np.log1p(0.5 * np.square(change)), half, np.zeros_like(half)
        for shares, power in self._sides:
            log_size, angle, bend = shares.turned(y)
            turned = edges[:, None] * angle
            rest = rest + power * log_size
            size = size + abs(power) * bend + turned
            fall = fall + turned
        psi = np.minimum(rest - fall, 300.0)
        moved = np.expm1(psi)
        doubt = UNIT_ROUNDOFF * self._scale * size  # of psi
        error = np.abs(moved) * (self._care + len(self._weight) * UNIT_ROUNDOFF) + np.exp(psi) * np.expm1(
            np.minimum(doubt, 300.0)
        )
        remainder += self._left_out + self._beyond
        drop = ((moved + error) @ self._weight + remainder) * (1 - self._slip) / (1 + remainder)
        out: Array = np.log1p(np.minimum(drop, 0.0))
        return out

    def _step_remainder(self, p: float, shift: float, eta: float) -> float:
        """Return a bound on the errors of the trapezoid sums of both parts of the integrand, relative to m(t)."""
        law, tall = self._law, shift * self._spread**p
        log_m = 0.5 * (eta**2 + tall**2) + float(law.log_dip(eta + tall, self._t)) + math.log(1.5)
        log_m += self._log_bent(p, shift)
        arc = 2 * math.pi * eta / self._dx
        return 4 * math.exp(min(log_m - arc, 300.0)) / -math.expm1(-arc)
