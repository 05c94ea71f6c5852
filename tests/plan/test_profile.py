"""Profiles: held against closed forms, brute force and single questions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import hockeystick as hs
from hockeystick.directions.directions import compositions
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.targets import GaussianDP

Array = npt.NDArray[np.float64]

SGD = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
LAPLACE = hs.Plan([hs.Round(hs.Laplace(3.0), count=10)])
BOXES = hs.Plan([hs.Round(hs.ApproximateDP(0.1, 1e-7), count=30)])
PLANS = {
    "sgd": SGD,
    "replace": hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=500, adjacency="replace-one"),
    "laplace": LAPLACE,
    "boxes": BOXES,
    "mixed": SGD + hs.Round(hs.Laplace(10.0), count=3),
    "one": hs.Plan([hs.Round(hs.Gaussian(1.0), hs.Poisson(0.1))]),
    "empty": hs.Plan([]),
}


def gaussian(mu: float) -> hs.Plan:
    return hs.Plan([hs.Round(hs.Gaussian(1 / mu))])


def within(band: hs.Band, truth: Array, slack: float = 1e-13) -> None:
    assert (band.lower <= truth + slack * np.abs(truth)).all(), (band.lower - truth).max()
    assert (truth <= band.upper + slack * np.abs(truth)).all(), (truth - band.upper).max()


@pytest.mark.parametrize("name", PLANS)
def test_many_points_agree_with_single_questions(name: str) -> None:
    """Both are certified, so their intervals meet; the ends are in order, and delta falls."""
    plan = PLANS[name]
    profile = plan.profile()
    at = np.concatenate([np.linspace(0.0, 4.0, 40), [0.0, 7.5]])
    band = profile.log_delta(at)
    assert (band.lower <= band.estimate).all()
    assert (band.estimate <= band.upper).all()
    for i in (0, 3, 11, 25, 41):
        one = plan.log_delta(float(at[i]))
        assert one.lower <= band.upper[i]
        assert band.lower[i] <= one.upper
        if band.upper[i] > -30:
            assert band.gap[i] <= 2e-3
    assert (band.lower[1:40] <= band.upper[:39]).all()


def test_the_gaussian_profile_is_the_closed_form() -> None:
    mu, at = 0.8, np.linspace(0.0, 5.0, 400)
    truth = ndtr(-at / mu + mu / 2) - np.exp(at) * ndtr(-at / mu - mu / 2)
    band = gaussian(mu).profile().delta(at)
    within(band, truth, 1e-9)
    assert (band.gap <= 2e-6 * band.upper).all()
    assert band.safe == "upper"
    assert (band.quoted == band.upper).all()


@pytest.mark.parametrize("name", ["sgd", "laplace", "boxes", "replace"])
def test_epsilon_is_the_inverse_of_delta(name: str) -> None:
    plan = PLANS[name]
    profile = plan.profile()
    deltas = np.geomspace(1e-5, 0.05, 60).reshape(4, 15)
    band = profile.epsilon(deltas)
    assert band.upper.shape == (4, 15)
    assert (profile.delta(band.upper).upper <= deltas * (1 + 1e-3)).all()
    for place in ((0, 0), (1, 7), (3, 14)):
        one = plan.epsilon(float(deltas[place]))
        assert one.lower <= band.upper[place]
        assert band.lower[place] <= one.upper
    assert (band.gap <= 0.02 * band.upper + 1e-9).all()


def test_epsilon_at_the_ends() -> None:
    """0, mass at infinity, and deltas beyond that at epsilon 0."""
    band = BOXES.profile().epsilon([0.0, 1e-7, 1e-5, 0.9])
    assert band.upper[0] == band.upper[1] == math.inf
    assert band.upper[3] == 0.0
    assert 0 < band.lower[2] <= band.upper[2] < 3.0
    pure = hs.Plan([hs.Round(hs.RandomizedResponse(0.5), count=3)]).profile().epsilon([0.0, 1e-3])
    assert pure.lower[0] == pure.upper[0] == 1.5


@settings(deadline=None, max_examples=12)
@given(st.floats(0.05, 5.0))
def test_the_trade_off_of_a_gaussian_is_the_closed_form(mu: float) -> None:
    fpr = np.array([1e-6, 1e-3, 0.02, 0.2, 0.5, 0.8, 0.99, 0.9999])
    profile = gaussian(mu).profile()
    tpr, fnr = profile.tpr(fpr), profile.trade_off(fpr)
    within(tpr, ndtr(ndtri(fpr) + mu), 1e-12)
    within(fnr, ndtr(-ndtri(fpr) - mu), 1e-12)
    assert fnr.safe == "lower"
    assert (tpr.gap <= 2e-2 * np.minimum(tpr.upper, np.maximum(fnr.upper, 1e-9)) + 1e-12).all()


def brute(plan: hs.Plan, fpr: Array) -> Array:
    """The least false-negative rate of a product of black boxes, by the Neyman-Pearson lemma on all outcomes."""
    laws = []
    for item in plan.rounds:
        pair = item.pair(plan.adjacency.directions[0])
        atoms = pair.atoms
        laws += [list(zip(np.exp(atoms.log_p), np.exp(atoms.log_q), strict=True))] * item.count
    outcomes = [
        (math.prod(p for p, _ in choice), math.prod(q for _, q in choice)) for choice in itertools.product(*laws)
    ]
    outcomes.sort(key=lambda item: item[0] / item[1] if item[1] else math.inf, reverse=True)
    p, q = np.array(outcomes).T
    fnr: Array = 1 - np.interp(fpr, np.append(0.0, np.cumsum(q)), np.append(0.0, np.cumsum(p)))
    return fnr


@pytest.mark.parametrize(
    "plan",
    [
        hs.Plan([hs.Round(hs.RandomizedResponse(1.0))]),
        hs.Plan([hs.Round(hs.RandomizedResponse(0.7), count=4)]),
        hs.Plan([hs.Round(hs.ApproximateDP(0.5, 0.01), count=2), hs.Round(hs.RandomizedResponse(0.3))]),
        hs.Plan([hs.Round(hs.RandomizedResponse(1.0), hs.Poisson(0.3), count=3)]),
    ],
)
def test_the_trade_off_of_small_discrete_plans_is_that_of_brute_force(plan: hs.Plan) -> None:
    fpr = np.array([0.001, 0.03, 0.1, 0.26, 0.27, 0.5, 0.77, 0.95])
    truth = brute(plan, fpr)
    # the worse of the two orderings: the inverse function is the other one's
    grid = np.linspace(0, 1, 200_001)
    inverse = np.interp(fpr, brute(plan, grid)[::-1], grid[::-1])
    truth = np.minimum(truth, inverse)
    band = plan.profile().trade_off(fpr)
    assert (band.lower <= truth + 1e-9).all()
    assert (truth <= band.upper + 1e-5).all()
    assert (band.gap <= 2e-3).all()


@pytest.mark.parametrize("name", ["sgd", "mixed", "laplace", "boxes"])
def test_rates_hold_together(name: str) -> None:
    """Rates in order, no better than advantage allows, and the bound at every epsilon."""
    profile = PLANS[name].profile()
    fpr = np.linspace(0, 1, 101)
    tpr, fnr = profile.tpr(fpr), profile.trade_off(fpr)
    assert (tpr.lower >= fpr).all()
    assert np.allclose(tpr.upper + fnr.lower, 1.0, atol=3e-4)  # the second question has more nodes
    advantage = profile.advantage()
    assert (tpr.lower - fpr).max() <= advantage.upper * (1 + 1e-9)
    assert (tpr.upper - fpr).max() == pytest.approx(advantage.upper, rel=2e-3)
    assert (np.diff(tpr.upper) >= -1e-12).all()
    for epsilon in (0.1, 0.5, 1.0):
        delta = profile.delta(epsilon)
        assert (tpr.lower <= delta.upper + math.exp(epsilon) * fpr + 1e-12).all()
    assert np.allclose(profile.reconstruction(fpr).upper, tpr.upper, rtol=1e-3)


@settings(deadline=None, max_examples=15)
@given(st.floats(0.05, 4.0), st.floats(0.01, 0.99))
def test_the_bayes_risk_of_a_gaussian_is_the_closed_form(mu: float, prior: float) -> None:
    """The best threshold of the likelihood ratio."""
    cut = math.log(prior / (1 - prior)) / mu + mu / 2
    truth = prior * ndtr(-cut) + (1 - prior) * ndtr(cut - mu)
    band = gaussian(mu).profile().bayes_risk(prior)
    within(band, np.array(truth), 1e-11)
    assert band.gap <= 1e-5


@pytest.mark.long
@settings(deadline=None, max_examples=6)
@given(st.floats(0.1, 4.0))
def test_a_gaussian_is_fitted_by_itself(mu: float) -> None:
    fit = hs.Plan([hs.Round(hs.Gaussian(2 / mu), count=4)]).profile().gdp()
    assert fit.mu.lower <= mu * (1 + 1e-12)
    assert mu <= fit.mu.upper * (1 + 1e-12)
    assert fit.mu.relative_gap <= 1e-3
    assert fit.regret.upper < 1e-3


def test_mu_and_regret_of_randomised_response() -> None:
    """f has one corner, at rates 1/(1+e): mu is that of a Gaussian through it, and regret lies on the axes' ends."""
    fit = hs.Plan([hs.Round(hs.RandomizedResponse(1.0))]).profile().gdp()
    rate = 1 / (1 + math.e)
    assert fit.mu.upper == pytest.approx(-2 * ndtri(rate), rel=1e-6)
    mu = fit.mu.upper
    grid = np.linspace(0, 1, 20_001)
    f = np.maximum.reduce([1 - math.e * grid, (1 - grid) / math.e, np.zeros_like(grid)])
    v = grid - f
    line = np.linspace(-0.9999, 0.9999, 2001)
    ours = np.interp(line, v, grid)
    x = np.linspace(-9, 9, 40_001)
    its = np.interp(line, ndtr(x) - ndtr(-x - mu), ndtr(x))
    assert fit.regret.lower <= (ours - its).max() + 1e-6
    assert (ours - its).max() <= fit.regret.upper + 1e-6
    assert fit.regret.gap < 1e-4


