"""What a mechanism claims of its pair decides what may be said of a plan: numbers, upper bounds, or nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import hockeystick as hs
from hockeystick.pairs import PoissonSubstitutionPair
from hockeystick.plan.mechanisms import Mechanism, Property, Status
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.plan.sampling import Sampling
from hockeystick.plan.sampling.base import claimed
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.values.adjacency import Direction
from toys import Concentrated, Counting, Dominated, EveryOther

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
        hs.Round(Counting(0.5), hs.Poisson(1.0)).pair(hs.Direction.REPLACE_ONE)


def test_what_is_refused_in_one_direction_is_answered_in_the_others() -> None:
    toy, known = (hs.Plan([hs.Round(kind(0.5), count=3)]) for kind in (Counting, hs.RandomizedResponse))
    assert toy.epsilon(1e-6) == known.epsilon(1e-6)


ENGINES = ("auto", "contour", "grid")


@pytest.mark.parametrize("accountant", [name for name in hs.ACCOUNTANTS if name not in ("rdp", *ENGINES)])
def test_a_renyi_curve_alone_is_refused_by_published_methods_but_rdp(accountant: str) -> None:
    """The others refuse in one line that says so."""
    plan = hs.Plan([hs.Round(Concentrated(0.01), count=10), hs.Round(hs.Gaussian(10.0))])
    with pytest.raises(hs.UnsupportedError, match="only its Renyi divergence is bounded; use accountant 'rdp'"):
        plan.epsilon(1e-6, accountant=accountant)


def test_a_renyi_curve_is_answered_by_rdp() -> None:
    """rho of the toy is that of Gaussian noise of mu = sqrt(2 rho), whose Renyi bound is its curve."""
    plan = hs.Plan([hs.Round(Concentrated(0.005), count=10), hs.Round(hs.Gaussian(10.0))])
    same = hs.Plan([hs.Round(hs.Gaussian(10.0), count=11)])
    answer = plan.epsilon(1e-6, accountant="rdp")
    assert answer.quoted == pytest.approx(same.epsilon(1e-6, accountant="rdp").quoted, rel=1e-9)
    with pytest.raises(hs.UnsupportedError, match="only a Renyi curve of the mechanism is known"):
        hs.Plan([hs.Round(Concentrated(0.005), hs.Poisson(0.1))]).epsilon(1e-6, accountant="rdp")


@pytest.mark.parametrize(("pairs", "curves", "routes"), [(400, 1, {"rdp+contour"}), (1, 400, {"rdp"}), (0, 3, {"rdp"})])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-30, 1e-100])
def test_curves_and_pairs_are_composed_by_the_tighter_route(
    pairs: int, curves: int, routes: set[str], delta: float
) -> None:
    """The truth of the worst mechanism with the toy's curve is at least that of Gaussian noise, which has it."""
    toy, noise = hs.Round(Concentrated(0.005), count=curves), hs.Round(hs.Gaussian(10.0))
    plan = hs.Plan([toy, *([noise] * pairs)])
    answer = plan.epsilon(delta)
    assert isinstance(answer, hs.UpperBound)
    assert answer.accountant in routes
    assert answer.reason == "only a Renyi curve is known of some rounds, so there is no lower bound"
    truth = hs.Plan([noise] * (pairs + curves)).epsilon(delta)
    rough = plan.epsilon(delta, accountant="rdp").quoted
    assert truth.lower <= answer.upper <= rough * (1 + 1e-9)
    if routes == {"rdp+contour"}:
        assert answer.upper < truth.upper + 0.25 * (rough - truth.upper)  # most of what a Renyi bound gives away
    back = plan.delta(answer.upper)
    assert isinstance(back, hs.DeltaUpperBound)
    assert back.upper == pytest.approx(delta, rel=1e-3)
    assert back.accountant in routes
    for name in ("contour", "grid") if pairs else ("grid",):  # a few losses alone have no contour
        assert truth.lower <= plan.epsilon(delta, accountant=name).quoted


def test_curves_at_the_ends() -> None:
    toy = hs.Plan([hs.Round(Concentrated(0.005), count=3), hs.Round(hs.Gaussian(10.0))])
    assert toy.epsilon(0.0).quoted == math.inf
    assert toy.delta(0.0).quoted < 0.12
    assert toy.delta(1e4).quoted < 1e-300
    assert toy.delta(1e4).log_delta.quoted < -690.0
    none = hs.Plan([hs.Round(Concentrated(0.005), count=0)])
    assert none.epsilon(1e-6).quoted == 0.0
    with pytest.raises(hs.UnsupportedError, match="a profile needs lower and upper bounds"):
        toy.profile()
    with pytest.raises(hs.UnsupportedError, match="only its Renyi divergence is bounded"):
        toy.epsilon(1e-6, proof=True)


