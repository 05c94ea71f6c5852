"""The characteristic function of a Poisson-sampled Gaussian in balls, with the remainders of its quadrature.

Symbols as in ``pairs/sampled/gaussian_transform.py``: ``g(x) = 1 - q + q e^(mu x - mu^2/2)``, ``u = log g(x)``, ``v =
log g(-x)``, phi the standard normal density, and ``m(z) = int phi e^(a u + b v)`` with (a, b) = (1 + z, 0) for remove,
(-z, 0) for add, (1 + z, -z) for replace-one. By Jensen m(t) >= 1 for t >= 0.

Trapezoid rule of step dx on the nodes of [low, high]; with t >= 0, |s| the imaginary part, 0 < h < pi/mu:

- step: for ``|Im x| <= h``, ``g(x) cos(mu h / 2) <= |g(x + ih)| <= g(x)`` and ``|arg g| <= mu h``, since g is a sum of
  two positive weights of 1 and ``e^(i mu h)``. So the integrand is analytic there and its modulus integrates to at most
  ``M = m(t) e^(h^2/2 + c |s| mu h) cos(mu h / 2)^(-d t)``, c = 2 for replace-one and 1 otherwise, d = 0 for remove and
  1 otherwise; the infinite sum errs by at most ``2 M / (e^(2 pi h / dx) - 1)`` (Trefethen, Weideman 2014 [TW14],
  Theorem 5.1). For add and ``mu h <= pi/2`` also ``|g| >= Re g >= 1 - q``, and ``m(t) >= Phi(x) g(x)^(-t)`` for every
  x, g being increasing: the last factor may be replaced by ``[g(x) / (1 - q)]^t / Phi(x)``.
- range: the nodes left out weigh at most the integrals of decreasing bounds of the modulus. Below ``low <= 0``, g <= 1
  and ``g(-x)^(-t), g^(-t) <= (1-q)^(-t)``: at most ``r Phi(low)``, r = 1 for remove and ``(1-q)^(-t)`` otherwise. Above
  ``high`` for add: ``-log(phi g^(-t))`` is convex, as u is, with the slope ``l = high + t u'(high)``; for l > 0 at most
  ``phi(high) g(high)^(-t) / l``, and ``g(high)^(-t) Phi(-high)``, g being increasing. Above ``high >= 0`` otherwise, as
  ``(A + B)^(1+t) <= 2^t (A^(1+t) + B^(1+t))``, at most ``2^t r [Phi(-high) + q^(1+t) e^(t (1+t) mu^2/2) Phi((1+t) mu -
  high)]``, decreasing from (1+t) mu on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from flint import acb, arb

from hockeystick.engines.proof.rounds import SampledGaussian
from hockeystick.engines.proof.strip import AddedStrip, Grid
from hockeystick.numerics.ball_sums import weighted_phases
from hockeystick.numerics.balls import Ball, ComplexBall, ball, normal_tail, spread, upper
from hockeystick.numerics.work import charge
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError

MAX_NODES = 250_000  # of a line, in all its sums: some three seconds
NODE = 3_000.0  # units of work of a node: logarithms and an exponential of balls
MANY_NODES = 300  # above which better nodes are looked for
STRIPS = 80  # half-widths that are tried


class Core(NamedTuple):
    """A law's core: outcomes x are in it with the probability ``Phi((centre - x) / width)``."""

    centre: float
    width: float


