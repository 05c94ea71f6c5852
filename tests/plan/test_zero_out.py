"""The relation zero-out: who is refused, where it is add-or-remove, and brackets beside instances by Monte Carlo."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr

import hockeystick as hs
import toys
from hockeystick import Adjacency, Direction, targets
from hockeystick.pairs import GaussianPair, PoissonAddPair, PoissonRemovePair, PoissonSubstitutionPair
from hockeystick.pairs.either import EitherPair
from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.mixture import MixturePair
from hockeystick.pairs.sampled.allocation import epoch
from hockeystick.pairs.sampled.opposed_draws import opposed_draws
from hockeystick.pairs.sampled.zeroed_pair import ZeroedPair
from hockeystick.plan.mechanisms import Status
from hockeystick.plan.mechanisms.base import AS_GIVEN, Mechanism
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.plan.sampling.base import Sampling, Zeroed, claimed
from hockeystick.plan.sampling.registry import SAMPLINGS

Array = npt.NDArray[np.float64]

BOTH = (Direction.ZERO_OUT, Direction.RESTORE)
SAME = {Direction.ZERO_OUT: Direction.REMOVE, Direction.RESTORE: Direction.ADD}
GAUSSIAN = hs.Gaussian(noise_multiplier=2.0)


def plan(mechanism: Mechanism, sampling: Sampling, count: int = 1, adjacency: str = "zero-out") -> hs.Plan:
    return hs.Plan([hs.Round(mechanism, sampling, count)], adjacency)


# The relation.


def test_it_has_two_directions_of_its_own() -> None:
    assert Adjacency.ZERO_OUT.directions == BOTH
    for direction, order in SAME.items():
        assert direction.order is order
        assert direction.zeroes
        assert direction.keeps_places
        assert direction.reverse.reverse is direction
    assert [each.order for each in (Direction.REMOVE, Direction.ADD, Direction.REPLACE_ONE)] == [
        "remove", "add", "replace-one",
    ]  # fmt: skip
    relations = [frozenset(each.directions) for each in Adjacency]
    assert len(set(relations)) == len(relations)


# Who knows nothing of it is refused.


@dataclass(frozen=True)
class Anything(Sampling):
    """A stranger's scheme, which claims whatever it is asked, and has a pair for it."""

    name: ClassVar[str] = "anything"
    assumption: ClassVar[str] = "a test's"

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Any:
        return mechanism.claims[Direction.REMOVE]

    def pair(self, mechanism: Mechanism, direction: Direction) -> Any:
        return mechanism.pair(direction)


STRANGERS = [toys.Dominated(1.0), toys.Concentrated(1.0)]


@pytest.mark.parametrize("mechanism", STRANGERS, ids=str)
def test_a_mechanism_that_does_not_say_what_it_does_is_refused(mechanism: Mechanism) -> None:
    assert Direction.ZERO_OUT in mechanism.claims  # made by dict.fromkeys(Direction)
    for scheme in SAMPLINGS:
        assert claimed(scheme, type(mechanism), Direction.ZERO_OUT).status is Status.REFUSED
    item = hs.Round(mechanism)
    for ask in (item.known, item.pair, item.curve, item.exact):
        with pytest.raises(hs.UnsupportedError, match="under 'zero-out': the mechanism does not define"):
            ask(Direction.ZERO_OUT)
    for accountant in ("auto", "rdp"):
        with pytest.raises(hs.UnsupportedError, match="use adjacency 'add-or-remove'"):
            hs.Plan([item], "zero-out").epsilon(1e-5, accountant=accountant)


def test_a_scheme_that_does_not_say_what_follows_is_refused() -> None:
    item = hs.Round(GAUSSIAN, Anything())
    assert hs.Plan([item]).epsilon(1e-5).upper > 0
    for ask in (item.known, item.curve, item.exact):
        with pytest.raises(hs.UnsupportedError, match="under 'zero-out': the sampling scheme does not define"):
            ask(Direction.ZERO_OUT)


