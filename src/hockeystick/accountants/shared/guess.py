"""A guess at epsilon or delta by Renyi moments, by which published methods choose their lattices; nothing rests on it.

The moments are those of ``rdp``. Where they are dear (sampled Gaussian rounds of very little noise, by quadrature over
more nodes the less noise there is) bounds that lie a little above them do as well.
"""

from __future__ import annotations

import math

from hockeystick.pairs import Composition, RenyiComposition
from hockeystick.pairs.renyi import RenyiBound, epsilon_from, log_delta_by, log_moment
from hockeystick.pairs.sampled.gaussian_transform import MixtureTransform

KINDS = 64  # whose moments are taken
ASKED = 33  # moments for one answer, about
NODE = 4e-7  # seconds for a node of a moment
DEAR = 0.5  # seconds for one answer
SLACK = 1e-3  # of log delta: far less than any choice of a lattice depends on


def moment_seconds(composition: RenyiComposition) -> float:
    """About how long the moments for one answer take, counted by nodes of quadrature (at order 2)."""
    transforms = [pair.transform for pair, _ in composition.rounds]
    return ASKED * NODE * sum(found.moment_nodes(1.0) for found in transforms if isinstance(found, MixtureTransform))


def guessed_epsilon(composition: Composition, log_delta: float) -> RenyiBound:
    """Epsilon at a delta of the finite losses, and the order that gives it."""
    few, slack = _few(composition), _slack(composition)
    return epsilon_from(lambda t: log_moment(few, t, slack), log_delta)


def guessed_log_delta(composition: Composition, epsilon: float) -> RenyiBound:
    """log delta of the finite losses at an epsilon, and the order that gives it."""
    few, slack = _few(composition), _slack(composition)
    return log_delta_by(lambda t: log_moment(few, t, slack), epsilon)


def _few(composition: Composition) -> RenyiComposition:
    """As many rounds of few of the kinds, where there are many kinds: each of these stands for its neighbours too."""
    step = math.ceil(len(composition.rounds) / KINDS)
    if step <= 1:
        return composition
    return RenyiComposition((pair, step * count) for pair, count in composition.rounds[step // 2 :: step])


def _slack(composition: Composition) -> float:
    return SLACK if moment_seconds(composition) > DEAR else 0.0
