"""Privacy buckets with real and virtual errors: both ends bound a truth from elsewhere, to second order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import hockeystick as hs
from hockeystick.accountants.privacy_buckets import PrivacyBucketsAccountant
from hockeystick.accountants.shared import buckets
from hockeystick.accountants.shared.buckets import Buckets, convolution
from hockeystick.directions.directions import compositions
from hockeystick.pairs import BlackBoxPair, GaussianPair, LaplacePair
from hockeystick.values.side import Side
from oracle import delta as true_delta

Array = npt.NDArray[np.float64]

SIDES = {Side.ABOVE: 1, Side.BELOW: -1}


def rounds(mechanism: str, count: int, **keys: float) -> dict[str, Any]:
    sampling = {"sampling": "poisson"} if "sample_rate" in keys else {}
    return {"mechanism": mechanism, "count": count, **sampling, **keys}


CASES: dict[str, Mapping[str, Any]] = {
    "one Gaussian": {"adjacency": "remove", "round": [rounds("gaussian", 1, noise_multiplier=1.0)]},
    "Gaussians": {"adjacency": "remove", "round": [rounds("gaussian", 30, noise_multiplier=4.0)]},
    "one Laplace": {"adjacency": "remove", "round": [rounds("laplace", 1, scale=1.0)]},
    "Laplaces": {"adjacency": "remove", "round": [rounds("laplace", 12, scale=4.0)]},
    "responses": {"adjacency": "remove", "round": [rounds("randomized-response", 25, epsilon=0.3)]},
    "black boxes": {"adjacency": "remove", "round": [rounds("approximate-dp", 9, epsilon=0.2, delta=1e-4)]},
    "sampled": {"adjacency": "remove", "round": [rounds("gaussian", 7, noise_multiplier=0.8, sample_rate=0.1)]},
    "sampled, added": {"adjacency": "add", "round": [rounds("gaussian", 7, noise_multiplier=0.8, sample_rate=0.1)]},
    "mixed": {
        "adjacency": "remove",
        "round": [rounds("randomized-response", 3, epsilon=0.7), rounds("approximate-dp", 4, epsilon=0.2, delta=1e-3)],
    },
}
MECHANISMS = {
    "gaussian": hs.Gaussian,
    "laplace": hs.Laplace,
    "randomized-response": hs.RandomizedResponse,
    "approximate-dp": hs.ApproximateDP,
}


def plan_of(case: str) -> hs.Plan:
    parts = []
    for entry in CASES[case]["round"]:
        keys = {k: v for k, v in entry.items() if k in ("noise_multiplier", "scale", "epsilon", "delta")}
        sampling = hs.Poisson(entry["sample_rate"]) if "sample_rate" in entry else hs.NoSampling()
        parts.append(hs.Round(MECHANISMS[entry["mechanism"]](**keys), sampling, entry["count"]))
    return hs.Plan(parts, CASES[case]["adjacency"])


@cache
def truth(case: str, epsilon: float) -> float:
    return float(true_delta(CASES[case], epsilon))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("factor", [1.0003, 1.004, 1.03, 1.25, 3.0])
@pytest.mark.parametrize("number", [60, 700, 3000])
@pytest.mark.share(2)
def test_both_ends_bound_the_truth_at_many_factors(case: str, factor: float, number: int) -> None:
    """From thousands of buckets inside one loss to one bucket for all of them; squared at need or never."""
    directions = plan_of(case).directions
    for correction in (0, 1):
        method = PrivacyBucketsAccountant(factor, number, correction)
        for epsilon in (0.0, 0.11, 0.6, 1.7):
            true = truth(case, epsilon)
            found = method.delta_at(directions, epsilon)
            assert found.lower <= true * (1 + 1e-12), (correction, epsilon)
            assert found.upper >= true * (1 - 1e-12), (correction, epsilon)


@pytest.mark.parametrize("case", ["Laplaces", "sampled"])
def test_plain_rounding_is_of_first_order_and_corrected_of_second(case: str) -> None:
    plan = plan_of(case)
    errors: dict[int, list[float]] = {0: [], 1: []}
    for factor in (1.004, 1.002, 1.001):
        for correction, found in errors.items():
            answer = plan.epsilon(
                1e-3, accountant="privacy-buckets", factor=factor, buckets=12_000, correction=correction
            )
            assert isinstance(answer, hs.Bound)
            found.append(answer.upper - answer.lower)
    for wide, narrow in itertools.pairwise(errors[0]):
        assert wide / narrow == pytest.approx(2.0, rel=0.1)
    assert 10 < errors[1][0] / errors[1][-1] < 24
    assert errors[1][-1] < errors[0][-1] / 20


def test_error_terms_follow_the_composition_rule_of_the_paper() -> None:
    """l = a_1 f_1 * l_2 + a_2 f_2 * l_1 + l_1 * l_2, f the factors, l = (c - a) e^(-i h); and c - a >= 0 throughout."""
    pair, h, n = LaplacePair(1.0, 1.5), 0.05, 400
    one = Buckets.of(pair, h, n, Side.BELOW, True)
    assert one.correction is not None
    factor = np.exp(-h * np.arange(-n, n + 1))
    own = (one.correction.mass - one.mass) * factor
    assert own.min() >= -1e-15
    two = one.convolved(one, 1e-30)
    assert two.correction is not None
    a = one.mass * factor
    expected = (2 * np.convolve(a, own) + np.convolve(own, own))[n : 3 * n + 1]
    found = (two.correction.mass - two.mass) * factor
    middle = slice(n - 100, n + 101)
    assert found[middle] == pytest.approx(expected[middle], abs=1e-12)
    assert two.reach == 2


def test_virtual_errors_are_the_whole_mass_under_q() -> None:
    """Before anything is out of range the sum of b is that of Q, after squarings too."""
    one = Buckets.of(GaussianPair(0.5), 0.01, 600, Side.BELOW, True)
    for law in (one, one.squared(), one.convolved(one, 1e-30), one.squared().convolved(one, 1e-30)):
        assert law.correction is not None
        index = np.arange(-law.half, law.half + 1)
        assert float((law.correction.mass * np.exp(-law.width * index)).sum()) == pytest.approx(1.0, abs=1e-9)
    assert one.squared().reach == 1.0
    assert one.convolved(one, 1e-30).squared().reach == 1.5


@pytest.mark.parametrize("side", SIDES)
def test_losses_out_of_range_are_on_the_safe_side(side: Side) -> None:
    """So few buckets that each convolution moves much of the mass at either end, with nothing squared."""
    pair, width, half, count = LaplacePair(1.0, 1.1), 0.1, 14, 4
    law = Buckets.of(pair, width, half, side, True)
    total = law
    for _ in range(count - 1):
        total = total.convolved(law, 1.0)
    assert total.width == width
    assert total.correction is not None
    for epsilon in (0.0, 0.35, 0.9, 1.31):
        true = float(true_delta({"adjacency": "remove", "round": [rounds("laplace", count, scale=1 / 1.1)]}, epsilon))
        found = math.exp(total.log_delta(epsilon))
        assert SIDES[side] * (found - true) >= 0


@pytest.mark.parametrize("side", SIDES)
def test_rounding_of_the_transforms_is_charged_to_both_masses(side: Side) -> None:
    """Every mass after many convolutions within its error of what exact convolution of the same laws gives."""
    one = Buckets.of(GaussianPair(0.3), 0.02, 300, side, True)
    two = one.convolved(one, 1e-30)
    four = two.convolved(two, 1e-30)
    assert two.correction is not None
    assert four.correction is not None
    for name, law, masses, error in (
        ("a", two.mass, four.mass, four.error),
        ("c", two.correction.mass, four.correction.mass, four.correction.error),
    ):
        exact = np.convolve(law.astype(np.longdouble), law.astype(np.longdouble))[300:901]
        inner = slice(1, -1)  # what is moved into the first and the last bucket is another matter
        off = float(np.abs(exact - masses)[inner].sum())
        assert 0 < off <= error, name
        assert error < 1e-9


@pytest.mark.parametrize("side", SIDES)
def test_transforms_may_be_off_by_all_that_is_stated(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every entry of every convolution is raised by its error, which is made large."""
    one = Buckets.of(GaussianPair(0.3), 0.02, 300, side, True)
    exact = one.convolved(one, 1.0)

    def worst(a: Array, b: Array) -> tuple[Array, float]:
        found, error = convolution(a, b)
        return found + 1e-9, error + len(found) * 1e-9

    monkeypatch.setattr(buckets, "convolution", worst)
    two = one.convolved(one, 1.0)
    assert exact.correction is not None
    assert two.correction is not None
    assert 5e-7 < float(np.abs(two.mass - exact.mass).sum()) <= two.error
    assert 5e-7 < float(np.abs(two.correction.mass - exact.correction.mass).sum()) <= two.correction.error


