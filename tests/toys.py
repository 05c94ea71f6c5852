"""Mechanisms and a sampling scheme that the library does not ship, for tests of what holds of every kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from hockeystick import Direction
from hockeystick.pairs import BlackBoxPair, DominatingPair, GaussianPair, RenyiCurve
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Status
from hockeystick.plan.sampling.base import Sampling, own_pair
from hockeystick.values.domains import MAGNITUDE, ROUND_EPSILON, check_fields


@dataclass(frozen=True)
class Dominated(Mechanism):
    """Gaussian noise of which only a pair of twice the distance is known to dominate it."""

    noise_multiplier: Annotated[float, MAGNITUDE]

    name: ClassVar[str] = "dominated"
    claims: ClassVar[Mapping[Direction, Claim]] = dict.fromkeys(Direction, Claim(Status.UPPER, "a toy's theorem"))
    sampled_replacement: ClassVar[Claim] = Claim(Status.REFUSED, "nothing is proven of the toy")

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

    rho: Annotated[float, MAGNITUDE]

    name: ClassVar[str] = "concentrated"
    claims: ClassVar[Mapping[Direction, Claim]] = dict.fromkeys(Direction, Claim(Status.RENYI, "a toy's guarantee"))
    sampled_replacement: ClassVar[Claim] = Claim(Status.REFUSED, "nothing is proven of the toy")
    sampled_without_replacement: ClassVar[Claim] = Claim(Status.REFUSED, "nothing is proven of the toy")

    def __post_init__(self) -> None:
        check_fields(self)

    def pair(self, direction: Direction) -> DominatingPair:
        raise AssertionError("the toy has no pair, and is not asked for one")

    def curve(self, direction: Direction) -> RenyiCurve:
        return Curve(self.rho)

    def with_against_without(self) -> GaussianPair:
        raise AssertionError("the toy has no pair, and is not asked for one")


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
    sampled_replacement: ClassVar[Claim] = Claim(Status.REFUSED, "replacing a record moves the toy's count by 2")

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
