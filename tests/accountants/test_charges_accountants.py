"""Every charge of accountants from papers that are certified, where it is made: guarantees, worst cases, chords.

Masses that are left out, epsilons that are put on a grid, a lattice so fine that a chord is mere rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from decimals import exact
from hockeystick.accountants.shared.dots import Knots, knots_of, law_above, law_below
from hockeystick.accountants.shared.lattice import LatticeLaw
from hockeystick.accountants.shared.privacy_curve import PrivacyCurve
from hockeystick.accountants.shared.round_guarantee import RoundGuarantee, split
from hockeystick.accountants.shared.worst_case_law import WorstCase, binomial_law, rounded_law
from hockeystick.pairs import BlackBoxPair, GaussianPair, LaplacePair, PoissonAddPair, PoissonRemovePair
from hockeystick.values.side import Side

Number = Any


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workdps(50):
        yield


# Guarantees of single rounds ------------------------------------------------------------------------------------------


def test_what_is_split_is_not_more_than_there_is() -> None:
    """Every round's delta, times how often it is spent, in exact numbers."""
    one, other = (RoundGuarantee(GaussianPair(mu), mutual=False) for mu in (0.7, 1.3))
    for i in range(25):
        budget = 10.0 ** -(1 + i / 7)
        for kinds in ([(one, 3 + i)], [(one, 3), (other, 7 + i)]):
            deltas = split(kinds, [0.0] * len(kinds), budget, [1.0 + i / 3] * len(kinds))
            assert deltas is not None
            spent = sum(Fraction(d) * count for d, (_, count) in zip(deltas, kinds, strict=True))
            assert 0.9 * budget < spent <= Fraction(budget)


@pytest.mark.parametrize("mu", [1e-4, 0.01, 0.3, 5.0])
def test_the_curve_of_a_round_is_rounded_up(mu: float) -> None:
    """Deep down it is the difference of two masses that agree in all but their last digits."""
    at = mu * np.linspace(0.1, 7.0, 60)
    found = RoundGuarantee(GaussianPair(mu), mutual=False).delta(at)
    for epsilon, delta in zip(at.tolist(), found.tolist(), strict=True):
        e, m = mpf(epsilon), exact(mu)
        assert mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m) <= delta


def test_a_mutual_guarantee_holds_both_ways() -> None:
    """Removing is worse than adding: the guarantee of either pair has to be that of the worse."""
    at = np.linspace(0.0, 2.0, 41)
    p, q = PrivacyCurve(PoissonRemovePair(GaussianPair(1.25), 0.1)).above(at)
    worse = p - np.exp(at) * q
    for pair in (PoissonAddPair(GaussianPair(1.25), 0.1), PoissonRemovePair(GaussianPair(1.25), 0.1)):
        assert (RoundGuarantee(pair, mutual=True).delta(at) >= worse).all()
    boxes = RoundGuarantee(PoissonAddPair(BlackBoxPair(0.5, 1e-3), 0.1), mutual=True)
    assert boxes.least_delta >= 1e-4
    assert boxes.edge >= math.log1p(0.1 * math.expm1(0.5))


def test_the_edge_of_a_round_is_not_below_its_largest_loss() -> None:
    for i in range(1, 60):
        loss = 0.1 * i
        for pair in (BlackBoxPair(loss, 0.0), LaplacePair(1.0, 1 / loss)):
            edge = RoundGuarantee(pair, mutual=False).edge
            assert Fraction(repr(edge)) >= (pair.exact_supremum or 0)  # the decimal that it prints as


# Randomised response --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("floor", [-1.0, -3.0, -690.0])
def test_masses_that_are_left_out_are_charged(floor: float) -> None:
    """Of a binomial law all but its middle: from end to end of epsilon, by exact sums."""
    epsilon, count = 0.3, 30
    law = binomial_law(epsilon, count, floor)
    total = WorstCase([law], epsilon * count * 1.0001)
    e = exact(epsilon)
    high = 1 / (1 + mp.exp(-e))
    for at in (0.0, 1.0, 3.1, 6.05, 7.55, 8.75):
        true = mp.fsum(
            mp.binomial(count, j)
            * high**j
            * (1 - high) ** (count - j)
            * max(-mp.expm1(mpf(at) - (2 * j - count) * e), 0)
            for j in range(count + 1)
        )
        low, upper = total.below(at), total.above(at)
        assert low <= true <= upper


def test_the_ends_of_epsilon_of_a_worst_case() -> None:
    """At the upper one delta is at most the less, at the lower one at least the more, of two numbers."""
    total = WorstCase([binomial_law(0.3, 30, -3.0)], 9.01)
    for least, most in ((0.2, 0.2), (0.1, 0.3), (0.03, 0.03)):
        low, high = total.epsilon(least, most)
        assert total.above(high) <= least
        assert low == 0 or total.below(low) > most


