"""Rounds in exact numbers, for proofs: every parameter is the decimal it prints as, every quotient a fraction.

The pairs are those of the other files here, with the same theorems; a direction belongs to each where it is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class ExactGaussian:
    """Gaussian noise at mu = distance / standard deviation, on a batch that a record enters with probability rate."""

    mu: Fraction
    rate: Fraction = ONE


@dataclass(frozen=True, slots=True)
class ExactLaplace:
    """Laplace noise at theta = distance / scale, on a batch that a record enters with probability rate."""

    theta: Fraction
    rate: Fraction = ONE


@dataclass(frozen=True, slots=True)
class ExactBlackBox:
    """An (epsilon, delta) guarantee of what is run on a batch that a record enters with probability rate."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rate: Fraction = ONE


ExactRound: TypeAlias = ExactGaussian | ExactLaplace | ExactBlackBox
"""A round of which a proof knows how to be made."""
