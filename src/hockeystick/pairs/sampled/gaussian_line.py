"""Characteristic functions of the pairs of ``mixture_law.py`` on a vertical line, by the trapezoid rule in x.

**Stable form.** As ``int phi (g - 1) = 0``, the first-order terms may be subtracted without changing the integral. Let
A be the real part of the exponent, L the loss, and D the loss to first order: ``e^u - 1`` for remove, ``-(e^u - 1)``
for add, ``e^u - e^v`` for replace-one. Then

    m - 1 = int phi [ e^A - 1 - (first order of A) + e^A (e^(isL) - 1) - i s D ]

and each part of the integrand has a relative error of only a few roundings. So k log m, for k rounds, errs by the unit
round-off times its own size, and not times k. Where m(t) is well above 1 this form gains nothing; ``e^-top m = int phi
e^(A - top) e^(isL)`` is used instead, which also stays within the range of a double.

**Remainders** of the trapezoid rule with step dx on [low, high]:

- step: for an integrand analytic in ``|Im x| < a`` the rule errs by at most ``2 M / (e^(2 pi a / dx) - 1)`` (Trefethen,
  Weideman 2014 [TW14], Theorem 5.1). M is the larger of the integrals of the modulus along ``Im x = a`` and along ``Im
  x = -a``; here it is bounded by ``m(t) e^(log_strip)``, or as in ``gaussian_panels.py``. The first-order terms add
  ``e^(a^2/2) (1 + 2 (|c_u| + |c_v| + 2 s))`` to M, where c_u and c_v are the real coefficients of u and v in the
  exponent;
- range: :meth:`MixtureLaw.log_beyond`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.exponential_sum import BLOCK, blocked_sum
from hockeystick.numerics.logarithm import weighted_beyond_first
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs.sampled.gaussian_panels import Panels
from hockeystick.pairs.sampled.mixture_law import Kind, MixtureLaw, Nodes, log_density
from hockeystick.pairs.sampled.summed_line import LARGE, MAX_NODES, SummedLine

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

MANY_NODES = 4000  # number of nodes above which a longer step is sought, which takes a millisecond
COARSEST = 5e-3  # largest tolerance: the error is about an eighth of it due to the step, a fortieth due to the range
PLAIN = 0.1  # fraction of the tolerance up to which the rounding error of ``e^-top m`` is negligible
WIDEST_STRIP = 0.97  # largest half-width of the strip, relative to pi / mu, where g may vanish
HEIGHTS = np.append(0.0, np.linspace(0.1, 0.999, 12))  # heights of panels that are tried, relative to the largest
PANELS, FARTHEST = 2000, 60.0  # number of edges of panels, and the last edge
STRIPS = np.linspace(0.02, 1.0, 50)  # half-widths of the strip that are tried, relative to the largest


class MixtureLine(SummedLine):
    """Values of m on Re z = t for ``|Im z| <= reach``, with quadrature errors of about ``tolerance`` times m(t)."""

    def __init__(self, law: MixtureLaw, t: float, reach: float, tolerance: float) -> None:
        self._law, self.t, self._tolerance = law, t, min(tolerance, COARSEST)
        self.dx, self.a = self._step(reach)
        self.low, self._high = law.range_for(t, reach, 0.1 * self._tolerance)
        self._panels: Panels | None = None
        added = law.kind is Kind.ADD and law.rest > 0
        if added and (self._high - self.low) > MANY_NODES * self.dx:
            self._narrowed(reach)
        self.nodes = math.ceil((self._high - self.low) / self.dx) + 1

    def _step(self, s: float) -> tuple[float, float]:
        """Return the largest step dx with a remainder of m below ``tolerance m(t)``, and the strip's half-width a."""
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
        """For adding a record, lengthen the step if bounds on the integrand over narrow panels allow it."""
        depth = math.log(16 / self._tolerance)
        heights = HEIGHTS * min(0.5 * math.pi / self._law.mu, 2 * math.sqrt(2 * depth))
        panels = Panels(self._law, self.t, np.linspace(self.low, FARTHEST, PANELS), heights)
        sizes = panels.log_size(reach)
        steps = 2 * math.pi * heights / np.maximum(depth + sizes - sizes[0], 1.0)  # the first is about log m(t)
        best = int(np.argmax(steps))
        if steps[best] > self.dx:
            self._panels, self._best = panels, best
            self.dx, self.a = float(steps[best]), float(heights[best])

    def _build(self) -> None:
        """Compute the nodes and all other values that do not depend on s."""
        x: Array = self.low + self.dx * np.arange(self.nodes, dtype=np.float64)
        self._high = float(x[-1])
        nodes = Nodes(self._law, x, self.t)
        log_weight = log_density(x) + math.log(self.dx)
        log_tilted = log_weight + nodes.exponent
        top = float(log_tilted.max())
        scaled = np.exp(log_tilted - top)
        total = blocked_sum(scaled)
        self.log_total = top + math.log(total)
        loss = self._loss = nodes.loss
        care, slip = nodes.care() + UNIT_ROUNDOFF * (8 * abs(top) + BLOCK), nodes.slip()
        doubt = float(care @ scaled)
        self.large = self.log_total > LARGE or doubt <= PLAIN * self._tolerance * total
        self.top = top if self.large else 0.0
        self._weight = scaled if self.large else scaled * math.exp(top)
        if self.large:  # of one sum of w e^(isL), in which an error of w counts once
            self.constant, self._drift = total, 0.0
            self._constant_error, self._slope_error = doubt, float(slip @ self._weight)
            return
        loss_error = float((care * np.abs(loss) + slip) @ self._weight)
        weight = np.exp(log_weight)
        # e^A - 1 - first order, including phi, as phi underflows at a jump where e^u overflows
        beyond, largest = weighted_beyond_first(log_weight, nodes.exponent)
        linear, bends, both = np.zeros((3, len(x)))
        for log, (power,), (slope,) in zip(nodes.logs, nodes.powers, nodes.slopes, strict=True):
            bent, sizes = weighted_beyond_first(log_weight, log)
            linear += power * bent
            bends += slope * bent
            both += weight * np.abs(log) + sizes
            largest = largest + abs(power) * sizes
        # an error of u is multiplied by e^u - 1 in e^u - 1 - u; likewise for the exponent
        moved = np.abs(nodes.powers).sum() * (2 * weight * np.minimum(np.abs(nodes.exponent), 1.0) + both)
        self.constant = blocked_sum(beyond - linear)
        # int phi (L - D), less int phi L, which the sum over e^A (e^(isL) - 1) does not contain
        self._drift = -blocked_sum(bends + weight * loss)
        self._constant_error = float(care @ largest) + float(slip @ moved)
        self._slope_error = loss_error + float(care @ (weight * np.abs(loss) + both) + slip @ (weight + both))

    def step_remainder(self, s: Array) -> Array:
        """Return, for each s, a bound on the error of ``e^-top m`` that is due to the step of the trapezoid rule."""
        log_denominator = 2 * math.pi * self.a / self.dx + math.log(-math.expm1(-2 * math.pi * self.a / self.dx))
        if self._panels is None:
            main = math.log(2) + self.log_total + COARSEST - self.top + self._law.log_strip(self.a, self.t, s)
        else:
            main = np.full(len(s), math.log(2) - self.top + float(self._panels.log_size(float(s.max()))[self._best]))
        with np.errstate(over="ignore"):
            out = np.exp(main - log_denominator)
        if not self.large:
            ca, cb = self._law.kind.coefficients(self.t)
            first_order = 1 + 2 * (abs(ca) + abs(cb) + 2 * s)
            out = out + 2 * first_order * math.exp(0.5 * self.a**2 - log_denominator)
        return out

    def range_remainder(self, s: Array) -> Array:
        """Return, for each s, a bound on the error of ``e^-top m`` that is due to the finite range of the nodes."""
        main = self._law.log_beyond(self.t, self.low, self._high) - self.top
        out: Array = np.full(len(s), math.exp(main) if main < LARGEST else math.inf)
        return out if self.large else out + self._law.first_order_beyond(self.t, s, self.low, self._high)

    @property
    def usable(self) -> bool:
        """True if the number of nodes times the number of terms is small enough."""
        return self.nodes * self._law.terms <= MAX_NODES

    def _drifted(self, values: ComplexArray, s: Array) -> ComplexArray:
        return values + (self.constant + 1j * (self._drift * s))

    def _charged(self, error: Array, s: Array) -> Array:
        absolute = error + self._constant_error + s * self._slope_error
        return absolute + self.step_remainder(s) + self.range_remainder(s)
