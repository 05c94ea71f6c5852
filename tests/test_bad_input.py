"""Bad input: one line that names the file, the place, the key, what was received and what is accepted."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import hockeystick as hs
from hockeystick import domains
from hockeystick.planfile import MAX_BYTES, load_plan, parse_plan, plan_from_dict

ROUND = '[[round]]\nmechanism = "gaussian"\nnoise_multiplier = 1.0\n'
POISSON = ROUND + 'sampling = "poisson"\n'


def refusal(content: str | bytes, source: str = "plan.toml", syntax: str | None = "TOML") -> str:
    with pytest.raises(hs.InvalidInputError) as caught:
        parse_plan(content, source, syntax)
    message = str(caught.value)
    assert message.isprintable(), "one line"
    assert message.startswith(f"{source}: ")
    assert len(message) < 400
    return message.removeprefix(f"{source}: ")


NOISE = "noise_multiplier must be a number from 1e-12 to 1e12 (standard deviation"
RATE = "sample_rate must be a number greater than 0 and at most 1 (probability that a record enters a batch); received "
COUNT = "count must be a whole number from 0 to 1e12 (number of rounds); received "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROUND + ROUND.replace("1.0", "-1.0"), "round 2: " + NOISE),
        (ROUND.replace("1.0", "0"), "round 1: " + NOISE),
        (ROUND.replace("1.0", "nan"), "round 1: " + NOISE),
        (ROUND.replace("1.0", "-inf"), "round 1: " + NOISE),
        (ROUND.replace("1.0", "true"), "round 1: " + NOISE),
        (ROUND.replace("1.0", '"1.0"'), "round 1: " + NOISE),
        (ROUND.replace("1.0", "[1.0]"), "round 1: " + NOISE),
        (ROUND.replace("1.0", "2020-01-01"), "round 1: " + NOISE),
        (ROUND.replace("1.0", "1" + "0" * 400), "round 1: " + NOISE),
        (POISSON + "sample_rate = 0.0", "round 1: " + RATE + "0.0"),
        (POISSON + "sample_rate = 1.0000001", "round 1: " + RATE + "1.0000001"),
        (POISSON + "sample_rate = -0.1", "round 1: " + RATE + "-0.1"),
        (POISSON + "sample_rate = nan", "round 1: " + RATE + "nan"),
        (ROUND + "count = -1", "round 1: " + COUNT + "-1"),
        (ROUND + "count = 1.5", "round 1: " + COUNT + "1.5"),
        (ROUND + "count = 1000000000001", "round 1: " + COUNT + "1000000000001"),
        (ROUND + "count = 1e13", "round 1: " + COUNT + "10000000000000.0"),
        (ROUND + "count = inf", "round 1: " + COUNT + "inf"),
        (ROUND + "count = true", "round 1: " + COUNT + "True"),
        ("delta = 0\n" + ROUND, "delta must be a number greater than 0 and less than 1 (the target delta); received 0"),
        (
            "delta = 1.0\n" + ROUND,
            "delta must be a number greater than 0 and less than 1 (the target delta); received 1.0",
        ),
        (
            "delta = nan\n" + ROUND,
            "delta must be a number greater than 0 and less than 1 (the target delta); received nan",
        ),
        (
            'delta = "x"\n' + ROUND,
            "delta must be a number greater than 0 and less than 1 (the target delta); received 'x'",
        ),
        (
            'adjacency = "swap"\n' + ROUND,
            "adjacency must be one of 'add-or-remove', 'add', 'remove', 'replace-one'; received",
        ),
        (
            "adjacency = 1\n" + ROUND,
            "adjacency must be one of 'add-or-remove', 'add', 'remove', 'replace-one'; received 1",
        ),
        ('adjacency = "add-or-remov"\n' + ROUND, "adjacency must be one of"),
        (
            "[[round]]\nmechanism = 'gaussian'\nnoise_multipler = 1",
            "round 1: unknown key 'noise_multipler'; did you mean",
        ),
        (
            ROUND + "colour = 1",
            "round 1: unknown key 'colour'; the keys here are mechanism, noise_multiplier, replace_one",
        ),
        ("sede = 1\n" + ROUND, "unknown key 'sede'; the keys here are adjacency, delta, round, published"),
        ("rounds = []", "unknown key 'rounds'; did you mean 'round'?"),
        ("count = 3\n" + ROUND, "key 'count' belongs in a [[round]] table, not at the top level of the plan"),
        ("sample_rate = 3\n" + ROUND, "key 'sample_rate' belongs in a [[round]] table"),
        (
            ROUND + "delta = 1e-5",
            "round 1: key 'delta' belongs to the top level of the plan, before the first [[round]]",
        ),
        (
            ROUND + "scale = 1",
            "round 1: key 'scale' belongs to mechanism 'laplace'; mechanism 'gaussian' has the keys noise",
        ),
        (ROUND + "epsilon = 1", "round 1: key 'epsilon' belongs to mechanism 'randomized-response', 'approximate-dp'"),
        (
            ROUND + "sample_rate = 0.1",
            "round 1: key 'sample_rate' belongs to sampling 'poisson', and this round has sampling",
        ),
        (
            ROUND + "epochs = 3",
            "round 1: key 'epochs' belongs to sampling 'poisson', 'without-replacement', and this round",
        ),
        (POISSON, "round 1: poisson sampling needs sample_rate, or batch_size and dataset_size; received none of them"),
        (POISSON + "batch_size = 5", "round 1: batch_size and dataset_size go together; dataset_size is missing"),
        (
            POISSON + "batch_size = 5\ndataset_size = 4",
            "round 1: batch_size must be at most dataset_size; received 5 and 4",
        ),
        (POISSON + "batch_size = 0\ndataset_size = 4", "round 1: batch_size must be a whole number from 1 to 1e12"),
        (POISSON + "batch_size = 1\ndataset_size = 4\nsample_rate = 0.3", "round 1: sample_rate 0.3 contradicts"),
        (
            POISSON + "batch_size = 1\ndataset_size = 4\ncount = 3\nepochs = 2",
            "round 1: give either count or epochs; received both",
        ),
        (
            POISSON + "sample_rate = 1e-9\nepochs = 1e4",
            "round 1: epochs must come to at most 1e12 steps; received 10000",
        ),
        (POISSON + "batch_size = 1\ndataset_size = 4\nepochs = 0.5", "round 1: epochs must be a whole number"),
        (
            POISSON + "sample_rate = 0.1\nreplace_one_distance = 1",
            "round 1: replace_one_distance = 1 cannot be combined",
        ),
        (ROUND + "replace_one_distance = 3", "round 1: replace_one_distance must be 2 (the default"),
        (
            ROUND + 'sampling = "poison"',
            "round 1: sampling must be one of 'none', 'poisson', 'without-replacement'; received 'poison'; did",
        ),
        (
            ROUND + "sampling = 1",
            "round 1: sampling must be one of 'none', 'poisson', 'without-replacement'; received 1",
        ),
        (
            '[[round]]\nmechanism = "gausian"',
            "round 1: mechanism must be one of 'gaussian', 'laplace', 'randomized-response'",
        ),
        ("[[round]]\nnoise_multiplier = 1", "round 1: mechanism is missing; it must be one of 'gaussian', 'laplace'"),
        ('[[round]]\nmechanisms = "laplace"', "round 1: unknown key 'mechanisms'; did you mean 'mechanism'?"),
        (
            '[[round]]\nmechanism = "laplace"',
            "round 1: scale is missing; mechanism 'laplace' needs it (noise scale b / L1",
        ),
        ("", "the plan has no rounds; it needs at least one [[round]] table (in JSON: a list under the key 'round')"),
        ("delta = 1e-5", "the plan has no rounds"),
        ("round = []", "the plan has no rounds"),
        ("round = 3", "round must be a list of [[round]] tables; received 3"),
        ("round = [3]", "round 1: a round must be a table of keys; received 3"),
        (ROUND.replace("[[round]]", "[round]"), "round must be written [[round]]"),
        (
            ROUND + "[published]\nepsilon = -1",
            "published: epsilon must be a finite number, 0 or greater (what the source",
        ),
        (ROUND + "[published]\nsource = 1", "published: source must be a string; received 1"),
        (ROUND + "[published]\nsourc = 'x'", "published: unknown key 'sourc'; did you mean 'source'?"),
        ("published = 1\n" + ROUND, "published must be a table of keys; received 1"),
        (ROUND + "count = 1e12\n" + ROUND + "count = 1", "count must be a whole number from 0 to 1e12"),
        ("delta = " + "1" * 5000, "not valid TOML: Exceeds the limit"),
        (ROUND + '"a\\nb\\u001b[31m" = 1', "round 1: unknown key 'a\\nb\\x1b[31m'"),
        (ROUND.replace("1.0", '"' + "x" * 1000 + '"'), "round 1: " + NOISE),
    ],
)
def test_toml(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "a plan must be a table of keys (in JSON: an object); received [1, 2]"),
        ("null", "a plan must be a table of keys (in JSON: an object); received None"),
        ("3", "a plan must be a table of keys (in JSON: an object); received 3"),
        ("", "not valid JSON: Expecting value (at line 1, column 1)"),
        ('{"round": [\n{]}', "not valid JSON: Expecting property name enclosed in double quotes (at line 2, column 2)"),
        ('{"delta": NaN}', "not valid JSON: NaN is not a JSON number"),
        ('{"delta": -Infinity}', "not valid JSON: -Infinity is not a JSON number"),
        ('{"delta": 0.1, "delta": 0.2}', "key 'delta' is given twice in one object; give it once"),
        ('{"delta": ' + "1" * 5000 + "}", "not valid JSON: Exceeds the limit"),
        ('{"round": [{"mechanism": "gaussian", "noise_multiplier": 1e999}]}', "round 1: " + NOISE),
        ('{"round": [{"mechanism": "gaussian", "noise_multiplier": null}]}', "round 1: " + NOISE),
        ('{"round": [{"mechanism": null}]}', "round 1: mechanism must be one of"),
        ('{"round": [{"mechanism": {}}]}', "round 1: mechanism must be one of"),
        ('{"round": null}', "round must be a list of [[round]] tables; received None"),
        ('{"round": [{"mechanism": "laplace", "scale": 1}], "published": null}', "published must be a table of keys"),
    ],
)
def test_json(text: str, message: str) -> None:
    assert refusal(text, "plan.json", "JSON").startswith(message)


@pytest.mark.parametrize("text", ["delta = 1e-5\ndelta = 1e-6\n" + ROUND, "\ndelta = \n"])
def test_syntax_errors_name_the_line(text: str) -> None:
    message = refusal(text)
    assert message.startswith("not valid TOML: ")
    assert "line 2, column " in message


@pytest.mark.parametrize(
    ("text", "syntax"), [("round = " + "[" * 100_000, "TOML"), ('{"round": ' + "[" * 100_000, "JSON")]
)
def test_deep_nesting_is_refused(text: str, syntax: str) -> None:
    assert "nested too deeply" in refusal(text, "plan", syntax)


def test_dotted_keys_do_not_take_for_ever() -> None:
    assert refusal("\n" + ".".join("a" * 100_000) + " = 1\n").startswith("line 2 has more than 200 dots")


def test_values_are_repeated_but_long_ones_are_cut() -> None:
    assert refusal(ROUND.replace("1.0", "-1.25")).endswith("; received -1.25")
    assert "xxx..." in refusal(ROUND.replace("1.0", '"' + "x" * 1000 + '"'))
    assert "..." in refusal("a" * 5000 + " = 1\n" + ROUND)


def test_the_first_fault_in_the_file_is_named_and_a_misspelt_key_before_what_is_missing() -> None:
    text = ROUND.replace("1.0", "-1") + ROUND.replace("1.0", "-2")
    assert refusal(text).startswith("round 1: ")
    assert refusal("delta = 2\n" + text).startswith("delta ")
    assert "did you mean 'scale'" in refusal('[[round]]\nmechanism = "laplace"\nscal = 1\n')


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    big = tmp_path / "big.toml"
    big.write_bytes(b"#" * (MAX_BYTES + 1))
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"delta = 1\xff")
    (tmp_path / "folder.toml").mkdir()
    cases = {
        str(big): "longer than 10 MB; give rounds that repeat once, with a count",
        str(binary): "not UTF-8 text (byte 0xff at position 9); save it as UTF-8",
        str(tmp_path / "folder.toml"): "cannot be read: is a directory",
        str(tmp_path): "is a directory; a plan is a file whose name ends in .toml or .json",
        str(tmp_path / "none.toml"): "cannot be read: no such file or directory",
        str(tmp_path / "plan.yaml"): "the name of a plan file ends in .toml or .json",
    }
    for path, message in cases.items():
        with pytest.raises(hs.InvalidInputError) as caught:
            load_plan(path)
        assert str(caught.value) == f"{path}: {message}"
    with pytest.raises(hs.InvalidInputError, match="cannot be read: embedded null byte"):
        load_plan("a\0b.toml")
    with pytest.raises(hs.InvalidInputError, match=r"^a b\.toml: cannot be read: "):
        load_plan("a\nb.toml")
    with pytest.raises(hs.InvalidInputError, match="a plan file is named by a path; received 3"):
        load_plan(3)  # type: ignore[arg-type]


def test_the_longest_plan_is_ten_megabytes() -> None:
    assert parse_plan(ROUND.encode() + b"#" * (MAX_BYTES - len(ROUND)), "plan.toml").steps == 1
    assert "longer than 10 MB" in refusal("#" * (MAX_BYTES + 1), "<stdin>", None)


def test_the_error_names_its_field() -> None:
    with pytest.raises(hs.InvalidInputError) as caught:
        parse_plan(ROUND.replace("1.0", "-1"), "plan.toml")
    assert caught.value.field == "noise_multiplier"


def test_dictionaries_are_refused_like_files_without_a_file_name() -> None:
    with pytest.raises(hs.InvalidInputError, match=r"^round 1: noise_multiplier must be"):
        plan_from_dict({"round": [{"mechanism": "gaussian", "noise_multiplier": -1}]})
    not_plans: list[Any] = [
        [],
        None,
        "x",
        {1: 2},
        {"round": [{1: 2}]},
        {"round": [{"mechanism": "laplace", "scale": 1, 2: 3}]},
    ]
    for data in not_plans:
        with pytest.raises(hs.InvalidInputError):
            plan_from_dict(data)


class Awkward:
    def __repr__(self) -> str:
        raise RuntimeError("no")


NOT_NUMBERS: list[Any] = ["1", None, True, [1], {}, 1j, float("nan"), float("inf"), 10**400, Awkward(), object()]


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "build",
    [
        lambda x: hs.Gaussian(x),
        lambda x: hs.Gaussian(1, x),
        lambda x: hs.Laplace(x),
        lambda x: hs.RandomizedResponse(x),
        lambda x: hs.ApproximateDP(x, 0.1),
        lambda x: hs.ApproximateDP(0.1, x),
        lambda x: hs.Round(hs.Gaussian(1), count=x),
        lambda x: hs.Poisson(batch_size=x, dataset_size=10),
        lambda x: hs.dp_sgd(1.0, 0.1, 10).delta(x),
        lambda x: hs.Plan([x]),
    ],
)
def test_what_is_no_number_is_refused_in_one_line(build: Any, value: Any) -> None:
    with pytest.raises(hs.InvalidInputError) as caught:
        build(value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_numbers_of_every_type_are_numbers() -> None:
    assert hs.Gaussian(Fraction(1, 4)).noise_multiplier == 0.25  # type: ignore[arg-type]
    assert type(hs.Gaussian(2).noise_multiplier) is float
    assert hs.Round(hs.Gaussian(1), count=1e4).count == 10_000  # type: ignore[arg-type]
    assert type(hs.Poisson(batch_size=2.0, dataset_size=10).batch_size) is int  # type: ignore[arg-type]


def test_shown_values_fit_on_a_line() -> None:
    assert domains.shown("a\nb") == repr("a\nb")
    assert len(domains.shown("x" * 10_000)) <= domains.SHOWN_LENGTH
    assert domains.shown(10**5000) == "a value of type int"
    assert domains.one_line("a\r\n\tb\x1b[0m \ud800c") == "a b [0m c"


def test_a_plan_read_from_json_text_is_not_confused_by_a_brace_in_toml() -> None:
    text = json.dumps({"round": [{"mechanism": "laplace", "scale": 1}]})
    assert parse_plan(text, "<stdin>").steps == 1
    assert "not valid TOML" in refusal("[1, 2]", "<stdin>", None)
    assert "not valid JSON" in refusal("{1 = 2}", "<stdin>", None)
