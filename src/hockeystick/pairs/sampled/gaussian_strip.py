"""Step of the trapezoid rule for adding a record at large tilts, from bounds on the integrand over narrow panels.

With ``g(x) = A + B``, ``A = 1 - q``, ``B = q e^(mu x - mu^2/2)``, and for ``mu h <= pi/2``, ``0 <= eta <= h``, ``a <= x
<= b``, ``0 <= s <= S``, the modulus of the integrand ``phi g^(-t - is)`` at x + i eta is

    phi(x) e^(eta^2/2) |g(x + i eta)|^(-t) e^(s arg g(x + i eta))
        <= phi(x) e^(h^2/2) |g(a + ih)|^(-t) e^(S arg g(b + ih)) ,

since ``|g|^2 = A^2 + 2 A B cos(mu eta) + B^2`` rises with B, that is with x, and falls with eta, while ``arg g``, the
argument of ``A + B e^(i mu eta)`` with positive A and B, rises with x and with eta: its derivative with respect to the
angle ``mu eta`` is ``B (B + A cos(mu eta)) / |g|^2``. At x - i eta the modulus is less. Divide the line into panels
with the edges ``x_0 < ... < x_n`` and the two parts beyond x_0 and x_n. Then the integral of the modulus at any height
is at most

    M = e^(h^2/2) [ (1-q)^(-t) e^(S arg g(x_0 + ih)) Phi(x_0) + sum_i (x_(i+1) - x_i) phi_i |g(x_i + ih)|^(-t)
        e^(S arg g(x_(i+1) + ih)) + |g(x_n + ih)|^(-t) e^(S mu h) Phi(-x_n) ] ,

where phi_i is the largest value of phi on the panel. The infinite trapezoid sum errs by at most ``2 M / (e^(2 pi h /
dx) - 1)`` (Trefethen, Weideman 2014 [TW14], Theorem 5.1). At large tilts, close to the largest loss, the tilted law
concentrates on outcomes with ``B << A``, where arg g is far below mu h, and the nodes may lie far apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs.sampled.mixture_law import MixtureLaw, log_density, log_tail

Array = npt.NDArray[np.float64]

POINTS = 1000  # outcomes at which the tilted law is evaluated
HEIGHTS: Array = np.linspace(0.1, 0.999, 12)  # half-widths tried, relative to pi / (2 mu) or what the density allows
PANEL = 0.0625  # width of a panel in x
FARTHEST = 60.0  # farthest outcome that is examined
MOST_PANELS = 4000  # panels of a bound: more are needed where the law is too far in the tail
ROUNDINGS = 64.0  # units, of the logarithm of g and of its argument, relative to their terms


@dataclass(frozen=True, slots=True)
class AddedStrip:
    """Choice of a strip, of its panels and of the step; any choice is sound.

    Attributes:
        law: one sampled round with one shifted term, in the direction that adds a record.
        t: tilt > 0.
        height: h, the half-width of the strip.
        low, top: x_0 and x_n, the first and the last edge of the panels.
        dx: a step of the trapezoid rule for which its remainder is small.
    """

    law: MixtureLaw
    t: float
    height: float
    low: float
    top: float
    dx: float

    @classmethod
    def found(cls, law: MixtureLaw, t: float, reach: float, depth: float) -> AddedStrip | None:
        """Return the strip with the longest step for ``|s| <= reach``; ``None`` if it would need too many panels.

        Args:
            law: the round.
            t: tilt.
            reach: the largest s.
            depth: minus the log of the allowed remainder, relative to m(t).
        """
        wide = np.linspace(-FARTHEST, FARTHEST, POINTS)
        logs = log_density(wide) - t * _log_sizes(law, wide, 0.0)
        top = float(logs.max())
        log_moment = top + math.log(float(np.exp(logs - top).sum()) * (wide[1] - wide[0]))
        low = -math.sqrt(2 * max(depth - t * math.log1p(-law.rate) - log_moment, 1.0))
        if not FARTHEST - low <= MOST_PANELS * PANEL:
            return None
        light = np.flatnonzero((logs < log_moment - depth) & (wide > wide[int(np.argmax(logs))]))
        high = float(wide[light[0]]) if len(light) else FARTHEST
        x = np.arange(low, FARTHEST, PANEL)
        best: AddedStrip | None = None
        for height in (HEIGHTS * min(0.5 * math.pi / law.mu, 2 * math.sqrt(2 * depth))).tolist():
            panels, rest = _log_panels(law, t, x, height, reach)
            sizes = np.logaddexp.accumulate(panels)  # of the panels up to each
            enough = np.flatnonzero((rest[1:] < sizes[:-1]) & (x[1:] > high))  # the part beyond is at most as large
            if len(enough):
                size = float(sizes[enough[0]]) + math.log(3)
                dx = 2 * math.pi * height / max(depth + size - log_moment, 1.0)
                if best is None or dx > best.dx:
                    best = cls(law, t, height, low, float(x[enough[0] + 1]), dx)
        return best

    def log_size(self, reach: float) -> float:
        """Return an upper bound on log M for ``|s| <= reach``."""
        x = np.append(np.arange(self.low, self.top, PANEL), self.top)
        panels, rest = _log_panels(self.law, self.t, x, self.height, reach)
        first = -self.t * math.log1p(-self.law.rate) + reach * float(_turns(self.law, x[:1], self.height)[0])
        logs = np.concatenate([panels[:-1], rest[-1:], [first + 0.5 * self.height**2]])
        logs[-2] += log_tail(-self.top)
        logs[-1] += log_tail(self.low)
        moved = 1 + self.law.mu * (max(abs(self.low), abs(self.top)) + self.law.mu)
        slack = ROUNDINGS * UNIT_ROUNDOFF * moved * (self.t + reach * self.law.mu * self.height) + 1e-9
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).sum())) + slack


def _log_odds(law: MixtureLaw, x: Array) -> Array:
    """Return ``log(B / A)``, the log odds of the shifted term, at outcomes x."""
    odds: Array = math.log(law.rate) - math.log1p(-law.rate) + law.mu * (x - 0.5 * law.mu)
    return np.minimum(odds, 0.4 * LARGEST)


def _log_sizes(law: MixtureLaw, x: Array, height: float) -> Array:
    """Return ``log |g(x + ih)|`` at outcomes x; h is ``height``."""
    odds, cosine = np.exp(_log_odds(law, x)), max(math.cos(law.mu * height), 0.0)
    return math.log1p(-law.rate) + 0.5 * np.log1p(odds * (2 * cosine + odds))


def _turns(law: MixtureLaw, x: Array, height: float) -> Array:
    """Return ``arg g(x + ih)`` at outcomes x; h is ``height``."""
    odds, angle = np.exp(_log_odds(law, x)), law.mu * height
    return np.arctan2(odds * math.sin(angle), 1 + odds * max(math.cos(angle), 0.0))


def _log_panels(law: MixtureLaw, t: float, x: Array, height: float, reach: float) -> tuple[Array, Array]:
    """Return two logs for each x: of the term in M of a panel of width PANEL from x on, and of the part above x.

    The part above x is without its factor ``Phi(-x)``.
    """
    size = 0.5 * height * height - t * _log_sizes(law, x, height)
    nearest = np.maximum(np.maximum(x, -x - PANEL), 0.0)
    panels = size + log_density(nearest) + reach * _turns(law, x + PANEL, height) + math.log(PANEL)
    return panels, size + reach * law.mu * height
