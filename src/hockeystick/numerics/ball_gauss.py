"""Gauss and Legendre's rule on [-1, 1] in balls, with a remainder.

Let f be analytic in the ellipse with foci -1, 1 and semi-axes ``(rho + 1/rho) / 2`` and ``(rho - 1/rho) / 2``, rho > 1,
and ``|f| <= M`` there. Its Chebyshev coefficients are at most ``2 M rho^-k`` (Trefethen 2019 [Tre19], Theorem
8.1). The rule of n >= 1 points is exact up to degree 2n - 1, and on odd polynomials;
on ``T_k``, k even, the integral is ``-2 / (k^2 - 1)`` and the rule, whose weights are positive with the sum 2, at most
2 in modulus. So it errs by at most

    sum over even k >= 2n of 2 M rho^-k (2 + 2/3) = 16/3 M rho^(-2n) / (1 - rho^-2) .
"""

from __future__ import annotations

from functools import lru_cache

from flint import arb, ctx

from hockeystick.numerics.balls import Ball

CACHED = 64  # rules, each of one number of points at one precision


def gauss_rule(points: int) -> list[tuple[Ball, Ball]]:
    """Nodes in (-1, 1) and weights, at the present precision."""
    return _rule(points, ctx.prec)


@lru_cache(maxsize=CACHED)
def _rule(points: int, _bits: int) -> list[tuple[Ball, Ball]]:
    return [arb.legendre_p_root(points, k, weight=True) for k in range(points)]


def gauss_error(points: int, rho: Ball, size: Ball) -> Ball:
    """The module's bound, for ``|f| <= size`` in the ellipse of rho > 1; infinite for another rho."""
    if not rho > 1:
        return arb.pos_inf()
    return 16 * size * rho ** (-2 * points) / (3 * (1 - rho**-2))
