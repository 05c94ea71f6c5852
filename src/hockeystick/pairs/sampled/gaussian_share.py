"""What share of the likelihood ratio g its terms have at a node, and what of g is left where x is moved off the line.

For ``g(x) = sum_k p_k e^(mu_k x - mu_k^2/2)`` with ``0 <= mu_k <= mu`` the shares are ``r_k = p_k e^(..) / g``,
positive numbers whose sum is 1. All that ``gaussian_envelope.py`` asks of g at a node is

    slope    R = sum_k r_k mu_k / mu = d log g / (mu dx), in [0, 1];
    lifted   R where the weights of all but the term mu_k = 0 are multiplied by odds >= 1;
    turned   log |g(x + iy) / g(x)| = log |sum_k r_k e^(i mu_k y)| and arg g(x + iy), for 0 <= mu y < pi;
    bends    sum_k r_k (mu_k / mu)^2 - R^2, the second derivative of log g by mu x.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class Shares(Protocol):
    """The shares at the nodes, of shape (n,)."""

    @property
    def slope(self) -> Array:
        """Slope of log g by mu x, in [0, 1]."""
        ...

    def bends(self, times: float) -> Array:
        """A multiple of the second derivative of log g by mu x; it only guides the choice of a shift."""
        ...

    def chosen(self, keep: Mask) -> Shares:
        """The shares at some of the nodes."""
        ...

    def lifted(self, odds: Array) -> Array:
        """The slope at other odds of a term with a shift, one row for each."""
        ...

    def turned(self, y: Array) -> tuple[Array, Array, Array]:
        """The log of what is left of g at x + iy, its argument, and how much a relative error of the shares moves the
        log, which is not below its size; one row for each row of y."""
        ...


class Share:
    """Two terms: the share r of the one that is shifted, by mu."""

    def __init__(self, r: Array, mu: float) -> None:
        self.slope, self._mu = r, mu

    def bends(self, times: float) -> Array:
        """A multiple of the second derivative ``r (1 - r)``."""
        return times * self.slope * (1 - self.slope)

    def chosen(self, keep: Mask) -> Share:
        """The shares at some of the nodes."""
        return Share(self.slope[keep], self._mu)

    def lifted(self, odds: Array) -> Array:
        """The share at other odds."""
        raised: Array = self.slope * odds / (1 + self.slope * (odds - 1))
        return raised

    def turned(self, y: Array) -> tuple[Array, Array, Array]:
        """What is left of g where its second term turns by mu y."""
        return turned(self.slope, self._mu * y)


def turned(r: Array, angle: Array) -> tuple[Array, Array, Array]:
    """``log |1 - r + r e^(i angle)|`` and its argument, for angles in [0, pi); and how the log bends.

    That is what a relative error of r moves the log by, and not below its size. With ``h = sin^2(angle/2)``:
    ``d log / d log r = -2 r (1 - 2r) h / (1 - 4 r (1-r) h)``. Near r = 1 it is far more than the log, as 1 - r cancels.
    """
    height = np.square(np.sin(0.5 * angle))
    twice = 2 * r * height
    lost = 2 * (1 - r) * twice
    return 0.5 * np.log1p(-lost), np.arctan2(r * np.sin(angle), 1 - twice), twice / (1 - lost)


class ManyShares:
    """Any number of terms: the shares of those that are shifted, one row each, and by how much.

    With ``C = sum_k 2 r_k sin^2(theta_k / 2)``, ``S = sum_k r_k sin theta_k`` and ``theta_k = mu_k y`` what is left of
    g is ``(1 - C) + iS``, as the shares add up to 1; so

        log |..| = log1p(-(2C - C^2 - S^2)) / 2 .

    C and S are sums of positive terms, for angles in [0, pi). A relative error e of every share moves C by at most e C
    and S by at most e S, the bracket by ``2e (C + C^2 + S^2)``, and the log by ``e (C + C^2 + S^2) / (1 - bracket)``,
    to which the few roundings of the bracket itself add no more. That is also no smaller than the log: with b the
    bracket, which is in [0, 1), ``-log(1 - b) / 2 <= b / (2 (1 - b))`` and ``b <= 2C``.
    """

    def __init__(self, r: Array, rest: Array, shifts: Array, steepest: float) -> None:
        self._r, self._rest, self._shifts, self._steepest = r, rest, shifts, steepest
        self._part = shifts / steepest
        self.slope: Array = np.minimum(self._part @ r, 1.0)
        self._all: Array = r.sum(axis=0)

    def bends(self, times: float) -> Array:
        """A multiple of the second derivative, which is the variance of the shift under the shares."""
        out: Array = times * (np.square(self._part) @ self._r - np.square(self.slope))
        return out

    def chosen(self, keep: Mask) -> ManyShares:
        """The shares at some of the nodes."""
        return ManyShares(self._r[:, keep], self._rest[keep], self._shifts, self._steepest)

    def lifted(self, odds: Array) -> Array:
        """The slope at other odds."""
        raised: Array = self.slope * odds / (self._rest + self._all * odds)
        return np.minimum(raised, 1.0)

    def turned(self, y: Array) -> tuple[Array, Array, Array]:
        """What is left of g, term by term."""
        lost, sine = np.zeros(np.broadcast_shapes(y.shape, self.slope.shape)), 0.0
        for r, shift in zip(self._r, self._shifts.tolist(), strict=True):
            half = 0.5 * shift * y
            height = np.sin(half)
            lost = lost + 2 * r * np.square(height)
            sine = sine + 2 * r * height * np.cos(half)
        both = np.square(lost) + np.square(sine)
        bracket = np.minimum(np.maximum(2 * lost - both, 0.0), 1 - 1e-15)
        return 0.5 * np.log1p(-bracket), np.arctan2(sine, 1 - lost), (lost + both) / (1 - bracket)
