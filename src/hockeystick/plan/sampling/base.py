"""Base class of sampling schemes: a scheme is a theorem that turns a mechanism's pair into that of a sampled round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from hockeystick.pairs import DominatingPair, GaussianPair, RenyiCurve
from hockeystick.pairs.sides import Above, Known, Tight
from hockeystick.plan.keywords import NamedArguments
from hockeystick.plan.mechanisms.base import AS_GIVEN, ZERO_UNSAID, Claim, Mechanism, Property, Status, refused
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import check_at_most, check_fields
from hockeystick.values.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactRound


def own_pair(mechanism: Mechanism, direction: Direction) -> DominatingPair:
    """Return the dominating pair of a mechanism run on every record.

    Raises:
        UnsupportedError: no pair is proved, or only a Renyi curve is known.
    """
    return own_known(mechanism, direction).above


def own_known(mechanism: Mechanism, direction: Direction) -> Known:
    """Return the pair, or the upper and lower pairs, of a mechanism run on every record.

    A record whose contribution is set to zero counts as absent.

    Raises:
        UnsupportedError: no pair is proved, or only a Renyi curve is known.
    """
    direction = direction.order
    claim = mechanism.claims[direction]
    if claim.status in (Status.REFUSED, Status.RENYI):
        line = f"mechanism {mechanism.name!r} under {direction.value!r}: {claim.source}"
        if claim.status is Status.RENYI:
            line += "; only its Renyi divergence is bounded; use accountant 'rdp' or 'auto'"
        raise UnsupportedError(line)
    return mechanism.known(direction)


NO_PAIR = refused("only a Renyi curve of the mechanism is known, and sampling needs a dominating pair")
"""Claim if a theorem needs a pair and only a Renyi curve is known."""


JOINT_SAMPLED = refused("sampling is not supported for a round with several simultaneous releases; use sampling 'none'")
"""Refusal to sample a mechanism whose pair is a product."""


LAWS_SAMPLED = refused(
    "distributions for two values of a record say nothing about a batch without it; give the distributions with and "
    "without the record, with Poisson sampling and adjacency 'add-or-remove'"
)
"""Refusal to sample two user-defined laws when a record is replaced."""


def sampled_base(mechanism: type[Mechanism], direction: Direction) -> Claim:
    """Return the mechanism's claim about the pair to which a theorem on sampling applies.

    The claim is a refusal if the mechanism's pair is a product, or if it has two user-defined laws and a record is
    replaced: sampling theorems do not apply to these.
    """
    base = mechanism.claims[direction]
    if base.status is Status.REFUSED:
        return base
    if direction is Direction.REPLACE_ONE and Property.LAWS in mechanism.properties:
        return LAWS_SAMPLED
    return JOINT_SAMPLED if Property.JOINT in mechanism.properties else base


def inherited(base: Claim, theorem: Claim) -> Claim:
    """Return the claim for a sampled pair, by a theorem that keeps tight pairs tight and dominating pairs dominating.

    Args:
        base: claim of the mechanism about the pair that the theorem starts from.
        theorem: claim if that pair is tight.

    Returns:
        A refusal unchanged. For a pair that only dominates, the claim that the sampled pair dominates: any known lower
        pairs are ignored, since they would need a theorem of their own.
    """
    if base.status is Status.TIGHT:
        return theorem
    if base.status in (Status.UPPER, Status.BRACKET):
        return Claim(Status.UPPER, f"{theorem.cited}; for the pair: {base.cited}")
    return base if base.status is Status.REFUSED else NO_PAIR


def mu_of(pair: DominatingPair) -> float:
    """Return the distance of the two laws of a pair that is known to be Gaussian, in units of the noise."""
    assert isinstance(pair, GaussianPair)  # guaranteed by the property behind the claim
    return pair.mu


def checked_sizes(batch_size: int | None, dataset_size: int | None) -> tuple[int, int]:
    """Return the batch size and the dataset size of a scheme, after a check.

    Raises:
        InvalidInputError: a size is missing, or the batch is larger than the dataset.
    """
    if batch_size is None or dataset_size is None:
        missing = "batch_size" if batch_size is None else "dataset_size"
        raise InvalidInputError(f"batch_size and dataset_size must be given together; {missing} is missing", missing)
    check_at_most("batch_size", batch_size, "dataset_size", dataset_size)
    return batch_size, dataset_size


class Zeroed(StrEnum):
    """Behaviour of a scheme if a record stays in the data, and its contribution is set to zero.

    ``unsaid``: not declared, and every round is refused. ``as-absent``: the other records take part by the same law,
    whether this record is present without a contribution or absent; so the pairs are those of ``add-or-remove``.
    ``own``: the record keeps its place, which another record would take if it were absent; the scheme has pairs of its
    own for ``zero-out``.
    """

    UNSAID = "unsaid"
    AS_ABSENT = "as-absent"
    OWN = "own"


_SCHEME_UNSAID = refused(
    "the sampling scheme does not define the effect of a zero contribution; use adjacency 'add-or-remove' or "
    "'replace-one'"
)
"""Default claim under zero-out."""

GIVEN_SAMPLED = refused(
    "a guarantee for a zero contribution says nothing about a batch without the record; if the two are the same, give "
    "the guarantee for adjacency 'add-or-remove'"
)
"""Claim under zero-out for a sampled mechanism known by a guarantee for the plan's own adjacency."""


