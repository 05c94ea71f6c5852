"""Certified epsilon or delta of many plans in one call.

Plans of sampled Gaussian rounds (that is, DP-SGD), possibly with unsampled Gaussian rounds, are computed together, as a
batch (``engines/core``). All other plans are computed one by one, and so are plans for which the batch gives no narrow
interval. So every plan that ``plan.epsilon`` answers has an answer here. Equal questions are computed once. The answer
for a plan is bit-identical whatever the other plans, their order and their number are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from hockeystick.directions.certified import by_core, checked_gap, core_rounds, epsilons_asked
from hockeystick.directions.two_sided import delta_of
from hockeystick.engines.base import DEFAULT_GAP
from hockeystick.engines.core.aim import Asked
from hockeystick.engines.core.rounds import GaussianRounds
from hockeystick.plan.plan import Plan, asked_delta
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.band import PlanBand
from hockeystick.values.bounds import Answer, Bound
from hockeystick.values.errors import HockeystickError, InvalidInputError

Array = npt.NDArray[np.float64]
Quantity = Literal["epsilon", "delta"]
T = TypeVar("T")  # result of a function that may be refused


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
    listed = _listed(plans)
    if delta is None:
        asked = []
        for number, plan in enumerate(listed):
            with _naming(number):
                asked.append(asked_delta(plan, None))
    else:
        asked = _numbers(delta, "delta", len(listed), domains.DELTA.of("the target delta"))
    return _band(listed, answered(listed, "epsilon", asked, checked_gap(gap)))


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
    listed = _listed(plans)
    asked = _numbers(epsilon, "epsilon", len(listed), domains.EPSILON.of("the target epsilon"))
    return _band(listed, answered(listed, "delta", asked, checked_gap(gap)))


class Key(NamedTuple):
    """Question that the batch can answer: a plan's rounds and directions, and the given delta or epsilon."""

    rounds: GaussianRounds
    sides: tuple[Direction, ...]
    at: float


def answered(
    plans: Sequence[Plan | HockeystickError], quantity: Quantity, asked: Sequence[float], gap: float | None
) -> Iterator[Answer | HockeystickError]:
    """Yield the answer for every plan, or the error that refuses it; an error in place of a plan is yielded as it is.

    Args:
        plans: the plans.
        quantity: number wanted.
        asked: valid delta or epsilon for each plan.
        gap: valid relative width, or ``None`` for the default (see :func:`epsilons`).
    """
    keys = [_key(plan, at) for plan, at in zip(plans, asked, strict=True)]
    batch = _by_batch([key for key in dict.fromkeys(keys) if key is not None], quantity, gap)
    alone: dict[tuple[Plan, float], Answer | HockeystickError] = {}
    for plan, at, key in zip(plans, asked, keys, strict=True):
        if isinstance(plan, HockeystickError):
            yield plan
        elif key in batch:
            yield batch[key]
        else:
            if (plan, at) not in alone:
                alone[plan, at] = tried(partial(getattr(plan, quantity), at, gap=gap))
            yield alone[plan, at]


def tried(make: Callable[[], T]) -> T | HockeystickError:
    """Return the result of a function, or the error of this library that it raises."""
    try:
        return make()
    except HockeystickError as error:
        return error


def ends_of(found: Answer) -> tuple[float, float, float]:
    """Return lower end, estimate and upper end of an answer of 'auto'.

    A missing lower end is 0, and a missing estimate is the upper end.
    """
    upper = found.ends["upper"]
    return found.ends.get("lower", 0.0), found.ends.get("estimate", upper), upper


def _band(plans: Sequence[Plan], answers: Iterator[Answer | HockeystickError]) -> PlanBand:
    """Return the answers as a band.

    Raises:
        HockeystickError: a plan is refused; the message names it by its index.
    """
    found: list[Answer] = []
    for number, one in enumerate(answers):
        with _naming(number):
            if isinstance(one, HockeystickError):
                raise one
        found.append(one)
    lower, estimate, upper = np.array(list(map(ends_of, found)), dtype=np.float64).reshape(-1, 3).T.copy()
    reasons = tuple(one.reason for one in found)
    return PlanBand(
        lower,
        estimate,
        upper,
        safe="upper",
        reason=next(filter(None, reasons), None),
        accountants=tuple(one.accountant for one in found),
        directions=tuple(one.direction for one in found),
        guarantees=tuple(one.guarantee for one in found),
        reasons=reasons,
        assumptions=tuple(dict.fromkeys(f"{label}: {text}" for plan in plans for label, text in plan.premises.items())),
    )


def _key(plan: Plan | HockeystickError, at: float) -> Key | None:
    """Return the batch's question about a plan; ``None`` if the batch does not cover the plan or the number."""
    if isinstance(plan, HockeystickError) or plan.whole or not at > 0:
        return None
    try:
        rounds = core_rounds(plan.directions)
    except HockeystickError:
        return None
    return None if rounds is None else Key(rounds, plan.adjacency.directions, at)


def _by_batch(keys: list[Key], quantity: Quantity, gap: float | None) -> dict[Key | None, Bound]:
    """Return the batch's answers by question; a question with a missing or too wide answer is left out."""
    groups: dict[tuple[tuple[Direction, ...], int], list[Key]] = {}
    for key in keys:
        groups.setdefault((key.sides, len(key.rounds.kinds)), []).append(key)
    answers: dict[Key | None, Bound] = {}
    for (sides, _), group in groups.items():
        at = [key.at for key in group]
        asked = (
            epsilons_asked(at, gap)
            if quantity == "epsilon"
            else Asked.log_deltas(np.array(at, dtype=np.float64), gap or DEFAULT_GAP)
        )
        found = by_core([key.rounds for key in group], sides, asked)
        for key, one in zip(group, found, strict=True):
            if one is None:
                continue
            width, size = one.upper - one.lower, one.upper if quantity == "epsilon" else 1.0
            if width <= (gap or DEFAULT_GAP) * size:
                answers[key] = one if quantity == "epsilon" else delta_of(one)
    return answers


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


def _numbers(given: object, key: str, many: int, domain: domains.Domain) -> list[float]:
    """Return one number for each plan, from a single number for all plans or a list of one for each.

    Raises:
        InvalidInputError: the list has another length, or a number is outside its domain.
    """
    numbers = domains.array(given, key)
    if numbers.ndim == 0:
        return [float(domain.check(float(numbers), key))] * many
    if numbers.shape != (many,):
        raise InvalidInputError(
            f"{key} must be a number, or one for each of the {many} plans; received an array of shape {numbers.shape}",
            key,
        )
    listed: list[float] = numbers.tolist()
    for number, value in enumerate(listed):
        with _naming(number):
            domain.check(value, key)
    return listed


@contextmanager
def _naming(number: int) -> Iterator[None]:
    """Put the index of a plan in front of the message of an error raised inside the context."""
    try:
        yield
    except HockeystickError as error:
        error.args = (f"plan {number}: {error}", *error.args[1:])
        raise
