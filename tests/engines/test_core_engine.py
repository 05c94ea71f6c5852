"""Rounds that the core takes: its answers against the contour's and the oracle, and its refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mpf

import oracle
from core_lines import CoreEngine
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.core import rounds
from hockeystick.engines.core.rounds import GaussianRounds
from hockeystick.pairs import Composition, GaussianPair, LaplacePair, PoissonAddPair, PoissonRemovePair
from hockeystick.values.errors import NotApplicableError

LOG = math.log(1e-6)


@pytest.mark.parametrize("kind", [PoissonRemovePair, PoissonAddPair])
def test_both_ends_hold_the_truth(kind: type[PoissonRemovePair | PoissonAddPair]) -> None:
    found = CoreEngine(Composition([(kind(GaussianPair(1.0), 0.02), 300)])).epsilon((LOG, LOG), None)
    direction = "remove" if kind is PoissonRemovePair else "add"
    sampled = {"mechanism": "gaussian", "noise_multiplier": 1.0, "sampling": "poisson", "sample_rate": 0.02}
    given = {"adjacency": direction, "round": [{**sampled, "count": 300}]}
    assert found.limited is None
    assert found.upper - found.lower <= 1e-6 * found.upper
    assert oracle.delta(given, found.upper, 15) <= mpf("1e-6") <= oracle.delta(given, found.lower, 15)


def test_kinds_and_unsampled_noise_are_one_plan() -> None:
    """Beside the contour of all of them, in epsilon and in delta."""
    rounds = Composition(
        [(PoissonRemovePair(GaussianPair(mu), rate), 200) for mu, rate in ((1.0, 0.01), (0.5, 0.03), (0.8, 0.002))]
        + [(GaussianPair(0.1), 5)]
    )
    core, contour = CoreEngine(rounds), ContourEngine(rounds)
    found, other = core.epsilon((LOG, LOG), None), contour.epsilon((LOG, LOG), None)
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)
    at, there = core.log_delta(found.estimate, None), contour.log_delta(found.estimate, None)
    assert max(at.lower, there.lower) <= min(at.upper, there.upper)
    assert at.upper - at.lower <= 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_where_a_sum_is_all_error_its_estimate_is_a_number(epsilon: float) -> None:
    """Of a thousand rounds of one in a hundred thousand, whose delta is 1e-29 at 0.5, the cut leaves nothing."""
    found = CoreEngine(Composition([(PoissonRemovePair(GaussianPair(1.0), 1e-5), 1000)])).log_delta(epsilon, None)
    assert found.lower <= found.estimate <= found.upper


def test_each_end_has_its_own_target() -> None:
    """The upper end is at the smaller delta, the lower one at the larger."""
    engine = CoreEngine(Composition([(PoissonRemovePair(GaussianPair(1.0), 0.02), 300)]))
    low, high = engine.epsilon((LOG - 0.5, LOG - 0.5), None), engine.epsilon((LOG + 0.5, LOG + 0.5), None)
    both = engine.epsilon((LOG - 0.5, LOG + 0.5), None)
    assert both.lower <= high.upper < low.lower <= both.upper


@pytest.mark.parametrize(
    "given",
    [
        [(LaplacePair(1.0, 1.0), 3)],
        [(GaussianPair(1.0), 3)],
        [(PoissonRemovePair(LaplacePair(1.0, 1.0), 0.1), 300)],
        [(PoissonRemovePair(GaussianPair(1.0), 0.1), 300), (PoissonAddPair(GaussianPair(1.0), 0.1), 300)],
        [(PoissonRemovePair(GaussianPair(50.0), 0.1), 300)],
        [(PoissonRemovePair(GaussianPair(1.0), 0.99), 300)],
    ],
)
def test_other_rounds_are_refused(given: list[tuple[GaussianPair, int]]) -> None:
    with pytest.raises(NotApplicableError, match="other rounds"):
        CoreEngine(Composition(given))


def test_more_kinds_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = Composition([(PoissonRemovePair(GaussianPair(mu), 0.1), 3) for mu in (0.5, 0.6, 0.7)])
    assert GaussianRounds.of(kinds.rounds) is not None
    monkeypatch.setattr(rounds, "MOST_KINDS", 2)
    assert GaussianRounds.of(kinds.rounds) is None


@pytest.mark.parametrize("made", [PoissonRemovePair, PoissonAddPair])
@pytest.mark.parametrize("kinds", [13, 40])
def test_many_kinds_are_answered_as_by_a_contour(made: type[PoissonRemovePair | PoissonAddPair], kinds: int) -> None:
    """Intervals of random kinds meet those of a contour, and are as narrow as was asked."""
    random = np.random.default_rng(kinds)
    noise, rate = np.exp(random.uniform(np.log([[0.6], [1e-3]]), np.log([[6.0], [0.1]]), (2, kinds)))
    count = np.exp(random.uniform(0, math.log(300), kinds)).astype(int)
    drawn = [
        (made(GaussianPair(1 / one), share), times)
        for one, share, times in zip(noise.tolist(), rate.tolist(), count.tolist(), strict=True)
    ]
    composition = Composition([*drawn, (GaussianPair(0.2), 2)])
    core, contour = CoreEngine(composition), ContourEngine(composition)
    for log_delta in (math.log(1e-4), math.log(1e-10)):
        one, two = (engine.epsilon((log_delta, log_delta), None) for engine in (core, contour))
        assert max(one.lower, two.lower) <= min(one.upper, two.upper)
        assert one.upper - one.lower <= 1e-6 * one.upper
        first, second = (engine.log_delta(1.1 * one.estimate, None) for engine in (core, contour))
        assert max(first.lower, second.lower) <= min(first.upper, second.upper)
        assert first.upper - first.lower <= 1e-6


def test_where_no_sum_is_found_there_is_no_answer() -> None:
    """Rates so small that the line is too long, and delta 0."""
    engine = CoreEngine(Composition([(PoissonRemovePair(GaussianPair(1.0), 1e-9), 10)]))
    for target in (-40.0, -math.inf):
        with pytest.raises(NotApplicableError):
            engine.epsilon((target, target), None)
