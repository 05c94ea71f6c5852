"""Certified bounds of a plan by an engine: the worst of the bounds in all directions.

With ``p = P(some round has infinite loss)``, ``delta(eps) = p + delta_finite(eps)``. Here ``delta_finite`` is the
contribution of the finite losses; their masses are not divided by ``1 - p``. If the finite losses are bounded,
``delta_finite`` is exactly 0 at their supremum and beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np

from hockeystick.directions.directions import Directions, check_time, mixed_compositions
from hockeystick.directions.finite import known_epsilon
from hockeystick.directions.finite_losses import EngineFactory, finite_log_delta, with_infinite
from hockeystick.directions.two_sided import bound_of, delta_of, without_lower
from hockeystick.engines.auto import AutoEngine, shared
from hockeystick.engines.base import DEFAULT_GAP, ROUGH
from hockeystick.engines.core.aim import Asked
from hockeystick.engines.core.ask import solve, worse
from hockeystick.engines.core.rounds import GaussianRounds, intervals, plans_of
from hockeystick.engines.renyi import RenyiEngine
from hockeystick.numerics.budget import MOST, left, question, share
from hockeystick.numerics.rounding import ULPS, next_down, next_up
from hockeystick.pairs import Composition, DominatingPair, RenyiComposition
from hockeystick.pairs.gathered import Gathered, gathered
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import ONLY_CURVE, Bound, DeltaBound
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Ends, Interval

T = TypeVar("T")  # rounds of a direction, or their composition

FROM_ABOVE = 0.6  # share of the work of a call for the upper end, if the lower end has other pairs
BEFORE_MOMENTS = 0.9  # share of the remaining work for the pair that replaces curves; the moments of all rounds follow
LAST_RESORT = 10.0  # longest time in seconds for the moments of rounds without pairs, as no other method applies
FAR_OUT = "outcomes with less mass than the smallest double cannot be distinguished"
COARSE_GAP = 0.1  # relative width of the first interval for a direction that may not be the worst


def certified_epsilon(directions: Directions, delta: float, gap: float | None, engine: EngineFactory) -> Bound:
    """Return a certified interval for the largest epsilon of all directions at a delta."""
    gap = checked_gap(gap)
    with question():
        if engine is AutoEngine and delta > 0:
            quick = _by_core(directions, epsilons_asked([delta], gap), lambda upper: upper)
            if quick is not None:
                return quick
        bound = _sided(
            directions,
            lambda subjects: worst_direction(
                subjects,
                lambda rounds: _epsilon(rounds, delta, gap, engine),
                lambda rounds, best: _glance(rounds, delta, best, engine),
            ),
        )
    return bound if directions.known_from_below else without_lower(directions, bound)


def certified_delta(directions: Directions, epsilon: float, gap: float | None, engine: EngineFactory) -> DeltaBound:
    """Return certified intervals for the largest delta of all directions at an epsilon, and for its logarithm."""
    gap = checked_gap(gap)
    with question():
        if engine is AutoEngine and epsilon > 0:
            quick = _by_core(directions, Asked.log_deltas(np.array([epsilon]), gap or DEFAULT_GAP), lambda _: 1.0)
            if quick is not None:
                return delta_of(quick)
        log = _sided(
            directions,
            lambda subjects: worst_direction(
                subjects,
                lambda rounds: _log_delta(rounds, epsilon, gap, engine),
                lambda rounds, best: (
                    Interval(-math.inf, best.lower, best.lower)
                    if epsilon == 0 and _mirrored(subjects[0][1], rounds)
                    else _coarsely(lambda engine: _log_delta(rounds, epsilon, COARSE_GAP, engine), engine)
                ),
            ),
        )
    found = delta_of(log)
    return found if directions.known_from_below else without_lower(directions, found)


def epsilons_asked(deltas: Sequence[float], gap: float | None) -> Asked:
    """Return the core's query for epsilon at each delta.

    The logarithm of each delta is rounded up for the lower end of epsilon, and down for the upper end.
    """
    targets = [[log_left(delta, 0.0, next_up), log_left(delta, 0.0, next_down)] for delta in deltas]
    return Asked.epsilons(np.array(targets), gap or DEFAULT_GAP)


def core_rounds(directions: Directions) -> GaussianRounds | None:
    """Return the rounds in the first direction, if the core can compute all directions from them; else ``None``.

    The core handles tight Gaussian rounds in a single direction, or in the two directions remove and add.
    """
    if not directions.tight:
        return None
    first, *others = (GaussianRounds.of(directions.rounds(side)) for side in directions.adjacency.directions)
    if first is None or (others and [first, *others] != [first._replace(add=False), first._replace(add=True)]):
        return None
    return first


def by_core(some: Sequence[GaussianRounds], sides: Sequence[Direction], asked: Asked) -> list[Bound | None]:
    """Return the core's answer for each plan in its worse direction; ``None`` where the core has no answer.

    Args:
        some: rounds of each plan in the first direction (:func:`core_rounds`). All plans have equally many kinds of
            rounds.
        sides: the one or two directions that all plans have. If there are two, the core computes both
            (``engines/core/ask.py``).
        asked: one query for each plan. The answer to a query for delta is log delta.
    """
    plans = plans_of(some)
    found, adding = worse(plans, asked) if len(sides) == 2 else (solve(plans, asked), [False] * len(some))
    return [
        None if one is None else bound_of(one, sides[int(side)])
        for one, side in zip(intervals(found), adding, strict=True)
    ]


def _by_core(directions: Directions, asked: Asked, size: Callable[[float], float]) -> Bound | None:
    """Answer of the core, if the core handles these rounds and the interval is narrow; else ``None``.

    An interval is narrow if its width is at most the gap times ``size(upper end)``.
    """
    rounds = core_rounds(directions)
    if rounds is None:
        return None
    (found,) = by_core([rounds], directions.adjacency.directions, asked)
    return None if found is None or found.upper - found.lower > asked.gap[0, 0] * size(found.upper) else found


def _sided(
    directions: Directions, ask: Callable[[list[tuple[Direction, Gathered]]], tuple[Direction, Interval]]
) -> Bound:
    """Interval for the worst direction, from the dominating pairs alone or also from attained compositions.

    If the dominating pairs give both ends, or if no lower bound exists, only the dominating pairs are composed.
    Otherwise the dominating pairs give the upper end, which is the largest over the directions. The attained
    compositions give the lower end, which is the largest over all of them. The two maxima may be in different
    directions.
    """
    subjects = _directions(directions)
    if directions.one_curve or not directions.known_from_below:
        worst, found = ask(subjects)
        # some rounds having only a Renyi curve is also a reason for a wide or infinite interval
        only_curve = ONLY_CURVE if any(rounds.curves for _, rounds in subjects) else None
        return bound_of(replace(found, limited=found.limited or only_curve), worst)
    from hockeystick.directions.below import attained, bracketed  # imported late, since most pairs are tight

    with share(FROM_ABOVE):
        worst, found = ask(subjects)
    _, below = ask([(direction, _subject(composition)) for direction, composition in attained(directions)])
    return bound_of(bracketed(below, found, directions.why), worst)


def checked_gap(gap: float | None) -> float | None:
    """Return a valid relative width in (0, 1), or ``None`` for the engines' defaults.

    Raises:
        InvalidInputError: the width is outside (0, 1).
    """
    return None if gap is None else domains.share(gap, "gap", "requested relative width of the interval")


def worst_direction(
    directions: Sequence[tuple[Direction, T]], ask: Callable[[T], Interval], glance: Callable[[T, Interval], Interval]
) -> tuple[Direction, Interval]:
    """Return the direction with the largest upper end, and an interval for the maximum over the directions.

    The ends of the interval are the largest lower end and the largest upper end. The first direction is computed by
    ``ask``, at the requested gap. Each other direction is first computed by ``glance``, at a coarse gap, and then by
    ``ask``. The second computation is skipped in two cases: the upper end of the coarse interval is at most the largest
    lower end so far, or a limit (of work or of theory) has widened the coarse interval. The same limit would widen a
    finer interval, too.
    """
    (direction, leader), *others = directions
    with share(MOST if others else 1.0):
        best_direction, best = direction, ask(leader)
    for other, subject in others:
        if best.lower == math.inf:
            break
        found = glance(subject, best)
        if found.upper <= best.lower:
            continue
        if found.limited is None:
            finer = ask(subject)
            found = replace(shared(finer, found), limited=finer.limited)
        lower, estimate = max(best.lower, found.lower), max(best.estimate, found.estimate)
        if found.upper > best.upper:
            best_direction, best = other, found
        best = replace(best, lower=lower, estimate=min(max(estimate, lower), best.upper))
    return best_direction, best


def _coarsely(ask: Callable[[EngineFactory], Interval], engine: EngineFactory) -> Interval:
    """Answer of an engine, or the Renyi bound if the engine does not apply.

    The answer need only be good enough to show that another direction is worse.
    """
    try:
        return ask(engine)
    except NotApplicableError:
        return ask(RenyiEngine)


def _glance(rounds: Gathered, delta: float, best: Interval, engine: EngineFactory) -> Interval:
    """Interval for epsilon of a direction, good enough to compare it with ``best``, the interval of the worst so far.

    If the largest loss is at most the lower end of ``best``, the interval runs from 0 to the largest loss. Otherwise
    epsilon is computed at a coarse gap.
    """
    largest = rounds.worse.largest_loss
    if largest is not None and largest[1] <= best.lower and rounds.worse.infinite_mass_ends[1] <= delta:
        return Interval(0.0, largest[1], largest[1])
    return _coarsely(lambda engine: _epsilon(rounds, delta, COARSE_GAP, engine), engine)


def _mirrored(one: Gathered, other: Gathered) -> bool:
    """True if the pairs of one direction are known to be the pairs of the other with P and Q exchanged.

    If so, both directions have the same delta at epsilon 0: the total variation distance, which is symmetric.
    """
    if any(each is not None for rounds in (one, other) for each in (rounds.curves, rounds.moments)):
        return False
    first, second = one.exact.rounds, other.exact.rounds
    return len(first) == len(second) and all(
        count == times and pair.mirror == seen for (pair, count), (seen, times) in zip(first, second, strict=True)
    )


def _directions(directions: Directions) -> list[tuple[Direction, Gathered]]:
    found = []
    for direction, composition in mixed_compositions(directions):
        rounds, moments = _subject(composition), directions.moments(direction)
        found.append((direction, rounds if moments is None else replace(rounds, moments=moments)))
    return found


def _subject(rounds: RenyiComposition) -> Gathered:
    """Input of the engines: the pairs of the rounds, and one pair for all rounds that have only a Renyi curve.

    Raises:
        NotApplicableError: there are too many kinds of rounds to merge, or the Renyi curves take too long to compute or
            give no finite epsilon.
    """
    if isinstance(rounds, Composition):
        return gathered(rounds)
    curves = [(item, count) for item, count in rounds.rounds if not isinstance(item, DominatingPair)]
    pairs = [(item, count) for item, count in rounds.rounds if isinstance(item, DominatingPair)]
    if not curves:  # rounds without a pair have count 0
        return gathered(Composition(pairs))
    from hockeystick.pairs.tabulated import tabulated

    check_time(RenyiComposition(curves), patience=LAST_RESORT)
    stand_in = tabulated(RenyiComposition(curves))
    if stand_in is None:
        raise NotApplicableError(
            "only Renyi divergences are known of these rounds, and no finite epsilon follows from them"
        )
    return replace(gathered(Composition([*pairs, (stand_in, 1)])), curves=rounds)


def _at_most(found: Interval, rough: Interval) -> Interval:
    """Return ``found``, but with the upper end and the engine name of ``rough`` if that end is lower."""
    return replace(found.at_most(rough.upper), engine=rough.engine) if rough.upper < found.upper else found


def _epsilon(rounds: Gathered, delta: float, gap: float | None, engine: EngineFactory) -> Interval:
    """Interval for epsilon of one direction; delta 0 needs no engine, and so no merging of kinds of rounds."""

    def alone(rounds: Gathered) -> bool:
        return delta == 0 if rounds.curves is None else delta <= rounds.curves.infinite_mass_ends[1]

    return _asked(rounds, gap, engine, lambda one, gap, engine: _epsilon_of(one, delta, gap, engine), alone)


def _asked(
    rounds: Gathered,
    gap: float | None,
    engine: EngineFactory,
    ask: Callable[[Composition, float | None, EngineFactory], Interval],
    alone: Callable[[Gathered], bool],
) -> Interval:
    """Interval for the rounds of one direction; if there are too many kinds for an engine, kinds are merged first.

    After merging, the lower end comes from ``rounds.milder``, and the upper end from ``rounds.worse``. No kinds are
    merged if ``alone(rounds)`` is true: such rounds are answered without an engine. If some rounds have only a Renyi
    curve, one pair replaces these curves. The Renyi bound of all rounds is then also computed, and replaces the upper
    end if it is lower.
    """
    if rounds.moments is not None:
        found = _asked(replace(rounds, moments=None), gap, engine, ask, alone)
        return _at_most(found, ask(cast(Composition, rounds.moments), gap, RenyiEngine))
    if rounds.curves is not None:
        curves = cast(Composition, rounds.curves)
        if alone(rounds):
            return ask(curves, gap, RenyiEngine)
        with share(BEFORE_MOMENTS):
            found = _asked(replace(rounds, curves=None), gap, engine, ask, alone)
        rough = ask(curves, gap, RenyiEngine)
        return rough if rough.upper < found.upper else replace(found, engine=f"rdp+{found.engine}")
    if not rounds.many or alone(rounds):
        return ask(rounds.exact, gap, engine)
    by_contour = _by_contour(rounds, engine, lambda contour: ask(rounds.exact, gap, contour))
    if by_contour is not None:
        return by_contour
    wide = max(gap or ROUGH, ROUGH)
    with share(0.35):
        milder = ask(rounds.milder, wide, engine)
    with share(0.5):
        worse = ask(rounds.worse, wide, engine)
    assert rounds.reason is not None
    found = _between(milder, worse, rounds.reason)
    if engine is not AutoEngine:
        return found
    return _at_most(found, ask(rounds.exact, wide, RenyiEngine))  # the Renyi bound needs no merged kinds


def _by_contour(rounds: Gathered, engine: EngineFactory, ask: Callable[[EngineFactory], Interval]) -> Interval | None:
    """Answer of the contour engine for all kinds of rounds, without merging.

    The answer is ``None`` if another engine was requested, or if the interval is wide, so that merged kinds may give a
    narrower one. It is also ``None`` if no work is left, because with many kinds it takes half a second only to place
    the contour.
    """
    if not rounds.tried or left() <= 0:
        return None
    from hockeystick.engines.contour.engine import ContourEngine

    if engine not in (AutoEngine, ContourEngine):
        return None
    try:
        found = ask(ContourEngine)
    except NotApplicableError:
        return None
    narrow = found.limited is None or found.upper - found.lower <= ROUGH * abs(found.upper)
    return found if narrow else None


def _between(milder: Interval, worse: Interval, reason: str) -> Interval:
    """Interval from the lower end of ``milder`` to the upper end of ``worse``.

    These are the answers for the two merged compositions; ``reason`` says why kinds were merged.
    """
    lower, upper = min(milder.lower, worse.upper), worse.upper
    estimate = 0.5 * (milder.estimate + worse.estimate) if math.isfinite(milder.estimate) else worse.estimate
    limited = f"{reason}; {worse.limited}" if math.isinf(upper) and worse.limited else reason
    return Interval(lower, min(max(estimate, lower), upper), upper, limited, worse.engine, worse.tilt)


def _epsilon_of(composition: Composition, delta: float, gap: float | None, engine: EngineFactory) -> Interval:
    if composition.variation(delta) <= delta:
        return Interval(0.0, 0.0, 0.0)  # delta at any epsilon is at most that at epsilon 0, the total variation
    known = known_epsilon(composition, delta)
    if known is not None:
        return known
    least, most = composition.infinite_mass_ends
    targets = (log_left(delta, most, next_down), log_left(delta, least - composition.standing_mass, next_up))
    found, largest = engine(composition).epsilon(targets, gap), composition.largest_loss
    return found if largest is None else found.at_most(largest[1])


def _log_delta(rounds: Gathered, epsilon: float, gap: float | None, engine: EngineFactory) -> Interval:
    """Interval for log delta of one direction; an epsilon that no finite loss exceeds needs no engine."""
    return _asked(
        rounds,
        gap,
        engine,
        lambda one, gap, engine: _log_delta_of(one, epsilon, gap, engine),
        lambda rounds: rounds.curves is None and _beyond(rounds, epsilon),
    )


def _beyond(rounds: Gathered, epsilon: float) -> bool:
    """True if no finite loss of the rounds exceeds epsilon.

    The largest loss of the merged rounds ``milder`` is compared first. The sum over all kinds of rounds, which takes
    longer, is computed only if that comparison leaves the question open.
    """
    if not rounds.exact.bounded:
        return False
    from hockeystick.values.exact import decimal  # imported late, as below: common plans have unbounded losses

    at = decimal(epsilon)
    return at >= rounds.milder.supremum[1] and at >= rounds.exact.supremum[1]


def _log_delta_of(composition: Composition, epsilon: float, gap: float | None, engine: EngineFactory) -> Interval:
    if not composition.rounds:
        return Interval(-math.inf, -math.inf, -math.inf)
    variation = composition.variation(1.0)
    found = _log_delta_of_losses(composition, epsilon, gap, engine)
    return found if variation >= 1 else found.at_most(next_up(math.log(variation), 2 * ULPS))


def _log_delta_of_losses(
    composition: Composition, epsilon: float, gap: float | None, engine: EngineFactory
) -> Interval:
    """Interval for log delta, with the mass at infinite loss, before the total variation is applied as a bound."""
    finite = finite_log_delta(composition, epsilon, lambda: engine(composition).log_delta(epsilon, gap))
    if composition.infinite_mass == 0 and (composition.standing_mass == 0 or finite.upper == -math.inf):
        return finite
    ends = with_infinite(composition, Ends(*np.array([[finite.lower], [finite.estimate], [finite.upper]])))
    limited = FAR_OUT if finite.lower < _log(composition.standing_mass) else finite.limited
    return replace(ends.first(finite.engine), limited=limited)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def log_left(delta: float, taken: float, beyond: Callable[[float, int], float]) -> float:
    """Return ``log(delta - taken)``, rounded up or down.

    The function ``beyond`` is ``next_up`` or ``next_down``, and moves the difference and then its logarithm.
    """
    left = delta if taken == 0 else max(beyond(delta - taken, 1), 0.0)
    log = _log(left)
    return log if log in (0.0, -math.inf) else beyond(log, 2 * ULPS)
