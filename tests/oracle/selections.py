"""Selections among candidates and searches for queries above a threshold, from their definitions, for tests only.

Probabilities are integrals over the noise of one candidate, over the place in a random order, or over the noise of the
threshold.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from .real import Mpf, Real, mp, to_mpf

DIGITS = 25


def permute_and_flip(utilities: Sequence[Real], epsilon: Real) -> list[Mpf]:
    """The probability of each candidate, over all orders; utilities change by at most 1 between neighbours."""
    with mp.workdps(DIGITS):
        best = max(map(to_mpf, utilities))
        coins = [mp.exp(to_mpf(epsilon) * (to_mpf(value) - best) / 2) for value in utilities]
        law = [mp.zero] * len(coins)
        for order in itertools.permutations(range(len(coins))):
            left = mp.one / math.factorial(len(coins))
            for candidate in order:
                law[candidate] += left * coins[candidate]
                left *= 1 - coins[candidate]
        return law


def noisy_max(utilities: Sequence[Real], epsilon: Real, noise: str = "laplace") -> list[Mpf]:
    """The probability of each candidate with "laplace" or "exponential" noise of scale ``2 / epsilon``."""
    with mp.workdps(DIGITS):
        scale, values = 2 / to_mpf(epsilon), [to_mpf(value) for value in utilities]

        def density(z: Mpf) -> Mpf:
            if noise == "laplace":
                return mp.exp(-abs(z) / scale) / (2 * scale)
            return mp.exp(-z / scale) / scale if z >= 0 else mp.zero

        def below(z: Mpf) -> Mpf:
            if noise == "laplace":
                return mp.exp(z / scale) / 2 if z < 0 else 1 - mp.exp(-z / scale) / 2
            return 1 - mp.exp(-z / scale) if z >= 0 else mp.zero

        low = min(values) - 60 * scale if noise == "laplace" else max(values)
        edges = sorted({low, *(value for value in values if value > low)})
        edges += [edges[-1] + step * scale for step in (1, 4, 15, 60)]
        if noise == "laplace":
            edges[1:1] = [edges[1] - step * scale for step in (15, 4, 1)]

        def mass(own: int) -> Mpf:
            def integrand(x: Mpf) -> Mpf:
                others = (below(x - value) for place, value in enumerate(values) if place != own)
                return density(x - values[own]) * mp.fprod(others)

            return mp.quad(integrand, edges)

        return [mass(own) for own in range(len(values))]


def above_threshold(queries: Sequence[Real], epsilon: Real) -> list[Mpf]:
    """The probability that the search stops at each query, and that it stops at none; the threshold is 0."""
    with mp.workdps(DIGITS):
        first, other = 2 / to_mpf(epsilon), 4 / to_mpf(epsilon)
        values = [to_mpf(value) for value in queries]

        def below(z: Mpf) -> Mpf:
            return mp.exp(z / other) / 2 if z < 0 else 1 - mp.exp(-z / other) / 2

        far = 60 * other + max(map(abs, values))
        edges = sorted({-far, -15 * other, -4 * other, mp.zero, *values, 4 * other, 15 * other, far})

        def stop(at: int) -> Mpf:
            def integrand(t: Mpf) -> Mpf:
                before = mp.fprod(below(t - value) for value in values[:at])
                here = 1 - below(t - values[at]) if at < len(values) else mp.one
                return mp.exp(-abs(t) / first) / (2 * first) * before * here

            return mp.quad(integrand, edges)

        return [stop(at) for at in range(len(values) + 1)]


def law_delta(p: Sequence[Mpf], q: Sequence[Mpf], at: Real) -> Mpf:
    """The hockey-stick divergence of two laws on the same outcomes."""
    ratio = mp.exp(to_mpf(at))
    return mp.fsum(max(one - ratio * other, mp.zero) for one, other in zip(p, q, strict=True))


def product(one: Sequence[Mpf], rounds: int) -> list[Mpf]:
    """The law of several independent rounds."""
    return [mp.fprod(choice) for choice in itertools.product(one, repeat=rounds)]
