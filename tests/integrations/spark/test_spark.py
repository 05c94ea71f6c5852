"""Spark says what one process says, to the last bit; wrong rows are reported with their user, or stop all."""

from __future__ import annotations

import datetime
import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hockeystick as hs
from hockeystick.integrations import spark
from hockeystick.integrations.users import users

ROOT = Path(__file__).parents[3]
NUMBERS = ("epsilon_lower", "epsilon_estimate", "epsilon_upper")
SETTINGS = ("spark.sql.shuffle.partitions", "spark.sql.execution.arrow.maxRecordsPerBatch")
SCHEMA = "user long, noise_multiplier double, sample_rate double, steps long, when date"


def rows(many: int = 400) -> list[tuple[Any, ...]]:
    """Rows of users, some of which share their history in another order; noises and rates with all their digits."""
    draw = random.Random(7)
    kinds = [(draw.uniform(0.7, 2.0), draw.choice([0.1 + 0.2, 1 / 75, 1.0]), draw.choice([1, 30])) for _ in range(6)]
    day = datetime.date(2026, 1, 1)
    return [
        (draw.randrange(many // 3) - 20, *draw.choice(kinds), day + datetime.timedelta(draw.randrange(90)))
        for _ in range(many)
    ]


def columns(listed: list[tuple[Any, ...]]) -> dict[str, Any]:
    user, noise, rate, steps, when = zip(*listed, strict=True)
    return {
        "user": np.array(user), "noise_multiplier": list(noise), "sample_rate": list(rate), "steps": list(steps),
        "when": np.array(when, dtype="datetime64[D]"),
    }  # fmt: skip


def as_said(found: dict[str, Any], place: int) -> tuple[Any, ...]:
    """A row of the answer of one process, with None where a number is missing."""
    numbers = [found[name][place].item() for name in ("steps", *NUMBERS)]
    return (*(None if math.isnan(number) else number for number in numbers), found["epsilon_reason"][place])


def collected(df: Any) -> dict[Any, tuple[Any, ...]]:
    assert df.columns == ["user", "steps", *NUMBERS, "epsilon_reason"]
    listed = df.collect()
    found = {row[0]: tuple(row[1:]) for row in listed}
    assert len(found) == len(listed)
    return found


def test_users_have_the_bits_of_one_process(session: Any) -> None:
    listed = rows()
    here = users(columns(listed), 1e-6)
    there = collected(spark.users(session.createDataFrame(listed, SCHEMA).repartition(3), 1e-6, tasks=3))
    assert there == {user: as_said(here, place) for place, user in enumerate(here["user"].tolist())}


def test_the_cut_and_a_constant(session: Any) -> None:
    listed = rows(100)
    arguments: dict[str, Any] = {"when": "when", "until": "2026-02-01", "sample_rate": 0.5}
    here = users(columns(listed), 1e-6, **arguments)
    there = collected(spark.users(session.createDataFrame(listed, SCHEMA), 1e-6, tasks=1, **arguments))
    assert there == {user: as_said(here, place) for place, user in enumerate(here["user"].tolist())}
    assert 0 in {steps for steps, *_ in there.values()}


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("string", ["a", "b", "a", "c"]),
        ("date", [datetime.date(2026, 1, day) for day in (1, 2, 1, 3)]),
        ("timestamp", [datetime.datetime(2026, 1, day) for day in (1, 2, 1, 3)]),
        ("double", [0.0, 1.5, -0.0, 2.5]),
        ("binary", [b"a", b"b", b"a", b"c"]),
        ("int", [1, 2, 1, 3]),
    ],
)
def test_users_of_any_type(session: Any, kind: str, named: list[Any]) -> None:
    df = session.createDataFrame([(user,) for user in named], f"who {kind}")
    found = spark.users(df, 1e-6, user="who", noise_multiplier=1.0, sample_rate=0.01, steps=50, tasks=1)
    assert found.schema["who"].dataType.simpleString() == kind
    assert {row["who"]: row["steps"] for row in found.collect()} == {named[0]: 100, named[1]: 50, named[3]: 50}


