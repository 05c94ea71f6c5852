"""Mixtures of Gaussians against one: true values, the theorem, and everything that the grid asks of the pair."""

from __future__ import annotations

import math
import random
from typing import Any, cast

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import hockeystick as hs
from hockeystick.engines.grid.cells import Reach, integrate
from hockeystick.numerics.budget import Budget
from hockeystick.numerics.lattice import Mesh
from hockeystick.pairs.base import terms_of
from hockeystick.pairs.mixture import MixtureLocation, MixturePair
from hockeystick.pairs.sampled.poisson import BasePart, PoissonAddPair, PoissonRemovePair
from oracle.mixtures import Mixture, delta, log_moment, moment_nodes, single_delta

Array = Any
mixture_gaussian: Any = hs.MixtureGaussian  # which takes lists for tuples

USERS = ([0, 1, 2, 3, 4], [0.96059601, 0.03881196, 0.00058806, 0.00000396, 0.00000001], 1.0)  # Bin(4, 1/100)

LAWS: list[Any] = [
    USERS,
    ([0, 1, 3], [0.5, 0.3, 0.2], 2.0),
    ([1, 2], [0.5, 0.5], 1.5),  # nobody is left out
    ([0, 0.5, 5], [0.9, 0.0999, 0.0001], 1.0),  # a rare jump
    ([0.3, 0.4, 0.5, 4], [0.1, 0.2, 0.3, 0.4], 0.7),
    ([0, 1, 2], [1e-9, 0.6, 0.399999999], 3.0),
]


def plan(law: Any, direction: str, count: int = 1) -> hs.Plan:
    return hs.Plan([hs.Round(mixture_gaussian(*law), count=count)], adjacency=direction)


# True values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.5])
def test_one_round(law: Any, direction: str, epsilon: float) -> None:
    true = single_delta(Mixture.of(*law), direction, epsilon)
    found = plan(law, direction).delta(epsilon)
    assert found.lower <= true <= found.upper
    assert found.upper - found.lower <= 1e-9 * max(float(true), 1e-300) or true == 0


@pytest.mark.parametrize(
    ("law", "direction", "count", "epsilon"),
    [
        (LAWS[0], "remove", 1000, 10.0),
        (LAWS[0], "add", 1000, 7.0),
        (LAWS[1], "remove", 30, 9.0),
        (LAWS[1], "add", 30, 6.0),
        (LAWS[2], "remove", 5, 8.0),
        (LAWS[2], "add", 5, 8.0),
        (LAWS[5], "add", 40, 4.0),
    ],
)
@pytest.mark.share(2)
def test_many_rounds(law: Any, direction: str, count: int, epsilon: float) -> None:
    """The oracle is told a tilt, by which its answer does not depend on the library's."""
    asked = plan(law, direction, count)
    found = asked.delta(epsilon, accountant="contour")
    tilt = 0.8 * -math.log(found.upper) / epsilon
    true = delta(Mixture.of(*law), direction, count, epsilon, tilt)
    assert found.lower <= true <= found.upper
    assert found.upper - found.lower <= 1e-6 * found.upper
    grid = asked.delta(epsilon, accountant="grid")
    assert grid.lower <= true <= grid.upper


def test_four_records_of_a_user() -> None:
    """The number to which dp_accounting comes within its grid, in 42 s."""
    found = plan(USERS, "add-or-remove", 1000).epsilon(1e-6)
    assert found.upper == pytest.approx(10.0153, abs=5e-5)
    assert found.upper - found.lower <= 1e-6 * found.upper
    assert found.direction == "remove"


def test_one_term_is_a_sampled_gaussian() -> None:
    for direction in ("remove", "add"):
        sampled = hs.Plan([hs.Round(hs.Gaussian(2.0), hs.Poisson(0.3), count=50)], adjacency=direction)
        mixed = hs.Plan([hs.Round(mixture_gaussian([0, 1], [0.7, 0.3], 2.0), count=50)], adjacency=direction)
        found, same = mixed.epsilon(1e-6), sampled.epsilon(1e-6)
        assert max(found.lower, same.lower) <= min(found.upper, same.upper)
        assert found.upper - found.lower <= 1e-6 * found.upper
        sure = hs.Plan([hs.Round(mixture_gaussian([1], [1], 2.0), hs.Poisson(0.3), count=50)], adjacency=direction)
        assert sure.epsilon(1e-6) == sampled.epsilon(1e-6)


