"""``fourier``: the Fourier accountant. Certified (``rounding=1``, the default) or the first estimate (``rounding=0``).

Koskela, Jalko, Honkela 2020 [KJH20]: the density of the loss at n points of ``[-L, L)``, its k-th power by
fast Fourier transform, ``delta(eps) = sum_(s > eps) (1 - e^(eps - s)) C(s)``, epsilon by Newton's iteration.
This is an estimate. Bounds: Koskela, Jalko, Prediger, Honkela 2021 [KJPH21], with the errors of different
rounds as in Koskela, Honkela 2021 [KH21]: losses rounded up to the grid for the upper end, down for the
lower one, and for what the circle of length 2L wraps around

    delta <= delta_circle(up) + P(S >= L),     delta >= delta_circle(down) - P(S < -L),

since ``w(s) = (1 - e^(eps - s))_+`` increases from 0 to 1: a sum above the window is weighed too little, one below it
too much. Each is Chernoff's ``e^(sum k_i K_i(+-lambda) - lambda L)``, the two halves of Theorem 7 of [KH21] apart,
with K of the rounded law. Mass beyond the grid goes to plus infinity (up) or is left out (down). The
transform's rounding error is charged entry by entry (``numerics/fourier.py``).

Cost: ``n log n`` per distinct round, whatever the counts. Known failure: rounding shifts every loss by up to ``2L/n``,
so that the interval is about ``2Lk/n`` wide in epsilon; deltas below about 1e-10 drown in the transform's rounding.
The estimate of 2020 has no error known: it undersamples the steep lower end of the loss, and atoms are moved.

With ``errors`` it has one, and the answer is certified: for sampled Gaussian rounds of one kind of which a record is
removed, the error analysis of [KJH20], version 1, Section 10 (``accountants/shared/density_errors.py``). ``errors=1``
takes the terms as they are printed (those that are proved where they are larger), ``errors=2`` those that are proved.
Newton's iteration begins at ``start``, 0 by default: that paper begins at the epsilon of fewer rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from hockeystick.accountants.published import PublishedAccountant
from hockeystick.accountants.shared.density_errors import ELSEWHERE, LEAST_LENGTH, DensityErrors
from hockeystick.accountants.shared.loss_grid import MASS_ERROR, GridLaw, LossGrid, rounded, sampled
from hockeystick.accountants.shared.tilted import LADDER, log_sum, reach_of
from hockeystick.directions.directions import Directions
from hockeystick.directions.finite import Ends, bounded_delta, bounded_epsilon, estimated_delta, estimated_epsilon
from hockeystick.numerics.fourier import convolution_power, fast_length
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.values import domains
from hockeystick.values.bounds import Bound, DeltaBound, DeltaEstimate, Estimate
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]

POINTS = (1 << 16, 1 << 20)  # least and most that are chosen automatically
DENSE = 1 << 22  # points where the errors of densities are bounded: they fall as the square of the step
A_ROUND = 256  # points for each round, so that the interval is about 2 L / 256 wide
MAX_WORK = (1.2e7, 4e6)  # points times distinct rounds that take about 10 s: the estimate, the bounds
WRAPPED = 1e-13  # mass that an automatic window leaves outside, where no smaller delta is asked
LEAST_WRAPPED = 1e-300  # no smaller mass is aimed at: the transform's rounding alone is far above it
MOST_SCALE = 30.0  # log of what the masses of all rounds may multiply to, which is 1 but for rounding and lost mass
SHARE = 1e-3  # of delta that it leaves outside
NEWTON_STEPS = 200  # of the iteration, which rises to the root from 0
SETTLED = 1e-12  # relative to 1 + epsilon: the last step of the iteration
CLOSE = 1e-9  # relative, to which epsilon is found
HALVINGS = 8  # of the parameter of Chernoff's bound
WIDE = "the error terms are as large as delta; set points to more, or length to less, or ask for fewer rounds"
"""Reason for a wide interval of delta."""

LOG_ENOUGH = -100.0  # log of a mass outside that needs no better bound


@dataclass(frozen=True)
class FourierAccountant(PublishedAccountant):
    """Fourier accountant: one window for all rounds, both roundings, one transform each."""

    length: Annotated[float | None, domains.POSITIVE.of("half-width L of the window of losses")] = None
    points: Annotated[int | None, domains.whole_numbers(16, 10**8).of("points n of the window")] = None
    rounding: Annotated[
        int, domains.whole_numbers(0, 1).of("1 for certified ends by rounding up and down, 0 for the density itself")
    ] = 1
    errors: Annotated[
        int, domains.whole_numbers(0, 2).of("1 for the density with its printed error terms, 2 with the proved ones")
    ] = 0
    start: Annotated[float, domains.AT_LEAST_ZERO.of("epsilon at which Newton's iteration begins")] = 0.0

    name: ClassVar[str] = "fourier"
    summary: ClassVar[str] = "certified: losses on a grid, rounded both ways, composed by FFT (rounding=0: an estimate)"

    def epsilon_at(self, directions: Directions, delta: float) -> Bound | Estimate:
        """Return the epsilons at which the two sums meet delta."""
        if self.rounding or self.errors:
            return bounded_epsilon(directions, delta, self.name, self._epsilon_ends)
        return estimated_epsilon(
            directions,
            delta,
            self.name,
            lambda composition, at: newton(self.estimate(composition, SHARE * at), at, self.start),
        )

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaBound | DeltaEstimate:
        """Return the two sums at epsilon."""
        if self.rounding or self.errors:
            return bounded_delta(directions, epsilon, self.name, self._delta_ends)
        return estimated_delta(
            directions,
            epsilon,
            self.name,
            lambda composition, at: _log(self.estimate(composition, WRAPPED, at).delta(at)[0]),
        )

    def estimate(self, composition: Composition, wrapped: float, epsilon: float = 0.0) -> Composed:
        """Return the composition of densities (2020)."""
        grid = self._grid(composition, wrapped, epsilon)
        return Composed.of(composition, grid, None)

    def ends(self, composition: Composition, wrapped: float, epsilon: float = 0.0) -> tuple[Composed, Composed]:
        """Return the compositions rounded down and up (2021), or that of densities with its errors (2020)."""
        grid = self._grid(composition, wrapped, epsilon)
        if self.errors:
            return _with_errors(composition, grid, self.errors == 1)
        return Composed.of(composition, grid, Side.BELOW), Composed.of(composition, grid, Side.ABOVE)

    def _delta_ends(self, composition: Composition, epsilon: float) -> Ends:
        down, up = self.ends(composition, WRAPPED, epsilon)
        lower, upper = max(down.delta_below(epsilon), 0.0), min(up.delta_above(epsilon), 1.0)
        between = down.delta(epsilon)[0] if self.errors else 0.5 * (lower + upper)
        return Ends(lower, min(max(between, lower), upper), upper, WIDE if self.errors and upper > 2 * lower else None)

    def _epsilon_ends(self, composition: Composition, deltas: tuple[float, float]) -> Ends:
        least, most = deltas
        down, up = self.ends(composition, SHARE * least)
        upper = _settled(newton(up, least, self.start), lambda at: up.delta_above(at) <= least, CLOSE)
        lower = 0.0
        if down.noise < 0.5 * most:
            lower = _settled(newton(down, most, self.start), lambda at: at <= 0 or down.delta_below(at) >= most, -CLOSE)
            lower = min(max(lower, 0.0), upper)
        return Ends(lower, 0.5 * (lower + upper), upper)

    def _grid(self, composition: Composition, wrapped: float, epsilon: float) -> LossGrid:
        kinds = len(composition.rounds)
        least = (
            DENSE if self.errors else min(max(POINTS[0], 1 << (A_ROUND * composition.count).bit_length()), POINTS[1])
        )
        points, most = self.points or least, MAX_WORK[self.rounding and not self.errors]
        if points * kinds > most:
            raise NotApplicableError(
                f"{points} points for each of {kinds} kinds of rounds would take too long; "
                f"set points to {most / kinds:.0f} or less"
            )
        points = fast_length(points)
        if self.length is not None:
            return LossGrid(self.length, points)
        if points <= 4 * composition.count:
            raise NotApplicableError(
                f"{points} points are too few for {composition.count} rounds: the loss of each is rounded by a part of "
                f"the window; set points above {4 * composition.count:.3g}, or length, or use accountant 'contour'"
            )
        reach = max(reach_of(composition, -math.log(max(wrapped, LEAST_WRAPPED))), 1.01 * epsilon)
        reach = reach or 1.0  # any will do where no loss differs from 0
        if self.errors:
            reach = max(reach, 1.01 * LEAST_LENGTH)
        return LossGrid(reach / (1 - 2 * composition.count / points), points)


@dataclass(frozen=True)
class Composed:
    """Law of the sum on the circle, with its error bounds.

    Attributes:
        losses: increasing grid points above 0, shape (m,).
        mass: their masses, shape (m,); noise of the transform may make them negative.
        error: bound on the absolute error of each mass.
        factor: bound on the relative error of all masses together.
        shift: bound on the distance of the sum of losses beyond its grid point.
        lost: mass moved to plus infinity at the end of the grid.
        outside: upper bound on the mass of sums above the window (of losses rounded up) or below it (rounded down).
    """

    losses: Array
    mass: Array
    error: float
    factor: float
    shift: float
    lost: float
    outside: float

    @classmethod
    def of(cls, composition: Composition, grid: LossGrid, side: Side | None) -> Composed:
        """Return the product of the rounds' laws, rounded up or down; without a side, that of their densities."""
        rounds = [
            (sampled(pair, grid) if side is None else rounded(pair, grid, side), count)
            for pair, count in composition.rounds
        ]
        found = cls.of_laws(rounds, grid)
        if side is None or found.outside > 0:  # no mass in the window
            return found
        return replace(found, outside=_outside(rounds, grid, side))

    @classmethod
    def of_laws(cls, rounds: list[tuple[GridLaw, int]], grid: LossGrid) -> Composed:
        """Return the product of laws on the grid with their counts; the caller handles the mass outside the window."""
        total = sum(count for _, count in rounds)
        losses = grid.step * np.arange(1, grid.highest + 1, dtype=np.float64)
        if not all(law.mass.any() for law, _ in rounds):  # all mass is at infinity
            return cls(losses, np.zeros_like(losses), 0.0, 0.0, 0.0, 1.0, 1.0)
        n = grid.points
        power = convolution_power([(law.mass, count) for law, count in rounds], n)
        start = power.origin + sum(count * law.first for law, count in rounds)
        if abs(power.log_scale) > MOST_SCALE:
            raise NotApplicableError(
                f"the masses on the grid, {total} times over, are far from 1; set points to more, or "
                "give fewer rounds, or use accountant 'contour'"
            )
        scale = math.exp(power.log_scale)
        return cls(
            losses,
            scale * np.roll(power.values, (start - grid.lowest) % n)[1 - grid.lowest :],
            power.error * scale * (1 + 1e-9),
            math.expm1(power.scale_error + 2 * total * MASS_ERROR + 64 * UNIT_ROUNDOFF),
            sum(count * law.shift for law, count in rounds) + 8 * UNIT_ROUNDOFF * grid.length,
            sum(count * law.lost for law, count in rounds),
            0.0,
        )

    @property
    def noise(self) -> float:
        """Uncertainty of delta from the rounding of the transform, the window and the grid's end."""
        return self.error * len(self.mass) + self.outside + self.lost

    def delta(self, epsilon: float) -> tuple[float, float]:
        """``sum (1 - e^(eps - s)) C(s)`` and minus its derivative, ``sum e^(eps - s) C(s)``, over s > eps >= 0."""
        first = int(np.searchsorted(self.losses, epsilon, side="right"))
        mass, beyond = self.mass[first:], epsilon - self.losses[first:]
        return float(-(np.expm1(beyond) * mass).sum()), float((np.exp(beyond) * mass).sum())

    def delta_above(self, epsilon: float) -> float:
        """Return an upper bound on delta for losses rounded up; delta changes by at most 1 per unit of epsilon."""
        at = epsilon - self.shift
        value = self.delta(max(at, 0.0))[0] + max(-at, 0.0)
        doubt = self._doubt(at)
        return max((value + doubt) * (1 + self.factor) + (self.outside + self.lost) * (1 + 1e-12), 0.0)

    def delta_below(self, epsilon: float) -> float:
        """Return a lower bound on delta for losses rounded down."""
        at = epsilon + self.shift
        value = self.delta(at)[0] - self._doubt(at)
        return value * (1 - self.factor if value > 0 else 1.0) - self.outside * (1 + 1e-12)

    def _doubt(self, epsilon: float) -> float:
        """Noise of the masses above epsilon, with weights of at most 1, and the rounding of their sum."""
        count = len(self.mass) - int(np.searchsorted(self.losses, epsilon, side="right"))
        return self.error * count * (1 + 1e-12) * (1 + 128 * UNIT_ROUNDOFF)


