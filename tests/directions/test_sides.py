"""A pair that dominates and a pair that is attained: every answer is between what each of them would give alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import hockeystick as hs
from hockeystick.directions.below import attained, instances
from hockeystick.directions.curve import SidedCurve
from hockeystick.directions.directions import Directions
from hockeystick.directions.tradeoff import TradeOffs
from hockeystick.pairs import (
    BlackBoxPair,
    Composition,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
)
from hockeystick.pairs.sides import Above, Between, Known, Tight
from hockeystick.questions.calibration import calibrate
from hockeystick.questions.parameters import Parameter
from toys import Bracketed, Concentrated, Curve, Dominated

REMOVE, ADD, REPLACE = hs.Direction.REMOVE, hs.Direction.ADD, hs.Direction.REPLACE_ONE
ENGINES = ("auto", "contour", "grid")
APART = Between(GaussianPair(0.11), (GaussianPair(0.09),), "a test")


def of(pairs: list[tuple[Known, int]], direction: hs.Direction = REMOVE) -> Directions:
    return Directions.of_pairs({direction: pairs})


def epsilon(directions: Directions, name: str = "auto", delta: float = 1e-6) -> hs.Bound:
    found = hs.ACCOUNTANTS[name].epsilon(directions, delta, None)
    assert isinstance(found, hs.Bound)
    return found


def log_delta(directions: Directions, name: str = "auto", at: float = 2.0) -> hs.Bound:
    found = hs.ACCOUNTANTS[name].delta(directions, at, None)
    assert isinstance(found, hs.DeltaBound)
    assert found.lower <= math.exp(found.log_delta.estimate) <= found.upper
    return found.log_delta


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_ends_are_those_of_the_pairs(name: str, delta: float) -> None:
    """Gaussian rounds: the truth of each side is in closed form, mu = sqrt(100) times the pair's."""
    found = epsilon(of([(APART, 100)]), name, delta)
    below, above = (epsilon(of([(Tight(GaussianPair(mu)), 100)]), name, delta) for mu in (0.09, 0.11))
    assert (found.lower, found.upper) == (below.lower, above.upper)
    assert found.lower <= below.estimate < found.estimate < above.estimate <= found.upper
    assert found.reason is not None
    assert found.reason.startswith("the interval is as narrow as current theory allows: a test")


@pytest.mark.parametrize("name", ENGINES)
def test_deltas_are_between_those_of_the_pairs(name: str) -> None:
    found = log_delta(of([(APART, 100)]), name)
    below, above = (log_delta(of([(Tight(GaussianPair(mu)), 100)]), name) for mu in (0.09, 0.11))
    assert (found.lower, found.upper) == (below.lower, above.upper)
    assert found.lower < found.estimate < found.upper


def test_kinds_of_every_side_are_mixed() -> None:
    """Tight kinds are the same in both compositions; with one that is known from above alone nothing is below."""
    noise, laplace = (Tight(GaussianPair(0.3)), 5), (Tight(LaplacePair(1.0, 5.0)), 20)
    found = epsilon(of([noise, (APART, 100), laplace]))
    for mu in (0.09, 0.11):
        alone = epsilon(of([noise, (Tight(GaussianPair(mu)), 100), laplace]))
        end = found.lower if mu < 0.1 else found.upper
        assert end == (alone.lower if mu < 0.1 else alone.upper)
    above = epsilon(of([noise, (APART, 100), (Above(LaplacePair(1.0, 5.0)), 20)]))
    assert (above.lower, above.upper) == (0.0, found.upper)
    assert above.reason == "a round's pair is not known to be tight, so there is no lower bound"
    curve = hs.ACCOUNTANTS["auto"].epsilon(Directions.of_pairs({REMOVE: [(APART, 100), (Curve(0.005), 1)]}), 1e-6, None)
    assert curve.ends["lower"] == 0.0
    assert not math.isinf(curve.quoted)


