"""Cyclic Poisson sampling: what Poisson rounds of the record's own group cost, and when that is known to be tight."""

from __future__ import annotations

from itertools import product

import pytest

import hockeystick as hs


def plan(*rounds: tuple[float, int], groups: int = 3, rate: float = 0.1, adjacency: str = "add-or-remove") -> hs.Plan:
    scheme = hs.CyclicPoisson(groups, rate)
    return hs.Plan([hs.Round(hs.Gaussian(noise), scheme, count) for noise, count in rounds], adjacency)


@pytest.mark.parametrize("groups", [1, 2, 5])
@pytest.mark.parametrize("steps", range(12))
def test_no_record_is_in_more_steps_than_is_said_and_some_record_is_in_as_many(groups: int, steps: int) -> None:
    scheme = hs.CyclicPoisson(groups, 0.5)
    starts = [
        [sum((step + start) % groups == group for step in range(steps)) for group in range(groups)]
        for start in range(groups)
    ]
    assert all(max(counts) == scheme.participations(steps) for counts in starts)
    assert all((min(counts) == max(counts)) == scheme.same_for_all(steps) for counts in starts)


def test_a_plan_of_two_thousand_steps() -> None:
    """dp_accounting's event of the same 125 rounds."""
    found = hs.Plan([hs.Round(hs.Gaussian(2.0), hs.CyclicPoisson(16, 0.16), 2000)]).epsilon(1e-6)
    assert found.lower <= 4.98608684 <= found.upper + 5e-9
    assert isinstance(found, hs.Bound)


@pytest.mark.parametrize("adjacency", ["add-or-remove", "remove", "replace-one"])
@pytest.mark.parametrize(("steps", "rounds"), [(1, 1), (3, 1), (4, 2), (300, 100)])
def test_it_costs_what_the_rounds_of_one_group_cost(adjacency: str, steps: int, rounds: int) -> None:
    alone = hs.Plan([hs.Round(hs.Gaussian(2.0), hs.Poisson(0.1), rounds)], adjacency)
    found = plan((2.0, steps), adjacency=adjacency)
    assert found.epsilon(1e-6) == alone.epsilon(1e-6)
    assert found.steps == steps


@pytest.mark.parametrize(("counts", "tight"), [((3, 6), True), ((3, 7), True), ((4, 7), False), ((1, 1), False)])
def test_of_several_kinds_one_may_stop_in_the_middle(counts: tuple[int, int], tight: bool) -> None:
    """Where two do no record need be in the last step of both; wherever each begins the bound holds."""
    found = plan((2.0, counts[0]), (3.0, counts[1])).epsilon(1e-6)
    assert isinstance(found, hs.Bound if tight else hs.UpperBound)
    truths = []
    for starts in product(range(3), repeat=2):
        for group in range(3):
            seen = [sum((i + at) % 3 == group for i in range(n)) for n, at in zip(counts, starts, strict=True)]
            own = [hs.Round(hs.Gaussian(noise), hs.Poisson(0.1), n) for noise, n in zip((2.0, 3.0), seen, strict=True)]
            truths.append(hs.Plan(own).epsilon(1e-6))
    assert max(truth.lower for truth in truths) <= found.upper
    if tight:
        assert max(truth.upper for truth in truths) >= found.lower


def test_epochs_and_refusals() -> None:
    assert hs.CyclicPoisson(4, 0.25).steps_per_epoch == 16
    assert hs.Round(hs.Gaussian(1.0), hs.CyclicPoisson(4, 0.25), epochs=2).count == 32
    with pytest.raises(hs.InvalidInputError, match="groups must be"):
        hs.CyclicPoisson(0, 0.25)
    with pytest.raises(hs.UnsupportedError):
        hs.Plan([hs.Round(hs.Laplace(1.0), hs.CyclicPoisson(4, 0.25))], "replace-one").epsilon(1e-6)
    assert plan((2.0, 300)).epsilon(1e-6, proof=True).lower > 0
