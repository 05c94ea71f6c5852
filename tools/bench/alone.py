"""What this library does by itself: the same plan at more and more rounds, and the memory that each case takes."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from bench.cases import Case, scaling_cases
from bench.workers import Worker

REPETITIONS = 5


def scaling(ours: Worker) -> list[dict[str, Any]]:
    """Median seconds, relative width and engine of each scaling case."""
    found = []
    for case in scaling_cases():
        replies = [ours.ask({**case.question(i), "route": "default"}, case.limit) for i in range(REPETITIONS + 1)]
        first, *others = replies
        cell: dict[str, Any] = {"name": case.name, "rounds": case.rounds, "error": first.get("error")}
        if "value" in first:
            width = (first["value"] - first["lower"]) / first["value"]
            seconds = statistics.median(reply["seconds"] for reply in others)
            cell |= {"seconds": seconds, "width": width, "value": first["value"], "by": first["by"]}
        found.append(cell)
    return found


def memory(new_worker: Callable[[], Worker], case: Case) -> dict[str, Any]:
    """Largest resident set while answering, above the largest after the imports, in MiB; a process for each case."""
    with new_worker() as worker:
        reply = worker.ask({**case.question(), "route": "default"}, case.limit)
        peak = reply["peak_mib"] - worker.ready["peak_mib"] if "peak_mib" in reply else None
        return {"name": case.name, "mib": peak, "imports_mib": worker.ready["peak_mib"], "error": reply.get("error")}
