"""What a sampling scheme has to say for itself: which theorem turns a mechanism's pair into that of a sampled round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from hockeystick.pairs import DominatingPair, RenyiCurve
from hockeystick.pairs.sides import Above, Known, Tight
from hockeystick.plan.keywords import NamedArguments
from hockeystick.plan.mechanisms.base import AS_GIVEN, ZERO_UNSAID, Claim, Mechanism, Property, Status
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import UnsupportedError

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactRound


def own_pair(mechanism: Mechanism, direction: Direction) -> DominatingPair:
    """The dominating pair of a mechanism that sees every record.

    Raises:
        UnsupportedError: none is proven, or nothing but a Renyi curve is known.
    """
    return own_known(mechanism, direction).above


def own_known(mechanism: Mechanism, direction: Direction) -> Known:
    """The pair of a mechanism that sees every record, with its side; where a record is set to nothing, as if absent.

    Raises:
        UnsupportedError: none is proven, or nothing but a Renyi curve is known.
    """
    if direction.zeroes:
        direction = direction.order
    claim = mechanism.claims[direction]
    if claim.status is Status.REFUSED or claim.status is Status.RENYI:
        only = (
            '; only its Renyi divergence is bounded: use accountant="rdp" or "auto"'
            if claim.status is Status.RENYI
            else ""
        )
        raise UnsupportedError(f"mechanism {mechanism.name!r} under {direction.value!r}: {claim.source}{only}")
    return mechanism.known(direction)


NO_PAIR = Claim(Status.REFUSED, "of the mechanism nothing but a Renyi curve is known, from which none follows sampled")
"""What follows from a base of which there is no pair, under a scheme whose theorem begins with one."""


JOINT_SAMPLED = Claim(
    Status.REFUSED,
    "a round is several releases at once, and no pair is built of what a sampled record does to all of them; "
    "account for it unsampled",
)
"""Why a mechanism whose pair is a product is not sampled."""


def sampled_base(mechanism: type[Mechanism], direction: Direction) -> Claim:
    """What the mechanism claims of the pair that a theorem on sampling begins with; of a product there is none."""
    base = mechanism.claims[direction]
    joint = base.status is not Status.REFUSED and Property.JOINT in mechanism.properties
    return JOINT_SAMPLED if joint else base


def inherited(base: Claim, theorem: Claim) -> Claim:
    """What a theorem that takes tight pairs to tight pairs, and dominating to dominating ones, makes of a claim.

    Args:
        base: what the mechanism claims of the pair that the theorem begins with.
        theorem: what holds where that pair is tight.

    Returns:
        A refusal as it is; of a pair that only dominates a claim that the new one dominates, also where pairs are
        known below it: a theorem on those is another one.
    """
    if base.status is Status.TIGHT:
        return theorem
    if base.status in (Status.UPPER, Status.BRACKET):
        return Claim(Status.UPPER, f"{theorem.cited}; for the pair: {base.cited}")
    return base if base.status is Status.REFUSED else NO_PAIR


class Zeroed(StrEnum):
    """What a scheme says where a record stays in the data, and its contribution is set to nothing.

    ``unsaid``: nothing, and every round is refused. ``as-absent``: whether the record is there, without a contribution,
    or not, the others take part by the same law, so that the pairs are those of ``add-or-remove``. ``own``: the record
    keeps its place, which another one would have without it, and the scheme is asked in the directions of ``zero-out``.
    """

    UNSAID = "unsaid"
    AS_ABSENT = "as-absent"
    OWN = "own"


_SCHEME_UNSAID = Claim(
    Status.REFUSED,
    "the sampling does not say what follows where a record's contribution is set to nothing; use adjacency "
    "'add-or-remove' or 'replace-one'",
)
"""What holds of a scheme that says nothing of zero-out."""

GIVEN_SAMPLED = Claim(
    Status.REFUSED,
    "a guarantee where a record's contribution is set to nothing says nothing of a batch without the record; where the "
    "two are the same, give the guarantee for adjacency 'add-or-remove'",
)
"""What holds under zero-out of a mechanism that is known by a guarantee for the plan's own adjacency, if sampled."""


