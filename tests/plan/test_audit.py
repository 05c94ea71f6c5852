"""Audits against the sums of the theorem, runs whose guesses have a known law, and simulated attacks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from mpmath import mp

import hockeystick as hs
from command import runner
from hockeystick.cli import main
from hockeystick.plan.audit_recursion import WrongGuesses, p_value

SGD = hs.dp_sgd(1.0, 0.01, 1000)


def tails(trials: int, chance: mp.mpf) -> list[mp.mpf]:
    """The probability of at least 0, 1, ... of the trials: terms one after the other, summed from the far end."""
    found = [(1 - chance) ** trials]
    for k in range(1, trials + 1):
        found.append(found[-1] * (trials - k + 1) / k * chance / (1 - chance))
    for k in range(trials - 1, -1, -1):
        found[k] += found[k + 1]
    return found


@pytest.mark.parametrize(("epsilon", "delta", "guesses"), [(0.7, 0.0, 40), (0.7, 0.02, 40), (2.0, 0.1, 15)])
def test_guesses_of_a_known_law_keep_to_it(epsilon: float, delta: float, guesses: int) -> None:
    """A release that answers of each canary by itself, as badly as (epsilon, delta) allows: they are binomial."""
    right = mp.mpf(repr(delta)) + (1 - mp.mpf(repr(delta))) / (1 + mp.exp(-mp.mpf(repr(epsilon))))
    least = tails(guesses, right)
    for correct in range(1, guesses + 1):
        assert least[correct] <= p_value(guesses, guesses, correct, WrongGuesses([(epsilon, delta)])) * (1 + 1e-9)


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


def test_the_p_value_is_below_that_of_any_point() -> None:
    """Smaller than at any one epsilon of a table, up to the table's own width; and each of these is valid."""
    found = SGD.audit(1000, 200, 180)
    points = [(at, SGD.delta(at).upper) for at in np.linspace(0.5, 4.0, 36).tolist()]
    table = [p_value(1000, 200, 180, WrongGuesses([point])) for point in points]
    assert found.p_value <= p_value(1000, 200, 180, WrongGuesses(points)) * 1.01 <= min(table) * 1.01
    pure = hs.Plan([hs.Round(hs.ApproximateDP(0.5, 0.0))]).audit(1000, 200, 130)
    assert pure.p_value == pytest.approx(p_value(1000, 200, 130, WrongGuesses([(0.0, 0.25), (0.5, 0.0)])), rel=1e-2)
    loose = hs.Plan([hs.Round(hs.ApproximateDP(0.5, 1e-6))]).audit(1000, 200, 140)
    alone = p_value(1000, 200, 140, WrongGuesses([(0.5, 1e-6)]))
    assert loose.p_value <= alone * 1.02


def test_verdicts_and_what_the_run_has_at_least() -> None:
    weak, strong = SGD.audit(1000, 200, 115), SGD.audit(1000, 200, 198)
    assert not weak.rejected
    assert weak.verdict.startswith("not rejected")
    assert strong.rejected
    assert strong.verdict.startswith("rejected")
    least = strong.epsilon_below(1e-6)
    below, above = (p_value(1000, 200, 198, WrongGuesses([(least * factor, 1e-6)])) for factor in (0.999, 1.001))
    assert below <= 0.05 < above
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
    assert found.p_value <= p_value(100, 50, 50, WrongGuesses([(1.0, fixed.delta(1.0).ends["upper"])]))
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
