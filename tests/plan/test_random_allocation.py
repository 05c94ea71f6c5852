"""Random allocation as a sampling scheme: keys, claims, limits, refusals, brackets and kept assignments."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.pairs.sides import Between, Tight
from hockeystick.plan.mechanisms.base import Status
from oracle.allocation import delta_of, sampled

REMOVE, ADD = hs.Direction.REMOVE, hs.Direction.ADD


def plan(noise: float, *scheme: Any, count: int = 1, adjacency: str = "add-or-remove") -> hs.Plan:
    return hs.Plan([hs.Round(hs.Gaussian(noise), hs.RandomAllocation(*scheme), count=count)], adjacency=adjacency)


def test_an_answer_is_certified_and_narrow() -> None:
    found = plan(1.0, 1000, count=10).epsilon(1e-6)
    assert (found.guarantee, found.accountant, found.direction) == ("certified", "contour", "remove")
    assert found.lower <= 0.540050511 + 1e-8
    assert found.upper >= 0.540050511 - 1e-8
    assert found.upper - found.lower < 1e-7
    assert plan(1.0, 1000, count=10).steps == 10_000


def test_one_step_an_epoch_is_no_sampling() -> None:
    assert plan(1.3, 1, count=4).epsilon(1e-6) == hs.Plan([4 * hs.Round(hs.Gaussian(1.3))]).epsilon(1e-6)
    one_step = hs.Round(hs.Gaussian(1.0), hs.RandomAllocation(1))
    assert one_step.claim(hs.Direction.REPLACE_ONE).status is Status.TIGHT
    every = plan(2.0, 4, 4, count=3).epsilon(1e-6)
    unsampled = hs.Plan([12 * hs.Round(hs.Gaussian(2.0))]).epsilon(1e-6)
    assert every.upper == pytest.approx(unsampled.upper, rel=1e-12)


def test_a_kept_assignment_costs_more_and_is_an_epoch_at_less_noise() -> None:
    fresh, kept = plan(2.0, 50, count=4).epsilon(1e-6), plan(2.0, 50, 1, 4).epsilon(1e-6)
    same = plan(1.0, 50).epsilon(1e-6)
    assert fresh.upper < kept.lower
    assert kept.upper == pytest.approx(same.upper, rel=1e-9)
    assert plan(2.0, 50, 1, 4).steps == 200
    assert plan(2.0, 1, 1, 4).epsilon(1e-6).upper == pytest.approx(plan(1.0, 1).epsilon(1e-6).upper, rel=1e-9)


def test_several_participations_are_between_two_pairs() -> None:
    scheme, noise = hs.RandomAllocation(7, 3), hs.Gaussian(2.0)
    known = scheme.known(noise, REMOVE)
    assert isinstance(known, Between)
    assert isinstance(hs.RandomAllocation(7).known(noise, ADD), Tight)
    found = plan(2.0, 7, 3, count=2).epsilon(1e-6)
    assert found.reason is not None
    assert "the interval is as narrow as current theory allows" in found.reason
    blocks = hs.Plan([plan(2.0, 2, count=4).rounds[0], plan(2.0, 3, count=2).rounds[0]]).epsilon(1e-6)
    assert found.upper == pytest.approx(blocks.upper, rel=1e-6)
    summed = hs.Plan([hs.Round(hs.Gaussian(2.0 * math.sqrt(7) / 3), count=2)]).epsilon(1e-6)
    assert found.lower == pytest.approx(summed.lower, rel=1e-6)


def test_blocks_dominate_two_of_three_steps() -> None:
    """By nested sums: E (Lambda - a)_+ of 2 of 3 steps is below that of a block of 1 and one of 2, above the sum's."""
    mu, x = 0.8, np.linspace(-8.0, 10.0, 91)
    weight = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    y = np.exp(mu * x - 0.5 * mu * mu)
    a, b, c = y[:, None, None], y[None, :, None], y[None, None, :]
    mass = weight[:, None, None] * weight[None, :, None] * weight[None, None, :]
    two = (a * b + b * c + a * c) / 3
    blocks = a * (b + c) / 2
    steps = hs.Round(hs.Gaussian(1 / mu), hs.RandomAllocation(3, 2))
    for epsilon in (0.3, 1.5):
        alpha = math.exp(epsilon)
        truth = float((mass * np.maximum(two - alpha, 0.0)).sum())
        above = float((mass * np.maximum(blocks - alpha, 0.0)).sum())
        found = hs.Plan([steps], adjacency="remove").delta(epsilon)
        assert found.lower < truth < found.upper
        assert found.upper == pytest.approx(above, rel=2e-3)  # the sum has kinks


