"""Numbers as people have them on the command line: ``1e-5``, ``60_000``, ``1/60000``, ``256/60000``, ``1%``.

A quotient that no double prints as goes to the safe side of itself: a sample rate up, a noise down, so that the answer
holds for the number that was meant. A delta that an answer names is the double nearest to the quotient, as in Python:
the answer holds for the delta that stands in it.
"""

from __future__ import annotations

from typing import Any

import click

UP, DOWN, NEAREST = True, False, None  # where a quotient goes that is no double


class Number(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click alone
    """The type of a flag whose value is a number.

    Args:
        up: whether quotients are rounded up; to the nearest double if ``None``.
    """

    name = "number"

    def __init__(self, up: bool | None) -> None:
        self._up = up

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number that a text stands for.

        Raises:
            click.BadParameter: it stands for none.
        """
        try:
            return float(value)
        except ValueError:
            from hockeystick.values.exact import quotient, towards

            found = quotient(str(value))
        if found is None:
            from hockeystick.values.words import shown

            plain = str(value).replace(",", "")
            hint = f": write {plain}." if plain != value and plain.isdigit() else ", such as 0.01, 1e-5, 1/60000 or 1%."
            self.fail(f"{shown(value)} is not a number{hint}", param, ctx)
        return float(found) if self._up is None else towards(found, self._up)


RISING, FALLING, ANSWERED = Number(UP), Number(DOWN), Number(NEAREST)
"""Types of flags: of numbers more of which costs more privacy or asks for less, of those less of which does, and of the
deltas that answers name."""

SAFE = {
    "delta": ANSWERED, "sample_rate": RISING, "check_in": RISING, "fpr": RISING, "risk": RISING, "baseline": RISING,
}  # fmt: skip
"""The type of a flag by its key; of all others it is :data:`FALLING`: noise, epsilons, and what is a target."""


def number(key: str) -> Number:
    """The type of the flag of that key."""
    return SAFE.get(key, FALLING)
