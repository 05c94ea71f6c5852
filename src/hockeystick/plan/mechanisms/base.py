"""What a mechanism has to say for itself: its parameters, its dominating pair in each direction, and who proved it.

To add a mechanism: a frozen dataclass in a file of its own, with ``name``, ``claims`` and ``pair``; if its law is
new, a pair in ``pairs/``; its class in ``MECHANISMS``. The plan-file keys, the JSON Schema, the table of what is
supported and the error messages follow from the dataclass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from hockeystick.pairs import DominatingPair, RenyiCurve
from hockeystick.pairs.exact import ExactRound
from hockeystick.pairs.sampled.poisson import BasePair
from hockeystick.values.adjacency import Direction
from hockeystick.values.citations import readable


class Status(StrEnum):
    """How good a dominating pair is, or what there is in place of one.

    ``tight``: no smaller pair dominates, so that bounds from below hold too. ``upper``: the pair dominates, and may be
    larger than it need be: answers are upper bounds. ``renyi``: nothing but a Renyi curve is known: the accountant
    ``rdp`` alone answers. ``refused``: nothing is proven.
    """

    TIGHT = "tight"
    UPPER = "upper"
    RENYI = "renyi"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Claim:
    """Whether a combination is supported, and by which theorem, or why it is not.

    Args:
        status: how good the pair is.
        cited: the theorem, or the reason, with keys of the bibliography in square brackets.
    """

    status: Status
    cited: str

    @property
    def source(self) -> str:
        """The theorem, or the reason, for people: every key replaced by where the source is found."""
        return readable(self.cited)


class Mechanism(ABC):
    """A randomised mechanism that answers one round.

    Attributes:
        name: the plan file's name for it.
        claims: what is proven of its pair in each direction, unsampled.
        sampled_replacement: what is proven of its pair under Poisson sampling when one record is replaced.
        sampled_without_replacement: what is proven for batches of fixed size when one record is replaced.
    """

    name: ClassVar[str]
    claims: ClassVar[Mapping[Direction, Claim]]
    sampled_replacement: ClassVar[Claim]
    sampled_without_replacement: ClassVar[Claim] = Claim(
        Status.RENYI, "Wang, Balle, Kasiviswanathan 2019 [WBK19], Theorem 27: by the accountant rdp alone"
    )

    @abstractmethod
    def pair(self, direction: Direction) -> DominatingPair:
        """The dominating pair of one unsampled round; never asked where the claim is ``renyi`` or ``refused``."""

    @abstractmethod
    def with_against_without(self) -> BasePair:
        """The pair (law with the record, law without it), from which sampling builds its own."""

    def curve(self, direction: Direction) -> RenyiCurve:
        """The Renyi curve of one unsampled round: that of its pair; another where the claim is ``renyi``."""
        return self.pair(direction)

    def sampled_replacement_pair(self, rate: float) -> DominatingPair:
        """The pair under Poisson sampling when one record is replaced; only where ``sampled_replacement`` says so."""
        raise AssertionError(f"{self.name} claims no pair under sampled replacement ({rate=})")

    def exact(self, direction: Direction, rate: Fraction) -> ExactRound | None:
        """One round in exact numbers, seen by a record with probability ``rate``; ``None`` where proofs know none."""
        return None

    @property
    def unsampled_only(self) -> str | None:
        """Why this instance may not be sampled in a way that asks for the contribution of one record, or ``None``."""
        return None

    @property
    def replacement_only(self) -> str | None:
        """Why this instance only has a meaning under ``replace-one``, or ``None``."""
        return None
