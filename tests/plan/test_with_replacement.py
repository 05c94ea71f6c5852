"""Draws with replacement: against enumerated datasets, an oracle of mixtures, and where the binomial law is cut."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.pairs import GaussianPair
from hockeystick.pairs.sampled.drawn import RevealedPair
from hockeystick.pairs.sides import Between, Tight
from hockeystick.plan.sampling import with_replacement
from hockeystick.plan.sampling.with_replacement import binomial
from oracle import enumerated
from oracle.mixtures import Mixture, delta, single_delta

DATASETS: list[tuple[list[int], int, int]] = [  # the others, the record, the record that takes its place
    ([-1, -1], 1, -1),
    ([-1, -1, -1], 1, -1),
    ([0, 0], 1, -1),
    ([1, -1], 1, 0),
    ([-1, 0, 1], 1, -1),
    ([-1], 1, 0),
]


def plan(sampling: hs.WithReplacement, noise: float = 2.0, count: int = 1, adjacency: str = "add-or-remove") -> hs.Plan:
    return hs.Plan([hs.Round(hs.Gaussian(noise), sampling, count)], adjacency)


def law(draws: int, weight: Fraction, noise: float, most: int = 14) -> Mixture:
    """All terms that count, exactly."""
    most = min(draws, most)
    p = [Fraction(math.comb(draws, k)) * weight**k * (1 - weight) ** (draws - k) for k in range(most + 1)]
    return Mixture(tuple(Fraction(2 * k) for k in range(most + 1)), tuple(p), Fraction(str(noise)))


@pytest.mark.parametrize(("others", "record", "other"), DATASETS)
@pytest.mark.parametrize("draws", [1, 2, 4])
@pytest.mark.parametrize("noise", [0.7, 2.0])
def test_no_dataset_is_worse_than_the_pair_above(
    others: list[int], record: int, other: int, draws: int, noise: float
) -> None:
    """All batches of small datasets, one round; where the others oppose the record the pair below is met."""
    rest = [Fraction(x) for x in others]
    with_x, with_other = ([*rest, Fraction(x)] for x in (record, other))
    scheme = hs.WithReplacement(draws, dataset_size=len(others) + 1)
    without, full, swapped = (enumerated.with_replacement(data, draws) for data in (rest, with_x, with_other))
    for epsilon in (0.0, 0.4, 1.5):
        removed = enumerated.delta(full, without, noise, epsilon)
        added = enumerated.delta(without, full, noise, epsilon)
        replaced = enumerated.delta(full, swapped, noise, epsilon)
        for direction, true in (("remove", removed), ("add", added), ("replace-one", replaced)):
            found = plan(scheme, noise, adjacency=direction).delta(epsilon)
            assert true <= found.upper * (1 + 1e-6) + 1e-7
            if set(others) == {-1} and (direction != "replace-one" or other == -1):
                assert found.lower <= max(removed, added, true) + 1e-6 * true
                if direction != "replace-one":
                    assert found.upper == pytest.approx(true, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(
    ("draws", "records", "noise", "count", "epsilon"), [(20, 100, 4.0, 40, 2.0), (10, 40, 3.0, 30, 3.0)]
)
def test_many_rounds(direction: str, draws: int, records: int, noise: float, count: int, epsilon: float) -> None:
    found = plan(hs.WithReplacement(draws, dataset_size=records), noise, count, direction).delta(epsilon)
    true = delta(law(draws, Fraction(1, records), noise, 10), direction, count, epsilon, 1.0)
    assert found.lower <= true * (1 + 1e-9)
    assert true * (1 - 1e-9) <= found.upper
    assert found.upper - found.lower <= 1e-6 * found.upper


def test_a_hundredth_of_a_draw() -> None:
    """dp_accounting's mixture of Gaussians answers 2.24086 from above, in 80 s."""
    found = plan(hs.WithReplacement(draws=64, dataset_size=6400), count=1000).epsilon(1e-6)
    assert 2.24085 <= found.lower <= found.upper <= 2.24086
    assert found.upper - found.lower <= 1e-6
    assert "cut where less than 1e-32 remains" in (found.reason or "")


def test_one_draw_is_a_sampled_round_with_half_the_noise() -> None:
    one = plan(hs.WithReplacement(1, dataset_size=50), 2.0, 100)
    poisson = hs.Plan([hs.Round(hs.Gaussian(1.0), hs.Poisson(0.02), 100)])
    assert one.epsilon(1e-6) == poisson.epsilon(1e-6)
    assert isinstance(one.rounds[0].known(hs.Direction.ADD), Tight)
    fixed = hs.Plan([hs.Round(hs.Gaussian(2.0), hs.WithoutReplacement(1, 50), 100)], "replace-one").epsilon(1e-6)
    replaced = plan(hs.WithReplacement(1, dataset_size=50), 2.0, 100, "replace-one").epsilon(1e-6)
    assert replaced.upper == pytest.approx(fixed.upper, rel=5e-3)
    assert replaced.lower == pytest.approx(fixed.lower, rel=1e-6)


def test_a_weight_is_the_chance_of_one_draw() -> None:
    alike = plan(hs.WithReplacement(8, dataset_size=50), count=20).epsilon(1e-6)
    assert plan(hs.WithReplacement(8, weight=0.02), count=20).epsilon(1e-6) == alike
    assert plan(hs.WithReplacement(8, weight=0.03), count=20).epsilon(1e-6).lower > alike.upper
    assert hs.WithReplacement(8, weight=0.03).steps_per_epoch is None
    assert hs.WithReplacement(8, dataset_size=50).steps_per_epoch == 7


