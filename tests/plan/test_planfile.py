"""Plan files: read as they were meant, written so that they read as the same plan, with a schema that agrees."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.plan.file import (
    load_plan,
    parse_plan,
    plan_from_dict,
    plan_text,
    plan_to_dict,
    save_plan,
)
from hockeystick.plan.labels import LABELS
from hockeystick.plan.mechanisms import Mechanism
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.plan.sampling import Sampling
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.plan.schema import json_schema

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "plans").glob("*.toml"))
SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
GAUSSIAN = {"mechanism": "gaussian", "noise_multiplier": 1.0}
POISSON = {**GAUSSIAN, "sampling": "poisson"}
FIXED = {**GAUSSIAN, "sampling": "without-replacement", "batch_size": 5, "dataset_size": 50}

CONTRACT = """
adjacency = "replace-one"
delta = 1e-6
[[round]]
mechanism = "gaussian"
noise_multiplier = 1.0
sampling = "poisson"
sample_rate = 0.01
count = 1e4
[[round]]
mechanism = "laplace"
scale = 10
count = 5
[published]
source = "a page"
epsilon = 3
"""


def one(item: dict[str, Any], **top: Any) -> dict[str, Any]:
    return {**top, "round": [item]}


def test_every_key_of_the_contract_is_read() -> None:
    plan = parse_plan(CONTRACT, "plan.toml")
    expected = [hs.Round(hs.Gaussian(1.0), hs.Poisson(0.01), 10_000), hs.Round(hs.Laplace(10.0), count=5)]
    assert plan == hs.Plan(expected, adjacency="replace-one", delta=1e-6)
    assert plan.published == {"source": "a page", "epsilon": 3.0}


def test_defaults() -> None:
    plan = plan_from_dict(one(GAUSSIAN))
    assert plan == hs.Plan([hs.Round(hs.Gaussian(1.0))])
    assert (plan.adjacency, plan.delta_target, plan.published) == (hs.Adjacency.ADD_OR_REMOVE, None, None)


@pytest.mark.parametrize(
    ("keys", "steps"),
    [
        ({"batch_size": 600, "dataset_size": 60_000, "epochs": 100}, 10_000),
        ({"batch_size": 256, "dataset_size": 60_000, "epochs": 60}, 14_100),  # ceil(60000 / 256) = 235
        ({"batch_size": 256.0, "dataset_size": 6e4, "epochs": 6e1}, 14_100),
        ({"batch_size": 7, "dataset_size": 7, "epochs": 3}, 3),
        ({"sample_rate": 0.4, "epochs": 2}, 6),  # ceil(1 / 0.4) = 3
        ({"sample_rate": 1 / 235, "dataset_size": 60_000, "epochs": 60}, 14_100),
        ({"sample_rate": 1 / 49, "epochs": 1}, 49),  # 1 / (1 / 49) is above 49 in doubles
        ({"sample_rate": 0.5, "count": 0}, 0),
        ({"sample_rate": 1}, 1),
    ],
)
def test_epochs_become_steps(keys: dict[str, Any], steps: int) -> None:
    plan = plan_from_dict(one({**POISSON, **keys}))
    assert plan.steps == steps
    written = plan_to_dict(plan)["round"][0]
    assert ("count" in written) != ("epochs" in written)
    assert written.get("epochs") == keys.get("epochs")
    assert plan_from_dict(one(written)) == plan


def test_sizes_are_kept_and_the_rate_follows() -> None:
    keys = plan_to_dict(plan_from_dict(one({**POISSON, "batch_size": 3, "dataset_size": 7})))["round"][0]
    assert "sample_rate" not in keys
    assert hs.Poisson(batch_size=keys["batch_size"], dataset_size=keys["dataset_size"]).sample_rate == 3 / 7


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_loads_validates_and_survives_a_round_trip(path: Path, tmp_path: Path) -> None:
    plan = load_plan(path)
    VALIDATOR.validate(tomllib.loads(path.read_text()))
    assert hs.Plan.from_dict(plan.to_dict()) == plan
    for ending in ("toml", "json"):
        copy = tmp_path / f"copy.{ending}"
        plan.save(copy)
        assert hs.load_plan(str(copy)) == plan
        assert hs.load_plan(copy).published == plan.published


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 15


magnitudes = st.floats(min_value=0.01, max_value=1e6)
epsilons = st.just(0.0) | st.floats(min_value=1e-6, max_value=100)
unit = st.just(1.0) | st.floats(min_value=1e-10, max_value=1 - 1e-6)
below_one = st.just(0.0) | st.floats(min_value=1e-100, max_value=1, exclude_max=True)
zero_up = st.floats(min_value=0, allow_infinity=False, allow_nan=False)
sizes = st.tuples(st.integers(1, 10**5), st.integers(1, 10**5)).map(sorted)
mechanisms: st.SearchStrategy[Mechanism] = st.one_of(
    st.builds(hs.Gaussian, magnitudes),
    st.builds(hs.Laplace, magnitudes),
    st.builds(hs.RandomizedResponse, epsilons),
    st.builds(hs.ApproximateDP, epsilons, below_one),
)
samplings: st.SearchStrategy[Sampling] = st.one_of(
    st.just(hs.NoSampling()),
    st.builds(hs.Poisson, unit),
    sizes.map(lambda pair: hs.Poisson(batch_size=pair[0], dataset_size=pair[1])),
    sizes.map(lambda pair: hs.WithoutReplacement(batch_size=pair[0], dataset_size=pair[1])),
)
rounds = st.one_of(
    st.builds(hs.Round, mechanisms, samplings, st.integers(0, 10**11)),
    st.builds(
        hs.Round, st.builds(hs.Gaussian, magnitudes, st.just(1.0)), st.just(hs.NoSampling()), st.integers(0, 10**11)
    ),
)
text = st.text(max_size=12)
published = st.fixed_dictionaries({}, optional={"source": text, "epsilon": zero_up, "delta": zero_up, "note": text})
plans = st.builds(
    hs.Plan,
    st.lists(rounds, min_size=1, max_size=5),
    st.sampled_from(hs.Adjacency),
    st.none() | below_one.filter(bool),
    st.none() | published,
)


def bits(plan: hs.Plan) -> str:
    """Everything in a plan; the shortest digits of a double tell it from every other."""
    return repr((plan.rounds, plan.adjacency, plan.delta_target, sorted((plan.published or {}).items())))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(plans)
def test_round_trips_are_exact(plan: hs.Plan) -> None:
    keys = plan.to_dict()
    VALIDATOR.validate(keys)
    again = hs.Plan.from_dict(keys)
    assert again == plan
    assert bits(again) == bits(plan)


@settings(max_examples=20, deadline=None)
@given(plan=plans)
def test_files_give_the_plan_back(plan: hs.Plan, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("plans")
    for ending in ("toml", "json"):
        save_plan(plan, folder / f"p.{ending}")
        assert bits(load_plan(folder / f"p.{ending}")) == bits(plan)


def test_strings_of_every_kind_survive(tmp_path: Path) -> None:
    source = "".join(map(chr, range(0x300))) + '\\"""\u2028\ufeff\U0001f600 a\r\nb'
    plan = hs.Plan([hs.Round(hs.Gaussian(1))], published={"source": source})
    for ending in ("toml", "json"):
        plan.save(tmp_path / f"p.{ending}")
        assert hs.load_plan(tmp_path / f"p.{ending}").published == {"source": source}


