"""Gauss-Legendre rules on panels as wide as ``HALF_WIDTH`` allows err by less than the rounding of a double."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from hockeystick.numerics.legendre import HALF_WIDTH, rule
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Mpf = Any
RULES = pytest.mark.parametrize("nodes", sorted(HALF_WIDTH), ids="{} nodes".format)


def relative_error_bound(nodes: int, half_width: float, growth: float) -> float:
    """The bound that ``numerics/legendre.py`` states, minimised over the ellipse."""
    reach = np.geomspace(half_width * 1.01, 50.0 * (half_width + 1.0), 400)
    rho = (reach + np.sqrt(np.square(reach) - half_width**2)) / half_width
    log_bound = np.log(64 / 15) - 2 * nodes * np.log(rho) - np.log1p(-(rho**-2)) + 2 * growth * reach + np.square(reach)
    return float(np.exp(log_bound.min()))


@RULES
def test_the_error_bound_is_below_rounding_for_every_growth(nodes: int) -> None:
    """``c <= HALF_WIDTH[m] / (G + 4)`` gives a relative error below 2^-56, over the range of G that occurs."""
    for growth in [0.0, *np.geomspace(1e-3, 1e4, 400).tolist()]:
        assert relative_error_bound(nodes, HALF_WIDTH[nodes] / (growth + 4), growth) < 2**-56


@RULES
def test_the_half_widths_are_not_needlessly_small(nodes: int) -> None:
    """Half as wide again would break the bound for some growth: the constants are near the best."""
    growths = [0.0, *np.geomspace(1e-3, 1e4, 100).tolist()]
    worst = max(relative_error_bound(nodes, 1.5 * HALF_WIDTH[nodes] / (growth + 4), growth) for growth in growths)
    assert worst > 2**-56


@RULES
def test_nodes_and_weights_are_those_of_legendre(nodes: int) -> None:
    """The rule's doubles are the roots of the Legendre polynomial P and ``2 / ((1 - x^2) P'(x)^2)``."""
    x, w = rule(nodes)
    with mpmath.workdps(40):
        for node, weight in zip(x.tolist(), w.tolist(), strict=True):
            root = mpmath.findroot(lambda z: mpmath.legendre(nodes, z), mpmath.mpf(node))
            slope = mpmath.diff(lambda z: mpmath.legendre(nodes, z), root)
            assert abs(node - root) <= 4 * UNIT_ROUNDOFF
            assert abs(weight - 2 / ((1 - root**2) * slope**2)) <= 8 * UNIT_ROUNDOFF
    assert math.isclose(math.fsum(w), 2.0, rel_tol=4 * UNIT_ROUNDOFF)


def integrands(growth: float) -> list[tuple[str, Callable[[Mpf], Mpf]]]:
    """Functions with ``|f(x + z)| <= f(x) exp(growth |z| + |z|^2 / 2)`` around 0."""
    g = mpmath.mpf(growth)
    return [
        ("rising exponential", lambda x: mpmath.exp(g * x)),
        ("falling exponential", lambda x: mpmath.exp(-g * x)),
        ("normal density off its mean", lambda x: mpmath.exp(g * x - x * x / 2)),
        ("mixture", lambda x: mpmath.exp(-x * x / 2) * (0.99 + 0.01 * mpmath.exp(g * x))),
    ]


@RULES
@pytest.mark.parametrize("growth", [0.0, 1.0, 30.0, 1000.0, 1e4], ids="growth {:g}".format)
def test_the_actual_error_on_the_widest_panel(nodes: int, growth: float) -> None:
    """Error of the rule itself, its nodes and weights taken without their rounding: below 2^-56, as the bound says."""
    half = mpmath.mpf(HALF_WIDTH[nodes]) / (growth + 4)
    with mpmath.workdps(40):
        exact_rule = []
        for node in rule(nodes)[0].tolist():
            root = mpmath.findroot(lambda z: mpmath.legendre(nodes, z), mpmath.mpf(node))
            slope = mpmath.diff(lambda z: mpmath.legendre(nodes, z), root)
            exact_rule.append((root, 2 / ((1 - root**2) * slope**2)))
        for name, f in integrands(growth):
            true = mpmath.quad(f, [-half, 0, half])
            found = half * mpmath.fsum(weight * f(half * root) for root, weight in exact_rule)
            assert abs(found - true) <= 2**-56 * true, name


@RULES
@pytest.mark.parametrize("growth", [0.0, 30.0, 1e4], ids="growth {:g}".format)
def test_the_error_with_the_rules_own_doubles(nodes: int, growth: float) -> None:
    """With nodes and weights as doubles the error is below 16 u; ``mass_error`` charges each mass 32 u and more."""
    half = HALF_WIDTH[nodes] / (growth + 4)
    x, w = rule(nodes)
    with mpmath.workdps(40):
        for name, f in integrands(growth):
            true = mpmath.quad(f, [-half, 0, half])
            pairs = zip(x.tolist(), w.tolist(), strict=True)
            found = half * mpmath.fsum(weight * f(half * mpmath.mpf(node)) for node, weight in pairs)
            assert abs(found - true) <= 16 * UNIT_ROUNDOFF * true, name
