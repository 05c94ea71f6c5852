"""Pairs of laws on finitely many outcomes: with exact probabilities, or with the losses -epsilon, 0 and epsilon.

A mechanism with finitely many outcomes, of law p with the record and law q without it, is its own dominating pair:
``delta(eps) = sum_i (p_i - e^eps q_i)_+``. The masses of outcomes with the same likelihood ratio are added, exactly, as
fractions. This loses nothing, because the ratio is a sufficient statistic.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from hockeystick.pairs.base import Atoms, DominatingPair

NEAR = Fraction(1, 2)
"""Largest distance of a ratio from 1 at which log1p computes its logarithm, to keep the digits of a small result."""


def log_fraction(value: Fraction) -> float:
    """Return the logarithm of a positive fraction of any size, with a relative error of a few roundings."""
    if abs(value - 1) <= NEAR:
        return math.log1p(float(value - 1))
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    if abs(shift) < 1000:
        return math.log(float(value))
    return math.log(float(value / Fraction(2) ** shift)) + shift * math.log(2)


@dataclass(frozen=True)
class FinitePair(DominatingPair):
    """Two laws on the same finitely many outcomes, given exactly.

    Attributes:
        p: probabilities under P, which add up to 1.
        q: probabilities of the same outcomes under Q, which add up to 1.
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def __hash__(self) -> int:
        """Return the hash of the masses, computed once: caches use it thousands of times, and it is slow to compute."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.p, self.q))

    @cached_property
    def masses(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Tuple of (P-mass, Q-mass) for each distinct likelihood ratio dP/dQ, in increasing order of the ratio."""
        merged: dict[Fraction | None, list[Fraction]] = defaultdict(lambda: [Fraction(0), Fraction(0)])
        for with_, without in zip(self.p, self.q, strict=True):
            if with_ or without:
                cell = merged[with_ / without if without else None]
                cell[0] += with_
                cell[1] += without
        ratios = sorted(ratio for ratio in merged if ratio is not None)
        order: list[Fraction | None] = [*ratios, None] if None in merged else [*ratios]
        return tuple((merged[ratio][0], merged[ratio][1]) for ratio in order)

    @cached_property
    def atoms(self) -> Atoms:
        """One atom for each distinct likelihood ratio, with the total mass of its outcomes under each law."""

        def log(value: Fraction) -> float:
            return log_fraction(value) if value else -math.inf

        log_p = np.array([log(p) for p, _ in self.masses])
        log_q = np.array([log(q) for _, q in self.masses])
        loss = [log_fraction(p / q) if p and q else (math.inf if p else -math.inf) for p, q in self.masses]
        return Atoms(np.array(loss), log_p, log_q)

    @cached_property
    def mirror(self) -> FinitePair:
        """The pair with P and Q exchanged."""
        return FinitePair(self.q, self.p)


@dataclass(frozen=True)
class SpacedPair(DominatingPair):
    """A pair with finitely many losses, in which neighbouring losses have equal distances.

    Attributes:
        largest: the largest loss.
        step: distance of neighbouring losses, greater than 0.
        log_p: log-masses under P, from the least loss to the largest.
        log_q: log-masses under Q of the same losses.
    """

    largest: Fraction
    step: Fraction
    log_p: tuple[float, ...]
    log_q: tuple[float, ...]

    @property
    def atoms(self) -> Atoms:
        """One atom for each loss; every loss is rounded once."""
        loss = [float(self.largest - below * self.step) for below in reversed(range(len(self.log_p)))]
        return Atoms(np.array(loss), np.array(self.log_p), np.array(self.log_q))

    @property
    def exact_supremum(self) -> Fraction:
        """The largest loss as an exact fraction."""
        return self.largest

    @property
    def spacing(self) -> Fraction:
        """The distance of neighbouring losses."""
        return self.step


def three_losses(epsilon: Fraction, log_share: float, log_rest: float) -> SpacedPair:
    """Return the pair of randomised response among many answers, which is also the pair of the staircase mechanism.

    P has the mass ``share`` at the loss epsilon, ``share e^-epsilon`` at -epsilon, and the rest at 0. Q has the masses
    of P at the negated losses.

    Args:
        epsilon: the largest loss, greater than 0.
        log_share: log of ``share``; at most ``-log(1 + e^-epsilon)``.
        log_rest: log of the mass at loss 0, given separately because a difference would lose its digits.
    """
    log_p = (log_share - float(epsilon), log_rest, log_share)
    return SpacedPair(epsilon, epsilon, log_p, log_p[::-1])
