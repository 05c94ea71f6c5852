"""The computation behind Table 1 of Koskela, Jalko, Honkela 2020 [KJH20], version 1, without its rounding errors.

With x the outcome whose loss is s, the privacy loss of a round at rate q with noise sigma has the density

    f(s) = e^s phi(x / sigma) / sigma dx/ds,   x = sigma^2 log u + 1/2,   u = (e^s - (1 - q)) / q,   s > log(1 - q),

and dx/ds = sigma^2 e^s / (q u). The density is sampled at s_j = -L + j h, h = 2 L / n. The published samples start at
``j = floor(n (L + log(1 - q)) / (2 L))``. This is one point *before* the edge log(1 - q), where the
density is 0. At this point u is negative, and the formula takes the logarithm of a negative number, ``log u = log|u| +
i pi``. The published procedure keeps the real part of f.

With ``a = sigma^2 log|u| + 1/2``, so that ``x = a + i pi sigma^2``,

    -(x / sigma)^2 / 2 = pi^2 sigma^2 / 2 - (a / sigma)^2 / 2 - i pi a,
    Re e^(-i pi a) = cos(pi / 2 + pi sigma^2 log|u|) = -sin(pi sigma^2 log|u|),

    Re f(s) = sigma e^(2 s) / (q |u| sqrt(2 pi)) e^(pi^2 sigma^2 / 2 - (a / sigma)^2 / 2) sin(pi sigma^2 log|u|).

h times this real part is the mass of a *spurious sample*, of either sign; it is small if the edge is near a grid point.

The samples are composed over k rounds by the k-th power of their Fourier transform. Newton's iteration in epsilon
starts at 0. Each sum begins one point before the last grid point at or below epsilon. The iteration stops when the
residual is small. The authors' code (DPBayes/PLD-Accountant, commit 3182ed2b, compute_epsilon.py) shows the grid, the
start of the iteration and an absolute tolerance; that version of the code includes two points before the edge.

A Fourier transform in doubles errs by about 1e-16 in each bin (each value of the transform). The k-th power of a bin
errs by k times as much: by 1e-12 after 10,000 rounds, which changes epsilon at noise 1 by 3e-7. The computation here
avoids this error, to show the errors of the method alone. It computes only the few bins whose k-th power is not
negligible. For accuracy, it computes the difference of each bin from 1, as a sum over the samples.
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

LEAST = 1e-30  # smallest mass of a sample, and smallest power of a bin, that is kept
BINS = 16  # bins summed at a time
STANDS = 1e-11  # largest step of epsilon at which the iteration counts as converged
MOST_STEPS = 60  # largest number of steps of the iteration


@dataclass(frozen=True)
class Samples:
    """Samples of the loss of one round.

    Attributes:
        length: half-width L of the window.
        points: number n of grid points.
        losses: grid points above the smallest possible loss, except those of negligible mass, shape (m,).
        mass: density at ``losses`` times h, shape (m,).
        before: last grid point below the smallest possible loss.
        spurious: mass that the published procedure assigns to ``before``.
    """

    length: float
    points: int
    losses: Array
    mass: Array
    before: float
    spurious: float

    @classmethod
    def of(cls, noise: float, rate: float, length: float, points: int) -> Samples:
        """Return the published samples of the loss; the spurious sample is separate from the others."""
        step = 2 * length / points
        edge = math.log1p(-rate)
        first = math.floor(edge / step)
        losses = step * np.arange(first + 1, points // 2, dtype=np.float64)
        u = np.expm1(losses - edge) * (1 - rate) / rate
        scale = step * noise / (rate * math.sqrt(2 * math.pi))
        mass = scale / u * np.exp(2 * losses - 0.5 * np.square(noise * np.log(u) + 0.5 / noise))
        kept = mass > LEAST
        before = step * first
        below = -math.expm1(before - edge) * (1 - rate) / rate
        exponent = 2 * before - 0.5 * (noise * math.log(below) + 0.5 / noise) ** 2 + 0.5 * (math.pi * noise) ** 2
        spurious = scale / below * math.exp(exponent) * math.sin(math.pi * noise**2 * math.log(below))
        return cls(length, points, losses[kept], mass[kept], before, spurious)


class Tail:
    """Masses of the sum of all losses, wrapped around the circle, from the last grid point below 0 upward."""

    def __init__(self, mass: Array, step: float) -> None:
        self._step = step
        self._mass = mass
        self._weighed = mass * np.exp(-step * np.arange(-1.0, len(mass) - 1.0))

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return the published sum for delta, and minus its derivative in epsilon.

        These are ``sum (1 - e^(eps - s)) C(s)`` and ``sum e^(eps - s) C(s)``, with C(s) the mass at the grid point s.
        """
        first = math.floor(epsilon / self._step)  # index of the grid point before the last one at or below epsilon
        slope = math.exp(epsilon) * float(self._weighed[first:].sum())
        return float(self._mass[first:].sum()) - slope, slope


class Iterate(NamedTuple):
    """Iterate of Newton's method: epsilon, and its residual (delta at this epsilon minus the target delta)."""

    epsilon: float
    residual: float


def newton(tail: Tail, delta: float, length: float) -> list[Iterate]:
    """Return the iterates of Newton's method for epsilon, started at 0 as published, until they converge."""
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
    """Return two laws of the sum of all losses: with the spurious sample, as published, and without it."""
    powers: tuple[list[ComplexArray], list[ComplexArray]] = ([], [])
    excess = math.fsum([-1.0, *samples.mass])
    while True:
        start = BINS * len(powers[0])
        theta = math.pi / samples.length * np.arange(start, start + BINS)
        bins = excess + np.array([_less_total(samples, at) for at in theta])
        for power, extra in zip(powers, (samples.spurious * np.exp(-1j * theta * samples.before), 0.0), strict=True):
            log_size, angle, _ = log_one_plus(bins + extra)
            power.append(np.exp(rounds * (log_size + 1j * angle)))
        if all(np.abs(power[-1]).max() < LEAST for power in powers):
            break
    published, own = (_tail(samples, np.concatenate(power)) for power in powers)
    return published, own


def _less_total(samples: Samples, theta: float) -> complex:
    """Return ``sum mass (e^(-i theta s) - 1)`` over all losses s; each term is accurate to a few roundings."""
    tangent = np.tan(0.5 * theta * samples.losses)  # e^(-2 i a) - 1 = -2 (tan^2 a + i tan a) / (1 + tan^2 a)
    weighed = samples.mass * tangent / (1 + tangent * tangent)
    return complex(-2 * float((weighed * tangent).sum()), -2 * float(weighed.sum()))


def _tail(samples: Samples, bins: ComplexArray) -> Tail:
    from scipy.fft import irfft

    n = samples.points
    mass = irfft(bins[: n // 2 + 1], n)
    return Tail(np.concatenate([mass[-1:], mass[: n // 2]]), 2 * samples.length / n)
