"""The exponential mechanism: both ends against choices that are listed, and against the three published numbers."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.directions.directions import Directions
from hockeystick.pairs import Composition, GaussianPair
from hockeystick.pairs.bounded_blocks import block_pair, blocks, curve
from hockeystick.pairs.bounded_range import BoundedRangeCurve, two_losses
from hockeystick.pairs.laplace_window import WindowPair
from hockeystick.plan.mechanisms.exponential import SIXTEENTHS
from hockeystick.values.adjacency import Direction
from hockeystick.values.exact import decimal
from oracle.bounded_range import adaptive_delta, chosen_delta, log_moment, non_adaptive_delta, two_loss_delta
from oracle.real import mp
from oracle.windows import window_delta

RELATIONS = ("remove", "add", "add-or-remove", "replace-one")


def plan(epsilon: float, count: int = 1, adjacency: str = "remove") -> hs.Plan:
    return hs.Plan([hs.Round(hs.Exponential(epsilon), count=count)], adjacency)


def product_delta(epsilon: float, rounds: int, at: float) -> mp.mpf:
    """The composition of the pair that dominates one round, in closed form."""
    e = mp.mpf(repr(epsilon))
    return window_delta(epsilon, 1 / (4 * mp.sinh(e / 2)), mp.zero, mp.zero, rounds, at)


def test_the_three_published_numbers() -> None:
    """Epsilon 0.5, 10 rounds, at 2.5: fixed beforehand, chosen on the way, and the product of pairs of one round."""
    fixed, chosen = non_adaptive_delta(0.5, 10, 2.5, 200), adaptive_delta(0.5, 10, 2.5, 100)
    product = product_delta(0.5, 10, 2.5)
    assert (f"{fixed:.1e}", f"{chosen:.1e}", f"{float(product):.1e}") == ("5.0e-04", "5.6e-04", "1.8e-03")
    for adjacency in RELATIONS:
        found = plan(0.5, 10, adjacency).delta(2.5)
        assert 0.93 * fixed <= found.lower <= fixed * (1 + 1e-9)
        assert chosen <= found.upper <= chosen * 1.01
    given = Directions.of_pairs({Direction.REMOVE: [(WindowPair.bounded_range(decimal(0.5)), 10)]})
    pairs = hs.ACCOUNTANTS["auto"].delta(given, 2.5, None)
    assert isinstance(pairs, hs.DeltaBound)
    assert pairs.lower <= product <= pairs.upper
    assert pairs.upper - pairs.lower <= 1e-5 * pairs.upper


@pytest.mark.parametrize("adjacency", RELATIONS)
@pytest.mark.parametrize(("epsilon", "rounds"), [(0.5, 2), (1.0, 3), (0.2, 12), (3.0, 4)])
def test_the_ends_are_what_they_are_said_to_be(adjacency: str, epsilon: float, rounds: int) -> None:
    for at in (0.0, 0.3 * epsilon, 0.5 * epsilon * math.sqrt(rounds)):
        found = plan(epsilon, rounds, adjacency).delta(at)
        below = max(two_loss_delta(epsilon, mp.mpf(number) / 16, rounds, at) for number in SIXTEENTHS)
        product = product_delta(epsilon, rounds, at)
        assert found.lower <= below * (1 + mp.mpf("1e-12"))
        assert found.lower == pytest.approx(float(below), rel=1e-5)
        assert found.upper <= product * (1 + mp.mpf("1e-5"))
        assert adaptive_delta(epsilon, rounds, 0.0, 16) <= plan(epsilon, rounds, adjacency).delta(0.0).upper
    assert "the interval is as narrow as current theory allows" in (found.reason or "")


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_one_round_is_the_best_of_two_losses(epsilon: float) -> None:
    """The curve of the pair is the largest over t of all rounds of two losses."""
    for part in (0.0, 0.35, 0.8):
        at = part * epsilon
        largest = max(two_loss_delta(epsilon, mp.mpf(step) / 200, 1, at) for step in range(1, 200))
        upper = plan(epsilon).delta(at).upper
        assert largest <= upper * (1 + 1e-12)
        assert upper <= largest * (1 + 1e-3)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.05, 4.0), st.integers(2, 6), st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_every_choice_among_candidates_is_below_the_upper_end(
    epsilon: float, candidates: int, seed: int, part: float
) -> None:
    drawn = random.Random(seed)
    before = [drawn.uniform(-6, 6) for _ in range(candidates)]
    after = [value + drawn.choice([-1, 1, drawn.uniform(-1, 1)]) for value in before]
    truth = chosen_delta(before, after, epsilon, part * epsilon)
    assert truth <= plan(epsilon).delta(part * epsilon).upper * (1 + 1e-12)


@pytest.mark.parametrize("order", [1e-30, 1e-16, 0.01, 0.5, 1.0, 7.0, 60.0, 1e4])
@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 6.0])
def test_the_moments_are_the_largest_of_two_losses(epsilon: float, order: float) -> None:
    found, truth = BoundedRangeCurve(decimal(epsilon)).log_moment(order), log_moment(epsilon, order)
    assert found >= truth
    assert found <= truth * mp.mpf("1.001") + mp.mpf("1e-12")
    for number in SIXTEENTHS:
        one = two_losses(decimal(epsilon), decimal(number / 16)).log_moment(order)
        assert one <= found * (1 + 1e-9) + 1e-11
    assert found <= WindowPair.bounded_range(decimal(epsilon)).log_moment(order) * (1 + 1e-9) + 1e-12


def test_many_rounds_are_composed_by_blocks() -> None:
    """Variance epsilon^2 / 4 a round below; of the product of pairs of one round it is epsilon^2 / 3."""
    found = plan(0.1, 1000).epsilon(1e-6)
    assert found.upper < 1.03 * found.lower
    assert found.upper < plan(0.1, 1000).epsilon(1e-6, accountant="rdp").quoted
    gaussian = hs.Plan([hs.Round(hs.GDP(0.05 * math.sqrt(1000)))]).epsilon(1e-6)
    assert found.lower == pytest.approx(gaussian.upper, rel=1e-2)


@pytest.mark.parametrize(("epsilon", "rounds"), [(0.5, 10), (1.0, 3), (0.2, 12), (3.0, 4), (0.01, 5), (20.0, 2)])
def test_a_block_is_a_little_above_the_adaptive_optimum(epsilon: float, rounds: int) -> None:
    """The recursion over t with 100 of them, each a lower bound of the optimum; between them 1 % at these deltas."""
    for place in range(0, 32 * rounds, 8 * rounds):
        at = epsilon * place / 32
        chosen = adaptive_delta(epsilon, rounds, at, 96)
        found = float(curve(epsilon, rounds)[place])
        assert chosen <= found * (1 + 1e-9)
        assert found <= chosen * 1.02


@settings(max_examples=25, deadline=None)
@given(st.floats(0.003, 30.0), st.integers(1, 6), st.floats(0.0, 1.0))
def test_no_choice_of_rounds_is_above_a_block(epsilon: float, rounds: int, share: float) -> None:
    """Rounds whose t is drawn anew for every answer before: one tree of choices, evaluated exactly."""
    drawn = random.Random(f"{epsilon} {rounds} {share}")
    at = share * rounds * epsilon

    def delta(left: int, log_a: mp.mpf) -> mp.mpf:
        if not left:
            return max(1 - mp.exp(log_a), mp.zero)
        e, t = mp.mpf(epsilon), mp.mpf(drawn.random()) * epsilon
        high = (mp.exp(e) - mp.exp(t)) / mp.expm1(e)
        return high * delta(left - 1, log_a - t) + (1 - high) * delta(left - 1, log_a - t + e)

    with mp.workdps(30):
        known = block_pair(decimal(epsilon), rounds)
        a = mp.exp(at)
        above = sum(
            max(mp.mpf(p.numerator) / p.denominator - a * mp.mpf(q.numerator) / q.denominator, 0)
            for p, q in zip(known.p, known.q, strict=True)
        )
        assert delta(rounds, mp.mpf(at)) <= above * (1 + mp.mpf("1e-12"))


def test_a_block_of_one_round_is_its_closed_form() -> None:
    """``(sqrt(E) - sqrt(a))^2 / (E - 1)``: the maximum over t is exact, and only roundings are added."""
    for epsilon in (0.01, 0.5, 4.0):
        whole = mp.expm1(mp.mpf(epsilon))
        for place, found in enumerate(curve(epsilon, 1).tolist()):
            a = mp.exp(mp.mpf(epsilon) * place / 32)
            truth = (mp.sqrt(1 + whole) - mp.sqrt(a)) ** 2 / whole
            assert truth <= found * (1 + 1e-15)
            assert found <= truth * (1 + mp.mpf("1e-6")) + mp.mpf("1e-11") / min(epsilon, 1) or truth < 1e-40


def test_small_and_large_ranges_are_left_to_the_pair_of_one_round() -> None:
    assert blocks(decimal(0.001), 100) == []
    assert blocks(decimal(300.0), 5) == []
    assert blocks(decimal(0.5), 1) == []
    assert [count for _, count in blocks(decimal(0.5), 40)] == [2, 1]
    assert [count for _, count in blocks(decimal(0.5), 32)] == [2]


def test_blocks_compose_with_other_rounds_in_the_profile_too() -> None:
    mixed = hs.Plan([hs.Round(hs.Exponential(0.5), count=10), hs.Round(hs.Gaussian(3.0), count=4)])
    found = mixed.delta(2.0)
    assert found.lower <= found.upper
    below = mixed.profile().delta([2.0])
    assert below.upper[0] == pytest.approx(found.upper, rel=1e-3)
    product = hs.ACCOUNTANTS["grid"].delta(
        Directions.of_pairs(
            {Direction.REMOVE: [(WindowPair.bounded_range(decimal(0.5)), 10), (GaussianPair(1 / 3), 4)]}
        ),
        2.0,
        None,
    )
    assert isinstance(product, hs.DeltaBound)
    assert found.upper < 0.7 * product.lower


def test_sampled_it_is_the_mixture_of_the_pair() -> None:
    """An upper bound: of (1 - q) Q + q P against Q the window has the losses ``log(1 - q + q e^l)``."""
    epsilon, q = 1.0, mp.mpf("0.1")
    for at in (0.0, 0.05, 0.12):
        found = hs.Plan([hs.Round(hs.Exponential(epsilon), hs.Poisson(0.1))], "remove").delta(at)
        less = mp.exp(mp.mpf(repr(at))) - 1 + q
        mass = mp.quad(lambda x, less=less: mp.exp(-x / 2) * (q * mp.exp(x) - less), [mp.log(less / q), epsilon])
        truth = mass / (4 * mp.sinh(mp.mpf(1) / 2))
        assert isinstance(found, hs.DeltaUpperBound)
        assert found.upper >= truth
        assert found.upper == pytest.approx(float(truth), rel=1e-9)


def test_a_pure_epsilon_is_exact_and_0_costs_nothing() -> None:
    assert plan(0.1, 10).epsilon(0.0).upper == 1.0
    assert plan(0.0, 10).epsilon(1e-6).upper == 0.0
    assert plan(0.0).delta(0.0).upper == 0.0


def test_beside_other_rounds() -> None:
    """With noise both ends compose; a record that is sampled has its own directions."""
    mixed = hs.Plan([hs.Round(hs.Exponential(0.2), count=20), hs.Round(hs.Gaussian(1.0), hs.Poisson(0.01), 1000)])
    found = mixed.epsilon(1e-6)
    alone = hs.Plan([hs.Round(hs.Gaussian(1.0), hs.Poisson(0.01), 1000)]).epsilon(1e-6)
    black = hs.Plan(
        [hs.Round(hs.RandomizedResponse(0.2), count=20), hs.Round(hs.Gaussian(1.0), hs.Poisson(0.01), 1000)]
    )
    assert alone.upper < found.lower < found.upper < black.epsilon(1e-6).lower
    assert Composition([(two_losses(decimal(0.2), decimal(0.5)), 3)]).count == 3


def test_every_accountant_answers_or_says_why_not() -> None:
    asked = plan(0.5, 3)
    certified = asked.epsilon(1e-3)
    for name in hs.ACCOUNTANTS:
        try:
            ends = asked.epsilon(1e-3, accountant=name).ends
        except hs.UnsupportedError:
            continue
        assert ends.get("upper", math.inf) >= certified.lower
        assert ends.get("lower", 0.0) <= certified.upper


def test_plan_files_know_it() -> None:
    made = plan(0.5, 7)
    assert hs.Plan.from_dict(made.to_dict()) == made
    assert hs.Exponential(0.5).curve(Direction.ADD) == BoundedRangeCurve(decimal(0.5))
    assert hs.calibrate(plan(1.0, 2), "epsilon", hs.targets.Epsilon(1.0, 1e-6), tolerance=0.01).achieved.upper <= 1.0


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 40.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.3])
def test_one_round_has_its_closed_form_from_both_sides(epsilon: float, delta: float) -> None:
    """The best t of each delta is attained; two rounds with one t are below two with the best of each."""
    with mp.workdps(40):
        least = mp.tanh(mp.mpf(epsilon) / 4)  # from this delta on epsilon is 0
        form = mp.mpf(repr(epsilon)) + 2 * mp.log(
            1 - mp.sqrt(mp.mpf(repr(delta)) * (1 - mp.exp(-mp.mpf(repr(epsilon)))))
        )
        truth = form if delta < least else mp.zero
        found = hs.Plan([hs.Round(hs.Exponential(epsilon))]).epsilon(delta)
        assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 1e-12 * (1 + epsilon)
    twice = hs.Plan([hs.Round(hs.Exponential(epsilon), count=2)]).epsilon(delta)
    assert twice.lower < twice.upper or twice.upper == 0
