"""Correlated noise whose steps are sampled: groups and bins against simulations and published figures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import hockeystick as hs
from hockeystick.pairs.mixture import MixturePair
from hockeystick.plan.sampling import Sampling
from hockeystick.plan.sampling.balls_in_bins import MOST_SHIFTS, _mixture
from oracle.strategies import triangular

Array = npt.NDArray[np.float64]
Law = list[tuple[float, Array]]
"""Probabilities of the sets of steps of a record, each with the sum of its columns."""


def simulated(law: Law, noise: float, epsilon: float, remove: bool, seed: int) -> tuple[float, float]:
    """Estimate of delta of a mixture of normal laws against one, and six standard errors."""
    random, many = np.random.default_rng(seed), 100_000
    shifts = np.array([shift for _, shift in law]) / noise
    chances = np.array([chance for chance, _ in law])
    x = random.normal(size=(many, shifts.shape[1]))
    if remove:
        x += shifts[random.choice(len(law), size=many, p=chances / chances.sum())]
    ratio = np.exp(x @ shifts.T - 0.5 * np.square(shifts).sum(axis=1)) @ chances
    a = math.exp(epsilon)
    found = np.maximum(1 - a / ratio, 0.0) if remove else np.maximum(1 - a * ratio, 0.0)
    return float(found.mean()), 6 * float(found.std()) / math.sqrt(many) + 1e-6


def poisson_law(matrix: Array, places: range, rate: float) -> Law:
    out: Law = []
    for taken in itertools.product((0, 1), repeat=len(places)):
        chance = math.prod(rate if each else 1 - rate for each in taken)
        out.append((chance, sum(each * matrix[:, p] for each, p in zip(taken, places, strict=True)) + 0 * matrix[:, 0]))
    return out


def drawn(random: np.random.Generator, n: int, bands: int) -> Array:
    """A lower triangular matrix with so many bands, whose entries are at least 0."""
    matrix: Array = np.triu(np.tril(random.random((n, n))), 1 - bands)
    return matrix


def run_of(noise: float, steps: int, separation: int, norm: str = "none", **strategy: Any) -> hs.MatrixGaussian:
    return hs.MatrixGaussian(noise, steps, separation, norm, **strategy)


@pytest.mark.parametrize("seed", range(6))
def test_groups_lie_between_the_simulation_of_the_worst_of_them(seed: int) -> None:
    """Columns of many norms, of which the groups differ; Poisson sampling, and one step of each group."""
    random = np.random.default_rng(seed)
    groups, n = int(random.integers(2, 4)), int(random.integers(4, 8))
    matrix, noise = drawn(random, n, groups), float(random.uniform(0.8, 2.0))
    epsilon, rate = float(random.uniform(0.1, 0.8)), 0.4
    run = run_of(noise, n, groups, "none", matrix=matrix.tolist())
    for remove in (True, False):
        adjacency = "remove" if remove else "add"
        laws = [poisson_law(matrix, range(g, n, groups), rate) for g in range(groups)]
        truths = [simulated(law, noise, epsilon, remove, seed) for law in laws]
        found = hs.Plan([hs.Round(run, hs.CyclicPoisson(groups, rate))], adjacency).delta(epsilon)
        assert max(truth - error for truth, error in truths) <= found.upper
        assert found.lower <= max(truth + error for truth, error in truths)
        places = [range(g, n, groups) for g in range(groups)]
        once = [[(1 / len(own), matrix[:, p]) for p in own] for own in places]
        truths = [simulated(law, noise, epsilon, remove, seed) for law in once]
        found = hs.Plan([hs.Round(run, hs.RandomAllocation(n // groups))], adjacency).delta(epsilon)
        assert max(truth - error for truth, error in truths) <= found.upper
        assert found.lower <= max(truth + error for truth, error in truths)


def test_published_figures_of_groups() -> None:
    """Cyclic Poisson sampling as dp_accounting composes it; of random allocation the shortest groups are the worst."""
    coefficients = [0.9**i for i in range(16)]
    run = run_of(2.0, 2000, 16, "columns", coefficients=coefficients)
    found = hs.Plan([hs.Round(run, hs.CyclicPoisson(16, 0.16))]).epsilon(1e-6)
    assert 4.98608 <= found.lower <= found.upper <= 4.98609
    for steps, bands, truth in ((11, 10, 4.8866), (1009, 101, 2.7504)):
        run = run_of(1.0, steps, bands, "columns", coefficients=[1.0, 0.5])
        found = hs.Plan([hs.Round(run, hs.RandomAllocation(steps // bands))]).epsilon(1e-6)
        assert found.upper - found.lower < 2e-5
        assert found.upper == pytest.approx(truth, abs=5e-5)


def test_a_rate_of_one_is_the_run_of_the_group() -> None:
    run = run_of(4.0, 100, 10, "columns", coefficients=[1.0, 0.5])
    for adjacency in ("add", "remove", "replace-one"):
        found = hs.Plan([hs.Round(run, hs.CyclicPoisson(10, 1.0))], adjacency).epsilon(1e-6)
        assert found.upper == pytest.approx(hs.Plan([hs.Round(run)], adjacency).epsilon(1e-6).upper, rel=1e-9)
    assert "the number of groups" in refused(run, hs.CyclicPoisson(5, 1.0))


def test_epochs_within_a_run_are_a_product() -> None:
    run = run_of(2.0, 120, 10, "columns", coefficients=[1.0, 0.7, 0.2])
    found = hs.Plan([hs.Round(run, hs.RandomAllocation(4), count=2)])
    plain = hs.Plan([hs.Round(hs.Gaussian(2.0), hs.RandomAllocation(4), count=6)])
    assert found.epsilon(1e-6).upper == pytest.approx(plain.epsilon(1e-6).upper, rel=1e-9)
    assert found.epsilon(1e-6).lower == pytest.approx(plain.epsilon(1e-6).lower, rel=1e-9)
    assert found.steps == 2


MARKOV = [
    (0.5, 64, 2.0, 1, 0.3, 5.412000e-4),
    (0.9, 64, 4.0, 1, 0.5, 6.1398438e-3),
    (0.9, 256, 4.0, 1, 0.3, 2.104722e-3),
    (0.0, 16, 2.0, 2, 0.5, 7.42156e-4),
    (0.5, 16, 4.0, 3, 0.8, 1.136697e-5),
    (0.9, 32, 10.0, 4, 0.6, 6.6138739e-3),
]
"""lambda, bins, noise, epochs, epsilon, and delta of removing by the transfer operator of a Markov chain."""


@pytest.mark.share(2)
@pytest.mark.parametrize(("lam", "bins", "noise", "epochs", "epsilon", "delta"), MARKOV)
def test_bins_with_markov_noise(lam: float, bins: int, noise: float, epochs: int, epsilon: float, delta: float) -> None:
    run = run_of(noise, bins * epochs, bins, "none", inverse_coefficients=[1.0, -lam])
    sampled = hs.Plan([hs.Round(run, hs.BallsInBins(bins))], "remove")
    found = sampled.delta(epsilon)
    assert found.lower <= delta * (1 + 1e-6)
    assert delta * (1 - 1e-6) <= found.upper
    assert sampled.epsilon(delta).upper <= hs.Plan([hs.Round(run)]).epsilon(delta).upper
    assert sampled.epsilon(delta).lower >= 0.8 * epsilon


@pytest.mark.parametrize(("bins", "epochs"), [(1, 3), (2, 1), (16, 2), (60, 1)])
def test_bins_with_independent_noise_are_random_allocation(bins: int, epochs: int) -> None:
    run = run_of(2.0, bins * epochs, bins, "none", coefficients=[1.0])
    allocation = hs.RandomAllocation(bins, epochs_per_assignment=epochs)
    for adjacency in ("add", "remove", "zero-out"):
        found = hs.Plan([hs.Round(run, hs.BallsInBins(bins))], adjacency).epsilon(1e-6)
        known = hs.Plan([hs.Round(hs.Gaussian(2.0), allocation)], adjacency).epsilon(1e-6)
        assert found.upper == pytest.approx(known.upper, rel=1e-9)
        assert found.lower == pytest.approx(known.lower, rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_bins_lie_between_a_simulation(seed: int) -> None:
    """Ten strategies: Toeplitz, BLT and dense ones, with unit columns or not, and bins of unequal steps."""
    random = np.random.default_rng(100 + seed)
    bins, n = int(random.integers(2, 9)), int(random.integers(9, 25))
    noise, epsilon = float(random.uniform(1.5, 5.0)), float(random.uniform(0.1, 0.6))
    given: dict[str, Any]
    if seed % 3 == 0:
        coefficients = np.append(1.0, np.sort(random.random(n - 1))[::-1])
        given, matrix = {"coefficients": coefficients}, triangular(coefficients, n)
    elif seed % 3 == 1:
        matrix = drawn(random, n, n)
        given = {"matrix": matrix.tolist()}
    else:
        given = {"blt_decay": [0.9, 0.3], "blt_scale": [0.2, 0.4]}
        matrix = triangular([1.0, *(0.2 * 0.9 ** (m - 1) + 0.4 * 0.3 ** (m - 1) for m in range(1, n))], n)
    norm = "columns" if seed % 2 else "none"
    matrix = matrix / np.linalg.norm(matrix, axis=0) if norm == "columns" else matrix
    law = [(1 / bins, matrix[:, i::bins].sum(axis=1)) for i in range(bins)]
    run = hs.Round(run_of(noise, n, bins, norm, **given), hs.BallsInBins(bins))
    for remove in (True, False):
        truth, error = simulated(law, noise, epsilon, remove, seed)
        found = hs.Plan([run], "remove" if remove else "add").delta(epsilon)
        assert found.lower <= truth + error
        assert truth - error <= found.upper


def test_bins_without_a_step() -> None:
    """A record may draw one of them, and is never there."""
    for strategy in ({"coefficients": [1.0, 0.5]}, {"tree_depth": 2}):
        run = run_of(2.0, 2, 5, **strategy)
        found = hs.Plan([hs.Round(run, hs.BallsInBins(5))], "remove").delta(0.1)
        alone = hs.Plan([hs.Round(run)], "remove").delta(0.1)
        assert 0 < found.upper <= alone.upper


def test_negative_coefficients_are_taken_by_their_size() -> None:
    """Gradients x and -x in two steps: their pair is that of |C|, and above that of C itself."""
    run = run_of(1.0, 2, 2, "none", coefficients=[1.0, -0.9])
    for remove, of_itself, attained in ((True, 0.0897, 0.1598), (False, 0.0248, 0.1494)):
        adjacency = "remove" if remove else "add"
        found = hs.Plan([hs.Round(run, hs.BallsInBins(2))], adjacency).delta(1.0)
        matrix = triangular([1.0, -0.9], 2)
        for signs in ((1, 1), (1, -1)):
            law = [(0.5, sign * matrix[:, i]) for i, sign in enumerate(signs)]
            truth, error = simulated(law, 1.0, 1.0, remove, 7)
            assert truth - error <= found.upper
            expected = of_itself if signs == (1, 1) else attained
            assert truth == pytest.approx(expected, abs=error)


def adaptive(choose: Callable[[Array, int], Array], matrix: Array, bins: int, noise: float, epsilon: float) -> float:
    """Lower end of delta of removing, by simulation, of gradients of one number that follow the outputs so far."""
    random, (n, many) = np.random.default_rng(3), (len(matrix), 200_000)
    chosen = random.integers(bins, size=many)
    logs, past, x = np.zeros((many, bins)), np.zeros((many, 0)), np.zeros((many, 0))
    for t in range(n):
        x = np.column_stack([x, choose(past, t)])
        means = np.stack([x[:, i : t + 1 : bins] @ matrix[t, i : t + 1 : bins] for i in range(bins)], axis=1)
        row = means[np.arange(many), chosen] + noise * random.normal(size=many)
        logs += (row[:, None] * means - 0.5 * np.square(means)) / noise**2
        past = np.column_stack([past, row])
    found = np.maximum(1 - math.exp(epsilon) / np.exp(logs).mean(axis=1), 0.0)
    return float(found.mean()) - 6 * float(found.std()) / math.sqrt(many)


def test_adaptive_gradients_stay_below() -> None:
    """Whose signs follow the last output, or the sum of all of them."""
    for coefficients in ([1.0, 0.8, 0.6, 0.4], [1.0, -0.7, 0.5, -0.3]):
        matrix = triangular(coefficients, 6)
        run = run_of(2.0, 6, 3, "none", coefficients=coefficients)
        found = hs.Plan([hs.Round(run, hs.BallsInBins(3))], "remove").delta(0.3)
        for choose in (
            lambda past, t: np.ones(len(past)),
            lambda past, t: np.where(past[:, -1] > 0, 1.0, -1.0) if t else np.ones(len(past)),
            lambda past, t: np.where(past.sum(axis=1) > 0, -1.0, 1.0) if t else np.ones(len(past)),
            lambda past, t: np.full(len(past), (-1.0) ** t),
        ):
            assert adaptive(choose, matrix, 3, 2.0, 0.3) <= found.upper


@pytest.mark.parametrize("seed", range(20))
def test_products_of_bins(seed: int) -> None:
    random = np.random.default_rng(seed)
    bins, n = int(random.integers(1, 6)), int(random.integers(2, 30))
    column = random.normal(size=int(random.integers(1, n + 1)))
    matrix = triangular(column, n)
    for norm in ("none", "columns"):
        given = matrix / np.linalg.norm(matrix, axis=0) if norm == "columns" else matrix
        for strategy, own in (("strategy", given), ("magnitudes", np.abs(given))):
            made = getattr(run_of(1.0, n, bins, norm, coefficients=column), strategy)
            gram, doubt = made.of_bins(bins)
            sums = np.stack([own[:, i::bins].sum(axis=1) for i in range(bins)], axis=1)
            assert np.abs(gram - sums.T @ sums).max() <= 1e-12 * max(gram.max(), 1.0)
            assert 0 < doubt.max() < 1e-11 * max(gram.max(), 1.0)


def test_shifts_below_are_rounded_down() -> None:
    """Each of 500 shifts is at least the one that stands for it, and at most a step above."""
    shifts = np.sort(np.random.default_rng(1).random(500)) + 0.5
    pair = _mixture(shifts, add=False)
    assert isinstance(pair, MixturePair)
    assert len(pair.shifts) <= MOST_SHIFTS + 1
    counts = np.rint(np.array(pair.weights) * 500).astype(int)
    rounded = np.repeat(pair.shifts, counts)
    assert (rounded <= shifts).all()
    assert (shifts - rounded <= 1.01 / MOST_SHIFTS).all()


def refused(run: hs.MatrixGaussian, scheme: Sampling, adjacency: str = "add-or-remove") -> str:
    with pytest.raises(hs.UnsupportedError) as caught:
        hs.Plan([hs.Round(run, scheme)], adjacency).epsilon(1e-6)
    return str(caught.value)


def test_what_has_no_theorem_is_refused() -> None:
    run = run_of(2.0, 100, 10, "none", coefficients=[1.0] * 11)
    few = run_of(2.0, 100, 10, max_participations=3, coefficients=[1.0, 0.5])
    assert "a strategy may have at most 10 bands; received 11" in refused(run, hs.CyclicPoisson(10, 0.5))
    assert "received 11" in refused(run, hs.RandomAllocation(10))
    assert "must be 5, the number of groups" in refused(run, hs.CyclicPoisson(5, 0.5))
    assert "must be 20, the number of bins" in refused(run, hs.BallsInBins(20))
    for scheme in (hs.CyclicPoisson(10, 0.5), hs.RandomAllocation(10), hs.BallsInBins(10)):
        assert "max_participations must be at least 10" in refused(few, scheme)
    two = run_of(2.0, 100, 10, coefficients=[1.0, 0.5])
    for scheme in (hs.RandomAllocation(3), hs.RandomAllocation(10, epochs_per_assignment=2), hs.RandomAllocation(20)):
        assert "random allocation accepts only steps_per_epoch" in refused(two, scheme)
    uneven = run_of(2.0, 11, 5, coefficients=[1.0])
    assert "equal them if groups differ" in refused(uneven, hs.RandomAllocation(1))
    assert "no pair is known for replacing a record" in refused(run, hs.BallsInBins(10), "replace-one")
    assert "several simultaneous releases" in refused(run, hs.Poisson(0.1))
    tree = run_of(2.0, 8, 4, "none", tree_depth=4)
    assert "received 8" in refused(tree, hs.CyclicPoisson(4, 0.5))
    with pytest.raises(hs.UnsupportedError, match="use sampling 'random-allocation'"):
        hs.Plan([hs.Round(hs.Gaussian(2.0), hs.BallsInBins(10))]).epsilon(1e-6)
    with pytest.raises(hs.InvalidInputError, match="give count, the number of runs"):
        hs.Round(run, hs.RandomAllocation(10), epochs=2)


def test_two_sampled_runs_have_an_upper_bound_alone() -> None:
    """No record need be in the worst group of both."""
    first, second = (run_of(noise, 100, 10, "none", coefficients=[1.0, 0.5]) for noise in (2.0, 3.0))
    scheme = hs.CyclicPoisson(10, 0.5)
    both = hs.Plan([hs.Round(first, scheme), hs.Round(second, scheme)]).epsilon(1e-6)
    assert isinstance(both, hs.UpperBound)
    assert both.upper > hs.Plan([hs.Round(first, scheme)]).epsilon(1e-6).upper
    twice = hs.Plan([hs.Round(first, scheme, count=2)]).epsilon(1e-6)
    assert isinstance(twice, hs.Bound)
    assert twice.lower > hs.Plan([hs.Round(first, scheme)]).epsilon(1e-6).upper


def test_noise_is_calibrated() -> None:
    run = run_of(2.0, 20, 20, "none", inverse_coefficients=[1.0, -0.5])
    found = hs.Plan([hs.Round(run, hs.BallsInBins(20))])
    noise = hs.calibrate(found, "noise-multiplier", hs.targets.Epsilon(1.0, 1e-6)).value
    for factor, meets in ((1.0, True), (0.98, False)):
        changed = run_of(noise * factor, 20, 20, "none", inverse_coefficients=[1.0, -0.5])
        assert (hs.Plan([hs.Round(changed, hs.BallsInBins(20))]).epsilon(1e-6).upper <= 1.0) is meets


def test_products_of_bins_at_any_distance_count() -> None:
    """Bins that are two apart share more than neighbours do."""
    matrix = triangular([1.0, 0.0, 1.0], 6)
    run = run_of(2.0, 6, 6, coefficients=[1.0, 0.0, 1.0])
    found = hs.Plan([hs.Round(run, hs.BallsInBins(6))], "remove").delta(0.6)
    truth, error = simulated([(1 / 6, matrix[:, i]) for i in range(6)], 2.0, 0.6, True, 3)
    assert truth - error <= found.upper
    alone = hs.Plan([hs.Round(hs.Gaussian(2 / math.sqrt(2)), hs.RandomAllocation(6))], "remove").delta(0.6)
    assert alone.upper < truth - error
