"""Ratios put on a lattice: convex functions have larger means above and smaller ones below, and both are near."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hockeystick.pairs import BlackBoxPair, DominatingPair, GaussianPair, LaplacePair
from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.laplace_window import WindowPair
from hockeystick.pairs.sampled.ratio_lattice import lattice_for, merged, spread, step_law

F = Fraction
PMF = FinitePair((F(1, 2), F(3, 10), F(1, 5), F(0)), (F(1, 5), F(3, 10), F(2, 5), F(1, 10)))


def hockey_stick(pair: DominatingPair, c: float) -> float:
    """``E_Q (W - c)_+`` by atoms and a fine midpoint rule, with what has infinite ratio left out."""
    atoms = pair.atoms
    finite = np.isfinite(atoms.loss)
    out = float(np.maximum(np.exp(atoms.log_p[finite]) - c * np.exp(atoms.log_q[finite]), 0.0).sum())
    if pair.smooth is not None:
        low, high = pair.smooth.support(-50.0)
        x = low + (high - low) * (np.arange(400_000) + 0.5) / 400_000
        p, loss = np.exp(pair.smooth.log_p(x)), pair.smooth.loss(x)
        out += float(np.maximum(p * (1 - c * np.exp(-loss)), 0.0).mean()) * (high - low)
    return out


PAIRS = [
    LaplacePair(1.0, 1.0),
    LaplacePair(1.0, 0.4),
    BlackBoxPair(0.7, 1e-3),
    PMF,
    PMF.mirrored,
    WindowPair.truncated_laplace(F(1), F(3, 2), F(1)),
    WindowPair.truncated_laplace(F(1), F(3, 4), F(1)),
    WindowPair.bounded_range(F(2)),
]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("finest", [7, 100])
def test_convex_means_are_larger_above_and_smaller_below(pair: DominatingPair, finest: int) -> None:
    law = step_law(pair)
    assert law is not None
    lattice = lattice_for(law, finest)
    points = lattice.start + lattice.step * np.arange(lattice.last + 1)
    above, below = spread(law, lattice), merged(law, lattice)
    assert above.min() >= 0 <= below.min()
    whole = hockey_stick(pair, 0.0)
    for c in np.concatenate([[0.0], np.linspace(*law.range, 41), [law.range[1] + 1]]):
        truth = hockey_stick(pair, float(c))
        high, low = (float((masses * np.maximum(points - c, 0.0)).sum()) for masses in (above, below))
        assert low <= truth + 1e-9
        assert high >= truth - 1e-9
        assert high - low <= 4 * lattice.step * whole / max(law.range[1], 1.0) + 1e-9


@pytest.mark.parametrize("pair", PAIRS)
def test_both_laws_keep_mass_and_mean_where_there_is_something_at_the_ends(pair: DominatingPair) -> None:
    law = step_law(pair)
    assert law is not None
    lattice = lattice_for(law, 1000)
    points = lattice.start + lattice.step * np.arange(lattice.last + 1)
    for masses in (spread(law, lattice), merged(law, lattice)):
        lost = 0.0 if len(law.values) else 3 / 1000  # what nothing balances in the last cell
        assert float(masses.sum()) == pytest.approx(1.0, abs=1e-12 + lost)
        mean = 1 - pair.infinite_mass
        assert float((masses * points).sum()) == pytest.approx(mean, abs=1e-12 + lost * law.range[1])


def test_two_values_are_a_lattice_of_two_points() -> None:
    law = step_law(BlackBoxPair(1.0))
    assert law is not None
    lattice = lattice_for(law, 8192)
    assert lattice.last == 1
    expected = np.array([math.e, 1.0]) / (1 + math.e)
    for masses in (spread(law, lattice), merged(law, lattice)):
        np.testing.assert_allclose(masses, expected, rtol=1e-12)


def test_unbounded_ratios_have_no_law() -> None:
    assert step_law(GaussianPair(1.0)) is None
    assert step_law(LaplacePair(1.0, 0.05)) is None  # a loss of 20
    assert step_law(LaplacePair(1.0, 0.1)) is not None
