"""Privacy curves, loss distributions and trade-off functions: closed forms, round trips, and who lies above whom."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import hockeystick as hs
from hockeystick.accountants.shared.privacy_curve import PrivacyCurve
from hockeystick.conversions import (
    LossDistribution,
    TradeOff,
    curve_of_tails,
    curve_of_trade_off,
    dominating_pair,
    loss_of_trade_off,
    subsampled,
    tails_of_curve,
    trade_off,
)
from hockeystick.pairs import (
    BlackBoxPair,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
    PoissonSubstitutionPair,
)

EPSILONS = np.linspace(-3.0, 3.0, 61)
SMOOTH: list[DominatingPair] = [
    GaussianPair(1.0),
    LaplacePair(1.0, 0.7),
    PoissonRemovePair(GaussianPair(1.25), 0.1),
    PoissonAddPair(GaussianPair(1.25), 0.1),
    PoissonSubstitutionPair(1.0, 0.2),
]
masses = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=8)


@st.composite
def distributions(draw: st.DrawFn) -> LossDistribution:
    """Any two laws on a few outcomes, with or without outcomes that only one of them has."""
    p = np.array(draw(masses))
    q = np.array(draw(st.lists(st.floats(0.01, 1.0), min_size=len(p), max_size=len(p))))
    one, other = draw(st.sampled_from([0.0, 0.1])), draw(st.sampled_from([0.0, 0.2]))
    p, q = (1 - one) * p / p.sum(), (1 - other) * q / q.sum()
    order = np.argsort(np.log(p / q))
    _, where = np.unique(np.log(p / q)[order].round(9), return_inverse=True)
    merged_p, merged_q = (np.bincount(where, weights=law[order]).astype(np.float64) for law in (p, q))
    return LossDistribution(np.log(merged_p / merged_q), merged_p, merged_q, one, other)


def same(one: LossDistribution, other: LossDistribution, within: float = 1e-9) -> None:
    assert one.losses == pytest.approx(other.losses, abs=within * 1e3)
    for key in ("p", "q", "p_infinite", "q_infinite"):
        assert getattr(one, key) == pytest.approx(getattr(other, key), abs=within)


def response(epsilon: float) -> LossDistribution:
    return LossDistribution.of_masses(
        np.array([-epsilon, epsilon]), np.array([1, math.exp(epsilon)]) / (1 + math.exp(epsilon))
    )


@given(distributions())
def test_the_curve_gives_the_pair_back(loss: LossDistribution) -> None:
    """Chords between the losses of a discrete pair are its curve: nothing is lost."""
    same(dominating_pair(loss.delta, loss.losses), loss)


@given(distributions())
def test_the_trade_off_function_gives_the_pair_back(loss: LossDistribution) -> None:
    same(loss_of_trade_off(trade_off(loss)), loss)


@given(distributions(), st.floats(-3, 3))
def test_curve_and_trade_off_function_are_conjugates(loss: LossDistribution, epsilon: float) -> None:
    """Dong, Roth, Su: delta(eps) = 1 + f*(-e^eps), the supremum being at a knot."""
    f = trade_off(loss)
    at = np.array([epsilon])
    assert curve_of_trade_off(f, f.alpha)(at) == pytest.approx(loss.delta(at), abs=1e-12)


@given(distributions())
def test_the_mirror_image_swaps_the_errors(loss: LossDistribution) -> None:
    """T(P, Q) is the inverse of T(Q, P); delta_(Q, P)(eps) = 1 - e^eps + e^eps delta_(P, Q)(-eps)."""
    f, back = trade_off(loss), trade_off(loss.mirrored())
    inside = f.alpha[f.alpha < 1 - loss.q_infinite - 1e-9]
    assert back(f(inside)) == pytest.approx(inside, abs=1e-9)
    mirrored = loss.mirrored().delta(EPSILONS)
    assert mirrored == pytest.approx(1 - np.exp(EPSILONS) * (1 - loss.delta(-EPSILONS)), abs=1e-12)


@given(distributions(), st.just(1.0) | st.floats(0.01, 0.999))
def test_sampling_is_the_mixture(loss: LossDistribution, rate: float) -> None:
    """The curve of ``(1 - q) Q + q P`` against Q, outcome by outcome, and of Q against it."""
    p, q = np.append(loss.p, [loss.p_infinite, 0.0]), np.append(loss.q, [0.0, loss.q_infinite])
    mixed = (1 - rate) * q + rate * p
    for epsilon in (-1.0, 0.0, 0.05, 1.0):
        remove = np.maximum(mixed - math.exp(epsilon) * q, 0).sum()
        add = np.maximum(q - math.exp(epsilon) * mixed, 0).sum()
        at = np.array([epsilon])
        assert subsampled(loss, rate).delta(at)[0] == pytest.approx(remove, abs=1e-12)
        assert subsampled(loss, rate, "add").delta(at)[0] == pytest.approx(add, abs=1e-12)


@pytest.mark.parametrize("add", [False, True])
def test_sampling_agrees_with_the_pairs_of_the_library(add: bool) -> None:
    """Black boxes are discrete: the same curve, with the mass at infinite loss."""
    box = BlackBoxPair(0.8, 1e-3)
    atoms = box.atoms.finite()
    loss = LossDistribution(atoms.loss, np.exp(atoms.log_p), np.exp(atoms.log_q), 1e-3, 1e-3)
    known = PoissonAddPair(box, 0.2) if add else PoissonRemovePair(box, 0.2)
    found = subsampled(loss, 0.2, hs.Direction.ADD if add else hs.Direction.REMOVE)
    assert found.delta(EPSILONS) == pytest.approx(PrivacyCurve(known).delta(EPSILONS), abs=1e-14)
    same(subsampled(loss, 1.0), loss, 1e-15)


@pytest.mark.parametrize("pair", SMOOTH, ids=repr)
def test_a_dominating_pair_lies_above_and_touches_at_its_losses(pair: DominatingPair) -> None:
    """The error of chords is of second order in the mesh: a quarter at half of it."""
    curve = PrivacyCurve(pair).delta
    between = np.linspace(-2.0, 2.0, 997)
    errors = []
    for points in (161, 321):
        losses = np.linspace(-4.0, 4.0, points)
        found = dominating_pair(curve, losses)
        inner = losses[np.abs(losses) < 2]
        assert found.delta(inner) == pytest.approx(curve(inner), abs=1e-11)
        excess = found.delta(between) - curve(between)
        assert excess.min() > -1e-11
        errors.append(excess.max())
    assert errors[1] < 0.5 * errors[0] or errors[1] < 1e-11


@pytest.mark.parametrize("pair", SMOOTH, ids=repr)
def test_tails_make_the_curve_and_come_back_from_it(pair: DominatingPair) -> None:
    """Theorem 3.3 of Gopi, Lee, Wutschitz, with the derivative -e^eps Q(L > eps)."""
    exact = PrivacyCurve(pair)
    delta = curve_of_tails(lambda e: exact.above(e)[0], lambda e: exact.above(e)[1])
    assert delta(EPSILONS) == pytest.approx(exact.delta(EPSILONS), abs=1e-13)
    step = 1e-5
    away = EPSILONS[np.min(np.abs(EPSILONS[:, None] - np.append(pair.atoms.loss, 99.0)), axis=1) > 0.01] + 0.0123
    away = away[away > math.log(0.9) + 0.02]  # sampled pairs have a kink at log(1 - q)
    p_above, q_above = tails_of_curve(delta, lambda e: (delta(e + step) - delta(e - step)) / (2 * step))
    assert p_above(away) == pytest.approx(exact.above(away)[0], abs=1e-7)
    assert q_above(away) == pytest.approx(exact.above(away)[1], abs=1e-7)


def test_gaussian_trade_off_functions() -> None:
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu), above that of a dominating pair and below its own chords."""

    def exact(alpha: np.ndarray) -> np.ndarray:
        values: np.ndarray = ndtr(ndtri(1 - alpha) - 1.0)
        return values

    levels = np.linspace(0.001, 0.999, 500)
    fine = trade_off(dominating_pair(PrivacyCurve(GaussianPair(1.0)).delta, np.linspace(-5, 5, 4001)))
    assert (fine(levels) <= exact(levels) + 1e-12).all()
    assert fine(levels) == pytest.approx(exact(levels), abs=2e-6)
    knots = np.linspace(0.0, 1.0, 201)
    optimistic = loss_of_trade_off(TradeOff(knots, exact(knots)))
    assert (optimistic.delta(EPSILONS) <= PrivacyCurve(GaussianPair(1.0)).delta(EPSILONS) + 1e-12).all()


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.5, 0.1)])
def test_the_trade_off_function_of_a_guarantee(epsilon: float, delta: float) -> None:
    """Dong, Roth, Su: f_(eps, delta)(alpha) = max(0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha))."""
    atoms = BlackBoxPair(epsilon, delta).atoms.finite()
    box = LossDistribution(atoms.loss, np.exp(atoms.log_p), np.exp(atoms.log_q), delta, delta)
    alpha = np.linspace(0, 1, 101)
    true = np.maximum(np.maximum(1 - delta - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - delta - alpha)), 0)
    assert trade_off(box)(alpha) == pytest.approx(true, abs=1e-12)


