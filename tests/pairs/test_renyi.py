"""Renyi moments and the bound from them: against closed forms, exact sums and quadrature of 30 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.pairs import BlackBoxPair, Composition, DominatingPair, GaussianPair, LaplacePair, moment
from hockeystick.pairs.laplace import LaplaceMiddle
from hockeystick.pairs.laplace_window import WindowPair
from hockeystick.pairs.renyi import SLACK, log_moment, renyi_epsilon, renyi_log_delta
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.sampled.replaced_gaussian import PoissonSubstitutionPair
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction

Density = Callable[[mp.mpf], mp.mpf]
TIMES = (0.01, 0.7, 3.0, 20.0)


def exact(x: float) -> mp.mpf:
    """The decimal that a parameter is written as."""
    value = Fraction(repr(x))
    return mp.mpf(value.numerator) / value.denominator


def gaussian_moment(mu: float, rate: float, kind: str, t: float) -> mp.mpf:
    """``log int p^(1+t) q^-t`` for the three pairs of a sampled Gaussian."""
    m, q, order = exact(mu), exact(rate), exact(t)

    def normal(x: mp.mpf) -> mp.mpf:
        return mp.npdf(x)

    def towards(sign: int) -> Density:
        return lambda x: mp.npdf(x) * (1 - q + q * mp.exp(sign * m * x - m * m / 2))

    p, against = {"remove": (towards(1), normal), "add": (normal, towards(1)), "replace": (towards(1), towards(-1))}[
        kind
    ]
    top = 14 + (2 * order + 2) * m
    ends = [mp.mpf(-14) + (top + 14) * i / 40 for i in range(41)]
    return mp.log(mp.quad(lambda x: p(x) ** (1 + order) * against(x) ** -order, ends))


@pytest.mark.share(5)
@pytest.mark.slow
@pytest.mark.parametrize("t", TIMES)
@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.01), (2.0, 1e-5), (0.1, 0.5), (1.25, 0.001)])
def test_moments_of_a_sampled_gaussian(mu: float, rate: float, t: float) -> None:
    """Above the truth, by no more than 1e-9 of it or a rounding of 1e-16."""
    base = GaussianPair(mu)
    pairs: dict[str, DominatingPair] = {
        "remove": PoissonRemovePair(base, rate),
        "add": PoissonAddPair(base, rate),
        "replace": PoissonSubstitutionPair(mu, rate),
    }
    with mp.workdps(30):
        for kind, pair in pairs.items():
            true = gaussian_moment(mu, rate, kind, t)
            found = pair.log_moment(t)
            assert true <= found <= true * (1 + mp.mpf(10) ** -9) + mp.mpf(10) ** -16, (kind, found, true)


@given(st.floats(0.05, 8), st.floats(1e-9, 0.999), st.integers(2, 24), st.sampled_from(["remove", "add", "replace"]))
def test_moments_of_whole_order_against_exact_sums(mu: float, rate: float, order: int, kind: str) -> None:
    """Mironov, Talwar, Zhang 2019, Section 3.3: a binomial sum; the other directions stay below their rough bounds."""
    with mp.workdps(40):
        m, q = exact(mu), exact(rate)
        terms = [
            mp.binomial(order, j) * (1 - q) ** (order - j) * q**j * mp.exp((j * j - j) * m * m / 2)
            for j in range(order + 1)
        ]
        true = mp.log(mp.fsum(terms))
        found = PoissonRemovePair(GaussianPair(mu), rate).log_moment(order - 1.0)
        assert true <= found
        rough = 1e-8 if true < 400 else 0.5  # where the moment leaves the range of a double
        assert found <= true * (1 + rough) + mp.mpf(10) ** -15
        if kind == "add":  # Mironov, Talwar, Zhang 2019, Theorem 5: removing is the worse direction at every order
            assert PoissonAddPair(GaussianPair(mu), rate).log_moment(order - 1.0) <= found * (1 + 1e-8) + 1e-15


@given(st.floats(1e-9, 40), st.floats(1e-4, 300))
def test_moments_of_laplace(theta: float, t: float) -> None:
    """Mironov 2017, Proposition 6, in 60 digits."""
    with mp.workdps(60):
        th, a = exact(theta), 1 + exact(t)
        true = mp.log(a / (2 * a - 1) * mp.exp(th * (a - 1)) + (a - 1) / (2 * a - 1) * mp.exp(-th * a))
        found = LaplacePair(theta, 1.0).log_moment(t)
        assert true <= found <= true * (1 + mp.mpf(10) ** -11)


@pytest.mark.parametrize("pair", [
    LaplacePair(2.0, 0.167), BlackBoxPair(9.0, 0.3),
    WindowPair.truncated_laplace(Fraction(1), Fraction(3), Fraction(1, 2)), WindowPair.bounded_range(Fraction(5, 2)),
], ids=lambda pair: type(pair).__name__)  # fmt: skip
def test_moments_beyond_the_range_of_a_double_are_as_good(pair: DominatingPair) -> None:
    """The largest loss has its probability there, too: a factor that thousands of rounds feel.

    Between the atoms the density under P is ``e^(x - theta)`` times that at the top, where the loss is ``2x - theta``.
    """
    top = mp.mpf(pair.loss_range[1])
    with mp.workdps(40):
        for t in (5.0, 60.0, 300.0, 2000.0, 1e5):
            terms = [
                mp.exp(mp.mpf(log_p) + t * mp.mpf(loss))
                for loss, log_p in zip(pair.atoms.loss.tolist(), pair.atoms.log_p.tolist(), strict=True)
                if math.isfinite(loss)
            ]
            if isinstance(pair.smooth, LaplaceMiddle):
                terms.append(
                    mp.exp(mp.mpf(pair.smooth.log_top) + t * top) * -mp.expm1(-(1 + 2 * t) * top) / (1 + 2 * t)
                )
            true = mp.log(mp.fsum(terms))
            found = pair.log_moment(t)
            assert true <= found <= true + mp.mpf(10) ** -11 * (1 + abs(true))
            assert found < top * t - 1e-3


@given(st.floats(1e-9, 30), st.floats(1e-4, 300), st.sampled_from([0.0, 1e-6, 0.3]))
def test_moments_of_black_boxes(epsilon: float, t: float, delta: float) -> None:
    """Mironov 2017, Proposition 5, times the mass at finite losses."""
    with mp.workdps(60):
        e, z, d = exact(epsilon), exact(t), exact(delta)
        true = mp.log((1 - d) * (mp.exp((1 + z) * e) + mp.exp(-z * e)) / (1 + mp.exp(e)))
        found = BlackBoxPair(epsilon, delta).log_moment(t)
        # what is near 0 is near it by cancellation of two logarithms, of size -log(1 - delta)
        assert true <= found <= true + abs(true) * mp.mpf(10) ** -11 - 1e-11 * mp.log(1 - d)


@pytest.mark.parametrize("t", TIMES)
@pytest.mark.parametrize(("theta", "rate"), [(1.0, 0.01), (0.1, 0.3), (4.0, 1e-4)])
def test_moments_of_sampled_laplace(theta: float, rate: float, t: float) -> None:
    """Above quadrature of 30 digits over the middle plus both atoms; near it."""
    with mp.workdps(30):
        th, q, z = exact(theta), exact(rate), exact(t)

        def mixed(loss: mp.mpf) -> mp.mpf:
            return 1 - q + q * mp.exp(loss)

        for add in (False, True):
            power = -z if add else 1 + z
            middle = mp.quad(lambda x: mp.exp(-x) / 2 * mixed(2 * x - th) ** power, [th * i / 10 for i in range(11)])  # noqa: B023
            true = mp.log(mixed(-th) ** power / 2 + mp.exp(-th) / 2 * mixed(th) ** power + middle)
            pair: DominatingPair = (PoissonAddPair if add else PoissonRemovePair)(LaplacePair(theta, 1.0), rate)
            found = pair.log_moment(t)
            # second order in the width of 4096 panels: the curvature of the logarithm is at most 4 (1 + t) q e^theta
            law = (1 + z) * q * mp.exp(th) * (th / 4096) ** 2 / 3
            assert true <= found <= true + law + mp.mpf(10) ** -12


def test_the_order_found_is_the_best_one() -> None:
    """No order on a fine grid gives less, and each gives a bound by the conversion written out."""
    composition = Composition([(PoissonRemovePair(GaussianPair(1.0), 0.01), 10_000)])
    log_delta = math.log(1e-6)
    best = renyi_epsilon(composition, log_delta)
    orders = [1 + (best.order - 1) * 1.02**n for n in range(-100, 100)]
    others = [(log_moment(composition, a - 1) - log_delta - math.log(a)) / (a - 1) + math.log1p(-1 / a) for a in orders]
    assert best.value <= min(others) * (1 + 1e-9)
    assert best.value == pytest.approx(7.413734, abs=1e-6)
    assert renyi_log_delta(composition, best.value).value == pytest.approx(log_delta, abs=1e-8)


@pytest.mark.parametrize(
    ("plan", "delta"),
    [
        (hs.dp_sgd(1.0, 0.01, 10_000), 1e-6),
        (hs.dp_sgd(0.02, 0.5, 10**9), 1e-100),
        (hs.dp_sgd(1e4, 1e-9, 1), 0.5),
        (hs.dp_sgd(0.02, 1e-9, 1), 1e-5),
        (hs.dp_sgd(2.0, 0.01, 1000, adjacency="replace-one"), 1e-8),
        (hs.Plan([hs.Round(hs.Laplace(scale=0.01), count=10**9)]), 1e-30),
        (hs.Plan([hs.Round(hs.Laplace(scale=3.0), hs.Poisson(0.1), 100), hs.Round(hs.Gaussian(5.0), count=3)]), 1e-9),
        (hs.Plan([hs.Round(hs.RandomizedResponse(1e-6), count=10**9)]), 1e-5),
        (hs.Plan([hs.Round(hs.ApproximateDP(0.1, 1e-8), count=50)]), 1e-5),
    ],
)
def test_the_accountant_is_never_at_a_loss(plan: hs.Plan, delta: float) -> None:
    """A finite number, whatever the plan; no lower end; at or above the certified lower end."""
    bound = plan.epsilon(delta, accountant="rdp")
    assert isinstance(bound, hs.UpperBound)
    assert not hasattr(bound, "lower")
    assert bound.guarantee == "upper bound"
    assert 0 <= bound.upper < math.inf
    if bound.upper > domains.MOST_EPSILON:
        return
    at = plan.delta(bound.upper, accountant="rdp")
    assert isinstance(at, hs.DeltaUpperBound)
    order = at.order or math.inf
    roundings = 2 * SLACK * (order - 1) * bound.upper if order < math.inf else 0.0  # of an exponent that is large
    assert at.quoted <= delta * (1 + 1e-6 + roundings)


def test_mass_at_infinity_is_taken_off_and_added() -> None:
    """delta = p_inf + delta_finite; below p_inf no epsilon will do, and the reason is given."""
    plan = hs.Plan([hs.Round(hs.ApproximateDP(0.5, 1e-3), count=10)])
    infinite = 1 - (1 - 1e-3) ** 10
    assert plan.delta(100.0, accountant="rdp").quoted == pytest.approx(infinite, rel=1e-9)
    below = plan.epsilon(infinite / 2, accountant="rdp")
    assert isinstance(below, hs.UpperBound)
    assert below.upper == math.inf
    assert below.reason
    assert plan.epsilon(2 * infinite, accountant="rdp").quoted <= 5.0


def test_pure_epsilon_is_never_exceeded() -> None:
    """The divergence of infinite order: the largest loss."""
    plan = hs.Plan([hs.Round(hs.RandomizedResponse(0.1), count=10)])
    assert plan.epsilon(0.0, accountant="rdp").quoted == 1.0
    assert plan.epsilon(1e-100, accountant="rdp").quoted <= 1.0
    assert plan.delta(1.0, accountant="rdp").quoted == 0.0


@pytest.mark.parametrize("k", [1, 100, 10_000])
def test_the_moments_accountant_as_it_was_published(k: int) -> None:
    """Whole moments and Markov's inequality, from the exact sums over the binomial distribution."""
    q, sigma, delta, most = Fraction(1, 100), 2.0, 1e-6, 32
    plan = hs.dp_sgd(sigma, 0.01, k, adjacency="remove")

    def moment_of(t: int) -> mp.mpf:
        terms = (
            mp.binomial(t + 1, j) * mp.mpf(1 - q) ** (t + 1 - j) * mp.mpf(q) ** j * mp.exp(j * (j - 1) / (2 * sigma**2))
            for j in range(t + 2)
        )
        return k * mp.log(mp.fsum(terms))

    epsilon = min((moment_of(t) - mp.log(delta)) / t for t in range(1, most + 1))
    found = plan.epsilon(delta, accountant="rdp", orders=most)
    assert found.quoted == pytest.approx(float(epsilon), rel=1e-9)
    assert found.quoted >= epsilon
    log_delta = min(moment_of(t) - 3 * t for t in range(1, most + 1))
    answer = plan.delta(3.0, accountant="rdp", orders=most)
    assert answer.quoted == pytest.approx(min(float(mp.exp(log_delta)), 1.0), rel=1e-9)