class MixtureBalls:
    """m and its pieces for one sampled Gaussian.

    Args:
        item: mu, rate and direction, exact.
    """

    def __init__(self, item: SampledGaussian) -> None:
        self.item = item
        self.turns = 2 if item.direction is Direction.REPLACE_ONE else 1
        self.falls = item.direction is not Direction.REMOVE  # some power of g is negative
        self.rises = item.direction is not Direction.ADD  # some power of g is positive

    def coefficients(self, t: float) -> tuple[Ball, Ball]:
        """Real coefficients (a, b) of u and v at Re z = t."""
        at = arb(t)
        if self.item.direction is Direction.ADD:
            return -at, arb(0)
        return 1 + at, (-at if self.falls else arb(0))

    def logs(self) -> Callable[[Ball], tuple[Ball, Ball]]:
        """u and v as functions of x, at the present precision; v where the direction has it, else 0."""
        mu, q = ball(self.item.mu), ball(self.item.rate)
        rest, scale, zero, both = 1 - q, q * (-mu * mu / 2).exp(), arb(0), self.turns == 2

        def of(x: Ball) -> tuple[Ball, Ball]:
            turn = (mu * x).exp()
            return (rest + scale * turn).log(), (rest + scale / turn).log() if both else zero

        return of

    def loss(self, u: Ball, v: Ball) -> Ball:
        """L = u, -u or u - v."""
        return -u if self.item.direction is Direction.ADD else u - v

    def grid(self, t: float, reach: float, log_tolerance: float, width: float = math.inf) -> Grid:
        """Nodes whose remainders relative to m(t) should stay below a tolerance for ``|s| <= reach``; any are sound.

        Those of a core of this width, too.
        """
        mu, q = float(self.item.mu), float(self.item.rate)
        depth = 3.0 - log_tolerance
        h = np.linspace(0.02, 1.0, STRIPS) * min(0.97 * math.pi / mu, 2 * math.sqrt(2 * depth))
        strip = 0.5 * np.square(h) * (1 + width**-2) + self.turns * reach * mu * h
        if self.falls:
            dip = -t * np.log(np.cos(0.5 * mu * h))
            cap = self._dip_cap(t)[1] if not self.rises else math.inf
            strip = strip + np.where(mu * h < 0.499 * math.pi, np.minimum(dip, cap), dip)
        dx = 2 * math.pi * h / (depth + strip)
        best = int(np.argmax(dx))
        ratio = -t * math.log1p(-q) if self.falls else 0.0
        low = -math.sqrt(2 * (depth + ratio))
        high = math.sqrt(2 * depth)
        if self.rises:
            lifted = t * math.log(2) + ratio + (1 + t) * math.log(q) + 0.5 * t * (1 + t) * mu * mu
            high = math.sqrt(2 * (depth + t * math.log(2) + ratio))
            high = max(high, (1 + t) * mu + math.sqrt(2 * max(depth + lifted, 0.0)))
        grid = Grid(low, high, float(dx[best]), float(h[best]))
        if self.rises or grid.count <= MANY_NODES:
            return grid
        return min(grid, AddedStrip(self.item, t).grid(reach, depth), key=lambda one: one.count)

    def step_remainder(self, t: float, grid: Grid) -> tuple[Ball, Ball]:
        """``(c0, c1)``: the infinite sum at t + is errs by at most ``c0 e^(c1 |s|) m(t)``."""
        h, mu = arb(grid.strip), ball(self.item.mu)
        half_turn = mu * h / 2
        if not half_turn < arb.pi() / 2:
            raise NotApplicableError("the strip of the quadrature is too wide")
        size = 2 * (h * h / 2).exp() / (2 * arb.pi() * h / arb(grid.dx)).expm1()
        if self.falls:
            size *= self.log_dip(t, 2 * half_turn).exp()
        return upper(size), upper(self.turns * mu * h)

    def log_dip(self, t: float, turned: Ball) -> Ball:
        """Log of a bound on the factor by which ``|g|^(-t)`` may weigh more where x is moved by ``turned / mu``."""
        dip = -arb(t) * (turned / 2).cos().log()
        if self.rises or not turned <= arb.pi() / 2:
            return dip
        x, (mu, q) = arb(self._dip_cap(t)[0]), (ball(self.item.mu), ball(self.item.rate))
        ratio = q / (1 - q) * (mu * x - mu * mu / 2).exp()
        return dip.min(arb(t) * ratio.log1p() - normal_tail(-x).log())

    def _dip_cap(self, t: float) -> tuple[float, float]:
        """A good x for :meth:`log_dip` (any is sound), and about what it gives."""
        mu, q = float(self.item.mu), float(self.item.rate)
        x = np.linspace(-35.0, 5.0, 161)
        mass = np.array([0.5 * math.erfc(-at / math.sqrt(2)) for at in x.tolist()])
        caps = t * np.log1p(q / (1 - q) * np.exp(mu * x - 0.5 * mu * mu)) - np.log(mass)
        best = int(np.argmin(caps))
        return float(x[best]), float(caps[best])

    def range_remainder(self, t: float, low: Ball, high: Ball) -> Ball:
        """Bound on the modulus of what lies below ``low`` and above ``high``, for all s; infinite if none is known."""
        mu, q = ball(self.item.mu), ball(self.item.rate)
        at = arb(t)
        if not (low <= 0 and t >= 0 and (high >= 0 or not self.rises)):
            return arb.pos_inf()
        ratio = (-at * (1 - q).log()).exp() if self.falls else arb(1)
        below = ratio * normal_tail(-low)
        if not self.rises:
            return upper(below + self._added_above(at, high))
        centre = (1 + at) * mu
        if not centre <= high:
            return arb.pos_inf()
        lifted = ((1 + at) * q.log() + at * (1 + at) * mu * mu / 2).exp() * normal_tail(high - centre)
        return upper(below + (at * arb(2).log()).exp() * ratio * (normal_tail(high) + lifted))

    def moved_range_remainder(self, t: float, low: Ball, high: Ball, turned: Ball) -> Ball:
        """Bound on what lies outside [low, high], for all s, where x is moved to ``x + iy`` by a height y(x).

        Any y(x) with ``mu |y| <= turned <= pi/2`` will do (remove: any).

        With ``|g(x + iy)| <= g(x)``, ``|g(x + iy)| >= Re g >= 1 - q`` and likewise at -x, everything that bounds the
        integrand on the real line holds again, but for add above ``high``. There, with rho the odds
        ``q e^l / (1 - q)`` and ``c = cos turned >= 0``,

            |g(x + iy)|^2 >= (1 - q)^2 (1 + 2 rho c + rho^2) ,

        increasing in x: its value at ``high`` bounds the whole tail. It is also g(x)^2 times
        ``1 - 2 rho (1 - c) / (1 + rho)^2``, which is at least ``(1 + c) / 2``, and from rho = 1 on increasing in x.
        """
        if self.rises:
            return self.range_remainder(t, low, high)
        if not (low <= 0 and t >= 0 and turned <= arb.pi() / 2):
            return arb.pos_inf()
        at, q, c = arb(t), ball(self.item.rate), turned.cos()
        odds = self._odds(high)
        least = (1 - q) * (1 + 2 * odds * c + odds * odds).sqrt()
        share = 1 - 2 * odds * (1 - c) / (1 + odds) ** 2 if odds >= 1 else (1 + c) / 2
        above = (least**-at * normal_tail(high)).min(share ** (-at / 2) * self._added_above(at, high))
        return upper((-at * (1 - q).log()).exp() * normal_tail(-low) + above)

    def _odds(self, x: Ball) -> Ball:
        """``q e^l / (1 - q)`` at x."""
        mu, q = ball(self.item.mu), ball(self.item.rate)
        return q / (1 - q) * (mu * x - mu * mu / 2).exp()

    def _added_above(self, t: Ball, high: Ball) -> Ball:
        """What lies above ``high`` for add."""
        mu, q = ball(self.item.mu), ball(self.item.rate)
        odds = self._odds(high)
        falls = high + t * mu * odds / (1 + odds)
        if not falls > 0:
            return arb.pos_inf()
        density = (-high * high / 2).exp() / (2 * arb.pi()).sqrt()
        return ((1 - q) * (1 + odds)) ** -t * normal_tail(high).min(density / falls)

    def values(self, t: float, step: float, count: int, log_tolerance: float) -> list[ComplexBall]:
        """``m(t + i j step)`` for j < count, remainders included: entry 0 is real.

        Raises:
            NotApplicableError: it would take too long.
        """
        return next(self._parts(t, step, count, log_tolerance, None))

    def apart(
        self, t: float, step: float, count: int, log_tolerance: float, core: Core
    ) -> tuple[list[ComplexBall], list[ComplexBall]]:
        """m as :meth:`values` gives it, and C, what of it is in the core (``jumps.py``; for remove)."""
        whole, inner = self._parts(t, step, count, log_tolerance, core)
        return whole, inner

    def _parts(
        self, t: float, step: float, count: int, log_tolerance: float, core: Core | None
    ) -> Iterator[list[ComplexBall]]:
        """m, and C where there is a core."""
        grid = self.grid(t, step * (count - 1), log_tolerance, core.width if core else math.inf)
        if grid.count * (2 if core else 1) > MAX_NODES:
            raise NotApplicableError("the proof would need too many evaluations: too few rounds, or too small a rate")
        charge(NODE * grid.count, "too many evaluations of one round for a proof")
        weights, losses = self._nodes(t, grid)
        sums = weighted_phases(weights, losses, arb(step), count, 6.0 - log_tolerance)
        outside = self.range_remainder(t, arb(grid.low), arb(grid.low) + arb(grid.dx) * (grid.count - 1))
        errors = self._step_errors(t, grid, step, count, sums[0].real + outside)
        yield _around(sums, errors, outside)
        if core:
            centre, width = (arb(part) for part in core)
            nodes = (arb(grid.low) + arb(grid.dx) * n for n in range(grid.count))
            inner = [weight * normal_tail((x - centre) / width) for weight, x in zip(weights, nodes, strict=True)]
            sums = weighted_phases(inner, losses, arb(step), count, 6.0 - log_tolerance)
            growth = (arb(grid.strip) ** 2 / (2 * width * width)).exp()
            yield _around(sums, [growth * error for error in errors], outside)

    def _step_errors(self, t: float, grid: Grid, step: float, count: int, total: Ball) -> list[Ball]:
        """Bounds on the errors of the infinite sums; ``total`` is the sum at t and what is outside.

        Raises:
            NotApplicableError: there are none.
        """
        if grid.top is not None:
            return [AddedStrip(self.item, t).remainder(grid, step * (count - 1))] * count
        c0, c1 = self.step_remainder(t, grid)
        if not c0 < 1:
            raise NotApplicableError("the step of the quadrature is too wide")
        size = upper(total / (1 - c0))  # m(t) (1 - c0) <= sum + what is outside
        return [c0 * (c1 * arb(step) * j).exp() * size for j in range(count)]

    def _nodes(self, t: float, grid: Grid) -> tuple[list[Ball], list[Ball]]:
        """``dx phi e^(a u + b v)`` and L at the nodes."""
        a, b = self.coefficients(t)
        scale = arb(grid.dx) / (2 * arb.pi()).sqrt()
        weights, losses, logs = [], [], self.logs()
        for n in range(grid.count):
            x = arb(grid.low) + arb(grid.dx) * n
            u, v = logs(x)
            weights.append(scale * (a * u + b * v - x * x / 2).exp())
            losses.append(self.loss(u, v))
        return weights, losses


def _around(sums: list[ComplexBall], errors: list[Ball], outside: Ball) -> list[ComplexBall]:
    """The sums with their remainders; entry 0 is real."""
    out = []
    for j, (value, error) in enumerate(zip(sums, errors, strict=True)):
        around = spread(error + outside)
        out.append(acb(value.real + around, value.imag + around if j else 0))
    return out
