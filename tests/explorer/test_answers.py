"""What the page is answered: the library's own numbers to the last bit, rounded outward as text, or one line."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from command import run
from hockeystick.explorer.answers import WANTS, answer, start
from hockeystick.explorer.app import OvertakenError
from hockeystick.explorer.curves import FEWER, RATES, curve
from hockeystick.explorer.given import Given
from hockeystick.explorer.keys import EXAMPLE, SLIDERS, keys_of, number, plan_of
from hockeystick.plan.file import parse_plan
from hockeystick.report.answer import epsilon_json
from hockeystick.report.document.verify import verified
from hockeystick.values.errors import HockeystickError, InvalidInputError, UnsupportedError

HOSTILE = "<script>alert(1)</script> $\\frac{1}{0}$ \x1b[31m"

SAMPLED = {"sampling": "poisson", "count": 1000}

OTHER_KEYS = [
    {**EXAMPLE, "noise_multiplier": "0.7", "adjacency": "replace-one"},
    {"noise_multiplier": "1", "sample_rate": "256/60000", "steps": "1e4", "delta": "1/60000", "sampling": "poisson"},
    {**EXAMPLE, "sampling": "without-replacement", "noise_multiplier": "2"},
    {**EXAMPLE, "sampling": "random-allocation", "epochs": "3"},
    {
        "noise_multiplier": "4",
        "draws": "64",
        "dataset_size": "6400",
        "steps": "10",
        "delta": "1e-5",
        "sampling": "with-replacement",
    },
    {
        "noise_multiplier": "1",
        "groups": "3",
        "sample_rate": "1%",
        "epochs": "2",
        "delta": "1e-5",
        "sampling": "cyclic-poisson",
    },
    {
        "noise_multiplier": "1",
        "sample_rate": "1/100",
        "dataset_size": "6400",
        "max_batch_size": "80",
        "steps": "9",
        "delta": "1e-5",
        "sampling": "truncated-poisson",
    },
    {"noise_multiplier": "20", "steps": "10", "delta": "1e-9", "sampling": "none", "adjacency": "zero-out"},
]


def mixed() -> hs.Plan:
    """A plan that no keys of DP-SGD make, with a source that is hostile."""
    return hs.Plan.from_dict(
        {
            "delta": 1e-6,
            "published": {"epsilon": 3.0, "source": HOSTILE, "note": HOSTILE},
            "round": [
                {"mechanism": "gaussian", "noise_multiplier": 1.1, **SAMPLED, "sample_rate": 0.01},
                {"mechanism": "laplace", "scale": 20.0, "count": 5},
            ],
        }
    )  # fmt: skip


def ask(want: str, keys: dict[str, str] | None = None, given: Given | None = None, **more: Any) -> dict[str, Any]:
    plan: dict[str, Any] = {"keys": dict(EXAMPLE) if keys is None else keys}
    if given is not None:
        plan = {"given": given.digest, "moved": keys or {}}
    found = answer({"want": want, "plan": plan, **more}, given)
    json.dumps(found, allow_nan=False)
    return found


@pytest.mark.parametrize("keys", [dict(EXAMPLE), *OTHER_KEYS])
def test_epsilon_is_the_library_s(keys: dict[str, str]) -> None:
    plan = plan_of(keys)[0]
    assert plan.delta_target is not None
    bound = plan.epsilon()
    found = ask("epsilon", keys)
    assert found["answer"]["epsilon"] == epsilon_json(plan, plan.delta_target, bound)["epsilon"]
    assert found["answer"]["epsilon"]["upper"] == bound.upper
    assert found["answer"]["assumptions"] == list(bound.assumptions)
    assert found["answer"]["warnings"] == list(bound.warnings)
    assert Decimal(found["quoted"]) >= Decimal(bound.upper)
    lower, upper = found["ends"]
    assert Decimal(upper) >= Decimal(bound.upper)
    assert Decimal(lower) <= Decimal(bound.lower)
    assert verified(json.dumps(found["answer"])).sound


@pytest.mark.parametrize("keys", [dict(EXAMPLE), OTHER_KEYS[2]])
def test_curves_are_the_library_s(keys: dict[str, str]) -> None:
    plan = plan_of(keys)[0]
    delta = ask("delta", keys)
    band = plan.profile().delta(np.array(delta["x"]))
    assert (delta["lower"], delta["upper"]) == (band.lower.tolist(), band.upper.tolist())
    attack = ask("attack", keys)
    rates = plan.profile().tpr(np.array(RATES))  # another profile: one remembers what it was asked
    assert (attack["lower"], attack["upper"]) == (rates.lower.tolist(), rates.upper.tolist())
    steps = ask("steps", keys)
    parts = [replace(plan, rounds=tuple(item.changed(count=int(at)) for item in plan.rounds)) for at in steps["x"]]
    by_part = hs.epsilons(parts, plan.delta_target)
    assert (steps["lower"], steps["upper"]) == (by_part.lower.tolist(), by_part.upper.tolist())
    assert steps["x"][-1] == plan.steps
    noise = ask("noise", keys)
    others = [plan_of({**keys, "noise_multiplier": repr(at)})[0] for at in noise["x"]]
    by_noise = hs.epsilons(others)
    assert (noise["lower"], noise["upper"]) == (by_noise.lower.tolist(), by_noise.upper.tolist())
    assert float(keys["noise_multiplier"]) in noise["x"]


def test_the_curve_of_delta_has_the_place_that_is_quoted() -> None:
    quoted = float(ask("epsilon")["quoted"])
    found = ask("delta")
    assert quoted in found["x"]
    assert found["upper"][found["x"].index(quoted)] <= float(EXAMPLE["delta"])


@pytest.mark.parametrize("want", ["delta", "attack", "steps", "noise"])
@pytest.mark.parametrize("keys", [dict(EXAMPLE), OTHER_KEYS[3]])
def test_texts_of_curves_are_rounded_outward(want: str, keys: dict[str, str]) -> None:
    found = ask(want, keys)
    assert len(found["text"]) == len(found["x"]) > 1
    for x, lower, upper, texts in zip(found["x"], found["lower"], found["upper"], found["text"], strict=True):
        assert float(texts[0]) == x
        assert Decimal(texts[1]) <= Decimal(lower) <= Decimal(upper) <= Decimal(texts[2])


def test_the_noise_that_is_found_meets_the_target() -> None:
    found = ask("calibrate", target="2")
    own = hs.calibrate(plan_of(EXAMPLE)[0], "noise-multiplier", hs.targets.Epsilon(2.0, 1e-5))
    assert (found["value"], found["achieved"]) == (own.value, own.achieved.upper)
    assert float(found["noise"]) >= own.value
    assert plan_of({**EXAMPLE, "noise_multiplier": found["noise"]})[0].epsilon().upper <= 2.0


@pytest.mark.parametrize("keys", [dict(EXAMPLE), *OTHER_KEYS])
def test_each_copy_gives_the_number_that_is_shown(keys: dict[str, str]) -> None:
    upper = ask("epsilon", keys)["answer"]["epsilon"]["upper"]
    copies = ask("copies", keys)
    assert parse_plan(copies["toml"], "copied").epsilon().upper == upper
    arguments = shlex.split(copies["flags"])
    assert arguments[0] == "hockeystick"
    printed = run(*arguments[1:], "--json")
    assert printed.exit_code == 0, printed.stderr
    assert json.loads(printed.stdout)["epsilon"]["upper"] == upper
    *lines, last = copies["python"].splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)  # noqa: S102  # what was just made of numbers and known names
    assert eval(last, names).upper == upper


@pytest.mark.parametrize("keys", [dict(EXAMPLE), *OTHER_KEYS])
def test_keys_of_a_plan_make_that_plan(keys: dict[str, str]) -> None:
    plan = plan_of(keys)[0]
    texts = keys_of(plan)
    assert texts is not None
    assert plan_of(texts)[0] == plan


@pytest.mark.parametrize(
    "plan",
    [
        mixed(),
        hs.dp_sgd(1.0, 0.01, 10),
        hs.dp_sgd(1.0, 0.01, 10, delta=1e-5, unit="user", records_per_unit=3),
        replace(hs.dp_sgd(1.0, 0.01, 10, delta=1e-5), published={"source": "a page"}),
        hs.dp_sgd(1.0, steps=10, sampling="random-allocation", steps_per_epoch=10, delta=1e-5),
        hs.Plan([hs.Round(hs.Gaussian(1.0, replace_one_distance=1.0), count=5)], "replace-one", 1e-5),
        hs.dp_sgd(1.0, batch_size=300, dataset_size=1000, epochs=1, sampling="shuffled", drop_last=True, delta=1e-5),
        replace(hs.dp_sgd(1.0, 0.01, 10, delta=1e-5), best_of=hs.BestOf("geometric", 5)),
    ],
)
def test_a_plan_that_the_keys_cannot_say_is_not_said_by_them(plan: hs.Plan) -> None:
    assert keys_of(plan) is None
    found = ask("epsilon", given=Given(plan, ""))
    assert found["answer"]["epsilon"]["upper"] == plan.epsilon(plan.delta_target or 1e-5).upper


def test_a_given_plan_moves_as_calibration_moves_it() -> None:
    given = Given(mixed(), "plan.toml")
    assert given.keys is None
    assert list(given.sliders) == ["noise", "sample_rate", "delta"]
    own = ask("epsilon", given=given)
    assert own["answer"]["epsilon"]["upper"] == mixed().epsilon().upper
    assert any(HOSTILE.split()[0] in text for _, text in own["lines"])
    moved = {"noise": "2", "sample_rate": "1/50", "delta": "1e-5", "adjacency": "remove"}
    other = hs.Plan.from_dict(
        {
            "adjacency": "remove",
            "round": [
                {"mechanism": "gaussian", "noise_multiplier": 2.2, **SAMPLED, "sample_rate": 0.02},
                {"mechanism": "laplace", "scale": 40.0, "count": 5},
            ],
        }
    )  # fmt: skip
    found = ask("epsilon", moved, given)
    assert found["answer"]["epsilon"]["upper"] == other.epsilon(1e-5).upper
    assert "published" not in found["answer"]["plan"], "a claim about another plan"
    assert ask("copies", moved, given)["flags"] is None
    assert parse_plan(ask("copies", moved, given)["toml"], "copied") == replace(other, delta_target=1e-5)


def test_every_curve_of_a_given_plan() -> None:
    given = Given(mixed(), "")
    for want in ("delta", "attack", "steps", "noise"):
        assert len(ask(want, given=given)["x"]) > 2
    assert ask("steps", given=given)["x"][-1] == 1005
    assert ask("calibrate", given=given, target="1.5")["parameter"] == "noise"


def test_a_state_about_another_file_is_refused() -> None:
    for given in (None, Given(hs.dp_sgd(1.0, 0.01, 7), "")):
        with pytest.raises(InvalidInputError, match="another plan file"):
            answer({"want": "epsilon", "plan": {"given": Given(mixed(), "").digest, "moved": {}}}, given)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({**EXAMPLE, "noise_multiplier": "inf"}, "noise_multiplier must be"),
        ({**EXAMPLE, "noise_multiplier": "nan"}, "noise_multiplier must be"),
        ({**EXAMPLE, "noise_multiplier": "9" * 61}, "noise_multiplier must be"),
        ({**EXAMPLE, "noise_multiplier": "<b>"}, "noise_multiplier must be a number"),
        ({**EXAMPLE, "noise_multiplier": ""}, "noise_multiplier must be a number"),
        ({**EXAMPLE, "noise_multiplier": 1.1}, "noise_multiplier must be a number"),
        ({**EXAMPLE, "noise_multiplier": ["1"]}, "noise_multiplier must be a number"),
        ({**EXAMPLE, "batch_size": "70000"}, "batch_size must be at most dataset_size"),
        ({**EXAMPLE, "batch_size": "2.5"}, "batch_size"),
        ({**EXAMPLE, "epochs": "1.5"}, "epochs must be a whole number"),
        ({**EXAMPLE, "steps": "100"}, "give either steps or epochs"),
        ({**EXAMPLE, "delta": "1"}, "delta must be"),
        ({**EXAMPLE, "sampling": "posson"}, "did you mean 'poisson'"),
        ({**EXAMPLE, "sampling": ["poisson"]}, "sampling must be one of"),
        ({**EXAMPLE, "adjacency": HOSTILE}, "adjacency must be one of"),
        ({**EXAMPLE, "nois": "1"}, "a key must be one of"),
        ({**EXAMPLE, "unit": "user"}, "a key must be one of"),
        ({"delta": "1e-5"}, "noise_multiplier is missing"),
        ({"noise_multiplier": "1", "sample_rate": "1%", "steps": "1"}, "delta is missing"),
    ],
)
@pytest.mark.parametrize("want", ["epsilon", "noise"])
def test_what_is_refused_is_refused_in_one_line(want: str, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(HockeystickError) as caught:
        ask(want, keys)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "moved", [{"scale": "2"}, {"noise_multiplier": "-1"}, {"delta": "2"}, {"steps": "3"}, {"adjacency": "x"}]
)
def test_what_a_given_plan_does_not_have_is_refused(moved: dict[str, str]) -> None:  # fmt: skip
    with pytest.raises(InvalidInputError):
        ask("epsilon", moved, Given(mixed(), ""))


@pytest.mark.parametrize(
    "question", [{}, {"want": "price"}, {"want": ["epsilon"]}, {"want": "epsilon"}, {"want": "epsilon", "plan": [1]}]
)
def test_what_is_no_question_is_refused(question: dict[str, Any]) -> None:  # fmt: skip
    with pytest.raises(InvalidInputError):
        answer(question, None)


@pytest.mark.parametrize("target", ["-1", "", "two", "inf", None])
def test_a_target_that_is_none_is_refused(target: str | None) -> None:
    with pytest.raises(InvalidInputError):
        ask("calibrate", target=target)


def test_no_noise_to_move_is_said() -> None:
    plan = hs.Plan.from_dict({"delta": 1e-6, "round": [{"mechanism": "randomized-response", "epsilon": 1, "count": 3}]})
    with pytest.raises(UnsupportedError, match="noise"):
        ask("noise", given=Given(plan, ""))


def test_a_plan_whose_epsilon_is_infinite_has_no_finite_end() -> None:
    plan = hs.Plan.from_dict({"delta": 1e-6, "round": [{"mechanism": "approximate-dp", "epsilon": 1, "delta": 0.1}]})
    assert math.isinf(plan.epsilon().upper)
    found = ask("epsilon", given=Given(plan, ""))
    assert found["answer"]["epsilon"]["upper"] is None
    assert found["headline"].startswith("epsilon is infinite")
    assert found["quoted"] == "infinite"


def test_what_the_page_knows_at_the_start() -> None:
    found = start(Given(mixed(), HOSTILE))
    json.dumps(found, allow_nan=False)
    assert found["given"]["rounds"] == 2
    assert start(None)["given"] is None
    known = {slider["key"] for slider in found["sliders"]}
    for scheme in found["schemes"]:
        assert {key for way in scheme["ways"] for key in way} <= known


def test_quotients_go_to_their_safe_side() -> None:
    sliders = {slider.key: slider for slider in SLIDERS}
    assert number(sliders["sample_rate"], "1/60000") == 1.6666666666666667e-05
    assert number(sliders["delta"], "1/60000") < 1.6666666666666667e-05


def test_there_is_an_answer_to_all_that_can_be_wanted() -> None:
    assert set(WANTS) == {"epsilon", "calibrate", "copies", "delta", "attack", "steps", "noise"}


@pytest.mark.parametrize("want", ["steps", "noise"])
def test_a_slow_curve_ends_between_two_places(want: str) -> None:
    """Nobody waits for a curve that a newer one has overtaken."""
    plan = hs.dp_sgd(2.0, batch_size=256, dataset_size=60_000, epochs=9, sampling="without-replacement", delta=1e-5)
    asked: list[int] = []

    def check() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise OvertakenError

    with pytest.raises(OvertakenError):
        curve(plan, want, check)
    assert len(asked) == 3
    curve(plan, want, lambda: asked.append(1))
    assert len(asked) == 3 + FEWER