def test_users_that_are_not_told_apart_by_their_bytes(session: Any) -> None:
    """Two spellings of one user would each have a part of the history, and an epsilon that is too small."""
    df = session.createDataFrame([("a",), ("A",)], "who string").selectExpr("who collate UTF8_LCASE as who")
    with pytest.raises(hs.InvalidInputError, match="user must be a column of numbers, text, bytes or dates; 'who'"):
        spark.users(df, 1e-6, user="who", noise_multiplier=1.0, sample_rate=0.01, steps=50)
    nobody = session.createDataFrame([(math.nan,)], "who double")
    with pytest.raises(Exception, match="a row has no user"):
        spark.users(nobody, 1e-6, user="who", noise_multiplier=1.0, sample_rate=0.01, steps=5, tasks=1).collect()


@pytest.mark.parametrize("parts", [1, 7])
def test_users_of_few_parts_in_many_batches(session: Any, parts: int) -> None:
    """One user has most rows, some partitions have none, and a batch has three rows."""
    draw = np.random.default_rng(5)
    table = {
        "user": np.where(draw.random(200) < 0.7, 5, draw.integers(0, 40, 200)),
        "noise_multiplier": draw.choice([0.7, 1.1], 200),
        "sample_rate": np.full(200, 0.1),
        "steps": draw.choice([1, 30], 200),
    }
    here = users(table, 1e-6)
    kept = {name: session.conf.get(name) for name in SETTINGS}
    try:
        for name, value in zip(SETTINGS, (parts, 3), strict=True):
            session.conf.set(name, value)
        df = session.createDataFrame(list(zip(*(column.tolist() for column in table.values()), strict=True)), [*table])
        there = collected(spark.users(df.repartition(5, "user"), 1e-6, tasks=1))
    finally:
        for name, value in kept.items():
            session.conf.set(name, value)
    assert there == {user: as_said(here, place) for place, user in enumerate(here["user"].tolist())}


def test_no_users(session: Any) -> None:
    df = session.createDataFrame([], "user string, noise_multiplier double, sample_rate double, steps long")
    assert spark.users(df, 1e-6, tasks=1).collect() == []


