"""What ``hockeystick profile`` says: the library's numbers, rounded outward, and reasons where there are none."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick.report.profile import MOST_VALUES, profile_answer, profile_json
from hockeystick.values.errors import InvalidInputError

PLAN = hs.Plan([hs.Round(hs.Gaussian(noise_multiplier=2.0))], delta=1e-5)


def test_numbers_are_those_of_the_library() -> None:
    found = profile_json(PLAN, [1e-5, 1e-3], [0.5], [0.01], [2])
    profile = PLAN.profile()
    assert [row["upper"] for row in found["epsilon"]] == profile.epsilon([1e-5, 1e-3]).upper.tolist()
    assert [row["lower"] for row in found["delta"]] == profile.delta([0.5]).lower.tolist()
    assert found["tpr"][0]["upper"] == float(profile.tpr(0.01).upper)
    assert found["mu"]["lower"] <= 0.5 <= found["mu"]["upper"]
    assert found["groups"][0]["epsilon"][0]["upper"] == float(profile.group(2).epsilon(1e-5).upper)


def test_people_read_outward_numbers_and_what_they_assume() -> None:
    found = profile_json(PLAN, [1e-5], [0.5], [0.01], [2])
    answer = profile_answer(PLAN, found)
    lines = dict(answer.lines)
    assert answer.headline.startswith("mu <= 0.5")
    low, high = map(float, lines["tpr at fpr 0.01"].split(" to "))
    assert low <= found["tpr"][0]["lower"] <= found["tpr"][0]["upper"] <= high
    assert lines["group of 2, 1e-5"].startswith("epsilon at most ")
    assert lines["sampling none"].startswith("every round sees the whole dataset")


def test_where_there_are_no_error_rates_the_rest_is_said() -> None:
    one_sided = hs.Plan([hs.Round(hs.Gaussian(noise_multiplier=2.0))], adjacency="add")
    found = profile_json(one_sided, [1e-5], [], [0.01], [])
    assert "mu" not in found
    answer = profile_answer(one_sided, found)
    assert answer.headline.startswith("epsilon <= ")
    assert "both orderings" in dict(answer.lines)["error rates"]
    assert "give --delta" in profile_answer(one_sided, profile_json(one_sided, [], [], [], [])).headline


def test_what_is_infinite_is_called_so() -> None:
    leaky = hs.Plan([hs.Round(hs.ApproximateDP(epsilon=0.5, delta=0.01))])
    lines = dict(profile_answer(leaky, profile_json(leaky, [1e-5], [], [], [2])).lines)
    assert lines["epsilon at delta 1e-5"] == "infinite"
    assert lines["group of 2, 1e-5"] == "epsilon at most infinite"


def test_as_many_values_as_a_figure_has_and_no_more() -> None:
    with pytest.raises(InvalidInputError, match="at most 10000 values"):
        profile_json(PLAN, [1e-5] * (MOST_VALUES + 1))