def test_epsilons_rounded_to_a_grid_keep_their_side() -> None:
    """Up is worse, down is better, also where an epsilon is on the grid but for its rounding."""
    for step in (0.1, 0.07, 0.3):
        for epsilon in (0.3, 0.7 * 0.3, 2.1, 0.95):
            up, down = (rounded_law([(epsilon, 1)], step, way) for way in (Side.ABOVE, Side.BELOW))
            assert up.loss.max() >= epsilon * (1 - 1e-15)
            assert down.loss.max() <= epsilon * (1 + 1e-15)


# Laws on a lattice ----------------------------------------------------------------------------------------------------


def delta_of_law(law: LatticeLaw, epsilon: Number) -> Number:
    """Of the masses as they are given."""
    total = mpf(law.infinite)
    for j in np.flatnonzero(law.mass).tolist():
        beyond = mpf(law.first) + j * mpf(law.gap) - epsilon
        if beyond > 0:
            total += mpf(float(law.mass[j])) * -mp.expm1(-beyond)
    return total


LATTICES: list[tuple[GaussianPair, Knots]] = [
    (GaussianPair(1e-6), Knots(-6e-6, 5e-7, 26)),
    (GaussianPair(1e-6), Knots(-1.3e-11, 1e-12, 25)),  # a lattice so fine that a chord is mere rounding
    (GaussianPair(1e-3), Knots(7.3e-10, 1e-10, 25)),
    (GaussianPair(1e-3), Knots(-2.1e-9, 1e-10, 25)),
    (GaussianPair(1.0), Knots(-4.0, 0.25, 40)),
    (GaussianPair(1.0), Knots(-30.0, 0.25, 260)),  # knots far beyond what there is
    (GaussianPair(1.0), Knots(-1.0, 0.5, 5)),  # and knots that end long before it does
]


@pytest.mark.parametrize(("pair", "knots"), LATTICES)
def test_chords_lie_above_and_tangents_below_to_the_last_digit(pair: GaussianPair, knots: Knots) -> None:
    """At the knots, between them and beyond them, against many digits."""
    above, below = law_above(pair, knots), law_below(pair, knots)
    m = exact(pair.mu)
    for place in np.linspace(-0.5, min(knots.n, 60) + 1.5, 2 * min(knots.n, 60) + 5).tolist():
        e = mpf(knots.first) + (max(knots.n - 60, 0) // 2 + mpf(place)) * mpf(knots.gap)
        true = mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
        assert delta_of_law(below, e) <= true <= delta_of_law(above, e)


@pytest.mark.parametrize("gap", [1e-3, 0.02, 0.7])
def test_losses_nearer_to_0_than_the_lattice_leave_a_law_below(gap: float) -> None:
    """All finite mass below then lies on the knot next below 0: none of it gets lost."""
    for i in range(1, 20):
        epsilon, infinite = 0.02 * i * gap, 1e-10 * i
        pair = BlackBoxPair(epsilon, infinite)
        knots = knots_of(pair, gap, -50.0)
        above, below = law_above(pair, knots), law_below(pair, knots)
        assert float(below.mass.sum()) == pytest.approx(1.0 - infinite, rel=1e-9)
        d = mpf(pair.infinite_mass)  # to whose roundings the sums pay
        assert below.infinite == 0 <= above.infinite
        for place in np.linspace(-3.0, 3.0, 25).tolist():
            e, at = exact(epsilon), mpf(place) * mpf(gap)
            ends = [(mp.exp(sign * e) * (1 - d) / (1 + mp.exp(sign * e)), sign * e) for sign in (1, -1)]
            true = sum(max(p * (1 - mp.exp(at - loss)), mpf(0)) for p, loss in ends)
            assert delta_of_law(below, at) <= true <= delta_of_law(above, at)


def test_atoms_on_the_lattice_are_rounded_outward() -> None:
    for i in range(20):
        pair = BlackBoxPair(0.1 + 0.3 * i, 1e-3)
        knots = knots_of(pair, 0.05, -50.0)
        e, d = exact(0.1 + 0.3 * i), exact(1e-3)
        above, below = law_above(pair, knots), law_below(pair, knots)
        high, low = (1 - d) / (1 + mp.exp(-e)), (1 - d) / (1 + mp.exp(e))
        assert max(below.mass) <= high <= max(above.mass)
        assert min(below.mass[below.mass > 0]) <= low <= min(above.mass[above.mass > 0])
        assert below.infinite == 0 <= above.infinite
