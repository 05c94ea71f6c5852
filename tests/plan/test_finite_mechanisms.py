"""Mechanisms with finitely many losses against the oracle, which lists the outcomes of each from its definition."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

import hockeystick as hs
import oracle
from hockeystick.pairs.finite import SpacedPair
from hockeystick.values.adjacency import Direction
from hockeystick.values.exact import decimal
from oracle.real import to_mpf

PMF = {"mechanism": "pmf", "p": ["1/2", 0.3, "0.2", 0], "q": [0.4, "1/4", 0.3, "1/20"]}
TO_BOTH_SIDES = {"mechanism": "pmf", "p": ["0.5", "0.499", "0.001", 0], "q": ["0.6", "0.398", 0, "0.002"]}

ROUNDS: list[dict[str, Any]] = [
    {"mechanism": "randomized-response", "epsilon": 0.5, "categories": 7},
    {"mechanism": "randomized-response", "epsilon": 3.0, "categories": 1000},
    {"mechanism": "staircase", "epsilon": 0.7},
    {"mechanism": "staircase", "epsilon": 0.7, "gamma": 0.2},
    {"mechanism": "staircase", "epsilon": 0.7, "gamma": 0.8, "sensitivity": 3.0},
    {"mechanism": "staircase", "epsilon": 2.0, "gamma": 0.5},
    {"mechanism": "staircase", "epsilon": 2.0, "gamma": 0.0},
    {"mechanism": "staircase", "epsilon": 2.0, "gamma": 1.0},
    {"mechanism": "discrete-laplace", "scale": 2.5},
    {"mechanism": "discrete-laplace", "scale": 1.5, "sensitivity": 3},
    PMF,
    TO_BOTH_SIDES,
    {"mechanism": "tradeoff", "alphas": [0, 0.1, "1/3"], "betas": [0.95, 0.4, "1/5"]},
    {"mechanism": "privacy-curve", "epsilons": [0.1, 0.5, 1.0], "deltas": [0.1, 0.02, 1e-4]},
]
FEW: list[dict[str, Any]] = [
    {"mechanism": "discrete-gaussian", "noise_multiplier": 1.5},
    {"mechanism": "discrete-gaussian", "noise_multiplier": 0.4, "sensitivity": 3},
    {"mechanism": "binomial", "trials": 10},
    {"mechanism": "binomial", "trials": 6, "probability": 0.3, "sensitivity": 2},
]


def pmf(p: Any, q: Any) -> hs.Pmf:
    """The mechanism of lists of anything."""
    return hs.Pmf(p, q)


def name(item: dict[str, Any]) -> str:
    return " ".join(
        str(value) for key, value in item.items() if key not in ("p", "q", "alphas", "betas", "epsilons", "deltas")
    )


def held(item: dict[str, Any], adjacency: str, epsilons: tuple[float, ...] = (0.0, 0.3, 1.0)) -> None:
    """The truth within, to 1e-9 of itself, and proved where proofs know the round."""
    table = {"adjacency": adjacency, "round": [item]}
    plan = hs.Plan.from_dict(table)
    for epsilon in epsilons:
        truth = oracle.delta(table, epsilon, 30)
        found = plan.delta(epsilon)
        assert found.lower - mp.mpf("1e-45") <= truth <= found.upper + mp.mpf("1e-45")
        assert found.upper - found.lower <= 1e-9 * found.upper
        if item["mechanism"] == "privacy-curve":
            continue
        proved = plan.delta(epsilon, proof=True)
        assert proved.lower - mp.mpf("1e-45") <= truth <= proved.upper + mp.mpf("1e-45")
        assert proved.upper - proved.lower <= 1e-6 * proved.upper


@pytest.mark.parametrize("item", [*ROUNDS, *FEW], ids=name)
@pytest.mark.parametrize("adjacency", ["add", "remove"])
def test_one_round_is_its_outcomes(item: dict[str, Any], adjacency: str) -> None:
    held({**item, "count": 1}, adjacency)
    held({**item, "count": 1, "sampling": "poisson", "sample_rate": 0.1}, adjacency, (0.0, 0.05))


@pytest.mark.parametrize("item", ROUNDS, ids=name)
@pytest.mark.parametrize("adjacency", ["add", "remove"])
def test_several_rounds_are_their_sums(item: dict[str, Any], adjacency: str) -> None:
    held({**item, "count": 5}, adjacency)
    held({**item, "count": 4, "sampling": "poisson", "sample_rate": 0.1}, adjacency, (0.0, 0.05))


@pytest.mark.parametrize(
    "item", [one for one in [*ROUNDS, *FEW] if one["mechanism"] not in ("pmf", "binomial", "tradeoff")], ids=name
)
def test_a_replaced_record_moves_twice_as_far_or_has_its_own_guarantee(item: dict[str, Any]) -> None:
    held({**item, "count": 1}, "replace-one")


@pytest.mark.parametrize("item", [PMF, FEW[2]], ids=name)
def test_what_is_not_proven_for_a_replaced_record_is_refused(item: dict[str, Any]) -> None:
    plan = hs.Plan.from_dict({"adjacency": "replace-one", "round": [item]})
    with pytest.raises(hs.UnsupportedError, match="replace"):
        plan.epsilon(1e-6)


# Laws on a lattice, many rounds: computed elsewhere in 113-bit arithmetic, to 18 digits and more.
ELSEWHERE = [
    ({"mechanism": "discrete-gaussian", "noise_multiplier": 1.0, "count": 100}, "1e-6", "96.75230185023864239262617"),
    ({"mechanism": "discrete-gaussian", "noise_multiplier": 1.0, "count": 100}, "1e-100", "261.9912813819685993089038"),
    ({"mechanism": "discrete-gaussian", "noise_multiplier": 1.0, "count": 1}, "1e-40", "13.49874990299985162026393"),
    ({"mechanism": "discrete-gaussian", "noise_multiplier": 20.0, "count": 10}, "1e-5", "0.5612913009756390709003259"),
    (
        {
            "mechanism": "discrete-gaussian",
            "noise_multiplier": 5.0,
            "count": 100,
            "sampling": "poisson",
            "sample_rate": 0.01,
        },
        "1e-7",
        "0.08634543425026692702196058",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("item", "delta", "value"), ELSEWHERE, ids=lambda item: name(item) if isinstance(item, dict) else item
)
def test_many_rounds_of_discrete_gaussian_noise(item: dict[str, Any], delta: str, value: str) -> None:
    adjacency = "remove" if "sampling" in item else "add-or-remove"
    found = hs.Plan.from_dict({"adjacency": adjacency, "round": [item]}).epsilon(float(delta))
    assert Fraction(found.lower) <= Fraction(value) <= Fraction(found.upper)
    assert found.upper - found.lower <= 1e-6 * found.upper
    if "sampling" not in item:
        proved = hs.Plan.from_dict({"adjacency": adjacency, "round": [item]}).epsilon(float(delta), proof=True)
        assert Fraction(proved.lower) <= Fraction(value) <= Fraction(proved.upper)
        assert proved.upper - proved.lower <= 1e-6 * proved.upper


@pytest.mark.share(2)
@pytest.mark.parametrize("smaller", [1, 2, 3])
def test_a_smaller_difference_is_dominated(smaller: int) -> None:
    """The lemma of pairs/discrete.py at work: the oracle's laws at the differences below the largest."""
    for epsilon in (0.0, 0.1, 0.5, 1.0):
        for item, scaled in (
            ({"mechanism": "discrete-laplace", "scale": 2.5}, {}),
            ({"mechanism": "discrete-gaussian", "noise_multiplier": Fraction(6, smaller)}, {"noise_multiplier": "3/2"}),
        ):
            less = {"adjacency": "remove", "round": [{**item, "sensitivity": smaller}]}
            most = {"adjacency": "remove", "round": [{**item, **scaled, "sensitivity": 4}]}
            assert oracle.delta(less, epsilon) <= oracle.delta(most, epsilon) + mp.mpf("1e-40")


