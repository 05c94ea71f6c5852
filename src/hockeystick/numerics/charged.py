"""The seam through which a certificate takes each of its charges, so that each has a name."""

from __future__ import annotations

from typing import Any


def charged(name: str, value: Any) -> Any:
    """A charge as it was computed; tests put another function in its place, which drops or halves one by its name.

    >>> charged("step", 1e-9)
    1e-09
    """
    return value