def test_curves_beside_a_black_box_that_may_fail() -> None:
    plan = hs.Plan([hs.Round(Concentrated(0.005), count=3), hs.Round(hs.ApproximateDP(0.5, 1e-7))])
    alone = hs.Plan([hs.Round(hs.Gaussian(10.0), count=3), hs.Round(hs.ApproximateDP(0.5, 1e-7))])
    for delta in (1e-3, 1e-6, 1.0001e-7):
        assert alone.epsilon(delta).lower <= plan.epsilon(delta).quoted
    assert plan.epsilon(0.9e-7).quoted == math.inf
    assert plan.delta(1e3).quoted == pytest.approx(1e-7, rel=1e-9)


def test_noise_is_calibrated_beside_curves() -> None:
    plan = hs.Plan([hs.Round(Concentrated(0.005), count=3), hs.Round(hs.Gaussian(1.0), count=100)])
    found = hs.calibrate(plan, "noise-multiplier", hs.targets.Epsilon(2.0, 1e-6))
    assert 1.99 < found.achieved.upper <= 2.0
    assert found.achieved.lower == 0.0


def test_at_a_rate_of_one_the_curve_is_the_mechanisms_own() -> None:
    toy = Concentrated(0.005)
    for sampling in (hs.Poisson(1.0), hs.WithoutReplacement(10, 10)):
        assert hs.Round(toy, sampling).curve(hs.Direction.REPLACE_ONE) == toy.curve(hs.Direction.REPLACE_ONE)
    assert hs.WithoutReplacement.claim(Concentrated, hs.Direction.REPLACE_ONE).status is Status.REFUSED


class Loose(Dominated):
    """Normal noise of which only a pair of twice the distance is claimed."""

    properties = frozenset({Property.GAUSSIAN})


class Lost(Counting):
    """Of which much is declared, and replacing a record refused all the same."""

    properties = frozenset({Property.GAUSSIAN, Property.INFINITE_LOSS})


def test_theorems_ask_for_properties_and_inherit_what_the_base_is() -> None:
    """The same theorem says as much of a pair as is known of the one it begins with."""
    replaced = hs.Direction.REPLACE_ONE
    assert hs.Poisson.claim(hs.Gaussian, replaced).status is Status.TIGHT
    loose = hs.Poisson.claim(Loose, replaced)
    assert loose.status is Status.UPPER
    assert loose.source.endswith("; for the pair: a toy's theorem")
    assert hs.Poisson(0.1).pair(Loose(2.0), replaced) == PoissonSubstitutionPair(1.0, 0.1)
    assert hs.Poisson.claim(Dominated, replaced).cited.endswith(
        "Poisson-sampled Dominated mechanism when a record is replaced"
    )
    for scheme in (hs.NoSampling, hs.Poisson, hs.WithoutReplacement):
        assert scheme.claim(Lost, replaced) == Lost.claims[replaced]
    assert hs.WithoutReplacement.claim(hs.ApproximateDP, replaced).status is Status.BRACKET
    assert hs.WithoutReplacement.claim(hs.ApproximateDP, hs.Direction.ADD).status is Status.REFUSED
    assert hs.WithoutReplacement.claim(hs.Gaussian, hs.Direction.ADD).status is Status.TIGHT
    assert hs.WithoutReplacement.claim(hs.Gaussian, replaced).status is Status.BRACKET
    assert hs.WithoutReplacement.claim(Loose, replaced).status is Status.UPPER
    assert hs.WithoutReplacement.claim(Dominated, hs.Direction.REMOVE).status is Status.UPPER


def test_sampling_does_not_make_a_claim_stronger() -> None:
    for direction in (hs.Direction.ADD, hs.Direction.REMOVE):
        assert hs.Poisson.claim(Dominated, direction).status is Status.UPPER
        assert hs.Poisson.claim(hs.Gaussian, direction).status is Status.TIGHT
        assert hs.Poisson.claim(Concentrated, direction).status is Status.REFUSED


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        (hs.Gaussian(1.0, 1.0), "noise_multiplier relative to"),
        (hs.Laplace(1.0, 1.0), "scale relative to"),
        (hs.DiscreteLaplace(1.0, 2, 1.0), "sensitivity as"),
        (hs.Skellam(1.0, 2, 1.0), "sensitivity as"),
    ],
)
def test_a_refusal_names_the_key_that_the_norm_bound_enters(mechanism: Mechanism, said: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=f"give {said} the norm bound of one record"):
        hs.Round(mechanism, hs.Poisson(0.1))


def test_a_plan_is_replaced_field_by_field() -> None:
    """``dataclasses.replace`` gives the fields back by their names, the target delta among them."""
    plan = hs.dp_sgd(1.0, 0.01, 100, delta=1e-6)
    changed = replace(plan, adjacency=hs.Adjacency.ADD)
    assert (changed.adjacency, changed.delta_target, changed.rounds) == (hs.Adjacency.ADD, 1e-6, plan.rounds)
    assert replace(plan, delta_target=1e-5).delta_target == 1e-5
    assert replace(plan, delta_target=None).delta_target is None


