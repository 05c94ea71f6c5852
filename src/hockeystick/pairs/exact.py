"""Rounds in exact numbers, for proofs: every parameter is the decimal it prints as, every quotient a fraction.

The pairs are those of the other files here, with the same theorems; a direction belongs to each where it is sampled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

ONE = Fraction(1)  # the rate of rounds that are not sampled


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


Exponential: TypeAlias = tuple[tuple[Fraction, Fraction], ...]
"""A number ``sum a e^b``, as the pairs (a, b); all masses of a law are such numbers, up to a common factor."""


@dataclass(frozen=True, slots=True)
class ExactFinite:
    """Finitely many outcomes, seen on a batch that a record enters with probability rate.

    Attributes:
        with_: mass of each outcome with the record, up to a factor common to both laws.
        without: mass of each outcome without it, as many, with the same sum.
        largest: the largest finite loss, where it is a fraction.
        rate: probability with which a record enters a batch.
    """

    with_: tuple[Exponential, ...]
    without: tuple[Exponential, ...]
    largest: Fraction | None = None
    rate: Fraction = ONE


@dataclass(frozen=True, slots=True)
class ExactDiscreteGaussian:
    """Noise on whole numbers, ``P(Z = k)`` proportional to ``e^(-k^2 / 2 variance)``, around a distance against 0.

    Attributes:
        distance: by how much the two centres differ, a whole number of at least 1.
        variance: the parameter of the noise, squared.
        rate: probability with which a record enters a batch.
    """

    distance: int
    variance: Fraction
    rate: Fraction = ONE


@dataclass(frozen=True, slots=True)
class ExactCurve:
    """The pair of the largest privacy curve that some points allow, on a batch that a record may enter.

    Attributes:
        epsilons: 0 or greater.
        deltas: at each of them, between 0 and 1.
        rate: probability with which a record enters a batch.
    """

    epsilons: tuple[Fraction, ...]
    deltas: tuple[Fraction, ...]
    rate: Fraction = ONE


@dataclass(frozen=True, slots=True)
class ExactAllocation:
    """Gaussian steps of which a record is in one, each as likely, or in none (``pairs/sampled/allocation.py``).

    Attributes:
        mu_squared: the square of the distance over the standard deviation.
        weight: probability with which the record is in each step.
        steps: how many there are.
    """

    mu_squared: Fraction
    weight: Fraction
    steps: int

    @property
    def constant(self) -> Fraction:
        """The probability of no step."""
        return 1 - self.weight * self.steps


def exponential(*terms: tuple[Fraction, Fraction]) -> Exponential:
    """The number ``sum a e^b`` of some pairs (a, b); those of factor 0 are left out."""
    return tuple((factor, power) for factor, power in terms if factor)


def constant(masses: Iterable[Fraction]) -> tuple[Exponential, ...]:
    """Fractions as such numbers."""
    return tuple(exponential((mass, Fraction(0))) for mass in masses)


ExactMechanism: TypeAlias = (
    ExactGaussian | ExactLaplace | ExactBlackBox | ExactFinite | ExactDiscreteGaussian | ExactCurve
)
"""A round of one mechanism, whose batch a record enters with some probability."""

ExactRound: TypeAlias = ExactMechanism | ExactAllocation
"""A round of which a proof knows how to be made."""
