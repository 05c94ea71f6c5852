"""Workers of Spark that read files themselves say what one process says; a folder of answers is whole or not there."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hockeystick as hs
from hockeystick.integrations import blocks, files, partitions, spark
from hockeystick.integrations.users import users

NUMBERS = ("steps", "epsilon_lower", "epsilon_estimate", "epsilon_upper")
DAY = datetime.date(2026, 1, 1)
COLUMNS = files.Columns("user", {"noise_multiplier": 1.0, "sample_rate": 0.5, "steps": 5.0}, None, None)


def rows(many: int = 300) -> dict[str, Any]:
    draw = np.random.default_rng(11)
    return {
        "user": draw.integers(-40, 40, many),
        "noise_multiplier": draw.choice([0.7, 1.1], many),
        "sample_rate": draw.choice([0.1 + 0.2, 1 / 75, 1.0], many),
        "steps": draw.choice([0, 1, 30], many),
        "when": np.datetime64("2026-01-01") + draw.integers(0, 90, many),
    }


def kept(folder: Path, listed: dict[str, Any]) -> Path:
    """Two files of several row groups, and others that are none of the table."""
    whole, half = pa.table(listed), len(listed["user"]) // 2
    (folder / "below").mkdir(parents=True)
    pq.write_table(whole.slice(0, half), folder / "a.parquet", row_group_size=40)
    pq.write_table(whole.slice(half), folder / "below" / "b.parquet", row_group_size=70)
    for name in ("_SUCCESS", "_c.parquet", ".d.parquet", "notes.txt"):
        (folder / name).write_text("no rows", encoding="utf-8")
    return folder


def said(found: dict[str, list[Any]]) -> dict[Any, tuple[Any, ...]]:
    listed = list(zip(found["user"], *(found[name] for name in NUMBERS), found["epsilon_reason"], strict=True))
    assert len({row[0] for row in listed}) == len(listed)
    return {row[0]: row[1:] for row in listed}


def here(table: dict[str, Any], **arguments: Any) -> dict[Any, tuple[Any, ...]]:
    return said({name: column.tolist() for name, column in users(table, 1e-6, **arguments).items()})


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some tasks, and several batches in each."""
    monkeypatch.setattr(files, "OF_A_TASK", 100)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("arguments", [{}, {"when": "when", "until": "2026-02-01", "sample_rate": 0.5}])
def test_answers_have_the_bits_of_one_process(session: Any, tmp_path: Path, arguments: dict[str, Any]) -> None:
    table = rows()
    path = kept(tmp_path / "rows", table)
    written = spark.users_of_files(session, str(path), 1e-6, to=str(tmp_path / "out"), tasks=3, **arguments)
    assert written == [str(each) for each in sorted((tmp_path / "out").iterdir())]
    assert said(pq.read_table(tmp_path / "out").to_pydict()) == here(table, **arguments)
    assert {each.name for each in tmp_path.iterdir()} == {"rows", "out"}
    df = spark.users_of_files(session, [f"file://{path}/a.parquet", f"{path}/below"], 1e-6, tasks=3, **arguments)
    listed = df.collect()
    assert said({name: [row[name] for row in listed] for name in df.columns}) == here(table, **arguments)


USERS = {
    "whole numbers": pa.array([3, -5, 2**63 - 1, -(2**63), 3]),
    "short ones": pa.array([3, -5, 127, -128, 3], type=pa.int8()),
    "doubles": pa.array([0.0, 0.5, 1e300, 5e-324, -0.0]),
    "floats": pa.array([0.0, 0.5, 1.5, 2.5, -0.0], type=pa.float32()),
    "text": pa.array(["ada", "", "b\u00f6b", "x" * 1000, "ada"]),
    "categories": pa.array(["ada", "", "bob", "cleo", "ada"]).dictionary_encode(),
    "bytes": pa.array([b"\0", b"", b"\0\0", b"\xff" * 16, b"\0"]),
    "days": pa.array([DAY, *(DAY + datetime.timedelta(n) for n in (1, 2, 3)), DAY]),
    "times": pa.array([1, 2, 3, -1, 1], type=pa.timestamp("us", tz="UTC")),
    "other times": pa.array([1000, 2000, 3000, -1000, 1000], type=pa.timestamp("ns")),
    "decimals": pa.array([decimal.Decimal(text) for text in ("1.50", "-3.25", "0.00", "7.00", "1.50")]),
}


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", USERS)
def test_users_of_any_type(session: Any, tmp_path: Path, name: str) -> None:
    column = USERS[name]
    plain = column.cast(column.type.value_type) if name == "categories" else column
    for number, part in enumerate((column.slice(0, 3), column.slice(3))):
        pq.write_table(pa.table({"user": part}), tmp_path / f"{number}.parquet", row_group_size=2)
    arguments: dict[str, Any] = {"noise_multiplier": 1.0, "sample_rate": 0.01, "steps": 50, "tasks": 1}
    spark.users_of_files(session, str(tmp_path), 1e-6, to=str(tmp_path / "out"), **arguments)
    found = pq.read_table(tmp_path / "out")
    assert found.schema.field("user").type == plain.type
    expected = {str(user): steps for user, steps in zip(plain.to_pylist(), [100, 50, 50, 50, 100], strict=True)}
    listed = dict(zip(map(str, found["user"].to_pylist()), found["steps"].to_pylist(), strict=True))
    assert {user.replace("-0.0", "0.0") if user == "-0.0" else user: n for user, n in listed.items()} == {
        user: n for user, n in expected.items() if user != "-0.0"
    }
    df = spark.users_of_files(session, [str(tmp_path / f"{n}.parquet") for n in (0, 1)], 1e-6, **arguments)
    assert sorted(row.steps for row in df.collect()) == [50, 50, 50, 100]


