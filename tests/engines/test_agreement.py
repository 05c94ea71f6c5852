"""Where several engines answer, their intervals overlap: two routes to one number that share no step."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

import hockeystick as hs
from hockeystick.plan.plan import Certified
from hockeystick.values.errors import NotApplicableError

ENGINES: tuple[Certified, ...] = ("contour", "grid", "auto")


def drawn(index: int) -> tuple[hs.Plan, float]:
    """A plan in the middle of the domain, where both engines should answer, and a log-uniform target delta."""
    draw = random.Random(f"agreement {index}")

    def spread(low: float, high: float) -> float:
        return float(f"{low * (high / low) ** draw.random():.3g}")

    def sampled() -> hs.Round:
        return hs.Round(hs.Gaussian(spread(0.4, 8)), hs.Poisson(spread(1e-4, 0.6)), int(spread(3, 1e6)))

    others = [
        hs.Round(hs.Gaussian(spread(2, 30)), count=draw.randint(1, 20)),
        hs.Round(hs.RandomizedResponse(spread(0.01, 1)), count=draw.randint(1, 20)),
        hs.Round(hs.Laplace(spread(2, 50)), count=draw.randint(1, 40)),
        hs.Round(hs.ApproximateDP(spread(0.01, 1), 1e-12), count=draw.randint(1, 5)),
    ]
    rounds = [sampled() for _ in range(draw.choice([1, 1, 2]))] + draw.sample(others, draw.choice([0, 0, 1, 2]))
    adjacency = draw.choice(["add-or-remove", "add", "remove"])
    if draw.random() < 0.2:
        rounds, adjacency = [sampled()], "replace-one"
    return hs.Plan(rounds, adjacency), spread(1e-11, 0.1)


@pytest.mark.parametrize("index", range(60))
@pytest.mark.share(3)
def test_engines_agree(index: int) -> None:
    """epsilon at a delta, then delta near that epsilon."""
    plan, delta = drawn(index)
    found: dict[str, tuple[hs.Bound, hs.Bound]] = {}
    epsilon = float(f"{plan.epsilon(delta).estimate:.4g}")
    for name in ENGINES:
        try:
            found[name] = plan.epsilon(delta, accountant=name), plan.log_delta(epsilon, accountant=name)
        except NotApplicableError:
            continue
    assert "auto" in found
    for a, b in combinations(found, 2):
        for ours, theirs in zip(found[a], found[b], strict=True):
            assert ours.lower <= theirs.upper, (a, b, ours, theirs)
            assert theirs.lower <= ours.upper, (a, b, ours, theirs)


def test_the_sweep_has_both_engines_often() -> None:
    """Else it would show nothing."""
    both = 0
    for index in range(0, 60, 6):
        plan, delta = drawn(index)
        try:
            plan.epsilon(delta, accountant="contour")
            plan.epsilon(delta, accountant="grid")
            both += 1
        except NotApplicableError:
            pass
    assert both >= 8


@pytest.mark.parametrize("gap", [0.2, 0.3, 0.569, 0.9])
@pytest.mark.parametrize("epsilon", [0.0441, 3.0])
def test_an_answer_with_a_wide_gap_is_not_above_the_renyi_bound(gap: float, epsilon: float) -> None:
    """A contour that may be half of its upper end wide had delta up to 1, where the moments say 0.99995."""
    plan = hs.Plan([hs.Round(hs.RandomizedResponse(1.4167e-4), count=10**9)])
    found = plan.delta(epsilon, gap=gap)
    assert found.upper <= plan.delta(epsilon, accountant="rdp").ends["upper"] * (1 + 1e-9)
    assert found.lower >= (1 - gap) * found.upper
    asked = plan.epsilon(1e-5, gap=gap)
    assert asked.upper <= plan.epsilon(1e-5, accountant="rdp").ends["upper"] * (1 + 1e-9)
