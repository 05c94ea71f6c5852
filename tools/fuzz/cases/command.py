"""The command line, in process: status 0 with an answer, or one line on standard error with status 2."""

from __future__ import annotations

import contextlib
import io
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import SECONDS, Held
from fuzz.registry import case

ALL = SECONDS * len(hs.ACCOUNTANTS)
"""Processor time of a command that asks every accountant."""

NUMBERS = ("0", "-1", "1e400", "nan", "inf", "", "x", "1e-400", "5e-324", "1e12", "0.5", "1", "2.5", "-0", "1_0", "0x1")

FREE = ("noise-multiplier", "scale", "noise", "epsilon", "sample-rate", "batch-size", "check-in", "steps", "epochs")
COMMANDS = (
    "epsilon",
    "delta",
    "compare",
    "calibrate",
    "sampling",
    "audit",
    "plot",
    "reproduce",
    "report",
    "verify",
    "profile",
    "remaining",
    "statement",
    "budget",
)
WORDS = (
    "curve", "steps", "noise-multiplier", "--delta", "--epsilon", "--noise-multiplier", "--sample-rate", "--steps",
    "--json", "--gap", "--accountant", "rdp", "--adjacency", "add", "--batch-size", "--dataset-size", "--epochs",
    "--proof", "--option", "order=2", "/dev/null", "no-such.toml", "\x1b[31m", "x" * 5000, *COMMANDS, *NUMBERS,
)  # fmt: skip


def _run(
    held: Held, arguments: list[str], stdin: bytes = b"", seconds: float = SECONDS, refusals: tuple[int, ...] = (2,)
) -> tuple[int, str] | None:
    """Status and standard output of a command, of which the statuses above 0 are those of refusals."""
    from hockeystick.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))

    def call(standalone: bool = True) -> int:
        before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                main(arguments, standalone_mode=standalone)
        except SystemExit as left:
            return left.code if isinstance(left.code, int) else 0
        finally:
            sys.stdin = before
        return 0

    said = f"hockeystick {' '.join(arguments)}"
    status = held.ask(said[:200], call, seconds=seconds)
    if status is None:
        return None
    shown, errors = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err))
    held.law(status in (0, *refusals), f"{said[:300]}: status {status}: {errors[:300]}")
    if status == 1:  # once more, for the place where it was raised
        held.ask(said[:200], lambda: call(standalone=False), invalid=True, seconds=seconds)
    lines = [line for line in errors.splitlines() if not line.startswith(("not drawn", "warning"))]
    if status:
        held.law(len(lines) == 1 and lines[0].startswith("error: "), f"{said[:300]}: not one line: {errors[:300]!r}")
        held.law(not shown, f"{said[:300]}: refused, with output: {shown[:200]!r}")
    held.law(len(errors) < 1500 and "\x1b" not in errors + shown, f"{said[:200]}: {len(errors)} characters of errors")
    held.law("nan" not in shown.lower().replace("tenant", ""), f"{said[:300]}: shows nan: {shown[:300]}")
    return status, shown


def _source(draw: Draw, folder: str) -> tuple[list[str], bytes, hs.Plan | None]:
    """A plan file, one on standard input, or flags."""
    if draw.chance(0.3):
        noise, rate, steps = draw.noise(), draw.rate(), draw.count()
        flags = ["--noise-multiplier", repr(noise), "--sample-rate", repr(rate), "--steps", str(steps)]
        return draw.note("flags", flags), b"", hs.dp_sgd(noise, rate, steps)
    plan = draw.plan()
    path = Path(folder) / draw.of("plan.toml", "plan.json")
    plan.save(path)
    return (["-"], path.read_bytes(), plan) if draw.chance(0.3) else ([str(path)], b"", plan)


def _json(held: Held, shown: str) -> dict[str, Any]:
    def refused(name: str) -> float:
        raise ValueError(f"{name} is no JSON")

    try:
        found: dict[str, Any] = json.loads(shown, parse_constant=refused)
        return found
    except ValueError as error:
        held.law(False, f"--json: {error}: {shown[:200]!r}")
        return {}


