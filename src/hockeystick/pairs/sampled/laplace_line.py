"""The characteristic function of a Poisson-sampled Laplace round on a vertical line.

Each node has a weight w, an exponent a = log g^p at Re z = t, and a loss L (``laplace_law.py``). Then

    m(t + is) - 1 = sum w (e^a - 1) + sum w e^a (e^(isL) - 1) ,

and each of the two sums has a relative error of only a few roundings. So k log m, for k rounds, errs by about the unit
round-off times its own size. Where m(t) is well above 1 this form gains nothing; ``e^-top m = sum w e^(a - top)
e^(isL)`` is used instead, which stays within the range of a double.

**Errors.** Let w have a relative error c, a an absolute error d, and L an absolute error e. To first order, they move
the first sum by at most ``w (c |e^a - 1| + d e^a)`` per node, and the second by ``w e^a [(c + d) min(2, s |L|) + s
e]``. All three errors are of the order of rounding, so that the margin in the numbers of units covers their products.
The remainder of the rule is computed at the largest height and holds for all lower ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.boxes import Boxes
from hockeystick.numerics.exponential_sum import BLOCK, blocked_sum
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs.sampled.laplace_law import NODES, LaplaceLaw, LaplaceNodes
from hockeystick.pairs.sampled.summed_line import LARGE, MAX_NODES, SummedLine, kept_upper

Array = npt.NDArray[np.float64]

NARROWER = (1.0, 1.5, 2.5)  # factors on the number of panels, tried in turn until the rule is accurate enough


class SampledLaplaceLine(SummedLine):
    """Values of m on Re z = t for ``|Im z| <= reach``; the remainder of the rule is about ``tolerance m(t)``.

    Args:
        law: the round.
        t: tilt.
        reach: largest height.
        tolerance: target for the remainder, relative to m(t).
    """

    def __init__(self, law: LaplaceLaw, t: float, reach: float, tolerance: float) -> None:
        self._law, self.t, self._tolerance = law, t, tolerance
        self._reach, self.edges, self.nodes = reach, np.empty(0), MAX_NODES + 1
        for narrower in NARROWER:
            edges = law.panels(t, reach, narrower)
            if edges is None:
                break
            self.edges, self.nodes = edges, NODES * (len(edges) - 1) + len(law.losses)
            if law.log_remainder(edges, t, reach, moved=True) <= math.log(tolerance):
                break

    def _build(self) -> None:
        """Compute the nodes and all other values that do not depend on s."""
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
            with np.errstate(over="ignore", invalid="ignore"):  # 0 times infinity gives no number, which is refused
                moved = weight * np.expm1(at.exponent)
            self.constant = blocked_sum(moved)
            own = at.care + UNIT_ROUNDOFF * (8 + 4 * np.abs(at.log_weight))
            self._still = float(own @ np.abs(moved)) + float(at.doubt @ tilted)
            self._still += UNIT_ROUNDOFF * BLOCK * float(np.abs(moved).sum())
        self._turning = float((care * sizes) @ tilted), 2 * float(care @ tilted)
        self._slope = float(at.slip @ tilted)
        log_remainder = self._law.log_remainder(self.edges, self.t, self._reach, moved=not self.large)
        log_remainder -= self.top
        self.remainder = math.exp(min(log_remainder, LARGEST)) if log_remainder < LARGEST else math.inf

    def _charged(self, error: Array, s: Array) -> Array:
        turning = np.minimum(s * self._turning[0], self._turning[1])
        return error + turning + s * self._slope + (self._still + self.remainder)


@dataclass(frozen=True, slots=True)
class SampledLaplaceTransform(LaplaceLaw):
    """The characteristic function of the loss of a Poisson-sampled Laplace round."""

    highest_tilt: ClassVar[float] = math.inf
    """Infinite: a line exists at every tilt."""

    def line(self, t: float, reach: float, tolerance: float) -> SampledLaplaceLine:
        """Return the line through t, by Gauss-Legendre panels."""
        return SampledLaplaceLine(self, t, reach, tolerance)

    def envelope(self, t: float, count: int) -> Boxes:
        """Return boxes below the density of the loss at tilt t; they do not depend on ``count``."""
        return Boxes.below(*self.cells(t, self.upper(t, 0.0)))

    def upper(self, t: float, slack: float) -> float:
        """Return an upper bound on K(t), including all errors of the rule; ``inf`` if it needs too many panels."""
        return kept_upper(self, t, UNIT_ROUNDOFF)

    def log_moment(self, t: float) -> float:
        """Return the upper bound on K(t) of :meth:`upper`, which does not depend on its ``slack``."""
        return self.upper(t, 0.0)
