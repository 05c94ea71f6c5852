"""Base classes of published accountants: refusals are checked first, then the larger bound of the directions taken."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar, cast

from hockeystick.accountants.base import Accountant
from hockeystick.directions.below import attained
from hockeystick.directions.directions import Directions
from hockeystick.directions.one_sided import delta_bound, epsilon_bound, log_delta_of, worst
from hockeystick.directions.two_sided import raised
from hockeystick.pairs.sides import width_of
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Answer, Bound, DeltaAnswer, DeltaBound, from_above
from hockeystick.values.errors import InvalidInputError, NotApplicableError

Rounds = TypeVar("Rounds")  # rounds of one direction, in the form a method takes
A = TypeVar("A", Answer, DeltaAnswer)


class PublishedAccountant(Accountant):
    """Accountant of a publication, which accepts no ``gap``, since it cannot narrow its interval.

    If rounds have separate upper and lower pairs, the lower end comes from the lower pairs: compositions that some
    instance attains (``directions/below.py``).
    """

    below = True

    @abstractmethod
    def epsilon_at(self, directions: Directions, delta: float) -> Answer:
        """Return epsilon at delta in [0, 1)."""

    @abstractmethod
    def delta_at(self, directions: Directions, epsilon: float) -> DeltaAnswer:
        """Return delta at epsilon >= 0."""

    def epsilon(self, directions: Directions, delta: float, gap: float | None = None) -> Answer:
        """Return epsilon at delta; refuse a gap, and plans outside the domain of the method."""
        self.check(directions, delta)
        self._refuse_gap(gap)
        return _from_below(directions, self.epsilon_at(directions, delta), lambda each: self.epsilon_at(each, delta))

    def delta(self, directions: Directions, epsilon: float, gap: float | None = None) -> DeltaAnswer:
        """Return delta at epsilon; refuse a gap, and plans outside the domain of the method."""
        self.check(directions)
        self._refuse_gap(gap)
        return _from_below(directions, self.delta_at(directions, epsilon), lambda each: self.delta_at(each, epsilon))

    def _refuse_gap(self, gap: float | None) -> None:
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
        """Return the rounds of each direction, in the form that the method takes."""

    @abstractmethod
    def epsilon_above(self, rounds: Rounds, delta: float) -> float:
        """Return an upper bound on epsilon of one direction."""

    def log_delta_above(self, rounds: Rounds, epsilon: float) -> float:
        """Return an upper bound on log delta of one direction; by default, by inverting the bound on epsilon."""
        return log_delta_of(partial(self.epsilon_above, rounds), epsilon)

    def looseness(self, directions: Directions) -> str | None:
        """Return the reason why the bounds of these rounds are looser than usual, if they are."""
        return None

    def epsilon_at(self, directions: Directions, delta: float) -> Answer:
        """Return the larger epsilon of the directions."""
        direction, found = worst(self.subjects(directions), lambda rounds: self.epsilon_above(rounds, delta))
        return epsilon_bound(self.name, direction, found, None if math.isinf(found) else self.looseness(directions))

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaAnswer:
        """Return the larger delta of the directions."""
        direction, found = worst(self.subjects(directions), lambda rounds: self.log_delta_above(rounds, epsilon))
        return delta_bound(self.name, direction, found, self.looseness(directions))


def log_delta_with(infinite: float, log_finite: float) -> float:
    """Return the logarithm of delta, rounded up: the mass at infinite loss plus delta of the finite losses."""
    if infinite == 0:
        return log_finite
    total = math.log(math.exp(log_finite) + infinite)
    return min(total + 1e-15 * (1 + abs(total)), 0.0)


def _from_below(directions: Directions, found: A, ask: Callable[[Directions], A]) -> A:
    """Return the answer; for rounds with separate upper and lower pairs, its lower end comes from the lower pairs.

    If the method does not apply to the lower pairs, the answer has only an upper end.
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
