"""The characteristic function of a mixture of Gaussians against one on a vertical line, by the trapezoid rule in x.

**Stable form.** ``int phi (g - 1) = 0``, so the first-order terms may be removed analytically: with A the real part of
the exponent, D the first-order loss (``e^u - 1``, ``-(e^u - 1)``, ``e^u - e^v``), L the loss,

    m - 1 = int phi [ e^A - 1 - (first order of A) + e^A (e^(isL) - 1) - i s D ]

every part of which is computed to a few roundings of its own size: k log m then errs by u times the total cumulant,
not by u k. Where m(t) is well above 1 this form gains nothing, and ``e^-top m = int phi e^(A - top) e^(isL)`` is used,
which also keeps to the range of a double.

**Remainders** of the trapezoid rule with step dx on [low, high]:

- step: for an integrand analytic in ``|Im x| < a`` the rule errs by at most ``2 M / (e^(2 pi a / dx) - 1)``, M the
  larger integral of the modulus along ``Im x = +-a`` (Trefethen, Weideman 2014 [TW14], Theorem 5.1), here
  at most ``m(t) e^(log_strip)``, or the bound of ``gaussian_strip.py``; the first-order terms add
  ``e^(a^2/2) (1 + |coefficients| (1 + 1))``.
- range: :meth:`MixtureLaw.log_beyond`.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.exponential_sum import BLOCK, blocked_sum, cost, moved_sum
from hockeystick.numerics.logarithm import weighted_beyond_first
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.sampled.gaussian_strip import AddedStrip
from hockeystick.pairs.sampled.mixture_law import Kind, MixtureLaw, log_density
from hockeystick.pairs.transform import safe_log, safe_log_one_plus

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

MAX_NODES = 1 << 21  # beyond, a line is refused
MANY_NODES = 4000  # above which a longer step is searched, which takes a millisecond
KEPT_BOUNDS = 256  # cached bounds on K: they recur when rounds are added one by one with a query after each
LARGE = 2.0  # log m(t) from which on the plain form is used
MODERATE = 30.0  # tu up to which e^(tu) - 1 is more than a rounding of e^u
PLAIN = 0.1  # fraction of the tolerance at which a rounding error of the plain form is negligible
LOG_LARGEST = 700.0  # exponent that a double can hold
WIDEST_STRIP = 0.97  # of pi / mu, where g may vanish
STRIPS = np.linspace(0.02, 1.0, 50)  # half-widths tried, relative to the widest


class MixtureLine:
    """The function m on Re z = t, for ``|Im z| <= reach``, with analytic remainders about ``tolerance m(t)``."""

    def __init__(self, law: MixtureLaw, t: float, reach: float, tolerance: float) -> None:
        self._law, self.t, self._tolerance = law, t, tolerance
        self.dx, self.a = self._step(reach)
        self.low, self._high = law.range_for(t, reach, 0.1 * tolerance)
        self._strip: AddedStrip | None = None
        if reach > 0 and (self._high - self.low) > MANY_NODES * self.dx:
            self._narrowed(reach)
        self.nodes = math.ceil((self._high - self.low) / self.dx) + 1
        self._built = False

    def _step(self, s: float) -> tuple[float, float]:
        """Return the largest dx, and the strip, that keep the step remainder of m below ``tolerance m(t)``."""
        depth = math.log(16 / self._tolerance) + math.log1p(self.t + s)
        widest, deepest = WIDEST_STRIP * math.pi / self._law.mu, math.sqrt(2 * depth)
        if self._law.kind is Kind.REMOVE:  # where a / (depth + a^2/2 + s mu a) is largest
            width = min(widest, deepest)
            return 2 * math.pi * width / (depth + 0.5 * width**2 + s * self._law.mu * width), width
        a = STRIPS * min(widest, 2 * deepest)
        dx = 2 * math.pi * a / (depth + self._law.log_strip(a, self.t, s))
        best = int(np.argmax(dx))
        return float(dx[best]), float(a[best])

    def _narrowed(self, reach: float) -> None:
        """For adding a record, lengthen the step if bounding the integrand panel by panel allows it."""
        if self._law.terms == 1 and self._law.kind is Kind.ADD:
            found = AddedStrip.found(self._law, self.t, reach, math.log(16 / self._tolerance))
            if found is not None and found.dx > self.dx:
                self._strip, self.dx, self.a = found, found.dx, found.height

    def cost(self, count: int) -> float:
        """Return the number of elementary evaluations for ``count`` points."""
        return cost(self.nodes, count) if self.nodes <= MAX_NODES else math.inf

    def _build(self) -> None:
        """Compute the nodes and everything that does not depend on s."""
        x: Array = self.low + self.dx * np.arange(self.nodes, dtype=np.float64)
        self._high = float(x[-1])
        nodes = self._law.nodes(x, self.t)
        log_weight = log_density(x) + math.log(self.dx)
        log_tilted = log_weight + nodes.exponent
        top = float(log_tilted.max())
        scaled = np.exp(log_tilted - top)
        total = blocked_sum(scaled)
        self.log_total = top + math.log(total)
        loss = self._loss = nodes.loss
        care, slip = nodes.care() + UNIT_ROUNDOFF * (8 * abs(top) + BLOCK), nodes.slip()
        doubt = float(care @ scaled)
        self._large = self.log_total > LARGE or doubt <= PLAIN * self._tolerance * total
        self._top = top if self._large else 0.0
        self._weight = scaled if self._large else scaled * math.exp(top)
        if self._large:  # of one sum of w e^(isL), in which an error of w counts once
            self._constant, self._drift = total, 0.0
            self._constant_error, self._slope_error = doubt, float(slip @ self._weight)
            return
        loss_error = float((care * np.abs(loss) + slip) @ self._weight)
        weight, u, v = np.exp(log_weight), nodes.u, nodes.v
        ca, cb = self._law.kind.coefficients(self.t)
        slope_u, slope_v = self._law.kind.slopes
        # e^A - 1 - first order, including phi, as phi underflows at a jump where e^u overflows
        beyond, largest = weighted_beyond_first(log_weight, nodes.exponent)
        bent, sizes = weighted_beyond_first(log_weight, u)
        linear, bends, both = ca * bent, slope_u * bent, weight * np.abs(u) + sizes
        largest = largest + abs(ca) * sizes
        if v is not None:
            bent, sizes = weighted_beyond_first(log_weight, v)
            linear, bends, both = linear + cb * bent, bends + slope_v * bent, both + weight * np.abs(v) + sizes
            largest = largest + abs(cb) * sizes
        value = beyond - linear
        # an error of u is multiplied by e^u - 1 in e^u - 1 - u; likewise for the exponent
        moved = (abs(ca) + abs(cb)) * (2 * weight * np.minimum(np.abs(nodes.exponent), 1.0) + both)
        if v is None and float(u.max()) > 1:
            value, largest, moved = _where_large(self._law.kind, self.t, log_weight, u, (value, largest, moved))
        self._constant = blocked_sum(value)
        # int phi (L - D), less int phi L, which the sum over e^A (e^(isL) - 1) does not contain
        self._drift = -blocked_sum(bends + weight * loss)
        self._constant_error = float(care @ largest) + float(slip @ moved)
        self._slope_error = loss_error + float(care @ (weight * np.abs(loss) + both) + slip @ (weight + both))

    def step_remainder(self, s: Array) -> Array:
        """Bound on the error of ``e^-top m`` due to the step."""
        log_denominator = 2 * math.pi * self.a / self.dx + math.log(-math.expm1(-2 * math.pi * self.a / self.dx))
        if self._strip is None:
            main = math.log(2) + self.log_total + 1e-3 - self._top + self._law.log_strip(self.a, self.t, s)
        else:
            main = np.full(len(s), math.log(2) - self._top + self._strip.log_size(float(s.max())))
        with np.errstate(over="ignore"):
            out = np.exp(main - log_denominator)
        if not self._large:
            ca, cb = self._law.kind.coefficients(self.t)
            first_order = 1 + 2 * (abs(ca) + abs(cb) + 2 * s)
            out = out + 2 * first_order * math.exp(0.5 * self.a**2 - log_denominator)
        return out

    def range_remainder(self, s: Array) -> Array:
        """Bound on the error of ``e^-top m`` due to the range."""
        main = self._law.log_beyond(self.t, self.low, self._high) - self._top
        out: Array = np.full(len(s), math.exp(main) if main < LOG_LARGEST else math.inf)
        return out if self._large else out + self._law.first_order_beyond(self.t, s, self.low, self._high)

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K and its error at each ``s = j step``; the error is infinite where it would take too long."""
        out_of_reach = np.full(count, np.inf, dtype=np.complex128), np.full(count, np.inf)
        if self.nodes * self._law.terms > MAX_NODES:
            return out_of_reach
        if not self._built:
            self._build()
            self._built = True
        moved = moved_sum(self._loss, self._weight, step, count, self._tolerance)
        if moved is None:
            return out_of_reach
        values, error = moved
        s: Array = step * np.arange(count, dtype=np.float64)
        values += self._constant + 1j * (self._drift * s)
        absolute = error + self._constant_error + s * self._slope_error
        absolute = absolute + self.step_remainder(s) + self.range_remainder(s)
        if self._large:
            value, error = safe_log(values, absolute)
            return value + self._top, error + 4 * UNIT_ROUNDOFF * abs(self._top)
        return safe_log_one_plus(values, absolute)


