"""Plans that release the best of a random number of runs: answered as such, or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import hockeystick as hs
from hockeystick import BestOf, InvalidInputError, Plan, UnsupportedError
from hockeystick.plan.selection import Side
from hockeystick.targets import Advantage, Delta, Epsilon

ONE = hs.dp_sgd(1.0, 0.01, 1000, delta=1e-6)
BEST = Plan(ONE.rounds, delta=1e-6, best_of=BestOf("geometric", 20))


def test_answers_are_those_of_the_selection() -> None:
    found, wanted = BEST.epsilon(), ONE.selection("geometric", 20).epsilon(1e-6)
    assert found == wanted
    assert found.assumptions == wanted.assumptions
    assert any(text.startswith("selection: ") for text in found.assumptions)
    assert BEST.delta(3.0) == ONE.selection("geometric", 20).delta(3.0)
    assert found.upper > 1.4 * ONE.epsilon().upper


@pytest.mark.parametrize(
    "best_of",
    [BestOf("geometric", 20), BestOf("logarithmic", 5.5), BestOf("negative-binomial", 8, 3.0), BestOf("poisson", 0.5)],
)
def test_files_keep_it(tmp_path: Any, best_of: BestOf) -> None:
    plan = Plan(ONE.rounds, best_of=best_of)
    for name in ("plan.toml", "plan.json"):
        plan.save(tmp_path / name)
        assert hs.load_plan(tmp_path / name) == plan
    assert plan != ONE


@pytest.mark.parametrize("target", [Epsilon(2.0, delta=1e-6), Delta(1e-6, epsilon=2.0)])
def test_noise_is_calibrated_with_it(target: Epsilon | Delta) -> None:
    found = hs.calibrate(BEST, "noise-multiplier", target)
    assert found.plan.best_of == BEST.best_of
    assert found.plan.epsilon(1e-6).upper <= 2.0 * (1 + 1e-6)
    assert found.value == pytest.approx(1.32623, rel=1e-4)
    assert found.value > 1.2 * hs.calibrate(ONE, "noise-multiplier", target).value


REFUSED: list[Callable[[], Any]] = [
    lambda: BEST.profile(),
    lambda: BEST.directions,
    lambda: BEST.epsilon(accountant="rdp"),
    lambda: BEST.epsilon(proof=True),
    lambda: BEST.delta(1.0, accountant="contour"),
    lambda: hs.calibrate(BEST, "noise-multiplier", Advantage(0.1)),
]


@pytest.mark.parametrize("ask", REFUSED)
def test_what_knows_nothing_of_selections_refuses(ask: Callable[[], Any]) -> None:
    with pytest.raises(UnsupportedError) as caught:
        ask()
    assert "selection" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_selections_are_not_added_or_selected_again() -> None:
    with pytest.raises(InvalidInputError, match="cannot be added to"):
        BEST + ONE
    with pytest.raises(InvalidInputError, match="cannot be added to"):
        ONE + BEST
    with pytest.raises(InvalidInputError, match="already has a selection"):
        BEST.selection("poisson", 3)


def test_many_plans_at_once_know_it() -> None:
    """The batch of Gaussian plans leaves it to the selection."""
    found = hs.epsilons([ONE, BEST], 1e-6)
    assert found.upper[1] == BEST.epsilon(1e-6).upper > found.upper[0]
    users = hs.dp_sgd(1.0, 0.01, 1000, unit="user", records_per_unit=4)
    assert hs.epsilons([ONE, users], 1e-6).upper[1] == users.epsilon(1e-6).upper


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"runs": "geometrical", "mean": 3}, "selection: runs must be one of 'geometric'"),
        ({"runs": "geometric"}, "selection: mean is missing"),
        ({"mean": 3}, "selection: runs is missing"),
        ({"runs": "geometric", "mean": 1}, "selection: mean must be greater than 1"),
        ({"runs": "geometric", "mean": 3, "shape": 2}, "selection: shape must be given with runs 'negative-binomial'"),
        ({"runs": "poisson", "mean": 0}, "selection: mean must be a number greater than 0"),
        ({"runs": "poisson", "mean": 3, "men": 1}, "selection: unknown key 'men'; did you mean 'mean'?"),
    ],
)
def test_bad_tables(table: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Plan.from_dict({"selection": table, "round": [{"mechanism": "laplace", "scale": 10}]})
    assert str(caught.value).startswith(message)


def test_an_end_that_is_known_worse_when_it_is_asked_again_stops_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the work of a call is used up in between: the bound stays one."""
    plan = hs.Plan([hs.Round(hs.Gaussian(2.0))])
    sharp = plan.selection("geometric", mean=5).epsilon(1e-5).upper
    answer, asked = Side.log_delta, list[float]()

    def forgetful(side: Side, epsilon: float) -> float:
        asked.append(epsilon)
        return 0.0 if epsilon in asked[:-1] else answer(side, epsilon)

    monkeypatch.setattr(Side, "log_delta", forgetful)
    assert plan.selection("geometric", mean=5).epsilon(1e-5).upper >= sharp * (1 - 1e-6)