def test_what_a_class_inherits_it_has_not_said() -> None:
    """A subclass may count its records, or draw batches in another way, and know nothing of the relation."""

    class Counting(hs.Gaussian):
        pass

    class Filled(hs.Poisson):
        pass

    with pytest.raises(hs.UnsupportedError, match="the mechanism does not define"):
        hs.Round(Counting(2.0)).known(Direction.ZERO_OUT)
    with pytest.raises(hs.UnsupportedError, match="the sampling scheme does not define"):
        hs.Round(GAUSSIAN, Filled(0.1)).known(Direction.ZERO_OUT)


def test_every_kind_here_has_said_what_it_means() -> None:
    assert all(vars(scheme)["zeroed"] is not Zeroed.UNSAID for scheme in SAMPLINGS)
    assert all("zeroed" in vars(mechanism) for mechanism in MECHANISMS)
    refused = {each.name for each in MECHANISMS if each.zeroed.status is Status.REFUSED}
    assert refused == {"randomized-response", "pmf", "tradeoff", "pair"}
    assert {each.name for each in MECHANISMS if each.zeroed is AS_GIVEN} == {
        "approximate-dp", "staircase", "exponential", "permute-and-flip", "report-noisy-max", "sparse-vector",
        "privacy-curve", "gdp", "zcdp", "rdp",
    }  # fmt: skip
    for mechanism in MECHANISMS:
        for scheme in SAMPLINGS:
            found = claimed(scheme, mechanism, Direction.ZERO_OUT)
            assert found == claimed(scheme, mechanism, Direction.RESTORE)
            if mechanism.zeroed.status is Status.REFUSED:
                assert found == mechanism.zeroed


# Where it is add-or-remove.

ABSENT = [
    GAUSSIAN,
    hs.Laplace(scale=3.0),
    hs.DiscreteGaussian(2.0),
    hs.DiscreteLaplace(3.0),
    hs.Binomial(trials=40),
    hs.TruncatedLaplace(2.0, 20.0),
    hs.MixtureGaussian((1, 2), (0.5, 0.5), 2.0),
    hs.LaplaceThreshold(2.0, 41.0, 3),
]
AS_WITHOUT = [
    hs.NoSampling(),
    hs.Poisson(sample_rate=0.1),
    hs.CyclicPoisson(groups=3, sample_rate=0.1),
    hs.RandomAllocation(steps_per_epoch=5),
    hs.RandomAllocation(steps_per_epoch=5, participations_per_epoch=2),
    hs.RandomAllocation(batch_size=3, dataset_size=10),
    hs.RandomAllocation(steps_per_epoch=5, steps_taken=3, check_in=Fraction(1, 2)),
]


@pytest.mark.parametrize("sampling", AS_WITHOUT, ids=str)
@pytest.mark.parametrize("mechanism", ABSENT, ids=lambda each: each.name)
def test_the_pairs_are_those_of_add_or_remove(mechanism: Mechanism, sampling: Sampling) -> None:
    item = hs.Round(mechanism, sampling, 7)
    for direction, order in SAME.items():
        one, other = item.claim(direction), item.claim(order)
        assert one.status is other.status
        if one.status is Status.REFUSED:
            assert one == other
        else:
            assert "has the distributions of add-or-remove" in one.cited
            assert item.known(direction) == item.known(order)
            assert item.curve(direction) == item.curve(order)


@pytest.mark.parametrize("sampling", AS_WITHOUT, ids=str)
def test_answers_are_those_of_add_or_remove_to_the_bit_and_say_which_relation(sampling: Sampling) -> None:
    zeroed, changed = (plan(GAUSSIAN, sampling, 50, each) for each in ("zero-out", "add-or-remove"))
    for one, other in (
        (zeroed.epsilon(1e-5), changed.epsilon(1e-5)),
        (zeroed.delta(0.5), changed.delta(0.5)),
        (zeroed.epsilon(1e-5, accountant="rdp"), changed.epsilon(1e-5, accountant="rdp")),
    ):
        assert one.ends == other.ends
        assert one.direction is not None
        assert SAME[Direction(one.direction)] == other.direction
    assert zeroed != changed


