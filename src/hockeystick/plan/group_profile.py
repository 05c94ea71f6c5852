"""What the profile of a single record says of groups of records, whatever a mechanism does to them together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.work import spent
from hockeystick.plan.group_epsilon import least_epsilon
from hockeystick.plan.places import SLIP, Array, checked, one_call_each
from hockeystick.plan.profile import Profile
from hockeystick.values import domains
from hockeystick.values.band import Band

MOST_STEPS = 200  # of a group, one evaluation of the trade-off function each
GROUP_EPSILONS = np.concatenate([[0.0], np.geomspace(1e-3, 500.0, 24)])  # at which delta of a larger group is looked at


@dataclass(frozen=True)
class GroupProfile:
    """What a plan promises to a group of up to ``size`` records, whatever the mechanism does to them together.

    Upper ends are proven; the lower ones are those of a single record, which is a group too.

    Attributes:
        profile: of one record.
        size: number of records k.
    """

    profile: Profile
    size: int
    _told: list[tuple[float, float]] = field(default_factory=list, init=False, repr=False, compare=False)

    def _repr_html_(self) -> str:
        """The plan as notebooks show it, under the size of the group."""
        from hockeystick.plan.notebook import plan_html
        from hockeystick.values.outward import html_table

        return html_table(f"Groups of up to {self.size} records", []) + plan_html(self.profile.plan)

    @property
    def _kinds(self) -> int:
        return self.profile._kinds

    @one_call_each
    def delta(self, epsilon: npt.ArrayLike) -> Band:
        """``delta_k(eps) <= sum_(i<k) e^(i eps / k) delta(eps / k)``: the inequality for one record, k times in a row.

        (Vadhan 2017 [Vad17], Lemma 2.2.) What :meth:`epsilon` has told of the group is kept: where work is short,
        single bounds depend on which others they are asked with.
        """
        single = self.profile.delta(epsilon)  # which checks it
        at = np.asarray(epsilon, dtype=np.float64)
        upper = np.minimum(self._deltas(at), self._kept(at))
        upper = np.maximum(upper, single.upper if self.size == 1 else 0.0)
        return Band(np.minimum(single.lower, upper), upper, upper, "upper")

    @one_call_each
    def epsilon(self, delta: npt.ArrayLike) -> Band:
        """The least epsilon at each delta in [0, 1) that :meth:`delta` certifies; ``inf`` where none below 1e6.

        An epsilon with ``delta_k(eps) <= delta`` is one that was looked at; the lower end is that of a single record.
        """
        at = checked(delta, domains.DELTA.of("the target delta"), "delta")
        single = self.profile.epsilon(at)
        upper = single.upper
        if self.size > 1:
            starts = np.where(np.isfinite(upper), self.size * upper, 1.0)
            pairs = zip(at.ravel().tolist(), starts.ravel().tolist(), strict=True)
            found = [least_epsilon(self._deltas, target, start) for target, start in pairs]
            self._told.extend(zip(found, at.ravel().tolist(), strict=True))
            upper = np.maximum(np.array(found).reshape(at.shape), single.lower)
        return Band(single.lower, upper, upper, "upper")

    def _kept(self, at: Array) -> Array:
        """The least delta that was told at each epsilon or a smaller one: delta does not rise with epsilon."""
        known = sorted(self._told)
        least = np.minimum.accumulate([1.0, *(delta for _, delta in known)])
        kept: Array = least[np.searchsorted([epsilon for epsilon, _ in known], at, side="right")]
        return kept

    def _deltas(self, at: Array) -> Array:
        """Upper ends of delta of the group."""
        share = np.nextafter(at / self.size, -math.inf).clip(0.0)
        each = self.profile._curve.log_delta(share.ravel()).upper.reshape(share.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            # (e^eps - 1) / (e^(eps/k) - 1), in logarithms: both may be beyond the range of a double
            ratio = at - at / self.size + np.log(np.expm1(-at) / np.expm1(-at / self.size))
            log = each + np.where(share > 0, ratio, math.log(self.size))
            log += SLIP * (4 + at + np.abs(each))
        upper: Array = np.where(each > -math.inf, np.minimum(np.nextafter(np.exp(np.minimum(log, 0.0)), 2.0), 1.0), 0.0)
        return upper

    @one_call_each
    def tpr(self, fpr: npt.ArrayLike) -> Band:
        """The largest true-positive rate: k steps of the one of a single record ([DRS22], Theorem 2.14).

        Each step has its evaluation, so only :data:`MOST_STEPS` are taken one by one. A test of rate a on the first
        dataset then has a rate of at most ``T`` on the one m records away; for the n = k - m records that are left, as
        groups of n are ``(eps, delta_n(eps))``-private both ways for every eps,

            tpr <= e^eps T + delta_n(eps)      and      1 - tpr >= e^-eps (1 - delta_n(eps) - T) .
        """
        single = self.profile.tpr(fpr)
        upper, reason = single.upper, None
        rest = self.size - 1
        while rest > max(self.size - 1 - MOST_STEPS, 0) and not spent():
            before, upper = upper, self.profile.tpr(upper).upper
            if np.array_equal(before, upper):  # 1, as a rule: it stays there
                return Band(single.lower, upper, upper, "upper")
            rest -= 1
        if rest:
            upper = GroupProfile(self.profile, rest)._by_delta(upper)
            reason = f"the last {rest} of {self.size} records of the group by its delta, not one by one"
        return Band(single.lower, upper, upper, "upper", reason)

    def _by_delta(self, fpr: Array) -> Array:
        """Upper ends of the true-positive rate from delta of the group at a few epsilons."""
        flat = np.ravel(fpr)
        delta = self._deltas(GROUP_EPSILONS)
        growth = np.exp(GROUP_EPSILONS)
        steep = (np.multiply.outer(flat, growth) + delta) * (1 + SLIP)
        flatter = 1 - (1 - delta - flat[:, None]) / growth * (1 - SLIP) + SLIP
        # where 1 - delta - T is negative the second line says nothing: it is above 1
        least = np.minimum(steep, flatter).min(axis=1)
        out: Array = np.minimum(np.maximum(least, flat), 1.0).reshape(np.shape(fpr))
        return out