@st.composite
def laws(draw: st.DrawFn, most: int = 4) -> tuple[list[Fraction], list[Fraction]]:
    """Two laws with denominators up to 60; outcomes may be impossible under either."""
    size = draw(st.integers(1, most))
    out = []
    for _ in range(2):
        weights = draw(st.lists(st.integers(0, 15), min_size=size, max_size=size).filter(any))
        out.append([Fraction(weight, sum(weights)) for weight in weights])
    return out[0], out[1]


@settings(max_examples=60, deadline=None)
@given(laws(), st.integers(1, 4), st.sampled_from([0.0, 0.2, 1.0, 3.0]), st.booleans())
def test_any_pair_of_laws_is_enumerated(
    law: tuple[list[Fraction], list[Fraction]], count: int, at: float, add: bool
) -> None:
    """delta in exact rationals but for e^epsilon: the sum over all sequences of outcomes."""
    p, q = law
    plan = hs.Plan([hs.Round(pmf(p, q), count=count)], "add" if add else "remove")
    found = plan.delta(at)
    with mp.workdps(40):
        alpha, total = mp.exp(mp.mpf(repr(at))), mp.zero
        masses: dict[tuple[Fraction, Fraction], int] = defaultdict(int)
        for sequence in itertools.product(range(len(p)), repeat=count):
            a, b = Fraction(1), Fraction(1)
            for outcome in sequence:
                a, b = a * p[outcome], b * q[outcome]
            masses[(b, a) if add else (a, b)] += 1
        for (a, b), times in masses.items():
            excess = mp.mpf(a.numerator) / a.denominator - alpha * mp.mpf(b.numerator) / b.denominator
            total += times * max(excess, mp.zero)
    assert found.lower - 1e-15 * float(total) <= total + mp.mpf("1e-40")
    assert found.upper >= total - mp.mpf("1e-40")
    assert found.upper - found.lower <= 1e-9 * found.upper + 1e-14