def test_proofs_and_profiles_are_those_of_add_or_remove() -> None:
    pytest.importorskip("flint")
    zeroed, changed = (plan(GAUSSIAN, hs.Poisson(0.1), 20, each) for each in ("zero-out", "add-or-remove"))
    one, other = zeroed.epsilon(1e-5, proof=True), changed.epsilon(1e-5, proof=True)
    assert one.ends == other.ends
    assert one.direction in BOTH
    mine, theirs = zeroed.profile(), changed.profile()
    rates = [1e-3, 0.1]
    np.testing.assert_array_equal(mine.tpr(rates).upper, theirs.tpr(rates).upper)
    np.testing.assert_array_equal(mine.tpr(rates).lower, theirs.tpr(rates).lower)
    assert mine.group(2).epsilon(1e-5).upper == theirs.group(2).epsilon(1e-5).upper


def test_a_guarantee_for_the_relation_itself_is_composed_and_not_sampled() -> None:
    box = hs.ApproximateDP(0.1, 1e-9)
    assert plan(box, hs.NoSampling(), 9).epsilon(1e-6).ends == plan(box, hs.NoSampling(), 9, "add").epsilon(1e-6).ends
    assert plan(box, hs.Poisson(1.0), 9).epsilon(1e-6).ends == plan(box, hs.NoSampling(), 9).epsilon(1e-6).ends
    assert plan(box, hs.Shuffled(10), 9).epsilon(1e-6).quoted == plan(box, hs.NoSampling(), 9).epsilon(1e-6).upper
    for sampling in (hs.Poisson(0.5), hs.CyclicPoisson(2, 0.5), hs.WithoutReplacement(5, 10)):
        with pytest.raises(hs.UnsupportedError, match="says nothing about a batch without the record"):
            plan(box, sampling).epsilon(1e-6)


def test_a_distance_under_replacement_says_nothing_of_it() -> None:
    with pytest.raises(hs.UnsupportedError, match="requires adjacency 'replace-one'"):
        plan(hs.Gaussian(1.0, replace_one_distance=1), hs.NoSampling()).epsilon(1e-5)


# Brackets.

BRACKETS: list[tuple[Sampling, int]] = [
    (hs.WithoutReplacement(10, 100), 40),
    (hs.WithReplacement(draws=3, dataset_size=30), 20),
    (hs.Shuffled(steps_per_epoch=20), 3),
]


def test_pairs_of_the_brackets() -> None:
    """Which pair is above and which are below, in either order of the laws."""
    one, rate = GaussianPair(0.5), 0.1
    fixed = hs.Round(GAUSSIAN, hs.WithoutReplacement(10, 100))
    assert fixed.known(Direction.ZERO_OUT).above == ZeroedPair(0.5, rate)
    assert fixed.known(Direction.RESTORE).above == ZeroedPair(0.5, rate, restored=True)
    once = opposed_draws((0.5,), (rate,), 1 - rate, 0.0)
    assert fixed.known(Direction.ZERO_OUT).below == (once,)
    assert fixed.known(Direction.RESTORE).below == (once.mirror,)
    loud = hs.Round(hs.Gaussian(0.04), hs.WithoutReplacement(10, 100))  # of which no tests are made
    assert loud.known(Direction.ZERO_OUT).below == (PoissonRemovePair(GaussianPair(25.0), rate),)
    assert loud.known(Direction.RESTORE).below == (PoissonAddPair(GaussianPair(25.0), rate),)
    shuffled = hs.Round(GAUSSIAN, hs.Shuffled(20))
    assert shuffled.known(Direction.ZERO_OUT).above == shuffled.known(Direction.RESTORE).above == one
    hidden, shown = (epoch(0.5, ((Fraction(1, 20), 20),), Fraction(0), add) for add in (False, True))
    assert shuffled.known(Direction.ZERO_OUT).below == (hidden,)
    assert shuffled.known(Direction.RESTORE).below == (shown,)
    drawn = hs.Round(GAUSSIAN, hs.WithReplacement(draws=3, dataset_size=30))
    assert drawn.known(Direction.ZERO_OUT).above == drawn.known(Direction.REPLACE_ONE).above
    silent, opposed = drawn.known(Direction.ZERO_OUT).below
    back, exchanged = drawn.known(Direction.RESTORE).below
    assert isinstance(silent, PoissonRemovePair)
    assert isinstance(silent.base, MixturePair)
    assert back == PoissonAddPair(silent.base, silent.rate)
    assert isinstance(opposed, FinitePair)
    assert exchanged == opposed.mirror
    cut = hs.Round(GAUSSIAN, hs.TruncatedPoisson(0.1, 100, 12))
    for direction, made in ((Direction.ZERO_OUT, PoissonRemovePair), (Direction.RESTORE, PoissonAddPair)):
        known = cut.known(direction)
        assert known.below == cut.known(direction.order).below
        assert isinstance(known.above, EitherPair)
        assert known.above.parts[0] == made(one, 0.1)
        assert isinstance(known.above.parts[1], PoissonSubstitutionPair)


