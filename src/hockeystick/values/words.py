"""Values and names as shown to users: on one line, shortened if long, with a suggestion for misspelt names.

This module has no slow imports, so that commands start quickly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

SHOWN_LENGTH = 60
"""Largest length, in characters, of a received value in a message."""

LONG = 300
"""Largest length, in characters, of the name of a file or another source in a message: enough for real paths."""


def choice(
    key: str, value: object, known: Sequence[str], cutoff: float = 0.6, elsewhere: Mapping[str, str] | None = None
) -> str:
    """Return the error message for a value that is no known name; it suggests the name that was probably meant.

    ``elsewhere`` maps other names to known ones. If the value is not one of these other names, the suggestion is the
    :func:`nearest` known name.
    """
    meant = elsewhere.get(value.lower().replace("_", "-")) if elsewhere and isinstance(value, str) else None
    close = meant if meant in known else nearest(value, known, cutoff)
    hint = "" if close is None else f"; did you mean {close!r}?"
    return f"{key} must be one of {listed(known)}; received {shown(value)}{hint}"


def nearest(value: object, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name of which a value is a misspelling; ``None`` if there is none.

    A known name that is contained in a much longer value is not suggested, since the value then means something else.

    Args:
        value: the value received.
        known: the names.
        cutoff: required similarity of the value to a name, from 0 to 1.

    >>> nearest("laplcae", ["laplace"]), nearest("RDP", ["gdp", "rdp"]), nearest("discrete-laplace", ["laplace"])
    ('laplace', 'rdp', None)
    """
    if not isinstance(value, str) or len(value) > SHOWN_LENGTH:  # the time of the comparison grows with the length
        return None
    import difflib  # a late import, since most programs misspell no name

    names = list(known)
    alike = [name for name in names if name.lower() == value.lower()]  # a difference in case only is the nearest
    close = alike[:1] or difflib.get_close_matches(value, names, 1, cutoff)
    return close[0] if close and (close[0] not in value or len(value) < len(close[0]) + 2) else None


def listed(names: Iterable[str]) -> str:
    """Return the names in quotation marks, separated by commas."""
    return ", ".join(repr(name) for name in names)


def shown(value: object) -> str:
    """Return a value as shown to users: its ``repr`` on one line, cut in the middle if it is long."""
    try:
        return cut(repr(value))
    except Exception:  # a repr may fail in any way, and integers of thousands of digits have none
        return cut(f"a value of type {type(value).__name__}")


def place(path: object) -> str:
    """Return the name of a file or another source as shown to users: on one line, cut if it is very long."""
    return cut(str(path), LONG)


def cut(text: str, length: int = SHOWN_LENGTH) -> str:
    """Return the text on one line, cut in the middle to ``length`` characters if it is longer."""
    if len(text) > 4 * LONG:  # the text may be very long, and only its two ends are shown
        text = f"{text[: 2 * LONG]}...{text[-2 * LONG :]}"
    text = one_line(text)
    return text if len(text) <= length else f"{text[: length - 20]}...{text[-17:]}"


def one_line(text: str) -> str:
    """Return the text with every run of white space and unprintable characters replaced by a single space."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
