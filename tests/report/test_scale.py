"""An epsilon in plain words: the share of right guesses, against the closed form of normal noise."""

from __future__ import annotations

import math

import mpmath as mp
import pytest

import hockeystick as hs
from hockeystick.report.scale import scale_lines


@pytest.mark.parametrize("noise", [0.02, 0.5, 1.0, 20.0, 1e5])
@pytest.mark.parametrize("adjacency", ["add-or-remove", "add", "zero-out"])
def test_the_share_is_that_of_the_best_test(noise: float, adjacency: str) -> None:
    """Of two normal laws at distance mu the better guess is right with probability Phi(mu / 2)."""
    lines = dict(scale_lines(hs.Plan([hs.Round(hs.Gaussian(noise))], adjacency), 1.0))
    stated = mp.mpf(lines["in words"].partition("at most ")[2].partition("%")[0])
    right = 100 * mp.ncdf(1 / mp.mpf(2 * noise))
    assert right <= stated <= right + mp.mpf("0.1001")


def test_users_are_asked_about_as_users() -> None:
    plan = hs.dp_sgd(1.0, 0.01, 10, unit="user", records_per_unit=3, adjacency="replace-one")
    assert "which of two given sets of records one user has in the data" in scale_lines(plan, 1.0)[0][1]


def test_runs_of_which_only_a_best_one_is_released_have_their_words() -> None:
    plan = hs.Plan([hs.Round(hs.Laplace(10.0))], best_of=hs.BestOf("geometric", 3))
    share = float(scale_lines(plan, 1.0)[0][1].partition("at most ")[2].partition("%")[0])
    assert (
        50 < share <= 100 / (1 + math.exp(-0.3)) + 1
    )  # three times the epsilon of a run, and a percent for the strata
    training = hs.Plan(hs.dp_sgd(0.9, 0.01, 2000).rounds, best_of=hs.BestOf("geometric", 12))
    assert [label for label, _ in scale_lines(training, 4.86)] == ["elsewhere"]


def test_a_weak_epsilon_is_called_so() -> None:
    plan = hs.Plan([hs.Round(hs.Gaussian(1.0))])
    assert "caution" not in dict(scale_lines(plan, 6.9))
    assert "more than 99.9% sure" in dict(scale_lines(plan, 7.0))["caution"]
    assert "certain" in dict(scale_lines(plan, math.inf))["caution"]
