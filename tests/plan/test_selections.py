"""Permute-and-flip, report-noisy-max and the sparse vector technique against laws integrated from their definitions."""

from __future__ import annotations

import math
import random

import pytest
from mpmath import mp

import hockeystick as hs
from oracle.selections import above_threshold, law_delta, noisy_max, permute_and_flip, product

RELATIONS = ("remove", "add", "add-or-remove", "replace-one")
SLIP = mp.mpf("1e-12")  # of the quadrature


def one(mechanism: hs.PermuteAndFlip | hs.ReportNoisyMax | hs.SparseVector, count: int = 1) -> hs.Plan:
    return hs.Plan([hs.Round(mechanism, count=count)])


def changed(utilities: list[float], drawn: random.Random) -> list[float]:
    """The utilities on a neighbouring dataset: each changes by 1 at most."""
    return [value + drawn.choice([-1.0, 1.0, drawn.uniform(-1, 1)]) for value in utilities]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("epsilon", [0.4, 3.0])
def test_selections_have_the_pure_epsilon(seed: int, epsilon: float) -> None:
    """All losses are at most epsilon, and delta is at or below the upper end, of one round and of two."""
    drawn = random.Random(seed)
    before = [drawn.uniform(0, 4) for _ in range(3)]
    after = changed(before, drawn)
    for mechanism in (hs.PermuteAndFlip(epsilon), hs.ReportNoisyMax(epsilon)):
        laws = [
            permute_and_flip(values, epsilon) if mechanism.name == "permute-and-flip" else noisy_max(values, epsilon)
            for values in (before, after)
        ]
        assert abs(mp.fsum(laws[0]) - 1) < SLIP
        assert max(abs(mp.log(a / b)) for a, b in zip(*laws, strict=True)) <= epsilon * (1 + SLIP)
        for at in (0.0, 0.4 * epsilon):
            for rounds in (1, 2):
                p, q = (product(law, rounds) for law in laws)
                truth = law_delta(p, q, at)
                assert truth <= one(mechanism, rounds).delta(at).upper + SLIP


def test_permute_and_flip_is_noisy_max_with_exponential_noise() -> None:
    for values in ([0.0, 1.5], [0.3, -1.0, 2.0]):
        pairs = zip(permute_and_flip(values, 1.3), noisy_max(values, 1.3, "exponential"), strict=True)
        assert max(abs(a - b) for a, b in pairs) < SLIP


@pytest.mark.parametrize("adjacency", RELATIONS)
@pytest.mark.parametrize("rounds", [1, 3])
def test_two_candidates_are_the_lower_end(adjacency: str, rounds: int) -> None:
    """Equal on one dataset, 2 apart on the other; seen from either side, the larger of the two."""
    equal, worse = permute_and_flip([0.0, 0.0], 1.0), permute_and_flip([-1.0, 1.0], 1.0)
    losses = [mp.log(a / b) for a, b in zip(equal, worse, strict=True)]
    assert round(float(losses[0] - losses[1]), 2) == 1.49
    plan = hs.Plan([hs.Round(hs.PermuteAndFlip(1.0), count=rounds)], adjacency)
    for at in (0.0, 0.5, 0.9):
        sides = [(product(equal, rounds), product(worse, rounds)), (product(worse, rounds), product(equal, rounds))]
        truth = max(law_delta(p, q, at) for p, q in sides)
        found = plan.delta(at)
        assert found.lower == pytest.approx(float(truth), rel=1e-9)
        assert found.lower <= truth * (1 + mp.mpf("1e-12"))
        pure = hs.Plan([hs.Round(hs.RandomizedResponse(1.0), count=rounds)], adjacency).delta(at)
        assert found.upper == pure.upper
    assert "the interval is as narrow as current theory allows" in (plan.delta(0.5).reason or "")


@pytest.mark.parametrize("queries", [(0.5, 0.5, -1.0)], ids=str)
def test_a_search_has_the_pure_epsilon(queries: tuple[float, ...]) -> None:
    drawn = random.Random(len(queries))
    for epsilon in (0.5, 2.0):
        p, q = above_threshold(queries, epsilon), above_threshold(changed(list(queries), drawn), epsilon)
        assert abs(mp.fsum(p) - 1) < SLIP
        assert max(abs(mp.log(a / b)) for a, b in zip(p, q, strict=True)) <= epsilon
        truth = law_delta(product(p, 2), product(q, 2), 0.3)
        assert truth <= one(hs.SparseVector(epsilon, 2)).delta(0.3).upper + SLIP


@pytest.mark.parametrize("adjacency", RELATIONS)
def test_a_run_is_as_many_black_boxes(adjacency: str) -> None:
    """Below c epsilon, and below the advanced composition of the technique's description, which is its other bound."""
    plan = hs.Plan([hs.Round(hs.SparseVector(0.1, 20), count=3)], adjacency)
    boxes = hs.Plan([hs.Round(hs.ApproximateDP(0.1, 0.0), count=60)], adjacency)
    found = plan.epsilon(1e-6)
    assert isinstance(found, hs.UpperBound)
    assert found.upper == boxes.epsilon(1e-6).quoted
    assert found.upper < 6.0
    assert found.upper < math.sqrt(2 * 60 * math.log(1e6)) * 0.1 + 60 * 0.1 * math.expm1(0.1)
    assert plan.epsilon(0.0).quoted == 6.0


def test_upper_bounds_have_no_lower_end() -> None:
    found = one(hs.ReportNoisyMax(0.5), 10).epsilon(1e-5)
    assert isinstance(found, hs.UpperBound)
    assert found.upper == one(hs.PermuteAndFlip(0.5), 10).epsilon(1e-5).quoted
    between = one(hs.PermuteAndFlip(0.5), 10).epsilon(1e-5)
    assert isinstance(between, hs.Bound)
    assert 0 < between.lower < between.upper
    exponential = hs.Plan([hs.Round(hs.Exponential(0.5), count=10)]).epsilon(1e-5)
    assert exponential.quoted < between.upper  # the sharper bound is the exponential mechanism's alone


def test_sampling_takes_the_black_box_and_refuses_a_run_of_searches() -> None:
    sampled = hs.Plan([hs.Round(hs.PermuteAndFlip(1.0), hs.Poisson(0.1), 10)]).epsilon(1e-6)
    assert isinstance(sampled, hs.UpperBound)
    box = hs.Plan([hs.Round(hs.ApproximateDP(1.0, 0.0), hs.Poisson(0.1), 10)]).epsilon(1e-6)
    assert sampled.upper == box.quoted
    with pytest.raises(hs.UnsupportedError, match="several simultaneous releases"):
        hs.Plan([hs.Round(hs.SparseVector(1.0, 3), hs.Poisson(0.1))]).epsilon(1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 100.0])
def test_at_the_ends_of_the_domain(epsilon: float) -> None:
    for mechanism in (hs.PermuteAndFlip(epsilon), hs.ReportNoisyMax(epsilon), hs.SparseVector(epsilon, 2)):
        found = one(mechanism).epsilon(1e-6)
        assert 0 <= found.upper <= 2 * epsilon * (1 + 1e-12)


def test_plan_files_know_them() -> None:
    plan = hs.Plan(
        [hs.Round(hs.PermuteAndFlip(0.5), count=2), hs.Round(hs.ReportNoisyMax(0.5)), hs.Round(hs.SparseVector(0.1, 4))]
    )
    assert hs.Plan.from_dict(plan.to_dict()) == plan
    with pytest.raises(hs.InvalidInputError, match="cutoff is missing"):
        hs.Plan.from_dict({"round": [{"mechanism": "sparse-vector", "epsilon": 0.1}]})
