"""Shares of the terms of a likelihood ratio g at a node, and the factor by which g changes off the real line.

For ``g(x) = sum_k p_k e^(mu_k x - mu_k^2/2)`` with ``0 <= mu_k <= mu`` the shares are ``r_k = p_k e^(..) / g``,
positive numbers whose sum is 1. With ``C = sum_k 2 r_k sin^2(theta_k / 2)``, ``S = sum_k r_k sin theta_k`` and
``theta_k = mu_k y``, the quotient ``g(x + iy) / g(x)`` is ``(1 - C) + iS``, as the shares add up to 1. So the log of
its modulus is

    log |..| = log1p(-(2C - C^2 - S^2)) / 2 .

For angles in [0, pi), C and S are sums of positive terms. A relative error e of every share moves C by at most e C, S
by at most e S, the bracket by ``2e (C + C^2 + S^2)``, and the log by ``e (C + C^2 + S^2) / (1 - bracket)``. The few
roundings of the bracket itself add no more than that. The factor ``(C + C^2 + S^2) / (1 - bracket)`` is also at least
the absolute value of the log: with b the bracket, which is in [0, 1), ``-log(1 - b) / 2 <= b / (2 (1 - b))`` and ``b <=
2C``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class Shares:
    """The shares of the shifted terms of g at nodes.

    Args:
        r: shape (terms, n), the shares.
        rest: shape (n,), the share of the term without a shift.
        shifts: shape (terms,), mu_k.
        steepest: mu, the largest shift.

    Attributes:
        slope: shape (n,), ``R = sum_k r_k mu_k / mu``, the slope of log g with respect to mu x, in [0, 1].
    """

    def __init__(self, r: Array, rest: Array, shifts: Array, steepest: float) -> None:
        self._r, self._rest, self._shifts, self._steepest = r, rest, shifts, steepest
        self._part = shifts / steepest
        self.slope: Array = np.minimum(self._part @ r, 1.0)
        self._all: Array = r.sum(axis=0)

    def bends(self, times: float) -> Array:
        """Return ``times`` the second derivative of log g in mu x: the variance of ``mu_k / mu`` under the shares."""
        return times * (np.square(self._part) @ self._r - np.square(self.slope))

    def chosen(self, keep: Mask) -> Shares:
        """Return the shares at the selected nodes."""
        return Shares(self._r[:, keep], self._rest[keep], self._shifts, self._steepest)

    def lifted(self, odds: Array) -> Array:
        """Return R with the odds of the shifted terms multiplied by a number; one row for each number in ``odds``."""
        raised: Array = self.slope * odds / (self._rest + self._all * odds)
        return np.minimum(raised, 1.0)

    def turned(self, y: Array) -> tuple[Array, Array, Array]:
        """Return the log modulus and the argument of ``g(x + iy) / g(x)``, and the sensitivity of the log modulus.

        The sensitivity is a bound on the change of the log modulus, relative to a small relative error of the shares.
        """
        lost, sine = np.zeros(np.broadcast_shapes(y.shape, self.slope.shape)), 0.0
        for r, shift in zip(self._r, self._shifts.tolist(), strict=True):
            half = 0.5 * shift * y
            height = np.sin(half)
            lost = lost + 2 * r * np.square(height)
            sine = sine + 2 * r * height * np.cos(half)
        both = np.square(lost) + np.square(sine)
        bracket = np.minimum(np.maximum(2 * lost - both, 0.0), 1 - 1e-15)
        return 0.5 * np.log1p(-bracket), np.arctan2(sine, 1 - lost), (lost + both) / (1 - bracket)
