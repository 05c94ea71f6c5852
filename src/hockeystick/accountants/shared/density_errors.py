"""Bounds on the density of the loss of a sampled Gaussian round, for the Fourier accountant as published.

In the round a record is removed; its sampling rate is q, its noise sigma, and omega is the density of its loss. First,
this module bounds the error in delta from replacing omega by samples and composing them on a circle. Second, it bounds
omega by step functions from above and from below.

**Errors.** Koskela, Jalko, Honkela 2020 [KJH20], version 1, Section 10 and its appendix, for q < 1/2:

    Lemma 12:   omega(y) <= M = sigma / (q sqrt(2 pi)) e^(1 / sigma^2)                      everywhere;
    Lemma 13:   omega(y) <= b(y) = sigma sqrt(2 / pi) e^(-(sigma^2 y + C)^2 / (2 sigma^2))  for y >= 2,

with ``C = sigma^2 log(1 / (2 q)) - 1/2``. The exponent of Lemma 13 is printed with two minus signs, one too many. Both
lemmas hold, but the proof of Lemma 13 also needs ``sigma^2 y + C >= 0``, which fails for small noise at a rate near
1/2.

**As printed.** The error of delta is at most err1 + (L - eps) (err2 + err3) + err4. Here err1 = P(S >= L), with S the
sum of the losses; the paper gives no bound on it, and Chernoff's is used here. The terms err2 and err3 bound errors of
the density of k rounds: err2 that of cutting the convolutions off at L, (10.9), and err3 that of making the density
periodic, (10.13). They are

    2 b(L) ((L + 1) M)^(k - 2),      (L + 1)^(k - 2) sigma / (q sqrt(2 pi)) e^(1 / sigma^2) log(1 / (1 - q)^2) s,

with ``s = sigma / (q pi) e^(-(sigma^2 L + C)^2 / (2 sigma^2) + 1 / sigma^2)``. The term err4, (10.15), is the error of
the Riemann sum, ``max |h'| (L - eps)^2 / (2 n)`` with ``|h'| <= M + max |omega'|``. These terms are not accepted as
proof here, for four reasons:

- The step of n points on [-L, L] is ``2 L / n``, so that err4 should be ``max |h'| (L - eps) L / n``.
- The maximum of |omega'| is left as an unspecified constant.
- (10.13) assumes that omega and its periodic continuation agree for x < L + log(1 - q). This holds for x >= 0 only, but
  is then used at ``x - t``, which may be negative.
- The C of (10.14) are values of the exact periodic convolution, while the method applies the trapezoidal rule to each
  convolution. No term covers the difference.

The error bound used is therefore the larger of the printed one (:meth:`DensityErrors.printed`) and the following one.

**Proved.** Let mu be the measure with mass ``h omega(s_j)`` at every point s_j = j h of the whole line, and let
``D = d/dy``. With x the outcome of loss y, ``V = (1 - q) / q e^(-(x - 1/2) / sigma^2)`` and ``Z = 1 + V`` one has
``D x = sigma^2 Z`` and ``D Z = Z - Z^2``. Hence

    omega' = omega [(1 - x) - (1 + x) V],
    omega'' = omega [(1 - x)^2 - sigma^2 + (2 x^2 + x - 1 - 2 sigma^2) V + (x^2 + 3 x + 2 - sigma^2) V^2],

so that ``T1 = int |omega'|`` and ``T2 = int |omega''|`` are expectations under the mixture of N(0, sigma^2) and N(1,
sigma^2). Under either component, ``E V^j |p(x)|`` is a constant times ``E |p(x - j)|``, and
``E |p(x - j)| <= sqrt(E p(x - j)^2)``. These bounds have closed forms, and provide the constant C(sigma, q) of the
paper.

Let f vanish at plus and minus infinity, with f' of bounded variation. Then
``|h sum f(j h) - int f| <= h^2 / 16 TV(f')``. Indeed the error is ``h^2 int B_2({y / h}) / 2 df'(y)``, the Bernoulli
polynomial B_2 lies in [-1/12, 1/6], and df' has total mass 0. Let w(s) = (1 - e^(eps - s))_+; its slope is at most 1
and has variation 2. Replace omega by mu in one round after the other. The convolution of w with the other rounds is at
most ``m^(k - 1)``, with m the mass of mu or 1, whichever is larger. The same bound holds for the slope of this
convolution, and for half the variation of its slope. Hence

    |E_mu^k w - E_omega^k w| <= k m^(k - 1) h^2 / 16 (T2 + 2 T1 + 2 sup omega),     m <= 1 + h^2 / 16 T2,     (err4)

This err4 covers the convolutions and the final sum over losses, and is of second order in h. Here
``sup omega <= min(M, T1 / 2)``. The method leaves out the points at and above L. By Lemma 13 their mass is at most
``2 Q(sigma (L - h) + C / sigma)``, with Q the normal tail. Therefore ``k m^(k - 1)`` times this mass is added to the
upper bound on delta (err2). On the circle a sum S at or above L gets too little weight, and a sum below -L too much.
Therefore ``P_mu(S >= L)`` is added to the upper bound, and ``P_mu(S < -L)`` subtracted from the lower bound (err1 and
err3). Both probabilities are bounded by Chernoff's inequality for the masses that were used. The masses are computed
with rounding errors. ``k m^(k - 1)`` times the sum of these errors is added to the upper bound, and subtracted from the
lower bound.

The bound is useful only if ``k h^2 T2 / 16`` is below delta. T2 grows as ``1 / q^2``: at noise 1, rate 0.01, L = 20 and
n = 4e6, err4 is 2.1e-6 per round. In the printed terms err2 is multiplied by (L + 1) M for every round, which is 2,277
in this example; they are useful only for a few rounds and large n. They are computed as logarithms, since they may have
thousands of digits.

**Step functions.** Koskela, Jalko, Prediger, Honkela 2021 [KJPH21], Section 6. Take the least step function above
omega, constant on every cell of the grid, and move the mass of each cell to the cell's upper end: this raises every
hockey-stick divergence. Take the largest step function below omega, and move the masses to the lower ends: this lowers
every divergence. Over k rounds the masses are wrong by a factor of about ``e^(k h sup omega)`` in either case. The
method :func:`~hockeystick.accountants.shared.loss_grid.rounded`, which uses the exact mass of each cell, does not have
this factor.

**One peak.** By the formula above, ``(log omega)' = (1 - x) - (1 + x) V``. This is positive for ``x <= -1`` and
negative for ``x >= 1``. For x in between it has the sign of ``log((1 - x) / (1 + x)) - log V``. The derivative of this
difference in x is ``1 / sigma^2 - 2 / (1 - x^2)``, which is not positive for ``sigma^2 >= 1/2``. Hence omega rises up
to one peak and falls after it. Its extremes over a cell are at the cell's ends, except in the cell that contains the
peak. With less noise omega may have two peaks, and the method is refused.

**At the peak.** The loss s as a function of the outcome x has the slope ``ds/dx = 1 / (sigma^2 (1 + V))``. Hence
``|d log omega / dx| <= 2 / sigma^2`` for x in [-1, 1], and ``sup omega <= omega(a) e^(2 (b - a) / sigma^2)`` for any
outcomes a < b on either side of the peak.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.accountants.shared.lattice import RELATIVE, UNDERFLOW, LatticeLaw
from hockeystick.accountants.shared.loss_grid import LossGrid
from hockeystick.accountants.shared.privacy_curve import LOST, PrivacyCurve
from hockeystick.numerics.arrays import Array
from hockeystick.numerics.roots import root
from hockeystick.numerics.rounding import LARGEST, SPARE, UNIT_ROUNDOFF
from hockeystick.pairs import DominatingPair, GaussianPair, PoissonRemovePair
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side

LEAST_LENGTH = 2.0  # smallest loss to which Lemma 13 applies
ELSEWHERE = (
    "the error terms require a single kind of Poisson-sampled Gaussian rounds, a rate below 1/2 and adjacency "
    "'remove'; use these, or leave errors out"
)
"""Reason for refusing error terms for rounds that the analysis does not cover."""

LEAST_NOISE = math.sqrt(0.5) * (1 + 1e-12)  # smallest noise at which the density is known to have a single peak
APART = 1e-9  # distance from the peak to the outcome used on either side of it
KNOWN = 1e-3  # relative error of a density from which it counts as unknown
NO_BOUNDS = (
    "density bounds (rounding=2) require Poisson-sampled Gaussian rounds with a noise multiplier of at least 0.7072 "
    "and adjacency 'remove'; use these, or rounding=1"
)
"""Reason for refusing the density bounds of ``rounding=2``."""


@dataclass(frozen=True)
class DensityErrors:
    """Error bounds for one sampled Gaussian round, whose loss is sampled on a window [-L, L].

    Attributes:
        noise: sigma, the standard deviation of the noise divided by the distance of the two means.
        rate: sample rate q.
        grid: grid of losses on the window.
    """

    noise: float
    rate: float
    grid: LossGrid

    @classmethod
    def of(cls, pair: DominatingPair, grid: LossGrid) -> DensityErrors:
        """Return the error bounds for one round of a pair.

        Raises:
            NotApplicableError: the analysis does not cover the round, or the window is too short for Lemma 13.
        """
        if not isinstance(pair, PoissonRemovePair) or not isinstance(pair.base, GaussianPair) or 2 * pair.rate >= 1:
            raise NotApplicableError(ELSEWHERE)
        noise, at = 1 / pair.base.mu, grid.length - grid.step
        if at < LEAST_LENGTH or _from_centre(noise, pair.rate, at) < 0:
            least = max(LEAST_LENGTH, math.log(2 * pair.rate) + 0.5 / noise**2)
            raise NotApplicableError(
                f"Lemma 13, on the density beyond the window, requires losses of at least {least:.4g}; set length "
                "above that"
            )
        return cls(noise, pair.rate, grid)

    def samples(self) -> tuple[LatticeLaw, float]:
        """Return the density times the step at each point of the window, and a bound on the sum of all their errors."""
        sigma, step, edge = self.noise, self.grid.step, math.log1p(-self.rate)
        first = math.floor(edge / step) + 1
        loss = step * np.arange(first, self.grid.highest + 1, dtype=np.float64)
        loss = loss[loss > edge]
        exponent, relative = log_density(sigma, self.rate, loss)
        mass = step * np.exp(np.minimum(exponent, LARGEST))
        most = step * math.exp(min(log_density_bound(sigma, self.rate), LARGEST)) * (1 + SPARE)
        known = relative < KNOWN
        error = np.where(known, mass * np.expm1(np.where(known, 2 * relative, 0.0)), np.maximum(mass, most))
        with np.errstate(over="ignore"):
            lowest = self.grid.highest + 1 - len(loss)
            return LatticeLaw(step * lowest, step, mass, 0.0, 0.0), float(error.sum()) * (1 + SPARE) + UNDERFLOW

    @property
    def first_variation(self) -> float:
        """Upper bound T1 on the integral of ``|omega'|``."""
        return self._variation(((1.0, -1.0, 0.0), (-1.0, -1.0, 0.0)))

    @property
    def second_variation(self) -> float:
        """Upper bound T2 on the integral of ``|omega''|``."""
        two = self.noise**2
        return self._variation(((1 - two, -2.0, 1.0), (-1 - 2 * two, 1.0, 2.0), (2 - two, 3.0, 1.0)))

    def _variation(self, polynomials: tuple[tuple[float, float, float], ...]) -> float:
        """Upper bound on ``sum_j E V^j |p_j(x)|``, with p_j given by its coefficients.

        Each term is bounded by the root of the second moment of ``p_j(x - j)`` under each component of the mixture.
        """
        two, total = self.noise**2, 0.0
        for j, (c0, c1, c2) in enumerate(polynomials):
            odds = j * (math.log1p(-self.rate) - math.log(self.rate) + 0.5 / two) + 0.5 * j * j / two
            for weight, mean in ((1 - self.rate, 0.0), (self.rate, 1.0)):
                at = mean - j
                value, slope = c0 + at * (c1 + at * c2), c1 + 2 * at * c2
                size = math.hypot(value + c2 * two, slope * self.noise, math.sqrt(2) * c2 * two)
                total += weight * size * math.exp(min(odds - j * mean / two, LARGEST))
        return total * (1 + SPARE)

    @property
    def supremum(self) -> float:
        """Upper bound on the density omega."""
        return min(
            math.exp(min(log_density_bound(self.noise, self.rate), LARGEST)) * (1 + SPARE), 0.5 * self.first_variation
        )

    def discretisation(self, rounds: int) -> float:
        """Return err4, the error in delta from replacing the density of each round by samples."""
        share = self.grid.step**2 / 16 * (1 + SPARE)
        one = share * (self.second_variation + 2 * self.first_variation + 2 * self.supremum)
        return rounds * self._powers(rounds, 0.0) * one

    def cut(self, rounds: int, error: float) -> float:
        """Return err2, the error in delta from leaving out the points of each round at and above L."""
        from scipy.special import ndtr

        from_centre = _from_centre(self.noise, self.rate, self.grid.length - self.grid.step)
        tail = 2 * float(ndtr(-from_centre / self.noise * (1 - 1e-12))) * (1 + SPARE) + UNDERFLOW
        return rounds * self._powers(rounds, error) * tail

    def rounding(self, rounds: int, error: float) -> float:
        """Return the error in delta from rounding, if the errors of one round's samples add up to at most ``error``."""
        return rounds * self._powers(rounds, error) * error

    def printed(self, rounds: int) -> float:
        """Return ``(err2 + err3) L + err4`` with the printed terms at epsilon 0.

        The step is 2 L / n, not the printed one. The result is infinite on overflow.
        """
        sigma, q, length = self.noise, self.rate, self.grid.length
        slope = self.supremum + 0.5 * self.second_variation
        total = slope * length**2 / self.grid.points
        if rounds > 1:
            logs = (log_truncation(sigma, q, length, rounds), log_periodisation(sigma, q, length, rounds))
            total += length * sum(math.exp(log) if log < LARGEST else math.inf for log in logs)
        return total * (1 + SPARE)

    def _powers(self, rounds: int, error: float) -> float:
        """Upper bound on ``m^(k - 1)``, with m the total mass of one round's samples.

        It also holds for the computed samples, whose errors add up to at most ``error``.
        """
        log = (rounds - 1) * math.log1p(self.grid.step**2 / 16 * self.second_variation * (1 + SPARE) + error)
        return math.exp(log) * (1 + SPARE) if log < LARGEST else math.inf


