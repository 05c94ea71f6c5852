"""Verdicts on published epsilons by comparison with certified bounds; answers and documents share this rule."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """Verdict on a claimed epsilon by its position relative to the certified bounds; its value is the text to show."""

    TOO_LOW = "too low for this plan"
    AGREES = "consistent with the interval"
    NOT_TIGHT = "valid for this plan, not tight"


def verdict(claim: float, lower: float | None, upper: float | None) -> Verdict | None:
    """Return the verdict on a claimed epsilon, given certified bounds on epsilon at the same delta.

    Args:
        claim: epsilon published by a source.
        lower: certified lower end; ``None`` if there is no lower bound.
        upper: certified upper end; ``None`` if there is no upper bound.

    Returns:
        The verdict, or ``None`` if the ends do not decide: without a lower end, a claim at or below the upper end may
        be right or too low.

    >>> verdict(0.9, 1.0, 1.2), verdict(1.1, 1.0, 1.2), verdict(1.3, 1.0, 1.2)
    (<Verdict.TOO_LOW: 'too low for this plan'>, <Verdict.AGREES: 'consistent with the interval'>, \
<Verdict.NOT_TIGHT: 'valid for this plan, not tight'>)
    >>> print(verdict(1.1, None, 1.2))
    None
    """
    if lower is not None and claim < lower:
        return Verdict.TOO_LOW
    if upper is not None and claim > upper:
        return Verdict.NOT_TIGHT
    return None if lower is None else Verdict.AGREES
