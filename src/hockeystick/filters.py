"""Privacy filters and an odometer: budgets for rounds whose parameters are chosen after looking at earlier results.

A *filter* is asked before each round whether it still fits; what was run while it said yes is private, however the
parameters were chosen (Rogers, Roth, Ullman, Vadhan 2016, arXiv 1605.08294). An *odometer* says at every moment what
was spent. Only what is proven is here:

- ``rdp``: the Renyi divergences of one fixed order add up to at most the budget (Feldman, Zrnic 2021, arXiv
  2008.11193);
- ``zcdp``: likewise rho (arXiv 2008.11193; Whitehouse, Ramdas, Rogers, Wu 2023, arXiv 2203.05481);
- ``gdp``: ``sum mu_i^2 <= mu^2`` (Koskela, Tobaben, Honkela 2023, arXiv 2209.15596);
- ``approximate-dp``: ``sqrt(2 log(1/delta') sum eps_i^2) + sum eps_i^2 / 2 <= eps`` and ``sum delta_i <= delta''``
  (arXiv 2203.05481).

Composing the curves that were realised and stopping where they cross the budget (a filter on trade-off functions or
loss distributions) is not: it is invalid in general (arXiv 2602.06756, arXiv 2602.15815; the separation of filters and
odometers is that of arXiv 1605.08294), and is refused.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import singledispatch
from typing import ClassVar

from hockeystick import domains
from hockeystick.adjacency import Adjacency, Direction
from hockeystick.errors import BudgetError, InvalidInputError, UnsupportedError
from hockeystick.mechanisms import Gaussian
from hockeystick.numerics.rounding import next_up
from hockeystick.pairs import DominatingPair, GaussianPair
from hockeystick.pairs.renyi import log_peak
from hockeystick.plan import Plan, Round
from hockeystick.sampling import NoSampling

SLACK = 1e-13  # relative: pays for the roundings of a few operations
ORDER = domains.Domain("a finite number greater than 1", {"exclusiveMinimum": 1}, "Renyi order")
UNSOUND = (
    "a filter that composes the curves realised so far and stops where they cross the budget is not valid when later "
    "parameters depend on earlier results (arXiv 2602.06756, 2602.15815; Rogers et al. 2016, arXiv 1605.08294): "
    "use 'rdp', 'zcdp', 'gdp' or 'approximate-dp'"
)


class PrivacyFilter(ABC):
    """A budget that adaptively chosen rounds are held to.

    Attributes:
        name: as given to :func:`privacy_filter`.
    """

    name: ClassVar[str]

    def __init__(self, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        self._adjacency = Adjacency.parse(adjacency)
        self._history: list[Round] = []

    @property
    def history(self) -> tuple[Round, ...]:
        """The rounds that were spent, in order."""
        return tuple(self._history)

    def allows(self, item: Round) -> bool:
        """Whether a round (with its count) still fits.

        Raises:
            UnsupportedError: a round for which this kind of budget has no proven cost.
        """
        return self._fits(self._checked(item))

    def spend(self, item: Round) -> None:
        """Record a round, before it is run.

        Raises:
            BudgetError: it does not fit; nothing is recorded.
            UnsupportedError: a round for which this kind of budget has no proven cost.
        """
        if not self._fits(self._checked(item)):
            raise BudgetError(f"the {self.name} filter does not allow this round: {self.said()}")
        self._add(item)
        self._history.append(item)

    @staticmethod
    def _checked(item: Round) -> Round:
        if not isinstance(item, Round):
            raise InvalidInputError(f"a filter is asked about a Round; received {domains.shown(item)}", "item")
        return item

    @abstractmethod
    def _fits(self, item: Round) -> bool: ...

    @abstractmethod
    def _add(self, item: Round) -> None: ...

    @abstractmethod
    def said(self) -> str:
        """What was spent of what, for people."""

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """The epsilon at a delta that everything the filter allows together has, whatever is chosen."""


class RdpFilter(PrivacyFilter):
    """Renyi divergences of one order, fixed beforehand; each direction has the budget for itself.

    At a fixed order the filter is valid for each ordered pair of neighbouring datasets, hence for each direction.

    Args:
        order: alpha > 1.
        budget: of the Renyi divergence of that order.
        adjacency: neighbouring relation.

    >>> budget = RdpFilter.reaching(epsilon=2.0, delta=1e-6)
    >>> budget.allows(Round(Gaussian(10.0), count=5)), budget.epsilon(1e-6) <= 2.0
    (True, True)
    """

    name: ClassVar[str] = "rdp"

    def __init__(self, order: float, budget: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        super().__init__(adjacency)
        self.order = ORDER.check(order, "order")
        self.budget = domains.POSITIVE.of("budget of the Renyi divergence").check(budget, "budget")
        self._spent = dict.fromkeys(self._adjacency.directions, 0.0)

    @classmethod
    def reaching(
        cls, epsilon: float, delta: float, order: float | None = None, adjacency: Adjacency | str = "add-or-remove"
    ) -> RdpFilter:
        """The budget that is (epsilon, delta); the order is by default the best one for unsampled Gaussian noise.

        Sampled rounds want a smaller one: that at which ``plan.epsilon(delta, accountant="rdp")`` answers for a plan
        like the one in mind (its ``order``).
        """
        epsilon = domains.POSITIVE.of("the target epsilon").check(epsilon, "epsilon")
        delta = domains.TARGET_DELTA.check(delta, "delta")
        t = -2 * math.log(delta) / epsilon if order is None else ORDER.check(order, "order") - 1
        t = (1 + t) - 1  # that of the order as a double
        budget = epsilon + (math.log(delta) - log_peak(t)) / t if t > 0 else -1.0
        if not budget > 0:
            raise InvalidInputError(
                f"order {1 + t:.6g} leaves no budget for epsilon {epsilon!r}: give another", "order"
            )
        return cls(1 + t, budget * (1 - 8 * SLACK), adjacency)

    def _costs(self, item: Round) -> dict[Direction, float]:
        t = self.order - 1
        costs = {}
        for direction in self._spent:
            pair = item.pair(direction)
            if pair.infinite_mass:
                raise UnsupportedError("a round that may fail (delta > 0) has no Renyi divergence: use approximate-dp")
            costs[direction] = max(item.count * pair.log_moment(t) / t, 0.0) * (1 + SLACK)
        return costs

    def _fits(self, item: Round) -> bool:
        costs = self._costs(item)
        return all(next_up(self._spent[at] + cost) <= self.budget for at, cost in costs.items())

    def _add(self, item: Round) -> None:
        for direction, cost in self._costs(item).items():
            self._spent[direction] = next_up(self._spent[direction] + cost)

    def said(self) -> str:
        """Spent and budget at the order."""
        return f"{max(self._spent.values()):.6g} of {self.budget:.6g} is spent at order {self.order:.6g}"

    def epsilon(self, delta: float) -> float:
        """By Canonne, Kamath, Steinke 2020 (arXiv 2004.00010, Proposition 12)."""
        delta = domains.TARGET_DELTA.check(delta, "delta")
        t = self.order - 1
        return max(self.budget + (log_peak(t) - math.log(delta)) / t, 0.0) * (1 + SLACK)


class _ExactFilter(PrivacyFilter):
    """A budget of rational numbers that add up: sums are exact, parameters read as the decimals they print as."""

    def __init__(self, budget: Fraction, adjacency: Adjacency | str) -> None:
        super().__init__(adjacency)
        self._budget, self._spent = budget, Fraction(0)

    @abstractmethod
    def _cost(self, item: Round, direction: Direction) -> Fraction: ...

    def _of(self, item: Round) -> Fraction:
        return item.count * max(self._cost(item, direction) for direction in self._adjacency.directions)

    def _fits(self, item: Round) -> bool:
        return self._spent + self._of(item) <= self._budget

    def _add(self, item: Round) -> None:
        self._spent += self._of(item)

    def said(self) -> str:
        """Spent and budget."""
        return f"{float(self._spent):.6g} of {float(self._budget):.6g} is spent"


class ZcdpFilter(_ExactFilter):
    """Zero-concentrated differential privacy: rho of each round adds up to at most the budget.

    A Gaussian round of distance mu has ``rho = mu^2 / 2``; one of pure epsilon ``eps^2 / 2`` (Bun, Steinke 2016, arXiv
    1605.02065, Propositions 1.6 and 3.3). Sampled rounds have no proven rho of use here.

    >>> budget = ZcdpFilter(0.05)
    >>> budget.spend(Round(Gaussian(10.0), count=10))
    >>> budget.allows(Round(Gaussian(10.0)))
    False
    """

    name: ClassVar[str] = "zcdp"

    def __init__(self, budget: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        rho = domains.POSITIVE.of("budget of rho").check(budget, "budget")
        super().__init__(_decimal(rho), adjacency)

    def _cost(self, item: Round, direction: Direction) -> Fraction:
        return _rho(item.pair(direction), item)

    def epsilon(self, delta: float) -> float:
        """The best order of arXiv 2004.00010, Proposition 12, on a grid."""
        delta = domains.TARGET_DELTA.check(delta, "delta")
        rho, log = float(self._budget), math.log(delta)
        tilts = (math.sqrt(-log / rho) * 1.01**i for i in range(-200, 200))
        return max(min((1 + t) * rho + (log_peak(t) - log) / t for t in tilts), 0.0) * (1 + SLACK)


class GdpFilter(_ExactFilter):
    """Gaussian differential privacy: ``sum mu_i^2 <= mu^2``, for unsampled Gaussian rounds.

    >>> budget = GdpFilter(1.0)
    >>> budget.spend(Round(Gaussian(2.0), count=4))
    >>> budget.allows(Round(Gaussian(1000.0)))
    False
    """

    name: ClassVar[str] = "gdp"

    def __init__(self, budget: float, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        self.mu = domains.POSITIVE.of("budget of mu").check(budget, "budget")
        super().__init__(_decimal(self.mu) ** 2, adjacency)

    def _cost(self, item: Round, direction: Direction) -> Fraction:
        return _squared_distance(item.pair(direction), item)

    def epsilon(self, delta: float) -> float:
        """That of one Gaussian round of distance mu: exact, certified."""
        noise = 1 / self.mu
        if _decimal(noise) * _decimal(self.mu) > 1:
            noise = math.nextafter(noise, 0.0)
        return Plan([Round(Gaussian(noise))]).epsilon(delta).upper


class ApproximateDpFilter(PrivacyFilter):
    """Rounds known by (epsilon_i, delta_i): ``sqrt(2 log(1/delta') S) + S / 2 <= epsilon``, S the sum of squares.

    What it allows together is (epsilon, delta' + delta'')-private; ``sum delta_i <= delta''``.

    Args:
        epsilon: the target.
        delta: the target; what ``slack`` does not take is left to the rounds.
        slack: delta', by default half of delta.
        adjacency: neighbouring relation.

    >>> from hockeystick import ApproximateDP
    >>> budget = ApproximateDpFilter(1.0, 1e-6)
    >>> budget.spend(Round(ApproximateDP(0.1, 1e-8), count=3))
    >>> budget.allows(Round(ApproximateDP(0.1, 1e-8), count=3))
    False
    """

    name: ClassVar[str] = "approximate-dp"

    def __init__(
        self,
        epsilon: float,
        delta: float,
        slack: float | None = None,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> None:
        super().__init__(adjacency)
        self._epsilon = domains.POSITIVE.of("the target epsilon").check(epsilon, "epsilon")
        self._delta = domains.TARGET_DELTA.check(delta, "delta")
        self._slack = domains.TARGET_DELTA.check(0.5 * self._delta if slack is None else slack, "slack")
        if self._slack > self._delta:
            raise InvalidInputError(f"slack must be at most delta; received {slack!r} and {delta!r}", "slack")
        self._squares, self._deltas = Fraction(0), Fraction(0)

    def _sums(self, item: Round) -> tuple[Fraction, Fraction]:
        squares, deltas = zip(*(_guarantee(item.pair(at)) for at in self._adjacency.directions), strict=True)
        return self._squares + item.count * max(squares), self._deltas + item.count * max(deltas)

    def _fits(self, item: Round) -> bool:
        squares, deltas = self._sums(item)
        if deltas > _decimal(self._delta) - _decimal(self._slack):
            return False
        return self._spent(squares) <= self._epsilon

    def _spent(self, squares: Fraction) -> float:
        total = next_up(float(squares))
        return (math.sqrt(-2 * math.log(self._slack) * total) + 0.5 * total) * (1 + SLACK) if squares else 0.0

    def _add(self, item: Round) -> None:
        self._squares, self._deltas = self._sums(item)

    def said(self) -> str:
        """Epsilon and delta spent."""
        left = f"{float(self._deltas):.6g} of {self._delta - self._slack:.6g}"
        return f"epsilon {self._spent(self._squares):.6g} of {self._epsilon:.6g} and delta {left} is spent"

    def epsilon(self, delta: float) -> float:
        """The target, at its delta or a larger one; infinite below."""
        return self._epsilon if domains.TARGET_DELTA.check(delta, "delta") >= self._delta else math.inf


class Odometer(ApproximateDpFilter):
    """What was spent so far, at any moment: with probability ``1 - delta'`` the loss never exceeds it.

    With ``R_n = sum eps_i^2 / 2``, any order ``alpha > 1`` fixed beforehand, and L_n the loss after n rounds,
    ``exp((alpha - 1) L_n - alpha (alpha - 1) R_n)`` is a supermartingale that starts at 1: a round of pure ``eps_i``,
    however it was chosen, has a Renyi divergence of at most ``alpha eps_i^2 / 2`` (arXiv 1605.02065). By Ville's
    inequality ``L_n <= alpha R_n + log(1/delta') / (alpha - 1)`` at all n together, but for probability delta'. This is
    the odometer of arXiv 2203.05481 that is tight at a preselected moment: the order is the best one there. Rounds with
    a delta of their own are allowed up to delta'' in all.

    Args:
        delta: delta' + delta''.
        expected: the epsilon at which the odometer is to be tightest.
        slack: delta', by default half of delta.
        adjacency: neighbouring relation.

    >>> from hockeystick import RandomizedResponse
    >>> odometer = Odometer(delta=1e-6, expected=1.0)
    >>> odometer.spend(Round(RandomizedResponse(0.05), count=10))
    >>> 0.5 < odometer.spent < 1.0
    True
    """

    name: ClassVar[str] = "odometer"

    def __init__(
        self,
        delta: float,
        expected: float,
        slack: float | None = None,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> None:
        super().__init__(expected, delta, slack, adjacency)
        # the R at which sqrt(4 R log(1/delta')) + R is what is expected; there alpha - 1 = sqrt(log(1/delta') / R)
        log = -math.log(self._slack)
        root = self._epsilon / (math.sqrt(log + self._epsilon) + math.sqrt(log))
        self._tilt = math.sqrt(log) / root

    def _fits(self, item: Round) -> bool:
        return self._sums(item)[1] <= _decimal(self._delta) - _decimal(self._slack)

    def _spent(self, squares: Fraction) -> float:
        total = 0.5 * next_up(float(squares))
        return ((1 + self._tilt) * total - math.log(self._slack) / self._tilt) * (1 + SLACK) if squares else 0.0

    @property
    def spent(self) -> float:
        """The epsilon that was spent so far."""
        return self._spent(self._squares)

    def epsilon(self, delta: float) -> float:
        """What was spent so far, at delta or a larger one; infinite below."""
        return self.spent if domains.TARGET_DELTA.check(delta, "delta") >= self._delta else math.inf


def privacy_filter(name: str, **budget: float) -> PrivacyFilter:
    """A filter by its name, with its budget.

    Raises:
        UnsupportedError: a filter that is not valid, with the reason.
        InvalidInputError: there is none of that name, or a value outside its domain.

    >>> privacy_filter("gdp", budget=0.5).name
    'gdp'
    """
    if name in ("curve", "f-dp", "pld", "prv"):
        raise UnsupportedError(f"{name}: {UNSOUND}")
    if name not in FILTERS:
        raise InvalidInputError(domains.choice("filter", name, list(FILTERS)), "filter")
    return FILTERS[name](**budget)


FILTERS: Mapping[str, Callable[..., PrivacyFilter]] = {
    kind.name: kind for kind in (RdpFilter, ZcdpFilter, GdpFilter, ApproximateDpFilter)
}
"""All filters by name."""


@singledispatch
def _rho(pair: DominatingPair, item: Round) -> Fraction:
    """rho of one round: by its largest loss where it is bounded on both sides."""
    if item.sampling.name != NoSampling.name:
        raise UnsupportedError("sampled rounds have no proven rho here: use 'rdp'")
    squared, delta = _guarantee(pair)
    if delta:
        raise UnsupportedError("a round that may fail (delta > 0) has no rho: use approximate-dp")
    return squared / 2


@_rho.register
def _(pair: GaussianPair, item: Round) -> Fraction:
    return _squared_distance(pair, item) / 2


@singledispatch
def _squared_distance(pair: DominatingPair, item: Round) -> Fraction:
    raise UnsupportedError(
        "the gdp filter is proven for unsampled Gaussian rounds only; for others use 'rdp' or 'approximate-dp'"
    )


@_squared_distance.register
def _(pair: GaussianPair, item: Round) -> Fraction:
    """From the noise as it was written, so that budgets add up; from the pair, rounded up, where that is not its."""
    noise = getattr(item.mechanism, "noise_multiplier", None)
    if noise is not None:
        for distance in (1, 2):
            if distance / noise == pair.mu:
                return (distance / _decimal(noise)) ** 2
    return _decimal(next_up(pair.mu, 2)) ** 2


def _guarantee(pair: DominatingPair) -> tuple[Fraction, Fraction]:
    """``epsilon^2`` and delta of one round, whose finite losses must be bounded on both sides."""
    low, high = pair.loss_range
    if not (math.isfinite(low) and math.isfinite(high)):
        raise UnsupportedError(
            "the loss of this round is unbounded: it has no epsilon of its own; give it as an ApproximateDP round, or "
            "use 'rdp', 'zcdp' or 'gdp'"
        )
    exact = pair.exact_supremum
    error = Fraction(pair.supremum_error)
    epsilon = max(exact if exact is not None else Fraction(high) + error, 0 * error)
    if -low > high * (1 + SLACK):
        epsilon = Fraction(-low) + error
    return epsilon**2, _decimal(pair.infinite_mass)


def _decimal(value: float) -> Fraction:
    """The number that a parameter prints as."""
    return Fraction(repr(float(value)))
