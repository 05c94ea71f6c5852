"""Audits against the sums of the theorem, runs whose guesses have a known law, and simulated attacks."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from mpmath import mp

import hockeystick as hs
from command import runner
from hockeystick.cli import main
from hockeystick.plan.audit import p_value

SGD = hs.dp_sgd(1.0, 0.01, 1000)


def tails(trials: int, chance: mp.mpf) -> list[mp.mpf]:
    """The probability of at least 0, 1, ... of the trials: terms one after the other, summed from the far end."""
    found = [(1 - chance) ** trials]
    for k in range(1, trials + 1):
        found.append(found[-1] * (trials - k + 1) / k * chance / (1 - chance))
    for k in range(trials - 1, -1, -1):
        found[k] += found[k + 1]
    return found


def theorem(canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> mp.mpf:
    """The bound with every i looked at."""
    with mp.workdps(30):
        least = tails(guesses, 1 / (1 + mp.exp(-mp.mpf(repr(epsilon)))))
        beta = least[correct]
        worst = max(((least[correct - i] - beta) / i for i in range(1, correct + 1)), default=mp.zero)
        return min(beta + 2 * canaries * mp.mpf(repr(delta)) * worst, mp.one)


@pytest.mark.parametrize(
    ("canaries", "guesses", "correct"), [(10, 10, 9), (1000, 100, 80), (1000, 1, 1), (300, 300, 200), (50, 0, 0)]
)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (0.5, 0.0), (1.0, 1e-5), (3.0, 1e-3), (30.0, 1e-12)])
def test_the_p_value_is_that_of_the_theorem(
    canaries: int, guesses: int, correct: int, epsilon: float, delta: float
) -> None:
    found, truth = (
        p_value(canaries, guesses, correct, epsilon, delta),
        theorem(canaries, guesses, correct, epsilon, delta),
    )
    assert found >= truth * (1 - mp.mpf("1e-12"))
    assert found <= truth * (1 + mp.mpf("1e-7"))


def test_blocks_of_many_guesses_lose_little() -> None:
    """More right guesses than are looked at one by one: at or above the sum over each, by a fiftieth at most."""
    found, truth = p_value(5000, 1500, 900, 0.3, 1e-4), theorem(5000, 1500, 900, 0.3, 1e-4)
    assert truth <= found <= truth * 1.03
    assert p_value(10**9, 10**9, 6 * 10**8, 1.0, 1e-9) == 1.0 or p_value(10**9, 10**9, 6 * 10**8, 1.0, 1e-9) > 0


@pytest.mark.parametrize(("epsilon", "delta", "guesses"), [(0.7, 0.0, 40), (0.7, 0.02, 40), (2.0, 0.1, 15)])
def test_guesses_of_a_known_law_keep_to_it(epsilon: float, delta: float, guesses: int) -> None:
    """A release that answers of each canary by itself, as badly as (epsilon, delta) allows: they are binomial."""
    right = mp.mpf(repr(delta)) + (1 - mp.mpf(repr(delta))) / (1 + mp.exp(-mp.mpf(repr(epsilon))))
    least = tails(guesses, right)
    for correct in range(1, guesses + 1):
        assert least[correct] <= p_value(guesses, guesses, correct, epsilon, delta) * (1 + 1e-9)
    if delta == 0:
        whole = p_value(guesses, guesses, guesses, epsilon, 0.0)
        assert least[guesses] == pytest.approx(whole, rel=1e-8)


def attacked(noise: float, canaries: int, guesses: int, seed: int) -> int:
    """Right guesses: a release of one noisy sum a canary; the most extreme of them are guessed."""
    drawn = np.random.default_rng(seed)
    there = drawn.integers(0, 2, canaries)
    seen = there + noise * drawn.standard_normal(canaries) - 0.5
    chosen = np.argsort(-np.abs(seen))[:guesses]
    return int(((seen[chosen] > 0) == (there[chosen] == 1)).sum())


def test_simulated_attacks_reject_another_noise_and_seldom_this_one() -> None:
    """300 runs of the plan that was filed: no more than 5 in 100 rejected; and runs with a third of its noise."""
    filed = hs.Plan([hs.Round(hs.Gaussian(2.0))])
    least = next(v for v in range(20, 61) if filed.audit(400, 60, v).rejected)
    kept = sum(attacked(2.0, 400, 60, seed) >= least for seed in range(300))
    assert kept <= 15
    assert all(attacked(0.6, 400, 60, seed) >= least for seed in range(20))


def test_the_p_value_is_the_best_over_the_curve() -> None:
    """Smaller than at any one epsilon of a table, up to the table's own width; and each of these is valid."""
    found = SGD.audit(1000, 200, 180)
    table = [p_value(1000, 200, 180, at, SGD.delta(at).upper) for at in np.linspace(0.5, 4.0, 36).tolist()]
    assert found.p_value <= min(table) * 1.02
    assert SGD.delta(found.epsilon).lower <= found.delta <= SGD.delta(found.epsilon).upper * (1 + 1e-5)
    assert found.p_value <= p_value(1000, 200, 180, found.epsilon, found.delta) <= min(table) * 1.02
    assert found.whole_curve
    pure = hs.Plan([hs.Round(hs.ApproximateDP(0.5, 0.0))]).audit(1000, 200, 130)
    assert not pure.whole_curve
    assert pure.p_value == p_value(1000, 200, 130, pure.epsilon, pure.delta)


