"""The table of what is supported: mechanism, sampling and direction, each with its theorem or the reason it is refused.

Nothing here knows the answer: it asks ``plan/sampling/base.py`` for every combination.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hockeystick.plan.mechanisms import MECHANISMS, Claim
from hockeystick.plan.sampling import SAMPLINGS
from hockeystick.plan.sampling.base import claimed
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import choice


@dataclass(frozen=True, slots=True)
class Row:
    """A combination of mechanism and sampling, and the directions in which one claim holds of it."""

    mechanism: str
    sampling: str
    directions: tuple[Direction, ...]
    claim: Claim

    @property
    def where(self) -> str:
        """The directions as a list for people."""
        return ", ".join(direction.value for direction in self.directions)


COLUMNS = ("mechanism", "sampling", "direction", "pair", "source or reason")
"""Heads of the table."""


def supported_rows(name: str | None = None) -> list[Row]:
    """The rows of all combinations, one for each claim, in the order of ``MECHANISMS`` and ``SAMPLINGS``.

    Args:
        name: of the one mechanism that is asked about; all of them if ``None``.

    Raises:
        InvalidInputError: no mechanism is called so.

    >>> {row.mechanism for row in supported_rows("staircase")}
    {'staircase'}
    """
    rows = []
    for mechanism, sampling, claims in _claims(name):
        for claim in dict.fromkeys(claims.values()):
            directions = tuple(direction for direction, other in claims.items() if other == claim)
            rows.append(Row(mechanism, sampling, directions, claim))
    return rows


def supported_json(name: str | None = None) -> list[dict[str, str]]:
    """An object for each mechanism, sampling and direction, with ``status`` and ``source``.

    Args:
        name: of the one mechanism that is asked about; all of them if ``None``.

    Raises:
        InvalidInputError: no mechanism is called so.
    """
    return [
        {
            "mechanism": mechanism,
            "sampling": sampling,
            "direction": direction.value,
            "status": claim.status.value,
            "source": claim.source,
        }
        for mechanism, sampling, claims in _claims(name)
        for direction, claim in claims.items()
    ]


def supported_markdown() -> str:
    """The table as Markdown, for the documentation, which links the keys of the bibliography.

    >>> print(supported_markdown().splitlines()[0])
    | mechanism | sampling | direction | pair | source or reason |
    """
    lines = [_line(COLUMNS), _line(["---"] * len(COLUMNS))]
    for row in supported_rows():
        cells = (f"`{row.mechanism}`", f"`{row.sampling}`", row.where, row.claim.status.value, row.claim.cited)
        lines.append(_line(cells))
    return "\n".join(lines) + "\n"


def _claims(name: str | None) -> Iterator[tuple[str, str, dict[Direction, Claim]]]:
    known = [mechanism.name for mechanism in MECHANISMS]
    if name is not None and name not in known:
        raise InvalidInputError(choice("mechanism", name, known), "mechanism")
    for mechanism in MECHANISMS:
        if name not in (None, mechanism.name):
            continue
        for sampling in SAMPLINGS:
            claims = {direction: claimed(sampling, mechanism, direction) for direction in Direction}
            yield mechanism.name, sampling.name, claims


def _line(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
