"""Where a parameter takes the privacy curve through a point, by Newton's method on one contour; nothing is certified.

Over a fixed line ``t + is`` let ``S(y) = (1 / P) sum_j e^(K(z_j; y) - eps z_j) / (z_j (1 + z_j))`` for rounds with a
parameter y, the larger the safer. S is delta(eps) as long as y stays near the place for which the line was laid, and
costs one K a kind of rounds. The root of ``f(y) = log S(y) - log delta`` is found by Newton steps whose derivative is
that of the first guess, and then of the last two values (secants); where the root is far the line is laid anew. A
search that begins here has nothing left to do but to certify a value on either side.

The aliases and the end of the line weigh more where y moves, by some ten times as much in logarithms as delta does:
they are laid to :data:`TOLERANCE`, and y moves on one line while f is below :data:`FAR`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hockeystick.directions.directions import Directions, first_composition
from hockeystick.engines.contour.slopes import SlopeContour
from hockeystick.pairs import Composition
from hockeystick.values.errors import NotApplicableError

CONTOURS, STEPS = 2, 8  # laid at most, and steps on each: few, as where more are wanted they say little
LONGEST_STEP = 0.7  # of y
FAR = 0.3  # of f, from which on the line is laid anew
TOLERANCE = 1e-10  # of the sum, where it is laid
INNER = 1e-11  # of K of all rounds: what is looked for is a place to measure
LONGEST_LINE = 200  # points: laying a longer one takes as long as several answers do
MOST_KINDS = 8  # of rounds, each of which has a line of its own at every step
CLOSEST = 1e-12  # of y: nearer, K is not told from its rounding


def located(
    directions_at: Callable[[float], Directions],
    placed: Callable[[float], float],
    y: float,
    slope: float,
    point: tuple[float, float],
    close: float,
) -> float | None:
    """About the y at which the first direction's curve passes through a point; ``None`` where no short contour tells.

    Args:
        directions_at: the rounds at a y.
        placed: the y next to a given one that the parameter can have: it may be a whole number, and its range ends.
        y: where to begin.
        slope: about the derivative of log epsilon at a fixed delta by y; negative.
        point: epsilon and delta, both greater than 0.
        close: how near to the root, about.
    """
    epsilon, delta = point
    close = max(close, CLOSEST)
    last: tuple[float, float] | None = None  # where a line was laid, and f there
    try:
        for _ in range(CONTOURS):
            composition = _first(directions_at(y))
            contour = SlopeContour(composition, epsilon, TOLERANCE, LONGEST_LINE, INNER)
            f = _excess(contour, composition, delta)
            fall = slope * epsilon * contour.at(epsilon).fall if last is None else _secant(last, (y, f))
            if not fall < 0:  # it is below the range of a double
                return None
            last = y, f
            before = 1.0
            for _ in range(STEPS):
                step = min(max(-f / fall, -LONGEST_STEP), LONGEST_STEP)
                following = placed(y + step)
                # the error of a secant step is about the product of the last two
                if abs(step) * before <= close or following == y:
                    return y + step
                if abs(f) > FAR:
                    y = following
                    break
                moved = _excess(contour, _first(directions_at(following)), delta)
                fall, before = _secant((y, f), (following, moved)), abs(step)
                y, f = following, moved
    except NotApplicableError:
        return None
    return None


def _secant(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The slope between two values of f, which falls.

    Raises:
        NotApplicableError: it does not, or both values are at one place, so that the contour says nothing.
    """
    run = other[0] - one[0]
    slope = (other[1] - one[1]) / run if run else math.nan
    if not slope < 0:
        raise NotApplicableError("what a contour says does not fall")
    return slope


def _first(directions: Directions) -> Composition:
    """The rounds of the first direction.

    Raises:
        NotApplicableError: there are none, too many kinds, or nothing but a Renyi curve is known of one.
    """
    composition = first_composition(directions)
    if not isinstance(composition, Composition) or not 0 < len(composition.rounds) <= MOST_KINDS:
        raise NotApplicableError("no few kinds of rounds that have pairs")
    return composition


def _excess(contour: SlopeContour, composition: Composition, delta: float) -> float:
    """f of the module docstring, of the finite losses alone.

    Raises:
        NotApplicableError: mass at infinite loss leaves nothing of delta, or the contour says nothing.
    """
    finite = delta - composition.infinite_mass
    if not finite > 0:
        raise NotApplicableError("mass at infinite loss leaves nothing of delta")
    return contour.log_delta(list(composition.rounds)) - math.log(finite)
