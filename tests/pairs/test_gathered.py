"""Many kinds of rounds: gathered into few on either side, whose answers hold that of all of them."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.directions import certified
from hockeystick.directions.directions import compositions
from hockeystick.engines.direct import DirectEngine
from hockeystick.pairs import BlackBoxPair, Composition, DominatingPair, LaplacePair
from hockeystick.pairs import gathered as module
from hockeystick.pairs.gathered import gathered
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

DRAWN = np.random.default_rng(5).random(40_000).tolist()


def numbers(low: float, high: float, count: int, start: int = 0) -> list[float]:
    """Full-precision ones, no two equal."""
    return [low + (high - low) * share for share in DRAWN[start : start + count]]


def plan_of(kind: str, count: int, adjacency: str = "add-or-remove") -> hs.Plan:
    make = {
        "laplace": lambda a, b: hs.Round(hs.Laplace(20 + 100 * a)),
        "sampled laplace": lambda a, b: hs.Round(hs.Laplace(1 + 3 * a), hs.Poisson(0.01 * (1 + b))),
        "sampled gaussian": lambda a, b: hs.Round(hs.Gaussian(1 + 3 * a), hs.Poisson(0.01 * (1 + b))),
        "box": lambda a, b: hs.Round(hs.ApproximateDP(0.01 * (1 + a), 1e-11 * b)),
        "sampled box": lambda a, b: hs.Round(hs.ApproximateDP(0.1 * (1 + a), 1e-9 * b), hs.Poisson(0.1 * (1 + b))),
        "response": lambda a, b: hs.Round(hs.RandomizedResponse(0.01 * (1 + a))),
    }[kind]
    return hs.Plan(map(make, DRAWN[:count], DRAWN[-count:]), adjacency)


KINDS = ["laplace", "sampled laplace", "sampled gaussian", "box", "sampled box", "response"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", [Direction.REMOVE, Direction.ADD])
def test_every_round_lies_between_its_two_sides(
    kind: str, direction: Direction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The milder pair is dominated by each of its group, which the worse pair dominates: delta of one round each."""
    monkeypatch.setattr(module, "MOST", 4)
    monkeypatch.setattr(module, "KINDS", 2)
    monkeypatch.setattr(module, "MIXTURES", 2)
    composition = Composition(plan_of(kind, 6, direction.value).directions.pairs(direction))
    found = gathered(composition)
    assert found.exact is composition
    assert [len(side.rounds) for side in (found.milder, found.worse)] == [2, 2]
    assert found.milder.count == found.worse.count == composition.count
    at = [0.0, 0.004, 0.03]

    def deltas(pairs: list[DominatingPair]) -> list[list[float]]:
        """In order of size, at each epsilon."""
        each = [(Composition([(pair, 1)]), pair.infinite_mass) for pair in pairs]
        return [sorted(math.exp(DirectEngine(one).log_delta(eps, None).estimate) + p for one, p in each) for eps in at]

    def unfolded(side: Composition) -> list[DominatingPair]:
        return [pair for pair, count in side.rounds for _ in range(count)]

    for i, (milder, meant, worse) in enumerate(
        zip(*(deltas(unfolded(side)) for side in (found.milder, composition, found.worse)), strict=True)
    ):
        for low, middle, high in zip(milder, meant, worse, strict=True):
            assert low <= middle * (1 + 1e-12)
            assert middle <= high * (1 + 1e-12)
        assert i or milder[0] < meant[-1]  # at epsilon 0; beyond the largest loss all are 0
        assert i or meant[0] < worse[-1]


