"""The table of supported combinations of mechanism, sampling and direction, each with its theorem or refusal.

This module states no theorem itself: every combination comes from ``plan/sampling/base.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick.plan.mechanisms import Claim
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.plan.sampling.base import claimed
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import choice


@dataclass(frozen=True, slots=True)
class Row:
    """Row of the table: a mechanism, a sampling scheme, and the directions in which the same statement applies."""

    mechanism: str
    sampling: str
    claim: Claim
    directions: tuple[Direction, ...]

    @property
    def where(self) -> str:
        """Directions as a comma-separated list."""
        return ", ".join(direction.value for direction in self.directions)


COLUMNS = ("mechanism", "sampling", "direction", "pair", "source or reason")
"""Column heads of the table."""


def supported_rows(name: str | None = None) -> list[Row]:
    """Return the rows of the table, in the order of ``MECHANISMS`` and ``SAMPLINGS``.

    Args:
        name: name of one mechanism; ``None`` for all.

    Raises:
        InvalidInputError: no mechanism has this name.

    >>> {row.mechanism for row in supported_rows("staircase")}
    {'staircase'}
    """
    known = [mechanism.name for mechanism in MECHANISMS]
    if name is not None and name not in known:
        raise InvalidInputError(choice("mechanism", name, known), "mechanism")
    rows: dict[tuple[str, str, Claim], list[Direction]] = {}
    for mechanism in MECHANISMS:
        for sampling in SAMPLINGS if name in (None, mechanism.name) else ():
            for direction in Direction:
                claim = claimed(sampling, mechanism, direction)
                rows.setdefault((mechanism.name, sampling.name, claim), []).append(direction)
    return [Row(*key, tuple(directions)) for key, directions in rows.items()]


def supported_markdown() -> str:
    """Return the table as Markdown for the documentation, with citation keys as links to the bibliography.

    >>> print(supported_markdown().splitlines()[0])
    | mechanism | sampling | direction | pair | source or reason |
    """
    lines = [_line(COLUMNS), _line(["---"] * len(COLUMNS))]
    for row in supported_rows():
        cells = (f"`{row.mechanism}`", f"`{row.sampling}`", row.where, row.claim.status.value, row.claim.cited)
        lines.append(_line(cells))
    return "\n".join(lines) + "\n"


def _line(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
