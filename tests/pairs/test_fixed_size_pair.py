"""The pair above a round on a batch of fixed size: its curve, its law, its moments, by formulas of the tests' own."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr
from scipy.stats import hypergeom

from hockeystick import Direction, Gaussian, WithoutReplacement
from hockeystick.directions.directions import Directions
from hockeystick.engines.direct import DirectEngine
from hockeystick.engines.grid.cells import Reach, integrate
from hockeystick.engines.grid.engine import GridEngine
from hockeystick.numerics.lattice import Mesh
from hockeystick.pairs import BlackBoxPair, Composition, GaussianPair, LaplacePair, WithoutReplacementPair
from hockeystick.pairs.sampled import fixed_size_pair

Array = npt.NDArray[np.float64]


def curve(mu: float, q: float, b: mp.mpf) -> mp.mpf:
    """``h(b)`` of the module, of normal noise: ``q H_a(N(mu) || N(0))`` above 1, and its mirror image."""
    if b < 1:
        return 1 - b + b * curve(mu, q, 1 / b)
    a = 1 + (b - 1) / mp.mpf(q)
    x = mp.log(a) / mu - mp.mpf(mu) / 2
    return mp.mpf(q) * (mp.ncdf(-x) - a * mp.ncdf(-x - mu))


@pytest.mark.parametrize(("mu", "q"), [(1.0, 0.01), (0.1, 0.3), (4.0, 1e-6), (30.0, 0.1), (1e-3, 0.9)])
@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0])
def test_one_round_has_the_curve_of_the_theorem(mu: float, q: float, epsilon: float) -> None:
    with mp.workdps(40):
        true = mp.log(curve(mu, q, mp.exp(mp.mpf(epsilon))))
    if true < -600:
        return
    found = DirectEngine(Composition([(WithoutReplacementPair(GaussianPair(mu), q), 1)])).log_delta(epsilon, None)
    assert found.lower <= true * (1 - 1e-15) + 1e-15
    assert float(true) <= found.upper
    assert found.upper - found.lower < 1e-8


def test_the_loss_0_of_an_unbounded_law_is_not_in_doubt() -> None:
    """An error of the largest loss is one of losses next to it; where there is none, all would be in doubt."""
    assert WithoutReplacementPair(GaussianPair(1.0), 0.5).supremum_error == 0.0
    bounded = WithoutReplacementPair(LaplacePair(1.0, 0.7), 0.5)
    assert 0 < bounded.supremum_error < 1e-14 * bounded.loss_range[1] + 1e-14


@pytest.mark.parametrize("base", [GaussianPair(1.3), LaplacePair(1.0, 0.7), BlackBoxPair(0.8), BlackBoxPair(0.8, 1e-3)])
@pytest.mark.parametrize("q", [0.01, 0.5])
def test_both_laws_have_all_their_mass(base: Any, q: float) -> None:
    """Atoms and densities of P* add up to 1, those of Q* as well, and the pair is its own mirror image."""
    pair = WithoutReplacementPair(base, q)
    atoms = pair.atoms
    p, q_mass = float(np.exp(atoms.log_p).sum()), float(np.exp(atoms.log_q).sum())
    if pair.smooth is not None:
        masses = pair.smooth.masses(np.array([-1.0, 0.0, 0.4]))
        np.testing.assert_allclose(masses.p_below + masses.p_above, 1 - p, rtol=1e-13)
        np.testing.assert_allclose(masses.q_below + masses.q_above, 1 - q_mass, rtol=1e-13)
        mirror = pair.smooth.masses(np.array([1.0, 0.0, -0.4]))
        np.testing.assert_allclose(masses.p_below, mirror.q_above, rtol=1e-14)
        x = np.linspace(0.01, 0.3, 5)
        np.testing.assert_allclose(pair.smooth.loss(x), -pair.smooth.loss(-x), rtol=1e-14)
        np.testing.assert_allclose(pair.smooth.log_p(-x), pair.smooth.log_p(x) - pair.smooth.loss(x), rtol=1e-12)
        np.testing.assert_allclose(pair.smooth.outcome(pair.smooth.loss(x)), x, rtol=1e-9)
        slope = (pair.smooth.masses(x + 1e-5).p_below - pair.smooth.masses(x - 1e-5).p_below) / 2e-5
        np.testing.assert_allclose(np.exp(pair.smooth.log_p(x)), slope, rtol=1e-6)
        left = (pair.smooth.masses(-x + 1e-5).p_below - pair.smooth.masses(-x - 1e-5).p_below) / 2e-5
        np.testing.assert_allclose(np.exp(pair.smooth.log_p(-x)), left, rtol=1e-6)
    else:
        assert p == pytest.approx(1.0, abs=1e-14)
        assert q_mass == pytest.approx(1.0, abs=1e-14)
    finite = np.isfinite(atoms.loss)
    np.testing.assert_allclose((atoms.log_p - atoms.log_q)[finite], atoms.loss[finite], atol=1e-13)
    np.testing.assert_allclose(atoms.loss, -atoms.loss[::-1])
    assert pair.loss_range[0] == -pair.loss_range[1]


def exact_delta(boxes: tuple[Fraction, Fraction], q: Fraction, rounds: int, alpha: Fraction) -> Fraction:
    """Delta of randomised response with odds ``w : 1 - w`` by enumeration of the three losses of the pair."""
    w, rest = boxes
    up = (1 - q) * rest + q * w, rest  # P and Q of the removed record where it has a positive loss
    law = [up, (up[1], up[0]), (1 - up[0] - up[1], 1 - up[0] - up[1])]
    whole = [(Fraction(1), Fraction(1))]
    for _ in range(rounds):
        whole = [(p * a, r * b) for p, r in whole for a, b in law]
    return sum((max(p - alpha * r, Fraction(0)) for p, r in whole), Fraction(0))


@pytest.mark.parametrize("rounds", [1, 2, 6])
@pytest.mark.parametrize("q", [Fraction(1, 10), Fraction(9, 10)])
def test_compositions_of_randomised_response_are_those_of_an_enumeration(rounds: int, q: Fraction) -> None:
    w = Fraction(3, 4)
    pair = WithoutReplacementPair(BlackBoxPair(math.log(3.0)), float(q))
    for alpha in (Fraction(1), Fraction(11, 10), Fraction(2)):
        true = exact_delta((w, 1 - w), q, rounds, alpha)
        engine = (DirectEngine if rounds == 1 else GridEngine)(Composition([(pair, rounds)]))
        if true == 0:
            continue
        found = engine.log_delta(math.log(alpha), 1e-3)
        assert found.lower - 1e-12 <= math.log(true) <= found.upper + 1e-12


def lattice(mu: float, q: float, rounds: int, gap: float, reach: int) -> tuple[Array, Array, Array]:
    """Losses on a lattice, and the law of the sum with each loss rounded down and up: distribution functions alone."""
    edges = gap * np.arange(reach + 1)
    base = (np.log(np.expm1(edges) / q + 1) + mu**2 / 2) / mu
    p = np.append((1 - q) * ndtr(-base) + q * ndtr(mu - base), 0.0)
    r = np.append(ndtr(-base), 0.0)
    cells, mirrored = -np.diff(p), -np.diff(r)  # the last holds all beyond
    down, up = np.zeros(2 * reach + 3), np.zeros(2 * reach + 3)
    zero = reach + 1
    rest = 1 - p[0] - r[0]
    for law, shift in ((down, 0), (up, 1)):
        law[zero] += rest
        law[zero + shift : zero + shift + reach + 1] += cells
    down[zero - 1 - np.arange(reach + 1)] += mirrored
    up[zero - np.arange(reach + 1)] += mirrored
    size = 1 << math.ceil(math.log2(rounds * 2 * reach + 3 * rounds))
    sums: list[Array] = [
        np.fft.irfft(np.fft.rfft(law, size) ** rounds, size)[: rounds * (2 * reach + 2) + 1] for law in (down, up)
    ]
    losses: Array = gap * (np.arange(len(sums[0]), dtype=np.float64) - rounds * zero)
    return losses, sums[0], sums[1]


@pytest.mark.parametrize(("mu", "q", "rounds"), [(1.0, 0.1, 8), (0.5, 0.3, 30), (2.0, 0.02, 12)])
def test_compositions_lie_between_laws_on_a_lattice(mu: float, q: float, rounds: int) -> None:
    losses, down, up = lattice(mu, q, rounds, 2e-3, 6000)
    pair = WithoutReplacementPair(GaussianPair(mu), q)
    for epsilon in (0.0, 0.5, 1.5):
        share = np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0)
        low, high = float((down * share).sum()), float((up * share).sum())
        found = GridEngine(Composition([(pair, rounds)])).log_delta(epsilon, 1e-4)
        assert found.upper - found.lower < 2e-4
        assert math.log(low) - 1e-9 <= found.upper
        assert found.lower <= math.log(high) + 1e-9
        assert high < 1.2 * low


@pytest.mark.parametrize("offset", [0.0, 0.07, -0.13])
@pytest.mark.parametrize("width", [0.05, 0.4, 1.7])
def test_cells_are_cut_where_the_halves_meet(offset: float, width: float) -> None:
    """All masses of the cells add up to that of the densities, wherever the grid lies: no rule goes over the kink."""
    pair = WithoutReplacementPair(GaussianPair(1.5), 0.3)
    mesh = Mesh(offset, width, 1e-9, 0.0)
    cells = integrate(pair, mesh, Reach(-80.0, -math.inf))
    atom = float(np.exp(pair.atoms.log_p[0]))
    held = float((cells.left + cells.right).sum() + cells.points.mass.sum())
    assert held == pytest.approx(1.0, abs=3e-9)
    base = 0.75
    p_up, q_up = 0.7 * ndtr(-base) + 0.3 * ndtr(base), ndtr(-base)
    assert atom == pytest.approx(1 - p_up - q_up, rel=1e-14)
    below = float((cells.left + cells.right)[:, : int(np.searchsorted(offset + cells.knots * width, 0.0)) - 1].sum())
    edge = float(offset + cells.knots[int(np.searchsorted(offset + cells.knots * width, 0.0)) - 1] * width)
    if abs(edge) > 1e-12:  # of the mirror image, beyond a loss: Q of the removed record above it
        x = (math.log(math.expm1(-edge) / 0.3 + 1) + 1.5**2 / 2) / 1.5
        assert below == pytest.approx(float(ndtr(-x)), rel=1e-8)
    middle = held - below - atom if abs(edge) > 1e-12 else held - below
    assert middle > 0


@pytest.mark.parametrize(("rate", "offset", "width"), [(0.3, 0.07, 1.0), (0.9, -0.4, 2.0), (0.5, 0.3, 0.8)])
def test_the_cell_around_the_kink_has_its_mass(rate: float, offset: float, width: float) -> None:
    """To the rounding of doubles, by distribution functions: a rule laid across the kink errs by a millionth."""
    mu = 1.5
    pair = WithoutReplacementPair(GaussianPair(mu), rate)
    cells = integrate(pair, Mesh(offset, width, 1e-12, 0.0), Reach(-80.0, -math.inf))
    at = int(np.searchsorted(offset + cells.knots * width, 0.0)) - 1
    low, high = (offset + width * float(cells.knots[i]) for i in (at, at + 1))

    def outcome(loss: float) -> float:
        return (math.log(math.expm1(loss) / rate + 1) + mu**2 / 2) / mu

    start = mu / 2
    right = (1 - rate) * (ndtr(-start) - ndtr(-outcome(high)))
    right += rate * (ndtr(mu - start) - ndtr(mu - outcome(high)))
    left = ndtr(-start) - ndtr(-outcome(-low))
    atom = float(np.exp(pair.atoms.log_p[0]))
    held = float((cells.left + cells.right)[:, at].sum())
    assert held == pytest.approx(float(right + left) + atom, rel=1e-11)


def true_moment(mu: float, q: float, t: float) -> mp.mpf:
    """``K(t)`` of the pair by its three parts, in mpmath."""
    m, r = mp.mpf(mu), mp.mpf(q)

    def density(x: mp.mpf) -> mp.mpf:
        g = 1 - r + r * mp.exp(m * x - m * m / 2)
        return mp.npdf(x) * (g ** (1 + t) + g ** (-t) - g - 1)

    points = [m / 2, m / 2 + 1, m / 2 + 3, m * (1 + t) + 2, m * (1 + t) + 12 + m]
    return mp.log1p(mp.quad(density, sorted(points)))


@pytest.mark.parametrize(("mu", "q"), [(1.0, 0.01), (0.2, 0.3), (2.0, 1e-4)])
@pytest.mark.parametrize("t", [0.1, 1.0, 7.5, 40.0])
def test_moments_are_bounds_and_close(mu: float, q: float, t: float, monkeypatch: pytest.MonkeyPatch) -> None:
    with mp.workdps(30):
        true = true_moment(mu, q, t)
    pair = WithoutReplacementPair(GaussianPair(mu), q)
    assert true <= pair.log_moment(t) <= true * (1 + 2e-3)
    monkeypatch.setattr(fixed_size_pair, "MOST_CELLS", 0)
    assert true <= pair.log_moment(t)
    monkeypatch.setattr(fixed_size_pair, "MOST_CELLS", 20_000)
    for tail in (-3.0, 0.5):  # what is left out is charged
        monkeypatch.setattr(fixed_size_pair, "LOG_TAIL", tail)
        found = pair._by_cells(t)
        assert found is None or true <= found


@pytest.mark.parametrize("q", [0.01, 0.4])
@pytest.mark.parametrize("t", [0.5, 3.0, 20.0])
def test_moments_of_laplace_noise_are_bounds_and_close(q: float, t: float) -> None:
    """The middle by quadrature in mpmath, and the two atoms of a positive loss; the mirror image with them."""
    theta = 1.4
    with mp.workdps(30):

        def part(x: mp.mpf) -> mp.mpf:
            g = 1 - q + q * mp.exp(2 * x - theta)
            return mp.exp(-x) / 2 * (g ** (1 + t) + g ** (-t) - g - 1)

        g = 1 - q + q * mp.exp(theta)
        inside = mp.quad(part, [theta / 2, 0.75 * theta, theta])
        true = mp.log1p(inside + mp.exp(-theta) / 2 * (g ** (1 + t) + g ** (-t) - g - 1))
    found = WithoutReplacementPair(LaplacePair(1.4, 1.0), q).log_moment(t)
    assert true <= found <= true * (1 + 2e-3)


def instance(positive: int, records: int, batch: int, noise: float) -> tuple[Array, Array, float]:
    """Densities, on a fine grid, of a batch sum where so many records add 1 and all others -1; and one more of them."""
    x = np.linspace(-batch - 9 * noise, batch + 9 * noise, 40_001)
    sums = 2 * np.arange(batch + 1) - batch
    laws = []
    for good in (positive + 1, positive):
        weight = hypergeom(records, good, batch).pmf(np.arange(batch + 1))
        parts = np.exp(-0.5 * ((x[:, None] - sums) / noise) ** 2) / (noise * math.sqrt(2 * math.pi))
        laws.append(parts @ weight)
    return laws[0], laws[1], float(x[1] - x[0])


@pytest.mark.parametrize(("records", "batch", "noise"), [(6, 2, 1.0), (10, 3, 2.0), (5, 4, 0.7)])
def test_no_dataset_exceeds_the_curve(records: int, batch: int, noise: float) -> None:
    """One round, one record turned from -1 to 1 among any number of others, at every b, below 1 as well."""
    mu, q = 2 / noise, batch / records
    for positive in range(records):
        one, other, step = instance(positive, records, batch, noise)
        for p, r in ((one, other), (other, one)):
            for b in (0.2, 0.8, 0.97, 1.0, 1.05, 1.5, 4.0):
                delta = float(np.maximum(p - b * r, 0.0).sum() * step)
                assert delta <= float(curve(mu, q, mp.mpf(b))) * (1 + 1e-6) + 1e-9
    one, other, step = instance(0, records, batch, noise)
    for b in (1.0, 1.5, 4.0):  # and one of them is the curve of the removed record
        attained = float(np.maximum(one - b * other, 0.0).sum() * step)
        assert attained == pytest.approx(float(curve(mu, q, mp.mpf(b))), rel=1e-5, abs=1e-9)


def test_a_pair_stands_in_plans() -> None:
    pair = WithoutReplacement(10, 100).pair(Gaussian(2.0), Direction.REPLACE_ONE)
    assert pair == WithoutReplacementPair(GaussianPair(1.0), 0.1)
    assert Directions.of_pairs({Direction.REPLACE_ONE: [(pair, 3)]}).tight
    assert pair.rho == GaussianPair(1.0).rho
