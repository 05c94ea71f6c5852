"""The common interface of all accountants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar, Self

from hockeystick.directions.directions import Directions
from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError, NotApplicableError

if TYPE_CHECKING:
    from hockeystick.values.bounds import Answer, DeltaAnswer

ASKED = ("epsilon", "delta")
"""Arguments of ``Plan.epsilon`` and ``Plan.delta`` that users often give as options of an accountant."""


@dataclass(frozen=True)
class Accountant(ABC):
    """Method that computes epsilon and delta of a plan, with a name by which users select it.

    A subclass with options is a frozen dataclass: each field is an option, annotated with its domain.

    Attributes:
        name: name, as given to ``accountant=`` and ``--accountant``.
        summary: one line for ``hockeystick accountants``: the method, and the kind of number it gives.
        below: True if the accountant also uses the lower pairs of rounds that have separate upper and lower pairs; if
            False, its answer for such rounds has no lower end.
        most_rounds: the largest number of rounds that it accepts.
        least_delta: the least delta above 0 that it accepts.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    below: ClassVar[bool] = False
    most_rounds: ClassVar[int] = domains.OTHER_MAX_COUNT
    least_delta: ClassVar[float] = domains.OTHER_LEAST_DELTA

    def __post_init__(self) -> None:
        domains.check_fields(self)

    @abstractmethod
    def epsilon(self, directions: Directions, delta: float, gap: float | None) -> Answer:
        """Return epsilon at delta in [0, 1); see :meth:`hockeystick.Plan.epsilon`."""

    @abstractmethod
    def delta(self, directions: Directions, epsilon: float, gap: float | None) -> DeltaAnswer:
        """Return delta at epsilon >= 0; see :meth:`hockeystick.Plan.delta`."""

    def with_options(self, options: Mapping[str, float]) -> Self:
        """Return a copy with these values of the options.

        Raises:
            InvalidInputError: an option is unknown, or a value is outside its domain.
        """
        known = [item.name for item in fields(self)]
        for key in options:
            if key not in known:
                takes = f"its options are {', '.join(known)}" if known else "it has none"
                asked = "; epsilon takes a delta, and delta takes an epsilon" if key in ASKED else ""
                raise InvalidInputError(
                    f"accountant {self.name!r} has no option {domains.shown(key)}; {takes}{asked}", key
                )
        return replace(self, **options)

    def check(self, directions: Directions, delta: float = 0.0) -> None:
        """Refuse more rounds, or a smaller delta, than the accountant accepts.

        Raises:
            NotApplicableError: there are more than ``most_rounds`` rounds, or delta is not 0 and below ``least_delta``.
        """
        rounds = sum(count for _, count in directions.kinds)
        for given, beyond, taken in (
            (rounds, rounds > self.most_rounds, f"at most {self.most_rounds} rounds"),
            (delta, 0 < delta < self.least_delta, f"a delta of 0 or at least {self.least_delta}"),
        ):
            if beyond:
                raise NotApplicableError(
                    f"accountant {self.name!r} accepts {taken}; received {given}; use the default accountant instead"
                )
