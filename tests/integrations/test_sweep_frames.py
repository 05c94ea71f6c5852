"""Sweeps as data frames and as Parquet files, by whatever is installed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import hockeystick as hs

PLAN = hs.dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=15, delta=1e-5)
GRID = {"batch_size": [256, 70_000], "noise_multiplier": [1.0, 2.0]}


def alike(found: hs.Sweep, columns: dict[str, list[Any]]) -> None:
    """The columns of a file are those of the table, with nothing where it has no number."""
    assert list(columns) == list(found.columns)
    for name, values in columns.items():
        for mine, read in zip(found.columns[name], values, strict=True):
            if isinstance(mine, float) and math.isnan(mine):
                assert read is None or math.isnan(read)
            else:
                assert read == mine
                assert type(read) is type(mine)


def test_frames_of_both_kinds_have_every_column() -> None:
    found = hs.sweep(PLAN, GRID)
    polars, pandas = found.frame("polars"), found.frame("pandas")
    assert isinstance(polars, pl.DataFrame)
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(found.frame(), pd.DataFrame)
    alike(found, {name: polars[name].to_list() for name in polars.columns})
    alike(found, {name: pandas[name].to_list() for name in pandas.columns})


def test_parquet_comes_back_and_is_the_same_file_again(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    output, again = tmp_path / "a.parquet", tmp_path / "b.parquet"
    found = hs.sweep(PLAN, GRID, output=output)
    found.to_parquet(again)
    assert output.read_bytes() == again.read_bytes()
    read = pl.read_parquet(output)
    alike(found, {name: read[name].to_list() for name in read.columns})
    assert read["upper"][2] is None
    assert read.schema["batch_size"] == pl.Int64
    assert read.schema["noise_multiplier"] == pl.Float64


def test_parquet_has_another_ending_than_text(tmp_path: Path) -> None:
    with pytest.raises(hs.InvalidInputError, match=r"a Parquet file ends in \.parquet"):
        hs.sweep(PLAN, GRID).to_parquet(tmp_path / "a.csv")
