"""Guesses of epsilon or delta by Renyi moments, from which published methods choose lattices; no bound depends on them.

The moments are those of the ``rdp`` accountant. If they are expensive (sampled Gaussian rounds of little noise, whose
quadrature needs many nodes), slightly larger bounds on the moments replace them.
"""

from __future__ import annotations

import math

from hockeystick.pairs import Composition, RenyiComposition
from hockeystick.pairs.renyi import RenyiBound, epsilon_from, log_delta_by, log_moment
from hockeystick.pairs.sampled.gaussian_transform import MixtureTransform

KINDS = 64  # largest number of kinds whose moments are computed
ASKED = 33  # approximate number of moments that one answer needs
NODE = 4e-7  # seconds for a node of a moment
DEAR = 0.5  # if the moments of one answer take more seconds than this, bounds replace them
SLACK = 1e-3  # error of log delta, harmless for the choice of a lattice


def moment_seconds(composition: RenyiComposition) -> float:
    """Return the approximate time in seconds for the moments of one answer, from their quadrature nodes at order 2."""
    transforms = [pair.transform for pair, _ in composition.rounds]
    return ASKED * NODE * sum(found.moment_nodes(1.0) for found in transforms if isinstance(found, MixtureTransform))


def guessed_epsilon(composition: Composition, log_delta: float) -> RenyiBound:
    """Return a guess of epsilon at a delta of the finite losses, and the order that gives it."""
    few, slack = _few(composition), _slack(composition)
    return epsilon_from(lambda t: log_moment(few, t, slack), log_delta)


def guessed_log_delta(composition: Composition, epsilon: float) -> RenyiBound:
    """Return a guess of log delta of the finite losses at an epsilon, and the order that gives it."""
    few, slack = _few(composition), _slack(composition)
    return log_delta_by(lambda t: log_moment(few, t, slack), epsilon)


def _few(composition: Composition) -> RenyiComposition:
    """Sample of at most ``KINDS`` kinds of rounds, with counts scaled up to stand for the kinds left out."""
    step = math.ceil(len(composition.rounds) / KINDS)
    if step <= 1:
        return composition
    return RenyiComposition((pair, step * count) for pair, count in composition.rounds[step // 2 :: step])


def _slack(composition: Composition) -> float:
    return SLACK if moment_seconds(composition) > DEAR else 0.0