def test_the_pair_of_a_curve_in_the_form_of_its_proposition() -> None:
    """Q uniform on [0, 1], P with distribution function F(x) = 1 + h*(x - 1) = f(1 - x), by the conjugate itself."""
    loss = LossDistribution.of_masses(np.array([-0.7, 0.2, 1.1]), np.array([0.3, 0.3, 0.3]), 0.1)
    alphas = np.concatenate([[0.0], np.exp(loss.losses)])  # the kinks of h
    h = np.append(1.0, loss.delta(loss.losses))
    for x in (0.0, 0.2, 0.5, 0.9, 0.999):
        conjugate = float(np.max((x - 1) * alphas - h))
        assert 1 + conjugate == pytest.approx(float(trade_off(loss)(np.array([1 - x]))[0]), abs=1e-12)


def test_the_ends_of_the_scale() -> None:
    """Nothing is told apart: the loss is 0. Everything is: all mass at infinite loss."""
    alike = dominating_pair(lambda e: np.maximum(-np.expm1(e), 0.0), np.array([-1.0, 0.0, 1.0]))
    assert (alike.p_infinite, alike.q_infinite) == (0.0, 0.0)
    assert alike.delta(np.array([0.0, 0.5])).tolist() == [0.0, 0.0]
    apart = dominating_pair(np.ones_like, np.array([0.0, 1.0]))
    assert (apart.p_infinite, apart.q_infinite, len(apart.losses)) == (1.0, 1.0, 0)
    assert trade_off(apart)(np.array([0.0, 0.3])).tolist() == [0.0, 0.0]
    assert trade_off(alike)(np.array([0.25])) == pytest.approx([0.75])


