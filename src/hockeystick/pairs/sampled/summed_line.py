"""Base class of the lines of sampled rounds, for which m is a sum over nodes.

Each node has a weight w, a tilted weight ``w e^a`` and a loss L. Then

    m(t + is) = constant + sum w e^a (e^(isL) - 1) ,

As long as ``m(t) - 1`` is small, ``m - 1`` is computed in place of m, and the constant is ``m(t) - 1``. Otherwise all
terms are divided by ``e^top``, and the constant is ``e^-top m(t)``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.exponential_sum import cost, moved_sum
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.transform import Transform, line_upper, safe_log, safe_log_one_plus

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

LARGE = 2.0  # log m(t) above which ``e^-top m`` is computed in place of ``m - 1``
MAX_NODES = 1 << 21  # most nodes of a line: a line that needs more is not available
KEPT_BOUNDS = 512  # number of cached bounds on K: they recur when rounds are added one by one with a query after each


class SummedLine(ABC):
    """The function K on Re z = t, computed by a sum over nodes; the nodes are computed at the first use.

    Attributes:
        nodes: number of nodes.
        large: True if the sum is ``e^-top m``, False if it is ``m - 1``.
        top: log of the factor by which the sum is divided; 0 if not ``large``.
        constant: value of the sum at s = 0.
    """

    nodes: int
    large: bool
    top: float
    constant: float

    _tolerance: float
    _loss: Array
    _weight: Array
    _built: bool = False

    @property
    def usable(self) -> bool:
        """True if the line has few enough nodes."""
        return self.nodes <= MAX_NODES

    @abstractmethod
    def _build(self) -> None:
        """Compute the nodes and all other values that do not depend on s."""

    @abstractmethod
    def _charged(self, error: Array, s: Array) -> Array:
        """Return bounds on the absolute errors of :meth:`_drifted` at each s.

        Args:
            error: bounds on the errors of the sum over ``e^(isL) - 1``.
            s: heights.
        """

    def _drifted(self, values: ComplexArray, s: Array) -> ComplexArray:
        """Return ``e^-top m`` if ``large`` is True, and ``m - 1`` if not, at each s.

        Args:
            values: the sum over ``e^(isL) - 1`` at each s.
            s: heights.
        """
        return values + self.constant

    def cost(self, count: int) -> float:
        """Return the number of elementary evaluations for ``count`` points."""
        return cost(self.nodes, count) if self.usable else math.inf

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K and bounds on its errors at each ``s = j step``, j < count.

        All values and bounds are infinite if the sum would take too long.
        """
        out_of_reach = np.full(count, np.inf, dtype=np.complex128), np.full(count, np.inf)
        if not self.usable:
            return out_of_reach
        if not self._built:
            self._build()
            self._built = True
        found = moved_sum(self._loss, self._weight, step, count, self._tolerance)
        if found is None:
            return out_of_reach
        s: Array = step * np.arange(count, dtype=np.float64)
        values, absolute = self._drifted(found[0], s), self._charged(found[1], s)
        if not math.isfinite(absolute[0]):
            return out_of_reach
        if self.large:
            value, error = safe_log(values, absolute)
            return value + self.top, error + 4 * UNIT_ROUNDOFF * abs(self.top)
        return safe_log_one_plus(values, absolute)


@lru_cache(maxsize=KEPT_BOUNDS)
def kept_upper(transform: Transform, t: float, tolerance: float) -> float:
    """Return the upper bound on K(t) from a line with the given tolerance, cached; ``inf`` if there is no such line."""
    bound = line_upper(transform.line(t, 0.0, tolerance))
    return bound if math.isfinite(bound) else math.inf
