"""The command line: what it prints, what it refuses, and how it ends."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import hockeystick as hs
from command import refused, run
from hockeystick.cli.progress import progress

PURE = '[[round]]\nmechanism = "randomized-response"\nepsilon = 0.5\ncount = 3\n'
BESIDE = "give either a PLAN or flags, not both; received 'a.toml' and"

FLAGS = ["--noise-multiplier", "2", "--sample-rate", "0.01", "--steps", "1e1"]


@pytest.fixture
def pure(tmp_path: Path) -> Path:
    path = tmp_path / "pure.toml"
    path.write_text("delta = 1e-6\n" + PURE)
    return path


def test_epsilon_as_json_is_what_the_library_says(pure: Path) -> None:
    result = run("epsilon", pure, "--json")
    bound = hs.load_plan(pure).epsilon()
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    asked = {"delta": 1e-6, "accountant": "auto", "options": {}, "gap": None, "proof": False}
    assert re.fullmatch("[0-9a-f]{64}", found.pop("checksum"))
    assert found == {
        "format": 1,
        "epsilon": {"lower": bound.lower, "estimate": bound.estimate, "upper": bound.upper},
        "delta": 1e-6,
        "adjacency": "add-or-remove",
        "accountant": bound.accountant,
        "guarantee": "certified",
        "direction": bound.direction,
        **({} if bound.reason is None else {"reason": bound.reason}),
        "assumptions": list(bound.assumptions),
        "warnings": [],
        "answer": "epsilon",
        "asked": asked,
        "plan": hs.load_plan(pure).to_dict(),
        "rounds": 3,
        "version": hs.__version__,
    }
    assert repr(bound.upper) in result.stdout


def test_delta_as_json_is_what_the_library_says(pure: Path) -> None:
    keys = json.loads(run("delta", pure, "--epsilon", "1", "--json").stdout)
    bound = hs.load_plan(pure).delta(1.0)
    assert keys["delta"] == {"lower": bound.lower, "estimate": bound.estimate, "upper": bound.upper}
    assert keys["log_delta"]["upper"] == bound.log_delta.upper
    assert (keys["epsilon"], keys["guarantee"], keys["adjacency"]) == (1.0, "certified", "add-or-remove")


def test_delta_that_is_exactly_zero(pure: Path) -> None:
    keys = json.loads(run("delta", pure, "--epsilon", "1.5", "--json").stdout)
    assert keys["delta"]["upper"] == 0
    assert keys["log_delta"] == {"lower": None, "estimate": None, "upper": None}


def test_infinity_is_null_with_a_reason() -> None:
    result = run("epsilon", *FLAGS, "--delta", "0", "--json")
    keys = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(name))
    assert keys["epsilon"]["upper"] is None
    assert keys["reason"]
    assert "epsilon is infinite at delta = 0" in run("epsilon", *FLAGS, "--delta", "0").stdout


def test_pure_epsilon_is_answered_at_delta_zero(pure: Path) -> None:
    assert json.loads(run("epsilon", pure, "--delta", "0", "--json").stdout)["epsilon"]["upper"] == pytest.approx(1.5)


def test_for_people(pure: Path) -> None:
    result = run("epsilon", pure)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout.startswith("epsilon <= 1.50 at delta = 1e-6\n")
    for words in ("certified interval", "rounds", "accountant", "every round sees the whole dataset"):
        assert words in result.stdout
    assert "\x1b" not in result.stdout
    assert run("delta", pure, "--epsilon", "1").stdout.startswith("delta <= 0.")


def test_the_first_line_says_which_noise_a_threshold_is_for(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    for mechanism, noise in (("laplace-threshold", "scale"), ("gaussian-threshold", "noise_multiplier")):
        keys = f'[[round]]\nmechanism = "{mechanism}"\n{noise} = 3\nthreshold = 60\nkeys = 1\n'
        for said, kind in (("", "continuous"), ('noise = "integer"\n', "integer")):
            path.write_text(keys + said)
            for asked in (("epsilon", "--delta", "1e-5"), ("delta", "--epsilon", "0.5")):
                first = run(asked[0], path, *asked[1:]).stdout.partition("\n")[0]
                assert first.endswith(f" ({kind} noise)"), first


def test_flags_describe_dp_sgd() -> None:
    keys = json.loads(run("epsilon", *FLAGS, "--delta", "1e-5", "--adjacency", "remove", "--json").stdout)
    plan = hs.dp_sgd(2.0, 0.01, 10, adjacency="remove")
    assert keys["epsilon"]["upper"] == plan.epsilon(1e-5).upper
    assert keys["adjacency"] == "remove"


def test_epochs_and_their_steps_are_shown() -> None:
    sizes = ("--batch-size", "300", "--dataset-size", "1e3", "--epochs", "2")
    shown = run("epsilon", "--noise-multiplier", "4", *sizes, "--delta", "1e-2").stdout
    assert "rounds              8 (2 epochs of 4)\n" in "".join(line.rstrip() + "\n" for line in shown.splitlines())
    assert "warning" in shown


def test_standard_input_in_both_syntaxes() -> None:
    as_json = '{"delta": 0.1, "round": [{"mechanism": "randomized-response", "epsilon": 0.5, "count": 3}]}'
    first, second = (run("epsilon", "-", "--json", stdin=text) for text in (as_json, "delta = 0.1\n" + PURE))
    assert first.exit_code == 0
    assert first.stdout == second.stdout


def test_the_flag_delta_beats_the_file(pure: Path) -> None:
    assert json.loads(run("epsilon", pure, "--delta", "0.1", "--json").stdout)["delta"] == 0.1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["epsilon"], "no plan: give a PLAN file, - to read one from standard input"),
        (["epsilon", "none.toml"], "none.toml: cannot be read: no such file or directory"),
        (["epsilon", "plan.txt"], "plan.txt: the name of a plan file must end in .toml or .json"),
        (["epsilon", *FLAGS], "no delta: give --delta or set the key delta in the plan"),
        (
            ["epsilon", "a.toml", *FLAGS],
            "give either a PLAN or flags, not both; received 'a.toml' and --noise",
        ),
        (["epsilon", "a.toml", "--adjacency", "add"], "give either a PLAN or flags, not both; received"),
        (["epsilon", "--steps", "3"], "--noise-multiplier is missing"),
        (
            ["epsilon", "--noise-multiplier", "-1", *FLAGS[2:]],
            "--noise-multiplier must be 0 or a number from 0.01 to 1e6",
        ),
        (
            ["epsilon", "--noise-multiplier", "nan", *FLAGS[2:]],
            "--noise-multiplier must be 0 or a number from 0.01 to 1e6",
        ),
        (
            ["epsilon", *FLAGS[:2], *FLAGS[4:], "--sample-rate", "2"],
            "--sample-rate must be 1 or a number from 1e-10 to 1 - 1e-6",
        ),
        (["epsilon", *FLAGS[:4], "--steps", "1.5"], "--steps must be a whole number from 0 to 1e12"),
        (["epsilon", *FLAGS, "--epochs", "1"], "give either steps or epochs; received both"),
        (["epsilon", *FLAGS[:4]], "give either steps or epochs; received neither"),
        (["epsilon", *FLAGS[:4], "--epochs", "1e11"], "--epochs must make up at most 1e12 steps"),
        (["epsilon", *FLAGS[:2], "--steps", "3"], "poisson sampling needs sample_rate, or batch_size and dataset_size"),
        (["epsilon", *FLAGS, "--delta", "1"], "--delta must be 0 or a number, at least 1e-300 and less than 1"),
        (["epsilon", *FLAGS, "--delta", "-1"], "--delta must be 0 or a number, at least 1e-300 and less than 1"),
        (["epsilon", *FLAGS, "--delta", "0.1", "--gap", "0"], "--gap must be a number greater than 0 and at most 1"),
        (["epsilon", *FLAGS, "--delta", "0.1", "--accountant", "x"], "--accountant must be one of 'auto'"),
        (["epsilon", *FLAGS, "--delta", "0.1", "--adjacency", "x"], "--adjacency must be one of 'add-or-remove'"),
        (["delta", *FLAGS], "Missing option '--epsilon'. For example: hockeystick delta plan.toml --epsilon 2"),
        (["calibrate", "--epsilon", "3"], "Missing argument 'PARAMETER'. For example: hockeystick calibrate "),
        (["epsilon", "a.toml", "--groups", "3"], f"{BESIDE} --groups; set them in the plan file"),
        (
            ["epsilon", "a.toml", *FLAGS[:4]],
            f"{BESIDE} --noise-multiplier, --sample-rate; set them in the plan file",
        ),
        (["delta", *FLAGS, "--epsilon", "-1"], "--epsilon must be a number from 0 to 1e4"),
        (["delta", *FLAGS, "--epsilon", "inf"], "--epsilon must be a number from 0 to 1e4"),
        (
            ["delta", *FLAGS, "--epsilon", "x"],
            "Invalid value for '--epsilon': 'x' is not a number; write one such as 60000, 1e-5, 1/60000 or 1%.",
        ),
        (["epsilon", *FLAGS, "--delt", "1"], "No such option"),
        (["compare", "a", "b"], "Got unexpected extra argument (b). For example: hockeystick compare plan.toml"),
        (
            ["epsilom"],
            "command must be one of 'accountants', 'audit', 'budget', 'calibrate', 'compare', 'delta', 'doctor', ",
        ),
        (["--frobnicate"], "No such option"),
        (["accountants", "--jso"], "No such option"),
    ],
)
def test_bad_arguments_take_one_line(args: list[str], message: str) -> None:
    assert refused(*args).startswith(message)


def test_the_nearest_command_and_option_are_named() -> None:
    assert refused("epsilom").endswith("did you mean 'epsilon'?")
    assert "--delta" in refused("epsilon", *FLAGS, "--delt", "1")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the plan has no rounds"),
        (b"\xff", "not UTF-8 text"),
        (b"{", "not valid JSON"),
        (b"delta = 2\n" + PURE.encode(), "delta must be a number, at least 1e-300 and less than 1"),
        (b"#" * 10_000_001, "larger than 10 MB"),
        (PURE.replace("0.5", "-0.5").encode(), "round 1: epsilon must be 0 or a number from 1e-6 to 100 (log-odds"),
    ],
)
def test_bad_plans_on_standard_input(content: bytes, message: str) -> None:
    assert refused("epsilon", "-", stdin=content).startswith(f"<stdin>: {message}")


def test_what_is_not_proven_is_refused() -> None:
    keys = {"mechanism": "laplace", "scale": 10, "sampling": "poisson", "sample_rate": 0.1}
    plan = json.dumps({"adjacency": "replace-one", "delta": 1e-5, "round": [keys]})
    assert "no dominating pair is proven" in refused("epsilon", "-", stdin=plan)


def test_help_and_version() -> None:
    bare = run()
    assert (bare.exit_code, run("--help").exit_code, run("-h").exit_code) == (0, 0, 0)
    assert bare.stdout == run("--help").stdout
    for command in ("epsilon", "delta", "accountants", "supported", "schema"):
        assert command in bare.stdout
        assert run(command, "--help").exit_code == 0
    assert run("--version").stdout == f"hockeystick {hs.__version__}\n"


def test_lists() -> None:
    for name in hs.ACCOUNTANTS:
        assert name in run("accountants").stdout
    assert "randomized-response" in run("supported").stdout
    one = run("supported", "staircase").stdout
    assert "staircase" in one
    assert "randomized-response" not in one
    assert run("supported", "gausian").stderr.endswith("did you mean 'gaussian'?\n")
    jsonschema.Draft202012Validator.check_schema(json.loads(run("schema").stdout))


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (RuntimeError("two\nlines"), 1, "error: unexpected RuntimeError: two lines; please report this\n"),
        (MemoryError(), 1, "error: out of memory\n"),
        (OSError(28, "No space left on device"), 1, "error: [Errno 28] No space left on device\n"),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
        (KeyboardInterrupt(), 130, "\n"),
    ],
)
def test_whatever_else_goes_wrong_takes_one_line(
    error: BaseException, status: int, words: str, pure: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(hs.Plan, "epsilon", fail)
    monkeypatch.setattr("hockeystick.cli.group._abandon_output", lambda: None)
    result = run("epsilon", pure)
    assert (result.exit_code, result.stderr.lstrip("\n") if status == 130 else result.stderr) == (
        status,
        "" if status == 130 else words,
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_work_shows_a_sign_of_life_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for screen, expected in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", screen)
        with progress("computing epsilon"):
            pass
        assert ("computing epsilon" in screen.getvalue()) is expected


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_importing_the_library_is_light() -> None:
    heavy = ["pydantic", "click", "scipy.stats", "torch", "pandas", "matplotlib"]
    assert python(f"import hockeystick, sys; print([m for m in {heavy} if m in sys.modules])") == "[]\n"


def test_a_call_imports_neither_scipy_stats_nor_torch(pure: Path) -> None:
    code = f"""