def log_density(noise: float, rate: float, loss: Array) -> tuple[Array, Array]:
    """Return the log of the density at losses s above ``log(1 - q)``, and bounds on the density's relative errors.

    With u = (e^s - (1 - q)) / q the density is ``sigma / (q sqrt(2 pi)) e^(2 s) / u e^(-(sigma log u + 1 / (2 sigma))^2
    / 2)``. Let the edge be log(1 - q), where u is 0. The error of log u is at most the rounding errors of s and of the
    edge, divided by the distance of s from the edge.
    """
    edge = math.log1p(-rate)
    above, odds = loss - edge, edge - math.log(rate)
    log_u = _log_excess(above) + odds
    place, scale = noise * log_u + 0.5 / noise, math.log(noise / (rate * math.sqrt(2 * math.pi)))
    exponent = 2 * loss - log_u - 0.5 * np.square(place) + scale
    moved = (np.abs(loss) + 4 * abs(edge) + above) / -np.expm1(-above) + 8 + 4 * (np.abs(log_u) + 2 * abs(odds))
    terms = 2 * np.abs(loss) + np.abs(log_u) + np.square(place) + abs(scale)
    of_place = np.abs(place) * (noise * moved + 8 * (noise * np.abs(log_u) + 0.5 / noise))
    return exponent, UNIT_ROUNDOFF * (moved + of_place + 4 * terms + 24)


