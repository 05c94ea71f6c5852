"""Keys above a threshold against releases of given datasets, and both ends against closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp

import hockeystick as hs
import oracle
from oracle.keys import DISCRETE, key_law, release_delta, released_alone

NOISES = ("laplace", "gaussian", *DISCRETE)
KEY = {noise: "scale" if "laplace" in noise else "noise_multiplier" for noise in NOISES}
RELATIONS = ("remove", "add", "replace-one")


def made(noise: str, scale: float, threshold: float, keys: int) -> hs.LaplaceThreshold | hs.GaussianThreshold:
    """The mechanism with that noise."""
    kind = hs.LaplaceThreshold if "laplace" in noise else hs.GaussianThreshold
    return kind(scale, threshold, keys, noise="integer" if noise in DISCRETE else "continuous")


def of_sum(sigma: float, count: int) -> dict[int, Any]:
    """The law of the sum of so many values of discrete Gaussian noise, in whole parts of ``10^40``."""
    reach = math.ceil(16 * sigma)
    one = [mp.exp(-((k / mp.mpf(sigma)) ** 2) / 2) for k in range(-reach, reach + 1)]
    law = np.array([int(mass / mp.fsum(one) * 10**40) for mass in one], dtype=object)
    total = np.array([1], dtype=object)
    for _ in range(count):
        total = np.convolve(total, law)
    return {k - count * reach: mp.mpf(mass) / mp.mpf(10) ** (40 * count) for k, mass in enumerate(total)}


def noise_alone(noise: str, scale: float, count: int, epsilon: float, adjacency: str = "remove") -> Any:
    """delta of so many noisy counts that everybody sees; the loss of discrete Gaussian noise is that of their sum."""
    if noise == "discrete-gaussian":
        total = of_sum(scale, count)
        ratio = mp.exp(epsilon)
        return mp.fsum(max(mass - ratio * total.get(k + count, 0), mp.zero) for k, mass in total.items())
    item = {"mechanism": noise, KEY[noise]: scale, "count": count}
    return oracle.delta({"adjacency": adjacency, "round": [item]}, epsilon, 25)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("scale", "threshold"), [(1.0, 1.0), (2.0, 7.5), (0.7, 12.0), (3.0, 90.0)])
def test_the_probability_that_tells_a_person_is_an_integral(noise: str, scale: float, threshold: float) -> None:
    low, high = made(noise, scale, threshold, 1).alone()
    truth = released_alone(noise, scale, threshold)
    assert low <= truth <= high
    assert high - low <= 1e-11 * high


def test_probabilities_below_the_range_of_a_double_are_not_lost() -> None:
    for noise in NOISES:
        low, high = made(noise, 0.01, 1000.0, 1).alone()
        assert low == 0.0
        assert high > 0.0
        plan = hs.Plan([hs.Round(made(noise, 0.01, 1000.0, 1))])
        assert plan.epsilon(1e-6).upper < math.inf
        assert plan.epsilon(0.0).upper == math.inf


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("others", [(1,), (0,), (0, 0), (6, 0, 0)], ids=str)
def test_every_dataset_is_below_the_upper_end(noise: str, others: tuple[int, ...]) -> None:
    """Counts far below, at and above the threshold, and keys of one person alone."""
    scale, threshold = 1.1, 4.0
    for epsilon in (0.4,):
        truth = release_delta(noise, scale, threshold, others, epsilon)
        found = hs.Plan([hs.Round(made(noise, scale, threshold, len(others)))], "remove").delta(epsilon)
        assert truth <= found.upper
        if others in ((0,), (0, 0)):  # this instance is one of the lower end
            assert truth >= found.lower * (1 - 1e-9) or noise_alone(noise, scale, len(others), epsilon) > truth


@pytest.mark.parametrize("noise", NOISES)
def test_two_visible_keys_approach_the_lower_end(noise: str) -> None:
    """Of counts far above the threshold every noisy count is released: the instance of the first kind."""
    found = hs.Plan([hs.Round(made(noise, 1.1, 4.0, 1))], "remove").delta(0.3)
    near = release_delta(noise, 1.1, 4.0, (40,), 0.3)
    assert near == pytest.approx(found.lower, rel=1e-9)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("adjacency", RELATIONS)
@pytest.mark.parametrize(
    ("scale", "threshold", "keys", "count"), [(2.0, 20.0, 1, 1), (3.0, 70.0, 2, 3), (5.0, 20.0, 4, 1)]
)
def test_both_ends_are_closed_forms(
    noise: str, adjacency: str, scale: float, threshold: float, keys: int, count: int
) -> None:
    """``max`` of the two kinds below; above ``1 - (1 - p)^n + (1 - p)^n delta`` of all noisy counts."""
    plan = hs.Plan([hs.Round(made(noise, scale, threshold, keys), count=count)], adjacency)
    counts = keys * count * (2 if adjacency == "replace-one" else 1)
    p = released_alone(noise, scale, threshold)
    for epsilon in (0.1, 1.0):
        alone = noise_alone(noise, scale, counts, epsilon)
        above = 1 - (1 - p) ** counts * (1 - alone)
        if adjacency == "add":
            fresh = max(1 - mp.exp(epsilon) * (1 - p) ** counts, mp.zero)
        elif adjacency == "remove":
            fresh = 1 - (1 - p) ** counts
        else:  # half of the keys are taken away, half are brought
            half = (1 - p) ** (counts // 2)
            fresh = 1 - half + half * max(1 - mp.exp(epsilon), mp.zero)
        below = max(alone, fresh)
        found = plan.delta(epsilon)
        assert found.lower <= below
        assert found.upper >= above
        assert found.lower == pytest.approx(float(below), rel=2e-4)
        assert found.upper == pytest.approx(float(above), rel=2e-4)
    assert "the interval is as narrow as current theory allows" in (plan.delta(1.0).reason or "")


def test_the_ends_are_near_each_other_where_one_kind_decides() -> None:
    rare = hs.Plan([hs.Round(hs.GaussianThreshold(3.0, 25.0, 5), count=4)]).epsilon(1e-6)
    assert rare.upper - rare.lower < 1e-5 * rare.upper
    noise = hs.Plan([hs.Round(hs.Gaussian(3.0), count=20)]).epsilon(1e-6)
    assert rare.lower == pytest.approx(noise.upper, rel=1e-6)
    assert hs.Plan([hs.Round(hs.GaussianThreshold(3.0, 10.0, 5))]).epsilon(1e-6).lower == math.inf


def test_keys_are_rounds_of_one_key() -> None:
    for kind in (hs.LaplaceThreshold, hs.GaussianThreshold):
        together = hs.Plan([hs.Round(kind(3.0, 50.0, 6), count=2)])
        apart = hs.Plan([hs.Round(kind(3.0, 50.0, 1), count=12)])
        assert together.epsilon(1e-6) == apart.epsilon(1e-6)


def test_published_methods_take_the_parts() -> None:
    plan = hs.Plan([hs.Round(hs.LaplaceThreshold(4.0, 120.0, 2), count=5), hs.Round(hs.Gaussian(5.0))])
    certified = plan.epsilon(1e-6)
    answered = set()
    for name in hs.ACCOUNTANTS:
        try:
            ends = plan.epsilon(1e-6, accountant=name).ends
        except hs.UnsupportedError:
            continue
        answered.add(name)
        assert ends.get("upper", math.inf) >= certified.lower * (1 - 1e-9)
        assert ends.get("lower", 0.0) <= certified.upper * (1 + 1e-9)
    assert {"auto", "contour", "grid", "rdp", "basic", "optimal"} <= answered


def test_sampled_rounds_and_calibrated_noise_are_refused() -> None:
    one = hs.LaplaceThreshold(2.0, 40.0, 3)
    for sampling in (hs.Poisson(0.1), hs.WithoutReplacement(10, 100)):
        with pytest.raises(hs.UnsupportedError, match="several simultaneous releases"):
            hs.Plan([hs.Round(one, sampling)], "remove").epsilon(1e-6)
    with pytest.raises(hs.InvalidInputError, match="makes it likelier that a key held by one person"):
        hs.calibrate(hs.Plan([hs.Round(one)]), "scale", hs.targets.Epsilon(1.0, 1e-6))


def test_plan_files_know_them() -> None:
    plan = hs.Plan([hs.Round(hs.LaplaceThreshold(2.0, 40.0, 3), count=4), hs.Round(hs.GaussianThreshold(2.0, 15.0, 1))])
    assert hs.Plan.from_dict(plan.to_dict()) == plan
    with pytest.raises(hs.InvalidInputError, match="keys is missing"):
        hs.Plan.from_dict({"round": [{"mechanism": "laplace-threshold", "scale": 2.0, "threshold": 40.0}]})
    with pytest.raises(hs.InvalidInputError, match="threshold must be a number from 1 to 1e9"):
        hs.LaplaceThreshold(2.0, 0.5, 3)


@pytest.mark.parametrize("noise", NOISES)
def test_the_pair_takes_the_upper_end_of_the_probability_of_a_key(noise: str) -> None:
    """Its mass at infinite loss is no less than the integral, where the lower end of the probability is less."""
    told_apart = 0
    for threshold in (3.3, 7.7, 12.1, 20.9, 33.3):
        item = made(noise, 1.7, threshold, 1)
        truth = released_alone(noise, 1.7, threshold)
        told_apart += item.alone()[0] < truth
        assert item.pair(hs.Direction.REMOVE).infinite_mass >= truth
    assert told_apart > 0


def test_integer_noise_releases_more_than_continuous_noise() -> None:
    """delta of one key is ``a^(T - 1) / (1 + a)``, of L keys ``1 - (1 - .)^L``: no epsilon below, one above."""
    a = mp.exp(mp.mpf(-1) / 10)
    for keys in (1, 3):
        told = 1 - (1 - a**139 / (1 + a)) ** keys
        plan = hs.Plan([hs.Round(hs.LaplaceThreshold(10.0, 140.0, keys, noise="integer"))])
        assert plan.epsilon(float(told) * (1 - 1e-9)).lower == math.inf
        assert plan.epsilon(float(told) * (1 + 1e-9)).upper < math.inf
    assert hs.Plan([hs.Round(hs.LaplaceThreshold(10.0, 140.0, 1, noise="integer"))]).epsilon(4.687e-7).lower == math.inf
    continuous = hs.Plan([hs.Round(hs.LaplaceThreshold(10.0, 140.0, 1))])
    assert continuous.epsilon(4.687e-7).upper < 0.100001
    fractional = hs.LaplaceThreshold(1.0, 3.2, 1, noise="integer").alone()
    assert fractional == hs.LaplaceThreshold(1.0, 4.0, 1, noise="integer").alone()


@pytest.mark.parametrize("noise", DISCRETE)
def test_replaced_persons_with_integer_noise_are_between_the_ends(noise: str) -> None:
    """One key is taken away and another one brought, of persons alone or beside others: every outcome is looked at."""
    scale, threshold, epsilon = 0.8, 4.0, 0.7
    found = hs.Plan([hs.Round(made(noise, scale, threshold, 1))], "replace-one").delta(epsilon)
    ratio, deltas = mp.exp(epsilon), {}
    for taken in (0, 3, 30):
        for brought in (0, 3, 30):
            before = [(taken + 1, taken or None), (brought or None, brought + 1)]
            (p, q), (r, s) = [[key_law(noise, scale, threshold, n) for n in counts] for counts in before]
            deltas[taken, brought] = mp.fsum(
                max(p.get(x, 0) * r.get(y, 0) - ratio * q.get(x, 0) * s.get(y, 0), mp.zero)
                for x in {*p, *q}
                for y in {*r, *s}
            )
    assert max(deltas.values()) <= found.upper
    assert found.lower <= max(deltas.values()) * (1 + mp.mpf(1e-9))
    assert found.lower == pytest.approx(float(max(deltas[0, 0], deltas[30, 30])), rel=1e-6)


@pytest.mark.parametrize("noise", DISCRETE)
@pytest.mark.parametrize("records", [2, 3])
def test_users_with_several_records_on_one_key_are_below_the_upper_end(noise: str, records: int) -> None:
    """A user adds m to a count: ``a^(T - m) / (1 + a)`` of integer Laplace noise, and more losses of a shared key."""
    plan = hs.Plan(
        [hs.Round(made(noise, 2.0, 30.0, 1))], "add-or-remove", unit="user", records_per_unit=records
    )  # fmt: skip
    for epsilon in (0.5, 1.0):
        for others in (None, 3, 60):
            p = key_law(noise, 2.0, 30.0, records + (others or 0))
            q = key_law(noise, 2.0, 30.0, others)
            truth = mp.fsum(max(mass - mp.exp(epsilon) * q.get(y, 0), mp.zero) for y, mass in p.items())
            assert truth <= plan.delta(epsilon).upper


def test_every_answer_says_which_noise_it_is_for() -> None:
    for kind in (hs.LaplaceThreshold, hs.GaussianThreshold):
        told = hs.Plan([hs.Round(kind(3.0, 60.0, 1))]).epsilon(1e-6).assumptions[1]
        assert told.startswith("continuous noise: the counts of keys get continuous noise")
        assert 'the key noise = "integer"' in told
        integer = hs.Plan([hs.Round(kind(3.0, 60.0, 1, noise="integer"))])
        assert integer.epsilon(1e-6).assumptions[1].startswith("integer noise: the counts of keys are whole numbers")
        assert integer.delta(0.5).assumptions == integer.epsilon(1e-6).assumptions


def test_an_infinite_epsilon_says_what_is_released() -> None:
    """Not that a black box failed where there is none."""
    for noise in NOISES:
        keys = hs.Round(made(noise, 4.0, 20.0, 4))
        found = hs.Plan([keys]).epsilon(1e-6)
        assert found.lower == math.inf
        assert (found.reason or "").startswith("a key held by one person is released with probability")
        assert "box" not in (found.reason or "")
    box, half = hs.Round(hs.ApproximateDP(0.1, 1e-9)), Fraction(1, 2)
    laws = hs.Round(hs.Pmf((half, half, Fraction(0)), (Fraction(0), half, half)))
    assert "a black box fails with probability 1e-9" in (hs.Plan([box]).epsilon(1e-12).reason or "")
    assert "an outcome rules out one of the two datasets with" in (hs.Plan([laws]).epsilon(1e-3).reason or "")


def test_names_and_domains_of_integer_noise() -> None:
    for noise in (2.0, "discrete", None, ["integer"]):
        with pytest.raises(hs.InvalidInputError, match="noise must be one of 'continuous', 'integer'"):
            hs.LaplaceThreshold(2.0, 40.0, 3, noise=noise)  # type: ignore[arg-type]
    with pytest.raises(hs.InvalidInputError, match=r"noise_multiplier must be a number from 0\.01 to 500"):
        hs.GaussianThreshold(501.0, 40.0, 3, noise="integer")
    for kind in (hs.LaplaceThreshold, hs.GaussianThreshold):
        with pytest.raises(hs.InvalidInputError, match="threshold must be greater than 1 with so little noise"):
            kind(0.01, 1.0, 3, noise="integer")
        assert kind(0.01, 2.0, 3, noise="integer").alone()[1] < 1e-40
        plan = hs.Plan([hs.Round(kind(2.0, 40.0, 3, noise="integer")), hs.Round(kind(2.0, 40.0, 3))])
        assert hs.Plan.from_dict(plan.to_dict()) == plan
        assert {item.mechanism for item in plan.rounds} == {
            kind(2.0, 40.0, 3, noise="integer"), kind(2.0, 40.0, 3, noise="continuous")
        }  # fmt: skip
    given = {"mechanism": "laplace-threshold", "noise": 2.0, "threshold": 40.0, "keys": 3}
    with pytest.raises(hs.InvalidInputError, match="scale is missing"):
        hs.Plan.from_dict({"round": [given]})
