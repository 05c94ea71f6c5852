"""What a mechanism has to say for itself: its parameters, its dominating pair in each direction, and who proved it.

To add a mechanism: a frozen dataclass in a file of its own, with ``name``, ``claims`` and ``pair``; if its law is
new, a pair in ``pairs/``; its class in ``MECHANISMS``. The plan-file keys, the JSON Schema, the table of what is
supported and the error messages follow from the dataclass. A mechanism says nothing about any sampling: the schemes in
``plan/sampling/`` ask for its pair, and for the properties it declares, and know what follows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from hockeystick.pairs import DominatingPair, RenyiCurve
from hockeystick.pairs.sampled.poisson import BasePair
from hockeystick.pairs.sides import Above, Known, Tight
from hockeystick.plan.keywords import NamedArguments
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import InvalidInputError

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactMechanism


class Status(StrEnum):
    """How good a dominating pair is, or what there is in place of one.

    ``tight``: no smaller pair dominates, so that bounds from below hold too. ``between``: one pair dominates and
    another one is dominated: the ends of an answer are of two pairs. ``upper``: the pair dominates, and may be larger
    than it need be: answers are upper bounds. ``renyi``: nothing but a Renyi curve is known: ``rdp`` and the engines of
    this library answer with upper bounds. ``refused``: nothing is proven.
    """

    TIGHT = "tight"
    BRACKET = "between"
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
        from hockeystick.values.citations import readable  # late: with the bibliography

        return readable(self.cited)


def claims_of(unsampled: Claim, replaced: Claim) -> Mapping[Direction, Claim]:
    """The claims in all directions: one for adding and removing a record, and one for replacing it."""
    return {Direction.REMOVE: unsampled, Direction.ADD: unsampled, Direction.REPLACE_ONE: replaced}


AS_ABSENT = Claim(Status.TIGHT, "nothing is added to a sum: the laws are those without the record")
"""What zero-out means for noise on a sum, and for counts of what people have.

A record whose contribution is nothing leaves the sum of the others: the law of the mechanism is, for whatever the
others contribute, that of the data without the record. So the two laws of every instance of ``zero-out`` are the two
laws of an instance of ``add-or-remove``, and the other way round: each pair, from above and from below, serves both.
"""

AS_GIVEN = Claim(Status.TIGHT, "what is known is given for the plan's own adjacency")
"""What zero-out means for a mechanism known by a guarantee, or a sensitivity, under the plan's own adjacency.

