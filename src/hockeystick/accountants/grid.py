"""``grid``: this library's two-sided connect-the-dots engine.

Certified on both sides, for any pair and any mixture of rounds.

Cost: the number of grid points grows with the square root of the number of rounds and as the inverse square root of the
gap. A work limit bounds this number: for sampled rounds, the engine reaches the gap of 1e-3 up to about 1e7 rounds.
Known failure: if most of the mass of a loss is close together and a little mass is far away, the loss needs too many
grid points; the interval is then wider, and the result gives the reason.
"""

from __future__ import annotations

from hockeystick.accountants.auto import CertifiedAccountant
from hockeystick.engines.grid.engine import GridEngine
from hockeystick.values import domains


class GridAccountant(CertifiedAccountant):
    """Accountant by two-sided connect-the-dots, on a grid of exponentially tilted losses."""

    name = "grid"
    summary = "certified: two-sided connect-the-dots on a grid of losses, with a step chosen from the error bound"
    engine = GridEngine
    most_rounds = domains.OTHER_MAX_COUNT
    least_delta = domains.OTHER_LEAST_DELTA
