"""Rounds whose losses have a range of epsilon, from the definition, for tests only.

Candidates and utilities are listed, rounds of two losses are binomial sums, and the adaptive optimum is a recursion
over strategies on a lattice: each is attained, so that each is a bound from below of what it is an instance of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .real import Mpf, Real, mp, to_mpf

DIGITS = 40


def chosen(utilities: Sequence[Real], epsilon: Real) -> list[Mpf]:
    """Probabilities of the exponential mechanism where utilities change by at most 1."""
    weights = [mp.exp(to_mpf(epsilon) * to_mpf(value) / 2) for value in utilities]
    return [weight / mp.fsum(weights) for weight in weights]


def chosen_delta(before: Sequence[Real], after: Sequence[Real], epsilon: Real, at: Real) -> Mpf:
    """delta of one choice, for the utilities of two neighbouring datasets."""
    with mp.workdps(DIGITS):
        ratio = mp.exp(to_mpf(at))
        laws = zip(chosen(before, epsilon), chosen(after, epsilon), strict=True)
        return mp.fsum(max(p - ratio * q, mp.zero) for p, q in laws)


def two_loss_delta(epsilon: Real, share: Real, rounds: int, at: Real) -> Mpf:
    """delta of several rounds of the losses ``t`` and ``t - epsilon``, t being that share of epsilon."""
    with mp.workdps(DIGITS):
        e, t = to_mpf(epsilon), to_mpf(epsilon) * to_mpf(share)
        p = (mp.exp(e) - mp.exp(t)) / (mp.exp(e) - 1)
        terms = []
        for low in range(rounds + 1):
            loss = rounds * t - low * e
            mass = math.comb(rounds, low) * p ** (rounds - low) * (1 - p) ** low
            terms.append(mass * max(1 - mp.exp(to_mpf(at) - loss), mp.zero))
        return mp.fsum(terms)


def non_adaptive_delta(epsilon: float, rounds: int, at: float, steps: int) -> float:
    """The largest over ``steps`` shares."""
    return max(float(two_loss_delta(epsilon, mp.mpf(step) / steps, rounds, at)) for step in range(1, steps))


def adaptive_delta(epsilon: float, rounds: int, at: float, steps: int) -> float:
    """The largest delta of rounds whose t may depend on what was answered, t in multiples of ``epsilon / steps``.

    With ``a = e^(at)`` and V_k the largest divergence of k rounds at a: ``V_(k+1)(a)`` is the largest over t of ``x
    V_k(a e^-t) + (1 - x) V_k(a e^(epsilon - t))``; all arguments stay on the lattice.
    """
    unit = epsilon / steps
    reach = rounds * steps
    start = at / unit
    if abs(start - round(start)) > 1e-9:
        raise ValueError("at must be on the lattice")
    places = np.arange(round(start) - 2 * reach, round(start) + 2 * reach + 1)
    value = np.maximum(1 - np.exp(places * unit), 0.0)
    t = np.arange(1, steps)
    x = (math.exp(epsilon) - np.exp(t * unit)) / math.expm1(epsilon)
    for _ in range(rounds):
        fewer = value[steps:-steps]
        best = np.zeros(len(fewer))
        for step, share in zip(t, x, strict=True):
            high = value[steps - step : len(value) - steps - step]
            low = value[2 * steps - step : len(value) - step]
            best = np.maximum(best, share * high + (1 - share) * low)
        value = best
    return float(value[len(value) // 2])


def log_moment(epsilon: Real, order: Real, steps: int = 2000) -> Mpf:
    """The largest ``log E_P e^(sL)`` of two losses, over a grid of t and the best place between its neighbours."""
    with mp.workdps(DIGITS):
        e, s = to_mpf(epsilon), to_mpf(order)

        def moment(t: Mpf) -> Mpf:
            x = (mp.exp(e) - mp.exp(t)) / (mp.exp(e) - 1)
            return mp.log(x * mp.exp(s * t) + (1 - x) * mp.exp(s * (t - e)))

        low, high = mp.zero, e
        golden = (mp.sqrt(5) - 1) / 2
        for _ in range(steps // 10):
            first, second = high - golden * (high - low), low + golden * (high - low)
            if moment(first) > moment(second):
                high = second
            else:
                low = first
        return moment((low + high) / 2)
