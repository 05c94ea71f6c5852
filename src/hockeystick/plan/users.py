"""Protection of users with several records, and of data in disjoint partitions.

For a plan whose unit is ``user``, neighbouring datasets differ in all records of one user, at most K of them. Each
record is clipped separately, not the sum of a user's records. The dataset is cut to K records per user before any batch
is drawn, by a rule that depends on the user's own records alone. This order matters: if instead users are drawn, and
then at most K records of each drawn user, a user is in a batch with probability equal to the sample rate. Such a plan
is one of records, in which each user is a single record of norm K.

**Noise on a sum, unsampled.** K records of norm at most C move the sum by at most K C (triangle inequality), which K
equal records attain. So the pair is the mechanism's pair at K times the distance, and it is tight if it is tight for
one record. Replacing a user by another moves the sum by at most K times as much as replacing one record.

**Poisson-sampled normal noise**, a user added or removed (``Poisson.of_many``). Let the user have k <= K records. Each
of them enters the batch independently with probability q, so the number of them in the batch has the law Bin(k, q).
Given which of them enter, the sum moves by a vector of norm at most their number. So the round is dominated by the
mixture of ``pairs/mixture.py`` (Charles et al. 2024 [CGM+24]),

    sum_j Bin(K, q)(j) N(j, s^2)    against    N(0, s^2),

as Bin(K, q) is stochastically larger than Bin(k, q). It is *attained* by K equal records, if all records of other users
have norm 0. If a user's contribution is set to zero, the sum of the other users' records is left, so the two laws are
the same.

**Disjoint partitions** (keys, days, devices), on each of which an unsampled round is run separately. A user has records
in at most L partitions, at most M in each, and so affects at most L runs, each by at most M records. All other runs
have the same law on both sides. So the dominating pair is the L-fold product of the pair for M records (Zhu, Dong, Wang
2022 [ZDW22], Theorem 10). It is *attained* by M equal records in each of L partitions. For normal noise, it is the pair
at the distance sqrt(L) M. For Laplace noise, it is the pair of L rounds at the distance M, which is no worse than one
round at the distance L M. A single record is in one partition (M = L = 1). Sampled rounds are refused: one draw
determines the batches in all partitions, which the product does not cover.

**Replaced users** (``replace-one``). The new user may have fewer or more records than the old one, and records in other
partitions. If each has records in L partitions, of which they share j, then L - j partitions lose M records, and L - j
others gain M. A guarantee for replaced records does not cover a run that loses or gains one: the exact number of
records is private under replacement. So every mechanism must declare (``Mechanism.null_record``) that the pair under
replacement dominates

- a removal, or an addition, alone: a missing record is then like a record of norm 0, which contributes nothing. So the
  chain of K replacements, and K times the distance, also cover two users with different numbers of records. The
  sampling scheme must treat a record of norm 0 like an absent one, which a scheme with a fixed batch size does not;
- the product of a removal in one run and an addition in another one. Then j = L is the worst at every epsilon, as each
  further partition that both users have replaces the removal and the addition by one replacement.

*Noise on a sum* satisfies both conditions at the distance 2. Its law is log-concave and symmetric, so that shifts u and
v of two coordinates are dominated by the shift |u| + |v| of one (``pairs/laplace.py``): with u = M and v = -M that is
the shift 2 M. The proof there also holds for noise on whole numbers and whole shifts: trade-off functions have their
knots at the half-lines, and a shift takes the knots of one function to those of the other. For *thresholds of keys*,
the pair of L removed and L added keys is shown to dominate when a person is replaced
(``plan/mechanisms/key_threshold.py``).

**Everything else**, by group privacy: datasets that differ in the K records of a user are the ends of a chain of K
steps, each of which adds, removes or replaces one record. The program is the same for all datasets in the chain, so the
curve delta of the whole plan for one record bounds every step. The inequality of one step, applied K times, gives
``delta_K(eps) <= sum_(i<K) e^(i eps / K) delta(eps / K)`` (Vadhan 2017 [Vad17], Lemma 2.2; :class:`GroupProfile`). That
needs a sampling scheme that is the same for the dataset without the record. A scheme with a sample rate is; a scheme
with a batch size out of n records is not, as n changes from step to step. Under ``zero-out``, n stays. The lower end is
that of a user with a single record. Bounds by group privacy are valid, but far from tight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hockeystick.directions.two_sided import delta_of
from hockeystick.numerics.meet import bracket
from hockeystick.numerics.rounding import UNIT_ROUNDOFF, next_up
from hockeystick.pairs import RenyiCurve
from hockeystick.pairs.sides import Known
from hockeystick.plan.audit_recursion import halved
from hockeystick.plan.caveats import told
from hockeystick.plan.sampling import NoSampling
from hockeystick.plan.sampling.base import Zeroed
from hockeystick.plan.selection import Selection
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.band import Band
from hockeystick.values.bounds import Bound, from_above
from hockeystick.values.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactRound
    from hockeystick.plan.plan import Plan
    from hockeystick.plan.profile import Profile
    from hockeystick.plan.round import Round
    from hockeystick.values.bounds import Answer, DeltaAnswer

Array = npt.NDArray[np.float64]

RECORD, USER = "record", "user"  # names of the units
UNITS = (RECORD, USER)
"""Units that a plan may protect."""

MOST_RECORDS = 10**9
"""Largest number of records of a user: beyond it, no plan gives meaningful protection."""

RECORDS_PER_UNIT = domains.whole_numbers(1, MOST_RECORDS).of("maximum number of records per user")
"""Domain of the key ``records_per_unit``."""


PARTITIONS_PER_UNIT = domains.whole_numbers(1, MOST_RECORDS).of(
    "maximum number of partitions that hold one user's records, when each round runs on every partition"
)
"""Domain of the key ``partitions_per_unit``."""

GROUP_PRIVACY = "group privacy"  # the accountant of answers that follow from the curve of one record

WHY = (
    "no pair is proven for all of a user's records together, so the upper end follows by group privacy from the "
    "curve of one record and the lower end is for a user with one record"
)
"""Reason why the two ends of an answer by group privacy differ."""

SLIP = 16 * UNIT_ROUNDOFF  # relative margin for the roundings of a number derived from delta
MOST_STEPS = 200  # largest number of evaluations of the trade-off function, one for each record of a group
GROUP_EPSILONS = np.concatenate([[0.0], np.geomspace(1e-3, 500.0, 24)])  # where delta of a larger group is tried


def checked_unit(unit: object, records: object, partitions: object = None) -> tuple[str, int, int | None]:
    """Return the unit, its largest number of records, and its largest number of partitions or ``None``.

    Raises:
        InvalidInputError: an unknown unit, users without a number of records, or numbers above 1 for single records.

    >>> checked_unit("user", 4)
    ('user', 4, None)
    """
    if unit not in UNITS:
        raise InvalidInputError(domains.choice("unit", unit, UNITS), "unit")
    most = None if partitions is None else int(PARTITIONS_PER_UNIT.check(partitions, "partitions_per_unit"))
    if unit == USER:
        if records is None:
            raise InvalidInputError(
                "records_per_unit is missing; unit 'user' needs it (maximum number of records per user)",
                "records_per_unit",
            )
        return USER, int(RECORDS_PER_UNIT.check(records, "records_per_unit")), most
    for key, value in (("records_per_unit", records), ("partitions_per_unit", partitions)):
        if value is not None and value != 1:
            raise InvalidInputError(
                f"{key} requires unit 'user'; received {domains.shown(value)} with unit 'record'", key
            )
    return RECORD, 1, most


def check_unit(plan: Plan) -> None:
    """Raise unless the proofs of this module cover every round of a plan for users, or on partitions.

    Raises:
        UnsupportedError: a sampled round on partitions; more rounds than can be composed; or, if users are replaced, a
            round whose pair does not cover a record that is removed without a replacement.
    """
    rounds = [item for item in plan.rounds if item.count]
    if plan.partitions_per_unit is not None:
        for item in rounds:
            if item.sampling.name != "none":
                raise UnsupportedError(
                    f"partitions_per_unit requires sampling 'none'; received sampling {item.sampling.name!r}, for "
                    "which no pair is proven"
                )
        if plan.steps * plan.partitions_per_unit > domains.MAX_COUNT:
            raise UnsupportedError(
                f"partitions_per_unit times the rounds must be at most 1e12; received {plan.partitions_per_unit} and "
                f"{plan.steps}"
            )
    if plan.adjacency is not Adjacency.REPLACE_ONE or plan.of_records:
        return
    for item in rounds:
        if not item.null_record:
            differ = (
                "have different numbers of records"
                if plan.partitions_per_unit is None
                else "be in different partitions"
            )
            raise UnsupportedError(
                f"mechanism {item.mechanism.name!r} with sampling {item.sampling.name!r} under 'replace-one' is not "
                f"supported: the two {plan.unit}s may {differ}, and no pair is proven for that; use adjacency "
                "'add-or-remove' or 'zero-out', or noise on a sum with replace_one_distance 2"
            )


def premise(plan: Plan) -> str:
    """Return the assumption of an answer about users, or on partitions."""
    records, partitions = plan.records_per_unit, plan.partitions_per_unit
    replaced = plan.adjacency is Adjacency.REPLACE_ONE
    if partitions is not None:
        cut = "each record is in one partition"
        if plan.unit == USER:
            cut = (
                f"each user has records in at most {partitions} partitions and at most {records} in each of them; the "
                "dataset is cut to these limits beforehand, by a rule that looks only at the user's own records"
            )
        other = f"; the replacing {plan.unit} may be in other partitions" if replaced else ""
        return (
            "each round runs separately on every partition of the data, with independent noise; "
            f"{cut}; the list of partitions is public{other}"
        )
    several = replaced and records > 1  # a user with one record is replaced by another with one
    other = f"; the replacing user may have any number of records up to {records}" if several else ""
    sampled = any(not isinstance(sampling, NoSampling) for sampling in plan.samplings)
    drawn = "; batches are drawn afterwards, from records and not from users" if sampled else ""
    return (
        f"each user has at most {records} records in the dataset, which is cut to that limit beforehand, by a rule "
        f"that looks only at the user's own records; each record is clipped separately{drawn}{other}"
    )


@dataclass(frozen=True)
class OfUnit:
    """A round as it affects a user with several records.

    Attributes:
        round: the round that is run.
        records: largest number of records of one user, at least 2.
    """

    round: Round
    records: int

    def known(self, direction: Direction) -> Known:
        """Return the tight pair, or the upper and lower pairs, of one round for a user.

        Raises:
            UnsupportedError: no pair is proven, or only Renyi divergences are bounded.
        """
        found = self._found(direction)
        if isinstance(found, RenyiCurve):
            raise UnsupportedError(
                f"for users, only the Renyi divergence of mechanism {self.round.mechanism.name!r} is bounded; use "
                "accountant 'rdp' or 'auto'"
            )
        return found

    def curve(self, direction: Direction) -> RenyiCurve:
        """Return the Renyi curve of one round for a user.

        Raises:
            UnsupportedError: nothing is proven.
        """
        found = self._found(direction)
        return found if isinstance(found, RenyiCurve) else found.above

    def exact(self, direction: Direction) -> ExactRound:
        """Not available: proofs support only rounds of single records.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("proofs are not implemented for users with several records; leave proof out")

    def _found(self, direction: Direction) -> Known | RenyiCurve:
        found = self.round.of_many(direction, self.records)
        if found is None:
            raise UnsupportedError(
                f"mechanism {self.round.mechanism.name!r} with sampling {self.round.sampling.name!r} under "
                f"{direction.value!r}: no pair is proven for users with several records"
            )
        return found


