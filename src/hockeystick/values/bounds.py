"""What leaves the library: a certified interval, a one-sided bound, or an estimate. Three types, never mixed up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, overload

from hockeystick.values.domains import shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.outward import Shows
from hockeystick.values.refused import refusal

Guarantee = Literal["certified", "proved", "upper bound", "estimate"]


@dataclass(frozen=True, slots=True)
class Bound(Shows):
    """A certified interval: ``lower <= truth <= upper``.

    ``float(bound)`` is the upper end, the one that is safe to quote, and so is ``bound.quoted``; in a format such as
    ``f"{bound:.2f}"`` it is rounded up.

    Attributes:
        lower: certified lower end.
        estimate: the best guess, between the two ends; no guarantee.
        upper: certified upper end; ``inf`` only where ``reason`` says why.
        guarantee: ``"certified"`` (proved given the stated accuracy of the elementary functions) or ``"proved"``
            (ball arithmetic throughout).
        accountant: the route by which the numbers came.
        direction: the direction that dominated (``"add"``, ``"remove"``, ``"replace-one"``, ``"zero-out"``,
            ``"restore"``).
        reason: why an end is infinite, or why the interval is wider than was asked; ``None`` otherwise.
        assumptions: what the program must do for the number to be about it, one sentence for each way of sampling.
        warnings: what is unsafe about the number, a delta of 1/dataset_size or more for one; empty where nothing is.

    Raises:
        InvalidInputError: ends that are not in order, or not numbers.

    >>> b = Bound(lower=1.0, estimate=1.25, upper=1.5)
    >>> float(b), b.gap, f"{b:.0f}"
    (1.5, 0.5, '2')
    """

    lower: float
    estimate: float
    upper: float
    guarantee: Guarantee = field(default="certified", compare=False)
    accountant: str = field(default="auto", compare=False)
    direction: str | None = field(default=None, compare=False)
    reason: str | None = field(default=None, compare=False)
    assumptions: tuple[str, ...] = field(default=(), compare=False, repr=False, kw_only=True)
    warnings: tuple[str, ...] = field(default=(), compare=False, kw_only=True)

    def __post_init__(self) -> None:
        if not self.lower <= self.estimate <= self.upper:  # nor is NaN
            ends = ", ".join(map(shown, (self.lower, self.estimate, self.upper)))
            raise InvalidInputError(f"an interval needs lower <= estimate <= upper; received {ends}", "lower")

    def __float__(self) -> float:
        return self.upper

    @property
    def quoted(self) -> float:
        """The number to quote, the upper end."""
        return self.upper

    @property
    def ends(self) -> Mapping[str, float]:
        """The numbers by name, which are lower, estimate and upper."""
        return {"lower": self.lower, "estimate": self.estimate, "upper": self.upper}

    @property
    def gap(self) -> float:
        """Width of the interval, ``upper - lower``."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    @property
    def relative_gap(self) -> float:
        """Width relative to the upper end; 0 where both ends agree, 1 where nothing but the upper end is known."""
        if self.lower == self.upper:
            return 0.0
        return 1.0 if math.isinf(self.upper) else (self.upper - self.lower) / self.upper


@dataclass(frozen=True, slots=True)
class DeltaBound(Bound):
    """A :class:`Bound` on delta that also holds its natural logarithm, for deltas below the range of a double."""

    log_delta: Bound = field(default=Bound(-math.inf, -math.inf, -math.inf), compare=False)


ONLY_DOMINATED = "the pair of a round dominates it and is not known to be tight: nothing is known from below"
"""Why there is no lower end where a round's pair is not claimed to be tight."""

ONLY_ABOVE = (
    "a round has one pair above and another one below, and this accountant takes the one above: nothing is said from "
    "below, which 'auto' does"
)
"""Why there is no lower end by a method that keeps to the pairs that dominate."""

ONLY_CURVE = "of some rounds nothing but a Renyi curve is known: nothing is known from below"
"""Why there is no lower end where a round has no pair."""