def _log_excess(above: Array) -> Array:
    """Return ``log(e^a - 1)`` for each element a of ``above``."""
    near = np.log(np.expm1(np.minimum(above, 1.0)))
    far = above + np.log1p(-np.exp(-np.maximum(above, 1.0)))
    found: Array = np.where(above < 1, near, far)
    return found


def _from_centre(noise: float, rate: float, loss: float) -> float:
    """``sigma^2 y + C`` at the loss y, with the C of Lemma 13."""
    return noise**2 * (loss - math.log(2 * rate)) - 0.5


def log_density_bound(noise: float, rate: float) -> float:
    """Return log M of Lemma 12, an upper bound on the log of the density at any loss."""
    return math.log(noise / (rate * math.sqrt(2 * math.pi))) + noise**-2


def log_tail_bound(noise: float, rate: float, loss: float) -> float:
    """Return log b of Lemma 13, an upper bound on the log of the density at a loss of 2 or more.

    The lemma is unproved at a loss y with negative ``sigma^2 y + C``; :meth:`DensityErrors.of` refuses a window that
    ends at such a loss.
    """
    return math.log(noise * math.sqrt(2 / math.pi)) - 0.5 * (_from_centre(noise, rate, loss) / noise) ** 2


def log_truncation(noise: float, rate: float, length: float, rounds: int) -> float:
    """Return the log of (10.9), the published error bound for the density of k >= 2 rounds cut off at L = length."""
    more = math.log(length + 1) + log_density_bound(noise, rate)
    return math.log(2) + log_tail_bound(noise, rate, length) + (rounds - 2) * more


