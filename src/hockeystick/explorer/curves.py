"""The curves of the page: both certified ends at each place, as numbers for the picture and as text for reading.

Every text is rounded outward here, in exact decimals; the page rounds nothing. An end that is infinite, or that there
is none of, is ``None``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hockeystick.numerics.work import USED_UP, one_call, part, short
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.plan import Plan
from hockeystick.plan.sampling import Poisson
from hockeystick.plan.whole import refusal
from hockeystick.questions.many import epsilons
from hockeystick.questions.parameters import noise_of
from hockeystick.questions.partly_run import partly_run
from hockeystick.report.answer import finite_ends
from hockeystick.report.rounding import exact, round_down, round_up
from hockeystick.values.errors import UnsupportedError

READ = 3
"""Significant digits of a text, and of the places of the curves, so that a text says a place as it is."""


def _short(x: float) -> float:
    """The number with so many digits that its text is all of it."""
    return float(f"{x:.{READ}g}")


RATES = tuple(sorted({_short(rate) for rate in [*np.geomspace(1e-4, 1.0, 29).tolist(), 1e-3, 1e-2, 1e-1]}))
"""False-positive rates of the attack's curve, with those at which attacks are judged."""

BEYOND = 1e-3  # part of the target delta to which its curve reaches, three decades below it
LEAST_DELTA = 1e-300  # to which it reaches at most
EPSILONS = 41  # places of the curve of delta

POINTS = 25  # places of a curve whose plans are answered side by side
FEWER = 9  # places of a curve each of which is a question of its own, of tens of milliseconds
SHARE = 1 / 3  # of the work that is left, which a place may take whose plan is asked by itself
NOISE_SHARE = 1 / 6  # likewise where noise varies: the places with least of it take all that there is, and are left out
NOISE_SPAN = 4.0  # times its own value that the noise goes down and up in its curve

Check = Callable[[], None]
"""Asked before each place of a slow curve: raises where nobody waits for it any more."""

Rows = list[tuple[float, float | None, float | None]]
"""A place of a curve, and the lower and the upper end there."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Places with both ends, what stands on the horizontal axis, and why places were left out, if some were."""

    label: str
    rows: Rows
    note: str | None = None


def unasked() -> None:
    """The check of whoever waits to the end."""


def curve(plan: Plan, want: str, check: Check = unasked) -> dict[str, Any]:
    """The curve of that name: ``"delta"``, ``"attack"``, ``"steps"`` or ``"noise"``.

    Args:
        plan: a plan with a target delta.
        want: which curve.
        check: called between places that are questions of their own; what it raises ends the curve.

    Raises:
        UnsupportedError: nothing is proven of the plan, or the question is not answered of it.

    >>> from hockeystick import dp_sgd
    >>> found = curve(dp_sgd(1.1, 0.01, 1000, delta=1e-6), "steps")
    >>> found["x"][-1], found["text"][-1][0], found["upper"][-1] >= found["lower"][-1]
    (1000, '1000', True)
    """
    found = CURVES[want](plan, check)
    return {
        "label": found.label,
        "note": found.note,
        "x": [x for x, _, _ in found.rows],
        "lower": [lower for _, lower, _ in found.rows],
        "upper": [upper for _, _, upper in found.rows],
        "text": [(exact(x), _text(lower, round_down), _text(upper, round_up)) for x, lower, upper in found.rows],
    }


