"""The rounds of one direction in exact numbers (``pairs/exact.py``), kept as rationals until a precision is chosen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from flint import acb, arb

from hockeystick.engines.proof.allocation_epoch import Epoch
from hockeystick.engines.proof.curve_law import CurveLaw
from hockeystick.engines.proof.discrete import DiscreteNoise, SampledNoise
from hockeystick.engines.proof.finite_sums import atom_sums, exponential_ball
from hockeystick.engines.proof.lattice_laws import Outcome
from hockeystick.numerics.balls import Ball, ComplexBall, ball
from hockeystick.pairs.exact import (
    ONE,
    ExactAllocation,
    ExactBlackBox,
    ExactCurve,
    ExactDiscreteGaussian,
    ExactFinite,
    ExactGaussian,
    ExactLaplace,
    ExactRound,
)
from hockeystick.values.adjacency import Direction

MAX_EXACT = 300  # failing rounds whose mass at infinity is kept as a fraction


@dataclass(frozen=True, slots=True)
class SampledGaussian:
    """The Poisson-sampled Gaussian at mu = distance / standard deviation and 0 < rate < 1."""

    mu: Fraction
    rate: Fraction
    direction: Direction


@dataclass(frozen=True, slots=True)
class BlackBox:
    """The worst pair of an (epsilon, delta) guarantee; Poisson-sampled where rate < 1, else without a direction."""

    epsilon: Fraction
    delta: Fraction
    rate: Fraction
    direction: Direction | None

    def atoms(self) -> list[tuple[Ball, Ball, Ball]]:
        """Finite losses that P can show, with their masses under P and Q (see ``pairs/sampled/poisson.py``)."""
        odds = (-ball(self.epsilon)).exp()
        high = (1 - ball(self.delta)) / (1 + odds)
        with_, without = [high, high * odds], [high * odds, high]  # at +epsilon, at -epsilon
        if self.rate == 1:
            e = ball(self.epsilon)
            return [(e, high, high * odds), (-e, high * odds, high)]
        q = ball(self.rate)
        mixed = [(1 - q) * o + q * w for w, o in zip(with_, without, strict=True)]
        psi = [(m / o).log() for m, o in zip(mixed, without, strict=True)]
        failed = ball(self.delta)
        if self.direction is Direction.REMOVE:
            out = [(loss, m, o) for loss, m, o in zip(psi, mixed, without, strict=True)]
            return [*out, ((1 - q).log(), (1 - q) * failed, failed)] if self.delta else out
        out = [(-loss, o, m) for loss, m, o in zip(psi, mixed, without, strict=True)]
        return [*out, (-(1 - q).log(), failed, (1 - q) * failed)] if self.delta else out

    @property
    def infinite_mass(self) -> Fraction:
        """``P(L = +inf)``: the failure of a sampled record where it is removed; where it is added P cannot show it."""
        if self.rate == 1:
            return self.delta
        return self.rate * self.delta if self.direction is Direction.REMOVE else Fraction(0)

    @property
    def largest(self) -> Fraction | None:
        """The largest finite loss, where it is a fraction."""
        return self.epsilon if self.rate == 1 else None

    def terms(self, log_mass: float, bits: int) -> int:
        """How many outcomes there are, at most."""
        return 3

    def outcomes(self, log_mass: float) -> tuple[list[Outcome], Ball]:
        """All outcomes, and that there are no others, whatever their masses."""
        return [Outcome(*atom) for atom in self.atoms()], arb(0)

    def values(self, t: float, step: float, count: int) -> list[ComplexBall]:
        """``m(t + i j step) = sum p e^(zL)`` for j < count."""
        return atom_sums(self.atoms(), t, step, count)


@dataclass(frozen=True, slots=True)
class FiniteLaw:
    """Finitely many outcomes; Poisson-sampled where rate < 1, else without a direction."""

    law: ExactFinite
    direction: Direction | None

    def atoms(self) -> list[tuple[Ball, Ball, Ball]]:
        """Finite losses that P can show, with their masses under P and Q (see ``pairs/sampled/poisson.py``)."""
        out = []
        for p, q in self._masses():
            if p.is_zero() or q.is_zero():
                continue
            out.append(((p / q).log(), p, q))
        return out

    def _masses(self) -> list[tuple[Ball, Ball]]:
        """Masses of every outcome under P and Q; exactly 0 where an outcome is impossible."""
        total = sum((exponential_ball(mass) for mass in self.law.with_), arb(0))
        with_ = [exponential_ball(mass) / total if mass else arb(0) for mass in self.law.with_]
        without = [exponential_ball(mass) / total if mass else arb(0) for mass in self.law.without]
        rate = self.law.rate
        if rate == 1:
            return list(zip(with_, without, strict=True))
        q = ball(rate)
        mixed = [(1 - q) * o + q * w for w, o in zip(with_, without, strict=True)]
        if self.direction is Direction.REMOVE:
            return list(zip(mixed, without, strict=True))
        return list(zip(without, mixed, strict=True))

    @property
    def infinite_mass(self) -> Fraction:
        """``P(L = +inf)``: what only the law with the record has, of a sampled record where it is removed."""
        if self.direction is Direction.ADD and self.law.rate < 1:
            return Fraction(0)  # without the record nothing is seen that cannot be seen with it
        alone = [w for w, o in zip(self.law.with_, self.law.without, strict=True) if not o]
        if not any(alone):
            return Fraction(0)
        assert all(power == 0 for mass in self.law.with_ for _, power in mass)  # what has such outcomes is rational
        total = sum(factor for mass in self.law.with_ for factor, _ in mass)
        return self.law.rate * sum(factor for mass in alone for factor, _ in mass) / total

    @property
    def rate(self) -> Fraction:
        """The probability with which a record enters a batch."""
        return self.law.rate

    @property
    def largest(self) -> Fraction | None:
        """The largest finite loss, where it is a fraction."""
        return self.law.largest if self.law.rate == 1 else None

    def terms(self, log_mass: float, bits: int) -> int:
        """How many outcomes there are, at most."""
        return len(self.law.with_)

    def outcomes(self, log_mass: float) -> tuple[list[Outcome], Ball]:
        """All outcomes, and that there are no others, whatever their masses."""
        return [Outcome(*atom) for atom in self.atoms()], arb(0)

    def values(self, t: float, step: float, count: int) -> list[ComplexBall]:
        """``m(t + i j step) = sum p e^(zL)`` for j < count."""
        return atom_sums(self.atoms(), t, step, count)


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Laplace noise at theta = distance / scale."""

    theta: Fraction

    def values(self, t: float, step: float, count: int) -> list[ComplexBall]:
        """``m(t + i j step)`` for j < count: two atoms and the middle between them,

        ``m(z) = e^(theta z)/2 + e^(-theta (1+z))/2 [1 + (e^(theta (1+2z)) - 1) / (1+2z)]``.
        """
        theta = ball(self.theta)
        out = []
        for j in range(count):
            z = acb(arb(t), arb(step) * j)
            twice = 1 + 2 * z
            out.append((theta * z).exp() / 2 + (-theta * (1 + z)).exp() / 2 * (1 + ((theta * twice).exp() - 1) / twice))
        return out