@pytest.mark.parametrize("mean", [1.5, 20.0, 100.0])
@pytest.mark.parametrize(
    ("runs", "closed"),
    [
        ("geometric", lambda one, mean: 3 * one),
        ("logarithmic", lambda one, mean: 2 * one),
        ("poisson", lambda one, mean: one + mean * math.tanh(one / 2)),
    ],
)
def test_pure_runs_have_a_pure_epsilon(runs: Any, closed: Callable[[float, float], float], mean: float) -> None:
    """The closed form at delta 0, never above it elsewhere, and never below what two outputs show exactly."""
    plan = Plan([hs.Round(hs.RandomizedResponse(0.5))], best_of=BestOf(runs, mean))
    pure = plan.epsilon(0.0)
    assert pure.upper == pytest.approx(closed(0.5, mean), rel=1e-9)
    assert plan.epsilon(1e-9).upper <= pure.upper
    assert plan.delta(pure.upper).upper == 0.0
    high = math.exp(0.5) / (1 + math.exp(0.5))
    none = math.exp(-mean) if runs == "poisson" else 0.0  # nothing is released, under either law
    first = [1 - _none_of(runs, mean, share) for share in (high, 1 - high)]
    rest = [_none_of(runs, mean, share) - none for share in (high, 1 - high)]
    assert pure.upper >= max(abs(math.log(first[0] / first[1])), abs(math.log(rest[0] / rest[1])))


def _none_of(runs: str, mean: float, share: float) -> float:
    """The probability that no run has an output of that probability: the generating function at the rest."""
    if runs == "poisson":
        return math.exp(-mean * share)
    if runs == "geometric":
        return (1 - share) / mean / (1 - (1 - 1 / mean) * (1 - share))
    odds = BestOf("logarithmic", mean)._odds
    return 1 - math.log1p(odds * share) / math.log1p(odds)


def test_one_ordering_takes_the_pure_epsilon_of_both() -> None:
    """A guarantee for removal alone needs the ratio both ways: that of a curve with another one backwards."""
    one = hs.Round(
        hs.Pmf((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(3, 4)))
    )  # log 2 one way, log 3/2 the other
    found = Plan([one], "remove", best_of=BestOf("geometric", 20)).epsilon(0.0)
    assert found.upper == pytest.approx(3 * math.log(2), rel=1e-9)
    assert Plan([one], "add", best_of=BestOf("geometric", 20)).epsilon(0.0).upper == pytest.approx(found.upper)


def test_runs_that_may_fail_have_no_pure_epsilon() -> None:
    assert Plan([hs.Round(hs.Gaussian(2.0))], best_of=BestOf("geometric", 20)).epsilon(0.0).upper == math.inf
