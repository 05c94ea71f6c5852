"""A plan: the rounds that were run on the data, under one neighbouring relation.

Plans are canonical: equal rounds are merged and the rest sorted, so that answers are bit-identical whatever the order
and grouping in which rounds were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

from hockeystick.accountants import Accountant, accountant_named
from hockeystick.directions.directions import Directions, Kind
from hockeystick.plan.caveats import records_of, told
from hockeystick.plan.keywords import NamedArguments
from hockeystick.plan.mechanisms import Mechanism
from hockeystick.plan.round import Round
from hockeystick.plan.sampling import Sampling
from hockeystick.plan.selection import SECRET, BestOf, Runs
from hockeystick.plan.users import USER, OfUnit, as_whole, check_route, check_unit, checked_unit, premise, refusal
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.bounds import from_above
from hockeystick.values.domains import unmet
from hockeystick.values.errors import InvalidInputError, UnsupportedError
from hockeystick.values.late import found

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from hockeystick.plan.audit import Audit
    from hockeystick.plan.profile import Profile
    from hockeystick.values.bounds import Answer, Bound, DeltaAnswer, DeltaBound

__all__ = ["Certified", "Plan", "Round"]

Certified = Literal["auto", "contour", "grid"]
"""The accountants that give an interval."""


@dataclass(frozen=True)
class Plan(metaclass=NamedArguments):
    """Rounds under one neighbouring relation, in canonical order.

    Args:
        rounds: any iterable of rounds. Rounds that differ only in their number of runs are merged, but a round given by
            its epochs is not merged with one given by its steps.
        adjacency: ``"add-or-remove"`` (default), ``"add"``, ``"remove"``, ``"replace-one"`` or ``"zero-out"``.
        delta: default target of :meth:`epsilon`, from 1e-300 to 1.
        published: claims about the plan in a publication (``source``, ``epsilon``, ...); never used in a computation.
        unit: protected unit: ``"record"`` (default), or ``"user"``: neighbouring datasets then differ in all records of
            one user (``plan/users.py``).
        records_per_unit: for users, the largest number of records of one user in the dataset, or in one partition of
            it.
        partitions_per_unit: largest number of partitions that hold records of one unit, if the data are partitioned and
            every round is run on each partition separately; 1 for single records. By default the data are not
            partitioned.
        best_of: the law of the number of runs, if only the best of a random number of runs of all rounds is released.
        delta_target: not for callers: the field that holds ``delta``, an argument only so that ``dataclasses.replace``
            works.

    Raises:
        InvalidInputError: an unknown adjacency or unit, ``records_per_unit`` missing for users or given for single
            records, or delta outside (0, 1).

    >>> import hockeystick as hs
    >>> training = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
    >>> plan = training + 5 * Round(hs.Gaussian(noise_multiplier=20.0))
    >>> [round_.count for round_ in plan.rounds]
    [1000, 5]
    """

    rounds: tuple[Round, ...]
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE
    delta_target: float | None = None
    published: Mapping[str, Any] | None = field(default=None, compare=False)
    unit: str = "record"
    records_per_unit: int = 1
    partitions_per_unit: int | None = None
    best_of: BestOf | None = None

    def __init__(
        self,
        rounds: Iterable[Round],
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
        delta: float | None = None,
        published: Mapping[str, Any] | None = None,
        *,
        unit: str = "record",
        records_per_unit: int | None = None,
        partitions_per_unit: int | None = None,
        best_of: BestOf | None = None,
        delta_target: float | None = None,
    ) -> None:
        delta = delta_target if delta is None else delta
        merged: dict[tuple[Any, ...], Round] = {}
        for item in _listed(rounds):
            if not isinstance(item, Round):
                raise InvalidInputError(_no_round(item), "round")
            key = (item.mechanism, item.sampling, item.epochs is None, *item.labels.items())
            joined = merged[key].joined(item) if key in merged else item
            assert joined is not None  # rounds with equal keys can be joined
            merged[key] = joined
        canonical = [item for item in merged.values() if item.count] or list(merged.values())
        if len(canonical) > 1:
            canonical.sort(key=Round.sort_key)
        who, records, partitions = checked_unit(unit, records_per_unit, partitions_per_unit)
        if best_of is not None and not isinstance(best_of, BestOf):
            raise unmet("best_of", "must be a BestOf", best_of)
        values = {
            "rounds": tuple(canonical), "adjacency": Adjacency.parse(adjacency),
            "delta_target": None if delta is None else domains.TARGET_DELTA.check(delta, "delta"),
            "published": None if published is None else _copied(published),
            "unit": who, "records_per_unit": records, "partitions_per_unit": partitions, "best_of": best_of,
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __add__(self, other: Plan | Round) -> Plan:
        if isinstance(other, Round):
            other = replace(self, rounds=(other,))
        if not isinstance(other, Plan):
            return NotImplemented
        if self.best_of is not None or other.best_of is not None:
            raise InvalidInputError(
                "a plan with a selection cannot be added to, because the selection covers all of its rounds; add the "
                "plans without it, then set best_of on the sum",
                "best_of",
            )
        units = [(each.unit, each.records_per_unit, each.partitions_per_unit) for each in (self, other)]
        if units[0] != units[1]:
            raise InvalidInputError(
                "plans must have the same unit to be added; received (unit, records, partitions) "
                f"{units[0]} and {units[1]}",
                "unit",
            )
        if other.adjacency is not self.adjacency:
            raise InvalidInputError(
                f"plans must have the same adjacency to be added; received {self.adjacency.value!r} and "
                f"{other.adjacency.value!r}",
                "adjacency",
            )
        delta = self.delta_target if self.delta_target is not None else other.delta_target
        both = self.rounds + other.rounds
        return replace(self, rounds=both, delta_target=delta, published=self.published or other.published)

    def __radd__(self, other: Round | Literal[0]) -> Plan:
        if type(other) is int and other == 0:  # sum() begins with 0
            return self
        if not isinstance(other, Round):
            return NotImplemented
        return self + other

    def __mul__(self, times: int) -> Plan:
        return self.with_rounds([times * item for item in self.rounds])

    __rmul__ = __mul__

    def with_rounds(self, rounds: Iterable[Round]) -> Plan:
        """Return the plan with other rounds; adjacency, target delta, unit and selection stay.

        Raises:
            InvalidInputError: an item is not a round.
        """
        return replace(self, rounds=tuple(rounds))

    def _repr_html_(self) -> str:
        """Return the plan as notebooks show it: a row for each kind of round."""
        from hockeystick.plan.notebook import plan_html

        return plan_html(self)

    @property
    def steps(self) -> int:
        """Total number of steps; as many as rounds, unless a sampling scheme says that a round is several steps."""
        return sum(item.steps for item in self.rounds)

    @property
    def kinds(self) -> list[tuple[Round, int]]:
        """For each pair of mechanism and sampling, in canonical order: its first round, and the total count."""
        kinds: dict[tuple[Mechanism, Sampling], tuple[Round, int]] = {}
        for item in self.rounds:
            key = (item.mechanism, item.sampling)
            first, count = kinds.get(key, (item, 0))
            kinds[key] = first, count + item.count
        return list(kinds.values())

    @property
    def dataset_size(self) -> int | None:
        """The smallest dataset size that a round names, if any does."""
        return records_of(self.samplings)

    @property
    def samplings(self) -> tuple[Sampling, ...]:
        """The different sampling schemes of the rounds, from which the assumptions of an answer follow."""
        return tuple(dict.fromkeys(item.sampling for item in self.rounds))

    @property
    def premises(self) -> dict[str, str]:
        """Conditions that the program must satisfy, as sentences by topic."""
        said = {f"sampling {sampling.name}": sampling.assumption for sampling in self.samplings}
        for item in self.rounds:
            said |= item.mechanism.premises
        if self.unit == USER or self.partitions_per_unit is not None:
            said[f"unit {self.unit}"] = premise(self)
        if self.best_of is not None:
            said["selection"] = SECRET
        return said

    @property
    def of_records(self) -> bool:
        """True if single records are protected, in unsplit data."""
        return self.records_per_unit == 1 and self.partitions_per_unit is None

    @cached_property
    def by_group(self) -> bool:
        """True if the plan protects users, and some round has no proven pair for a user's records.

        A round without any guarantee for ``records_per_unit`` records is ignored here, and refused by every query.
        """
        if self.records_per_unit == 1:
            return False
        directions = self.adjacency.directions
        return any(
            _without_pair(item, direction, self.records_per_unit)
            for item, count in self.kinds
            if count
            for direction in directions
        )

    @property
    def whole(self) -> bool:
        """True if answers come from group privacy or a selection (``plan/users.py``), not from composing pairs."""
        return self.best_of is not None or (self.records_per_unit > 1 and self.by_group)

    @cached_property
    def directions(self) -> Directions:
        """For each direction, the rounds that can include any one record, in the form that accountants take.

        Raises:
            UnsupportedError: answers do not come from composing pairs (:attr:`whole`).
        """
        if self.whole:
            raise refusal(self)
        if not self.of_records:
            check_unit(self)
            times, records = self.partitions_per_unit or 1, self.records_per_unit
            of_unit = ((OfUnit(item, records) if records > 1 else item, times * count) for item, count in self.kinds)
            return Directions(self.adjacency, tuple((kind, count) for kind, count in of_unit if count))
        kinds: list[tuple[Kind, int]] = [(item, item.participations(count)) for item, count in self.kinds]
        uneven = [at for at, (item, count) in enumerate(self.kinds) if not item.same_for_all(count)]
        if len(uneven) > 1:
            from hockeystick.directions.kinds import FromAbove

            for at in uneven:
                kinds[at] = FromAbove(kinds[at][0]), kinds[at][1]
        return Directions(self.adjacency, tuple(kinds))

    @overload
    def epsilon(
        self,
        delta: float | None = None,
        *,
        accountant: Certified = "auto",
        gap: float | None = None,
        proof: bool = False,
    ) -> Bound: ...
    @overload
    def epsilon(
        self,
        delta: float | None = None,
        *,
        accountant: str,
        gap: float | None = None,
        proof: bool = False,
        **options: float,
    ) -> Answer: ...
    def epsilon(
        self,
        delta: float | None = None,
        *,
        accountant: str = "auto",
        gap: float | None = None,
        proof: bool = False,
        **options: float,
    ) -> Answer:
        """Return the least epsilon >= 0 such that the plan is (epsilon, delta)-differentially private.

        Args:
            delta: 0, or from 1e-300 to 1; 0 needs a finite pure epsilon. By default it is the plan's own delta.
            accountant: a name that ``hockeystick accountants`` lists.
            gap: requested relative width of the interval; the accountant's default if ``None``.
            proof: True to prove the interval by ball arithmetic, or raise an error if that is impossible; needs the
                package's extra ``proof``.
            options: further options of the accountant, such as ``eps_error`` of ``prv``; see the accountant's class.

        Returns:
            A certified interval, whose upper end is ``inf``, with the reason, if epsilon is infinite. An accountant
            with only an upper bound returns an :class:`UpperBound`, and an accountant without any bound an
            :class:`Estimate`.

        Raises:
            InvalidInputError: neither the call nor the plan has a delta, or a value is outside its domain.
            UnsupportedError: a round for which no dominating pair is proven, a plan that the accountant cannot treat,
                or no proof if ``proof`` is true.
            HockeystickError: ``proof`` is true, and python-flint is missing.

        >>> import hockeystick as hs
        >>> one = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
        >>> print(one.epsilon(delta=1e-6))
        2.12451 to 2.12452 (certified)
        """
        target = asked_delta(self, delta)
        if self.whole:
            check_route(self, accountant, proof, options)
            return as_whole(self).epsilon(target, gap)
        chosen = accountant_named(accountant, proof, options)
        found = chosen.epsilon(self.directions, target, gap)
        return told(found if self._has_lower(chosen) else from_above(found), self, target)

    @overload
    def delta(
        self, epsilon: float, *, accountant: Certified = "auto", gap: float | None = None, proof: bool = False
    ) -> DeltaBound: ...
    @overload
    def delta(
        self, epsilon: float, *, accountant: str, gap: float | None = None, proof: bool = False, **options: float
    ) -> DeltaAnswer: ...
    def delta(
        self,
        epsilon: float,
        *,
        accountant: str = "auto",
        gap: float | None = None,
        proof: bool = False,
        **options: float,
    ) -> DeltaAnswer:
        """Return the least delta such that the plan is (epsilon, delta)-differentially private.

        Args:
            epsilon: from 0 to 1e4.
            accountant: a name that ``hockeystick accountants`` lists.
            gap: requested relative width of the interval; the accountant's default if ``None``.
            proof: True to prove the interval by ball arithmetic, or raise an error if that is impossible; needs the
                package's extra ``proof``.
            options: further options of the accountant, such as ``eps_error`` of ``prv``; see the accountant's class.

        Returns:
            A certified interval. Its ``log_delta`` holds the natural logarithm, also if delta is below the range of a
            double (its upper end is then 5e-324). An accountant with only an upper bound returns a
            :class:`DeltaUpperBound`, and an accountant without any bound a :class:`DeltaEstimate`.

        Raises:
            InvalidInputError: a value outside its domain.
            UnsupportedError: a round for which no dominating pair is proven, a plan that the accountant cannot treat,
                or no proof if ``proof`` is true.
            HockeystickError: ``proof`` is true, and python-flint is missing.

        >>> import hockeystick as hs
        >>> hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000).delta(epsilon=2.0).upper  # doctest: +ELLIPSIS
        2.66...e-06
        """
        epsilon = domains.epsilon(epsilon, "epsilon", "the target epsilon")
        if self.whole:
            check_route(self, accountant, proof, options)
            return as_whole(self).delta(epsilon, gap)
        chosen = accountant_named(accountant, proof, options)
        found = chosen.delta(self.directions, epsilon, gap)
        return told(found if self._has_lower(chosen) else from_above(found), self, found.quoted)

    def _has_lower(self, accountant: Accountant) -> bool:
        """Return True if the interval of an accountant has a lower end, from tight pairs or from lower pairs."""
        return self.directions.known_from_below if accountant.below else self.directions.tight

    def log_delta(
        self, epsilon: float, *, accountant: Certified = "auto", gap: float | None = None, proof: bool = False
    ) -> Bound:
        """Return the natural logarithm of :meth:`delta`, also below the range of a double; ``-inf`` if delta is 0."""
        return self.delta(epsilon, accountant=accountant, gap=gap, proof=proof).log_delta

    def profile(self, gap: float | None = None) -> Profile:
        """Return the privacy profile: delta and epsilon over arrays, error rates of attacks, the tight mu, groups.

        Args:
            gap: requested relative width of delta; the engines' defaults if ``None``.

        Raises:
            InvalidInputError: a gap outside (0, 1].
            UnsupportedError: some round has no proven dominating pair.

        >>> import hockeystick as hs
        >>> profile = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000).profile()
        >>> profile.tpr([0.001, 0.01]).upper.round(4).tolist()
        [0.0041, 0.0291]
        """
        from hockeystick.plan.profile import Profile

        return Profile(self, gap)

    def selection(self, runs: Runs, mean: float, shape: float | None = None) -> Plan:
        """Return the plan that releases the best of a random number of runs of this one, as in hyperparameter tuning.

        Args:
            runs: the law of the number of runs: ``"geometric"``, ``"logarithmic"``, ``"negative-binomial"`` or
                ``"poisson"``.
            mean: the expected number of runs.
            shape: shape of the law ``"negative-binomial"``, greater than -1.

        Raises:
            InvalidInputError: an unknown law, a mean or a shape outside its domain, a shape for another law, or a plan
                that already has a selection.
            UnsupportedError: a plan for users for whom no pair is proven.

        >>> import hockeystick as hs
        >>> one = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
        >>> print(f"{one.epsilon(1e-6):.2f} {one.selection('geometric', mean=20).epsilon(1e-6):.2f}")
        2.13 3.23
        """
        if self.best_of is not None:
            raise InvalidInputError("the plan already has a selection (best_of); leave out one of the two", "best_of")
        if self.by_group:
            raise refusal(self)
        return replace(self, best_of=BestOf(runs, mean, shape))

    def audit(self, canaries: int, guesses: int, correct: int, significance: float = 0.05) -> Audit:
        """Test if an attack on one run contradicts this plan.

        Each canary is a record that is put into the data or left out by its own fair coin. The attack guesses the coins
        from the release. Under ``zero-out``, all canaries are in the data, and the coin decides if a canary contributes
        or its contribution is set to zero.

        Args:
            canaries: number of canaries.
            guesses: number of canaries whose inclusion was guessed.
            correct: number of right guesses.
            significance: the p-value up to which the plan is rejected, in (0, 1).

        Raises:
            InvalidInputError: a number outside its domain, more guesses than canaries, or more right ones than guesses.
            UnsupportedError: the adjacency is neither ``add-or-remove`` nor ``zero-out``, or nothing is proven for some
                round.

        >>> import hockeystick as hs
        >>> one = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
        >>> one.audit(canaries=1000, guesses=200, correct=115).rejected
        False
        >>> one.audit(canaries=1000, guesses=200, correct=190).rejected
        True
        """
        from hockeystick.plan.audit import audit

        return audit(self, canaries, guesses, correct, significance)

    def plot(self, *others: Plan, kind: str = "curve", **options: Any) -> Figure:
        """Return a figure of this plan, or of several plans: the certified band, with the quoted point marked.

        Args:
            others: plans that are drawn into the same figure.
            kind: ``"curve"`` (delta against epsilon), ``"steps"`` (epsilon against rounds) or ``"tradeoff"`` (errors
                of attacks).
            options: options of the function of ``hockeystick.plot`` that draws the kind: ``delta``, ``labels``, ...

        Raises:
            InvalidInputError: an unknown kind or option, or a value outside its domain.
            UnsupportedError: nothing is proven for some round.
            HockeystickError: matplotlib is missing.

        >>> import hockeystick as hs
        >>> one, other = (hs.dp_sgd(noise, 0.01, 1000, delta=1e-5) for noise in (1.0, 2.0))
        >>> figure = one.plot(other, labels=["noise 1", "noise 2"])  # doctest: +SKIP
        """
        figure: Figure = found("hockeystick.plot.shown:plotted")(kind, self, *others, **options)  # a layer above
        return figure

    def compare(self, delta: float | None = None, *, epsilon: float | None = None) -> Any:
        """Return the answers of all accountants for this plan, side by side, as ``hockeystick compare`` prints them.

        Args:
            delta: delta at which epsilons are compared; the plan's own by default.
            epsilon: epsilon at which deltas are compared instead.

        Raises:
            InvalidInputError: both are given, neither the call nor the plan has a delta, or a value is outside its
                domain.

        >>> import hockeystick as hs
        >>> rows = hs.dp_sgd(1.0, 0.01, 1000).compare(delta=1e-5)
        >>> print(rows["rdp"].answer, rows["auto"].answer, sep="; ")
        at most 2.10133 (upper bound); 1.82823 to 1.82824 (certified)
        """
        return found("hockeystick.report.comparison:compared")(self, delta, epsilon)  # a layer above this one

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Return the plan with the keys of a plan file.

        Raises:
            InvalidInputError: an unknown key, a wrong type, a value outside its domain; the message names the key.

        >>> Plan.from_dict({"round": [{"mechanism": "laplace", "scale": 10, "count": 5}]}).steps
        5
        """
        from hockeystick.plan.file import plan_from_dict

        return plan_from_dict(data)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the plan file; ``Plan.from_dict(plan.to_dict()) == plan``."""
        from hockeystick.plan.file import plan_to_dict

        return plan_to_dict(self)

    def save(self, path: str | Path) -> None:
        """Write the plan to a ``.toml`` or ``.json`` file, whole or not at all.

        Raises:
            InvalidInputError: any other file name ending.
        """
        from hockeystick.plan.file import save_plan

        save_plan(self, path)


def _listed(rounds: object) -> Iterable[Any]:
    if isinstance(rounds, Iterable) and not isinstance(rounds, str | Mapping):
        return rounds
    remedy = "; put it in a list" if isinstance(rounds, Round) else ""
    raise InvalidInputError(f"rounds must be a list of rounds; received {domains.shown(rounds)}{remedy}", "round")


def _no_round(item: object) -> str:
    """Return the error message for an item that is not a round; if it is a mechanism, the message says what to do."""
    line = f"each item of a plan must be a Round; received {domains.shown(item)}"
    if not isinstance(item, Mechanism):
        return line
    return f"{line}; wrap it, as in hs.Round({type(item).__name__}(...)), with its sampling scheme and count if any"


def _without_pair(item: Round, direction: Direction, records: int) -> bool:
    """Return True if a round is not refused for this number of records, but no pair is proven for them."""
    try:
        return item.of_many(direction, records) is None
    except UnsupportedError:
        return False


def _copied(published: object) -> dict[str, Any]:
    """Return a copy of the published claims."""
    if not isinstance(published, Mapping):
        raise unmet("published", "must be a dictionary, such as {'source': 'a page'}", published)
    return dict(published)


def asked_delta(plan: Plan, delta: float | None) -> float:
    """Return the delta of a question about a plan: the given one, or else the plan's own.

    Raises:
        InvalidInputError: neither the call nor the plan has a delta, or it is outside its domain.
    """
    if delta is None and plan.delta_target is None:
        raise InvalidInputError(
            "no delta: the plan has no target delta; pass delta= or set the key delta in the plan", "delta"
        )
    return domains.delta(plan.delta_target if delta is None else delta)  # type: ignore[arg-type]  # one is given