def test_the_law_of_many_terms_agrees_with_that_of_two() -> None:
    """The same round by either file, in both directions."""
    for direction, mirrored in (("remove", False), ("add", True)):
        two = hs.Plan([hs.Round(hs.Gaussian(1.25), hs.Poisson(0.02), count=500)], adjacency=direction)
        many = plan(([0, 1, 1.0000000001], [0.98, 0.01, 0.01], 1.25), direction, 500)
        pair = many.rounds[0].pair(many.directions.adjacency.directions[0])
        assert isinstance(pair, PoissonAddPair if mirrored else PoissonRemovePair)
        assert isinstance(pair.base, MixturePair)
        assert many.epsilon(1e-7).upper == pytest.approx(two.epsilon(1e-7).upper, rel=1e-6)


@pytest.mark.parametrize("adjacency", ["remove", "add"])
def test_a_sampled_mixture_is_a_mixture(adjacency: str) -> None:
    sampled = hs.Plan([hs.Round(mixture_gaussian(*LAWS[1]), hs.Poisson(0.1), count=40)], adjacency=adjacency)
    mixed = plan(([0, 1, 3], [0.95, 0.03, 0.02], 2.0), adjacency, 40)
    assert sampled.epsilon(1e-6).upper == pytest.approx(mixed.epsilon(1e-6).upper, rel=2e-7)
    for epsilon in (0.5, 2.0):
        one = hs.Plan([hs.Round(mixture_gaussian(*LAWS[1]), hs.Poisson(0.1))], adjacency=adjacency).delta(epsilon)
        true = single_delta(Mixture.of([0, 1, 3], [0.95, 0.03, 0.02], 2.0), adjacency, epsilon)
        assert one.lower <= true <= one.upper


# The theorem ----------------------------------------------------------------------------------------------------------


