"""The pairs of a batch of fixed size with a contribution set to nothing, beside formulas and laws of the tests' own."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr

from hockeystick.engines.direct import DirectEngine
from hockeystick.engines.grid.cells import Reach, integrate
from hockeystick.engines.grid.engine import GridEngine
from hockeystick.numerics.lattice import Mesh
from hockeystick.pairs import Composition, GaussianPair, WithoutReplacementPair
from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.sampled.opposed_draws import _add, opposed_draws
from hockeystick.pairs.sampled.zeroed_pair import ZeroedPair

Array = npt.NDArray[np.float64]
Law = list[tuple[float, float]]

SETTINGS = [(1.0, 0.01), (0.1, 0.3), (4.0, 1e-6), (30.0, 0.1), (1e-3, 0.9), (0.5, 0.5)]
"""mu and the rate."""


def hockey_stick(p: Law, q: Law, b: Any, bounds: tuple[float, float] | None = None) -> Any:
    """``H_b`` of two mixtures of N(c, 1), given as weight and c, by the one outcome where ``p = b q``, for b >= 1."""
    low, high = bounds or (0.0, 60.0)

    def apart(x: Any) -> Any:
        """The sign of ``p - b q``, from likelihood ratios against N(0, 1)."""
        ratio = [sum(w * mp.exp(c * x - mp.mpf(c) ** 2 / 2) for w, c in law) for law in (p, q)]
        return ratio[0] - b * ratio[1]

    for _ in range(140):
        middle = (mp.mpf(low) + high) / 2
        low, high = (low, middle) if apart(middle) > 0 else (middle, high)
    return sum(w * mp.ncdf(c - high) for w, c in p) - b * sum(w * mp.ncdf(c - high) for w, c in q)


def one_draw(mu: float, q: float, restored: bool = False) -> FinitePair:
    """What tests of the instance tell."""
    drawn = opposed_draws((mu,), (q,), 1 - q, 0.0)
    return drawn.mirror if restored else drawn


def opposite(mu: float, q: float) -> tuple[Law, Law]:
    return [(1 - q, 0.0), (q, 2 * mu)], [(1 - q, 0.0), (q, mu)]


@pytest.mark.parametrize(("mu", "q"), SETTINGS)
@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0])
@pytest.mark.parametrize("restored", [False, True])
def test_one_round_is_attained_by_an_instance(mu: float, q: float, epsilon: float, restored: bool) -> None:
    """Above b = 1: all others opposite to the record, or in the other order all others as the record is."""
    with mp.workdps(40):
        b = mp.exp(mp.mpf(epsilon))
        if restored:
            x = (mp.log(1 + (b - 1) / mp.mpf(q)) / mu) + mp.mpf(mu) / 2
            true = (1 - q) * mp.ncdf(-x) + q * mp.ncdf(mu - x) - b * mp.ncdf(-x)
        else:
            true = hockey_stick(*opposite(mu, q), b, (1.4 * mu, 2 * mu + 100 + 40 / mu))
        if true < mp.mpf("1e-250"):
            return
        true = mp.log(true)
    found = DirectEngine(Composition([(ZeroedPair(mu, q, restored), 1)])).log_delta(epsilon, None)
    assert found.lower <= true + 1e-9 * abs(true)
    assert float(true) <= found.upper
    assert found.upper - found.lower < 1e-8


@pytest.mark.parametrize(("mu", "q"), SETTINGS)
@pytest.mark.parametrize("restored", [False, True])
def test_both_laws_have_all_their_mass(mu: float, q: float, restored: bool) -> None:
    pair = ZeroedPair(mu, q, restored)
    smooth, rest = pair.smooth, float(np.exp(pair.atoms.log_p[0]))
    x = np.array([-2.0, -0.3, -1e-3, 0.0, 1e-3, 0.4, 3.0])
    masses = smooth.masses(x)
    np.testing.assert_allclose(masses.p_below + masses.p_above, 1 - rest, atol=1e-11)
    np.testing.assert_allclose(masses.q_below + masses.q_above, 1 - rest, atol=1e-11)
    np.testing.assert_allclose(smooth.outcome(smooth.loss(x)), x, rtol=1e-9, atol=1e-12)
    assert (np.diff(smooth.loss(x)) > 0).all()
    inside = x[np.abs(x) > 1e-2]
    for density, below in ((smooth.log_p, "p_below"), (lambda x: smooth.log_p(x) - smooth.loss(x), "q_below")):
        slope = (getattr(smooth.masses(inside + 1e-5), below) - getattr(smooth.masses(inside - 1e-5), below)) / 2e-5
        np.testing.assert_allclose(np.exp(density(inside)), slope, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(("mu", "q"), [(1.0, 0.01), (0.4, 0.3), (3.0, 0.05)])
def test_the_orders_are_mirror_images_and_below_the_pair_of_a_replaced_record(mu: float, q: float) -> None:
    one, other, replaced = ZeroedPair(mu, q), ZeroedPair(mu, q, True), WithoutReplacementPair(GaussianPair(2 * mu), q)
    x = np.array([0.1, 0.7, 2.0])
    np.testing.assert_allclose(one.smooth.loss(x), -other.smooth.loss(-x), rtol=1e-14)
    np.testing.assert_allclose(one.smooth.masses(x).p_above, other.smooth.masses(-x).q_below, rtol=1e-12)
    for epsilon in (0.0, 0.01, 0.2, 1.0, 3.0):
        above = DirectEngine(Composition([(replaced, 1)])).log_delta(epsilon, None).upper
        for pair in (one, other):
            assert DirectEngine(Composition([(pair, 1)])).log_delta(epsilon, None).lower <= above
    for t in (0.3, 2.0, 9.0):
        assert one.log_moment(t) == replaced.log_moment(t)


@pytest.mark.parametrize("offset", [0.0, 0.07, -0.13])
@pytest.mark.parametrize("width", [0.05, 0.4])
@pytest.mark.parametrize("restored", [False, True])
def test_cells_are_cut_where_the_halves_meet(offset: float, width: float, restored: bool) -> None:
    pair = ZeroedPair(1.5, 0.3, restored)
    cells = integrate(pair, Mesh(offset, width, 1e-9, 0.0), Reach(-80.0, -np.inf))
    held = float((cells.left + cells.right).sum() + cells.points.mass.sum())
    assert held == pytest.approx(1.0, abs=3e-9)


def lattice(pair: str, mu: float, q: float, rounds: int, gap: float, span: float) -> tuple[Array, Array, Array]:
    """Losses, and the law of their sum with each loss rounded down and up to a lattice: distribution functions alone.

    ``above`` is the pair of the module, from where its losses cross the lattice; ``opposite`` the instance, by cells of
    the outcome so narrow that the loss hardly moves in one.
    """
    x = np.linspace(-11.0, 2 * mu + 11.0, 600_001)
    edges = x - 0.5 * (x[1] - x[0])

    def mixed(shift: float) -> tuple[Array, Array]:
        below = (1 - q) * ndtr(edges) + q * ndtr(edges - shift)
        return np.diff(np.append(below, 1.0)), (1 - q) + q * np.exp(shift * x - 0.5 * shift * shift)

    (far_mass, far), (_, near), (alone, _) = mixed(2 * mu), mixed(mu), mixed(0.0)
    if pair == "opposite":
        loss, mass = np.log(far / near), far_mass
    else:
        up, down = x > 1.5 * mu, x > 0.5 * mu
        loss = np.concatenate([np.log(far / near)[up], -np.log(near)[down], [0.0]])
        held = np.concatenate([far_mass[up], alone[down]])
        mass = np.append(held, 1 - held.sum())
    zero = round(span / gap)
    sums = []
    for turned in (np.floor, np.ceil):
        law = np.zeros(2 * zero + 1)
        np.add.at(law, np.clip(turned(loss / gap).astype(int) + zero, 0, 2 * zero), mass)
        size = 1 << int(np.ceil(np.log2(rounds * (2 * zero + 1))))
        sums.append(np.fft.irfft(np.fft.rfft(law, size) ** rounds, size)[: rounds * 2 * zero + 1])
    return gap * (np.arange(len(sums[0]), dtype=np.float64) - rounds * zero), sums[0], sums[1]


@pytest.mark.parametrize(("mu", "q", "rounds"), [(1.0, 0.1, 8), (0.5, 0.3, 20)])
@pytest.mark.parametrize("kind", ["above", "opposite"])
def test_compositions_lie_between_laws_on_a_lattice(kind: str, mu: float, q: float, rounds: int) -> None:
    losses, down, up = lattice(kind, mu, q, rounds, 1e-3, 14.0)
    pair: Any = ZeroedPair(mu, q) if kind == "above" else one_draw(mu, q)
    for epsilon in (0.0, 0.5, 1.5):
        share = np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0)
        low, high = float((down * share).sum()), float((up * share).sum())
        found = GridEngine(Composition([(pair, rounds)])).log_delta(epsilon, 1e-3)
        assert np.log(low) - 2e-3 <= found.upper
        assert found.lower <= np.log(high) + 1e-6
        assert high < 1.2 * low


@pytest.mark.parametrize("restored", [False, True])
def test_tests_of_one_draw_are_below_the_instance_and_close_to_it(restored: bool) -> None:
    mu, q, epsilon = 1.0, 0.1, 0.01 if restored else 0.3
    with mp.workdps(30):
        p, zeroed = opposite(mu, q)
        b = mp.exp(mp.mpf(epsilon))
        if restored:  # p - b q has two signs: by the divergence of the exchanged laws below b = 1
            inner = mp.quad(
                lambda x: max(
                    sum(w * mp.npdf(x, c) for w, c in zeroed) - b * sum(w * mp.npdf(x, c) for w, c in p), mp.mpf(0)
                ),
                np.linspace(-9.0, 12.0, 85).tolist(),
            )
            true = float(mp.log(inner))
        else:
            true = float(mp.log(hockey_stick(p, zeroed, b, (1.4, 40.0))))
    found = DirectEngine(Composition([(one_draw(mu, q, restored), 1)])).log_delta(epsilon, None)
    assert found.upper <= true + 1e-3  # the quadrature of a function with corners
    assert found.lower >= true - 2e-2


def test_what_is_cut_off_draws_counts_against_every_test() -> None:
    whole, cut = (opposed_draws((0.5, 1.0), (0.2, 0.01), 0.79, missing) for missing in (0.0, 1e-3))
    for epsilon in (0.0, 0.5, 1.0):
        loss = [DirectEngine(Composition([(pair, 1)])).log_delta(epsilon, None) for pair in (whole, cut)]
        assert np.exp(loss[1].upper) <= max(np.exp(loss[0].lower) - 1e-3, 0.0) + 1e-12


def test_rates_of_tests_of_draws_are_rounded_up() -> None:
    """Beside 40 digits, at ends where doubles round either way."""
    draw = np.random.default_rng(8)
    high, low = np.sort(draw.uniform(-3, 6, (2, 400)), axis=0)[::-1]
    for kept in (False, True):
        rates = np.zeros(400)
        _add(rates, 0.3, high, low, kept)
        with mp.workdps(40):
            for rate, above, below in zip(rates.tolist(), high.tolist(), low.tolist(), strict=True):
                inside = mp.ncdf(above) - mp.ncdf(below)
                true = mp.mpf(0.3) * (inside if kept else mp.ncdf(-above) + mp.ncdf(below))
                assert true <= rate <= true + mp.mpf("1e-12")
