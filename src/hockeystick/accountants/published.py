"""Base classes of published accountants: each refuses unsuitable plans first, and answers for the worst direction.

The mass at infinite loss is handled separately from the finite losses.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar, cast

from hockeystick.accountants.base import Accountant
from hockeystick.directions.below import attained
from hockeystick.directions.directions import Directions
from hockeystick.directions.finite import bounded_delta, bounded_epsilon
from hockeystick.directions.one_sided import delta_bound, epsilon_bound, log_delta_of, worst
from hockeystick.directions.two_sided import raised
from hockeystick.pairs import Composition
from hockeystick.pairs.sides import width_of
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Answer, Bound, DeltaAnswer, DeltaBound, from_above
from hockeystick.values.errors import InvalidInputError, NotApplicableError
from hockeystick.values.interval import Interval

Rounds = TypeVar("Rounds")  # rounds of one direction, in the form a method takes
A = TypeVar("A", Answer, DeltaAnswer)

MOST_KINDS = 800
"""Largest number of kinds of rounds; the laws of one kind, in both directions, take up to ten milliseconds."""

SHARE = 1e-3
"""Fraction of delta that a method leaves out, unless an option says otherwise."""

LEFT_OUT = "delta is at most the probability that the method leaves out, or within the rounding of its transforms"
"""Reason for an infinite upper end."""


class PublishedAccountant(Accountant):
    """Accountant of a publication, which accepts no ``gap``, since it cannot narrow its interval.

    Rounds may have separate upper and lower pairs. The lower bound is then computed from the lower pairs, since
    some instance attains their composition (``directions/below.py``).
    """

    below = True

    @abstractmethod
    def epsilon_at(self, directions: Directions, delta: float) -> Answer:
        """Return epsilon at delta in [0, 1)."""

    @abstractmethod
    def delta_at(self, directions: Directions, epsilon: float) -> DeltaAnswer:
        """Return delta at epsilon >= 0."""

    def epsilon(self, directions: Directions, delta: float, gap: float | None = None) -> Answer:
        """Return epsilon at delta.

        Raises:
            InvalidInputError: a gap is given.
            NotApplicableError: the method does not apply to the plan.
        """
        self._check(directions, gap, delta)
        return _from_below(directions, self.epsilon_at(directions, delta), lambda each: self.epsilon_at(each, delta))

    def delta(self, directions: Directions, epsilon: float, gap: float | None = None) -> DeltaAnswer:
        """Return delta at epsilon.

        Raises:
            InvalidInputError: a gap is given.
            NotApplicableError: the method does not apply to the plan.
        """
        self._check(directions, gap)
        return _from_below(directions, self.delta_at(directions, epsilon), lambda each: self.delta_at(each, epsilon))

    def _check(self, directions: Directions, gap: float | None, delta: float = 0.0) -> None:
        self.check(directions, delta)
        if gap is not None:
            raise InvalidInputError(
                f"gap applies only to accountants that return an interval; received {domains.shown(gap)} with "
                f"{self.name!r}; leave it out",
                "gap",
            )


class UpperBoundAccountant(PublishedAccountant, Generic[Rounds]):
    """Accountant that bounds each direction from above; the answer is the larger of the bounds."""

    @abstractmethod
    def subjects(self, directions: Directions) -> Sequence[tuple[Direction, Rounds]]:
        """Return each direction with its rounds, as :meth:`epsilon_above` takes them."""

    @abstractmethod
    def epsilon_above(self, rounds: Rounds, delta: float) -> float:
        """Return an upper bound on epsilon of one direction."""

    def log_delta_above(self, rounds: Rounds, epsilon: float) -> float:
        """Return an upper bound on log delta of one direction; by default, the inverse of the bound on epsilon."""
        return log_delta_of(partial(self.epsilon_above, rounds), epsilon)

    def looseness(self, directions: Directions) -> str | None:
        """Return a note if, for these rounds, the method's bound is known to be loose."""
        return None

    def epsilon_at(self, directions: Directions, delta: float) -> Answer:
        """Return the largest of the directions' upper bounds on epsilon."""
        direction, found = worst(self.subjects(directions), lambda rounds: self.epsilon_above(rounds, delta))
        return epsilon_bound(self.name, direction, found, None if math.isinf(found) else self.looseness(directions))

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaAnswer:
        """Return the largest of the directions' upper bounds on delta."""
        direction, found = worst(self.subjects(directions), lambda rounds: self.log_delta_above(rounds, epsilon))
        return delta_bound(self.name, direction, found, self.looseness(directions))


