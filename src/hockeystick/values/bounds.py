"""Results of the library: a certified interval, a one-sided bound, or an estimate. Three types, never mixed up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from hockeystick.values.two_ended import Bound as Bound
from hockeystick.values.two_ended import DeltaBound as DeltaBound
from hockeystick.values.two_ended import Guarantee as Guarantee

if TYPE_CHECKING:
    from hockeystick.values.one_sided import Answer as Answer
    from hockeystick.values.one_sided import DeltaAnswer as DeltaAnswer
    from hockeystick.values.one_sided import DeltaEstimate as DeltaEstimate
    from hockeystick.values.one_sided import DeltaUpperBound as DeltaUpperBound
    from hockeystick.values.one_sided import Estimate as Estimate
    from hockeystick.values.one_sided import UpperBound as UpperBound

ONLY_DOMINATED = "a round's pair is not known to be tight, so there is no lower bound"
"""Why there is no lower end where a round's pair is not claimed to be tight."""

ONLY_ABOVE = (
    "this accountant does not apply to the pair that bounds a round from below, so there is no lower bound; use "
    "accountant 'auto'"
)
"""Why there is no lower end by a method that keeps to the pairs that dominate."""

ONLY_CURVE = "only a Renyi curve is known of some rounds, so there is no lower bound"
"""Why there is no lower end where a round has no pair."""


@overload
def from_above(found: DeltaAnswer) -> DeltaUpperBound | DeltaEstimate: ...
@overload
def from_above(found: Answer) -> UpperBound | Estimate: ...
def from_above(found: Answer) -> UpperBound | Estimate:
    """An interval without its lower end; other answers, which have none, as they are."""
    if not isinstance(found, Bound):
        return found
    from hockeystick.values.one_sided import DeltaUpperBound, UpperBound

    accountant, direction, reason = found.accountant, found.direction, found.reason or ONLY_DOMINATED
    if isinstance(found, DeltaBound):
        log = UpperBound(found.log_delta.upper, accountant, direction, reason=reason)
        return DeltaUpperBound(found.upper, accountant, direction, reason=reason, log_delta=log)
    return UpperBound(found.upper, accountant, direction, reason=reason)


ONE_SIDED = ("Answer", "DeltaAnswer", "DeltaEstimate", "DeltaUpperBound", "Estimate", "UpperBound")
"""Names that are found here too, and are imported from ``values/one_sided.py`` when they are asked for: making the
classes takes as long as a question, and most questions are answered by an interval."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in ONE_SIDED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from hockeystick.values import one_sided

        value = globals()[name] = getattr(one_sided, name)
        return value