def test_what_is_not_run_says_nothing() -> None:
    for given in (Above(GaussianPair(5.0)), Between(GaussianPair(5.0), (GaussianPair(0.1),))):
        found = of([(given, 0), (Tight(GaussianPair(0.1)), 100)])
        assert found.tight
        assert epsilon(found) == epsilon(of([(Tight(GaussianPair(0.1)), 100)]))


def test_sides_of_tight_pairs_are_one() -> None:
    """The same bits as without sides: one composition is asked, once."""
    plain = Directions.of_pairs({REMOVE: [(GaussianPair(0.1), 100)]})
    sided = of([(Tight(GaussianPair(0.1)), 100)])
    assert plain == sided
    assert (plain.tight, plain.known_from_below, plain.why) == (True, True, "")
    assert epsilon(plain).reason is None


RATE, ROUNDS = 0.1, 40
BASE = GaussianPair(0.8)
EITHER: tuple[DominatingPair, ...] = (PoissonAddPair(BASE, RATE), PoissonRemovePair(BASE, RATE))


@pytest.mark.parametrize("at", [1e-1, 1e-4, 1e-10])
def test_the_best_alternative_is_the_lower_end(at: float) -> None:
    """The better one is the second, in whatever order they are given; kinds take their places together."""
    alone = [epsilon(of([(Tight(pair), ROUNDS)]), delta=at) for pair in EITHER]
    assert alone[0].upper < alone[1].lower
    for below in (EITHER, EITHER[::-1], (*EITHER, EITHER[0])):
        given: Known = Between(GaussianPair(0.8), below)
        assert epsilon(of([(given, ROUNDS)]), delta=at).lower == pytest.approx(alone[1].lower, rel=1e-6)
    both: list[tuple[Known, int]] = [
        (Between(GaussianPair(0.8), EITHER), ROUNDS),
        (Between(GaussianPair(2.0), (GaussianPair(1.0), GaussianPair(0.1))), 1),
    ]
    expected = [
        epsilon(of([(Tight(EITHER[i]), ROUNDS), (Tight(GaussianPair(mu)), 1)]), delta=at).lower
        for i, mu in ((0, 1.0), (1, 0.1))
    ]
    assert epsilon(of(both), delta=at).lower == pytest.approx(max(expected), rel=1e-6)


def test_alternatives_are_chosen_for_all_kinds_at_once() -> None:
    """First with first, second with second; a kind with fewer repeats its last, and a tight one itself."""
    one, two, three, tight = (GaussianPair(mu) for mu in (0.1, 0.2, 0.3, 0.4))
    given: list[tuple[Known, int]] = [
        (Between(GaussianPair(1.0), (PoissonRemovePair(one, 0.1), PoissonRemovePair(two, 0.1))), 1),
        (Between(GaussianPair(1.0), tuple(PoissonRemovePair(mu, 0.2) for mu in (one, two, three))), 2),
        (Tight(PoissonRemovePair(tight, 0.3)), 3),
    ]
    assert [direction for direction, _ in attained(of(given))] == [REMOVE] * 3
    assert [composition for _, composition in attained(of(given))] == [
        Composition(
            [
                (PoissonRemovePair(first, 0.1), 1),
                (PoissonRemovePair(second, 0.2), 2),
                (PoissonRemovePair(tight, 0.3), 3),
            ]
        )
        for first, second in ((one, one), (two, two), (two, three))
    ]


