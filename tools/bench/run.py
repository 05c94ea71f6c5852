"""``make bench``: build, ask, show, write."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import platform
import sys
import time
from contextlib import ExitStack
from typing import Any

from bench.alone import memory, scaling
from bench.cases import Case, all_cases
from bench.environments import HOME, OURS, PEERS, PLOT, ROOT, CannotBuildError, Peer, Route, python_of
from bench.everyday import measured
from bench.files import write_text
from bench.growth import growth
from bench.measure import Row, measure
from bench.page import RESULTS, write_docs
from bench.table import rows, summaries, times
from bench.twins import compared
from bench.workers import MEMORY_MIB, StartError, Worker
from hockeystick.cli.progress import progress
from hockeystick.report.tables import laid_out

WIDTH = 140  # characters of a line of the tables

WARM_UP = {
    "quantity": "epsilon",
    "at": 1e-5,
    "rounds": [{"mechanism": "gaussian", "noise": 1.1, "rate": 0.02, "count": 50}],
}
"""Asked once of every route before anything is timed."""


def main() -> int:
    """Everything; with ``--cases`` or ``--peers`` a part, which is shown and kept apart from the documentation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default="", help="names or patterns, separated by commas")
    parser.add_argument("--peers", default="", help="names or patterns, separated by commas")
    arguments = parser.parse_args()
    cases = [case for case in all_cases() if _wanted(case.name, arguments.cases)]
    peers = [peer for peer in PEERS if _wanted(peer.name, arguments.peers)]
    whole = not (arguments.cases or arguments.peers)
    if not cases:
        print(f"no case is named so; there are: {', '.join(case.name for case in all_cases())}")
        return 1
    started = time.perf_counter()
    results, problems = collect(cases, peers)
    path = RESULTS if whole and not problems else HOME / "partial.json"
    write_text(path, json.dumps(results, indent=1) + "\n")
    _show_summary(results)
    for problem in problems:
        print(f"not measured: {problem}")
    if whole and not problems:
        written = write_docs(results, python_of(PLOT))
        print("written: " + ", ".join(str(item.relative_to(ROOT)) for item in written))
    else:
        print(f"written: {path.relative_to(ROOT)}; the documentation is left as it is after a part")
    print(f"{time.perf_counter() - started:.0f} s")
    return min(len(problems), 1)


def collect(cases: list[Case], peers: list[Peer]) -> tuple[dict[str, Any], list[str]]:
    """Results in the JSON form, and which peers could not be asked."""
    problems: list[str] = []
    core = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    with ExitStack() as stack:
        workers: list[tuple[Peer, Worker]] = []
        for peer in (OURS, *peers):
            print(f"environment of {peer.name}")
            try:
                worker = Worker(python_of(peer), peer.module, HOME / "logs" / f"{peer.name}.log", core)
                workers.append((peer, stack.enter_context(worker)))
                worker.warm_up = [{**WARM_UP, "route": route.key} for route in peer.routes]
                worker.start()
            except (CannotBuildError, StartError) as error:
                if peer is OURS:
                    raise
                problems.append(str(error))
        (_, ours), *others = workers
        routes = [(route, worker) for peer, worker in others for route in peer.routes if worker.ready]
        found = _measure_all(cases, ours, routes)
        alone = {
            "scaling": scaling(ours),
            "allocation": growth(ours),
            "memory": [memory(lambda: Worker(ours.python, ours.module, ours.log, core), case) for case in cases],
        }
        results = {
            "setting": _setting([(peer, worker) for peer, worker in workers if worker.ready]),
            "routes": {route.label: route.claim for route, _ in routes},
            "cases": [_as_json(row) for row in found],
            "alone": alone,
            "twins": compared(found, ours),
        }
        pld = next((worker for peer, worker in others if peer is PEERS[0] and worker.ready), None)
        if pld is not None:
            results["everyday"] = measured(ours, pld)
    return results, problems


def _measure_all(cases: list[Case], ours: Worker, routes: list[tuple[Route, Worker]]) -> list[Row]:
    found, done, of = [], 0, len(cases) * (len(routes) + 1)
    for case in cases:
        row = Row(case)
        with progress(case.name) as say:
            for _ in measure(row, ours, routes):
                done += 1
                say(f"{case.name}: {done} of {of}")
        found.append(row)
        print(_case_table(row))
    return found


def _case_table(row: Row) -> str:
    case = row.case
    title = f"{case.group}\n{case.rounds} rounds; truth {float(case.truth):.10g}\n"
    heads = ("accountant", "time", "value", "true error", "ratio", "remarks")
    return title + laid_out([heads, *rows(_as_json(row))], {5}, range(1, 5), WIDTH)


def _show_summary(results: dict[str, Any]) -> None:
    table: list[tuple[str, ...]] = [
        ("accountant", "answers", "fails", "below truth", "geometric mean", "range", "closer", "not matched")
    ]
    for item in summaries(results):
        spread = f"{times(min(item.ratios))} to {times(max(item.ratios))}" if item.ratios else ""
        mean = "" if item.mean is None else times(item.mean)
        counts = [len(item.errors), len(item.failed), len(item.below)]
        table.append((item.label, *map(str, counts), mean, spread, str(len(item.closer)), str(len(item.unmatched))))
    print("time of the peer over time of hockeystick, at equal or smaller true error")
    print(laid_out(table, {0}, range(1, 8), WIDTH))


def _as_json(row: Row) -> dict[str, Any]:
    case = row.case
    return {
        "name": case.name,
        "group": case.group,
        "quantity": case.quantity,
        "at": case.at,
        "rounds": case.rounds,
        "truth": str(case.truth),
        "hockeystick": vars(row.ours),
        "cells": {label: vars(cell) for label, cell in row.cells.items()},
    }


def _setting(workers: list[tuple[Peer, Worker]]) -> dict[str, Any]:
    return {
        "versions": {peer.name: worker.ready["version"] for peer, worker in workers},
        "import_seconds": {peer.name: worker.ready["import_seconds"] for peer, worker in workers},
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "memory_mib": MEMORY_MIB,
    }


def _wanted(name: str, patterns: str) -> bool:
    return not patterns or any(fnmatch.fnmatch(name, pattern.strip()) for pattern in patterns.split(","))


if __name__ == "__main__":
    sys.exit(main())
