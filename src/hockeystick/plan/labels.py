"""Labels of a round for later readers: its name, a note, and the day when it was run.

No computation uses them. Rounds with different labels stay separate in a plan, and are composed as if they had none.
"""

from __future__ import annotations

import datetime

from hockeystick.values.domains import shown, unmet
from hockeystick.values.errors import InvalidInputError

LABELS = ("name", "note", "date")
"""The labels, in the order in which a plan file has them."""

LONGEST = {"name": 100, "note": 2000}
"""Largest number of characters: a name is read in a table, a note is a paragraph or two."""

MEANINGS = {
    "name": "name of the round; never used in a computation",
    "note": "note about the round; never used in a computation",
    "date": "date of the round, such as 2026-11-22; never used in a computation",
}
"""Description of each label."""


def checked_label(value: object, key: str) -> str:
    """Return a label as a text; a date, which TOML has too, becomes the text of ISO 8601.

    Args:
        value: a text, or a ``datetime.date``.
        key: one of :data:`LABELS`.

    Raises:
        InvalidInputError: the value is something else, an empty or overlong text, a text with an unpaired surrogate,
            or an invalid date.

    >>> checked_label(datetime.date(2026, 11, 22), "date")
    '2026-11-22'
    """
    if key == "date" and type(value) is datetime.date:
        return value.isoformat()
    if not isinstance(value, str) or not value:
        what = "a date, such as 2026-11-22" if key == "date" else "a string that is not empty"
        raise unmet(key, f"must be {what}", value)
    text = str.__str__(value)
    if key == "date":
        try:
            return datetime.date.fromisoformat(text).isoformat()
        except ValueError:
            raise InvalidInputError(f"date must be a date, such as 2026-11-22; received {shown(text)}", key) from None
    if len(text) > LONGEST[key]:
        raise InvalidInputError(
            f"{key} must have at most {LONGEST[key]} characters; received {len(text)}: {shown(text)}", key
        )
    if any(0xD800 <= ord(character) < 0xE000 for character in text):
        raise unmet(key, "must not contain unpaired surrogates", text)
    return text
