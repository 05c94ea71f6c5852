"""Losses and masses that stand in for the law of an epoch of random allocation: where to look, not what to answer.

The law of the sum of t lognormals is formed by doubling: sums of two are put back on few values, with their mean kept,
which are close together around the mean and in proportion to their distance from it farther out. What that adds to the
variance is taken back in the end. Under P the masses are those under Q times Lambda. Nothing is certified from it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hockeystick.pairs.sampled.allocation_law import AllocationLaw

Array = npt.NDArray[np.float64]

VALUES = 160  # of each law
OF_GROUPS = 1200  # of a sum of groups: with few, the tails are heavier than they are
ENOUGH = 6.0  # equal steps, in place of which others may stand: their number is rounded
LARGEST = 300.0  # of the logarithm of a value, whose square is formed
DEEPEST = 600.0  # minus the log of a density that is laid out: it is in the range of a double
FINE = 400  # places between which those of a law are interpolated
KEPT = 32  # laws
TWO = np.triu_indices(VALUES)  # two values of one law, in either order
TWICE = np.where(TWO[0] == TWO[1], 1.0, 2.0)  # how many orders there are


@lru_cache(maxsize=KEPT)
def standing_in(law: AllocationLaw, add: bool, log_floor: float) -> tuple[Array, Array]:
    """Losses and logarithms of masses under P, those of adding a record or of removing one.

    From so many equal steps as give the same variance, where these are many; else from a sum of the groups.
    """
    present = float(1 - law.constant)
    alike = present * present / law.squares
    if len(law.groups) == 1 or alike >= ENOUGH:
        value, mass = law_of_sum(law.mu, round(alike), log_floor)
        return _losses(float(law.constant) + present / round(alike) * value, mass, add)
    spread = math.expm1(min(law.mu * law.mu, LARGEST))
    total, mean, variance = None, 0.0, 0.0
    for weight, count in law.groups:
        value, mass = law_of_sum(law.mu, count, log_floor)
        part = float(weight) * value, mass
        mean, variance = mean + float(weight) * count, variance + float(weight) ** 2 * count * spread
        total = part if total is None else added(total, part, mean, math.sqrt(variance), OF_GROUPS)
    assert total is not None
    value, mass = kept(*total, mean, variance)
    return _losses(float(law.constant) + value, mass, add)


def _losses(ratio: Array, mass: Array, add: bool) -> tuple[Array, Array]:
    """Losses and logarithms of masses under P, from ratios and masses under Q."""
    keep = (mass > 0) & (ratio > 0)
    log, log_mass = np.log(ratio[keep]), np.log(mass[keep])
    return (-log, log_mass) if add else (log, log_mass + log)


@lru_cache(maxsize=KEPT)
def law_of_sum(mu: float, steps: int, log_floor: float) -> tuple[Array, Array]:
    """Values and masses that stand in for the sum of t independent lognormals of mean 1; both directions share them."""
    reach = math.sqrt(2 * min(max(-log_floor, 20.0), DEEPEST))
    x = np.linspace(-reach, reach + 2 * mu + 1, VALUES)
    mass = np.exp(-0.5 * np.square(x))
    one = np.exp(np.clip(mu * x - 0.5 * mu * mu, -LARGEST, LARGEST)), mass / mass.sum()
    spread = math.expm1(min(mu * mu, LARGEST))
    total, doubled, left, size, have = None, one, steps, 1, 0
    while left:
        if left & 1:
            have += size
            total = doubled if total is None else added(total, doubled, have, math.sqrt(have * spread))
        left >>= 1
        if left:
            size *= 2
            doubled = added(doubled, doubled, size, math.sqrt(size * spread))
    assert total is not None
    return kept(*total, steps, steps * spread)


def kept(value: Array, mass: Array, mean: float, variance: float) -> tuple[Array, Array]:
    """A law with the mean that is known, and no more than the variance that is known: some was added on the way."""
    found_mean = float(value @ mass)
    away = value - found_mean
    unit = max(math.frexp(float(np.abs(away).max()))[1], 0)  # the squares of numbers above 1e154 are no doubles
    found = float(np.square(np.ldexp(away, -unit)) @ mass)
    moved = found_mean + away * math.sqrt(min(math.ldexp(variance, -2 * unit) / found, 1.0)) if found > 0 else value
    return np.maximum(moved * (mean / found_mean), 1e-300), mass


def added(
    a: tuple[Array, Array], b: tuple[Array, Array], mean: float, deviation: float, values: int = VALUES
) -> tuple[Array, Array]:
    """The law of the sum of both, on few values: its mean and standard deviation say where they are wanted."""
    if a is b and len(a[0]) == VALUES:
        first, second = TWO
        value, mass = a[0][first] + a[0][second], TWICE * (a[1][first] * a[1][second])
    else:
        value, mass = np.add.outer(a[0], b[0]).ravel(), np.multiply.outer(a[1], b[1]).ravel()
    grid = _places(float(value.min()), float(value.max()), mean, deviation, values)
    place = np.interp(value, grid, np.arange(values, dtype=np.float64))
    at = place.astype(np.intp)
    upper = mass * (place - at)
    out = np.bincount(at, weights=mass - upper, minlength=values)
    out += np.bincount(at + 1, weights=upper, minlength=values + 1)[:values]  # at the last place the share is 0
    return grid, np.maximum(out, 0.0)


def _places(low: float, high: float, mean: float, deviation: float, values: int) -> Array:
    """Values from low to high, half of which are laid around the mean and half in proportion to the values."""
    scale = 0.7 * min(deviation, mean)
    ends = np.arcsinh((np.array([low, high]) - mean) / scale)
    fine = np.unique(
        np.concatenate(
            [np.geomspace(low, high, FINE), mean + scale * np.sinh(np.linspace(ends[0], ends[1], FINE)), [mean]]
        )
    )
    fine = fine[(fine >= low) & (fine <= high)]
    tails = (np.log(fine) - math.log(low)) / (math.log(high) - math.log(low))  # their quotient may have no double
    share = np.arcsinh((fine - mean) / scale) / (ends[1] - ends[0]) + tails
    grid: Array = np.interp(np.linspace(share[0], share[-1], values), share, fine)
    grid[0], grid[-1] = low, high
    return grid
