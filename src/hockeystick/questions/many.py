"""Certified epsilon or delta of many plans in one call.

Plans of a few kinds of Poisson-sampled Gaussian rounds (that is, DP-SGD), possibly with unsampled Gaussian rounds, are
computed together, as a batch, under add-or-remove, zero-out, add and remove (``engines/core``). All other plans are
computed one by one, and so are plans for which the batch gives no narrow interval. So every plan that ``plan.epsilon``
answers has an answer here. Equal questions are computed once. The answer for a plan is bit-identical whatever the other
plans, their order and their number are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.engines.base import DEFAULT_GAP
from hockeystick.engines.core.aim import Asked
from hockeystick.engines.core.ask import Worse, solve, worse
from hockeystick.engines.core.rows import Plans, Rows
from hockeystick.numerics.rounding import ULPS
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.plan import Plan, asked_delta
from hockeystick.plan.sampling.none import NoSampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.band import PlanBand
from hockeystick.values.errors import HockeystickError, InvalidInputError

Array = npt.NDArray[np.float64]

BOTH = (Adjacency.ADD_OR_REMOVE, Adjacency.ZERO_OUT)  # relations with two directions, of which the worse counts
SIDES = (*BOTH, Adjacency.REMOVE, Adjacency.ADD)  # relations whose directions the batch handles
MOST_KINDS = 50  # largest number of kinds in a plan: the error bound of sums over them assumes few terms
LARGEST_RATE = 0.9  # at larger rates, a chord of the rounding errors is steep
NOISES = (0.05, 1e3)  # noise multipliers that need few nodes
MOST_ROUNDS = 10**9  # for more rounds, the engine for one plan bounds rounding more tightly
DELTAS = (1e-100, 0.3)  # range in which the contour is the engine of choice
WIDE = 1e-3  # relative width of epsilon or delta beyond which a plan is computed alone
MANY_EXPECTED = 30.0
"""Expected draws of a record from which on a plan that misses the default gap is computed alone: the engine for one
plan then takes 2 ms and is narrow enough. With fewer it takes 10 to 400 ms, and gains a digit at most.
"""

LIMITED = "rounding and remainder terms keep the interval wider than the requested gap"  # reason for a wider interval


def epsilons(
    plans: Iterable[Plan], delta: float | Sequence[float] | Array | None = None, *, gap: float | None = None
) -> PlanBand:
    """Return the epsilon of each of many plans, as ``plan.epsilon(delta)`` does one by one.

    Args:
        plans: any number of plans, equal or different.
        delta: one delta for all plans, or one for each; the plans' own by default.
        gap: requested relative width. The default is 1e-6; then the intervals of plans of sampled Gaussian rounds may
            be up to 1e-3 wide. With an explicit gap, plans whose interval is wider are computed alone.

    Returns:
        Certified ends as arrays, in the order of the plans, with the accountant of each.

    Raises:
        InvalidInputError: an item is not a plan, a delta is missing or outside [0, 1), or there are not as many deltas
            as plans; the message names the plan by its index, counted from 0.
        UnsupportedError: ``plan.epsilon`` does not answer a plan.

    >>> from hockeystick import dp_sgd
    >>> plans = [dp_sgd(noise_multiplier=noise, sample_rate=0.01, steps=10_000) for noise in (1.0, 2.0, 4.0)]
    >>> (np.ceil(1e4 * epsilons(plans, 1e-6).upper) / 1e4).tolist()  # rounded up
    [6.9074, 2.4468, 1.0847]
    """
    listed, gap = _listed(plans), _checked_gap(gap)
    if delta is None:
        own = []
        for number, plan in enumerate(listed):
            with _naming(number):
                own.append(asked_delta(plan, None))
        asked = np.array(own, dtype=np.float64)
    else:
        asked = _numbers(delta, "delta", len(listed), domains.DELTA.of("the target delta"))
    inside = (asked >= DELTAS[0]) & (asked <= DELTAS[1])
    return _answered(listed, asked, inside, _ask_epsilons, gap, lambda plan, at: plan.epsilon(at, gap=gap))


def deltas(plans: Iterable[Plan], epsilon: float | Sequence[float] | Array, *, gap: float | None = None) -> PlanBand:
    """Return the delta of each of many plans, as ``plan.delta(epsilon)`` does one by one.

    Args:
        plans: any number of plans, equal or different.
        epsilon: one epsilon for all plans, or one for each.
        gap: requested relative width, as for :func:`epsilons`.

    Returns:
        Certified ends as arrays, in the order of the plans, with the accountant of each.

    Raises:
        InvalidInputError: an item is not a plan, an epsilon is outside its domain, or there are not as many epsilons
            as plans; the message names the plan by its index, counted from 0.
        UnsupportedError: ``plan.delta`` does not answer a plan.

    >>> from hockeystick import dp_sgd
    >>> plan = dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
    >>> (np.ceil(1e8 * deltas([plan, plan], [1.0, 2.0]).upper) / 1e8).tolist()  # rounded up
    [0.00261243, 2.67e-06]
    """
    listed, gap = _listed(plans), _checked_gap(gap)
    asked = _numbers(epsilon, "epsilon", len(listed), domains.EPSILON.of("the target epsilon"))
    inside = asked > 0
    return _answered(listed, asked, inside, _ask_deltas, gap, lambda plan, at: plan.delta(at, gap=gap))


Steps = tuple[tuple[float, float, int], ...]
"""Noise multiplier, sample rate and rounds of each kind, sorted, without repetition of noise and rate."""


class Key(NamedTuple):
    """Question to the batch about a plan, at a delta or an epsilon."""

    steps: Steps
    adjacency: Adjacency
    at: float


class One(NamedTuple):
    """Answer for one plan: its ends, its accountant, direction and guarantee, and the reason for a wide interval."""

    lower: float
    estimate: float
    upper: float
    accountant: str
    direction: str | None
    guarantee: str
    reason: str | None


Asking = Callable[[Plans, Adjacency, Array, float], Worse]


def _answered(
    plans: list[Plan],
    asked: Array,
    inside: npt.NDArray[np.bool_],
    ask: Asking,
    gap: float | None,
    alone: Callable[[Plan, float], Any],
) -> PlanBand:
    """Return the answer for every plan, from the batch or computed alone; equal questions are computed once."""
    keys: dict[int, Key] = {}
    for number, (plan, at, may) in enumerate(zip(plans, asked.tolist(), inside.tolist(), strict=True)):
        steps = steps_of(plan) if may else None
        if steps is not None:
            keys[number] = Key(steps, plan.adjacency, at)
    batch = _by_batch(list(dict.fromkeys(keys.values())), ask, gap)
    single: dict[tuple[Plan, float], One] = {}
    found: list[One] = []
    for number, (plan, at) in enumerate(zip(plans, asked.tolist(), strict=True)):
        one = batch.get(keys[number]) if number in keys else None
        if one is None:
            if (plan, at) not in single:
                single[plan, at] = _by_itself(number, plan, at, alone)
            one = single[plan, at]
        found.append(one)
    columns = list(zip(*found, strict=True)) if found else [()] * len(One._fields)
    lower, estimate, upper = (np.array(column, dtype=np.float64) for column in columns[:3])
    accountants, directions, guarantees, reasons = columns[3:]
    return PlanBand(
        lower,
        estimate,
        upper,
        safe="upper",
        reason=next(filter(None, reasons), None),
        accountants=accountants,
        directions=directions,
        guarantees=guarantees,
        reasons=reasons,
        assumptions=tuple(dict.fromkeys(f"{label}: {text}" for plan in plans for label, text in plan.premises.items())),
    )


def steps_of(plan: Plan) -> Steps | None:
    """Return noise, rate and count of each kind of rounds of a plan; ``None`` if the batch does not handle the plan.

    >>> from hockeystick import dp_sgd
    >>> steps_of(dp_sgd(1.0, sample_rate=1, steps=1))
    >>> steps_of(dp_sgd(2.0, 0.01, 300) + dp_sgd(1.0, 0.02, 500) + dp_sgd(2.0, 0.01, 100))
    ((1.0, 0.02, 500), (2.0, 0.01, 400))
    """
    if plan.adjacency not in SIDES or not plan.of_records or plan.best_of is not None:
        return None
    rounds: dict[tuple[float, float], int] = {}
    for item in plan.rounds:
        mechanism, sampling, count = item.mechanism, item.sampling, item.count
        if type(mechanism) is not Gaussian or not isinstance(sampling, Poisson | NoSampling) or not count:
            return None
        noise, rate = mechanism.noise_multiplier, sampling.sample_rate if isinstance(sampling, Poisson) else 1.0
        assert rate is not None  # it follows from the sizes
        if not (NOISES[0] <= noise <= NOISES[1] and (rate <= LARGEST_RATE or rate == 1)):
            return None
        rounds[noise, rate] = rounds.get((noise, rate), 0) + count
    if not 0 < len(rounds) <= MOST_KINDS or max(rounds.values()) > MOST_ROUNDS or not _sampled(rounds):
        return None
    return tuple((noise, rate, count) for (noise, rate), count in sorted(rounds.items()))


def _sampled(kinds: Iterable[tuple[float, ...]]) -> int:
    """Return the number of kinds with a sample rate below 1."""
    return sum(rate < 1 for _, rate, *_ in kinds)


def _by_batch(keys: list[Key], ask: Asking, gap: float | None) -> dict[Key, One]:
    """Return the answers of the batch, without those that are too wide or missing."""
    groups: dict[tuple[Adjacency, int], list[Key]] = {}  # plans of one side and equally many kinds
    for key in keys:
        groups.setdefault((key.adjacency, _sampled(key.steps)), []).append(key)
    answers: dict[Key, One] = {}
    for (side, kinds), group in groups.items():
        found, adding = _of_group(group, side, kinds, ask, gap)
        with np.errstate(invalid="ignore"):
            width = found.upper - found.lower
            known = np.isfinite(found.upper) & (width <= (gap or WIDE) * found.upper)
            known &= found.lower <= found.upper  # contradictory intervals for one number are not an answer
            wide = width > (gap or DEFAULT_GAP) * found.upper
        if gap is None:  # the engine for one plan narrows the interval of many expected draws quickly
            expected = np.array([sum(rate * count for _, rate, count in key.steps) for key in group])
            known &= ~(wide & (expected >= MANY_EXPECTED))
        ends = zip(found.lower.tolist(), found.estimate.tolist(), found.upper.tolist(), strict=True)
        for place, (lower, estimate, upper) in enumerate(ends):
            if known[place]:
                direction = side.both[int(adding[place])].value
                reason = LIMITED if wide[place] else None
                answers[group[place]] = One(lower, estimate, upper, "contour", direction, "certified", reason)
    return answers


def _of_group(keys: list[Key], side: Adjacency, kinds: int, ask: Asking, gap: float | None) -> Worse:
    """Return the batch's answers for plans with one adjacency and one number of sampled kinds.

    A mask in the result marks the plans for which adding a record is the worse direction.
    """
    kept = [step for key in keys for step in key.steps if step[1] < 1]
    noise, rate, count = np.array(kept, dtype=np.float64).T.copy()
    rows = Rows(1 / noise, rate, count, np.full(len(noise), side is Adjacency.ADD))
    # unsampled rounds are one Gaussian of variance v
    beside = [math.fsum(times / sigma**2 for sigma, share, times in key.steps if share == 1) for key in keys]
    return ask(Plans(rows, np.array(beside), kinds), side, np.array([key.at for key in keys]), gap or DEFAULT_GAP)


def _ask_epsilons(plans: Plans, side: Adjacency, delta: Array, gap: float) -> Worse:
    """Return epsilons at deltas; the log of each delta is rounded up and down, one for each end."""
    targets = np.stack([_moved(np.log(delta), np.inf), _moved(np.log(delta), -np.inf)], axis=1)
    return _asked(plans, side, Asked.epsilons(targets, gap))


def _ask_deltas(plans: Plans, side: Adjacency, epsilon: Array, gap: float) -> Worse:
    """Return deltas at epsilons, computed by their logarithms; ends are rounded outward."""
    logs, adding = _asked(plans, side, Asked.log_deltas(epsilon, gap))
    with np.errstate(under="ignore"):
        upper = np.minimum(_moved(np.exp(logs.upper), np.inf), 1.0)
        lower = np.minimum(_moved(np.exp(logs.lower), 0.0), upper)
        estimate = np.clip(np.exp(logs.estimate), lower, upper)
    return Worse(replace(logs, lower=lower, estimate=estimate, upper=upper), adding)


def _asked(plans: Plans, side: Adjacency, asked: Asked) -> Worse:
    if side in BOTH:
        return worse(plans, asked)
    return Worse(solve(plans, asked), np.full(len(plans), side is Adjacency.ADD))


def _moved(x: Array, towards: float) -> Array:
    """Return each number moved by 2 ULPS doubles, which covers the error of a function value of at most ULPS units."""
    for _ in range(2 * ULPS):
        x = np.nextafter(x, towards)
    return x


def _by_itself(number: int, plan: Plan, at: float, alone: Callable[[Plan, float], Any]) -> One:
    """Return the answer of the accountant 'auto' for one plan; a refusal names the plan by its index."""
    with _naming(number):
        found = alone(plan, at)
    ends = found.ends  # 'auto' returns no estimates
    upper = ends["upper"]
    return One(
        ends.get("lower", 0.0), ends.get("estimate", upper), upper, found.accountant, found.direction, found.guarantee,
        found.reason,
    )  # fmt: skip


def _listed(plans: Iterable[Plan]) -> list[Plan]:
    try:
        listed = list(plans)
    except TypeError:
        raise InvalidInputError(
            f"plans must be a sequence of plans; received {domains.shown(plans)}", "plans"
        ) from None
    for number, plan in enumerate(listed):
        if not isinstance(plan, Plan):
            raise InvalidInputError(
                f"plan {number}: plans must be Plan objects; received {domains.shown(plan)}", "plans"
            )
    return listed


def _checked_gap(gap: float | None) -> float | None:
    return None if gap is None else domains.share(gap, "gap", "requested relative width of the interval")


def _numbers(given: object, key: str, many: int, domain: domains.Domain) -> Array:
    """Return one number for each plan, from a single number for all plans or a list of one for each.

    Raises:
        InvalidInputError: the list has another length, or a number is outside its domain.
    """
    numbers = domains.array(given, key)
    if numbers.ndim == 0:
        return np.full(many, float(domain.check(float(numbers), key)))
    if numbers.shape != (many,):
        raise InvalidInputError(
            f"{key} must be a number, or one for each of the {many} plans; received an array of shape {numbers.shape}",
            key,
        )
    for number, value in enumerate(numbers.tolist()):
        with _naming(number):
            domain.check(value, key)
    return numbers


@contextmanager
def _naming(number: int) -> Iterator[None]:
    """Put the index of a plan in front of the message of an error raised inside the context."""
    try:
        yield
    except HockeystickError as error:
        error.args = (f"plan {number}: {error}", *error.args[1:])
        raise
