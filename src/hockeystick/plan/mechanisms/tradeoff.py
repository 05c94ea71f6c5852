"""A mechanism known by a piecewise linear trade-off function."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated

from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.points import of_trade_off
from hockeystick.plan.mechanisms.base import Claim, Status, claims_of, refused
from hockeystick.plan.mechanisms.finite import LAWS_ALONE, FiniteMechanism
from hockeystick.values.domains import EXACT_PROBABILITY, list_of
from hockeystick.values.errors import InvalidInputError

_TIGHT = Claim(Status.TIGHT, "Dong, Roth, Su 2022 [DRS22]; the pair: proof in pairs/points.py")

_REPLACED = refused(
    "a trade-off function between the distributions with and without a record says nothing about replacing one"
)


@dataclass(frozen=True)
class Tradeoff(FiniteMechanism):
    """Mechanism whose laws, without and with the record, have a trade-off function of at least the given one.

    A test for the record with false-positive rate alpha has a false-negative rate of at least beta(alpha). The function
    beta is linear between the given corners, and ends at (1, 0).

    Args:
        alphas: false-positive rates at the corners, increasing, the first of them 0.
        betas: false-negative rates at the corners, not increasing.

    Raises:
        InvalidInputError: a rate is outside its domain, the lists differ in length, or the function is not convex.

    >>> from hockeystick import Direction
    >>> Tradeoff(alphas=[0, "1/4"], betas=[1, "1/4"]).pair(Direction.REMOVE).loss_range
    (-1.0986122886681098, 1.0986122886681098)
    """

    alphas: Annotated[tuple[Fraction, ...], list_of(EXACT_PROBABILITY).of("false-positive rates")]
    betas: Annotated[tuple[Fraction, ...], list_of(EXACT_PROBABILITY).of("false-negative rates")]

    name = "tradeoff"
    claims = claims_of(_TIGHT, _REPLACED)
    zeroed = LAWS_ALONE

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_lengths("betas", "alphas")
        if self.alphas[0] != 0:
            raise InvalidInputError("alphas must start with 0", "alphas")
        _ = self._laws  # refuses rates that are no trade-off function

    @cached_property
    def _laws(self) -> FinitePair:
        """The law with the record against the law without it."""
        found = of_trade_off(self.alphas, self.betas)
        if found is None:
            raise InvalidInputError(
                "alphas must increase, and betas must be a convex, non-increasing function of them", "betas"
            )
        return found
