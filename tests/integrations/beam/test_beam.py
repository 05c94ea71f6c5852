"""The recipe for Beam gives what one process gives, to the last bit; a wrong row costs only its user the number."""

from __future__ import annotations

import math
import random
import runpy
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to

from hockeystick.integrations.users import users

ROOT = Path(__file__).parents[3]

Rows = list[tuple[Any, ...]]
Recipe = dict[str, Any]


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return runpy.run_path(str(ROOT / "examples" / "integrations" / "users_beam.py"), run_name="__main__")


def answers(pipeline: Any, recipe: Recipe, rows: Rows) -> Any:
    """Answers of the recipe."""
    grouped = pipeline | beam.Create(rows) | beam.GroupBy(lambda row: row[0])
    return grouped | beam.BatchElements(min_batch_size=10) | beam.FlatMap(recipe["answered"])


def here(recipe: Recipe, rows: Rows) -> list[dict[str, Any]]:
    """Answers of one process."""
    found = users(dict(zip(recipe["NAMES"], zip(*rows, strict=True), strict=True)), 1e-6)
    listed = zip(*(column.tolist() for column in found.values()), strict=True)
    return [dict(zip(found, answer, strict=True)) for answer in listed]


def test_users_have_the_bits_of_one_process(recipe: Recipe) -> None:
    draw = random.Random(7)
    kinds = [(draw.uniform(0.7, 2.0), draw.choice([0.1 + 0.2, 1 / 75, 1.0]), draw.choice([0, 30])) for _ in range(6)]
    rows = [(draw.randrange(130), *draw.choice(kinds)) for _ in range(400)]
    with beam.Pipeline() as pipeline:
        assert_that(answers(pipeline, recipe, rows), equal_to(here(recipe, rows)))


def test_wrong_rows_leave_their_users_without_numbers(recipe: Recipe) -> None:
    wrong = [(7, 0.0, 0.1, 5), (7, 1.0, 0.1, 5), (8, math.nan, 0.5, 5), (9, 1.0, 1.5, 5), (11, 1.0, 0.5, None)]
    wrong += [(12, 1.0, 0.5, 10**12)] * 2
    fine = [(10, 1.0, 0.5, 5), (13, 1.0, 0.5, 5), (10, 1.0, 0.5, 6)]
    said = {7: "noise_multiplier must be", 8: "noise_multiplier must be", 9: "sample_rate must be",
            11: "steps must be", 12: "count must be"}  # fmt: skip

    def same(found: list[dict[str, Any]]) -> None:
        refused = {answer["user"]: answer for answer in found if answer["epsilon_reason"] is not None}
        assert refused.keys() == said.keys()
        for user, answer in refused.items():
            assert said[user] in answer["epsilon_reason"]
            assert math.isnan(answer["epsilon_upper"])
        right = sorted((answer for answer in found if answer["user"] in (10, 13)), key=lambda answer: answer["user"])
        assert right == here(recipe, fine)

    with beam.Pipeline() as pipeline:
        assert_that(answers(pipeline, recipe, wrong + fine), same)


@pytest.mark.parametrize(
    ("row", "message"), [((None, 1.0, 0.5, 5), "user is missing"), ((9, 1.0), "zip.. argument 2 is shorter")]
)
def test_rows_that_stop_all(recipe: Recipe, row: tuple[Any, ...], message: str) -> None:
    with pytest.raises(Exception, match=message), beam.Pipeline() as pipeline:
        answers(pipeline, recipe, [row, row])


def test_the_recipe_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "integrations" / "users_beam.py"), run_name="__main__")
    lines = sorted(capsys.readouterr().out.splitlines(keepends=True))
    page = (ROOT / "docs" / "users.md").read_text(encoding="utf-8")
    assert f"```text\n{''.join(lines)}```" in page
