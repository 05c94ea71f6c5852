"""The points on which laws of likelihood ratios are put, how far they reach, and how many bits a mass has.

Floating point chooses here; nothing of it is relied upon. Ratios of whole rounds are put on ``r_q = e^(kappa (q +
1/2))``, whose products are points of the same kind: c rounds are on ``e^(kappa (q + c/2))``. (The half keeps rational
ratios off the points.) Ratios of steps are put on multiples of a width h, of which far out only some are used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from flint import arb

from hockeystick.numerics.balls import Ball

SPARE_BITS = 40  # of a mass, beyond the lightest that counts: rounding leaves out as little of each
GUARD_BITS = 64  # of balls, beyond those of a mass


@dataclass(frozen=True, slots=True)
class Mesh:
    """How finely laws are put on points, and how far.

    Attributes:
        fine: distance of neighbouring points, in standard deviations of what is put on them.
        log_tail: log of the mass, under P or Q, that all far tails together may have that are cut.
        reach: largest loss of the whole plan that counts, about: masses there are light under Q.
    """

    fine: float
    log_tail: float
    reach: float

    def bits(self, terms: float) -> int:
        """Bits of a mass, where about so many of them are rounded."""
        return SPARE_BITS + math.ceil((self.reach - self.log_tail + math.log(terms)) / math.log(2))


def far(log_mass: float) -> float:
    """A place that a standard normal number exceeds with at most that log-probability: ``Phi(-x) <= e^(-x^2 / 2)``."""
    return math.sqrt(max(-2.0 * log_mass, 0.0))


def ratios(kappa: float, first: int, count: int) -> list[Ball]:
    """``e^(kappa (q + 1/2))`` for so many q from the first on."""
    return [(arb(kappa) * arb(2 * q + 1) / 2).exp() for q in range(first, first + count)]


def multiples(width: float, top: float, share: float) -> list[int]:
    """Whole numbers from 0 to beyond top, as multiples of a width: all at first, then at about equal ratios.

    Cells about the points have odd widths, so that they meet halfway between points and do not overlap.

    Args:
        width: of the lattice.
        top: what the last one reaches, in the same units.
        share: of a point, that the cell about it is wide.

    >>> multiples(1.0, 20.0, 0.3)
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 22]
    """
    out, wide = [0], 1
    while out[-1] * width < top:
        cell = max(int(share * out[-1]), 1)
        cell -= 1 - cell % 2
        out.append(out[-1] + (wide + cell) // 2)
        wide = cell
    return out