def test_replacing_a_record_is_seen_from_both_sides() -> None:
    """One alternative and its mirror image are one instance; read backwards, the places are those of the images."""
    given = of([(Between(GaussianPair(1.6), EITHER[::-1]), ROUNDS), (Tight(GaussianPair(0.1)), 2)], REPLACE)
    add, remove = (Composition([(pair, ROUNDS), (GaussianPair(0.1), 2)]) for pair in EITHER)
    assert attained(given) == [(REPLACE, remove), (REPLACE, add)]
    assert instances(given) == [(remove, add)]
    both = Directions.of_pairs(
        {
            REMOVE: [(Between(GaussianPair(1.6), EITHER[1:]), ROUNDS)],
            ADD: [(Between(GaussianPair(1.6), EITHER[:1]), ROUNDS)],
        }
    )
    assert instances(both) == [(Composition([(EITHER[1], ROUNDS)]), Composition([(EITHER[0], ROUNDS)]))]
    four = tuple(BlackBoxPair(at) for at in (0.1, 0.2, 0.3, 0.4))
    some = of([(Between(BlackBoxPair(1.0), four), 1)], REPLACE)
    assert instances(some) == [
        (Composition([(four[0], 1)]), Composition([(four[3], 1)])),
        (Composition([(four[1], 1)]), Composition([(four[2], 1)])),
    ]
    assert len(attained(some)) == 4


def test_each_side_has_its_own_worst_direction() -> None:
    """What dominates is largest when a record is added, what is attained when one is removed."""
    given = Directions.of_pairs(
        {
            REMOVE: [(Between(GaussianPair(0.2), (GaussianPair(0.15),)), 30)],
            ADD: [(Between(GaussianPair(0.3), (GaussianPair(0.05),)), 30)],
        }
    )
    found = epsilon(given)
    assert found.lower == epsilon(of([(Tight(GaussianPair(0.15)), 30)])).lower
    assert found.upper == epsilon(of([(Tight(GaussianPair(0.3)), 30)])).upper
    assert found.direction == "add"
    log = log_delta(given, at=0.5)
    assert log.lower == log_delta(of([(Tight(GaussianPair(0.15)), 30)]), at=0.5).lower
    assert log.upper == log_delta(of([(Tight(GaussianPair(0.3)), 30)]), at=0.5).upper


def test_a_direction_whose_upper_sides_agree_is_not_left_out_below() -> None:
    """Of two directions with equal pairs above one is composed; their pairs below are looked at all the same."""
    above = GaussianPair(0.5)
    given = Directions.of_pairs(
        {
            REMOVE: [(Between(above, (PoissonAddPair(above, 0.2),)), 30)],
            ADD: [(Between(above, (PoissonRemovePair(above, 0.2),)), 30)],
        }
    )
    assert epsilon(given).lower == pytest.approx(epsilon(of([(Tight(PoissonRemovePair(above, 0.2)), 30)])).lower)


def test_pairs_that_contradict_each_other_are_refused() -> None:
    crossed = of([(Between(GaussianPair(0.1), (GaussianPair(0.2),)), 10)])
    for name in ENGINES:
        with pytest.raises(hs.InvalidInputError, match="contradict each other"):
            epsilon(crossed, name)
        with pytest.raises(hs.InvalidInputError, match="contradict each other"):
            log_delta(crossed, name)
    with pytest.raises(hs.InvalidInputError, match="needs at least one pair in below"):
        Between(GaussianPair(0.1), ())


def test_mass_at_infinite_loss_has_sides_too() -> None:
    given = of([(Between(BlackBoxPair(0.5, 1e-4), (BlackBoxPair(0.5, 1e-6),)), 1)])
    assert epsilon(given, delta=1e-7).ends == {"lower": math.inf, "estimate": math.inf, "upper": math.inf}
    middle = epsilon(given, delta=1e-5)
    assert middle.lower == pytest.approx(0.5, rel=1e-3)
    assert middle.upper == math.inf
    assert epsilon(given, delta=1e-2).upper < 0.5
    least = of([(Between(BlackBoxPair(0.5), (BlackBoxPair(0.1),)), 3)])
    assert epsilon(least, delta=0.0).lower == pytest.approx(0.3)
    assert epsilon(least, delta=0.0).upper == 1.5


