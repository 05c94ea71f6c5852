"""Three distinct types of results: a certified interval, an upper bound, and an estimate."""

from __future__ import annotations

from typing import overload

from hockeystick.values.one_sided import Answer as Answer
from hockeystick.values.one_sided import DeltaAnswer as DeltaAnswer
from hockeystick.values.one_sided import DeltaEstimate as DeltaEstimate
from hockeystick.values.one_sided import DeltaUpperBound as DeltaUpperBound
from hockeystick.values.one_sided import Estimate as Estimate
from hockeystick.values.one_sided import UpperBound as UpperBound
from hockeystick.values.two_ended import Bound as Bound
from hockeystick.values.two_ended import DeltaBound as DeltaBound
from hockeystick.values.two_ended import Guarantee as Guarantee

ONLY_DOMINATED = "a round's pair is not known to be tight, so there is no lower bound"
"""Reason for a missing lower end if a round's pair is not claimed to be tight."""

ONLY_ABOVE = (
    "this accountant does not apply to the pair that bounds a round from below, so there is no lower bound; use "
    "accountant 'auto'"
)
"""Reason for a missing lower end from a method that uses only the dominating pairs."""

ONLY_CURVE = "only a Renyi curve is known of some rounds, so there is no lower bound"
"""Reason for a missing lower end if a round has no pair."""


@overload
def from_above(found: DeltaAnswer) -> DeltaUpperBound | DeltaEstimate: ...
@overload
def from_above(found: Answer) -> UpperBound | Estimate: ...
def from_above(found: Answer) -> UpperBound | Estimate:
    """Return an interval's upper end as an :class:`UpperBound`; answers without a lower end are returned unchanged."""
    if not isinstance(found, Bound):
        return found
    accountant, direction, reason = found.accountant, found.direction, found.reason or ONLY_DOMINATED
    if isinstance(found, DeltaBound):
        log = UpperBound(found.log_delta.upper, accountant, direction, reason=reason)
        return DeltaUpperBound(found.upper, accountant, direction, reason=reason, log_delta=log)
    return UpperBound(found.upper, accountant, direction, reason=reason)