def check_chain(plan: Plan) -> None:
    """Raise unless a user's records can be removed one by one under the same sampling scheme.

    Raises:
        UnsupportedError: a sampling scheme depends on the number of records, which changes from step to step.
    """
    if plan.adjacency.directions[0].keeps_places:
        return
    for sampling in plan.samplings:
        if vars(type(sampling)).get("zeroed") is not Zeroed.AS_ABSENT:
            raise UnsupportedError(
                f"sampling {sampling.name!r} under {plan.adjacency.value!r} is not supported for users: group privacy "
                "does not apply, because the batches depend on the number of records; use adjacency 'zero-out', which "
                "keeps that number"
            )


def as_whole(plan: Plan) -> ByGroup | Selection:
    """Return the object that answers a plan without composing pairs: a selection, or users by group privacy.

    Such a plan has no pairs, curves or profile, and ``Plan.directions`` raises an error. So code that does not handle
    such plans raises an error, and never answers for a different release.
    """
    if plan.best_of is None:
        return ByGroup(plan)
    return Selection(plan)


def check_route(plan: Plan, accountant: str, proof: bool, options: Mapping[str, float]) -> None:
    """Refuse a query with an accountant, a proof or options, since this plan can be answered in only one way.

    Raises:
        UnsupportedError: another accountant, a proof, or options.
    """
    if accountant != "auto" or proof or options:
        accountant = "an option" if accountant == "auto" else f"accountant {domains.shown(accountant)}"
        route = "a selection" if plan.best_of is not None else GROUP_PRIVACY
        what = "a proof" if proof else accountant
        raise UnsupportedError(
            f"{what} cannot be combined with {route}; use accountant 'auto' without options or proof"
        )


