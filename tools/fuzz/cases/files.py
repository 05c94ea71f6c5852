"""Plan files: round trips to the last bit, and files that are no plan."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case
from hockeystick.plan.file import parse_plan
from hockeystick.plan.selection import BestOf

TOKENS = (
    b"[[round]]", b"[round]", b"= ", b"=", b"\n", b'"', b"'''", b"{", b"}", b"[", b"]", b",", b":", b"nan", b"inf",
    b"-", b"1e999", b"-0.0", b"null", b"true", b"\xff", b"\x00", b"\xef\xbb\xbf", b"a.b.c = 1\n", b"epochs = 3\n",
    b"count = 1e12\n", b"#", b"\\u0000", b"\x1b[31m", b"9" * 400, b"published = 3\n", b"delta = 5e-324\n",
    b"[published]\nsource = 'x'\n", b"sampling = 'poisson'\n", b"0x10", b"1_000", b"1979-05-27",
)  # fmt: skip
"""What is put into a file that was right."""

NO_VALUES: tuple[Any, ...] = (
    None, -1, 2.5, "x", [], {}, True, float("nan"), float("inf"), 10**400, 1e400, b"x", "\x1b[31m" * 50,
)  # fmt: skip
"""What most keys may not be."""


def _published(draw: Draw) -> dict[str, Any] | None:
    if draw.chance(0.6):
        return None
    text = draw.of("a paper", "quotes \" and \\ and '", "lines\nand\ttabs", "\u202eletters \U0001f600 \x7f", "")
    made: dict[str, Any] = {"source": text, "epsilon": draw.epsilon(), "delta": draw.delta(), "note": text}
    return {key: value for key, value in made.items() if draw.chance(0.7)}


@case(
    "file",
    "Plan.save",
    "load_plan",
    "Plan.to_dict",
    "Plan.from_dict",
    "Round.labels",
    "BestOf",
    "BestOf.eta",
    "BestOf.keys",
)
def round_trip(draw: Draw, held: Held) -> None:
    """A plan written and read again is the same plan, in either syntax, with what is published of it."""
    plan = draw.plan()
    labels = draw.note("labels", draw.of({}, {"name": "\x1b[31m<b>$"}, {"date": "2026-02-28", "note": "\u202e\\"}))
    plan = plan.with_rounds([item.changed(**labels) for item in plan.rounds])
    held.same("labels", [item.labels for item in plan.rounds], [labels] * len(plan.rounds))
    target = draw.note("delta", draw.of(None, draw.delta()))
    published, records = draw.note("published", _published(draw)), draw.note("records", draw.of(None, draw.size()))
    users: dict[str, Any] = {} if records is None else {"unit": "user", "records_per_unit": min(records, 10**9)}
    best_of = draw.note(
        "best_of", draw.of(None, BestOf("geometric", 1 + min(draw.noise(), 1e11)), BestOf("poisson", draw.noise()))
    )
    if best_of is not None:
        held.same("the keys of a selection", BestOf(**best_of.keys()), best_of)
        held.law((best_of.eta is None) == (best_of.runs == "poisson"), f"the shape of {best_of}")
    plan = hs.Plan(plan.rounds, plan.adjacency, target, published, best_of=best_of, **users)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("plan.toml", "plan.json"):
            path = Path(folder) / name
            if not held.do(f"save {name}", partial(plan.save, path)):
                continue
            again = held.ask(f"load {name}", partial(hs.load_plan, path))
            if again is not None:
                held.same(name, again, plan)
                held.same(f"published of {name}", again.published, plan.published)
            held.same("files in the folder", [item.name for item in Path(folder).iterdir() if item.suffix not in
                                              (".toml", ".json")], [])  # fmt: skip
        nowhere = Path(folder) / draw.of("plan.yaml", "plan", "", "no/such/plan.toml")
        held.law(not held.do("save", lambda: plan.save(nowhere), invalid=True), f"saved as {nowhere}")
        held.ask("load", lambda: hs.load_plan(nowhere), invalid=True)


@case("file", "load_plan")
def mutilated(draw: Draw, held: Held) -> None:
    """A file with bytes put in, taken out and turned round: a plan or one line, and what is a plan round trips."""
    plan, syntax = draw.plan(), draw.note("syntax", draw.of("TOML", "JSON"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"plan.{syntax.lower()}"
        plan.save(path)
        content = path.read_bytes()
        for _ in range(draw.random.randint(1, 4)):
            at = draw.random.randrange(len(content) + 1)
            change = draw.of("put", "put", "cut", "swap", "double", "end")
            piece = draw.of(*TOKENS)
            length = draw.random.randint(0, 40)
            content = {
                "put": content[:at] + piece + content[at:],
                "cut": content[:at] + content[at + length :],
                "swap": content[:at] + content[at : at + length][::-1] + content[at + length :],
                "double": content[:at] + content[at : at + length] + content[at:],
                "end": content[:at],
            }[change]
        draw.note("content", content)
        path.write_bytes(content)
        found = held.ask("load_plan", lambda: hs.load_plan(path), invalid=True)
        other = held.ask("parse_plan", lambda: parse_plan(content, "a\nsource", syntax), invalid=True)
        held.same("load_plan and parse_plan", found, other)
        if found is not None and held.do("save", lambda: found.save(path), invalid=True):
            held.same("saved and loaded", hs.load_plan(path), found)


@case("file", "Plan.from_dict")
def keys(draw: Draw, held: Held) -> None:
    """Dictionaries with a value that is none: refused in one line."""
    table = draw.table()
    value: Any = draw.of(*NO_VALUES)
    item = draw.of(table, *table["round"])
    key = draw.of(*item, "colour", "epochs", "published", "batch_size", 3)
    draw.note("changed", (key, value))
    item[key] = value
    found = held.ask("from_dict", lambda: hs.Plan.from_dict(table), invalid=True)
    if found is not None:
        held.same("from_dict of to_dict", hs.Plan.from_dict(json.loads(json.dumps(found.to_dict()))), found)
