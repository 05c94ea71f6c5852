"""A guess at epsilon in a fraction of the time of an answer, for searches to set out from; nothing is certified."""

from __future__ import annotations

import math

from hockeystick.directions.directions import Directions, first_composition
from hockeystick.engines.guide import Guide
from hockeystick.pairs import Composition

DEPTH = 50.0  # e-folds of delta beyond which losses are left out


def rough_epsilon(directions: Directions, delta: float) -> float | None:
    """A rough epsilon of the first direction, by the leading saddle-point term; ``None`` where that makes no sense."""
    composition = first_composition(directions)
    if not isinstance(composition, Composition):  # of a round nothing but a Renyi curve is known
        return None
    finite = delta - composition.infinite_mass
    if not composition.rounds or finite <= 0:
        return None
    guide = Guide(composition, math.log(finite) - DEPTH)
    epsilon = guide.epsilon(guide.tilt_for_delta(math.log(finite)))
    return epsilon if 0 < epsilon < math.inf else None
