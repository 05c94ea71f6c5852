"""Targets of a calibration, one class each; the safe end of a certified interval must meet the target."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

from hockeystick.accountants.auto import AutoAccountant
from hockeystick.plan.plan import Plan
from hockeystick.plan.users import as_whole
from hockeystick.values.band import Band
from hockeystick.values.bounds import Answer, Bound
from hockeystick.values.domains import DELTA, EPSILON, MOST_EPSILON, POSITIVE, TARGET_DELTA, Domain, check_fields
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.outward import shortest

TARGET_EPSILON = Domain("a number from 1e-9 to 1e4", {"minimum": 1e-9, "maximum": MOST_EPSILON})
"""Domain of a target epsilon: the engines barely distinguish a smaller epsilon from 0."""

OPEN = Domain("a number, at least 1e-100 and less than 1", {"minimum": 1e-100, "exclusiveMaximum": 1})
"""Domain of rates, risks and priors; it excludes 0 and 1, at which a target would restrict nothing."""


@dataclass(frozen=True)
class Target(ABC):
    """Limit on a quantity of a plan: an upper limit, or a lower limit for an attacker's error probability."""

    name: ClassVar[str]
    below: ClassVar[bool] = True
    """True for an upper limit, False for a lower limit."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def limit(self) -> float:
        """Number with which the safe end is compared."""
        return float(getattr(self, self.name))

    @property
    def at_delta(self) -> float | None:
        """Delta of the target, or None; answers warn if it is 1/dataset_size or more."""
        return getattr(self, "delta", None)

    @abstractmethod
    def measure(self, plan: Plan, gap: float | None) -> Bound:
        """Return the certified interval of the target's quantity for a plan."""

    def safe_end(self, found: Bound) -> float:
        """Return the end of an interval that must meet the target: the upper end for an upper limit."""
        return found.upper if self.below else found.lower

    def met(self, found: Bound) -> bool:
        """Return True if the safe end of an interval meets the target."""
        return found.upper <= self.limit if self.below else found.lower >= self.limit

    def missed(self, found: Bound) -> bool:
        """Return True if the interval proves that the target is missed."""
        return found.lower > self.limit if self.below else found.upper < self.limit

    def excess(self, found: Bound) -> float:
        """Return a measure of how far the safe end misses the target: positive if missed, smooth in log(parameter)."""
        ratio = _log_ratio(self.safe_end(found), self.limit)
        return ratio if self.below else -ratio

    def described(self) -> dict[str, Any]:
        """Return the target as a dictionary from its keys to their numbers."""
        return asdict(self)

    def said(self) -> str:
        """Return the target in words: each key with its value."""
        return ", ".join(f"{key} = {shortest(number)}" for key, number in self.described().items())


@dataclass(frozen=True)
class Epsilon(Target):
    """Upper limit on epsilon at a delta.

    >>> Epsilon(1.0, delta=1e-6).limit
    1.0
    """

    epsilon: Annotated[float, TARGET_EPSILON.of("the target epsilon")]
    delta: Annotated[float, DELTA.of("the target delta")]
    name: ClassVar[str] = "epsilon"

    def measure(self, plan: Plan, gap: float | None) -> Bound:
        """Return the certified interval of the plan's epsilon at the target's delta."""
        if plan.whole:
            return _interval(as_whole(plan).epsilon(self.delta, gap))
        return AutoAccountant().epsilon(plan.directions, self.delta, gap)


@dataclass(frozen=True)
class Delta(Target):
    """Upper limit on delta at an epsilon."""

    delta: Annotated[float, TARGET_DELTA]
    epsilon: Annotated[float, EPSILON.of("the target epsilon")]
    name: ClassVar[str] = "delta"

    def measure(self, plan: Plan, gap: float | None) -> Bound:
        """Return the certified interval of the plan's delta at the target's epsilon."""
        if plan.whole:
            return _interval(as_whole(plan).delta(self.epsilon, gap))
        return AutoAccountant().delta(plan.directions, self.epsilon, gap)

    def excess(self, found: Bound) -> float:
        """Return the excess, measured in log(-log delta), which is nearly linear in the logarithm of the noise."""
        log = math.log(found.upper) if found.upper > 0 else -math.inf
        return -_log_ratio(-log, -math.log(self.limit))