def _where_large(
    kind: Kind, t: float, log_weight: Array, u: Array, elsewhere: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """Return ``phi (e^A - 1 - first order)`` where u > 1 and tu is moderate: the common e^u cancels on paper.

        remove:  e^u (e^(tu) - 1 - t) + t ,      add:  e^(-tu) - 1 - t + t e^u .

    Returns:
        That value, the size of its terms, and its sensitivity to an error of u.
    """
    weight, jump = np.exp(log_weight), np.exp(log_weight + np.maximum(u, 1.0))
    there = (u > 1) & (t * u < MODERATE)
    if kind is Kind.REMOVE:
        grown = np.expm1(np.minimum(t * u, MODERATE))
        found = (
            jump * (grown - t) + t * weight,
            jump * (np.abs(grown) + t) + t * weight,
            jump * (np.abs(grown) + t * (2 + grown)),
        )
    else:
        grown = np.expm1(-t * u)
        found = (
            weight * (grown - t) + t * jump,
            weight * (np.abs(grown) + t) + t * jump,
            t * (weight * (1 + grown) + jump),
        )
    value, size, moved = (np.where(there, new, old) for new, old in zip(found, elsewhere, strict=True))
    return value, size, moved


@lru_cache(maxsize=KEPT_BOUNDS)
def log_moment_upper(law: MixtureLaw, t: float, slack: float) -> float:
    """Upper bound on ``K(t)``, within about ``slack``, by the plain form with all remainders and roundings added."""
    line = MixtureLine(law, t, 0.0, slack)
    if line.nodes * law.terms > MAX_NODES:
        return math.inf
    x: Array = line.low + line.dx * np.arange(line.nodes, dtype=np.float64)
    nodes = law.nodes(x, t)
    log_tilted = log_density(x) + nodes.exponent
    top = float(log_tilted.max())
    weight = np.exp(log_tilted - top)
    total = float(weight.sum())
    log_total = top + math.log(line.dx * total)
    arc = 2 * math.pi * line.a / line.dx
    # relative to the sum: m <= sum (1 + care) + step remainder, of which m(t) is a factor, + range
    doubt = float(nodes.care() @ weight) / total + UNIT_ROUNDOFF * (16 * (abs(top) + abs(log_total)) + len(x))
    step = 2 * math.exp(min(float(law.log_strip(line.a, t, 0.0)) - arc, LOG_LARGEST)) / -math.expm1(-arc)
    beyond = law.log_beyond(t, line.low, float(x[-1])) - log_total
    if step >= 0.5 or beyond > LOG_LARGEST:
        return math.inf
    return log_total + math.log1p(doubt + math.exp(beyond)) - math.log1p(-step)
