"""The base of mechanisms: parameters, a dominating pair for each direction, and the source of its proof.

To add a mechanism, write a frozen dataclass with ``name``, ``claims`` and ``pair`` in a file of its own, a pair in
``pairs/`` if its law is new, and list the class in ``MECHANISMS``. The plan-file keys, the JSON Schema, the table of
supported combinations and the error messages derive from the dataclass. A mechanism does not mention sampling: the
sampling schemes in ``plan/sampling/`` derive the sampled pairs from the mechanism's pair and declared properties.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from hockeystick.pairs import DominatingPair, RenyiCurve
from hockeystick.pairs.sides import Above, Known, Tight
from hockeystick.plan.keywords import NamedArguments
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import check_fields
from hockeystick.values.errors import InvalidInputError

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactRound


class Status(StrEnum):
    """Strength of the bounds that are proved for a mechanism, sampled or not, in one direction.

    ``tight``: no smaller pair dominates, so lower bounds hold, too. ``between``: one pair dominates and another is
    dominated, so the upper and the lower end of an answer come from different pairs. ``upper``: the pair dominates but
    may not be the smallest, so answers are upper bounds. ``renyi``: only a bound on the Renyi divergences is known,
    from which accountant ``rdp`` and this library's own engines give upper bounds. ``refused``: nothing is proved.
    """

    TIGHT = "tight"
    BRACKET = "between"
    UPPER = "upper"
    RENYI = "renyi"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim about a mechanism, sampled or not, in one direction: the strength of its bounds, and their source.

    Args:
        status: strength of the bounds.
        cited: the theorem, or the reason for a refusal, with keys of the bibliography in square brackets.
    """

    status: Status
    cited: str

    @property
    def source(self) -> str:
        """The theorem, or the reason for a refusal, as readable text: bibliography keys are spelled out."""
        from hockeystick.values.citations import readable  # imported late, with the bibliography

        return readable(self.cited)


def refused(reason: str) -> Claim:
    """Return the claim that nothing is proved, with the reason."""
    return Claim(Status.REFUSED, reason)


def claims_of(unsampled: Claim, replaced: Claim) -> Mapping[Direction, Claim]:
    """Return the claims in all directions: ``unsampled`` for adding or removing a record, ``replaced`` otherwise."""
    return {Direction.REMOVE: unsampled, Direction.ADD: unsampled, Direction.REPLACE_ONE: replaced}


AS_ABSENT = Claim(
    Status.TIGHT, "a zero contribution leaves a sum unchanged, so the distributions are those without the record"
)
"""Claim under zero-out for noise on a sum, and for counts of people's items.

A record with zero contribution leaves the sum of the others, so for all other contributions the law of the mechanism is
that of the data without the record. The two laws of every instance of ``zero-out`` are thus those of an instance of
``add-or-remove``, and vice versa: each pair, upper or lower, serves both.
"""

AS_GIVEN = Claim(Status.TIGHT, "the guarantee is given for the plan's own adjacency")
"""Claim under zero-out for a mechanism known by a guarantee, or a sensitivity, under the plan's own adjacency.

The guarantee then concerns the two laws of ``zero-out`` themselves, and an unsampled round is composed as it is. It
does not cover a batch without the record, so such rounds are not sampled.
"""

ZERO_UNSAID = refused(
    "the mechanism does not define the effect of a zero contribution; if that equals the absence of the record, use "
    "adjacency 'add-or-remove'"
)
"""Default claim under zero-out."""


class Property(StrEnum):
    """Property of a mechanism, besides its pairs, that theorems on sampling require.

    ``gaussian``: normal noise on a sum to which a record may add any vector of bounded norm; ``with_against_without``
    is then a ``GaussianPair``. ``guarantee``: only a guarantee for the plan's own adjacency is known. ``sum``: noise on
    a sum to which a record may add any vector of bounded norm; the pair under replacement is the pair of two opposite
    vectors, whatever the other records add. ``infinite-loss``: some mass may have infinite loss, and then no Renyi
    divergence is finite. ``joint``: a round is several releases at once; its pair is a product, and it cannot be
    sampled. ``run``: a round is a whole run of steps with correlated normal noise; it is sampled only by schemes for
    the steps within a run. ``laws``: the two laws of the mechanism are given, bracketed by an upper and a lower pair.
    """

    GAUSSIAN = "gaussian"
    GUARANTEE = "guarantee"
    SUM = "sum"
    INFINITE_LOSS = "infinite-loss"
    JOINT = "joint"
    RUN = "run"
    LAWS = "laws"


