"""Sweeps: a row is what its plan answers by itself, wherever it is computed, and wrong rows say why."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import hockeystick as hs
from fuzz.cases.command import _run as run
from fuzz.draws import Draw
from fuzz.laws import SECONDS, Held
from fuzz.registry import case


def _template(draw: Draw) -> hs.Plan:
    records = draw.note("records", draw.random.randint(100, 100_000))
    batch = draw.note("batch", draw.random.randint(1, records))
    noise, delta = draw.noise(), draw.note("delta", draw.spread(1e-12, 1e-2))
    return hs.dp_sgd(noise, batch_size=batch, dataset_size=records, epochs=draw.random.randint(1, 20), delta=delta)


def _grid(draw: Draw) -> dict[str, Any]:
    """Up to four points, some of them no plans."""
    grid: dict[str, Any] = {"noise_multiplier": [draw.noise(), draw.of(draw.noise(), -1.0, 1e300, 0.0)]}
    if draw.chance(0.5):
        grid["batch_size"] = [draw.random.randint(1, 1000), draw.random.randint(10**5, 10**6)]
    elif draw.chance(0.5):
        grid["steps"] = [draw.random.randint(0, 10**6)]
    return draw.note("grid", {key: list(dict.fromkeys(values)) for key, values in grid.items()})


@case("sweep", "sweep", "Sweep", "Sweep.rows", "Sweep.unanswered", "Sweep.to_csv")
def rows(draw: Draw, held: Held) -> None:
    """Every point has its row: an interval that meets that of its plan, or a reason."""
    template = held.ask("template", lambda: _template(draw), invalid=True)
    if template is None:
        return
    grid = _grid(draw)
    found = held.ask("sweep", lambda: hs.sweep(template, grid), seconds=8 * SECONDS)
    if found is None:
        return
    held.same("rows", len(found), math.prod(len(values) for values in grid.values()))
    refused = [row for row in found.rows if row["guarantee"] == "refused"]
    held.same("unanswered", found.unanswered, len(refused))
    held.law(all(row["reason"] for row in refused), "a row without an answer has no reason")
    for row in found.rows:
        if row["guarantee"] == "certified":
            held.law(row["lower"] <= row["estimate"] <= row["upper"], f"ends in order: {row}")
    held.same("lines", found.to_csv().count("\n"), len(found) + 1)


@case("sweep", "sweep", "cli.sweep")
def files(draw: Draw, held: Held) -> None:
    """A file is what the table says; a target is met."""
    template = hs.dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=draw.random.randint(1, 20), delta=1e-5)
    batches = draw.note("batches", [draw.random.randint(16, 1000), draw.random.randint(1001, 4096)])
    target = draw.note("target", draw.spread(0.2, 8.0))
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "sweep.csv"
        found = held.ask(
            "sweep",
            lambda: hs.sweep(template, {"batch_size": batches}, target=target),
            seconds=2 * SECONDS,
        )
        if found is None:
            return
        found.to_csv(output)
        held.same("file", output.read_text(encoding="utf-8"), found.to_csv())
        held.same("left behind", [path.name for path in Path(folder).iterdir()], ["sweep.csv"])
        held.law(all(row["upper"] <= target for row in found.rows), "a row misses the target")
    grid = f"noise_multiplier={draw.spread(0.5, 1)!r}:{draw.spread(1.1, 4)!r}:{draw.random.randint(2, 4)}"
    flags = ["--sample-rate", "0.01", "--steps", "100", "--delta", "1e-5"]
    arguments = ["sweep", *flags, "--grid", draw.note("--grid", grid)]
    printed = run(held, arguments)
    held.law(printed is not None and printed[0] == 0, f"the command: {printed}")


@case("sweep", "sweep")
def malformed(draw: Draw, held: Held) -> None:
    """What is no grid, no number and no question is refused."""
    plan = hs.dp_sgd(1.0, sample_rate=0.1, steps=10, delta=1e-5)
    value: Any = draw.note("value", draw.of(None, "x", -1.0, float("nan"), 10**400, True, [], {}, [[1.0]], b"x", 0.5))
    key: Any = draw.note("key", draw.of("noise_multiplier", "steps", "delta", "scale", "", None, 3))
    held.ask("grid", lambda: hs.sweep(plan, {key: value}), invalid=True)
    held.ask("grid itself", lambda: hs.sweep(plan, value), invalid=True)
    option = draw.note("option", draw.of("delta", "epsilon", "target", "parameter", "gap"))
    held.ask("option", lambda: hs.sweep(plan, {"steps": [10]}, **{option: value}), invalid=True)
