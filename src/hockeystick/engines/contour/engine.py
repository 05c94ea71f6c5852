"""Certified epsilon and log delta by the trapezoid rule on a vertical line through the saddle point.

With ``F(z) = K(z) - eps z - log z - log(1 + z)`` and t > 0, ``delta(eps) = (1 / 2 pi) int e^(F(t + is)) ds``, and by
Poisson summation the trapezoid rule of step ``2 pi / P`` is exactly

    S = (1 / P) sum_j e^(F(t + 2 pi i j / P)) = sum_m e^(t P m) delta(eps + P m) .

Every alias is positive, so S is an upper bound at any step. The excess is at most (delta <= 1 to the left, a Chernoff
bound at the tilt t + theta to the right)

    1 / (e^(tP) - 1)  +  e^(K(t+theta) - (t+theta) eps) peak(t+theta) / (e^(theta P) - 1),   peak(t) = t^t /
    (1+t)^(1+t) .

The sum is cut where what is left out is bound to be small (``engines/contour/cut.py``). Each value of K comes with a
bound on its error, which enters the sum as ``|e^F| (e^error - 1)``.

Less tilt than the saddle point's gives a shorter period where the right tail is heavy, and lets rounding weigh more:
``e^(K(t) - t eps)`` is what every error is multiplied by. Where the moment generating function explodes at some t
(rare samples far out), the tilt stays below that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hockeystick.engines.contour.cut import SPARE, cut
from hockeystick.engines.contour.sweep import Terms
from hockeystick.engines.guide import Guide
from hockeystick.engines.interval import Interval
from hockeystick.errors import NotApplicableError
from hockeystick.numerics.exponential_sum import BLOCK, blocked_sum
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.pairs.renyi import log_peak
from hockeystick.pairs.transform import Line, Transform

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

DEFAULT_GAP = 1e-6
COARSE = 0.05  # gap from which on any upper bound may be of use
TILTS = (1.0, 0.85, 0.7, 0.55, 0.4)  # of the saddle point: heavier right tails want less tilt and a shorter period
EXTRA_TILTS = np.array([0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 2.0, 4.0])  # theta, of t
ROUNDINGS = 500.0  # of about which the cumulants suffer
SUM_ROUNDINGS = 60.0  # and of which the sum does
MAX_EVALUATIONS = 40_000_000  # of elementary functions: beyond, they take seconds
SHORT = 3000  # points of a sum whose place is only guessed
Aim = tuple[Guide, tuple[float, float], float, float]
"""Guide; saddle point and where it may be believed; epsilon; log delta: where a contour is laid."""
MAX_POINTS = 500_000  # of the contour
LEAST_TOLERANCE = 1e-13
GUIDES = 3  # that see deeper and deeper
CLOSE = 0.03  # of the error of the sum: a root so near that it adds nothing to the width
HOPELESS = 0.3  # relative gap at a second attempt: rounding leaves nothing
ATTEMPTS = 4  # at a contour that reaches the gap


class ContourEngine:
    """Certified epsilon and log delta of one direction with finite losses.

    Args:
        composition: pairs and counts; mass at infinite loss is the caller's.

    Raises:
        NotApplicableError: a pair without a characteristic function, or none that falls off.
    """

    def __init__(self, composition: Composition) -> None:
        self.composition = composition
        self._transforms: list[tuple[Transform, int]] = []
        for pair, count in composition.rounds:
            transform = pair.transform
            if transform is None:
                raise NotApplicableError(f"no characteristic function is implemented for {type(pair).__name__}")
            self._transforms.append((transform, count))

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Interval of ``log E (1 - e^(eps - L))_+`` at an epsilon below the supremum, of width at most about gap.

        Where only a coarse interval is asked and there is no contour, a Chernoff bound: ``K(t) - t eps + log peak(t)``.
        """
        gap = gap or DEFAULT_GAP
        try:
            return self.at(epsilon, gap)[0]
        except NotApplicableError as error:
            tilt = Guide.reaching(self.composition, epsilon)[1]
            bound = min(upper(self._transforms, tilt) - tilt * epsilon + log_peak(tilt), 0.0)
            if gap < COARSE or not math.isfinite(bound):
                raise
            slip = SPARE * (1 + abs(tilt * epsilon))
            return Interval(-math.inf, bound, min(bound + slip, 0.0), f"a Chernoff bound: {error}", "contour")

    def at(self, epsilon: float, gap: float) -> tuple[Interval, Terms]:
        """Interval of log delta at an epsilon, and the contour behind it, which serves the epsilons around it too.

        Raises:
            NotApplicableError: there is no contour.
        """
        guide, tilt, depth = Guide.reaching(self.composition, epsilon)
        guide, tilt, limit = self._seeing(guide, min(depth, -50.0), lambda guide: guide.saddle(epsilon))
        depth = min(guide.cumulants(tilt).k0 - tilt * epsilon + log_peak(tilt), 0.0)
        depth = max(min(depth, guide.log_delta(epsilon)), depth - 20.0)
        sharpness, best, terms = 0.2, None, None
        for _ in range(ATTEMPTS):
            contour = _Contour(self._transforms, guide, (tilt, limit), epsilon, depth, sharpness * gap)
            found = contour.log_delta(epsilon)
            if best is None or found.upper - found.lower < best.upper - best.lower:
                best, terms = found, contour.terms
            if found.upper - found.lower <= gap:
                break
            if math.isfinite(found.estimate) and found.upper < depth - 0.5:
                depth = found.estimate - 0.1  # it lay deeper than was thought
            else:
                sharpness *= 0.05
        assert best is not None
        assert terms is not None
        return _labelled(best, best.upper - best.lower <= gap, tilt), terms

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Interval of ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``, relative width about gap.

        Where only a coarse interval is asked and there is no contour, the epsilon of the Chernoff bound.
        """
        gap = gap or DEFAULT_GAP
        try:
            return self._epsilon(log_delta, gap)
        except NotApplicableError as error:
            tilt = _placed_at(log_delta[0])(Guide(self.composition, log_delta[0] - 50.0))
            bound = max((upper(self._transforms, tilt) - log_delta[0] + log_peak(tilt)) / tilt, 0.0)
            if gap < COARSE or not math.isfinite(bound):
                raise
            slip = SPARE * (bound + abs(log_delta[0]) / tilt)
            return Interval(0.0, bound, bound + slip, f"a Chernoff bound: {error}", "contour")

    def _epsilon(self, log_delta: tuple[float, float], gap: float) -> Interval:
        target = log_delta[0]
        guide = Guide(self.composition, target - 50.0)
        place = _placed_at(target)
        guide, tilt, limit = self._seeing(guide, target - 50.0, place)
        guess = max(guide.epsilon(tilt), 0.0)
        slope, sharpness, best = tilt, 0.1, None
        for attempt in range(ATTEMPTS):
            tolerance = min(sharpness * gap * guess * slope, 1e-2) if guess > 0 else 1e-4
            aim = guide, (tilt, limit), guess, target
            coarse = False
            if attempt:
                contour = _Contour(self._transforms, *aim, tolerance)
            else:
                contour, coarse = self._first(aim, tolerance)
            root, slope = contour.solve(target, guess)
            found = contour.certified(log_delta, root, slope)
            best = found if best is None or found.upper - found.lower < best.upper - best.lower else best
            if found.upper - found.lower <= gap * found.upper or root == guess == 0.0:
                break
            if attempt and not found.upper - found.lower <= HOPELESS * found.upper:
                break
            if coarse:
                sharpness = 0.3
            elif abs(root - guess) * slope < 0.3:  # it is not the place that was wrong
                sharpness *= 0.05
            guess, tilt = root, min(guide.saddle(root), 0.99 * limit)
        assert best is not None
        return _labelled(best, best.upper - best.lower <= gap * best.upper < math.inf, tilt)

    def _first(self, aim: Aim, tolerance: float) -> tuple[_Contour, bool]:
        """A first contour; where it would be long, a coarse one, which is enough to see how far off the guess was."""
        try:
            return _Contour(self._transforms, *aim, tolerance, SHORT), False
        except NotApplicableError:
            return _Contour(self._transforms, *aim, max(tolerance, 1e-2)), True

    def _seeing(self, guide: Guide, floor: float, place: Callable[[Guide], float]) -> tuple[Guide, float, float]:
        """A guide whose nodes reach as far as the tilt looks, the tilt, and up to where the guide may be believed.

        K(t) is held against the certified bound. Where deeper nodes do not help, because a hump far out takes over
        within a small step of t, the tilt stays below that step.
        """
        first = guide
        for _ in range(GUIDES):
            tilt = place(guide)
            if self._sees(guide, tilt):
                return guide, tilt, math.inf
            floor *= 4.0
            guide = Guide(self.composition, floor)
        low, high = math.log(place(first)) - 25.0, math.log(place(first))
        while high - low > 0.01:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._sees(first, math.exp(middle)) else (low, middle)
        return first, 0.99 * math.exp(low), math.exp(low)

    def _sees(self, guide: Guide, tilt: float) -> bool:
        seen = guide.cumulants(tilt).k0
        return upper(self._transforms, tilt) <= seen + 0.1 + 0.01 * abs(seen)


def _labelled(found: Interval, narrow: bool, tilt: float) -> Interval:
    limited = None if narrow else "rounding or remainders keep it from the asked gap"
    return replace(found, engine="contour", limited=limited, tilt=tilt)


def _placed_at(log_delta: float) -> Callable[[Guide], float]:
    """The saddle point of the epsilon >= 0 at which log delta takes a value."""

    def place(guide: Guide) -> float:
        tilt = guide.tilt_for_delta(log_delta)
        return tilt if guide.epsilon(tilt) > 0 else guide.saddle(0.0)

    return place


def upper(transforms: list[tuple[Transform, int]], t: float) -> float:
    """A certified upper bound on K(t); ``inf`` where there is none."""
    rounds = sum(k for _, k in transforms)
    with np.errstate(over="ignore", invalid="ignore"):
        total = sum(k * transform.upper(t, 1e-3 / rounds) for transform, k in transforms)
    return math.inf if math.isnan(total) else total + SPARE * (1 + abs(total))


class _Contour:
    """One line with its nodes, period and remainders.

    Args:
        transforms: characteristic function and count of each distinct round.
        guide: approximate cumulants.
        saddle: saddle point of epsilon, and the tilt up to which the guide may be believed.
        epsilon: where to look.
        depth: about log delta there.
        tolerance: wanted relative size of the remainders together.
        longest: most points of the sum.

    Raises:
        NotApplicableError: it would be longer, or a remainder cannot be bounded.
    """

    def __init__(
        self,
        transforms: list[tuple[Transform, int]],
        guide: Guide,
        saddle: tuple[float, float],
        epsilon: float,
        depth: float,
        tolerance: float,
        longest: int = MAX_POINTS,
    ) -> None:
        self._transforms, self._guide = transforms, guide
        self._tolerance = tolerance = max(tolerance, LEAST_TOLERANCE)
        wanted = depth + math.log(tolerance) - 2.0  # log of what each remainder may be
        self.t, self._theta, self.period = self._line(*saddle, epsilon, depth, tolerance)
        self._k_right = upper(transforms, self.t + self._theta)
        if not math.isfinite(self._k_right):
            raise NotApplicableError("a characteristic function is out of reach at this tilt")
        tilted = self.t + self._theta
        right = (self._k_right - tilted * epsilon + log_peak(tilted) - wanted + 1.0) / self._theta
        self.period = max(self.period, right)  # the guide's K may have been too small
        if not 0 < self.period < math.inf:
            raise NotApplicableError("the aliases of the contour cannot be bounded")
        cumulants = guide.cumulants(self.t)
        top = cumulants.k0 - self.t * epsilon
        step = 2 * math.pi / self.period
        reach, self._log_tail = cut(transforms, self.t, step, wanted - top, cumulants.k2, longest)
        count = math.ceil(reach / step) + 1
        self.s = step * np.arange(count, dtype=np.float64)
        # an error of K weighs e^(K - t eps), the sum of the moduli, against delta
        inner = max(0.05 * tolerance * math.exp(min(depth - top, 0.0)), 1e-25)
        rounds = sum(k for _, k in transforms)
        lines = [(transform.line(self.t, float(self.s[-1]), inner / rounds), k) for transform, k in transforms]
        evaluations = sum(line.cost(count) for line, _ in lines)
        if evaluations > MAX_EVALUATIONS:
            raise NotApplicableError(f"the contour would need {evaluations:.0e} evaluations")
        self._k, self._k_error = self._summed(lines, step, count)
        self._k_top = float(self._k[0].real + self._k_error[0])
        self._z = self.t + 1j * self.s
        if float(self._k.real.max()) > self._k_top + 1.0:  # |m(t + is)| <= m(t): nothing but rounding is left
            raise NotApplicableError("a characteristic function is out of reach")
        self._terms = np.exp(self._k - self._k_top) / (self._z * (1 + self._z))
        self._terms[1:] *= 2
        self._sizes = np.abs(self._terms)

    @property
    def terms(self) -> Terms:
        """The sum as data, to be taken at other epsilons."""
        right = self._theta, self._k_right
        terms = self._terms.astype(np.complex128, copy=False)
        return Terms(self.s, terms, self._k_error, self._k_top, self.t, self.period, right, self._log_tail)

    @staticmethod
    def _summed(lines: list[tuple[Line, int]], step: float, count: int) -> tuple[ComplexArray, Array]:
        """K of the composition on the line, and its error."""
        log_sum, error = np.zeros(count, dtype=np.complex128), np.zeros(count)
        with np.errstate(over="ignore", invalid="ignore"):  # infinities are told by their error
            for line, k in lines:
                values, errors = line.cumulants(step, count)
                log_sum += k * values
                error += k * errors + (2 + len(lines)) * UNIT_ROUNDOFF * k * np.abs(values)
        if not (np.isfinite(log_sum).all() and np.isfinite(error).all()):
            raise NotApplicableError("a characteristic function is out of reach")
        return log_sum, error

    def _line(
        self, saddle: float, limit: float, epsilon: float, depth: float, tolerance: float
    ) -> tuple[float, float, float]:
        """Tilt, extra tilt for the right alias, and period: the shortest period among a few tilts.

        Less tilt makes rounding weigh more: only as much of that is taken as the tolerance has room for.
        """
        wanted = depth + math.log(tolerance) - 2.0
        tilts = np.array(TILTS) * saddle
        k0, k1, _ = self._guide.curves(tilts)
        base = k0 - tilts * epsilon - np.log(tilts) - np.log1p(tilts)
        cumulant = np.abs(k0) + tilts * np.abs(k1)
        noise = np.log(UNIT_ROUNDOFF * (SUM_ROUNDINGS + ROUNDINGS * cumulant)) + base - base[0]
        weighs = max(float(k0[0]) - saddle * epsilon - depth, 0.0)  # log of how much at the saddle point already
        room = math.log(0.1 * tolerance) - weighs
        keep = noise <= max(room, float(noise.min()))
        tilts = tilts[keep]
        thetas = tilts[:, None] * EXTRA_TILTS
        tilted = tilts[:, None] + thetas
        with np.errstate(over="ignore"):
            k_right = self._guide.values(tilted.ravel()).reshape(tilted.shape)
        peaks = -np.log1p(tilted) - tilted * np.log1p(1 / tilted)
        right = (k_right - tilted * epsilon + peaks - wanted + 1.0) / thetas
        right = np.where(tilted < limit, right, np.inf)
        periods = np.maximum(right, ((1.0 - wanted) / tilts)[:, None])
        i, j = np.unravel_index(int(np.argmin(periods)), periods.shape)
        return float(tilts[i]), float(thetas[i, j]), float(periods[i, j])

    def _sums(self, epsilon: float) -> tuple[float, float, float]:
        """``(S, error of S, d S / d eps)`` of the cut sum, all times ``e^(t eps - K_top)``."""
        # e^(-i eps s) for equidistant s, as a product of few exponentials: s = s[j B] + s[l]
        block = math.isqrt(len(self.s)) + 1
        phases = np.multiply.outer(np.exp(-1j * epsilon * self.s[::block]), np.exp(-1j * epsilon * self.s[:block]))
        values = self._terms * phases.ravel()[: len(self.s)]
        # exponent: K's own error, eps s, and a few roundings; then the sum
        error = self._k_error + UNIT_ROUNDOFF * (24 + 4 * abs(epsilon) * self.s + 4 * abs(self._k_top) + BLOCK)
        scale = 1 / self.period
        return (
            blocked_sum(values.real) * scale,
            float((self._sizes * np.expm1(np.minimum(error, 700.0))).sum()) * scale,
            -float((values * self._z).real.sum()) * scale,
        )

    def log_delta(self, epsilon: float) -> Interval:
        """Certified interval of log delta at an epsilon near the contour's own."""
        value, error, _ = self._sums(epsilon)
        scale = self._k_top - self.t * epsilon
        slip = 4 * UNIT_ROUNDOFF * (abs(self._k_top) + self.t * abs(epsilon) + abs(scale))
        tail = math.exp(min(self._log_tail, 700.0)) * (1 + SPARE)
        theta, tilted = self._theta, self.t + self._theta
        log_left = -_log_expm1(self.t * self.period)
        log_right = self._k_right - tilted * epsilon + log_peak(tilted) - _log_expm1(theta * self.period)
        alias = math.exp(min(np.logaddexp(log_left, log_right) - scale + SPARE + slip, 700.0))
        high, low = value + error + tail, value - error - tail - alias
        upper = math.log(high) + scale + slip if high > 0 else math.inf
        lower = math.log(low) + scale - slip if low > 0 else -math.inf
        upper = min(upper, 0.0)
        middle = math.log(value) + scale if value > 0 else lower
        return Interval(min(lower, upper), min(max(middle, lower), upper), upper)

    def solve(self, target: float, guess: float) -> tuple[float, float]:
        """The epsilon >= 0 at which log S meets the target, and ``-d log S / d eps`` there: Newton, not certified."""
        low, high, epsilon = 0.0, math.inf, guess
        best = (math.inf, guess, self.t)
        for i in range(100):
            value, error, derivative = self._sums(epsilon)
            known = value > 0 and derivative < 0
            gain = math.log(value) + self._k_top - self.t * epsilon - target if value > 0 else -math.inf
            if known and abs(gain) <= CLOSE * max(error / value, self._tolerance):
                return epsilon, -derivative / value
            low, high = (epsilon, high) if gain > 0 else (low, epsilon)
            slope = -derivative / value if known else math.nan
            if known:
                best = min(best, (abs(gain), epsilon, slope))
            step = min(max(gain / slope, -2.0 / slope), 2.0 / slope)
            if abs(step) <= 1e-14 * epsilon or epsilon == high == 0.0:
                return (epsilon, slope) if known else (epsilon, best[2])
            updated = epsilon + step
            if not low < updated < high:  # nor where it is not a number
                if low == 0.0 and i % 2 == 0:
                    updated = 0.0  # it may be 0
                else:
                    updated = 2 * low + 1e-300 if high == math.inf else 0.5 * (low + high)
            if high - low <= 1e-14 * high < math.inf:
                break
            epsilon = updated
        return best[1:]

    def certified(self, target: tuple[float, float], root: float, slope: float) -> Interval:
        """Ends at which the certified bounds of log delta are on the right side of the target."""
        at_root = self.log_delta(root)
        upper = root
        step = max(at_root.upper - target[0], 0.0) / slope * 1.01 + 1e-15 * root
        for _ in range(60):
            if self.log_delta(upper).upper <= target[0]:
                break
            upper, step = upper + step, 2 * step + math.ulp(upper)
        else:
            upper = math.inf
        lower = root
        step = max(target[1] - at_root.lower, 0.0) / slope * 1.01 + 1e-15 * root
        for _ in range(60):
            if lower <= 0 or self.log_delta(lower).lower > target[1]:
                break
            lower, step = lower - step, 2 * step + math.ulp(root)
        else:
            lower = 0.0
        lower = max(lower, 0.0)
        return Interval(lower, min(max(root, lower), upper), upper)


def _log_expm1(x: float) -> float:
    """``log(e^x - 1)``."""
    return x + math.log(-math.expm1(-x))