def refusal(plan: Plan) -> UnsupportedError:
    """Return the error for a query that needs pairs, about a plan that is answered without them."""
    if plan.best_of is not None:
        return UnsupportedError(
            "a plan with a selection supports only epsilon, delta and calibration of noise to them; leave out the "
            "table [selection] to analyse a single run"
        )
    return UnsupportedError(
        f"no pair is proven for users with {plan.records_per_unit} records of this plan, so {GROUP_PRIVACY} gives only "
        "epsilon and delta; use unit 'record' to analyse single records"
    )


@dataclass(frozen=True)
class ByGroup:
    """A plan for users, answered from the curve of one record.

    Attributes:
        plan: plan for users.
    """

    plan: Plan

    def epsilon(self, delta: float, gap: float | None = None) -> Answer:
        """Return the least epsilon at a delta.

        Raises:
            UnsupportedError: nothing is proven about some round for one record, or a scheme does not allow group
                privacy.
        """
        group = self._group(gap)
        band = group.epsilon(delta)
        lower, upper = float(band.lower), float(band.upper)
        found = Bound(lower, upper, upper, accountant=GROUP_PRIVACY, reason=WHY)
        return told(found if group.profile.plan.directions.known_from_below else from_above(found), self.plan, delta)

    def delta(self, epsilon: float, gap: float | None = None) -> DeltaAnswer:
        """Return the least delta at an epsilon.

        Raises:
            UnsupportedError: nothing is proven about some round for one record, or a scheme does not allow group
                privacy.
        """
        group = self._group(gap)
        upper = float(group.delta(epsilon).upper)
        high = next_up(math.log(upper), 4) if upper > 0 else -math.inf
        low = min(float(group.profile.log_delta(epsilon).lower), high)
        found = delta_of(Bound(low, high, high, accountant=GROUP_PRIVACY, reason=WHY))
        return told(
            found if group.profile.plan.directions.known_from_below else from_above(found), self.plan, found.upper
        )

    def _group(self, gap: float | None) -> GroupProfile:
        """Return the profile for a group: all of a user's records in all partitions."""
        check_chain(self.plan)
        check_unit(self.plan)
        single = replace(self.plan, unit=RECORD, records_per_unit=1, partitions_per_unit=None)
        return single.profile(gap).group(self.plan.records_per_unit * (self.plan.partitions_per_unit or 1))


