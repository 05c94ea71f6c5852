"""Location of the parameter that puts a point on the privacy curve, by Newton's method; nothing is certified.

Over a fixed line ``t + is`` let ``S(y) = (1 / P) sum_j e^(K(z_j; y) - eps z_j) / (z_j (1 + z_j))`` for rounds with a
parameter y, of which a larger value is safer. S is delta(eps) as long as y stays near the value for which the line was
made, and costs one K a kind of rounds. Newton steps find the root of ``f(y) = log S(y) - log delta``, with the
derivative of the first guess, and then of the last two values (secants); if the root is far, a new line is made. A
search that starts from this root only needs to certify a value on either side.

The aliases and the end of the line matter more where y moves, by some ten times as much in logarithms as delta. They
are bounded by :data:`TOLERANCE`, and y moves on one line while f is below :data:`MAX_EXCESS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hockeystick.directions.directions import Directions, first_composition
from hockeystick.engines.contour.slopes import SlopeContour
from hockeystick.pairs import Composition
from hockeystick.values.errors import NotApplicableError

CONTOURS, STEPS = 2, 8  # largest number of contours, and of steps on each; if more are needed the result is poor
LONGEST_STEP = 0.7  # longest step of y
MAX_EXCESS = 0.3  # f from which on a new line is made
TOLERANCE = 1e-10  # relative error of the sum at the point of the line
INNER = 1e-11  # error of K of all rounds, small enough for a place to measure
LONGEST_LINE = 200  # largest number of points: a longer line takes as long as several answers
MOST_KINDS = 8  # largest number of kinds of rounds, each with its own line at every step
MIN_STEP = 1e-12  # smallest step of y: below it K changes by less than its rounding


def located(
    directions_at: Callable[[float], Directions],
    placed: Callable[[float], float],
    y: float,
    slope: float,
    point: tuple[float, float],
    close: float,
) -> float | None:
    """Return the approximate y at which the first direction's curve passes through a point, or ``None``.

    Args:
        directions_at: function from y to the rounds.
        placed: function to the nearest valid y, since the parameter may be a whole number and has a range.
        y: first value.
        slope: approximate derivative of log epsilon at a fixed delta by y; negative.
        point: epsilon and delta, both greater than 0.
        close: approximate accuracy of the root.
    """
    epsilon, delta = point
    close = max(close, MIN_STEP)
    last: tuple[float, float] | None = None  # y of the last line, and f there
    try:
        for _ in range(CONTOURS):
            composition = _first(directions_at(y))
            contour = SlopeContour(composition, epsilon, TOLERANCE, LONGEST_LINE, INNER)
            f = _excess(contour, composition, delta)
            fall = slope * epsilon * contour.at(epsilon).fall if last is None else _secant(last, (y, f))
            if not fall < 0:  # it underflows
                return None
            last = y, f
            before = 1.0
            for _ in range(STEPS):
                step = min(max(-f / fall, -LONGEST_STEP), LONGEST_STEP)
                following = placed(y + step)
                # the error of a secant step is about the product of the last two
                if abs(step) * before <= close or following == y:
                    return y + step
                if abs(f) > MAX_EXCESS:
                    y = following
                    break
                moved = _excess(contour, _first(directions_at(following)), delta)
                fall, before = _secant((y, f), (following, moved)), abs(step)
                y, f = following, moved
    except NotApplicableError:
        return None
    return None


def _secant(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Slope between two values of the decreasing f.

    Raises:
        NotApplicableError: f does not decrease, or both values are at the same y, so the contour is useless.
    """
    run = other[0] - one[0]
    slope = (other[1] - one[1]) / run if run else math.nan
    if not slope < 0:
        raise NotApplicableError("what a contour says does not fall")
    return slope


def _first(directions: Directions) -> Composition:
    """Rounds of the first direction.

    Raises:
        NotApplicableError: there are no rounds, too many kinds, or one has only a Renyi curve.
    """
    composition = first_composition(directions)
    if not isinstance(composition, Composition) or not 0 < len(composition.rounds) <= MOST_KINDS:
        raise NotApplicableError("no few kinds of rounds that have pairs")
    return composition


def _excess(contour: SlopeContour, composition: Composition, delta: float) -> float:
    """f of the module docstring, for the finite losses alone.

    Raises:
        NotApplicableError: mass at infinite loss uses up delta, or the contour is useless.
    """
    finite = delta - composition.infinite_mass
    if not finite > 0:
        raise NotApplicableError("mass at infinite loss leaves nothing of delta")
    return contour.log_delta(list(composition.rounds)) - math.log(finite)
