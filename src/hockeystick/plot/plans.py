"""Figures of a plan: its privacy curve, its trade-off function, epsilon over rounds, and a comparison of methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from hockeystick.plan.plan import Plan, asked_delta, target_delta
from hockeystick.plot.asked import ask
from hockeystick.plot.draw import plain
from hockeystick.plot.panel import Bracket, Line, Panel
from hockeystick.questions.partly_run import partly_run
from hockeystick.report.comparison import failure_of
from hockeystick.values import domains
from hockeystick.values.errors import HockeystickError, InvalidInputError

Say = Callable[[str], None]

EPSILON = "$\\varepsilon$"  # label of an axis
DELTA = "$\\delta$ (probability)"  # label of an axis
ROUNDS = "rounds"  # label of an axis
FPR, FNR, TPR = "false-positive rate of the attack", "false-negative rate", "true-positive rate"  # labels of axes

POINTS = 61  # default number of points of a line
FEWER_POINTS = 21  # default number of points with several methods
LEAST_DELTA = 1e-12  # delta at which a curve ends by default
LEAST_RATE = 1e-4  # smallest error rate on logarithmic axes
MOST_POINTS = 10_000  # largest number of points, far more than a figure can show


def curve_panel(
    plan: Plan,
    start: float | None = None,
    stop: float | None = None,
    points: int = POINTS,
    accountants: Sequence[str] = (),
    say: Say = lambda text: None,
) -> Panel:
    """Return a panel of delta against epsilon: the certified band, and the answers of accountants.

    Args:
        plan: what was run.
        start: least epsilon; 0 by default.
        stop: largest epsilon; by default the epsilon at which delta is 1e-12.
        points: number of points at which delta is computed.
        accountants: accountants whose answers are drawn with the band.
        say: function called with progress messages.

    Raises:
        InvalidInputError: the range or the number of points is invalid.
        UnsupportedError: a round has no proved dominating pair.
    """
    low = 0.0 if start is None else domains.epsilon(start, "start", "smallest epsilon")
    high = reach(plan) if stop is None else domains.epsilon(stop, "stop", "largest epsilon")
    x = _between(low, high, points, "epsilon")
    say("certified bounds")
    band = plan.profile().delta(np.array(x))
    lines = [_asked_line(name, x, "delta", [plan] * len(x), say) for name in accountants]
    floor = float(band.lower[band.lower > 0].min(initial=1.0))
    return Panel(
        EPSILON,
        DELTA,
        lines,
        Bracket(x, band.lower.tolist(), band.upper.tolist()),
        yscale="log",
        xlim=(x[0], x[-1]),
        ylim=(max(floor / 3, 1e-300), None),
    )


def steps_panel(
    plan: Plan,
    delta: float | None = None,
    points: int = POINTS,
    accountants: Sequence[str] = (),
    say: Say = lambda text: None,
) -> Panel:
    """Return a panel of epsilon against the number of rounds run, up to the whole plan.

    At each point, the same fraction of every kind of round is run, rounded up to whole rounds.

    Args:
        plan: the plan.
        delta: target delta; the plan's own by default.
        points: number of evenly spread points at which epsilon is computed.
        accountants: accountants whose answers are drawn with the band.
        say: function called with progress messages.

    Raises:
        InvalidInputError: there is no delta, or no round.
    """
    target = target_delta(asked_delta(plan, None) if delta is None else delta)
    if plan.steps < 1:
        raise InvalidInputError("the plan has no rounds", "count")
    parts = list(partly_run(plan, _between(0.0, 1.0, points + 1, "share")[1:]).values())
    x = [float(part.steps) for part in parts]
    say("certified bounds")
    certified = [ask(part, "epsilon", target) for part in parts]
    lines = [_asked_line(name, x, "epsilon", parts, say, target) for name in accountants]
    upper = [answer.value for answer in certified]
    highest = upper[-1]
    alone = len(x) == 1 and not lines and 0 < highest < math.inf
    return Panel(
        ROUNDS,
        f"{EPSILON} at $\\delta$ = {plain(target)}",
        lines,
        Bracket(x, [answer.lower for answer in certified], upper),
        xlim=(0, max(x[-1], 2.0)),  # keeps the mark of a single round inside the axes
        ylim=(0, 1.25 * highest if alone else None),  # keeps the mark below the upper edge
        whole=True,
        rising=True,
    )


def tradeoff_panel(plan: Plan, logarithmic: bool = False, points: int = POINTS) -> Panel:
    """Return a panel of the smallest false-negative rate of an attack against its false-positive rate, as a band.

    Args:
        plan: what was run.
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
        Bracket(x, band.lower.tolist(), band.upper.tolist(), "certified bracket of the best attack"),
        xscale="log" if logarithmic else "linear",
        yscale="log" if logarithmic else "linear",
        xlim=(low, high),
        ylim=(low, high),
        square=True,
        marks=False,
    )


def _asked_line(
    name: str, x: Sequence[float], quantity: str, plans: Sequence[Plan], say: Say, at: float | None = None
) -> Line:
    """Line through the answers of an accountant, with its lower bounds if it has any.

    An unexpected exception, which is a bug of this library, leaves a gap, so that the other answers remain.

    Raises:
        HockeystickError: the question itself is invalid for every accountant.
    """
    say(name)
    nothing = [math.nan] * len(x)
    lower, values = nothing.copy(), nothing.copy()
    reasons: list[str] = []
    failures: list[str] = []
    for number, (plan, place) in enumerate(zip(plans, x, strict=True)):
        try:
            answer = ask(plan, quantity, place if at is None else at, name)
        except HockeystickError:
            raise
        except Exception as error:
            failures.append(failure_of(error))
        else:
            lower[number], values[number] = answer.lower, answer.value
            reasons.append(answer.reason)
    note = f"at {len(failures)} of {len(x)} points it {failures[0]}" if failures else ""
    if not np.isfinite(values).any():
        name, note = f"{name} (no answer)", note or reasons[0]
    elif quantity == "delta" and all(value >= 1 for value in values):
        name, values, lower = f"{name} (delta = 1 throughout)", nothing, nothing
    ends = None if np.isnan(lower).all() else lower
    return Line(name, x, values, ends, note=note, failed=bool(failures))


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
    count = domains.whole(points, "points", "number of points to compute", least=2, most=MOST_POINTS)
    if not low < high:
        raise InvalidInputError(f"the range of {what} must increase; received {low!r} to {high!r}", "stop")
    spread = np.geomspace if logarithmic else np.linspace
    return [float(at) for at in spread(low, high, count)]
