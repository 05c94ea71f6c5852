"""What must be known of the density of one sampled round's tilted loss, from balls over cells of x.

With w the density of x under the law tilted by t, L the loss:

- truncated spread, ``kappa(h) = E min(h^2 (L - c)^2 / 2, 4)`` for any c, bounded cell by cell;
- variation V of w / L', the density of the loss: ``|phi(s)| <= V / |s|`` by one integration by parts. In a cell it is at
  most the largest value times the largest logarithmic slope times the width; beyond the cells w / L' is monotone and
  adds its end values.

On a cell the logarithm of w lies within half the width times the largest slope of its value in the middle. The slopes
are made of x and of ``sigma = q e^(mu x - mu^2/2) / g(x)``, which rises from 0 to 1: ``u' = mu sigma(x)``, ``v' = -mu
sigma(-x)``, ``sigma' = mu sigma (1 - sigma)``.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from flint import arb

from hockeystick.engines.interval import NotApplicableError
from hockeystick.engines.proof.mixture import MixtureBalls
from hockeystick.numerics.balls import Ball, above, ball, upper

WIDTH = 0.05  # of a cell
MAX_CELLS = 1500
OUTSIDE = -16.0  # log of the mass that may lie outside the cells


class TiltedDensity:
    """The law of one round tilted by t.

    Args:
        mixture: the round.
        t: tilt > 0.
        moment: a ball around m(t).
    """

    def __init__(self, mixture: MixtureBalls, t: float, moment: Ball) -> None:
        self._mixture, self._t, self._moment = mixture, t, moment
        mu = float(mixture.item.mu)
        grid = mixture.grid(t, 0.0, OUTSIDE)
        # beyond these w / L' is monotone, see _ends
        low = min(grid.low, -(1 + t) * mu - 1 if not mixture.rises else -mu - 1)
        high = max(grid.high, {1: (1 + t) * mu if mixture.rises else 0.0, 2: (2 + 2 * t) * mu}[mixture.turns] + 1)
        count = min(math.ceil((high - low) / WIDTH), MAX_CELLS)
        self._edges = [low + (high - low) * i / count for i in range(count + 1)]
        self._outside = upper(mixture.range_remainder(t, self._edges[0], self._edges[-1]) / moment)
        self._build()

    def _build(self) -> None:
        mixture, edges = self._mixture, self._edges
        rises = [self._sigma(arb(x)) for x in edges]
        mirrored = [self._sigma(arb(-x)) for x in edges]
        losses = [mixture.loss(*mixture.logs(arb(x))) for x in edges]
        mass, variation = [], arb(0)
        for i in range(len(edges) - 1):
            width = arb(edges[i + 1]) - arb(edges[i])
            sigma, sigma_back = rises[i].union(rises[i + 1]), mirrored[i].union(mirrored[i + 1])
            slope, bend = self._slopes(arb(edges[i]).union(arb(edges[i + 1])), sigma, sigma_back)
            middle = (arb(edges[i]) + arb(edges[i + 1])) / 2
            log_w, log_rate = self._log_density(middle)
            within = arb(0, upper(width / 2))
            mass.append(upper((log_w + slope * within).exp() * width))
            steep = slope - bend
            variation += upper((log_w - log_rate + steep * within).exp() * abs(steep) * width)
        self._mass, self._losses = mass, losses
        self.variation = upper(variation + self._ends())
        """V: a bound on the total variation of the density of the loss."""
        self._far: npt.NDArray[np.float64] = np.array([float(loss) for loss in losses])
        self._heavy: npt.NDArray[np.float64] = np.array([float(m) for m in mass])

    def _sigma(self, x: Ball) -> Ball:
        mu, q = ball(self._mixture.item.mu), ball(self._mixture.item.rate)
        return 1 / (1 + (1 - q) / q * (-mu * (x - mu / 2)).exp())

    def _log_density(self, x: Ball) -> tuple[Ball, Ball]:
        """log w and log |L'| at a point."""
        mixture = self._mixture
        a, b = mixture.coefficients(self._t)
        u, v = mixture.logs(x)
        rate = self._sigma(x) + (self._sigma(-x) if mixture.turns == 2 else 0)
        log_w = a * u + b * v - x * x / 2 - (2 * arb.pi()).log() / 2 - self._moment.log()
        return log_w, (ball(mixture.item.mu) * rate).log()

    def _slopes(self, x: Ball, sigma: Ball, sigma_back: Ball) -> tuple[Ball, Ball]:
        """Derivatives of log w and of log |L'|, for sigma(x) and sigma(-x) in the balls given."""
        mixture, mu = self._mixture, ball(self._mixture.item.mu)
        a, b = mixture.coefficients(self._t)
        slope = -x + mu * (a * sigma - b * sigma_back)
        if mixture.turns == 1:
            return slope, mu * (1 - sigma)
        # |sigma (1 - sigma)(x) - sigma (1 - sigma)(-x)| <= sigma(x) + sigma(-x): the quotient is at most 1
        difference = sigma * (1 - sigma) - sigma_back * (1 - sigma_back)
        quotient = difference / (sigma + sigma_back)
        unit = arb(0, 1)
        return slope, mu * (quotient.intersection(unit) if quotient.is_finite() else unit)

    def _ends(self) -> Ball:
        """w / L' at both ends of the cells, beyond which it is shown to rise to the first and to fall from the last.

        Below, sigma(x) lies in [0, sigma(low)] and sigma(-x) in [sigma(-low), 1], and -x is at least -low; above
        likewise. So the sign of the slope at the worst of these settles it for all x beyond.
        """
        total = arb(0)
        for x, sign in ((self._edges[0], 1), (self._edges[-1], -1)):
            at = arb(x)
            near, far = self._sigma(at), self._sigma(-at)
            sigma = arb(0).union(near) if sign > 0 else near.union(arb(1))
            back = far.union(arb(1)) if sign > 0 else arb(0).union(far)
            slope, bend = self._slopes(at, sigma, back)
            if not sign * (slope - bend) > 0:
                raise NotApplicableError("the density of the loss could not be shown to be monotone in its tails")
            log_w, log_rate = self._log_density(at)
            total += (log_w - log_rate).exp()
        return total

    def spacing(self, wanted: float) -> float:
        """About the largest h with ``kappa(h) <= wanted``; a choice, not a claim."""
        middle = 0.5 * (self._far[1:] + self._far[:-1])
        self._centre = float(middle[int(np.searchsorted(np.cumsum(self._heavy), 0.5 * self._heavy.sum()))])
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