def test_a_slope_beyond_the_range_of_a_double_is_a_loss() -> None:
    """p / q = 1e320 has no double, its logarithm has one."""
    f = TradeOff(np.array([0.0, 1e-320, 1.0]), np.array([1.0, 0.5, 0.0]))
    assert loss_of_trade_off(f).losses[-1] == pytest.approx(math.log(0.5) - math.log(1e-320))


def test_losses_far_below_keep_their_masses() -> None:
    """At eps = -30 the curve itself has no digits left beside 1 - e^eps; nothing turns negative."""
    loss = dominating_pair(PrivacyCurve(GaussianPair(3.0)).delta, np.linspace(-30, 30, 2001))
    assert loss.q_infinite >= 0
    assert loss.delta(np.array([1.0])) == pytest.approx(
        PrivacyCurve(GaussianPair(3.0)).delta(np.array([1.0])), rel=1e-4
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LossDistribution.of_masses(np.array([1.0]), np.array([0.5])), "add up to 1"),
        (lambda: LossDistribution.of_masses(np.array([-1.0]), np.array([1.0])), r"E e\^-L must be at most 1"),
        (
            lambda: LossDistribution.of_masses(np.array([-1.0, 1.0]), np.array([0.26895, 0.73105])),
            r"E e\^-L must be at most 1",
        ),
        (lambda: LossDistribution.of_masses(np.array([1.0, 0.0]), np.array([0.5, 0.5])), "strictly increasing"),
        (lambda: LossDistribution(np.array([0.0]), np.array([1.0]), np.array([0.5]), 0.0, 0.5), r"ratio e\^loss"),
        (lambda: LossDistribution(np.array([0.0]), np.array([1.0, 0.0]), np.array([1.0])), "of one length"),
        (lambda: dominating_pair(lambda e: np.full_like(e, -0.1), np.array([0.0])), "lies between"),
        (lambda: dominating_pair(lambda e: np.full_like(e, np.nan), np.array([0.0])), "lies between"),
        (lambda: dominating_pair(lambda e: 0.5 + 0.1 * e, np.array([0.0, 1.0])), "decreasing and convex"),
        (lambda: dominating_pair(lambda e: 0.9 - 0.1 * np.exp(2 * e), np.array([-2.0, -1.0, 0.0])), "not around"),
        (lambda: dominating_pair(np.ones_like, np.array([1.0, 0.0])), "strictly increasing"),
        (lambda: dominating_pair(np.ones_like, np.array([0.0, 5e-324])), "increasing by more than rounding"),
        (lambda: TradeOff(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.9, 0.0])), "convex"),
        (lambda: TradeOff(np.array([0.0, 0.5]), np.array([1.0, 0.0])), "from 0 to 1"),
        (lambda: TradeOff(np.array([0.0, 1.0]), np.array([0.0, 1.0])), "decrease"),
        (
            lambda: LossDistribution.of_masses(np.array([0.0, 1.0]), np.array([1.0])),
            "losses and p must be .* of one length",
        ),
        (lambda: LossDistribution.of_masses(np.array([-math.inf]), np.array([0.0])), "finite"),
        (lambda: LossDistribution.of_masses(np.array([0.0]), np.array([math.inf])), "received"),
        (
            lambda: LossDistribution.of_masses(np.array(["x"]), np.array([1.0])),
            "losses must be a number or an array of numbers",
        ),
        (lambda: LossDistribution.of_masses(np.array([1.0]), np.array([0.5]), None), "p_infinite must be a number"),  # type: ignore[arg-type]
        (lambda: LossDistribution(np.array([0.0]), np.array([math.inf]), np.array([math.inf])), "add up to 1"),
        (lambda: TradeOff(np.array(["x"]), np.array([1.0])), "alpha must be a number or an array of numbers"),
        (lambda: dominating_pair(lambda e: e[:1], np.array([0.0, 1.0])), "epsilons and delta must be .* of one length"),
        (lambda: dominating_pair(np.ones_like, np.array([0.0, math.inf])), "within 700 of 0"),
        (lambda: subsampled(response(1.0), 0.0), "rate must be"),
        (lambda: subsampled(response(1.0), 0.5, "replace-one"), "direction must be 'remove' or 'add'"),
    ],
)
def test_what_is_no_such_thing_is_refused(make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(hs.InvalidInputError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_lists_are_arrays() -> None:
    """Lists, and numbers where places are asked, give what arrays give."""
    losses: Any = [-1.0, 1.0]
    masses: Any = [1 / (1 + math.e), math.e / (1 + math.e)]
    levels: Any = [0.0, 0.5, 1.0]
    errors: Any = [1.0, 0.2, 0.0]
    at: Any = [0.0]
    loss = LossDistribution.of_masses(losses, masses)
    assert loss.delta(levels).tolist() == response(1.0).delta(np.array(levels)).tolist()
    assert loss.delta(at[0]) == loss.delta(np.array([0.0]))[0]
    assert loss.mirrored().losses.tolist() == losses
    f = TradeOff(levels, errors)
    assert f(levels).tolist() == errors
    assert curve_of_trade_off(f, levels)(at).round(6).tolist() == [0.3]
    assert dominating_pair(loss.delta, losses).delta(at) == pytest.approx(loss.delta(at))
    gaussian = curve_of_tails(lambda e: ndtr(0.5 - e), lambda e: ndtr(-0.5 - e))
    assert gaussian(at).round(6).tolist() == [0.382925]
    p_above, q_above = tails_of_curve(gaussian, lambda e: -np.exp(e) * ndtr(-0.5 - e))
    assert (p_above(at) - ndtr(0.5))[0] == pytest.approx(0.0)
    assert (q_above(at) - ndtr(-0.5))[0] == pytest.approx(0.0)


def test_masses_that_were_rounded_when_they_were_written_down_are_taken() -> None:
    """Ten digits of 1 / (1 + e): Q adds up to 1.00000000007, which is no reason to speak of a mass of its own."""
    loss = LossDistribution.of_masses(np.array([-1.0, 1.0]), np.array([0.2689414214, 0.7310585786]))
    assert loss.q_infinite == 0.0
    assert float(loss.delta(np.array(0.0))) == pytest.approx(math.tanh(0.5), abs=1e-9)
