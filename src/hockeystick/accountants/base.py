"""The one signature of all accountants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from hockeystick.adjacency import Direction
from hockeystick.bounds import Bound, DeltaBound, DeltaUpperBound, UpperBound
from hockeystick.errors import InvalidInputError
from hockeystick.pairs import Composition
from hockeystick.plan import Plan


class Accountant(ABC):
    """A method with a name.

    Attributes:
        name: as given to ``accountant=`` and ``--accountant``.
        summary: one line for ``hockeystick accountants``: what it does, what kind of number it gives.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def epsilon(self, plan: Plan, delta: float, gap: float | None) -> Bound | UpperBound:
        """Epsilon at delta in [0, 1); see :meth:`hockeystick.Plan.epsilon`."""

    @abstractmethod
    def delta(self, plan: Plan, epsilon: float, gap: float | None) -> DeltaBound | DeltaUpperBound:
        """Delta at epsilon >= 0; see :meth:`hockeystick.Plan.delta`."""

    def refuse_gap(self, gap: float | None) -> None:
        """For accountants that have no interval to narrow.

        Raises:
            InvalidInputError: a gap was asked.
        """
        if gap is not None:
            raise InvalidInputError(
                f"gap is for accountants that give an interval; received {gap!r} with {self.name!r}, leave it out",
                "gap",
            )


def compositions(plan: Plan) -> list[tuple[Direction, Composition]]:
    """The directions to compose; one stands for both where they are mirror images."""
    out: list[tuple[Direction, Composition]] = []
    for direction in plan.adjacency.directions:
        composition = Composition(plan.pairs(direction))
        if all(composition != other for _, other in out):
            out.append((direction, composition))
    return out
