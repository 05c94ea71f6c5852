"""A certified table of epsilon, which brackets millions of points between its knots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hockeystick.questions.histories.answers import plan_of
from hockeystick.questions.tables import files
from hockeystick.questions.tables.axes import DOMAINS, SIGNS, Array, Axis, axis_of
from hockeystick.questions.tables.knots import asked, laid
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.band import Band
from hockeystick.values.domains import unmet
from hockeystick.values.errors import HockeystickError, InvalidInputError, UnsupportedError
from hockeystick.values.outward import html_table, six_digits

COVERED = (Adjacency.ADD_OR_REMOVE, Adjacency.ZERO_OUT, Adjacency.REMOVE, Adjacency.ADD)
"""Adjacencies for which epsilon is proved monotone (:mod:`~hockeystick.questions.tables.axes`)."""

MOST_KNOTS = 200_000
"""Default limit of the number of knots: a minute on one core, and a file of 3 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class TableBand(Band):
    """Brackets of many rows by a table, in their order.

    Attributes:
        asked: number of distinct rows that the engine computed: those wider than the gap or outside the table.

    >>> TableBand(np.array([0.1]), np.array([0.15]), np.array([0.2]), "upper", asked=1).asked
    1
    """

    asked: int = 0


class Table:
    """Certified table of epsilon over noise, rate, rounds and delta of Gaussian rounds.

    Knots bracket the points between them: epsilon decreases in the noise and delta, and increases in the rate and the
    rounds, so it is at least the lower end at the knots on one side and at most the upper end on the other. Along fine
    axes knots are added until a step changes epsilon by at most the accuracy. The other axes have the given knots only,
    and brackets between them are as wide as epsilon varies there.

    Args:
        noise: noise multipliers: a number, or several, whose smallest and largest are the range.
        rate: probabilities that a record enters a batch (Poisson sampling); 1 for rounds on every record.
        rounds: numbers of rounds.
        delta: target deltas.
        adjacency: ``"add-or-remove"``, ``"zero-out"``, ``"remove"`` or ``"add"``.
        accuracy: widest relative width, (upper - lower) / upper, of a cell with steps along fine axes only.
        fine: axes along which knots are added.
        most: largest number of knots; each takes a quarter of a millisecond to compute.

    Attributes:
        adjacency: neighbouring relation.
        accuracy: accuracy along the fine axes.
        fine: names of the fine axes.

    Raises:
        InvalidInputError: a value is outside its domain, or more knots than ``most`` are needed.
        UnsupportedError: the adjacency is not covered.

    >>> table = Table(noise=[1.0, 1.5], rate=0.01, rounds=[1000, 2000], delta=1e-6, accuracy=0.05)
    >>> found = table.epsilons(noise=[1.0, 1.2], rounds=[1500, 1500])
    >>> [f"{low:.3f} to {high:.3f}" for low, high in zip(found.lower, found.upper)]
    ['2.497 to 2.603', '1.266 to 2.603']
    """

    __slots__ = ("_knots", "accuracy", "adjacency", "fine")

    def __init__(
        self,
        noise: Any,
        rate: Any,
        rounds: Any,
        delta: Any,
        *,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
        accuracy: float = 0.01,
        fine: Sequence[str] = ("rounds",),
        most: int = MOST_KNOTS,
    ) -> None:
        """Lay the knots and compute epsilon at each."""
        self.adjacency = covered(adjacency)
        self.accuracy = checked_accuracy(accuracy)
        self.fine = _fine(fine)
        most = domains.whole(most, "most", "maximum number of knots", least=1, most=files.MOST_KNOTS)
        given = {"noise": noise, "rate": rate, "rounds": rounds, "delta": delta}
        axes = tuple(axis_of(name, value) for name, value in given.items())
        self._knots = laid(axes, self.adjacency, self.fine, self.accuracy, most)

    @property
    def knots(self) -> dict[str, Array]:
        """Knots of each axis by name, increasing."""
        return {axis.name: axis.knots.copy() for axis in self._knots.axes}

    @property
    def lower(self) -> Array:
        """Certified lower ends at the knots, an array with a dimension for noise, rate, rounds and delta."""
        return self._knots.lower.copy()

    @property
    def upper(self) -> Array:
        """Certified upper ends at the knots, an array with a dimension for noise, rate, rounds and delta."""
        return self._knots.upper.copy()

    @property
    def widths(self) -> Array:
        """Relative width of each cell between neighbouring knots, with a dimension for each axis.

        Along an axis with one knot a cell is that knot. No point lies between two successive numbers of rounds, so the
        width there is the bracket of no point.
        """
        low, high = self._knots.corners()
        with np.errstate(invalid="ignore"):
            return np.where(high > low, 1 - low / high, 0.0)  # 1 for an infinite upper end

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions that the programs must satisfy, one sentence for each sampling scheme."""
        noise, rate, rounds, _ = self._knots.axes
        histories = [((noise.knots[0], one, int(rounds.knots[0])),) for one in rate.knots[[0, -1]].tolist()]
        plans = [plan_of(history, self.adjacency) for history in histories]
        said = {f"{label}: {text}": None for plan in plans for label, text in plan.premises.items()}
        return tuple(said)

    def epsilons(
        self,
        noise: Any = None,
        rate: Any = None,
        rounds: Any = None,
        delta: Any = None,
        *,
        gap: float | None = None,
        outside: Literal["refuse", "ask"] = "refuse",
    ) -> TableBand:
        """Return the bracket of epsilon at each of many points.

        Args:
            noise: noise multiplier of each row, or of all; may be left out if the table has only one.
            rate: sample rate of each row, or of all; may be left out if the table has only one.
            rounds: number of rounds of each row, or of all; may be left out if the table has only one.
            delta: target delta of each row, or of all; may be left out if the table has only one.
            gap: widest relative width, (upper - lower) / upper. The engine computes rows that are wider, in a quarter
                of a millisecond for each distinct row; by default it computes none.
            outside: ``"refuse"`` rows outside the table, or ``"ask"`` the engine for them.

        Returns:
            Certified ends in the order of the rows, with their middles as estimates.

        Raises:
            InvalidInputError: a value is missing, or outside the table or its domain; the message names the first such
                row, counted from 0.

        >>> table = Table(noise=2.0, rate=0.01, rounds=[100, 10_000], delta=1e-6)
        >>> found = table.epsilons(rounds=[5000, 7777], gap=1e-5)
        >>> (np.ceil(found.upper * 1e4) / 1e4).tolist(), found.asked
        ([1.6829, 2.1347], 2)
        """
        if outside not in ("refuse", "ask"):
            raise unmet("outside", "must be 'refuse' or 'ask'", outside)
        if gap is not None:
            gap = domains.share(gap, "gap", "requested relative width of the interval")
        columns = self._columns({"noise": noise, "rate": rate, "rounds": rounds, "delta": delta})
        inside = self._inside(columns, outside)
        lower, upper = np.zeros(len(inside)), np.full(len(inside), np.inf)
        lower[inside], upper[inside] = self._look_up([column[inside] for column in columns])
        wide = ~inside if gap is None else ~inside | (upper - lower > gap * upper)
        rows = np.flatnonzero(wide)
        questions = self._narrow(columns, rows, lower, upper) if rows.size else 0
        return TableBand(lower, 0.5 * (lower + upper), upper, "upper", asked=questions)

    def _columns(self, given: dict[str, Any]) -> list[Array]:
        """Return the coordinates of all rows, as arrays of full length."""
        values = []
        for axis in self._knots.axes:
            value = given[axis.name]
            if value is None:
                if len(axis) > 1:
                    raise InvalidInputError(
                        f"{axis.name} must be given, because the table has {len(axis)} knots of it; received None",
                        axis.name,
                    )
                value = axis.knots[0]
            values.append(domains.array(value, axis.name))
        try:
            together = np.broadcast_arrays(*values)
        except ValueError:
            shapes = ", ".join(f"{name} {value.shape}" for name, value in zip(given, values, strict=True))
            raise InvalidInputError(
                f"columns must be numbers or have the same length; received the shapes {shapes}"
            ) from None
        return [column.ravel() for column in together]

    def _inside(self, columns: list[Array], outside: str) -> npt.NDArray[np.bool_]:
        """Return a mask of the rows within all axes.

        Raises:
            InvalidInputError: a row is outside a domain, or, if ``outside`` is ``"refuse"``, outside the table; the
                message names the first such row, counted from 0.
        """
        inside = np.ones(len(columns[0]), dtype=bool)
        for axis, column in zip(self._knots.axes, columns, strict=True):
            on_axis = axis.within(column)
            whole = axis.name != "rounds" or column == np.floor(column)
            for row in np.flatnonzero(~(on_axis & whole)).tolist():
                value = float(column[row])
                DOMAINS[axis.name].check(value, f"row {row}: {axis.name}")
                if outside == "refuse":
                    raise InvalidInputError(
                        f"row {row}: {axis.name} must be from {axis.knots[0]:g} to {axis.knots[-1]:g}, the range of "
                        f"the table; received {value!r}; outside='ask' computes such rows with the engine",
                        axis.name,
                    )
            inside &= on_axis
        return inside

    def _look_up(self, columns: list[Array]) -> tuple[Array, Array]:
        """Return the bracket of each row, all inside the table: the ends at its safe and at its dangerous corner."""
        corners = [axis.corners(column) for axis, column in zip(self._knots.axes, columns, strict=True)]
        safe, dangerous = zip(*corners, strict=True)
        return self._knots.lower[safe], self._knots.upper[dangerous]

    def _narrow(self, columns: list[Array], rows: npt.NDArray[np.intp], lower: Array, upper: Array) -> int:
        """Compute some rows, equal ones once, narrow their brackets, and return the number of distinct rows."""
        points, of = np.unique(np.stack([column[rows] for column in columns]), axis=1, return_inverse=True)
        low, high = asked(list(points), self.adjacency)
        of = of.reshape(-1)
        lower[rows], upper[rows] = np.maximum(lower[rows], low[of]), np.minimum(upper[rows], high[of])
        return int(points.shape[1])

    @property
    def sha256(self) -> str:
        """Hash of the table's content, which identifies its file, in hexadecimal."""
        return files.digest(self._head, files.body_of(self._knots))

    def save(self, path: str | Path) -> None:
        """Write the table to one file atomically.

        Raises:
            InvalidInputError: the file cannot be written.
        """
        files.write(path, self._head, files.body_of(self._knots))

    @property
    def _head(self) -> dict[str, Any]:
        return files.head_of(self.adjacency, self.accuracy, self.fine, self._knots)

    @classmethod
    def load(cls, path: str | Path) -> Table:
        """Load a table that :meth:`save` wrote, and check its hash and the order of its ends.

        The hash detects a damaged file. It is not a signature: anyone who can write the file can write another hash, so
        a table is only as trustworthy as its source.

        Raises:
            InvalidInputError: the file is missing, not a table, damaged, or of another version of the format.
        """
        head, knots = files.read(path)
        table = cls.__new__(cls)
        try:
            table.adjacency, table.accuracy = covered(head["adjacency"]), checked_accuracy(head["accuracy"])
            table.fine, table._knots = _fine(head["fine"]), knots
        except HockeystickError as error:
            error.args = (f"{domains.place(path)}: {error}", *error.args[1:])
            raise
        return table

    def __repr__(self) -> str:
        each = ", ".join(f"{axis.name} {_range(axis)} ({len(axis)})" for axis in self._knots.axes)
        return f"<Table of {self._knots.upper.size} knots: {each}; {self.adjacency}>"

    def _repr_html_(self) -> str:
        """Return the axes as notebooks show them: a row for each, with its range and the number of knots."""
        rows = [(axis.name, _range(axis), str(len(axis))) for axis in self._knots.axes]
        return html_table(f"certified table of epsilon, {self.adjacency}", rows, ("axis", "range", "knots"))


