"""Gauss-Legendre rules, and the largest panel width for which a rule is exact to double precision.

Let f be analytic and bounded by M on the Bernstein ellipse with parameter rho around a panel of half-width c. Then the
m-point rule errs by at most ``(64/15) c M rho^(-2m) / (1 - rho^-2)`` (Trefethen 2008 [Tre08], Theorem 4.5). The ellipse
reaches ``A = c (rho + 1/rho)/2`` from the centre of the panel. If the density grows by a factor ``exp(G A + A^2/2)``
over that distance, where G is its growth, the relative error is about ``rho^(-2m) exp(2 G A + A^2)`` with rho = 2A/c.
The minimum over A is below 2^-56 whenever ``c <= HALF_WIDTH[m] / (G + 4)``. ``tests/numerics/test_legendre.py``
evaluates the bound over the range of G that occurs.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

NODES = 16  # default number of nodes on a panel
RULE_ERROR = 2.0**-54  # bound on the error of a rule that is exact to double precision, relative to its envelope

HALF_WIDTH = {4: 0.019, 8: 0.47, 16: 3.3}
"""Largest half-width of a panel, times (growth + 4), at which the rule is exact to double precision; by its nodes."""

HALVES = {
    4: ((
        0.33998104358485626, 0.8611363115940526,
    ), (
        0.6521451548625464, 0.34785484513745357,
    )),
    8: ((
        0.18343464249564978, 0.525532409916329, 0.7966664774136267, 0.9602898564975362,
    ), (
        0.36268378337836166, 0.3137066458778869, 0.22238103445337443, 0.10122853629037706,
    )),
    16: ((
        0.09501250983763744, 0.2816035507792589, 0.45801677765722737, 0.6178762444026438,
        0.755404408355003, 0.8656312023878318, 0.9445750230732326, 0.9894009349916499,
    ), (
        0.18945061045506864, 0.18260341504492364, 0.16915651939500265, 0.1495959888165767,
        0.12462897125553407, 0.0951585116824926, 0.062253523938647456, 0.027152459411754176,
    )),
}  # fmt: skip
"""The positive nodes and their weights, by number of nodes: the doubles of NumPy's ``leggauss``. They are stored here
so that they agree on all machines, and because importing NumPy's polynomials takes longer than a whole query."""


@cache
def rule(nodes: int) -> tuple[Array, Array]:
    """Return the nodes, in increasing order, and the weights of the rule on [-1, 1]; it has 4, 8 or 16 nodes."""
    x, w = np.array(HALVES[nodes])
    return np.concatenate((-x[::-1], x)), np.concatenate((w[::-1], w))


def panel_count(low: float, high: float, growth: float) -> float:
    """Return the number of equal panels between low and high that makes the rule exact to double precision.

    ``growth`` is G of the module docstring. The number may be infinite.
    """
    return float(np.ceil((high - low) * (growth + 4) / (2 * HALF_WIDTH[NODES])))


def on_panels(edges: Array, nodes: int = NODES) -> tuple[Array, Array]:
    """Return the nodes, in increasing order, and the weights of a rule on every panel between neighbouring edges."""
    unit, weights = rule(nodes)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1 + unit)).ravel(), (half * weights).ravel()


def on_equal_panels(low: float, high: float, growth: float) -> tuple[Array, Array]:
    """Return the nodes and weights of the rule on :func:`panel_count` equal panels between low and high."""
    return on_panels(np.linspace(low, high, int(panel_count(low, high, growth)) + 1))