def test_losses_raised_to_the_first_bucket_have_its_ratio() -> None:
    """Two losses of -0.55 are raised to -0.6 together, and no other sum is there: c is not more than a."""
    one = Buckets.of(BlackBoxPair(0.55, 0.0), 0.05, 12, Side.ABOVE, True)
    two = one.convolved(one, 1.0)
    assert two.correction is not None
    assert two.mass[0] == pytest.approx((1 + math.exp(0.55)) ** -2, rel=1e-9)
    assert 0.8 * two.mass[0] < two.correction.mass[0] <= two.mass[0]


def test_convolution_is_exact_to_its_error() -> None:
    random = np.random.default_rng(3)
    a, b = random.random(300), 10.0 ** random.uniform(-15, 0, 400)
    found, error = convolution(a, b)
    exact = np.convolve(a.astype(np.longdouble), b.astype(np.longdouble))
    assert 0 < float(np.abs(found - exact).sum()) <= error


def test_the_correction_never_widens_but_by_rounding() -> None:
    for case, delta in itertools.product(CASES, (1e-2, 1e-4)):
        plan = plan_of(case)
        plain, own = (
            plan.epsilon(delta, accountant="privacy-buckets", factor=1.002, buckets=4000, correction=c) for c in (0, 1)
        )
        assert isinstance(plain, hs.Bound)
        assert isinstance(own, hs.Bound)
        assert own.upper <= plain.upper * (1 + 1e-9) + 1e-12
        assert own.lower >= plain.lower * (1 - 1e-9) - 1e-12


def test_directions_of_a_plan_have_their_buckets() -> None:
    plan = hs.dp_sgd(1.0, 0.05, 40)
    found, true = plan.epsilon(1e-5, accountant="privacy-buckets"), plan.epsilon(1e-5)
    assert isinstance(found, hs.Bound)
    assert found.lower <= true.lower <= true.upper <= found.upper
    assert len(compositions(plan.directions)) == 2


def test_masses_below_a_double_are_not_taken_for_none() -> None:
    """Q has e^-810 of the outcomes at which P has e^-207: what a bucket lacks of it would raise the lower end."""
    plan = hs.Plan([hs.Round(hs.Gaussian(4.0), count=1600)], adjacency="replace-one")
    found, truth = plan.epsilon(1e-90, accountant="privacy-buckets"), 602.6023419  # by the normal law, mu = 20
    assert isinstance(found, hs.Bound)
    assert found.lower <= truth <= found.upper
    assert found.relative_gap < 1e-3
