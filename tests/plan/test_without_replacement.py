"""Batches of fixed size: the bound of Wang, Balle, Kasiviswanathan, from below by known neighbours, beside a peer."""

from __future__ import annotations

import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.accountants import ACCOUNTANTS
from hockeystick.accountants.shared.privacy_curve import PrivacyCurve
from hockeystick.numerics.differences import log_even_differences
from hockeystick.pairs import (
    BlackBoxPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
    PoissonSubstitutionPair,
    WithoutReplacementCurve,
)
from hockeystick.plan.mechanisms import Mechanism

FIXED = hs.WithoutReplacement(batch_size=100, dataset_size=10_000)
BASES: list[Any] = [GaussianPair(1.0), GaussianPair(0.05), LaplacePair(1.0, 2.0), BlackBoxPair(0.3)]
RATES = (0.001, 0.1, 0.6)
TIMES = (0.3, 1.0, 1.7, 3.0, 15.0, 80.0, 1000.0)

# dp-accounting 0.6.0, RdpAccountant with SampledWithoutReplacementDpEvent, divergence at orders 2, 3.5, 8, 32, 256. Its
# noise is relative to the change when a record is replaced.
PEER = {
    (100, 10_000, 1.0): (0.000543508638109, 0.0010189130079, 0.00268416501269, 11.2686355235, 123.379488547),
    (256, 60_000, 0.8): (0.000173682010747, 0.000330931471133, 0.169874408932, 19.389407435, 194.524396132),
    (100, 1000, 5.0): (0.00163110000054, 0.00298962854179, 0.00689243209849, 0.0261799304789, 2.81147720132),
}


def plan(mechanism: Mechanism, count: int = 100, sampling: hs.WithoutReplacement = FIXED) -> hs.Plan:
    return hs.Plan([hs.Round(mechanism, sampling, count)], adjacency="replace-one")


@pytest.mark.parametrize("t", TIMES)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("mu", [1.0, 0.2, 3.0])
def test_never_below_neighbours_that_are_known(mu: float, rate: float, t: float) -> None:
    """A sum with noise 2/mu. Others contribute 0, the record 1 or -1: two mixtures; or others 1, the record 1 or -1."""
    found = WithoutReplacementCurve(GaussianPair(mu), rate).log_moment(t)
    base = GaussianPair(mu)
    for known in (
        PoissonSubstitutionPair(mu / 2, rate),
        PoissonRemovePair(base, rate),
        PoissonAddPair(base, rate),
    ):
        assert known.log_moment(t) <= found * (1 + 1e-9)


@pytest.mark.parametrize("t", TIMES)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("base", BASES, ids=repr)
def test_never_below_one_record_among_copies_of_its_other_value(base: Any, rate: float, t: float) -> None:
    """Batches without the record give Q: (1 - g) Q + g P against Q, and the other way round; and never above P, Q."""
    found = WithoutReplacementCurve(base, rate).log_moment(t)
    for known in (PoissonRemovePair(base, rate), PoissonAddPair(base, rate)):
        assert known.log_moment(t) <= found * (1 + 1e-9) + 1e-15
    assert found <= base.log_moment(t) * (1 + 1e-9)


@given(st.lists(st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4), min_size=3, max_size=3), st.integers(2, 9))
def test_three_laws_are_no_farther_apart_than_four_times_two(masses: list[list[float]], order: int) -> None:
    """``int |p - q|^j r^(1-j) <= 4 max int |p - q|^j q^(1-j)``, the maximum over ordered pairs of the three laws."""
    laws = [np.array(row) / sum(row) for row in masses]
    p, q, r = laws
    three = float((np.abs(p - q) ** order * r ** (1 - order)).sum())
    two = max(float((np.abs(a - b) ** order * b ** (1 - order)).sum()) for a, b in itertools.permutations(laws, 2))
    assert three <= 4 * two * (1 + 1e-12)


def expansion(mu: float, rate: float, order: int) -> mp.mpf:
    """Theorem 27 for a Gaussian, as it is printed."""
    m, g = mp.mpf(mu), mp.mpf(rate)

    def moment(j: int) -> mp.mpf:
        return mp.exp(m * m * j * (j - 1) / 2)

    def difference(j: int) -> mp.mpf:
        return mp.fsum((-1) ** i * mp.binomial(j, i) * moment(i) for i in range(j + 1))

    total = mp.mpf(1)
    for j in range(2, order + 1):
        centred = 4 * mp.sqrt(difference(2 * (j // 2)) * difference(2 * ((j + 1) // 2)))
        total += g**j * mp.binomial(order, j) * min(centred, 2 * moment(j))
    return mp.log(total)


@pytest.mark.parametrize("order", [2, 3, 8, 31])
@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.01), (0.1, 0.001), (2.0, 0.0001), (0.001, 0.01)])
def test_whole_orders_are_the_sum_of_the_theorem(mu: float, rate: float, order: int) -> None:
    """Above it by rounding alone, or below it where convexity alone does better."""
    with mp.workdps(400):
        true = expansion(mu, rate, order)
        convex = mp.log(1 - mp.mpf(rate) + mp.mpf(rate) * mp.exp(mp.mpf(mu) ** 2 * order * (order - 1) / 2))
        found = WithoutReplacementCurve(GaussianPair(mu), rate).log_moment(order - 1.0)
        assert min(true, convex) <= found <= min(true, convex) * (1 + mp.mpf(10) ** -11)


