"""``fourier``: the Fourier accountant. Certified (``rounding=1``, the default) or the first estimate (``rounding=0``).

Koskela, Jalko, Honkela 2020 [KJH20]: the density of the loss is sampled at n points of ``[-L, L)``, and its k-th
convolution power C is computed by the fast Fourier transform. Then
``delta(eps) = sum_(s > eps) (1 - e^(eps - s)) C(s)``, which is inverted for epsilon. This is an estimate. The
certified bounds follow Koskela, Jalko, Prediger, Honkela 2021 [KJPH21], and for different rounds Koskela, Honkela 2021
[KH21]. Losses are rounded up to the grid for the upper end, and down for the lower end. The sum S is computed on a
circle of length 2L, around which mass may wrap. With delta_circle the delta on the circle,

    delta <= delta_circle(up) + P(S >= L),     delta >= delta_circle(down) - P(S < -L),

since ``w(s) = (1 - e^(eps - s))_+`` increases from 0 to 1: a sum above ``[-L, L)`` gets too little weight, and a sum
below it too much. Both probabilities are at most Chernoff's ``e^(sum k_i K_i(+-lambda) - lambda L)``, with K_i the
log-moment of the rounded loss of kind i; the two bounds are the two terms of Theorem 7 of [KH21]. For the upper
end, losses above the grid count as infinite, and losses below it are raised to its lowest point. For the lower end,
losses above the grid are lowered to its highest point, and losses below it are left out. A bound on the transform's
rounding error is added to each mass, or subtracted from it (``numerics/fourier.py``).

Cost: ``n log n`` per distinct round, whatever the counts. Known failure: rounding shifts every loss by up to ``2L/n``.
The interval for epsilon is therefore about ``2Lk/n`` wide. A delta below about 1e-10 is smaller than the transform's
rounding error. ``rounding=2`` uses the bounds of 2021 for the sampled Gaussian as they are published: step functions
above and below its density omega (``accountants/shared/density_errors.py``). Over k rounds, with gap h, the masses of a
step function are off by a factor of ``e^(k h sup omega)``, so this method needs about a hundred times as many points.
The estimate of 2020 has no known error bound: its points are too far apart where the density is steep, near the least
loss, and it moves atoms to grid points.

With ``errors`` set to 1 or 2 the estimate gets an error bound, and the answer is certified. This works for sampled
Gaussian rounds of one kind, when a record is removed, by the error analysis of [KJH20], version 1, Section 10
(``accountants/shared/density_errors.py``). ``errors=1`` uses the larger of the printed and the proved error terms;
``errors=2`` uses the proved terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from hockeystick.accountants.published import SHARE, PublishedAccountant, enclosed
from hockeystick.accountants.shared import lattice
from hockeystick.accountants.shared.density_errors import ELSEWHERE, LEAST_LENGTH, DensityErrors, between
from hockeystick.accountants.shared.loss_grid import LossGrid, rounded, sampled
from hockeystick.accountants.shared.privacy_curve import LOST
from hockeystick.accountants.shared.tilted import reach_of
from hockeystick.directions.directions import Directions
from hockeystick.directions.finite import bounded_delta, bounded_epsilon, estimated_delta, estimated_epsilon
from hockeystick.numerics.arrays import Array
from hockeystick.numerics.fourier import convolution_power, fast_length
from hockeystick.numerics.lattice import SUM_ERROR, Tail
from hockeystick.numerics.meet import lower_end, upper_end
from hockeystick.numerics.roots import root
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.values import domains
from hockeystick.values.bounds import Bound, DeltaBound, DeltaEstimate, Estimate
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval
from hockeystick.values.side import Side

A_ROUND = 256  # points for each round, so that the interval is about 2 L / 256 wide
WRAPPED = 1e-13  # mass that an automatic window leaves outside, unless a small delta requires less
MOST_SCALE = 30.0  # log of the largest product of the rounds' masses, which is 1 except for rounding and lost mass
WIDE = "the error terms are as large as delta; increase points, decrease length or use fewer rounds"
"""Reason for a wide interval of delta."""


@dataclass(frozen=True)
class FourierAccountant(PublishedAccountant):
    """Accountant by Fourier transforms on one window for all rounds, with losses rounded up and rounded down."""

    length: Annotated[float | None, domains.POSITIVE.of("half-width L of the window of losses")] = None
    points: Annotated[int | None, domains.whole_numbers(16, 10**8).of("number of points n in the window")] = None
    rounding: Annotated[
        int,
        domains.whole_numbers(0, 2).of(
            "1 for certified ends by rounding losses up and down, 2 for certified ends by bounding their density, "
            "0 for an estimate"
        ),
    ] = 1
    errors: Annotated[
        int, domains.whole_numbers(0, 2).of("1 for the density with its published error terms, 2 with the proved ones")
    ] = 0

    name = "fourier"
    summary = "certified: losses on a grid, rounded both ways, composed by FFT (rounding=0: an estimate)"

    def epsilon_at(self, directions: Directions, delta: float) -> Bound | Estimate:
        """Return an interval for epsilon from the losses rounded down and up, or the estimate of 2020."""
        if self.rounding or self.errors:
            return bounded_epsilon(directions, delta, self.name, self._epsilon_ends)
        return estimated_epsilon(directions, delta, self.name, self._epsilon)

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaBound | DeltaEstimate:
        """Return an interval for delta from the losses rounded down and up, or the estimate of 2020."""
        if self.rounding or self.errors:
            return bounded_delta(directions, epsilon, self.name, self._log_delta_ends)
        return estimated_delta(directions, epsilon, self.name, self._log_delta)

    def _epsilon(self, composition: Composition, delta: float) -> float:
        composed = self.estimate(composition, SHARE * delta)
        if composed.noise >= 0.5 * delta:
            raise NotApplicableError(
                f"the rounding of the transform, the window and the grid have an error of {composed.noise:.1e}, too "
                f"large for a delta of {delta:.3g}; raise delta or length, or use accountant 'contour' or 'grid'"
            )
        if composed.delta(0.0) <= delta:
            return 0.0
        return root(lambda at: composed.delta(at) - delta, 0.0, float(composed.losses[-1]), xtol=1e-13, rtol=1e-13)

    def _log_delta(self, composition: Composition, epsilon: float) -> float:
        return _log(self.estimate(composition, WRAPPED, epsilon).delta(epsilon))

    def estimate(self, composition: Composition, wrapped: float, epsilon: float = 0.0) -> Composed:
        """Return the composition of sampled densities, the estimate of 2020."""
        grid = self._grid(composition, wrapped, epsilon)
        return Composed.of([(sampled(pair, grid), count) for pair, count in composition.rounds], grid)

    def ends(self, composition: Composition, wrapped: float, epsilon: float = 0.0) -> lattice.Enclosed | WithErrors:
        """Return the compositions of the losses rounded down and rounded up, the bounds of 2021.

        With ``errors``, return instead the estimate of 2020 with its error bounds.
        """
        grid = self._grid(composition, wrapped, epsilon)
        if self.errors:
            return WithErrors.of(composition, grid, self.errors == 1)
        law = between if self.rounding == 2 else rounded
        below, above = (
            [(law(pair, grid, side), count) for pair, count in composition.rounds] for side in (Side.BELOW, Side.ABOVE)
        )
        tilt = lattice.LEAST_TILT
        window = lattice.window_on(above, tilt, -grid.length, grid.length - 1.5 * grid.step)
        return lattice.Enclosed.of(above, below, tilt, window, "")

    def _log_delta_ends(self, composition: Composition, epsilon: float) -> Interval:
        lower, upper = self.ends(composition, WRAPPED, epsilon).log_delta(epsilon, epsilon)
        return enclosed(lower, upper, WIDE if self.errors and upper > lower + math.log(2) else None)

    def _epsilon_ends(self, composition: Composition, deltas: tuple[float, float]) -> Interval:
        least, most = (math.log(delta) for delta in deltas)
        found = self.ends(composition, SHARE * deltas[0])
        lower, upper = found.epsilon(most, least)
        if math.isinf(upper):
            raise NotApplicableError(
                "the rounding of the transform, the window and the grid have errors too large for a delta of "
                f"{deltas[0]:.3g}; raise delta or length, or use accountant 'contour' or 'grid'"
            )
        return enclosed(lower, upper)

    def _grid(self, composition: Composition, wrapped: float, epsilon: float) -> LossGrid:
        kinds = len(composition.rounds)
        most = lattice.MAX_POINTS // kinds
        few = max(1 << (A_ROUND * composition.count).bit_length(), lattice.FEW_POINTS // 16)
        few = min(few, lattice.FEW_POINTS, 1 << most.bit_length() - 1)
        # the errors of densities fall as the square of the step
        points = fast_length(self.points or (most if self.errors else few))
        if points > most:
            raise NotApplicableError(
                f"{points} points for each of {kinds} kinds of rounds would take too long; set points to at most {most}"
            )
        if self.length is not None:
            return LossGrid(self.length, points)
        if points <= 4 * composition.count:
            raise NotApplicableError(
                f"{points} points are too few for {composition.count} rounds, because each round's loss is rounded; "
                f"set points above {4 * composition.count:.3g}, or length, or use accountant 'contour'"
            )
        reach = max(reach_of(composition, -math.log(max(wrapped, LOST))), 1.01 * epsilon)
        reach = reach or 1.0  # any value is valid if all losses are 0
        if self.errors:
            reach = max(reach, 1.01 * LEAST_LENGTH)
        return LossGrid(reach / (1 - 2 * composition.count / points), points)


@dataclass(frozen=True)
class Composed:
    """Law of the sum on the circle, at the losses above 0.

    Attributes:
        losses: increasing grid points above 0, shape (m,).
        mass: masses at these points, shape (m,); rounding errors of the transform may make them negative.
        noise: bound on the sum of the errors of the masses.
        lost: mass at plus infinity.
    """

    losses: Array
    mass: Array
    noise: float
    lost: float

    @classmethod
    def of(cls, rounds: lattice.Laws, grid: LossGrid) -> Composed:
        """Return the composition of rounds on the grid, each repeated as often as its count.

        The caller must account for mass outside the window.
        """
        total = sum(count for _, count in rounds)
        losses = grid.step * np.arange(1, grid.highest + 1, dtype=np.float64)
        if not lattice.has_mass(rounds):
            return cls(losses, np.zeros_like(losses), 1.0, 1.0)
        power = convolution_power([(law.mass, count) for law, count in rounds], grid.points)
        start = power.origin + sum(count * round(law.first / grid.step) for law, count in rounds)
        if abs(power.log_scale) > MOST_SCALE:
            raise NotApplicableError(
                f"over {total} rounds, the probabilities on the grid add up to far from 1; increase points, use "
                "fewer rounds, or use accountant 'contour'"
            )
        scale = math.exp(power.log_scale)
        mass = scale * np.roll(power.values, (start - grid.lowest) % grid.points)[1 - grid.lowest :]
        relative = math.expm1(power.scale_error + 64 * UNIT_ROUNDOFF) * float(np.abs(mass).sum())
        return cls(losses, mass, power.error * scale * (1 + 1e-9) * len(mass) + relative, lattice.infinite_mass(rounds))

    def delta(self, epsilon: float) -> float:
        """Return delta at eps >= 0: ``sum (1 - e^(eps - s)) C(s)`` over the losses s > eps, with C(s) the mass at s."""
        first = int(np.searchsorted(self.losses, epsilon, side="right"))
        return float(-(np.expm1(epsilon - self.losses[first:]) * self.mass[first:]).sum())


@dataclass(frozen=True)
class WithErrors:
    """Composition of sampled densities, with bounds on the error of its delta.

    Attributes:
        composed: composition of the densities.
        below: bound on the computed delta minus the true delta.
        above: bound on the true delta minus the computed delta.
    """

    composed: Composed
    below: float
    above: float

    @classmethod
    def of(cls, composition: Composition, grid: LossGrid, printed: bool) -> WithErrors:
        """Return the composition of rounds of one kind, with its error bounds.

        With ``printed``, each bound is the larger of the printed and the proved one.

        Raises:
            NotApplicableError: there are several kinds of rounds, or the error analysis does not cover the round.
        """
        if len(composition.rounds) > 1:
            raise NotApplicableError(ELSEWHERE)
        ((pair, count),) = composition.rounds
        errors = DensityErrors.of(pair, grid)
        law, error = errors.samples()
        rounds = [(law, count)]
        composed = Composed.of(rounds, grid)
        if not law.mass.any():
            return cls(composed, 1.0, 1.0)
        # grid points are off by a few roundings of L, which changes delta by as much
        noise = composed.noise + 64 * UNIT_ROUNDOFF * (1 + grid.length)
        both = errors.discretisation(count) + errors.rounding(count, error) + noise
        window = lattice.window_on(rounds, 0.0, -grid.length, grid.length)
        tilted = [(law.tilted(0.0, Side.ABOVE), count)]
        low, high = (
            math.exp(min(Tail(tilted, theta, sign).log_beyond(end) + lattice.log_moment(rounds, 0.0), LARGEST))
            for theta, sign, end in ((window.theta_low, -1, window.low), (window.theta_high, 1, window.high))
        )
        below, above = both + low, both + high + errors.cut(count, error)
        if printed:
            terms = high + errors.printed(count)
            below, above = max(below, terms + noise), max(above, terms + noise)
        return cls(composed, below, above)

    def log_delta(self, low: float, high: float) -> tuple[float, float]:
        """Return a lower bound on log delta at epsilon ``low``, and an upper bound at epsilon ``high``."""
        lower = (self.composed.delta(low) - self.below) * (1 - SUM_ERROR)
        upper = min((self.composed.delta(high) + self.above) * (1 + SUM_ERROR), 1.0)
        return _log(lower), _log(upper)

    def epsilon(self, low: float, high: float) -> tuple[float, float]:
        """Return a lower bound on epsilon at log delta ``low``, and an upper bound at log delta ``high``.

        The upper bound is infinite if the error bound is half of delta or more.
        """
        if self.above >= 0.5 * math.exp(high):
            return 0.0, math.inf
        top = float(self.composed.losses[-1])
        upper = upper_end(lambda at: self.log_delta(at, at)[1], high, 0.5 * top, 1 / top, lattice.PRECISION)
        lower = lower_end(lambda at: self.log_delta(at, at)[0], low, min(upper, top), 1 / top, lattice.PRECISION)
        return lower, upper


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
