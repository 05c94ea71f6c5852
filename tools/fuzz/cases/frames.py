"""Epsilon over the rows of frames, and plans of histories."""

from __future__ import annotations

import importlib.util
from typing import Any

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import SECONDS, Held
from fuzz.registry import case
from hockeystick.integrations import frames

NO_KEYS: tuple[Any, ...] = (None, "x", -1.0, float("nan"), 10**400, True, 2.5, [], 0)
"""What most keys of a row may not be."""

NO_HISTORIES: tuple[Any, ...] = (
    None, 3, [3], [()], [(1, 2)], [(0, 0.1, 5)], [(1, 0, 5)], [(1, 0.1, -5)], "ab", [(1, 0.1, 10**400)],
    [("a", "b", "c")], {1: 2}, [(1, 0.1, True)],
)  # fmt: skip
"""What is no history of (noise multiplier, sample rate, steps)."""


def _kinds() -> list[Any]:
    """Kinds of frames that can be made here."""
    made: list[Any] = [dict]
    for package in ("pandas", "polars"):
        if importlib.util.find_spec(package):
            made.append(importlib.import_module(package).DataFrame)
    return made


@case("frame", "integrations.frames.epsilon")
def epsilon(draw: Draw, held: Held) -> None:
    """Each row has the bound of its plan, to the last bit."""
    n = draw.random.randint(0, 4)
    columns: dict[str, list[Any]] = {
        "noise_multiplier": [draw.noise() for _ in range(n)],
        "sample_rate": [draw.rate() for _ in range(n)],
        "steps": [draw.count() for _ in range(n)],
    }
    constants: dict[str, Any] = {"adjacency": draw.of("add-or-remove", "add", "remove", "replace-one", "zero-out")}
    if draw.chance(0.5):
        constants["delta"] = draw.delta(zero=True)
    else:
        columns["delta"] = [draw.delta(zero=True) for _ in range(n)]
    draw.note("columns", columns)
    draw.note("constants", constants)
    accountant = draw.note("accountant", draw.of("auto", "auto", "rdp"))
    kind = draw.of(*_kinds())
    found = held.ask(
        "frames.epsilon",
        lambda: frames.epsilon(kind(columns), accountant=accountant, **constants),
        seconds=SECONDS * max(n, 1),
    )
    if found is None:
        return
    for row in range(n):
        values = {key: columns[key][row] for key in ("noise_multiplier", "sample_rate", "steps")}
        delta = columns["delta"][row] if "delta" in columns else constants["delta"]
        plan = hs.dp_sgd(**values, adjacency=constants["adjacency"])
        one = held.ask("plan.epsilon", lambda plan=plan, delta=delta: plan.epsilon(delta, accountant=accountant))  # type: ignore[misc]
        if one is not None:
            for name, end in one.ends.items():
                held.same(f"row {row}, {name}", list(found[f"epsilon_{name}"])[row], end)
            held.same(f"row {row}, reason", list(found["epsilon_reason"])[row], one.reason)


@case("frame", "integrations.frames.epsilon")
def malformed(draw: Draw, held: Held) -> None:
    """Rows that are no plan are refused with their number."""
    value: Any = draw.note("value", draw.of(*NO_KEYS))
    columns: dict[str, Any] = {
        "noise_multiplier": [1.0, 1.0],
        "sample_rate": [0.1, 0.1],
        "steps": [10, 10],
        "delta": [1e-5, 1e-5],
    }
    key = draw.note("key", draw.of(*columns, "batch_size", "adjacency", "colour"))
    changed = {**columns, key: [*columns.get(key, [None])[:1], value]}
    held.ask("frames.epsilon", lambda: frames.epsilon(changed), invalid=True)
    argument: dict[str, Any] = {key: value}
    held.ask("frames.epsilon", lambda: frames.epsilon(columns, **argument), invalid=True)
    held.ask("frames.epsilon", lambda: frames.epsilon(value), invalid=True)


@case("frame", "integrations.frames.plan_from_history")
def history(draw: Draw, held: Held) -> None:
    """The plan of the entries; what is no entry is refused."""
    entries = draw.note(
        "entries", [(draw.noise(), draw.rate(), draw.count()) for _ in range(draw.random.randint(0, 4))]
    )
    found = held.ask("plan_from_history", lambda: frames.plan_from_history(entries), invalid=True)
    if found is not None:
        held.same("steps", found.steps, sum(count for *_, count in entries))
    broken: Any = draw.note("broken", draw.of(*NO_HISTORIES))
    held.law(held.ask("plan_from_history", lambda: frames.plan_from_history(broken), invalid=True) is None,
             f"{broken} is taken for a history")  # fmt: skip