@dataclass(frozen=True, slots=True)
class UpperBound(Shows):
    """A number that the truth does not exceed, and nothing known from below: there is no ``lower`` and no ``estimate``.

    Attributes:
        upper: ``truth <= upper``; ``inf`` only where ``reason`` says why.
        accountant: the route by which the number came.
        direction: the direction that dominated (``"add"``, ``"remove"``, ``"replace-one"``, ``"zero-out"``,
            ``"restore"``).
        order: the Renyi order ``alpha > 1`` from which the number came, where it came from one.
        reason: why the bound is infinite, or what makes it loose; ``None`` otherwise.
        assumptions: what the program must do for the number to be about it, one sentence for each way of sampling.
        warnings: what is unsafe about the number, a delta of 1/dataset_size or more for one; empty where nothing is.

    >>> float(UpperBound(1.5, accountant="rdp", order=8.0))
    1.5
    """

    upper: float
    accountant: str = field(compare=False)
    direction: str | None = field(default=None, compare=False)
    order: float | None = field(default=None, compare=False)
    reason: str | None = field(default=None, compare=False)
    assumptions: tuple[str, ...] = field(default=(), compare=False, repr=False, kw_only=True)
    warnings: tuple[str, ...] = field(default=(), compare=False, kw_only=True)
    guarantee: Guarantee = field(default="upper bound", init=False, compare=False)

    def __float__(self) -> float:
        return self.upper

    @property
    def quoted(self) -> float:
        """The number that is safe to quote, the upper end."""
        return self.upper

    @property
    def ends(self) -> Mapping[str, float]:
        """The number by its name, upper."""
        return {"upper": self.upper}


@dataclass(frozen=True, slots=True)
class DeltaUpperBound(UpperBound):
    """An :class:`UpperBound` on delta that also holds its natural logarithm, for deltas below the range of a double."""

    log_delta: UpperBound = field(default=UpperBound(-math.inf, "rdp"), compare=False)


@dataclass(frozen=True, slots=True)
class Estimate(Shows):
    """A number near the truth, on either side of it: no ``lower``, no ``upper``, and ``float()`` refuses it.

    Attributes:
        value: the estimate.
        accountant: the route by which the number came.
        direction: the direction that dominated (``"add"``, ``"remove"``, ``"replace-one"``, ``"zero-out"``,
            ``"restore"``), where one did.
        reason: what is known to be wrong with it here; ``None`` otherwise.
        assumptions: what the program must do for the number to be about it, one sentence for each way of sampling.
        warnings: what is unsafe about the number, a delta of 1/dataset_size or more for one; empty where nothing is.

    >>> Estimate(1.5, accountant="gdp").ends
    {'value': 1.5}
    """

    if not TYPE_CHECKING:  # readers of types refuse it by themselves
        __float__ = refusal("float()")

    value: float
    accountant: str = field(compare=False)
    direction: str | None = field(default=None, compare=False)
    reason: str | None = field(default=None, compare=False)
    assumptions: tuple[str, ...] = field(default=(), compare=False, repr=False, kw_only=True)
    warnings: tuple[str, ...] = field(default=(), compare=False, kw_only=True)
    guarantee: Guarantee = field(default="estimate", init=False, compare=False)

    @property
    def quoted(self) -> float:
        """The number to quote, as an estimate."""
        return self.value

    @property
    def ends(self) -> Mapping[str, float]:
        """The number by its name, value."""
        return {"value": self.value}


@dataclass(frozen=True, slots=True)
class DeltaEstimate(Estimate):
    """An :class:`Estimate` of delta that also holds its natural logarithm, for deltas below the range of a double."""

    log_delta: Estimate = field(default=Estimate(-math.inf, "gdp"), compare=False)


@overload
def from_above(found: DeltaAnswer) -> DeltaUpperBound | DeltaEstimate: ...
@overload
def from_above(found: Answer) -> UpperBound | Estimate: ...
def from_above(found: Answer) -> UpperBound | Estimate:
    """An interval without its lower end; other answers, which have none, as they are."""
    if not isinstance(found, Bound):
        return found
    accountant, direction, reason = found.accountant, found.direction, found.reason or ONLY_DOMINATED
    if isinstance(found, DeltaBound):
        log = UpperBound(found.log_delta.upper, accountant, direction, reason=reason)
        return DeltaUpperBound(found.upper, accountant, direction, reason=reason, log_delta=log)
    return UpperBound(found.upper, accountant, direction, reason=reason)


Answer = Bound | UpperBound | Estimate
"""What an accountant says of epsilon."""

DeltaAnswer = DeltaBound | DeltaUpperBound | DeltaEstimate
"""What an accountant says of delta."""
