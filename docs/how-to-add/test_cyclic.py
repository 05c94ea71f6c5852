"""Cyclic participation compared with its definition: which steps see a record, and their joint privacy loss."""

from __future__ import annotations

from itertools import product

import pytest

import hockeystick as hs
from hockeystick.plan.mechanisms import Status
from hockeystick.plan.sampling.cyclic import Cyclic


def seen(parts: int, steps: int, start: int, part: int) -> int:
    """Count the steps that see a record of that part."""
    return sum((step + start) % parts == part for step in range(steps))


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("steps", range(16))
def test_no_record_is_in_more_steps_than_is_said_and_some_record_is_in_as_many(parts: int, steps: int) -> None:
    counts = [seen(parts, steps, start, part) for start, part in product(range(parts), repeat=2)]
    assert max(counts) == Cyclic(parts).participations(steps)


def plan(parts: int, *counts: tuple[float, int], adjacency: str = "add-or-remove") -> hs.Plan:
    """Return a plan of Gaussian steps with these noise multipliers and counts."""
    return hs.Plan([hs.Round(hs.Gaussian(noise), Cyclic(parts), count) for noise, count in counts], adjacency)


@pytest.mark.parametrize("adjacency", ["add-or-remove", "add", "remove", "replace-one"])
@pytest.mark.parametrize(("steps", "rounds"), [(1, 1), (4, 1), (5, 2), (100, 25), (101, 26)])
def test_it_costs_what_the_steps_cost_that_a_record_is_in(adjacency: str, steps: int, rounds: int) -> None:
    alone = hs.Plan([hs.Round(hs.Gaussian(3.0), count=rounds)], adjacency).epsilon(1e-6)
    found = plan(4, (3.0, steps), adjacency=adjacency).epsilon(1e-6)
    assert isinstance(found, hs.UpperBound)  # with several kinds of rounds it may not be tight
    assert found.upper == alone.upper
    assert plan(4, (3.0, steps), adjacency=adjacency).steps == steps


def test_what_is_said_in_pieces_costs_as_much_as_in_one() -> None:
    """Equal rounds are one kind with one count: five and three steps are eight, two for each part."""
    assert plan(4, (3.0, 5), (3.0, 3)) == plan(4, (3.0, 8))
    assert plan(4, (3.0, 5), (3.0, 3)).epsilon(1e-6) == plan(4, (3.0, 8)).epsilon(1e-6)


@pytest.mark.parametrize("starts", [*product(range(3), repeat=2)])
@pytest.mark.parametrize("counts", [(1, 1), (4, 2), (5, 7)])
def test_wherever_two_kinds_begin_the_bound_holds(starts: tuple[int, int], counts: tuple[int, int]) -> None:
    """The true epsilon belongs to the worst part; its rounds are unsampled Gaussians, whose mu^2 add up."""
    noises = (2.0, 5.0)
    bound = plan(3, *zip(noises, counts, strict=True)).epsilon(1e-6)
    for part in range(3):
        rounds = [
            hs.Round(hs.Gaussian(noise), count=seen(3, count, start, part))
            for noise, count, start in zip(noises, counts, starts, strict=True)
        ]
        assert hs.Plan(rounds).epsilon(1e-6).lower <= bound.quoted


def test_with_one_part_it_is_no_sampling_at_all() -> None:
    found = plan(1, (3.0, 10)).epsilon(1e-6)
    assert found == hs.Plan([hs.Round(hs.Gaussian(3.0), count=10)]).epsilon(1e-6)
    assert isinstance(found, hs.Bound)


def test_a_claim_is_no_stronger_than_the_mechanism_s_own() -> None:
    assert Cyclic.claim(hs.Gaussian, hs.Direction.ADD).status is Status.UPPER
    assert Cyclic(1).claim_of(hs.Gaussian(1.0), hs.Direction.ADD).status is Status.TIGHT


def test_a_step_is_worth_a_part_of_a_step() -> None:
    """Calibration allows four times the steps for the same epsilon."""
    target = hs.targets.Epsilon(1.0, 1e-6)
    alone = hs.calibrate(hs.Plan([hs.Round(hs.Gaussian(20.0))]), "steps", target).value
    assert hs.calibrate(plan(4, (20.0, 1)), "steps", target).value == 4 * alone


def test_a_filter_counts_every_step() -> None:
    """Rounds chosen adaptively have no reliable order, so each is charged as if it saw the record."""
    budget = hs.filters.PureDpFilter(1.0)
    budget.spend(hs.Round(hs.Laplace(10.0), Cyclic(5), 10))
    assert not budget.allows(hs.Round(hs.Laplace(10.0), Cyclic(5)))


def test_plan_files_know_it() -> None:
    found = plan(4, (3.0, 100))
    assert found.to_dict()["round"] == [
        {"mechanism": "gaussian", "noise_multiplier": 3.0, "sampling": "cyclic", "parts": 4, "count": 100}
    ]
    assert hs.Plan.from_dict(found.to_dict()) == found
