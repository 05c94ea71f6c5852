"""Mixtures of Gaussians against one, one round by its distribution functions, many by a contour.

The law is sum_k p_k N(c_k, s^2) against N(0, s^2), all numbers as fractions; nothing is shared with the library.

One round: {L > eps} is a half-line, whose end solves sum_k p_k e^{(c_k x - c_k^2/2) / s^2} = e^{+-eps} by bisection.
Many: ``delta = (1 / pi) Re int_0^inf e^{K(z) - eps z} / (z (1 + z)) ds`` on ``z = t + is``, both integrals by the
trapezoid rule in long doubles, whose steps are halved until two agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .real import Mpf, OracleError, Real, mp, to_mpf

Array = Any


@dataclass(frozen=True)
class Mixture:
    """Sensitivities, their probabilities, and the noise multiplier."""

    shifts: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    noise: Fraction

    @classmethod
    def of(cls, shifts: Sequence[Real], weights: Sequence[Real], noise: Real) -> Mixture:
        """From numbers that are written as decimals."""
        fractions = [tuple(Fraction(str(value)) for value in values) for values in (shifts, weights)]
        total = sum(fractions[1])
        return cls(fractions[0], tuple(weight / total for weight in fractions[1]), Fraction(str(noise)))

    def terms(self) -> list[tuple[Mpf, Mpf]]:
        """Shift in units of the noise, and weight, of each term."""
        return [(to_mpf(c / self.noise), to_mpf(p)) for c, p in zip(self.shifts, self.weights, strict=True)]


def ratio(terms: Sequence[tuple[Mpf, Mpf]], x: Mpf) -> Mpf:
    """The likelihood ratio at x."""
    return mp.fsum(p * mp.exp(mu * x - mu * mu / 2) for mu, p in terms)


def single_delta(law: Mixture, direction: str, epsilon: Real, digits: int = 20) -> Mpf:
    """delta of one round."""
    with mp.workdps(2 * digits + 20):
        terms, eps = law.terms(), to_mpf(epsilon)
        target = mp.exp(eps if direction == "remove" else -eps)
        low, high = mp.mpf(-1), mp.mpf(1)
        while ratio(terms, high) < target:
            high *= 2
        while ratio(terms, low) > target:
            low *= 2
            if low < -(10**6):  # no outcome is that unlikely
                return mp.zero
        for _ in range(7 * digits + 80):
            middle = (low + high) / 2
            low, high = (low, middle) if ratio(terms, middle) > target else (middle, high)

        def above(x: Mpf) -> Mpf:
            return mp.erfc(x / mp.sqrt(2)) / 2

        if direction == "remove":
            return mp.fsum(p * above(low - mu) for mu, p in terms) - mp.exp(eps) * above(low)
        return above(-low) - mp.exp(eps) * mp.fsum(p * above(mu - low) for mu, p in terms)


def moment_nodes(law: Mixture, direction: str, t: float, dx: float) -> tuple[Array, Array]:
    """Log-weights and losses of the trapezoid rule for ``E e^(zL)``, all that counts at Re z = t; long doubles."""
    terms = [(np.longdouble(str(mu)), np.log(np.longdouble(str(p)))) for mu, p in law.terms()]
    largest = float(max(mu for mu, _ in terms))
    low, high = -12.0 - (t + 1) * largest * (direction == "add"), 12.0 + (1 + t) * largest * (direction == "remove")
    x = np.longdouble(dx) * np.arange(math.floor(low / dx), math.ceil(high / dx) + 1)
    logs = np.array([log_p + mu * x - mu * mu / 2 for mu, log_p in terms])
    top = logs.max(axis=0)
    log_g = top + np.log(np.exp(logs - top).sum(axis=0))
    near = np.abs(log_g) < 0.5  # there the sum is little more than 1
    excess = np.sum([np.exp(log_p) * np.expm1(mu * x[near] - mu * mu / 2) for mu, log_p in terms], axis=0)
    log_g[near] = np.log1p(excess)
    plain = -x * x / 2 - np.log(2 * np.longdouble(str(mp.pi))) / 2 + np.log(np.longdouble(dx))
    return (plain + log_g, log_g) if direction == "remove" else (plain, -log_g)


def log_moment(nodes: tuple[Array, Array], t: float, s: Array) -> Array:
    """``log E e^(zL)`` at z = t + is."""
    weight, loss = nodes
    weight = weight + np.longdouble(t) * loss
    top = weight.max()
    return top + np.log(np.exp(1j * np.multiply.outer(s, loss)) @ np.exp(weight - top))


def delta(law: Mixture, direction: str, count: int, epsilon: float, tilt: float) -> float:
    """delta of ``count`` rounds by the line Re z = tilt, to about twelve digits."""
    before = None
    for level in range(8):
        dx, step = 0.06 / 2**level, 0.5 / 2**level
        nodes = moment_nodes(law, direction, tilt, dx)
        total, start = np.longdouble(0), 0
        while start < 1 << 9 + level:  # a rule over x that is too coarse has no end
            s = np.longdouble(step) * np.arange(start, start + 64)
            z = np.longdouble(tilt) + 1j * s
            terms = np.exp(count * log_moment(nodes, tilt, s) - np.longdouble(epsilon) * z) / (z * (1 + z))
            terms = terms.real
            terms[0] *= 0.5 if start == 0 else 1
            total, start = total + terms.sum(), start + 64
            if np.abs(terms).max() < 1e-15 * abs(total):
                break
        else:
            continue
        found = float(total * step / np.pi)
        if before is not None and abs(found - before) <= 1e-11 * abs(found):
            return found
        before = found
    raise OracleError("the rules do not settle")
