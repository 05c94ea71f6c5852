"""Compositions whose delta(eps) has a closed form: unsampled Gaussians, one sampled Gaussian round, few Laplace rounds.

Phi is the standard normal distribution, q the rate, x0 the outcome at which the loss is eps. By Neyman and Pearson
``delta(eps) = P(L > eps) - e^eps Q(L > eps)``, and the loss is monotone in x:

- Gaussian (Balle, Wang 2018 [BW18], Theorem 8): ``Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)``;
- remove: ``psi(l0) = eps`` at ``e^l0 = 1 + (e^eps - 1) / q``, ``x0 = l0/mu + mu/2``: ``q [Phi(mu - x0) - e^l0
  Phi(-x0)]``;
- add: ``psi(l0) = -eps`` at ``e^l0 = (e^-eps - 1 + q) / q``, none where that is not positive: ``q e^eps [e^l0 Phi(x0) -
  Phi(x0 - mu)]``;
- replace-one: ``mu x0 = eps/2 + asinh((1 - q) e^(mu^2/2) sinh(eps/2) / q)`` (``pairs/sampled/replaced_gaussian.py``):
  ``(1 - q) (1 - e^eps) Phi(-x0) + q [Phi(mu - x0) - e^eps Phi(-mu - x0)]``;
- equal unsampled Laplace rounds: ``laplace_sum.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from hockeystick.engines.proof.enclosure import Enclosure
from hockeystick.engines.proof.laplace_sum import MOST_ROUNDS, LaplaceSum
from hockeystick.engines.proof.rounds import ExactRounds, SampledGaussian
from hockeystick.numerics.balls import FAR_OUT, Ball, ball, mills_ratio, normal_tail, precision
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError

LEAST_BITS = 128  # of precision, tried first; each further attempt has twice as many
MOST_BITS = 1 << 20  # of precision, at the last attempt
ACCURACY = 64  # bits of delta
HOPELESS = 4  # attempts that say that the last one will not do, after which they are believed
LEAST_DELTA = arb(2) ** -(1 << 20)  # below it an upper end decides every comparison with a delta that is a double


class ClosedForm:
    """delta(eps) by its formula, with as many bits as it takes.

    Args:
        rounds: what :meth:`applies` to.
    """

    name = "closed form"

    def __init__(self, rounds: ExactRounds) -> None:
        self._formula: Callable[[Ball], Ball]
        if rounds.mu_squared:
            self._formula = lambda epsilon: gaussian(ball(rounds.mu_squared).sqrt(), epsilon)
        elif rounds.laplace:
            ((noise, count),) = rounds.laplace.items()
            self._formula = LaplaceSum(noise, count).delta
        else:
            ((item, _),) = rounds.sampled.items()
            self._formula = lambda epsilon: sampled(item, epsilon)

    @staticmethod
    def applies(rounds: ExactRounds) -> bool:
        """Whether the rounds are unsampled Gaussians alone, one sampled Gaussian, or few equal Laplace rounds."""
        if rounds.kinds != 1:
            return False
        few = len(rounds.laplace) == 1 and max(rounds.laplace.values()) <= MOST_ROUNDS
        return bool(rounds.mu_squared) or list(rounds.sampled.values()) == [1] or few

    def delta(self, epsilon: Ball) -> Enclosure:
        """Ends that agree to 64 bits; or 0 and an upper end, where delta is too small for any double to lie between.

        Raises:
            NotApplicableError: delta is too small.
        """
        bits, hopeless = LEAST_BITS, 0
        while bits <= MOST_BITS:
            with precision(bits):
                value = self._formula(epsilon)
                if value.rel_accuracy_bits() >= ACCURACY or value.is_zero():
                    return Enclosure(value.lower(), value.upper())
                # what cancels takes a fixed number of bits, so that those which are missing are known
                hopeless += bits - value.rel_accuracy_bits() > MOST_BITS
                if hopeless == HOPELESS and value.upper() < LEAST_DELTA:
                    return Enclosure(arb(0), value.upper())
            bits *= 2
        raise NotApplicableError("delta is too small for its closed form to be proved")


def gaussian(mu: Ball, epsilon: Ball) -> Ball:
    """delta(eps) of N(mu, 1) against N(0, 1).

    With ``a = eps/mu - mu/2`` and ``b = a + mu``, ``e^eps Phi(-b) = phi(a) R(b)`` with the Mills ratio R: far out the
    two exponents on the left would cancel.
    """
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if b > FAR_OUT:
        return normal_tail(a) - (-a * a / 2).exp() / (2 * arb.pi()).sqrt() * mills_ratio(b)
    return normal_tail(a) - epsilon.exp() * normal_tail(b)


def sampled(item: SampledGaussian, epsilon: Ball) -> Ball:
    """delta(eps) of one sampled round, eps >= 0."""
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
