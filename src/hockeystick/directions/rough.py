"""Fast guesses of epsilon, as starting points of searches; nothing is certified."""

from __future__ import annotations

import math

from hockeystick.directions.directions import Directions, mixed_composition
from hockeystick.engines.guide import Guide
from hockeystick.pairs import Composition

DEPTH = 50.0  # e-folds of delta beyond which losses are neglected


def rough_epsilon(directions: Directions, delta: float) -> float | None:
    """Return a guess of epsilon in the first direction, by the leading saddle-point term; ``None`` if that fails."""
    composition = mixed_composition(directions.rounds(directions.adjacency.directions[0]))
    if not isinstance(composition, Composition):  # a round has only a Renyi curve
        return None
    finite = delta - composition.infinite_mass
    if not composition.rounds or finite <= 0:
        return None
    guide = Guide(composition, math.log(finite) - DEPTH)
    epsilon = guide.epsilon(guide.tilt_for_delta(math.log(finite)))
    return epsilon if 0 < epsilon < math.inf else None
