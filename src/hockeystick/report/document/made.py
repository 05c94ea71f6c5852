"""Provenance of a document: versions and date, the only part that a verification does not recompute."""

from __future__ import annotations

import datetime
import platform
from functools import cache

from hockeystick.values.version import __version__


def made(date: str | None = None) -> dict[str, str]:
    """Return the versions of this library and its numerical dependencies, and the date (by default today, in UTC).

    The result includes a check of this machine's elementary functions, whose accuracy is the one assumption of the
    certificate. Another machine cannot repeat this check, because it has other elementary functions.

    >>> made("2026-01-31")["date"]
    '2026-01-31'
    """
    import numpy
    import scipy

    return {
        "date": date or datetime.datetime.now(datetime.UTC).date().isoformat(),
        "hockeystick": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
        "doctor": _diagnosis(),
    }


@cache
def _diagnosis() -> str:
    """Return the result of the check of the elementary functions, which runs once per process."""
    from hockeystick.numerics.doctor import doctor

    return doctor().summary