def _range(axis: Axis) -> str:
    """Return the first and last knot of an axis, in words."""
    return f"{six_digits(axis.knots[0])} to {six_digits(axis.knots[-1])}"


def covered(adjacency: Adjacency | str) -> Adjacency:
    """Return the adjacency if tables cover it.

    Raises:
        InvalidInputError: the adjacency is unknown.
        UnsupportedError: epsilon is not proved monotone under it.
    """
    found = Adjacency.parse(adjacency)
    if found not in COVERED:
        raise UnsupportedError(
            f"adjacency must be {domains.listed(map(str, COVERED))} for a table, because epsilon "
            f"is not proved monotone under any other; received {str(found)!r}; use hs.epsilons for such plans"
        )
    return found


def checked_accuracy(accuracy: float) -> float:
    """Return the accuracy as a float.

    Raises:
        InvalidInputError: the accuracy is not between 1e-4, below which a table has too many knots, and 1.
    """
    domain = domains.Domain(
        "a number, at least 1e-4 and less than 1", {"minimum": 1e-4, "exclusiveMaximum": 1}, "relative width of a cell"
    )
    return float(domain.check(accuracy, "accuracy"))


def _fine(fine: Sequence[str]) -> tuple[str, ...]:
    names = tuple(fine) if isinstance(fine, list | tuple) else (fine,)
    for name in names:
        if not isinstance(name, str) or name not in SIGNS:
            raise unmet("fine", f"must name axes among {domains.listed(SIGNS)}", name)
    return tuple(name for name in SIGNS if name in names)
