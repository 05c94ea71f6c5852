"""Where a published epsilon lies beside what is certified of its plan: one rule for answers and for documents."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """Where a claim lies; each value is how that is said."""

    TOO_LOW = "too low for this plan"
    AGREES = "in agreement with the interval"
    NOT_TIGHT = "valid for this plan, not tight"


def verdict(claim: float, lower: float | None, upper: float | None) -> Verdict | None:
    """Where a claimed epsilon lies for a plan, at the delta of the claim.

    Args:
        claim: the epsilon that a source says.
        lower: the certified lower end; ``None`` where nothing is known from below.
        upper: the certified upper end; ``None`` where nothing is known from above.

    Returns:
        ``None`` where the ends do not decide: a claim at or below an upper end that has no lower end beside it may be
        right, and may be too low.

    >>> verdict(0.9, 1.0, 1.2), verdict(1.1, 1.0, 1.2), verdict(1.3, 1.0, 1.2)
    (<Verdict.TOO_LOW: 'too low for this plan'>, <Verdict.AGREES: 'in agreement with the interval'>, \
<Verdict.NOT_TIGHT: 'valid for this plan, not tight'>)
    >>> print(verdict(1.1, None, 1.2))
    None
    """
    if lower is not None and claim < lower:
        return Verdict.TOO_LOW
    if upper is not None and claim > upper:
        return Verdict.NOT_TIGHT
    return None if lower is None else Verdict.AGREES
