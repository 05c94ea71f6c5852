"""What every peer's process does: read a question a line, answer a line. Standard library only, Python 3.9 or later.

It runs in the peer's own environment, where neither this library nor the rest of this package can be imported. A
question is ``{"route": name, "limit_mib": number or null, "quantity", "at", "rounds"}``; an answer is ``{"seconds",
"processor_seconds", "peak_mib"}`` with ``{"value", "lower", "estimate", "by"}``, ``{"error": text}`` or
``{"not_offered": text}``. The first line, once everything is imported, is ``{"version", "import_seconds",
"peak_mib"}``.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

STARTED = time.perf_counter()

Question = dict[str, Any]
Answer = dict[str, Any]
Route = Callable[[Question], Answer]


class NotOffered(Exception):  # noqa: N818 (nothing went wrong)
    """The peer has no public function for such a question."""


def only_release(question: Question) -> dict[str, Any]:
    """The rounds of a question that has one kind of them, Gaussian ones."""
    first, *others = question["rounds"]
    if others:
        raise NotOffered("one kind of round only")
    return only_gaussian(first)


def only_gaussian(release: dict[str, Any]) -> dict[str, Any]:
    """The same release, if it is a Gaussian one."""
    if release["mechanism"] != "gaussian":
        raise NotOffered("Gaussian noise only")
    return release


def serve(package: str, routes: dict[str, Route]) -> None:
    """Answer until the questions end. What the peer prints goes to the log and not between the answers."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    ready = {
        "version": importlib.metadata.version(package),
        "python": platform.python_version(),
        "import_seconds": time.perf_counter() - STARTED,
        "peak_mib": peak_mib(),
    }
    _send(answers, ready)
    for line in sys.stdin:
        question = json.loads(line)
        _limit_memory(question.get("limit_mib"))
        started, used = time.perf_counter(), time.process_time()
        answer = _answered(routes[question["route"]], question)
        times = {"seconds": time.perf_counter() - started, "processor_seconds": time.process_time() - used}
        _send(answers, {**answer, **times, "peak_mib": peak_mib()})


def peak_mib() -> float:
    """The largest resident set so far, of this program and not of the one that started it where the system can tell."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmHWM"].split()[0]) / 1024
    except OSError:
        scale = 1024.0**2 if sys.platform == "darwin" else 1024.0
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def _answered(route: Route, question: Question) -> Answer:
    try:
        return route(question)
    except NotOffered as reason:
        return {"not_offered": str(reason)}
    except Exception as error:  # a peer's failure is a result
        return {"error": f"{type(error).__name__}: {error}"}


def _limit_memory(mib: float | None) -> None:
    if mib is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (int(mib * 1024**2), hard))


def _send(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()
