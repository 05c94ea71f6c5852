"""Beam says what one process says, to the last bit; wrong elements go to a collection of their own, or stop all."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pytest
from apache_beam.testing.util import assert_that, equal_to

import hockeystick as hs
from hockeystick.integrations.beam import Epsilon, Epsilons, UserEpsilons
from hockeystick.integrations.users import users

ROOT = Path(__file__).parents[3]
NUMBERS = ("epsilon_lower", "epsilon_estimate", "epsilon_upper")

Rows = list[tuple[Any, ...]]


def rows(many: int = 400) -> Rows:
    """Rows of users, some of which share their history in another order; noises and rates with all their digits."""
    draw = random.Random(7)
    kinds = [(draw.uniform(0.7, 2.0), draw.choice([0.1 + 0.2, 1 / 75, 1.0]), draw.choice([0, 30])) for _ in range(6)]
    return [(draw.randrange(many // 3), *draw.choice(kinds)) for _ in range(many)]


def here(listed: Rows) -> list[tuple[Any, Epsilon]]:
    """What one process says."""
    names = ("user", "noise_multiplier", "sample_rate", "steps")
    found = users(dict(zip(names, map(np.array, zip(*listed, strict=True)), strict=True)), 1e-6)
    return [
        (user, Epsilon(int(steps), lower, estimate, upper, None))
        for user, steps, lower, estimate, upper in zip(
            *(found[name].tolist() for name in ("user", "steps", *NUMBERS)), strict=True
        )
    ]


def test_users_have_the_bits_of_one_process() -> None:
    listed = rows()
    with beam.Pipeline() as pipeline:
        found = pipeline | beam.Create(listed) | UserEpsilons(1e-6)
        assert_that(found, equal_to(here(listed)))


def test_wrong_rows_have_a_collection_of_their_own() -> None:
    wrong = [(7, 0.0, 0.1, 5), (7, 1.0, 0.1, 5), (8, math.nan, 0.5, 5), (9, 1.0, 1.5, 5), (11, 1.0, 0.5, None)]
    wrong += [(12, 1.0, 0.5, 10**12)] * 2
    fine = [(10, 1.0, 0.5, 5), (13, 1.0, 0.5, 5)]

    def same(pairs: Rows) -> None:
        said: dict[Any, Any] = dict(pairs)
        assert sorted(said) == [7, 8, 9, 11, 12]
        assert len(pairs) == 5
        for user, text in {
            7: "noise_multiplier must be", 8: "noise_multiplier must be", 9: "sample_rate must be",
            11: "steps must be", 12: "count must be",
        }.items():  # fmt: skip
            assert said[user].startswith(text)

    with beam.Pipeline() as pipeline:
        found, refused = pipeline | beam.Create(wrong + fine) | UserEpsilons(1e-6, errors="row")
        assert_that(found, equal_to(here(fine)), label="found")
        assert_that(refused, same, label="refused")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((9, 1.0, 1.5, 5), "user 9: sample_rate must be .*; received 1.5"),
        ((12, 1.0, 0.5, 10**12), "user 12: count must be a whole number"),
        ((None, 1.0, 0.5, 5), "a row has no user, so its steps cannot be assigned"),
        ((9, 1.0), "an element must be .user, noise_multiplier, sample_rate, steps."),
    ],
)
def test_wrong_rows_stop_all(row: tuple[Any, ...], message: str) -> None:
    with pytest.raises(Exception, match=message), beam.Pipeline() as pipeline:
        pipeline | beam.Create([row, row]) | UserEpsilons(1e-6)


def test_elements_have_the_bits_of_their_plans() -> None:
    elements = [{"run": "a", "sigma": 1.0, "steps": 1000}, {"run": "b", "sigma": -1.0, "steps": 5}]
    bound = hs.dp_sgd(1.0, 0.01, 1000).epsilon(1e-5)
    ends = dict(zip((*NUMBERS, "epsilon_reason"), (bound.lower, bound.estimate, bound.upper, None), strict=True))
    each: dict[str, Any] = {"columns": {"noise_multiplier": "sigma"}, "sample_rate": 0.01, "delta": 1e-5}

    def same(pairs: Rows) -> None:
        ((element, text),) = pairs
        assert element == elements[1]
        assert text.startswith("noise_multiplier must be")

    with beam.Pipeline() as pipeline:
        found, refused = pipeline | beam.Create(elements) | Epsilons(**each, errors="row")
        assert_that(found, equal_to([{**elements[0], **ends}]), label="found")
        assert_that(refused, same, label="refused")
    with (
        pytest.raises(Exception, match="run 'b': noise_multiplier must be"),
        beam.Pipeline() as pipeline,
    ):
        pipeline | beam.Create(elements) | Epsilons(**each, key="run")


def test_a_key_that_is_named_has_to_be_there() -> None:
    """Else the argument would be passed over."""
    element = {"noise_multiplier": 1.0, "steps": 10, "sample_rate": 0.1}
    message = "columns maps adjacency to 'relation', but the element has no such key"
    with pytest.raises(Exception, match=message), beam.Pipeline() as pipeline:
        pipeline | beam.Create([element]) | Epsilons(columns={"adjacency": "relation"}, delta=1e-5)


def test_what_is_wrong_is_said_before_the_pipeline() -> None:
    with pytest.raises(hs.InvalidInputError, match="a key must be one of"):
        Epsilons(colour=3)
    with pytest.raises(hs.InvalidInputError, match="delta must be"):
        UserEpsilons(2.0)
    with pytest.raises(hs.InvalidInputError, match="errors must be one of"):
        UserEpsilons(1e-6, errors="ignore")  # type: ignore[arg-type]  # what is refused


def test_the_example_prints_what_the_page_shows() -> None:
    script = ROOT / "examples" / "integrations" / "users_beam.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    page = (ROOT / "docs" / "users.md").read_text(encoding="utf-8")
    lines = sorted(done.stdout.splitlines(keepends=True))
    assert f"```text\n{''.join(lines)}```" in page