class BracketAccountant(PublishedAccountant):
    """Accountant that computes intervals for finite losses; ``directions/finite.py`` adds the mass at infinite loss."""

    @abstractmethod
    def epsilon_ends(self, composition: Composition, deltas: tuple[float, float]) -> Interval:
        """Return an interval for epsilon of a composition of at least one round.

        The two deltas, both positive, are a lower and an upper bound on the delta of the finite losses.
        """

    @abstractmethod
    def log_delta_ends(self, composition: Composition, epsilon: float) -> Interval:
        """Return an interval for log delta of the finite losses of a composition; epsilon is below the largest loss."""

    def epsilon_at(self, directions: Directions, delta: float) -> Bound:
        """Return an interval for the largest epsilon of the directions: the largest lower and the largest upper end."""
        return bounded_epsilon(
            directions, delta, self.name, lambda rounds, deltas: self.epsilon_ends(self._few(rounds), deltas)
        )

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaBound:
        """Return an interval for the largest delta of the directions: the largest lower and the largest upper end."""
        return bounded_delta(
            directions, epsilon, self.name, lambda rounds, at: self.log_delta_ends(self._few(rounds), at)
        )

    def _few(self, composition: Composition) -> Composition:
        """Return the composition, unless it has too many kinds of rounds.

        Raises:
            NotApplicableError: there are more than ``MOST_KINDS`` kinds.
        """
        check_kinds(len(composition.rounds), self.name)
        return composition


def check_kinds(kinds: int, name: str) -> None:
    """Refuse more kinds of rounds than ``MOST_KINDS``.

    Raises:
        NotApplicableError: there are more kinds.
    """
    if kinds > MOST_KINDS:
        raise NotApplicableError(
            f"{kinds} different kinds of rounds would take too long with {name!r}; give at most {MOST_KINDS} (for "
            "example, round the noise down to fewer values), or use accountant 'auto'"
        )


def enclosed(lower: float, upper: float, reason: str | None = None, lean: float = 0.5) -> Interval:
    """Return the interval between two ends, with the estimate at a fraction ``lean`` of the way from the lower end.

    If one end is infinite, the estimate is the other one. An infinite upper end comes with a reason.
    """
    if math.isfinite(lower) and math.isfinite(upper):
        return Interval(lower, min(max(lower + lean * (upper - lower), lower), upper), upper, reason)
    if upper == math.inf:
        return Interval(lower, lower, upper, reason or LEFT_OUT)
    return Interval(lower, upper, upper, reason)


def _from_below(directions: Directions, found: A, ask: Callable[[Directions], A]) -> A:
    """Return the answer ``found``, with its lower end replaced if rounds have separate upper and lower pairs.

    The lower end is then computed from the lower pairs. If the method does not apply to them, or bounds them only from
    above, there is no lower end.
    """
    if not isinstance(found, Bound) or directions.tight or not directions.known_from_below:
        return found
    rounds = [composition.rounds for _, composition in attained(directions)]
    try:
        below: list[Answer] = [ask(Directions.of_pairs({Direction.REMOVE: each})) for each in rounds]
    except NotApplicableError:
        below = []
    best = max((each for each in below if isinstance(each, Bound)), key=lambda each: each.lower, default=None)
    if best is None:
        return cast(A, from_above(found))
    log_lower = best.log_delta.lower if isinstance(best, DeltaBound) else best.lower
    return cast(A, raised(found, best.lower, log_lower, f"besides the method's own error, {width_of(directions.why)}"))
