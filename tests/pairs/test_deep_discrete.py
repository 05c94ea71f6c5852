"""Discrete Gaussian noise farther out than masses that are doubles."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
from mpmath import mp, mpf

from hockeystick import DeltaBound, Plan
from hockeystick.directions import certified
from hockeystick.pairs import Composition
from hockeystick.pairs.discrete import DiscreteGaussianPair
from hockeystick.pairs.sampled.poisson import PoissonAddPair
from hockeystick.values.interval import Interval


def plan(noise: float, count: int, rate: float | None = None, adjacency: str = "add-or-remove") -> Plan:
    item: dict[str, object] = {"mechanism": "discrete-gaussian", "noise_multiplier": noise, "count": count}
    if rate is not None:
        item |= {"sampling": "poisson", "sample_rate": rate}
    return Plan.from_dict({"adjacency": adjacency, "round": [item]})


def log_delta(given: Plan, epsilon: float, gap: float | None = None) -> tuple[float, float]:
    found = given.delta(epsilon, gap=gap)
    assert isinstance(found, DeltaBound)
    return found.log_delta.lower, found.log_delta.upper


def test_the_double_is_what_it_was() -> None:
    """Zero to the least double; a delta that is a double has nothing to do with what lies farther out."""
    found = plan(20.0, 10).delta(8.0)
    assert found.lower == 0.0
    assert 0 < found.upper < 1e-300


def added(epsilon: float) -> float:
    """log delta of one round of noise 5 at rate 0.01, the record being added, by the sum over outcomes to 60 digits."""
    with mpmath.workdps(60):
        law = {k: mp.exp(-mpf(k * k) / 50) for k in range(-500, 501)}
        q, odds, out = mpf("0.01"), mp.exp(mpf(epsilon)), mpf(0)
        for k, mass in law.items():
            out += max(mass - odds * ((1 - q) * mass + q * law.get(k - 1, mpf(0))), mpf(0))
        return float(mp.log(out / sum(law.values())))


def test_what_stands_for_others_is_taken_off_lower_ends() -> None:
    """There is no lower end of so small a delta, which is said; above it is a hair lower."""
    given = plan(5.0, 1, 0.01, "add")
    assert log_delta(given, 0.0100471)[0] == -math.inf
    assert certified.FAR_OUT in str(given.delta(0.0100471).reason)
    curve = given.profile().log_delta(np.array([0.01, 0.0100471]))
    assert curve.lower[0] > -math.inf
    assert curve.lower[1] == -math.inf
    lower, upper = log_delta(given, 0.010045)
    assert lower <= added(0.010045) <= upper


def test_what_stands_for_others_raises_the_delta_of_lower_ends() -> None:
    """A lower end of epsilon is asked for at a delta that is larger by the standing mass of all rounds."""
    rounds = Composition([(PoissonAddPair(DiscreteGaussianPair(1, Fraction(25)), 0.01), 1000)])
    asked: list[tuple[float, float]] = []

    class Engine:
        def __init__(self, composition: Composition) -> None: ...

        def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
            asked.append(log_delta)
            return Interval(0.0, 0.0, 0.0)

        def log_delta(self, epsilon: float, gap: float | None) -> Interval:
            raise NotImplementedError

    certified._epsilon_of(rounds, 1e-320, None, Engine)
    assert asked[0][0] <= math.log(1e-320)
    assert asked[0][1] >= math.log(1e-320 + 1000 * 5e-324)
