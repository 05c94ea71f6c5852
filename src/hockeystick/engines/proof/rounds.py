"""One direction of a plan in exact numbers: every parameter is the decimal it prints as, every quotient a fraction.

The pairs are those of ``pairs/``, with the same theorems; here they are kept as rationals until a precision is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from flint import acb, arb

from hockeystick.adjacency import Direction
from hockeystick.errors import UnsupportedError
from hockeystick.mechanisms import ApproximateDP, Gaussian, Laplace, Mechanism, RandomizedResponse
from hockeystick.numerics.balls import Ball, ComplexBall, ball, powers, written
from hockeystick.plan import Plan
from hockeystick.rounds import Round
from hockeystick.sampling import NoSampling, Poisson, Sampling, WithoutReplacement

ONE = Fraction(1)
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
        """Finite losses that P can show, with their masses under P and Q (see ``pairs/poisson.py``)."""
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

    def values(self, t: float, step: float, count: int) -> list[ComplexBall]:
        """``m(t + i j step) = sum p e^(zL)`` for j < count."""
        totals = [acb(0)] * count
        for loss, p, _ in self.atoms():
            size = p * (arb(t) * loss).exp()
            turns = powers(acb(0, arb(step) * loss).exp(), count)
            totals = [total + size * turn for total, turn in zip(totals, turns, strict=True)]
        return totals


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


@dataclass
class ExactRounds:
    """The distinct rounds of one direction, with counts; unsampled Gaussians are one, as mu^2 adds up.

    Attributes:
        mu_squared: sum of count * mu^2 over the unsampled Gaussians (Dong, Roth, Su 2022 [DRS22], Corollary 3.3).
    """

    mu_squared: Fraction = Fraction(0)
    sampled: dict[SampledGaussian, int] = field(default_factory=dict)
    boxes: dict[BlackBox, int] = field(default_factory=dict)
    laplace: dict[LaplaceNoise, int] = field(default_factory=dict)
    sampled_laplace: dict[SampledLaplace, int] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, direction: Direction) -> ExactRounds:
        """Those of a plan.

        Raises:
            UnsupportedError: a round that has no dominating pair, or whose pair is not written down here.
        """
        out = cls()
        for item, count in plan.kinds:
            if count:
                item.pair(direction)  # refuses what has no dominating pair
                out._take(item, count, direction)
        return out

    def _take(self, item: Round, count: int, direction: Direction) -> None:
        rate_of, reader = _RATES.get(type(item.sampling)), _READERS.get(type(item.mechanism))
        if rate_of is None or reader is None:
            raise UnsupportedError(
                f"no proof is implemented for mechanism {item.mechanism.name!r} with sampling {item.sampling.name!r}"
            )
        reader(self, item.mechanism, rate_of(item.sampling), direction, count)

    @property
    def empty(self) -> bool:
        """Whether there is no round at all."""
        return not (self.mu_squared or any(self._kinds))

    @property
    def _kinds(self) -> tuple[dict[Any, int], ...]:
        """All rounds but unsampled Gaussians."""
        return self.sampled, self.boxes, self.laplace, self.sampled_laplace

    @property
    def kinds(self) -> int:
        """How many kinds of rounds there are."""
        return bool(self.mu_squared) + sum(map(bool, self._kinds))

    def finite_mass(self) -> Ball:
        """``P(no round has infinite loss)``."""
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
        return not self.mu_squared and all(item.direction is Direction.ADD for item in self.sampled)

    @property
    def rational_supremum(self) -> Fraction | None:
        """The largest finite loss, where it is a rational number."""
        if not self.bounded or self.sampled or self.sampled_laplace or any(box.rate != 1 for box in self.boxes):
            return None
        boxes = sum((count * box.epsilon for box, count in self.boxes.items()), Fraction(0))
        return boxes + sum((count * item.theta for item, count in self.laplace.items()), Fraction(0))

    def supremum(self) -> Ball:
        """The largest finite loss of bounded rounds."""
        out = arb(0)
        for item, count in self.sampled.items():
            out -= count * (1 - ball(item.rate)).log()
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
        return out


Reader = Callable[[ExactRounds, Any, Fraction, Direction, int], None]


def _gaussian(rounds: ExactRounds, mechanism: Gaussian, rate: Fraction, direction: Direction, count: int) -> None:
    noise = written(mechanism.noise_multiplier)
    if rate == 1:
        distance = written(mechanism.replace_one_distance) if direction is Direction.REPLACE_ONE else ONE
        rounds.mu_squared += count * (distance / noise) ** 2
        return
    _add(rounds.sampled, SampledGaussian(1 / noise, rate, direction), count)


def _laplace(rounds: ExactRounds, mechanism: Laplace, rate: Fraction, direction: Direction, count: int) -> None:
    if rate != 1:
        theta = 1 / written(mechanism.scale)
        _add(rounds.sampled_laplace, SampledLaplace(theta, rate, direction), count)
        return
    distance = written(mechanism.replace_one_distance) if direction is Direction.REPLACE_ONE else ONE
    _add(rounds.laplace, LaplaceNoise(distance / written(mechanism.scale)), count)


def _response(
    rounds: ExactRounds, mechanism: RandomizedResponse, rate: Fraction, direction: Direction, count: int
) -> None:
    _box(rounds, written(mechanism.epsilon), Fraction(0), rate, direction, count)


def _black_box(rounds: ExactRounds, mechanism: ApproximateDP, rate: Fraction, direction: Direction, count: int) -> None:
    _box(rounds, written(mechanism.epsilon), written(mechanism.delta), rate, direction, count)


def _box(
    rounds: ExactRounds, epsilon: Fraction, delta: Fraction, rate: Fraction, direction: Direction, count: int
) -> None:
    _add(rounds.boxes, BlackBox(epsilon, delta, rate, None if rate == 1 else direction), count)


def _add(table: dict[Any, int], key: Any, count: int) -> None:
    table[key] = table.get(key, 0) + count


def _every_record(sampling: NoSampling) -> Fraction:
    return ONE


def _poisson(sampling: Poisson) -> Fraction:
    if sampling.batch_size is not None and sampling.dataset_size is not None:
        return Fraction(sampling.batch_size, sampling.dataset_size)
    assert sampling.sample_rate is not None
    return written(sampling.sample_rate)


def _whole_batch(sampling: WithoutReplacement) -> Fraction:
    return Fraction(sampling.batch_size, sampling.dataset_size)


_READERS: Mapping[type[Mechanism], Reader] = {
    Gaussian: _gaussian,
    Laplace: _laplace,
    RandomizedResponse: _response,
    ApproximateDP: _black_box,
}
_RATES: Mapping[type[Sampling], Callable[[Any], Fraction]] = {
    NoSampling: _every_record,
    Poisson: _poisson,
    WithoutReplacement: _whole_batch,  # at any other rate the round has no pair, and was refused before
}
