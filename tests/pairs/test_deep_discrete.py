"""Discrete Gaussian noise farther out than masses that are doubles: deltas below the least double, by their logs."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, fmpz_poly
from mpmath import mp, mpf

import hockeystick as hs
from hockeystick import DeltaBound, Plan
from hockeystick.directions import certified, finite_losses
from hockeystick.numerics.balls import precision
from hockeystick.pairs import Composition, GaussianPair
from hockeystick.pairs.discrete import REACH, DiscreteGaussianPair
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
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


def one_round(noise: int, epsilon: int, rate: str | None = None) -> float:
    """log delta by the sum over outcomes, the record being removed, to 40 digits."""
    with mpmath.workdps(60):
        law = {k: mp.exp(-mpf(k * k) / (2 * noise**2)) for k in range(-200 * noise, 200 * noise + 1)}
        total = sum(law.values())
        q = mpf(rate) if rate else mpf(1)
        odds, out = mp.exp(epsilon), mpf(0)
        for k, mass in law.items():
            p = (1 - q) * mass + q * law.get(k - 1, mpf(0))
            out += max(p - odds * mass, mpf(0)) / total
        return float(mp.log(out))


@pytest.mark.parametrize(("epsilon", "rate"), [(8, None), (12, None), (20, None), (8, "0.01")])
def test_one_round(epsilon: int, rate: str | None) -> None:
    true = one_round(5, epsilon, rate)
    lower, upper = log_delta(plan(5.0, 1, float(rate) if rate else None), float(epsilon))
    assert lower <= true + 1e-12 * abs(true)
    assert true - 1e-12 * abs(true) <= upper
    assert upper - lower <= 1e-6


def test_ten_rounds_by_a_convolution_of_whole_numbers() -> None:
    """Noise 3: masses as whole numbers of 2^-3000, their tenth power exactly, and the sum over its outcomes."""
    bits, last, variance, count, epsilon = 3000, 170, 9, 10, 42
    with precision(bits + 100):
        masses = [(-arb(k * k) / (2 * variance)).exp() for k in range(last + 1)]
        total = masses[0] + 2 * sum(masses[1:], arb(0))
        parts = [int((mass / total * arb(2) ** bits).mid().floor().unique_fmpz() or 0) for mass in masses]
        power = fmpz_poly([parts[abs(k)] for k in range(-last, last + 1)]) ** count
        delta = arb(0)
        for x in range(epsilon * variance + count // 2 + 1, last * count - count):
            delta += arb(power[x - count + count * last]) - arb(epsilon).exp() * arb(power[x + count * last])
        true = float((delta / arb(2) ** (bits * count)).log().mid())
    assert true < -750
    lower, upper = log_delta(plan(3.0, count), float(epsilon))
    assert lower <= true + 1e-9
    assert true - 1e-9 <= upper
    assert upper - lower <= 1e-6


@pytest.mark.parametrize(("epsilon", "true"), [
    (8, -1286.66854965344367693201377442), (12, -2885.54437409446729975882428224),
    (16, -5124.20988073149798280351263651), (20, -8002.76998615619142627209534368),
])  # fmt: skip
def test_ten_rounds_of_noise_20(epsilon: int, true: float) -> None:
    """By the same convolution with 18,000 bits and outcomes up to 3200, which takes 40 seconds."""
    lower, upper = log_delta(plan(20.0, 10), float(epsilon))
    assert lower <= true <= upper
    assert upper - lower <= 1e-6


def test_the_double_is_what_it_was() -> None:
    """Zero to the least double; a delta that is a double has nothing to do with what lies farther out."""
    found = plan(20.0, 10).delta(8.0)
    assert found.lower == 0.0
    assert 0 < found.upper < 1e-300


@pytest.mark.parametrize("depth", [-900.0, -3000.0])
def test_what_is_left_out_is_bounded(depth: float) -> None:
    """Above and below, within a factor e of the bound."""
    noise = DiscreteGaussianPair(2, Fraction(25))
    deep, log_lost = noise.reaching(depth)  # type: ignore[misc]
    assert deep.reach > REACH
    assert deep.infinite_mass == 0.0
    assert log_lost <= depth
    last = deep._last
    assert len(deep.atoms.loss) == 2 * last + 3
    with mpmath.workdps(1600):
        law = [mp.exp(-mpf(k * k) / 50) for k in range(4 * last)]
        total = law[0] + 2 * sum(law[1:])
        lost = float(mp.log((sum(law[last + 1 :]) + sum(law[last + 3 :])) / total))
    assert lost <= log_lost <= lost + 1
    for pair in (PoissonRemovePair, PoissonAddPair):
        sampled = pair(noise, 0.1)
        found = sampled.reaching(depth)
        assert found is not None
        assert found[0].infinite_mass == 0.0
        assert found[1] == log_lost


def added(epsilon: float) -> float:
    """log delta of one round of noise 5 at rate 0.01, the record being added, by the sum over outcomes to 60 digits."""
    with mpmath.workdps(60):
        law = {k: mp.exp(-mpf(k * k) / 50) for k in range(-500, 501)}
        q, odds, out = mpf("0.01"), mp.exp(mpf(epsilon)), mpf(0)
        for k, mass in law.items():
            out += max(mass - odds * ((1 - q) * mass + q * law.get(k - 1, mpf(0))), mpf(0))
        return float(mp.log(out / sum(law.values())))


@pytest.mark.parametrize("epsilon", [0.01003, 0.01004, 0.0100471, 0.01005])
def test_a_record_that_is_added_to_rare_samples(epsilon: float) -> None:
    """What Q alone has of a round of noise is at the largest loss, which is finite, of its mixture."""
    lower, upper = log_delta(plan(5.0, 1, 0.01, "add"), epsilon)
    true = added(epsilon)
    assert lower <= true <= upper
    assert upper - lower <= 2e-6


def test_what_stands_for_others_is_taken_off_lower_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody looks farther out there is no lower end of so small a delta; above it is a hair lower."""
    monkeypatch.setattr(finite_losses, "DEPTHS", ())
    given = plan(5.0, 1, 0.01, "add")
    assert log_delta(given, 0.0100471)[0] == -math.inf
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


def test_who_reaches_no_farther() -> None:
    """Infinite losses that are meant, and windows that are too wide; what has none is as it is."""
    assert DiscreteGaussianPair(1, Fraction(500**2)).reaching(-10_000.0) is None
    assert GaussianPair(1.0).reaching(-10_000.0) == (GaussianPair(1.0), -math.inf)
    box = hs.Plan.from_dict(
        {
            "adjacency": "remove",
            "round": [
                {"mechanism": "approximate-dp", "epsilon": 0.1, "delta": 1e-9, "count": 1},
                {"mechanism": "discrete-gaussian", "noise_multiplier": 5.0, "count": 1},
            ],
        }
    )
    assert box.delta(20.0).lower >= 9.9e-10


def test_too_few_outcomes_widen_the_upper_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """At an epsilon that no outcome within reach exceeds, all of delta is what is left out."""
    monkeypatch.setattr(finite_losses, "DEPTHS", (-800.0,))
    monkeypatch.setattr(finite_losses, "DEEPER", 0.0)
    lower, upper = log_delta(plan(5.0, 1), 20.0)
    assert lower == -math.inf
    assert one_round(5, 20) <= upper < -800