def log_periodisation(noise: float, rate: float, length: float, rounds: int) -> float:
    """Return the log of (10.13), the printed error of the density of k >= 2 rounds if omega is made periodic."""
    first = log_density_bound(noise, rate) + (rounds - 2) * math.log(length + 1)
    last = math.log(noise / (rate * math.pi)) + noise**-2 - 0.5 * (_from_centre(noise, rate, length) / noise) ** 2
    return first + math.log(-2 * math.log1p(-rate)) + last


def between(pair: DominatingPair, grid: LossGrid, side: Side) -> LatticeLaw:
    """Return the masses of a step function above or below the density of the loss, as ``side`` says.

    Raises:
        NotApplicableError: the analysis does not cover the round, or the window begins above its least loss.
    """
    if not isinstance(pair, PoissonRemovePair) or not isinstance(pair.base, GaussianPair):
        raise NotApplicableError(NO_BOUNDS)
    noise, rate, step = 1 / pair.base.mu, pair.rate, grid.step
    if noise < LEAST_NOISE:
        raise NotApplicableError(NO_BOUNDS)
    edge = math.log1p(-rate)
    first = math.floor(edge / step) + 1
    if first <= grid.lowest:
        raise NotApplicableError(f"the window begins above the least loss of a round; set length above {-edge:.4g}")
    loss = step * np.arange(first, grid.highest + 1, dtype=np.float64)
    log_omega, relative = log_density(noise, rate, loss)
    known = int(np.argmax(relative < KNOWN))  # close to the edge, loss - edge cancels
    loss, log_omega, relative = loss[known:], log_omega[known:], relative[known:]
    omega = np.exp(log_omega)
    low, high = omega * (1 - 2 * relative), omega * (1 + 2 * relative)
    at, slip = step * (first + known), 8 * UNIT_ROUNDOFF * grid.length  # covers sums of losses
    if side is Side.BELOW:
        return LatticeLaw(at, step, step * (1 - 4 * UNIT_ROUNDOFF) * np.minimum(low[:-1], low[1:]), 0.0, slip)
    before, after, most = peak(noise, rate)
    outcome = noise**2 * (np.log(np.expm1(loss - edge)) + edge - math.log(rate)) + 0.5
    rising, falling = outcome <= before, outcome >= after
    others = np.where(rising[1:], high[1:], np.where(falling[:-1], high[:-1], most))
    mass = step * np.append(high[0] if rising[0] else most, others)
    mass[0] *= (float(loss[0]) - edge) / step * (1 + 2 * float(relative[0]))  # from the edge to the first point
    beyond = float(PrivacyCurve(pair).above(loss[-1:])[0][0]) * (1 + RELATIVE) + LOST
    return LatticeLaw(at, step, mass * (1 + 8 * UNIT_ROUNDOFF), beyond, slip)


def peak(noise: float, rate: float) -> tuple[float, float, float]:
    """Return outcomes just below and above the peak of the density, and an upper bound on its height.

    Raises:
        NotApplicableError: rounding hides on which side of the peak the outcomes lie.
    """
    odds = math.log1p(-rate) - math.log(rate)

    def rival(x: float) -> float:  # V
        return math.exp(min(odds - (x - 0.5) / noise**2, LARGEST))

    def slope(x: float) -> float:
        return (1 - x) - (1 + x) * rival(x)

    place = root(slope, -1.0, 1.0, xtol=1e-14)
    before, after = place - APART, place + APART
    for x, sign in ((before, 1), (after, -1)):
        if not sign * slope(x) > 32 * UNIT_ROUNDOFF * (1 + abs(odds)) * (2 + 2 * rival(x)):
            raise NotApplicableError("the peak of the density is lost to rounding; use rounding=1")
    loss = math.log1p(rate * math.expm1((before - 0.5) / noise**2))
    log_omega, relative = log_density(noise, rate, np.array([loss]))
    slack = 2 * float(relative[0]) + 2 * (after - before + APART) / noise**2
    return before, after, math.exp(float(log_omega[0]) + slack)