@pytest.mark.parametrize(("sampling", "count"), BRACKETS, ids=str)
def test_it_is_never_above_replacing(sampling: Sampling, count: int) -> None:
    zeroed, replaced = (plan(GAUSSIAN, sampling, count, each).epsilon(1e-5) for each in ("zero-out", "replace-one"))
    assert 0 < zeroed.lower < zeroed.upper <= replaced.upper
    assert zeroed.lower < replaced.lower
    assert zeroed.direction in BOTH
    assert zeroed.reason is not None
    assert "the interval is as narrow as current theory allows" in zeroed.reason


def test_a_batch_of_all_records_is_no_sampling() -> None:
    every = plan(GAUSSIAN, hs.NoSampling(), 5).epsilon(1e-5).ends
    for sampling in (hs.WithoutReplacement(9, 9), hs.Shuffled(1), hs.Poisson(1.0), hs.RandomAllocation(1)):
        assert plan(GAUSSIAN, sampling, 5).epsilon(1e-5).ends == every


def test_other_noise_on_a_sum_is_bounded_by_replacing_in_batches_of_a_fixed_size() -> None:
    fixed = hs.WithoutReplacement(10, 100)
    for mechanism in (hs.Laplace(3.0), hs.DiscreteLaplace(3.0)):
        found = plan(mechanism, fixed, 10).epsilon(1e-5)
        assert isinstance(found, hs.UpperBound)
        assert found.quoted == plan(mechanism, fixed, 10, "replace-one").epsilon(1e-5).quoted


def test_the_number_of_batches_may_change_with_the_record() -> None:
    sampling = hs.Shuffled(batch_size=5, dataset_size=11)
    with pytest.raises(hs.UnsupportedError, match="one batch fewer"):
        plan(GAUSSIAN, sampling, 2, "add-or-remove").epsilon(1e-5)
    found = plan(GAUSSIAN, sampling, 2).epsilon(1e-5)
    assert found.upper == plan(GAUSSIAN, hs.NoSampling(), 2).epsilon(1e-5).upper
    assert found.lower >= plan(GAUSSIAN, hs.RandomAllocation(3), 2).epsilon(1e-5).lower


def test_truncated_batches_have_the_published_mixture_above() -> None:
    cut = hs.TruncatedPoisson(0.02, 10_000, 200)
    found, removed = (plan(hs.Gaussian(4.0), cut, 500, each).epsilon(1e-5) for each in ("zero-out", "remove"))
    assert found.upper == pytest.approx(1.19, abs=0.005)
    assert found.lower == removed.lower
    plain = plan(GAUSSIAN, hs.TruncatedPoisson(0.1, 100, 100), 50)
    assert plain.epsilon(1e-5).ends == plan(GAUSSIAN, hs.Poisson(0.1), 50).epsilon(1e-5).ends


# Instances, by Monte Carlo of the likelihood ratio.

SAMPLES = 200_000
SPREAD = 5.0
"""Standard deviations of an estimate on either side: a chance of less than 1e-6."""


def estimate(loss: Array, epsilon: float) -> tuple[float, float]:
    """Two-sided ends of delta from losses under P."""
    shares = np.maximum(-np.expm1(np.minimum(epsilon - loss, 0.0)), 0.0)
    mean, slack = float(shares.mean()), SPREAD * float(shares.std()) / math.sqrt(len(loss))
    return mean - slack, mean + slack