# Where the binomial law is cut ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draws", "weight"),
    [(1, Fraction(1, 3)), (64, Fraction(1, 6400)), (400, Fraction(1, 20)), (300, Fraction(1, 900))],
)
def test_the_binomial_law(draws: int, weight: Fraction) -> None:
    found = binomial(draws, weight)
    exact = [Fraction(math.comb(draws, k)) * weight**k * (1 - weight) ** (draws - k) for k in range(draws + 1)]
    for k, value in enumerate(found.weights, start=1):
        assert abs(Fraction(value) / exact[k] - 1) <= Fraction(1, 2**51)
    last = len(found.weights)
    left = sum(exact[last + 1 :], Fraction(0))
    assert left <= Fraction(found.cut) * (1 + Fraction(1, 2**50))
    assert Fraction(found.cut) <= exact[0] * Fraction(1, 10**31) + left
    assert abs(Fraction(found.none) / (exact[0] + left) - 1) <= Fraction(1, 2**51)


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The law cut so early that what is left decides."""
    binomial.cache_clear()
    monkeypatch.setattr(with_replacement, "CUT", Decimal("1e-3"))
    yield
    binomial.cache_clear()


@pytest.mark.parametrize("direction", ["remove", "add", "replace-one"])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 6.0])
def test_what_is_cut_off_is_charged(coarse: None, direction: str, epsilon: float) -> None:
    """Between the pairs, and each pair by itself on its side."""
    scheme, noise = hs.WithReplacement(12, weight=0.04), 2.0
    known = hs.Round(hs.Gaussian(noise), scheme).known(hs.Direction(direction))
    assert isinstance(known, Between)
    assert len(binomial(12, Fraction(1, 25)).weights) < 6
    exact = law(12, Fraction(1, 25), noise)
    found = plan(scheme, noise, adjacency=direction).delta(epsilon)
    both = [float(single_delta(exact, side, epsilon)) for side in ("remove", "add")]
    true = max(both) if direction == "replace-one" else both[direction == "add"]
    assert found.lower <= true * (1 + 1e-9)
    assert true <= found.upper * (1 + 1e-9) + 1e-15
    if direction != "replace-one":
        many = plan(scheme, noise, 5, direction).delta(epsilon, accountant="contour")
        assert many.lower < many.upper or many.upper < 1e-12
        assert many.upper > 5 * (1 - 1e-9) * binomial(12, Fraction(1, 25)).cut or direction == "add"


# The pair of a replaced record ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_the_curve_above_for_a_replaced_record(epsilon: float) -> None:
    """``sum_k Bin(k) H_a(N(2k) || N(0))`` with ``a = 1 + (e^eps - 1) / q``, one round."""
    draws, weight, noise = 6, Fraction(1, 10), 2.0
    exact = law(draws, weight, noise)
    q = float(1 - exact.weights[0])
    a = 1 + math.expm1(epsilon) / q

    def stick(k: int) -> float:
        mu = 2 * k / noise
        return 0.5 * (
            math.erfc((math.log(a) / mu - mu / 2) / 2**0.5) - a * math.erfc((math.log(a) / mu + mu / 2) / 2**0.5)
        )

    want = sum(float(exact.weights[k]) * stick(k) for k in range(1, draws + 1))
    found = plan(hs.WithReplacement(draws, weight=0.1), noise, adjacency="replace-one").delta(epsilon)
    assert found.upper == pytest.approx(want, rel=1e-9)
    assert found.upper >= want * (1 - 1e-9)


def test_a_told_shift_of_one_term_is_a_gaussian() -> None:
    one, gaussian = RevealedPair((0.7,), (1.0,), 0.0), GaussianPair(0.7)
    for t in (0.01, 1.0, 40.0):
        assert one.log_moment(t) == pytest.approx(gaussian.log_moment(t), rel=1e-12)
    assert one.rho == gaussian.rho
    x = np.array([-1.0, 0.0, 2.0])
    at = one.smooth.outcome(gaussian.smooth.loss(x))
    assert at == pytest.approx(x - 0.35)
    assert one.smooth.log_p(at) == pytest.approx(gaussian.smooth.log_p(x))
    assert one.smooth.log_q(at) == pytest.approx(gaussian.smooth.log_q(x))


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {"draws": 5},
            "sampling 'with-replacement' needs exactly one of dataset_size and .in a plan file. weight; received "
            "neither",
        ),
        ({"draws": 5, "dataset_size": 10, "weight": 0.1}, "received both"),
        ({"draws": 5, "dataset_size": 1}, "dataset_size must be"),
        ({"draws": 5, "weight": 1.0}, "weight must leave some probability"),
        ({"draws": 0, "weight": 0.1}, "draws must be"),
        ({"draws": 1000, "dataset_size": 40}, "at most 20 times per round on average"),
    ],
)
def test_a_refusal_names_the_key(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=said):
        hs.WithReplacement(**keys)


def test_other_mechanisms_are_refused() -> None:
    with pytest.raises(hs.UnsupportedError, match="with replacement is supported for Gaussian noise on a sum only"):
        hs.Plan([hs.Round(hs.Laplace(3.0), hs.WithReplacement(5, dataset_size=10))]).epsilon(1e-6)


def test_the_keys_that_dp_sgd_takes_are_named() -> None:
    """And no weight, which a round by itself may have."""
    with pytest.raises(hs.InvalidInputError, match=r"whose keys are 'draws', 'dataset_size'$"):
        hs.dp_sgd(1.0, 0.1, 10, sampling="with-replacement")
