"""Certified intervals, as results of the library: for epsilon, and for delta together with its logarithm."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from hockeystick.values.domains import shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.outward import Shows

Guarantee = Literal["certified", "proved", "upper bound", "estimate", "if batches are Poisson"]


@dataclass(frozen=True, slots=True)
class Bound(Shows):
    """A certified interval: ``lower <= truth <= upper``.

    ``float(bound)`` and ``bound.quoted`` are the upper end, which is safe to quote; a format such as
    ``f"{bound:.2f}"`` rounds it up.

    Attributes:
        lower: certified lower end.
        estimate: the best guess, between the two ends; no guarantee.
        upper: certified upper end; ``inf`` only if ``reason`` says why.
        guarantee: ``"certified"`` (proved given the stated accuracy of the elementary functions) or ``"proved"``
            (ball arithmetic throughout), or ``"if batches are Poisson"`` if the loader was not inspected.
        accountant: the method that produced the numbers.
        direction: the worse direction, which gave the numbers (``"add"``, ``"remove"``, ``"replace-one"``,
            ``"zero-out"``, ``"restore"``).
        reason: why an end is infinite, or why the interval is wider than requested; ``None`` otherwise.
        assumptions: what the program must do for the number to apply to it, one sentence per sampling method.
        warnings: what is unsafe about the number, such as a delta of 1/dataset_size or more; empty if nothing is.

    Raises:
        InvalidInputError: the ends are not in order, or not numbers.

    >>> b = Bound(lower=1.0, estimate=1.25, upper=1.5)
    >>> float(b), b.gap, f"{b:.0f}"
    (1.5, 0.5, '2')
    """

    _numbers: ClassVar[tuple[str, ...]] = ("lower", "estimate", "upper")

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
        if not self.lower <= self.estimate <= self.upper:  # also true for NaN
            ends = ", ".join(map(shown, (self.lower, self.estimate, self.upper)))
            raise InvalidInputError(f"an interval must satisfy lower <= estimate <= upper; received {ends}", "lower")

    def __float__(self) -> float:
        return self.upper

    @property
    def gap(self) -> float:
        """Width of the interval, ``upper - lower``."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    @property
    def relative_gap(self) -> float:
        """Width divided by the upper end: 0 if both ends agree, 1 if the lower end is 0 or the upper end infinite."""
        if self.lower == self.upper:
            return 0.0
        return 1.0 if math.isinf(self.upper) else (self.upper - self.lower) / self.upper


@dataclass(frozen=True, slots=True)
class DeltaBound(Bound):
    """A :class:`Bound` on delta that also holds its natural logarithm, for deltas below the range of a double."""

    log_delta: Bound = field(default=Bound(-math.inf, -math.inf, -math.inf), compare=False)
