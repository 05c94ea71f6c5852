"""Numbers as people write them on the command line: ``1e-5``, ``60_000``, ``1/60000``, ``256/60000``, ``1%``.

A quotient that is not exactly a double is rounded to the safe side: a sample rate up, a delta or noise down. The answer
then also holds for the exact quotient.
"""

from __future__ import annotations

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

            self.fail(f"{shown(value)} is not a number; write one such as 60000, 1e-5, 1/60000 or 1%.", param, ctx)
        return towards(found, self._up)


RISING, FALLING = Number(UP), Number(DOWN)
"""Types of flags rounded up, since larger values cost more privacy or ask for less, and of those rounded down."""

SAFE = {"sample_rate": RISING, "fpr": RISING, "risk": RISING, "baseline": RISING}
"""Types of flags that are not :data:`FALLING`, the type of noise, deltas, epsilons and targets."""


def number(key: str) -> Number:
    """Return the click type of a key's flag, which fixes the direction in which quotients are rounded."""
    return SAFE.get(key, FALLING)