The guarantee is then one about the two laws of ``zero-out`` themselves, and an unsampled round is composed as it is.
Of a batch that does not hold the record, with or without a contribution, it says nothing: such rounds are not sampled.
"""

ZERO_UNSAID = Claim(
    Status.REFUSED,
    "the mechanism does not say what it does with a record whose contribution is set to nothing; where that is what it "
    "does without the record, use adjacency 'add-or-remove'",
)
"""What holds of a mechanism that says nothing of zero-out."""


class Property(StrEnum):
    """What a mechanism declares of itself beside its pairs, for the theorems of sampling schemes to ask.

    ``gaussian``: normal noise on a sum to which a record adds a vector of bounded norm, any such vector, so that
    ``with_against_without`` is a ``GaussianPair``. ``guarantee``: nothing is known but a guarantee for the plan's own
    adjacency. ``sum``: noise on a sum to which a record adds any vector of bounded norm, whose pair under replacement
    is that of two opposite vectors, whatever the other records add.
    ``infinite-loss``: some mass may have infinite loss, and then no Renyi divergence is finite. ``joint``: a round is
    several releases at once, and its pair a product, of which no sampled pair is built. ``unbounded``: the likelihood
    ratio of its pair has no bound, or densities of another kind than the Laplace law's.
    """

    GAUSSIAN = "gaussian"
    GUARANTEE = "guarantee"
    SUM = "sum"
    INFINITE_LOSS = "infinite-loss"
    JOINT = "joint"
    UNBOUNDED = "unbounded"


_NEEDED = {Status.BRACKET: "known", Status.RENYI: "curve"}
"""What a mechanism has to define for a claim; all others follow from ``pair``."""


class Mechanism(metaclass=NamedArguments):
    """A randomised mechanism that answers one round.

    Attributes:
        name: the plan file's name for it.
        claims: what is proven of its pair when a record is removed, added or replaced, unsampled.
        zeroed: what a record whose contribution is set to nothing means to it: :data:`AS_ABSENT`, :data:`AS_GIVEN`, or
            a refusal with the reason, which is what holds of a mechanism that says nothing. It is not inherited.
        properties: what else holds of it; none by default, which allows the least.
        not_monotone: parameters in which privacy is not monotone, and why: they are not calibrated.

    Raises:
        InvalidInputError: of a class that claims nothing of a direction, or does not define what it claims.
    """

    name: ClassVar[str]
    claims: ClassVar[Mapping[Direction, Claim]]
    zeroed: ClassVar[Claim] = ZERO_UNSAID
    properties: ClassVar[frozenset[Property]] = frozenset()
    not_monotone: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):  # a base of several
            return
        claims: Mapping[Direction, Claim] = getattr(cls, "claims", {})
        for direction in (Direction.REMOVE, Direction.ADD, Direction.REPLACE_ONE):
            if direction not in claims:
                raise InvalidInputError(
                    f"claims of mechanism {cls.name!r} must hold 'remove', 'add' and 'replace-one'; "
                    f"{direction.value!r} is missing: where nothing is proven, claim Status.REFUSED with the reason",
                    "claims",
                )
            status = claims[direction].status
            needed = _NEEDED.get(status)
            if needed is not None and getattr(cls, needed) is getattr(Mechanism, needed):
                raise InvalidInputError(
                    f"mechanism {cls.name!r} claims {status.value!r} under {direction.value!r}, and has no {needed}: "
                    f"define {needed}(direction), or claim less",
                    needed,
                )

    @property
    def premises(self) -> Mapping[str, str]:
        """What the program must do beside what the name says, for every answer to repeat: sentences by their labels."""
        return {}

    @abstractmethod
    def pair(self, direction: Direction) -> DominatingPair:
        """The dominating pair of one unsampled round; never asked where the claim is ``renyi`` or ``refused``."""

    def known(self, direction: Direction) -> Known:
        """The pair of one unsampled round with its side, by the claim; one that is ``between`` says here what is below.

        Never asked where the claim is ``renyi`` or ``refused``.
        """
        pair = self.pair(direction)
        return Tight(pair) if self.claims[direction].status is Status.TIGHT else Above(pair)

    def with_against_without(self) -> BasePair:
        """The pair (law with the record, law without it), from which sampling builds its own in both directions.

        It dominates when a record is removed, and its mirror image when one is added: only where both are claimed.
        """
        raise AssertionError(f"{type(self).__name__} claims a pair in both directions and does not give it")

    def qualified(self, claim: Claim) -> Claim:
        """A claim of a round, as far as this instance's own parameters bear it: never a stronger one."""
        return claim

    def curve(self, direction: Direction) -> RenyiCurve:
        """The Renyi curve of one unsampled round: that of its pair; another where the claim is ``renyi``."""
        return self.pair(direction)

    def exact(self, direction: Direction) -> ExactMechanism | None:
        """One unsampled round in exact numbers, the pair of :meth:`pair`; ``None`` where proofs know no such round."""
        return None

    def of_many(self, direction: Direction, records: int) -> Known | RenyiCurve | None:
        """What is known of one unsampled round of the records of one user, at most so many, where more than one.

        ``None`` where nothing is but what follows from a single record by group privacy.
        """
        return None

    @property
    def unsampled_only(self) -> str | None:
        """Why this instance may not be sampled in a way that asks for the contribution of one record, or ``None``."""
        return None

    @property
    def null_record(self) -> bool:
        """Whether a record may contribute nothing, so that the pair under replacement covers missing records.

        It then dominates a removal, an addition, and the product of a removal in one run and an addition in another
        one; ``plan/unit.py`` says why both are needed where users are replaced.
        """
        return False

    @property
    def replacement_only(self) -> str | None:
        """Why this instance only has a meaning under ``replace-one``, or ``None``."""
        return None
