"""The privacy profile of a plan at many points at once: delta and epsilon, attacks, tight mu, groups.

All answers derive from certified values of delta (``directions/curve.py``), and each answer is a :class:`Band` of
certified ends that states which end is safe to quote.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from hockeystick.accountants.auto import AutoAccountant
from hockeystick.directions.curve import SidedCurve
from hockeystick.directions.epsilons import epsilons
from hockeystick.directions.gaussian_fit import GaussianFit, fitted
from hockeystick.directions.tradeoff import TradeOffs
from hockeystick.pairs.sides import width_of
from hockeystick.plan.caveats import told
from hockeystick.plan.plan import Plan
from hockeystick.plan.users import SLIP, GroupProfile, check_chain
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.band import Band
from hockeystick.values.bounds import Bound
from hockeystick.values.errors import UnsupportedError
from hockeystick.values.interval import Ends

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]

GAP = 1e-4  # target relative width of error rates
BEYOND = 1e-6  # the nodes may end at the least rate times this factor, as delta
LEAST_RATE = 1e-12  # error rates below it are bounded, not narrowed


class Profile:
    """The privacy profile of a plan, with derived quantities.

    All methods take a number or an array of any shape and return a :class:`Band` of that shape. Error rates are those
    of the best test between the outputs on two neighbouring datasets. They are for the worse of the two orderings, that
    is for the worse choice of the first dataset, and need an adjacency with both orderings.

    Args:
        plan: the plan that was run.
        gap: requested relative width of delta; the engines' defaults if ``None``.

    Raises:
        UnsupportedError: some round has no proven dominating pair.
        InvalidInputError: a gap outside (0, 1].

    >>> from hockeystick import dp_sgd
    >>> profile = Profile(dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000))
    >>> (np.ceil(1e6 * profile.delta([0.5, 1.0, 2.0]).upper) / 1e6).tolist()
    [0.030569, 0.002613, 3e-06]
    >>> print(profile.advantage())
    0.161017 to 0.161018 (certified)
    """

    def __init__(self, plan: Plan, gap: float | None = None) -> None:
        self.plan = plan
        self._gap = None if gap is None else domains.share(gap, "gap", "requested relative width of delta")
        self._curve = SidedCurve(plan.directions, self._gap)
        self._known: dict[float, TradeOffs] = {}

    def __repr__(self) -> str:
        return f"Profile({self.plan!r})" if self._gap is None else f"Profile({self.plan!r}, gap={self._gap!r})"

    def _repr_html_(self) -> str:
        """Return the profile as notebooks show it: the plan, and the success of the best attack."""
        from hockeystick.plan.notebook import profile_html

        return profile_html(self)

    def plot(self, kind: str = "tradeoff", **options: Any) -> Figure:
        """Return a figure of the plan, see :meth:`Plan.plot`; by default the errors of the best attack.

        Raises:
            InvalidInputError: an unknown kind or option, or a value outside its domain.
            UnsupportedError: the kind is ``"tradeoff"``, and the adjacency (``add`` or ``remove``) has only one
                ordering of the datasets.
            HockeystickError: matplotlib is missing.
        """
        return self.plan.plot(kind=kind, **options)

    def delta(self, epsilon: npt.ArrayLike) -> Band:
        """Return the least delta at each epsilon >= 0; the safe end is the upper one."""
        at = checked(epsilon, domains.EPSILON.of("the target epsilon"), "epsilon")
        return self._band(self._deltas(at.ravel()), at, "upper")

    def log_delta(self, epsilon: npt.ArrayLike) -> Band:
        """Return the natural logarithm of :meth:`delta`, for deltas below the range of a double."""
        at = checked(epsilon, domains.EPSILON.of("the target epsilon"), "epsilon")
        return self._band(self._curve.log_delta(at.ravel()), at, "upper")

    def epsilon(self, delta: npt.ArrayLike) -> Band:
        """Return the least epsilon at each delta in [0, 1); the safe end is the upper one, ``inf`` for no bound."""
        at = checked(delta, domains.DELTA.of("the target delta"), "delta")
        return self._band(self._epsilons(at.ravel()), at, "upper")

    def advantage(self) -> Bound:
        """Return delta at epsilon 0: the largest true-positive less false-positive rate of a membership attack."""
        bound = self.plan.delta(0.0, gap=self._gap)
        said = Bound(
            bound.lower, bound.estimate, bound.upper, accountant=bound.accountant, direction=bound.direction,
            reason=bound.reason,
        )  # fmt: skip
        return told(said, self.plan, None)

    def trade_off(self, fpr: npt.ArrayLike) -> Band:
        """Return the least false-negative rate at each false-positive rate; the safe end is the lower one.

        Raises:
            UnsupportedError: the adjacency (``add`` or ``remove``) has only one ordering of the datasets.
        """
        at = checked(fpr, RATES.of("false-positive rate"), "fpr")
        return self._band(self._rates(at.ravel())[1], at, "lower")

    def tpr(self, fpr: npt.ArrayLike) -> Band:
        """Return the largest true-positive rate at each false-positive rate; the safe end is the upper one.

        Raises:
            UnsupportedError: the adjacency (``add`` or ``remove``) has only one ordering of the datasets.
        """
        at = checked(fpr, RATES.of("false-positive rate"), "fpr")
        return self._band(self._rates(at.ravel())[0], at, "upper")

    def bayes_risk(self, prior: npt.ArrayLike = 0.5) -> Band:
        """Return the least error probability of an attacker with a prior on one of two datasets; the lower end is safe.

        With the prior pi and the trade-off function f, it is ``min_alpha pi alpha + (1 - pi) f(alpha) = min(pi, 1 - pi)
        (1 - delta(|log(pi / (1 - pi))|))``, since delta is the conjugate of f.

        Raises:
            UnsupportedError: the adjacency (``add`` or ``remove``) has only one ordering of the datasets.
        """
        self._both_orderings()
        at = checked(prior, PRIORS.of("prior probability of one of the two datasets"), "prior")
        flat = at.ravel()
        odds = np.abs(np.log(flat) - np.log1p(-flat))
        # rounding of epsilon changes delta, and so 1 - delta, by at most delta times that rounding
        delta, least = self._deltas(odds), np.minimum(flat, 1 - flat)
        slip = SLIP * (4 + odds)
        lower = np.maximum(least * (1 - delta.upper) * (1 - SLIP) - least * slip, 0.0)
        upper = least * (1 - delta.lower) * (1 + SLIP) + least * slip
        return self._band(Ends.of(lower, least * (1 - delta.estimate), upper), at, "lower")

    def reconstruction(self, baseline: npt.ArrayLike) -> Band:
        """Return the bound ``1 - f(baseline)`` on the success of reconstruction; the safe end is the upper one.

        f is the trade-off function, and ``baseline`` is the probability of success without the record, by guessing from
        the prior alone. The bound covers re-identification, attribute inference and reconstruction alike (Kulynych et
        al. 2025 [KGK+25]).

        Raises:
            UnsupportedError: the adjacency (``add`` or ``remove``) has only one ordering of the datasets.
        """
        at = checked(baseline, RATES.of("success probability of guessing without the output"), "baseline")
        return self._band(self._rates(at.ravel())[0], at, "upper")

    def gdp(self, least_rate: float = 1e-9) -> GaussianFit:
        """Return the tight mu of Gaussian differential privacy, and its regret (see :class:`GaussianFit`).

        The method is that of Gomez et al. 2025 [GKK+25].

        Args:
            least_rate: smallest error rate at which ``f >= G_mu`` is claimed, for the trade-off functions f of the plan
                and G_mu of the Gaussian mechanism. At smaller rates, the tail of a sampled mechanism may look like the
                tail of the unsampled one.

        Raises:
            UnsupportedError: the adjacency (``add`` or ``remove``) has only one ordering of the datasets.
        """
        least = RATES_INSIDE.of("smallest error rate for which mu is claimed").check(least_rate, "least_rate")
        fit = fitted(self.trade_offs(least, 1 - least), least)
        return replace(fit, mu=self._told(fit.mu), regret=self._told(fit.regret))

    def mu(self, least_rate: float = 1e-9) -> Bound:
        """Return the mu of :meth:`gdp`, without its regret."""
        return self.gdp(least_rate).mu

    def group(self, size: int) -> GroupProfile:
        """Return the bounds for groups of up to ``size`` records (or users), from this profile alone.

        Raises:
            InvalidInputError: the size is not a positive whole number.
            UnsupportedError: a sampling scheme that changes if some records are missing from the dataset.
        """
        check_chain(self.plan)
        return GroupProfile(self, domains.whole(size, "size", "records in a group", least=1))

    def table(self, epsilon: npt.ArrayLike) -> dict[str, list[float]]:
        """Return a table as columns by name: each epsilon, and the ends of delta at that epsilon.

        Raises:
            InvalidInputError: a value is not a number, or an epsilon is outside [0, 1e4].
        """
        at = domains.array(epsilon, "epsilon").ravel()
        return {"epsilon": at.tolist(), **{f"delta_{name}": end for name, end in self.delta(at).columns().items()}}

    def _band(self, ends: Ends, like: Array, safe: Literal["lower", "upper"]) -> Band:
        """Return a band of these ends in the shape of the input, with the reason if they come from two pairs."""
        lower, estimate, upper = (end.reshape(like.shape) for end in (ends.lower, ends.estimate, ends.upper))
        return Band(lower, estimate, upper, safe, self._reasons(None))

    def _told(self, bound: Bound) -> Bound:
        """Return a bound with its assumptions, and with the reason if its ends come from two pairs."""
        return told(replace(bound, reason=self._reasons(bound.reason)), self.plan, None)

    def _reasons(self, other: str | None) -> str | None:
        """Return the reasons for a wide interval: the given one, and that its ends come from two pairs if they do."""
        why = self.plan.directions.why
        return "; ".join(filter(None, (width_of(why) if why else None, other))) or None

    def _deltas(self, epsilon: Array) -> Ends:
        log = self._curve.log_delta(epsilon)
        # plus one double each way, since SLIP is rounded away in the range where doubles lose digits
        upper = np.where(log.upper > -math.inf, np.nextafter(np.exp(log.upper) * (1 + SLIP), 2.0), 0.0)
        lower = np.maximum(np.nextafter(np.exp(log.lower) * (1 - SLIP), -1.0), 0.0)
        return Ends.of(lower, np.exp(log.estimate), np.minimum(upper, 1.0))

    def _epsilons(self, delta: Array) -> Ends:
        return epsilons(self._curve, self.plan.directions, delta, self._gap)

    def _both_orderings(self) -> None:
        one_sided = self.plan.adjacency
        if one_sided in (Adjacency.ADD, Adjacency.REMOVE):
            raise UnsupportedError(
                f"error rates need both orderings of two neighbouring datasets, and adjacency {one_sided.value!r} has "
                "only one; use 'add-or-remove'"
            )

    def trade_offs(self, least: float, most: float) -> TradeOffs:
        """Return the trade-off functions for both orderings of two datasets, for rates from ``least`` to ``most``.

        Raises:
            UnsupportedError: the adjacency (``add`` or ``remove``) has only one ordering of the datasets.
        """
        self._both_orderings()
        deep = BEYOND * max(min(least, 1 - most), LEAST_RATE)
        deep = 10.0 ** math.floor(math.log10(deep))
        if deep not in self._known:
            farthest = AutoAccountant().epsilon(self.plan.directions, deep, 0.1).upper
            if math.isinf(farthest):  # mass at infinity
                farthest = -math.log(deep)
            self._known[deep] = TradeOffs.of(self._curve, farthest, deep)
        return self._known[deep]

    def _rates(self, fpr: Array) -> tuple[Ends, Ends]:
        self._both_orderings()
        inside = fpr[(fpr > 0) & (fpr < 1)]
        least, most = (float(inside.min()), float(inside.max())) if len(inside) else (0.5, 0.5)
        return self.trade_offs(least, most).rates(fpr, GAP)


RATES = domains.Domain("0 or a number from 1e-100 to 1", {"minimum": 1e-100, "maximum": 1}, also=0.0)
"""Domain of error rates."""

RATES_INSIDE = domains.Domain(
    "a number, at least 1e-100 and less than 0.5", {"minimum": 1e-100, "exclusiveMaximum": 0.5}
)
"""Domain of the least error rate of a Gaussian fit; from 0.5 on no test would remain."""

PRIORS = domains.Domain("a number, at least 1e-100 and less than 1", {"minimum": 1e-100, "exclusiveMaximum": 1})
"""Domain of an attacker's prior; 0 and 1 leave nothing to find out."""


def checked(value: npt.ArrayLike, domain: domains.Domain, key: str) -> Array:
    """Return the value as an array of floats, each checked to be in the domain.

    Raises:
        InvalidInputError: a value is not a number, or is outside the domain.
    """
    at = domains.array(value, key)
    rest = at[at != domain.also]
    for one in (rest.min(), rest.max()) if rest.size else ():
        domain.check(float(one), key)
    return at