def test_a_lone_surrogate_has_no_utf8(tmp_path: Path) -> None:
    plan = hs.Plan([hs.Round(hs.Gaussian(1))], published={"source": "\ud800"})
    plan.save(tmp_path / "p.json")  # JSON has an escape for it
    assert hs.load_plan(tmp_path / "p.json").published == {"source": "\ud800"}
    with pytest.raises(hs.InvalidInputError, match=r"an unpaired surrogate"):
        plan.save(tmp_path / "p.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["p.json"]


def test_what_was_published_belongs_to_the_plan_alone() -> None:
    """What a plan was made from may change afterwards; the plan does not."""
    noted = {"source": "a page", "epsilon": 3.0}
    plan = hs.Plan([hs.Round(hs.Gaussian(1))], published=noted)
    noted["source"] = "another"
    assert plan.published == (2 * plan).published == {"source": "a page", "epsilon": 3.0}
    for again in (pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan), copy.copy(plan)):
        assert (again, again.published) == (plan, plan.published)


def test_numpy_numbers_are_written_as_numbers(tmp_path: Path) -> None:
    import numpy as np

    noted = {"epsilon": np.float64(0.1)}
    plan = hs.Plan([hs.Round(hs.Gaussian(np.float64(0.7)), count=int(np.int64(3)))], published=noted)
    plan.save(tmp_path / "p.toml")
    assert "noise_multiplier = 0.7\n" in (tmp_path / "p.toml").read_text()
    assert hs.load_plan(tmp_path / "p.toml") == plan