import sys
from hockeystick.cli import main
try:
    main(["epsilon", {str(pure)!r}, "--json"])
except SystemExit as end:
    print(end.code, [m for m in ("scipy.stats", "torch") if m in sys.modules])
"""
    lines = python(code).splitlines()
    assert json.loads(lines[0])["delta"] == 1e-6
    assert lines[1] == "0 []"


def test_the_module_runs_and_its_status_is_the_shell_s(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hockeystick", "epsilon", "-", "--delta", "0"]
    bad = subprocess.run(command, input="x", capture_output=True, text=True, cwd=tmp_path)
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)
    good = subprocess.run(command, input=PURE, capture_output=True, text=True, cwd=tmp_path)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.startswith("epsilon <= 1.5 at delta = 0\n")


@pytest.mark.parametrize("args", [["schema"], ["--help"], ["supported"], ["compare", "-", "--delta", "1e-6"]])
def test_a_reader_that_goes_away_ends_the_command_as_it_ends_others(args: list[str]) -> None:
    """With the status of grep and git, which a script under ``pipefail`` tells from a failure, and not a word."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "hockeystick", *args]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, input=PURE.encode())
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


QUESTION = ["epsilon", "-", "--delta", "0", "--json"]


def ended(redirection: str, *args: str) -> subprocess.CompletedProcess[str]:
    """The command with standard streams as a shell leaves them."""
    line = f'exec "$0" -m hockeystick "$@" {redirection}'
    return subprocess.run(["/bin/sh", "-c", line, sys.executable, *args], input=PURE, capture_output=True, text=True)


