"""Discrete Gaussian noise farther out than masses that are doubles: deltas below the least double, by their logs."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from flint import arb, fmpz_poly
from mpmath import mp, mpf

import hockeystick as hs
from hockeystick import DeltaBound, Plan
from hockeystick.directions import certified
from hockeystick.numerics.balls import precision
from hockeystick.pairs import GaussianPair
from hockeystick.pairs.discrete import REACH, DiscreteGaussianPair
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair


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
        assert found[1] == (log_lost if sampled.infinite_mass else -math.inf)


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
    monkeypatch.setattr(certified, "DEPTHS", (-800.0,))
    monkeypatch.setattr(certified, "DEEPER", 0.0)
    lower, upper = log_delta(plan(5.0, 1), 20.0)
    assert lower == -math.inf
    assert one_round(5, 20) <= upper < -800
