"""The figures of a plan: its privacy curve, its trade-off function, epsilon round by round, several methods at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hockeystick.plan.plan import Plan, target_delta
from hockeystick.plot.asked import ask, ask_beside_others, bracket_of, line_of
from hockeystick.plot.draw import plain
from hockeystick.plot.panel import Bracket, Line, Panel
from hockeystick.questions.partly_run import partly_run
from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError

Say = Callable[[str], None]

EPSILON = "$\\varepsilon$"  # label of an axis
DELTA = "$\\delta$ (probability)"  # label of an axis
ROUNDS = "rounds"  # label of an axis
FPR, FNR, TPR = "false-positive rate of the attack", "false-negative rate", "true-positive rate"  # labels of axes

POINTS = 61  # places where each line is computed, if nothing is said
FEWER_POINTS = 21  # where several methods are asked
LEAST_DELTA = 1e-12  # to which the curve reaches, if nothing is said
LEAST_RATE = 1e-4  # of the error rates on logarithmic axes
MOST_POINTS = 10_000  # places, at most: a guess, far more than a figure can show


def curve_panel(
    plan: Plan,
    start: float | None = None,
    stop: float | None = None,
    points: int = POINTS,
    accountants: Sequence[str] = (),
    say: Say = lambda text: None,
) -> Panel:
    """delta against epsilon: the certified band, and what each of the accountants says.

    Args:
        plan: what was run.
        start: least epsilon; 0 by default.
        stop: largest epsilon; by default where delta has come down to 1e-12.
        points: places where delta is computed.
        accountants: drawn beside the band.
        say: told what is being computed.

    Raises:
        InvalidInputError: a range or a number of points that is none.
        UnsupportedError: a round for which no dominating pair is proven.
    """
    low = 0.0 if start is None else domains.epsilon(start, "start", "least epsilon")
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


def compare_panel(
    plan: Plan,
    accountants: Sequence[str],
    start: float | None = None,
    stop: float | None = None,
    points: int = FEWER_POINTS,
    say: Say = lambda text: None,
) -> Panel:
    """:func:`curve_panel` with several accountants.

    Raises:
        InvalidInputError: no accountant, or what :func:`curve_panel` raises it for.
    """
    if not accountants:
        raise InvalidInputError("accountant: name at least one to compare", "accountant")
    return curve_panel(plan, start, stop, points, accountants, say)


def steps_panel(
    plan: Plan,
    delta: float | None = None,
    points: int = POINTS,
    accountants: Sequence[str] = (),
    say: Say = lambda text: None,
) -> Panel:
    """Epsilon against the number of rounds that have been run, up to the whole plan.

    Of a plan with several kinds of rounds the same share of each has been run, rounded up.

    Args:
        plan: what is run.
        delta: target; the plan's own by default.
        points: numbers of rounds at which epsilon is computed, evenly spread.
        accountants: drawn beside the bracket.
        say: told what is being computed.

    Raises:
        InvalidInputError: no delta, or no rounds.
    """
    if delta is None and plan.delta_target is None:
        raise InvalidInputError("no delta: the plan has no default target; pass delta", "delta")
    target = plan.delta_target if delta is None else target_delta(delta)
    assert target is not None
    if plan.steps < 1:
        raise InvalidInputError("the plan has no rounds", "count")
    parts = list(partly_run(plan, _between(0.0, 1.0, points + 1, "share")[1:]).values())
    x = [float(part.steps) for part in parts]
    say("certified bounds")
    certified = [ask(part, "epsilon", target) for part in parts]
    lines = [_asked_line(name, x, "epsilon", parts, say, target) for name in accountants]
    bracket = bracket_of(x, certified)
    highest = bracket.upper[-1]
    alone = len(x) == 1 and not lines and 0 < highest < math.inf
    return Panel(
        ROUNDS,
        f"{EPSILON} at $\\delta$ = {plain(target)}",
        lines,
        bracket,
        xlim=(0, max(x[-1], 2.0)),  # a single round has its mark inside the axes, not on their edge
        ylim=(0, 1.25 * highest if alone else None),  # nor is its mark cut by the upper edge
        whole=True,
        rising=True,
    )


def tradeoff_panel(plan: Plan, logarithmic: bool = False, points: int = POINTS) -> Panel:
    """The least false-negative rate of an attack against its false-positive rate, with the certified band.

    Args:
        plan: what was run.
        logarithmic: true-positive rate instead, both axes from 1e-4, as attacks are judged; from 0 to 1 otherwise.
        points: false-positive rates at which it is computed.

    Raises:
        UnsupportedError: an adjacency with one ordering of the two datasets only.
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
    say(name)
    answers = [
        ask_beside_others(plan, quantity, place if at is None else at, name)
        for plan, place in zip(plans, x, strict=True)
    ]
    line = line_of(name, x, answers)
    if not line.answered:
        return replace(line, label=f"{name} (no answer)", note=line.note or answers[0].reason)
    if quantity == "delta" and all(answer.value >= 1 for answer in answers):
        nothing = [math.nan] * len(answers)
        return replace(line, y=nothing, lower=None, label=f"{name} (delta = 1 throughout)")
    return line


def reach(plan: Plan) -> float:
    """The epsilon at which delta has come down far enough, or would come down no further."""
    for delta in (LEAST_DELTA, 1e-9, 1e-6, 1e-3):
        upper = plan.epsilon(delta).upper
        if math.isfinite(upper):
            return upper if upper > 0 else 1.0
    raise InvalidInputError(
        "stop: epsilon is infinite at every small delta; say how far the curve should reach", "stop"
    )


def _between(low: float, high: float, points: int, what: str, logarithmic: bool = False) -> list[float]:
    count = domains.whole(points, "points", "places where it is computed", least=2, most=MOST_POINTS)
    if not low < high:
        raise InvalidInputError(f"the range of {what} has to increase; received {low!r} to {high!r}", "stop")
    spread = np.geomspace if logarithmic else np.linspace
    return [float(at) for at in spread(low, high, count)]
