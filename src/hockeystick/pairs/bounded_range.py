"""Rounds whose losses lie in an interval of length epsilon: dominating pair, attained pairs, moments.

A mechanism has *bounded range* epsilon if for neighbouring datasets all losses lie in ``[t - epsilon, t]`` for some t,
which may differ from one pair of datasets to another (Durfee, Rogers 2019 [DR19]; Dong, Durfee, Rogers 2020 [DDR20]).
As ``E_P e^-L = 1``, ``0 <= t <= epsilon``.

**Two losses** (generalised randomised response in these papers). The pair G_t has the losses t and ``t - epsilon``,
with the P-masses ``x = (e^epsilon - e^t) / (e^epsilon - 1)`` and ``1 - x``. With P and Q exchanged it is ``G_(epsilon -
t)``. Let R be the likelihood ratio under Q. Among all laws of R with values in ``[e^(t - epsilon), e^t]`` and mean 1,
the law under G_t is the largest in convex order, as it has mass only at the two ends: it has the largest ``E_Q f(R)``
for every convex f.

**One round.** So the largest privacy curve of a round is ``H(a) = max_t x (1 - a e^-t)_+``. With ``E = e^epsilon`` and
``s = e^t``, the function to maximise is ``(E - s) (1 - a / s) / (E - 1)``. It is largest at ``s = sqrt(a E)``, which is
in [1, E] for ``1/E <= a <= E``:

    H(a) = (sqrt(E) - sqrt(a))^2 / (E - 1),     1 - a below 1/E,     0 above E .

H is convex, so that it is the curve of a pair. The density of the loss ``l = log a`` of this pair under Q is ``a H''(a)
= sqrt(E) / (2 (E - 1)) e^(-l/2)`` on ``[-epsilon, epsilon]``, and under P it is ``e^l`` times as large; there are no
atoms (``WindowPair.bounded_range``). The pair dominates every round of bounded range, but is not itself of bounded
range epsilon, as its losses span ``2 epsilon``.

**Moments.** ``R^(1 + s)`` is convex in R, so that ``K(s) <= max_t log(x e^(st) + (1 - x) e^(s (t - epsilon)))``. With
``A = E - E^-s`` and ``B = 1 - E^-s`` the argument of the logarithm is ``e^(st) (A - e^t B) / (E - 1)``, which is
largest at ``e^t = s A / ((s + 1) B)``:

    K(s) = s log(s A / ((s + 1) B)) + log(A / ((s + 1) (E - 1))) .

K(s) is also at most ``s (1 + s) epsilon^2 / 8``. Proof: ``K''(s)`` is the variance of the loss under a tilted law,
which is at most ``epsilon^2 / 4``. Hence ``K(s) - s (1 + s) epsilon^2 / 8`` is concave in s. It is 0 at s = 0, and at s
= -1 because ``E_P e^-L = 1``; so it is at most 0 for s > 0. Bounds on moments that hold for every round add up, even if
each round is chosen in view of earlier outcomes (Mironov 2017 [Mir17], Proposition 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hockeystick.pairs import moment
from hockeystick.pairs.base import RenyiCurve
from hockeystick.pairs.finite import SpacedPair


def two_losses(epsilon: Fraction, share: Fraction) -> SpacedPair:
    """Return the pair with exactly the two losses t and ``t - epsilon``, where ``t = share epsilon``.

    Args:
        epsilon: difference of the two losses, greater than 0.
        share: t / epsilon, between 0 and 1.
    """
    high, low = float(share * epsilon), float((share - 1) * epsilon)
    # both masses under P without cancellation
    log_whole = math.log(-math.expm1(-float(epsilon)))
    at_high = math.log(-math.expm1(low)) - log_whole
    at_low = low + math.log(-math.expm1(-high)) - log_whole
    return SpacedPair(share * epsilon, epsilon, (at_low, at_high), (at_low - low, at_high - high))


@dataclass(frozen=True, slots=True)
class BoundedRangeCurve(RenyiCurve):
    """Upper bounds on the moments of every round whose losses lie in an interval of length epsilon.

    Attributes:
        epsilon: length of the range, greater than 0.
    """

    epsilon: Fraction

    @property
    def loss_range(self) -> tuple[float, float]:
        """The bounds -epsilon and epsilon, which hold for the losses of every round of bounded range epsilon."""
        return -float(self.epsilon), float(self.epsilon)

    @property
    def exact_supremum(self) -> Fraction:
        """Epsilon, the largest loss that any round of bounded range epsilon can have."""
        return self.epsilon

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t): the least of the module's formula, ``t (1 + t) epsilon^2 / 8`` and ``t epsilon``."""
        e = float(self.epsilon)
        rough = min(moment.rounded_up(0.125 * t * (1 + t) * e * e), moment.rounded_up(t * e))
        # logarithms of A / (E - 1) and A / B, in a form that never evaluates E itself
        log_a = e + math.log(-math.expm1(-(1 + t) * e))
        log_b, log_whole = math.log(-math.expm1(-t * e)), e + math.log(-math.expm1(-e))
        share = math.log1p(-1 / (1 + t)) if t > 1 else math.log(t) - math.log1p(t)  # log of t / (1 + t)
        first, second = share + log_a - log_b, log_a - math.log1p(t) - log_whole
        size = t * (abs(share) + abs(log_a) + abs(log_b)) + abs(log_a) + abs(log_whole) + (1 + t)
        return min(moment.rounded_up(t * first + second, size), rough)
