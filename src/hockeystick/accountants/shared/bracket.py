"""Base of published methods with an interval: each direction is bracketed by itself; the larger ends are returned.

The mass at infinite loss is handled separately from the finite losses.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from hockeystick.accountants.published import PublishedAccountant
from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.finite import EFFORT, known_epsilon
from hockeystick.directions.two_sided import delta_of, without_lower
from hockeystick.pairs import Composition
from hockeystick.values.bounds import Bound, DeltaBound
from hockeystick.values.errors import NotApplicableError

MOST_KINDS = 400
"""Largest number of different rounds; computing the laws of one takes up to ten milliseconds for both directions."""


class Ends(NamedTuple):
    """Ends ``lower <= truth <= upper``, and the reason why they differ."""

    lower: float
    upper: float
    reason: str | None = None


@dataclass(frozen=True)
class BracketAccountant(PublishedAccountant):
    """Accountant that brackets one direction at a time.

    Attributes:
        lean: place of the estimate between the ends (0 lower, 1 upper).
    """

    lean: ClassVar[float] = 0.5

    @abstractmethod
    def epsilon_ends(self, composition: Composition, delta: float) -> Ends:
        """Return the ends of epsilon in one direction, at a delta above its mass at infinite loss.

        The composition has at least one round.
        """

    @abstractmethod
    def log_delta_ends(self, composition: Composition, epsilon: float) -> Ends:
        """Return the ends of log delta in one direction, including the mass at infinite loss.

        Epsilon is below the largest loss.
        """

    def epsilon_at(self, directions: Directions, delta: float) -> Bound:
        """Return the largest lower and the largest upper end over the directions: they bound the largest epsilon."""
        return without_lower(directions, self._worst(directions, lambda each: self._epsilon(each, delta)))

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaBound:
        """Return the largest lower and the largest upper end over the directions: they bound the largest delta."""
        found = self._worst(directions, lambda each: self._log_delta(each, epsilon))
        return without_lower(directions, delta_of(found))

    def _worst(self, directions: Directions, ask: Callable[[Composition], Ends]) -> Bound:
        """Return the largest ends over the directions.

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
            return Ends(known.lower, known.upper, known.reason)
        largest = composition.largest_loss
        found = self.epsilon_ends(composition, delta)
        if largest is not None and found.upper > largest[1]:  # at the largest loss delta is the mass at infinity
            return Ends(min(found.lower, largest[1]), largest[1])
        return found

    def _log_delta(self, composition: Composition, epsilon: float) -> Ends:
        if not composition.rounds:
            return Ends(-math.inf, -math.inf)
        largest = composition.largest_loss
        if composition.tells_all or (largest is not None and epsilon >= largest[1]):
            low, high = (math.log(end) if end > 0 else -math.inf for end in composition.infinite_mass_ends)
            return Ends(low, high)
        return self.log_delta_ends(composition, epsilon)