def test_the_gaussian_limit() -> None:
    """Steps that grow with the epochs: mu^2 = epochs (e^(1/s^2) - 1) / steps."""
    epochs, steps, noise = 400, 40_000, 1.5
    mu = math.sqrt(epochs * math.expm1(1 / noise**2) / steps)
    found = plan(noise, steps, count=epochs).epsilon(1e-5)
    limit = hs.Plan([hs.Round(hs.Gaussian(1 / mu))]).epsilon(1e-5)
    assert found.upper == pytest.approx(limit.upper, rel=0.03)


def test_it_stays_below_no_amplification_and_falls_with_steps() -> None:
    unsampled = hs.Plan([hs.Round(hs.Gaussian(0.9))]).epsilon(1e-5).lower
    values = [plan(0.9, steps).epsilon(1e-5).upper for steps in (2, 3, 10, 100)]
    assert unsampled > values[0]
    assert values == sorted(values, reverse=True)


def test_what_is_refused_says_what_to_do() -> None:
    with pytest.raises(hs.UnsupportedError, match="use adjacency 'add-or-remove'"):
        plan(1.0, 10, adjacency="replace-one").epsilon(1e-6)
    with pytest.raises(hs.UnsupportedError, match="with Gaussian noise only; use sampling 'poisson' or 'none'"):
        hs.Plan([hs.Round(hs.Laplace(1.0), hs.RandomAllocation(10))]).epsilon(1e-6)
    with pytest.raises(hs.UnsupportedError, match="mechanism 'gaussian' with its noise_multiplier"):
        hs.Plan([hs.Round(hs.GDP(1.0), hs.RandomAllocation(10))]).epsilon(1e-6)
    with pytest.raises(hs.InvalidInputError, match="needs steps_per_epoch, or batch_size and dataset_size"):
        hs.RandomAllocation()
    with pytest.raises(hs.InvalidInputError, match="at most steps_per_epoch; received 9 and 8"):
        hs.RandomAllocation(8, 9)
    for accountant in ("grid", "prv"):
        with pytest.raises(hs.NotApplicableError, match="only the moments of an epoch"):
            plan(1.0, 10).epsilon(1e-6, accountant=accountant)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "steps", "count"), [(0.2, 10**10, 1), (0.3, 10**9, 10)])
def test_no_default_answer_is_looser_than_one_with_a_wider_gap(noise: float, steps: int, count: int) -> None:
    """Where no fine contour is within reach the coarse one answers, and says why it is no finer."""
    plans = plan(noise, steps, count=count, adjacency="remove")
    coarse, default = plans.epsilon(1e-6, gap=0.01), plans.epsilon(1e-6)
    assert 0 < coarse.lower <= default.upper <= coarse.upper * (1 + 1e-3)
    assert default.upper - default.lower <= 1.001 * (coarse.upper - coarse.lower)
    assert default.reason is not None


def test_plan_files_and_epochs() -> None:
    for made in (plan(1.0, 1000, count=10), plan(1.0, 10, 2, 3, count=2)):
        assert hs.Plan.from_dict(made.to_dict()) == made
    row = {"mechanism": "gaussian", "noise_multiplier": 1.0, "sampling": "random-allocation", "steps_per_epoch": 1000}
    assert hs.Plan.from_dict({"round": [{**row, "epochs": 10}]}).epsilon(1e-6) == plan(1.0, 1000, count=10).epsilon(
        1e-6
    )
    with pytest.raises(hs.InvalidInputError, match="steps_per_epoch"):
        hs.Plan.from_dict({"round": [{key: value for key, value in row.items() if key != "steps_per_epoch"}]})


def allocated(noise: float, count: int = 1, adjacency: str = "add-or-remove", **keys: Any) -> hs.Plan:
    return hs.Plan([hs.Round(hs.Gaussian(noise), hs.RandomAllocation(**keys), count)], adjacency)


