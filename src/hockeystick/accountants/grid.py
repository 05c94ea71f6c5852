"""``grid``: this library's two-sided connect-the-dots engine.

Certified on both sides; any pair, any mixture of rounds. Rounds are composed in stages, each on a coarser grid than the
one before, so that cost grows with a power of the logarithm of their number; it is kept to a budget of work, and where
that binds the interval stays wider and says so.
"""

from __future__ import annotations

from typing import ClassVar

from hockeystick.accountants.certified import CertifiedAccountant, EngineFactory
from hockeystick.engines.grid.engine import GridEngine


class GridAccountant(CertifiedAccountant):
    """Two-sided connect-the-dots on a tilted loss grid."""

    name: ClassVar[str] = "grid"
    summary: ClassVar[str] = "certified: two-sided connect-the-dots on a loss grid, mesh chosen by the error law"
    engine: ClassVar[EngineFactory] = GridEngine
