"""The trapezoid rule on a path, for a list of counts: certified ends of log delta, and where it meets a target.

What is proved is in ``engines/contour/engine.py``.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import numpy.typing as npt

from hockeystick.engines.contour.path import Path
from hockeystick.numerics.exponential_sum import BLOCK, blocked_sum
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.values.interval import Interval
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]

STEPS = 60  # doubled each time, towards a certified end
FEW = 256  # points, whose phases are quicker had one by one
LITTLE, SAFETY = 0.1, 10.0  # a gain so small, and its error so many times what the last steps make it
MUCH = 0.5  # of the slope: a change from which on the bend is not believed
CLOSE = 0.03  # of the error of the sum: a root so near that it adds nothing to the width


class Contour:
    """The sum over a path for a composition.

    Args:
        path: where it is taken.
        counts: of the kinds of rounds, in the order of the path's; they need not be those for which it was laid.

    Raises:
        NotApplicableError: nothing but rounding is left.
    """

    def __init__(self, path: Path, counts: list[int]) -> None:
        self.terms = path.terms(counts)
        self._tolerance = path.tolerance
        self._sizes = np.abs(self.terms.terms)
        self._squares = np.square(self.terms.s)
        self._errors: dict[int, float] = {}

    def _turned(self, epsilon: float) -> npt.NDArray[np.complex128]:
        """The terms of the cut sum, times ``e^(t eps - K_top)``."""
        s = self.terms.s
        if len(s) <= FEW:
            phases = np.exp((-1j * epsilon) * s)
        else:  # e^(-i eps s) for equidistant s, as a product of few exponentials: s = s[j B] + s[l]
            block = math.isqrt(len(s)) + 1
            phases = np.multiply.outer(np.exp((-1j * epsilon) * s[::block]), np.exp((-1j * epsilon) * s[:block]))
            phases = phases.ravel()[: len(s)]
        turned: npt.NDArray[np.complex128] = self.terms.terms * phases
        return turned

    def _sum(self, epsilon: float) -> float:
        """``S`` of the cut sum, times ``e^(t eps - K_top)``."""
        return blocked_sum(self._turned(epsilon).real) * (1 / self.terms.period)

    def _sums(self, epsilon: float) -> tuple[float, float, float]:
        """``S``, ``-S'`` and ``S''`` of the cut sum as a function of eps, all times ``e^(t eps - K_top)``."""
        s, t = self.terms.s, self.terms.t
        values = self._turned(epsilon)
        real, imaginary = values.real, values.imag
        # z = t + is, z^2 = t^2 - s^2 + 2its
        scale, value, turned = 1 / self.terms.period, blocked_sum(real), float(s @ imaginary)
        first, second = t * value - turned, t * t * value - float(self._squares @ real) - 2 * t * turned
        return value * scale, first * scale, second * scale

    def _error(self, epsilon: float) -> float:
        """Bound on the error of S: it grows with ``|eps|``, and is taken at the next power of two."""
        power = math.frexp(epsilon)[1]
        if power not in self._errors:
            # exponent: K's own error, eps s, and a few roundings; then the sum
            largest = math.ldexp(1.0, power) if power < sys.float_info.max_exp else sys.float_info.max
            units = 24 + 4 * largest * self.terms.s + 4 * abs(self.terms.k_top) + BLOCK
            error = np.minimum(self.terms.k_error + UNIT_ROUNDOFF * units, 700.0)
            self._errors[power] = float((self._sizes * np.expm1(error)).sum()) / self.terms.period
        return self._errors[power]

    def log_delta(self, epsilon: float) -> Interval:
        """Certified interval of log delta at an epsilon near the contour's own."""
        value = self._sum(epsilon)
        found = self.terms.certificate(epsilon, value, self._error(epsilon))
        upper = float(found.moved(math.log(found.high), Side.ABOVE)) if found.high > 0 else math.inf
        lower = float(found.moved(math.log(found.low), Side.BELOW)) if found.low > 0 else -math.inf
        upper = min(upper, 0.0)
        middle = math.log(value) + found.scale if value > 0 else lower
        return Interval(min(lower, upper), min(max(middle, lower), upper), upper)

    def solve(self, target: float, guess: float) -> tuple[float, float]:
        """The epsilon >= 0 at which log S meets the target, and ``-d log S / d eps`` there; not certified.

        By steps to the root of the parabola, whose error is of third order; the last one is not looked at any more.

        A step ends in one of five states. *Met*: the sum is as near to the target as it is known, or the step is lost
        in the digits of epsilon. *Sure*: the last two steps gained so much that the next one lands close enough; it is
        taken unseen. *Inside*: the step stays between the largest epsilon known to be too small and the least known to
        be too large, and is taken. *Outside*: it does not, or S was not positive and there is no step; epsilon is
        doubled, or put in the middle of the two. *Stuck*: the two have met; the nearest epsilon seen is the answer.
        """
        low, high, epsilon = 0.0, math.inf, guess
        best, before = (math.inf, guess, self.terms.t), 0.0
        for i in range(100):
            value, first, second = self._sums(epsilon)
            known = value > 0 and first > 0
            gain = math.log(value) + self.terms.k_top - self.terms.t * epsilon - target if value > 0 else -math.inf
            slope = first / value if known else math.nan
            close = CLOSE * max(min(self._error(epsilon) / value, 1e-3), self._tolerance) if known else 0.0
            if abs(gain) <= close:
                return epsilon, slope
            low, high = (epsilon, high) if gain > 0 else (low, epsilon)
            if known:
                best = min(best, (abs(gain), epsilon, slope))
            bend = slope * slope - second / value if known else math.nan
            step = _step(gain, slope, bend)
            if abs(step) <= 1e-14 * epsilon or epsilon == high == 0.0:
                return (epsilon, slope) if known else (epsilon, best[2])
            updated = epsilon + step
            if not low < updated < high:  # nor where it is not a number
                if low == 0.0 and i % 2 == 0:
                    updated = 0.0  # it may be 0
                else:
                    updated = 2 * low + 1e-300 if high == math.inf else 0.5 * (low + high)
                before = 0.0
            elif (
                before
                and abs(gain) < LITTLE
                and abs(bend * step) < MUCH * slope
                and SAFETY * abs(gain) * (abs(gain) / before) ** 3 <= close
            ):
                return updated, slope + bend * step
            else:
                before = abs(gain)
            if high - low <= 1e-14 * high < math.inf:
                break
            epsilon = updated
        return best[1:]

    def certified(self, target: tuple[float, float], root: float, slope: float) -> Interval:
        """Ends at which the certified bounds of log delta are on the right side of the target.

        Each end steps outward from the root, first by the width there, then by twice as much each time. Its states:
        *certified*, the bound is on its side of the target; *gone*, the upper end is infinite or the lower one 0, which
        need no certificate; *given up* after ``STEPS`` doublings, which makes the end infinite, or 0.
        """
        at_root = self.log_delta(root)
        upper, found = root, at_root
        step = max(at_root.upper - target[0], 0.0) / slope * 1.01 + 1e-15 * root
        for _ in range(STEPS):
            if found.upper <= target[0]:
                break
            upper, step = upper + step, 2 * step + math.ulp(upper)
            if upper == math.inf:
                break
            found = self.log_delta(upper)
        else:
            upper = math.inf
        lower, found = root, at_root
        step = max(target[1] - at_root.lower, 0.0) / slope * 1.01 + 1e-15 * root
        for _ in range(STEPS):
            if found.lower > target[1]:
                break
            lower, step = lower - step, 2 * step + math.ulp(root)
            if lower <= 0:
                break
            found = self.log_delta(lower)
        else:
            lower = 0.0
        lower = max(lower, 0.0)
        return Interval(lower, min(max(root, lower), upper), upper)


def _step(gain: float, slope: float, bend: float) -> float:
    """The root d of ``gain - slope d - bend d^2 / 2``, at most 2 / slope in size; a large bend is left out."""
    bent = 2 * bend * gain / (slope * slope)
    step = 2 * gain / (slope * (1 + math.sqrt(1 + bent))) if abs(bent) < MUCH else gain / slope
    return min(max(step, -2.0 / slope), 2.0 / slope)
