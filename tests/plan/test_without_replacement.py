"""Batches of fixed size: tight, between and by moments; held against simulations, known neighbours and a peer."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from dataclasses import dataclass
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
from hockeystick.pairs.ratio_moments import ratio_moments
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
    for i, value in enumerate(ratio_moments(base, 12)):
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


ABOVE = ("advanced", "basic", "optimal", "rdp", "zcdp")
ESTIMATES = ("characteristic-function", "edgeworth", "gdp", "saddle-point")


@pytest.mark.parametrize("name", [name for name in ACCOUNTANTS if name not in ("auto", "contour", "grid", *ESTIMATES)])
def test_published_methods_answer_from_both_sides(name: str) -> None:
    """At or above what is certified from above, but for the gap of the grid; at or below what some dataset attains."""
    one = plan(hs.Gaussian(1.0))
    certified = one.epsilon(1e-5)
    attained = one.delta(certified.upper).ends["lower"]
    for found, most, least in (
        (one.epsilon(1e-5, accountant=name), certified.upper, certified.lower),
        (one.delta(certified.upper, accountant=name), 1e-5, attained),
    ):
        assert found.quoted >= most * (1 - 5e-3 if most > 1e-3 else 0.98)
        assert found.ends.get("lower", 0.0) <= least * (1 + 1e-6)
        assert ("lower" in found.ends) == (name not in ABOVE)


@pytest.mark.parametrize("name", ESTIMATES)
def test_estimates_are_of_the_pair_above_or_refused(name: str) -> None:
    try:
        found = plan(hs.Gaussian(1.0)).epsilon(1e-5, accountant=name)
    except hs.UnsupportedError:
        return
    assert isinstance(found, hs.Estimate)


TABLE = [
    (256, 60_000, 2.0, 14_100, 2.82671647, 3.6822),
    (10, 1000, 1.0, 1000, 13.3608240, 14.8209),
    (100, 1000, 4.0, 1000, 8.27929057, 9.5217),
]


@pytest.mark.parametrize(("batch", "records", "noise", "rounds", "low", "high"), TABLE)
def test_adding_or_removing_a_record_is_known_to_all_digits(
    batch: int, records: int, noise: float, rounds: int, low: float, high: float
) -> None:
    """Poisson sampling at the same rate with half the noise; replacing one is between that and the pair above."""
    item = hs.Round(hs.Gaussian(noise), hs.WithoutReplacement(batch, records), rounds)
    tight = hs.Plan([item]).epsilon(1e-5)
    poisson = hs.dp_sgd(noise / 2, batch_size=batch, dataset_size=records, steps=rounds)
    assert tight == poisson.epsilon(1e-5)
    assert tight.reason is None
    assert tight.lower == pytest.approx(low, rel=1e-7)
    assert tight.relative_gap < 1e-6
    between = hs.Plan([item], "replace-one").epsilon(1e-5)
    assert isinstance(between, hs.Bound)
    assert between.lower == pytest.approx(tight.lower, rel=1e-7)
    assert high * (1 - 1e-4) <= between.upper <= high * (1 + 1e-3)
    assert between.reason is not None
    assert between.reason.startswith(
        "the interval is as narrow as current theory allows: for fixed-size batches and a replaced record"
    )
    back = hs.Plan([item], "replace-one").delta(between.upper)
    assert back.upper == pytest.approx(1e-5, rel=2e-2)
    assert back.lower < 1e-5


def test_the_directions_are_those_of_poisson_sampling() -> None:
    for adjacency in ("add", "remove"):
        found = hs.Plan([hs.Round(hs.Laplace(5.0), FIXED, 30)], adjacency)
        poisson = hs.Plan([hs.Round(hs.Laplace(2.5), hs.Poisson(0.01), 30)], adjacency)
        assert found.epsilon(1e-5) == poisson.epsilon(1e-5)
        assert found.epsilon(1e-5, accountant="rdp").quoted == poisson.epsilon(1e-5, accountant="rdp").quoted


def test_adding_or_removing_is_proved() -> None:
    pytest.importorskip("flint")
    item = hs.Round(hs.Gaussian(2.0), hs.WithoutReplacement(256, 60_000), 14_100)
    found = hs.Plan([item]).epsilon(1e-5, proof=True)
    assert found.guarantee == "proved"
    assert found.lower <= 2.82671648 <= found.upper + 1e-7
    with pytest.raises(hs.UnsupportedError, match="no proof is implemented"):
        hs.Plan([item], "replace-one").epsilon(1e-5, proof=True)


def test_rounds_of_other_kinds_enter_both_ends() -> None:
    other = hs.Plan([hs.Round(hs.Gaussian(10.0), count=400)], "replace-one")
    both, alone = (plan(hs.Gaussian(2.0)) + other).epsilon(1e-5), other.epsilon(1e-5)
    assert alone.upper < both.lower < both.upper
    assert both.upper < (plan(hs.Gaussian(2.0)) + other).epsilon(1e-5, accountant="rdp").quoted


class Simple(hs.Laplace):
    """Laplace noise of which nothing but its pairs is declared."""

    properties = frozenset()


def test_what_is_not_known_of_the_rest_of_a_batch_is_from_above() -> None:
    """Only of noise on a sum, or of a guarantee, is the pair known to be attained whatever the others are."""
    for adjacency in ("add-or-remove", "replace-one"):
        known, toy = (hs.Plan([hs.Round(kind(5.0), FIXED, 30)], adjacency) for kind in (hs.Laplace, Simple))
        assert isinstance(known.epsilon(1e-5), hs.Bound)
        assert isinstance(toy.epsilon(1e-5), hs.UpperBound)
        assert toy.epsilon(1e-5).upper == known.epsilon(1e-5).upper


@pytest.mark.parametrize("noise", [hs.DiscreteGaussian(2.0, 3), hs.DiscreteLaplace(5.0, 2), hs.Skellam(9.0, 2)])
def test_noise_on_counts_is_bounded_on_both_sides(noise: Mechanism) -> None:
    """A record may add the whole sensitivity, and all others subtract it."""
    for adjacency in ("add", "remove", "replace-one"):
        assert isinstance(hs.Plan([hs.Round(noise, FIXED, 30)], adjacency).epsilon(1e-5), hs.Bound)


@pytest.mark.parametrize("noise", [hs.DiscreteGaussian(1.0), hs.Skellam(4.0)])
def test_an_unbounded_loss_is_never_impossible(noise: Mechanism) -> None:
    assert hs.Plan([hs.Round(noise, FIXED)], "replace-one").delta(9999.0, accountant="rdp").quoted > 0


def test_guarantees_are_for_replacing() -> None:
    """The worst mechanism shows by randomised response whether the record is in the batch."""
    for mechanism in (hs.RandomizedResponse(0.5), hs.ApproximateDP(0.5, 1e-9)):
        with pytest.raises(hs.UnsupportedError, match="give the guarantee for replacement"):
            hs.Plan([hs.Round(mechanism, FIXED, 20)]).epsilon(1e-5)
        found = plan(mechanism, 20).epsilon(1e-5)
        assert isinstance(found, hs.Bound)
        assert found.lower == hs.Plan([hs.Round(mechanism, hs.Poisson(0.01), 20)]).epsilon(1e-5).lower
        assert found.upper < 2 * found.lower
    assert plan(hs.ApproximateDP(0.5, 1e-4), 20).epsilon(1e-6).lower == math.inf  # 20 rates of 1e-2 times 1e-4
    assert math.isfinite(plan(hs.ApproximateDP(0.1, 1e-9)).epsilon(1e-5, accountant="rdp").quoted)


def test_a_batch_of_everything_cannot_be_drawn_without_the_record() -> None:
    """Adding and removing: dataset_size is the larger dataset; one record fewer, and the batch is not filled."""
    for adjacency in ("add-or-remove", "add", "remove"):
        with pytest.raises(hs.UnsupportedError, match="could not fill a batch"):
            hs.Plan([hs.Round(hs.Gaussian(1.0), hs.WithoutReplacement(10, 10))], adjacency).epsilon(1e-5)
    last = hs.Plan([hs.Round(hs.Gaussian(20.0), hs.WithoutReplacement(999_999, 10**6), 10)])
    unsampled = hs.Plan([hs.Round(hs.Gaussian(10.0), count=10)])
    assert last.epsilon(1e-5).upper == pytest.approx(unsampled.epsilon(1e-5).upper, rel=1e-4)


@dataclass(frozen=True)
class Lopsided(Simple):
    """A pair under replacement that tells one ordering from the other."""

    def pair(self, direction: hs.Direction) -> Any:
        return PoissonRemovePair(GaussianPair(1.0), 0.2)


def test_of_a_pair_that_is_no_mirror_image_of_itself_moments_are_left() -> None:
    lopsided = hs.Plan([hs.Round(Lopsided(1.0), FIXED)], "replace-one")
    with pytest.raises(hs.UnsupportedError, match="requires a pair under replacement that equals its mirror image"):
        lopsided.epsilon(1e-5, accountant="prv")
    found = lopsided.epsilon(1e-5)
    assert isinstance(found, hs.UpperBound)
    assert found.upper <= lopsided.epsilon(1e-5, accountant="rdp").quoted * (1 + 1e-9)


def test_a_plan_of_hundreds_of_kinds_has_no_moments() -> None:
    """Each kind has a table of differences of its own; the message says what to change."""
    kinds = hs.Plan([hs.Round(hs.Gaussian(1 + i / 1000), FIXED) for i in range(200)], adjacency="replace-one")
    with pytest.raises(hs.NotApplicableError, match="200 different kinds of rounds would take about 20 s; use fewer"):
        kinds.epsilon(1e-5, accountant="rdp")


# Simulations: batches are drawn and noise is added; the likelihood ratio of what comes out is over all draws ----------

RUNS, ERROR = 40_000, 1e-7  # of each simulation; the probability that one of its two ends is wrong


def simulated(sums: Any, other: Any, noise: float, rounds: int, epsilon: float, seed: int) -> tuple[float, float]:
    """A confidence interval of delta of a dataset: mean of ``(1 - e^(eps - L))_+``, by Maurer and Pontil's inequality.

    Args:
        sums, other: the values of the records of the two datasets, in which a batch of a fixed size is drawn.
        noise: standard deviation.
        rounds: how often.
        epsilon: at which delta is asked.
        seed: of the draws.
    """
    values, batch = sums
    generator = np.random.default_rng(seed)
    loss = np.zeros(RUNS)
    levels, laws = _laws(values, other, batch)
    for _ in range(rounds):
        drawn = np.array([values[generator.permuted(INDEX[len(values)], axis=1)[:, :batch]].sum(axis=1)])[0]
        seen = drawn + noise * generator.standard_normal(RUNS)
        exponent = -0.5 * ((seen[:, None] - levels) / noise) ** 2
        top = exponent.max(axis=1)
        density = np.exp(exponent - top[:, None]) @ laws.T
        loss += np.log(density[:, 0]) - np.log(density[:, 1])
    share = np.maximum(-np.expm1(np.minimum(epsilon - loss, 0.0)), 0.0)
    log = math.log(2 / ERROR)
    width = math.sqrt(2 * float(share.var(ddof=1)) * log / RUNS) + 7 * log / (3 * (RUNS - 1))
    mean = float(share.mean())
    return mean - width, mean + width


INDEX = {size: np.tile(np.arange(size), (RUNS, 1)) for size in (8, 10)}


def _laws(values: Any, other: Any, batch: int) -> tuple[Any, Any]:
    """The sums that a batch can have, and their probabilities for either dataset, by going through all batches."""
    counted = [
        Counter(sum(drawn) for drawn in itertools.combinations(data.tolist(), batch)) for data in (values, other)
    ]
    levels = sorted(set(counted[0]) | set(counted[1]))
    total = math.comb(len(values), batch)
    return np.array(levels), np.array([[one[level] / total for level in levels] for one in counted])


DATA = [(others, x, y) for others in (-1.0, 0.0, 0.5) for x, y in ((1.0, -1.0), (-1.0, 1.0), (1.0, 0.0))]


@pytest.mark.parametrize(("others", "x", "y"), [*DATA, ("half", 1.0, -1.0), ("half", -1.0, 1.0)])
@pytest.mark.parametrize(("records", "batch", "noise", "rounds"), [(8, 2, 1.0, 3), (10, 4, 2.0, 6)])
def test_no_dataset_is_seen_above_the_upper_end(
    records: int, batch: int, noise: float, rounds: int, others: float | str, x: float, y: float
) -> None:
    """Every pair of neighbours that is tried; that of the lower end is seen on both sides of it."""
    rest = np.resize([1.0, -1.0], records - 1) if others == "half" else np.full(records - 1, float(others))
    one, two = np.append(rest, x), np.append(rest, y)
    known = hs.Plan([hs.Round(hs.Gaussian(noise), hs.WithoutReplacement(batch, records), rounds)], "replace-one")
    for epsilon in (0.2, 1.0):
        delta = known.delta(epsilon)
        low, high = simulated((one, batch), two, noise, rounds, epsilon, seed=17)
        assert low <= delta.upper
        if (others, x, y) == (-1.0, 1.0, -1.0):
            assert low <= delta.lower <= high


@pytest.mark.parametrize(("records", "batch", "noise", "rounds"), [(8, 2, 1.0, 3), (10, 4, 2.0, 6)])
def test_the_tight_pair_is_what_is_simulated(records: int, batch: int, noise: float, rounds: int) -> None:
    """A record among others that are opposed to it, and the same dataset without it: sums of fewer records."""
    plan_of = hs.Plan([hs.Round(hs.Gaussian(noise), hs.WithoutReplacement(batch, records), rounds)], "remove")
    one = np.append(np.full(records - 1, -1.0), 1.0)
    for epsilon in (0.2, 1.0):
        delta = plan_of.delta(epsilon)
        low, high = simulated((one, batch), np.full(records, -1.0), noise, rounds, epsilon, seed=5)
        assert low <= delta.lower
        assert delta.upper <= high
        assert high - low < 0.15


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


# Surfaces -------------------------------------------------------------------------------------------------------------

SIZES: dict[str, Any] = {"batch_size": 256, "dataset_size": 60_000}


def test_dp_sgd_says_how_batches_are_made() -> None:
    item = hs.Round(hs.Gaussian(2.0), hs.WithoutReplacement(**SIZES), epochs=60)
    assert hs.dp_sgd(2.0, **SIZES, epochs=60, sampling="without-replacement") == hs.Plan([item])
    assert hs.dp_sgd(2.0, **SIZES, epochs=60, sampling="poisson") == hs.dp_sgd(2.0, **SIZES, epochs=60)
    assert hs.dp_sgd(2.0, steps=3, sampling="none") == hs.Plan([hs.Round(hs.Gaussian(2.0), count=3)])
    with pytest.raises(hs.InvalidInputError, match="sample_rate cannot be used with sampling 'without-replacement'"):
        hs.dp_sgd(1.0, 0.1, 10, sampling="without-replacement")
    with pytest.raises(hs.InvalidInputError, match="dataset_size is missing; sampling 'without-replacement' needs it"):
        hs.dp_sgd(1.0, batch_size=10, steps=10, sampling="without-replacement")
    with pytest.raises(hs.InvalidInputError, match="did you mean 'without-replacement'"):
        hs.dp_sgd(1.0, **SIZES, steps=10, sampling="without-replacemnt")


def test_steps_are_recorded_with_their_batches() -> None:
    stepped = hs.Accountant(adjacency="replace-one")
    stepped.step(hs.Round(hs.Gaussian(2.0), hs.WithoutReplacement(**SIZES)), count=100)
    whole = hs.dp_sgd(2.0, **SIZES, steps=100, sampling="without-replacement", adjacency="replace-one")
    assert stepped.epsilon(1e-5) == whole.epsilon(1e-5)


@pytest.mark.parametrize("adjacency", ["add-or-remove", "replace-one"])
def test_noise_and_batches_are_calibrated_by_the_upper_end(adjacency: str) -> None:
    one = hs.dp_sgd(2.0, **SIZES, epochs=3, sampling="without-replacement", adjacency=adjacency)
    target = hs.targets.Epsilon(1.0, 1e-5)
    noise = hs.calibrate(one, "noise-multiplier", target)
    assert 0.999 < noise.achieved.upper <= 1.0
    batch = hs.calibrate(one, "batch-size", target)
    assert batch.achieved.upper <= 1.0
    assert batch.beside is not None
    assert batch.beside[1].upper > 1.0
    all_of_them = hs.calibrate(one, "batch-size", hs.targets.Epsilon(1e4, 1e-5))
    assert all_of_them.value == (60_000 if adjacency == "replace-one" else 59_999)


def test_profiles_are_between_the_pairs() -> None:
    """Error rates, one number and groups: those of the tight plan from below, more from above."""
    item = hs.Round(hs.Gaussian(4.0), hs.WithoutReplacement(100, 1000), 50)
    between, tight = hs.Plan([item], "replace-one").profile(), hs.Plan([item]).profile()
    rates = np.array([1e-4, 1e-2, 0.1, 0.5])
    np.testing.assert_allclose(between.tpr(rates).lower, tight.tpr(rates).lower, rtol=1e-3)
    assert (between.tpr(rates).upper > tight.tpr(rates).upper).all()
    assert between.mu().lower == pytest.approx(tight.mu().lower, rel=1e-3)
    assert between.mu().upper > 1.01 * tight.mu().upper
    deltas = np.array([1e-6, 1e-2])
    np.testing.assert_allclose(between.epsilon(deltas).lower, tight.epsilon(deltas).lower, rtol=1e-5)
    reason = between.epsilon(deltas).reason
    assert reason is not None
    assert reason.startswith("the interval is as narrow as current theory allows")