def _delta(plan: Plan, check: Check) -> Curve:
    """Delta from epsilon 0 to where it is a thousandth of the target.

    Raises:
        UnsupportedError: epsilon is infinite, or nothing is proven of the plan.
    """
    reach = plan.epsilon(max(_target(plan) * BEYOND, LEAST_DELTA)).quoted
    quoted = plan.epsilon(_target(plan)).quoted
    reach = reach if math.isfinite(reach) else quoted
    if not math.isfinite(reach):
        raise UnsupportedError("no curve: epsilon is infinite at this delta")
    even = np.linspace(0.0, reach if reach > 0 else 1.0, EPSILONS).tolist()
    rows: Rows
    places = sorted({float(round_up(quoted, READ)), *(_short(at) for at in even)})  # the first is what is quoted
    if plan.known_from_below:
        band = plan.profile().delta(places)
        rows = list(zip(places, band.lower.tolist(), band.upper.tolist(), strict=True))
        return Curve("epsilon", rows, _wide(band.reason))
    rows = []
    with one_call(len(plan.kinds)):
        for at in places[:: EPSILONS // FEWER]:  # each a question of its own
            check()
            ends = finite_ends(plan.delta(at))
            rows.append((at, ends.get("lower"), ends["upper"]))
    return Curve("epsilon", rows)


def _attack(plan: Plan, check: Check) -> Curve:
    """The largest true-positive rate of an attack at each false-positive rate."""
    if plan.whole:
        raise refusal(plan)
    band = plan.profile().tpr(np.array(RATES))
    rows = list(zip(RATES, band.lower.tolist(), band.upper.tolist(), strict=True))
    return Curve("false-positive rate", rows, _wide(band.reason))


def _steps(plan: Plan, check: Check) -> Curve:
    """Epsilon after equal shares of every kind of round, rounded up, until all are run."""
    points = POINTS if _side_by_side(plan) else FEWER
    by_steps = partly_run(plan, [number / points for number in range(1, points + 1)])
    return _epsilons("steps", by_steps.items(), _target(plan), SHARE, check)


def _noise(plan: Plan, check: Check) -> Curve:
    """Epsilon of the plan with less noise and with more.

    Raises:
        UnsupportedError: the plan has no noise that could be scaled, or privacy is not monotone in it.
    """
    parameter, build = noise_of(plan)
    name, value = parameter.name, parameter.start
    factors = np.geomspace(1 / NOISE_SPAN, NOISE_SPAN, POINTS if _side_by_side(plan) else FEWER).tolist()
    noises = sorted({value, *(_short(value * factor) for factor in factors)})
    return _epsilons(name, [(noise, build(noise)) for noise in noises], _target(plan), NOISE_SHARE, check)


CURVES: dict[str, Callable[[Plan, Check], Curve]] = {
    "delta": _delta,
    "attack": _attack,
    "steps": _steps,
    "noise": _noise,
}
"""The curves by name."""


def _target(plan: Plan) -> float:
    assert plan.delta_target is not None  # every plan of the page has one
    return plan.delta_target


def _side_by_side(plan: Plan) -> bool:
    """Whether many such plans are answered in one computation (``questions/many.py``)."""
    if len(plan.rounds) != 1 or plan.whole:
        return False
    return isinstance(plan.rounds[0].mechanism, Gaussian) and isinstance(plan.rounds[0].sampling, Poisson)


def _epsilons(label: str, plans: Iterable[tuple[float, Plan]], delta: float, share: float, check: Check) -> Curve:
    """Epsilon of each plan at its place, all of them within the work of one call.

    A place whose answer is wide since the work did not suffice is left out: the line would show a bend that is none.

    Raises:
        UnsupportedError: nothing is proven of a plan, or the work does not suffice for two places.
    """
    asked = list(plans)
    rows: Rows = []
    with one_call(len(asked[0][1].kinds)):
        if all(_side_by_side(plan) for _, plan in asked):
            band = epsilons([plan for _, plan in asked], delta)
            for (at, _), lower, upper, worth in zip(asked, band.lower, band.upper, band.guarantees, strict=True):
                rows.append((at, None if worth == "upper bound" else _finite(lower), _finite(upper)))
        else:
            for at, plan in reversed(asked):  # from more noise, or more steps, on: what comes first gets its share
                check()
                with part(share):
                    ends = finite_ends(plan.epsilon(delta))
                    if not short():
                        rows.append((at, ends.get("lower"), ends["upper"]))
            rows.reverse()
    left = len(asked) - len(rows)
    if left and len(rows) < min(2, len(asked)):
        raise UnsupportedError(f"no curve: {USED_UP}")
    return Curve(label, rows, f"{left} of {len(asked)} places are left out: {USED_UP}" if left else None)


def _wide(reason: str | None) -> str | None:
    """What is said beside a curve whose ends are apart since the work did not suffice."""
    return f"wider than it need be: {USED_UP}" if reason is not None and USED_UP in reason else None


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _text(value: float | None, rounding: Callable[[float, int], str]) -> str | None:
    return None if value is None else rounding(value, READ)


__all__ = ["CURVES", "Check", "curve", "unasked"]