def ends(made: hs.Plan, delta: float = 1e-6) -> tuple[float, float]:
    """Of epsilon, which is certified to 1e-6."""
    found = made.epsilon(delta)
    assert (found.guarantee, found.reason) == ("certified", None)
    assert found.upper - found.lower <= max(1e-6 * found.upper, 1e-7)
    return found.lower, found.upper


@pytest.mark.parametrize("adjacency", ["remove", "add"])
@pytest.mark.parametrize(("noise", "steps", "epochs"), [(1.0, 1000, 10), (0.6, 50, 3), (2.0, 8, 20)])
def test_what_changes_nothing_changes_nothing(noise: float, steps: int, epochs: int, adjacency: str) -> None:
    """All steps taken, a check-in that is sure and a last batch like the others are the plain case, to the last bit."""
    plain = allocated(noise, epochs, adjacency, steps_per_epoch=steps).epsilon(1e-6)
    for keys in (
        {"steps_per_epoch": steps, "steps_taken": steps},
        {"steps_per_epoch": steps, "check_in": 1},
        {"steps_per_epoch": steps, "batch_size": 7, "last_batch_size": 7},
        {"batch_size": 7, "dataset_size": 7 * steps},
    ):
        found = allocated(noise, epochs, adjacency, **keys).epsilon(1e-6)
        assert (found.lower, found.upper) == (plain.lower, plain.upper), keys


@pytest.mark.parametrize("adjacency", ["remove", "add"])
def test_more_of_each_costs_more(adjacency: str) -> None:
    plain: dict[str, Any] = {"steps_per_epoch": 40}
    whole, one_more = (ends(allocated(1.0, count, adjacency, **plain)) for count in (2, 3))
    found = [whole]
    for taken in (1, 10, 39):
        found.append(
            ends(hs.dp_sgd(1.0, steps=80 + taken, sampling="random-allocation", adjacency=adjacency, **plain), 1e-6)
        )
    found.append(one_more)
    found += [ends(allocated(1.0, 3, adjacency, batch_size=20, last_batch_size=last, **plain)) for last in (19, 10, 1)]
    assert all(low[1] < high[0] for low, high in itertools.pairwise(found))
    present = [ends(allocated(1.0, 3, adjacency, check_in=p, **plain)) for p in ("1/10", 0.3, 0.9, 0.999)]
    assert all(low[1] < high[0] for low, high in itertools.pairwise([*present, one_more]))
    batches = [ends(allocated(1.0, 3, adjacency, batch_size=b, dataset_size=1000)) for b in (25, 26, 30, 33, 100)]
    assert all(low[1] < high[0] for low, high in itertools.pairwise(batches))


def test_nothing_is_next_to_no_cost_and_next_to_all_is_all() -> None:
    little = allocated(1.0, 500, steps_per_epoch=40, check_in=1e-3).epsilon(1e-6)
    assert little.upper < 0.0151
    plain = ends(allocated(1.0, 3, steps_per_epoch=40))
    near = ends(allocated(1.0, 3, steps_per_epoch=40, check_in=1 - 1e-9))
    assert near == pytest.approx(plain, rel=1e-6)
    thin = ends(allocated(1.0, 3, steps_per_epoch=41, batch_size=10**9, last_batch_size=1))
    assert thin == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("adjacency", ["remove", "add"])
@pytest.mark.parametrize(
    ("keys", "shares"),
    [
        ({"steps_per_epoch": 8, "steps_taken": 3}, [1 / 8] * 3),
        ({"steps_per_epoch": 5, "check_in": 0.3}, [0.06] * 5),
        ({"batch_size": 4, "dataset_size": 15}, [4 / 15] * 3 + [3 / 15]),
        ({"batch_size": 4, "dataset_size": 15, "check_in": "1/2"}, [2 / 15] * 3 + [1.5 / 15]),
        ({"batch_size": 4, "dataset_size": 15, "steps_taken": 2, "check_in": "1/2"}, [2 / 15] * 2),
    ],
)
def test_outcomes_that_are_drawn_agree(keys: dict[str, Any], shares: list[float], adjacency: str) -> None:
    noise, epochs = 0.9, 2
    losses = sampled(1 / noise, shares, epochs, 200_000, 3)[adjacency == "add"]
    made = allocated(noise, epochs, adjacency, **keys)
    for epsilon in (0.0, 0.4, 1.2):
        low, high = delta_of(losses, epsilon, 1e-9)
        found = made.delta(epsilon)
        assert low <= found.upper
        assert found.lower <= high


