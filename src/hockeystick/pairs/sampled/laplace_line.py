"""The characteristic function of a Poisson-sampled Laplace round on a vertical line.

With nodes of weight w, exponent a = log g^p at Re z = t and loss L (``laplace_law.py``),

    m(t + is) - 1 = sum w (e^a - 1) + sum w e^a (e^(isL) - 1) ,

every part of which is computed to a few roundings of its own size, so that k log m errs by u times about the total
change in k rounds. Where m(t) is well above 1 this form gains nothing, and ``e^-top m = sum w e^(a - top) e^(isL)`` is
used, which keeps to the range of a double.

**Errors.** A relative error c of w, an absolute one d of a and an absolute one e of L move the first sum by at most
``w (c |e^a - 1| + d e^a)`` a node, to first order, and the second by ``w e^a [(c + d) min(2, s |L|) + s e]``; all of
them are of the order of rounding, so that their products are covered by the margin of the units. The remainder of the
rule is taken at the highest point, which holds for all below it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.exponential_sum import BLOCK, blocked_sum
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs.sampled.laplace_envelope import TOLERANCE, EnvelopeGrids, SmoothTail
from hockeystick.pairs.sampled.laplace_law import NODES, LaplaceLaw, LaplaceNodes
from hockeystick.pairs.sampled.summed_line import LARGE, MAX_NODES, SummedLine, kept_upper

Array = npt.NDArray[np.float64]

NARROWER = (1.0, 1.5, 2.5)  # times as many panels, tried in turn until the rule is exact enough
KEPT_ENVELOPES = 1024  # cached envelopes of 25 kB: for each path a query uses those of all kinds, up to 1,000
NEAR = 0.9  # fraction of the permanent decay above which grids would add little to the tail


class SampledLaplaceLine(SummedLine):
    """The function m on Re z = t, for ``|Im z| <= reach``, with a remainder of the rule about ``tolerance m(t)``.

    Args:
        law: the round.
        t: tilt.
        reach: largest height.
        tolerance: target for the remainder.
    """

    def __init__(self, law: LaplaceLaw, t: float, reach: float, tolerance: float) -> None:
        self._law, self.t, self._tolerance = law, t, tolerance
        self._reach, self.edges, self.nodes = reach, np.empty(0), MAX_NODES + 1
        for narrower in NARROWER:
            edges = law.panels(t, reach, narrower)
            if edges is None:
                break
            self.edges, self.nodes = edges, NODES * (len(edges) - 1) + len(law.losses)
            if self._log_remainder(edges, moved=True) <= math.log(tolerance):
                break

    def _log_remainder(self, edges: Array, *, moved: bool) -> float:
        """Return the log of the error bound of the rule, of ``m - 1`` if ``moved`` and of m if not."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._law.log_remainder(edges, self.t, self._reach, moved=moved)

    def _build(self) -> None:
        """Compute the nodes and everything that does not depend on s."""
        at = LaplaceNodes(self._law, self.edges, self.t)
        log_tilted = at.log_weight + at.exponent
        highest = float(log_tilted.max())
        scaled = np.exp(log_tilted - highest)
        total = blocked_sum(scaled)
        self.large = highest + math.log(total) > LARGE
        self.top = highest if self.large else 0.0
        tilted = scaled if self.large else scaled * math.exp(highest)
        self._loss, self._weight = at.loss, tilted
        sizes = np.abs(at.loss)
        care = at.care + at.doubt + UNIT_ROUNDOFF * (8 * abs(highest) + 4 * np.abs(log_tilted))
        if self.large:
            self.constant, self._still = total, float(care @ tilted) + UNIT_ROUNDOFF * BLOCK * total
        else:
            weight = np.exp(at.log_weight)
            with np.errstate(over="ignore", invalid="ignore"):  # 0 times infinity, not a number: it is refused
                moved = weight * np.expm1(at.exponent)
            self.constant = blocked_sum(moved)
            own = at.care + UNIT_ROUNDOFF * (8 + 4 * np.abs(at.log_weight))
            self._still = float(own @ np.abs(moved)) + float(at.doubt @ tilted)
            self._still += UNIT_ROUNDOFF * BLOCK * float(np.abs(moved).sum())
        self._turning = float((care * sizes) @ tilted), 2 * float(care @ tilted)
        self._slope = float(at.slip @ tilted)
        log_remainder = self._log_remainder(self.edges, moved=not self.large) - self.top
        self.remainder = math.exp(min(log_remainder, LARGEST)) if log_remainder < LARGEST else math.inf

    def _charged(self, error: Array, s: Array) -> Array:
        turning = np.minimum(s * self._turning[0], self._turning[1])
        return error + turning + s * self._slope + (self._still + self.remainder)


class SampledEnvelope:
    """Bound on the decay of m of one round at tilt t, computed and charged at the first call.

    Args:
        law: the round.
        t: tilt.
        count: the power to which the bound will be raised.
    """

    cost: ClassVar[float] = 1.0
    """One evaluation per edge: the grids are built once."""

    def __init__(self, law: LaplaceLaw, t: float, count: int) -> None:
        self._law, self._t, self._count = law, t, count

    @property
    def floor(self) -> float:
        """Lower limit of the bounds at all edges."""
        tail = kept_tail(self._law, self._t)
        return 0.0 if tail is None else tail.floor

    def log_bound(self, edges: Array) -> Array:
        """Return bounds by the tail alone where it is near its limit, else also by the grids."""
        tail = kept_tail(self._law, self._t)
        if tail is None:
            return np.zeros(len(edges))
        bound = tail.log_bound(edges)
        if float(bound.max()) <= NEAR * tail.floor:
            return bound
        return np.minimum(bound, kept_grids(self._law, self._t, self._count).log_bound(edges))


@dataclass(frozen=True, slots=True)
class SampledLaplaceTransform(LaplaceLaw):
    """Transform of the law, with its line and envelope."""

    highest_tilt: ClassVar[float] = math.inf
    """Infinite: a line exists at every tilt."""

    def line(self, t: float, reach: float, tolerance: float) -> SampledLaplaceLine:
        """Return the line through t, by Gauss-Legendre panels."""
        return SampledLaplaceLine(self, t, reach, tolerance)

    def envelope(self, t: float, count: int) -> SampledEnvelope:
        """Return the envelope at t, by values of m on a grid of heights and a bound beyond them."""
        return SampledEnvelope(self, t, count)

    def upper(self, t: float, slack: float) -> float:
        """Upper bound on K(t): the rule, plus its remainder and rounding; ``inf`` if there are too many panels."""
        return kept_upper(self, t, UNIT_ROUNDOFF)


@lru_cache(maxsize=KEPT_ENVELOPES)
def kept_tail(law: LaplaceLaw, t: float) -> SmoothTail | None:
    """Return the tail bound of the smooth part at t; ``None`` if m(t) is not known."""
    value, error = SampledLaplaceLine(law, t, 0.0, TOLERANCE).cumulants(1.0, 1)
    log_m, doubt = float(value[0].real), float(error[0])
    return SmoothTail(law, t, log_m, doubt) if math.isfinite(log_m + doubt) else None


@lru_cache(maxsize=KEPT_ENVELOPES)
def kept_grids(law: LaplaceLaw, t: float, count: int) -> EnvelopeGrids:
    """Return the grids at t, for which the tail bound must be known."""
    tail = kept_tail(law, t)
    assert tail is not None
    return EnvelopeGrids(law, t, count, tail, SampledLaplaceLine)
