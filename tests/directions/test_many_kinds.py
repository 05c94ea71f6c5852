"""Many kinds of rounds: one sum for all of them, and what is gathered where there is none."""

from __future__ import annotations

import random

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.directions.curve import DirectionCurve
from hockeystick.engines.curve import Curve
from hockeystick.pairs import Composition, gathered
from hockeystick.values.errors import NotApplicableError

NOISE = np.linspace(0.9, 2.1, 220).tolist()
EPSILONS = [0.3, 0.8, 1.4]


@pytest.fixture(scope="module")
def plan() -> hs.Plan:
    """More kinds than are composed one by one."""
    return hs.Plan([hs.Round(hs.Gaussian(noise), hs.Poisson(0.01)) for noise in NOISE])


@pytest.mark.parametrize("kinds", [231, 3000])
def test_a_schedule_is_composed_exactly(kinds: int) -> None:
    """Thousands of kinds, in both directions, without gathering any."""
    noise = np.linspace(0.9, 2.1, kinds).tolist()
    plan = hs.Plan([hs.Round(hs.Gaussian(each), hs.Poisson(0.01)) for each in noise])
    found, delta = plan.epsilon(1e-6), plan.delta(2.0)
    assert found.reason is None
    assert delta.reason is None
    assert found.relative_gap < 1e-6
    few = hs.Plan([hs.Round(hs.Gaussian(each), hs.Poisson(0.01), 3) for each in noise[1::3]])
    assert few.epsilon(1e-6).estimate == pytest.approx(found.estimate, rel=1e-3)
    for direction in ("remove", "add"):
        side = hs.Plan(plan.rounds, direction).epsilon(1e-6)
        assert side.lower <= found.upper
        assert side.reason is None


def test_a_schedule_beside_other_noise_is_composed_exactly() -> None:
    """The contour takes its kinds one by one, and gives what the core gives for so little other noise."""
    rounds = [hs.Round(hs.Gaussian(noise), hs.Poisson(0.01)) for noise in NOISE]
    found, alone = hs.Plan([*rounds, hs.Round(hs.Laplace(1e4))]).epsilon(1e-6), hs.Plan(rounds).epsilon(1e-6)
    assert found.reason is None
    assert found.relative_gap < 1e-6
    assert alone.lower <= found.upper <= alone.upper + 1e-4


def test_profiles_of_many_kinds_are_as_narrow_as_single_answers(plan: hs.Plan) -> None:
    """In both directions; 0.7 % wide while the kinds were gathered."""
    found = plan.profile().delta(EPSILONS)
    assert (found.upper - found.lower <= 1e-6 * found.upper).all()
    for epsilon, lower, upper in zip(EPSILONS, found.lower, found.upper, strict=True):
        one = plan.delta(epsilon)
        assert one.lower <= upper
        assert lower <= one.upper


def test_where_no_contour_is_narrow_both_sides_of_what_is_gathered_answer(
    plan: hs.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They enclose the narrow ends."""
    removed = hs.Plan(plan.rounds, "remove")
    narrow = removed.delta(EPSILONS[1])

    def none(self: Curve, epsilon: float) -> None:
        raise NotApplicableError("there is no contour")

    monkeypatch.setattr(Curve, "_contour", none)
    wide = removed.profile().delta(EPSILONS[1:2])
    assert wide.lower[0] <= narrow.lower
    assert narrow.upper <= wide.upper[0]
    assert 1e-5 <= 1 - wide.lower[0] / wide.upper[0] <= 0.05


def test_more_kinds_than_a_contour_takes_are_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathered, "TRIED", 200)
    rounds = [hs.Round(hs.Gaussian(10.0 + 0.1 * number), hs.Poisson(0.02)) for number in range(210)]
    plan = hs.Plan(rounds, "replace-one")
    (direction,) = plan.adjacency.directions
    curve = DirectionCurve(Composition(plan.directions.pairs(direction)), None)
    assert not curve._exact
    found = curve.log_delta(np.array([0.5]))
    assert 0 < found.upper[0] - found.lower[0] < 0.1


def sampled_laplace(kinds: int, count: int) -> hs.Plan:
    """Scales and rates spread over decades, as random plans have them: of their losses a good part lies on atoms."""
    spread = [(0.5 * 400 ** (i * 0.618 % 1), 1e-4 ** (i * 0.414 % 1)) for i in range(kinds)]
    return hs.Plan([hs.Round(hs.Laplace(scale * kinds**0.5), hs.Poisson(rate), count) for scale, rate in spread])


@pytest.mark.long
def test_a_contour_of_hundreds_of_kinds_that_is_coarse_is_nearer_than_what_is_gathered() -> None:
    """A finer one does not end."""
    found = sampled_laplace(300, 1).epsilon(1.77e-4)
    assert found.reason is not None
    assert "decay fast enough" in found.reason
    assert 0.999 * found.upper < found.lower < found.upper
    assert found.upper < 0.3693  # what rdp says by name


@pytest.mark.parametrize(("kinds", "count"), [(110, 1), pytest.param(180, 1, marks=pytest.mark.long)])
def test_many_kinds_of_sampled_laplace_noise_have_both_ends(kinds: int, count: int) -> None:
    """Where the Renyi bound alone was left, after a contour that cannot end had taken what the others need."""
    plan = sampled_laplace(kinds, count)
    found, rough = plan.epsilon(1.77e-4), plan.epsilon(1.77e-4, accountant="rdp")
    assert found.lower > 0.998 * found.upper
    assert found.upper <= rough.ends["upper"]


@pytest.mark.slow
def test_hundreds_of_kinds_of_many_rounds_are_told_sharply() -> None:
    """Two directions of 745 kinds fit into the work of one call; the second was gathered: 3,584 to 18,934."""
    rng = random.Random(3505953251)
    rounds = []
    for _ in range(745):
        noise, rate = 0.5 * 400 ** rng.random() * 745**0.5, 1e-4 ** (1 - rng.random())
        rounds.append(hs.Round(hs.Laplace(noise), hs.Poisson(rate), rng.randint(1, 10**6)))
    found = hs.Plan(rounds).epsilon(1.85e-9)
    assert found.reason is None
    assert found.upper - found.lower <= 1e-5 * found.upper