def test_a_closed_standard_input_holds_no_plan() -> None:
    done = ended("<&-", *QUESTION)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: no plan: standard input is closed; give a PLAN file or flags\n"


def test_a_closed_standard_error_takes_no_answer_away(tmp_path: Path) -> None:
    done = ended("2>&-", *QUESTION)
    assert done.returncode == 0
    assert json.loads(done.stdout)["epsilon"]["upper"] == pytest.approx(1.5)
    assert ended("2>&-", "epsilon", str(tmp_path / "none.toml")).returncode == 2


def test_a_file_is_written_with_all_streams_closed(tmp_path: Path) -> None:
    path = tmp_path / "c.svg"
    done = ended("<&- >&- 2>&-", "plot", "curve", *FLAGS, "--points", "3", "-o", str(path))
    assert done.returncode == 0
    assert path.read_text().startswith("<?xml")


def test_plot_alone_shows_its_help_as_the_command_alone_does() -> None:
    bare = run("plot")
    assert (bare.exit_code, bare.stderr) == (0, "")
    assert bare.stdout == run("plot", "--help").stdout
    assert len(bare.stdout.splitlines()) > 8
    for command in ("curve", "tradeoff", "steps"):
        assert f"\n  {command} " in bare.stdout


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["epsilon", *FLAGS, "--delt", "1"], "did you mean '--delta'?"),
        (["epsilon", *FLAGS, "--noise", "1"], "did you mean '--noise-multiplier'?"),
        (["epsilon", *FLAGS, "--sample-rates", "1"], "did you mean '--sample-rate'?"),
        (["plot", "tradeoff", *FLAGS, "--delta", "1"], None),
        (["delta", *FLAGS, "--delta", "1"], None),
        (["epsilon", *FLAGS, "--xy", "1"], None),
        (["epsilon", *FLAGS, "--bad", "1"], None),
        (["--frobnicate"], None),
    ],
)
def test_an_unknown_option_is_not_taken_for_one_that_is_unlike_it(args: list[str], hint: str | None) -> None:
    """With their dashes all options are alike: `--xy` is no slip of `--gap`, and nobody who wrote `--delta` asks for
    `--help`. Where none is near, all are listed."""
    message = refused(*args)
    name = next(arg for arg in reversed(args) if arg.startswith("--"))
    assert message.startswith(f"No such option {name!r} of `")
    if hint is None:
        assert "did you mean" not in message
        assert "--help" not in message
        assert "; its options are --" in message
    else:
        assert message.endswith(hint)


