"""Cases one after the other, each in a process of its own, forked from one that has imported everything."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fuzz import registry
from fuzz.laws import Held
from fuzz.registry import Entry

PATIENCE = 900.0
"""Seconds by the clock after which a case is killed: for code that does not come back to Python to be interrupted."""

BYTES = 2 << 30
"""Memory that one case may take."""

ADDRESSES = 3 * BYTES
"""Limit on the address space of a case: more than it may take, since what is reserved is not all used."""


@dataclass(frozen=True)
class Result:
    """What a case came to.

    Attributes:
        wrong: every law that does not hold.
        late: every call that took too long.
        seconds: processor time of its slowest call.
        slowest: what that call was.
        said: what was drawn.
    """

    wrong: list[str]
    late: tuple[str, ...] = ()
    seconds: float = 0.0
    slowest: str = ""
    said: str = ""


def held(entry: Entry, seed: int, index: int, patience: float = 1.0) -> Result:
    """Draw a case and hold its answers to their laws, in this process."""
    draw, laws = entry.draw(seed, index), Held(patience)
    try:
        entry.check(draw, laws)
    except Exception:  # of what a case calls without asking, such as to_dict: a finding like any other
        laws.wrong.append(f"raised by what is not asked: {traceback.format_exc()}")
    return Result(laws.wrong, tuple(laws.late), *laws.slowest, said=repr(draw.said))


def _answer(entry: Entry, seed: int, index: int, pipe: Connection) -> None:
    """In the child."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    result = held(entry, seed, index)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # of this case alone: the process has run no other
    if peak > BYTES:
        result.wrong.append(f"took {peak / 2**30:.1f} GB")
    pipe.send(result)


def run(entry: Entry, seed: int, index: int) -> Result:
    """One case in a process of its own, and in another one where a call took too long.

    A call does the same work each time, and a machine with other guests takes up to twice as long for it: a time is a
    finding where it is seen twice. That of the faster run is reported.
    """
    result = _once(entry, seed, index)
    if not result.late:
        return result
    again = _once(entry, seed, index)
    wrong = [*result.wrong, *(said for said in again.wrong if said not in result.wrong)]
    late = result.late if again.late else ()
    return replace(min(result, again, key=lambda each: each.seconds), wrong=[*wrong, *late], late=late)


def _once(entry: Entry, seed: int, index: int) -> Result:
    """One case in a process of its own."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_answer, args=(entry, seed, index, there))
    child.start()
    there.close()
    try:
        if here.poll(PATIENCE):
            result: Result = here.recv()
            return result
        return Result([f"no answer within {PATIENCE:.0f} s by the clock"])
    except EOFError:
        return Result(["died (see the traceback above)"])
    finally:
        child.kill()
        child.join()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run cases up to number N; 0 if every law holds."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Hold random calls to laws.")
    parser.add_argument("cases", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--only", type=int, metavar="INDEX", help="run one case again, by its number")
    parser.add_argument("--kind", action="append", default=[], help="draw this kind, or case, alone; may be repeated")
    options = parser.parse_args(arguments)
    known = [*registry.kinds(), *registry.declared()]
    for name in options.kind:
        if name not in known:
            parser.error(f"--kind must be one of {', '.join(known)}; received {name!r}")
    if options.only is not None:
        entry = registry.chosen(options.seed, options.only, options.kind)
        result = run(entry, options.seed, options.only)
        print(entry.name, result.said)
        print(f"slowest call: {result.seconds:.2f} s, {result.slowest}")
        print(*result.wrong or ["every law holds"], sep="\n")
        return 1 if result.wrong else 0
    return _all(options.cases, options.seed, options.kind)


def _all(cases: int, seed: int, only: Sequence[str]) -> int:
    path = Path(".fuzz") / f"{'-'.join([str(seed), *only])}.json"
    path.parent.mkdir(exist_ok=True)
    state: dict[str, Any] = {"next": 0, "failed": {}, "slowest": 0.0, "kinds": {}}
    if path.exists():
        state = json.loads(path.read_text())
    started = time.perf_counter()
    for index in range(state["next"], cases):
        entry = registry.chosen(seed, index, only)
        result = run(entry, seed, index)
        state["slowest"] = max(state["slowest"], result.seconds)
        state["kinds"][entry.kind] = state["kinds"].get(entry.kind, 0) + 1
        if result.wrong:
            state["failed"][str(index)] = {"case": entry.name, "wrong": result.wrong, "said": result.said}
            print(f"{index} {entry.name}: {'; '.join(result.wrong)}\n    {result.said}", flush=True)
        state["next"] = index + 1
        written = path.with_suffix(".part")
        written.write_text(json.dumps(state))
        written.replace(path)
        if (index + 1) % 100 == 0 and os.isatty(1):
            print(f"{index + 1} of {cases}, {time.perf_counter() - started:.0f} s", flush=True)
    print(f"{state['next']} cases, {len(state['failed'])} failed; slowest call {state['slowest']:.2f} s")
    print("by kind:", ", ".join(f"{kind} {number}" for kind, number in state["kinds"].items()))
    return 1 if state["failed"] else 0
