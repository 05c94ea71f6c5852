"""Upper bounds on ``|phi(s)|``, phi the characteristic function of one round's tilted loss, at multiples of a spacing.

Midpoint rule over cells of x that cover the core of the tilted density w: with ``f = w e^(isL)`` and a cell of width d,

    |int f - d f(middle)| <= d^3 / 24 sup |f''| ,
    |f''| <= w [ (log w)'^2 + s^2 L'^2 + |(log w)''| + s |L''| ] ,

the suprema taken over balls that hold the cell. The mass outside the cells needs no bound of its own: w has mass 1, and
the cells hold what the rule says at s = 0, up to its error. Cells are short where the phase or w turn fast, so that
their number does not depend on how small the rate is, as it would for the trapezoid rule on a uniform grid.
"""

from __future__ import annotations

from flint import arb

from hockeystick.engines.interval import NotApplicableError
from hockeystick.engines.proof.density import TiltedDensity
from hockeystick.numerics.balls import Ball, phase_sums, upper

MAX_CELLS = 40_000
MAX_PRODUCTS = 20_000_000


class CoreRule:
    """The rule for all s up to a reach.

    Args:
        density: the tilted density.
        reach: largest s.
        tolerance: about the error wanted; any is sound.
    """

    def __init__(self, density: TiltedDensity, reach: float, tolerance: float) -> None:
        edges = density.refined(reach, tolerance, MAX_CELLS)
        self._weights, self._losses = [], []
        errors = [arb(0), arb(0), arb(0)]  # coefficients of 1, s, s^2
        sigmas = [density.sigmas(x) for x in edges]
        for i in range(len(edges) - 1):
            low, high = arb(edges[i]), arb(edges[i + 1])
            width, middle = high - low, (low + high) / 2
            sigma, back = (a.union(b) for a, b in zip(sigmas[i], sigmas[i + 1], strict=True))
            turns = density.derivatives(low.union(high), sigma, back)
            log_w = density.log_w(middle)
            largest = upper((log_w + turns.slope * arb(0, upper(width / 2))).exp())
            share = largest * width**3 / 24
            for power, size in enumerate(
                (turns.slope**2 + abs(turns.curve), abs(turns.loss_curve), turns.loss_slope**2)
            ):
                errors[power] += upper(share * size)
            self._weights.append(width * log_w.exp())
            self._losses.append(density.loss(middle))
        self._errors = [upper(error) for error in errors]
        inside = sum(self._weights, arb(0)) - self._errors[0]
        self._outside = upper(1 - inside)

    def bounds(self, spacing: float, count: int) -> list[Ball]:
        """Upper bounds on ``|phi(j spacing)|`` for j < count.

        Raises:
            NotApplicableError: there would be too many.
        """
        if len(self._weights) * count > MAX_PRODUCTS:
            raise NotApplicableError("the proof would need too many values of a characteristic function")
        e0, e1, e2 = self._errors
        out = []
        for j, value in enumerate(phase_sums(self._weights, [arb(spacing) * loss for loss in self._losses], count)):
            s = arb(spacing) * j
            out.append(upper(value.abs_upper() + e0 + e1 * s + e2 * s**2 + self._outside))
        return out
