"""Provenance of a document: versions and date, the only part that a verification does not recompute."""

from __future__ import annotations

import datetime
from functools import cache

from hockeystick.numerics.doctor import doctor
from hockeystick.values.version import __version__

_examined = cache(doctor)
"""Diagnosis of this machine, made once per process."""


def made(date: str | None = None) -> dict[str, str]:
    """Return the versions of this library and its numerical dependencies, and the date (by default today, in UTC).

    The result includes a check of this machine's elementary functions, whose accuracy is the one assumption of the
    certificate. Another machine cannot repeat this check, because it has other elementary functions.

    >>> made("2026-01-31")["date"]
    '2026-01-31'
    """
    found = _examined()
    return {
        "date": date or datetime.datetime.now(datetime.UTC).date().isoformat(),
        "hockeystick": __version__,
        **{name: found.versions[name] for name in ("python", "numpy", "scipy", "machine")},
        "doctor": found.summary,
    }
