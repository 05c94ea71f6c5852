"""The characteristic function of a Poisson-subsampled Gaussian, in all three directions.

With phi the standard normal density, ``g(x) = 1 - q + q e^(mu x - mu^2/2)``, ``u = log g(x)``, ``v = log g(-x)``:

- remove: ``m(z) = int phi g^(1+z)``, loss u;
- add: ``m(z) = int phi g^(-z)``, loss -u;
- replace-one: ``m(z) = int phi g(x)^(1+z) g(-x)^(-z)``, loss u - v.

**Stable form.** ``int phi (g - 1) = 0``, so the first-order terms may be taken out on paper: with A the real part of
the exponent, D the first-order loss (``e^u - 1``, ``-(e^u - 1)``, ``e^u - e^v``), L the loss,

    m - 1 = int phi [ e^A - 1 - (first order of A) - 2 e^A sin^2(sL/2) + i (e^A sin sL - s D) ]

every part of which is computed to a few roundings of its own size: k log m then errs by u times the total cumulant,
not by u k.

**Remainders** of the trapezoid rule with step dx on [x_low, x_high]:

- step: for an integrand analytic in ``|Im x| < a`` the rule errs by at most ``2 M / (e^(2 pi a / dx) - 1)``, M the
  larger integral of the modulus along ``Im x = +-a`` (Trefethen, Weideman 2014, SIAM Review 56(3), Theorem 5.1).
  ``|phi(x + ia)| = phi(x) e^(a^2/2)``; ``g(x) cos(mu a / 2) <= |g(x + ia)| <= g(x)`` and ``|arg g| <= mu a`` for ``mu
  a < pi``, 1 - q and q e^(..) being positive weights of 1 and ``e^(i mu a)``. So ``M <= m(t) e^(a^2/2 + c s mu a)
  cos(mu a / 2)^(-d t)``, c = 1 (2 for replace-one), d = 0 for remove and 1 otherwise; the first-order terms add
  ``e^(a^2/2) (1 + |coefficients| (1 + 1))``.
- range: beyond the ends ``g^(1+t) <= 2^t ((1-q)^(1+t) + q^(1+t) e^((1+t)(mu x - mu^2/2)))`` for t >= 0 and ``g^(-t)
  <= (1-q)^(-t)``, so what is left out is at most a sum of normal tails; a sum beyond the last node of a decreasing
  function is below its integral from that node.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.logarithm import exp_beyond_first, log_one_plus
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.gaussian import HALF_LOG_TWO_PI
from hockeystick.pairs.poisson import mixed_loss, mixed_slope, rate_error

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

CHUNK = 1 << 19  # evaluations at once
ENVELOPE_NODES = 16000  # of the lines on which the transform is bounded by its values
MAX_NODES = 1 << 20  # of a line
MOMENT_TOLERANCE = 1e-11  # relative, of log m(t) in a Renyi bound
MAX_LOG = 650.0  # of m(t), there
MAX_TURN = 1e4  # of t mu, there
SEARCH_CELLS = 200  # of x, to find the core of the tilted law
WINDOWS = 48  # of the loss, over which its spread is added up
ARCS = (0.6, 2.0)  # largest angle v (L - L') that is used of it


class Kind(Enum):
    """Which of the three; the coefficients (of u, of v) in the exponent are ``constant + slope * z``."""

    REMOVE = ((1.0, 1.0), (0.0, 0.0))
    ADD = ((0.0, -1.0), (0.0, 0.0))
    REPLACE = ((1.0, 1.0), (0.0, -1.0))

    def coefficients(self, t: float) -> tuple[float, float]:
        """Real coefficients of u and v at Re z = t."""
        (a0, a1), (b0, b1) = self.value
        return a0 + a1 * t, b0 + b1 * t

    @property
    def slopes(self) -> tuple[float, float]:
        """Coefficients of u and v in the loss."""
        return self.value[0][1], self.value[1][1]


@dataclass(frozen=True, slots=True)
class MixtureTransform:
    """The characteristic function of one sampled round."""

    mu: float
    rate: float
    kind: Kind

    def line(self, t: float, reach: float, tolerance: float) -> MixtureLine:
        """Nodes fine and wide enough for ``|Im z| <= reach``."""
        dx, a = self._step(t, reach, tolerance)
        low, high = self._range(t, tolerance)
        return MixtureLine(self, t, dx, a, low, high)

    def exponents(self, x: Array, t: float) -> tuple[Array, Array, Array, Array]:
        """A, L, u, v at the nodes."""
        u = mixed_loss(self.mu * (x - 0.5 * self.mu), self.rate)
        v = mixed_loss(self.mu * (-x - 0.5 * self.mu), self.rate) if self.kind is Kind.REPLACE else np.zeros_like(x)
        a, b = self.kind.coefficients(t)
        slope_u, slope_v = self.kind.slopes
        return a * u + b * v, slope_u * u + slope_v * v, u, v

    def _strip(self, a: Array, t: float, s: float) -> Array:
        """``log (M / m(t))`` of the module docstring, at half-widths a."""
        turns = 2.0 if self.kind is Kind.REPLACE else 1.0
        extra = np.zeros_like(a) if self.kind is Kind.REMOVE else -t * np.log(np.cos(0.5 * self.mu * a))
        out: Array = 0.5 * np.square(a) + turns * s * self.mu * a + extra
        return out

    def step_remainder(self, t: float, s: Array, dx: float, a: float, log_m: float) -> Array:
        """Bound on the error of m from the step."""
        strip = np.array([self._strip(np.array([a]), t, float(x))[0] for x in s])
        ca, cb = self.kind.coefficients(t)
        first_order = 1 + 2 * (abs(ca) + abs(cb) + 2 * np.abs(s))
        log_denominator = (
            math.log(math.expm1(2 * math.pi * a / dx)) if 2 * math.pi * a / dx < 700 else 2 * math.pi * a / dx
        )
        with np.errstate(over="ignore"):
            main = np.exp(math.log(2) + log_m + strip - log_denominator)
        return main + 2 * first_order * math.exp(0.5 * a * a - log_denominator)

    def _step(self, t: float, s: float, tolerance: float) -> tuple[float, float]:
        """The largest dx, and the strip, that keep the step remainder of m below ``tolerance m(t)``."""
        widest = 0.97 * math.pi / self.mu
        depth = math.log(16 / tolerance) + math.log1p(t + s)
        a = np.linspace(0.02, 1.0, 120) * min(widest, 2 * math.sqrt(2 * depth))
        dx = 2 * math.pi * a / (depth + self._strip(a, t, s))
        best = int(np.argmax(dx))
        return float(dx[best]), float(a[best])

    def _range(self, t: float, tolerance: float) -> tuple[float, float]:
        """Where the range remainder is below ``tolerance m(t)``, by the bound itself."""
        low, high = -6.0, self.mu + 6.0
        for _ in range(60):
            left, right = self.range_remainder(t, 0.0, low, high)
            if left > 0.1 * tolerance:
                low -= 0.75
            if right > 0.1 * tolerance:
                high += 0.75
            if max(left, right) <= 0.1 * tolerance:
                break
            if right > 1e3:
                high = max(high, (1 + t) * self.mu)
        return low, high

    def range_remainder(self, t: float, s: float, low: float, high: float) -> tuple[float, float]:
        """Bounds on what is left out of m - 1 below ``low`` and above ``high``."""
        from scipy.special import log_ndtr

        q, mu = self.rate, self.mu
        ca, cb = self.kind.coefficients(t)
        weight = abs(ca) + abs(cb) + 2 * s

        def tail(x: float) -> float:
            return float(log_ndtr(x)) * (1 - 1e-11)  # SciPy's is off by up to 2,000 units in the last place

        tail_low, tail_high = tail(low), tail(-high)
        shifted_low, shifted_high = tail(low + mu), tail(mu - high)

        def exp(x: float) -> float:
            return math.exp(min(x, 700.0))

        def first_order(log_tail: float, shifted: float) -> float:
            return (1 + weight) * exp(log_tail) + weight * (exp(log_tail) + q * exp(shifted))

        if self.kind is Kind.ADD:
            main_low = exp(-t * math.log1p(-q) + tail_low)
            main_high = exp(tail_high)
            return main_low + first_order(tail_low, tail_low), main_high + first_order(tail_high, shifted_high)
        ratio = -t * math.log1p(-q) if self.kind is Kind.REPLACE else 0.0
        lifted = (1 + t) * math.log(q) + 0.5 * t * (1 + t) * mu * mu
        if high <= (1 + t) * mu:  # not yet where the integrand falls
            return exp(tail_low + ratio) + first_order(tail_low, shifted_low), math.inf
        log_high = t * math.log(2) + ratio + max(tail_high, lifted + tail((1 + t) * mu - high)) + math.log(2)
        main_high = exp(log_high) if log_high < 650 else math.inf
        main_low = exp(tail_low + ratio)
        return main_low + first_order(tail_low, shifted_low), main_high + first_order(tail_high, shifted_high)

    def log_envelope(self, t: float, edges: Array, count: int) -> Array:
        """The better of two bounds.

        - Where v E|L - c| is small: from the spread of the core of the tilted law. With L, L' independent,
          ``|phi(v)|^2 = E cos v(L - L') <= 1 - sum_I E[1 - cos v(L - L'); both in I]`` over disjoint intervals I, and
          ``1 - cos y >= c(b) y^2`` for ``|y| <= b``, ``c(b) = (1 - cos b) / b^2``. For intervals of length at most
          ``b / v'`` all v in [v', v''] give ``|phi(v)|^2 <= 1 - c(b) v'^2 sum_I E[(L - L')^2; both in I]``. The
          expectations are bounded from below over cells of x, with the least density and the least distance in each.
        - Elsewhere: from values at the edges, and ``| |phi|' | <= E|L - c|`` between them.
        """
        out = np.zeros(len(edges) - 1)
        distance = self.mean_distance(t)
        gaps = np.diff(edges)
        far = np.flatnonzero(
            (gaps * distance < 1.05) & (edges[:-1] * distance > 0.08) & (edges[1:] <= self.envelope_reach(t))
        )
        near = np.ones(len(out), dtype=bool)
        near[far] = False
        low, high = self._range(t, 1e-6)
        log_m = self._log_moment(t)
        bound, until = 0.0, -math.inf
        for i in np.flatnonzero(near):
            if edges[i + 1] > until:
                until = 2 * edges[i]
                bound = self._log_core(t, float(edges[i]), low, high, log_m)
            out[i] = min(out[i], bound if edges[i + 1] <= until else 0.0)
        if len(far):
            at = np.unique(np.concatenate([edges[far], edges[far + 1]]))
            size = np.empty(len(at))
            octave = np.floor(np.log2(at))
            for one in np.unique(octave):  # longer lines need finer steps
                part = octave == one
                values, errors = self.line(t, float(at[part][-1]), 1e-2 / count).cumulants(at[part])
                size[part] = np.exp(np.minimum(values.real + errors - log_m + 1e-2 / count, 0.0))
            ends = np.maximum(np.interp(edges[far], at, size), np.interp(edges[far + 1], at, size))
            out[far] = np.minimum(out[far], np.log(np.minimum(ends + 0.5 * gaps[far] * distance, 1.0)))
        return out

    def envelope_reach(self, t: float) -> float:
        """Up to where values of the transform are cheap enough to be taken one by one."""
        low, high = self._range(t, 1e-6)
        return 2 * math.pi * ENVELOPE_NODES / ((high - low) * self.mu * (2 if self.kind is Kind.REPLACE else 1))

    def _log_core(self, t: float, v: float, low: float, high: float, log_m: float) -> float:
        """The first bound of :meth:`log_envelope` over [v, 2v]."""
        best = 0.0
        for b in ARCS:
            length = b / (2 * v)
            windows, heaviest = self._windows(t, length, low, high)
            spread = self._spread(t, windows[heaviest : heaviest + 2], length, log_m, 96)
            if len(windows) > 2:
                spread = max(spread, self._spread(t, windows, length, log_m, 24))
            gain = (1 - math.cos(b)) / b**2 * v**2 * spread
            best = min(best, 0.5 * math.log1p(-min(gain, 1 - 1e-16)))
        return best

    def mean_distance(self, t: float) -> float:
        """``E |L - c|``, c about the median, from the largest density and distance in cells of x."""
        low, high = self._range(t, 1e-9)
        edges: Array = low + (high - low) / SEARCH_CELLS * np.arange(SEARCH_CELLS + 1, dtype=np.float64)
        log_w, off = self._tilted(t, edges, self._log_moment(t) - 1e-6)
        mass = np.exp(log_w + off) * np.diff(edges)
        loss = self.exponents(edges, t)[1]
        median = loss[int(np.searchsorted(np.cumsum(mass), 0.5 * mass.sum()))]
        apart = np.abs(loss - median)
        # beyond the range: below 1e-9 of the mass, at distances that grow linearly against a normal tail
        return float((mass * np.maximum(apart[1:], apart[:-1])).sum()) + 1e-8 * float(apart.max() + self.mu)

    def _spread(self, t: float, windows: Array, length: float, log_m: float, cells: int) -> float:
        """A lower bound on ``sum_I E[(L - L')^2; both in I]``: least mass of each cell, least distance of each two."""
        low, width = windows[:-1, None], np.diff(windows)[:, None] / cells
        edges: Array = low + width * np.arange(cells + 1, dtype=np.float64)
        log_density, off = self._tilted(t, edges, log_m)
        loss = self.exponents(edges, t)[1]
        loss = np.abs(loss - loss[:, :1])
        mass = np.where(loss[:, 1:] <= length, np.exp(log_density - off) * width, 0.0)
        apart = np.maximum(loss[:, None, :-1] - loss[:, 1:, None], 0.0)
        return float(2 * (mass[:, :, None] * mass[:, None, :] * np.square(apart)).sum() * (1 - 1e-9))

    def _log_moment(self, t: float) -> float:
        """``log m(t)``, rounded up."""
        values, errors = self.line(t, 0.0, 1e-8).cumulants(np.zeros(1))
        return float(values[0].real + errors[0])

    def log_moment(self, t: float) -> float:
        """An upper bound on ``log m(t)`` to about 1e-11 of itself; ``inf`` where m is out of reach."""
        if not self._in_reach(t):
            return math.inf
        size = (self.rate * min(self.mu, 1.0)) ** 2 * min(t, 1.0)  # about log m(t) where that is small
        values, errors = self.line(t, 0.0, max(MOMENT_TOLERANCE * size, 1e-290)).cumulants(np.zeros(1))
        value = float(values[0].real + errors[0])
        return math.inf if math.isnan(value) else value

    def _in_reach(self, t: float) -> bool:
        """Whether m(t) is a double and its nodes are few."""
        largest = (1 + t) * math.log(self.rate) + 0.5 * t * (1 + t) * self.mu**2
        return (self.kind is Kind.ADD or largest < MAX_LOG) and t * self.mu < MAX_TURN

    def _windows(self, t: float, length: float, low: float, high: float) -> tuple[Array, int]:
        """Points of x between which the loss varies by about ``length``, and the index of the heaviest such window."""
        edges: Array = low + (high - low) / SEARCH_CELLS * np.arange(SEARCH_CELLS + 1, dtype=np.float64)
        exponent, loss, _, _ = self.exponents(edges, t)
        loss = np.abs(loss - loss[0])
        density = np.exp(exponent - 0.5 * np.square(edges) - (exponent - 0.5 * np.square(edges)).max())
        total = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
        ends = np.interp(loss + length, loss, edges)
        held = np.interp(ends, edges, total) - total
        start = loss[int(np.argmax(held * (np.interp(ends, edges, loss) - loss)))]
        before = min(int(start / length), WINDOWS // 4)
        after = max(1, min(math.ceil((loss[-1] - start) / length), WINDOWS))
        levels = start + length * (1 - 1e-6) * np.arange(-before, after + 1, dtype=np.float64)
        windows: Array = np.interp(levels, loss, edges)
        return windows, before

    def _tilted(self, t: float, edges: Array, log_m: float) -> tuple[Array, Array]:
        """The log of the tilted density (normalised) in the middle of cells of x, and how far off it may be within."""
        middle, half = 0.5 * (edges[..., 1:] + edges[..., :-1]), 0.5 * np.diff(edges)
        exponent = -0.5 * np.square(middle) - HALF_LOG_TWO_PI + self.exponents(middle, t)[0]
        ca, cb = self.kind.coefficients(t)
        # derivative of the exponent: -x + ca mu psi'(x) - cb mu psi'(-x), each part monotone
        lows, highs = -edges[..., 1:], -edges[..., :-1]
        for c, rising in ((ca, self._slope(edges)), (-cb, self._slope(-edges))):
            lows = lows + np.minimum(c * rising[..., 1:], c * rising[..., :-1])
            highs = highs + np.maximum(c * rising[..., 1:], c * rising[..., :-1])
        steepest = np.maximum(np.abs(lows), np.abs(highs))
        return exponent - log_m, half * steepest + 1e-7

    def _slope(self, x: Array) -> Array:
        """``d u / d x``."""
        towards = self.mu * (x - 0.5 * self.mu)
        return self.mu * mixed_slope(towards, mixed_loss(towards, self.rate), self.rate)

    def log_variation(self, t: float) -> float:
        """``|phi(s)| <= V / s``, V the total variation of w / L', w the tilted density of x: one integration by parts.

        V is bounded cell by cell: the largest value times the steepest logarithmic slope times the width. Beyond the
        cells w / L' is monotone and adds its end values.
        """
        low, high = self._range(t, 1e-6)
        edges: Array = low + (high - low) / SEARCH_CELLS * np.arange(SEARCH_CELLS + 1, dtype=np.float64)
        log_w, off = self._tilted(t, edges, self._log_moment(t))
        slope = self._slope(edges)
        least = np.minimum(slope[1:], slope[:-1])
        if self.kind is Kind.REPLACE:  # the sum of a rising and a falling part is not monotone
            rising, falling = self._slope(edges), self._slope(-edges)
            least = np.minimum(rising[1:], rising[:-1]) + np.minimum(falling[1:], falling[:-1])
        half = 0.5 * (edges[1] - edges[0])
        highest = log_w + off - np.log(least)
        steepest = off / half + self.mu
        inside = float((np.exp(np.minimum(highest, 600.0)) * steepest * 2 * half).sum())
        ends = float(np.exp(min(highest[0], 600.0)) + np.exp(min(highest[-1], 600.0)))
        return math.log(inside + ends) + 1e-9


class MixtureLine:
    """m on Re z = t by the trapezoid rule with step dx on [low, high]."""

    def __init__(self, transform: MixtureTransform, t: float, dx: float, a: float, low: float, high: float) -> None:
        self._transform, self.t, self._dx, self._a, self._low = transform, t, dx, a, low
        self._count = math.ceil((high - low) / dx) + 1
        self._built = False

    def _build(self) -> None:
        """The nodes and everything that does not depend on s."""
        transform, t, count = self._transform, self.t, self._count
        x: Array = self._low + self._dx * np.arange(count, dtype=np.float64)
        self._ends = float(x[0]), float(x[-1])
        exponent, loss, u, v = transform.exponents(x, t)
        ca, cb = transform.kind.coefficients(t)
        log_weight = -0.5 * np.square(x) - HALF_LOG_TWO_PI + math.log(self._dx)
        weight = np.exp(log_weight)
        with np.errstate(over="ignore"):
            tilted = np.exp(log_weight + exponent)
        # e^A - 1 - first order; the direct form where e^A is large
        second = exp_beyond_first(u), exp_beyond_first(v)
        beyond = np.where(
            exponent < 1.0,
            weight * exp_beyond_first(np.minimum(exponent, 1.0)),
            tilted - weight * (1 + exponent),
        )
        linear = weight * (ca * second[0] + cb * second[1])
        slope_u, slope_v = transform.kind.slopes
        self._loss, self._tilted = loss, tilted
        self._drift = float((weight * (-slope_u * second[0] - slope_v * second[1])).sum())  # int phi (L - D)
        self._weight_loss = float((weight * loss).sum())
        self._real = float((beyond - linear).sum())
        # rounding: x^2 and A in the exponents, the sums, a few operations
        towards = transform.mu * (x - 0.5 * transform.mu), transform.mu * (-x - 0.5 * transform.mu)
        rated = abs(ca) * rate_error(towards[0], u, transform.rate) + abs(cb) * rate_error(
            towards[1], v, transform.rate
        )
        care = UNIT_ROUNDOFF * (64 + 4 * np.square(x) + 16 * np.abs(exponent) + count + 4 * rated)
        self._care_tilted = tilted * care
        self._real_error = float((care * (np.abs(beyond) + np.abs(linear))).sum())
        self._loss_error = float((care * (tilted + weight) * np.abs(loss)).sum())
        self._drift_error = float((care * weight * (np.abs(second[0]) + np.abs(second[1]))).sum())

    @property
    def cost(self) -> int:
        """Number of nodes."""
        return self._count

    def cumulants(self, s: Array) -> tuple[ComplexArray, Array]:
        """K and its error at each s; infinite where the line has too many nodes to be worth it."""
        if self._count > MAX_NODES:
            return np.full(len(s), np.inf, dtype=np.complex128), np.full(len(s), np.inf)
        if not self._built:
            with np.errstate(over="ignore", invalid="ignore"):  # infinities are told by their error
                self._build()
            self._built = True
        if not np.isfinite(self._real + self._real_error + self._loss_error):
            return np.full(len(s), np.inf, dtype=np.complex128), np.full(len(s), np.inf)
        w = np.empty(len(s), dtype=np.complex128)
        rounding = np.empty(len(s))
        batch = max(1, CHUNK // len(self._loss))
        for start in range(0, len(s), batch):
            part = s[start : start + batch]
            half = np.multiply.outer(self._loss, 0.5 * part)
            sine = np.sin(half)
            square = np.square(sine)
            np.multiply(sine, np.cos(half), out=sine)  # sin(sL) / 2
            real = self._real - 2 * np.einsum("x,xs->s", self._tilted, square)
            imaginary = 2 * np.einsum("x,xs->s", self._tilted, sine) + part * (self._drift - self._weight_loss)
            w[start : start + batch] = real + 1j * imaginary
            error = self._real_error + 2 * np.einsum("x,xs->s", self._care_tilted, square)
            rounding[start : start + batch] = error + np.abs(part) * (2 * self._loss_error + self._drift_error)
        log_size, angle, size = log_one_plus(w)
        analytic = self._transform.step_remainder(
            self.t, np.abs(s), self._dx, self._a, math.log(1 + abs(self._real)) + 1e-6
        )
        reach = float(np.abs(s).max(initial=0.0))
        analytic = analytic + sum(self._transform.range_remainder(self.t, reach, *self._ends))
        absolute = rounding + analytic
        small = size < 2 * absolute  # see safe_log
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_size = np.where(small, np.log(2 * absolute), log_size)
            error = np.where(small, 2.0, absolute / np.maximum(size - absolute, 1e-300))
        return log_size + 1j * angle, error + 8 * UNIT_ROUNDOFF * (np.abs(log_size) + np.abs(angle))
