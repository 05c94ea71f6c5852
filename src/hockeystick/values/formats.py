"""The format of plan files, ledgers and answers in JSON, by which a later version knows how to read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hockeystick.values.domains import shown
from hockeystick.values.errors import InvalidInputError

FORMAT = 1
"""Today's format. A change after which this version would read a file wrongly has the next number; a file without a
number has the first format. Every later version reads all formats that there were."""


def check_format(keys: Mapping[str, Any]) -> None:
    """Refuse a file in a format that this version does not read, whatever else is in it.

    Args:
        keys: of the file.

    Raises:
        InvalidInputError: another format than today's.

    >>> check_format({"format": 2})
    Traceback (most recent call last):
    hockeystick.values.errors.InvalidInputError: format must be 1; received 2; a newer version of ...
    """
    value = keys.get("format", FORMAT)
    if type(value) is not int or value != FORMAT:
        newer = type(value) is int and value > FORMAT
        cause = "; a newer version of hockeystick wrote this; upgrade to read it" if newer else ""
        raise InvalidInputError(f"format must be {FORMAT}; received {shown(value)}{cause}", "format")
