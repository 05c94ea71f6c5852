"""Closed forms: Gaussian, laws on finitely many atoms, Laplace (all exact up to rounding).

Every function takes `digits` (default 30) and works with at least 40 more, raising the precision again where a sum
cancels; results are accurate to the digits asked for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from .real import Mpf, OracleError, Real, mp, solve_decreasing, to_fraction, to_mpf

GUARD = 40
MAX_ATOMS = 2_000_000


# Gaussian -------------------------------------------------------------------------------------------------------------


def gaussian_delta(mean_squared: Real, epsilon: Real, digits: int = 30) -> Mpf:
    """delta of N(mu, 1) against N(0, 1), mu^2 = `mean_squared`: Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).

    k rounds of noise multiplier s have mu^2 = k / s^2, unlike rounds add up.  Balle and Wang 2018, "Improving the
    Gaussian mechanism for differential privacy", Theorem 8; Dong, Roth and Su 2019, Corollaries 1 and 2.
    """
    with mp.workdps(digits + GUARD):
        squared, eps = to_mpf(mean_squared), to_mpf(epsilon)
        if squared == 0:
            return max(mp.zero, -mp.expm1(eps))
        mu = mp.sqrt(squared)
        lost = 2 * max(0, int(mp.log10(1 + abs(eps) / mu))) + max(0, int(-mp.log10(mu)))
    with mp.workdps(digits + GUARD + lost):
        mu, eps = mp.sqrt(to_mpf(mean_squared)), to_mpf(epsilon)
        root2 = mp.sqrt(2)
        upper, lower = mu / 2 - eps / mu, -mu / 2 - eps / mu
        return (mp.erfc(-upper / root2) - mp.exp(eps) * mp.erfc(-lower / root2)) / 2


def gaussian_epsilon(mean_squared: Real, delta: Real, digits: int = 30) -> Mpf:
    """inf{eps >= 0: gaussian_delta(mean_squared, eps) <= delta}, by bracketing."""
    with mp.workdps(digits + 15):
        return solve_decreasing(
            lambda eps: gaussian_delta(mean_squared, eps, digits + 10), to_mpf(delta), mp.inf, digits + 3
        )


# Finitely many atoms --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Atoms:
    """A pair (P, Q) on finitely many outcomes: masses p e^L and p of each finite loss, and P-mass at loss +inf.

    `losses` holds (loss, P-mass); Q-mass where P has none never enters delta and is not kept.
    """

    losses: tuple[tuple[Mpf, Mpf], ...]
    infinite: Mpf


def randomized_response(epsilon0: Real) -> Atoms:
    """Binary randomized response: P = (e^e0, 1) / (1 + e^e0), Q the swap.  Warner 1965."""
    return approximate_dp(epsilon0, 0)


def approximate_dp(epsilon0: Real, delta0: Real) -> Atoms:
    """The pair that dominates every (e0, d0)-DP mechanism: Kairouz, Oh and Viswanath [KOV15], Theorem 3.1."""
    e0, d0 = to_mpf(epsilon0), to_mpf(delta0)
    likely = 1 / (1 + mp.exp(-e0))
    finite = ((e0, (1 - d0) * likely), (-e0, (1 - d0) * (1 - likely)))
    return Atoms(finite if d0 != 1 else (), d0)


def sampled_atoms(epsilon0: Real, delta0: Real, rate: Real, direction: str) -> Atoms:
    """The (e0, d0) pair (A, B) under Poisson sampling: `remove` has P = (1-q)B + qA and Q = B, `add` the swap."""
    e0, d0, q = to_mpf(epsilon0), to_mpf(delta0), to_mpf(rate)
    likely = 1 / (1 + mp.exp(-e0))
    outcomes = ((d0, mp.zero), ((1 - d0) * likely, (1 - d0) * (1 - likely)))
    infinite, finite = mp.zero, []
    for first, second in (pair for a, b in outcomes for pair in ((a, b), (b, a))):
        with_record, without = (1 - q) * second + q * first, second
        p, other = (with_record, without) if direction == "remove" else (without, with_record)
        if p == 0:
            continue
        if other == 0:
            infinite += p
        else:
            finite.append((mp.log(p / other), p))
    return Atoms(tuple(finite), infinite)


@dataclass(frozen=True)
class AtomTable:
    """Composed atoms sorted by loss, largest first, with running P- and Q-masses."""

    losses: tuple[Mpf, ...]
    masses: tuple[Mpf, ...]
    infinite: Mpf

    def delta(self, eps: Mpf) -> Mpf:
        """p_inf + sum over L > eps of p (1 - e^{eps - L}); all terms are positive."""
        total = self.infinite
        for loss, mass in zip(self.losses, self.masses, strict=True):
            if loss <= eps:
                break
            total -= mass * mp.expm1(eps - loss)
        return total

    def epsilon(self, delta: Mpf) -> Mpf:
        """The exact inverse: on each segment between atoms delta(eps) = P - e^eps Q, so eps = log((P - delta) / Q)."""
        if self.delta(mp.zero) <= delta:
            return mp.zero
        if delta < self.infinite:
            return mp.inf
        p_mass, q_mass = self.infinite, mp.zero
        for index, (loss, mass) in enumerate(zip(self.losses, self.masses, strict=True)):
            p_mass += mass
            q_mass += mass * mp.exp(-loss)
            below = self.losses[index + 1] if index + 1 < len(self.losses) else -mp.inf
            at_below = p_mass - mp.exp(below) * q_mass
            if at_below >= delta:
                if p_mass == delta and index == 0:
                    return loss
                return max(mp.zero, mp.log((p_mass - delta) / q_mass))
        return mp.zero


def compose_atoms(groups: Sequence[tuple[Atoms, int]]) -> AtomTable:
    """All count vectors of k-fold products by the multinomial law, and every combination of the groups."""
    table: list[tuple[Mpf, Mpf]] = [(mp.zero, mp.one)]
    finite_mass = mp.one
    for atoms, count in groups:
        finite_mass *= (1 - atoms.infinite) ** count
        kinds = len(atoms.losses)
        if kinds == 0:
            return AtomTable((), (), mp.one)
        if math.comb(count + kinds - 1, kinds - 1) * len(table) > MAX_ATOMS:
            raise OracleError("too many atoms to enumerate")
        powers = [list(itertools.accumulate([mass] * count, lambda a, b: a * b, initial=mp.one))
                  for _, mass in atoms.losses]  # fmt: skip
        block: list[tuple[Mpf, Mpf]] = []
        for vector in _count_vectors(count, kinds):
            weight, left, loss, mass = 1, count, mp.zero, mp.one
            for kind, amount in enumerate(vector):
                weight *= math.comb(left, amount)
                left -= amount
                loss += amount * atoms.losses[kind][0]
                mass *= powers[kind][amount]
            block.append((loss, weight * mass))
        table = [(a + c, b * d) for a, b in table for c, d in block]
    table.sort(key=lambda atom: atom[0], reverse=True)
    return AtomTable(tuple(a for a, _ in table), tuple(b for _, b in table), 1 - finite_mass)


def _count_vectors(total: int, kinds: int) -> list[tuple[int, ...]]:
    if kinds == 1:
        return [(total,)]
    return [(head, *tail) for head in range(total + 1) for tail in _count_vectors(total - head, kinds - 1)]


def randomized_response_delta(groups: Sequence[tuple[Real, int]], epsilon: Real, digits: int = 30) -> Mpf:
    """delta of k_i runs of randomized response e_i: sum_j C(k, j) p^j (1-p)^(k-j) (1 - e^{eps - (2j-k) e0})_+ ."""
    return approximate_dp_delta([(e0, 0, count) for e0, count in groups], epsilon, digits)


def randomized_response_epsilon(groups: Sequence[tuple[Real, int]], delta: Real, digits: int = 30) -> Mpf:
    """The exact inverse of `randomized_response_delta`."""
    return approximate_dp_epsilon([(e0, 0, count) for e0, count in groups], delta, digits)


def approximate_dp_delta(groups: Sequence[tuple[Real, Real, int]], epsilon: Real, digits: int = 30) -> Mpf:
    """delta of k_i runs of the (e_i, d_i) pair at any eps, as the exact sum over the composed atoms."""
    with mp.workdps(digits + GUARD):
        table = compose_atoms([(approximate_dp(e0, d0), count) for e0, d0, count in groups])
        return table.delta(to_mpf(epsilon))


def approximate_dp_epsilon(groups: Sequence[tuple[Real, Real, int]], delta: Real, digits: int = 30) -> Mpf:
    """The exact inverse of `approximate_dp_delta`; +inf where delta < 1 - prod (1 - d_i)^k_i."""
    with mp.workdps(digits + GUARD):
        table = compose_atoms([(approximate_dp(e0, d0), count) for e0, d0, count in groups])
        return table.epsilon(to_mpf(delta))


def kairouz_oh_viswanath(epsilon0: Real, delta0: Real, count: int, index: int, digits: int = 30) -> tuple[Mpf, Mpf]:
    """The point (eps_i, delta_i) of optimal k-fold composition: [KOV15], Theorem 3.3.

    eps_i = (k - 2i) e0 and delta_i = 1 - (1 - d0)^k (1 - S_i), where
    S_i = sum_{l<i} C(k, l) (e^{(k-l) e0} - e^{(k-2i+l) e0}) / (1 + e^e0)^k.
    """
    with mp.workdps(digits + GUARD):
        e0, d0 = to_mpf(epsilon0), to_mpf(delta0)
        total = mp.zero
        for ell in range(index):
            powers = mp.exp((count - ell) * e0) - mp.exp((count - 2 * index + ell) * e0)
            total += math.comb(count, ell) * powers
        inner = total / (1 + mp.exp(e0)) ** count
        return (count - 2 * index) * e0, 1 - (1 - d0) ** count * (1 - inner)


# Laplace --------------------------------------------------------------------------------------------------------------


def _series(plus: int, minus: int, length: int) -> list[int]:
    """Coefficients of (1 + w)^plus (1 - w)^minus by (n+1) g_{n+1} = (plus - minus) g_n + (n-1-plus-minus) g_{n-1}."""
    values = [1]
    for n in range(length - 1):
        before = values[n - 1] if n else 0
        values.append(((plus - minus) * values[n] + (n - 1 - plus - minus) * before) // (n + 1))
    return values


def laplace_delta(
    groups: Sequence[tuple[Real, int]],
    epsilon: Real,
    atoms: Sequence[tuple[Real, Real, int]] = (),
    digits: int = 30,
) -> Mpf:
    """delta of k_i runs of Lap(1, b_i) against Lap(0, b_i), with k_j runs of (e_j, d_j) pairs, as a finite sum.

    With c = 1/b, E_P e^{zL} = (e^{zc} (1+z) + e^{-c-zc} z) / (1+2z).  Multiplied out, every term of the inversion
    integral (1 / 2 pi i) int E_P e^{zL} e^{-eps z} / (z (1+z)) dz is an exponential e^{tau z} times a rational
    function: zero where tau <= 0, otherwise the residues at 0, -1 and -1/2.  The integral: Zhu, Dong and Wang 2022
    [ZDW22], with Fourier inversion as in Gil-Pelaez 1951.
    """
    extra = GUARD
    for _ in range(8):
        with mp.workdps(digits + extra):
            value, largest = _laplace_sum(groups, epsilon, atoms)
            if value == 0:
                if largest == 0:
                    return value
                lost = digits + extra
            else:
                lost = max(0, int(mp.log10(largest / abs(value))))
        if lost + 12 <= extra:
            return value
        extra = lost + GUARD if value else 2 * extra + 100
    raise OracleError("the Laplace sum cancels too far")


def _laplace_sum(
    groups: Sequence[tuple[Real, int]], epsilon: Real, atoms: Sequence[tuple[Real, Real, int]]
) -> tuple[Mpf, Mpf]:
    eps = to_mpf(epsilon)
    finite = compose_atoms([(approximate_dp(e0, d0), count) for e0, d0, count in atoms])
    total = sum(count for _, count in groups)
    terms: list[tuple[Mpf, Mpf, int]] = [(a, b, 0) for a, b in zip(finite.losses, finite.masses, strict=True)]
    for scale, count in groups:
        c = 1 / to_mpf(scale)
        block = [((2 * j - count) * c, math.comb(count, j) * mp.exp(-c * (count - j)), j) for j in range(count + 1)]
        terms = [(a + d, b * e, j + i) for a, b, j in terms for d, e, i in block]
    value, largest = finite.infinite, abs(finite.infinite)
    series: dict[int, list[int]] = {}
    for loss, weight, ups in terms:
        tau = loss - eps
        if tau <= 0:
            continue
        if ups not in series:
            series[ups] = _series(ups - 1, total - ups - 1, total)
        sign = -1 if (total - ups - 1) % 2 else 1
        # sum over n of series[total - 1 - n] (tau / 2)^n / n!, in fixed point by running powers
        half, bits = tau / 2, mp.prec + total + 10  # the coefficients reach 2^total
        step, power, sum_inner, top = int(mp.ldexp(half, bits)), 1 << bits, 0, 0
        for n, coefficient in enumerate(reversed(series[ups])):
            term = coefficient * power
            sum_inner += term
            top = max(top, abs(term))
            power = (power * step >> bits) // (n + 1)
            if not power:
                break
        inner, peak = mp.ldexp(mp.mpf(sum_inner), -bits), mp.ldexp(mp.mpf(top), -bits)
        factor = weight * mp.exp(-half) * mp.ldexp(1, 1 - total)
        value += sign * factor * inner
        largest = max(largest, factor * peak)
        if ups == total:
            value += weight
        if ups == 0:
            value -= weight * mp.exp(-tau)
        largest = max(largest, weight if ups == total else mp.zero)
    return value, largest


def laplace_epsilon(
    groups: Sequence[tuple[Real, int]],
    delta: Real,
    atoms: Sequence[tuple[Real, Real, int]] = (),
    digits: int = 30,
) -> Mpf:
    """inf{eps >= 0: laplace_delta <= delta}, by bracketing; the end of the loss where delta is the mass at +inf."""
    with mp.workdps(digits + 15):
        target = to_mpf(delta)
        infinite = 1 - mp.fprod((1 - to_mpf(d0)) ** count for _, d0, count in atoms)
        if target < infinite:
            return mp.inf
        end = mp.fsum(count / to_mpf(b) for b, count in groups) + mp.fsum(k * to_mpf(e0) for e0, _, k in atoms)
        exact = 1 - Fraction(math.prod((1 - to_fraction(d0)) ** count for _, d0, count in atoms))
        if to_fraction(delta) == exact:
            return end
        return solve_decreasing(
            lambda eps: laplace_delta(groups, eps, atoms, digits + 10) - infinite, target - infinite, end, digits + 3
        )
