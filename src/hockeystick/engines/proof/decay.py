"""How fast ``|phi(s)| = |m(t + is) / m(t)|`` is bound to fall, and where the sum on the contour may be cut.

For one sampled round, with g = |phi|^2 = E cos s(L - L'), L and L' independent under the tilted law:

1. bounds of |phi| at multiples of a spacing h (see ``core.py``);
2. between two of them ``g <= max(ends) + kappa(h)``: linear interpolation of cos(sD) errs by at most ``min(D^2 h^2 / 8,
   2)``, and ``min(D^2 h^2 / 8, 2) <= min(h^2 y^2 / 4, 2) + min(h^2 y'^2 / 4, 2)`` for ``D = y - y'``, y = L - c;
3. ``1 - g(s) >= (1 - g(ns)) / n^2`` for every whole n, because ``1 - cos ny <= n^2 (1 - cos y)``: values further out
   bound those close to 0, where 1 - g is small;
4. ``|phi| <= V / s`` beyond (see ``density.py``).

An unsampled Gaussian has ``|phi| = e^(-mu^2 s^2 / 2)`` exactly; of the rest only ``|phi| <= 1`` is used. With rho the
product of all bounds to their powers, what the sum leaves out beyond an edge e_0 is at most (``|z (1 + z)| >= s^2``)

    e^(K(t) - t eps) (1 / pi) [ sum rho_i (ds / e_i^2 + 1/e_i - 1/e_(i+1)) + rho_last (ds / e^2 + 1 / ((n + 1) e)) ] ,

the last term for s beyond the last edge e, where rho falls at least as ``(e / s)^n``, n the number of sampled rounds
with V < e.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from flint import arb

from hockeystick.engines.interval import NotApplicableError
from hockeystick.engines.proof.core import CoreRule
from hockeystick.engines.proof.density import TiltedDensity
from hockeystick.engines.proof.mixture import MixtureBalls
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.numerics.balls import Ball, above, ball, precision, upper

BITS = 64  # bounds need no more
RATIO = 2**0.25  # of neighbouring edges
MAX_VALUES = 20_000
MAX_EDGES = 2_000
DEPARTURES = (0.3, 0.5, 0.7, 0.9, 1.2, 1.6, 2.2)  # where g is looked at for bounds near 0, in units of the spread


class Cut(NamedTuple):
    """Where to cut, and the bound on what is left out in units of ``e^(K(t) - t eps)``."""

    reach: float
    rest: Ball


class SampledDecay:
    """Bounds 1 to 4 for one sampled round.

    Args:
        mixture: the round.
        t: tilt.
        count: how often it is run.
        depth: log of how small the product has to become.
        rounds: how many sampled rounds there are of all kinds.
    """

    def __init__(self, mixture: MixtureBalls, t: float, count: int, depth: float, rounds: int) -> None:
        self.count = count
        moment = mixture.values(t, 1.0, 1, -30.0)[0].real
        self._density = TiltedDensity(mixture, t, moment)
        self.variation: Ball = self._density.variation
        self._wanted = min(0.03, max(math.exp(2 * depth / rounds), 1e-3))
        self._h = self._density.spacing(self._wanted)
        self._between = self._density.truncated_spread(self._h)
        self.scale = self._h / math.sqrt(2 * self._wanted)
        """About 1 / spread of the core of the loss."""

    def tabulate(self, last: float) -> None:
        """Take the values up to where the variation bound is enough."""
        variation = above(self.variation)
        end = min(variation * (1 + min(1.0, 60.0 / self.count)), last)
        number = math.ceil(end / self._h) + 2
        if number > MAX_VALUES:
            raise NotApplicableError("the proof would need too many values of a characteristic function")
        rule = CoreRule(self._density, self._h * number, self._wanted / 8)
        squares = [above(bound**2) for bound in rule.bounds(self._h, number)]
        self._cells = [min(above(arb(max(a, b)) + arb(self._between)), 1.0) for a, b in pairwise(squares)]
        self._beyond = min(above((self.variation / (arb(self._h) * (number - 1))) ** 2), 1.0)

    def log_bound(self, low: float, high: float) -> Ball:
        """Upper bound on ``count log |phi|`` over [low, high]."""
        best = arb(0)
        multiples = {1} | {max(1, round(departure * self.scale / low)) for departure in DEPARTURES}
        for n in multiples:
            largest = self._largest(n * low, n * high)
            if largest < 1:
                kept = (1 - arb(largest)) / arb(n) ** 2
                best = best.min(upper(self.count * (1 - kept).log() / 2))
        far = self.variation / arb(low)
        return best.min(upper(self.count * far.log())) if far < 1 else best

    def _largest(self, low: float, high: float) -> float:
        """Upper bound on g over [low, high] (the ends moved outward by a cell)."""
        first, last = int(low / self._h * (1 - 1e-9)), int(high / self._h * (1 + 1e-9)) + 1
        inside = max(self._cells[first:last], default=0.0)
        return inside if last <= len(self._cells) else max(inside, self._beyond)


class Decay:
    """The bounds of all rounds together.

    Args:
        rounds: the rounds.
        t: tilt.
        depth: log of how small the rest may be, in units of ``e^(K(t) - t eps)``.
        variance: about that of the sum under the tilted law.
    """

    def __init__(self, rounds: ExactRounds, t: float, depth: float, variance: float) -> None:
        self._depth = min(depth, -1.0)
        self._first = 0.4 * math.sqrt(-2 * self._depth / max(variance, 1e-300))
        with precision(BITS):
            self._mu_squared = ball(rounds.mu_squared)
            self._number = sum(rounds.sampled.values())
            self._sampled = [
                SampledDecay(MixtureBalls(item), t, count, self._depth, self._number)
                for item, count in rounds.sampled.items()
            ]
            if not self._sampled and not rounds.mu_squared:
                raise NotApplicableError("no round has a characteristic function that falls off")
            self._last = self._far_enough()
            for one in self._sampled:
                one.tabulate(self._last)

    def _far_enough(self) -> float:
        """An edge from which on the last term alone is small; a choice, not a claim."""
        options = []
        if self._mu_squared > 0:
            options.append(1.2 * math.sqrt(-2 * (self._depth - 3) / float(self._mu_squared)))
        if self._sampled:
            logs = sum(one.count * math.log(above(one.variation)) for one in self._sampled)
            options.append(math.exp(min((logs + 3 - self._depth) / (self._number + 1), 500.0)))
        return max(min(options), 2 * self._first)

    def _log_rho(self, low: float, high: float) -> Ball:
        return sum((one.log_bound(low, high) for one in self._sampled), -self._mu_squared * arb(low) ** 2 / 2)

    def cut(self, step: float) -> Cut:
        """The first edge beyond which the sum of step ds is small enough to be left out."""
        edges = [self._first]
        while edges[-1] < self._last:
            edges.append(edges[-1] * RATIO)
        if len(edges) > MAX_EDGES:
            raise NotApplicableError("too few sampled rounds for a proof: the sum would be too long")
        wanted = self._depth
        with precision(BITS):
            ds, end = arb(step), arb(edges[-1])
            # at the edge itself the bounds are those by variation, which fall as (e / s)^n from there on, or 1
            falling = [one for one in self._sampled if one.variation < end]
            log_rho = sum((one.count * (one.variation / end).log() for one in falling), arb(0))
            rho = (log_rho - self._mu_squared * end**2 / 2).exp()
            number = sum(one.count for one in falling)
            rest = upper(rho * (ds / end**2 + 1 / ((number + 1) * end)) / arb.pi())
            if not rest.log() < wanted:
                raise NotApplicableError("the characteristic functions do not fall off fast enough for a proof")
            reach = edges[-1]
            for low, high in zip(edges[-2::-1], edges[:0:-1], strict=True):
                a, b = arb(low), arb(high)
                piece = self._log_rho(low, high).exp() * (ds / a**2 + 1 / a - 1 / b) / arb.pi()
                longer = upper(rest + piece)
                if not longer.log() < wanted:
                    break
                rest, reach = longer, low
            return Cut(reach, rest)
