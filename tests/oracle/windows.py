"""Truncated Laplace noise from its density, and sums of losses of density ``c e^(l/2)`` on a window, for tests only.

One round, sampled or not, is integrated over the outcomes, from the definition of the noise.  Of several rounds P has
the law ``e^(l/2) nu``, where nu is the k-fold convolution of ``c 1[-w, w]`` and two equal atoms at -w and w: all
terms are powers of l from some point on, whose integrals against ``e^(l/2)`` and ``e^(-l/2)`` are had by parts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from .real import Mpf, Real, mp, to_mpf

DIGITS = 60  # that are carried: terms of both signs cancel
HALVINGS = 170  # of an interval in which the sign changes


def truncated_laplace_delta(
    scale: Real, bound: Real, distance: Real, epsilon: Real, rate: Real = 1, add: bool = False
) -> Mpf:
    """delta of one round, ``int (p - e^eps q)_+`` over the outcomes, cut where the integrand bends."""
    with mp.workdps(DIGITS):
        b, end, d, q, ratio = map(to_mpf, (scale, bound, distance, rate, epsilon))
        ratio = mp.exp(ratio)
        total = 2 * b * (1 - mp.exp(-end / b))

        def noise(x: Mpf) -> Mpf:
            return mp.exp(-abs(x) / b) / total if abs(x) <= end else mp.zero

        def excess(x: Mpf) -> Mpf:
            without, mixed = noise(x), (1 - q) * noise(x) + q * noise(x - d)
            return without - ratio * mixed if add else mixed - ratio * without

        edges = sorted({-end, end, d - end, d + end, mp.zero, d})
        value = mp.zero
        for left, right in itertools.pairwise(edges):
            inner = (right - left) * mp.mpf(10) ** (5 - DIGITS)
            low, high = excess(left + inner), excess(right - inner)
            if low * high >= 0:
                if low > 0 or high > 0:
                    value += mp.quad(excess, [left, right])
                continue
            place = _sign_change(excess, left + inner, right - inner)
            value += mp.quad(excess, [left, place] if low > 0 else [place, right])
        return value


def _sign_change(function: Callable[[Mpf], Mpf], low: Mpf, high: Mpf) -> Mpf:
    rising = function(low) < 0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if (function(middle) < 0) == rising:
            low = middle
        else:
            high = middle
    return low


def window_delta(width: Real, density: Mpf, high: Mpf, infinite: Mpf, rounds: int, epsilon: Real) -> Mpf:
    """delta of several rounds.

    Args:
        width: w.
        density: c, so that the loss has the density ``c e^(l/2)`` on (-w, w) under P.
        high: P-mass at w; ``e^-w`` times as much is at -w.
        infinite: mass of infinite loss of one round.
        rounds: how many.
        epsilon: where, 0 or more.
    """
    with mp.workdps(DIGITS + 4 * rounds):
        w, eps = to_mpf(width), to_mpf(epsilon)
        atom = high * mp.exp(-w / 2)  # of nu
        value = -mp.expm1(rounds * mp.log1p(-infinite))
        for atoms in range(rounds + 1):
            powers = rounds - atoms
            for shift, sign in _signed_shifts(atoms, powers).items():
                start = -shift * w
                factor = sign * math.comb(rounds, atoms) * atom**atoms * density**powers
                value += factor * _against(start, powers, eps, rounds * w)
        return value


def _signed_shifts(plus: int, minus: int) -> dict[int, int]:
    """The coefficients of ``(y + 1/y)^plus (y - 1/y)^minus`` by the power of y."""
    found = {0: 1}
    for sign in [1] * plus + [-1] * minus:
        longer: dict[int, int] = {}
        for power, value in found.items():
            longer[power + 1] = longer.get(power + 1, 0) + value
            longer[power - 1] = longer.get(power - 1, 0) + sign * value
        found = longer
    return found


def _against(start: Mpf, powers: int, eps: Mpf, end: Mpf) -> Mpf:
    """``int_eps^end (e^(l/2) - e^(eps - l/2)) (l - start)_+^(n-1) / (n-1)! dl``; an atom at ``start`` for n = 0."""
    if powers == 0:
        return max(mp.exp(start / 2) - mp.exp(eps - start / 2), mp.zero)
    low, high = max(eps - start, mp.zero), end - start
    if low >= high:
        return mp.zero
    half = mp.mpf(1) / 2
    rising = _by_parts(half, powers, high) - _by_parts(half, powers, low)
    falling = _by_parts(-half, powers, high) - _by_parts(-half, powers, low)
    return mp.exp(start / 2) * rising - mp.exp(eps - start / 2) * falling


def _by_parts(slope: Mpf, powers: int, upto: Mpf) -> Mpf:
    """``int_0^y e^(slope v) v^(n-1) / (n-1)! dv``."""
    value = (mp.exp(slope * upto) - 1) / slope
    for n in range(2, powers + 1):
        value = (mp.exp(slope * upto) * upto ** (n - 1) / mp.factorial(n - 1) - value) / slope
    return value


def truncated_laplace_rounds(scale: Real, bound: Real, distance: Real, rounds: int, epsilon: Real) -> Mpf:
    """delta of several rounds, from the masses of the pieces of one, each integrated over the noise."""
    with mp.workdps(DIGITS):
        b, end, d = map(to_mpf, (scale, bound, distance))
        total = 2 * b * (1 - mp.exp(-end / b))

        def mass(low: Mpf, high: Mpf) -> Mpf:
            """Of the noise around d, between two outcomes on one side of it."""
            near, far = sorted((abs(low - d) / b, abs(high - d) / b))
            steps = [near + step for step in (0, 1, 4, 12, 40, 130) if near + step < far]  # in scales, from the centre
            # relative to the density at the near end, as the rule settles to so many digits of 1
            return b * mp.exp(-near) / total * mp.quad(lambda x: mp.exp(near - x), [*steps, far])

        infinite = mass(end, end + d) if d <= end else mass(end, d) + mass(d, end + d)
        high = mass(d, end) if d < end else mp.zero
        width = d / b if d < end else (2 * end - d) / b
        middle = d / 2  # where the loss is 0
        density = mp.exp(-abs(middle - d) / b) / total * b / 2
        return window_delta(width, density, high, infinite, rounds, epsilon)
