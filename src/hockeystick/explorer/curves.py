"""Curves of the page: the certified lower and upper bound at each point, as numbers to draw and as text.

Every text is rounded outward here, a lower bound down and an upper bound up, in exact decimals; the page rounds
nothing. A bound that is infinite or unknown is ``None``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hockeystick.plan.plan import Plan, asked_delta
from hockeystick.questions.parameters import noise_of
from hockeystick.questions.partly_run import partly_run
from hockeystick.report.answer import finite_ends
from hockeystick.report.document.curves import POINTS, band_points, last_epsilon
from hockeystick.report.document.curves import RATES as CURVE_RATES
from hockeystick.report.profile import RATES as TABLE_RATES
from hockeystick.report.rounding import QUOTED_DIGITS, exact, round_down, round_up
from hockeystick.values.band import Band
from hockeystick.values.bounds import Answer
from hockeystick.values.domains import MOST_EPSILON
from hockeystick.values.errors import UnsupportedError


def _short(x: float) -> float:
    """A number rounded to as many digits as its text shows, so that the text of a point is exact."""
    return float(f"{x:.{QUOTED_DIGITS}g}")


RATES = tuple(sorted(set(map(_short, (*CURVE_RATES[::2], *TABLE_RATES)))))
"""False-positive rates of the curve of attacks, including those of the table of attacks."""

FEWER = 13  # points of a curve computed one by one, each of which may take tens of milliseconds
NOISE_SPAN = 4.0  # factor by which the noise varies down and up in its curve

Check = Callable[[], None]
"""Function called before each point of a slow curve; it raises if the page no longer waits."""

Rows = list[tuple[float, Mapping[str, float | None]]]
"""Points of a curve, each with its ends by name."""

Curve = tuple[str, Rows]
"""Label of the horizontal axis, and the points."""


def curve(plan: Plan, want: str, check: Check = lambda: None) -> dict[str, Any]:
    """Return a curve by name: ``"delta"``, ``"attack"``, ``"steps"`` or ``"noise"``.

    Args:
        plan: plan with a target delta.
        want: name of the curve.
        check: function called before each point that is computed on its own; it may raise to stop the computation.

    Raises:
        UnsupportedError: no guarantee is proved for the plan, or it has no such curve.

    >>> from hockeystick import dp_sgd
    >>> found = curve(dp_sgd(1.1, 0.01, 1000, delta=1e-6), "steps")
    >>> found["x"][-1], found["text"][-1][0], found["upper"][-1] >= found["lower"][-1]
    (1000, '1000', True)
    """
    label, rows = CURVES[want](plan, check)
    return {
        "label": label,
        "x": [x for x, _ in rows],
        "lower": [ends.get("lower") for _, ends in rows],
        "upper": [ends["upper"] for _, ends in rows],
        "text": [(exact(x), _text(ends.get("lower"), round_down), _text(ends["upper"], round_up)) for x, ends in rows],
    }


def _delta(plan: Plan, check: Check) -> Curve:
    """Delta as a function of epsilon, from epsilon 0 to where delta is a thousandth of the plan's target delta.

    Raises:
        UnsupportedError: epsilon is infinite, or no guarantee is proved for the plan.
    """
    target = asked_delta(plan, None)
    headline = plan.epsilon(target)
    reach = last_epsilon(plan, target, headline)
    if not math.isfinite(reach):
        raise UnsupportedError("no curve: epsilon is infinite at this delta")
    even = np.linspace(0.0, min(reach, MOST_EPSILON) or 1.0, POINTS).tolist()
    first = min(float(round_up(headline.quoted, QUOTED_DIGITS)), MOST_EPSILON)  # the quoted epsilon
    places = sorted({first, *(_short(at) for at in even)})
    if plan.directions.known_from_below:
        return "epsilon", _band("epsilon", places, plan.profile().delta(places))
    return "epsilon", [(at, _ends(plan.delta, at, check)) for at in places[:: POINTS // FEWER]]


def _attack(plan: Plan, check: Check) -> Curve:
    """Largest true-positive rate of a membership attack as a function of its false-positive rate."""
    return "false-positive rate", _band("fpr", RATES, plan.profile().tpr(np.array(RATES)))


def _steps(plan: Plan, check: Check) -> Curve:
    """Epsilon as a function of the number of steps run, up to the whole plan.

    At each point, the same fraction of every kind of round is run, rounded up to whole rounds.
    """
    by_steps = partly_run(plan, [number / FEWER for number in range(1, FEWER + 1)])
    delta = asked_delta(plan, None)
    return "steps", [(steps, _ends(part.epsilon, delta, check)) for steps, part in by_steps.items()]


def _noise(plan: Plan, check: Check) -> Curve:
    """Epsilon as a function of the noise, from less to more noise than the plan has.

    Raises:
        UnsupportedError: the plan has no noise to scale, or its privacy is not monotone in the noise.
    """
    parameter, build = noise_of(plan)
    name, value = parameter.name, parameter.start
    factors = np.geomspace(1 / NOISE_SPAN, NOISE_SPAN, FEWER).tolist()
    tried = {value, *(_short(value * factor) for factor in factors)}
    noises = sorted(noise for noise in tried if parameter.least <= noise <= parameter.most)
    delta = asked_delta(plan, None)
    return name, [(noise, _ends(build(noise).epsilon, delta, check)) for noise in noises]


CURVES: dict[str, Callable[[Plan, Check], Curve]] = {
    "delta": _delta,
    "attack": _attack,
    "steps": _steps,
    "noise": _noise,
}
"""Functions that compute the curves, by name."""


def _band(key: str, places: Sequence[float], band: Band) -> Rows:
    """Rows of a curve whose points are computed together."""
    return [(row[key], row) for row in band_points(key, places, band)]


def _ends(quantity: Callable[[float], Answer], at: float, check: Check) -> Mapping[str, float | None]:
    """Call ``check``, then return the ends of ``quantity(at)``, a plan's epsilon or delta, for one point of a curve."""
    check()
    return finite_ends(quantity(at))


def _text(value: float | None, rounding: Callable[[float, int], str]) -> str | None:
    return None if value is None else rounding(value, QUOTED_DIGITS)
