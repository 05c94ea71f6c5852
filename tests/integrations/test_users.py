"""Epsilon of each user of a dict of arrays; of pandas and Polars frames in test_users_frames.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.integrations.history import plan_from_history
from hockeystick.integrations.users import users

ROWS: dict[str, Any] = {
    "user": np.array([5, 3, 5, 9, 3]),
    "noise_multiplier": np.array([1.0, 2.0, 2.0, 1.0, 1.0]),
    "sample_rate": np.array([0.01, 0.02, 0.02, 1.0, 0.01]),
    "steps": np.array([1000, 300, 300, 7, 1000]),
    "when": np.array(["2026-01-01", "2026-01-05", "2026-02-01", "2026-03-01", "2026-01-05"], dtype="datetime64[D]"),
}
NUMBERS = ("epsilon_lower", "epsilon_estimate", "epsilon_upper")


def test_each_user_has_the_epsilon_of_the_plan() -> None:
    found = users(ROWS, 1e-6)
    assert list(found) == ["user", "steps", *NUMBERS, "epsilon_reason"]
    assert found["user"].tolist() == [5, 3, 9]
    assert found["steps"].tolist() == [1300, 1300, 7]
    plans = [plan_from_history([(1.0, 0.01, 1000), (2.0, 0.02, 300)]), plan_from_history([(1.0, 1.0, 7)])]
    at_once = hs.epsilons(plans, 1e-6)
    for place, number in enumerate((0, 0, 1)):
        ends = at_once.lower[number], at_once.estimate[number], at_once.upper[number]
        assert tuple(found[name][place] for name in NUMBERS) == ends
        bound = plans[number].epsilon(1e-6)
        assert bound.lower <= found["epsilon_upper"][place] <= bound.upper * (1 + 1e-6)
    assert found["epsilon_reason"].tolist() == [None] * 3


def test_pieces_and_orders_make_no_difference() -> None:
    whole = users(ROWS, 1e-6)
    pieces = ({name: column[part] for name, column in ROWS.items()} for part in (slice(2), slice(2, 2), slice(2, 5)))
    backward = users({name: column[::-1] for name, column in ROWS.items()}, 1e-6)
    for name, column in users(pieces, 1e-6).items():
        assert column.tolist() == whole[name].tolist()
        assert backward[name].tolist() == whole[name][[1, 2, 0]].tolist()


def test_numbers_in_place_of_columns() -> None:
    found = users({"who": ["a", "b", "a"]}, 1e-6, user="who", noise_multiplier=1.5, sample_rate=1, steps=2)
    assert found["who"].tolist() == ["a", "b"]
    assert found["epsilon_upper"][0] == hs.Plan([hs.Round(hs.Gaussian(1.5), count=4)]).epsilon(1e-6).upper


def test_rows_of_no_steps_introduce_their_user() -> None:
    steps = np.where(ROWS["when"] > np.datetime64("2026-01-31"), 0, ROWS["steps"])
    found = users({**ROWS, "steps": steps}, 1e-6)
    assert found["steps"].tolist() == [1000, 1300, 0]
    assert found["epsilon_upper"].tolist()[2] == 0.0


WRONG = [
    ("noise_multiplier", 0.0, "noise_multiplier must be a number from 0.01 to 1e6 .*; received 0.0"),
    ("noise_multiplier", math.nan, "noise_multiplier must be .*; received nan"),
    ("noise_multiplier", "one", "noise_multiplier must be .*; received 'one'"),
    ("noise_multiplier", None, "noise_multiplier must be .*; received None"),
    ("sample_rate", 1.5, "sample_rate must be .*; received 1.5"),
    ("sample_rate", True, "sample_rate must be .*; received True"),
    ("steps", 2.5, "steps must be a whole number .*; received 2.5"),
    ("steps", -1, "steps must be a whole number .*; received -1"),
    ("steps", 10**400, "steps must be a whole number .*; received 1000"),
]


@pytest.mark.parametrize(("key", "value", "message"), WRONG)
def test_a_wrong_row_leaves_its_user_without_a_number_or_stops_all(key: str, value: object, message: str) -> None:
    column = ROWS[key].astype(object)
    column[2] = value  # of user 5, who has another row
    frame, fine = {**ROWS, key: column}, users(ROWS, 1e-6)
    found = users(frame, 1e-6, errors="row")
    assert all(math.isnan(found[name][0]) for name in ("steps", *NUMBERS))
    with pytest.raises(hs.InvalidInputError, match=f"^row 2: {message}"):
        raise hs.InvalidInputError(found["epsilon_reason"][0])
    for name in ("user", "steps", *NUMBERS, "epsilon_reason"):
        assert found[name][1:].tolist() == fine[name][1:].tolist()
    with pytest.raises(hs.InvalidInputError, match=f"^row 2, user 5: {message}") as caught:
        users(frame, 1e-6)
    assert "\n" not in str(caught.value)


def test_rows_are_counted_through_all_pieces() -> None:
    bad = {**ROWS, "steps": np.array([1, 1, 1, 1, -1])}
    with pytest.raises(hs.InvalidInputError, match=r"^row 9, user 3: steps"):
        users([ROWS, bad], 1e-6)
    assert users([bad, ROWS], 1e-6, errors="row")["epsilon_reason"].tolist()[1].startswith("row 4: steps")


def test_a_history_that_no_round_takes_has_no_number() -> None:
    long = {**ROWS, "steps": np.array([10**12, 300, 300, 7, 1000])}
    pieces = [long, long]
    with pytest.raises(hs.InvalidInputError, match=r"count must be a whole number from 0 to 1e12 .*; received 2000"):
        users(pieces, 1e-6)
    found = users(pieces, 1e-6, errors="row")
    assert np.isnan(found["epsilon_upper"]).tolist() == [True, False, False]
    assert np.isnan(found["steps"]).tolist() == [True, False, False]


@pytest.mark.parametrize("missing", [None, math.nan, np.datetime64("NaT")])
@pytest.mark.parametrize("errors", ["stop", "row"])
def test_a_row_without_a_user_stops_all(missing: object, errors: Any) -> None:
    """Its steps are those of some user, so that no user's number would be sure."""
    nobody = np.empty(5, dtype=object)
    nobody[:] = ["a", "b", missing, "a", "b"]
    with pytest.raises(hs.InvalidInputError, match=r"^row 7: user is missing"):
        users([{**ROWS, "user": np.array(list("ababa"), dtype=object)}, {**ROWS, "user": nobody}], 1e-6, errors=errors)


