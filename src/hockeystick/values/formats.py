"""The format of plan files, ledgers and answers in JSON, by which a later version knows how to read them."""

from __future__ import annotations

from hockeystick.values.domains import shown
from hockeystick.values.errors import InvalidInputError

FORMAT = 1
"""Today's format. A change after which this version would read a file wrongly has the next number; a file without a
number has the first format. Every later version reads all formats that there were."""


def checked_format(value: object) -> int:
    """The format of a file, if this version reads it.

    Raises:
        InvalidInputError: another format than today's.

    >>> checked_format(2)
    Traceback (most recent call last):
    hockeystick.values.errors.InvalidInputError: format must be 1; received 2: a newer hockeystick wrote this, ...
    """
    if type(value) is not int or value != FORMAT:
        newer = type(value) is int and value > FORMAT
        cause = ": a newer hockeystick wrote this, and reads it" if newer else ""
        raise InvalidInputError(f"format must be {FORMAT}; received {shown(value)}{cause}", "format")
    return FORMAT
