"""The moments of a mean Lambda of lognormal variables along a vertical line, by Mellin's integral on rays.

Lambda is the likelihood ratio of one epoch of random allocation, or of a run with balls in bins and a Markov strategy.

Let ``zeta = n - w`` with a whole number n >= 0 and ``W = Re w > 0``. As
``Gamma(w) x^-w = int_0^inf r^(w-1) e^(-rx) dr``,

    A(zeta) = E Lambda^(n-w) = 1/Gamma(w) int r^(w-1) G_n(r) dr ,     G_n(r) = E Lambda^n e^(-r Lambda) ,

along any ray ``r = e^(v + i phi)``, ``|phi| < pi/2``. Let Im w = s >= 0 (negative s gives the complex conjugate). On
the ray ``|G_n(e^(v + i phi))| <= G_n(e^v cos phi)``. Hence the integral of the modulus is at most C times A(Re zeta),
where

    C(s, phi) = Gamma(W) / |Gamma(W + is)| e^(-s phi) cos(phi)^-W .

C is log-convex in s, because ``d log C / ds = Im psi(W + is) - phi`` increases (psi is the digamma function). So on an
interval of s, C is largest at one of the ends. The line is therefore cut into intervals, called bands, each with a ray
on which cancellation is small at both ends of the band. Cancellation and truncation are then bounded at every s of the
band.

**Trapezoid rule** in v with step dv: the integrand ``r^w G_n(r)`` is analytic for ``|arg r| < pi/2``. With a strip of
half-width a < pi/2 - phi around the ray, the error is at most (Trefethen, Weideman 2014 [TW14], Theorem 5.1)

    2 max(C(s, phi + a), C(s, phi - a)) / (e^(2 pi a / dv) - 1) A(Re zeta) .

**Ends.** The sum of the terms with ``|r|`` below ``R = e^v`` is at most ``A(n) R^W dv / (1 - e^(-W dv))``. The sum of
the terms above is, by ``x^(W+eta) e^-x <= ((W+eta)/e)^(W+eta)`` for every eta > 0, at most

    A(n - W - eta) ((W+eta) / (e cos phi))^(W+eta) R^-eta dv / (1 - e^(-eta dv)) .

Both bounds are multiplied by ``e^(-s phi) / |Gamma(w)|``.

**Rounding.** The terms carry their own errors (``allocation_series.py``). Errors of the sum, taken in blocks of SUMMED
terms, of the phases ``s v``, and of the Gamma function are added. ``W = n - alpha`` is exact for an alpha of few binary
digits; otherwise the effect of the rounding of W is added, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.gamma import log_gamma
from hockeystick.numerics.phased_sum import SUMMED, phased_sum
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.sampled.allocation_series import Ray, Rows, on_rays
from hockeystick.pairs.sampled.markov_law import MarkovLaw, RatioLaw
from hockeystick.pairs.transform import safe_log

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

SPENT_FIRST, SPENT = 0.5, 2.0  # log of the allowed cancellation near the real axis, and far from it
FAR, NEAR_POWER, FAR_POWER = 12.0, 1.5, 8.0  # least W: NEAR_POWER up to the reach FAR, and FAR_POWER beyond it
LEAST_POWER = 0.25  # least W with which a line is computed
STRIPS = np.linspace(0.1, 0.98, 45)  # half-widths a that are tried, relative to the widest strip
EXTRA = np.array([0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 18.0, 26.0, 36.0, 50.0])  # values of eta tried, minus the least
LEAST_TOLERANCE = 1e-18  # smallest relative tolerance: no remainder needs to be smaller
NARROW, WIDE = 0.35, 2.5  # log of the largest ratio of nodes that share a bound, on a long line and at one point
OF_POINT = 0.05  # cost of a node for each point of the line, in evaluations of an elementary function


@dataclass(frozen=True, slots=True)
class Band:
    """One ray and its nodes, which serve a band: all heights s of an interval that ends at ``high``.

    Attributes:
        high: the largest height that the band covers.
        angle: phi, the argument of the ray.
        strip: a, the half-width of the strip for the trapezoid rule.
        dv: step of the nodes.
        first: number k of the first node; the node ``v_k = k dv`` is the logarithm of ``|r| w_1``.
        count: number of nodes.
        log_ends: log of the bound on the terms left out at both ends, without the factor ``e^(-s phi) / |Gamma(w)|``.
    """

    high: float
    angle: float
    strip: float
    dv: float
    first: int
    count: int
    log_ends: float

    @property
    def nodes(self) -> Array:
        """The values of v at the nodes, which are exact."""
        return self.dv * np.arange(self.first, self.first + self.count, dtype=np.float64)


class AllocationLine:
    """Values of the moments ``A(alpha + is)`` on a vertical line, for ``|s| <= reach``.

    Args:
        law: the law of Lambda.
        alpha: real part of the exponent.
        sign: sign of the imaginary part of the exponent for positive s.
        reach: largest s.
        tolerance: size of the remainders (trapezoid rule and ends), relative to A(alpha).
    """

    def __init__(self, law: RatioLaw, alpha: float, sign: int, reach: float, tolerance: float) -> None:
        self._law, self._alpha, self._sign = law, alpha, sign
        self._reach = reach
        self._tolerance = max(tolerance, LEAST_TOLERANCE)
        self._n = max(min(math.ceil(alpha + (NEAR_POWER if reach <= FAR else FAR_POWER)), law.highest), 0)
        self._w = self._n - alpha
        self.usable = self._w >= LEAST_POWER
        if self.usable:
            self._inexact = abs(math.fsum((self._n, -alpha, -self._w)))
            self._log_gamma_w = float(log_gamma(self._w, np.zeros(1))[0][0].real)
            self.bands = self._laid(reach)
            self.usable = self.cost(1) < math.inf

    def _log_cost(self, share: Array, s: Array | float, angle: Array | float) -> Array:
        """Return ``log C(s, phi)`` at heights s and angles phi of broadcastable shapes; ``share`` is _log_share(s)."""
        return share - s * angle - self._w * np.log(np.cos(angle))

    def _log_share(self, s: Array) -> Array:
        """Return ``log (Gamma(W) / |Gamma(W + is)|)`` at each height s."""
        return self._log_gamma_w - log_gamma(self._w, s.ravel())[0].real.reshape(s.shape)

    def _allowed(self, s: Array) -> Array:
        """Return the largest log C that a ray may have at height s; the best ray has about ``log(1 + s/W) / 2``."""
        turned: Array = np.log1p(s / self._w)
        return np.minimum(SPENT_FIRST + turned, SPENT) + 0.5 * turned

    def _laid(self, reach: float) -> list[Band]:
        """Return the bands, lowest first; each ray has the least angle phi that is allowed at the top of its band."""
        bands: list[Band] = []
        angles = 0.5 * math.pi - np.geomspace(0.5 * math.pi, 1e-9, 800)
        heights = np.append(0.0, np.geomspace(1e-3, max(reach, 1e-2), 400))
        shares, limits = self._log_share(heights), self._allowed(heights)
        high = reach
        while True:
            end = np.array([high])
            here = self._log_cost(self._log_share(end), high, angles)
            allowed = np.flatnonzero(here <= self._allowed(end))
            angle = float(angles[allowed[0]]) if len(allowed) else float(angles[int(np.argmin(here))])
            costs = self._log_cost(shares, heights, angle)
            within = heights[(costs <= limits) & (heights < high)]
            low = min(float(within[0]), 0.9 * high) if len(within) else 0.9 * high
            if angle == 0.0 or high < 1e-3:
                low = 0.0
            bands.append(self._band(low, high, angle))
            if low == 0.0:
                return bands[::-1]
            high = low

    def _band(self, low: float, high: float, angle: float) -> Band:
        gap = 0.5 * math.pi - angle
        a = STRIPS * gap
        ends = np.array([[low], [high]])
        share = self._log_share(ends)
        cost = np.maximum(self._log_cost(share, ends, angle + a), self._log_cost(share, ends, angle - a)).max(axis=0)
        deep = -math.log(self._tolerance) + 2.0
        steps = 2 * math.pi * a / (deep + cost)
        best = int(np.argmax(steps))
        dv = self._law.matched(angle, float(steps[best]))
        return self._ended(low, high, angle, float(a[best]), dv)

    def _ended(self, low: float, high: float, angle: float, strip: float, dv: float) -> Band:
        """Return the band with enough nodes that the terms left out at both ends are small relative to A(alpha)."""
        law, w, n = self._law, self._w, self._n
        cosine = math.cos(angle)
        spent = float(self._allowed(np.array([high]))[0])
        scale = -self._log_gamma_w + spent + w * math.log(cosine)  # log of e^(-s phi) / |Gamma(w)|, at most
        wanted = math.log(self._tolerance) - 2.0 - scale
        log_lower = law.log_whole(n) + math.log(dv / -math.expm1(-w * dv))
        first = math.floor((wanted - log_lower) / w / dv)  # the first node's log R, in steps
        log_lower += w * (first - 1) * dv
        eta = max(self._alpha - 1.0, 0.0) + EXTRA
        powers = np.array([law.log_power_above(self._alpha - each) for each in eta.tolist()])
        log_upper = powers + (w + eta) * (np.log((w + eta) / cosine) - 1) + np.log(dv / -np.expm1(-eta * dv))
        needed = (log_upper - wanted) / eta
        best = int(np.argmin(needed))
        last = math.ceil(float(needed[best]) / dv)
        log_upper = float(log_upper[best]) - eta[best] * (last + 1) * dv
        shift = float(law.log_unit) / dv  # from log R to the logarithm of kappa
        start = math.floor(first - shift) - 1
        count = math.ceil(last - shift) + 1 - start + 1
        return Band(high, angle, strip, dv, start, count, float(np.logaddexp(log_lower, log_upper)) + 1e-9)

    @property
    def nodes(self) -> int:
        """Number of nodes of all bands together."""
        return sum(band.count for band in self.bands)

    def cost(self, count: int) -> float:
        """Return the number of evaluations of elementary functions for ``count`` values of s.

        It is infinite if the line cannot be computed.
        """
        if not self.usable:
            return math.inf
        law, total = self._law, 0.0
        for band in self.bands:
            total += law.of_band(self._alpha, self._n, band.angle, band.count) + OF_POINT * band.count * count
        return total

    def moments(self, step: float, count: int) -> tuple[ComplexArray, Array, float]:
        """Return ``A(alpha + i sign j step) / e^top`` for 0 <= j < count, bounds on the absolute errors, and top."""
        s: Array = step * np.arange(count, dtype=np.float64)
        values = np.zeros(count, dtype=np.complex128)
        relative, absolute = np.zeros(count), np.zeros(count)
        done, used = 0, []
        for i, band in enumerate(self.bands):
            stop = count if i == len(self.bands) - 1 else int(np.searchsorted(s, band.high, side="right"))
            if stop > done:
                used.append((band, slice(done, stop)))
            done = max(done, stop)
        rays: list[Ray] = [(band.angle, band.dv, band.nodes) for band, _ in used]
        if isinstance(self._law, MarkovLaw):
            rows = self._law.on_rays(self._alpha, rays)
        else:
            rows = on_rays(self._law, self._n, rays, WIDE if self._reach == 0 else NARROW)
        parts = [(part, *self._of_band(band, each, s, part, step))
                 for (band, part), each in zip(used, rows, strict=True)]  # fmt: skip
        top = parts[0][3]
        for part, value, error, level, rest in parts:
            shift = math.exp(level - top)
            values[part], absolute[part] = value * shift, error * shift
            relative[part] = rest
        # remainders relative to A(alpha), which is at most its computed value plus its errors
        at = float(abs(values[0]) + absolute[0]) / max(1 - float(relative[0]), 0.5)
        if relative[0] > 0.5:
            at = math.inf
        error = absolute + relative * at + self._moved(top)
        if self._sign > 0:  # Im w = s was summed, which is -Im zeta
            values = np.conj(values)
        return values, error * (1 + 1e-9), top

    def _moved(self, top: float) -> float:
        """Bound on the error that the rounding d of W causes in a moment divided by ``e^top``.

        It follows from ``|A'| <= E Lambda^alpha |log Lambda|``, and ``|log x| <= (2/e) max(x^(1/2), x^(-1/2))``.
        """
        if not self._inexact:
            return 0.0
        logs = [self._law.log_above(self._alpha + half) - top for half in (-0.5, 0.5)]
        return self._inexact * sum(math.exp(min(log, 600.0)) for log in logs)

    def _of_band(
        self, band: Band, rows: Rows, s: Array, part: slice, step: float
    ) -> tuple[ComplexArray, Array, float, Array]:
        """Return the moments at the heights of one band, divided by ``e^level``, with their errors.

        The four results are the values, bounds on their absolute errors, ``level``, and bounds on further errors, which
        are relative to A(alpha).
        """
        w, v, here = self._w, band.nodes, s[part]
        # log of R^W = e^(W (v - log w_1)), without the shared -W log w_1, and of the scale of each row
        log_size = w * v + rows.log_scale
        level = float(log_size.max())
        size = np.exp(np.maximum(log_size - level, -745.0)) * band.dv
        terms = size * rows.value
        log_care = 12 + 3 * (np.abs(w * v) + np.abs(rows.log_scale) + abs(level))
        doubt = float(size @ (rows.error + UNIT_ROUNDOFF * log_care * (np.abs(rows.value) + rows.error)))
        total = float(np.abs(terms).sum())
        centre = float(v[int(np.argmax(log_size))])
        sums, phase_care = phased_sum(terms, v - centre, band.dv, step, part.start, part.stop)
        # log R = v - log w_1: both are of similar size, so their sum is taken in decimals
        log_unit = self._law.log_unit
        middle, shared = float(Decimal(centre) + log_unit), w * float(log_unit) + rows.log_shared
        gamma, gamma_error = log_gamma(w, here)
        exponent = -gamma + 1j * (here * middle + w * band.angle) - here * band.angle
        base = float(exponent[0].real)
        factor = np.exp(exponent - base)
        sizes = np.abs(factor)
        care = gamma_error + UNIT_ROUNDOFF * (
            16 + 2 * here * (abs(middle) + 2 * band.angle) + 4 * (abs(base) + abs(shared))
        )
        values = sums * factor
        summing = UNIT_ROUNDOFF * (1.5 * (SUMMED + 2) + 16 + len(v) / SUMMED)
        error = sizes * (doubt + total * (phase_care + summing))
        error = error + np.abs(values) * np.expm1(np.minimum(care, 600.0))
        level += base + shared
        # ends, absolute
        error = error + np.exp(np.minimum(band.log_ends + exponent.real - level, 600.0))
        arc = 2 * math.pi * band.strip / band.dv
        share = self._log_gamma_w - gamma.real
        cost = np.maximum(
            self._log_cost(share, here, band.angle + band.strip), self._log_cost(share, here, band.angle - band.strip)
        )
        relative = 2 * np.exp(np.minimum(cost - arc, 600.0)) / -math.expm1(-arc)
        if rows.share:  # a relative error of the integral, and so of the trapezoid rule's sum
            summed = 1 - 2 * math.cos(band.strip) ** -w * math.exp(-arc) / math.expm1(-arc)
            relative = relative + rows.share * summed * np.exp(np.minimum(share - here * band.angle, 600.0))
        return values, error * (1 + 1e-9), level, relative * (1 + 1e-9)

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return ``log A`` and a bound on its error at each ``s = j step``, 0 <= j < count.

        Both are infinite if the line cannot be computed.
        """
        if not self.usable:
            return np.full(count, np.inf, dtype=np.complex128), np.full(count, np.inf)
        values, absolute, top = self.moments(step, count)
        value, error = safe_log(values, absolute)
        return value + top, error + 4 * UNIT_ROUNDOFF * abs(top)
