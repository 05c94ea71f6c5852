"""A round: one mechanism with its sampling scheme and its number of runs, in steps or epochs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hockeystick.pairs import DominatingPair, RenyiCurve
from hockeystick.pairs.sides import Above, Known, Tight
from hockeystick.plan.keywords import NamedArguments
from hockeystick.plan.labels import LABELS, checked_label
from hockeystick.plan.mechanisms import Claim, Mechanism, Property, Status
from hockeystick.plan.sampling import Sampling
from hockeystick.plan.sampling.base import Zeroed, asked, claimed_of
from hockeystick.plan.sampling.none import NO_SAMPLING as NO_SAMPLING
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import unmet
from hockeystick.values.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactRound
    from hockeystick.plan.plan import Plan


@dataclass(frozen=True, repr=False)
class Round(metaclass=NamedArguments):
    """One mechanism with its sampling scheme and its number of runs.

    A round with ``epochs`` keeps this number. ``count`` follows from it and from the sampling scheme, also if the batch
    size or the sample rate is changed later (:meth:`changed`).

    Args:
        mechanism: mechanism of the round.
        sampling: scheme that selects the records of a run; by default all records.
        count: number of runs, 0 to 10^12; 0 costs nothing. Leave it out if ``epochs`` is given. A round is one step,
            unless the sampling scheme makes it several (``steps_per_round``).
        epochs: passes over the data, in place of ``count``; the sampling scheme determines the steps of each.
        name: name of the round. Like ``note`` and ``date``, it is kept with the plan and never used in a computation.
        note: anything worth knowing about the round.
        date: the day when the round was run, as ``2026-11-22`` or a ``datetime.date``.

    Raises:
        InvalidInputError: a count outside its domain, a count that contradicts the epochs, epochs of a scheme that has
            none, a mechanism that may not be sampled, or an invalid label.

    >>> from hockeystick import Gaussian, Poisson
    >>> 5 * Round(Gaussian(noise_multiplier=2.0))
    Round(mechanism=Gaussian(noise_multiplier=2.0, replace_one_distance=2.0), sampling=NoSampling(), count=5)
    >>> Round(Gaussian(noise_multiplier=1.1), Poisson(batch_size=256, dataset_size=60_000), epochs=60).count
    14100
    """

    mechanism: Mechanism
    sampling: Sampling = NO_SAMPLING
    count: int = 1
    epochs: int | None = None
    name: str | None = field(default=None, kw_only=True)
    note: str | None = field(default=None, kw_only=True)
    date: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for value, kind, key in ((self.mechanism, Mechanism, "mechanism"), (self.sampling, Sampling, "sampling")):
            if not isinstance(value, kind):
                own = "" if key == "sampling" else "; for your own mechanism use Pmf, Tradeoff or PrivacyCurve"
                raise InvalidInputError(f"{key} must be a {kind.__name__}; received {domains.shown(value)}{own}", key)
        object.__setattr__(self, "count", domains.COUNT.check(self.count, "count"))
        for key, text in self.labels.items():
            object.__setattr__(self, key, checked_label(text, key))
        if self.epochs is not None:
            self._count_epochs()
        reason = self.mechanism.unsampled_only
        if reason is not None and not self.sampling.distance_suffices:
            raise InvalidInputError(reason, "replace_one_distance")

    def _count_epochs(self) -> None:
        if self.of_run:
            raise unmet("epochs", "cannot be used with correlated noise; give count, the number of runs", self.epochs)
        epochs = domains.whole(
            self.epochs,  # type: ignore[arg-type]  # not None
            "epochs",
            "passes over the data; for a partial pass, give the number of steps, count in a plan file",
        )
        each, together = steps_of_epoch(self.sampling), self.steps_per_round
        count, left = divmod(epochs * each, together)
        if left:
            raise InvalidInputError(
                f"epochs must make up whole rounds of {together} steps; received {epochs} epochs of {each} steps",
                "epochs",
            )
        if self.count not in (1, count):
            raise InvalidInputError(
                f"give either count or epochs; received count {self.count} and {epochs} epochs of {each} steps",
                "epochs",
            )
        if epochs * each > domains.MAX_COUNT:
            raise InvalidInputError(
                f"epochs must make up at most 1e12 steps; received {epochs} epochs of {each} steps",
                "epochs",
            )
        object.__setattr__(self, "epochs", epochs)
        object.__setattr__(self, "count", count)

    def __repr__(self) -> str:
        often = f"count={self.count}" if self.epochs is None else f"epochs={self.epochs}"
        said = "".join(f", {key}={text!r}" for key, text in self.labels.items())
        return f"Round(mechanism={self.mechanism!r}, sampling={self.sampling!r}, {often}{said})"

    def __mul__(self, times: int) -> Round:
        times = int(domains.COUNT.check(times, "count"))
        if self.epochs is not None:
            return self.changed(epochs=times * self.epochs)
        return replace(self, count=times * self.count)

    __rmul__ = __mul__

    def __add__(self, other: Round | Plan) -> Plan:
        from hockeystick.plan.plan import Plan  # late: a plan is made of rounds

        return Plan((self,)) + other

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the round, by their keys."""
        return {key: text for key in LABELS if (text := getattr(self, key)) is not None}

    @property
    def steps(self) -> int:
        """Number of steps of the program: the count times the steps of one round."""
        return self.count * self.steps_per_round

    @property
    def steps_per_round(self) -> int:
        """Number of steps of the program in one round, given by the scheme; a run of correlated noise is one step."""
        return 1 if self.of_run else self.sampling.steps_per_round

    def participations(self, count: int) -> int:
        """Return the largest number of rounds, out of ``count``, that can include the same record."""
        return count if self.of_run else self.sampling.participations(count)

    def same_for_all(self, count: int) -> bool:
        """Return True if the largest number of participations in ``count`` rounds is the same for every record.

        It is False for runs of correlated noise, where different groups of records take part in different steps.
        """
        return not self.of_run and self.sampling.same_for_all(count)

    def changed(self, **changes: Any) -> Round:
        """Return the round with other fields; epochs are kept unless ``epochs`` or ``count`` is among them.

        >>> from hockeystick import Gaussian, Poisson
        >>> one = Round(Gaussian(noise_multiplier=1.1), Poisson(batch_size=256, dataset_size=60_000), epochs=60)
        >>> one.changed(sampling=Poisson(batch_size=512, dataset_size=60_000)).count
        7080
        """
        if "count" in changes:
            changes.setdefault("epochs", None)
        elif changes.get("epochs", self.epochs) is not None:
            changes["count"] = 1  # it follows from the epochs
        return replace(self, **changes)

    def joined(self, other: Round) -> Round | None:
        """Return one round equal to this one followed by the other; ``None`` if more than the number of runs differs.

        A round with a count and a round with epochs are not joined.
        """
        alike = (self.mechanism, self.sampling, self.labels) == (other.mechanism, other.sampling, other.labels)
        if alike and self.epochs is None and other.epochs is None:
            return replace(self, count=self.count + other.count)
        if alike and self.epochs is not None and other.epochs is not None:
            return self.changed(epochs=self.epochs + other.epochs)
        return None

    @property
    def null_record(self) -> bool:
        """True if the pair under replacement also covers a record that is added or removed without a replacement."""
        absent = vars(type(self.sampling)).get("zeroed") is Zeroed.AS_ABSENT
        return absent and self.mechanism.null_record

    @property
    def of_run(self) -> bool:
        """True if the round is a whole run of correlated noise, whose steps the scheme samples."""
        return self.sampling.samples_runs and Property.RUN in self.mechanism.properties

    def _scheme(self, direction: Direction) -> Sampling:
        """Return the scheme whose claims and pairs apply to the round in one direction."""
        return self.sampling if self.of_run else self.sampling.effective(direction)

    def claim(self, direction: Direction) -> Claim:
        """Return the claim for the round in one direction, with its source."""
        return claimed_of(self._scheme(direction), self.mechanism, direction)

    def known(self, direction: Direction) -> Known:
        """Return the tight pair, or the upper and lower pairs, of one round in one direction.

        Raises:
            UnsupportedError: no dominating pair is proven for the combination.
        """
        claim, sampling = self._check(direction), self._scheme(direction)
        found = sampling.known(self.mechanism, asked(sampling, direction))
        if claim.status is Status.UPPER and isinstance(found, Tight):
            return Above(found.above)  # this instance claims less than its class
        return found

    def of_many(self, direction: Direction, records: int) -> Known | RenyiCurve | None:
        """Return the pair of one round for a user with at most ``records`` records; see ``plan/users.py``.

        Args:
            direction: determines which of the two datasets holds the user's records.
            records: largest number of records of a user.

        Returns:
            The pair or a bound on the Renyi divergences; ``None`` if the only known bound is group privacy.

        Raises:
            UnsupportedError: nothing is proven for the combination, even for a single record.
        """
        if records == 1:
            return self.known(direction)
        claim = self._check(direction)
        found = self.sampling.of_many(self.mechanism, asked(self.sampling, direction), records)
        return Above(found.above) if isinstance(found, Tight) and claim.status is Status.UPPER else found

    def pair(self, direction: Direction) -> DominatingPair:
        """Return the dominating pair of one round in one direction.

        Raises:
            UnsupportedError: no dominating pair is proven for the combination.
        """
        return self.known(direction).above

    def curve(self, direction: Direction) -> RenyiCurve:
        """Return the Renyi curve of one round in one direction: the curve of its pair, or a bound if there is no pair.

        Raises:
            UnsupportedError: nothing is proven for the combination.
        """
        self._check(direction)
        sampling = self._scheme(direction)
        return sampling.curve(self.mechanism, asked(sampling, direction))

    def exact(self, direction: Direction) -> ExactRound:
        """Return the round in exact numbers, in one direction, for a proof.

        Raises:
            UnsupportedError: no dominating pair is proven for the combination, or no proof is implemented for it.
        """
        self.pair(direction)  # refuses a round without a dominating pair
        sampling = self._scheme(direction)
        found = sampling.exact(self.mechanism, asked(sampling, direction))
        if found is None:
            raise UnsupportedError(
                f"no proof is implemented for mechanism {self.mechanism.name!r} with sampling {self.sampling.name!r}; "
                "proofs cover Gaussian noise, discrete Gaussian noise and finitely many outcomes, Poisson-sampled or "
                "not, and unsampled Laplace noise; leave proof out for the certified interval"
            )
        return found

    def _check(self, direction: Direction) -> Claim:
        """Return the claim of the round in a direction; a refusal raises."""
        claim = self.claim(direction)
        if claim.status is Status.REFUSED:
            raise UnsupportedError(
                f"mechanism {self.mechanism.name!r} with sampling {self.sampling.name!r} under {direction.value!r}: "
                f"{claim.source}; `hockeystick supported` lists what is supported"
            )
        if self.mechanism.replacement_only is not None and direction is not Direction.REPLACE_ONE:
            raise UnsupportedError(self.mechanism.replacement_only)
        return claim

    def sort_key(self) -> tuple[Any, ...]:
        """Return the key by which a plan sorts its rounds: names, parameters, epochs, labels."""

        def key(part: Mechanism | Sampling) -> tuple[Any, ...]:
            values = (getattr(part, item) for item in domains.domains_of(type(part)))
            return part.name, tuple((value is None, 0 if value is None else value) for value in values)

        labels = tuple(getattr(self, label) or "" for label in LABELS)
        return key(self.mechanism), key(self.sampling), self.epochs is not None, labels


def steps_of_epoch(sampling: Sampling) -> int:
    """Return the number of steps of one pass over the data.

    Raises:
        InvalidInputError: the sampling scheme does not determine it.
    """
    each = sampling.steps_of_pass
    if each is None:
        raise InvalidInputError(
            "epochs needs a sampling scheme with batch_size and dataset_size, or with sample_rate, to know the steps "
            f"per epoch; received sampling {sampling.name!r}",
            "epochs",
        )
    return each