@pytest.mark.parametrize(("key", "values"), PEER.items())
def test_beside_a_peer(key: tuple[int, int, float], values: tuple[float, ...]) -> None:
    """The same bound, at whole orders and between them."""
    batch, records, noise = key
    curve = WithoutReplacementCurve(GaussianPair(1 / noise), batch / records)
    for order, value in zip((2, 3.5, 8, 32, 256), values, strict=True):
        assert curve.log_moment(order - 1) / (order - 1) == pytest.approx(value, rel=1e-9)


def test_between_whole_orders_it_is_a_line_and_from_nothing_on() -> None:
    """K' is convex and K'(0) = 0: chords from order 1 on."""
    curve = WithoutReplacementCurve(GaussianPair(1.0), 0.01)
    at = [0.0, *(curve.log_moment(float(t)) for t in (1, 2, 3))]
    for t in (0.25, 0.5, 1.5, 2.75):
        low = math.floor(t)
        assert curve.log_moment(t) == pytest.approx(at[low] + (t - low) * (at[low + 1] - at[low]), rel=1e-9)


@pytest.mark.parametrize("ratio", [Fraction(3), Fraction(101, 100), Fraction(1000001, 1000000)])
def test_differences_keep_their_digits(ratio: Fraction) -> None:
    """``a_i = r^i`` has the differences ``(r - 1)^l``, down to 10^-60 of what is subtracted; never below."""
    top, bottom = Decimal(ratio.numerator), Decimal(ratio.denominator)
    found = log_even_differences(lambda most: [top**i / bottom**i for i in range(most + 1)], 10)
    for half, value in enumerate(found):
        true = 2 * half * math.log(float(ratio - 1))
        assert true - 1e-9 <= value <= true + 1e-9


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_moments_of_the_ratio_are_those_of_quadrature(base: Any) -> None:
    """E_Q (P/Q)^i = E_P e^((i-1) L), of a pair that is larger by no more than rounding."""
    loss, log_weight = PrivacyCurve(base).nodes
    for i, value in enumerate(base.ratio_moments(12)):
        assert float(value) == pytest.approx(float(np.exp(log_weight + (i - 1) * loss).sum()), rel=1e-11)


def test_differences_that_no_digits_are_enough_for_are_bounded() -> None:
    """A law within 10^-1000 of another: what rounding may have taken is all that is left, and is added."""
    mu = Decimal("1e-1000")
    found = log_even_differences(lambda most: [(mu * mu * (i * (i - 1)) / 2).exp() for i in range(most + 1)], 4)
    assert found[0] == pytest.approx(0.0, abs=1e-12)
    for value, moment in zip(found[1:], (1, 3), strict=True):  # E (X - 1)^l is about (l - 1)!! mu^l
        order = 2 * found.index(value)
        assert math.log(moment) - order * 1000 * math.log(10) < value < -1200 * math.log(10)


def test_a_pure_guarantee_stays_pure() -> None:
    """log(1 + g (e^E - 1)) a round, and the neighbours that have it: one record among copies of its other value."""
    for mechanism in (hs.RandomizedResponse(1.0), hs.Laplace(2.0)):  # a Laplace record moves the sum by two
        bound = plan(mechanism, count=10).epsilon(0.0, accountant="rdp")
        true = 10 * math.log1p(0.01 * math.expm1(1.0))
        assert true <= bound.quoted <= true * (1 + 1e-12)
    assert plan(hs.RandomizedResponse(0.0)).epsilon(1e-5, accountant="rdp").quoted < 1e-9


def test_a_batch_of_everything_is_no_sampling() -> None:
    """All accountants answer, as for unsampled rounds."""
    everything = hs.WithoutReplacement(batch_size=50, dataset_size=50)
    whole = plan(hs.Gaussian(8.0), sampling=everything)
    unsampled = hs.Plan([hs.Round(hs.Gaussian(8.0), count=100)], adjacency="replace-one")
    for name in ("auto", "rdp"):
        assert whole.epsilon(1e-5, accountant=name).ends == unsampled.epsilon(1e-5, accountant=name).ends


@pytest.mark.parametrize("name", [name for name in ACCOUNTANTS if name not in ("rdp", "auto", "contour", "grid")])
def test_others_refuse_and_name_the_one_that_does_not(name: str) -> None:
    with pytest.raises(hs.UnsupportedError, match=r'accountant="rdp"') as caught:
        plan(hs.Gaussian(1.0)).epsilon(1e-5, accountant=name)
    assert "\n" not in str(caught.value)
    with pytest.raises(hs.UnsupportedError, match=r'accountant="rdp"'):
        plan(hs.Gaussian(1.0)).delta(1.0, accountant=name)