def mixtures(p: list[tuple[float, float]], q: list[tuple[float, float]], rounds: int, seed: int) -> tuple[Array, Array]:
    """Losses of rounds of two mixtures of N(c, 1), given as weight and c: of P against Q under P, and back under Q."""
    draw = np.random.default_rng(seed)

    def log_density(law: list[tuple[float, float]], x: Array) -> Array:
        out: Array = np.log(sum(w * np.exp(c * x - 0.5 * c * c) for w, c in law))
        return out

    def one(first: list[tuple[float, float]], second: list[tuple[float, float]]) -> Array:
        total = np.zeros(SAMPLES)
        for _ in range(rounds):
            centres = draw.choice([c for _, c in first], SAMPLES, p=[w for w, _ in first])
            x = centres + draw.standard_normal(SAMPLES)
            total += log_density(first, x) - log_density(second, x)
        return total

    return one(p, q), one(q, p)


def inside(found: hs.Plan, losses: tuple[Array, Array], epsilon: float, behind: bool) -> None:
    """Each order of an instance is below the upper end; of the one behind the lower end the worse order agrees."""
    asked = found.delta(epsilon)
    ends = [estimate(loss, epsilon) for loss in losses]
    assert max(low for low, _ in ends) <= asked.upper
    if behind:
        assert max(low for low, _ in ends) <= asked.lower * 1.003
        assert asked.lower <= max(high for _, high in ends)


@pytest.mark.parametrize(("other", "behind"), [(-1.0, True), (1.0, False), (0.0, False), (-0.5, False)])
def test_instances_of_batches_of_a_fixed_size(other: float, behind: bool) -> None:
    """All other records contribute ``other``, the record 1: in a batch without the record another one has its place."""
    rounds, q, mu = 30, 0.1, 0.5
    p, zeroed = [(1 - q, mu * other), (q, mu)], [(1 - q, mu * other), (q, 0.0)]
    found = plan(hs.Gaussian(1 / mu), hs.WithoutReplacement(10, 100), rounds)
    inside(found, mixtures(p, zeroed, rounds, 1), 0.7, behind)


@pytest.mark.parametrize(("other", "behind"), [(-1.0, True), (1.0, False), (0.0, False)])
def test_instances_of_draws_with_replacement(other: float, behind: bool) -> None:
    rounds, draws, n, mu = 10, 3, 20, 0.4
    weights = [math.comb(draws, k) * (1 / n) ** k * (1 - 1 / n) ** (draws - k) for k in range(draws + 1)]
    p = [(w, mu * (k + (draws - k) * other)) for k, w in enumerate(weights)]
    zeroed = [(w, mu * (draws - k) * other) for k, w in enumerate(weights)]
    shift = mu * draws * other
    p, zeroed = [(w, c - shift) for w, c in p], [(w, c - shift) for w, c in zeroed]
    found = plan(hs.Gaussian(1 / mu), hs.WithReplacement(draws, n), rounds)
    inside(found, mixtures(p, zeroed, rounds, 2), 0.5, behind)


def test_shifts_of_one_norm_are_no_upper_end_for_draws_with_replacement() -> None:
    """With all others opposed one round is worse than ``(sum_k Bin(m, 1/n)(k) N(k), N(0))`` says, by far."""
    m, n = 10, 100
    weights = np.array([math.comb(m, k) * 0.01**k * 0.99 ** (m - k) for k in range(m + 1)])

    def delta(first: Callable[[int], float], second: Callable[[int], float], epsilon: float) -> float:
        """By distribution functions on both sides of a fine grid, on each cell of which the difference is taken."""
        x = np.linspace(-12.0, 32.0, 400_001)
        laws = [sum(w * ndtr(x - shift(k)) for k, w in enumerate(weights)) for shift in (first, second)]
        return float(np.maximum(np.diff(laws[0]) - math.exp(epsilon) * np.diff(laws[1]), 0.0).sum())

    for epsilon, worse, claim in ((1.0, 8.4e-3, 5.6e-4), (3.0, 8.2e-4, 6.6e-6)):
        opposed = delta(lambda k: 2.0 * k, lambda k: 1.0 * k, epsilon)
        assert opposed == pytest.approx(worse, rel=0.01)
        assert delta(lambda k: 1.0 * k, lambda k: 0.0, epsilon) == pytest.approx(claim, rel=0.01)
        found = plan(hs.Gaussian(1.0), hs.WithReplacement(m, n)).delta(epsilon)
        assert opposed <= found.upper
        assert found.lower <= opposed


