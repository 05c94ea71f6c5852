"""Values and names as they are repeated to a person: on one line, cut where long, with the name that was meant.

Nothing is imported here that a command would have to wait for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

SHOWN_LENGTH = 60
"""Longest form, in characters, in which a received value is repeated to a person."""

PLACE_LENGTH = 300
"""Longest form, in characters, in which the name of a file is repeated: what real paths have, and no more."""

LOOKED_AT = 1000
"""Characters at each end of a value's form that are made printable: more than are shown, fewer than a file may hold."""


def choice(
    key: str, value: object, known: Sequence[str], cutoff: float = 0.6, elsewhere: Mapping[str, str] | None = None
) -> str:
    """The line that refuses a value that is none of the known names, with the one that was meant.

    That is the one here of what is called so ``elsewhere``, or else the :func:`nearest` of them.
    """
    meant = elsewhere.get(value.lower().replace("_", "-")) if elsewhere and isinstance(value, str) else None
    close = meant if meant in known else nearest(value, known, cutoff)
    hint = "" if close is None else f"; did you mean {close!r}?"
    return f"{key} must be one of {listed(known)}; received {shown(value)}{hint}"


def nearest(value: object, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name of which a value is a slip; ``None`` where it is none.

    Args:
        value: the value received.
        known: the names.
        cutoff: how alike the two have to be, from 0 to 1.

    A name within a longer one is not taken for a slip: what is meant is another thing.

    >>> nearest("laplcae", ["laplace"]), nearest("RDP", ["gdp", "rdp"]), nearest("discrete-laplace", ["laplace"])
    ('laplace', 'rdp', None)
    """
    if not isinstance(value, str) or len(value) > SHOWN_LENGTH:  # comparing takes as long as the value is
        return None
    import difflib  # late: most programs make no slip

    names = list(known)
    alike = [name for name in names if name.lower() == value.lower()]  # no slip is nearer than that of a capital
    close = alike[:1] or difflib.get_close_matches(value, names, 1, cutoff)
    return close[0] if close and (close[0] not in value or len(value) < len(close[0]) + 2) else None


def listed(names: Iterable[str]) -> str:
    """The names in quotation marks, with commas between them."""
    return ", ".join(repr(name) for name in names)


def shown(value: object) -> str:
    """A value as it is repeated to a person: its ``repr`` on one line, cut in the middle if it is long."""
    try:
        return cut(repr(value))
    except Exception:  # a repr may fail in any way, and integers of thousands of digits have none
        return cut(f"a value of type {type(value).__name__}")


def place(path: object) -> str:
    """The name of a file or of another source as it is repeated to a person: on one line, cut if it is very long."""
    return cut(str(path), PLACE_LENGTH)


def cut(text: str, length: int = SHOWN_LENGTH) -> str:
    """The text on one line, cut in the middle to that many characters if it is longer."""
    if len(text) > 2 * LOOKED_AT:
        text = f"{text[:LOOKED_AT]}...{text[-LOOKED_AT:]}"
    text = one_line(text)
    return text if len(text) <= length else f"{text[: length - 20]}...{text[-17:]}"


def one_line(text: str) -> str:
    """The text with every run of white space and of characters that do not print made a single space."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
