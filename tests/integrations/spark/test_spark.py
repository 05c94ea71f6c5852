"""The recipe for Spark gives what one process gives, to the last bit; a wrong row costs only its user the number."""

from __future__ import annotations

import datetime
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import hockeystick as hs
from hockeystick.integrations.users import users

ROOT = Path(__file__).parents[3]
NUMBERS = ("steps", "epsilon_lower", "epsilon_estimate", "epsilon_upper")
FEW = "spark.sql.execution.arrow.maxRecordsPerBatch"

Recipe = dict[str, Any]


@pytest.fixture(scope="module")
def recipe(session: Any) -> Recipe:
    """The names of the recipe; its call of ``getOrCreate`` finds the session of the tests."""
    return runpy.run_path(str(ROOT / "examples" / "integrations" / "users_spark.py"), run_name="__main__")


def found_by(recipe: Recipe, df: Any, tasks: int = 3, kind: str = "long") -> dict[Any, Any]:
    """Answers of the recipe by user."""
    answers = df.repartition(tasks, "user").mapInPandas(recipe["answered"], f"user {kind}, {recipe['NUMBERS']}")
    listed = answers.collect()
    found = {row["user"]: row for row in listed}
    assert len(found) == len(listed)
    return found


def table(many: int = 400) -> dict[str, Any]:
    """Rows of users, one of whom has half of the rows; noises and rates with all their digits."""
    draw = np.random.default_rng(7)
    return {
        "user": np.where(draw.random(many) < 0.5, 5, draw.integers(-20, 100, many)),
        "noise_multiplier": draw.choice(draw.uniform(0.7, 2.0, 3), many),
        "sample_rate": draw.choice([0.1 + 0.2, 1 / 75, 1.0], many),
        "steps": draw.choice([0, 1, 30], many),
    }


@pytest.mark.parametrize(("tasks", "batch"), [(1, 3), (3, 10_000), (7, 3)])
def test_users_have_the_bits_of_one_process(session: Any, recipe: Recipe, tasks: int, batch: int) -> None:
    here = users(table(), 1e-6)
    before = session.conf.get(FEW)
    session.conf.set(FEW, batch)
    try:
        there = found_by(recipe, session.createDataFrame(pandas.DataFrame(table())).repartition(5), tasks)
    finally:
        session.conf.set(FEW, before)
    assert there.keys() == set(here["user"].tolist())
    for place, user in enumerate(here["user"].tolist()):
        assert [there[user][name] for name in NUMBERS] == [here[name][place] for name in NUMBERS]
        assert there[user]["epsilon_reason"] is None


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("string", ["a", "b", "a", "c"]),
        ("date", [datetime.date(2026, 1, day) for day in (1, 2, 1, 3)]),
        ("binary", [b"a", b"b", b"a", b"c"]),
        ("int", [1, 2, 1, 3]),
    ],
)
def test_users_of_any_type(session: Any, recipe: Recipe, kind: str, named: list[Any]) -> None:
    rows = [(user, 1.0, 0.01, 50) for user in named]
    df = session.createDataFrame(rows, f"user {kind}, noise_multiplier double, sample_rate double, steps int")
    found = found_by(recipe, df, kind=kind)
    assert {user: row["steps"] for user, row in found.items()} == {named[0]: 100, named[1]: 50, named[3]: 50}


SCHEMA = "user long, noise_multiplier double, sample_rate double, steps long"


def test_wrong_rows_leave_their_users_without_numbers(session: Any, recipe: Recipe) -> None:
    wrong = [(7, 0.0, 0.1, 5), (7, 1.0, 0.1, 5), (8, None, 0.5, 5), (9, 1.0, 1.5, 5), (11, 1.0, 0.5, None)]
    found = found_by(recipe, session.createDataFrame([*wrong, (10, 1.0, 0.5, 5), (10, 1.0, 0.5, 5)], SCHEMA))
    said = {7: "noise_multiplier must be", 8: "noise_multiplier must be", 9: "sample_rate must", 11: "steps must be"}
    for user, text in said.items():
        assert [found[user][name] for name in NUMBERS] == [None] * 4
        assert text in found[user]["epsilon_reason"]
    here = users({"user": [10]}, 1e-6, noise_multiplier=1.0, sample_rate=0.5, steps=10)
    assert found[10]["epsilon_upper"] == here["epsilon_upper"][0]


@pytest.mark.parametrize("others", [[], [(5, 1.0, 0.5, 5)]])
def test_a_row_without_a_user_fails_the_job(session: Any, recipe: Recipe, others: list[Any]) -> None:
    df = session.createDataFrame([*others, (None, 1.0, 0.5, 5)], SCHEMA)
    with pytest.raises(Exception, match=r"InvalidInputError: (row \d+: user is missing|user must have the same type)"):
        found_by(recipe, df, tasks=1)


def test_no_users(session: Any, recipe: Recipe) -> None:
    assert found_by(recipe, session.createDataFrame([], SCHEMA)) == {}


def test_rows_of_other_arguments(session: Any) -> None:
    def added(batches: Any) -> Any:
        for batch in batches:
            rows = zip(batch["noise_multiplier"], batch["steps"], strict=True)
            plans = [hs.dp_sgd(noise, 0.01, steps) for noise, steps in rows]
            yield batch.assign(epsilon_upper=hs.epsilons(plans, 1e-5).upper)

    df = session.createDataFrame([("a", 1.0, 1000), ("c", 2.0, 500)], "run string, noise_multiplier double, steps int")
    kinds = "run string, noise_multiplier double, steps int, epsilon_upper double"
    found = {row["run"]: row["epsilon_upper"] for row in df.mapInPandas(added, kinds).collect()}
    assert found == {name: hs.dp_sgd(noise, 0.01, steps).epsilon(1e-5).upper
                     for name, noise, steps in (("a", 1.0, 1000), ("c", 2.0, 500))}  # fmt: skip


def test_the_recipe_prints_what_the_page_shows(recipe: Recipe) -> None:
    page = (ROOT / "docs" / "users.md").read_text(encoding="utf-8")
    lines = []
    for row in recipe["answers"].orderBy("user").collect():
        upper = None if row.epsilon_upper is None else np.ceil(1e6 * row.epsilon_upper) / 1e6
        lines.append(f"{row.user} {row.steps} {upper} {row.epsilon_reason}\n")
    assert f"```text\n{''.join(lines)}```" in page