def test_verdicts_and_what_the_run_has_at_least() -> None:
    weak, strong = SGD.audit(1000, 200, 115), SGD.audit(1000, 200, 198)
    assert not weak.rejected
    assert weak.verdict.startswith("not rejected")
    assert strong.rejected
    assert strong.verdict.startswith("rejected")
    least = strong.epsilon_below(1e-6)
    assert p_value(1000, 200, 198, least * 0.999, 1e-6) <= 0.05 < p_value(1000, 200, 198, least * 1.001, 1e-6)
    assert least > SGD.epsilon(1e-6).upper
    assert SGD.audit(1000, 200, 90).epsilon_below(1e-6) == 0.0
    assert SGD.audit(1000, 0, 0).p_value == 1.0
    certain = hs.Plan([hs.Round(hs.ApproximateDP(0.3, 1e-5), count=3)]).audit(100, 50, 50)
    assert 0 < certain.p_value < 0.05


def test_a_plan_with_an_upper_bound_alone_can_be_rejected_too() -> None:
    made = hs.Plan([hs.Round(hs.ZCDP(0.1))]).audit(1000, 100, 99)
    assert made.rejected


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((0, 0, 0), "canaries must be a whole number from 1"),
        ((10, 11, 5), "guesses must be at most canaries; received 11 and 10"),
        ((10, 5, 6), "correct must be at most guesses; received 6 and 5"),
        ((10, 5, 5, 0.0), "significance must be a number between 0 and 1"),
    ],
)
def test_numbers_that_do_not_go_together_are_refused(numbers: tuple[int, int, int], said: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=said):
        SGD.audit(*numbers)


def test_another_adjacency_is_refused() -> None:
    for adjacency in ("add", "replace-one"):
        with pytest.raises(hs.UnsupportedError, match="canaries are included or left out"):
            hs.Plan([hs.Round(hs.Gaussian(2.0))], adjacency).audit(10, 10, 10)


@pytest.mark.slow
def test_contributions_that_are_set_to_nothing() -> None:
    """The curve of the plan under zero-out in both directions, which is not that of add-or-remove for fixed batches."""
    gaussian = [hs.Round(hs.Gaussian(2.0), count=3)]
    same = [hs.Plan(gaussian, adjacency).audit(100, 50, 48) for adjacency in ("add-or-remove", "zero-out")]
    assert same[0].p_value == pytest.approx(same[1].p_value, rel=1e-6)
    fixed = hs.Plan([hs.Round(hs.Gaussian(1.0), hs.WithoutReplacement(5, 100), count=2)], "zero-out")
    found = fixed.audit(100, 50, 50)
    assert found.delta >= max(fixed.delta(found.epsilon).ends["upper"], 0.0) * (1 - 1e-2)
    assert found.p_value <= p_value(100, 50, 50, found.epsilon, found.delta)
    less = hs.Plan([hs.Round(hs.Gaussian(3.0), hs.WithoutReplacement(5, 100), count=2)], "zero-out")
    assert less.audit(100, 50, 50).p_value < found.p_value


def test_the_command_says_the_same() -> None:
    flags = ["--noise-multiplier", "1.0", "--sample-rate", "0.01", "--steps", "1000"]
    asked = ["audit", *flags, "--canaries", "1000", "--guesses", "200", "--correct", "190", "--delta", "1e-6"]
    found, answer = SGD.audit(1000, 200, 190), json.loads(runner().invoke(main, [*asked, "--json"]).stdout)
    assert answer["p_value"] == found.p_value
    assert answer["rejected"] is True
    assert answer["run"]["epsilon_at_least"] == found.epsilon_below(1e-6)
    text = runner().invoke(main, asked).stdout
    assert text.startswith("rejected: p <= ")
    assert "190 of 200 correct, 1000 canaries" in text
    assert math.isfinite(found.epsilon)
