"""Moments of the likelihood ratio, ``E_Q (dP/dQ)^i``, which the bound on batches of a fixed size needs.

The moments are ``exp(mu^2 i (i - 1) / 2)`` for Gaussian noise, ``(i e^((i-1) theta) + (i - 1) e^(-i theta)) / (2i -
1)`` for Laplace noise (Mironov 2017 [Mir17], Proposition 6), and ``(e^(i eps) + e^((1-i) eps)) / (1 + e^eps)`` for a
black box with delta 0.
"""

from __future__ import annotations

from decimal import Decimal

from hockeystick.numerics.rounding import next_up
from hockeystick.pairs.base import DominatingPair
from hockeystick.pairs.black_box import BlackBoxPair
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.laplace import LaplacePair


def ratio_moments(pair: DominatingPair, most: int) -> list[Decimal]:
    """Return ``E_Q (dP/dQ)^i`` for i = 0, ..., ``most``; an empty list if these moments are not known.

    The results are moments of a pair that dominates ``pair``: its parameter is larger by a few units in the last place.
    Each moment is computed in the current decimal context, with an error of at most ``2 (i + 1)^2`` units in the last
    place plus the error that rounding the exponent causes.
    """
    orders = range(most + 1)
    if isinstance(pair, GaussianPair):
        mu = Decimal(next_up(pair.mu, 4))
        return [(mu * mu * (i * (i - 1) // 2)).exp() for i in orders]
    if isinstance(pair, LaplacePair):
        ratio = Decimal(next_up(pair.width, 4)).exp()
        return [(i * ratio ** (i - 1) + (i - 1) * ratio**-i) / (2 * i - 1) for i in orders]
    if isinstance(pair, BlackBoxPair) and not pair.delta:
        ratio = Decimal(next_up(pair.epsilon, 4)).exp()
        return [(ratio**i + ratio ** (1 - i)) / (1 + ratio) for i in orders]
    return []