def test_wrong_rows(session: Any, tmp_path: Path) -> None:
    table = {"user": [7, 7, 8, 9, 10], "noise_multiplier": [0.0, 1.0, None, 1.0, 1.0], "sample_rate": [0.5] * 5}
    pq.write_table(pa.table(table | {"steps": [5, 5, 5, -1, 5]}), tmp_path / "rows.parquet")
    source, to = str(tmp_path / "rows.parquet"), tmp_path / "out"
    spark.users_of_files(session, source, 1e-6, to=str(to), errors="row", tasks=2)
    found = said(pq.read_table(to).to_pydict())
    for user, reason in {7: "noise_multiplier", 8: "noise_multiplier", 9: "steps"}.items():
        assert found[user][:-1] == (None,) * 4
        assert found[user][-1].startswith(f"{reason} must be")
    right = users({"user": [10]}, 1e-6, noise_multiplier=1.0, sample_rate=0.5, steps=5)
    assert found[10] == (*(right[name][0] for name in NUMBERS), None)
    with pytest.raises(Exception, match=r"InvalidInputError: user [789]: (noise_multiplier|steps) must be"):
        spark.users_of_files(session, source, 1e-6, to=str(tmp_path / "none"), tasks=2)
    assert {each.name for each in tmp_path.iterdir()} == {"rows.parquet", "out"}


def test_steps_that_no_round_takes_and_rows_of_nobody(session: Any, tmp_path: Path) -> None:
    source, to = str(tmp_path / "rows.parquet"), str(tmp_path / "out")
    arguments: dict[str, Any] = {"noise_multiplier": 1.0, "sample_rate": 0.5, "tasks": 1, "to": to}
    pq.write_table(pa.table({"user": [1, 1, 2], "steps": [10**12, 10**12, 1]}), source)
    with pytest.raises(Exception, match=r"InvalidInputError: user 1: .*count must be a whole number"):
        spark.users_of_files(session, source, 1e-6, **arguments)
    pq.write_table(pa.table({"user": [1, None], "steps": [1, 1]}), source)
    with pytest.raises(Exception, match="a row has no user"):
        spark.users_of_files(session, source, 1e-6, errors="row", **arguments)
    assert {each.name for each in tmp_path.iterdir()} == {"rows.parquet"}


