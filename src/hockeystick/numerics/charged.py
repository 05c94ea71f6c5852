"""A hook that names each charge. A charge is the amount by which a bound is moved outward to cover one error."""

from __future__ import annotations

from typing import Any


def charged(name: str, value: Any) -> Any:
    """Return a charge unchanged; tests replace this function by one that drops or halves the charge of a given name.

    >>> charged("step", 1e-9)
    1e-09
    """
    return value
