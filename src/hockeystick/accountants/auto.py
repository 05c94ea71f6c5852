"""``auto``: the tightest sound engine for the plan; the result names the engine used.

Certified on both sides; each direction is computed separately, and the maximum is taken last.

Cost: that of the engine used, some milliseconds for most plans. Known failure: none is silent; if the interval is wider
than requested, or has no finite end, the result gives the reason.
"""

from __future__ import annotations

from hockeystick.accountants.by_engine import CertifiedAccountant
from hockeystick.engines.auto import AutoEngine


class AutoAccountant(CertifiedAccountant):
    """Accountant that chooses among this library's certified engines."""

    name = "auto"
    summary = "certified: the tightest sound route for the plan (the default)"
    engine = AutoEngine