def test_no_rows_are_a_file_without_rows(session: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": pa.array([], type=pa.string())}), tmp_path / "rows.parquet")
    arguments: dict[str, Any] = {"noise_multiplier": 1.0, "sample_rate": 0.5, "steps": 5, "tasks": 1}
    (only,) = spark.users_of_files(session, str(tmp_path / "rows.parquet"), 1e-6, to=str(tmp_path / "out"), **arguments)
    found = pq.read_table(only)
    assert found.num_rows == 0
    assert found.schema.names == ["user", *NUMBERS, "epsilon_reason"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"user": "who"}, "user must be a column; received 'who'"),
        ({"user": "steps"}, "user must not be called as one of the new columns"),
        ({"user": "listed"}, "user must be a column of numbers, text, bytes or dates; 'listed' is of type list"),
        ({"steps": "when"}, "steps must be a column of numbers; 'when' is of type date"),
        ({"sample_rate": 2}, "sample_rate, a number and no name of a column, must be"),
        ({"when": "when"}, "when needs until"),
        ({"when": "when", "until": "soon"}, "until must be comparable with the column 'when'"),
        ({"errors": "ignore"}, "errors must be one of"),
        ({"tasks": 0}, "tasks must be"),
        ({"delta": 2}, "delta must be"),
        ({"paths": "/nowhere/rows"}, "there is nothing at /nowhere/rows"),
        ({"paths": []}, "there are none in"),
        ({"paths": "what://rows"}, "a path must be one that pyarrow opens"),
        ({"to": "."}, "to must be the path of a folder that is not there yet"),
    ],
)
def test_what_is_wrong_is_said_before_the_job(
    session: Any, tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    source = tmp_path / "rows.parquet"
    pq.write_table(pa.table(rows(4) | {"listed": [[1]] * 4}), source)
    with pytest.raises(hs.InvalidInputError, match=message):
        spark.users_of_files(session, **{"paths": str(source), "delta": 1e-6, "to": str(tmp_path / "out"), **arguments})
    assert {each.name for each in tmp_path.iterdir()} == {"rows.parquet"}


def test_users_of_two_types(tmp_path: Path) -> None:
    for name, value in {"a": "1", "b": 1}.items():
        pq.write_table(pa.table({"user": [value]}), tmp_path / f"{name}.parquet")
    with pytest.raises(hs.InvalidInputError, match="user must be of one type in all files"):
        files.groups(str(tmp_path), COLUMNS)


@pytest.mark.parametrize("least", [1, 75, 100, 10**6])
def test_every_row_group_is_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, least: int) -> None:
    monkeypatch.setattr(files, "OF_A_TASK", least)
    shares, kind = files.groups(str(kept(tmp_path / "rows", rows())), COLUMNS)
    assert kind == pa.int64()
    assert all(sum(part.rows for part in share) >= least for share in shares[:-1])
    ids = [pa.record_batch({"id": pa.array([number])}) for number in range(len(shares))]
    found = pa.Table.from_batches(files.reading(shares, COLUMNS)(ids))
    assert found.column("user").to_pylist() == rows()["user"].tolist()
    assert found.column("hash").to_pylist() == files.hashes(pa.array(rows()["user"])).tolist()


def test_a_file_that_changes(tmp_path: Path) -> None:
    shares = [[files.Groups(str(tmp_path / "rows.parquet"), 0, 1, 3)]]
    pq.write_table(pa.table({"user": [1, 2]}), tmp_path / "rows.parquet")
    with pytest.raises(hs.InvalidInputError, match="has changed: 2 rows, and there were 3"):
        list(files.reading(shares, COLUMNS)([pa.record_batch({"id": pa.array([0])})]))


@pytest.mark.parametrize("name", USERS)
def test_hashes_are_equal_where_users_are(name: str) -> None:
    column = USERS[name].cast(pa.string()) if name == "categories" else USERS[name]
    found = files.hashes(column)
    assert found[0] == found[4]
    assert len(set(found.tolist())) > 1
    assert files.hashes(column.slice(3)).tolist() == found[3:].tolist()
    some = pa.concat_arrays([column, pa.nulls(1, column.type)])
    assert files.hashes(some)[:5].tolist() == found.tolist()


def test_a_task_that_is_tried_again_leaves_one_file(tmp_path: Path) -> None:
    def failing() -> Any:
        yield pa.record_batch({"user": [1]})
        raise OSError("lost")

    folder = files.Folder(str(tmp_path / "out"))
    write = folder.writing(lambda: 4)
    with pytest.raises(OSError, match="lost"):
        list(write(failing()))
    for _ in range(2):
        (done,) = write([pa.record_batch({"user": [1, 2]}), pa.record_batch({"user": [3]})])
        assert done.to_pydict() == {"name": ["part-00004.parquet"], "users": [3]}
    assert not (tmp_path / "out").exists()
    assert folder.finish({"part-00004.parquet"}, pa.schema([])) == [str(tmp_path / "out" / "part-00004.parquet")]
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["part-00004.parquet"]
    assert pq.read_table(tmp_path / "out").column("user").to_pylist() == [1, 2, 3]


def test_lines_and_answers_of_a_task_that_ran_twice_meet() -> None:
    """Rows come in another order when a task is run again, and its histories have other numbers."""
    table = {name: column for name, column in rows().items() if name != "when"}
    numbers = {name: column.astype(float) if name != "user" else column for name, column in table.items()}
    whole = pa.table({"hash": np.zeros(300, dtype=np.int32), **numbers})
    order = np.random.default_rng(2).permutation(300)

    def grouped(part: pa.Table) -> list[pa.RecordBatch]:
        return list(partitions.grouping(stop=True, tasks=1)(blocks.blocks(1)(part.combine_chunks().to_batches())))

    first, second = grouped(whole), grouped(whole.take(pa.array(order)))
    answers = list(partitions.answering(1e-6, "add-or-remove", None)(first))[len(first) :]
    answers = [batch for batch in answers if len(batch)]
    lines = [
        batch for batch in second if pa.ipc.read_schema(batch.column("schema")[0].as_buffer()).names != ["history"]
    ]
    found = pa.Table.from_batches(
        partitions.finishing("user", [*NUMBERS, "epsilon_reason"], None, True)(lines + answers)
    )
    assert said(found.to_pydict()) == here(table)