def test_mu_is_claimed_from_the_least_rate_on_and_no_further() -> None:
    """A plan whose tests are good at no false alarms: the line of slope 1 is above no rate of which mu speaks.

    A record is seen for sure with probability ``s = 1 - 0.75^4``, else never: ``f = (1 - s) (1 - alpha)``, and in the
    other ordering ``f = 1 - alpha / (1 - s)``, its mirror image.
    """
    hidden = 0.75**4
    profile = hs.Plan(
        [4 * hs.Round(hs.Pmf(p=(Fraction(0), Fraction(1)), q=(Fraction(1, 4), Fraction(3, 4))))]
    ).profile()
    seen = [profile.mu(least) for least in (1e-3, 0.1, 0.2, 0.3)]
    for least, found in zip((1e-3, 0.1, 0.2), seen, strict=False):
        top = 1 - least / hidden  # the false alarms at which so many are missed
        inside = np.linspace(least, top, 10_001)
        truth = max(-ndtri(inside) - ndtri(hidden * (1 - inside)))
        assert found.lower <= truth + 1e-9
        assert truth <= found.upper + 1e-9
        assert found.upper - found.lower < 0.01
    ends = -ndtri(0.3) - ndtri(0.7 * hidden), -ndtri(1 - 0.3 / hidden) - ndtri(0.3)  # no test has both rates so large
    assert seen[3].lower <= max(ends) <= seen[3].upper
    assert seen[3].upper - seen[3].lower < 1e-5