@case("command", "cli.new")
def new(draw: Draw, held: Held) -> None:
    """A plan file is written that answers as it did, or nothing is."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "plan.toml"
        release = draw.note("release", draw.of("poisson", "shuffled", "laplace", "gaussian"))
        flags = {
            "--dataset-size": draw.of("0", "1", "12000", "1e9"),
            "--epochs": draw.of("1", "20"),
            "--batch-size": "64",
        }
        if release in ("laplace", "gaussian"):
            flags = {
                "--dataset-size": "12000",
                "--count": draw.of("1", "20"),
                "--sensitivity": draw.of("0", "3", "1e6"),
            }
        noise = draw.note("noise", draw.of("0.5", "1", "1e3"))
        flags["--noise" if "--count" in flags else "--noise-multiplier"] = noise
        draw.note("flags", flags)
        done = _run(held, ["new", str(made), "--release", release, *(word for pair in flags.items() for word in pair)])
        if done is not None:
            held.law(made.exists() == (done[0] == 0), "a file is written where it is said, and only there")


@case("command", "cli.epsilon", "cli.delta")
def question(draw: Draw, held: Held) -> None:
    """What the library says, to the last bit with --json."""
    with tempfile.TemporaryDirectory() as folder:
        source, stdin, plan = _source(draw, folder)
        quantity = draw.note("quantity", draw.of("epsilon", "delta"))
        at = draw.note("at", draw.delta(zero=True) if quantity == "epsilon" else draw.epsilon())
        name = draw.note("accountant", "auto" if draw.chance(0.6) else draw.of(*hs.ACCOUNTANTS))
        other = {"epsilon": "--delta", "delta": "--epsilon"}[quantity]
        arguments = [quantity, *source, other, repr(at), "--accountant", name]
        done = _run(held, [*arguments, "--json"], stdin)
        _run(held, arguments, stdin)
        if done is None or done[0] or plan is None:
            return
        found = _json(held, done[1])
        answer = held.ask("the library", lambda: getattr(plan, quantity)(at, accountant=name))
        if answer is not None:
            for end, value in answer.ends.items():
                if math.isfinite(value):
                    held.same(f"{end} in --json", found.get(quantity, {}).get(end), value)


@case("command", "cli.compare")
def compare(draw: Draw, held: Held) -> None:
    """Every accountant has a row."""
    with tempfile.TemporaryDirectory() as folder:
        source, stdin, _ = _source(draw, folder)
        flag = draw.of(["--delta", repr(draw.delta())], ["--epsilon", repr(draw.epsilon())])
        draw.note("flag", flag)
        done = _run(held, ["compare", *source, *flag, *draw.of([], ["--json"])], stdin, ALL)
        if done is not None and not done[0]:
            # the longest names may be folded where numbers are long, after as many letters as tell them apart
            held.law(all(name[:14] in done[1] for name in hs.ACCOUNTANTS), f"a row is missing: {done[1][:2000]}")


@case("command", "cli.sampling", "samplings")
def sampling(draw: Draw, held: Held) -> None:
    """A row for every scheme, with what the library says of its plan."""
    with tempfile.TemporaryDirectory() as folder:
        source, stdin, plan = _source(draw, folder)
        at, target = draw.note("at", draw.delta()), draw.note("target", draw.epsilon())
        done = _run(held, ["sampling", *source, "--delta", repr(at), "--epsilon", repr(target), "--json"], stdin, ALL)
        if done is None or done[0] or plan is None:
            return
        for row in _json(held, done[1]).get("samplings", []):
            held.law((row["epsilon"] is None) <= bool(row["reason"]), f"no number, and no reason: {row}")
            ends = row["epsilon"] or {}
            low, high = ends.get("lower"), ends.get("upper")
            held.law(low is None or high is None or low <= high, f"ends: {row}")


@case("command", "cli.calibrate")
def calibrate(draw: Draw, held: Held) -> None:
    """A value, or one line that says what comes nearest."""
    with tempfile.TemporaryDirectory() as folder:
        source, stdin, _ = _source(draw, folder)
        name = draw.of("noise-multiplier", "sample-rate", "steps") if source[0].startswith("--") else draw.of(*FREE)
        target = draw.of(["--epsilon", repr(draw.epsilon()), "--delta", repr(draw.delta())],
                         ["--advantage", repr(draw.probability())], ["--mu", repr(draw.noise())],
                         ["--tpr", "0.5", "--fpr", repr(draw.probability())],
                         ["--risk", repr(draw.probability())], ["--success", "0.5", "--baseline", "1e-3"])  # fmt: skip
        draw.note("target", [name, *target])
        _run(held, ["calibrate", name, *source, *target, *draw.of([], ["--json"])], stdin)


@case("command", "cli.audit")
def audit(draw: Draw, held: Held) -> None:
    """A p-value and a verdict, or one line."""
    with tempfile.TemporaryDirectory() as folder:
        source, stdin, _ = _source(draw, folder)
        canaries = draw.random.randint(0, 1000)
        numbers = [canaries, made := draw.random.randint(0, canaries + 1), draw.random.randint(0, made + 1)]
        draw.note("numbers", numbers)
        flags = ("--canaries", "--guesses", "--correct")
        asked = [text for flag, number in zip(flags, numbers, strict=True) for text in (flag, str(number))]
        done = _run(held, ["audit", *source, *asked, "--json"], stdin, ALL)
        if done is not None and done[0] == 0:
            said = _json(held, done[1])
            held.law(0 <= said.get("p_value", -1) <= 1, f"p-value of {said}")


@case("command", "cli.plot.curve", "cli.plot.tradeoff", "cli.plot.steps")
def plot(draw: Draw, held: Held) -> None:
    """A figure of few points, or one line."""
    with tempfile.TemporaryDirectory() as folder:
        source, stdin, _ = _source(draw, folder)
        which = draw.note("figure", draw.of("curve", "tradeoff", "steps"))
        output = Path(folder) / draw.of("figure.svg", "figure.png")
        extra = {"curve": ["--from", "0", "--to", repr(draw.epsilon())] if draw.chance(0.7) else [],
                 "tradeoff": draw.of([], ["--log"]), "steps": ["--delta", repr(draw.delta())]}[which]  # fmt: skip
        if which != "tradeoff" and draw.chance(0.3):
            extra = [*extra, "--accountant", draw.of(*hs.ACCOUNTANTS)]
        draw.note("extra", extra)
        points = draw.random.randint(2, 5)
        asked = [*source, *extra, "--points", str(points)]
        done = _run(held, ["plot", which, *asked, "-o", str(output)], stdin, SECONDS * 2 * points)
        if done is not None:
            held.same("a figure and the status", output.exists(), done[0] == 0)


@case("command", "cli.report", "cli.verify")
def document(draw: Draw, held: Held) -> None:
    """A report or one line; what was written is sound, and no longer when a number is another one."""
    with tempfile.TemporaryDirectory() as folder:
        source, stdin, _ = _source(draw, folder)
        output = Path(folder) / draw.note("form", draw.of("a.html", "a.md", "a.json"))
        at = repr(draw.note("at", draw.delta()))
        seconds = SECONDS * 20  # an epsilon for each delta, each sampling and each point of a figure, and a profile
        done = _run(held, ["report", *source, "--delta", at, "-o", str(output)], stdin, seconds)
        if done is None:
            return
        held.same("a report and the status", output.exists(), done[0] == 0)
        if done[0] == 0:
            held.same("what was written is sound", _status(held, output, seconds), 0)


@case("command", "cli.profile", "cli.remaining", "cli.statement")
def about_a_plan(draw: Draw, held: Held) -> None:
    """An answer for people, and one for machines that is found again."""
    with tempfile.TemporaryDirectory() as folder:
        source, stdin, _ = _source(draw, folder)
        at = ["--delta", repr(draw.delta())]
        command = draw.of("profile", "remaining", "statement")
        extra = {"profile": ["--group", str(draw.random.randint(1, 4)), "--fpr", repr(draw.probability())],
                 "remaining": ["--epsilon", repr(draw.epsilon())],
                 "statement": draw.of([], ["--records-per-person", "2"])}[command]  # fmt: skip
        draw.note("arguments", [command, *at, *extra])
        done = _run(held, [command, *source, *at, *extra, *draw.of([], ["--json"])], stdin, SECONDS * 8)
        if done is not None and not done[0] and done[1].startswith("{"):
            path = Path(folder) / "answer.json"
            path.write_text(done[1], encoding="utf-8")
            held.same("what was printed is sound", _status(held, path, SECONDS * 8), 0)


LEDGER = ("init", "spend", "price", "grant", "renew", "void", "run", "show", "verify", "export", "report")


@case("command", *(f"cli.budget.{verb}" for verb in LEDGER))
def ledgers(draw: Draw, held: Held) -> None:
    """Releases are recorded until one does not fit, which records nothing; the ledger verifies itself."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = str(Path(folder) / "ledger.db")
        limits = draw.of(["--epsilon", repr(draw.epsilon()), *draw.of([], ["--delta", repr(draw.delta())])],
                         ["--rho", repr(draw.epsilon())], ["--mu", repr(draw.epsilon())])  # fmt: skip
        chosen = draw.of([], ["--filter", draw.of("approximate-dp", "pure", "zcdp", "gdp", "rdp", "x")])
        draw.note("arguments", [*limits, *chosen])
        begun = _run(held, ["budget", "init", ledger, *limits, *chosen], seconds=SECONDS * 2)
        if begun is None or begun[0]:
            return
        if draw.chance(0.3):
            _run(held, ["budget", "grant", ledger, "a", "--amount", draw.of(*NUMBERS)], refusals=(2, 3))
        for number in range(draw.random.randint(1, 3)):
            release = ["--mechanism", draw.of("laplace", "gaussian", "randomized-response", "discrete-gaussian"),
                       draw.of("--scale", "--noise-multiplier", "--sigma"), draw.of(*NUMBERS),
                       *draw.of([], ["--count", draw.of(*NUMBERS)]), *draw.of([], ["--grant", "a"])]  # fmt: skip
            draw.note("release", release)
            before = _run(held, ["budget", "export", ledger], seconds=SECONDS * 2)
            priced = _run(held, ["budget", "price", ledger, *release, "--json"], seconds=SECONDS * 2)
            asked = ["budget", "spend", ledger, *release, "--id", str(number), "--json"]
            done = _run(held, asked, seconds=SECONDS * 2, refusals=(2, 3))
            if done is None or priced is None:
                return
            fits = not priced[0] and json.loads(priced[1])["fits"]
            held.same("a price says what a release gets", fits, not done[0])
            if done[0]:
                held.same("what was refused is not recorded", _run(held, ["budget", "export", ledger]), before)
            else:
                held.same("the same request", _run(held, asked, seconds=SECONDS * 2), done)
            settle = ["budget", draw.of("void", "run"), ledger, str(number), "--token", draw.of("x", "\u00e9")]
            held.law((_run(held, settle) or (0,))[0] == 2, "a guessed token is taken")
        _run(held, ["budget", "renew", ledger, draw.of("2027", "", "a\nb")])
        checked = _run(held, ["budget", "verify", ledger], seconds=SECONDS * 2)
        held.law(checked is not None and not checked[0], f"the ledger is not sound: {checked}")
        _run(held, ["budget", "show", ledger, "--json"], seconds=SECONDS * 2)
        _run(
            held,
            ["budget", "report", ledger, "-o", str(Path(folder) / draw.of("a.html", "a.txt"))],
            seconds=SECONDS * 2,
        )


def _status(held: Held, path: Path, seconds: float) -> int | None:
    done = _run(held, ["verify", str(path)], seconds=seconds)
    return None if done is None else done[0]


@case("command", "cli.accountants", "cli.supported", "cli.schema", "cli.reproduce")
def listings(draw: Draw, held: Held) -> None:
    """What takes no plan."""
    command = draw.note("command", draw.of(["accountants"], ["supported"], ["schema"], ["-h"],
                                           ["reproduce"], ["--version"], [], ["plot", "-h"],
                                           ["epsilon", "-h"]))  # fmt: skip
    done = _run(held, command)
    held.law(done is not None and done[0] == 0 and done[1].strip(), f"{command}: {done}")


@case("command", "cli.epsilon", "cli.delta", "cli.compare", "cli.calibrate", "cli.plot.curve", "cli.reproduce")
def nonsense(draw: Draw, held: Held) -> None:
    """Flags that do not go together and values that are none: one line."""
    arguments = [draw.of(*COMMANDS), *(draw.of(*WORDS) for _ in range(draw.random.randint(0, 7)))]
    draw.note("arguments", arguments)
    _run(held, arguments, seconds=ALL)