def test_fewer_orders_and_the_older_conversion_only_loosen() -> None:
    plan = hs.dp_sgd(1.0, 0.01, 1000)
    best = plan.epsilon(1e-6, accountant="rdp").quoted
    whole = plan.epsilon(1e-6, accountant="rdp", orders=64).quoted
    few = plan.epsilon(1e-6, accountant="rdp", orders=4).quoted
    assert best < whole < few
    assert plan.delta(2.0, accountant="rdp").quoted < plan.delta(2.0, accountant="rdp", orders=64).quoted


def test_a_gap_is_refused() -> None:
    """There is no interval to narrow."""
    with pytest.raises(hs.InvalidInputError, match="gap applies only to accountants that return an interval"):
        hs.dp_sgd(1.0, 0.01, 10).epsilon(1e-5, accountant="rdp", gap=0.1)


@pytest.mark.parametrize("direction", [Direction.ADD, Direction.REMOVE])
def test_moments_are_convex_in_t(direction: Direction) -> None:
    """K is a cumulant generating function: convex, 0 at 0."""
    pair = hs.dp_sgd(0.7, 0.02, 1).directions.pairs(direction)[0][0]
    values = [pair.log_moment(0.25 * n) for n in range(1, 80)]
    assert all(a - 2 * b + c > -1e-12 for a, b, c in zip(values, values[1:], values[2:], strict=False))


@pytest.mark.share(5)
@pytest.mark.slow
@pytest.mark.parametrize("t", [0.05, 1.0, 6.0])
@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.01), (3.0, 1e-4), (0.2, 0.9), (4.0, 0.4)])
def test_rough_bounds_are_bounds(mu: float, rate: float, t: float) -> None:
    """Convexity and Minkowski's inequality: what stands in where quadrature is out of reach."""
    base = GaussianPair(mu).log_moment
    rough = {
        "remove": moment.mixture_remove(base, rate, t),
        "add": moment.mixture_add(base, rate, t),
        "replace": moment.mixture_replace(mu, rate, t),
    }
    with mp.workdps(30):
        for kind, found in rough.items():
            assert gaussian_moment(mu, rate, kind, t) <= found, kind
