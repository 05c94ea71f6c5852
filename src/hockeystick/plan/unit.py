"""Who is protected: single records, or users with several of them.

Of a plan whose unit is ``user``, neighbouring datasets differ in all records of one user, at most K of them. Each
record is clipped by itself, and not what a user's records add up to; the dataset was cut to K records a user before any
batch is drawn, by a rule that looks at the user's own records alone. In which order the two are done matters: where
users are drawn, and then at most K records of each that is drawn, a user is in a batch with the sample rate, and the
unit is the user with a single contribution of norm K: a plan of records.

**Noise on a sum, unsampled.** K records of norm at most C move the sum by at most K C (triangle inequality), which K
equal ones do: the mechanism's pair at K times the distance, tight as it is for one record. Replacing a user by another
moves it by at most K times what replacing a record does.

**Poisson-sampled normal noise**, a user added or removed (``Poisson.of_many``). Of k <= K records each enters the
batch by itself with probability q: their number has the law Bin(k, q), and given which ones, the sum moves by a vector
of norm at most that number. So the round is dominated by the mixture of ``pairs/mixture.py`` (Charles et al. 2024
[CGM+24]),

    sum_j Bin(K, q)(j) N(j, s^2)    against    N(0, s^2),

as Bin(K, q) is the larger law in the usual order of random numbers. *Attained*: K equal records, all others of norm 0.
A user whose contribution is set to nothing leaves the sum of the others: the same two laws.

**Disjoint partitions** (keys, days, devices), on each of which an unsampled round is run by itself. A user who has
records in at most L of them, at most M in each, changes the outcomes of L runs and no others, each by M records: L
times the pair for M records (Zhu, Dong, Wang 2022 [ZDW22], Theorem 10, the other runs having the same law on both
sides). *Attained* by M equal records in each of L partitions. For normal noise that is the distance sqrt(L) M, for
Laplace noise L rounds at the distance M, and no more than one at L M. A single record is in one partition (M = L = 1).
Sampled rounds are refused: one draw decides on batches in all partitions, which the product does not say.

**Users who are replaced** (``replace-one``). The user who comes may have other records than the one who leaves, fewer
or more of them, and records in other partitions: of L partitions each, j are shared, L - j lose M records, and L - j
others gain M. A guarantee for replaced records says nothing of a run that loses or gains one: the exact number of
records is private under replacement. So every mechanism must say (``Mechanism.null_record``) that the pair under
replacement dominates

- a removal, or an addition, alone: a missing record is one that contributes nothing, of norm 0. Then the chain of K
  replacements and K times the distance hold for two users of different numbers of records. The sampling scheme must
  treat such a record as an absent one, which a batch of a fixed size does not;
- the product of a removal in one run and an addition in another one. Then j = L is the worst at every epsilon, as each
  further partition that both users have replaces the removal and the addition by one replacement.

*Noise on a sum* at the distance 2 says both. Its law is log-concave and symmetric, so that shifts u and v of two
coordinates are dominated by the shift |u| + |v| of one (``pairs/laplace.py``): with u = M and v = -M that is the shift
2 M. The proof there holds word for word for whole numbers and whole shifts: trade-off functions have their knots at
the half-lines, and a shift takes the knots of one to those of the other. *Thresholds of keys* are shown to have the
pair of L removed and L added keys when a person is replaced (``plan/mechanisms/key_threshold.py``).

**Everything else**, by group privacy (``plan/by_group.py``): the datasets between are those that differ in one record,
K times in a row. Nothing is lost but tightness, and a lot of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hockeystick.plan.sampling.base import Zeroed
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan

RECORD, USER = "record", "user"  # names of the units
UNITS = (RECORD, USER)
"""Whom a plan may protect."""

MOST_RECORDS = 10**9
"""Most records of a user: beyond, no plan that is worth the name protects one."""

RECORDS_PER_UNIT = domains.whole_numbers(1, MOST_RECORDS).of("most records that one user has in the dataset")
"""Domain of the key ``records_per_unit``."""


PARTITIONS_PER_UNIT = domains.whole_numbers(1, MOST_RECORDS).of(
    "most partitions in which one user has records, where each round is run on all partitions"
)
"""Domain of the key ``partitions_per_unit``."""


def checked_unit(unit: object, records: object, partitions: object = None) -> tuple[str, int, int | None]:
    """The unit, how many records one has at most, and in how many partitions; ``None`` where the data are not split.

    Raises:
        InvalidInputError: no unit, users without a number of records, or numbers above 1 for single records.

    >>> checked_unit("user", 4)
    ('user', 4, None)
    """
    if unit not in UNITS:
        raise InvalidInputError(domains.choice("unit", unit, UNITS), "unit")
    most = None if partitions is None else int(PARTITIONS_PER_UNIT.check(partitions, "partitions_per_unit"))
    if unit == USER:
        if records is None:
            raise InvalidInputError(
                "records_per_unit is missing; unit 'user' needs it: the most records that one user has in the dataset",
                "records_per_unit",
            )
        return USER, int(RECORDS_PER_UNIT.check(records, "records_per_unit")), most
    for key, value in (("records_per_unit", records), ("partitions_per_unit", partitions)):
        if value is not None and value != 1:
            raise InvalidInputError(
                f"{key} goes with unit 'user'; received {domains.shown(value)} with unit 'record'", key
            )
    return RECORD, 1, most


def check_unit(plan: Plan) -> None:
    """Raise unless the proofs of this module cover every round of a plan for users, or on partitions.

    Raises:
        UnsupportedError: a sampled round on partitions, more rounds than can be composed, or, where users are replaced,
            a round of which nothing is known for a record that leaves and none that takes its place.
    """
    rounds = [item for item in plan.rounds if item.count]
    if plan.partitions_per_unit is not None:
        for item in rounds:
            if item.sampling.name != "none":
                raise UnsupportedError(
                    f"partitions_per_unit goes with unsampled rounds; received sampling {item.sampling.name!r}: one "
                    "draw decides on a user's records in all partitions, of which no pair is proven"
                )
        if plan.steps * plan.partitions_per_unit > domains.MAX_COUNT:
            raise UnsupportedError(
                f"partitions_per_unit times the rounds must be at most 1e12; received {plan.partitions_per_unit} and "
                f"{plan.steps}"
            )
    if plan.adjacency is not Adjacency.REPLACE_ONE or plan.of_records:
        return
    for item in rounds:
        absent = vars(type(item.sampling)).get("zeroed") is Zeroed.AS_ABSENT
        if not (absent and item.mechanism.null_record):
            differ = (
                "have different numbers of records"
                if plan.partitions_per_unit is None
                else "be in different partitions"
            )
            raise UnsupportedError(
                f"mechanism {item.mechanism.name!r} with sampling {item.sampling.name!r} under 'replace-one': the two "
                f"{plan.unit}s may {differ}, so that records come or go and none takes their place, of which nothing "
                "is proven; use adjacency 'add-or-remove' or 'zero-out', or noise on a sum with replace_one_distance 2"
            )


def premise(plan: Plan) -> str:
    """What an answer about users, or on partitions, assumes of the program."""
    records, partitions = plan.records_per_unit, plan.partitions_per_unit
    replaced = plan.adjacency is Adjacency.REPLACE_ONE
    if partitions is not None:
        cut = "each record is in one partition"
        if plan.unit == USER:
            cut = (
                f"no user has records in more than {partitions} partitions, nor more than {records} in one of them, to "
                "which the dataset is cut before, by a rule that looks at the user's own records alone"
            )
        other = f"; the {plan.unit} in another one's place may be in other partitions" if replaced else ""
        return (
            "each round is run on every partition of the data by itself, with noise of its own; "
            f"{cut}; which partitions there are is public{other}"
        )
    several = replaced and records > 1  # a user with one record gives way to one with one
    other = "; the user in another one's place may have fewer records or more, up to as many" if several else ""
    return (
        f"no user has more than {records} records in the dataset, which is cut to that before batches are drawn, by a "
        "rule that looks at the user's own records alone; each record is clipped by itself, and records are sampled, "
        f"not users{other}"
    )
