"""Epsilon over the rows of pandas and Polars frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import polars as pl
import pytest

import hockeystick as hs
from hockeystick.integrations import frames

COLUMNS: Mapping[str, list[Any]] = {
    "run": ["a", "b", "c", "d"],
    "noise_multiplier": [1.0, 2.0, 1.0, 0.8],
    "sample_rate": [0.01, 0.01, 0.01, 0.2],
    "steps": [1000, 1000, 1000, 50],
    "delta": [1e-5, 1e-6, 1e-5, 1e-5],
}

each_kind = pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
Kind = Callable[[Mapping[str, list[Any]]], Any]


def row(index: int) -> hs.Bound:
    arguments = {key: COLUMNS[key][index] for key in ("noise_multiplier", "sample_rate", "steps")}
    return hs.dp_sgd(**arguments).epsilon(COLUMNS["delta"][index])


@each_kind
def test_each_row_has_the_bound_of_its_plan(kind: Kind) -> None:
    frame = kind(COLUMNS)
    found = frames.epsilon(frame)
    assert type(found) is type(frame)
    assert list(found.columns) == [*COLUMNS, "epsilon_lower", "epsilon_estimate", "epsilon_upper", "epsilon_reason"]
    assert list(frame.columns) == list(COLUMNS)
    for index in range(4):
        for name, value in row(index).ends.items():
            assert found[f"epsilon_{name}"][index] == value
        assert found["epsilon_reason"][index] is None
    assert found["run"].to_list() == COLUMNS["run"]


@each_kind
def test_names_constants_and_prefix(kind: Kind) -> None:
    renamed = kind({"sigma": COLUMNS["noise_multiplier"], "q": COLUMNS["sample_rate"]})
    columns = {"noise_multiplier": "sigma", "sample_rate": "q"}
    found = frames.epsilon(renamed, columns=columns, prefix="eps", steps=1000, delta=1e-5, adjacency="replace-one")
    plan = hs.dp_sgd(2.0, 0.01, 1000, adjacency="replace-one")
    assert found["eps_upper"][1] == plan.epsilon(1e-5).upper
    assert list(found.columns)[2:] == ["eps_lower", "eps_estimate", "eps_upper", "eps_reason"]


@each_kind
def test_sizes_and_epochs_and_what_is_missing(kind: Kind) -> None:
    """A missing value is a key that the row does not give."""
    frame = kind(
        {
            "noise_multiplier": [1.1, 1.1],
            "sample_rate": [None, 0.01],
            "batch_size": [256, None],
            "dataset_size": [60_000, None],
            "epochs": [60, None],
            "steps": [None, 1000],
        }
    )
    found = frames.epsilon(frame, delta=1e-5)["epsilon_upper"].to_list()
    sizes = hs.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60)
    assert found == [sizes.epsilon(1e-5).upper, hs.dp_sgd(1.1, 0.01, 1000).epsilon(1e-5).upper]


@each_kind
def test_equal_rows_are_computed_once(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(*args: Any, **kwargs: Any) -> hs.Plan:
        asked.append(args)
        return hs.dp_sgd(*args, **kwargs)

    monkeypatch.setattr("hockeystick.integrations.frames.dp_sgd", counted)
    frame = kind({key: values * 50 for key, values in COLUMNS.items()})
    assert len(frames.epsilon(frame)) == 200
    assert len(asked) == 3


@each_kind
def test_accountants_without_a_lower_end(kind: Kind) -> None:
    found = frames.epsilon(kind(COLUMNS), accountant="rdp")
    assert list(found.columns)[5:] == ["epsilon_upper", "epsilon_reason"]
    assert all(found["epsilon_upper"][index] >= row(index).lower for index in range(4))


@each_kind
def test_an_infinite_end_has_its_reason(kind: Kind) -> None:
    found = frames.epsilon(kind({**COLUMNS, "delta": [0.0, 1e-5, 1e-5, 1e-5]}))
    assert found["epsilon_upper"][0] == math.inf
    assert "unbounded" in found["epsilon_reason"][0]


@each_kind
def test_no_rows(kind: Kind) -> None:
    found = frames.epsilon(kind({key: values[:0] for key, values in COLUMNS.items()}))
    assert len(found) == 0
    assert list(found.columns)[5:] == ["epsilon_lower", "epsilon_estimate", "epsilon_upper", "epsilon_reason"]


@each_kind
@pytest.mark.parametrize(
    ("changed", "arguments", "message"),
    [
        ({"noise_multiplier": [1.0, 1.0, -1.0, 1.0]}, {}, "row 2: noise_multiplier must be .*; received -1.0"),
        ({"noise_multiplier": [1.0, None, 1.0, 1.0]}, {}, "row 1: noise_multiplier must be .*; received None"),
        ({"sample_rate": [0.1, 0.1, 0.1, 2.0]}, {}, "row 3: sample_rate must be .*; received 2.0"),
        ({"steps": [1, 2, 3, None]}, {}, "row 3: give either steps or epochs; received neither"),
        ({"delta": [0.1, 1.0, 0.1, 0.1]}, {}, "row 1: delta must be .*; received 1.0"),
        ({"delta": [0.1, None, 0.1, 0.1]}, {}, "row 1: no delta"),
        ({}, {"colour": 1}, "a key must be one of .*; received 'colour'"),
        ({}, {"steps": 5}, "steps is both a column and an argument; leave one of them out"),
        (
            {},
            {"columns": {"epochs": "passes"}},
            "epochs must be a column; received 'passes', but the columns are 'run'",
        ),
        ({}, {"accountant": "guess"}, "row 0: accountant must be one of"),
    ],
)
def test_what_is_wrong_is_named(
    kind: Kind, changed: Mapping[str, list[Any]], arguments: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(hs.InvalidInputError, match=message) as caught:
        frames.epsilon(kind({**COLUMNS, **changed}), **arguments)
    assert "\n" not in str(caught.value)


@each_kind
def test_columns_of_users_and_partitions(kind: Kind) -> None:
    """Every argument of dp_sgd is a column."""
    frame = kind({"noise_multiplier": [30.0, 30.0], "steps": [5, 5], "records_per_unit": [2, 2],
                  "partitions_per_unit": [1, 4]})  # fmt: skip
    found = frames.epsilon(frame, sampling="none", unit="user", delta=1e-6)["epsilon_upper"]
    wanted = [hs.Plan([hs.Round(hs.Gaussian(30.0), count=5)], unit="user", records_per_unit=2,
                      partitions_per_unit=parts).epsilon(1e-6).upper for parts in (1, 4)]  # fmt: skip
    assert list(found) == wanted


def test_a_key_with_two_columns_is_refused() -> None:
    twice = pd.DataFrame([[1.0, 0.1, 0.2, 10]], columns=["noise_multiplier", "sample_rate", "sample_rate", "steps"])
    with pytest.raises(hs.InvalidInputError, match=r"a column must have one dimension; 'sample_rate' has shape .1, 2."):
        frames.epsilon(twice, delta=1e-5)


def test_a_dict_of_arrays_has_the_numbers_of_a_frame() -> None:
    frame, found = frames.epsilon(pd.DataFrame(COLUMNS)), frames.epsilon(COLUMNS)
    assert list(found) == list(frame.columns)
    for name in ("epsilon_lower", "epsilon_estimate", "epsilon_upper", "epsilon_reason"):
        assert found[name].tolist() == frame[name].tolist()
    constant = frames.epsilon({"run": ["a", "b"]}, noise_multiplier=1.0, sample_rate=0.01, steps=1000, delta=1e-5)
    assert constant["epsilon_upper"].tolist() == [row(0).upper] * 2
    with pytest.raises(hs.InvalidInputError, match=r"steps must be a whole number.*; received True"):
        frames.epsilon({**COLUMNS, "steps": [1, 1, True, 1]})
    with pytest.raises(hs.InvalidInputError, match="the columns of a frame must have the same length"):
        frames.epsilon({**COLUMNS, "steps": [1]})


def test_other_things_than_frames() -> None:
    with pytest.raises(hs.InvalidInputError, match=r"frame must be a pandas or Polars DataFrame, .*; received 3"):
        frames.epsilon(3)
    with pytest.raises(hs.InvalidInputError, match="lazy"):
        frames.epsilon(pl.LazyFrame(COLUMNS))
    with pytest.raises(hs.InvalidInputError, match=r"noise_multiplier must be a column or an argument; .*'sigma'"):
        frames.epsilon(pd.DataFrame({"sigma": [1.0]}))


def test_a_plan_from_a_list() -> None:
    plan = frames.plan_from_history([(1.0, 0.01, 100), [2.0, 0.05, 200], (1.0, 0.01, 200)], delta=1e-5)
    assert plan == hs.dp_sgd(1.0, 0.01, 300, delta=1e-5) + hs.dp_sgd(2.0, 0.05, 200)
    assert frames.plan_from_history([], "replace-one") == hs.Plan([], "replace-one")


@each_kind
def test_a_column_says_how_batches_are_made(kind: Kind) -> None:
    sizes: dict[str, list[Any]] = {"noise_multiplier": [2.0] * 2, "batch_size": [256] * 2, "dataset_size": [60_000] * 2}
    found = frames.epsilon(kind({**sizes, "sampling": ["poisson", "without-replacement"]}), steps=100, delta=1e-5)
    for index, noise in enumerate((2.0, 1.0)):  # in a batch of a fixed size the record is in place of another one
        known = hs.dp_sgd(noise, batch_size=256, dataset_size=60_000, steps=100).epsilon(1e-5)
        assert found["epsilon_upper"][index] == known.upper


@each_kind
def test_every_argument_of_dp_sgd_is_a_key(kind: Kind) -> None:
    """A dropped last batch is accounted for; a scheme that knows none refuses it, and no column is passed over."""
    sizes: dict[str, list[Any]] = {"noise_multiplier": [2.0] * 2, "batch_size": [250] * 2, "dataset_size": [1_060] * 2}
    frame = kind({**sizes, "drop_last": [False, True]})
    found = frames.epsilon(frame, sampling="shuffled", epochs=2, delta=1e-5)["epsilon_upper"].to_list()
    for drops, upper in zip((False, True), found, strict=True):
        plan = hs.dp_sgd(2.0, batch_size=250, dataset_size=1_060, epochs=2, sampling="shuffled", drop_last=drops)
        assert upper == plan.epsilon(1e-5).upper
    assert found[0] != found[1]
    with pytest.raises(hs.InvalidInputError, match="row 0: drop_last cannot be used with sampling 'poisson'"):
        frames.epsilon(frame, epochs=2, delta=1e-5)


@each_kind
def test_equal_numbers_that_do_not_say_the_same(kind: Kind) -> None:
    """True is no number, also beside a 1 that is equal to it."""
    frame = kind({"noise_multiplier": [1.0, 1.0], "sample_rate": [0.1, 0.1], "steps": [1, 1]})
    assert len(frames.epsilon(frame, delta=0.1)) == 2
    objects = pd.DataFrame(
        {"noise_multiplier": [1.0, 1.0], "sample_rate": 0.1, "steps": pd.Series([1, True], dtype=object)}
    )
    with pytest.raises(hs.InvalidInputError, match=r"row 1: steps must be .*; received True"):
        frames.epsilon(objects, delta=0.1)
