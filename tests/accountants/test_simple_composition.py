"""Simple and advanced composition: the published formulas, and the per-round guarantees from which they start."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.accountants.shared.round_guarantee import RoundGuarantee, guarantees, split
from hockeystick.pairs import (
    BlackBoxPair,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
)

PAIRS: list[DominatingPair] = [
    GaussianPair(1.0),
    LaplacePair(1.0, 2.0),
    BlackBoxPair(0.5, 1e-6),
    PoissonRemovePair(GaussianPair(1.0), 0.01),
    PoissonAddPair(GaussianPair(1.0), 0.01),
    PoissonAddPair(BlackBoxPair(0.5, 1e-6), 0.1),
]


def black_boxes(epsilon: float, delta: float, count: int) -> hs.Plan:
    return hs.Plan([hs.Round(hs.ApproximateDP(epsilon, delta), count=count)])


def test_epsilons_and_deltas_add_up() -> None:
    """At delta just above ``sum delta_i`` simple composition is ``sum epsilon_i``, which is attained by its curve."""
    plan = black_boxes(0.1, 1e-8, 20) + black_boxes(0.3, 1e-7, 3)
    total = 20e-8 + 3e-7
    assert plan.epsilon(total * (1 + 1e-9), accountant="basic").quoted == pytest.approx(2.9, rel=1e-8)
    assert plan.epsilon(total * (1 - 1e-9), accountant="basic").quoted == math.inf
    assert plan.delta(2.9, accountant="basic").quoted == pytest.approx(total, rel=1e-8)


def test_pure_epsilons_add_up_at_delta_zero() -> None:
    plan = hs.Plan([hs.Round(hs.RandomizedResponse(0.2), count=7), hs.Round(hs.Laplace(4.0), count=3)])
    assert plan.epsilon(0.0, accountant="basic").quoted == pytest.approx(2.15, rel=1e-15)
    assert plan.delta(2.15, accountant="basic").quoted == 0.0
    assert hs.dp_sgd(1.0, 0.01, 10).epsilon(0.0, accountant="basic").reason is not None


def kairouz(epsilon: float, count: int, slack: float) -> float:
    """Kairouz, Oh, Viswanath 2015, Theorem 3.4, the smallest of its three terms."""
    drift = math.expm1(epsilon) * epsilon * count / (math.exp(epsilon) + 1)
    spread = epsilon * math.sqrt(2 * count)
    depths = math.log(1 / slack), math.log(math.e + math.sqrt(count) * epsilon / slack)
    return min(count * epsilon, *(drift + spread * math.sqrt(depth) for depth in depths))


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 100), (0.01, 1000), (1.0, 10), (0.05, 5000)])
def test_advanced_composition_of_pure_rounds_is_the_theorem(epsilon: float, count: int) -> None:
    """Pure rounds at their own epsilon, all of delta for the slack; other splits are looked at, and may only help."""
    plan = hs.Plan([hs.Round(hs.RandomizedResponse(epsilon), count=count)])
    slack = 1e-6
    found = plan.epsilon(slack, accountant="advanced").quoted
    assert found == pytest.approx(kairouz(epsilon, count, slack), rel=1e-6)
    assert plan.epsilon(slack).upper <= found


def test_advanced_beats_simple_composition_for_many_rounds_and_is_never_above_it() -> None:
    many, few = black_boxes(0.01, 1e-12, 5000), black_boxes(0.5, 1e-9, 3)
    assert many.epsilon(1e-6, accountant="advanced").quoted < 0.1 * many.epsilon(1e-6, accountant="basic").quoted
    assert few.epsilon(1e-6, accountant="advanced").quoted <= few.epsilon(1e-6, accountant="basic").quoted * (1 + 1e-9)


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_the_slack_covers_the_worst_loss(count: int) -> None:
    """Against binomials: ``delta(m + x) <= e^(-x^2/2V)``, and ``sqrt(V)`` times that for x^2 >= V."""
    for epsilon in (0.01, 0.3, 2.0):
        law = hs.Plan([hs.Round(hs.RandomizedResponse(epsilon), count=count)])
        variance = count * epsilon**2
        for x in (0.5, 1.0, 2.0, 5.0):
            at = count * epsilon * math.tanh(0.5 * epsilon) + x * math.sqrt(variance)
            bound = math.exp(-0.5 * x * x) * (math.sqrt(variance) if x >= 1 and variance < 1 else 1.0)
            assert law.delta(at).lower <= bound


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_an_epsilon_is_good_for_its_delta_and_hardly_larger_than_needed(pair: DominatingPair) -> None:
    """The certified engines agree with the curve, from above."""
    kind = RoundGuarantee(pair, mutual=False)
    for delta in (1e-2, 1e-4, 1e-9, 1e-30):
        epsilon = kind.epsilon(delta)
        if math.isinf(epsilon):
            assert delta <= kind.least_delta
            continue
        assert float(kind.delta(np.array([epsilon]))[0]) <= delta
        if epsilon > 0:
            assert float(kind.delta(np.array([epsilon * (1 - 1e-6)]))[0]) > delta


def test_mutual_guarantees_cover_both_directions() -> None:
    """delta of add is seen from remove, as both are one experiment with the names exchanged."""
    remove, add = (
        RoundGuarantee(kind(GaussianPair(1.0), 0.1), mutual=True) for kind in (PoissonRemovePair, PoissonAddPair)
    )
    epsilon = np.array([0.0, 0.01, 0.1, 0.5, 2.0])
    assert remove.delta(epsilon) == pytest.approx(add.delta(epsilon), rel=1e-12)
    alone = RoundGuarantee(PoissonAddPair(GaussianPair(1.0), 0.1), mutual=False)
    assert (alone.delta(epsilon[1:]) < add.delta(epsilon[1:])).all()
    assert alone.edge == pytest.approx(-math.log1p(-0.1))
    assert add.edge == math.inf


def test_one_sided_guarantees_do_not_compose_as_mutual_ones() -> None:
    """Why: losses {epsilon, -inf} are one-sided epsilon, and P has loss epsilon for certain, k epsilon in k rounds.

    Advanced composition of the add direction alone would say that ``-log(1 - q)`` per round grows like sqrt(k).
    """
    plan = hs.dp_sgd(0.3, 0.01, 100, adjacency="add")  # little noise: nearly that law
    per_round = -math.log1p(-0.01)
    claimed = kairouz(per_round, 100, 1e-9)
    assert plan.epsilon(1e-9).lower > claimed
    assert plan.epsilon(1e-9, accountant="advanced").quoted >= plan.epsilon(1e-9).lower


def test_a_split_spends_the_budget_and_not_more() -> None:
    kinds = guarantees([(GaussianPair(0.5), 10), (LaplacePair(1.0, 5.0), 20), (BlackBoxPair(0.1, 1e-8), 3)], True)
    least = [kind.least_delta for kind, _ in kinds]
    deltas = split(kinds, least, 1e-5, [1.0, 2.0, 3.0])
    assert deltas is not None
    spent = math.fsum(count * delta for (_, count), delta in zip(kinds, deltas, strict=True))
    assert 0.999e-5 < spent <= 1e-5
    assert split(kinds, least, 2e-8, [1.0, 2.0, 3.0]) is None


@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_advanced_composition_of_many_kinds_that_are_all_but_equal(delta: float) -> None:
    """The division among them loses little against one kind of so many rounds."""
    scales = [30.0 * (1 + 1e-9 * i) for i in range(70)]
    kinds = hs.Plan([hs.Round(hs.Laplace(scale)) for scale in scales])
    one = hs.Plan([hs.Round(hs.Laplace(30.0), count=70)])
    found, known = (plan.epsilon(delta, accountant="advanced").quoted for plan in (kinds, one))
    assert known * (1 - 1e-6) <= found <= 1.01 * known
