"""Pairs with finitely many outcomes, among them the worst case of every (epsilon, delta) guarantee.

Kairouz, Oh, Viswanath 2015 (arXiv 1311.0776, Theorem 3.4 and its proof): any mechanism that satisfies (epsilon, delta)
is dominated by the pair with P-masses delta at +inf, (1 - delta) e^eps/(1 + e^eps) at +eps, (1 - delta)/(1 + e^eps) at -eps, Q its
mirror image. With delta = 0 it is binary randomised response.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.pairs.base import Atoms, DominatingPair, SmoothPart


@dataclass(frozen=True, slots=True)
class AtomicPair(DominatingPair):
    """A pair given by its atoms: tuples of loss, log P-mass and log Q-mass, in increasing order of loss."""

    loss: tuple[float, ...]
    log_p: tuple[float, ...]
    log_q: tuple[float, ...]

    @property
    def atoms(self) -> Atoms:
        """All of the pair."""
        return Atoms(np.array(self.loss), np.array(self.log_p), np.array(self.log_q))

    @property
    def smooth(self) -> SmoothPart | None:
        """None."""
        return None

    @property
    def loss_range(self) -> tuple[float, float]:
        """The least and the greatest finite loss that P can show."""
        finite = [x for x in self.loss if math.isfinite(x)]
        return (min(finite), max(finite)) if finite else (0.0, 0.0)


def black_box(epsilon: float, delta: float) -> AtomicPair:
    """The worst pair among all that satisfy (epsilon, delta); epsilon >= 0, 0 <= delta < 1."""
    log_high = math.log1p(-delta) - math.log1p(math.exp(-epsilon))
    log_low = log_high - epsilon
    if delta == 0:
        return AtomicPair((-epsilon, epsilon), (log_low, log_high), (log_high, log_low))
    log_delta = math.log(delta)
    return AtomicPair(
        (-math.inf, -epsilon, epsilon, math.inf),
        (-math.inf, log_low, log_high, log_delta),
        (log_delta, log_high, log_low, -math.inf),
    )
