"""Rounds whose losses lie in an interval of length epsilon: dominating pair, attained pairs, moments.

A mechanism has *bounded range* epsilon if for neighbouring datasets all losses lie in ``[t - epsilon, t]`` for some t,
which may differ from one pair of datasets to another (Durfee, Rogers 2019 [DR19]; Dong, Durfee, Rogers 2020 [DDR20]).
As ``E_P e^-L = 1``, ``0 <= t <= epsilon``.

**Two losses** (generalised randomised response in these papers). G_t has the losses t and ``t - epsilon``, of masses
``x = (e^epsilon - e^t) / (e^epsilon - 1)`` and ``1 - x`` under P. With P and Q exchanged it is ``G_(epsilon - t)``.
Among all laws of the likelihood ratio R under Q with values in ``[e^(t - epsilon), e^t]`` and mean 1 it is the largest
in convex order, that of the two ends, so that it has the largest ``E_Q f(R)`` for every convex f.

**One round.** So the largest curve is ``H(a) = max_t x (1 - a e^-t)_+``. With ``E = e^epsilon`` and ``s = e^t`` this is
``(E - s) (1 - a / s) / (E - 1)``, largest at ``s = sqrt(a E)``, which is in [1, E] for ``1/E <= a <= E``:

    H(a) = (sqrt(E) - sqrt(a))^2 / (E - 1),     1 - a below 1/E,     0 above E .

It is convex, and the curve of the pair with the density ``a H''(a)`` of the loss ``l = log a`` under Q, ``sqrt(E) / (2
(E - 1)) e^(-l/2)`` on ``[-epsilon, epsilon]``, and ``e^l`` times that under P, with no atoms
(``WindowPair.bounded_range``). It dominates every round of bounded range, but is not itself one, as its losses span
``2 epsilon``.

**Moments.** ``R^(1 + s)`` is convex, so that ``K(s) <= max_t log(x e^(st) + (1 - x) e^(s (t - epsilon)))``. With ``A =
E - E^-s`` and ``B = 1 - E^-s`` what is in the logarithm is ``e^(st) (A - e^t B) / (E - 1)``, largest at ``e^t = s A /
((s + 1) B)``:

    K(s) = s log(s A / ((s + 1) B)) + log(A / ((s + 1) (E - 1))) .

It is also at most ``s (1 + s) epsilon^2 / 8``: ``K''(s)`` is the variance of the loss under a tilted law, at most
``epsilon^2 / 4``; hence K less this is concave, and it is 0 at 0 and at -1, where ``E_P e^-L = 1``. Bounds on moments
that hold for every round add up, however the next one is chosen (Mironov 2017 [Mir17], Proposition 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hockeystick.pairs import moment
from hockeystick.pairs.base import Atoms, DominatingPair, RenyiCurve


@dataclass(frozen=True, slots=True)
class TwoLossPair(DominatingPair):
    """The pair G_t with the losses t and ``t - epsilon``, where ``t = share epsilon``.

    Attributes:
        epsilon: distance of the two losses, greater than 0.
        share: t / epsilon, between 0 and 1.
    """

    epsilon: Fraction
    share: Fraction

    @property
    def high(self) -> float:
        """The larger loss, t."""
        return float(self.share * self.epsilon)

    @property
    def low(self) -> float:
        """The smaller loss, ``t - epsilon``."""
        return float((self.share - 1) * self.epsilon)

    @property
    def atoms(self) -> Atoms:
        """Both losses, with log-masses computed without cancellation."""
        log_whole = math.log(-math.expm1(-float(self.epsilon)))
        at_high = math.log(-math.expm1(self.low)) - log_whole
        at_low = self.low + math.log(-math.expm1(-self.high)) - log_whole
        log_p = np.array([at_low, at_high])
        loss = np.array([self.low, self.high])
        return Atoms(loss, log_p, log_p - loss)

    @property
    def exact_supremum(self) -> Fraction:
        """t as a fraction."""
        return self.share * self.epsilon

    @property
    def spacing(self) -> Fraction:
        """Epsilon, the distance of the two losses."""
        return self.epsilon

    @property
    def mirrored_rho(self) -> float:
        """The rho of ``G_(epsilon - t)``, the pair with its laws exchanged."""
        return TwoLossPair(self.epsilon, 1 - self.share).rho


@dataclass(frozen=True, slots=True)
class BoundedRangeCurve(RenyiCurve):
    """The Renyi curve that bounds the moments of every round of bounded range.

    Attributes:
        epsilon: length of the range, greater than 0.
    """

    epsilon: Fraction

    @property
    def loss_range(self) -> tuple[float, float]:
        """Losses of either sign up to epsilon."""
        return -float(self.epsilon), float(self.epsilon)

    @property
    def exact_supremum(self) -> Fraction:
        """Epsilon, the largest loss that any such round can have."""
        return self.epsilon

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t): the least of the three bounds, rounded up."""
        e = float(self.epsilon)
        rough = min(moment.rounded_up(0.125 * t * (1 + t) * e * e), moment.rounded_up(t * e))
        # logarithms of A / (E - 1) and A / B, in a form that never evaluates E itself
        log_a = e + math.log(-math.expm1(-(1 + t) * e))
        log_b, log_whole = math.log(-math.expm1(-t * e)), e + math.log(-math.expm1(-e))
        share = math.log1p(-1 / (1 + t)) if t > 1 else math.log(t) - math.log1p(t)  # log of t / (1 + t)
        first, second = share + log_a - log_b, log_a - math.log1p(t) - log_whole
        size = t * (abs(share) + abs(log_a) + abs(log_b)) + abs(log_a) + abs(log_whole) + (1 + t)
        return min(moment.rounded_up(t * first + second, size), rough)
