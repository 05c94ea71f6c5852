"""Bad input: one line that names the file, the place, the key, what was received and what is accepted."""

from __future__ import annotations

import inspect
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import hockeystick as hs
from hockeystick.plan.file import MAX_BYTES, load_plan, parse_plan, plan_from_dict
from hockeystick.plan.mechanisms import Mechanism
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.plan.sampling import Sampling
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.values import domains


def listed(*kinds: type[Mechanism] | type[Sampling]) -> str:
    """The names of mechanisms or schemes, as errors list them."""
    return ", ".join(f"'{kind.name}'" for kind in kinds)


def with_key(key: str) -> str:
    """The mechanisms, or else the schemes, that have a key."""
    return listed(*(kind for kind in MECHANISMS if key in inspect.signature(kind).parameters)) or listed(
        *(kind for kind in SAMPLINGS if key in inspect.signature(kind).parameters)
    )


SCHEMES = listed(*SAMPLINGS)
WITH_EPOCHS = listed(*(scheme for scheme in SAMPLINGS if "steps_per_epoch" in vars(scheme)))
FIRST = listed(*MECHANISMS[:2])

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


NOISE = "noise_multiplier must be a number from 0.01 to 1e6 (standard deviation"
RATE = (
    "sample_rate must be 1 or a number from 1e-10 to 1 - 1e-6 "
    "(probability that a batch contains a given record); received "
)
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
        (
            "delta = 0\n" + ROUND,
            "delta must be a number, at least 1e-300 and less than 1 (the target delta); received 0",
        ),
        (
            "delta = 1.0\n" + ROUND,
            "delta must be a number, at least 1e-300 and less than 1 (the target delta); received 1.0",
        ),
        (
            "delta = nan\n" + ROUND,
            "delta must be a number, at least 1e-300 and less than 1 (the target delta); received nan",
        ),
        (
            'delta = "x"\n' + ROUND,
            "delta must be a number, at least 1e-300 and less than 1 (the target delta); received 'x'",
        ),
        (
            'adjacency = "swap"\n' + ROUND,
            "adjacency must be one of 'add-or-remove', 'add', 'remove', 'replace-one', 'zero-out'; received",
        ),
        (
            "adjacency = 1\n" + ROUND,
            "adjacency must be one of 'add-or-remove', 'add', 'remove', 'replace-one', 'zero-out'; received 1",
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
        (
            "sede = 1\n" + ROUND,
            "unknown key 'sede'; the keys here are adjacency, delta, round, unit, records_per_unit, "
            "partitions_per_unit, selection, published",
        ),
        ("rounds = []", "unknown key 'rounds'; did you mean 'round'?"),
        ("count = 3\n" + ROUND, "key 'count' belongs in a [[round]] table, not at the top level of the plan"),
        ("sample_rate = 3\n" + ROUND, "key 'sample_rate' belongs in a [[round]] table"),
        (
            ROUND + "delta = 1e-5",
            "round 1: key 'delta' belongs to the top level of the plan, before the first [[round]]",
        ),
        (
            ROUND + "scale = 1",
            f"round 1: key 'scale' belongs to mechanism {with_key('scale')}; ",
        ),
        (ROUND + "noise = 2", "round 1: unknown key 'noise'; did you mean 'noise_multiplier'?"),
        (ROUND + "epsilon = 1", f"round 1: key 'epsilon' belongs to mechanism {with_key('epsilon')}; "),
        (
            ROUND + "sensitivity = 2",
            f"round 1: key 'sensitivity' belongs to mechanism {with_key('sensitivity')}; mechanism 'gaussian' has the "
            "keys noise_multiplier (standard deviation of the noise / norm bound C of one record), ",
        ),
        (
            '[[round]]\nmechanism = "randomized-response"\nepsilon = 1\nk = 4',
            "round 1: unknown key 'k'; did you mean 'categories'?",
        ),
        (
            ROUND + "sample_rate = 0.1",
            f"round 1: key 'sample_rate' belongs to sampling {with_key('sample_rate')}, but this",
        ),
        (
            ROUND + "epochs = 3",
            f"round 1: key 'epochs' belongs to sampling {WITH_EPOCHS}, but this round",
        ),
        (POISSON, "round 1: poisson sampling needs sample_rate, or batch_size and dataset_size; received none of them"),
        (
            POISSON + "batch_size = 5",
            "round 1: batch_size and dataset_size must be given together; dataset_size is missing",
        ),
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
            "round 1: epochs must make up at most 1e12 steps; received 10000",
        ),
        (POISSON + "batch_size = 1\ndataset_size = 4\nepochs = 0.5", "round 1: epochs must be a whole number"),
        (
            POISSON + "sample_rate = 0.1\nreplace_one_distance = 1",
            "round 1: replace_one_distance = 1 cannot be combined",
        ),
        (ROUND + "replace_one_distance = 3", "round 1: replace_one_distance must be 2 (the default"),
        (
            ROUND + 'sampling = "poison"',
            f"round 1: sampling must be one of {SCHEMES}; received 'poison'; did",
        ),
        (
            ROUND + "sampling = 1",
            f"round 1: sampling must be one of {SCHEMES}; received 1",
        ),
        (
            '[[round]]\nmechanism = "gausian"',
            f"round 1: mechanism must be one of {FIRST}, ",
        ),
        ("[[round]]\nnoise_multiplier = 1", f"round 1: mechanism is missing; it must be one of {FIRST}, "),
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
        (ROUND.replace("[[round]]", "[round]"), "round must be a list of tables, written [[round]]"),
        (
            ROUND + "[published]\nepsilon = -1",
            "published: epsilon must be a finite number, 0 or greater (value that the source",
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
        ("", "not valid JSON: Expecting value: line 1 column 1 (char 0)"),
        (
            '{"round": [\n{]}',
            "not valid JSON: Expecting property name enclosed in double quotes: line 2",
        ),
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


HOSTILE = {
    '{"round":[' + "0," * 2_499_999 + "0]}": "a plan may have at most 100000 [[round]] tables; received 2500000",
    '{"round":[' + "{}," * 1_000_000 + "{}]}": "a plan may have at most 100000 [[round]] tables; received 1000001",
    '{"round":[' + "0," * 99_999 + "0]}": "round 1: a round must be a table of keys; received 0",
    '{"round":[' + "{}," * 99_999 + "{}]}": "round 1: mechanism is missing; it must be one of",
    "{" + ",".join(f'"a{n}":0' for n in range(500_000)) + "}": "unknown key 'a0'; the keys here are adjacency",
    "".join(f"[a{n}{'.b' * 199}]\n" for n in range(5_000)): "a plan may contain '.' at most 500000 times",
    "".join(
        f"[a{n}]\n" for n in range(500_001)
    ): "a plan may contain '[' at most 500000 times, enough for 100000 rounds; received 500001",
    "round = [" + "{}," * 500_001 + "]": "a plan may contain '{' at most 500000 times",
}
"""Files below the limit in bytes of which every entry is a fault, and the one fault that is told."""


def test_a_file_of_faults_is_refused_at_the_first_one(tmp_path: Path) -> None:
    """All faults together would take memory that grows with their number: it is the first that is told."""
    for number, text in enumerate(HOSTILE):
        (tmp_path / f"{number}").write_text(text)
    code = f"""
import resource, sys, time
from pathlib import Path
from hockeystick.values.errors import InvalidInputError
from hockeystick.plan.file import parse_plan
parts = [time.process_time()]
for number in range({len(HOSTILE)}):
    try:
        parse_plan(Path({str(tmp_path)!r}, str(number)).read_bytes(), "x")
    except InvalidInputError as error:
        print(error)
    parts.append(time.process_time())
longest = max(after - before for before, after in zip(parts, parts[1:]))
status = Path("/proc/self/status")
if status.exists():  # what getrusage says counts the process that this one was forked from, too
    peak = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(longest, peak)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *messages, figures = done.stdout.splitlines()
    for message, expected in zip(messages, HOSTILE.values(), strict=True):
        assert message.startswith(f"x: {expected}")
    seconds, kilobytes = map(float, figures.split())
    assert seconds < 5
    assert kilobytes < 600_000 * (1024 if sys.platform == "darwin" else 1)  # Darwin counts bytes


@pytest.mark.slow
def test_a_hundred_thousand_kinds_of_rounds_are_read_and_one_more_is_refused() -> None:
    rounds = [{"mechanism": "laplace", "scale": 1 + number} for number in range(100_000)]
    assert len(plan_from_dict({"round": rounds}).rounds) == 100_000
    with pytest.raises(hs.InvalidInputError, match="tables; received 100001"):
        plan_from_dict({"round": [*rounds, rounds[0]]})


def test_the_fault_of_a_later_round_comes_before_that_of_what_was_published() -> None:
    """In the order of the file, although rounds are looked at one by one."""
    text = ROUND + ROUND.replace("1.0", "-1") + "[published]\nsource = 3\n"
    assert refusal(text).startswith("round 2: noise_multiplier must be")
    assert refusal(text.replace("-1", "1")).startswith("published: source must be a string")
    assert refusal("delta = 2\n" + text).startswith("delta must be")
    many = ROUND + "".join(f"a{number} = 1\n" for number in range(1000))
    assert refusal(ROUND + many).startswith("round 2: unknown key 'a0'; the keys here are")
    assert refusal(many).startswith("round 1: unknown key 'a0'; the keys here are")


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
    hint = "`hockeystick new` writes a first one"
    cases = {
        str(big): "larger than 10 MB; give repeated rounds once, with a count",
        str(binary): "not UTF-8 text (byte 0xff at position 9); save it as UTF-8",
        str(tmp_path / "folder.toml"): "cannot be read: is a directory",
        str(tmp_path): f"the name of a plan file must end in .toml or .json; {hint}",
        str(tmp_path / "none.toml"): "cannot be read: no such file or directory",
        str(tmp_path / "plan.yaml"): f"the name of a plan file must end in .toml or .json; {hint}",
    }
    for path, message in cases.items():
        with pytest.raises(hs.InvalidInputError) as caught:
            load_plan(path)
        assert str(caught.value) == f"{path}: {message}"
    with pytest.raises(hs.InvalidInputError, match="cannot be read: embedded null byte"):
        load_plan("a\0b.toml")
    with pytest.raises(hs.InvalidInputError, match=r"^a b\.toml: cannot be read: "):
        load_plan("a\nb.toml")
    with pytest.raises(hs.InvalidInputError, match="the path of a plan file must be a string or a Path; received 3"):
        load_plan(3)  # type: ignore[arg-type]


def test_the_longest_plan_is_ten_megabytes() -> None:
    assert parse_plan(ROUND.encode() + b"#" * (MAX_BYTES - len(ROUND)), "plan.toml").steps == 1
    assert "larger than 10 MB" in refusal("#" * (MAX_BYTES + 1), "<stdin>", None)


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


hk: Any = hs  # of no type, so that everything may be handed to it
ONE = hk.dp_sgd(1.0, 0.1, 10, delta=1e-6)
TARGET = hk.targets.Epsilon(3.0, delta=1e-5)
LAW = hk.Round(hk.Gaussian(1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: hk.calibrate(ONE, "noise-multiplier", 3.0),
            "target must be one of hockeystick.targets, such as Epsi",
        ),
        (lambda: hk.calibrate(None, "noise-multiplier", TARGET), "plan must be a Plan, or a function from the param"),
        (lambda: hk.dp_sgd(1.0, 0.1, 10, sampling=["poisson"]), "sampling must be one of 'none', 'poisson', "),
        (
            lambda: hk.calibrate(ONE, 3, TARGET),
            "parameter must be a name, such as 'noise-multiplier', or a Parameter",
        ),
        (lambda: hk.Plan(LAW), "rounds must be a list of rounds; received Round(mechanism=Gaussian"),
        (lambda: hk.Plan(None), "rounds must be a list of rounds; received None"),
        (lambda: hk.Plan("gaussian"), "rounds must be a list of rounds; received 'gaussian'"),
        (
            lambda: hk.Plan([LAW], published=3),
            "published must be a dictionary, such as {'source': 'a page'}; received",
        ),
        (
            lambda: hk.Adjacency("zero"),
            "adjacency must be one of 'add-or-remove', 'add', 'remove', 'replace-one', 'zero-out'",
        ),
        (
            lambda: hk.Adjacency([]),
            "adjacency must be one of 'add-or-remove', 'add', 'remove', 'replace-one', 'zero-out'; received",
        ),
        (
            lambda: hk.Direction("both"),
            "direction must be one of 'remove', 'add', 'replace-one', 'zero-out', 'restore'; received 'both'",
        ),
        (
            lambda: ONE.epsilon(epsilon=1e-5),
            "accountant 'auto' has no option 'epsilon'; it has none; epsilon takes a delta",
        ),
        (lambda: ONE.epsilon(1e-5, accountant=[]), "accountant must be one of 'auto', 'contour', 'grid', "),
        (lambda: ONE.epsilon(1e-5, accountant="x" * 10**6), "accountant must be one of 'auto', 'contour', 'grid', "),
        (lambda: ONE.epsilon(1e-5, **{"x" * 10**6: 1.0}), "accountant 'auto' has no option 'xxx"),
        (
            lambda: hk.Plan([LAW], "x" * 10**6),
            "adjacency must be one of 'add-or-remove', 'add', 'remove', 'replace-o",
        ),
        (lambda: hk.load_plan("x" * 10**6 + ".toml"), "xxx"),
        (
            lambda: hk.Bound(2.0, 1.0, 0.0),
            "an interval must satisfy lower <= estimate <= upper; received 2.0, 1.0, 0.0",
        ),
        (
            lambda: hk.Bound(0.0, math.nan, 1.0),
            "an interval must satisfy lower <= estimate <= upper; received 0.0, nan, 1.0",
        ),
        (
            lambda: hk.Bound(0.0, 1.0, math.nan),
            "an interval must satisfy lower <= estimate <= upper; received 0.0, 1.0, nan",
        ),
        (lambda: ONE.profile().delta(10**400), "epsilon must be a number or an array of numbers; received 10000"),
        (lambda: ONE.profile().log_delta([10**400]), "epsilon must be a number or an array of numbers; received ["),
        (lambda: ONE.profile().epsilon(10**400), "delta must be a number or an array of numbers; received"),
        (lambda: ONE.profile().tpr(10**400), "fpr must be a number or an array of numbers; received"),
        (lambda: ONE.profile().bayes_risk(10**400), "prior must be a number or an array of numbers; received"),
        (lambda: ONE.profile().delta("1"), "epsilon must be a number or an array of numbers; received '1'"),
        (lambda: ONE.profile().group(2).delta(10**400), "epsilon must be a number or an array of numbers; received"),
        (lambda: ONE.profile().table("x"), "epsilon must be a number or an array of numbers; received 'x'"),
    ],
)
def test_wrong_kinds_of_arguments_take_one_line(call: Any, words: str) -> None:
    with pytest.raises(hs.InvalidInputError) as caught:
        call()
    assert str(caught.value).startswith(words)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600
    if "Round(" in words:
        assert str(caught.value).endswith("put it in a list")


@pytest.mark.parametrize(
    ("mechanism", "meant"),
    [
        ("gausian", "gaussian"),
        ("Gaussian", "gaussian"),
        ("laplce", "laplace"),
        ("randomised-response", "randomized-response"),
        ("qzxwvk", None),
        ("truncated-gaussian", None),
        ("randomized-rounding", None),
        ("exponental", "exponential"),
    ],
)
def test_another_mechanism_is_not_taken_for_a_slip(mechanism: str, meant: str | None) -> None:
    """A plan with Laplace noise says nothing of a release with discrete Laplace noise: nobody may be led to it."""
    message = refusal(f'[[round]]\nmechanism = "{mechanism}"\n')
    if meant is None:
        assert message.endswith(f"received '{mechanism}', which is not supported")
    else:
        assert message.endswith(f"received '{mechanism}'; did you mean '{meant}'?")


@pytest.mark.parametrize(
    ("keys", "hint"),
    [
        ('mechanism = "gaussian"\nsigma = 1.0', "unknown key 'sigma'; did you mean 'noise_multiplier'?"),
        ('mechanism = "laplace"\nb = 1.0', "unknown key 'b'; did you mean 'scale'?"),
        ('mechanism = "laplace"\nscale = 1.0\nsteps = 3', "unknown key 'steps'; did you mean 'count'?"),
    ],
)
def test_names_of_other_tools_are_understood(keys: str, hint: str) -> None:
    assert refusal(f"[[round]]\n{keys}\n").endswith(hint)


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


def test_a_mechanism_in_place_of_a_round_is_told_how_to_make_one() -> None:
    with pytest.raises(
        hs.InvalidInputError,
        match=r"each item of a plan must be a Round; received Gaussian\(.*wrap it, as in hs\.Round\(Gaussian",
    ):
        hs.Plan([hs.Gaussian(1.0)])  # type: ignore[list-item]
    with pytest.raises(hs.InvalidInputError, match=r"each item of a plan must be a Round; received 3$"):
        hs.Plan([3])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("scheme", "keys", "remedy"),
    [
        ("truncated-poisson", {"batch_size": 256}, "whose keys are 'sample_rate', 'dataset_size', 'max_batch_size'"),
        ("cyclic-poisson", {"batch_size": 256}, "whose keys are 'groups', 'sample_rate'"),
        ("without-replacement", {"sample_rate": 0.01}, "whose keys are 'batch_size', 'dataset_size'"),
        ("none", {"sample_rate": 0.01}, "whose keys are none"),
    ],
)
def test_a_key_of_another_scheme_is_told_the_keys_of_this_one(scheme: str, keys: dict[str, Any], remedy: str) -> None:
    with pytest.raises(hs.InvalidInputError, match="cannot be used with sampling") as caught:
        hs.dp_sgd(1.1, steps=1000, sampling=scheme, **keys)
    assert str(caught.value).endswith(remedy)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sigma": 1.0}, "dp_sgd has no argument 'sigma'; did you mean 'noise_multiplier'?"),
        ({"noise": 1.0}, "dp_sgd has no argument 'noise'; did you mean 'noise_multiplier'?"),
        ({"noise_multiplier": 1.0, "q": 0.1}, "dp_sgd has no argument 'q'; did you mean 'sample_rate'?"),
        ({"noise_multiplier": 1.0, "num_steps": 3}, "dp_sgd has no argument 'num_steps'; did you mean 'steps'?"),
        (
            {"noise_multiplier": 1.0, "colour": 3},
            "dp_sgd has no argument 'colour'; its arguments are noise_multiplier, ",
        ),
    ],
)
def test_an_argument_that_dp_sgd_does_not_have(given: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.InvalidInputError) as caught:
        hs.dp_sgd(**given)
    assert str(caught.value).startswith(message)
    assert caught.value.field == list(given)[-1]


def test_an_argument_that_a_step_does_not_have() -> None:
    with pytest.raises(hs.InvalidInputError, match="no argument 'sigma'; did you mean 'noise_multiplier'"):
        hs.Accountant().step(sigma=1.0, sample_rate=0.1)  # type: ignore[call-arg]


def test_an_argument_that_is_missing_is_said_by_python() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'noise_multiplier'"):
        hs.dp_sgd()  # type: ignore[call-arg]


def test_a_slip_in_the_name_of_a_parameter_is_said() -> None:
    plan = hs.dp_sgd(1.0, batch_size=10, dataset_size=1000, epochs=1)
    with pytest.raises(hs.InvalidInputError, match="parameter must be one of") as caught:
        hs.calibrate(plan, "batchsize", hs.targets.Epsilon(1.0, 1e-5))
    assert "received 'batchsize'; did you mean 'batch-size'?" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        (hs.Gaussian, {"sigma": 1.0}, "Gaussian has no argument 'sigma'; did you mean 'noise_multiplier'?"),
        (hs.Laplace, {"b": 1.0}, "Laplace has no argument 'b'; did you mean 'scale'?"),
        (hs.Poisson, {"q": 0.1}, "Poisson has no argument 'q'; did you mean 'sample_rate'?"),
        (hs.Round, {"mechanism": hs.Gaussian(1.0), "counts": 3}, "did you mean 'count'?"),
        (hs.Plan, {"rounds": [], "deltas": 1e-6}, "did you mean 'delta'?"),
        (hs.Laplace, {"colour": 1}, "Laplace has no argument 'colour'; its arguments are scale, replace_one_distance"),
    ],
)
def test_what_a_plan_is_made_of_refuses_names_with_the_one_that_was_meant(
    kind: Any, keys: dict[str, Any], message: str
) -> None:
    with pytest.raises(hs.InvalidInputError) as caught:
        kind(**keys)
    assert str(caught.value).endswith(message)


def test_help_names_the_arguments_of_a_mechanism_and_a_wrong_number_of_them_is_a_type_error() -> None:
    assert list(inspect.signature(hs.Gaussian).parameters) == ["noise_multiplier", "replace_one_distance"]
    with pytest.raises(TypeError, match="noise_multiplier"):
        hs.Gaussian()  # type: ignore[call-arg]  # as people forget it
    with pytest.raises(hs.InvalidInputError, match="must be a number"):
        hs.Gaussian("1 apple")  # type: ignore[arg-type]


@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
def test_noise_0_is_refused_by_its_own_name(adjacency: str) -> None:
    with pytest.raises(hs.UnsupportedError, match="noise_multiplier 0 protects nobody"):
        hs.dp_sgd(0.0, sample_rate=0.1, steps=10, adjacency=adjacency)