@pytest.mark.parametrize(("other", "behind"), [(-1.0, False), (1.0, False), (0.0, True)])
def test_instances_of_truncated_batches(other: float, behind: bool) -> None:
    """The sum of a batch, by the law of its size and of whether the record is kept in it."""
    n, rate, most, mu, rounds = 6, 0.5, 3, 0.4, 8
    p: list[tuple[float, float]] = []
    zeroed: list[tuple[float, float]] = []
    for others in range(n):
        chance = math.comb(n - 1, others) * rate**others * (1 - rate) ** (n - 1 - others)
        kept = 1.0 if others < most else most / (others + 1)
        for weight, beside, there in (
            (chance * (1 - rate * kept), min(others, most), False),
            (chance * rate * kept, min(others, most - 1), True),
        ):
            p.append((weight, mu * (beside * other + there)))
            zeroed.append((weight, mu * beside * other))
    found = plan(hs.Gaussian(1 / mu), hs.TruncatedPoisson(rate, n, most), rounds)
    inside(found, mixtures(p, zeroed, rounds, 3), 0.6, behind)


@pytest.mark.parametrize("other", [-1.0, 0.0, 1.0])
def test_instances_of_shuffled_batches(other: float) -> None:
    """An epoch of t steps: in one of them the record stands, or nothing, where all other steps have one like it."""
    steps, epochs, mu = 5, 3, 0.8
    draw = np.random.default_rng(4)

    def log_density(x: Array, shift: float) -> Array:
        """Of a mixture over the step that holds the record, less what is common; x of shape (samples, steps)."""
        out: Array = np.log(np.exp(shift * x - 0.5 * shift * shift).mean(axis=1))
        return out

    def one(first: float, second: float) -> Array:
        total = np.zeros(SAMPLES)
        for _ in range(epochs):
            x = draw.standard_normal((SAMPLES, steps))
            x[np.arange(SAMPLES), draw.integers(steps, size=SAMPLES)] += first
            total += log_density(x, first) - log_density(x, second)
        return total

    there, nothing = mu * (1 - other), -mu * other
    losses = one(there, nothing), one(nothing, there)
    found = plan(hs.Gaussian(1 / mu), hs.Shuffled(steps), epochs)
    inside(found, losses, 0.8, behind=False)
    allocated = plan(hs.Gaussian(1 / mu), hs.RandomAllocation(steps), epochs)
    if other == 0:
        inside(allocated, losses, 0.8, behind=True)
    assert found.delta(0.8).lower == allocated.delta(0.8).lower


# Surfaces.


def test_files_flags_frames_and_calibration_speak_it(tmp_path: Path) -> None:
    made = hs.dp_sgd(2.0, batch_size=10, dataset_size=1000, steps=100, adjacency="zero-out", delta=1e-5)
    made.save(tmp_path / "plan.toml")
    assert 'adjacency = "zero-out"' in (tmp_path / "plan.toml").read_text()
    assert hs.load_plan(tmp_path / "plan.toml") == made
    changed = hs.Plan(made.rounds, delta=1e-5)
    zeroed, other = hs.epsilons([made, changed], 1e-5), hs.epsilons([changed, made], 1e-5)
    np.testing.assert_array_equal(zeroed.lower, other.lower)
    np.testing.assert_array_equal(zeroed.upper, other.upper)
    assert zeroed.directions in (("zero-out", "remove"), ("restore", "add"))
    target = targets.Epsilon(0.5, 1e-5)
    assert float(hs.calibrate(made, "noise-multiplier", target)) == float(
        hs.calibrate(changed, "noise-multiplier", target)
    )
    counted = hs.Accountant("zero-out")
    counted.step(made.rounds[0])
    assert counted.plan.epsilon(1e-5).ends == made.epsilon(1e-5).ends


def test_the_best_of_several_runs_is_no_cheaper_than_with_both_curves_apart() -> None:
    zeroed, changed = (plan(GAUSSIAN, hs.Poisson(0.1), 20, each) for each in ("zero-out", "add-or-remove"))
    one, other = (each.selection("geometric", mean=5).epsilon(1e-5) for each in (zeroed, changed))
    assert other.upper <= one.upper * (1 + 1e-9)
    assert one.upper <= 1.2 * other.upper
    assert isinstance(one, hs.Bound)
    assert isinstance(other, hs.Bound)
    assert one.lower == pytest.approx(other.lower, rel=1e-6)