LONG = "x" * 100_000


@pytest.mark.parametrize(
    "args",
    [
        ["epsilon", *FLAGS, "--delta", "0.1", "--accountant", LONG],
        ["epsilon", *FLAGS, "--delta", "0.1", "--adjacency", LONG],
        ["epsilon", *FLAGS, "--delta", "0.1", "--option", f"{LONG}=1"],
        ["epsilon", *FLAGS, "--delta", "0.1", "--option", f"{LONG}=1", "--option", f"{LONG}=1"],
        ["epsilon", *FLAGS, "--delta", "0.1", "--option", LONG],
        ["epsilon", LONG],
        ["epsilon", f"{LONG}.toml"],
        ["epsilon", LONG, *FLAGS],
        ["epsilon", *FLAGS, "--delta", LONG],
        ["epsilon", *FLAGS, f"--{LONG}", "1"],
        ["epsilon", "a", LONG],
        [LONG],
        ["calibrate", LONG, *FLAGS],
        ["plot", "curve", *FLAGS, "-o", LONG],
        ["plot", "curve", *FLAGS, "--points", "3", "-o", f"{LONG}.svg"],
        ["reproduce", LONG, "--output", "x"],
    ],
    ids=lambda args: " ".join(arg[:12] for arg in args if arg not in FLAGS),
)
def test_no_message_is_as_long_as_what_was_received(args: list[str]) -> None:
    assert len(refused(*args)) <= 1000


