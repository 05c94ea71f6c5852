"""The pair of sampled Gaussian noise without extremely improbable outcomes in the tail, for removing a record.

Let D(eps) be delta for all outcomes, and let D'(eps) be delta for those outcomes alone that every round keeps. As in
``shortened.py``,

    D'(eps) <= D(eps) <= D'(eps) + sum of the masses left out under P, over all rounds .

Here each outcome is kept with a certain probability (``sampled/capped_law.py``), and the choice is revealed. An outcome
that is not kept adds between 0 and its mass to D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.numerics.rounding import SPARE
from hockeystick.pairs.base import Array, Atoms, DominatingPair
from hockeystick.pairs.composition import Composition, Kept
from hockeystick.pairs.sampled.capped_law import capped_at
from hockeystick.pairs.sampled.capped_transform import CappedTransform
from hockeystick.pairs.sampled.mixture_law import Kind, MixtureLaw, Nodes, log_density
from hockeystick.values.errors import NotApplicableError

NOTHING = "the losses that are kept are not small"  # reason why no outcomes are left out
LARGEST_LOSS = 0.1  # approximate bound on kept losses: with larger ones, leaving out outcomes allows no higher tilt
DENSITY, PAST = 0.02, 8.0  # for a search: spacing of outcomes in units of min(1, 1 / mu), reach past c in 1 / kappa
LOWEST = -800.0  # log-mass below which outcomes near the least loss are dropped: no tilt above 0 makes them matter


@dataclass(frozen=True, slots=True)
class CappedPair(DominatingPair):
    """The part of the pair of a sampled Gaussian round that remains if extremely improbable outcomes are left out.

    The total mass under P is below 1.

    Attributes:
        capped: the law of the losses that are kept.
    """

    capped: CappedTransform

    @property
    def atoms(self) -> Atoms:
        """Empty arrays, because all outcomes have densities."""
        return Atoms.none()

    @property
    def transform(self) -> CappedTransform:
        """The characteristic function of the losses that are kept."""
        return self.capped

    @property
    def loss_range(self) -> tuple[float, float]:
        """The bounds ``log(1 - q)`` and infinity: even outcomes in the tail are kept with a tiny probability."""
        return math.log1p(-self.capped.law.rate), math.inf

    def log_moment(self, t: float) -> float:
        """Return an upper bound on the log-moment K(t) of the losses that are kept."""
        return self.capped.upper(t, SPARE)

    def standing_in(self, log_floor: float) -> tuple[Array, Array]:
        """Return losses and log-masses of closely spaced outcomes, which approximate the continuous law."""
        capped = self.capped
        low, high = -math.sqrt(-2 * min(max(log_floor, LOWEST), -50.0)), capped.centre + PAST / capped.steepness
        number = math.ceil((high - low) * max(1.0, capped.law.mu) / DENSITY)
        x = np.linspace(low, high, number + 1)
        u = Nodes(capped.law, x, 0.0).u
        return u, log_density(x) + u - np.exp(capped.log_fading(x)) + math.log(x[1] - x[0])


def capped(composition: Composition, log_lost: float) -> Kept:
    """Return the given rounds without extremely improbable outcomes in the tail.

    Args:
        composition: the rounds.
        log_lost: log of the total mass that may be left out of all rounds.

    Raises:
        NotApplicableError: some round is not sampled Gaussian noise with a record removed, or the largest losses kept
            are not small; large losses limit the tilt.
    """
    rounds: list[tuple[DominatingPair, int]] = []
    total, reach = -math.inf, 0.0
    for pair, count in composition.rounds:
        law = pair.transform
        if not (isinstance(law, MixtureLaw) and law.kind is Kind.REMOVE and law.terms == 1):
            raise NotApplicableError(NOTHING)
        short = capped_at(law, log_lost - math.log(composition.count))
        if short is None or not short.largest_loss <= LARGEST_LOSS:
            raise NotApplicableError(NOTHING)
        rounds.append((CappedPair(CappedTransform(short.law, short.centre, short.steepness)), count))
        total = float(np.logaddexp(total, math.log(count) + short.log_lost)) + SPARE
        reach += count * short.largest_loss
    return Kept(Composition(rounds), total, reach)
