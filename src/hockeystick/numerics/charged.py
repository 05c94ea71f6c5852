"""The hook through which every charge of a certificate passes, so that each has a name."""

from __future__ import annotations

from typing import Any


def charged(name: str, value: Any) -> Any:
    """Return a charge unchanged; tests replace this function by one that drops or halves a charge by its name.

    >>> charged("step", 1e-9)
    1e-09
    """
    return value