@dataclass(frozen=True)
class GroupProfile:
    """Bounds for groups of up to ``size`` records, for any mechanism.

    Upper ends are proven for the whole group. Lower ends are those of a single record, which is a group, too.

    Attributes:
        profile: profile of the plan for one record.
        size: number of records k.
    """

    profile: Profile
    size: int

    def delta(self, epsilon: npt.ArrayLike) -> Band:
        """Return the delta of the group at each epsilon, by the inequality of one record, applied k times.

        ``delta_k(eps) <= sum_(i<k) e^(i eps / k) delta(eps / k)`` (Vadhan 2017 [Vad17], Lemma 2.2).
        """
        single = self.profile.delta(epsilon)  # which checks it
        at = np.asarray(epsilon, dtype=np.float64)
        upper = np.maximum(self._deltas(at), single.upper if self.size == 1 else 0.0)
        return Band(np.minimum(single.lower, upper), upper, upper, "upper")

    def epsilon(self, delta: npt.ArrayLike) -> Band:
        """Return the least epsilon at each delta in [0, 1) that :meth:`delta` certifies; ``inf`` if none is below 1e4.

        Each upper end is an evaluated epsilon with ``delta_k(eps) <= delta``; the lower end is the one for a single
        record.
        """
        single = self.profile.epsilon(delta)  # which checks it
        at = np.asarray(delta, dtype=np.float64)
        upper = single.upper
        if self.size > 1:
            starts = np.where(np.isfinite(upper), self.size * upper, 1.0)
            found = [
                self._least_epsilon(*pair) for pair in zip(at.ravel().tolist(), starts.ravel().tolist(), strict=True)
            ]
            upper = np.maximum(np.array(found).reshape(at.shape), single.lower)
        return Band(single.lower, upper, upper, "upper")

    def _least_epsilon(self, target: float, start: float) -> float:
        """Return the least epsilon found at which :meth:`delta` is at most the target; ``inf`` if none was found.

        The search starts from an epsilon greater than 0. The answer is an upper bound even if the deltas are not
        monotone, since delta was evaluated there and is small enough.
        """

        def met(epsilon: float) -> bool:
            return float(self._deltas(np.array(epsilon))) <= target

        low, high = bracket(met, 0.0, max(start, 1e-9), domains.MOST_EPSILON)
        if high == domains.MOST_EPSILON:
            return math.inf
        return halved(met, low, high)[1]

    def _deltas(self, at: Array) -> Array:
        """Return upper bounds on delta of the group at each epsilon."""
        share = np.nextafter(at / self.size, -math.inf).clip(0.0)
        each = self.profile._curve.log_delta(share.ravel()).upper.reshape(share.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            # (e^eps - 1) / (e^(eps/k) - 1), in logarithms: both may be beyond the range of a double
            ratio = at - at / self.size + np.log(np.expm1(-at) / np.expm1(-at / self.size))
            log = each + np.where(share > 0, ratio, math.log(self.size))
            log += SLIP * (4 + at + np.abs(each))
        upper: Array = np.where(each > -math.inf, np.minimum(np.nextafter(np.exp(np.minimum(log, 0.0)), 2.0), 1.0), 0.0)
        return upper

    def tpr(self, fpr: npt.ArrayLike) -> Band:
        """Return the largest true-positive rate: the bound for one record, applied k times ([DRS22], Theorem 2.14).

        Each step needs an evaluation, so :data:`MOST_STEPS` limits the number m of steps taken one by one. A test with
        rate ``fpr`` on the first dataset then has a rate of at most ``T`` on the dataset m records away. Groups of the
        remaining n = k - m records are ``(eps, delta_n(eps))``-private both ways for every eps, so

            tpr <= e^eps T + delta_n(eps)      and      1 - tpr >= e^-eps (1 - delta_n(eps) - T) .
        """
        single = self.profile.tpr(fpr)
        upper, reason = single.upper, None
        rest = self.size - 1
        while rest > max(self.size - 1 - MOST_STEPS, 0):
            before, upper = upper, self.profile.tpr(upper).upper
            if np.array_equal(before, upper):  # 1, as a rule: it stays there
                return Band(single.lower, upper, upper, "upper")
            rest -= 1
        if rest:
            upper = GroupProfile(self.profile, rest)._by_delta(upper)
            reason = f"the last {rest} of the group's {self.size} records are bounded together by delta, not separately"
        return Band(single.lower, upper, upper, "upper", reason)

    def _by_delta(self, fpr: Array) -> Array:
        """Return upper bounds on the true-positive rate, from the group's delta at a few epsilons."""
        flat = np.ravel(fpr)
        delta = self._deltas(GROUP_EPSILONS)
        growth = np.exp(GROUP_EPSILONS)
        steep = (np.multiply.outer(flat, growth) + delta) * (1 + SLIP)
        flatter = 1 - (1 - delta - flat[:, None]) / growth * (1 - SLIP) + SLIP
        # where 1 - delta - T is negative the second line is above 1 and gives nothing
        least = np.minimum(steep, flatter).min(axis=1)
        out: Array = np.minimum(np.maximum(least, flat), 1.0).reshape(np.shape(fpr))
        return out