def test_mu_is_enough_everywhere() -> None:
    """The trade-off function is above that of the Gaussian with mu, at rates of which mu speaks."""
    profile = SGD.profile()
    fit = profile.gdp(1e-6)
    x = np.linspace(-4.5, 4.5, 91)
    fpr = ndtr(x)
    fnr = profile.trade_off(fpr)
    its = ndtr(-x - fit.mu.upper)
    keep = its >= 1e-6
    assert (fnr.upper[keep] >= its[keep] * (1 - 1e-9)).all()
    # and at no distance kappa beyond the regret
    kappa = fit.regret.upper
    moved = profile.trade_off(np.minimum(fpr + kappa, 1.0))
    assert (moved.lower - kappa <= ndtr(-x - fit.mu.upper) + 1e-9).all()


def test_groups() -> None:
    """Of unsampled Gaussians the group's trade-off is that of k times the distance; of one record nothing new."""
    mu, k = 0.3, 3
    group = gaussian(mu).profile().group(k)
    fpr = np.array([1e-4, 0.01, 0.2, 0.7])
    truth = ndtr(ndtri(fpr) + k * mu)
    band = group.tpr(fpr)
    assert (truth <= band.upper + 1e-12).all()
    assert band.upper == pytest.approx(truth, rel=1e-3)
    at = np.array([0.0, 1.0, 3.0])
    exact = gaussian(k * mu).profile().delta(at)
    assert (exact.lower <= group.delta(at).upper).all()
    single = gaussian(mu).profile()
    assert (single.group(1).delta(at).upper >= single.delta(at).lower).all()
    pure = hs.Plan([hs.Round(hs.RandomizedResponse(0.5))]).profile().group(2).delta([1.0 + 1e-9])
    assert pure.upper[0] < 1e-8


