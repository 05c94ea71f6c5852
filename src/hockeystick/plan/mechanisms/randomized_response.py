"""Binary randomised response, and with it any mechanism known to satisfy pure epsilon only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from hockeystick.numerics.decimals import decimal
from hockeystick.pairs import BlackBoxPair
from hockeystick.pairs.exact import ExactBlackBox
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import ROUND_EPSILON, check_fields

_TIGHT = Claim(Status.TIGHT, "Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.4")  # in every direction


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
    properties: ClassVar[frozenset[Property]] = frozenset({Property.GUARANTEE})

    def __post_init__(self) -> None:
        check_fields(self)

    def pair(self, direction: Direction) -> BlackBoxPair:
        """The pair with two outcomes, of loss epsilon and -epsilon."""
        return BlackBoxPair(self.epsilon)

    def with_against_without(self) -> BlackBoxPair:
        """The pair with two outcomes, of loss epsilon and -epsilon, in either direction."""
        return BlackBoxPair(self.epsilon)

    def exact(self, direction: Direction) -> ExactBlackBox:
        """The guarantee of epsilon alone."""
        return ExactBlackBox(decimal(self.epsilon))
