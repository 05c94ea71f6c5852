"""Mechanisms with finitely many outcomes, given by the probabilities with the record and without it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated

from hockeystick.pairs.finite import FinitePair
from hockeystick.plan.mechanisms.base import Claim, Status, claims_of, refused
from hockeystick.plan.mechanisms.finite import LAWS_ALONE, FiniteMechanism
from hockeystick.values.domains import EXACT_PROBABILITY, list_of
from hockeystick.values.errors import InvalidInputError

_TIGHT = Claim(Status.TIGHT, "the pair is the mechanism itself: proof in pairs/finite.py")

_REPLACED = refused(
    "distributions with and without a record do not cover replacing it; give p and q for a replaced record, under "
    "adjacency 'remove'"
)


@dataclass(frozen=True)
class Pmf(FiniteMechanism):
    """Mechanism with finitely many outcomes whose law is p with the record and q without it.

    Each probability is read exactly, as the decimal or quotient written; those of each law must add up to 1 exactly.

    Args:
        p: probability of each outcome with the record.
        q: probability of each outcome without it, equally many.

    Raises:
        InvalidInputError: a probability is outside its domain, the lists differ in length, or a sum is not 1.

    >>> from hockeystick import Direction
    >>> Pmf(p=["1/2", "1/2", 0], q=["1/4", "1/2", "1/4"]).pair(Direction.REMOVE).loss_range
    (0.0, 0.6931471805599453)
    """

    p: Annotated[tuple[Fraction, ...], list_of(EXACT_PROBABILITY).of("probabilities with the record")]
    q: Annotated[tuple[Fraction, ...], list_of(EXACT_PROBABILITY).of("probabilities without the record")]

    name = "pmf"
    claims = claims_of(_TIGHT, _REPLACED)
    zeroed = LAWS_ALONE

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_lengths("q", "p")
        for key in ("p", "q"):
            total = sum(getattr(self, key))
            if total != 1:
                raise InvalidInputError(
                    f"the probabilities of {key} must add up to 1 exactly, as the decimals they print; they miss "
                    f'it by {float(1 - total):.3g}: write quotients such as "1/3", or give the rest as an outcome',
                    key,
                )

    @cached_property
    def _laws(self) -> FinitePair:
        """The law with the record against the law without it."""
        return FinitePair(self.p, self.q)