def test_a_table_has_the_ends_of_delta() -> None:
    profile, at = SGD.profile(), [0.5, 1.0, 2.0]
    band, columns = profile.delta(at), profile.table(at)
    assert columns["epsilon"] == at
    assert (columns["delta_lower"], columns["delta_upper"]) == (band.lower.tolist(), band.upper.tolist())


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda p: p.delta([-1.0, 0.5]), "epsilon must be"),
        (lambda p: p.delta([math.nan]), "epsilon must be"),
        (lambda p: p.epsilon([0.5, 1.0]), "delta must be"),
        (lambda p: p.tpr(1.5), "fpr must be"),
        (lambda p: p.bayes_risk(0.0), "prior must be"),
        (lambda p: p.delta("a"), "epsilon must be a number"),
        (lambda p: p.group(0), "size must be"),
        (lambda p: p.gdp(0.7), "least_rate must be"),
    ],
)
def test_bad_input(ask: object, message: str) -> None:
    assert callable(ask)
    with pytest.raises(hs.InvalidInputError, match=message):
        ask(SGD.profile())


def test_one_ordering_has_no_error_rates() -> None:
    profile = hs.dp_sgd(1.0, 0.01, 100, adjacency="remove").profile()
    assert profile.delta(1.0).upper > 0
    for ask in (lambda: profile.tpr(0.1), lambda: profile.bayes_risk(), lambda: profile.gdp()):
        with pytest.raises(hs.UnsupportedError, match="both orderings"):
            ask()


def test_a_section_is_the_contour_at_its_own_epsilon() -> None:
    """At the epsilon it was laid for the many sums and the single one share their truth; far away they are wide."""
    for _, composition in compositions(hs.dp_sgd(1.0, 0.01, 10_000).directions):
        engine = ContourEngine(composition)
        found, terms = engine.log_delta(5.0, 1e-8), engine.at(5.0, 1e-8)
        ends = terms.log_delta(np.array([5.0, 0.0, 5.0001, 40.0]))
        assert ends.lower[0] <= found.upper
        assert found.lower <= ends.upper[0]
        assert ends.width[0] < 1e-7
        assert (ends.lower <= ends.upper).all()
        assert ends.upper[0] > ends.lower[2]


def test_small_false_negative_rates_of_a_box_are_the_closed_form() -> None:
    """f = max(1 - d - e^eps a, (1 - d - a) e^-eps, 0), near a = 1, where it is far below the rounding of 1."""
    for epsilon, delta in ((0.01, 1e-8), (1.0, 1e-6), (2.0, 1e-3)):
        fpr = 1 - delta * np.array([3.0, 1.5, 1.1, 1.01])
        rest = [Fraction(1) - Fraction(repr(delta)) - Fraction(at) for at in fpr.tolist()]
        truth = np.array([float(each) * math.exp(-epsilon) for each in rest])
        band = hs.Plan([hs.Round(hs.ApproximateDP(epsilon, delta))]).profile().trade_off(fpr)
        assert (band.lower <= truth * (1 + 1e-13)).all()
        assert (truth * (1 - 1e-13) <= band.upper).all()


def test_the_last_false_negative_rates_are_found() -> None:
    fpr = np.array([1 - 1e-12, 1 - 2.0**-53])
    band = gaussian(1.0).profile().trade_off(fpr)
    truth = ndtr(ndtri(1 - fpr) - 1.0)
    assert (band.lower <= truth * (1 + 1e-12)).all()
    assert band.lower == pytest.approx(truth, rel=1e-3)