def test_auto_is_at_or_below_rdp_and_takes_other_rounds_as_they_are() -> None:
    alone = plan(hs.Gaussian(2.0))
    assert alone.epsilon(1e-5).quoted == pytest.approx(alone.epsilon(1e-5, accountant="rdp").quoted, rel=1e-12)
    assert alone.epsilon(1e-5).accountant == "rdp"
    both = alone + hs.Plan([hs.Round(hs.Gaussian(10.0), count=400)], "replace-one")
    answer = both.epsilon(1e-5)
    assert answer.quoted < 0.99 * both.epsilon(1e-5, accountant="rdp").quoted
    assert answer.accountant.startswith("rdp+")


def test_where_nothing_is_proven_rdp_refuses_too() -> None:
    gaussian = hs.Round(hs.Gaussian(1.0), FIXED)
    with pytest.raises(hs.UnsupportedError, match="datasets of one size; use adjacency 'replace-one'"):
        hs.Plan([gaussian]).epsilon(1e-5, accountant="rdp")
    with pytest.raises(hs.UnsupportedError, match="mass at infinite loss"):
        plan(hs.ApproximateDP(0.1, 1e-9)).epsilon(1e-5, accountant="rdp")


def test_a_plan_of_hundreds_of_kinds_is_refused() -> None:
    """Each kind has a table of differences of its own; the message says what to change."""
    kinds = hs.Plan([hs.Round(hs.Gaussian(1 + i / 1000), FIXED) for i in range(200)], adjacency="replace-one")
    with pytest.raises(hs.NotApplicableError, match="200 different kinds of rounds would take about 20 s; give fewer"):
        kinds.epsilon(1e-5, accountant="rdp")
    with pytest.raises(hs.NotApplicableError, match="200 different kinds of rounds would take about 20 s; give fewer"):
        kinds.epsilon(1e-5)


def test_mixed_plans_add_their_curves_up() -> None:
    """Rounds with and without a pair in one plan: no less than the parts, and less than their sum."""
    parts = [plan(hs.Gaussian(2.0)), hs.Plan([hs.Round(hs.Gaussian(30.0), count=9)], adjacency="replace-one")]
    alone = [part.epsilon(1e-5, accountant="rdp").quoted for part in parts]
    both = (parts[0] + parts[1]).epsilon(1e-5, accountant="rdp").quoted
    assert max(alone) < both < sum(alone)


def test_a_distance_for_replacement_is_all_it_needs() -> None:
    """Half the distance is twice the noise; Poisson sampling asks for the contribution of one record instead."""
    near, far = plan(hs.Gaussian(1.0, replace_one_distance=1)), plan(hs.Gaussian(2.0))
    assert near.epsilon(1e-5, accountant="rdp").quoted == far.epsilon(1e-5, accountant="rdp").quoted
    with pytest.raises(hs.InvalidInputError, match="cannot be combined with Poisson sampling"):
        hs.Round(hs.Gaussian(1.0, replace_one_distance=1), hs.Poisson(0.1))


def test_more_is_worse() -> None:
    """Larger batches, more rounds, less noise, smaller deltas cost more; epsilon and delta are inverse."""
    sizes = [hs.WithoutReplacement(size, 10_000) for size in (10, 100, 1000, 9999, 10_000)]
    for worse in (
        [plan(hs.Gaussian(4.0), 50, size) for size in sizes],
        [plan(hs.Gaussian(4.0), count) for count in (1, 10, 1000, 10**6)],
        [plan(hs.Gaussian(noise)) for noise in (50.0, 8.0, 2.0, 0.5)],
    ):
        found = [one.epsilon(1e-5, accountant="rdp").quoted for one in worse]
        assert found == sorted(found)
        assert math.isfinite(found[-1])
    one = plan(hs.Gaussian(4.0))
    epsilon = one.epsilon(1e-5, accountant="rdp").quoted
    assert one.delta(epsilon, accountant="rdp").quoted == pytest.approx(1e-5, rel=1e-4)


def test_plan_files() -> None:
    keys = {
        "mechanism": "gaussian",
        "noise_multiplier": 1.0,
        "sampling": "without-replacement",
        "batch_size": 256,
        "dataset_size": 60_000,
    }
    read = hs.Plan.from_dict({"adjacency": "replace-one", "round": [{**keys, "epochs": 2}]})
    assert read.steps == 2 * 235
    assert read.dataset_size == 60_000
    assert json.loads(json.dumps(read.to_dict()))["round"] == [{**keys, "epochs": 2}]
    del keys["dataset_size"]
    with pytest.raises(hs.InvalidInputError, match="dataset_size is missing; sampling 'without-replacement' needs it"):
        hs.Plan.from_dict({"round": [keys]})
    with pytest.raises(hs.InvalidInputError, match="batch_size must be at most dataset_size; received 3 and 2"):
        hs.WithoutReplacement(3, 2)
