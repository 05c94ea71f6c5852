"""What a mechanism claims of its pair decides what may be said of a plan: numbers, upper bounds, or nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

import hockeystick as hs
from hockeystick.mechanisms.base import Status
from hockeystick.sampling import Sampling
from toys import Concentrated, Counting, Dominated

FIXED = hs.WithoutReplacement(10, 1000)


@pytest.mark.parametrize("sampling", [hs.NoSampling(), hs.WithoutReplacement(10, 1000), hs.WithoutReplacement(10, 10)])
@pytest.mark.parametrize("accountant", ["auto", "rdp", "prv"])
def test_a_refusal_is_inherited_by_every_sampling_scheme(sampling: Sampling, accountant: str) -> None:
    """Batches of fixed size are made of the pair under replacement, which the toy does not have."""
    plan = hs.Plan([hs.Round(Counting(0.5), sampling)], "replace-one")
    with pytest.raises(hs.UnsupportedError, match="replacing a record moves the toy's count by 2"):
        plan.epsilon(1e-6, accountant=accountant)
    with pytest.raises(hs.UnsupportedError, match="replacing a record moves the toy's count by 2"):
        plan.delta(0.1, accountant=accountant)


def test_a_rate_of_one_is_no_way_round_a_refusal() -> None:
    """At rate 1 the pair is the mechanism's own, which a theorem on sampling says nothing of."""
    with pytest.raises(hs.UnsupportedError, match="moves the toy's count by 2"):
        hs.Poisson(1.0).pair(Counting(0.5), hs.Direction.REPLACE_ONE)


def test_what_is_refused_in_one_direction_is_answered_in_the_others() -> None:
    toy, known = (hs.Plan([hs.Round(kind(0.5), count=3)]) for kind in (Counting, hs.RandomizedResponse))
    assert toy.epsilon(1e-6) == known.epsilon(1e-6)


@pytest.mark.parametrize("accountant", [name for name in hs.ACCOUNTANTS if name != "rdp"])
def test_a_renyi_curve_alone_is_answered_by_rdp_alone(accountant: str) -> None:
    """The others refuse in one line that says so."""
    plan = hs.Plan([hs.Round(Concentrated(0.01), count=10), hs.Round(hs.Gaussian(10.0))])
    with pytest.raises(hs.UnsupportedError, match='only its Renyi divergence is bounded: use accountant="rdp"'):
        plan.epsilon(1e-6, accountant=accountant)


def test_a_renyi_curve_is_answered_by_rdp() -> None:
    """rho of the toy is that of Gaussian noise of mu = sqrt(2 rho), whose Renyi bound is its curve."""
    plan = hs.Plan([hs.Round(Concentrated(0.005), count=10), hs.Round(hs.Gaussian(10.0))])
    same = hs.Plan([hs.Round(hs.Gaussian(10.0), count=11)])
    answer = plan.epsilon(1e-6, accountant="rdp")
    assert answer.quoted == pytest.approx(same.epsilon(1e-6, accountant="rdp").quoted, rel=1e-9)
    with pytest.raises(hs.UnsupportedError, match="nothing but a Renyi curve is known"):
        hs.Plan([hs.Round(Concentrated(0.005), hs.Poisson(0.1))]).epsilon(1e-6, accountant="rdp")


def test_sampling_does_not_make_a_claim_stronger() -> None:
    for direction in (hs.Direction.ADD, hs.Direction.REMOVE):
        assert hs.Poisson.claim(Dominated, direction).status is Status.UPPER
        assert hs.Poisson.claim(hs.Gaussian, direction).status is Status.TIGHT
        assert hs.Poisson.claim(Concentrated, direction).status is Status.REFUSED


@pytest.mark.parametrize(
    ("mechanism", "key"), [(hs.Gaussian(1.0, 1.0), "noise_multiplier"), (hs.Laplace(1.0, 1.0), "scale")]
)
def test_a_refusal_names_the_key_of_the_mechanism(mechanism: hs.Gaussian | hs.Laplace, key: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=f"give {key} relative to the norm bound"):
        hs.Round(mechanism, hs.Poisson(0.1))


def test_a_plan_is_replaced_field_by_field() -> None:
    """``dataclasses.replace`` gives the fields back by their names, the target delta among them."""
    plan = hs.dp_sgd(1.0, 0.01, 100, delta=1e-6)
    changed = replace(plan, adjacency=hs.Adjacency.ADD)
    assert (changed.adjacency, changed.delta_target, changed.rounds) == (hs.Adjacency.ADD, 1e-6, plan.rounds)
    assert replace(plan, delta_target=1e-5).delta_target == 1e-5
    assert replace(plan, delta_target=None).delta_target is None
