"""Base classes of published accountants: each refuses unsuitable plans first, and answers for the worst direction.

The mass at infinite loss is handled separately from the finite losses.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, NamedTuple, TypeVar, cast

from hockeystick.accountants.base import Accountant
from hockeystick.directions.below import attained
from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.finite import EFFORT, beyond, known_epsilon
from hockeystick.directions.one_sided import delta_bound, epsilon_bound, log_delta_of, worst
from hockeystick.directions.two_sided import delta_of, raised, without_lower
from hockeystick.pairs import Composition
from hockeystick.pairs.sides import width_of
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Answer, Bound, DeltaAnswer, DeltaBound, from_above
from hockeystick.values.errors import InvalidInputError, NotApplicableError

Rounds = TypeVar("Rounds")  # rounds of one direction, in the form a method takes
A = TypeVar("A", Answer, DeltaAnswer)

MOST_KINDS = 400
"""Largest number of different rounds; computing the laws of one takes up to ten milliseconds for both directions."""


class PublishedAccountant(Accountant):
    """Accountant of a publication, which accepts no ``gap``, since it cannot narrow its interval.

    Rounds may have separate upper and lower pairs. The lower bound is then computed from the lower pairs, which are
    compositions that some instance attains (``directions/below.py``).
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
        """Return an upper bound on log delta of one direction; by default, the bound on epsilon is inverted."""
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


class Ends(NamedTuple):
    """Certified ends ``lower <= truth <= upper``, and a reason if the interval is wide or infinite."""

    lower: float
    upper: float
    reason: str | None = None


@dataclass(frozen=True)
class BracketAccountant(PublishedAccountant):
    """Accountant that computes an interval for each direction separately.

    Attributes:
        lean: place of the estimate between the ends: 0 is the lower end, 1 the upper end.
    """

    lean: ClassVar[float] = 0.5

    @abstractmethod
    def epsilon_ends(self, composition: Composition, delta: float) -> Ends:
        """Return an interval for epsilon of a composition of at least one round.

        Delta is above the composition's mass at infinite loss.
        """

    @abstractmethod
    def log_delta_ends(self, composition: Composition, epsilon: float) -> Ends:
        """Return an interval for log delta of a composition, whose mass at infinite loss is included.

        Epsilon is below the largest loss.
        """

    def epsilon_at(self, directions: Directions, delta: float) -> Bound:
        """Return the largest lower and upper ends over the directions, which enclose the largest epsilon."""
        return without_lower(directions, self._worst(directions, lambda each: self._epsilon(each, delta)))

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaBound:
        """Return the largest lower and upper ends over the directions, which enclose the largest delta."""
        found = self._worst(directions, lambda each: self._log_delta(each, epsilon))
        return without_lower(directions, delta_of(found))

    def _worst(self, directions: Directions, ask: Callable[[Composition], Ends]) -> Bound:
        """Return the largest lower end and the largest upper end over the directions.

        Raises:
            NotApplicableError: there are too many different rounds.
        """
        composed = compositions(directions, effort=EFFORT)
        kinds = max(len(composition.rounds) for _, composition in composed)
        if kinds > MOST_KINDS:
            raise NotApplicableError(
                f"{kinds} different kinds of rounds would take too long with {self.name!r}; give at most {MOST_KINDS} "
                "(for example, round the noise down to fewer values), or use accountant 'auto'"
            )
        found = [(direction, ask(composition)) for direction, composition in composed]
        direction, worst = max(found, key=lambda item: item[1].upper)
        lower = max(ends.lower for _, ends in found)
        if math.isfinite(lower) and math.isfinite(worst.upper):
            estimate = min(max(lower + self.lean * (worst.upper - lower), lower), worst.upper)
        else:
            estimate = lower if worst.upper == math.inf else worst.upper
        return Bound(lower, estimate, worst.upper, accountant=self.name, direction=direction.value, reason=worst.reason)

    def _epsilon(self, composition: Composition, delta: float) -> Ends:
        known = known_epsilon(composition, delta)
        if known is not None:
            return Ends(known.lower, known.upper, known.limited)
        largest = composition.largest_loss
        found = self.epsilon_ends(composition, delta)
        if largest is not None and found.upper > largest[1]:  # at the largest loss delta is the mass at infinity
            return Ends(min(found.lower, largest[1]), largest[1])
        return found

    def _log_delta(self, composition: Composition, epsilon: float) -> Ends:
        if beyond(composition, epsilon):
            low, high = (math.log(end) if end > 0 else -math.inf for end in composition.infinite_mass_ends)
            return Ends(low, high)
        return self.log_delta_ends(composition, epsilon)


def log_delta_with(infinite: float, log_finite: float) -> float:
    """Return the logarithm of ``infinite + e^log_finite``, rounded up: delta with the mass at infinite loss."""
    if infinite == 0:
        return log_finite
    total = math.log(math.exp(log_finite) + infinite)
    return min(total + 1e-15 * (1 + abs(total)), 0.0)


def _from_below(directions: Directions, found: A, ask: Callable[[Directions], A]) -> A:
    """Return the answer ``found``, with its lower end replaced if rounds have separate upper and lower pairs.

    The lower end is then computed from the lower pairs. If the method does not apply to them, there is no lower end.
    """
    if not isinstance(found, Bound) or directions.tight or not directions.known_from_below:
        return found
    rounds = [composition.rounds for _, composition in attained(directions)]
    try:
        below: list[Answer] = [ask(Directions.of_pairs({Direction.REMOVE: each})) for each in rounds]
    except NotApplicableError:
        return cast(A, from_above(found))
    best = max((each for each in below if isinstance(each, Bound)), key=lambda each: each.lower)
    log_lower = best.log_delta.lower if isinstance(best, DeltaBound) else best.lower
    return cast(A, raised(found, best.lower, log_lower, f"besides the method's own error, {width_of(directions.why)}"))
