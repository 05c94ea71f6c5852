"""Ask one case of everybody: values at the exact parameters first, then times, alternating and with fresh noise.

True error is ``|value - truth| / truth``. A peer's answer is compared with this library's at equal or smaller true
error: where the peer came closer, this library is asked again with a gap as small as the peer's error, and it is that
question whose time counts. If no such answer is had, the cell says so (``matched`` is false).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from bench.cases import Case
from bench.environments import Route
from bench.workers import UNFINISHED, Reply, StartError, Worker

BUDGET = 2.0  # seconds that the repetitions of one cell may take
REPETITIONS = 7  # at most
FEW = 3  # of this library beside a call too long to be repeated
LONG = 2.5  # seconds from which on the first call's time has to do
BRIEF = 0.1  # seconds below which a call is asked for twice
SMALLEST_GAP = 1e-12
WIDER = (4.0, 2.0, 1.0)  # gaps tried, over the error wanted: the upper end lies within a part of the width of the truth
BELOW = Decimal("1e-12")  # relative: by more than the rounding of the inputs


@dataclass(frozen=True)
class Cell:
    """What one route did with one case.

    Attributes:
        outcome: ``answered``, ``failed`` or ``not offered``.
        said: why, where it did not answer.
        value: what would be quoted.
        estimate: its estimate, where it gives one beside a bound.
        lower: its lower bound, where it gives one.
        by: which of this library's engines answered.
        error: true error of the value.
        estimate_error: true error of the estimate.
        below: whether the value lies below the truth.
        seconds: median of a call.
        ours: median of this library's calls in between.
        repetitions: how many calls each median is of.
        gap: what this library was asked for to come as close, where its default was not enough.
        matched: whether this library's answer had an equal or smaller true error.
        cold: median of the brief calls that came right after another accountant's.
    """

    outcome: str
    said: str = ""
    value: float | None = None
    estimate: float | None = None
    lower: float | None = None
    by: str | None = None
    error: float | None = None
    estimate_error: float | None = None
    below: bool = False
    seconds: float | None = None
    ours: float | None = None
    repetitions: int = 0
    gap: float | None = None
    matched: bool = True
    cold: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times as long as this library it took."""
        return None if self.seconds is None or self.ours is None else self.seconds / self.ours


@dataclass
class Row:
    """One case: this library's cell, and everybody's by label."""

    case: Case
    ours: Cell = field(default_factory=lambda: Cell("not offered"))
    cells: dict[str, Cell] = field(default_factory=dict)


@dataclass
class Own:
    """Seconds of this library's calls with its defaults: those that count, and the brief ones before them."""

    times: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)


def measure(row: Row, ours: Worker, peers: list[tuple[Route, Worker]]) -> Iterator[str]:
    """Ask everybody and fill the row; yields the label of who comes next before each, and at the end an empty one."""
    case, fresh = row.case, itertools.count(1)
    row.ours = first = _judged(case, _ask(ours, "default", case, case.question()))
    own = Own()
    for route, worker in peers:
        yield route.label
        quicker = row.cells.get(route.slower_than or "")
        if quicker is not None and quicker.said.startswith(UNFINISHED):
            row.cells[route.label] = Cell("failed", f"not tried, since {route.slower_than} {quicker.said}")
            continue
        row.cells[route.label] = _cell(case, route, worker, ours, first, fresh, own)
    while first.outcome == "answered" and len(own.times) < FEW:
        own.times.append(_time(ours, "default", case, next(fresh), own.cold))
    if own.times:
        cold = statistics.median(own.cold) if own.cold else None
        row.ours = _with(first, seconds=statistics.median(own.times), repetitions=len(own.times), cold=cold)
    yield ""


def _cell(case: Case, route: Route, worker: Worker, ours: Worker, first: Cell, fresh: Iterator[int], own: Own) -> Cell:
    """One route's cell; default questions to this library in between are added to its own."""
    reply = _ask(worker, route.key, case, case.question())
    cell = _judged(case, reply)
    if cell.outcome != "answered" or first.outcome != "answered":
        return cell
    gap, matched = _matching_gap(case, cell, ours, first)
    long = reply["seconds"] > LONG
    theirs, mine = [reply["seconds"]] if long else [], list[float]()
    while len(mine) < (FEW if long else REPETITIONS) and (not mine or sum(mine) + sum(theirs) * (not long) < BUDGET):
        i = next(fresh)
        if not long:
            theirs.append(_time(worker, route.key, case, i, []))
        mine.append(_time(ours, "default", case, i, own.cold if gap is None else [], gap))
    if gap is None:
        own.times += mine
    return _with(
        cell,
        seconds=statistics.median(theirs),
        ours=statistics.median(mine),
        repetitions=len(theirs),
        gap=gap,
        matched=matched,
    )


def _matching_gap(case: Case, cell: Cell, ours: Worker, first: Cell) -> tuple[float | None, bool]:
    """What to ask of this library so that its true error is no larger than the smallest of the peer's.

    Returns:
        ``(None for the default, whether that is reached)``.
    """
    assert cell.error is not None
    assert first.error is not None
    wanted = min(cell.error, cell.error if cell.estimate_error is None else cell.estimate_error)
    if first.error <= wanted:
        return None, True
    if wanted < SMALLEST_GAP:
        return None, False
    for gap in (wanted * factor for factor in WIDER if wanted * factor < 1):
        closer = _judged(case, _ask(ours, "default", case, {**case.question(), "gap": gap}))
        if closer.error is not None and closer.error <= wanted:
            return gap, True
    return None, False


def _time(worker: Worker, key: str, case: Case, i: int, cold: list[float], gap: float | None = None) -> float:
    """Seconds of one call with fresh noise.

    A brief one mostly shows that the other accountant has filled the processor's caches: it is added to ``cold``, and
    another one, with a noise of its own, counts.
    """
    for number in (i, -i):
        question = case.question(number)
        reply = _ask(worker, key, case, question if gap is None else {**question, "gap": gap})
        seconds: float = reply.get("seconds", case.limit)
        if seconds >= BRIEF:
            break
        if number > 0:
            cold.append(seconds)
    return seconds


def _ask(worker: Worker, key: str, case: Case, question: dict[str, Any]) -> Reply:
    try:
        return worker.ask({**question, "route": key}, case.limit)
    except StartError as error:
        return {"error": str(error)}


def _judged(case: Case, reply: Reply) -> Cell:
    """The reply held against the truth."""
    if "not_offered" in reply:
        return Cell("not offered", reply["not_offered"])
    if "error" in reply:
        return Cell("failed", reply["error"])
    value = float(reply["value"])
    if not math.isfinite(value):
        return Cell("failed", f"answers {value}")
    estimate = reply.get("estimate")
    return Cell(
        "answered",
        value=value,
        estimate=estimate,
        lower=reply.get("lower"),
        by=reply.get("by"),
        error=true_error(value, case.truth),
        estimate_error=None if estimate is None else true_error(estimate, case.truth),
        below=Decimal(value) < case.truth * (1 - BELOW),
    )


def true_error(value: float, truth: Decimal) -> float:
    """Relative."""
    return float(abs(Decimal(value) - truth) / truth)


def _with(cell: Cell, **changes: Any) -> Cell:
    return Cell(**{**vars(cell), **changes})
