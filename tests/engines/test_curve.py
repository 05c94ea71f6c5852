"""The privacy curve of one round: closed forms against quadrature over the densities, mass by mass."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick.accountants.shared.privacy_curve import PrivacyCurve
from hockeystick.pairs import (
    BlackBoxPair,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
    PoissonSubstitutionPair,
)

PAIRS: list[DominatingPair] = [
    GaussianPair(1.0),
    GaussianPair(20.0),
    LaplacePair(1.0, 0.5),
    BlackBoxPair(1.0, 1e-3),
    PoissonRemovePair(GaussianPair(1.25), 0.01),
    PoissonAddPair(GaussianPair(1.25), 0.01),
    PoissonAddPair(GaussianPair(20.0), 1e-3),
    PoissonRemovePair(LaplacePair(1.0, 2.0), 0.3),
    PoissonAddPair(LaplacePair(1.0, 2.0), 0.3),
    PoissonAddPair(BlackBoxPair(1.0, 1e-3), 0.1),
    PoissonSubstitutionPair(1.0, 0.2),
]
LOSSES = np.array([-30.0, -1.0, -0.005, 0.0, 0.0042, 0.3, 1.0, 5.0, 400.0])


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_masses_add_up_and_nodes_have_them_all(pair: DominatingPair) -> None:
    """Below and above make 1 under either law; the weights of the quadrature make the finite mass of P."""
    curve = PrivacyCurve(pair)
    (p_above, q_above), (p_below, q_below) = curve.above(LOSSES), curve.below(LOSSES)
    assert p_above + p_below + pair.infinite_mass == pytest.approx(1.0, abs=1e-14)
    assert q_above + q_below == pytest.approx(1.0, abs=1e-14)
    _, log_weight = curve.nodes
    assert np.exp(log_weight).sum() + pair.infinite_mass == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_delta_is_the_integral_of_the_tail(pair: DominatingPair) -> None:
    """``delta(a) - delta(b) = int_a^b e^x Q(L > x) dx``: the derivative of delta, by a fine rule between jumps."""
    curve = PrivacyCurve(pair)
    jumps = pair.atoms.loss[np.isfinite(pair.atoms.loss)]
    low, high = 0.01, 0.7  # beyond log(1 - q), where the tail has a kink
    edges = np.unique([low, *np.geomspace(low, high, 400), *jumps[(low < jumps) & (jumps < high)], high])
    unit, weight = np.polynomial.legendre.leggauss(20)
    half = 0.5 * np.diff(edges)[:, None]
    x = (edges[:-1, None] + half * (1 + unit)).ravel()
    _, q = curve.above(x)
    integral = float((np.exp(x) * q * (half * weight).ravel()).sum())
    ends = np.array([low, high])
    p_ends, q_ends = curve.above(ends)
    first, last = p_ends - np.exp(ends) * q_ends
    assert first - last == pytest.approx(integral, rel=1e-7)
