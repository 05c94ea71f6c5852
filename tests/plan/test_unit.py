"""Plans about users with several records: the mixture of numbers in a batch, distances, and group privacy elsewhere."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, workdps
from scipy.stats import binom, norm

import hockeystick as hs
from command import refused, run
from hockeystick import (
    GDP,
    ZCDP,
    ApproximateDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    InvalidInputError,
    Laplace,
    MixtureGaussian,
    Plan,
    Poisson,
    RandomAllocation,
    RandomizedResponse,
    Round,
    Staircase,
    UnsupportedError,
    UpperBound,
    WithoutReplacement,
)
from hockeystick.targets import Epsilon


def users(item: Round, records: int, adjacency: str = "add-or-remove") -> Plan:
    return Plan([item], adjacency, unit="user", records_per_unit=records)


def test_four_records_and_a_thousand_steps() -> None:
    """The pair of Charles et al. 2024 [CGM+24] for records that are sampled by themselves."""
    found = hs.dp_sgd(1.0, 0.01, 1000, unit="user", records_per_unit=4).epsilon(1e-6)
    assert 10.0152949 < found.lower <= found.upper < 10.0152952
    assert any("each user has at most 4 records" in text for text in found.assumptions)


@pytest.mark.parametrize(("records", "rate", "noise", "steps"), [(2, 0.1, 0.8, 3), (5, 0.02, 1.5, 40), (30, 0.3, 6, 7)])
def test_users_are_the_mixture_with_binomial_probabilities(records: int, rate: float, noise: float, steps: int) -> None:
    """The mixture written by hand, its probabilities by SciPy: another route to the same pair."""
    k = np.arange(records + 1)
    law = binom.pmf(k, records, rate)
    kept = law > 1e-290
    by_hand = MixtureGaussian(k[kept].tolist(), (law[kept] / law[kept].sum()).tolist(), noise)
    for direction in ("remove", "add"):
        here = users(Round(Gaussian(noise), Poisson(rate), steps), records, direction).epsilon(1e-5)
        there = Plan([Round(by_hand, count=steps)], direction).epsilon(1e-5)
        assert here.lower <= there.upper * (1 + 1e-9)
        assert there.lower <= here.upper * (1 + 1e-9)
        assert here.upper == pytest.approx(there.upper, rel=2e-5)


@pytest.mark.parametrize(
    ("records", "rate", "noise"), [(2, Fraction(1, 10), 1), (3, Fraction(1, 4), 2), (25, Fraction(4, 5), 9)]
)
def test_one_step_against_a_quadrature(records: int, rate: Fraction, noise: int) -> None:
    """Delta of one step by mpmath from the densities, sharing no code."""
    with workdps(30):
        q, s, epsilon = mp.mpf(rate.numerator) / rate.denominator, mp.mpf(noise), mp.mpf("0.3")
        law = [mp.binomial(records, k) * q**k * (1 - q) ** (records - k) for k in range(records + 1)]

        def excess(x: Any) -> Any:
            p = mp.fsum(w * mp.npdf(x, k, s) for k, w in enumerate(law))
            return max(p - mp.e**epsilon * mp.npdf(x, 0, s), 0)

        def ratio(x: Any) -> Any:
            return mp.fsum(w * mp.exp((k * x - k * k / mp.mpf(2)) / s**2) for k, w in enumerate(law)) - mp.e**epsilon

        root = mp.findroot(ratio, (0, 20 * s), solver="anderson")
        truth = float(mp.quad(excess, [root, root + s, root + 3 * s, root + 8 * s, root + 30 * s]))
    plan = users(Round(Gaussian(noise), Poisson(float(rate))), records, "remove")
    found = plan.delta(0.3)
    assert found.lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= found.upper
    assert found.relative_gap < 1e-5


@pytest.mark.parametrize("adjacency", ["remove", "add", "zero-out"])
@pytest.mark.parametrize(("records", "rate"), [(25, 0.79), (1000, 0.79), (20, 0.999999), (3, 0.999999), (2, 0.999999)])
def test_users_who_are_next_to_always_in_a_batch_have_both_ends(records: int, rate: float, adjacency: str) -> None:
    """The probability that none of their records is there is no part of 1 to a double; to either side it is moved."""
    found = users(Round(Gaussian(40.0), Poisson(rate), 3), records, adjacency).delta(0.3)
    always = users(Round(Gaussian(40.0), Poisson(1.0), 3), records, adjacency).delta(0.3)
    assert 0 < found.lower < found.upper <= always.upper * (1 + 1e-6)
    assert records == 1000 or found.relative_gap < 1e-5


def test_simulated_users_are_within() -> None:
    """A million batches with equal records, counted above the best threshold."""
    records, rate, noise, epsilon = 4, 0.2, 1.5, 0.5
    draws = np.random.default_rng(7)
    with_user = draws.binomial(records, rate, 10**6) + noise * draws.standard_normal(10**6)
    plan = users(Round(Gaussian(noise), Poisson(rate)), records, "remove")
    truth = plan.delta(epsilon)
    threshold = 1.2
    seen = float((with_user > threshold).mean()) - math.exp(epsilon) * float(norm.sf(threshold / noise))
    assert seen <= truth.upper + 4e-3
    at = np.linspace(0, 5, 501)[:, None]
    exact = (binom.pmf(np.arange(5), 4, rate) * norm.sf((at - np.arange(5)) / noise)).sum(axis=1)
    best = float((exact - math.exp(epsilon) * norm.sf(at[:, 0] / noise)).max())
    assert truth.lower - 1e-4 <= best <= truth.upper + 1e-12


DISTANCES = [
    (Gaussian(3.0), Gaussian(1.0)),
    (Laplace(30.0), Laplace(10.0)),
    (DiscreteGaussian(12.0, sensitivity=1), DiscreteGaussian(4.0, sensitivity=3)),
    (DiscreteLaplace(20.0, sensitivity=2), DiscreteLaplace(20.0, sensitivity=6)),
    (GDP(0.1), GDP(0.3)),
    (ZCDP(0.01), ZCDP(0.09)),
]


@pytest.mark.parametrize(("of_record", "of_user"), DISTANCES)
@pytest.mark.parametrize("adjacency", ["add-or-remove", "replace-one", "zero-out"])
def test_unsampled_noise_sees_three_times_the_distance(of_record: Any, of_user: Any, adjacency: str) -> None:
    """Three records are one whose sensitivity is three times as large: the answer of another instance."""
    if adjacency == "replace-one" and isinstance(of_record, GDP | ZCDP):
        pytest.skip("a guarantee for replaced records: refused, as below")
    found = users(Round(of_record, count=5), 3, adjacency).epsilon(1e-6)
    wanted = Plan([Round(of_user, count=5)], adjacency).epsilon(1e-6)
    assert float(found) == pytest.approx(float(wanted), rel=1e-6)


@pytest.mark.parametrize("item", [Round(Laplace(5.0), Poisson(0.1), 20), Round(RandomizedResponse(1.0), count=4)])
def test_elsewhere_group_privacy_says_so(item: Round) -> None:
    """The curve of one record, as a group: the same number by the profile of a plan of records."""
    found = users(item, 3).epsilon(1e-6)
    alone = Plan([item])
    assert found.upper == pytest.approx(float(alone.profile().group(3).epsilon(1e-6).upper), rel=1e-9)
    assert found.reason is not None
    assert "group privacy" in found.reason
    assert isinstance(found, hs.Bound)
    assert found.lower <= alone.epsilon(1e-6).upper
    at = users(item, 3).delta(1.0)
    assert at.lower <= at.upper == pytest.approx(float(alone.profile().group(3).delta(1.0).upper), rel=1e-9)


def test_the_pair_is_below_group_privacy() -> None:
    """What the mixture saves: a number, and never a loss."""
    plan = hs.dp_sgd(1.0, 0.01, 1000)
    by_group = float(plan.profile().group(4).epsilon(1e-6).upper)
    assert 10.1 < hs.dp_sgd(1.0, 0.01, 1000, unit="user", records_per_unit=4).epsilon(1e-6).upper * 1.01 < by_group


def test_more_records_in_a_batch_than_hide_anything() -> None:
    """Forty of eighty records in a batch on average: between those of 20 and all of them."""
    item = Round(Gaussian(50.0), Poisson(0.5), 10)
    found = users(item, 80).epsilon(1e-6)
    assert users(item, 40).epsilon(1e-6).upper == pytest.approx(found.lower, rel=1e-5)
    assert found.upper == pytest.approx(Plan([Round(Gaussian(50 / 80), count=10)]).epsilon(1e-6).upper, rel=1e-6)
    assert found.reason is not None


def test_fixed_batches_have_no_chain_of_records() -> None:
    item = Round(Gaussian(2.0), WithoutReplacement(100, 10_000), 10)
    with pytest.raises(
        UnsupportedError, match="'without-replacement' under 'add-or-remove' is not supported for users"
    ):
        users(item, 3).epsilon(1e-6)
    with pytest.raises(UnsupportedError, match="group privacy does not apply"):
        Plan([item]).profile().group(3)
    zeroed = users(item, 3, "zero-out").epsilon(1e-6)
    assert zeroed.upper > Plan([item], "zero-out").epsilon(1e-6).upper


def test_no_other_question_answers_for_single_records() -> None:
    """A plan without pairs for users has no profile, no curves, no proof and no other accountant."""
    plan = users(Round(Gaussian(5.0), RandomAllocation(steps_per_epoch=10)), 3)
    for ask in (
        lambda: plan.profile(),
        lambda: plan.epsilon(1e-6, accountant="rdp"),
        lambda: plan.epsilon(1e-6, proof=True),
        lambda: plan.selection("geometric", 5),
    ):
        with pytest.raises(UnsupportedError):
            ask()


def test_files_sums_and_changes_keep_the_unit(tmp_path: Any) -> None:
    plan = hs.dp_sgd(1.0, 0.01, 100, unit="user", records_per_unit=4, delta=1e-6)
    for name in ("plan.toml", "plan.json"):
        plan.save(tmp_path / name)
        assert hs.load_plan(tmp_path / name) == plan
    assert (2 * plan).records_per_unit == 4
    assert (plan + Round(Gaussian(20.0))).unit == "user"
    assert plan != hs.dp_sgd(1.0, 0.01, 100, delta=1e-6)
    with pytest.raises(InvalidInputError, match="must have the same unit to be added"):
        plan + hs.dp_sgd(1.0, 0.01, 100)
    found = hs.calibrate(plan, "noise-multiplier", Epsilon(1.0, delta=1e-6))
    assert found.plan.records_per_unit == 4
    assert 0.999 < found.achieved.upper <= 1.0


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"unit": "person", "records_per_unit": 3}, "unit must be one of 'record', 'user'; received 'person'"),
        ({"unit": "user"}, "records_per_unit is missing; unit 'user' needs it"),
        ({"records_per_unit": 3}, "records_per_unit requires unit 'user'; received 3"),
        ({"unit": "user", "records_per_unit": 0}, "records_per_unit must be a whole number from 1"),
        ({"unit": "user", "records_per_unit": 2.5}, "records_per_unit must be a whole number from 1"),
    ],
)
def test_bad_units(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        hs.dp_sgd(1.0, 0.01, 100, **keys)
    assert str(caught.value).startswith(message)


def test_upper_bounds_stay_upper_bounds() -> None:
    """Where nothing is known from below of one record, nothing is of a user."""
    assert isinstance(users(Round(ZCDP(0.1), count=3), 2).epsilon(1e-6), UpperBound)


PARTS: list[tuple[Any, Any, int]] = [
    (Gaussian(6.0), Gaussian(6.0 / (3 * 2.0)), 1),  # sqrt(4) partitions, 3 records in each
    (Laplace(30.0), Laplace(10.0), 4),
    (DiscreteLaplace(20.0, sensitivity=2), DiscreteLaplace(20.0, sensitivity=6), 4),
]


@pytest.mark.parametrize(("of_record", "of_part", "times"), PARTS)
def test_partitions_are_composed_with_the_records_of_each(of_record: Any, of_part: Any, times: int) -> None:
    """Four partitions with three records each: four rounds at three times the distance, which normal noise adds up."""
    plan = Plan([Round(of_record, count=2)], unit="user", records_per_unit=3, partitions_per_unit=4)
    found, wanted = plan.epsilon(1e-6), Plan([Round(of_part, count=2 * times)]).epsilon(1e-6)
    assert found.lower <= wanted.upper
    assert wanted.lower <= found.upper == pytest.approx(wanted.upper, rel=1e-6)
    one = Plan([Round(of_record, count=2)], unit="user", records_per_unit=12).epsilon(1e-6)
    assert found.upper < one.upper  # bounds in each partition are worth something
    assert Plan.from_dict(plan.to_dict()) == plan


def test_two_partitions_of_randomised_laplace_noise_by_quadrature() -> None:
    """Pure epsilon adds up over partitions; delta at less of it by the two-fold law, summed by hand."""
    plan = Plan([Round(Laplace(2.0))], unit="user", records_per_unit=1, partitions_per_unit=2)
    assert plan.epsilon(1e-15).upper == pytest.approx(1.0, rel=1e-6)
    x = (np.arange(4000) + 0.5) / 4000 * 40 - 20
    p, q = np.exp(-np.abs(x - 1) / 2) / 4, np.exp(-np.abs(x) / 2) / 4
    both = np.multiply.outer(p, p) - math.exp(0.4) * np.multiply.outer(q, q)
    truth = float(np.maximum(both, 0).sum()) * 0.01**2
    assert plan.delta(0.4).upper == pytest.approx(truth, rel=1e-3)


def test_dp_sgd_and_the_flags_know_partitions() -> None:
    """A step without sampling on each of the partitions; what a plan file says in the same words."""
    made = hs.dp_sgd(30.0, steps=5, sampling="none", unit="user", records_per_unit=2, partitions_per_unit=4, delta=1e-6)
    assert made == Plan(
        [Round(Gaussian(30.0), count=5)], delta=1e-6, unit="user", records_per_unit=2, partitions_per_unit=4
    )
    flags = ["--sigma", "30", "--steps", "5", "--sampling", "none", "--unit", "user", "--records-per-unit", "2"]
    said = run("epsilon", *flags, "--partitions-per-unit", "4", "--delta", "1e-6", "--json")
    stated = json.loads(said.stdout)
    assert stated["plan"]["partitions_per_unit"] == 4
    assert stated["epsilon"]["upper"] == made.epsilon().upper
    assert "requires sampling 'none'" in refused(
        "epsilon", "--sigma", "30", "--steps", "5", "--sample-rate", "0.1", *flags[6:], "--partitions-per-unit", "4",
        "--delta", "1e-6",
    )  # fmt: skip
    assert refused("epsilon", *flags, "--partitions-per-unit", "0", "--delta", "1e-6").startswith(
        "--partitions-per-unit must be a whole number from 1"
    )
    assert "requires unit 'user'" in refused("epsilon", *flags[:6], "--partitions-per-unit", "4", "--delta", "1e-6")


def test_sampled_partitions_are_refused() -> None:
    plan = Plan([Round(Gaussian(1.0), Poisson(0.1))], unit="user", records_per_unit=2, partitions_per_unit=3)
    with pytest.raises(UnsupportedError, match="requires sampling 'none'"):
        plan.epsilon(1e-6)
    by_group = Plan([Round(Laplace(1.0), Poisson(0.1))], unit="user", records_per_unit=2, partitions_per_unit=3)
    with pytest.raises(UnsupportedError, match="requires sampling 'none'"):
        by_group.epsilon(1e-6)
    group = Plan([Round(RandomizedResponse(0.1))], unit="user", records_per_unit=2, partitions_per_unit=3)
    assert group.epsilon(1e-9).upper == pytest.approx(0.6, rel=1e-6)


def test_users_of_more_records_than_a_mechanism_takes_are_refused_where_they_are_asked_for() -> None:
    """The plan can be looked at, and no looser route answers in place of a refusal."""
    plan = Plan([Round(DiscreteGaussian(3.0))], unit="user", records_per_unit=1001)
    assert not plan.whole
    assert not plan.by_group
    with pytest.raises(UnsupportedError, match="up to a distance of 1000 counts between neighbouring datasets; rec"):
        plan.epsilon(1e-5)
    with pytest.raises(UnsupportedError, match="up to a distance of 1000 counts between neighbouring datasets; rec"):
        plan.delta(1.0)


FULL = "replace_one_distance 2"
UNKNOWN_WITHOUT_A_RECORD: list[Round] = [
    Round(Gaussian(1.0, replace_one_distance=1)),  # two counts that move by 1 each: mu is 2 for L = 2, not sqrt 2
    Round(Laplace(1.0, replace_one_distance=1)),
    Round(ApproximateDP(1.0, 1e-9)),
    Round(GDP(1.0)),
    Round(ZCDP(0.1)),
    Round(RandomizedResponse(1.0)),
    Round(Staircase(1.0)),
    Round(Exponential(1.0)),
]


@pytest.mark.parametrize("item", UNKNOWN_WITHOUT_A_RECORD, ids=lambda item: str(item.mechanism.name))
def test_a_guarantee_for_replaced_records_says_nothing_of_one_that_leaves(item: Round) -> None:
    """The exact number of records is private under replacement, and tells a partition from one with a record less."""
    assert Plan([item], "replace-one").epsilon(1e-6).upper < math.inf  # the data are not split
    for split in (
        Plan([item], "replace-one", partitions_per_unit=1),
        Plan([item], "replace-one", unit="user", records_per_unit=1, partitions_per_unit=1),
        Plan([item], "replace-one", unit="user", records_per_unit=1, partitions_per_unit=2),
    ):
        with pytest.raises(UnsupportedError, match=f"may be in different partitions.*{FULL}"):
            split.epsilon(1e-6)
    with pytest.raises(UnsupportedError, match=f"two users may have different numbers of records.*{FULL}"):
        users(item, 2, "replace-one").epsilon(1e-6)
    one_for_one = users(item, 1, "replace-one").epsilon(1e-6)
    assert one_for_one.upper < math.inf
    assert not any("may have any number of records" in text for text in one_for_one.assumptions)


def test_users_of_unequal_numbers_cannot_be_replaced_in_batches_of_a_fixed_size() -> None:
    """Without some of the records the batches are drawn otherwise."""
    with pytest.raises(
        UnsupportedError, match=r"'without-replacement' under 'replace-one' is not supported: the two users may have"
    ):
        users(Round(Gaussian(2.0), WithoutReplacement(100, 10_000), 10), 3, "replace-one").epsilon(1e-6)
    sampled = users(Round(Gaussian(5.0), Poisson(0.1), 10), 3, "replace-one").epsilon(1e-6)
    assert any("may have any number of records" in text for text in sampled.assumptions)


def test_replaced_users_in_two_partitions() -> None:
    """The distance 2 in both: mu is 2 sqrt 2, by the closed form; Laplace noise is four rounds of epsilon 1."""
    replaced: dict[str, Any] = {
        "adjacency": "replace-one",
        "unit": "user",
        "records_per_unit": 1,
        "partitions_per_unit": 2,
    }
    with workdps(30):
        mu = 2 * mp.sqrt(2)

        def delta(epsilon: Any) -> Any:
            return mp.ncdf(mu / 2 - epsilon / mu) - mp.e**epsilon * mp.ncdf(-mu / 2 - epsilon / mu)

        truth = float(mp.findroot(lambda x: mp.log(delta(x)) - mp.log(mp.mpf("1e-5")), 15))
    found = Plan([Round(Gaussian(1.0))], **replaced).epsilon(1e-5)
    assert found.lower <= truth <= found.upper
    assert truth == pytest.approx(15.4562, abs=1e-4)
    assert any("may be in other partitions" in text for text in found.assumptions)
    assert Plan([Round(Laplace(1.0))], **replaced).epsilon(0.0).upper == pytest.approx(4.0, rel=1e-9)


def test_records_in_partitions() -> None:
    """A record that comes or goes changes one run; split data are another plan than whole ones, and say so."""
    split = Plan([Round(Gaussian(2.0), count=3)], partitions_per_unit=1)
    whole = Plan([Round(Gaussian(2.0), count=3)])
    assert split != whole
    assert Plan.from_dict(split.to_dict()) == split
    assert split.epsilon(1e-6).upper == whole.epsilon(1e-6).upper
    assert any("each record is in one partition" in text for text in split.epsilon(1e-6).assumptions)
    assert not any("partition" in text for text in whole.epsilon(1e-6).assumptions)
    with pytest.raises(UnsupportedError, match="requires sampling 'none'"):
        Plan([Round(Gaussian(2.0), Poisson(0.1))], partitions_per_unit=1).epsilon(1e-6)


def _laplace(k: Any) -> Any:
    return np.exp(-np.abs(k) / 1.7) * math.tanh(0.5 / 1.7)


def _gaussian(k: Any) -> Any:
    weights = np.exp(-(np.arange(-80, 81) ** 2) / (2 * 1.3**2))
    return np.exp(-(k**2) / (2 * 1.3**2)) / weights.sum()


@pytest.mark.parametrize("law", [_laplace, _gaussian])
@pytest.mark.parametrize("records", [1, 3])
def test_a_replacement_dominates_a_removal_and_an_addition(law: Any, records: int) -> None:
    """Shifts of log-concave noise add up: M and -M of two numbers against 2 M of one, all outcomes enumerated."""
    k = np.arange(-80, 81)
    here, there = law(k - records), law(k)
    for epsilon in (0.0, 0.2, 0.7, 1.5, 3.0):
        factor = math.exp(epsilon)
        moved = np.outer(here, there) - factor * np.outer(there, here)
        replaced = law(k - 2 * records) - factor * there
        assert np.maximum(moved, 0).sum() <= np.maximum(replaced, 0).sum() + 1e-14
