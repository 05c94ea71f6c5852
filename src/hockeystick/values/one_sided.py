"""Two types of results that are weaker than a certified interval: an upper bound, and an estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from hockeystick.values.outward import Shows
from hockeystick.values.refused import refusal
from hockeystick.values.two_ended import Bound, DeltaBound, Guarantee


@dataclass(frozen=True, slots=True)
class UpperBound(Shows):
    """An upper bound on the truth, without a lower bound: there is no ``lower`` and no ``estimate``.

    Attributes:
        upper: ``truth <= upper``; ``inf`` only if ``reason`` says why.
        accountant: the method that produced the number.
        direction: the worse direction, which gave the number (``"add"``, ``"remove"``, ``"replace-one"``,
            ``"zero-out"``, ``"restore"``).
        order: the Renyi order ``alpha > 1`` that gave the number, or ``None``.
        reason: why the bound is infinite, or what makes it loose; ``None`` otherwise.
        assumptions: what the program must do for the number to apply to it, one sentence per sampling method.
        warnings: what is unsafe about the number, such as a delta of 1/dataset_size or more; empty if nothing is.

    >>> float(UpperBound(1.5, accountant="rdp", order=8.0))
    1.5
    """

    _numbers: ClassVar[tuple[str, ...]] = ("upper",)

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


@dataclass(frozen=True, slots=True)
class DeltaUpperBound(UpperBound):
    """An :class:`UpperBound` on delta that also holds its natural logarithm, for deltas below the range of a double."""

    log_delta: UpperBound = field(default=UpperBound(-math.inf, "rdp"), compare=False)


@dataclass(frozen=True, slots=True)
class Estimate(Shows):
    """A number near the truth, on an unknown side of it: no ``lower``, no ``upper``, and ``float()`` refuses it.

    Attributes:
        value: the estimate.
        accountant: the method that produced the number.
        direction: the worse direction, which gave the number (``"add"``, ``"remove"``, ``"replace-one"``,
            ``"zero-out"``, ``"restore"``), if one did.
        reason: known defect of the estimate in this case; ``None`` otherwise.
        assumptions: what the program must do for the number to apply to it, one sentence per sampling method.
        warnings: what is unsafe about the number, such as a delta of 1/dataset_size or more; empty if nothing is.

    >>> Estimate(1.5, accountant="gdp").ends
    {'value': 1.5}
    """

    if not TYPE_CHECKING:  # type checkers refuse it by themselves
        __float__ = refusal("float()")

    _numbers: ClassVar[tuple[str, ...]] = ("value",)

    value: float
    accountant: str = field(compare=False)
    direction: str | None = field(default=None, compare=False)
    reason: str | None = field(default=None, compare=False)
    assumptions: tuple[str, ...] = field(default=(), compare=False, repr=False, kw_only=True)
    warnings: tuple[str, ...] = field(default=(), compare=False, kw_only=True)
    guarantee: Guarantee = field(default="estimate", init=False, compare=False)


@dataclass(frozen=True, slots=True)
class DeltaEstimate(Estimate):
    """An :class:`Estimate` of delta that also holds its natural logarithm, for deltas below the range of a double."""

    log_delta: Estimate = field(default=Estimate(-math.inf, "gdp"), compare=False)


Answer = Bound | UpperBound | Estimate
"""Answer of an accountant for epsilon."""

DeltaAnswer = DeltaBound | DeltaUpperBound | DeltaEstimate
"""Answer of an accountant for delta."""
