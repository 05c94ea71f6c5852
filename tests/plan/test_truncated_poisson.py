"""Truncated Poisson sampling: against enumerated datasets, exact binomial tails, and a mixture of two contours."""

from __future__ import annotations

import math
from decimal import localcontext
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import hockeystick as hs
from hockeystick.pairs import GaussianPair, PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.either import EitherPair
from hockeystick.pairs.sides import Tight
from hockeystick.plan.sampling.truncated_poisson import LEAST, tails, truncation
from oracle import enumerated
from oracle.mixtures import Mixture, log_moment, moment_nodes

RECORDS, NOISE, ROUNDS = 10_000, 4.0, 500
USED = hs.TruncatedPoisson(sample_rate=0.02, dataset_size=RECORDS, max_batch_size=200)


def plan(sampling: hs.TruncatedPoisson, noise: float, count: int = 1, adjacency: str = "add-or-remove") -> hs.Plan:
    return hs.Plan([hs.Round(hs.Gaussian(noise), sampling, count)], adjacency)


@pytest.mark.parametrize("others", [(-1, -1, -1), (0, 0, 0), (-1, 0, 1), (1, 1, 1)])
@pytest.mark.parametrize(
    ("rate", "most"), [(Fraction(1, 2), 1), (Fraction(7, 10), 2), (Fraction(1, 5), 2), (Fraction(1), 2)]
)
def test_no_dataset_is_worse_than_the_pair_above(others: tuple[int, ...], rate: Fraction, most: int) -> None:
    """All samples of small datasets and all parts of them, one round; others of nothing meet the pair below."""
    rest = [Fraction(x) for x in others]
    noise, scheme = 1.5, hs.TruncatedPoisson(float(rate), len(others) + 1, most)
    without = enumerated.truncated_poisson(rest, rate, most)
    full = enumerated.truncated_poisson([*rest, Fraction(1)], rate, most)
    for epsilon in (0.0, 0.5, 1.2):
        for direction, pair in (("remove", (full, without)), ("add", (without, full))):
            true = enumerated.delta(*pair, noise, epsilon)
            found = plan(scheme, noise, adjacency=direction).delta(epsilon)
            assert true <= found.upper * (1 + 1e-6) + 1e-7
            if not any(others):
                assert found.lower == pytest.approx(true, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    ("records", "rate", "most"),
    [
        (4, Fraction(1, 2), 2),
        (30, Fraction(1, 3), 10),
        (30, Fraction(1, 3), 25),
        (30, Fraction(9, 10), 3),
        (7, Fraction(1, 9), 6),
    ],
)
def test_how_often_a_batch_is_cut(records: int, rate: Fraction, most: int) -> None:
    def chance(n: int, k: int) -> Fraction:
        return math.comb(n, k) * rate**k * (1 - rate) ** (n - k)

    w = sum((chance(records - 1, j) for j in range(most, records)), Fraction(0))
    among = sum((chance(records - 1, j) * rate * Fraction(most, j + 1) for j in range(most, records)), Fraction(0)) / w
    found = truncation(records, rate, most)
    for value, exact in zip(found, (1 - w, w, among), strict=True):
        assert abs(Fraction(value) / exact - 1) <= Fraction(1, 2**51)


@pytest.mark.parametrize(
    ("n", "rate", "least"),
    [
        (60_000, Fraction(1, 234), 400),
        (60_000, Fraction(1, 234), 200),
        (10**9, Fraction(1, 10**6), 1500),
        (3000, Fraction(1, 2), 1400),
        (3000, Fraction(1, 2), 900),
    ],
)
def test_binomial_tails(n: int, rate: Fraction, least: int) -> None:
    with mpmath.workdps(60), localcontext() as context:
        context.prec = 50
        q = mpmath.mpf(rate.numerator) / rate.denominator
        true = mpmath.betainc(least, n - least + 1, 0, q, regularized=True)
        other = mpmath.betainc(n - least + 1, least, 0, 1 - q, regularized=True)
        lower, upper = tails(n, rate, least)
        assert abs(mpmath.mpf(str(upper)) / true - 1) <= mpmath.mpf(10) ** -30
        assert abs(mpmath.mpf(str(lower)) / other - 1) <= mpmath.mpf(10) ** -30


