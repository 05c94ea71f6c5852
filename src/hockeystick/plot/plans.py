"""Figures of a plan: its privacy curve, its trade-off function, and epsilon over rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hockeystick.plan.plan import Plan, asked_delta
from hockeystick.plot.asked import ask
from hockeystick.plot.draw import plain
from hockeystick.plot.panel import BRACKET, Line, Mark, Panel
from hockeystick.questions.partly_run import partly_run
from hockeystick.report.document.curves import LEAST_RATE
from hockeystick.report.profile import MOST_VALUES
from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError, UnsupportedError
from hockeystick.values.outward import UP, rounded

EPSILON = "$\\varepsilon$"  # label of an axis
DELTA = "$\\delta$ (probability)"  # label of an axis
ROUNDS = "rounds"  # label of an axis
FPR, FNR, TPR = "false-positive rate of the attack", "false-negative rate", "true-positive rate"  # labels of axes

POINTS = 61  # default number of points of a line
LEAST_DELTA = 1e-12  # delta at which a curve ends by default


def curve_panel(
    plan: Plan,
    start: float | None = None,
    stop: float | None = None,
    points: int = POINTS,
    accountants: Sequence[str] = (),
    delta: float | None = None,
) -> Panel:
    """Return a panel of delta against epsilon: the certified band, the answers of accountants, the epsilon to quote.

    Args:
        plan: the plan.
        start: least epsilon; 0 by default.
        stop: largest epsilon; by default the epsilon at which delta is 1e-12.
        points: number of points at which delta is computed.
        accountants: accountants whose answers are drawn with the band.
        delta: delta of the mark; by default the plan's own, and no mark if the plan has none.

    Raises:
        InvalidInputError: the range, the number of points or the delta is invalid.
        UnsupportedError: a round has no proved dominating pair, or an accountant has no answer.
    """
    low = 0.0 if start is None else domains.epsilon(start, "start", "smallest epsilon")
    high = reach(plan) if stop is None else domains.epsilon(stop, "stop", "largest epsilon")
    at = plan.delta_target if delta is None else domains.TARGET_DELTA.check(delta, "delta")
    x = _between(low, high, points, "epsilon")
    band = plan.profile().delta(np.array(x))
    floor = float(band.lower[band.lower > 0].min(initial=1.0))
    return Panel(
        EPSILON,
        DELTA,
        [_asked_line(name, x, "delta", [(plan, epsilon) for epsilon in x]) for name in accountants],
        Line(BRACKET, x, band.upper.tolist(), band.lower.tolist()),
        yscale="log",
        xlim=(x[0], x[-1]),
        ylim=(max(floor / 3, 1e-300), None),
        points=[] if at is None else [_quoted(epsilon := plan.epsilon(at).upper, at, epsilon)],
    )


def steps_panel(plan: Plan, delta: float | None = None, points: int = POINTS, accountants: Sequence[str] = ()) -> Panel:
    """Return a panel of epsilon against the number of rounds run, up to the whole plan.

    At each point, the same fraction of every kind of round is run, rounded up to whole rounds.

    Args:
        plan: the plan.
        delta: target delta; the plan's own by default.
        points: number of evenly spread points at which epsilon is computed.
        accountants: accountants whose answers are drawn with the band.

    Raises:
        InvalidInputError: there is no delta, or no round.
        UnsupportedError: no guarantee is proved for a round, or an accountant has no answer.
    """
    target = domains.TARGET_DELTA.check(asked_delta(plan, None) if delta is None else delta, "delta")
    if plan.steps < 1:
        raise InvalidInputError("the plan has no rounds", "count")
    parts = list(partly_run(plan, _between(0.0, 1.0, points + 1, "share")[1:]).values())
    x = [float(part.steps) for part in parts]
    asked = [(part, target) for part in parts]
    certified = _asked_line("auto", x, "epsilon", asked)
    highest = certified.y[-1]
    alone = len(x) == 1 and not accountants and 0 < highest < math.inf
    return Panel(
        ROUNDS,
        f"{EPSILON} at $\\delta$ = {plain(target)}",
        [_asked_line(name, x, "epsilon", asked) for name in accountants],
        replace(certified, label=BRACKET, lower=certified.lower or [math.nan] * len(x)),
        xlim=(0, max(x[-1], 2.0)),  # keeps the mark of a single round inside the axes
        ylim=(0, 1.25 * highest if alone else None),  # keeps the mark below the upper edge
        whole=True,
        rising=True,
        points=[_quoted(x[-1], highest, highest)],
    )


def tradeoff_panel(plan: Plan, logarithmic: bool = False, points: int = POINTS) -> Panel:
    """Return a panel of the smallest false-negative rate of an attack against its false-positive rate, as a band.

    Args:
        plan: the plan.
        logarithmic: True to show the true-positive rate instead, on logarithmic axes from 1e-4, as usual for attacks.
        points: number of false-positive rates at which the curve is computed.

    Raises:
        UnsupportedError: the adjacency compares the two datasets in one direction only.
    """
    low, high = (LEAST_RATE, 1.0) if logarithmic else (0.0, 1.0)
    x = _between(low, high, points, "false-positive rate", logarithmic)
    profile = plan.profile()
    band = (profile.tpr if logarithmic else profile.trade_off)(np.array(x))
    return Panel(
        FPR,
        TPR if logarithmic else FNR,
        [Line("guessing", x, x if logarithmic else [1 - at for at in x], style="basic")],
        Line(f"{BRACKET} of the best attack", x, band.upper.tolist(), band.lower.tolist()),
        xscale="log" if logarithmic else "linear",
        yscale="log" if logarithmic else "linear",
        xlim=(low, high),
        ylim=(low, high),
        square=True,
        marks=False,
    )


def _asked_line(name: str, x: Sequence[float], quantity: str, questions: Sequence[tuple[Plan, float]]) -> Line:
    """Line through the answers of an accountant, with its lower bounds if it has any.

    Raises:
        UnsupportedError: the accountant has no answer to any of the questions, each a plan with a delta or an epsilon.
    """
    answers = [ask(plan, quantity, at, name) for plan, at in questions]
    values, lower = [answer.value for answer in answers], [answer.lower for answer in answers]
    if not np.isfinite(values).any():
        raise UnsupportedError(f"{name}: {answers[0].reason}")
    return Line(name, x, values, None if np.isnan(lower).all() else lower)


def _quoted(x: float, y: float, epsilon: float) -> Mark:
    return Mark(x, y, f"$\\varepsilon$ \u2264 {rounded(epsilon, '.3g', UP)}")


def reach(plan: Plan) -> float:
    """Epsilon at delta ``LEAST_DELTA``; if this epsilon is infinite, the epsilon at a larger delta."""
    for delta in (LEAST_DELTA, 1e-9, 1e-6, 1e-3):
        upper = plan.epsilon(delta).upper
        if math.isfinite(upper):
            return min(upper, domains.MOST_EPSILON) or 1.0
    raise InvalidInputError(
        "stop is missing: epsilon is infinite at every small delta; give the largest epsilon to draw", "stop"
    )


def _between(low: float, high: float, points: int, what: str, logarithmic: bool = False) -> list[float]:
    count = domains.whole(points, "points", "number of points to compute", least=2, most=MOST_VALUES)
    if not low < high:
        raise InvalidInputError(f"the range of {what} must increase; received {low!r} to {high!r}", "stop")
    spread = np.geomspace if logarithmic else np.linspace
    return [float(at) for at in spread(low, high, count)]
