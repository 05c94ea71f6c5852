"""Parameters that are lists: read, written, described and refused like numbers, element by element."""

from __future__ import annotations

import copy
import json
import pickle
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import hockeystick as hs
from hockeystick.plan.file import parse_plan
from hockeystick.plan.schema import json_schema
from hockeystick.values.domains import MAX_ITEMS, NOISE, list_of
from toys import InTurn, Steps, register

SQUARE = ((1.0, 2.0), (3.0, 4.0))


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, Steps, InTurn)


def one(**keys: Any) -> dict[str, Any]:
    return {"round": [{"mechanism": "steps", **keys}]}


def refusal(**keys: Any) -> str:
    with pytest.raises(hs.InvalidInputError) as caught:
        hs.Plan.from_dict(one(**keys))
    assert caught.value.field in {*keys, "noises"}
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("given", [[1, 2.5], (1, 2.5), np.array([1, 2.5]), [np.float32(1), np.float64(2.5)]])
def test_lists_tuples_and_arrays_are_taken_and_kept_as_tuples_of_numbers(given: Any) -> None:
    made = Steps(given)
    assert made == Steps((1.0, 2.5))
    assert hash(made) == hash(Steps((1.0, 2.5)))
    assert all(type(noise) is float for noise in made.noises)
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    assert Steps((1.0,), np.array(SQUARE)).mixing == SQUARE  # type: ignore[arg-type]


def test_answers_are_those_of_the_list() -> None:
    plan = hs.Plan.from_dict(one(noises=[20.0, 20.0, 10.0], count=3))
    assert plan.epsilon(1e-6).upper == pytest.approx(hs.Plan([3 * hs.Round(Steps((20 / 6**0.5,)))]).epsilon(1e-6).upper)


@pytest.mark.parametrize("ending", ["toml", "json"])
@pytest.mark.parametrize("noises", [(1.5,), tuple(0.1 + 0.7 * at for at in range(2000)), (0.01, 1e6, 1 / 3)])
def test_files_give_the_same_plan_back(noises: tuple[float, ...], ending: str, tmp_path: Path) -> None:
    """Two thousand decimals on one line would be refused for their dots: lists are broken."""
    rounds = [hs.Round(Steps(noises), count=2), hs.Round(Steps(noises, SQUARE), InTurn(5)), hs.Round(hs.Gaussian(1.0))]
    plan = hs.Plan(rounds, delta=1e-6)
    path = tmp_path / f"plan.{ending}"
    plan.save(path)
    assert hs.load_plan(path) == plan
    assert hs.Plan.from_dict(plan.to_dict()) == plan
    assert hs.Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    text = path.read_text(encoding="utf-8")
    data = tomllib.loads(text) if ending == "toml" else json.loads(text)
    assert data == {"format": 1, **plan.to_dict()}
    jsonschema.Draft202012Validator(json_schema()).validate(data)


def test_the_schema_says_how_long_and_of_what() -> None:
    properties = json_schema()["$defs"]["StepsNoSamplingRound"]["properties"]
    listed = {
        "type": "array",
        "items": {"type": "number", "minimum": 0.01, "maximum": 1e6},
        "minItems": 1,
        "maxItems": 2000,
        "description": "noise multipliers of the parts",
    }
    assert properties["noises"] == listed
    assert properties["mixing"]["items"]["minItems"] == properties["mixing"]["minItems"] == 2
    validator = jsonschema.Draft202012Validator(json_schema())
    for bad in ([], [0.0], ["1"], 1.0, [[1.0]]):
        assert not validator.is_valid(one(noises=bad))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            {"noises": [1.0, 2.0, -1.0]},
            "round 1: element 3 of noises must be a number from 0.01 to 1e6; received -1.0",
        ),
        ({"noises": [1.0, True]}, "round 1: element 2 of noises must be a number from 0.01 to 1e6; received True"),
        ({"noises": [1.0, "2"]}, "received '2'"),
        ({"noises": [1.0, [2.0]]}, "round 1: element 2 of noises must be a number"),
        (
            {"noises": 1.0},
            "round 1: noises must be a list of 1 to 2000 elements, each a number from 0.01 to 1e6 "
            "(noise multipliers of the parts); received 1.0",
        ),
        ({"noises": "1, 2"}, "noises must be a list"),
        ({"noises": {"a": 1}}, "noises must be a list"),
        ({"noises": []}, "(noise multipliers of the parts); received 0 elements"),
        ({"noises": [1.0] * 2001}, "received 2001 elements"),
        ({}, "round 1: noises is missing; mechanism 'steps' needs it (noise multipliers of the parts)"),
        (
            {"noises": [1.0], "mixing": [[1.0, 2.0], [1.0, 0.0]]},
            "round 1: element 2 of element 2 of mixing must be a number from 0.01 to 1e6; received 0.0",
        ),
        ({"noises": [1.0], "mixing": [[1.0, 2.0], [1.0]]}, "element 2 of mixing must be a list of 2 elements, each"),
    ],
)
def test_a_refusal_names_the_element(keys: dict[str, Any], said: str) -> None:
    assert said in refusal(**keys)


def test_a_list_is_shown_in_few_characters() -> None:
    with pytest.raises(hs.InvalidInputError) as caught:
        Steps(("x" * 10_000,))  # type: ignore[arg-type]
    assert len(str(caught.value)) < 200
    with pytest.raises(hs.InvalidInputError, match="noises must be a list"):
        Steps(np.array(1.0))  # type: ignore[arg-type]


def test_lists_have_a_limit() -> None:
    assert len(list_of(NOISE).check([1.0] * MAX_ITEMS, "key")) == MAX_ITEMS
    with pytest.raises(hs.InvalidInputError, match=f"received {MAX_ITEMS + 1} elements"):
        list_of(NOISE).check([1.0] * (MAX_ITEMS + 1), "key")


def test_plans_are_sorted_and_merged_by_their_lists() -> None:
    kinds = [Steps((2.0,)), Steps((1.0, 3.0)), Steps((1.0,)), Steps((1.0,), SQUARE), Steps((1.0,))]
    plan = hs.Plan([hs.Round(kind) for kind in kinds])
    assert plan == hs.Plan([hs.Round(kind) for kind in reversed(kinds)])
    assert [(item.mechanism, item.count) for item in plan.rounds] == [
        (Steps((1.0,), SQUARE), 1),
        (Steps((1.0,)), 2),
        (Steps((1.0, 3.0)), 1),
        (Steps((2.0,)), 1),
    ]


def test_a_line_of_a_file_may_be_broken() -> None:
    text = '[[round]]\nmechanism = "steps"\nnoises = [\n  1.0, 2.0, # two\n  3.5,\n]\n'
    assert parse_plan(text, "<stdin>").rounds[0].mechanism == Steps((1.0, 2.0, 3.5))


@pytest.mark.slow
def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    rounds = [hs.Round(Steps((at + 0.5, *(0.5 for _ in range(1999))))) for at in range(260)]
    with pytest.raises(hs.InvalidInputError, match="give repeated rounds once"):
        hs.Plan(rounds).save(tmp_path / "plan.toml")
    assert not (tmp_path / "plan.toml").exists()


def test_the_documentation_says_how_long_and_of_what() -> None:
    import pages

    text = pages.keys()
    each = "each: number, ≥ 0.01, ≤ 1e6"
    assert f"| `noises` | list of 1 to 2000, {each}; required | noise multipliers of the parts |" in text
    assert f"| `mixing` | list of 2 to 2, each: list of 2 to 2, {each} |" in text