MOST_LISTED = 1000
"""Largest number of points of a guarantee, of terms of a mixture, and of coins."""

MOST_PARTS = 10**6
"""Largest number of parts of one release, such as keys or searches."""


class Mechanism(metaclass=NamedArguments):
    """Randomised mechanism of one round.

    Attributes:
        name: name in plan files.
        claims: claims about its unsampled pair when a record is removed, added or replaced.
        zeroed: claim if a record's contribution is set to zero: :data:`AS_ABSENT`, :data:`AS_GIVEN`, or a refusal with
            the reason. A refusal is the default. The attribute is not inherited.
        properties: further properties; none by default, which permits the fewest theorems.
        not_monotone: parameters in which privacy is not monotone, with reasons; they cannot be calibrated.
    """

    name: ClassVar[str]
    claims: ClassVar[Mapping[Direction, Claim]]
    zeroed: ClassVar[Claim] = ZERO_UNSAID
    properties: ClassVar[frozenset[Property]] = frozenset()
    not_monotone: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        """Check the fields against their domains.

        Raises:
            InvalidInputError: a value is outside its domain.
        """
        check_fields(self)

    def _check_lengths(self, key: str, other: str) -> None:
        """Check that a list parameter has as many elements as another.

        Raises:
            InvalidInputError: the lists differ in length.
        """
        found, wanted = len(getattr(self, key)), len(getattr(self, other))
        if found != wanted:
            raise InvalidInputError(f"{key} must have as many elements as {other}; received {found} and {wanted}", key)

    @property
    def premises(self) -> Mapping[str, str]:
        """Further conditions that the program must satisfy, as sentences by label; every answer repeats them."""
        return {}

    def pair(self, direction: Direction) -> DominatingPair:
        """Return the dominating pair of one unsampled round; never called if the claim is ``renyi`` or ``refused``."""
        raise AssertionError(f"{type(self).__name__} has no pair under {direction.value!r}")

    def known(self, direction: Direction) -> Known:
        """Return the pair of one unsampled round, marked as tight or as an upper pair.

        Overridden if the claim is ``between``; never called if it is ``renyi`` or ``refused``.
        """
        pair = self.pair(direction)
        return Tight(pair) if self.claims[direction].status is Status.TIGHT else Above(pair)

    def with_against_without(self) -> DominatingPair:
        """Return the pair (law with the record, law without it), from which sampling builds its own pairs.

        If the mechanism claims both directions, this pair dominates when a record is removed, and its mirror image
        when one is added.
        """
        raise AssertionError(f"{type(self).__name__} claims a pair in both directions and does not give it")

    def curve(self, direction: Direction) -> RenyiCurve:
        """Return the Renyi curve of one unsampled round, computed from its pair unless the claim is ``renyi``."""
        return self.pair(direction)

    def exact(self, direction: Direction) -> ExactRound | None:
        """Return the pair of :meth:`pair` in exact numbers, for a proof; ``None`` if no exact form is implemented."""
        return None

    def of_many(self, direction: Direction, records: int) -> Known | RenyiCurve | None:
        """Return the pair or curve of one unsampled round for a user with up to ``records`` records, at least 2.

        It is ``None`` if the only known bound is group privacy, from the curve of a single record.
        """
        return None

    @property
    def unsampled_only(self) -> str | None:
        """Reason why schemes that need one record's contribution may not sample this instance; else ``None``."""
        return None

    @property
    def null_record(self) -> bool:
        """True if a record may contribute zero, so that the pair under replacement covers missing records.

        The pair then dominates a removal, an addition, and the product of a removal in one run and an addition in
        another; ``plan/users.py`` explains why all of these are needed if users are replaced.
        """
        return False

    @property
    def replacement_only(self) -> str | None:
        """Reason why this instance is meaningful only under ``replace-one``; ``None`` if it is not so restricted."""
        return None


class SymmetricMechanism(Mechanism):
    """Mechanism with the same pair, which is its own mirror image, for every direction that it claims."""

    @abstractmethod
    def with_against_without(self) -> DominatingPair:
        """Return the pair that serves every direction."""

    def pair(self, direction: Direction) -> DominatingPair:
        """Return the same pair for every direction."""
        return self.with_against_without()
