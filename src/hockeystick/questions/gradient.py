"""Derivatives of a plan's privacy by one of its parameters, from the sum that gives the answer itself.

Privacy is that of the worst direction, so its derivative is that of the deciding direction. If mass p at infinite loss
also depends on the parameter, ``delta = p + delta_finite`` and

    d eps / dx at a fixed delta = (dp / dx + d delta_finite / dx) / (-d delta_finite / d eps) .

The sums and the differences of K behind ``d delta_finite / dx`` are in ``engines/contour/slopes.py``. The result is an
:class:`~hockeystick.values.bounds.Estimate` without an error bound; its measured relative error is about 1e-7
(``tests/questions/test_gradient.py``). It guides a search, and must not be quoted as privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from hockeystick.directions.directions import Directions, compositions
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.contour.slopes import STENCIL, TWELVE, SlopeContour, Slopes
from hockeystick.numerics.work import counted
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.plan.caveats import told
from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import Parameter, of_plan
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Estimate
from hockeystick.values.errors import InvalidInputError, NotApplicableError, UnsupportedError
from hockeystick.values.outward import six_digits

DELTA = "delta"
"""Name of delta as parameter: the delta at which epsilon is taken, which is no parameter of the rounds."""

WHOLE_OF_THE_COUNT = ("steps", "epochs")
"""Parameters to which K of the composition is proportional."""

ACCOUNTANT = "contour"  # accountant of all derivatives
LOCATED = 1e-9  # relative width of the first epsilon
TIE = 1e-6  # relative difference of the epsilons of two directions below which they count as equal

Rounds = list[tuple[DominatingPair, int]]


class _Asked(NamedTuple):
    """Question in one direction.

    Attributes:
        delta: delta at which epsilon is differentiated, or ``None``.
        epsilon: epsilon at which delta is differentiated, or ``None``.
        by: parameter, with its value; ``None`` for delta itself.
        value: value of the parameter.
        directions_at: function that returns the plan's rounds with another value of the parameter.
    """

    delta: float | None
    epsilon: float | None
    by: Parameter | None
    value: float
    directions_at: Callable[[float], Directions]


class _Found(NamedTuple):
    """Epsilon (or delta) of one direction, and its derivative."""

    direction: Direction
    size: float
    slope: float


@counted
def gradient(plan: Plan, parameter: str, *, delta: float | None = None, epsilon: float | None = None) -> Estimate:
    """Return the derivative of epsilon at a delta, or of delta at an epsilon, by one parameter of a plan.

    Args:
        plan: the plan.
        parameter: ``"noise-multiplier"``, ``"scale"``, ``"noise"`` (a common factor on all noise, which is 1 now),
            ``"epsilon"`` (of black boxes), ``"sample-rate"``, ``"check-in"``, ``"steps"``, ``"epochs"``; or
            ``"delta"``, the delta at which epsilon is taken. ``_`` counts as ``-``.
        delta: differentiate epsilon at this delta.
        epsilon: differentiate delta at this epsilon.

    Returns:
        The derivative of the deciding direction, which it names; an estimate.

    Raises:
        InvalidInputError: none or both of ``delta`` and ``epsilon`` are given, or the plan lacks the parameter, or its
            number of steps jumps with it.
        UnsupportedError: a round has no contour, or none with another value of the parameter.

    >>> from hockeystick import dp_sgd
    >>> plan = dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=10_000)
    >>> round(gradient(plan, "noise-multiplier", delta=1e-6).value, 4)
    -13.1663
    """
    if (delta is None) == (epsilon is None):
        raise InvalidInputError(
            "gradient takes one of delta (to differentiate epsilon there) and epsilon (to differentiate delta there); "
            f"received {'neither' if delta is None else 'both'}",
            "delta",
        )
    if delta is not None:
        delta = domains.TARGET_DELTA.check(delta, "delta")
    if epsilon is not None:
        epsilon = domains.EPSILON.of("the epsilon at which delta is differentiated").check(epsilon, "epsilon")
    asked = _asked(plan, parameter, delta, epsilon)
    directions = plan.directions
    try:
        found = [_in_direction(asked, *each) for each in compositions(directions, many=True, together=True)]
    except NotApplicableError as error:
        raise UnsupportedError(
            f"no derivative by {parameter!r} here: {error}; take the difference of two answers instead, with the "
            "parameter a little smaller and a little larger"
        ) from None
    first = max(found, key=lambda each: each.size)
    reason = "; ".join(filter(None, (_tie(found, first), _above(directions))))
    estimate = Estimate(first.slope, ACCOUNTANT, first.direction.value, reason or None)
    return told(estimate, plan, delta)


def _asked(plan: Plan, parameter: str, delta: float | None, epsilon: float | None) -> _Asked:
    """The question, if its parameter allows a derivative."""
    if str(parameter).replace("_", "-") == DELTA:
        if delta is None:
            raise InvalidInputError(
                "gradient by 'delta' is that of epsilon at a delta; received epsilon alone: give delta, and take the "
                "reciprocal for how delta moves with epsilon",
                "parameter",
            )
        return _Asked(delta, None, None, delta, lambda _: plan.directions)
    by, build = of_plan(plan, parameter)
    if by.stair is not None or (by.whole and by.name not in WHOLE_OF_THE_COUNT):
        remedy = "'sample-rate' of a plan that says its steps" if by.name == "batch-size" else "a plan that says steps"
        raise InvalidInputError(
            f"there is no derivative by {by.name!r}, in which a plan moves in jumps; ask by {remedy}, or take the "
            "difference of two answers",
            "parameter",
        )
    if by.start <= 0:
        raise InvalidInputError(f"{by.name} is {by.start:g}: there is nothing to differentiate at", "parameter")
    return _Asked(delta, epsilon, by, by.start, lambda value: build(value).directions)


def _in_direction(asked: _Asked, direction: Direction, composition: Composition) -> _Found:
    """Answer of one direction."""
    if not composition.rounds:
        return _Found(direction, 0.0, 0.0)
    infinite = composition.infinite_mass
    if asked.delta is None:
        assert asked.epsilon is not None
        if composition.bounded and asked.epsilon >= composition.supremum[0]:
            raise NotApplicableError("epsilon is at the largest loss or beyond it, where delta has no finite part")
        contour = SlopeContour(composition, asked.epsilon)
        at = asked.epsilon
    else:
        if not asked.delta > infinite:
            raise NotApplicableError(
                f"no epsilon has that delta: losses are infinite with probability {six_digits(infinite)}"
            )
        log = math.log(asked.delta - infinite)
        at = ContourEngine(composition, bundling=False).epsilon((log, log), LOCATED).estimate
        if at == 0.0:
            return _Found(direction, 0.0, 0.0)
        contour = SlopeContour(composition, at)
        at = contour.epsilon(log)
    contour.check(at)
    lost, slopes = _moved(asked, direction, contour, at)
    finite = math.exp(slopes.log_delta)
    moving = slopes.rise + (lost / finite if lost else 0.0)  # of the log of the finite part
    if asked.delta is None:
        return _Found(direction, infinite + finite, finite * moving)
    return _Found(direction, at, moving / slopes.fall)


def _moved(asked: _Asked, direction: Direction, contour: SlopeContour, at: float) -> tuple[float, Slopes]:
    """``dp / dx`` of the mass p at infinite loss, and the slopes of the sum; both by the parameter itself."""
    if asked.by is None:  # delta = p + e^(log delta): d log delta / d delta is 1 / e^(log delta)
        slopes = contour.at(at)
        return 0.0, slopes._replace(rise=-math.exp(-slopes.log_delta))
    if asked.by.name in WHOLE_OF_THE_COUNT:
        lost = _infinite(asked.directions_at(asked.value), direction)
        each = -math.log1p(-lost) * (1 - lost) / asked.value if lost else 0.0
        return each, contour.at(at, contour.cumulant / asked.value)
    by = asked.by

    def directions_at(shift: float) -> Directions:
        value = asked.value * math.exp(shift)
        if not by.least <= value <= by.most:
            raise NotApplicableError(f"{by.name} is at the end of its range, {asked.value:g}")
        return asked.directions_at(value)

    change, step = contour.change(lambda shift: list(directions_at(shift).together(direction)))
    slopes = contour.at(at, change / asked.value)
    lost = sum(weight * _infinite(directions_at(times * step), direction) for times, weight in STENCIL)
    return lost / (TWELVE * step * asked.value), slopes


def _infinite(directions: Directions, direction: Direction) -> float:
    """Mass at infinite loss in one direction."""
    return Composition(directions.together(direction)).infinite_mass


def _tie(found: list[_Found], first: _Found) -> str | None:
    """Note that two directions decide, if they do."""
    for other in found:
        if other is not first and first.size - other.size <= TIE * first.size and other.slope != first.slope:
            return (
                f"{first.direction.value!r} and {other.direction.value!r} decide together: to one side the derivative "
                f"is that of the latter, {other.slope:.6g}"
            )
    return None


def _above(directions: Directions) -> str | None:
    """Note on the side of the estimate, if the two ends of an answer are of different pairs."""
    return None if directions.tight else "it is that of the upper end, as what is known from below has other pairs"
