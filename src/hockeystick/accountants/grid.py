"""``grid``: this library's two-sided connect-the-dots engine.

Certified on both sides, for any pair and any mixture of rounds.

Cost: rounds are composed in stages, each on a coarser grid than the one before, so the cost grows with a power of the
logarithm of their number, and with the square root of one over the gap; a budget of work limits it. Known failure: a
law that is both narrow and far-reaching needs too long a grid; the interval is then wider, and the result gives the
reason.
"""

from __future__ import annotations

from hockeystick.accountants.auto import CertifiedAccountant
from hockeystick.engines.grid.engine import GridEngine
from hockeystick.values import domains


class GridAccountant(CertifiedAccountant):
    """Two-sided connect-the-dots on a tilted grid of losses."""

    name = "grid"
    summary = "certified: two-sided connect-the-dots on a grid of losses, with a step chosen from the error bound"
    engine = GridEngine
    most_rounds = domains.OTHER_MAX_COUNT
    least_delta = domains.OTHER_LEAST_DELTA
