"""The assumptions and warnings of an answer.

A number for one sampling scheme does not apply to another, and a delta of 1/n or more protects nobody in a dataset of n
records. Such assumptions and warnings follow from how the rounds of a plan are sampled. Every answer carries them, so
that they stay with the number when it leaves the program that computed it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from hockeystick.plan.sampling import Sampling

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan
    from hockeystick.values.bounds import Bound, Estimate, UpperBound

Found = TypeVar("Found", bound="Bound | UpperBound | Estimate")


def records_of(samplings: Iterable[Sampling]) -> int | None:
    """Return the smallest dataset size that a scheme names, if any does."""
    sizes = [size for sampling in samplings if (size := sampling.dataset_records) is not None]
    return min(sizes, default=None)


def warnings_of(samplings: Iterable[Sampling], delta: float | None) -> tuple[str, ...]:
    """Return the warnings on the sampling schemes (``Sampling.caution``), and on a delta if one is given.

    A mechanism that publishes one of n records, chosen at random, is (0, 1/n)-differentially private. So a delta of 1/n
    or more does not rule out such a mechanism (Dwork, Roth 2014 [DR14], Section 2.3).
    """
    samplings = tuple(samplings)
    cautions = tuple(dict.fromkeys(sampling.caution for sampling in samplings if sampling.caution is not None))
    records = None if delta is None else records_of(samplings)
    if records is None or delta is None or delta * records < 1:
        return cautions
    published = (
        f"delta is at least 1/dataset_size = 1/{records}, which allows a mechanism that publishes a whole record"
    )
    return (*cautions, published)


def told(found: Found, plan: Plan, delta: float | None) -> Found:
    """Return an answer with the assumptions and warnings of a plan; its ``log_delta``, if any, gets them as well.

    Args:
        found: answer of an accountant.
        plan: the plan.
        delta: the target delta, or the delta found; ``None`` if the answer has no delta.
    """
    assumptions = tuple(f"{label}: {text}" for label, text in plan.premises.items())
    warnings = warnings_of(plan.samplings, delta)
    said = replace(found, assumptions=assumptions, warnings=warnings)
    log: Any = getattr(said, "log_delta", None)  # every answer about delta has one, no answer about epsilon does
    if log is None:
        return said
    changes: dict[str, Any] = {"log_delta": replace(log, assumptions=assumptions, warnings=warnings)}
    return replace(said, **changes)
