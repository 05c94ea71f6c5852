"""The characteristic function of a sampled Gaussian round without outcomes in the tail, by the trapezoid rule in x.

With b, g and c as in ``capped_law.py``, ``int phi = 1`` and ``int phi (g - 1) = 0``,

    m_b(t) - 1 = int phi { b [g^(1+t) - 1 - (1+t) (g - 1)] - (1 - b) [1 + (1+t) (g - 1)] } ,
    m_b(t + is) - m_b(t) = int phi b g^(1+t) (e^(isu) - 1) .

The sum for each integral has a relative error of only a few roundings. Where ``m_b(t)`` is well above 1 this form gains
nothing, and ``e^-top m_b`` is computed as one sum instead.

**Remainders**, with step dx and nodes on ``[low, high]``, low < 0 < c < high:

- step: the integrands of the two formulas add up to ``phi (b g^(1+z) - 1 - (1+t)(g - 1))``, which is analytic in the
  strip ``|Im x| <= a`` of ``capped_law.py``. So the rule errs by at most ``2 M / (e^(2 pi a / dx) - 1)`` (Trefethen,
  Weideman 2014 [TW14], Theorem 5.1) with ``M = int |b phi g^(1+z)| + e^(a^2/2) (1 + 2 q (1 + t))``, as ``|g(x + ia) -
  1| <= q (1 + e^l)``;
- below ``low``, where ``1 - q <= g <= 1``: all terms are at most ``3 + t`` times phi, which rises there;
- above ``high``: ``phi b g^(1+z)`` is at most phi by ``CappedLaw.log_above``, and the first-order terms are at most
  ``phi (1 + (1+t) q (1 + e^l))``, both parts of which fall beyond mu. So the sum over nodes beyond the last one is
  below the integral from the last node on.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.exponential_sum import BLOCK, blocked_sum
from hockeystick.numerics.logarithm import weighted_beyond_first
from hockeystick.numerics.rounding import LARGEST, SPARE, TINY, UNIT_ROUNDOFF
from hockeystick.pairs.sampled.capped_law import STEEPEST_TURN, CappedLaw, CappedNodes, on_lattice
from hockeystick.pairs.sampled.mixture_law import log_density, log_tail
from hockeystick.pairs.sampled.summed_line import LARGE, MAX_NODES, SummedLine

Array = npt.NDArray[np.float64]

HEIGHTS = np.geomspace(0.01, 1.0, 14)  # half-widths of the strip that are tried, relative to the largest


class CappedLine(SummedLine):
    """The function m_b on Re z = t, for ``|Im z| <= reach``; its remainders are about ``tolerance m_b(t)``.

    Args:
        capped: the round.
        t: tilt, above 0.
        reach: largest height.
        tolerance: target for the remainders, relative to m_b(t).
    """

    def __init__(self, capped: CappedLaw, t: float, reach: float, tolerance: float) -> None:
        self._capped, self.t, self._tolerance = capped, t, tolerance
        heights = STEEPEST_TURN / capped.steepness * (1 - SPARE) * HEIGHTS
        sizes = capped.log_size(t, reach, heights)
        depth = math.log(16 / tolerance)
        first = np.log1p(2 * capped.law.rate * (1 + t)) + 0.5 * np.square(heights)
        self._sizes = np.logaddexp(sizes, first)
        arcs = depth + np.maximum(self._sizes, 0.0)
        best = int(np.argmin(arcs / heights))
        self._log_strip, self._a = float(self._sizes[best]), float(heights[best])
        self.dx, self.nodes = 0.0, MAX_NODES + 1
        if math.isfinite(self._log_strip):
            self.dx = on_lattice(2 * math.pi * self._a / float(arcs[best]))
            self.low, high = capped.range_for(t, 0.0, 0.0, depth)
            if self.dx > 0:
                self.nodes = math.ceil((high - self.low) / self.dx) + 1

    def _build(self) -> None:
        """Compute the nodes and all other values that do not depend on s."""
        capped, t = self._capped, self.t
        x: Array = self.low + self.dx * np.arange(self.nodes, dtype=np.float64)
        at = CappedNodes(capped, x, t)
        nodes = at.nodes
        log_weight = log_density(x) + math.log(self.dx)
        log_tilted = log_weight + nodes.exponent + at.log_kept
        highest = float(log_tilted.max())
        scaled = np.exp(log_tilted - highest)
        total = blocked_sum(scaled)
        self.large = highest + math.log(total) > LARGE
        self.top = highest if self.large else 0.0
        self._loss = nodes.u
        self._weight = scaled if self.large else scaled * math.exp(highest)
        own = nodes.care() + UNIT_ROUNDOFF * (8 * abs(highest) + BLOCK)
        care, slip = own + at.doubt, nodes.slip()
        self._turning = float((care * np.abs(nodes.u)) @ self._weight), 2 * float(care @ self._weight)
        self._slope = float(slip @ self._weight)
        if self.large:
            self.constant, still = total, float(care @ scaled)
        else:
            self.constant, still = self._excess(at, log_weight, own)
        above = capped.log_above(float(x[-1]), t, 0.0, 0.0)
        end, mu, q = float(x[-1]), capped.law.mu, capped.law.rate
        ends = (3 + t) * math.exp(log_tail(self.low))
        ends += (2 + (1 + t) * q) * math.exp(log_tail(-end)) + (1 + t) * q * math.exp(log_tail(mu - end))
        beyond = ends * math.exp(-self.top) if above <= 0 and end > mu else math.inf
        self._still = (still + beyond + 4 * self.nodes * TINY) * (1 + SPARE)
        arc = 2 * math.pi * self._a / self.dx
        log_step = math.log(2) + self._log_strip - self.top - arc - math.log(-math.expm1(-arc))
        self._step = math.exp(min(log_step, LARGEST)) * (1 + SPARE)

    def _excess(self, at: CappedNodes, log_weight: Array, own: Array) -> tuple[float, float]:
        """Return ``m_b(t) - 1``, computed as a sum over nodes, and a bound on its rounding error."""
        nodes, power = at.nodes, 1 + self.t
        weight, log_kept = np.exp(log_weight), log_weight + at.log_kept
        kept = np.exp(log_kept)
        beyond, size = weighted_beyond_first(log_kept, nodes.exponent)
        bent, bent_size = weighted_beyond_first(log_kept, nodes.u)
        lost = weight * at.lost
        rise = power * np.expm1(nodes.u)
        value = beyond - power * bent - lost * (1 + rise)
        gone = lost * (1 + np.abs(rise))
        largest = size + power * bent_size
        # an error of u moves e^A - 1 - A by e^A - 1, at most that itself and |A|, and for |A| > 1 by twice it or 1
        moved = power * (2 * kept * np.minimum(np.abs(nodes.exponent), 1.0) + kept * np.abs(nodes.u) + bent_size)
        error = float((own + at.doubt) @ largest) + float(nodes.slip() @ (moved + power * lost * np.exp(nodes.u)))
        return blocked_sum(value), error + float((own + at.lost_doubt) @ gone)

    def _charged(self, error: Array, s: Array) -> Array:
        # an error of a weight is multiplied by e^(isu) - 1, at most s |u| and 2; an error of u by s
        turning = np.minimum(s * self._turning[0], self._turning[1]) + s * self._slope
        return (error + turning) * (1 + SPARE) + (self._still + self._step)
