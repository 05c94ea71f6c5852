"""Compositions whose delta(eps) has a closed form: Gaussians, one sampled Gaussian round, Laplace rounds, small sums.

Phi is the standard normal distribution function, q the sampling rate, and x0 the outcome at which the loss is eps. By
Neyman and Pearson ``delta(eps) = P(L > eps) - e^eps Q(L > eps)``, and the loss is monotone in the outcome x. For
sampled Gaussians, l0 is the loss of the unsampled round at x0. At an outcome where the unsampled round has the loss l,
the sampled round has the loss psi(l) if a record is removed.

- Gaussian (Balle, Wang 2018 [BW18], Theorem 8): ``Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)``;
- sampled Gaussian, remove: ``psi(l0) = eps`` holds at ``e^l0 = 1 + (e^eps - 1) / q``, and ``x0 = l0/mu + mu/2``. Delta
  is ``q [Phi(mu - x0) - e^l0 Phi(-x0)]``;
- sampled Gaussian, add: ``psi(l0) = -eps`` holds at ``e^l0 = (e^-eps - 1 + q) / q``; if this is not positive, there is
  no such l0, and delta is 0. Otherwise delta is ``q e^eps [e^l0 Phi(x0) - Phi(x0 - mu)]``;
- sampled Gaussian, replace-one: ``mu x0 = eps/2 + asinh((1 - q) e^(mu^2/2) sinh(eps/2) / q)``
  (``pairs/sampled/replaced_gaussian.py``). Delta is ``(1 - q) (1 - e^eps) Phi(-x0) + q [Phi(mu - x0) - e^eps Phi(-mu -
  x0)]``.

**Laplace.** With theta = distance / scale, the law of one loss under P is ``e^((l - theta)/2) nu(dl)``. Here nu has
atoms of mass 1/2 at -theta and at theta, and the density 1/4 between them. (In ``pairs/laplace.py``, the density is
``e^-(theta - x) / 2`` in x, with ``l = 2x - theta``.) The transform of nu is ``int e^(wl) nu(dl) = e^(theta w) (1 +
1/(2w)) / 2 + e^(-theta w) (1 - 1/(2w)) / 2``.

Now compose k_i rounds of each theta_i, k rounds in total, and let T be the sum of theta over all rounds. The law of the
sum of losses is ``e^((l - T)/2) nu(dl)``, where nu is the convolution over all rounds. The transform of this nu is a
sum over all j with ``0 <= j_i <= k_i``; J is the sum of the j_i:

    2^-k sum_j [prod C(k_i, j_i)] e^(l_j w) sum_c K_Jc (2w)^-c ,  l_j = T - 2 sum j_i theta_i ,
    K_Jc = [y^c] (1 + y)^(k-J) (1 - y)^J .

For Re w > 0, ``e^(l_j w) w^-c`` is the transform of ``(l_j - l)_+^(c-1) / (c-1)!``, or for c = 0 of an atom at l_j.
With ``D_j = (l_j - eps)_+`` and ``delta(eps) = int_eps^inf (1 - e^(eps - l)) P(dl)``, it follows that

    delta(eps) = e^((eps - T)/2) 2^-k sum_j [prod C(k_i, j_i)] sum_c K_Jc h_c(D_j) ,
    h_c(D) = 2^-c int_0^D 2 sinh((D - v)/2) v^(c-1) / (c-1)! dv = 2 sum of (D/2)^m / m! over m = c+1, c+3, ... ,

and ``h_0 = 2 sinh(D/2)``. Integrating by parts twice gives ``h_c = h_(c-2) - 2 (D/2)^(c-1) / (c-1)!``. The terms of
delta cancel; the radius of the ball shows how many digits are left.

**Small sums.** For rounds with finitely many outcomes, delta(eps) is the sum of ``(p - e^eps q)_+`` over the joint
outcomes of all rounds. Joint outcomes that differ only in order are combined.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product

from flint import arb, fmpq, fmpz, fmpz_poly

from hockeystick.engines.proof.atoms import FiniteLaw
from hockeystick.engines.proof.rounds import ExactRounds, SampledGaussian
from hockeystick.engines.proof.search import Enclosure
from hockeystick.numerics import balls
from hockeystick.numerics.balls import FAR_OUT, Ball, ball, mills_ratio, normal_tail, precision
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError

LEAST_DELTA = arb(2) ** -(1 << 11)  # an upper end below this is also below every positive double


class ClosedForm:
    """Delta at an epsilon by a closed form, computed with as many bits as needed.

    Args:
        rounds: rounds for which :meth:`applies` is true.
    """

    name = "closed form"

    def __init__(self, rounds: ExactRounds) -> None:
        self._formula: Callable[[Ball], Ball]
        if rounds.mu_squared:
            self._formula = lambda epsilon: gaussian(ball(rounds.mu_squared).sqrt(), epsilon)
        elif rounds.laplace:
            self._formula = LaplaceSum(rounds.laplace).delta
        elif rounds.finite:
            self._formula = lambda epsilon: excess(rounds.finite, epsilon)
        else:
            (item,) = rounds.sampled
            self._formula = lambda epsilon: sampled(item, epsilon)

    @staticmethod
    def applies(rounds: ExactRounds) -> bool:
        """True if the rounds are Gaussians only, one sampled Gaussian, few Laplace rounds, or a small sum of atoms."""
        kinds = bool(rounds.mu_squared), rounds.sampled, rounds.laplace, rounds.finite, rounds.discrete
        if sum(map(bool, kinds)) != 1 or rounds.discrete:
            return False
        if rounds.laplace:
            terms = math.prod(count + 1 for count in rounds.laplace.values()) * rounds.laplace.total()
            return terms <= balls.MOST_TERMS
        if rounds.finite:
            return math.prod(_ways(law.size(0.0), count) for law, count in rounds.finite.items()) <= balls.MOST_TERMS
        return bool(rounds.mu_squared) or rounds.sampled.total() == 1

    def delta(self, epsilon: Ball) -> Enclosure:
        """Return ends of delta that agree to 64 bits, or 0 and an upper end if that end is below all positive doubles.

        Raises:
            NotApplicableError: no allowed precision gives such ends.
        """
        bits = 2 * balls.GUARD_BITS
        while bits <= balls.MOST_BITS:
            with precision(bits):
                value = self._formula(epsilon)
                if value.rel_accuracy_bits() >= balls.GUARD_BITS or value.is_zero():
                    return Enclosure(value.lower(), value.upper())
            bits *= 2
        if not value.upper() < LEAST_DELTA:
            raise NotApplicableError("delta is too small for its closed form to be proved")
        return Enclosure(arb(0), value.upper())


def gaussian(mu: Ball, epsilon: Ball) -> Ball:
    """Return delta(eps) of N(mu, 1) versus N(0, 1).

    Let ``a = eps/mu - mu/2``, ``b = a + mu``, phi the normal density and R the Mills ratio, so that
    ``e^eps Phi(-b) = phi(a) R(b)``. In the tail the right side is computed, since two exponents would cancel on the
    left side.
    """
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if b > FAR_OUT:
        return normal_tail(a) - (-a * a / 2).exp() / (2 * arb.pi()).sqrt() * mills_ratio(b)
    return normal_tail(a) - epsilon.exp() * normal_tail(b)


def sampled(item: SampledGaussian, epsilon: Ball) -> Ball:
    """Return delta(eps) of one sampled Gaussian round, for eps >= 0."""
    return _FORMULAS[item.direction](ball(item.mu), ball(item.rate), epsilon)


def _remove(mu: Ball, q: Ball, epsilon: Ball) -> Ball:
    odds = 1 + epsilon.expm1() / q
    x0 = odds.log() / mu + mu / 2
    return q * (normal_tail(x0 - mu) - odds * normal_tail(x0))


def _add(mu: Ball, q: Ball, epsilon: Ball) -> Ball:
    odds = 1 + (-epsilon).expm1() / q
    if odds <= 0:
        return arb(0)
    x0 = odds.log() / mu + mu / 2
    return q * epsilon.exp() * (odds * normal_tail(-x0) - normal_tail(mu - x0))


def _replace(mu: Ball, q: Ball, epsilon: Ball) -> Ball:
    turn = ((1 - q) / q * (mu * mu / 2).exp() * (epsilon / 2).sinh()).asinh()
    x0 = (epsilon / 2 + turn) / mu
    outside = (1 - q) * epsilon.expm1() * normal_tail(x0)
    return q * (normal_tail(x0 - mu) - epsilon.exp() * normal_tail(x0 + mu)) - outside


_FORMULAS: dict[Direction, Callable[[Ball, Ball, Ball], Ball]] = {
    Direction.REMOVE: _remove,
    Direction.ADD: _add,
    Direction.REPLACE_ONE: _replace,
}
"""Delta of one sampled Gaussian round from mu, the rate and epsilon, by direction."""


class LaplaceSum:
    """Formula of the module docstring for delta of Laplace rounds.

    Args:
        laplace: number of rounds for each theta, the distance divided by the noise scale.
    """

    def __init__(self, laplace: Counter[Fraction]) -> None:
        self._count = count = laplace.total()
        self._largest = sum((times * theta for theta, times in laplace.items()), Fraction(0))
        up, down = fmpz_poly([1, 1]), fmpz_poly([1, -1])
        self._rows = [(up ** (count - j) * down**j).coeffs() for j in range(count + 1)]
        self._terms: list[tuple[Fraction, int, int]] = []  # l_j, J, and the product of binomial coefficients
        for js in product(*(range(times + 1) for times in laplace.values())):
            place, ways = self._largest, 1
            for j, (theta, times) in zip(js, laplace.items(), strict=True):
                place -= 2 * j * theta
                ways *= int(fmpz.bin_uiui(times, j))
            self._terms.append((place, sum(js), ways))

    def delta(self, epsilon: Ball) -> Ball:
        """Return a ball around delta(eps), for eps >= 0.

        The ball is exactly 0 if eps is exact and not below the largest loss.
        """
        if epsilon.is_exact() and epsilon.fmpq() >= fmpq(self._largest.numerator, self._largest.denominator):
            return arb(0)
        total = arb(0)
        for place, j, ways in self._terms:
            distance = (ball(place) - epsilon).max(arb(0))
            if distance.is_zero():
                continue
            parts = zip(self._rows[j], self._parts(distance / 2), strict=True)
            total += ways * sum((coefficient * part for coefficient, part in parts), arb(0))
        return total * ((epsilon - ball(self._largest)) / 2).exp() * arb(2) ** -self._count

    def _parts(self, half: Ball) -> list[Ball]:
        """Return ``h_c(2 half)`` of the module docstring, for c from 0 to the number of rounds."""
        out, power = [2 * half.sinh(), 4 * (half / 2).sinh() ** 2], half
        for c in range(2, self._count + 1):
            out.append(out[c - 2] - 2 * power)
            power = power * half / c
        return out[: self._count + 1]


def _ways(outcomes: int, count: int) -> int:
    """Return the number of joint outcomes of ``count`` equal rounds, ignoring their order."""
    return math.comb(count + outcomes - 1, outcomes - 1)


def excess(laws: Counter[FiniteLaw], epsilon: Ball) -> Ball:
    """Return delta(eps) of rounds with few joint outcomes, as a sum over these joint outcomes."""
    results = [(arb(1), arb(1))]  # masses under P and Q
    for law, count in laws.items():
        some = _results([(outcome.p, outcome.q) for outcome in law.outcomes(0.0)[0]], count)
        results = [(p * a, q * b) for p, q in results for a, b in some]
    odds = epsilon.exp()
    return sum(((p - odds * q).max(arb(0)) for p, q in results), arb(0))


def _results(outcomes: list[tuple[Ball, Ball]], count: int) -> list[tuple[Ball, Ball]]:
    """Return the masses under P and Q of the joint outcomes of ``count`` equal rounds, ignoring their order.

    There is one entry for each vector of outcome counts.
    """
    (p, q), *rest = outcomes
    if not rest:
        return [(p**count, q**count)]
    out = []
    for n in range(count + 1):
        ways = arb(fmpz.bin_uiui(count, n))
        some = _results(rest, count - n)
        out += [(ways * p**n * a, ways * q**n * b) for a, b in some]
    return out