def test_what_is_written_is_short_and_plain() -> None:
    plan = hs.dp_sgd(1.0, 0.01, 10_000, delta=1e-6) + 5 * hs.Round(hs.Laplace(10.0))
    assert plan.to_dict() == {
        "adjacency": "add-or-remove",
        "delta": 1e-06,
        "round": [
            {
                "mechanism": "gaussian",
                "noise_multiplier": 1.0,
                "sampling": "poisson",
                "sample_rate": 0.01,
                "count": 10000,
            },
            {"mechanism": "laplace", "scale": 10.0, "count": 5},
        ],
    }


def test_saving_replaces_the_whole_file_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "plan.toml"
    hs.dp_sgd(1.0, 0.01, 10).save(target)
    before = target.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(hs.InvalidInputError, match=r"plan\.toml: cannot be written: no space left on device"):
        hs.dp_sgd(2.0, 0.01, 10).save(target)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]
    monkeypatch.undo()
    hs.dp_sgd(2.0, 0.01, 10).save(target)
    assert load_plan(target) == hs.dp_sgd(2.0, 0.01, 10)
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]


@pytest.mark.parametrize(
    ("plan", "name", "words"),
    [
        (hs.dp_sgd(1.0, 0.1, 1), "plan.yaml", "must end in .toml or .json"),
        (hs.dp_sgd(1.0, 0.1, 1), "plan", "must end in .toml or .json"),
        (hs.dp_sgd(1.0, 0.1, 1), "none/plan.toml", "cannot be written"),
        (hs.Plan([]), "plan.toml", "no rounds"),
        (hs.Plan([hs.Round(hs.Gaussian(1))], published={"sources": "x"}), "plan.toml", "unknown key 'sources'"),
    ],
)
def test_what_cannot_be_saved_is_refused(plan: hs.Plan, name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(hs.InvalidInputError) as caught:
        plan.save(tmp_path / name)
    assert words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_saving_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "link.toml").symlink_to(tmp_path / "real.toml")
    hs.dp_sgd(1.0, 0.1, 1).save(tmp_path / "link.toml")
    assert (tmp_path / "link.toml").is_symlink()
    assert load_plan(tmp_path / "real.toml").steps == 1


def test_json_and_toml_are_told_apart_and_a_byte_order_mark_is_no_obstacle() -> None:
    text = '\n {"round": [{"mechanism": "laplace", "scale": 2}]}'
    assert parse_plan(text, "<stdin>") == parse_plan('[[round]]\nmechanism = "laplace"\nscale = 2', "<stdin>")
    assert parse_plan(b"\xef\xbb\xbf" + text.encode(), "<stdin>").steps == 1


def test_the_schema_is_a_schema_and_its_keys_are_those_of_the_dataclasses() -> None:
    from hockeystick.values.domains import domains_of

    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(SCHEMA, allow_nan=False)) == SCHEMA
    for mechanism in MECHANISMS:
        for sampling in SAMPLINGS:
            model = SCHEMA["$defs"][f"{mechanism.__name__}{sampling.__name__}Round"]
            own = {"mechanism", "sampling", "count", *LABELS, *domains_of(mechanism), *domains_of(sampling)}
            assert set(model["properties"]) - {"epochs"} == own