def test_a_name_that_is_near_is_offered() -> None:
    assert refused("epsilon", *FLAGS, "--delta", "0.1", "--accountant", "rpd").endswith("did you mean 'rdp'?")
    assert refused("epsilon", *FLAGS, "--adjacency", "replace_one").endswith("did you mean 'replace-one'?")


def test_lines_in_a_pipe_end_where_their_text_ends() -> None:
    """No blanks that fill a table up to its width: what is copied from a log is what was said."""
    for arguments in (["epsilon", *FLAGS, "--delta", "1e-5"], ["accountants"], ["supported"]):
        lines = run(*arguments).stdout.splitlines()
        assert lines == [line.rstrip() for line in lines]


def test_flags_say_how_batches_are_made() -> None:
    flags = ("--noise-multiplier", "2", "--batch-size", "256", "--dataset-size", "60000", "--steps", "100")
    fixed = ("--sampling", "without-replacement", "--delta", "1e-5")
    found = json.loads(run("epsilon", *flags, *fixed, "--adjacency", "replace-one", "--json").stdout)
    known = hs.dp_sgd(1.0, batch_size=256, dataset_size=60_000, steps=100).epsilon(1e-5)
    assert found["epsilon"]["lower"] == pytest.approx(known.lower, rel=1e-6)  # both to the default gap
    assert found["reason"].startswith("the interval is as narrow as current theory allows")
    said = refused("epsilon", *flags, "--sampling", "without-replacment", "--delta", "1e-5")
    assert "--sampling must be one of" in said
    assert "did you mean 'without-replacement'" in said