@dataclass(frozen=True)
class GaussianDP(Target):
    """Upper limit on the tight mu of Gaussian privacy; see :meth:`~hockeystick.plan.profile.Profile.gdp`."""

    mu: Annotated[float, POSITIVE.of("the target mu")]
    name: ClassVar[str] = "mu"

    def measure(self, plan: Plan, gap: float | None) -> Bound:
        """Return the certified interval of the plan's tight mu."""
        return plan.profile(gap).mu()


@dataclass(frozen=True)
class Advantage(Target):
    """Upper limit on a membership attack's advantage: the largest true-positive minus false-positive rate."""

    advantage: Annotated[float, OPEN.of("the target advantage")]
    name: ClassVar[str] = "advantage"

    def measure(self, plan: Plan, gap: float | None) -> Bound:
        """Return the certified interval of the advantage: delta at epsilon 0."""
        return AutoAccountant().delta(plan.directions, 0.0, gap)


@dataclass(frozen=True)
class TruePositiveRate(Target):
    """Upper limit on the true-positive rate of a membership attack at a given false-positive rate.

    The limit must exceed the false-positive rate, because guessing has equal rates.
    """

    tpr: Annotated[float, OPEN.of("the target true-positive rate")]
    fpr: Annotated[float, OPEN.of("false-positive rate")]
    name: ClassVar[str] = "tpr"

    def __post_init__(self) -> None:
        super().__post_init__()
        _more_than(self.tpr, "tpr", self.fpr, "fpr", "which guessing attains")

    def measure(self, plan: Plan, gap: float | None) -> Bound:
        """Return the certified interval of the true-positive rate at the target's false-positive rate."""
        return _bound(plan.profile(gap).tpr(self.fpr))


@dataclass(frozen=True)
class BayesRisk(Target):
    """Lower limit on the error probability of the best attacker, who knows the prior."""

    risk: Annotated[float, OPEN.of("the target minimum error probability")]
    prior: Annotated[float, OPEN.of("prior probability of one of the two datasets")] = 0.5
    name: ClassVar[str] = "risk"
    below: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        guessing = min(self.prior, 1 - self.prior)
        _more_than(guessing, "min(prior, 1 - prior)", self.risk, "risk", "the error of guessing")

    def measure(self, plan: Plan, gap: float | None) -> Bound:
        """Return the certified interval of the Bayes risk at the target's prior."""
        return _bound(plan.profile(gap).bayes_risk(self.prior))


@dataclass(frozen=True)
class Reconstruction(Target):
    """Upper limit on the probability that an attacker reconstructs a record from the output.

    Guessing without the output succeeds with probability ``baseline``.
    """

    success: Annotated[float, OPEN.of("the target success probability of reconstruction")]
    baseline: Annotated[float, OPEN.of("success probability of guessing without the output")]
    name: ClassVar[str] = "success"

    def __post_init__(self) -> None:
        super().__post_init__()
        _more_than(self.success, "success", self.baseline, "baseline", "which guessing attains")

    def measure(self, plan: Plan, gap: float | None) -> Bound:
        """Return the bound on the success probability."""
        return _bound(plan.profile(gap).reconstruction(self.baseline))


def _interval(found: Answer) -> Bound:
    """Return the answer as an interval; its lower end is 0 if none is known."""
    if isinstance(found, Bound):
        return found
    upper = found.ends["upper"]
    return Bound(0.0, upper, upper, accountant=found.accountant, reason=found.reason)


def _bound(band: Band) -> Bound:
    return Bound(float(band.lower), float(band.estimate), float(band.upper))


def _more_than(more: float, key: str, less: float, other: str, why: str) -> None:
    if not more > less:
        raise InvalidInputError(f"{key} must be greater than {other} ({why}); received {more!r} and {less!r}", key)


def _log_ratio(value: float, limit: float) -> float:
    """Return ``log(value / limit)``: minus infinity at a value of 0, otherwise infinity at a limit of 0."""
    if value <= 0:
        return -math.inf
    if limit <= 0 or math.isinf(value):
        return math.inf
    return math.log(value) - math.log(limit)
