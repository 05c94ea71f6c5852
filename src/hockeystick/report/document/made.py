"""By what and when a document was made: the one part of it that a recomputation takes as it stands."""

from __future__ import annotations

import datetime
import platform

from hockeystick.values.version import __version__


def made(date: str | None = None) -> dict[str, str]:
    """Versions of this library and of what computes for it, and the date of today in UTC unless another is given.

    With them goes what a short check found of the one assumption of the certificate on this machine; another machine
    that computes the numbers again has elementary functions of its own, so that nobody can find this again.

    >>> made("2026-01-31")["date"]
    '2026-01-31'
    """
    import numpy
    import scipy

    from hockeystick.numerics.doctor import brief

    return {
        "date": date or datetime.datetime.now(datetime.UTC).date().isoformat(),
        "hockeystick": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
        "doctor": brief().summary,
    }
