"""Certified answers from the mirror image of a composition, if a pair is known only in the opposite direction.

The mirror image is the composition with P and Q of every round exchanged. Let delta' be its delta. As
``(P - aQ)_+ = P - aQ + a (Q - P / a)_+``,

    delta(eps) = 1 - e^eps + e^eps delta'(-eps) .

A contour of the mirror image at -eps gives delta' with a relative error of a few roundings of its terms. This becomes
an absolute error of delta, so intervals are narrow if delta is far above this error. The formula needs laws P and Q of
mass 1. The masses of a pair given as a table of numbers may differ from 1 by rounding, and a pair with infinite losses
lacks the mass of these losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hockeystick.engines.contour.engine import transforms_of
from hockeystick.engines.contour.path import Aim, Path
from hockeystick.engines.contour.sweep import Terms
from hockeystick.engines.guide import Guide
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs import AllocationPair, Composition, DominatingPair
from hockeystick.pairs.renyi import log_peak
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Ends

Array = npt.NDArray[np.float64]

SHARE = 1e-5  # share of delta that the remainders of the contour may have
LEAST = 1e-13  # smallest tolerance requested of the contour
MORE = 2.0  # largest log of the Chernoff bound on delta', which multiplies errors
TILTS, NEXT = (0.05, 40.0), 1.1  # range of tilts tried, and the ratio of the ends of a bracket at which the search ends
DEEP = -100.0  # log of the P-mass that a guide may miss


class Mirror:
    """Lays contours of the mirror image of a composition, in which P and Q of every round are exchanged.

    Args:
        composition: pairs and counts.

    Raises:
        NotApplicableError: no pair is known only in the opposite direction, or a pair has no mirror image of mass 1.
    """

    gap: ClassVar[float] = 1e-4
    wide: ClassVar[str] = "a round is known only in the opposite direction, which says little about so small a delta"

    def __init__(self, composition: Composition) -> None:
        if not self.applies(composition):
            raise NotApplicableError("no round is known only in the opposite direction")
        mirrors = [(pair.mirror if _whole(pair) else None, count) for pair, count in composition.rounds]
        known = [(mirror, count) for mirror, count in mirrors if mirror is not None and _whole(mirror)]
        if len(known) < len(mirrors):
            raise NotApplicableError("one round is known only in the opposite direction, and another only in this one")
        self._composition, self._mirror = composition, Composition(known)
        self._transforms = transforms_of(self._mirror.rounds)

    @staticmethod
    def applies(composition: Composition) -> bool:
        """True if some pair has a characteristic function only in the other direction."""
        pairs = [pair for pair, _ in composition.rounds if isinstance(pair, AllocationPair)]
        return any(pair.mirror.transform and not pair.transform for pair in pairs)

    def at(self, epsilon: float, gap: float, guide: Guide | None = None) -> Turned:
        """Return the contour of the mirror image for an epsilon; the requested gap is not used.

        Its tilt is the largest tilt whose Chernoff bound on delta' is at most ``e^MORE``, because at larger tilts the
        characteristic functions of pairs with known moments only are computed faster.
        """
        log_delta = (guide or Guide(self._composition, DEEP)).log_delta(epsilon)
        mirror = Guide(self._mirror, log_delta)

        def log_bound(t: float) -> float:
            return mirror.cumulants(t).k0 + t * epsilon + log_peak(t)

        low, high = TILTS
        while high / low > NEXT:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if log_bound(middle) <= MORE else (low, middle)
        aim = Aim(mirror, low, math.inf, -epsilon, 0.0, (1.0,))
        tolerance = max(SHARE * math.exp(max(log_delta, -60.0)), LEAST)
        return Turned(Path(self._transforms, aim, tolerance).terms([count for _, count in self._transforms]))


@dataclass(frozen=True, eq=False)
class Turned:
    """A contour of the mirror image whose results are converted to the log delta of the composition itself.

    Attributes:
        terms: terms of the contour of the mirror image.
    """

    terms: Terms

    def log_delta(self, epsilon: Array) -> Ends:
        """Return certified ends of log delta at each epsilon."""
        other, within = self.terms.log_delta(-epsilon), epsilon <= LARGEST
        # e^eps delta' - (e^eps - 1), each to a few roundings of e^eps
        capped = np.minimum(epsilon, LARGEST)
        grown = np.exp(capped)
        care = UNIT_ROUNDOFF * (32 + 8 * np.abs(epsilon)) * grown
        ends = [grown * np.exp(each) - np.expm1(capped) + side * care
                for each, side in ((other.lower, -1), (other.estimate, 0), (other.upper, 1))]  # fmt: skip
        with np.errstate(divide="ignore", invalid="ignore"):
            low, middle, high = (np.where(each > 0, np.log(each), -np.inf) for each in ends)
            low, high = (end + side * 8 * UNIT_ROUNDOFF * (1 + np.abs(end)) for end, side in ((low, -1), (high, 1)))
        return Ends.of(np.where(within, low, -np.inf), middle, np.where(within, np.minimum(high, 0.0), 0.0))


def _whole(pair: DominatingPair) -> bool:
    """True if P and Q have mass 1 exactly: the pair has no infinite loss and is not a table of numbers."""
    return pair.infinite_mass == 0 and (isinstance(pair, AllocationPair) or pair.smooth is not None)
