"""Shuffled batches: every data set that is tried lies within the bracket, and the one behind its lower end at that end.

The laws are enumerated: all orders of a few records, their batches' sums, normal noise; delta by Monte Carlo over the
outcomes, with intervals of Hoeffding's inequality. Nothing of the library enters but the numbers that are held to it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import hockeystick as hs
from hockeystick.directions.directions import Directions
from hockeystick.pairs import AllocationPair, DominatingPair, GaussianPair, PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.sampled.allocation import epoch
from hockeystick.pairs.sampled.allocation_law import AllocationLaw
from hockeystick.pairs.sides import Between
from hockeystick.plan.mechanisms import Status
from hockeystick.plan.sampling.shuffled import CAUTION
from toys import Concentrated, Counting, Dominated

Array = npt.NDArray[np.float64]

REMOVE, ADD, REPLACE = hs.Direction.REMOVE, hs.Direction.ADD, hs.Direction.REPLACE_ONE
SAMPLES = 40_000
RARELY = 1e-9  # how often an interval of the Monte Carlo may miss its delta


def plan(noise: float, epochs: int = 1, adjacency: str = "replace-one", **keys: Any) -> hs.Plan:
    return hs.Plan([hs.Round(hs.Gaussian(noise), hs.Shuffled(**keys), epochs)], adjacency)


def even(mu: float, steps: int, add: bool) -> DominatingPair:
    """The pair of an epoch of equally likely steps."""
    return epoch(mu, ((Fraction(1, steps), steps),), Fraction(0), add)


class Law(NamedTuple):
    """A mixture of normal laws of an epoch: centres of shape (n, steps), and how often each is drawn."""

    centres: Array
    shares: Array


def law(records: Sequence[float], batch: int, steps: int) -> Law:
    """The sums of the batches under all orders, each equally likely."""
    found = []
    for order in itertools.permutations(records):
        found.append([sum(order[batch * at : batch * (at + 1)]) for at in range(steps)])
    centres, counts = np.unique(np.array(found, dtype=float).round(9), axis=0, return_counts=True)
    return Law(centres, counts / counts.sum())


def log_density(outcomes: Array, of: Law, noise: float, anew: bool) -> Array:
    """Log-density of outcomes of shape (samples, epochs, steps); orders are drawn anew in each epoch, or once."""
    apart = np.stack([-0.5 * ((outcomes - one) ** 2).sum(axis=2) / noise**2 for one in of.centres])
    if not anew:
        apart = apart.sum(axis=2, keepdims=True)
    apart = apart + np.log(of.shares)[:, None, None]
    top = apart.max(axis=0)
    return np.asarray((top + np.log(np.exp(apart - top).sum(axis=0))).sum(axis=1))


def delta_of(
    ours: Law, theirs: Law, epsilon: float, noise: float, epochs: int = 1, anew: bool = True
) -> tuple[float, float]:
    """An interval for delta of the mixture over one set of centres against that over another one."""
    random = np.random.default_rng(20)
    chosen = random.choice(len(ours.shares), size=(SAMPLES, epochs if anew else 1), p=ours.shares)
    outcomes = ours.centres[np.broadcast_to(chosen, (SAMPLES, epochs))]
    outcomes = outcomes + noise * random.standard_normal(outcomes.shape)
    loss = log_density(outcomes, ours, noise, anew) - log_density(outcomes, theirs, noise, anew)
    mean = float(np.maximum(-np.expm1(epsilon - loss), 0.0).mean())
    off = math.sqrt(math.log(2 / RARELY) / (2 * SAMPLES))
    return mean - off, mean + off


REPLACED = [
    ([1, -1, -1, -1], [-1, -1, -1, -1]),
    ([-1, -1, -1, -1], [1, -1, -1, -1]),
    ([1, 0, 0, 0], [-1, 0, 0, 0]),
    ([1, -1, -1, 1], [-1, -1, -1, 1]),
    ([1, 0.5, -0.3, 0.9], [-0.2, 0.5, -0.3, 0.9]),
    ([1, 1, 1, 1, 1], [-1, 1, 1, 1, 1]),
    ([1, -1, -1, 0, 0], [-1, -1, -1, 0, 0]),
]


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("epochs", "anew"), [(1, True), (2, True), (2, False)])
@pytest.mark.parametrize("pair", REPLACED, ids=str)
def test_every_data_set_lies_at_or_below_the_upper_end(
    pair: tuple[list[float], list[float]], epochs: int, anew: bool, epsilon: float
) -> None:
    noise, batch = 1.7, 2
    size = len(pair[0])
    one, other = (law(records, batch, -(-size // batch)) for records in pair)
    found = plan(noise, epochs, batch_size=batch, dataset_size=size).delta(epsilon)
    assert delta_of(one, other, epsilon, noise, epochs, anew)[0] <= found.upper


@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("noise", [0.8, 1.5, 4.0])
def test_the_data_set_behind_the_lower_end_lies_at_it(noise: float, epsilon: float, epochs: int) -> None:
    """All others at -1, the record at 1: of both orders of the two, the worse one is the lower end."""
    pair = law([1, -1, -1, -1, -1, -1], 2, 3), law([-1] * 6, 2, 3)
    ends = [delta_of(*two, epsilon, noise, epochs) for two in (pair, pair[::-1])]
    found = plan(noise, epochs, batch_size=2, dataset_size=6).delta(epsilon)
    assert max(low for low, _ in ends) <= found.lower * (1 + 1e-3) + 1e-9
    assert found.lower <= max(high for _, high in ends)


@pytest.mark.parametrize("anew", [True, False])
@pytest.mark.parametrize(("size", "batch"), [(5, 2), (5, 3), (4, 3)])
def test_uneven_batches_and_kept_orders_hide_a_record_no_better(size: int, batch: int, anew: bool) -> None:
    """The averaging of the proof: less even batches, or one order for all epochs, lie at or above the lower end."""
    steps = -(-size // batch)
    pair = law([1] + [-1] * (size - 1), batch, steps), law([-1] * size, batch, steps)
    for epsilon in (0.0, 1.0, 2.5):
        highs = [delta_of(*two, epsilon, 1.5, 2, anew)[1] for two in (pair, pair[::-1])]
        assert plan(1.5, 2, batch_size=batch, dataset_size=size).delta(epsilon).lower <= max(highs)


def test_no_order_at_all_is_within_the_bracket() -> None:
    """The same order in every epoch: no amplification, which is the upper end."""
    pair = Law(np.array([[0.0, -2.0]]), np.ones(1)), Law(np.array([[-2.0, -2.0]]), np.ones(1))
    for epsilon in (0.5, 2.0):
        low, high = delta_of(*pair, epsilon, 2.0, 3)
        found = plan(2.0, 3, batch_size=2, dataset_size=4).delta(epsilon)
        assert low <= found.upper <= high
        assert found.lower <= high


ADDED = [
    ([1, -1, -1, -1], [-1, -1, -1]),
    ([1, 0, 0, 0], [0, 0, 0]),
    ([1, 1, 1, 1], [1, 1, 1]),
    ([1, -1, 1, -1], [-1, 1, -1]),
    ([1, -1, -1, 0.5, 1, -1], [-1, -1, 0.5, 1, -1]),
]


@pytest.mark.parametrize("adjacency", ["remove", "add"])
@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize("pair", ADDED, ids=str)
def test_adding_and_removing_lies_at_or_below_the_upper_end(
    pair: tuple[list[float], list[float]], epochs: int, adjacency: str
) -> None:
    """The record's place is taken by another one, and the last batch has one less."""
    noise, batch = 1.7, 2
    with_it, without = pair
    laws = [law(records, batch, len(with_it) // batch) for records in (with_it, without)]
    one, other = laws if adjacency == "remove" else laws[::-1]
    for epsilon in (0.0, 1.0):
        found = plan(noise, epochs, adjacency, batch_size=batch, dataset_size=len(with_it)).delta(epsilon)
        low, _ = delta_of(one, other, epsilon, noise, epochs)
        assert low <= found.upper
        if sum(map(abs, without)) == 0:
            assert low <= found.lower * (1 + 1e-3) + 1e-9


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("adjacency", ["remove", "add"])
@pytest.mark.parametrize(("size", "epochs", "noise"), [(6, 1, 1.7), (6, 2, 1.2), (5, 3, 2.0)])
def test_the_data_sets_behind_the_lower_end_of_an_addition_lie_at_it(
    size: int, epochs: int, noise: float, adjacency: str, drop_last: bool
) -> None:
    """All others opposed or 0, batches of 4, then also of 3: the worse one is the lower end, or above it.

    Of the opposed ones the last batch, which is kept, says a little more than the lower end counts.
    """
    batch = 4 if size == 6 else 3
    keys = {"batch_size": batch, "dataset_size": size, "drop_last": drop_last}
    steps = size // batch if drop_last else -(-size // batch)
    laws = [
        (law([1.0] + [other] * (size - 1), batch, steps), law([other] * (size - 1), batch, steps))
        for other in (-1.0, 0.0)
    ]
    for epsilon in (0.0, 0.5, 1.5):
        ends = [delta_of(*(two if adjacency == "remove" else two[::-1]), epsilon, noise, epochs) for two in laws]
        found = plan(noise, epochs, adjacency, **keys).delta(epsilon)
        assert found.lower <= max(high for _, high in ends)
        assert max(low for low, _ in ends) <= found.upper
        if drop_last:  # then nothing is left out
            assert ends[0][0] <= found.lower * (1 + 1e-3) + 1e-9


def bracketed(
    found: hs.DeltaBound, tried: list[tuple[list[float], list[float]]], epsilon: float, noise: float, epochs: int
) -> None:
    """Batches of two, the last record dropped: the first two data sets lie at the lower end, none above the upper."""
    for which, pair in enumerate(tried):
        one, other = (law(records, 2, len(records) // 2) for records in pair)
        ends = [delta_of(*two, epsilon, noise, epochs) for two in ((one, other), (other, one))]
        assert all(low <= found.upper for low, _ in ends)
        if which == 0:
            assert found.lower <= max(high for _, high in ends)
            assert max(low for low, _ in ends) <= found.lower * (1 + 1e-3) + 1e-9


@pytest.mark.parametrize(("size", "epochs", "noise"), [(5, 1, 1.7), (5, 2, 1.3)])
def test_a_last_batch_that_is_dropped(size: int, epochs: int, noise: float) -> None:
    """A replaced record: the data set behind the lower end lies at it, others at or below the upper end."""
    tried = [([1.0] + [-1.0] * (size - 1), [-1.0] * size), ([1.0, 0.0, 0.0, 0.5, -1.0], [-1.0, 0.0, 0.0, 0.5, -1.0])]
    for epsilon in (0.0, 1.0):
        found = plan(noise, epochs, batch_size=2, dataset_size=size, drop_last=True).delta(epsilon)
        bracketed(found, tried, epsilon, noise, epochs)


@pytest.mark.parametrize(("size", "epochs", "noise"), [(5, 1, 1.0), (5, 2, 0.8)])
def test_a_contribution_set_to_nothing_where_a_batch_is_dropped(size: int, epochs: int, noise: float) -> None:
    """The data set of no other contribution lies at the lower end, that of opposed ones at or below the upper end."""
    tried = [([1.0] + [0.0] * (size - 1), [0.0] * size), ([1.0] + [-1.0] * (size - 1), [0.0] + [-1.0] * (size - 1))]
    scheme = hs.Shuffled(batch_size=2, dataset_size=size, drop_last=True)
    for direction, add in ((hs.Direction.ZERO_OUT, False), (hs.Direction.RESTORE, True)):
        known = scheme.known(hs.Gaussian(noise), direction)
        assert known.above == GaussianPair(1 / noise)
        assert known.below == (AllocationPair(AllocationLaw(1 / noise, Fraction(1, 5), ((Fraction(2, 5), 2),)), add),)
    for epsilon in (0.0, 0.7):
        found = plan(noise, epochs, "zero-out", batch_size=2, dataset_size=size, drop_last=True).delta(epsilon)
        bracketed(found, tried, epsilon, noise, epochs)


def test_what_dropping_a_batch_changes() -> None:
    """Nothing where all are full; else the upper end of an addition is that of a replacement, and steps are fewer."""
    full = hs.Shuffled(batch_size=5, dataset_size=50, drop_last=True)
    assert full.known(hs.Gaussian(0.8), REPLACE) == hs.Shuffled(10).known(hs.Gaussian(0.8), REPLACE)
    dropping = hs.Shuffled(batch_size=8, dataset_size=50, drop_last=True)
    assert (dropping.steps, dropping.dropped, dropping.steps_per_round) == (6, 2, 6)
    known = dropping.known(hs.Gaussian(0.8), ADD)
    groups = ((Fraction(8, 50), 6),)
    assert known.below == (AllocationPair(AllocationLaw(2.5, Fraction(1, 25), groups), True),)
    assert known.above == GaussianPair(2.5) == dropping.pair(hs.Gaussian(0.8), REPLACE)
    assert dropping.known(hs.Gaussian(0.8), REPLACE).below == tuple(
        AllocationPair(AllocationLaw(2.5, Fraction(1, 25), groups), add) for add in (False, True)
    )
    assert dropping.exact(hs.Gaussian(0.8), ADD) is None
    assert dropping.exact(hs.Gaussian(0.8), REPLACE) == hs.Gaussian(0.8).exact(REPLACE)
    assert dropping.claim_of(hs.Laplace(1.0), REPLACE).status is Status.UPPER
    made = plan(1.0, 3, batch_size=8, dataset_size=50, drop_last=True)
    assert hs.Plan.from_dict(made.to_dict()) == made
    assert made.to_dict()["round"][0]["drop_last"] is True
    assert hs.dp_sgd(1.0, batch_size=8, dataset_size=50, drop_last=True, sampling="shuffled", epochs=3,
                     adjacency="replace-one").epsilon(1e-6) == made.epsilon(1e-6)  # fmt: skip


def test_one_step_that_drops_records_is_sampling() -> None:
    """A batch of 6 of 9 records: a record is in it, or it is not."""
    one = hs.Shuffled(batch_size=6, dataset_size=9, drop_last=True)
    known = one.known(hs.Gaussian(2.0), REPLACE)
    assert isinstance(known, Between)
    assert [type(pair).__name__ for pair in known.below] == ["PoissonRemovePair", "PoissonAddPair"]
    assert one.caution is not None


@pytest.mark.parametrize("adjacency", ["add", "remove"])
def test_an_added_record_is_seen_at_half_the_noise(adjacency: str) -> None:
    """With many steps the lower end is nearly that of a replaced record: far above that at the whole noise."""
    found = plan(1.1, 5, adjacency, batch_size=256, dataset_size=60_000).epsilon(1e-5)
    whole = hs.Plan([hs.Round(hs.Gaussian(1.1), hs.RandomAllocation(235), 5)], adjacency).epsilon(1e-5)
    half = hs.Plan([hs.Round(hs.Gaussian(0.55), hs.RandomAllocation(235), 5)], adjacency).epsilon(1e-5)
    assert 1.5 * whole.upper < found.lower
    assert found.lower == pytest.approx(half.lower, rel=0.02)


def test_an_addition_costs_more_than_a_replacement() -> None:
    """A record beside the last batch moves two sums: the distance 2 of a replacement alone would be too small."""
    told = Law(np.array([[2.0, 0.0]]), np.ones(1)), Law(np.array([[0.0, -1.0]]), np.ones(1))
    low, high = delta_of(*told, 1.0, 1.0)
    replaced = plan(1.0, batch_size=2, dataset_size=4).delta(1.0).upper
    changed = plan(1.0, adjacency="remove", batch_size=2, dataset_size=4).delta(1.0).upper
    assert replaced < low <= changed <= high


FIGURES = [((1.0, 1000, 10, 1e-6), (6.14153, 49.31928)), ((0.8, 1000, 10, 1e-6), (14.18758, 68.04758))]


@pytest.mark.parametrize(("asked", "ends"), FIGURES)
def test_published_figures(asked: tuple[float, int, int, float], ends: tuple[float, float]) -> None:
    """Random allocation at half the noise, computed elsewhere; and ten Gaussian rounds at a distance of 2."""
    noise, steps, epochs, delta = asked
    found = plan(noise, epochs, steps_per_epoch=steps).epsilon(delta)
    assert found.lower <= ends[0] + 1e-5
    assert found.lower >= ends[0] - 1e-4
    assert found.upper == pytest.approx(ends[1], abs=1e-5)
    assert found.reason is not None
    assert found.reason.startswith("the interval is as narrow as current theory allows")


@pytest.mark.parametrize("adjacency", ["replace-one", "remove", "add", "add-or-remove"])
def test_an_epoch_of_one_step_is_no_sampling(adjacency: str) -> None:
    for scheme in (hs.Shuffled(1), hs.Shuffled(batch_size=50, dataset_size=50)):
        for mechanism in (hs.Gaussian(1.3), hs.Laplace(3.0), hs.RandomizedResponse(0.7)):
            shuffled, alone = (
                hs.Plan([hs.Round(mechanism, sampling, count=4)], adjacency) for sampling in (scheme, hs.NoSampling())
            )
            assert shuffled.epsilon(1e-6) == alone.epsilon(1e-6)
            assert not shuffled.epsilon(1e-6).warnings


@pytest.mark.share(5)
@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.5, 1.0, 5.0])
@pytest.mark.parametrize("steps", [2, 40, 1000])
@pytest.mark.parametrize("epochs", [1, 20])
def test_a_record_is_hidden_no_worse_than_without_amplification(noise: float, steps: int, epochs: int) -> None:
    found = plan(noise, epochs, steps_per_epoch=steps).epsilon(1e-6)
    alone = hs.Plan([hs.Round(hs.Gaussian(noise), count=epochs)], "replace-one").epsilon(1e-6)
    assert found.lower < found.upper == alone.upper
    assert found.lower <= alone.lower


def test_a_distance_that_is_known_is_taken_for_both_ends() -> None:
    """Noise 2 at distance 2, and noise 1 at distance 1, are the same."""
    one, two = (
        hs.Plan([hs.Round(hs.Gaussian(noise, distance), hs.Shuffled(100), 5)], "replace-one").epsilon(1e-6)
        for noise, distance in ((1.0, 1.0), (2.0, 2.0))
    )
    assert (one.lower, one.upper) == (two.lower, two.upper)
    added = hs.Plan([hs.Round(hs.Gaussian(1.0, 1.0), hs.Shuffled(batch_size=2, dataset_size=8), 5)], "add")
    with pytest.raises(hs.UnsupportedError, match="requires adjacency 'replace-one'"):
        added.epsilon(1e-6)


def test_claims() -> None:
    """Brackets for normal noise; from above, or a curve, for what else has one; refusals as they are."""
    claims = {kind: hs.Shuffled.claim(kind, REPLACE).status for kind in (hs.Laplace, Dominated, Concentrated, Counting)}
    assert claims == {
        hs.Laplace: Status.UPPER, Dominated: Status.UPPER, Concentrated: Status.RENYI, Counting: Status.REFUSED,
    }  # fmt: skip
    for direction in hs.Direction:
        assert hs.Shuffled.claim(hs.Gaussian, direction).status is Status.BRACKET
    laplace = hs.Plan([hs.Round(hs.Laplace(3.0), hs.Shuffled(10), 4)], "replace-one")
    alone = hs.Plan([hs.Round(hs.Laplace(3.0), count=4)], "replace-one")
    found = laplace.epsilon(1e-6)
    assert isinstance(found, hs.UpperBound)
    assert found.upper == alone.epsilon(1e-6).upper
    for scheme in (hs.Shuffled(10), hs.NoSampling()):
        curve = hs.Plan([hs.Round(Concentrated(0.01), scheme, 4)], "replace-one").epsilon(1e-6)
        assert curve.quoted == pytest.approx(
            hs.Plan([hs.Round(Concentrated(0.01), count=4)], "replace-one").epsilon(1e-6).quoted, rel=1e-12
        )


@pytest.mark.parametrize(
    ("scheme", "reason"),
    [
        (hs.Shuffled(10), "give batch_size and dataset_size .of the larger dataset., or use adjacency 'replace-one'"),
        (hs.Shuffled(batch_size=3, dataset_size=10), "the number of steps reveals the removal"),
        (
            hs.Shuffled(batch_size=5, dataset_size=10, drop_last=True),
            "the last batch incomplete, so it is dropped .* that does not divide dataset_size;",
        ),
    ],
)
@pytest.mark.parametrize("adjacency", ["add", "remove", "add-or-remove"])
def test_a_number_of_batches_that_changes_is_refused(scheme: hs.Shuffled, reason: str, adjacency: str) -> None:
    for accountant in ("auto", "rdp", "gdp", "grid"):
        with pytest.raises(hs.UnsupportedError, match=reason):
            hs.Plan([hs.Round(hs.Gaussian(1.0), scheme, 3)], adjacency).epsilon(1e-6, accountant=accountant)


def test_other_mechanisms_are_refused_where_records_come_and_go() -> None:
    for mechanism in (hs.Laplace(1.0), hs.ApproximateDP(0.1, 1e-9), Dominated(1.0)):
        sgd = hs.Plan([hs.Round(mechanism, hs.Shuffled(batch_size=2, dataset_size=10), 3)])
        with pytest.raises(hs.UnsupportedError, match="Gaussian noise only; use adjacency 'replace-one'"):
            sgd.epsilon(1e-6)


def test_pairs_of_the_bracket() -> None:
    known = hs.Shuffled(10).known(hs.Gaussian(0.8), REPLACE)
    assert isinstance(known, Between)
    assert known == Between(GaussianPair(2.5), tuple(even(2.5, 10, add) for add in (False, True)), known.why)
    sizes = hs.Shuffled(batch_size=5, dataset_size=50)
    for direction, add in ((REMOVE, False), (ADD, True)):
        known = sizes.known(hs.Gaussian(0.8), direction)
        opposed = AllocationPair(AllocationLaw(2.5, Fraction(1, 10), ((Fraction(1, 10), 9),)), add)
        assert known.below == (opposed,)
        assert isinstance(known.above, GaussianPair)
        assert math.sqrt(5) * 1.25 < known.above.mu < math.sqrt(5) * 1.25 * (1 + 1e-14)


@pytest.mark.parametrize(("noise", "steps"), [(0.1, 10), (100.0, 10), (1.0, 10**10), (0.01, 2), (1e6, 2)])
def test_beyond_the_moments_the_sum_of_all_steps_is_below(noise: float, steps: int) -> None:
    """A function of the outcome: N(2/s, t) against N(0, t)."""
    known = hs.Shuffled(steps).known(hs.Gaussian(noise), REPLACE)
    (below,) = known.below
    mu = 2 / noise / math.sqrt(steps)
    assert isinstance(below, GaussianPair)
    assert mu * (1 - 1e-14) < below.mu < mu
    found = plan(noise, 3, steps_per_epoch=steps).epsilon(1e-6)
    assert 0 <= found.lower <= found.upper


@pytest.mark.parametrize("add", [False, True])
def test_beyond_the_moments_a_sum_may_be_of_no_step(add: bool) -> None:
    """The sum of all steps is N(2/s, t) with the probability that the record is in one of them."""
    sizes = hs.Shuffled(batch_size=8, dataset_size=50, drop_last=True)
    (below,) = sizes.known(hs.Gaussian(100.0), ADD if add else REMOVE).below
    assert isinstance(below, PoissonAddPair if add else PoissonRemovePair)
    assert 0.96 * (1 - 1e-14) < below.rate < 0.96
    assert isinstance(below.base, GaussianPair)
    assert 0.02 / math.sqrt(6) * (1 - 1e-14) < below.base.mu < 0.02 / math.sqrt(6)


@pytest.mark.parametrize(("noise", "steps"), [(1.0, 2), (3.0, 50), (8.0, 300)])
def test_the_sum_of_all_steps_is_below_random_allocation(noise: float, steps: int) -> None:
    pairs = GaussianPair(2 / noise / math.sqrt(steps)), even(2 / noise, steps, False)
    summed, whole = (
        hs.ACCOUNTANTS["auto"].epsilon(Directions.of_pairs({REMOVE: [(pair, 3)]}), 1e-6, None) for pair in pairs
    )
    assert summed.ends["upper"] < whole.ends["lower"]


def test_it_is_mixed_with_other_rounds() -> None:
    """The ends of the sum are between those of its parts and of all of it without amplification."""
    extra = hs.Round(hs.Gaussian(5.0), count=3)
    poisson = hs.Round(hs.Gaussian(1.0), hs.Poisson(0.01), 100)
    epochs = hs.Round(hs.Gaussian(1.5), hs.Shuffled(200), 5)
    whole, alone = (hs.Plan(items, "replace-one").epsilon(1e-6) for items in ([extra, poisson, epochs], [epochs]))
    bare = hs.Plan([extra, poisson, 5 * hs.Round(hs.Gaussian(1.5))], "replace-one").epsilon(1e-6)
    assert alone.lower < whole.lower < whole.upper
    assert whole.upper == pytest.approx(bare.upper, rel=1e-6)


def test_every_answer_warns() -> None:
    sgd = plan(1.0, 3, batch_size=10, dataset_size=100)
    for found in (sgd.epsilon(1e-6), sgd.epsilon(1e-6, accountant="rdp"), sgd.delta(60.0), sgd.profile().mu()):
        assert found.warnings == (CAUTION,)
        assert found.assumptions[0].startswith("sampling shuffled: each record is in exactly one step of each epoch")
    unsafe = sgd.epsilon(0.02)
    assert len(unsafe.warnings) == 2
    calibrated = hs.calibrate(sgd, "noise-multiplier", hs.targets.Epsilon(8.0, 1e-6))
    assert calibrated.achieved.warnings == (CAUTION,)


def test_parameters_are_calibrated() -> None:
    """By the upper end: the noise is that of as many unsampled rounds; steps and epochs in whole epochs."""
    sgd = plan(1.0, 3, steps_per_epoch=100)
    bare = hs.Plan([3 * hs.Round(hs.Gaussian(1.0))], "replace-one")
    target = hs.targets.Epsilon(8.0, 1e-6)
    noise = hs.calibrate(sgd, "noise-multiplier", target).value
    assert noise == pytest.approx(hs.calibrate(bare, "noise-multiplier", target).value, rel=3e-6)
    loose = hs.targets.Epsilon(20.0, 1e-6)
    epochs = hs.calibrate(sgd, "epochs", loose).value
    assert hs.calibrate(sgd, "steps", loose).value == 100 * epochs
    assert hs.calibrate(bare, "steps", loose).value == epochs


def test_epochs_and_steps() -> None:
    item = hs.Round(hs.Gaussian(1.0), hs.Shuffled(batch_size=256, dataset_size=60_000), epochs=60)
    assert (item.count, item.steps, item.sampling.steps_per_epoch) == (60, 14_100, 235)
    assert item.changed(epochs=None, count=60).steps == 14_100
    sgd = hs.Plan([item], "replace-one", delta=1e-5)
    assert hs.Plan.from_dict(sgd.to_dict()) == sgd
    assert sgd.to_dict()["round"][0] == {
        "mechanism": "gaussian", "noise_multiplier": 1.0, "sampling": "shuffled", "batch_size": 256,
        "dataset_size": 60_000, "epochs": 60,
    }  # fmt: skip
    assert hs.Shuffled(235).keys() == {"steps_per_epoch": 235}
    assert hs.Shuffled(235, dataset_size=1000).dataset_records == 1000


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "shuffled batches need steps_per_epoch, or batch_size and dataset_size; received none of them"),
        ({"batch_size": 3}, "batch_size and dataset_size must be given together; dataset_size is missing"),
        ({"dataset_size": 3}, "batch_size and dataset_size must be given together; batch_size is missing"),
        ({"batch_size": 4, "dataset_size": 3}, "batch_size must be at most dataset_size; received 4 and 3"),
        ({"steps_per_epoch": 0}, "steps_per_epoch must be a whole number from 1"),
        ({"steps_per_epoch": 2.5}, "steps_per_epoch must be a whole number from 1"),
        ({"steps_per_epoch": 2, "batch_size": 3, "dataset_size": 9}, "contradicts dataset_size and batch_size, which"),
        ({"steps_per_epoch": 2, "drop_last": True}, "drop_last requires batch_size and dataset_size"),
        ({"batch_size": 2, "dataset_size": 9, "drop_last": 1}, "drop_last must be true or false .* received 1"),
    ],
)
def test_keys_are_checked(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=message):
        hs.Shuffled(**keys)
