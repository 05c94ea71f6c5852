"""``auto``: the tightest sound route for the plan; the result names the one taken."""

from __future__ import annotations

from typing import ClassVar

from hockeystick.accountants.certified import CertifiedAccountant, EngineFactory
from hockeystick.engines.auto import AutoEngine


class AutoAccountant(CertifiedAccountant):
    """Chooses among this library's certified engines."""

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "certified: the tightest sound route for the plan (the default)"
    engine: ClassVar[EngineFactory] = AutoEngine