def newton(composed: Composed, delta: float, start: float = 0.0) -> float:
    """Return the epsilon >= 0 at which the sum is delta, by Newton's iteration from a start on either side of the root.

    The iteration is in ``e^epsilon``, in which the sum is convex: from below it increases to the root, and from above
    its first step goes below. In epsilon itself it may overshoot.

    Raises:
        NotApplicableError: delta is below the noise of the masses, or the window ends before the root.
    """
    if composed.noise >= 0.5 * delta:
        raise NotApplicableError(
            f"the rounding of the transform, the window and the grid leave {composed.noise:.1e} of delta in doubt, too "
            f"much for {delta:.3g}; raise delta or length, or use accountant 'contour' or 'grid'"
        )
    epsilon = _below(composed, delta, start)
    for _ in range(NEWTON_STEPS):
        value, slope = composed.delta(epsilon)
        if value <= delta or slope <= 0:
            return epsilon
        step = math.log1p((value - delta) / slope)
        epsilon += step
        if step <= SETTLED * (1 + epsilon):
            return epsilon
    raise NotApplicableError(
        f"Newton's iteration for epsilon at delta {delta:.3g} does not settle; use accountant 'contour' or 'grid'"
    )


def _below(composed: Composed, delta: float, start: float) -> float:
    """The start, or after one step of the iteration if it is above the root: the tangent is below the sum."""
    if start == 0:
        return 0.0
    value, slope = composed.delta(start)
    if value > delta:
        return start
    back = (value - delta) / slope if slope > 0 else -math.inf
    return max(start + math.log1p(back), 0.0) if back > -1 else 0.0


