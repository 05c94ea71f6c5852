"""Gauss-Legendre rules, and how wide a panel may be for the rule to be exact to double precision.

For f analytic and bounded by M on the Bernstein ellipse with parameter rho around a panel of half-width c, the m-point
rule errs by at most ``(64/15) c M rho^(-2m) / (1 - rho^-2)`` (Trefethen 2008 [Tre08], Theorem 4.5). The
ellipse reaches ``A = c (rho + 1/rho)/2`` from the panel, so for a density that grows by ``exp(G A + A^2/2)`` over
that distance the relative error is about ``rho^(-2m) exp(2 G A + A^2)`` with rho = 2A/c. Minimised over A this is
below 2^-56 whenever ``c <= HALF_WIDTH[m] / (G + 4)``; ``tests/numerics/test_legendre.py`` evaluates the bound over the
range of G that occurs.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

HALF_WIDTH = {4: 0.019, 8: 0.47, 16: 3.3}
"""Panel half-width times (growth + 4), by number of nodes."""


@cache
def rule(nodes: int) -> tuple[Array, Array]:
    """Nodes and weights on [-1, 1]."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    return x, w


def relative_error_bound(nodes: int, half_width: float, growth: float) -> float:
    """The bound of the module docstring, minimised over the ellipse.

    >>> relative_error_bound(8, HALF_WIDTH[8] / 4, growth=0.0) < 2**-56
    True
    """
    reach = np.geomspace(half_width * 1.01, 50.0 * (half_width + 1.0), 400)
    rho = (reach + np.sqrt(np.square(reach) - half_width**2)) / half_width
    log_bound = np.log(64 / 15) - 2 * nodes * np.log(rho) - np.log1p(-(rho**-2)) + 2 * growth * reach + np.square(reach)
    return float(np.exp(log_bound.min()))