HIGH = 1 / (1 / 0.11)  # the mu of Gaussian noise 1 / 0.11
PLAN = hs.Plan([hs.Round(Bracketed(0.09, HIGH), count=100), hs.Round(hs.Gaussian(10.0))])
LEAST, MOST = (hs.Plan([hs.Round(hs.Gaussian(1 / mu), count=100), hs.Round(hs.Gaussian(10.0))]) for mu in (0.09, 0.11))


def test_a_plan_has_both_ends() -> None:
    assert PLAN.directions.known_from_below
    found = PLAN.epsilon(1e-6)
    assert isinstance(found, hs.Bound)
    assert (found.lower, found.upper) == (LEAST.epsilon(1e-6).lower, MOST.epsilon(1e-6).upper)
    assert found.reason == "the interval is as narrow as current theory allows: a toy's distance is not known"
    delta = PLAN.delta(2.0)
    assert (delta.lower, delta.upper) == (LEAST.delta(2.0).lower, MOST.delta(2.0).upper)
    again = hs.Plan([hs.Round(Bracketed(0.09, HIGH), hs.Poisson(1.0), 100), hs.Round(hs.Gaussian(10.0))])
    assert again.epsilon(1e-6).ends == found.ends


@pytest.mark.parametrize("name", [name for name in hs.ACCOUNTANTS if name not in ENGINES])
def test_published_methods_take_each_end_from_its_pair(name: str) -> None:
    """The upper end is that of the pair that dominates, the lower end that of the pair below."""
    try:
        found: Any = PLAN.epsilon(1e-6, accountant=name)
    except hs.UnsupportedError:
        with pytest.raises(hs.UnsupportedError):
            MOST.epsilon(1e-6, accountant=name)
        return
    most, least = (plan.epsilon(1e-6, accountant=name) for plan in (MOST, LEAST))
    assert found.quoted == most.quoted
    if not isinstance(most, hs.Bound):
        assert "lower" not in found.ends
        return
    assert found.ends["lower"] == least.ends["lower"]
    assert (
        found.reason == "besides the method's own error, the interval is as narrow as current theory allows: "
        "a toy's distance is not known"
    )


def test_beside_what_is_known_from_above_alone_nothing_is_below() -> None:
    for other in (Dominated(20.0), Concentrated(0.005)):
        plan = PLAN + hs.Round(other)
        assert not plan.directions.known_from_below
        assert isinstance(plan.epsilon(1e-6), hs.UpperBound)
        with pytest.raises(hs.UnsupportedError):
            plan.profile()


def test_sampling_takes_a_bracket_for_what_dominates() -> None:
    """The theorem on mixtures is about pairs that dominate; of the pairs below it is not claimed here."""
    assert hs.Poisson.claim(Bracketed, REMOVE).status == "upper"
    assert isinstance(hs.Plan([hs.Round(Bracketed(0.1, 0.2), hs.Poisson(0.1), 100)]).epsilon(1e-6), hs.UpperBound)


def test_proofs_are_from_above() -> None:
    pytest.importorskip("flint")
    with pytest.raises(hs.UnsupportedError, match="no proof is implemented"):
        PLAN.epsilon(1e-6, proof=True)


DELTAS = np.array([0.3, 1e-2, 1e-6, 1e-12])


