"""Certified epsilon and log delta by the trapezoid rule on a vertical line through the saddle point.

With ``F(z) = K(z) - eps z - log z - log(1 + z)`` and t > 0, ``delta(eps) = (1 / 2 pi) int e^(F(t + is)) ds``, and by
Poisson summation the trapezoid rule of step ``2 pi / P`` is exactly

    S = (1 / P) sum_j e^(F(t + 2 pi i j / P)) = sum_m e^(t P m) delta(eps + P m) .

Every alias is positive, so S is an upper bound at any step. The excess is at most (delta <= 1 to the left, a Chernoff
bound at the tilt t + theta to the right)

    1 / (e^(tP) - 1)  +  e^(K(t+theta) - (t+theta) eps) peak(t+theta) / (e^(theta P) - 1),   peak(t) = t^t /
    (1+t)^(1+t) .

The sum is cut at ``|s| = S``. What is left out is at most ``(2 / P) sum e^(K(t) - t eps) rho(s_j) / s_j^2`` with
``rho(s) = prod |m_i(t+is) / m_i(t)|^k_i``, bounded interval by interval (:meth:`Transform.log_envelope`), and beyond
the last by total variation. Each value of K comes with a bound on its error, which enters the sum as ``|e^F| (e^error
- 1)``.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hockeystick.engines.composition import Composition, Guide, log_peak
from hockeystick.engines.interval import Interval, NotApplicableError
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.transform import Line, Transform

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

DEFAULT_GAP = 1e-6
LEAST_ROUNDS = 4  # sampled rounds; a Gaussian's own transform falls off at once
TILTS = (1.0, 0.85, 0.7, 0.55, 0.4)  # of the saddle point: heavier right tails want less tilt and a shorter period
MAX_AMPLIFICATION = 12.0  # log of how much more rounding weighs at less tilt
MAX_EVALUATIONS = 6_000_000  # of elementary functions: beyond, the grid engine is quicker
MAX_POINTS = 200_000  # of the contour
LEAST_TOLERANCE = 1e-13
MAX_EDGES = 2000  # of intervals on which the transforms are bounded
SPARE = 1e-9  # relative: pays for the roundings of the remainders themselves


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
        """Interval of ``log E (1 - e^(eps - L))_+`` at an epsilon below the supremum, of width at most about gap."""
        gap = gap or DEFAULT_GAP
        guide, tilt, depth = Guide.reaching(self.composition, epsilon)
        depth = max(min(depth, guide.log_delta(epsilon)), depth - 20.0)
        for _ in range(4):
            contour = _Contour(self._transforms, guide, tilt, epsilon, depth, 0.2 * gap)
            found = contour.log_delta(epsilon)
            if found.upper - found.lower <= gap or found.upper > depth - 0.5:
                break
            depth = found.estimate - 0.1
        return _labelled(found, found.upper - found.lower <= gap)

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Interval of ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``, relative width about gap."""
        gap = gap or DEFAULT_GAP
        target = log_delta[0]
        guide = Guide(self.composition, target - 50.0)
        tilt = guide.tilt_for_delta(target)
        guess = max(guide.epsilon(tilt), 0.0)
        if guess == 0.0:
            tilt = guide.saddle(0.0)
        slope = tilt
        for _ in range(6):
            tolerance = min(0.1 * gap * guess * slope, 1e-2) if guess > 0 else 1e-4
            contour = _Contour(self._transforms, guide, tilt, guess, target, tolerance)
            root, slope = contour.solve(target, guess)
            found = contour.certified(log_delta, root, slope)
            if found.upper - found.lower <= gap * found.upper or root == guess == 0.0:
                break
            guess, tilt = root, guide.saddle(root)
        return _labelled(found, found.upper - found.lower <= gap * found.upper)


def _labelled(found: Interval, narrow: bool) -> Interval:
    return replace(
        found, engine="contour", limited=None if narrow else "rounding or remainders keep it from the asked gap"
    )


