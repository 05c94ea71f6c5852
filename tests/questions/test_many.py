"""Many plans at once: against stored true values, against the engines for one plan, and bit by bit against itself.

Every certificate is a plan's own, so that three things can be held to. The truth lies inside (true values with 18
digits, computed elsewhere). The interval overlaps that of the engine for one plan, which shares the law of the rounds
and the last comparison with the batch, and neither nodes, line, envelope nor search. And the bits of an answer are the
same alone, in any company and in any order.
"""

from __future__ import annotations

import json
import math
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.questions import many
from hockeystick.values.errors import InvalidInputError, UnsupportedError

DATA = Path(__file__).parent.parent / "data" / "reference_values.json"
RECORDS = [
    record
    for record in json.loads(DATA.read_text(encoding="utf-8"))["records"]
    if record["value"] not in ("inf", "Infinity")
]


def everyday(number: int, seed: int = 0, adjacency: str = "add-or-remove") -> tuple[list[hs.Plan], list[float]]:
    """DP-SGD plans and deltas, log-uniform over what is met in practice."""
    draw = random.Random(seed)

    def between(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    plans = [
        hs.dp_sgd(
            between(0.5, 8), sample_rate=between(1e-4, 0.2), steps=round(between(100, 30_000)), adjacency=adjacency
        )
        for _ in range(number)
    ]
    return plans, [between(1e-8, 1e-5) for _ in range(number)]


@pytest.mark.parametrize("quantity", ["epsilon", "delta"])
def test_the_true_values_lie_within(quantity: str) -> None:
    """All records at once, of whatever mechanism: what the batch does not take is asked by itself."""
    records = [record for record in RECORDS if record["quantity"] == quantity]
    plans = [hs.Plan.from_dict(record["plan"]) for record in records]
    if quantity == "epsilon":
        found = hs.epsilons(plans, [float(record["delta"]) for record in records])
    else:
        found = hs.deltas(plans, [float(record["epsilon"]) for record in records])
    for at, record in enumerate(records):
        true = Fraction(Decimal(record["value"]))
        assert Fraction(float(found.lower[at])) <= true <= Fraction(float(found.upper[at])), record
    assert found.guarantees == ("certified",) * len(records)


@pytest.mark.parametrize("adjacency", ["add-or-remove", "remove", "add"])
def test_epsilons_overlap_those_of_one_plan_and_are_as_narrow(adjacency: str) -> None:
    """Both contain the truth, so that they overlap; at most one in fifty is wider than 1e-6 and none than 1e-3."""
    plans, delta = everyday(150, seed=1, adjacency=adjacency)
    found = hs.epsilons(plans, delta)
    width = found.gap / found.upper
    assert np.sum(width > 1e-6) <= 3
    assert width.max() <= 1e-3
    for at in range(0, len(plans), 10):
        one = plans[at].epsilon(delta[at])
        assert one.lower <= found.upper[at], plans[at]
        assert found.lower[at] <= one.upper, plans[at]
        assert found.directions[at] == one.direction
        assert found.lower[at] <= found.estimate[at] <= found.upper[at]


def test_deltas_overlap_those_of_one_plan() -> None:
    """At epsilons about those of the deltas."""
    plans, delta = everyday(40, seed=2)
    epsilon = hs.epsilons(plans, delta).estimate * np.linspace(0.5, 1.5, len(plans))
    found = hs.deltas(plans, epsilon)
    for at in range(0, len(plans), 4):
        one = plans[at].delta(float(epsilon[at]))
        assert one.lower <= found.upper[at], plans[at]
        assert found.lower[at] <= one.upper, plans[at]
        assert found.gap[at] <= 1e-3 * found.upper[at]


def test_of_everyday_deltas_at_most_one_in_a_hundred_is_wide() -> None:
    """At the epsilons of the plans; none is wider than 1e-4, as those of many draws are asked by themselves."""
    plans, delta = everyday(400, seed=0)
    found = hs.deltas(plans, hs.epsilons(plans, delta).estimate)
    width = found.gap / found.upper
    assert np.sum(width > 1e-6) <= 4
    assert width.max() <= 1e-4


def test_a_wide_interval_is_asked_by_itself() -> None:
    """Epsilons in the hundreds: the batch has 1e-5, the engine for one plan less than 1e-7 as soon."""
    plan = hs.dp_sgd(0.5125, sample_rate=0.102, steps=3361)
    key = many._key(plan, 340.0)
    assert key is not None
    assert many._by_batch([key], "delta", 1e-3)[key].upper < math.inf
    assert many._by_batch([key], "delta", None) == {}
    one, found = plan.delta(340.0), hs.deltas([plan], 340.0)
    assert (found.lower[0], found.upper[0], found.reasons[0]) == (one.lower, one.upper, None)


def of_kinds(kinds: int, number: int, adjacency: str = "add-or-remove") -> tuple[list[hs.Plan], list[float]]:
    """Plans of several kinds of DP-SGD steps and deltas, log-uniform."""
    draw = random.Random(kinds)

    def between(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    def rounds() -> hs.Round:
        return hs.Round(hs.Gaussian(between(0.5, 8)), hs.Poisson(between(1e-4, 0.2)), round(between(10, 10_000)))

    return [hs.Plan([rounds() for _ in range(kinds)], adjacency) for _ in range(number)], [
        between(1e-8, 1e-5) for _ in range(number)
    ]


@pytest.mark.share(5)
@pytest.mark.parametrize("kinds", [2, 3, 4, 5, 6])
def test_plans_of_several_kinds_overlap_those_of_one(kinds: int) -> None:
    """Two hundred of each: both intervals contain the truth; the direction is the same, and the width class."""
    plans, delta = of_kinds(kinds, 200)
    found = hs.epsilons(plans, delta)
    width = found.gap / found.upper
    assert np.sum(width > 1e-6) <= 4
    assert width.max() <= 1e-3
    for at, plan in enumerate(plans):
        one = plan.epsilon(delta[at])
        assert one.lower <= found.upper[at], plan
        assert found.lower[at] <= one.upper, plan
        assert found.directions[at] == one.direction
    deltas = hs.deltas(plans[:20], found.estimate[:20])
    for at, plan in enumerate(plans[:20]):
        one_delta = plan.delta(float(found.estimate[at]))
        assert one_delta.lower <= deltas.upper[at], plan
        assert deltas.lower[at] <= one_delta.upper, plan


@pytest.mark.parametrize("adjacency", ["remove", "add", "zero-out"])
def test_several_kinds_under_other_relations_overlap_those_of_one(adjacency: str) -> None:
    plans, delta = of_kinds(3, 20, adjacency)
    found = hs.epsilons(plans, delta)
    for at, plan in enumerate(plans):
        one = plan.epsilon(delta[at])
        assert one.lower <= found.upper[at], plan
        assert found.lower[at] <= one.upper, plan
        assert found.directions[at] == one.direction


def test_the_order_of_kinds_and_plans_is_not_seen() -> None:
    """Plans of one to five kinds, mixed; their rounds in another order, one of them in two parts: the same bits."""
    listed = [(plan, at) for kinds in (2, 3, 5) for plan, at in zip(*of_kinds(kinds, 12), strict=True)]
    listed += list(zip(*everyday(12, seed=9), strict=True))
    plans, delta = [plan for plan, _ in listed], [at for _, at in listed]
    found = hs.epsilons(plans, delta)
    draw, order = random.Random(3), list(range(len(plans)))
    draw.shuffle(order)
    others = []
    for at in order:
        first, *rest = plans[at].rounds
        part = hs.Round(first.mechanism, first.sampling, first.count // 2)
        rounds = [part, *rest, hs.Round(first.mechanism, first.sampling, first.count - part.count)]
        draw.shuffle(rounds)
        others.append(hs.Plan(rounds, plans[at].adjacency))
    again = hs.epsilons(others, [delta[at] for at in order])
    for number, at in enumerate(order):
        assert (again.lower[number], again.estimate[number], again.upper[number]) == (
            found.lower[at],
            found.estimate[at],
            found.upper[at],
        )
    for at in range(0, len(plans), 5):
        alone = hs.epsilons([plans[at]], delta[at])
        assert (alone.lower[0], alone.upper[0]) == (found.lower[at], found.upper[at])


def test_several_kinds_are_all_answered_by_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty kinds, too; one that is no sampled Gaussian is left to the engines for one plan."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a plan was asked by itself")

    sixty = hs.Plan([hs.Round(hs.Gaussian(1 + kind / 50), hs.Poisson(0.01), 100) for kind in range(60)])
    assert many._key(sixty, 1e-6)
    assert not many._key(hs.Plan([sixty.rounds[0], hs.Round(hs.Laplace(1.0))]), 1e-6)
    by_sizes = hs.Round(hs.Gaussian(1.0), hs.Poisson(batch_size=1, dataset_size=100), 50)
    joined = many._key(hs.Plan([sixty.rounds[0], by_sizes]), 1e-6)
    assert joined is not None
    assert joined.rounds.kinds == ((1.0, 0.01, 150),)
    plans, delta = of_kinds(4, 30)
    with monkeypatch.context() as patch:
        patch.setattr(hs.Plan, "epsilon", never)
        found = hs.epsilons([*plans, sixty], [*delta, 1e-6])
    one = sixty.epsilon(1e-6)
    assert one.lower <= found.upper[-1]
    assert found.lower[-1] <= one.upper


def test_adding_a_record_is_not_taken_for_milder() -> None:
    """The maximum of both directions is at least each of them, and is one of them."""
    both, delta = everyday(60, seed=3)
    sides = [hs.epsilons([hs.Plan(plan.rounds, side) for plan in both], delta) for side in ("remove", "add")]
    worse = hs.epsilons(both, delta)
    most = np.maximum(sides[0].upper, sides[1].upper)
    assert (worse.upper >= np.maximum(sides[0].lower, sides[1].lower)).all()
    assert (worse.lower <= most).all()


def test_equal_questions_have_equal_answers_wherever_they_stand() -> None:
    """Each alone, all at once, and in another order with some of them twice: the same bits."""
    plans, delta = everyday(48, seed=4)
    at_once = hs.epsilons(plans, delta)
    order = random.Random(5).choices(range(len(plans)), k=70)
    mixed = hs.epsilons([plans[at] for at in order], [delta[at] for at in order])
    for number, at in enumerate(order):
        assert (mixed.lower[number], mixed.estimate[number], mixed.upper[number]) == (
            at_once.lower[at],
            at_once.estimate[at],
            at_once.upper[at],
        )
    for at in range(0, len(plans), 6):
        alone = hs.epsilons([plans[at]], delta[at])
        assert (alone.lower[0], alone.estimate[0], alone.upper[0]) == (
            at_once.lower[at],
            at_once.estimate[at],
            at_once.upper[at],
        )


@pytest.mark.parametrize("adjacency", [each for each in hs.Adjacency if each is not hs.Adjacency.REPLACE_ONE])
def test_rounds_that_take_every_record_are_laid_beside_the_sampled_ones(adjacency: hs.Adjacency) -> None:
    """Intervals overlap those of the engine for one plan, whichever direction is asked, and are as narrow."""
    sampled = [hs.Round(hs.Gaussian(2.0), hs.Poisson(0.01), 100), hs.Round(hs.Gaussian(1.0), hs.Poisson(0.1), 20)]
    whole = [hs.Round(hs.Gaussian(5.0), count=2), hs.Round(hs.Gaussian(9.0), hs.Poisson(1.0), 3)]
    plans = [hs.Plan([*sampled[:some], *whole[:most]], adjacency) for some in (1, 2) for most in (1, 2)]
    assert all(many._key(plan, 1e-5) for plan in plans)
    found = hs.epsilons(plans, 1e-5)
    for at, plan in enumerate(plans):
        one = plan.epsilon(1e-5)
        assert max(one.lower, found.lower[at]) <= min(one.upper, found.upper[at])
        assert found.upper[at] - found.lower[at] <= 1e-6 * found.upper[at]
    logs = hs.deltas(plans, 1.0)
    assert all(
        plan.delta(1.0).lower <= high and low <= plan.delta(1.0).upper
        for plan, low, high in zip(plans, logs.lower, logs.upper, strict=True)
    )


def test_what_the_batch_does_not_take_is_asked_by_itself() -> None:
    """Other mechanisms, no sampling at all, delta 0, no rounds: the bits of ``plan.epsilon``."""
    rounds = [
        [10 * hs.Round(hs.Laplace(10.0))],
        [100 * hs.Round(hs.Gaussian(2.0), hs.Poisson(0.01)), hs.Round(hs.Laplace(20.0))],
        [5 * hs.Round(hs.Gaussian(5.0))],
        [hs.Round(hs.Gaussian(1.0), hs.Poisson(0.01), 0)],
        [100 * hs.Round(hs.RDP((2.0, 8.0, 32.0), (0.01, 0.05, 0.3)))],
    ]
    plans = [hs.Plan(item) for item in rounds]
    found = hs.epsilons(plans, 1e-5)
    for at, plan in enumerate(plans):
        one = plan.epsilon(1e-5)
        assert (found.upper[at], found.accountants[at], found.reasons[at]) == (float(one), one.accountant, one.reason)
        assert found.guarantees[at] == one.guarantee
    assert hs.epsilons([plans[0], plans[3]], [0.0, 1e-5]).upper.tolist() == [
        plans[0].epsilon(0.0).upper,
        0.0,
    ]


def test_a_gap_that_the_batch_misses_is_met_by_the_engine_for_one_plan() -> None:
    """Asked for 1e-9, each interval is that narrow or says why not."""
    plans, delta = everyday(6, seed=6)
    found = hs.epsilons(plans, delta, gap=1e-9)
    for at in range(len(plans)):
        assert found.gap[at] <= 1e-9 * found.upper[at] or found.reasons[at]


def test_deltas_of_the_plans_themselves_and_no_plans_at_all() -> None:
    """The default target is each plan's own."""
    plans = [hs.dp_sgd(1.0, sample_rate=0.01, steps=steps, delta=1e-6) for steps in (100, 1000)]
    assert hs.epsilons(plans).upper.tolist() == hs.epsilons(plans, 1e-6).upper.tolist()
    assert len(hs.epsilons([], 1e-6)) == len(hs.deltas([], 1.0)) == 0


def test_refusals_name_the_plan() -> None:
    """One line: the number of the plan, the key, the value received and what is accepted."""
    plan = hs.dp_sgd(1.0, sample_rate=0.01, steps=100)
    with pytest.raises(InvalidInputError, match=r"^plan 1: no delta: the plan has no target delta"):
        hs.epsilons([hs.dp_sgd(1.0, sample_rate=0.01, steps=100, delta=1e-6), plan])
    with pytest.raises(
        InvalidInputError, match=r"^plan 1: delta must be 0 or a number, at least 1e-300 and less than 1"
    ):
        hs.epsilons([plan, plan], [1e-6, 1.5])
    with pytest.raises(InvalidInputError, match=r"^delta must be 0 or a number, at least 1e-300 and less than 1"):
        hs.epsilons([plan, plan], math.nan)
    with pytest.raises(InvalidInputError, match=r"one for each of the 2 plans; received an array of shape \(3,\)"):
        hs.deltas([plan, plan], [1.0, 2.0, 3.0])
    with pytest.raises(InvalidInputError, match=r"^plan 1: plans must be Plan objects; received 3"):
        hs.epsilons([plan, 3], 1e-6)  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match=r"^plans must be a sequence of plans; received 3"):
        hs.epsilons(3, 1e-6)  # type: ignore[arg-type]
    refused = hs.Plan([hs.Round(hs.Laplace(1.0), hs.Poisson(0.1))], "replace-one")
    with pytest.raises(UnsupportedError, match=r"^plan 1: mechanism 'laplace' .* no dominating pair is proven"):
        hs.epsilons([plan, refused], 1e-6)


def test_the_everyday_plans_are_all_answered_by_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of a hundred is left to the engines for one plan, each of which takes as long as dozens in the batch."""
    plans, delta = everyday(100, seed=7)

    def never(*_: object) -> None:
        raise AssertionError("a plan was asked by itself")

    monkeypatch.setattr(hs.Plan, "epsilon", never)
    assert np.isfinite(hs.epsilons(plans, delta).upper).all()


@pytest.mark.parametrize("gap", [None, 1e-4])
def test_an_infinite_end_of_the_batch_is_asked_by_itself(gap: float | None) -> None:
    """Much noise and a large delta: epsilon is 0, which the batch does not find."""
    plan = hs.dp_sgd(50.0, 0.01, 50)
    found = hs.epsilons([plan, hs.dp_sgd(1.0, 0.01, 50)], 0.01, gap=gap)
    assert plan.epsilon(0.01).upper == 0
    assert found.upper[0] == 0
    assert found.upper[1] < 0.1
