"""Guesses of epsilon or delta by Renyi moments, from which published methods choose lattices; no bound depends on them.

Some moments are expensive: sampled Gaussian rounds of little noise need many quadrature nodes. Cheaper and slightly
larger bounds then replace the moments.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hockeystick.pairs import Composition, RenyiComposition
from hockeystick.pairs.renyi import RenyiBound, epsilon_from, log_delta_by, log_moment

KINDS = 64  # largest number of kinds of rounds whose moments are computed
SLACK = 1e-3  # error of log delta, harmless for the choice of a lattice


def guessed_epsilon(composition: Composition, log_delta: float) -> RenyiBound:
    """Return a guess of the epsilon at which finite losses have this log delta, and the Renyi order that gives it."""
    return epsilon_from(_moment(composition), log_delta)


def guessed_log_delta(composition: Composition, epsilon: float) -> RenyiBound:
    """Return a guess of log delta of the finite losses at epsilon, and the Renyi order that gives it."""
    return log_delta_by(_moment(composition), epsilon)


def _moment(composition: Composition) -> Callable[[float], float]:
    """Return K(t), a log-moment of the composition, as a function of t.

    If there are more than ``KINDS`` kinds of rounds, only some are used; their counts are multiplied to represent the
    others.
    """
    step = math.ceil(len(composition.rounds) / KINDS)
    few = RenyiComposition((pair, step * count) for pair, count in composition.rounds[step // 2 :: step])
    return lambda t: log_moment(few, t, SLACK)
