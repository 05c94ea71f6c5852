"""What a guarantee of Renyi divergences comes to, by minimising over orders in many digits, for tests only.

With K(t) a bound on the log moment at t (order 1 + t), every t gives ``delta <= e^(K(t) - t eps) t^t / (1+t)^(1+t)``, a
convex function of t in its logarithm where K is convex; it is minimised by golden sections on each piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from .real import Mpf, Real, mp, to_mpf

DIGITS = 30
FAR = 10**6  # largest t that is tried where every order is known


def zcdp_delta(rho: Real, count: int, epsilon: Real) -> Mpf:
    """The least bound on delta that ``K(t) = t (1 + t) rho`` of so many rounds gives."""
    with mp.workdps(DIGITS):
        total = count * to_mpf(rho)
        # where epsilon is below total, the best t is about e^(epsilon - total)
        return _least([(mp.mpf(10) ** -400, mp.mpf(FAR))], lambda t: total * t * (1 + t), to_mpf(epsilon))


def rdp_delta(orders: Sequence[Real], epsilons: Sequence[Real], count: int, epsilon: Real) -> Mpf:
    """The least bound on delta that divergences of some orders give.

    A divergence does not fall as its order rises, and ``t D_(1 + t)`` is convex: between two orders K is at most its
    chord, and at most t times the divergence of the higher one; below the first order only the latter is known.
    """
    with mp.workdps(DIGITS):
        at = [to_mpf(order) - 1 for order in orders]
        bound = [to_mpf(value) for value in epsilons]
        found = _least([(at[0] * mp.mpf(10) ** -400, at[0])], lambda t: count * t * min(bound), to_mpf(epsilon))
        for place, (low, high) in enumerate(pairwise(at)):

            def chord(t: Mpf, place: int = place, low: Mpf = low, high: Mpf = high) -> Mpf:
                share = (t - low) / (high - low)
                return count * ((1 - share) * low * bound[place] + share * high * bound[place + 1])

            def later(t: Mpf, place: int = place) -> Mpf:
                return count * t * min(bound[place + 1 :])

            found = min(found, *(_least([(low, high)], known, to_mpf(epsilon)) for known in (chord, later)))
        return found


def divergence(p: Sequence[Fraction], q: Sequence[Fraction], order: Real) -> Mpf:
    """``log sum p^a q^(1 - a) / (a - 1)``, all masses positive."""
    with mp.workdps(DIGITS):
        a = to_mpf(order)
        total = mp.fsum(to_mpf(x) ** a * to_mpf(y) ** (1 - a) for x, y in zip(p, q, strict=True))
        return mp.log(total) / (a - 1)


def _least(pieces: Sequence[tuple[Mpf, Mpf]], log_moment: Callable[[Mpf], Mpf], epsilon: Mpf) -> Mpf:
    def log_bound(t: Mpf) -> Mpf:
        return log_moment(t) - t * epsilon + t * mp.log(t) - (1 + t) * mp.log1p(t)

    golden = (mp.sqrt(5) - 1) / 2
    best = mp.zero  # delta is at most 1
    for low, high in pieces:
        a, b = mp.log(low), mp.log(high)
        for _ in range(120):  # to 1e-25 of the range; the minimum is flat
            c, d = b - golden * (b - a), a + golden * (b - a)
            a, b = (a, d) if log_bound(mp.exp(c)) < log_bound(mp.exp(d)) else (c, b)
        best = min(best, log_bound(mp.exp((a + b) / 2)), log_bound(low), log_bound(high))
    return mp.exp(best)
