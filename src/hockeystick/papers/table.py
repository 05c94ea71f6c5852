"""Table with named columns, which can be written as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import dataclass, field

Cell = str | float | int


@dataclass
class Table:
    """Results of an experiment: every number that its figure shows.

    Attributes:
        columns: names of the columns, which the first row determines.
        rows: rows of cells; a missing value is an empty text.
    """

    columns: tuple[str, ...] = ()
    rows: list[tuple[Cell, ...]] = field(default_factory=list)

    def add(self, **cells: Cell) -> None:
        """Add a row; the first row determines the columns, and later rows may leave out cells."""
        self.columns = self.columns or tuple(cells)
        unknown = set(cells) - set(self.columns)
        assert not unknown, unknown
        self.rows.append(tuple(_kept(cells.get(name, "")) for name in self.columns))

    def where(self, keep: Callable[[dict[str, Cell]], bool] | None = None, /, **equal: Cell) -> Table:
        """Return the rows that have the values in ``equal``, given by column name, and that satisfy ``keep``."""
        places = [(self.columns.index(name), value) for name, value in equal.items()]
        rows = [row for row in self.rows if all(row[at] == value for at, value in places)]
        if keep is not None:
            rows = [row for row in rows if keep(dict(zip(self.columns, row, strict=True)))]
        return Table(self.columns, rows)

    def numbers(self, name: str) -> list[float]:
        """Return a column of numbers, with ``nan`` for empty cells."""
        at = self.columns.index(name)
        return [math.nan if row[at] == "" else float(row[at]) for row in self.rows]

    def values(self, name: str) -> list[Cell]:
        """Return the distinct values of a column, in order of first appearance."""
        at = self.columns.index(name)
        return list(dict.fromkeys(row[at] for row in self.rows))

    def csv(self) -> str:
        """Return the table as CSV text, with numbers to full precision."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_text(cell) for cell in row] for row in self.rows)
        return out.getvalue()


def _kept(cell: Cell) -> Cell:
    """Return a cell, or an empty text if the cell is NaN."""
    if isinstance(cell, float):
        return "" if math.isnan(cell) else float(cell)  # not a NumPy float, whose repr names the type
    return cell


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else repr(cell)
