"""Mechanisms with finitely many outcomes, given by the probabilities with the record and without it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated

from hockeystick.pairs.finite import FinitePair, completed
from hockeystick.plan.mechanisms.base import Claim, Status, claims_of
from hockeystick.plan.mechanisms.finite import LAWS_ALONE, FiniteMechanism
from hockeystick.values.domains import EXACT_PROBABILITY, list_of
from hockeystick.values.errors import InvalidInputError

MOST_OUTCOMES = 5000
"""Largest number of outcomes, since each likelihood ratio is a fraction."""

MISSED = Fraction(1, 10**12)
"""Largest deviation from 1 of a law's probabilities."""

_TIGHT = Claim(Status.TIGHT, "the pair is the mechanism itself: proof in pairs/finite.py")

_REPLACED = Claim(
    Status.REFUSED,
    "distributions with and without a record do not cover replacing it; give p and q for a replaced record, under "
    "adjacency 'remove'",
)


@dataclass(frozen=True)
class Pmf(FiniteMechanism):
    """Mechanism with finitely many outcomes whose law is p with the record and q without it.

    The probabilities are read exactly, as the decimals or quotients that they are written as. If their sum differs from
    1, by at most 1e-12, the rest counts as an outcome of that law alone; answers are then upper bounds.

    Args:
        p: probability of each outcome with the record.
        q: probability of each outcome without it, equally many.

    Raises:
        InvalidInputError: a probability is outside its domain, the lists differ in length, or a sum differs from 1 by
            more than 1e-12.

    >>> from hockeystick import Direction
    >>> Pmf(p=["1/2", "1/2", 0], q=["1/4", "1/2", "1/4"]).pair(Direction.REMOVE).loss_range
    (0.0, 0.6931471805599453)
    """

    p: Annotated[
        tuple[Fraction, ...], list_of(EXACT_PROBABILITY, most=MOST_OUTCOMES).of("probabilities with the record")
    ]
    q: Annotated[
        tuple[Fraction, ...], list_of(EXACT_PROBABILITY, most=MOST_OUTCOMES).of("probabilities without the record")
    ]

    name = "pmf"
    claims = claims_of(_TIGHT, _REPLACED)
    zeroed = LAWS_ALONE

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.p) != len(self.q):
            raise InvalidInputError(
                f"q must have as many probabilities as p; received {len(self.q)} and {len(self.p)}", "q"
            )
        for key in ("p", "q"):
            total = sum(getattr(self, key))
            if abs(total - 1) > MISSED:
                raise InvalidInputError(
                    f"the probabilities of {key} must add up to 1, to within 1e-12; received a sum of {float(total)!r}",
                    key,
                )

    def with_against_without(self) -> FinitePair:
        """Return the law with the record against the law without it."""
        return self._with

    @cached_property
    def _with(self) -> FinitePair:
        return FinitePair(*completed(self.p, self.q))

    def qualified(self, claim: Claim) -> Claim:
        """Return an upper-bound claim if the probabilities do not add up to 1."""
        if claim.status is not Status.TIGHT or sum(self.p) == sum(self.q) == 1:
            return claim
        return Claim(Status.UPPER, f"{claim.cited}; for totals that differ from 1: proof in pairs/finite.py")
