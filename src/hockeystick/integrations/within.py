"""Epsilon of many rows to a given width: by tables if they take fewer queries, otherwise as many plans at once."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick.integrations.rows import remedied
from hockeystick.plan.dp_sgd import dp_sgd
from hockeystick.plan.plan import Plan
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.questions.many import epsilons
from hockeystick.questions.tables.files import MOST_KNOTS
from hockeystick.questions.tables.table import COVERED, Table
from hockeystick.values.domains import DELTA
from hockeystick.values.errors import HockeystickError, InvalidInputError

Places = npt.NDArray[np.intp]
Group = tuple[float, float, float, str]

TABLED = frozenset({"noise_multiplier", "sample_rate", "steps", "delta", "adjacency", "sampling"})
"""Keys of rows that a table may answer."""

MIN_TABLED_STEPS = 30
"""Smallest number of distinct steps for which a table is considered: its knots are as many."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Content of a row of a frame, its number counted from 0, and the keys read from columns."""

    number: int
    said: Mapping[str, Any]
    columns: Collection[str] = ()

    def plan(self) -> Plan:
        """Return the plan of the row, without a delta.

        Raises:
            InvalidInputError: the row is no plan.
        """
        given = {key: value for key, value in self.said.items() if key != "delta" and value is not None}
        return dp_sgd(given.pop("noise_multiplier", None), **given)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Prefix errors raised in the block with the number of the row."""
        try:
            yield
        except HockeystickError as error:
            error.args = (f"row {self.number}: {remedied(error, self.columns)}",)
            raise


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """Certified ends of epsilon of distinct rows, and the reasons for intervals wider than wanted."""

    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    reasons: list[str | None]


def within(rows: list[Row], accuracy: float) -> Within:
    """Return epsilon of distinct rows, to a relative width where possible.

    Raises:
        InvalidInputError: a row is no plan, or has no delta; the message names the first one.
        UnsupportedError: no engine treats a row.
    """
    found = Within(np.empty(len(rows)), np.empty(len(rows)), [None] * len(rows))
    groups: dict[Group | None, list[int]] = {}
    for at, row in enumerate(rows):
        groups.setdefault(_group(row), []).append(at)
    others = groups.pop(None, [])
    for group, places in groups.items():
        steps = [rows[at].said["steps"] for at in places]
        if len(places) < MIN_TABLED_STEPS or len(places) <= math.log(max(steps) / min(steps)) / accuracy:
            others += places
            continue
        noise, rate, delta, adjacency = group  # type: ignore[misc]  # None is taken out
        with rows[places[0]].named():
            table = Table(
                noise, rate, [min(steps), max(steps)], delta, adjacency=adjacency, accuracy=accuracy, most=MOST_KNOTS
            )
        band = table.epsilons(rounds=np.array(steps, dtype=np.float64), gap=accuracy)
        found.lower[places], found.upper[places] = band.lower, band.upper
    _by_plans(rows, sorted(others), accuracy, found)
    return found


def _group(row: Row) -> Group | None:
    """Noise, rate, delta and adjacency of a row that a table may answer; ``None`` for others.

    An invalid row gets ``None``, so that making its plan raises the error.
    """
    said = {key: value for key, value in row.said.items() if value is not None}
    if not TABLED.issuperset(said) or said.get("sampling", Poisson.name) != Poisson.name:
        return None
    noise, rate, delta, steps = (said.get(key) for key in ("noise_multiplier", "sample_rate", "delta", "steps"))
    adjacency = said.get("adjacency", COVERED[0])
    if not all(type(value) in (int, float) for value in (noise, rate, delta, steps)) or adjacency not in COVERED:
        return None
    if not (steps >= 1 and float(steps).is_integer() and steps <= 10**9 and 0 < delta < 1):  # type: ignore[operator,arg-type]
        return None
    return float(noise), float(rate), float(delta), str(adjacency)  # type: ignore[arg-type]


def _by_plans(rows: list[Row], places: list[int], accuracy: float, found: Within) -> None:
    """Write the answers of the rows at some places, computed as plans together."""
    plans, deltas = [], []
    for at in places:
        with rows[at].named():
            plans.append(rows[at].plan())
            if rows[at].said.get("delta") is None:
                raise InvalidInputError("no delta: give a column or an argument delta", "delta")
            deltas.append(DELTA.of("the target delta").check(rows[at].said["delta"], "delta"))
    if not plans:
        return
    try:
        band = epsilons(plans, deltas, gap=accuracy)
    except HockeystickError as error:
        number, _, said = str(error).removeprefix("plan ").partition(": ")
        error.args = (f"row {rows[places[int(number)]].number}: {said}",)
        raise
    found.lower[places], found.upper[places] = band.lower, band.upper
    for at, reason in zip(places, band.reasons, strict=True):
        found.reasons[at] = reason
