"""Sweeps as data frames of pandas and Polars, made from the columns of the table."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import polars as pl

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
    polars, pandas = pl.DataFrame(found.columns), pd.DataFrame(found.columns)
    alike(found, {name: polars[name].to_list() for name in polars.columns})
    alike(found, {name: pandas[name].to_list() for name in pandas.columns})