@pytest.mark.parametrize("kind", ["laplace", "sampled gaussian", "box"])
def test_what_is_gathered_holds_the_answer_of_all(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so many kinds that both ways end: the narrower interval lies within the wider one, which says why."""
    plan = plan_of(kind, 8)
    epsilon, delta = plan.epsilon(1e-6), plan.delta(0.03)
    band = plan.profile().delta([0.01, 0.03])
    monkeypatch.setattr(module, "MOST", 4)
    monkeypatch.setattr(module, "TRIED", 0)
    monkeypatch.setattr(module, "KINDS", 3)
    monkeypatch.setattr(module, "MIXTURES", 3)
    monkeypatch.setattr("hockeystick.engines.core.rounds.MOST_KINDS", 2)
    for narrow, wide in ((epsilon, plan.epsilon(1e-6)), (delta, plan.delta(0.03))):
        assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper
        assert wide.reason is not None
        assert "8 different rounds" in wide.reason
    found = plan.profile().delta([0.01, 0.03])
    assert (found.lower <= band.lower).all()
    assert (band.upper <= found.upper).all()
    assert found.upper[0] < 1
    # at delta 0 the largest loss is known of all, one by one
    if kind == "laplace":
        assert plan.epsilon(0.0).relative_gap < 1e-15


def test_a_contour_of_hundreds_of_kinds_is_not_given_up() -> None:
    plan = hs.Plan([hs.Round(hs.Gaussian(noise), hs.Poisson(0.01)) for noise in numbers(1.0, 5.0, 300)])
    found = plan.epsilon(1e-6)
    assert found.reason is None
    assert found.relative_gap < 1e-6


@pytest.mark.share(2)
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("laplace", 20_000), ("box", 20_000)])
def test_tens_of_thousands_of_kinds_are_answered(kind: str, count: int) -> None:
    """Within seconds; all of them one by one take hours."""
    plan = plan_of(kind, count)
    before = time.process_time()
    found = plan.epsilon(1e-5)
    assert time.process_time() - before < 15
    assert 0 < found.lower < found.upper < math.inf
    assert found.relative_gap < 0.6
    assert found.reason is not None


def test_what_cannot_be_gathered_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair of which no order is known stays as it is; too many of them are refused in one line."""
    monkeypatch.setattr(module, "MOST", 3)
    monkeypatch.setattr(module, "_family", lambda pair: None)
    with pytest.raises(NotApplicableError, match=r"^the plan has 4 different rounds that cannot be merged"):
        plan_of("laplace", 4).epsilon(1e-6)


def test_many_scales_of_many_digits_have_no_common_lattice() -> None:
    """The common divisor of 25 of them is below the range of a double: distances are compared as fractions."""
    plan = hs.Plan([hs.Round(hs.Laplace(scale)) for scale in numbers(5.0, 50.0, 25)])
    found = plan.epsilon(1e-6)
    assert found.relative_gap <= 1e-3
    assert found.reason is None


def test_the_sum_of_many_suprema_is_rounded_outward() -> None:
    """Exact up to a hundred decimals of 17 digits; a thousand would have a denominator of 57,000 bits."""
    scales = numbers(5.0, 50.0, 1000)
    composition = Composition([(LaplacePair(1.0, scale), 1) for scale in scales])
    low, high = composition.supremum
    exact = sum((1 / Fraction(repr(scale)) for scale in scales[:300]), Fraction(0))
    first = Composition([(LaplacePair(1.0, scale), 1) for scale in scales[:300]]).supremum
    assert first[0] <= exact <= first[1]
    assert 0 < first[1] - first[0] < Fraction(1, 1 << 1100)
    assert high.denominator.bit_length() < 20_000
    assert low < high < low + Fraction(1, 1 << 1100)
    few = Composition([(LaplacePair(1.0, scale), 1) for scale in scales[:50]]).supremum
    assert few[0] == few[1]


def test_beyond_the_largest_loss_of_all_delta_is_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the worse side has a larger one."""
    monkeypatch.setattr(module, "MOST", 3)
    monkeypatch.setattr(module, "KINDS", 2)
    pairs = [(BlackBoxPair(epsilon, 0.0), 1) for epsilon in (0.01, 0.02, 0.03, 0.5)]
    sides = gathered(Composition(pairs))
    assert [float(side.largest_loss[1]) for side in (sides.milder, sides.worse)] == pytest.approx([0.53, 0.59])  # type: ignore[index]
    plan = hs.Plan([hs.Round(hs.ApproximateDP(pair.epsilon, 0.0)) for pair, _ in pairs])
    assert plan.delta(0.56).upper == 0.0
    assert plan.delta(0.5).upper > 0.0


def test_lower_and_upper_end_come_from_their_own_side() -> None:
    milder, worse = (Interval(low, low, low + 1) for low in (1.0, 5.0))
    found = certified._between(milder, worse, "gathered")
    assert (found.lower, found.upper) == (1.0, 6.0)
    assert all(a <= b for a, b in pairwise((found.lower, found.estimate, found.upper)))


def test_few_kinds_are_left_as_they_are() -> None:
    for _, composition in compositions(plan_of("laplace", 30).directions):
        sides = gathered(composition)
        assert sides.milder is sides.worse is composition
        assert sides.reason is None