def test_a_batch_that_is_cut_half_the_time() -> None:
    """What the published pair, at a distance of 4 when batches are cut, puts at 1.19."""
    found = plan(USED, NOISE, ROUNDS).epsilon(1e-5)
    assert found.upper == pytest.approx(0.67793, abs=1e-4)
    kept = hs.Plan([hs.Round(hs.Gaussian(NOISE), hs.Poisson(USED.kept), ROUNDS)]).epsilon(1e-5)
    assert found.lower == pytest.approx(kept.lower, rel=1e-7)
    assert "displaces another" in (found.reason or "")


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_many_rounds(direction: str) -> None:
    """The pair above, whose moments are the mean of two sampled Gaussians', by an integral of its own."""
    epsilon, tilt = 0.6, 15.0
    found = plan(USED, NOISE, ROUNDS, direction).delta(epsilon).upper
    _, w, rate = USED.cut
    parts = [
        moment_nodes(Mixture.of([0, c], [1 - p, p], NOISE), direction, tilt, 0.05)
        for c, p in ((1, USED.sample_rate), (2, rate))
    ]
    s = np.longdouble(0.25) * np.arange(1000)
    m = (1 - w) * np.exp(log_moment(parts[0], tilt, s)) + w * np.exp(log_moment(parts[1], tilt, s))
    z = tilt + 1j * s
    terms = (np.exp(ROUNDS * np.log(m) - epsilon * z) / (z * (1 + z))).real
    true = float((terms.sum() - 0.5 * terms[0]) * 0.25 / np.pi)
    assert abs(terms[-1]) < 1e-12 * terms[0]
    assert found == pytest.approx(true, rel=1e-6)
    assert found >= true * (1 - 1e-9)


def test_with_room_enough_it_is_poisson_sampling() -> None:
    poisson = hs.Plan([hs.Round(hs.Gaussian(2.0), hs.Poisson(0.02), 100)]).epsilon(1e-6)
    everything = plan(hs.TruncatedPoisson(0.02, 500, 500), 2.0, 100)
    assert everything.epsilon(1e-6) == poisson
    assert isinstance(everything.rounds[0].known(hs.Direction.ADD), Tight)
    for most in (60, 100, 400):
        roomy = plan(hs.TruncatedPoisson(0.02, 500, most), 2.0, 100).epsilon(1e-6)
        assert roomy.upper == pytest.approx(poisson.upper, rel=1e-5)
        assert roomy.lower <= poisson.upper
    never = hs.Round(hs.Gaussian(2.0), hs.TruncatedPoisson(0.02, 500, 400)).pair(hs.Direction.REMOVE)
    assert never.infinite_mass == pytest.approx(LEAST)


def test_all_are_sampled_and_most_are_cut() -> None:
    """A batch of fixed size without replacement: the same tight pair above."""
    fixed = hs.Plan([hs.Round(hs.Gaussian(2.0), hs.WithoutReplacement(5, 100), 20)]).epsilon(1e-6)
    cut = plan(hs.TruncatedPoisson(1.0, 100, 5), 2.0, 20).epsilon(1e-6)
    assert cut.upper == pytest.approx(fixed.upper, rel=1e-6)


def test_what_is_refused() -> None:
    for keys in ((0.0, 10, 3), (0.5, 0, 3), (0.5, 10, 0)):
        with pytest.raises(hs.InvalidInputError):
            hs.TruncatedPoisson(*keys)
    with pytest.raises(hs.UnsupportedError, match="use adjacency 'add-or-remove'"):
        plan(USED, 1.0, adjacency="replace-one").epsilon(1e-6)
    with pytest.raises(hs.UnsupportedError, match="only the moments of a mixture of rounds are known"):
        plan(USED, 1.0, 5).epsilon(1e-6, accountant="prv")


# One of several pairs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.3, 1e-6])
@pytest.mark.parametrize("t", [0.5, 20.0])
@pytest.mark.parametrize("add", [False, True])
def test_moments_and_where_they_fall_off(weight: float, t: float, add: bool) -> None:
    sampled = PoissonAddPair if add else PoissonRemovePair
    pair = EitherPair((sampled(GaussianPair(0.5), 0.1), sampled(GaussianPair(1.5), 0.02)), (1 - weight, weight), 0.0)
    direction = "add" if add else "remove"
    nodes = [moment_nodes(Mixture.of([0, c], [1 - p, p], 1), direction, t, 0.02) for c, p in ((0.5, 0.1), (1.5, 0.02))]
    step = 3.0 / (1 + t)
    s = np.longdouble(step) * np.arange(12)
    true = np.log((1 - weight) * np.exp(log_moment(nodes[0], t, s)) + weight * np.exp(log_moment(nodes[1], t, s)))
    transform = pair.transform
    assert transform is not None
    values, errors = transform.line(t, 11 * step, 1e-12).cumulants(step, 12)
    assert (np.abs(values - true.astype(np.complex128)) <= errors + 1e-15).all()
    assert float(errors[0]) <= 1e-9 * max(abs(float(true[0].real)), 1e-6)
    at_zero = float(true[0].real)
    for bound in (transform.upper(t, 1e-6), pair.log_moment(t)):
        assert at_zero * (1 - 1e-9) <= bound <= at_zero * (1 + 1e-5) + 1e-5
    edges = np.array([2 * step, 5 * step, 9 * step])
    bounds = transform.envelope(t, 100).log_bound(edges)
    for edge, bound in zip(edges, bounds, strict=True):
        beyond = max(float((value - true[0]).real) for at, value in zip(s, true, strict=True) if at >= edge)
        assert beyond <= bound <= 0
