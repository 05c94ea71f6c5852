"""Mechanisms and a sampling scheme that the library does not ship, for tests of what holds of every kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import pytest

from hockeystick import Direction
from hockeystick.pairs import BlackBoxPair, DominatingPair, GaussianPair, RenyiCurve
from hockeystick.pairs.discrete import DiscreteLaplacePair
from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.sides import Between
from hockeystick.plan import schema
from hockeystick.plan.mechanisms import Claim, Mechanism, Status
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.plan.sampling import Sampling
from hockeystick.plan.sampling.base import own_pair
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.values.domains import NOISE, RHO, ROUND_EPSILON, check_fields, list_of, whole_numbers


def register(monkeypatch: pytest.MonkeyPatch, *kinds: type[Mechanism] | type[Sampling]) -> None:
    """Let plan files name these kinds, too, as a line in a registry would, until the test ends."""
    mechanisms = tuple(kind for kind in kinds if issubclass(kind, Mechanism))
    samplings = tuple(kind for kind in kinds if issubclass(kind, Sampling))
    monkeypatch.setattr(schema, "MECHANISMS", MECHANISMS + mechanisms)
    monkeypatch.setattr(schema, "SAMPLINGS", SAMPLINGS + samplings)


@dataclass(frozen=True)
class Dominated(Mechanism):
    """Gaussian noise of which only a pair of twice the distance is known to dominate it."""

    noise_multiplier: Annotated[float, NOISE]

    name: ClassVar[str] = "dominated"
    claims: ClassVar[Mapping[Direction, Claim]] = dict.fromkeys(Direction, Claim(Status.UPPER, "a toy's theorem"))

    def __post_init__(self) -> None:
        check_fields(self)

    def pair(self, direction: Direction) -> DominatingPair:
        return GaussianPair(2 / self.noise_multiplier)

    def with_against_without(self) -> GaussianPair:
        return GaussianPair(2 / self.noise_multiplier)


@dataclass(frozen=True)
class Curve(RenyiCurve):
    """``K(t) = t (1 + t) rho``."""

    rho: float

    @property
    def loss_range(self) -> tuple[float, float]:
        return -math.inf, math.inf

    def log_moment(self, t: float) -> float:
        return math.nextafter(t * (1 + t) * self.rho * (1 + 1e-15), math.inf)


@dataclass(frozen=True)
class Concentrated(Mechanism):
    """A mechanism of which only its rho of zero-concentrated privacy is known."""

    rho: Annotated[float, RHO]

    name: ClassVar[str] = "concentrated"
    claims: ClassVar[Mapping[Direction, Claim]] = dict.fromkeys(Direction, Claim(Status.RENYI, "a toy's guarantee"))

    def __post_init__(self) -> None:
        check_fields(self)

    def pair(self, direction: Direction) -> DominatingPair:
        raise AssertionError("the toy has no pair, and is not asked for one")

    def curve(self, direction: Direction) -> RenyiCurve:
        return Curve(self.rho)


@dataclass(frozen=True)
class Counting(Mechanism):
    """A pair for a record that comes or goes; replacing one may do more, and is refused."""

    epsilon: Annotated[float, ROUND_EPSILON]

    name: ClassVar[str] = "counting"
    claims: ClassVar[Mapping[Direction, Claim]] = {
        Direction.REMOVE: Claim(Status.TIGHT, "a toy's theorem"),
        Direction.ADD: Claim(Status.TIGHT, "a toy's theorem"),
        Direction.REPLACE_ONE: Claim(Status.REFUSED, "replacing a record moves the toy's count by 2"),
    }

    def __post_init__(self) -> None:
        check_fields(self)

    def pair(self, direction: Direction) -> DominatingPair:
        return BlackBoxPair(self.epsilon)

    def with_against_without(self) -> BlackBoxPair:
        return BlackBoxPair(self.epsilon)


@dataclass(frozen=True)
class EveryOther(Sampling):
    """A record is in every other step, for certain."""

    name: ClassVar[str] = "every-other"
    assumption: ClassVar[str] = "records take turns"

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        return mechanism.claims[direction]

    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        return own_pair(mechanism, direction)

    def participations(self, steps: int) -> int:
        return (steps + 1) // 2


@dataclass(frozen=True)
class Steps(Mechanism):
    """Gaussian noise of one multiplier after another: a mechanism whose parameters are lists."""

    noises: Annotated[tuple[float, ...], list_of(NOISE, most=2000).of("noise multipliers of the parts")]
    mixing: Annotated[tuple[tuple[float, ...], ...] | None, list_of(list_of(NOISE, 2, 2), 2, 2)] = None

    name: ClassVar[str] = "steps"
    claims: ClassVar[Mapping[Direction, Claim]] = dict.fromkeys(Direction, Claim(Status.TIGHT, "a toy's theorem"))

    def __post_init__(self) -> None:
        check_fields(self)

    def pair(self, direction: Direction) -> DominatingPair:
        distance = 2.0 if direction is Direction.REPLACE_ONE else 1.0
        return GaussianPair(distance * math.sqrt(math.fsum(noise**-2 for noise in self.noises)))

    def with_against_without(self) -> GaussianPair:
        return GaussianPair(math.sqrt(math.fsum(noise**-2 for noise in self.noises)))


@dataclass(frozen=True)
class InTurn(Sampling):
    """Every record is seen at one step of each ``period``, always the same one: a round is a whole period."""

    period: Annotated[int, whole_numbers(least=1, most=10**6).of("steps until a record is seen again")]

    name: ClassVar[str] = "in-turn"
    assumption: ClassVar[str] = "every record is seen at one step of each period"

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        return mechanism.claims[direction]

    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        return own_pair(mechanism, direction)

    @property
    def steps_per_round(self) -> int:
        return self.period

    @property
    def steps_per_epoch(self) -> int:
        return self.period


@dataclass(frozen=True)
class Bracketed(Mechanism):
    """Gaussian noise on a vector that moves by some distance between two that are known."""

    nearest: Annotated[float, NOISE]
    farthest: Annotated[float, NOISE]

    name: ClassVar[str] = "bracketed"
    claims: ClassVar[Mapping[Direction, Claim]] = dict.fromkeys(Direction, Claim(Status.BRACKET, "a toy's theorem"))

    def __post_init__(self) -> None:
        check_fields(self)

    def pair(self, direction: Direction) -> DominatingPair:
        return GaussianPair(self.farthest)

    def known(self, direction: Direction) -> Between:
        return Between(self.pair(direction), (GaussianPair(self.nearest),), "a toy's distance is not known")

    def with_against_without(self) -> GaussianPair:
        return GaussianPair(self.farthest)


@dataclass(frozen=True)
class Geometric(Mechanism):
    """Discrete Laplace noise of scale 2 on a count."""

    name: ClassVar[str] = "geometric"
    claims: ClassVar[Mapping[Direction, Claim]] = dict.fromkeys(Direction, Claim(Status.TIGHT, "a toy's theorem"))

    def pair(self, direction: Direction) -> DominatingPair:
        return DiscreteLaplacePair(2 if direction is Direction.REPLACE_ONE else 1, Fraction(2))

    def with_against_without(self) -> DiscreteLaplacePair:
        return DiscreteLaplacePair(1, Fraction(2))


@dataclass(frozen=True)
class Flattered(Geometric):
    """The same, with the pair of a tenth more noise: a claim that is false, and a pair that is right in itself."""

    name: ClassVar[str] = "flattered"

    def pair(self, direction: Direction) -> DominatingPair:
        return DiscreteLaplacePair(2 if direction is Direction.REPLACE_ONE else 1, Fraction(22, 10))


@dataclass(frozen=True)
class OneOff(Geometric):
    """The same, with outcomes that are off by one bin in the law with the record: it is the one without it."""

    name: ClassVar[str] = "one-off"

    def pair(self, direction: Direction) -> DominatingPair:
        if direction is Direction.REPLACE_ONE:
            return super().pair(direction)
        fall, ends = Fraction(math.exp(-0.5)), 30
        masses = [(1 - fall) / (1 + fall) * fall ** abs(k) for k in range(-ends, ends + 1)]
        law = (*masses, 1 - sum(masses, Fraction(0)))
        return FinitePair(law, law)
