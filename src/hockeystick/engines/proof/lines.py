"""Values of m(t + is) of one round on the line Re z = t, in ball arithmetic, and a bound on their decay.

Here m(z) = E_P e^(zL) over the finite losses L of a round. A *line* provides ``moment``, which is m(t); ``values``,
which are m at equidistant s >= 0 with all remainders included; and ``log_decay``, which is an upper bound on
``log |m(t + is) / m(t)|`` for all s from a given one on.

**Sampled Gaussians.** Let ``g(x) = 1 - q + q e^(mu x - mu^2/2)``, ``u = log g(x)``, ``v = log g(-x)``, and let phi be
the standard normal density. The loss L is u (remove), -u (add) or u - v (replace-one). Then ``m(t + is) = int H`` with
``H = phi e^(A + isL)``. For add, ``A = t L``; for remove and replace-one, ``A = u + t L``. By Jensen m(t) >= 1 for t
>= 0.

The integral is taken on a parallel of the real axis at height Y > 0 (add: -Y). By Cauchy's theorem it may be moved
there: as ``2 mu Y < pi``, g has no zero in the strip of all x with ``h = |Im x| <= 2 Y`` on that side of the real axis.
In this strip, ``arg g(x + ih)`` is in ``[0, mu h]``, so Im L is in [0, pi) or, for replace-one, in [0, 2 pi). Hence
``|e^(isL)| <= 1`` for all s >= 0.

- step: for ``0 <= h <= 2 Y``, ``|phi| <= phi(x) e^(2 Y^2)``. Moreover, ``cos(mu h / 2) g <= |g(x + ih)| <= g``, since g
  is a sum of 1 and ``e^(i mu h)`` with positive weights. So the modulus of H integrates to at most
  ``M = m(t) e^(2 Y^2 + dip)``. Here dip = 0 for remove, and ``-t log cos(mu Y)`` otherwise. For add and
  ``2 mu Y <= pi/2``, dip may also be ``-t log(1 - q)``, as ``|g| >= Re g >= 1 - q`` and m(t) >= 1. The trapezoid rule
  of step dx errs by at most ``2 M / (e^(2 pi Y / dx) - 1)`` (Trefethen, Weideman 2014 [TW14], Theorem 5.1).
- range: only nodes between ``low <= 0`` and ``high >= 0`` are kept. With ``mu Y <= pi/2``, the nodes left out weigh at
  most ``e^(Y^2/2)`` times the values of the following bound on the real axis. Below low the bound is ``r phi``, where
  ``r = 1`` for remove and ``(1 - q)^(-t)`` otherwise, as ``g <= 1`` there. Above high the bound is ``r phi`` for add.
  For remove and replace-one it is ``r phi [w^-t + (1 - w)^-t (q e^(mu x - mu^2/2))^(1+t)]`` for every w in (0, 1), by
  convexity of ``x^(1+t)``. Apart from r, its second term is ``(1 - w)^-t q^(1+t) e^(t (1+t) mu^2 / 2)`` times a normal
  density about ``(1+t) mu``. If high is below ``(1+t) mu``, the nodes of this density weigh at most ``1 + dx``;
  otherwise they weigh at most its integral beyond high.
- boxes: let f be the density of the tilted loss, as a function of x. With ``R(x) = 1 - (1 - q) / g(x)`` in (0, 1),
  ``u' = mu R``, ``u'' = mu^2 R (1 - R) <= mu^2 / 4`` and ``v'' >= 0``. So ``A'' <= (1 + t) mu^2 / 4``, and for add
  ``A'' <= 0``. Further, ``L' = mu W``, where W is R(x) or, for replace-one, ``R(x) + R(-x)``. For W = R(x),
  ``-(log W)'' <= mu^2 / 4``. For replace-one, ``-(log W)'' <= (1/8 + 1) mu^2``, since ``W'' >= -mu^2 W / 8`` and
  ``|W'| <= mu W``. So ``(log f)'' <= C = A'' + (-log W)'' - 1``. Between two nodes, f is therefore at least
  ``e^(-C dx^2 / 8)`` times the lesser of its values at these nodes (``boxes.py``).
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from flint import acb, arb

from hockeystick.engines.proof.atoms import FiniteLaw
from hockeystick.engines.proof.boxes import Boxes
from hockeystick.engines.proof.rounds import ExactRounds, SampledGaussian
from hockeystick.numerics.balls import MOST_TERMS, Ball, ComplexBall, ball, normal_tail, phase_sums, spread, upper
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError

LIFT, LIFT_FALLING = 0.48 * math.pi, 0.245 * math.pi  # largest mu Y, and largest mu Y if the power of g is negative
LIFTS = np.linspace(0.02, 1.0, 50)  # heights Y that are tried, relative to the largest
MOST_PRODUCTS = 20_000_000  # largest number of nodes times points, which take about a second
MOST_PIECES = 2000  # largest number of pieces of the density of a sampled Gaussian's loss, for boxes below it
LAPLACE_PIECES = 64  # number of pieces of the density of a Laplace round's loss, for boxes below it


class Line:
    """Characteristic function m of one round on the line Re z = t, for a law whose m has a closed form.

    By default, m is not assumed to decay along the line.

    Attributes:
        moment: m(t).
    """

    moment: Ball

    def __init__(self, t: float) -> None:
        self._t = arb(t)
        self.moment = self._at(acb(self._t)).real

    def _at(self, z: ComplexBall) -> ComplexBall:
        """Return m(z)."""
        raise NotImplementedError

    def values(self, step: float, count: int) -> list[ComplexBall]:
        """Return ``m(t + i j step)`` for j < count."""
        return [self._at(acb(self._t, arb(step) * j)) for j in range(count)]

    def log_decay(self, s: float, lost: float) -> Ball:
        """Return an upper bound on ``log |m(t + is') / m(t)|`` for all ``s' >= s``.

        Args:
            s: height on the line from which the bound holds.
            lost: share of the density of the loss that the bound may leave unused.
        """
        return arb(0)


def lines(rounds: ExactRounds, t: float, log_tolerance: float) -> list[tuple[Line, int]]:
    """Return the lines of all kinds of rounds at a tilt, with counts.

    Args:
        rounds: the rounds, without discrete Gaussian noise.
        t: tilt > 0.
        log_tolerance: log of the desired remainders of one round's m, relative to m(t).
    """
    out: list[tuple[Line, int]] = [(SampledLine(one, t, log_tolerance), count) for one, count in rounds.sampled.items()]
    out += [(LaplaceLine(theta, t), count) for theta, count in rounds.laplace.items()]
    out += [(AtomLine(law, t), count) for law, count in rounds.finite.items()]
    return [*out, (GaussianLine(rounds.mu_squared, t), 1)] if rounds.mu_squared else out


class GaussianLine(Line):
    """Line of unsampled Gaussian noise: ``m(z) = e^(v z (1 + z) / 2)``, v = mu^2."""

    def __init__(self, v: Fraction, t: float) -> None:
        self._v = ball(v)
        super().__init__(t)

    def _at(self, z: ComplexBall) -> ComplexBall:
        return (self._v * z * (1 + z) / 2).exp()

    def log_decay(self, s: float, lost: float) -> Ball:
        """Return ``log |m(t + is) / m(t)|`` itself, which decreases in s."""
        return -self._v * arb(s) ** 2 / 2


class LaplaceLine(Line):
    """Line of Laplace noise: the loss has two atoms and the density ``e^((l - theta)/2) / 4`` between them.

    ``m(z) = e^(theta z)/2 + e^(-theta (1+z))/2 [1 + (e^(theta (1+2z)) - 1) / (1+2z)]``.
    """

    def __init__(self, theta: Fraction, t: float) -> None:
        self._theta = ball(theta)
        super().__init__(t)
        edges = [self._theta * (arb(2 * n) / LAPLACE_PIECES - 1) for n in range(LAPLACE_PIECES + 1)]
        density = [((edge - self._theta) / 2 + self._t * edge).exp() / (4 * self.moment) for edge in edges]
        self._boxes = Boxes(density[:-1], [other - one for one, other in pairwise(edges)])  # increasing

    def _at(self, z: ComplexBall) -> ComplexBall:
        theta, twice = self._theta, 1 + 2 * z
        return (theta * z).exp() / 2 + (-theta * (1 + z)).exp() / 2 * (1 + ((theta * twice).exp() - 1) / twice)

    def log_decay(self, s: float, lost: float) -> Ball:
        """Return the upper bound on ``log |m(t + is') / m(t)|`` from boxes below the density between the two atoms."""
        return self._boxes.log_decay(s)


class AtomLine(Line):
    """Line of a round with finitely many losses: ``m(z) = sum p e^(zL)``."""

    def __init__(self, law: FiniteLaw, t: float) -> None:
        self._outcomes = law.outcomes(0.0)[0]
        super().__init__(t)

    def _at(self, z: ComplexBall) -> ComplexBall:
        return sum((outcome.p * (z * outcome.loss).exp() for outcome in self._outcomes), acb(0))


class Nodes(NamedTuple):
    """Nodes ``low + n dx`` of the integral for a sampled Gaussian, at height Y; any choice is sound.

    Attributes:
        low, dx, number: first node, spacing and number of nodes.
        lift: the height Y.
        share: 1 - w, for the w of the module docstring.
    """

    low: float
    dx: float
    number: int
    lift: float
    share: float


class SampledLine(Line):
    """Line of a sampled Gaussian round, by the bounds of the module docstring.

    Args:
        item: the round.
        t: tilt >= 0.
        log_tolerance: log of the desired remainders, relative to m(t).

    Raises:
        NotApplicableError: the line would take too long.
    """

    def __init__(self, item: SampledGaussian, t: float, log_tolerance: float) -> None:
        self._rises, self._falls = item.direction is not Direction.ADD, item.direction is not Direction.REMOVE
        self._mu, self._rate, self._t = ball(item.mu), ball(item.rate), arb(t)
        self._nodes = self._chosen(float(item.mu), float(item.rate), t, 3.0 - log_tolerance)
        if not self._nodes.number <= MOST_TERMS:
            raise NotApplicableError("the proof would need too many evaluations of one round")
        low, dx, number, lift, _ = self._nodes
        height = arb(lift if self._rises else -lift)
        self._weights, self._losses = [], []
        scale = arb(dx) / (2 * arb.pi()).sqrt()
        for n in range(number):
            x = acb(arb(low) + arb(dx) * n, height)
            exponent, loss = self._exponents(x)
            self._weights.append(scale * (exponent - x * x / 2).exp())
            self._losses.append(loss)
        total = sum(self._weights, acb(0)).real
        step, outside = self._step(), self._outside()
        if not step < 1:
            raise NotApplicableError("the step of the quadrature is too wide")
        # m(t) (1 - step) <= total + outside
        self._error = spread(step * (total + outside) / (1 - step) + outside)
        self.moment = total + self._error
        self._boxes: Boxes | None = None

    def _exponents(self, x: Ball | ComplexBall) -> tuple[ComplexBall, ComplexBall]:
        """Return A and L of the module docstring at an outcome x."""
        half = self._mu * self._mu / 2
        u = (1 - self._rate + self._rate * (self._mu * x - half).exp()).log()
        if not self._rises:
            return -self._t * u, -u
        if not self._falls:
            return (1 + self._t) * u, u
        loss = u - (1 - self._rate + self._rate * (-self._mu * x - half).exp()).log()
        return u + self._t * loss, loss

    def _chosen(self, mu: float, q: float, t: float, depth: float) -> Nodes:
        """Return nodes for which the remainders should be about ``e^-depth``."""
        lifts = LIFTS * min((LIFT_FALLING if self._falls else LIFT) / mu, math.sqrt(depth))
        dip = -t * np.log(np.cos(mu * lifts)) if self._falls else 0 * lifts
        if not self._rises:
            dip = np.minimum(dip, -t * math.log1p(-q))
        steps = np.minimum(2 * math.pi * lifts / (depth + 2 * lifts**2 + dip), 1.0)
        best = int(np.argmax(steps))
        lift, dx = float(lifts[best]), float(steps[best])
        depth += lift * lift / 2 - (t * math.log1p(-q) if self._falls else 0.0)
        high, share = math.sqrt(2 * depth), 0.5
        low = -high
        if self._rises:
            hump = (1 + t) * math.log(q) + t * (1 + t) * mu * mu / 2
            halves = depth + t * math.log(2)
            high = max(math.sqrt(2 * halves), (1 + t) * mu + math.sqrt(2 * max(halves + hump, 1.0)))
            light = math.exp(min((hump + depth) / t, -math.log(2))) if t else 0.0
            near = math.sqrt(2 * max(depth - t * math.log1p(-light), 1.0))
            if hump + halves <= 0 and near < high and light > 0:  # the hump's mass is small enough to leave out
                high, share = near, light
        number = min((high - low) / dx, MOST_TERMS + 1)
        return Nodes(low, dx, math.ceil(number) + 1, lift, share)

    def _step(self) -> Ball:
        """Return a bound on the error of the trapezoid sum over infinitely many nodes, relative to m(t)."""
        lift, turned = arb(self._nodes.lift), self._mu * arb(self._nodes.lift)
        if not 2 * turned < arb.pi():
            return arb.pos_inf()
        log_size = 2 * lift * lift
        if self._falls:
            dip = -self._t * turned.cos().log()
            one_direction = not self._rises and 2 * turned <= arb.pi() / 2
            log_size += dip.min(-self._t * (1 - self._rate).log()) if one_direction else dip
        return upper(2 * log_size.exp() / (2 * arb.pi() * lift / arb(self._nodes.dx)).expm1())

    def _outside(self) -> Ball:
        """Return a bound on the contribution of the nodes left out, valid for all s."""
        low, dx, number, lift, share = self._nodes
        t, q, first = self._t, self._rate, arb(low)
        last = first + arb(dx) * (number - 1)
        if not (first <= 0 and last >= 0 and self._mu * arb(lift) <= arb.pi() / 2):
            return arb.pos_inf()
        above = normal_tail(last)
        if self._rises:
            centre, left = (1 + t) * self._mu, arb(share)
            hump = normal_tail(last - centre) if last >= centre else 1 + arb(dx)
            hump *= (-t * left.log() + (1 + t) * q.log() + t * centre * self._mu / 2).exp()
            above = above * (-t * (1 - left).log()).exp() + hump
        ratio = (-t * (1 - q).log()).exp() if self._falls else arb(1)
        return upper((arb(lift) ** 2 / 2).exp() * ratio * (normal_tail(-first) + above))

    def values(self, step: float, count: int) -> list[ComplexBall]:
        """Return ``m(t + i j step)`` for j < count."""
        if self._nodes.number * count > MOST_PRODUCTS:
            raise NotApplicableError("the plan has too few rounds for a proof: the contour would be too long")
        sums = phase_sums(self._weights, [arb(step) * loss for loss in self._losses], count)
        around = acb(self._error, self._error)
        return [acb(sums[0].real + self._error), *(value + around for value in sums[1:])]

    def log_decay(self, s: float, lost: float) -> Ball:
        """Return the upper bound on ``log |m(t + is') / m(t)|`` from boxes below the density of the tilted loss.

        The first call computes the boxes.
        """
        if self._boxes is None:
            self._boxes = self._below(lost)
        return self._boxes.log_decay(s)

    def _below(self, lost: float) -> Boxes:
        """Return boxes below the density of the tilted loss that leave about a share ``lost`` of its mass uncovered."""
        mu, q, t = self._mu, self._rate, self._t
        bend = mu * mu / 4 if not self._falls or not self._rises else mu * mu * 9 / 8
        if self._rises:
            bend += (1 + t) * mu * mu / 4
        bend = upper(bend - 1).max(arb(0))
        width = self._nodes.dx * (self._nodes.number - 1)
        dx = min(2 * lost, math.sqrt(4 * lost / max(float(bend), lost)))
        pieces = min(math.ceil(width / dx), MOST_PIECES)
        dx = width / pieces
        density, losses = [], []
        for n in range(pieces + 1):
            x = arb(self._nodes.low) + arb(dx) * n
            exponent, loss = self._exponents(x)
            rise = 1 / (1 + (1 - q) / q * (mu * mu / 2 - mu * x).exp())
            if self._falls and self._rises:
                rise += 1 / (1 + (1 - q) / q * (mu * mu / 2 + mu * x).exp())
            density.append((exponent - x * x / 2).exp() / (mu * rise))
            losses.append(loss)
        scale = (-bend * arb(dx) ** 2 / 8).exp() / ((2 * arb.pi()).sqrt() * self.moment)
        heights = [one.min(other) * scale for one, other in pairwise(density)]
        return Boxes(heights, [abs(other - one) for one, other in pairwise(losses)])