LOUD = hs.Plan([hs.Round(hs.Gaussian(0.01), count=10_000)])


@pytest.mark.share(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "plan", [LOUD, hs.Plan([hs.Round(hs.RandomizedResponse(100.0), count=100)])], ids=["gaussian", "randomised"]
)
def test_no_mu_is_enough_for_certainty(plan: hs.Plan) -> None:
    """Not even a large one is claimed of a plan that hides nothing; 0 least of all."""
    fit = plan.profile().gdp()
    assert fit.mu.upper == math.inf
    assert fit.mu.reason
    assert 0 <= fit.regret.lower <= fit.regret.upper < 1e-9
    found = hs.calibrate(LOUD, "noise", GaussianDP(1.0))
    assert found.achieved.upper <= 1.0
    assert found.value == pytest.approx(1e4, rel=1e-3)  # times the noise that there is


def test_groups_far_out() -> None:
    """Where the exponentials leave the range of a double, and where delta does."""
    at = np.array([100.0, 1000.0, 2000.0, 3000.0])
    for mu in (1.0, 50.0):
        profile, exact = gaussian(mu).profile(), gaussian(2 * mu).profile().delta(at)
        band = profile.group(2).delta(at)
        assert (exact.lower <= band.upper).all()
        assert (profile.delta(at).lower <= band.upper).all()
        assert (band.upper <= 1).all()
        assert (profile.group(1).delta(at).upper <= profile.delta(at).upper * (1 + 1e-9) + 1e-323).all()
    assert gaussian(1.0).profile().group(2).delta(3000.0).upper <= 5e-324
    assert gaussian(1.0).profile().group(10**9).tpr(0.01).upper == 1.0


def test_deltas_with_few_digits_are_rounded_outward() -> None:
    """Below 1e-308 a double is a multiple of 5e-324."""
    profile = gaussian(1.0).profile()
    at = np.linspace(38.3, 38.9, 40)
    delta, log = profile.delta(at), profile.log_delta(at)
    for low, high, lower, upper in zip(delta.lower, delta.upper, log.lower, log.upper, strict=True):
        with mpmath.workdps(30):
            assert mpmath.mpf(float(low)) <= mpmath.exp(mpmath.mpf(float(lower)))
            assert mpmath.exp(mpmath.mpf(float(upper))) <= mpmath.mpf(float(high))


@pytest.mark.parametrize("epsilon", [0.0, 1e-6])
def test_hardly_any_loss(epsilon: float) -> None:
    profile = hs.Plan([hs.Round(hs.RandomizedResponse(epsilon))]).profile()
    assert profile.epsilon([0.0, 1e-15, 1e-6]).upper == pytest.approx([epsilon, epsilon, 0.0], abs=1e-9)
    assert profile.gdp().mu.upper < 1e-5


def test_epsilon_of_a_group_is_where_its_delta_is_small_enough() -> None:
    """Of one unsampled Gaussian round: not below the true epsilon of a group, whose laws are k times as far apart."""
    profile = hs.Plan([hs.Round(hs.Gaussian(noise_multiplier=5.0))]).profile()
    for size in (1, 2, 5):
        group = profile.group(size)
        found = group.epsilon([1e-3, 1e-6])
        truth = hs.Plan([hs.Round(hs.Gaussian(noise_multiplier=5.0 / size))])
        for delta, high, low in zip((1e-3, 1e-6), found.upper, found.lower, strict=True):
            assert size == 1 or group.delta(float(high)).upper <= delta
            assert high >= truth.epsilon(delta).lower
            assert low <= profile.epsilon(delta).upper
        below = group.delta(found.upper * (1 - 1e-5)).upper
        assert size == 1 or (below > [1e-3, 1e-6]).all()  # no smaller epsilon is certified


def test_epsilon_of_a_group_of_pure_rounds_is_at_most_so_many_times_theirs() -> None:
    group = hs.Plan([hs.Round(hs.RandomizedResponse(epsilon=0.5), count=3)]).profile().group(4)
    assert 1.5 <= float(group.epsilon(0.0).upper) <= 6.0 * (1 + 1e-6)
    leaky = hs.Plan([hs.Round(hs.ApproximateDP(epsilon=0.1, delta=0.01))]).profile().group(2)
    assert float(leaky.epsilon(1e-3).upper) == float("inf")
