"""Guesses of epsilon or delta by Renyi moments, from which published methods choose lattices; no bound depends on them.

Where moments are expensive (sampled Gaussian rounds of little noise need many quadrature nodes), cheaper and slightly
larger bounds on them are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hockeystick.pairs import Composition, RenyiComposition
from hockeystick.pairs.renyi import RenyiBound, epsilon_from, log_delta_by, log_moment
from hockeystick.pairs.sampled.gaussian_transform import MixtureTransform

KINDS = 64  # largest number of kinds whose moments are computed
NODE = 33 * 4e-7  # seconds for a node of a moment, times the approximate number of moments that one answer needs
SLACK = 1e-3  # error of log delta, harmless for the choice of a lattice


def moment_seconds(composition: RenyiComposition) -> float:
    """Return the approximate time for the moments that one answer needs, in seconds.

    It is estimated from the number of quadrature nodes at order 2.
    """
    transforms = [pair.transform for pair, _ in composition.rounds]
    return NODE * sum(found.moment_nodes(1.0) for found in transforms if isinstance(found, MixtureTransform))


def guessed_epsilon(composition: Composition, log_delta: float) -> RenyiBound:
    """Return a guess of the epsilon at which finite losses have this log delta, and the Renyi order that gives it."""
    return epsilon_from(_moment(composition), log_delta)


def guessed_log_delta(composition: Composition, epsilon: float) -> RenyiBound:
    """Return a guess of log delta of the finite losses at epsilon, and the Renyi order that gives it."""
    return log_delta_by(_moment(composition), epsilon)


def _moment(composition: Composition) -> Callable[[float], float]:
    """Return K(t), a log-moment of the composition, as a function of t.

    Of more than ``KINDS`` kinds of rounds only some are used, with counts raised to represent the others.
    """
    step = math.ceil(len(composition.rounds) / KINDS)
    few = RenyiComposition((pair, step * count) for pair, count in composition.rounds[step // 2 :: step])
    return lambda t: log_moment(few, t, SLACK)
