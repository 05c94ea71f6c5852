"""Numbers as people write them on the command line: ``1e-5``, ``60_000``, ``1/60000``, ``256/60000``, ``1%``.

A quotient that is no double is rounded to its safe side: a sample rate up, a delta or noise down. The answer then also
holds for the exact quotient.
"""

from __future__ import annotations

import re
from typing import Any

import click

UP, DOWN = True, False  # direction of rounding of a quotient that is no double


class Number(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click alone
    """Type of a flag whose value is a number.

    Args:
        up: True if quotients are rounded up.
    """

    name = "number"

    def __init__(self, up: bool) -> None:
        self._up = up

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number in a text.

        Raises:
            click.BadParameter: the text is no number.
        """
        try:
            return float(value)
        except ValueError:
            from hockeystick.values.exact import quotient, towards

            found = quotient(str(value))
        if found is None:
            from hockeystick.values.words import shown

            plain = _plain(str(value))
            hint = "; write one such as 0.01, 1e-5, 1/60000 or 1%." if plain is None else f"; write {plain}."
            self.fail(f"{shown(value)} is not a number{hint}", param, ctx)
        return towards(found, self._up)


def _plain(text: str) -> str | None:
    """A number without separators and suffixes; ``None`` if the text is no number.

    >>> _plain("60,000"), _plain("1,1"), _plain("60k"), _plain("1.5M"), _plain("1,b")
    ('60000', '1.1', '60000', '1500000', None)
    """
    if re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+", text):
        return text.replace(",", "")
    if re.fullmatch(r"[0-9]+,[0-9]+(e[-+]?[0-9]+)?", text, re.IGNORECASE):
        return text.replace(",", ".")  # a decimal comma
    if re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?[km]", text, re.IGNORECASE):
        whole, _, digits = text[:-1].partition(".")
        places = SUFFIXES[text[-1].lower()]
        if len(digits) <= places:
            return (whole + digits.ljust(places, "0")).lstrip("0") or "0"
    return None


SUFFIXES = {"k": 3, "m": 6}
"""Powers of ten that people write as suffixes."""

RISING, FALLING = Number(UP), Number(DOWN)
"""Types of flags rounded up, since larger values cost more privacy or ask for less, and of those rounded down."""

SAFE = {"sample_rate": RISING, "check_in": RISING, "fpr": RISING, "risk": RISING, "baseline": RISING}
"""Types of flags that are not :data:`FALLING`, the type of noise, deltas, epsilons and targets."""


def number(key: str) -> Number:
    """Return the type of the flag of a key."""
    return SAFE.get(key, FALLING)
