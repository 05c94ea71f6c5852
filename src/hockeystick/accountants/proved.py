"""Proved bounds of a plan, by the method of ``directions/certified.py`` with exact numbers and balls for doubles.

A ball is an interval of arbitrary precision, given by its centre and radius. Let p be the probability that some round
has infinite loss, and delta_finite the contribution of the finite losses; then ``delta(eps) = p + delta_finite(eps)``.
If the losses are bounded, delta_finite is 0 at the largest loss and above. Each direction is computed separately, and
the maximum is taken last. Both ends of an interval are rounded outward to doubles. Users may give the decimal that
Python prints for an end as an argument of a later question, so this decimal must be a bound too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from hockeystick.accountants.base import Accountant
from hockeystick.directions.certified import checked_gap, worst_direction
from hockeystick.directions.directions import Directions, distinct
from hockeystick.directions.finite import UNBOUNDED
from hockeystick.directions.two_sided import bound_of, without_lower
from hockeystick.engines.proof.engine import ProofEngine, ProvedDelta
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.engines.proof.search import Enclosure
from hockeystick.numerics.balls import Ball, above, ball, below, precision
from hockeystick.numerics.rounding import next_down, next_up
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Bound, DeltaBound
from hockeystick.values.errors import NotApplicableError, UnsupportedError
from hockeystick.values.exact import decimal
from hockeystick.values.interval import Interval

UNTOLD = "delta cannot be distinguished from the black boxes' failure probability"
"""Reason for a trivial interval: no precision in :data:`BITS` distinguishes delta from the failure probability."""

BITS = (256, 4096, 65536)  # precisions tried in turn to compare two numbers


class ProvedAccountant(Accountant):
    """Accountant of proved bounds: every number between the plan and the bounds is exact or enclosed in a ball."""

    name = "proof"
    summary = "proved: ball arithmetic throughout"
    most_rounds = domains.MAX_COUNT
    least_delta = domains.LEAST_DELTA

    def epsilon(self, directions: Directions, delta: float, gap: float | None) -> Bound:
        """Return proved ends of epsilon, for the worst direction.

        Raises:
            UnsupportedError: there is no proof.
        """
        self.check(directions, delta)
        gap = checked_gap(gap)
        worst, found = _worst(
            directions,
            lambda rounds: _epsilon(rounds, decimal(delta), lambda engine, target: engine.epsilon(target, gap)),
            lambda rounds: _epsilon(rounds, decimal(delta), ProofEngine.epsilon_bound),
        )
        return without_lower(directions, bound_of(found, worst, "proved"))

    def delta(self, directions: Directions, epsilon: float, gap: float | None) -> DeltaBound:
        """Return proved ends of delta and of its logarithm, for the worst direction.

        Raises:
            UnsupportedError: there is no proof.
        """
        self.check(directions)
        gap = checked_gap(gap)
        worst, log = _worst(
            directions,
            lambda rounds: _log_delta(rounds, decimal(epsilon), lambda engine, at: engine.delta(at, gap)),
            lambda rounds: _log_delta(rounds, decimal(epsilon), ProofEngine.delta_bound),
        )
        with precision(BITS[0]):
            lower, upper = max(_lower(arb(log.lower).exp()), 0.0), min(_upper(arb(log.upper).exp()), 1.0)
        bound = DeltaBound(
            lower,
            min(max(math.exp(log.estimate), lower), upper),
            upper,
            guarantee="proved",
            accountant=log.engine,
            direction=worst.value,
            reason=log.limited,
            log_delta=bound_of(log, worst, "proved"),
        )
        return without_lower(directions, bound)


def _worst(
    directions: Directions, ask: Callable[[ExactRounds], Interval], glance: Callable[[ExactRounds], Interval]
) -> tuple[Direction, Interval]:
    """The worst direction and its interval; if both directions have equal rounds, only the first is computed.

    Raises:
        UnsupportedError: there is no proof.
    """
    try:
        found = distinct(directions, lambda direction: ExactRounds.of(directions.exact(direction), direction.order))
        return worst_direction(found, ask, lambda rounds, _: glance(rounds))
    except NotApplicableError as error:
        raise UnsupportedError(f"no proof for this plan: {error}; leave proof out for the certified interval") from None


def _epsilon(rounds: ExactRounds, delta: Fraction, ask: Callable[[ProofEngine, Enclosure], Interval]) -> Interval:
    """Interval for epsilon in one direction.

    In general, ``ask`` computes it from the rounds and the delta of their finite losses. ``ask`` is not called if the
    mass at infinity and the largest loss determine epsilon.
    """
    if rounds.empty:
        return Interval(0.0, 0.0, 0.0)
    mass = rounds.exact_infinite_mass
    sign = _sign(None if mass is None else delta - mass, lambda: ball(delta) - (1 - rounds.finite_mass()))
    if sign is None:
        return Interval(0.0, math.inf, math.inf, UNTOLD)
    if sign < 0:
        return Interval(math.inf, math.inf, math.inf, "a black box fails with a probability above delta")
    if sign == 0 and not rounds.bounded:
        reason = "delta equals the black boxes' failure probability" if mass != 0 else UNBOUNDED
        return Interval(math.inf, math.inf, math.inf, reason)
    with precision(BITS[0]):
        top = (math.inf, math.inf)
        if rounds.bounded:
            supremum = rounds.rational_supremum
            top = _ends(rounds.supremum() if supremum is None else supremum)
        if sign == 0:
            return Interval(top[0], top[1], top[1])
        target = ball(delta) - _infinite_mass(rounds)
        if not target > 0:
            return Interval(0.0, top[1], top[1], UNTOLD)
        found = ask(ProofEngine(rounds), Enclosure(target.lower(), target.upper()))
        upper = min(_upper(arb(found.upper)), top[1])
        lower = min(max(_lower(arb(found.lower)), 0.0), upper)
    return Interval(lower, min(max(found.estimate, lower), upper), upper, found.limited, found.engine)


def _log_delta(rounds: ExactRounds, epsilon: Fraction, ask: Callable[[ProofEngine, Ball], ProvedDelta]) -> Interval:
    """Interval for log delta in one direction.

    In general, ``ask`` computes the delta of the finite losses from the rounds and epsilon. ``ask`` is not called if
    the mass at infinity and the largest loss determine delta.
    """
    if rounds.empty:
        return Interval(-math.inf, -math.inf, -math.inf)
    engine, limited = "exact", None
    with precision(BITS[0]):
        if rounds.finite_mass().is_zero():  # some round's two laws have no outcome in common
            return Interval(0.0, 0.0, 0.0, limited, engine)
        finite = Enclosure(arb(0), arb(0))
        if not rounds.bounded or _below_supremum(rounds, epsilon):
            found = ask(ProofEngine(rounds), ball(epsilon))
            finite, engine, limited = found.ends, found.engine, found.limited
            if rounds.bounded:  # 1 - e^(eps - L) is at most 1 - e^(eps - sup)
                free = -rounds.finite_mass() * (ball(epsilon) - _supremum(rounds)).expm1()
                finite = Enclosure(finite.lower, finite.upper.min(free.upper()))
        infinite = _infinite_mass(rounds)
        lower, upper = (infinite + finite.lower).lower(), (infinite + finite.upper).upper()
        log_upper = min(_upper(upper.log()), 0.0) if upper > 0 else -math.inf
        log_lower = min(_lower(lower.log()), log_upper) if lower > 0 else -math.inf
        middle = float(((lower.max(arb(0)) + upper) / 2).log().mid()) if upper > 0 else -math.inf
    return Interval(log_lower, min(max(middle, log_lower), log_upper), log_upper, limited, engine)


def _infinite_mass(rounds: ExactRounds) -> Ball:
    """Ball that encloses ``P(L = inf)``.

    The ball has a small relative error if the probability is known as a fraction, and otherwise a small absolute error.
    """
    exact = rounds.exact_infinite_mass
    return 1 - rounds.finite_mass() if exact is None else ball(exact)


def _ends(truth: Fraction | Ball) -> tuple[float, float]:
    """Lower and upper bound on a number, as doubles of at least 0 whose printed decimals are bounds too."""
    if not isinstance(truth, Fraction):
        return max(_lower(truth), 0.0), max(_upper(truth), 0.0)
    low, high = below(ball(truth)), above(ball(truth))
    low, high = low if decimal(low) <= truth else next_down(low), high if decimal(high) >= truth else next_up(high)
    return max(low, 0.0), max(high, 0.0)


def _upper(x: Ball) -> float:
    """Upper bound on every point of a ball, as a double whose printed decimal is an upper bound too."""
    end = above(x)
    return next_up(end) if math.isfinite(end) and not ball(decimal(end)) >= x else end


def _lower(x: Ball) -> float:
    """Lower bound on every point of a ball, as a double whose printed decimal is a lower bound too."""
    end = below(x)
    return next_down(end) if math.isfinite(end) and not ball(decimal(end)) <= x else end


def _supremum(rounds: ExactRounds) -> Ball:
    exact = rounds.rational_supremum
    return rounds.supremum() if exact is None else ball(exact)


def _below_supremum(rounds: ExactRounds, epsilon: Fraction) -> bool:
    """True if epsilon is below the largest loss.

    Raises:
        UnsupportedError: no precision distinguishes epsilon from the largest loss.
    """
    exact = rounds.rational_supremum
    sign = _sign(None if exact is None else exact - epsilon, lambda: rounds.supremum() - ball(epsilon))
    if sign is None:
        raise UnsupportedError("no proof: epsilon cannot be distinguished from the largest loss")
    return sign > 0


def _sign(exact: Fraction | None, enclosed: Callable[[], Ball]) -> int | None:
    """Sign (-1, 0 or 1) of a number, given as a fraction or else as a function that encloses it in a ball.

    ``None`` if no precision in :data:`BITS` distinguishes the number from 0.
    """
    if exact is not None:
        return (exact > 0) - (exact < 0)
    for bits in BITS:
        with precision(bits):
            found = enclosed()
            if found > 0:
                return 1
            if found < 0:
                return -1
    return None