def _with_errors(composition: Composition, grid: LossGrid, printed: bool) -> tuple[Composed, Composed]:
    """The composition of densities twice, with the amounts to subtract from its delta and to add to it."""
    if len(composition.rounds) > 1:
        raise NotApplicableError(ELSEWHERE)
    ((pair, count),) = composition.rounds
    errors = DensityErrors.of(pair, grid)
    law, error = errors.samples()
    rounds = [(law, count)]
    found = Composed.of_laws(rounds, grid)
    if found.outside > 0:  # all samples are zero
        return found, found
    both = errors.discretisation(count) + errors.rounding(count, error)
    below = both + _outside(rounds, grid, Side.BELOW)
    beyond = _outside(rounds, grid, Side.ABOVE)
    above = both + beyond + errors.cut(count, error)
    if printed:
        terms = beyond + errors.printed(count)
        below, above = max(below, terms), max(above, terms)
    return replace(found, outside=below), replace(found, outside=above)


def _settled(start: float, holds: Callable[[float], bool], close: float) -> float:
    """Nearest point to ``start`` in the direction of ``close`` found to hold, by growing steps."""
    step, at = close * (1 + start), start
    while not holds(at):
        at, step = start + step, 4 * step
    return at


def _outside(rounds: list[tuple[GridLaw, int]], grid: LossGrid, side: Side) -> float:
    """Chernoff's bound on the mass of sums at or above L, or below -L; lambda from a coarser law, K from the law."""
    coarse = []
    for law, count in rounds:
        block = max(len(law.mass) // 2048, 1)
        edges = np.arange(0, len(law.mass), block)
        mass = np.add.reduceat(law.mass, edges)
        mean = np.add.reduceat(law.mass * law.losses(grid), edges) / np.where(mass > 0, mass, 1.0)
        coarse.append((mass, mean, count))  # at the means: half a block, times the rounds, exceeds the window

    def about(t: float) -> float:
        with np.errstate(divide="ignore"):
            return sum(count * log_sum(np.log(mass) + side * t * at) for mass, at, count in coarse) - t * grid.length

    def bound(t: float) -> float:
        moment = sum(count * law.log_moment(grid, side * t) for law, count in rounds)
        care = UNIT_ROUNDOFF * sum(count for _, count in rounds) * (64 + 8 * t * grid.length)
        return moment + care - t * grid.length

    t = float(min(LADDER, key=about))
    least = bound(t)
    for _ in range(HALVINGS):  # the coarser law has a lighter tail, so its best lambda may be too large for the law
        if least < LOG_ENOUGH:
            break
        t *= 0.5
        least = min(least, bound(t))
    return math.exp(min(least, 0.0))


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