def test_vectors_are_no_worse_than_numbers_with_their_norms() -> None:
    """Monte Carlo of ``E (Lambda - a)_+`` and ``E (1 - a Lambda)_+`` for vectors at random angles in the plane."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 400_000))
    draw = random.Random(3)
    for _ in range(12):
        norms = [draw.uniform(0.1, 2.0) for _ in range(3)]
        angles = [draw.uniform(0.0, math.pi) for _ in range(3)]
        weights = [draw.uniform(0.1, 1.0) for _ in range(3)]
        weights = [weight / sum(weights) for weight in weights]
        vectors = [(c * math.cos(a), c * math.sin(a)) for c, a in zip(norms, angles, strict=True)]
        plane = sum(
            w * np.exp(v[0] * x[0] + v[1] * x[1] - c * c / 2) for w, v, c in zip(weights, vectors, norms, strict=True)
        )
        for a in (0.7, 1.0, 2.5):
            for direction, values in (("remove", np.maximum(plane - a, 0)), ("add", np.maximum(1 - a * plane, 0))):
                true = float(single_delta(Mixture.of(norms, weights, 1.0), direction, math.log(a), 12))
                if direction == "remove" or a > 0:
                    error = float(values.std()) / math.sqrt(len(values))
                    assert float(values.mean()) - 5 * error <= true


def test_larger_shifts_are_worse() -> None:
    for direction in ("remove", "add"):
        for epsilon in (0.05, 0.2):
            small = single_delta(Mixture.of([0, 1, 2], [0.8, 0.1, 0.1], 1), direction, epsilon)
            large = single_delta(Mixture.of([0, 1, 2.5], [0.8, 0.1, 0.1], 1), direction, epsilon)
            assert small < large


# The pair -------------------------------------------------------------------------------------------------------------


def parts() -> list[tuple[BasePart, list[tuple[float, float]], bool]]:
    out = []
    for shifts, weights, noise in LAWS:
        for mirrored in (False, True):
            rest = weights[0] if shifts[0] == 0 else 0.0
            rows = [(c / noise, p) for c, p in zip(shifts, weights, strict=True) if c]
            some = math.fsum(p for _, p in rows) if rest else 1.0
            base = MixturePair(tuple(mu for mu, _ in rows), tuple(p / some for _, p in rows), mirrored and not rest)
            pair = (PoissonAddPair if mirrored else PoissonRemovePair)(base, some) if rest else base
            out.append((cast(BasePart, pair.smooth), [*([(0.0, rest)] if rest else []), *rows], mirrored))
    return out


@pytest.mark.parametrize(("smooth", "rows", "mirrored"), parts())
def test_densities_losses_and_masses_at_outcomes(
    smooth: BasePart, rows: list[tuple[float, float]], mirrored: bool
) -> None:
    x = np.array([-30.0, -6.5, -2.0, -0.4, 0.0, 0.31, 1.7, 4.0, 9.0, 40.0])
    loss, slip, log_p, care = smooth.loss(x), smooth.loss_error(x), smooth.log_p(x), smooth.log_p_error(x)
    log_q, contrast, masses = smooth.log_q(x), smooth.log_contrast(x), smooth.masses(x)
    with mpmath.workdps(60):
        terms = [(mpf(repr(mu)), mpf(repr(p))) for mu, p in rows]
        total = mp.fsum(p for _, p in terms)
        for i, at in enumerate(map(mpf, x.tolist())):
            at = -at if mirrored else at
            log_g = mp.log(mp.fsum(p / total * mp.exp(mu * at - mu * mu / 2) for mu, p in terms))
            plain = -at * at / 2 - mp.log(2 * mp.pi) / 2
            true_p, true_q = (plain, plain + log_g) if mirrored else (plain + log_g, plain)
            unit = mpf(2) ** -53
            assert abs(loss[i] - (true_p - true_q)) <= slip[i] * unit
            assert abs(log_p[i] - true_p) <= care[i] * unit
            assert abs(log_q[i] - true_q) <= care[i] * unit
            assert mp.log(abs(mp.exp(true_p) - mp.exp(true_q))) <= contrast[i] + 1e-12
            below = mp.fsum(p / total * mp.erfc((mu - at) / mp.sqrt(2)) / 2 for mu, p in terms)
            above = mp.fsum(p / total * mp.erfc((at - mu) / mp.sqrt(2)) / 2 for mu, p in terms)
            plain_below, plain_above = mp.erfc(-at / mp.sqrt(2)) / 2, mp.erfc(at / mp.sqrt(2)) / 2
            want = (plain_above, plain_below, above, below) if mirrored else (below, above, plain_below, plain_above)
            for found, true in zip(masses, want, strict=True):
                assert found[i] == pytest.approx(float(true), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("smooth", "rows", "mirrored"), parts())
def test_outcomes_are_the_inverse_of_losses(smooth: BasePart, rows: list[tuple[float, float]], mirrored: bool) -> None:
    x = np.linspace(-6.0, 9.0, 61)
    loss = smooth.loss(x)
    again = smooth.loss(smooth.outcome(loss))
    assert (np.abs(again - loss) <= 2**-50 * (1 + smooth.loss_error(x))).all()
    ends = smooth.outcome(np.array([-math.inf, math.inf]))
    assert ends.tolist() == [-math.inf, math.inf]
    inside = smooth.outcome(np.linspace(-50, 700, 400))
    assert (inside[1:] >= inside[:-1] - 1e-12).all()


@pytest.mark.parametrize(("smooth", "rows", "mirrored"), parts())
@pytest.mark.parametrize("log_mass", [-1.0, -30.0, -600.0])
def test_the_support_holds_both_laws(
    smooth: BasePart, rows: list[tuple[float, float]], mirrored: bool, log_mass: float
) -> None:
    low, high = smooth.support(log_mass)
    with mpmath.workdps(30):
        ends = (low, high) if not mirrored else (-high, -low)
        for terms in (rows, [(0.0, 1.0)]):
            below = mp.fsum(mpf(p) * mp.erfc((mu - mpf(ends[0])) / mp.sqrt(2)) / 2 for mu, p in terms)
            above = mp.fsum(mpf(p) * mp.erfc((mpf(ends[1]) - mu) / mp.sqrt(2)) / 2 for mu, p in terms)
            assert max(below, above) <= mp.exp(log_mass) * (1 + 1e-9)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("t", [0.01, 0.9, 6.0, 60.0])
def test_moments(law: Any, direction: str, t: float) -> None:
    """From above, next to the truth, and below the bounds that concentrated privacy has."""
    asked = plan(law, direction)
    pair = asked.rounds[0].pair(asked.directions.adjacency.directions[0])
    nodes = moment_nodes(Mixture.of(*law), direction, t, 1 / 64)
    true = float(log_moment(nodes, t, np.zeros(1))[0].real)
    found = pair.log_moment(t)
    assert true * (1 - 1e-9) <= found <= true * (1 + 1e-6) + 1e-12
    assert true <= t * (1 + t) * pair.rho


def test_a_mixture_of_no_great_number_of_terms_is_not_slow() -> None:
    """A thousand terms cost more, within what one call may take."""
    many = mixture_gaussian(np.arange(300.0), np.full(300, 1 / 300), 400.0)
    found = hs.Plan([hs.Round(many, count=100)]).epsilon(1e-6)
    assert 0 < found.lower <= found.upper < math.inf


def test_the_location_knows_where_it_ends() -> None:
    location = MixtureLocation((1.0, 2.0), (0.5, 0.5), 0.0)
    with np.errstate(all="raise", under="ignore"):
        assert location.outcome(np.array([1e300, -1e300])).tolist() == pytest.approx([5e299, -1e300])


@pytest.mark.parametrize("rate", [1e-3, 1e-9, 1e-14, 1e-100])
def test_a_rare_shift_is_known_by_its_own_weight_and_not_by_what_is_left_of_one(rate: float) -> None:
    """Of a rate of 1e-14 what 1 less the rest leaves has two digits."""
    weights = (rate, rate / 4)
    smooth = cast(BasePart, PoissonRemovePair(MixturePair((1.0, 2.5), (0.8, 0.2)), math.fsum(weights)).smooth)
    x = np.array([-3.0, -0.5, 0.6, 2.0, 7.0])
    found, doubt = smooth.loss(x), smooth.loss_error(x) * 2.0**-53
    with mp.workdps(60):
        for at, loss, error in zip(x, found, doubt, strict=True):
            ratios = [mp.exp(mpf(mu) * (mpf(float(at)) - mpf(mu) / 2)) - 1 for mu in (1.0, 2.5)]
            true = mp.log1p(sum(mpf(weight) * ratio for weight, ratio in zip(weights, ratios, strict=True)))
            assert abs(mpf(float(loss)) - true) <= error
            assert error <= 1e-10 * abs(true) + 2.0**-1000


@pytest.mark.parametrize("mirrored", [False, True])
def test_cells_of_many_terms_are_paid_for_as_such(mirrored: bool) -> None:
    """A density of nine terms takes nine times as long as one, at each node, and at each edge of a cell."""
    spent = []
    for shifts in ((1.0,), tuple(1.0 + 0.01 * term for term in range(9))):
        pair = MixturePair(shifts, (1 / len(shifts),) * len(shifts), mirrored=mirrored)
        assert pair.smooth is not None
        assert terms_of(pair.smooth) == len(shifts)
        with Budget(1e9) as budget:
            integrate(pair, Mesh(0.0, 0.01, 1.0, 0.0), Reach(-40.0, -40.0))
        spent.append(1e9 - budget.left)
    assert spent[1] > 5 * spent[0]