class Sampling(metaclass=NamedArguments):
    """How the records of one round are chosen.

    A scheme knows by which theorem the pair of a round follows from what a mechanism says of itself unsampled
    (``claims``, ``pair``, ``with_against_without``, ``properties``). To add one: a frozen dataclass in a file of its
    own with ``name``, ``assumption``, ``claim`` and ``pair``, and its class in ``SAMPLINGS``.

    Attributes:
        name: the plan file's name for it.
        assumption: one line for people: what the loader must do for the number to be valid.
        distance_suffices: whether a bound on the distance that replacing a record makes is all that is asked of the
            mechanism, and not a bound on the contribution of each record.
        key_rules: JSON Schema keywords that say which of its keys go together.
        zeroed: what it says where a record's contribution is set to nothing; by default nothing, which is refused. A
            class that inherits from another one says it anew.
    """

    name: ClassVar[str]
    assumption: ClassVar[str]
    distance_suffices: ClassVar[bool] = False
    key_rules: ClassVar[Mapping[str, Any]] = {}
    zeroed: ClassVar[Zeroed] = Zeroed.UNSAID

    @classmethod
    @abstractmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Whether the combination is supported, and why."""

    def claim_of(self, mechanism: Mechanism, direction: Direction) -> Claim:
        """What is claimed with this scheme's own parameters: at rate 1 it samples nothing, and the base claim holds."""
        return self.claim(type(mechanism), direction)

    @abstractmethod
    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        """The dominating pair of one round; only where :meth:`claim` does not refuse.

        Raises:
            UnsupportedError: a round of which nothing but a Renyi curve is known.
        """

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """The pair of one round with its side: tight or above, by the claim.

        A scheme whose claim is ``between`` says here what is below; :meth:`pair` is what is above.

        Raises:
            UnsupportedError: a round of which nothing but a Renyi curve is known.
        """
        pair = self.pair(mechanism, direction)
        return Tight(pair) if self.claim_of(mechanism, direction).status is Status.TIGHT else Above(pair)

    def curve(self, mechanism: Mechanism, direction: Direction) -> RenyiCurve:
        """The Renyi curve of one round: that of its pair, unless the scheme knows one where it has no pair."""
        return self.pair(mechanism, direction)

    def of_many(self, mechanism: Mechanism, direction: Direction, records: int) -> Known | RenyiCurve | None:
        """What is known of one round of the records of one user, at most so many, where more than one.

        ``None`` where nothing is but what follows from a single record by group privacy.
        """
        return None

    def participations(self, steps: int) -> int:
        """How many of that many steps of one kind of rounds a record can be in: all, unless it is sure to miss some.

        What is composed of such a kind is that many rounds of :meth:`pair`.
        """
        return steps

    def same_for_all(self, steps: int) -> bool:
        """Whether every record can be in as many of that many steps of one kind of rounds.

        Where it is not so of several kinds at once, no record need be in as many steps of each as
        :meth:`participations` says, and nothing is known from below.
        """
        return True

    def exact(self, mechanism: Mechanism, direction: Direction) -> ExactRound | None:
        """One round in exact numbers, the pair of :meth:`pair`; ``None`` where proofs know no such round."""
        return None

    def keys(self) -> dict[str, Any]:
        """The plan-file keys that give this instance back, ``sampling`` itself apart."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]
        return {key: value for key, value in values.items() if value is not None}

    @property
    def dataset_records(self) -> int | None:
        """Number of records of the dataset, where the scheme has the key ``dataset_size`` and it is given."""
        found: int | None = getattr(self, "dataset_size", None)
        return found

    @property
    def caution(self) -> str | None:
        """What is to be minded with every answer, whatever its delta; ``None`` where there is nothing."""
        return None

    @property
    def steps_per_round(self) -> int:
        """Steps of the program that one round stands for: more than 1 where a theorem is about many at once.

        A scheme whose pair is that of a whole epoch of 1,000 steps says 1,000. ``count`` of a round counts rounds, as
        pairs are composed; ``Plan.steps``, the stepped accountant and calibration count steps.
        """
        return 1

    @property
    def steps_per_epoch(self) -> int | None:
        """Steps that one pass over the data takes, where the scheme says how many."""
        return None

    @property
    def steps_of_pass(self) -> int | None:
        """Steps that are taken in one pass over the data: those of an epoch, unless it is broken off."""
        return self.steps_per_epoch

    def broken_off(self, steps: int) -> Sampling | None:
        """The scheme of a round that ends after so many of its steps; none where such a round counts whole."""
        return None


def claimed(scheme: type[Sampling], mechanism: type[Mechanism], direction: Direction) -> Claim:
    """What is claimed of a combination in any direction, whatever its parameters: what the table of support shows."""
    return _gated(scheme, mechanism, direction, lambda asked: scheme.claim(mechanism, asked))


def claimed_of(scheme: Sampling, mechanism: Mechanism, direction: Direction) -> Claim:
    """What is claimed of a round in any direction, with its own parameters."""
    if not direction.zeroes:
        return scheme.claim_of(mechanism, direction)
    return _gated(type(scheme), type(mechanism), direction, lambda asked: scheme.claim_of(mechanism, asked))


def asked(scheme: Sampling, direction: Direction) -> Direction:
    """The direction in which a scheme is asked for its pairs: that of add-or-remove, where it says that it stands in.

    Only where the claim is not a refusal.
    """
    return direction.order if direction.zeroes and vars(type(scheme)).get("zeroed") is Zeroed.AS_ABSENT else direction


def _gated(
    scheme: type[Sampling], mechanism: type[Mechanism], direction: Direction, claim: Callable[[Direction], Claim]
) -> Claim:
    """The claim in a direction. Of zero-out neither side is asked unless both have said what it means to them.

    A mechanism or a scheme may answer for any direction that it knows nothing of, and sound plausible. What a class
    inherits it has not said: it may do something else with the same records.
    """
    if not direction.zeroes:
        return claim(direction)
    said: Claim = vars(mechanism).get("zeroed", ZERO_UNSAID)
    zeroed: Zeroed = vars(scheme).get("zeroed", Zeroed.UNSAID)
    if zeroed is Zeroed.UNSAID:
        return _SCHEME_UNSAID
    if said.status is Status.REFUSED:
        return said
    if zeroed is Zeroed.OWN:
        return claim(direction)
    found = claim(direction.order)
    if found.status is Status.REFUSED:
        return found
    if said is AS_GIVEN:
        return found if found == mechanism.claims[direction.order] else GIVEN_SAMPLED
    return Claim(found.status, f"{found.cited}; {SAME_LAWS}")


SAME_LAWS = "a contribution of nothing has the laws of add-or-remove"
"""What is added to the source of a claim that is that of add-or-remove."""
