"""Tables of epsilon, small ones: brackets around what plans are answered, one by one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import SECONDS, Held
from fuzz.registry import case

NO_COLUMNS: tuple[Any, ...] = (None, "x", -1.0, float("nan"), float("inf"), [], [[1.0, 2.0]], 10**400, 0.5)
"""What a column of a table may not be, and some that it may."""


@case(
    "table", "Table", "Table.epsilons", "Table.save", "Table.load", "Table.knots", "Table.lower", "Table.upper",
    "Table.widths", "Table.sha256", "Table.assumptions",
)  # fmt: skip
def brackets(draw: Draw, held: Held) -> None:
    """Each bracket meets the interval of the plan, ends are in order, and narrowing stays inside."""
    noise = sorted(draw.spread(0.3, 30.0) for _ in range(2))
    rates = sorted(draw.spread(1e-4, 0.9) for _ in range(2))
    rounds = sorted(int(draw.spread(1, 10**5)) for _ in range(2))
    deltas = sorted(draw.spread(1e-12, 1e-3) for _ in range(2))
    draw.note("axes", (noise, rates, rounds, deltas))
    adjacency = draw.note("adjacency", draw.of("add-or-remove", "zero-out", "remove", "add"))
    made = held.ask(
        "Table", lambda: hs.Table(noise, rates, rounds, deltas, adjacency=adjacency, fine=()), seconds=16 * SECONDS
    )
    if made is None:
        return
    weight = draw.note("weight", draw.random.random())
    axes: list[list[float]] = [noise, rates, [float(many) for many in rounds], deltas]
    at = [min(max(low + weight * (high - low), low), high) for low, high in axes]
    at[2] = float(round(at[2]))
    found = held.ask("Table.epsilons", lambda: made.epsilons(*at))
    if found is None:
        return
    held.band("Table.epsilons", found)
    one = held.ask("plan.epsilon", lambda: hs.dp_sgd(at[0], at[1], int(at[2]), adjacency=adjacency).epsilon(at[3]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "epsilon.table"
        if held.do("Table.save", lambda: made.save(path)):
            back = held.ask("Table.load", lambda: hs.Table.load(path))
            if back is not None:
                held.same("sha256 of the file", back.sha256, made.sha256)
                held.same("knots of the file", str(back.knots), str(made.knots))
                held.same("assumptions of the file", back.assumptions, made.assumptions)
    held.law(np.all(made.lower <= made.upper), "ends at knots are out of order")
    held.law(np.all((made.widths >= 0) & (made.widths <= 1)), "relative widths are outside of 0 to 1")
    if one is not None and "lower" in one.ends:
        held.at_most("lower end against the plan's upper one", found.lower[0], one.upper)
        held.at_most("the plan's lower end against the upper one", one.ends["lower"], found.upper[0])


@case("table", "Table", "Table.epsilons", "Table.load")
def malformed(draw: Draw, held: Held) -> None:
    """Columns that are none are refused, when a table is made and when it is looked up."""
    value: Any = draw.note("value", draw.of(*NO_COLUMNS))
    key = draw.note("key", draw.of("noise", "rate", "rounds", "delta"))
    given: dict[str, Any] = {"noise": 1.0, "rate": 0.1, "rounds": np.array([5, 6]), "delta": 1e-5}
    held.ask("Table", lambda: hs.Table(**{**given, key: value}, fine=()), invalid=True, seconds=4 * SECONDS)
    made = hs.Table(**given, fine=())
    held.ask("Table.epsilons", lambda: made.epsilons(**{**given, key: value}), invalid=True)
    held.ask("Table.load", lambda: hs.Table.load(value), invalid=True)