def test_probabilities_are_the_decimals_and_quotients_that_are_written() -> None:
    made = pmf([0.1, "0.2", "7/10"], [Fraction(1, 3), "1/3", "1/3"])
    assert made.p == (Fraction(1, 10), Fraction(1, 5), Fraction(7, 10))
    assert sum(made.q) == 1
    plan = hs.Plan([hs.Round(made, count=3)])
    assert plan.to_dict()["round"][0]["p"] == [0.1, 0.2, 0.7]
    assert plan.to_dict()["round"][0]["q"] == ["1/3", "1/3", "1/3"]
    assert hs.Plan.from_dict(plan.to_dict()) == plan


@pytest.mark.parametrize(
    ("p", "q", "said"),
    [
        ([0.5, 0.5], [1], "q must have as many elements as p; received 1 and 2"),
        ([0.5, 0.4], [0.5, 0.5], "of p must add up to 1 exactly, as the decimals they print; they miss it by 0.1"),
        ([0.5, 0.5], [0.5, 0.500001], "of q must add up to 1"),
        ([1.5, -0.5], [0.5, 0.5], "element 1 of p must be a number from 0 to 1"),
        (["half", 0.5], [0.5, 0.5], "element 1 of p must be a number from 0 to 1, or one in quotation marks"),
        (["1/0", 0.5], [0.5, 0.5], "element 1 of p"),
        (["1e-99999999", 1], [0.5, 0.5], "element 1 of p"),
        ([True, 0], [0.5, 0.5], "element 1 of p"),
        ([], [], "received 0 elements"),
        ("0.5", [0.5], "p must be a list"),
    ],
)  # fmt: skip
def test_what_is_no_law_is_refused(p: Any, q: Any, said: str) -> None:
    with pytest.raises(hs.InvalidInputError) as caught:
        pmf(p, q)
    assert said in str(caught.value)


