"""Users with several records where no pair is proven for them: group privacy from the certified curve of one record.

Datasets that differ in the K records of a user are the ends of a chain of K steps, each of which adds, takes away or
replaces one record. The program is the same at each: the curve delta of the whole plan bounds every step, so that the
inequality of one step, K times in a row, gives ``delta_K(eps) <= sum_(i<K) e^(i eps / K) delta(eps / K)`` (Vadhan 2017
[Vad17], Lemma 2.2; ``GroupProfile``). That asks for a sampling scheme which means the same for the dataset without the
record: a rate does, a batch size out of n records does not, as n changes from step to step. Where contributions are set
to nothing, n stays. Users who are replaced may have different numbers of records, for which ``plan/unit.py`` asks that
a missing record is one that contributes nothing.

From below a user with a single record is a user, too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from hockeystick.directions.two_sided import delta_of
from hockeystick.numerics.rounding import next_up
from hockeystick.plan.sampling.base import Zeroed
from hockeystick.plan.unit import RECORD, check_unit
from hockeystick.values.bounds import Bound, DeltaBound, DeltaUpperBound, UpperBound, from_above
from hockeystick.values.errors import UnsupportedError

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan

NAME = "group privacy"  # the accountant that answers are said to be by

WHY = (
    "by group privacy from the certified curve of one record, the looser route: no pair is proven for a user's records "
    "together; from below, a user with one record"
)
"""Why the ends are apart."""


def check_chain(plan: Plan) -> None:
    """Raise unless a user's records can be taken away one by one under the same sampling scheme.

    Raises:
        UnsupportedError: a scheme that names the number of records, where that changes.
    """
    if plan.adjacency.directions[0].keeps_places:
        return
    for sampling in plan.samplings:
        if vars(type(sampling)).get("zeroed") is not Zeroed.AS_ABSENT:
            raise UnsupportedError(
                f"sampling {sampling.name!r} under {plan.adjacency.value!r}: batches of a fixed size are drawn "
                "otherwise from a dataset without some of the records, so that group privacy from the curve of one "
                "record does not apply; use adjacency 'zero-out', where their number stays"
            )


def epsilon_of_group(plan: Plan, delta: float, gap: float | None) -> Bound | UpperBound:
    """The least epsilon at a delta for users, from the curve of one record.

    Raises:
        UnsupportedError: a round for which nothing is proven of one record, or no chain of such steps.
    """
    single = _single(plan)
    band = single.profile(gap).group(_size(plan)).epsilon(delta)
    lower, upper = float(band.lower), float(band.upper)
    found = Bound(lower, upper, upper, accountant=NAME, reason=WHY)
    above = from_above(found)
    assert isinstance(above, UpperBound)
    return found if single.known_from_below else above


def delta_of_group(plan: Plan, epsilon: float, gap: float | None) -> DeltaBound | DeltaUpperBound:
    """The least delta at an epsilon for users, from the curve of one record.

    Raises:
        UnsupportedError: a round for which nothing is proven of one record, or no chain of such steps.
    """
    single = _single(plan)
    profile = single.profile(gap)
    upper = float(profile.group(_size(plan)).delta(epsilon).upper)
    high = next_up(math.log(upper), 4) if upper > 0 else -math.inf
    low = min(float(profile.log_delta(epsilon).lower), high)
    found = delta_of(Bound(low, high, high, accountant=NAME, reason=WHY))
    if single.known_from_below:
        return found
    above = from_above(found)
    assert isinstance(above, DeltaUpperBound)
    return above


def _single(plan: Plan) -> Plan:
    check_chain(plan)
    check_unit(plan)
    return replace(plan, unit=RECORD, records_per_unit=1, partitions_per_unit=None)


def _size(plan: Plan) -> int:
    """The records of a user in all partitions: each step of the chain changes one, in one partition."""
    return plan.records_per_unit * (plan.partitions_per_unit or 1)
