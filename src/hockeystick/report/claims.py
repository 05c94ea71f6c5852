"""Verdicts on published epsilons beside certified ones: one rule for answers and for documents."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """Position of a claim relative to the certified ends; each value is the text shown."""

    TOO_LOW = "too low for this plan"
    AGREES = "consistent with the interval"
    NOT_TIGHT = "valid for this plan, not tight"


def verdict(claim: float, lower: float | None, upper: float | None) -> Verdict | None:
    """Return the verdict on a claimed epsilon, at the delta of the claim.

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
