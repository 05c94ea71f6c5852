"""``grid``: this library's two-sided connect-the-dots engine.

Certified on both sides. Cost grows with the square root of the number of rounds; any pair, any mixture of rounds.
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
