"""What must be known of the density of one sampled round's tilted loss, from balls over cells of x.

With w the density of x under the law tilted by t, L the loss:

- truncated spread, ``kappa(h) = E min(h^2 (L - c)^2 / 2, 4)`` for any c, bounded cell by cell;
- variation V of w / L', the density of the loss: ``|phi(s)| <= V / |s|`` by one integration by parts. In a cell it is
  at most the largest value times the largest logarithmic slope times the width; beyond the cells w / L' is monotone
  and adds its end values.

On a cell the logarithm of w lies within half the width times the largest slope of its value in the middle. The slopes
are made of x and of ``sigma = q e^(mu x - mu^2/2) / g(x)``, which rises from 0 to 1: ``u' = mu sigma(x)``, ``v' = -mu
sigma(-x)``, ``sigma' = mu sigma (1 - sigma)``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from flint import arb

from hockeystick.engines.interval import NotApplicableError
from hockeystick.engines.proof.mixture import MixtureBalls
from hockeystick.numerics.balls import Ball, above, ball, upper

Array = npt.NDArray[np.float64]

WIDTH = 0.05  # of a cell
MAX_CELLS = 1500
OUTSIDE = -16.0  # log of the mass that may lie outside the cells


class Derivatives(NamedTuple):
    """First and second derivatives in x of log w and of the loss (of this one in absolute value)."""

    slope: Ball
    curve: Ball
    loss_slope: Ball
    loss_curve: Ball


class TiltedDensity:
    """The law of one round tilted by t.

    Args:
        mixture: the round.
        t: tilt > 0.
        moment: a ball around m(t).
    """

    def __init__(self, mixture: MixtureBalls, t: float, moment: Ball) -> None:
        self._mixture, self._coefficients = mixture, mixture.coefficients(t)
        self._log_norm = (2 * arb.pi()).log() / 2 + moment.log()
        self._logs = mixture.logs()
        self._mu, self._q = ball(mixture.item.mu), ball(mixture.item.rate)
        mu = float(mixture.item.mu)
        grid = mixture.grid(t, 0.0, OUTSIDE)
        # beyond these w / L' is monotone, see _ends
        low = min(grid.low, -(1 + t) * mu - 1 if not mixture.rises else -mu - 1)
        high = max(grid.high, {1: (1 + t) * mu if mixture.rises else 0.0, 2: (2 + 2 * t) * mu}[mixture.turns] + 1)
        count = min(math.ceil((high - low) / WIDTH), MAX_CELLS)
        self._edges = [low + (high - low) * i / count for i in range(count + 1)]
        self._outside = upper(mixture.range_remainder(t, arb(self._edges[0]), arb(self._edges[-1])) / moment)
        self._build()

    def _build(self) -> None:
        edges = self._edges
        sigmas = [self.sigmas(x) for x in edges]
        losses = [self.loss(arb(x)) for x in edges]
        mass, variation, steepness = [], arb(0), []
        for i in range(len(edges) - 1):
            low, high = arb(edges[i]), arb(edges[i + 1])
            width, middle = high - low, (low + high) / 2
            sigma, back = (a.union(b) for a, b in zip(sigmas[i], sigmas[i + 1], strict=True))
            turns = self.derivatives(low.union(high), sigma, back)
            within = arb(0, upper(width / 2))
            log_w = self.log_w(middle)
            mass.append(upper((log_w + turns.slope * within).exp() * width))
            steep = turns.slope - self._bend(sigma, back)
            log_f = log_w - self._log_rate(middle)
            variation += upper((log_f + steep * within).exp() * abs(steep) * width)
            steepness.append(float(turns.slope.mid()))
        self._mass, self._losses = mass, losses
        self.variation = upper(variation + self._ends())
        """V: a bound on the total variation of the density of the loss."""
        self._far: Array = np.array([float(loss.mid()) for loss in losses])
        self._heavy: Array = np.array([float(m) for m in mass])
        self._steep: Array = np.array(steepness)
        middle_loss = 0.5 * (self._far[1:] + self._far[:-1])
        self._centre = float(middle_loss[int(np.searchsorted(np.cumsum(self._heavy), 0.5 * self._heavy.sum()))])

    def sigmas(self, x: float) -> tuple[Ball, Ball]:
        """sigma(x) and sigma(-x)."""

        def sigma(at: Ball) -> Ball:
            return 1 / (1 + (1 - self._q) / self._q * (-self._mu * (at - self._mu / 2)).exp())

        return sigma(arb(x)), sigma(arb(-x))

    def loss(self, x: Ball) -> Ball:
        """L."""
        return self._mixture.loss(*self._logs(x))

    def log_w(self, x: Ball) -> Ball:
        """log w."""
        (a, b), (u, v) = self._coefficients, self._logs(x)
        return a * u + b * v - x * x / 2 - self._log_norm

    def _log_rate(self, x: Ball) -> Ball:
        """log |L'|."""
        odds = (1 - self._q) / self._q
        rate = 1 / (1 + odds * (-self._mu * (x - self._mu / 2)).exp())
        if self._mixture.turns == 2:
            rate += 1 / (1 + odds * (self._mu * (x + self._mu / 2)).exp())
        return (self._mu * rate).log()

    def derivatives(self, x: Ball, sigma: Ball, back: Ball) -> Derivatives:
        """Balls for all x in a ball, given balls for sigma(x) and sigma(-x)."""
        (a, b), mu = self._coefficients, self._mu
        bend, bend_back = mu * mu * sigma * (1 - sigma), mu * mu * back * (1 - back)
        slope = -x + mu * (a * sigma - b * back)
        curve = -1 + a * bend + b * bend_back
        if self._mixture.turns == 1:
            return Derivatives(slope, curve, mu * sigma, abs(bend))
        return Derivatives(slope, curve, mu * (sigma + back), abs(bend - bend_back))

    def _bend(self, sigma: Ball, back: Ball) -> Ball:
        """The derivative of log |L'|."""
        if self._mixture.turns == 1:
            return self._mu * (1 - sigma)
        # |sigma (1 - sigma)(x) - sigma (1 - sigma)(-x)| <= sigma(x) + sigma(-x): the quotient is at most 1
        quotient = (sigma * (1 - sigma) - back * (1 - back)) / (sigma + back)
        unit = arb(0, 1)
        return self._mu * (quotient.intersection(unit) if quotient.is_finite() else unit)

    def _ends(self) -> Ball:
        """w / L' at both ends of the cells, beyond which it is shown to rise to the first and to fall from the last.

        Below, sigma(x) lies in [0, sigma(low)] and sigma(-x) in [sigma(-low), 1], and -x is at least -low; above
        likewise. So the sign of the slope at the worst of these settles it for all x beyond.
        """
        total = arb(0)
        for x, sign in ((self._edges[0], 1), (self._edges[-1], -1)):
            near, far = self.sigmas(x)
            sigma = arb(0).union(near) if sign > 0 else near.union(arb(1))
            back = far.union(arb(1)) if sign > 0 else arb(0).union(far)
            at = arb(x)
            if not sign * (self.derivatives(at, sigma, back).slope - self._bend(sigma, back)) > 0:
                raise NotApplicableError("the density of the loss could not be shown to be monotone in its tails")
            total += (self.log_w(at) - self._log_rate(at)).exp()
        return total

    def refined(self, reach: float, tolerance: float, most: int) -> list[float]:
        """Edges of cells of the core, short where ``w e^(i reach L)`` turns fast; a choice, not a claim.

        Raises:
            NotApplicableError: they are too many.
        """
        total = np.cumsum(self._heavy)
        first = int(np.searchsorted(total, 0.25 * tolerance))
        last = int(np.searchsorted(total, total[-1] - 0.25 * tolerance)) + 1
        x: Array = np.array(self._edges[first : last + 1])
        turning = np.abs(np.diff(self._far[first : last + 1])) * reach
        turning += (1 + np.abs(self._steep[first:last])) * np.diff(x)
        levels = np.concatenate([[0.0], np.cumsum(turning)]) / math.sqrt(8 * tolerance)
        if not levels[-1] < most:
            raise NotApplicableError("the proof would need too many values of a characteristic function")
        edges = np.interp(np.linspace(0.0, levels[-1], math.ceil(levels[-1]) + 1), levels, x)
        return [float(edge) for edge in np.unique(edges)]

    def spacing(self, wanted: float) -> float:
        """About the largest h with ``kappa(h) <= wanted``; a choice, not a claim."""
        square = np.square(np.maximum(np.abs(self._far[1:] - self._centre), np.abs(self._far[:-1] - self._centre)))
        low, high = 1e-12, 1e12
        for _ in range(60):
            h = math.sqrt(low * high)
            if float((self._heavy * np.minimum(0.5 * h * h * square, 4.0)).sum()) <= wanted:
                low = h
            else:
                high = h
        return low

    def truncated_spread(self, h: float) -> float:
        """kappa(h), rounded up."""
        centre, total = arb(self._centre), 4 * self._outside
        distance = [abs(loss - centre) for loss in self._losses]
        for i, mass in enumerate(self._mass):
            far = upper(distance[i].max(distance[i + 1]))
            total += mass * ((arb(h) * far) ** 2 / 2).min(arb(4))
        return above(total)