def test_floats_that_do_not_print_a_law_are_refused_with_the_remedy() -> None:
    """A third prints as a decimal that misses it; three of them miss 1 by 1e-16."""
    with pytest.raises(hs.InvalidInputError, match='miss it by 1e-16: write quotients such as "1/3"'):
        pmf([1 / 3] * 3, ["1/3"] * 3)
    assert pmf([0.1, 0.2, 0.7], ["1/3"] * 3).p == (Fraction(1, 10), Fraction(1, 5), Fraction(7, 10))


@pytest.mark.parametrize(
    "item", [{**ROUNDS[0], "count": 40}, {**PMF, "count": 40}, {**ROUNDS[9], "count": 20}], ids=name
)
def test_every_accountant_answers_or_says_why_not(item: dict[str, Any]) -> None:
    plan = hs.Plan.from_dict({"adjacency": "add-or-remove", "round": [item]})
    certified = plan.epsilon(0.05)
    for accountant in hs.ACCOUNTANTS:
        try:
            ends = plan.epsilon(0.05, accountant=accountant).ends
        except hs.UnsupportedError:
            continue
        assert ends.get("upper", certified.upper) >= certified.lower * (1 - 1e-12)
        assert ends.get("lower", certified.lower) <= certified.upper * (1 + 1e-12)


def test_no_answers_but_two_is_the_binary_response() -> None:
    two, many = (hs.Plan([hs.Round(hs.RandomizedResponse(0.5, number), count=9)]) for number in (2, 3))
    assert two.epsilon(1e-3) == hs.Plan([hs.Round(hs.RandomizedResponse(0.5), count=9)]).epsilon(1e-3)
    assert many.epsilon(1e-3).upper < two.epsilon(1e-3).lower


def test_a_pure_epsilon_is_exact() -> None:
    for mechanism in (hs.Staircase(0.1), hs.RandomizedResponse(0.1, 5), hs.DiscreteLaplace(10.0)):
        assert hs.Plan([hs.Round(mechanism, count=10)]).epsilon(0.0) == hs.Bound(1.0, 1.0, 1.0)
    assert hs.Plan([hs.Round(hs.DiscreteGaussian(3.0))]).epsilon(0.0).lower == float("inf")


@pytest.mark.parametrize("epsilon", [1e-6, 0.7, 20.0, 100.0])
@pytest.mark.parametrize("gamma", [0.0, 1e-300, 1e-9, 0.3, 0.4999999999999999, 0.6, 1.0])
def test_masses_of_the_staircase_are_those_of_many_digits(epsilon: float, gamma: float) -> None:
    """Where e^-epsilon and the high share of a stair are next to nothing, too."""
    pair = hs.Staircase(epsilon, gamma=gamma).pair(Direction.ADD)
    assert isinstance(pair, SpacedPair)
    with mp.workdps(700):
        fall, high = mp.exp(-to_mpf(decimal(epsilon))), to_mpf(decimal(gamma))
        total, half = high + fall * (1 - high), mp.mpf("0.5")
        share = mp.log((min(high, half) + fall * max(half - high, 0)) / total)
        rest = mp.log(abs(high - half) * (1 - fall) * (fall if high < half else 1) / total)
        assert abs(pair.log_p[2] - share) <= 4e-16
        assert abs(pair.log_p[1] - rest) <= 4e-15 * max(1, abs(rest))


def test_another_mechanism_is_not_taken_for_a_slip() -> None:
    with pytest.raises(hs.InvalidInputError) as caught:
        hs.Plan.from_dict({"round": [{"mechanism": "discrete-laplacian", "scale": 1.0}]})
    assert "did you mean 'discrete-laplace'" in str(caught.value)
    assert hs.Plan.from_dict({"round": [{"mechanism": "discrete-laplace", "scale": 1.0}]}).rounds