def test_an_epoch_that_is_broken_off_is_a_round_of_its_own() -> None:
    made = hs.dp_sgd(1.0, steps=2300, steps_per_epoch=1000, sampling="random-allocation")
    gaussian = hs.Gaussian(1.0)
    whole, last = hs.RandomAllocation(1000), hs.RandomAllocation(1000, steps_taken=300)
    assert made == hs.Plan([hs.Round(gaussian, whole, 2), hs.Round(gaussian, last, 1)])
    assert made.steps == 2300
    assert hs.dp_sgd(1.0, steps=300, steps_per_epoch=1000, sampling="random-allocation").steps == 300
    assert hs.dp_sgd(1.0, steps=2000, steps_per_epoch=1000, sampling="random-allocation").rounds == (
        hs.Round(gaussian, whole, 2),
    )
    assert hs.Round(gaussian, last, epochs=4).steps == 1200
    losses = sampled(1.0, [1 / 8] * 8, 2, 200_000, 5)[0] + sampled(1.0, [1 / 8] * 3, 1, 200_000, 6)[0]
    small = hs.dp_sgd(1.0, steps=19, steps_per_epoch=8, sampling="random-allocation", adjacency="remove")
    for epsilon in (0.3, 1.5):
        low, high = delta_of(losses, epsilon, 1e-9)
        found = small.delta(epsilon)
        assert low <= found.upper
        assert found.lower <= high
    with pytest.raises(
        hs.InvalidInputError, match="steps must make up whole epochs of 10 steps with sampling 'shuffled'"
    ):
        hs.dp_sgd(1.0, steps=11, steps_per_epoch=10, sampling="shuffled")


def test_one_step_with_a_check_in_is_poisson_sampling() -> None:
    found = allocated(1.0, 100, steps_per_epoch=1, check_in=0.01).epsilon(1e-6)
    assert found == hs.dp_sgd(1.0, 0.01, 100).epsilon(1e-6) or (
        found.upper == hs.dp_sgd(1.0, 0.01, 100).epsilon(1e-6).upper
    )
    with pytest.raises(hs.UnsupportedError, match="use adjacency 'add-or-remove'"):
        allocated(1.0, 1, "replace-one", steps_per_epoch=1, check_in=0.5).epsilon(1e-6)


def test_sizes_say_steps_and_a_last_batch() -> None:
    scheme = hs.RandomAllocation(batch_size=256, dataset_size=60_000)
    assert (scheme.steps, scheme.last_batch_size, scheme.steps_per_round) == (235, 96, 235)
    other = hs.RandomAllocation(235, batch_size=256, last_batch_size=96)
    assert other == scheme
    assert scheme.keys() == {
        "participations_per_epoch": 1, "epochs_per_assignment": 1, "dataset_size": 60_000, "batch_size": 256,
    }  # fmt: skip
    kept = allocated(2.0, 1, batch_size=10, dataset_size=95, epochs_per_assignment=4)
    assert ends(kept) == pytest.approx(ends(allocated(1.0, 1, batch_size=10, dataset_size=95)), rel=1e-9)
    for made in (
        allocated(1.0, 3, batch_size=256, dataset_size=60_000), allocated(1.0, 3, steps_per_epoch=9, check_in="1/3"),
        allocated(1.0, 3, steps_per_epoch=9, steps_taken=4, check_in=0.25), kept,
    ):  # fmt: skip
        assert hs.Plan.from_dict(made.to_dict()) == made
        assert eval(repr(made.rounds[0].sampling), {"RandomAllocation": hs.RandomAllocation, "Fraction": Fraction}) == (
            made.rounds[0].sampling
        )