def test_profiles_are_between() -> None:
    """Each end of each band against the profile of the plan that has that distance."""
    profile, least, most = (plan.profile() for plan in (PLAN, LEAST, MOST))
    at, rates = np.array([0.0, 0.5, 2.0, 6.0]), np.array([1e-5, 1e-3, 0.1, 0.5, 0.9, 0.999])
    for asked, low, high in (
        (profile.delta(at), least.delta(at), most.delta(at)),
        (profile.log_delta(at), least.log_delta(at), most.log_delta(at)),
        (profile.epsilon(DELTAS), least.epsilon(DELTAS), most.epsilon(DELTAS)),
        (profile.tpr(rates), least.tpr(rates), most.tpr(rates)),
        (profile.trade_off(rates), most.trade_off(rates), least.trade_off(rates)),
        (profile.bayes_risk(rates), most.bayes_risk(rates), least.bayes_risk(rates)),
        (profile.reconstruction(rates), least.reconstruction(rates), most.reconstruction(rates)),
    ):
        assert (asked.lower <= low.upper).all()
        assert (asked.upper >= high.lower).all()
        np.testing.assert_allclose(asked.lower, low.lower, rtol=1e-3, atol=1e-9)
        np.testing.assert_allclose(asked.upper, high.upper, rtol=1e-3, atol=1e-9)
        assert asked.reason == "the interval is as narrow as current theory allows: a toy's distance is not known"
        assert low.reason is None
        assert (asked.lower <= asked.estimate).all()
        assert (asked.estimate <= asked.upper).all()
    assert profile.advantage().lower == least.advantage().lower
    assert profile.advantage().upper == most.advantage().upper
    group = profile.group(3).delta(at)
    np.testing.assert_allclose(group.upper, most.group(3).delta(at).upper, rtol=1e-6)
    np.testing.assert_allclose(group.lower, least.delta(at).lower, rtol=1e-6)


@pytest.mark.long
def test_one_number_is_between() -> None:
    """mu of Gaussian rounds is their own; what the plan may be better by is 0 for the pair above alone."""
    fit = PLAN.profile().gdp()
    assert (
        fit.mu.reason
        == PLAN.profile().mu().reason
        == "the interval is as narrow as current theory allows: a toy's distance is not known"
    )
    assert fit.mu.lower == pytest.approx(math.hypot(0.9, 0.1), rel=1e-4)
    assert fit.mu.upper == pytest.approx(math.hypot(1.1, 0.1), rel=1e-4)
    assert fit.regret.lower < 1e-4
    assert fit.regret.upper == pytest.approx(_gaussian_regret(math.hypot(0.9, 0.1), math.hypot(1.1, 0.1)), rel=1e-2)


def _gaussian_regret(better: float, mu: float) -> float:
    """The least kappa with ``f(alpha + kappa) - kappa <= G_mu(alpha)``: by symmetry where both rates are equal."""
    return float(ndtr(-better / 2) - ndtr(-mu / 2))


def test_an_instance_that_is_no_mirror_image_of_itself() -> None:
    """Sampled rounds: tests of one instance have other errors in each ordering, and the plan the worse of the two."""
    curve = SidedCurve(of([(Between(GaussianPair(0.8), EITHER[::-1]), ROUNDS)], REPLACE))
    rates = np.array([1e-4, 1e-2, 0.1, 0.5, 0.9, 0.99])
    found = TradeOffs.of(curve, 20.0, 1e-12).rates(rates, 1e-4)[0]
    sampled = hs.Plan([hs.Round(hs.Gaussian(1 / 0.8), hs.Poisson(RATE), ROUNDS)]).profile().tpr(rates)
    np.testing.assert_allclose(found.lower, sampled.lower, rtol=1e-3)
    assert (found.upper > sampled.upper).all()


def test_a_distance_is_calibrated_by_the_upper_end() -> None:
    """The value found is that of the pair above; what it achieves from below is that of the one below."""
    target = hs.targets.Epsilon(1.0, 1e-6)

    def build(noise: float) -> hs.Plan:
        return hs.Plan([hs.Round(Bracketed(0.9 / noise, 1.1 / noise), count=10)])

    met = calibrate(build, Parameter("noise", costs=False, start=10.0), target)
    known = hs.calibrate(hs.Plan([hs.Round(hs.Gaussian(1.0), count=10)]), "noise-multiplier", target)
    assert met.value == pytest.approx(1.1 * known.value, rel=1e-4)
    assert met.achieved.upper <= 1.0
    least = hs.Plan([hs.Round(hs.Gaussian(met.value / 0.9), count=10)]).epsilon(1e-6)
    assert met.achieved.lower == pytest.approx(least.lower, rel=1e-6)
