"""The one signature of all accountants."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self, TypeVar

from hockeystick import domains
from hockeystick.adjacency import Direction
from hockeystick.bounds import ONLY_DOMINATED, Answer, Bound, DeltaAnswer, DeltaBound
from hockeystick.errors import InvalidInputError
from hockeystick.pairs import Composition, RenyiComposition
from hockeystick.plan import Plan

T = TypeVar("T")
Interval = TypeVar("Interval", Bound, DeltaBound)

ASKED = ("epsilon", "delta")

NO_EPSILON = "no finite epsilon: mass at infinite loss, or an unbounded loss at delta 0"


@dataclass(frozen=True)
class Accountant(ABC):
    """A method with a name. Its options are the fields of the frozen dataclass, each annotated with its domain.

    Attributes:
        name: as given to ``accountant=`` and ``--accountant``.
        summary: one line for ``hockeystick accountants``: what it does, what kind of number it gives.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    def __post_init__(self) -> None:
        domains.check_fields(self)

    @abstractmethod
    def epsilon(self, plan: Plan, delta: float, gap: float | None) -> Answer:
        """Epsilon at delta in [0, 1); see :meth:`hockeystick.Plan.epsilon`."""

    @abstractmethod
    def delta(self, plan: Plan, epsilon: float, gap: float | None) -> DeltaAnswer:
        """Delta at epsilon >= 0; see :meth:`hockeystick.Plan.delta`."""

    def with_options(self, options: Mapping[str, float]) -> Self:
        """The same method with these options.

        Raises:
            InvalidInputError: an option that it does not have, or a value outside its domain.
        """
        known = [item.name for item in fields(self)]
        for key in options:
            if key not in known:
                takes = f"it takes {', '.join(known)}" if known else "it takes none"
                asked = "; a plan's epsilon is asked at a delta, its delta at an epsilon" if key in ASKED else ""
                raise InvalidInputError(
                    f"accountant {self.name!r} has no option {domains.shown(key)}; {takes}{asked}", key
                )
        return replace(self, **options)

    def refuse_gap(self, gap: float | None) -> None:
        """For accountants that have no interval to narrow.

        Raises:
            InvalidInputError: a gap was asked.
        """
        if gap is not None:
            raise InvalidInputError(
                f"gap is for accountants that give an interval; received {domains.shown(gap)} with {self.name!r}, "
                "leave it out",
                "gap",
            )


def without_lower(plan: Plan, found: Interval) -> Interval:
    """The interval as it is where every pair of the plan is tight; else from the least value there is.

    A pair that only dominates is composed as if it were the mechanism: what that gives is at or above the truth, and
    the lower end of an interval around it says nothing of the truth.
    """
    if plan.known_from_below:
        return found
    if isinstance(found, DeltaBound):
        log = found.log_delta
        log = replace(log, lower=-math.inf, estimate=log.upper, reason=log.reason or ONLY_DOMINATED)
        return replace(found, lower=0.0, estimate=found.upper, reason=found.reason or ONLY_DOMINATED, log_delta=log)
    return replace(found, lower=0.0, estimate=found.upper, reason=found.reason or ONLY_DOMINATED)


def compositions(plan: Plan) -> list[tuple[Direction, Composition]]:
    """The directions to compose; one stands for both where they are mirror images.

    Raises:
        UnsupportedError: a round for which no dominating pair is proven.
    """
    return distinct(plan, lambda direction: Composition(plan.pairs(direction)))


def renyi_compositions(plan: Plan) -> list[tuple[Direction, RenyiComposition]]:
    """The same for accountants that ask for nothing but moments, where a round need have no pair.

    Raises:
        UnsupportedError: a round for which nothing is proven.
    """
    return distinct(plan, lambda direction: RenyiComposition(plan.curves(direction)))


def distinct(plan: Plan, composed: Callable[[Direction], T]) -> list[tuple[Direction, T]]:
    """What is composed in each direction; one stands for both where they are equal."""
    out: list[tuple[Direction, T]] = []
    for direction in plan.adjacency.directions:
        composition = composed(direction)
        if all(composition != other for _, other in out):
            out.append((direction, composition))
    return out
