"""The currency filter: a budget of whole rounds of one reference, in which other rounds have certified prices.

Fix a reference round R, a number N of such rounds, and a slack. The state (s, d) is the number of rounds and the slack
that are left. A round M (with its count, its noise and its rate chosen in any way from the past) may be run at a price
of c rounds and slack x, if for neighbouring datasets in both orders and all ``a >= 0``

    H_a(M and R^(s - c)) <= H_a(R^s) + x,      H_a(P || Q) = sup_A P(A) - a Q(A),                                (1)

where M and R stand for their dominating pairs. Then s decreases by c, and d by x.

**Theorem.** Whatever is run, all outputs together have ``H_a <= H_a(R^N) + slack`` for all ``a >= 0``. *Proof*,
backwards from the last round: assume that, given the output y of M, all later rounds together have ``H_a <= H_a(R^(s -
c)) + d - x`` for all a. Then M and the later rounds have ``H_a = int p(y) H_(a q(y) / p(y)) (rest | y) dy <= H_a(M and
R^(s - c)) + d - x <= H_a(R^s) + d`` by (1). If nothing is run, ``H_a = max(1 - a, 0) <= H_a(R^s)``. The theorem is an
instance of the residue filters of [RHL+26], with slack.

*Hypotheses.* R, N and the slack are fixed beforehand. The price c and the slack x of a round are fixed before its noise
is drawn, for the s of that moment. A price holds at every larger s (both sides of (1) composed with R), but not at a
smaller one. Rounds that interact with each other while they run are not covered, nor are prices that depend on an
output.

**Only a >= 1** need be checked. For a < 1 the identity ``H_a(P || Q) = 1 - a + a H_(1/a)(Q || P)`` leads to the
opposite order at ``1/a > 1``. If (1) holds there, it holds at a with a x in place of x, since the pairs of R in both
orders are mirror images.

**From finitely many a.** ``f(a) = H_a(M and R^(s - c))`` and ``g(a) = H_a(R^s)`` are convex and decreasing. Take nodes
``1 = a_0 < ... < a_m``. Between two neighbouring nodes, f is at most the chord through its upper ends (convexity), and
g is at least each of three lines. The first two are the chords of the interval before and of the interval after,
extended; each goes through an upper end at its far node and a lower end at its near node (convexity again: the slope of
a chord is at most every slope right of it). The third is constant, the lower end at the right node. The chord of f
minus the largest of the three lines is concave, so its maximum is at an end of the interval or where two lines cross;
there it is compared with x. Beyond a_m ``f(a_m) <= x`` suffices. This needs x > 0; x is always the same share of the
slack.

**By structure**, x = 0 and c = 1 suffice for R itself. They also suffice for a round with at least as much noise as R
and at most its rate, since R dominates it. More normal or Laplace noise is a post-processing. A lower rate is a mixture
with the law without the record, and ``H_a((1 - l) Q + l P || Q) <= H_a(P || Q)`` by convexity. So an adaptive run of R
alone has all of its N rounds.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from hockeystick.directions.curve import DirectionCurve
from hockeystick.pairs import Composition
from hockeystick.plan.mechanisms import Status
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.mechanisms.laplace import Laplace
from hockeystick.plan.plan import Plan, Round
from hockeystick.plan.sampling import NoSampling, Sampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.questions.filters.base import SLACK, Amounts, PrivacyFilter, rounded_down, rounded_up
from hockeystick.questions.filters.conversion import TARGET
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.domains import unmet
from hockeystick.values.errors import InvalidInputError, UnsupportedError
from hockeystick.values.exact import decimal

Array = npt.NDArray[np.float64]

SHARES = 1000  # equal shares of the slack; a round that differs from the reference takes one
MOST_ROUNDS = 10**6  # largest number of rounds of a budget
NODES = 1000  # epsilons at which both sides are compared
PART = 100  # the default slack is delta / PART
FAR = np.geomspace(1e-3, 500.0, 200)  # candidates for the last node, as epsilons

ROUNDS = domains.whole_numbers(1, MOST_ROUNDS).of("rounds of the reference")
"""Domain of a budget."""


class CurrencyFilter(PrivacyFilter):
    """Filter that counts in whole rounds of a reference; see the module for the proof.

    Choose a reference similar to most of the coming rounds, but slightly more private.

    Args:
        reference: the reference round; its own count is ignored.
        rounds: number of reference rounds, from 1 to 10^6.
        slack: total delta that prices may use, in 1,000 equal shares; a round that differs from the reference takes one
            share.
        adjacency: neighbouring relation.

    Raises:
        InvalidInputError: a value is outside its domain.
        UnsupportedError: the reference has no tight pair, or its pairs in both orders are not known as mirror images.

    >>> from hockeystick import Gaussian, Poisson
    >>> budget = CurrencyFilter.reaching(Round(Gaussian(1.0), Poisson(0.01)), epsilon=2.0, delta=1e-6)
    >>> budget.spend(Round(Gaussian(1.0), Poisson(0.01), count=500))
    >>> budget.spend(Round(Gaussian(20.0)))
    >>> budget.said()
    'rounds of gaussian: 525 of 873 spent'
    """

    name: ClassVar[str] = "currency"

    def __init__(
        self,
        reference: Round,
        rounds: int,
        slack: float,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> None:
        if not isinstance(reference, Round):
            raise unmet("reference", "must be a Round", reference)
        self._slack = domains.TARGET_DELTA.check(slack, "slack")
        count = int(ROUNDS.check(rounds, "rounds"))
        super().__init__(adjacency, (Fraction(count), decimal(self._slack)))
        self.reference = reference.changed(count=1)
        self.currency = f"rounds of {reference.mechanism.name}"
        both = self.adjacency.both
        tight = Plan([self.reference], self.adjacency).directions.tight
        pairs = {direction: self.reference.pair(direction) for direction in both}
        # with other schemes a record may be in a part of a run's rounds, which says nothing of single ones
        if _rate(self.reference.sampling) is None or not tight or pairs[both[0]].mirror != pairs[both[1]]:
            raise UnsupportedError(
                f"{self.reference.mechanism.name} with sampling {self.reference.sampling.name!r} under "
                f"{self.adjacency.value!r} cannot be a reference, which needs a tight pair with a known mirror image; "
                "use Gaussian or Laplace noise, unsampled or Poisson-sampled under 'add-or-remove'"
            )

    @classmethod
    def reaching(
        cls,
        reference: Round,
        epsilon: float,
        delta: float,
        slack: float | None = None,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> Self:
        """Return the filter with the most reference rounds that are together (epsilon, delta - slack)-private.

        Args:
            reference: the reference round.
            epsilon: target epsilon.
            delta: target delta.
            slack: part of delta for prices, by default a hundredth of delta.
            adjacency: neighbouring relation.

        Raises:
            InvalidInputError: a value is outside its domain, or not even one round meets the target.
            UnsupportedError: the reference has no tight pair, or its pairs in both orders are not known as mirror
                images.
        """
        epsilon = TARGET.check(epsilon, "epsilon")
        delta = domains.TARGET_DELTA.check(delta, "delta")
        slack = delta / PART if slack is None else domains.TARGET_DELTA.check(slack, "slack")
        one = cls(reference, 1, slack, adjacency)
        target = rounded_down(decimal(delta) - decimal(slack))

        def reaches(count: int) -> bool:
            plan = Plan([one.reference.changed(count=count)], one.adjacency)
            return plan.delta(epsilon).upper <= target

        most = bisect_left(range(1, MOST_ROUNDS + 1), True, key=lambda count: not reaches(count))
        if not target > 0 or most == 0:
            raise InvalidInputError(
                f"even one round of the reference exceeds ({epsilon!r}, {target!r}); use a reference with more noise",
                "reference",
            )
        return cls(reference, most, slack, adjacency)

    @property
    def spent_slack(self) -> float:
        """Slack used by prices so far, rounded up."""
        return rounded_up(self._spent[1])

    def budget_epsilon(self, delta: float) -> float:
        """Return the certified epsilon of the whole budget at delta; infinity unless delta exceeds the slack."""
        delta = domains.TARGET_DELTA.check(delta, "delta")
        rest = rounded_down(decimal(delta) - self.limits[1])
        plan = Plan([self.reference.changed(count=int(self.limits[0]))], self.adjacency)
        return plan.epsilon(rest).upper if rest > 0 else math.inf

    def price(self, item: Round, direction: Direction, spent: Amounts) -> Amounts:
        """Return the least known price of a round, as a number of rounds and a slack, after ``spent`` was spent.

        If no price is known, the number of rounds exceeds the budget. The price is the same in every direction.
        """
        if any(item.claim(each).status is Status.RENYI for each in self.adjacency.both):
            raise UnsupportedError(f"the currency filter does not accept this {item.mechanism.name} round")
        if not item.count:
            return Fraction(0), Fraction(0)
        left, share = math.floor(self.limits[0] - spent[0]), self._slack / SHARES
        known = item.count if dominated(item, self.reference) else None
        if (
            known is not None
            and item.mechanism == self.reference.mechanism
            and item.sampling == self.reference.sampling
        ):
            return Fraction(known), Fraction(0)
        found = least_price(self.reference, item, left, share, self.adjacency)
        if known is not None and (found is None or known <= found):
            return Fraction(known), Fraction(0)
        return Fraction(found if found is not None else math.ceil(self.limits[0]) + 1), decimal(share)

    def costs(self, item: Round, direction: Direction) -> Amounts:
        """Return the price of a round while nothing is spent."""
        return self.price(item, direction, (Fraction(0), Fraction(0)))


def dominated(item: Round, reference: Round) -> bool:
    """Return True if a round has at least as much noise as a reference, and at most its sampling rate.

    The reference then dominates the round.

    >>> from hockeystick import Gaussian, Poisson
    >>> dominated(Round(Gaussian(2.0), Poisson(0.01)), Round(Gaussian(1.0), Poisson(0.02)))
    True
    """
    ours, theirs = item.mechanism, reference.mechanism
    if type(ours) is not type(theirs) or not isinstance(ours, Gaussian | Laplace):
        return False
    assert isinstance(theirs, Gaussian | Laplace)
    if ours.replace_one_distance != theirs.replace_one_distance:
        return False
    rate, most = _rate(item.sampling), _rate(reference.sampling)
    more = getattr(ours, ours.noise_key) >= getattr(theirs, theirs.noise_key)
    return more and rate is not None and most is not None and rate <= most


def _rate(sampling: Sampling) -> float | None:
    """Return the rate of Poisson sampling, or 1 without sampling; None for other schemes."""
    if isinstance(sampling, Poisson):
        return sampling.sample_rate
    return 1.0 if isinstance(sampling, NoSampling) else None


@lru_cache(maxsize=256)
def least_price(reference: Round, item: Round, left: int, share: float, adjacency: Adjacency) -> int | None:
    """Return the least number of reference rounds at which inequality (1) of the module is certified for a round.

    Args:
        reference: the reference round; its count is ignored.
        item: the round, with its count.
        left: number of reference rounds that are left.
        share: slack that the price may use.
        adjacency: neighbouring relation.

    Returns:
        The price; ``None`` if inequality (1) is not certified even at a price of all rounds that are left.

    Raises:
        UnsupportedError: the round has no dominating pair in both orders.
    """
    alone = (Composition([(item.pair(direction), item.count)]) for direction in adjacency.both)
    if left < 1 or any(composed.infinite_mass_ends[1] >= share for composed in alone):
        return None
    suffices = partial(_suffices, reference, item, left, share, adjacency)
    return bisect_left(range(left), True, key=suffices) if suffices(left) else None


def _suffices(reference: Round, item: Round, left: int, share: float, adjacency: Adjacency, price: int) -> bool:
    """Return True if inequality (1) of the module is certified at a price, in both orders."""
    rest = [reference.changed(count=left - price)] if price < left else []
    for direction in dict.fromkeys(adjacency.both):
        epsilon, lower, upper = _curve_of(reference, left, share, direction)
        above = _curve([item, *rest], direction).log_delta(epsilon, _enough(epsilon, share)).upper
        if not covered(np.exp(epsilon), np.exp(above), lower, upper, share):
            return False
    return True


@lru_cache(maxsize=64)
def _curve_of(reference: Round, left: int, share: float, direction: Direction) -> tuple[Array, Array, Array]:
    """Return nodes (epsilons), and the lower and the upper ends of delta of ``left`` reference rounds at the nodes."""
    curve = _curve([reference.changed(count=left)], direction)
    beyond = np.exp(curve.log_delta(FAR, _enough(FAR, share)).upper) > 0.1 * share
    last = FAR[min(int(np.flatnonzero(beyond)[-1]) + 1, len(FAR) - 1)] if beyond.any() else FAR[0]
    epsilon = np.linspace(0.0, float(last), NODES)
    ends = curve.log_delta(epsilon, _enough(epsilon, share))
    return epsilon, np.exp(ends.lower), np.exp(ends.upper)


def _enough(epsilon: Array, share: float) -> Array:
    """Return the log of a tenth of the share for each epsilon: a delta below it may stay inaccurate."""
    return np.full(len(epsilon), math.log(0.1 * share))


def _curve(rounds: Sequence[Round], direction: Direction) -> DirectionCurve:
    """Return the curve of delta of rounds in one direction."""
    return DirectionCurve(Composition(Plan(rounds).directions.pairs(direction, together=True)), None)


def covered(a: Array, above: Array, lower: Array, upper: Array, share: float) -> bool:
    """Return True if one convex curve exceeds a second one by at most ``share``, at all arguments from 1 on.

    Args:
        a: nodes, increasing from 1.
        above: upper ends of the first curve at the nodes.
        lower: lower ends of the second curve at the nodes.
        upper: upper ends of the second curve at the nodes.
        share: allowed excess of the first curve.

    >>> a = np.linspace(1.0, 20.0, 2000)
    >>> curve = np.exp(-a)
    >>> covered(a, 0.99 * curve, curve, curve, 1e-6), covered(a, 1.01 * curve, curve, curve, 1e-6)
    (True, False)
    """
    above, lower, upper = above * (1 + SLACK), lower * (1 - SLACK), upper * (1 + SLACK)  # exp, and what follows
    if not (above[-1] <= share and (above - lower <= share).all()):
        return False
    width = np.diff(a)
    chord = np.diff(above) / width
    # slopes of the neighbouring chords of the second curve, each through a near lower end and a far upper end
    left = np.concatenate([[-1.0], (lower[1:-1] - upper[:-2]) / width[:-1]])
    right = np.concatenate([(upper[2:] - lower[1:-1]) / width[1:], [0.0]])
    low, high = lower[:-1], lower[1:]
    # the lines at a distance x from the left node: low + left x, high + right (x - width), high
    lines = [(low, left), (high - right * width, right), (high, np.zeros(len(width)))]
    for i, (first, slope) in enumerate(lines):
        for second, other in lines[i + 1 :]:
            with np.errstate(divide="ignore", invalid="ignore"):
                x = np.clip(np.nan_to_num((second - first) / (slope - other)), 0.0, width)
            least = np.max([start + along * x for start, along in lines], axis=0)
            size = np.abs(low) + np.abs(left) * width + np.abs(high) + np.abs(right) * width
            if not (above[:-1] + chord * x - least + SLACK * size <= share).all():
                return False
    return True
