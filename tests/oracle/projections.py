"""Gaussian noise on gradients clipped by random projections, by quadrature over the estimates, for tests only.

Given the projections of all steps the loss is that of Gaussian noise at ``mu^2 = sum r / (noise^2 X)``, every X
chi-squared with r degrees of freedom: delta is the mean of a closed form.
"""

from __future__ import annotations

from collections.abc import Callable

from .real import Mpf, OracleError, Real, mp, to_mpf

DIGITS = 20


def delta(noise: Real, projections: int, count: int, epsilon: Real, rate: Real = 1) -> Mpf:
    """delta of one step or two, whose projections are public; of one a record may be removed from a sampled batch.

    Of a sample ``q P + (1 - q) Q`` against Q it is ``q delta(log(1 + (e^eps - 1) / q))``.
    """
    with mp.workdps(DIGITS):
        sigma, q, eps = to_mpf(noise), to_mpf(rate), to_mpf(epsilon)
        if q < 1 and count > 1:
            raise OracleError("of several sampled steps nothing is known here")
        at = mp.log1p(mp.expm1(eps) / q)
        if count == 1:
            return q * _mean(projections, lambda x: _gaussian(mp.sqrt(projections / x) / sigma, at))
        if count != 2:
            raise OracleError("one step or two")
        return _mean(
            projections,
            lambda x: _mean(
                projections, lambda y: _gaussian(mp.sqrt(projections / x + projections / y) / sigma, at), few=True
            ),
            few=True,
        )


def _gaussian(mu: Mpf, epsilon: Mpf) -> Mpf:
    def tail(z: Mpf) -> Mpf:
        return mp.erfc(z / mp.sqrt(2)) / 2

    return tail(epsilon / mu - mu / 2) - mp.exp(epsilon) * tail(epsilon / mu + mu / 2)


def _mean(r: int, function: Callable[[Mpf], Mpf], few: bool = False) -> Mpf:
    """``E f(X)``, X chi-squared with r degrees of freedom, over the logarithm of X: its density has no singularity."""
    half = mp.mpf(r) / 2
    scale = half * mp.log(2) + mp.loggamma(half)
    centre, width = mp.log(r), mp.sqrt(mp.mpf(2) / r)

    def inside(u: Mpf) -> Mpf:
        x = mp.exp(u)
        return mp.exp(half * u - x / 2 - scale) * function(x)

    steps = (-20, -7, -3, 0, 3, 8) if few else (-60, -25, -12, -6, -3, -1, 1, 3, 6, 12)
    return mp.quad(inside, [centre + width * step for step in steps], maxdegree=4 if few else 7)
