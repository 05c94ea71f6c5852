"""Binary randomised response, and with it any mechanism known to satisfy pure epsilon only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from hockeystick.adjacency import Direction
from hockeystick.domains import ROUND_EPSILON, check_fields
from hockeystick.mechanisms.base import Claim, Mechanism, Status
from hockeystick.pairs import BlackBoxPair

_TIGHT = Claim(Status.TIGHT, "Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.4")


@dataclass(frozen=True)
class RandomizedResponse(Mechanism):
    """Answers truthfully with odds e^epsilon to 1.

    The guarantee is for the plan's own adjacency: the same pair under every adjacency, no factor 2.

    Args:
        epsilon: log of the odds; 0 or greater.

    Raises:
        InvalidInputError: epsilon outside its domain.

    >>> RandomizedResponse(epsilon=0.5).pair(Direction.ADD).loss_range
    (-0.5, 0.5)
    """

    epsilon: Annotated[float, ROUND_EPSILON.of("log-odds of the true answer")]

    name: ClassVar[str] = "randomized-response"
    claims: ClassVar[Mapping[Direction, Claim]] = dict.fromkeys(Direction, _TIGHT)
    sampled_replacement: ClassVar[Claim] = Claim(
        Status.REFUSED,
        "a guarantee when a record is replaced says nothing about the batches that hold neither record's value",
    )

    def __post_init__(self) -> None:
        check_fields(self)

    def pair(self, direction: Direction) -> BlackBoxPair:
        """Two outcomes, of loss epsilon and -epsilon."""
        return BlackBoxPair(self.epsilon)

    def with_against_without(self) -> BlackBoxPair:
        """The same pair."""
        return BlackBoxPair(self.epsilon)