GOOD = [
    one(GAUSSIAN),
    one({**GAUSSIAN, "count": 1e4}),
    one({**GAUSSIAN, "noise_multiplier": 2}),
    one({**POISSON, "sample_rate": 1}),
    one({**POISSON, "sample_rate": 0.1, "epochs": 5}),
    one({**POISSON, "sample_rate": 0.1, "dataset_size": 50}),
    one({**POISSON, "batch_size": 5, "dataset_size": 50, "epochs": 2}, adjacency="remove", delta=0.5),
    one({"mechanism": "approximate-dp", "epsilon": 0, "delta": 0}, published={"note": "n", "delta": 0}),
    one({**FIXED, "epochs": 3}, adjacency="replace-one"),
    one({**FIXED, "replace_one_distance": 1}, adjacency="replace-one"),
]
BAD: list[Any] = [
    {},
    [],
    one({}),
    {"round": []},
    {"round": GAUSSIAN},
    {"round": [1]},
    one({"mechanism": "gaussian"}),
    one({"mechanism": "gauss", "noise_multiplier": 1}),
    one({**GAUSSIAN, "noise_multiplier": 0}),
    one({**GAUSSIAN, "noise_multiplier": -1}),
    one({**GAUSSIAN, "noise_multiplier": "1"}),
    one({**GAUSSIAN, "noise_multiplier": True}),
    one({**GAUSSIAN, "noise_multiplier": None}),
    one({**GAUSSIAN, "replace_one_distance": 1.5}),
    one({**GAUSSIAN, "scale": 1}),
    one({**GAUSSIAN, "sample_rate": 0.1}),
    one({**GAUSSIAN, "epochs": 1}),
    one({**GAUSSIAN, "sampling": "shuffle"}),
    one({**GAUSSIAN, "count": -1}),
    one({**GAUSSIAN, "count": 1.5}),
    one({**GAUSSIAN, "count": 1e12 + 1}),
    one(POISSON),
    one({**POISSON, "sample_rate": 0}),
    one({**POISSON, "sample_rate": 1.1}),
    one({**POISSON, "batch_size": 5}),
    one({**POISSON, "dataset_size": 50}),
    one({**POISSON, "batch_size": 5, "dataset_size": 50, "epochs": 2, "count": 3}),
    one({**POISSON, "batch_size": 0, "dataset_size": 50}),
    one({key: FIXED[key] for key in FIXED if key != "dataset_size"}),
    one({**FIXED, "sample_rate": 0.1}),
    one({**FIXED, "batch_size": 2.5}),
    one({"mechanism": "randomized-response", "epsilon": -0.1}),
    one({"mechanism": "approximate-dp", "epsilon": 1, "delta": 1}),
    one(GAUSSIAN, adjacency="swap"),
    one(GAUSSIAN, delta=0),
    one(GAUSSIAN, delta=1),
    one(GAUSSIAN, epsilon=1),
    one(GAUSSIAN, published={"epsilon": -1}),
    one(GAUSSIAN, published={"source": 1}),
    one(GAUSSIAN, published={"other": 1}),
    one(GAUSSIAN, published=1),
]


@pytest.mark.parametrize("keys", GOOD, ids=repr)
def test_schema_and_reader_accept(keys: dict[str, Any]) -> None:
    VALIDATOR.validate(keys)
    plan_from_dict(keys)


@pytest.mark.parametrize("keys", BAD, ids=repr)
def test_schema_and_reader_refuse(keys: Any) -> None:
    assert not VALIDATOR.is_valid(keys)
    with pytest.raises(hs.InvalidInputError) as caught:
        plan_from_dict(keys)
    assert "\n" not in str(caught.value)


def test_ten_thousand_rounds_are_read() -> None:
    keys = {"round": [{"mechanism": "gaussian", "noise_multiplier": 1 + n % 7} for n in range(10_000)]}
    plan = plan_from_dict(keys)
    assert (len(plan.rounds), plan.steps) == (7, 10_000)


def test_zero_rounds_cost_nothing() -> None:
    bound = plan_from_dict(one({**GAUSSIAN, "count": 0}, delta=1e-6)).epsilon()
    assert (bound.lower, bound.upper) == (0.0, 0.0)
    assert not math.isnan(bound.estimate)


def test_numbers_have_exponents_as_people_write_them_and_are_read_back() -> None:
    plan = hs.dp_sgd(1.1, sample_rate=3e-7, steps=1000, delta=1e-6)
    assert "delta = 1e-6" in plan_text(plan)
    assert "sample_rate = 3e-7" in plan_text(plan)
    assert parse_plan(plan_text(plan), "plan.toml") == plan
