"""Pairs that have only atoms, from which extremely improbable large losses are left out.

Let S be the sum of the finite losses of all rounds under P, and ``D(eps) = E (1 - e^(eps - S))_+``. Let D' be the same
expectation restricted to outcomes in which no round has a loss that is left out. An outcome adds between 0 and its own
mass to D, so that

    D'(eps) <= D(eps) <= D'(eps) + P(a round has a loss that is left out) <= D'(eps) + sum of the masses left out ,

where the sum is over all rounds. An extremely improbable loss may be so large that it has nearly all mass of the law
tilted by ``e^(tL)``. An engine that tilts the law towards epsilon would then resolve no other loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hockeystick.numerics.rounding import SPARE
from hockeystick.pairs.base import Atoms, DominatingPair
from hockeystick.pairs.closed_transforms import AtomTransform
from hockeystick.pairs.composition import Composition, Kept


@dataclass(frozen=True)
class ShortenedPair(DominatingPair):
    """The finite atoms of a pair, except the extremely improbable atoms of positive loss.

    Attributes:
        whole: the pair, which has only atoms.
        log_least: an atom of positive loss is left out if the log of its P-mass is below this number.
    """

    whole: DominatingPair
    log_least: float

    @cached_property
    def _parts(self) -> tuple[Atoms, Atoms]:
        """The atoms that are kept, and the atoms that are left out."""
        atoms = self.whole.atoms.finite()
        left_out = (atoms.loss > 0) & (atoms.log_p < self.log_least)
        return atoms.kept(~left_out), atoms.kept(left_out)

    @property
    def atoms(self) -> Atoms:
        """The atoms that are kept."""
        return self._parts[0]

    @property
    def log_lost(self) -> float:
        """Upper bound on the log of the P-mass that is left out; minus infinity if no atom is left out."""
        log_p = self._parts[1].log_p
        top = float(log_p.max(initial=-math.inf))
        return top + math.log(float(np.exp(log_p - top).sum())) + SPARE if top > -math.inf else top

    def log_moment(self, t: float) -> float:
        """Upper bound on the log-moment K(t), as a sum over the atoms that are kept."""
        return self.atoms.log_moment(t)


def shortened(composition: Composition, log_lost: float) -> Kept:
    """Return a composition without extremely improbable positive losses.

    Args:
        composition: the rounds; those with a smooth part stay as they are.
        log_lost: log of the total P-mass that may be left out over all rounds.

    Returns:
        The shortened composition, with a bound on the mass left out. If no loss is left out, it is the given
        composition, with a ``log_lost`` of minus infinity.
    """
    rounds: list[tuple[DominatingPair, int]] = []
    total = -math.inf
    for pair, count in composition.rounds:
        short = pair
        if isinstance(pair.transform, AtomTransform):
            share = log_lost - math.log(composition.count) - math.log(max(len(pair.atoms.loss), 1))
            found = ShortenedPair(pair, share)
            if found.log_lost > -math.inf:
                short, total = found, float(np.logaddexp(total, math.log(count) + found.log_lost)) + SPARE
        rounds.append((short, count))
    return Kept(composition if total == -math.inf else Composition(rounds), total, math.inf)