@pytest.mark.parametrize(
    "names",
    [
        [5, 3, 5, 9, 3],
        [5.5, 3.0, 5.5, -0.0, 3.0],
        ["e", "c", "e", "i", "c"],
        [2**64, 3, 2**64, "x", 3],
        np.array([2**64 - 1, 3, 2**64 - 1, 4, 3], dtype=np.uint64),
        np.array([5, 3, 5, 9, 3], dtype=np.int8),
        np.array([2**62, -(2**62), 2**62, 0, -(2**62)]),
        [b"e", b"c", b"e", b"i", b"c"],
        np.array(["2026-01-01", "2025-01-01", "2026-01-01", "2024-01-01", "2025-01-01"], dtype="datetime64[D]"),
    ],
    ids=repr,
)
def test_users_of_any_type(names: Any) -> None:
    found, fine = users({**ROWS, "user": names}, 1e-6), users(ROWS, 1e-6)
    assert found["epsilon_upper"].tolist() == fine["epsilon_upper"].tolist()
    given = np.asarray(names, dtype=object if isinstance(names, list) and 2**64 in names else None)
    assert found["user"].tolist() == [given.tolist()[at] for at in (0, 1, 3)]


@pytest.mark.parametrize("errors", ["stop", "row"])
def test_a_time_that_is_missing_is_no_user(errors: Any) -> None:
    days = np.array(["2026-01-01", "2025-01-01", "NaT", "2024-01-01", "2025-01-01"], dtype="datetime64[ns]")
    with pytest.raises(hs.InvalidInputError, match="row 2: user is missing"):
        users({**ROWS, "user": days}, 1e-6, errors=errors)


def test_no_rows() -> None:
    found = users({name: column[:0] for name, column in ROWS.items()}, 1e-6)
    assert {name: len(column) for name, column in found.items()} == dict.fromkeys(found, 0)


@pytest.mark.parametrize(
    ("frame", "arguments", "message"),
    [
        (3, {}, "frame must be a pandas or Polars DataFrame, or a dict of arrays, or an iterable of such; received 3"),
        ([], {}, r"frame must be .*, or an iterable of such; received \[\]"),
        ([3], {}, "a piece must be .*; received 3"),
        (
            {**ROWS, "steps": [1]},
            {},
            "the columns of a frame must have the same length; received 'user 5', .*'steps 1'",
        ),
        (ROWS, {"user": "who"}, "user must be a column; received 'who', but the columns are 'user'"),
        (ROWS, {"sample_rate": "q"}, "sample_rate must be a column; received 'q'"),
        (
            ROWS,
            {"sample_rate": 2.0},
            "sample_rate, a number rather than the name of a column, must be .*; received 2.0",
        ),
        (ROWS, {"errors": "ignore"}, "errors must be one of"),
        (ROWS, {"delta": 1.0}, "delta must be .*; received 1.0"),
        (ROWS, {"adjacency": "beside"}, "adjacency must be one of"),
        ({**ROWS, "steps": ROWS["user"]}, {"user": "steps", "steps": "user"}, "user must not have the name"),
        (
            [ROWS, {**ROWS, "user": list("abcde")}],
            {},
            "user must have the same type in all frames; received object after int",
        ),
        ({**ROWS, "user": [[1], [2], [3], [4], [5]]}, {}, "a column must have one dimension; 'user' has shape .5, 1."),
    ],
)
def test_what_is_wrong_is_named(frame: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=message) as caught:
        users(frame, **{"delta": 1e-6, **arguments})
    assert "\n" not in str(caught.value)


def test_lists_as_users_are_refused() -> None:
    lists = np.empty(5, dtype=object)
    lists[:] = [[1], "a", "b", "c", "d"]
    with pytest.raises(hs.InvalidInputError, match=r"user must contain numbers, text or dates; received \[1\]"):
        users({**ROWS, "user": lists}, 1e-6)