def test_check_in_and_batch_sizes_are_calibrated() -> None:
    start = allocated(1.0, 10, steps_per_epoch=100, check_in=0.5)
    target = hs.targets.Epsilon(0.8, 1e-6)
    found = hs.calibrate(start, "check-in", target)
    assert ends(allocated(1.0, 10, steps_per_epoch=100, check_in=found.value))[1] <= 0.8
    assert ends(allocated(1.0, 10, steps_per_epoch=100, check_in=found.value * (1 + 3e-6)))[0] > 0.8
    sized = hs.dp_sgd(1.0, batch_size=10, dataset_size=1000, epochs=5, sampling="random-allocation")
    batch = hs.calibrate(sized, "batch-size", target).value
    below, above = (
        ends(hs.dp_sgd(1.0, batch_size=size, dataset_size=1000, epochs=5, sampling="random-allocation"), 1e-6)
        for size in (int(batch), int(batch) + 1)
    )
    assert below[1] <= 0.8 < above[0]
    with pytest.raises(hs.InvalidInputError, match="no round of the plan has the key 'batch_size'"):
        hs.calibrate(allocated(1.0, 3, steps_per_epoch=10, dataset_size=100), "batch-size", target)
    noise = hs.calibrate(
        hs.dp_sgd(1.0, steps=130, steps_per_epoch=50, sampling="random-allocation"), "noise-multiplier", target
    )
    assert noise.achieved.upper <= 0.8


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"last_batch_size": 3}, "last_batch_size requires batch_size, which is missing"),
        ({"batch_size": 3}, "batch_size requires dataset_size, or steps_per_epoch and last_batch_size"),
        ({"batch_size": 3, "steps_per_epoch": 3}, "batch_size requires dataset_size, or steps_per_epoch"),
        ({"batch_size": 3, "dataset_size": 2}, "batch_size must be at most dataset_size; received 3 and 2"),
        ({"batch_size": 3, "last_batch_size": 4, "steps_per_epoch": 2}, "last_batch_size must be at most batch_size"),
        ({"batch_size": 3, "dataset_size": 9, "steps_per_epoch": 4}, "steps_per_epoch 4 contradicts batch_size 3 and"),
        ({"batch_size": 3, "dataset_size": 8, "last_batch_size": 1}, "last_batch_size 1 contradicts .* imply 2"),
        ({"batch_size": 10**9, "last_batch_size": 1, "steps_per_epoch": 10**9}, "dataset_size must be a whole number"),
        ({"steps_per_epoch": 3, "steps_taken": 4}, "steps_taken must be at most steps_per_epoch; received 4 and 3"),
        ({"steps_per_epoch": 3, "steps_taken": 0}, "steps_taken must be a whole number from 1"),
        ({"steps_per_epoch": 3, "check_in": 0}, "check_in must be greater than 0"),
        ({"steps_per_epoch": 3, "check_in": 1.5}, "check_in must be a number from 0 to 1"),
        ({"steps_per_epoch": 3, "check_in": 0.5, "participations_per_epoch": 2}, "check_in requires one"),
        ({"steps_per_epoch": 3, "steps_taken": 2, "participations_per_epoch": 2}, "steps_taken requires one"),
        ({"batch_size": 2, "dataset_size": 5, "participations_per_epoch": 2}, "last_batch_size requires one"),
        ({"steps_per_epoch": 3, "steps_taken": 2, "epochs_per_assignment": 2}, "a new assignment in every epoch"),
    ],
)
def test_keys_are_checked(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=message):
        hs.RandomAllocation(**keys)


@pytest.mark.parametrize("keys", [{"participations_per_epoch": 2}, {"epochs_per_assignment": 2}])
def test_other_epochs_are_not_broken_off(keys: dict[str, Any]) -> None:
    assert hs.RandomAllocation(6, **keys).broken_off(2) is None


@pytest.mark.share(4)
@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2, 30.0, 1e6])
@pytest.mark.parametrize("steps", [2, 10**6, 10**10])
def test_extremes_end_with_a_bound_that_holds(noise: float, steps: int) -> None:
    found = plan(noise, steps).epsilon(1e-6)
    assert 0 <= found.lower <= found.upper
    unsampled = hs.Plan([hs.Round(hs.Gaussian(noise))]).epsilon(1e-6, accountant="rdp")
    assert isinstance(unsampled, hs.UpperBound)
    assert found.upper <= unsampled.upper * (1 + 1e-9)


@pytest.mark.slow
def test_where_a_fine_line_is_too_dear_a_coarse_one_answers() -> None:
    """1e8 steps at noise 0.25: the line for 1e-6 takes longer than a question may; a coarse one came first."""
    found = plan(0.25, 10**8, count=3).epsilon(1e-6)
    assert isinstance(found, hs.Bound)
    assert found.reason is not None
    assert 0 < found.upper - found.lower < 1e-3 * found.upper