def test_an_audit_minds_a_large_delta() -> None:
    """The epsilon that the run has at least is said at a delta like any other."""
    flags = ("--noise-multiplier", "1", "--batch-size", "10", "--dataset-size", "1000", "--epochs", "1")
    counts = ("--canaries", "100", "--guesses", "20", "--correct", "15")
    said = " ".join(run("audit", *flags, *counts, "--delta", "0.01").stdout.split())
    assert "warning delta is at least 1/dataset_size" in said
    assert "warning" not in run("audit", *flags, *counts, "--delta", "1e-5").stdout


def test_a_name_in_capitals_is_taken_for_a_slip() -> None:
    said = refused("epsilon", "--noise-multiplier", "1", "--sample-rate", "0.01", "--steps", "10", "--delta", "1e-5",
                   "--accountant", "RDP")  # fmt: skip
    assert said.endswith("received 'RDP'; did you mean 'rdp'?")


def test_a_broken_epoch_says_what_to_give_instead() -> None:
    """In flags the steps that it is; in a plan file, whose keys are checked by themselves, the key."""
    flags = ("--noise-multiplier", "1", "--batch-size", "10", "--dataset-size", "1000", "--delta", "1e-5")
    assert "for a partial pass, give the number of steps" in refused("epsilon", *flags, "--epochs", "2.5")
    plan = '[[round]]\nmechanism = "gaussian"\nnoise_multiplier = 1\nsampling = "poisson"\n' + (
        "batch_size = 10\ndataset_size = 1000\nepochs = 2.5\n"
    )
    assert "for a partial pass, give count" in refused("epsilon", "-", "--delta", "1e-5", stdin=plan)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["epsilon", "--sigma", "1", "--noise-multiplier", "2"], "--sigma and --noise-multiplier are the same option"),
        (["epsilon", "--batch", "1", "--batch-size=2"], "--batch and --batch-size are the same option"),
        (["delta", "--epsilon", "1", "--epsilon", "1"], "--epsilon is given twice"),
        (["plot", "curve", "--delta=1e-5", "--delta", "1e-6"], "--delta is given twice"),
        (["report", "-o", "a.html", "--output", "b.html"], "-o and --output are the same option"),
        (["budget", "spend", "a.toml", "--count", "1", "--count", "2"], "--count is given twice"),
    ],
)
def test_an_option_is_given_once(args: list[str], said: str) -> None:
    """The last one would win, and nothing would be said of the others."""
    assert refused(*args) == f"{said}; give it once"


def test_options_for_several_values_and_flags_may_be_repeated() -> None:
    flags = ["--sigma", "2", "--sample-rate", "0.1", "--steps", "1"]
    assert run("profile", *flags, "--delta", "1e-5", "--delta", "1e-6", "--json", "--json").exit_code == 0


@pytest.mark.parametrize(
    ("args", "meant"),
    [
        (["epsilon", *FLAGS, "--delta", "1e-5", "--accountant", "pld"], "connect-the-dots"),
        (["epsilon", *FLAGS, "--delta", "1e-5", "--accountant", "Moments"], "rdp"),
    ],
)  # fmt: skip
def test_what_is_called_otherwise_elsewhere_is_told_its_name(args: list[str], meant: str) -> None:
    assert refused(*args).endswith(f"; did you mean '{meant}'?")


def test_a_figure_that_was_drawn_is_named(tmp_path: Path) -> None:
    """On standard error, as all that is no answer; before the caveats."""
    path = tmp_path / "curve.svg"
    done = run("plot", "curve", *FLAGS, "--points", "3", "-o", path)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith(f"written to {path}\n")