def test_lines_of_any_length_and_order_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that runs again may meet its rows in another order."""
    monkeypatch.setattr(spark, "MOST_LISTED", 2)
    monkeypatch.setattr(spark, "MOST_LINES", 3)
    table = {name: np.asarray(column) for name, column in columns(rows()).items() if name != "when"}
    table["steps"] = table["steps"].astype(float)
    table["noise_multiplier"][[3, 7, 50]] = 0.0, -1.0, np.nan
    whole = pa.table(table)
    found: list[dict[int, str]] = []
    for order in (np.arange(len(whole)), np.random.default_rng(2).permutation(len(whole))):
        found.append({})
        for lines in spark._grouped(whole.take(pa.array(order)).to_batches(max_chunksize=7), stop=False):
            assert len(lines) <= 3
            for history, users_of in zip(*(column.to_pylist() for column in lines.columns), strict=True):
                assert 1 <= len(users_of) <= 2
                assert not found[-1].keys() & set(users_of)
                found[-1] |= dict.fromkeys(users_of, history)
    assert found[0] == found[1]
    assert found[0].keys() == set(table["user"].tolist())
    lines = spark._grouped(whole.to_batches(), stop=False)
    names = ["user", "steps", *NUMBERS, "epsilon_reason"]
    told = spark._told(lines, 1e-6, "add-or-remove", None, stop=False, names=names)
    there = {user: tuple(row) for user, *row in zip(*pa.Table.from_batches(told).to_pydict().values(), strict=True)}
    here = users(table, 1e-6, errors="row")
    for place, user in enumerate(here["user"].tolist()):
        assert there[user][:-1] == as_said(here, place)[:-1]


WRONG = [
    (7, 0.0, 0.1, 5, None),
    (7, 1.0, 0.1, 5, None),
    (8, math.nan, None, 5, None),
    (9, 1.0, 1.5, 5, None),
    (11, 1.0, 0.5, None, None),
    (12, 1.0, 0.5, -3, None),
    (10, 1.0, 0.5, 5, None),
]


def test_wrong_rows_leave_their_users_without_numbers(session: Any) -> None:
    df = session.createDataFrame(WRONG, SCHEMA)
    found = collected(spark.users(df, 1e-6, errors="row", tasks=2))
    said = {
        7: "noise_multiplier must be a number from 0.01 .*; received 0.0", 8: "noise_multiplier .* received nan",
        9: "sample_rate must be .*; received 1.5", 11: "steps must be .*; received None",
        12: "steps must be .*; received -3.0",
    }  # fmt: skip
    for user, message in said.items():
        assert found[user][:-1] == (None,) * 4
        with pytest.raises(hs.InvalidInputError, match=message):
            raise hs.InvalidInputError(found[user][-1])
    here = users({"user": [10]}, 1e-6, noise_multiplier=1.0, sample_rate=0.5, steps=5)
    assert found[10] == as_said(here, 0)


def test_wrong_rows_stop_all(session: Any) -> None:
    with pytest.raises(Exception, match=r"InvalidInputError: user 9: sample_rate must be .*; received 1.5"):
        spark.users(session.createDataFrame(WRONG[3:4], SCHEMA), 1e-6, tasks=1).collect()
    with pytest.raises(Exception, match="a row has no user, so its steps cannot be assigned"):
        spark.users(session.createDataFrame([(None, *WRONG[1][1:])], SCHEMA), 1e-6, errors="row", tasks=1).collect()


def test_steps_that_no_round_takes_and_rows_without_a_time(session: Any) -> None:
    many = [(1, 1.0, 0.5, 10**12, datetime.date(2026, 1, 1))] * 2 + [(2, 1.0, 0.5, 1, None)]
    df = session.createDataFrame(many, SCHEMA)
    found = collected(spark.users(df, 1e-6, errors="row", tasks=1, when="when", until=datetime.date(2026, 2, 1)))
    assert "count must be a whole number" in found[1][-1]
    assert found[2] == (None, None, None, None, "when must be comparable with until; received None")


def test_rows_have_the_bits_of_their_plans(session: Any) -> None:
    listed = [("a", 1.0, 0.01, 1000), ("b", -1.0, 0.01, 5), ("c", 2.0, 1 / 75, 1000), ("d", 1.0, None, 5)]
    df = session.createDataFrame(listed, "run string, sigma double, sample_rate double, steps int")
    added = spark.epsilon(df, columns={"noise_multiplier": "sigma"}, delta=1e-5, errors="row", key="run")
    found = {row["run"]: row for row in added.collect()}
    for name, noise, rate, steps in (listed[0], listed[2]):
        bound = hs.dp_sgd(noise, rate, steps).epsilon(1e-5)
        assert [found[name][number] for number in NUMBERS] == [bound.lower, bound.estimate, bound.upper]
        assert found[name]["epsilon_reason"] is None
    assert [found["b"][number] for number in NUMBERS] == [None] * 3
    assert found["b"]["epsilon_reason"].startswith("noise_multiplier must be")
    assert found["d"]["epsilon_reason"].startswith("poisson sampling needs sample_rate")
    with pytest.raises(Exception, match="InvalidInputError: run 'b': noise_multiplier must be"):
        spark.epsilon(df, columns={"noise_multiplier": "sigma"}, delta=1e-5, key="run").collect()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"user": "who"}, "user must be a column; received 'who'"),
        ({"user": "steps"}, "user must not have the name of a new column"),
        ({"steps": "when"}, "steps must be a column of numbers; 'when' has type date; cast it first"),
        ({"sample_rate": 2}, "sample_rate, a number rather than the name of a column, must be"),
        ({"when": "when"}, "when needs until"),
        ({"when": "when", "until": "soon"}, "until must be comparable with the column 'when', of type date; .*'soon'"),
        ({"errors": "ignore"}, "errors must be one of"),
        ({"tasks": 0}, "tasks must be"),
        ({"delta": 2}, "delta must be"),
    ],
)
def test_what_is_wrong_is_said_before_the_job(session: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=message):
        spark.users(session.createDataFrame(WRONG, SCHEMA), **{"delta": 1e-6, **arguments})
    with pytest.raises(hs.InvalidInputError, match="a key must be one of"):
        spark.epsilon(session.createDataFrame(WRONG, SCHEMA), colour=3)


def test_the_example_prints_what_the_page_shows(session: Any) -> None:
    script = ROOT / "examples" / "integrations" / "users_spark.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    page = (ROOT / "docs" / "users.md").read_text(encoding="utf-8")
    assert f"```text\n{done.stdout}```" in page
