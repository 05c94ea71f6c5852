"""Proved intervals: they hold the truth, they are narrow, and where there is no proof it is refused with the reason."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import pytest
from mpmath import mp

import oracle
from command import runner
from hockeystick import (
    ApproximateDP,
    Bound,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    HockeystickError,
    InvalidInputError,
    Laplace,
    Plan,
    Pmf,
    Poisson,
    PrivacyCurve,
    RandomAllocation,
    RandomizedResponse,
    Round,
    UnsupportedError,
    dp_sgd,
)
from hockeystick.accountants.proved import _lower, _upper
from hockeystick.cli import main
from hockeystick.engines.proof.closed import gaussian
from hockeystick.numerics.balls import precision
from oracle.real import to_fraction

GAP = Fraction(1, 10**6)  # the default


def sampled(noise: float, rate: float, count: int) -> dict[str, Any]:
    return {
        "mechanism": "gaussian",
        "noise_multiplier": noise,
        "sampling": "poisson",
        "sample_rate": rate,
        "count": count,
    }


MIX = [
    sampled(1.0, 0.01, 1000),
    {"mechanism": "gaussian", "noise_multiplier": 20.0, "count": 10},
    {"mechanism": "laplace", "scale": 10.0, "count": 5},
    {"mechanism": "randomized-response", "epsilon": 0.05, "count": 3},
    {"mechanism": "approximate-dp", "epsilon": 0.1, "delta": 1e-9, "count": 2},
]

TRUTHS = [  # rounds, adjacency, target delta, epsilon to 25 digits by two independent contour integrations
    ([sampled(1.0, 0.01, 10000)], "remove", 1e-6, "6.907384495045082347688477"),
    ([sampled(1.0, 0.01, 10000)], "add-or-remove", 1e-6, "6.907384495045082347688477"),
    ([sampled(1.0, 0.01, 10000)], "add", 1e-6, "6.207484378794227779597729"),
    ([sampled(2.0, 0.01, 10000)], "add-or-remove", 1e-6, "2.446733944483725719460422"),
    ([sampled(0.8, 0.001, 10000)], "add-or-remove", 1e-6, "0.9471956872702805655491026"),
    ([sampled(0.8, 0.001, 10000)], "add", 1e-6, "0.7427004949028654206239583"),
    ([sampled(0.65, 0.01, 500)], "remove", 1e-6, "5.439129877262575919511518"),
    ([sampled(1.0, 0.01, 100)], "remove", 1e-6, "0.9542170736171037928335252"),
    ([sampled(1.0, 0.01, 1)], "remove", 1e-6, "0.3639478396155085243816396"),
    ([sampled(1.0, 0.01, 1)], "add", 1e-6, "9.514180106418408229419257e-3"),
    ([sampled(1.0, 0.01, 1000)], "replace-one", 1e-6, "3.214230966557781131698908"),
    ([sampled(3.0, 0.01, 1000)], "replace-one", 1e-6, "0.8834709729537828805540157"),
    ([{"mechanism": "gaussian", "noise_multiplier": 0.5}], "add-or-remove", 1e-6, "10.99715121422065111490776"),
    (
        [{"mechanism": "randomized-response", "epsilon": 0.1, "count": 1000}],
        "add-or-remove",
        1e-6,
        "19.34467144799304367251909",
    ),
]


def inside(truth: object, found: Bound) -> bool:
    return Fraction(found.lower) <= to_fraction(truth) <= Fraction(found.upper)


@pytest.mark.parametrize(("rounds", "adjacency", "delta", "truth"), TRUTHS)
def test_the_interval_holds_the_truth_and_is_narrow(
    rounds: list[dict[str, Any]], adjacency: str, delta: float, truth: str
) -> None:
    """Both ends in exact arithmetic, for every kind of proof and in every direction."""
    found = Plan.from_dict({"adjacency": adjacency, "round": rounds}).epsilon(delta, proof=True)
    assert inside(Fraction(Decimal(truth)), found)
    assert Fraction(found.upper) - Fraction(found.lower) <= GAP * Fraction(found.upper)
    assert found.guarantee == "proved"
    assert found.reason is None
    assert found.lower <= found.estimate <= found.upper


@pytest.mark.parametrize(
    ("rounds", "adjacency", "epsilon"),
    [
        ([sampled(1.0, 0.01, 10000)], "remove", 2.0),
        ([sampled(1.0, 0.01, 10000)], "add", 6.0),
        ([sampled(2.0, 0.01, 1000)], "replace-one", 2.0),
        ([sampled(5.0, 0.05, 1)], "remove", 0.25),
        ([sampled(0.7, 0.2, 1)], "add", 0.125),
        ([sampled(0.7, 0.2, 1)], "replace-one", 0.7),
        ([{"mechanism": "gaussian", "noise_multiplier": 7.0, "count": 30}], "replace-one", 1.7),
        ([{"mechanism": "approximate-dp", "epsilon": 0.3, "delta": 1e-4, "count": 40}], "add", 2.5),
        (
            [
                {"mechanism": "randomized-response", "epsilon": 0.1, "count": 7},
                {"mechanism": "randomized-response", "epsilon": 0.2345, "count": 5},
            ],
            "remove",
            0.6,
        ),
        (MIX, "add-or-remove", 0.7),
        ([{"mechanism": "laplace", "scale": 1.0, "count": 100}], "remove", 60.0),
        ([{"mechanism": "laplace", "scale": 12.0, "count": 700}], "add", 9.0),
        ([sampled(1.0, 0.01, 4)], "remove", 0.5),
        ([sampled(0.8, 0.001, 100)], "add-or-remove", 0.3),
        ([sampled(1.5, 0.02, 6)], "replace-one", 0.8),
    ],
)
@pytest.mark.share(2)
def test_delta_against_the_oracle(rounds: list[dict[str, Any]], adjacency: str, epsilon: float) -> None:
    """delta and its logarithm, at values that are nowhere tabulated."""
    plan = {"adjacency": adjacency, "round": rounds}
    found = Plan.from_dict(plan).delta(epsilon, proof=True)
    truth = oracle.delta(plan, epsilon, digits=22)
    slack = Fraction(1, 10**20)  # the oracle's own
    assert Fraction(found.lower) * (1 - slack) <= to_fraction(truth) <= Fraction(found.upper) * (1 + slack)
    assert found.upper - found.lower <= 1.1e-6 * found.upper
    assert found.guarantee == found.log_delta.guarantee == "proved"
    log = Plan.from_dict(plan).log_delta(epsilon, proof=True)
    assert log == found.log_delta
    assert math.exp(log.lower) == pytest.approx(found.lower, rel=1e-9)


@pytest.mark.parametrize("adjacency", ["add", "remove"])
@pytest.mark.parametrize("failure", [0.0, 1e-3])
def test_sampled_black_boxes_against_the_oracle(adjacency: str, failure: float) -> None:
    """Two or three finite losses a round; where it is removed a sampled failure is an infinite loss."""
    entry = {"mechanism": "approximate-dp", "epsilon": 0.4, "delta": failure, "count": 60}
    plan = {"adjacency": adjacency, "round": [{**entry, "sampling": "poisson", "sample_rate": 0.25}]}
    found = Plan.from_dict(plan).epsilon(0.02, gap=1e-13, proof=True)
    truth = oracle.epsilon(plan, 0.02, digits=22)
    assert Fraction(found.lower) * (1 - Fraction(1, 10**20)) <= to_fraction(truth)
    assert to_fraction(truth) <= Fraction(found.upper) * (1 + Fraction(1, 10**20))
    assert found.upper - found.lower <= 1e-12
    assert found.accountant == ("grid of whole numbers" if failure else "closed form")


def test_parameters_are_the_decimals_they_print_as() -> None:
    """The rate is a quotient of whole numbers where it was given as one: no double stands between."""
    plan = Plan([Round(Gaussian(1.0), Poisson(batch_size=1, dataset_size=3))], adjacency="remove")
    third = Plan([Round(Gaussian(1.0), Poisson(sample_rate=1 / 3))], adjacency="remove")
    exact, rounded = plan.delta(0.1, proof=True), third.delta(0.1, proof=True)
    quotient = {"adjacency": "remove", "round": [{**sampled(1.0, 0.5, 1), "sample_rate": Fraction(1, 3)}]}
    assert inside(oracle.delta(quotient, 0.1, digits=30), exact)
    assert exact.log_delta.upper == pytest.approx(rounded.log_delta.upper, rel=1e-14)


def test_a_wider_gap_is_as_sound_and_a_narrower_one_is_met() -> None:
    """The gap is of the interval asked for, not of the arithmetic."""
    plan, truth = dp_sgd(1.0, 0.01, 10000), Fraction(Decimal("6.907384495045082347688477"))
    for gap in (0.5, 1e-3, 1e-9, 1e-12):
        found = plan.epsilon(1e-6, gap=gap, proof=True)
        assert inside(truth, found)
        assert found.relative_gap <= gap


def test_deltas_below_the_range_of_a_double() -> None:
    """The logarithm is proved where delta itself rounds to the smallest double."""
    found = Plan([10 * Round(Gaussian(3.0))]).delta(50.0, proof=True)
    assert (found.lower, found.upper) == (0.0, 5e-324)
    plan = {"adjacency": "remove", "round": [{"mechanism": "gaussian", "noise_multiplier": 3.0, "count": 10}]}
    log = oracle.real.mp.log(oracle.delta(plan, 50.0, digits=30))
    assert inside(log, found.log_delta)


def test_pure_epsilon_is_exact() -> None:
    """Largest losses are sums of fractions; from there on delta is 0."""
    plan = Plan([3 * Round(RandomizedResponse(0.1)), 2 * Round(Laplace(4.0))])
    found = plan.epsilon(0.0, proof=True)
    assert inside(Fraction(4, 5), found)
    assert math.nextafter(found.lower, math.inf) == found.upper == 0.8  # no double is four fifths
    at = plan.delta(0.8, proof=True)
    assert (at.lower, at.upper, at.log_delta.upper, at.guarantee) == (0.0, 0.0, -math.inf, "proved")
    added = dp_sgd(1.0, 0.5, 3, adjacency="add")
    top = added.epsilon(0.0, proof=True)
    assert top.lower < 3 * math.log(2) + 1e-15
    assert top.upper == math.nextafter(top.lower, math.inf)
    assert added.delta(top.upper, proof=True).upper == 0.0


def test_ends_hold_as_the_decimals_that_they_print_as() -> None:
    """An end that is asked about again is read as its decimal, half a step of doubles beside it: no end is inside."""
    bounded = Plan([Round(DiscreteLaplace(0.7), Poisson(0.9))], adjacency="add")
    top = bounded.epsilon(0.0, proof=True)
    assert bounded.delta(top.upper, proof=True).upper == 0.0
    many = Plan([5 * Round(Gaussian(2.0))])
    for target in (3e-3, 1e-3, 1e-4, 3e-5, 1e-5, 7e-6, 5e-6, 3e-6, 1e-6, 7e-7, 3e-7, 1e-7, 1e-8, 1e-9, 1e-10):
        found = many.epsilon(target, proof=True)
        assert many.delta(found.lower, proof=True).upper >= target > many.delta(found.upper, proof=True).lower
    with precision(100):  # 0.3 prints as more than it is, and 0.1 as less
        assert _lower(flint.arb(0.3)) == math.nextafter(0.3, 0.0)
        assert _upper(flint.arb(0.1)) == math.nextafter(0.1, 1.0)
    with mp.workdps(40):
        true = mp.e**2 / (1 + mp.e**2) * (1 - mp.exp(mp.mpf("0.2") - 2))
        delta = Plan([Round(RandomizedResponse(2.0))]).delta(0.2, proof=True)
        assert mp.mpf(repr(delta.lower)) <= true <= mp.mpf(repr(delta.upper))
        assert mp.mpf(repr(delta.log_delta.lower)) <= mp.log(true) <= mp.mpf(repr(delta.log_delta.upper))


def test_two_laws_without_a_common_outcome_are_told_apart() -> None:
    """Delta is 1 at every epsilon then, whatever else is run."""
    apart = Round(Pmf(p=(Fraction(1), Fraction(0)), q=(Fraction(0), Fraction(1))))
    for rounds in ([apart], [apart, Round(RandomizedResponse(1.0))], [apart, Round(Gaussian(1.0))]):
        found = Plan(rounds).delta(1.0, proof=True)
        assert (found.lower, found.upper, found.guarantee) == (1.0, 1.0, "proved")
        assert Plan(rounds).epsilon(0.5, proof=True).lower == math.inf


def test_mass_at_infinity_is_told_from_delta_exactly() -> None:
    """Below it nothing helps, at it only the largest loss, above it what remains."""
    plan = Plan([Round(ApproximateDP(0.25, 1e-6)), Round(ApproximateDP(0.5, 2e-6))], adjacency="remove")
    below = plan.epsilon(2.9e-6, proof=True)
    assert below.lower == below.upper == math.inf
    assert below.reason == "a black box fails with a probability above delta"
    single = Plan([Round(ApproximateDP(0.25, 1e-6))], adjacency="remove")
    assert single.epsilon(1e-6, proof=True) == Bound(0.25, 0.25, 0.25)
    unbounded = (single + Round(Gaussian(1.0))).epsilon(1e-6, proof=True)
    assert unbounded.lower == unbounded.upper == math.inf
    assert unbounded.reason == "delta equals the black boxes' failure probability"
    assert plan.epsilon(1e-4, proof=True).upper < 0.75
    pure = Plan([Round(Gaussian(1.0))]).epsilon(0.0, proof=True)
    assert (pure.upper, pure.reason) == (
        math.inf,
        "delta is 0 and the privacy loss is unbounded, so no epsilon is finite",
    )


def test_nothing_costs_nothing_and_a_large_delta_is_met_at_0() -> None:
    assert dp_sgd(1.0, 0.01, 0).epsilon(1e-6, proof=True) == Bound(0.0, 0.0, 0.0)
    assert dp_sgd(1.0, 0.01, 0).delta(0.5, proof=True).upper == 0.0
    assert dp_sgd(1.0, 0.01, 1000).epsilon(0.5, proof=True).upper == 0.0
    assert Plan([Round(Gaussian(1.0))]).epsilon(0.5, proof=True).upper == 0.0


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (Plan([Round(Laplace(1.0), Poisson(0.01), 2)]), "leave proof out for the certified interval"),
        (
            Plan([Round(PrivacyCurve((Fraction(1, 2),), (Fraction(1, 100),)))]),
            "leave proof out for the certified interval",
        ),
        (Plan([Round(Gaussian(1.0), RandomAllocation(steps_per_epoch=10))]), "leave proof out for the certified"),
        (Plan([Round(Gaussian(1.0)), Round(DiscreteGaussian(2.0))]), "discrete Gaussian noise can be proved only"),
        (dp_sgd(1.0, 0.01, 3), "too few rounds for a proof"),
        (dp_sgd(0.5, 0.0001, 2), "no proof for this plan: "),
        (Plan([Round(RandomizedResponse(0.001), count=10**12)]), "too many distinct sums for a proof"),
    ],
)
def test_a_refusal_says_why(plan: Plan, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason) as refusal:
        plan.epsilon(1e-6, proof=True)
    assert "\n" not in str(refusal.value)


def test_other_accountants_have_no_proof() -> None:
    plan = dp_sgd(1.0, 0.01, 100)
    with pytest.raises(InvalidInputError, match="accountant must be 'auto' or 'contour' if proof is set"):
        plan.epsilon(1e-6, accountant="grid", proof=True)
    with pytest.raises(InvalidInputError, match="accountant must be one of"):
        plan.delta(1.0, accountant="nonsense", proof=True)
    assert plan.epsilon(1e-6, accountant="contour", proof=True) == plan.epsilon(1e-6, proof=True)


def test_without_the_extra_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flint", None)  # as if it were not installed
    with pytest.raises(
        HockeystickError,
        match=r"^a proof needs .*`pip install python-flint`, or in a clone .*\.\[proof\]'`$",
    ):
        dp_sgd(1.0, 0.01, 100).epsilon(1e-6, proof=True)


def test_importing_the_library_does_not_import_flint() -> None:
    code = (
        "import sys, hockeystick; hockeystick.dp_sgd(1.0, 0.01, 100).epsilon(1e-6); assert 'flint' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_command_line(tmp_path: Path) -> None:
    """The flag, the guarantee in both forms of output, and the refusal."""
    flags = ["--noise-multiplier", "1", "--sample-rate", "0.01", "--steps", "10000"]
    shown = runner().invoke(main, ["epsilon", *flags, "--delta", "1e-6", "--proof"])
    assert shown.exit_code == 0
    assert "contour (proved)" in shown.stdout
    assert "proved interval" in shown.stdout
    said = json.loads(runner().invoke(main, ["epsilon", *flags, "--delta", "1e-6", "--proof", "--json"]).stdout)
    assert said["guarantee"] == "proved"
    assert said["epsilon"]["lower"] <= 6.9073844950450823 <= said["epsilon"]["upper"]
    said = json.loads(runner().invoke(main, ["delta", *flags, "--epsilon", "2", "--proof", "--json"]).stdout)
    assert said["guarantee"] == "proved"
    refused = runner().invoke(main, ["epsilon", *flags, "--delta", "1e-6", "--proof", "--accountant", "grid"])
    assert refused.exit_code == 2
    assert refused.stderr.count("\n") == 1
    assert "if proof is set" in refused.stderr


def test_a_strip_next_to_nothing_is_passed_over() -> None:
    """At some tilts the steps of the quadrature are below the range of a double; another one proves it."""
    plan = dp_sgd(23.4, 0.0001676247378131263, 3320)
    found = plan.epsilon(0.000493, proof=True)
    back = plan.delta(found.upper, proof=True)
    assert back.lower <= 0.000493
    certified = plan.delta(found.upper)
    assert max(back.lower, certified.lower) <= min(back.upper, certified.upper)


def test_an_epsilon_near_the_largest_loss_is_proved() -> None:
    """The tilt there is many times that of the central limit."""
    plan = dp_sgd(0.3674, 0.1768, 23, adjacency="add")
    proved, certified = plan.epsilon(8.481e-10, proof=True), plan.epsilon(8.481e-10)
    assert max(certified.lower, proved.lower) <= min(certified.upper, proved.upper)
    assert proved.relative_gap <= 1e-6
    deep = plan.epsilon(1e-100, proof=True)
    assert deep.upper <= -23 * math.log1p(-0.1768) * (1 + 1e-15)


@pytest.mark.parametrize(
    ("plan", "epsilon"), [(Plan([151 * Round(Laplace(0.7935))]), 40.7), (dp_sgd(0.5, 0.5, 1000), 10.0)]
)
def test_a_delta_next_to_1_is_proved(plan: Plan, epsilon: float) -> None:
    """Far below the mean of the losses the saddle point is that of the left alias."""
    proved, certified = plan.delta(epsilon, proof=True), plan.delta(epsilon)
    assert max(certified.lower, proved.lower) <= min(certified.upper, proved.upper)
    assert proved.upper - proved.lower <= 1e-6 * proved.upper


def test_a_ball_that_is_no_number_bounds_nothing() -> None:
    """At the first tilt that is tried for the second direction the exponent is as wide as that; at a lesser one not."""
    plan = dp_sgd(0.314, 0.938, 3)
    certified, proved = plan.epsilon(2.59e-256), plan.epsilon(2.59e-256, proof=True)
    assert max(certified.lower, proved.lower) <= min(certified.upper, proved.upper)


def test_far_out_a_continued_fraction_stands_in_for_a_tail() -> None:
    """Beside the series of the Mills ratio in mpmath, at a = 1."""
    mu = flint.arb(2) ** 37
    with precision(256):
        found = gaussian(mu, mu * mu / 2 + mu)
    with mp.workdps(60):
        b = 1 + mp.mpf(2) ** 37
        truth = mp.ncdf(-1) - mp.npdf(1) * (1 / b - 1 / b**3 + 3 / b**5)
        assert abs(mp.mpf(found.mid().str(50, radius=False)) / truth - 1) < mp.mpf(2) ** -150
    assert found.rel_accuracy_bits() > 200
