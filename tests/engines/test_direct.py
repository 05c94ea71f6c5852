"""A single round: one integral, to about twelve digits, however deep."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import pytest

import oracle
from hockeystick import Plan
from hockeystick.engines.direct import DirectEngine
from hockeystick.pairs import Composition, GaussianPair
from hockeystick.pairs.sampled.poisson import PoissonRemovePair
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError

GAUSSIANS = [
    {"mechanism": "gaussian", "noise_multiplier": noise, "sampling": "poisson", "sample_rate": rate, "count": 1}
    for noise in (0.02, 0.5, 1.0, 30.0, 1e4)
    for rate in (1e-9, 2e-5, 0.01, 0.5, 0.99)
]
OTHERS: list[dict[str, Any]] = [
    {"mechanism": "laplace", "scale": 0.1, "sampling": "poisson", "sample_rate": 1e-5, "count": 1},
    {"mechanism": "laplace", "scale": 30, "sampling": "poisson", "sample_rate": 0.3, "count": 1},
    {"mechanism": "laplace", "scale": 2, "count": 1},
    {"mechanism": "randomized-response", "epsilon": 1.5, "count": 1},
    {"mechanism": "randomized-response", "epsilon": 1.5, "sampling": "poisson", "sample_rate": 0.01, "count": 1},
    {"mechanism": "gaussian", "noise_multiplier": 1.0, "count": 3},
]


def composition_of(entry: dict[str, Any], direction: str) -> Composition | None:
    """One direction, where it is supported."""
    plan = Plan.from_dict({"adjacency": direction, "round": [entry]})
    if direction == "replace-one" and entry["mechanism"] != "gaussian" and "sampling" in entry:
        return None
    return Composition(plan.directions.pairs(Direction(direction)))


@pytest.mark.parametrize("direction", ["remove", "add", "replace-one"])
@pytest.mark.parametrize("entry", GAUSSIANS + OTHERS, ids=str)
def test_log_delta_of_one_round(entry: dict[str, Any], direction: str) -> None:
    """The truth lies inside; the width is a few dozen roundings of log delta, or of the loss against its own size."""
    composition = composition_of(entry, direction)
    if composition is None:
        return
    engine = DirectEngine(composition)
    for epsilon in (0.0, 0.001, 0.3, 2.0, 10.0, 60.0):
        if composition.largest_loss is not None and epsilon >= composition.largest_loss[0]:
            continue
        found = engine.log_delta(epsilon, None)
        true = oracle.delta({"adjacency": direction, "round": [entry]}, epsilon)
        log_true = mp.log(mp.mpf(true)) if true else -mp.inf
        assert found.lower <= log_true <= found.upper, (epsilon, found, log_true)
        assert found.upper - found.lower <= 1e-6 + 1e-12 * abs(found.upper)


@pytest.mark.parametrize("log_delta", [-0.01, -1.0, -7.0, -40.0, -230.0])
@pytest.mark.parametrize("mu", [1e-3, 0.3, 1.0, 10.0, 40.0])
def test_epsilon_of_gaussians_is_found_wherever_it_lies(mu: float, log_delta: float) -> None:
    """Any number of unsampled Gaussians is one: the loss may be far from 0, delta near 1 or far below."""
    found = DirectEngine(Composition([(GaussianPair(mu), 1)])).epsilon((log_delta, log_delta), None)
    assert found.upper - found.lower <= 1e-9 * found.upper
    with mp.workdps(60):
        for end, side in ((found.upper, 1), (found.lower, -1)):
            eps, m = mp.mpf(end), mp.mpf(mu)
            delta = mp.ncdf(m / 2 - eps / m) - mp.exp(eps) * mp.ncdf(-m / 2 - eps / m)
            assert side * (mp.log(delta) - log_delta) <= 0 or end == 0


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("log_delta", [-1.0, -12.0, -230.0])
@pytest.mark.parametrize(
    "entry", [GAUSSIANS[5], GAUSSIANS[12], GAUSSIANS[23], OTHERS[0], OTHERS[2], OTHERS[5]], ids=str
)
def test_epsilon_of_one_round(entry: dict[str, Any], direction: str, log_delta: float) -> None:
    """delta at the upper end is at most the target, at the lower end above it; the ends are close."""
    composition = composition_of(entry, direction)
    assert composition is not None
    found = DirectEngine(composition).epsilon((log_delta, log_delta), None)
    document = {"adjacency": direction, "round": [entry]}
    assert oracle.delta(document, found.upper) <= mp.exp(mp.mpf(log_delta))
    if found.lower > 0:
        assert oracle.delta(document, found.lower) > mp.exp(mp.mpf(log_delta))
    upper = found.upper if composition.largest_loss is None else min(found.upper, composition.largest_loss[1])
    assert upper - found.lower <= 1e-9 * upper


def test_more_than_one_round_is_refused() -> None:
    """Sampled rounds do not fold into one."""
    with pytest.raises(NotApplicableError, match="more than one round"):
        DirectEngine(Composition([(PoissonRemovePair(GaussianPair(1.0), 0.5), 2)]))


def test_the_engine_answers_for_a_plan_of_one_round() -> None:
    """``auto`` names it; two rounds go elsewhere."""
    single = Plan.from_dict({"round": [GAUSSIANS[12]]})
    assert single.epsilon(1e-9).accountant == "direct"
    assert single.epsilon(1e-9).relative_gap < 1e-9
    assert (2 * single).epsilon(1e-9).accountant != "direct"
    assert math.isfinite(single.delta(1e4).log_delta.upper)
