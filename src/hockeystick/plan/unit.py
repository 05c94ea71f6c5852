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
Laplace noise L rounds at the distance M, and no more than one at L M. One record is in one partition, however many
there are. Sampled rounds are refused: one draw decides on batches in all partitions, which the product does not say.

**Everything else**, by group privacy (``plan/by_group.py``): the datasets between are those that differ in one record,
K times in a row. Nothing is lost but tightness, and a lot of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError

if TYPE_CHECKING:
    pass

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


def checked_unit(unit: object, records: object, partitions: object = None) -> tuple[str, int, int]:
    """The unit, how many records one has at most, and in how many partitions.

    Raises:
        InvalidInputError: no unit, users without a number of records, or numbers for single records.

    >>> checked_unit("user", 4)
    ('user', 4, 1)
    """
    if unit not in UNITS:
        raise InvalidInputError(domains.choice("unit", unit, UNITS), "unit")
    if unit == USER:
        if records is None:
            raise InvalidInputError(
                "records_per_unit is missing; unit 'user' needs it: the most records that one user has in the dataset",
                "records_per_unit",
            )
        most = 1 if partitions is None else int(PARTITIONS_PER_UNIT.check(partitions, "partitions_per_unit"))
        return USER, int(RECORDS_PER_UNIT.check(records, "records_per_unit")), most
    for key, value in (("records_per_unit", records), ("partitions_per_unit", partitions)):
        if value is not None and value != 1:
            raise InvalidInputError(
                f"{key} goes with unit 'user'; received {domains.shown(value)} with unit 'record'", key
            )
    return RECORD, 1, 1


def premise(records: int, partitions: int = 1) -> str:
    """What an answer about users assumes of the program."""
    if partitions > 1:
        return (
            "each round is run on every partition of the data by itself, with noise of its own; no user has records in "
            f"more than {partitions} partitions, nor more than {records} in one of them, to which the dataset is cut "
            "before, by a rule that looks at the user's own records alone; which partitions there are is public"
        )
    return (
        f"no user has more than {records} records in the dataset, which is cut to that before batches are drawn, by a "
        "rule that looks at the user's own records alone; each record is clipped by itself, and records are sampled, "
        "not users"
    )
