"""Epsilon of each user of pandas and Polars frames; the rest is in test_users.py."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import polars as pl
import pytest

import hockeystick as hs
from hockeystick.integrations.users import users

ROWS: dict[str, Any] = {
    "user": ["b", "a", "b", "c"],
    "noise_multiplier": [1.0, 2.0, 2.0, 1.0],
    "sample_rate": [0.01, 0.02, 0.02, 1.0],
    "steps": [1000, 300, 300, 7],
    "when": pd.to_datetime(["2026-01-01", "2026-01-05", "2026-02-01", "2026-03-01"]),
}
NUMBERS = ["steps", "epsilon_lower", "epsilon_estimate", "epsilon_upper"]

each_kind = pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


def made(kind: Any, rows: dict[str, Any]) -> Any:
    return kind(rows if kind is pd.DataFrame else {**rows, "when": rows["when"].to_numpy()})


@each_kind
def test_a_frame_has_the_answers_of_its_columns(kind: Any) -> None:
    frame = made(kind, ROWS)
    found, known = users(frame, 1e-6), users(ROWS, 1e-6)
    assert type(found) is kind
    assert list(found.columns) == ["user", *NUMBERS, "epsilon_reason"]
    for name in ("user", *NUMBERS):
        assert found[name].to_list() == known[name].tolist()
    assert found["epsilon_reason"].isna().all() if kind is pd.DataFrame else found["epsilon_reason"].is_null().all()
    pieces = users((frame[:1], frame[1:]), 1e-6)
    assert pieces.equals(found)


@each_kind
@pytest.mark.parametrize("key", ["noise_multiplier", "sample_rate", "steps"])
def test_what_is_missing_is_wrong(kind: Any, key: str) -> None:
    column = [ROWS[key][0], None, *ROWS[key][2:]]
    found = users(made(kind, {**ROWS, key: column}), 1e-6, errors="row")
    upper = found["epsilon_upper"].to_list()
    assert upper[1] is None or math.isnan(upper[1])
    assert [upper[0], upper[2]] == users(ROWS, 1e-6)["epsilon_upper"][[0, 2]].tolist()
    assert found["epsilon_reason"].to_list()[1].startswith(f"row 1: {key} must be")


@each_kind
def test_a_missing_user_stops_all(kind: Any) -> None:
    with pytest.raises(hs.InvalidInputError, match="row 1: user is missing"):
        users(made(kind, {**ROWS, "user": ["b", None, "b", "c"]}), 1e-6, errors="row")
    with pytest.raises(hs.InvalidInputError, match="row 1: user is missing"):
        users(made(kind, {**ROWS, "user": [1, None, 1, 3]}), 1e-6, errors="row")


def test_nullable_columns_of_pandas() -> None:
    frame = pd.DataFrame(ROWS).astype({"steps": "Int64", "user": "string", "noise_multiplier": "Float64"})
    assert users(frame, 1e-6)["epsilon_upper"].tolist() == users(ROWS, 1e-6)["epsilon_upper"].tolist()


def test_a_lazy_frame_is_refused() -> None:
    with pytest.raises(hs.InvalidInputError, match="collect"):
        users(pl.LazyFrame({"user": [1]}), 1e-6)
