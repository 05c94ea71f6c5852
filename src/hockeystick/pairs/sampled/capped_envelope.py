"""Bound on the decay of the characteristic function of a sampled Gaussian round without outcomes in the tail.

With b, g, alpha as in ``capped_law.py``, let ``y(x) >= 0`` be continuous with a slope but at one place, ``mu y <=
pi/2``, from 0 up to y_1 at an outcome ``x_1 < c``. x is moved to ``x + iy(x)`` up to there, straight down to x_1, and
on along the real line; ``|b(x + iy)| <= e^E`` with ``E = e^(kappa (x - c))`` at any height. So

    |m_b(t + is)| <= B(s) = int_(x < x_1) phi g^(1+t) e^(psi + E) dx + V + int_(x > x_1) phi b g^(1+t) dx ,
    psi = y^2/2 + y'^2/2 - s alpha(x, y),        V = y_1 phi(x_1) e^(y_1^2/2 + E(x_1)) g(x_1)^(1+t) ,

which falls with s as alpha >= 0: its value at s holds for all beyond. With ``r_* = odds / (1 + odds)``, where the odds
are those of q times a factor that grows with s, ``y = Y r_*^p`` has ``0 <= y' <= p mu y``; both rise with x.

**On panels** phi is between its values at both ends, 0 being one of the ends; g, b and alpha are monotone. The fall
``m_b(t) - B = int_(x < x_1) phi g^(1+t) (b - e^(psi + E)) - V`` is bounded from below, panel by panel, by the larger
``psi + E`` and the lower b, times the least weight where that is positive and the largest one where not; far to the
left, by ``e^(psi + E) - 1`` there and the tail of phi. B itself is bounded from above likewise, for rounds each of
which falls far.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.arrays import BLOCK
from hockeystick.numerics.rounding import LARGEST, SPARE, UNIT_ROUNDOFF
from hockeystick.pairs.sampled.capped_law import CappedLaw, CappedNodes
from hockeystick.pairs.sampled.gaussian_envelope import LARGEST_SHIFT, ODDS
from hockeystick.pairs.sampled.mixture_law import log_density, log_tail

Array = npt.NDArray[np.float64]

SHAPES = ((0.5, 1.0), (0.5, 0.5), (0.5, 0.0), (0.0, 0.0))  # p, and the power of mu s by which the odds grow
STEEPEST = 0.5 * math.pi * (1 - 1e-9)  # largest mu y
NEAR = 10.0  # distance of x_1 below c, in units of 1 / kappa
DEPTH = 80.0  # log of the mass that the panels leave out on either side


class CappedEnvelope:
    """Bounds on ``|m_b(t + is)| / m_b(t)``.

    Args:
        capped: the round.
        t: tilt.
    """

    def __init__(self, capped: CappedLaw, t: float) -> None:
        self._capped, self._mu = capped, capped.law.mu
        low, high = capped.range_for(t, 0.0, 0.0, DEPTH)
        first = capped.centre - NEAR / capped.steepness
        x = np.concatenate([capped.panels(low, first), capped.panels(first, high)[1:]]) if first > 0 else np.empty(0)
        self.usable = first > 0 and capped.log_above(high, t, 0.0, 0.0) <= 0
        if not self.usable:
            return
        moved = len(capped.panels(low, first))
        at = CappedNodes(capped, x, t)
        nodes, fading = at.nodes, -at.log_kept
        self.usable = bool(((nodes.care() + at.doubt)[fading < LARGEST] < 0.1 * SPARE).all())
        if not self.usable:
            return
        widths = np.log(np.diff(x))
        log_phi = log_density(x)
        larger, smaller = np.maximum(log_phi[1:], log_phi[:-1]), np.minimum(log_phi[1:], log_phi[:-1])
        most = larger + nodes.exponent[1:] + widths
        least = smaller + nodes.exponent[:-1] + widths
        log_tails = [log_tail(low), log_tail(-high)]
        logs = np.concatenate([most - fading[:-1], log_tails])
        top = float(logs.max())
        self._most_m = float(np.exp(logs - top).sum()) * (1 + SPARE)  # all in units of e^top
        self._least_m = float(np.exp(least - fading[1:] - top).sum()) * (1 - SPARE)
        self._still = float(np.exp(np.concatenate([(most - fading[:-1])[moved - 1 :], log_tails[1:]]) - top).sum())
        self._most, self._least = np.exp(most[: moved - 1] - top), np.exp(least[: moved - 1] - top)
        self._left = math.exp(log_tails[0] - top)
        self._end = float(log_phi[moved - 1] + nodes.exponent[moved - 1]) - top
        self._towards, self._fading = capped.law.mu * (x - 0.5 * capped.law.mu)[:moved], fading[:moved]

    @property
    def cost(self) -> float:
        """Cost of an edge: the number of panels times that of shapes, or almost nothing if there is no bound."""
        return float(len(SHAPES) * len(self._most)) if self.usable else 1.0

    def log_bound(self, edges: Array) -> Array:
        """Upper bounds, non-positive, on ``log |m_b(t + is)| / m_b(t)`` for all ``s >= edges[i]``."""
        out = np.zeros(len(edges))
        if not self.usable:
            return out
        batch = max(1, BLOCK // len(self._most))
        for start in range(0, len(edges), batch):
            part = edges[start : start + batch]
            for power, growth in SHAPES:
                out[start : start + batch] = np.minimum(out[start : start + batch], self._shifted(part, power, growth))
        return np.minimum.accumulate(out)

    def _shifted(self, edges: Array, power: float, growth: float) -> Array:
        """Return the bound from one shape of the shift, with the height Y that is best for small shifts."""
        law, s = self._capped.law, edges[:, None]
        factor = np.maximum(1.0, ODDS * self._mu * s) ** growth
        odds = factor * np.exp(np.minimum(self._towards + (math.log(law.rate) - math.log1p(-law.rate)), 300.0))
        shape = (odds / (1 + odds)) ** power
        slope = np.exp(np.minimum(self._towards + math.log(law.rate), 300.0))
        slope = slope / (1 - law.rate + slope)
        middle = 0.5 * (self._most + self._least)
        linear = (shape[:, 1:] * slope[1:]) @ middle * self._mu
        square = np.square(shape[:, 1:]) @ middle * (1 + (power * self._mu) ** 2)
        largest = min(LARGEST_SHIFT, STEEPEST / self._mu)
        shift = np.minimum(edges * linear / np.maximum(square, 1e-300), largest)[:, None]
        y = shift * shape
        turned = s * self._capped.turn(self._towards[:-1], y[:, :-1]) * (1 - SPARE)
        bent = 0.5 * (1 + (power * self._mu) ** 2) * np.square(y[:, 1:]) * (1 + SPARE)
        raised = np.minimum(bent - turned + self._fading[1:] * (1 + SPARE), LARGEST)
        kept, moved = np.expm1(-self._fading[1:] * (1 + SPARE)), np.expm1(raised)
        lost = kept - moved - 16 * UNIT_ROUNDOFF * (np.abs(kept) + np.abs(moved))  # b - e^(psi + E), from below
        at_left = np.exp(np.minimum(bent[:, :1] + self._fading[1], LARGEST))
        last = y[:, -1]
        end = last * np.exp(np.minimum(self._end + 0.5 * np.square(last) + self._fading[-1], LARGEST)) * (1 + SPARE)
        gained, spent = np.maximum(lost, 0.0) @ self._least, np.minimum(lost, 0.0) @ self._most
        far = np.expm1(bent[:, 0] + 2 * self._fading[1]) * self._left  # and 1 - b there
        fall = gained * (1 - SPARE) + (spent - end - far) * (1 + SPARE)
        whole = np.exp(raised) @ self._most + end + at_left[:, 0] * self._left + self._still
        by_fall = np.log1p(-np.clip(fall / self._most_m, 0.0, 1 - 1e-12))
        by_size = np.log(whole * (1 + SPARE) / self._least_m) if self._least_m > 0 else np.zeros(len(edges))
        out: Array = np.minimum(np.minimum(by_fall, by_size), 0.0)
        return out