class Sampling(metaclass=NamedArguments):
    """Choice of the records of one round; base class of the sampling schemes.

    A scheme applies a theorem that derives the pair of a round from the unsampled mechanism, of which it uses
    ``claims``, ``pair``, ``with_against_without`` and ``properties``. To add a scheme, write a frozen dataclass with
    ``name``, ``assumption``, ``claim`` and ``pair`` in a file of its own, and list the class in ``SAMPLINGS``.

    Attributes:
        name: name in plan files.
        assumption: condition on the loader under which the number is valid, in one line.
        distance_suffices: True if a bound on the change by replacing a record is enough, without a bound on the
            contribution of each record.
        key_rules: JSON Schema keywords that restrict combinations of the scheme's keys.
        follow_from_sizes: keys that are derived if ``batch_size`` is given, and are then not written to plan files.
        zeroed: behaviour if a record's contribution is set to zero; by default unknown, which is refused. It is not
            inherited.
        samples_runs: True if the scheme samples steps within a whole run, which is a round of correlated noise.
    """

    name: ClassVar[str]
    assumption: ClassVar[str]
    distance_suffices: ClassVar[bool] = False
    key_rules: ClassVar[Mapping[str, Any]] = {}
    follow_from_sizes: ClassVar[tuple[str, ...]] = ()
    zeroed: ClassVar[Zeroed] = Zeroed.UNSAID
    samples_runs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the fields against their domains.

        Raises:
            InvalidInputError: a value is outside its domain.
        """
        check_fields(self)

    @classmethod
    @abstractmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Return the support of a mechanism with this scheme in a direction, and the reason for it."""

    def effective(self, direction: Direction) -> Sampling:
        """Return the scheme whose claims and pairs apply to a round: this one, or no sampling if it samples nothing.

        Rounds call the methods below on the scheme returned here, so no method has to treat parameters that sample
        nothing.
        """
        return self

    def claim_of(self, mechanism: Mechanism, direction: Direction) -> Claim:
        """Return the claim for this scheme's own parameters."""
        return self.claim(type(mechanism), direction)

    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        """Return the dominating pair of one round, if :meth:`claim` does not refuse.

        By default, that is the upper pair of :meth:`known`; a scheme overrides one of the two methods, or both.

        Raises:
            UnsupportedError: a round has only a Renyi curve.
        """
        return self.known(mechanism, direction).above

    def known(self, mechanism: Mechanism, direction: Direction) -> Known:
        """Return the pair of one round, marked as tight or as an upper pair according to the claim.

        A scheme whose claim is ``between`` overrides this to add lower pairs; :meth:`pair` is then the upper one.

        Raises:
            UnsupportedError: a round has only a Renyi curve.
        """
        pair = self.pair(mechanism, direction)
        return Tight(pair) if self.claim_of(mechanism, direction).status is Status.TIGHT else Above(pair)

    def curve(self, mechanism: Mechanism, direction: Direction) -> RenyiCurve:
        """Return the Renyi curve of one round: its pair, unless the scheme knows a curve without a pair."""
        return self.pair(mechanism, direction)

    def of_many(self, mechanism: Mechanism, direction: Direction, records: int) -> Known | RenyiCurve | None:
        """Return the pair or curve of one round for a user with up to ``records`` records (at least 2).

        ``None`` means that only group privacy, derived from a single record, is known.
        """
        return None

    def participations(self, steps: int) -> int:
        """Return the largest number of steps that may include one record, of ``steps`` steps of one kind of round.

        The steps of the kind are composed as that many rounds of :meth:`pair`.
        """
        return steps

    def same_for_all(self, steps: int) -> bool:
        """Return True if every record may be in equally many of ``steps`` steps of one kind of round.

        If several kinds of a plan return False, possibly no record is in :meth:`participations` steps of each kind.
        Then there is no lower bound.
        """
        return True

    def exact(self, mechanism: Mechanism, direction: Direction) -> ExactRound | None:
        """Return the pair of one round in exact numbers, for a proof; ``None`` if no exact form is implemented."""
        return None

    def keys(self) -> dict[str, Any]:
        """Return the plan-file keys of this instance, without ``sampling`` itself."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]
        follow = self.follow_from_sizes if values.get("batch_size") is not None else ()
        return {
            key: value
            for key, value in values.items()
            if key not in follow and value is not None and value is not False
        }

    @property
    def dataset_records(self) -> int | None:
        """Number of records of the dataset; ``None`` if the scheme has no key ``dataset_size`` or it is not given."""
        found: int | None = getattr(self, "dataset_size", None)
        return found

    @property
    def caution(self) -> str | None:
        """Caveat that every answer carries, whatever its delta; ``None`` if there is none."""
        return None

    @property
    def steps_per_round(self) -> int:
        """Number of the program's steps in one round, more than 1 if a theorem covers many steps at once.

        For example, it is 1,000 if a pair covers a whole epoch of 1,000 steps. ``Round.count`` counts rounds, since
        pairs are composed by round; ``Plan.steps``, the stepped accountant and calibration count steps.
        """
        return 1

    @property
    def steps_per_epoch(self) -> int | None:
        """Number of steps of one pass over the data, if the scheme determines it."""
        return None

    @property
    def steps_of_pass(self) -> int | None:
        """Number of steps taken in one pass over the data: all steps of an epoch, or fewer if it is interrupted."""
        return self.steps_per_epoch

    def broken_off(self, steps: int) -> Sampling | None:
        """Return the scheme of a round that ends after ``steps`` steps; ``None`` if it counts as a whole round."""
        return None


def claimed(scheme: type[Sampling], mechanism: type[Mechanism], direction: Direction) -> Claim:
    """Return the claim of a scheme and a mechanism in a direction, for any parameters.

    The table of supported combinations shows this claim.
    """
    return _gated(scheme, mechanism, direction, lambda asked: scheme.claim(mechanism, asked))


def claimed_of(scheme: Sampling, mechanism: Mechanism, direction: Direction) -> Claim:
    """Return the claim of a scheme and a mechanism in a direction, for their own parameters."""
    return _gated(type(scheme), type(mechanism), direction, lambda asked: scheme.claim_of(mechanism, asked))


def asked(scheme: Sampling, direction: Direction) -> Direction:
    """Return the direction whose pairs a scheme uses for a direction.

    The scheme's claim in the given direction must not be a refusal. For a direction of zero-out and a scheme that is
    ``as-absent``, the result is the corresponding direction of add-or-remove; otherwise it is the given direction.
    """
    return direction.order if direction.zeroes and vars(type(scheme)).get("zeroed") is Zeroed.AS_ABSENT else direction


def _gated(
    scheme: type[Sampling], mechanism: type[Mechanism], direction: Direction, claim: Callable[[Direction], Claim]
) -> Claim:
    """Return the claim in a direction; for zero-out, both mechanism and scheme must declare ``zeroed``.

    Without the declaration, a mechanism or a scheme might return a plausible claim for a direction that it does not
    handle. An inherited declaration does not count: the class may treat the records differently.
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


SAME_LAWS = "a zero contribution has the distributions of add-or-remove"
"""Text added to the source of a claim that is that of add-or-remove."""
