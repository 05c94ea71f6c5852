"""The format number in plan files and JSON answers, by which later versions choose how to read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hockeystick.values.domains import unmet

FORMAT = 1
"""The current format. A change that would make this version misread a file gets the next number; a file without a
number has the first format. Every later version reads all earlier formats."""


def check_format(keys: Mapping[str, Any]) -> None:
    """Raise an error if the format of a file is not the format that this version reads.

    Args:
        keys: keys of the file.

    Raises:
        InvalidInputError: the format is not the current one.

    >>> check_format({"format": 2})
    Traceback (most recent call last):
    hockeystick.values.errors.InvalidInputError: format must be 1; received 2; a newer version of hockeystick ...
    """
    value = keys.get("format", FORMAT)
    if type(value) is not int or value != FORMAT:
        newer = type(value) is int and value > FORMAT
        remedy = "a newer version of hockeystick wrote this; upgrade to read it" if newer else ""
        raise unmet("format", f"must be {FORMAT}", value, remedy)