class _Contour:
    """One line with its nodes, period and remainders.

    Args:
        transforms: characteristic function and count of each distinct round.
        guide: approximate cumulants.
        saddle: saddle point of epsilon.
        epsilon: where to look.
        depth: about log delta there.
        tolerance: wanted relative size of the remainders together.
    """

    def __init__(
        self,
        transforms: list[tuple[Transform, int]],
        guide: Guide,
        saddle: float,
        epsilon: float,
        depth: float,
        tolerance: float,
    ) -> None:
        self._transforms, self._guide = transforms, guide
        tolerance = max(tolerance, LEAST_TOLERANCE)
        wanted = depth + math.log(tolerance) - 2.0  # log of what each remainder may be
        self.t, self._theta, self.period = self._line(saddle, epsilon, wanted)
        self._k_right = self._upper(self.t + self._theta)
        if not math.isfinite(self._k_right):
            raise NotApplicableError("a characteristic function is out of reach at this tilt")
        tilted = self.t + self._theta
        right = (self._k_right - tilted * epsilon + log_peak(tilted) - wanted + 1.0) / self._theta
        self.period = max(self.period, right)  # the guide's K may have been too small
        if not math.isfinite(self.period):
            raise NotApplicableError("the aliases of the contour cannot be bounded")
        top = guide.cumulants(self.t).k0 - self.t * epsilon
        reach, self._log_tail = self._cut(top, wanted)
        if not reach * self.period < 2 * math.pi * MAX_POINTS:
            raise NotApplicableError("the contour would be too long")
        count = math.ceil(reach * self.period / (2 * math.pi)) + 1
        self.s = 2 * math.pi / self.period * np.arange(count, dtype=np.float64)
        # an error of K weighs e^(K - t eps), the sum of the moduli, against delta
        inner = max(0.05 * tolerance * math.exp(min(depth - top, 0.0)), 1e-25)
        rounds = sum(k for _, k in transforms)
        lines: list[tuple[Line, int]] = [
            (transform.line(self.t, float(self.s[-1]), inner / rounds), k) for transform, k in transforms
        ]
        cost = sum(line.cost for line, _ in lines) * count
        if cost > MAX_EVALUATIONS:
            raise NotApplicableError(f"the contour would need {cost:.0e} evaluations")
        log_sum = np.zeros(count, dtype=np.complex128)
        error = np.zeros(count)
        for line, k in lines:
            values, errors = line.cumulants(self.s)
            log_sum += k * values
            error += k * errors + 2 * UNIT_ROUNDOFF * k * np.abs(values)
        if not (np.isfinite(log_sum).all() and np.isfinite(error).all()):
            raise NotApplicableError("the characteristic function leaves the range of a double")
        self._k, self._k_error = log_sum, error
        self._k_top = float(log_sum[0].real + error[0])

    def _line(self, saddle: float, epsilon: float, wanted: float) -> tuple[float, float, float]:
        """Tilt, extra tilt for the right alias, and period: the shortest period among a few tilts."""
        best = (math.inf, 0.0, 0.0)
        least = math.inf
        for factor in TILTS:
            t = factor * saddle
            base = self._guide.cumulants(t).k0 - t * epsilon - math.log(t) - math.log1p(t)
            least = min(least, base)
            if base > least + MAX_AMPLIFICATION:
                break
            left = (1.0 - wanted) / t
            for theta in t * np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0]):
                tilted = t + float(theta)
                right = (self._guide.cumulants(tilted).k0 - tilted * epsilon + log_peak(tilted) - wanted + 1.0) / theta
                best = min(best, (max(left, float(right)), t, float(theta)))
        period, t, theta = best
        return t, theta, period

    def _upper(self, t: float) -> float:
        """A certified upper bound on K(t)."""
        total = 0.0
        rounds = sum(k for _, k in self._transforms)
        for transform, k in self._transforms:
            values, errors = transform.line(t, 0.0, 1e-3 / rounds).cumulants(np.zeros(1))
            total += k * float(values[0].real + errors[0])
        if math.isnan(total):
            return math.inf
        return total + SPARE * (1 + abs(total))

    def _cut(self, top: float, wanted: float) -> tuple[float, float]:
        """Where to cut the sum, and the log of the bound on what is left out, less ``K(t) - t eps``."""
        depth = wanted - top
        variance = max(self._guide.cumulants(self.t).k2, 1e-300)
        variation = [(transform.log_variation(self.t), k) for transform, k in self._transforms]
        finite = [(v, k) for v, k in variation if math.isfinite(v)]
        power = sum(k for _, k in finite)
        at_once = any(
            transform.mean_distance(self.t) and not transform.envelope_reach(self.t)
            for transform, _ in self._transforms
        )
        if not at_once and power < LEAST_ROUNDS:
            raise NotApplicableError(f"fewer than {LEAST_ROUNDS} rounds have a characteristic function that falls off")
        # where total variation alone suffices: sum k (v - log s) - log(pi (power + 1) s) <= depth - 3
        last = math.exp((sum(k * v for v, k in finite) + 3.0 - depth) / (power + 1))
        edges = self._edges(0.6 * math.sqrt(2 * max(-depth, 1.0) / variance), last)
        log_rho = np.zeros(len(edges) - 1)
        for (transform, k), (v, _) in zip(self._transforms, variation, strict=True):
            log_rho += k * np.minimum(transform.log_envelope(self.t, edges, k), np.minimum(v - np.log(edges[:-1]), 0.0))
        step = 2 * math.pi / self.period
        with np.errstate(over="ignore"):
            pieces = np.exp(log_rho - depth) / math.pi * (step / edges[:-1] ** 2 + 1 / edges[:-1] - 1 / edges[1:])
        beyond = sum(k * (v - math.log(edges[-1])) for v, k in finite) - math.log(math.pi * (power + 1) * edges[-1])
        beyond += math.log1p(step * (power + 2) / edges[-1]) - depth
        tails = np.append(np.cumsum(pieces[::-1])[::-1], 0.0) + math.exp(min(beyond, 700.0))
        enough = np.flatnonzero(tails <= 1.0)
        if len(enough) == 0:
            raise NotApplicableError("the characteristic function does not fall off fast enough")
        first = int(enough[0])
        return float(edges[first]), math.log(max(tails[first], 1e-300)) + depth + 1e-6

    def _edges(self, first: float, last: float) -> Array:
        """Between which to bound the transforms: close where their values are looked at, else geometric."""
        turn = 1.0 / max(max(transform.mean_distance(self.t) for transform, _ in self._transforms), 1e-300)
        looked = min(last, 60 * turn, max(transform.envelope_reach(self.t) for transform, _ in self._transforms))
        edges = [min(first, 0.5 * last)]
        while edges[-1] < last:
            s = edges[-1]
            if s < 0.08 * turn or s >= looked:
                gap = s * (2**0.25 - 1)
            else:  # values are looked at: small against 1 - |phi|, about (s / turn)^2 / 2 to begin with
                gap = min(0.25 * s * s / turn, 0.35 * turn) if s < 4 * turn else turn
            edges.append(s + gap)
            if len(edges) > MAX_EDGES:
                raise NotApplicableError("too few rounds for the contour: the sum would be too long")
        return np.array(edges)

    def _sums(self, epsilon: float) -> tuple[float, float, float]:
        """``(S, error of S, d S / d eps)`` of the cut sum, all times ``e^(t eps - K_top)``."""
        z = self.t + 1j * self.s
        values = np.exp(self._k - self._k_top - 1j * epsilon * self.s) / (z * (1 + z))
        values[1:] *= 2
        sizes = np.abs(values)
        # exponent: K's own error, eps s, and a few roundings; then the sum
        error = self._k_error + UNIT_ROUNDOFF * (16 + 4 * abs(epsilon) * self.s + 4 * abs(self._k_top) + len(z))
        scale = 1 / self.period
        return (
            float(values.real.sum()) * scale,
            float((sizes * np.expm1(np.minimum(error, 700.0))).sum()) * scale,
            -float((values * z).real.sum()) * scale,
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
        epsilon, slope = guess, self.t
        for _ in range(40):
            value, _, derivative = self._sums(epsilon)
            if value <= 0:
                epsilon *= 0.5
                continue
            log_value = math.log(value) + self._k_top - self.t * epsilon
            slope = -derivative / value
            if slope <= 0:
                break
            step = (log_value - target) / slope
            step = min(max(step, -2.0 / slope), 2.0 / slope)
            updated = max(epsilon + step, 0.0)
            if abs(updated - epsilon) <= 1e-15 * updated or (updated == epsilon == 0.0):
                return updated, slope
            epsilon = updated
        return epsilon, max(slope, 1e-300)

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
