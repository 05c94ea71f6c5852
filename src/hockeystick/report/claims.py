"""Verdicts on published epsilons by comparison with certified bounds; answers and documents share this rule."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any


class Verdict(Enum):
    """Verdict on a claimed epsilon by its position relative to the certified bounds; its value is the text to show."""

    TOO_LOW = "too low for this plan"
    AGREES = "consistent with the interval"
    NOT_TIGHT = "valid for this plan, not tight"


def verdict(published: Mapping[str, Any], delta: float, lower: float | None, upper: float | None) -> Verdict | None:
    """Return the verdict on the epsilon that the source of a plan claims, given certified bounds on epsilon at a delta.

    Args:
        published: the claims of the source.
        delta: delta of the bounds.
        lower: certified lower end; ``None`` if there is no lower bound.
        upper: certified upper end; ``None`` if there is no upper bound.

    Returns:
        The verdict, or ``None`` if the source claims nothing at this delta, or if the ends do not decide: without a
        lower end, a claim at or below the upper end may be right or too low.

    >>> print(verdict({"epsilon": 0.9, "delta": 1e-5}, 1e-5, 1.0, 1.2))
    Verdict.TOO_LOW
    >>> print(verdict({"epsilon": 1.1, "delta": 1e-5}, 1e-5, None, 1.2))
    None
    """
    claim = published.get("epsilon")
    if claim is None or published.get("delta") != delta:
        return None
    if lower is not None and claim < lower:
        return Verdict.TOO_LOW
    if upper is not None and claim > upper:
        return Verdict.NOT_TIGHT
    return None if lower is None else Verdict.AGREES
