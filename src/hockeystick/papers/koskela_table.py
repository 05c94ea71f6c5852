"""The computation behind Table 1 of Koskela, Jalko, Honkela 2020 [KJH20], version 1, without its rounding errors.

With x the outcome whose loss is s, the privacy loss of a round at rate q with noise sigma has the density

    f(s) = e^s phi(x / sigma) / sigma dx/ds,   x = sigma^2 log u + 1/2,   u = (e^s - (1 - q)) / q,   s > log(1 - q),

and dx/ds = sigma^2 e^s / (q u). The density is sampled at s_j = -L + j h, h = 2 L / n. The published samples start at
``j = floor(n (L + log(1 - q)) / (2 L))``: one point *before* the edge log(1 - q), where f is 0, u is negative and the
formula takes the logarithm of a negative number, ``log u = log|u| + i pi``. The real part was kept.
With ``a = sigma^2 log|u| + 1/2``, so that ``x = a + i pi sigma^2``,

    -(x / sigma)^2 / 2 = pi^2 sigma^2 / 2 - (a / sigma)^2 / 2 - i pi a,
    Re e^(-i pi a) = cos(pi / 2 + pi sigma^2 log|u|) = -sin(pi sigma^2 log|u|),

    Re f(s) = sigma e^(2 s) / (q |u| sqrt(2 pi)) e^(pi^2 sigma^2 / 2 - (a / sigma)^2 / 2) sin(pi sigma^2 log|u|).

h times this real part is the mass of a *spurious sample*, of either sign; it is small if the edge is near a grid point.

The k-th power is taken by Fourier transform. Newton's iteration in epsilon starts from 0, sums from the second grid
point at or below epsilon, and stops when the residual is small. The authors' code (DPBayes/PLD-Accountant, commit
3182ed2b, compute_epsilon.py) shows the grid, the start and an absolute tolerance; that version includes two points
before the edge.

A transform in doubles errs by about 1e-16 in each bin, its k-th power by k times as much: 1e-12 after 10,000 rounds,
which is 3e-7 of epsilon at noise 1. To separate this error from those of the method, only the few bins whose power is
not negligible are computed here, each as a sum from which 1 is subtracted term by term.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.logarithm import log_one_plus

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

LEAST_MASS = 1e-30  # smallest mass of a sample that is kept
LEAST_POWER = 1e-22  # smallest power of a bin that is kept
BINS = 16  # bins summed at a time
STANDS = 1e-11  # the iteration has converged when a step is at most this
MOST_STEPS = 60  # largest number of steps of the iteration


@dataclass(frozen=True)
class Samples:
    """Samples of the loss of one round.

    Attributes:
        length: L.
        points: n.
        losses: grid points above the edge with a mass that is not negligible, shape (m,).
        mass: density at these points times h, shape (m,).
        before: grid point before the edge.
        spurious: mass assigned to that point.
    """

    length: float
    points: int
    losses: Array
    mass: Array
    before: float
    spurious: float

    @classmethod
    def of(cls, noise: float, rate: float, length: float, points: int) -> Samples:
        """Return the samples of the loss as published, with the spurious sample kept separate."""
        step = 2 * length / points
        edge = math.log1p(-rate)
        first = math.floor(edge / step)
        losses = step * np.arange(first + 1, points // 2, dtype=np.float64)
        u = np.expm1(losses - edge) * (1 - rate) / rate
        scale = step * noise / (rate * math.sqrt(2 * math.pi))
        mass = scale / u * np.exp(2 * losses - 0.5 * np.square(noise * np.log(u) + 0.5 / noise))
        kept = mass > LEAST_MASS
        before = step * first
        below = -math.expm1(before - edge) * (1 - rate) / rate
        exponent = 2 * before - 0.5 * (noise * math.log(below) + 0.5 / noise) ** 2 + 0.5 * (math.pi * noise) ** 2
        spurious = scale / below * math.exp(exponent) * math.sin(math.pi * noise**2 * math.log(below))
        return cls(length, points, losses[kept], mass[kept], before, spurious)


class Tail:
    """Law of the summed losses on the circle, from the last grid point below 0 upward."""

    def __init__(self, mass: Array, step: float) -> None:
        self._step = step
        self._mass = mass
        self._weighed = mass * np.exp(-step * np.arange(-1.0, len(mass) - 1.0))

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return both published sums: ``sum (1 - e^(eps - s)) C(s)`` and minus its derivative.

        The second is ``sum e^(eps - s) C(s)``.
        """
        first = math.floor(epsilon / self._step)  # index of the grid point before the last one at or below epsilon
        slope = math.exp(epsilon) * float(self._weighed[first:].sum())
        return float(self._mass[first:].sum()) - slope, slope


class Iterate(NamedTuple):
    """Step of Newton's iteration: epsilon, and the residual, delta at this epsilon minus the target."""

    epsilon: float
    residual: float


def newton(tail: Tail, delta: float, length: float) -> list[Iterate]:
    """Return the iterates of the published procedure, which is Newton's in epsilon from 0, until they converge."""
    steps: list[Iterate] = []
    epsilon = 0.0
    while len(steps) < MOST_STEPS:
        value, slope = tail.delta(epsilon)
        steps.append(Iterate(epsilon, value - delta))
        step = (value - delta) / slope
        if abs(step) <= STANDS or not 0 <= epsilon + step < length:
            break
        epsilon += step
    return steps


def composed(samples: Samples, rounds: int) -> tuple[Tail, Tail]:
    """Return the tails after all rounds, once from all published samples and once without the spurious sample."""
    powers: tuple[list[ComplexArray], list[ComplexArray]] = ([], [])
    excess = math.fsum([-1.0, *samples.mass])
    while True:
        start = BINS * len(powers[0])
        theta = math.pi / samples.length * np.arange(start, start + BINS)
        bins = excess + np.array([_less_total(samples, at) for at in theta])
        for power, extra in zip(powers, (samples.spurious * np.exp(-1j * theta * samples.before), 0.0), strict=True):
            log_size, angle, _ = log_one_plus(bins + extra)
            power.append(np.exp(rounds * (log_size + 1j * angle)))
        if all(np.abs(power[-1]).max() < LEAST_POWER for power in powers):
            break
    published, own = (_tail(samples, np.concatenate(power)) for power in powers)
    return published, own


def _less_total(samples: Samples, theta: float) -> complex:
    """``sum mass (e^(-i theta s) - 1)``, with each term accurate to a few roundings."""
    tangent = np.tan(0.5 * theta * samples.losses)  # e^(-2 i a) - 1 = -2 (tan^2 a + i tan a) / (1 + tan^2 a)
    weighed = samples.mass * tangent / (1 + tangent * tangent)
    return complex(-2 * float((weighed * tangent).sum()), -2 * float(weighed.sum()))


def _tail(samples: Samples, bins: ComplexArray) -> Tail:
    from scipy.fft import irfft

    n = samples.points
    mass = irfft(bins[: n // 2 + 1], n)
    return Tail(np.concatenate([mass[-1:], mass[: n // 2]]), 2 * samples.length / n)
