"""Rounds with exact parameters, for proofs: each parameter is the decimal in the plan, as a fraction.

The pairs are those of the other modules of this package, and the same theorems hold. The pair of a sampled round
depends on the direction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

ONE = Fraction(1)  # sampling rate of a round that uses all records


@dataclass(frozen=True, slots=True)
class ExactGaussian:
    """Gaussian noise on a batch that a record enters with probability ``rate``; mu = distance / standard deviation."""

    mu: Fraction
    rate: Fraction = ONE


@dataclass(frozen=True, slots=True)
class ExactLaplace:
    """Laplace noise without sampling; theta = distance / scale."""

    theta: Fraction


Exponential: TypeAlias = tuple[tuple[Fraction, Fraction], ...]
"""A number ``sum a e^b``, given by its pairs (a, b); all masses of a law have this form, up to a common factor."""


@dataclass(frozen=True, slots=True)
class ExactFinite:
    """A mechanism with finitely many outcomes, on a batch that each record enters with probability ``rate``.

    Attributes:
        with_: mass of each outcome if the batch contains the record, up to a factor that both laws share.
        without: mass of each outcome if the batch does not contain the record, in the same order and with the same sum.
        largest: the largest finite loss, if it is a fraction; else ``None``.
        failure: probability of the outcomes that are possible only for a batch with the record.
        rate: probability with which a record enters a batch.
    """

    with_: tuple[Exponential, ...]
    without: tuple[Exponential, ...]
    largest: Fraction | None = None
    failure: Fraction = Fraction(0)
    rate: Fraction = ONE


@dataclass(frozen=True, slots=True)
class ExactDiscreteGaussian:
    """Discrete Gaussian noise around ``distance`` against the same noise around 0.

    The noise Z has ``P(Z = k)`` proportional to ``e^(-k^2 / 2 variance)``.

    Attributes:
        distance: difference of the two centres, a whole number of at least 1.
        variance: the parameter ``variance`` in the formula.
        rate: probability with which a record enters a batch.
    """

    distance: int
    variance: Fraction
    rate: Fraction = ONE


def exponential(*terms: tuple[Fraction, Fraction]) -> Exponential:
    """Return the number ``sum a e^b`` as its pairs (a, b), without those with a = 0."""
    return tuple((factor, power) for factor, power in terms if factor)


def black_box(epsilon: Fraction, delta: Fraction = Fraction(0)) -> ExactFinite:
    """Return the worst (epsilon, delta) pair (``pairs/black_box.py``), with masses multiplied by ``1 + e^epsilon``."""
    low = exponential((1 - delta, Fraction(0)))
    high = exponential((1 - delta, epsilon))
    if not delta:
        return ExactFinite((high, low), (low, high), epsilon)
    failed = exponential((delta, Fraction(0)), (delta, epsilon))
    return ExactFinite((high, low, failed, ()), (low, high, (), failed), epsilon, delta)


def finite_law(with_: Iterable[Fraction], without: Iterable[Fraction]) -> ExactFinite:
    """Return the pair of two laws, given by the probabilities of the same outcomes."""
    pairs = list(zip(with_, without, strict=True))
    failure = sum((p for p, q in pairs if not q), Fraction(0))
    laws = [tuple(exponential((mass, Fraction(0))) for mass in law) for law in zip(*pairs, strict=True)]
    return ExactFinite(laws[0], laws[1], failure=failure)


ExactRound: TypeAlias = ExactGaussian | ExactLaplace | ExactFinite | ExactDiscreteGaussian
"""A round that can be composed with ``proof=True``."""


def sampled(base: ExactRound | None, rate: Fraction) -> ExactRound | None:
    """Return the round ``base`` with the given sampling rate; ``None`` if proofs do not support the sampled round."""
    return None if base is None or isinstance(base, ExactLaplace) else replace(base, rate=rate)