DOMINATED = hs.Plan([hs.Round(Dominated(20.0), count=3), hs.Round(hs.Gaussian(5.0))])
ASSUMED = hs.Plan([hs.Round(hs.Gaussian(10.0), count=3), hs.Round(hs.Gaussian(5.0))])
SAMPLED = hs.Plan([hs.Round(Dominated(4.0), hs.Poisson(0.1), 50)])


@pytest.mark.parametrize(
    "accountant", ["auto", "contour", "grid", "saddle-point", "fourier", "connect-the-dots", "rdp"]
)
@pytest.mark.parametrize("plan", [DOMINATED, SAMPLED])
def test_what_only_dominates_is_no_bound_from_below(plan: hs.Plan, accountant: str) -> None:
    """The toy's truth may be that of half the distance: a lower end of the assumed pair would lie above it."""
    for answer in (plan.epsilon(1e-5, accountant=accountant), plan.delta(0.5, accountant=accountant)):
        assert not isinstance(answer, hs.Bound)
        if isinstance(answer, hs.UpperBound):
            assert "lower" not in answer.ends
    log = plan.delta(0.5, accountant="auto").log_delta
    assert isinstance(log, hs.UpperBound)


def test_the_upper_end_is_that_of_the_pair() -> None:
    answer, assumed = (plan.epsilon(1e-5) for plan in (DOMINATED, ASSUMED))
    assert isinstance(answer, hs.UpperBound)
    assert answer.reason is not None
    assert "not known to be tight" in answer.reason
    assert answer.upper == assumed.upper
    assert answer.accountant == assumed.accountant


def test_accountants_asked_by_themselves_have_no_lower_end_either() -> None:
    for name in ("auto", "contour", "grid", "fourier", "saddle-point"):
        found = hs.ACCOUNTANTS[name].epsilon(DOMINATED.directions, 1e-5, None)
        assert found.ends.get("lower", 0.0) == 0.0
    pytest.importorskip("flint")
    assert hs.ACCOUNTANTS["auto"].delta(DOMINATED.directions, 0.5, None).ends["lower"] == 0.0


def test_calibration_is_by_the_upper_end() -> None:
    """The noise found is that of the assumed pair; nothing shows that less would not do."""
    target = hs.targets.Epsilon(1.0, 1e-5)
    found = hs.calibrate(hs.Plan([hs.Round(Dominated(20.0), count=3)]), "noise-multiplier", target)
    known = hs.calibrate(hs.Plan([hs.Round(hs.Gaussian(20.0), count=3)]), "noise-multiplier", target)
    assert found.value == pytest.approx(2 * known.value, rel=3e-6)
    assert found.achieved.lower == 0.0
    assert found.beside is not None
    assert not target.missed(found.beside[1])


def test_profiles_want_both_sides() -> None:
    with pytest.raises(hs.UnsupportedError, match="a profile needs lower and upper bounds"):
        DOMINATED.profile()


@pytest.mark.parametrize("accountant", ["auto", "grid", "rdp", "zcdp", "prv", "gdp"])
def test_a_record_is_charged_for_the_steps_it_can_be_in(accountant: str) -> None:
    """Said once, where a plan becomes directions: every accountant composes as many rounds."""
    for steps, seen in ((7, 4), (8, 4), (1, 1), (0, 0)):
        turns = hs.Plan([hs.Round(hs.Gaussian(5.0), EveryOther(), steps)])
        alone = hs.Plan([hs.Round(hs.Gaussian(5.0), count=seen)])
        assert turns.steps == steps
        assert turns.epsilon(1e-6, accountant=accountant) == alone.epsilon(1e-6, accountant=accountant)
        assert turns.delta(0.5, accountant=accountant) == alone.delta(0.5, accountant=accountant)


def test_steps_of_one_kind_are_counted_through() -> None:
    """Also where they were stepped one after the other."""
    item = hs.Round(hs.Gaussian(5.0), EveryOther(), 3)
    stepped = hs.Accountant()
    for _ in range(2):
        stepped.step(item)
    assert stepped.epsilon(1e-6) == (item + item).epsilon(1e-6) == hs.Plan([2 * item]).epsilon(1e-6)
    alone = hs.Plan([hs.Round(hs.Gaussian(5.0), count=3)])
    assert stepped.epsilon(1e-6).upper == alone.epsilon(1e-6).upper
    curve = hs.Plan([2 * item]).profile().delta([0.1, 0.5])
    assert (curve.upper == alone.profile().delta([0.1, 0.5]).upper).all()


@pytest.mark.parametrize("scheme", SAMPLINGS, ids=lambda scheme: scheme.name)
def test_a_source_is_named_once(scheme: type[Sampling]) -> None:
    """Also where a scheme's theorem begins with that of another scheme."""
    for mechanism in MECHANISMS:
        for direction in Direction:
            parts = claimed(scheme, mechanism, direction).source.split("; ")
            assert len(parts) == len(set(parts)), (mechanism.name, direction, parts)