@dataclass(frozen=True, slots=True)
class SampledLaplace:
    """Poisson-sampled Laplace noise at theta = distance / scale and 0 < rate < 1, a record removed or added."""

    theta: Fraction
    rate: Fraction
    direction: Direction

    def supremum(self) -> Ball:
        """The largest loss: ``log(1 - q + q e^theta)``, or ``-log(1 - q + q e^-theta)`` where it is added."""
        q, theta = ball(self.rate), ball(self.theta)
        if self.direction is Direction.ADD:
            return -(1 - q + q * (-theta).exp()).log()
        return (1 - q + q * theta.exp()).log()


@dataclass(frozen=True, slots=True)
class Allocation:
    """An epoch of random allocation, and the direction."""

    epoch: Epoch
    direction: Direction


Finite: TypeAlias = BlackBox | FiniteLaw | CurveLaw
"""Rounds with finitely many losses, of which some may be infinite."""

Atomic: TypeAlias = Finite | DiscreteNoise | SampledNoise
"""Rounds with no loss that is not an atom."""


@dataclass
class ExactRounds:
    """The distinct rounds of one direction, with counts; unsampled Gaussians are one, as mu^2 adds up.

    Attributes:
        mu_squared: sum of count * mu^2 over the unsampled Gaussians (Dong, Roth, Su 2022 [DRS22], Corollary 3.3).
    """

    mu_squared: Fraction = Fraction(0)
    sampled: dict[SampledGaussian, int] = field(default_factory=dict)
    boxes: dict[Finite, int] = field(default_factory=dict)
    laplace: dict[LaplaceNoise, int] = field(default_factory=dict)
    sampled_laplace: dict[SampledLaplace, int] = field(default_factory=dict)
    discrete: dict[DiscreteNoise, int] = field(default_factory=dict)
    sampled_discrete: dict[SampledNoise, int] = field(default_factory=dict)
    allocations: dict[Allocation, int] = field(default_factory=dict)

    @classmethod
    def of(cls, kinds: Iterable[tuple[ExactRound, int]], direction: Direction) -> ExactRounds:
        """The rounds of one direction, from each kind and how often it is run."""
        out = cls()
        for item, count in kinds:
            out._take(item, count, direction)
        return out

    def _take(self, item: ExactRound, count: int, direction: Direction) -> None:
        match item:
            case ExactGaussian(mu, rate) if rate == 1:
                self.mu_squared += count * mu**2
            case ExactGaussian(mu, rate):
                _add(self.sampled, SampledGaussian(mu, rate, direction), count)
            case ExactAllocation(mu_squared, _, 1) if not item.constant:
                self.mu_squared += count * mu_squared
            case ExactAllocation(mu_squared, weight, steps):
                _add(self.allocations, Allocation(Epoch(mu_squared, weight, steps), direction), count)
            case ExactLaplace(theta, rate) if rate == 1:
                _add(self.laplace, LaplaceNoise(theta), count)
            case ExactLaplace(theta, rate):
                _add(self.sampled_laplace, SampledLaplace(theta, rate, direction), count)
            case ExactBlackBox(epsilon, delta, rate):
                _add(self.boxes, BlackBox(epsilon, delta, rate, None if rate == 1 else direction), count)
            case ExactFinite():
                _add(self.boxes, FiniteLaw(item, None if item.rate == 1 else direction), count)
            case ExactCurve():
                _add(self.boxes, CurveLaw(item, None if item.rate == 1 else direction), count)
            case ExactDiscreteGaussian(distance, variance, rate) if rate == 1:
                _add(self.discrete, DiscreteNoise(distance, variance), count)
            case ExactDiscreteGaussian(distance, variance, rate):
                _add(self.sampled_discrete, SampledNoise(DiscreteNoise(distance, variance), rate, direction), count)

    @property
    def atomic(self) -> list[tuple[Atomic, int]]:
        """Each law and its count, where no law has anything but atoms; else none."""
        if self.mu_squared or self.sampled or self.laplace or self.sampled_laplace or self.allocations:
            return []
        return [*self.boxes.items(), *self.discrete.items(), *self.sampled_discrete.items()]

    @property
    def empty(self) -> bool:
        """Whether there is no round at all."""
        return not (self.mu_squared or any(self._kinds))

    @property
    def _kinds(self) -> tuple[dict[Any, int], ...]:
        """The counts of all rounds but unsampled Gaussians, by kind."""
        noises = self.laplace, self.sampled_laplace, self.discrete, self.sampled_discrete
        return self.sampled, self.boxes, *noises, self.allocations

    @property
    def kinds(self) -> int:
        """How many kinds of rounds there are."""
        return bool(self.mu_squared) + sum(map(bool, self._kinds))

    def finite_mass(self) -> Ball:
        """The probability that no round has infinite loss, as a ball."""
        out = arb(1)
        for box, count in self.boxes.items():
            out *= ball(1 - box.infinite_mass) ** count
        return out

    @property
    def number(self) -> int:
        """How many rounds there are, an unsampled Gaussian added."""
        return 1 + sum(sum(kind.values()) for kind in self._kinds)

    @property
    def exact_infinite_mass(self) -> Fraction | None:
        """``P(some round has infinite loss)``, where it is a fraction of a reasonable length."""
        failing = {box: count for box, count in self.boxes.items() if box.infinite_mass}
        if sum(failing.values()) > MAX_EXACT:
            return None
        return 1 - math.prod(((1 - box.infinite_mass) ** count for box, count in failing.items()), start=ONE)

    @property
    def bounded(self) -> bool:
        """Whether the finite losses are bounded above."""
        kinds = (self.sampled, self.sampled_discrete, self.allocations)
        added = {item.direction for kind in kinds for item in kind} <= {Direction.ADD}
        least = all(item.epoch.constant for item in self.allocations)
        return added and least and not self.mu_squared and not self.discrete

    @property
    def rational_supremum(self) -> Fraction | None:
        """The largest finite loss, where it is a rational number."""
        largest = [(box.largest, count) for box, count in self.boxes.items()]
        if not self.bounded or self.sampled or self.sampled_laplace or self.sampled_discrete or self.allocations:
            return None
        boxes = Fraction(0)
        for loss, count in largest:
            if loss is None:
                return None
            boxes += count * loss
        return boxes + sum((count * item.theta for item, count in self.laplace.items()), Fraction(0))

    def supremum(self) -> Ball:
        """The largest finite loss of bounded rounds."""
        out = arb(0)
        for item, count in self.sampled.items():
            out -= count * (1 - ball(item.rate)).log()
        for allocation, count in self.allocations.items():
            out -= count * ball(allocation.epoch.constant).log()
        for box, count in self.boxes.items():
            losses = [loss for loss, _, _ in box.atoms()]
            top = losses[0]
            for loss in losses[1:]:
                top = top.max(loss)
            out += count * top
        for noise, count in self.laplace.items():
            out += count * ball(noise.theta)
        for sampled, count in self.sampled_laplace.items():
            out += count * sampled.supremum()
        for added, count in self.sampled_discrete.items():
            out += count * added.supremum()
        return out


def _add(table: dict[Any, int], key: Any, count: int) -> None:
    table[key] = table.get(key, 0) + count
