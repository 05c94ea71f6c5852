"""The option ``--grid`` of ``hockeystick sweep``: a parameter with its values.

``0.5:2:50`` is fifty equally spaced values from 0.5 to 2, both included; ``log:0.5:2:50`` has equal ratios instead;
``1000,2000`` is a list. Each number may be a quotient or a percentage. For a parameter with whole numbers, ranges are
rounded and repeated numbers dropped, so that the value beside each answer is the value used.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from hockeystick.cli.numbers import number
from hockeystick.cli.options import unaliased
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import cut, shown

if TYPE_CHECKING:
    from hockeystick.questions.sweeps.grid import Point

FORM = "--grid must be NAME=VALUES, such as noise_multiplier=0.5:2:50, steps=log:100:10000:20 or count=1000,2000"

LOGARITHMIC = "log"  # prefix of a range with equal ratios

MOST_VALUES = 10**6  # largest number of values of one parameter

DIGITS = 12
"""Significant digits of values within a logarithmic range, so that they are the same on every machine."""


def grids(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, Point]:
    """Return the values of each parameter, by its name with underscores."""
    found: dict[str, Point] = {}
    for text in given:
        name, equals, values = text.partition("=")
        key = unaliased(name.strip()).replace("-", "_")
        if not equals or not key or not values.strip():
            raise InvalidInputError(f"{FORM}; received {shown(text)}")
        if key in found:
            raise InvalidInputError(f"--grid {cut(key)} is given twice; give it once", key)
        found[key] = _values(key, values.strip(), text)
    return found


def _values(key: str, values: str, text: str) -> Point:
    parts = values.split(":")
    if len(parts) == 1:
        return tuple(_number(key, part) for part in values.split(","))
    logarithmic = parts[0].strip() == LOGARITHMIC
    if len(parts) != 3 + logarithmic:
        raise InvalidInputError(f"{FORM}; received {shown(text)}")
    low, high = (_number(key, part) for part in parts[-3:-1])
    many = _number(key, parts[-1])
    if not (many.is_integer() and 2 <= many <= MOST_VALUES):
        raise InvalidInputError(
            f"--grid {cut(key)}: the number of values must be a whole number from 2 to {MOST_VALUES:,}; "
            f"received {shown(many)}"
        )
    if not low < high or (logarithmic and low <= 0) or high == float("inf"):
        raise InvalidInputError(
            f"--grid {cut(key)}: a range must run from a number to a larger one, both finite"
            f"{' and above 0' if logarithmic else ''}; received {shown(text)}"
        )
    found = (_powers if logarithmic else _steps)(low, high, int(many))
    return tuple(dict.fromkeys(float(round(value)) for value in found)) if _whole(key) else found


def _steps(low: float, high: float, many: int) -> Point:
    """Equally spaced decimals: 0.1:1:10 contains 0.3 instead of 0.30000000000000004.

    >>> _steps(0.1, 0.4, 4)
    (0.1, 0.2, 0.3, 0.4)
    """
    from hockeystick.values.exact import decimal

    first, step = decimal(low), Fraction(decimal(high) - decimal(low), many - 1)
    return tuple(float(first + place * step) for place in range(many))


def _powers(low: float, high: float, many: int) -> Point:
    """Numbers with equal ratios and exact ends.

    >>> _powers(1.0, 100.0, 3)
    (1.0, 10.0, 100.0)
    """
    between = [low * (high / low) ** (place / (many - 1)) for place in range(1, many - 1)]
    return (low, *(float(f"{value:.{DIGITS}g}") for value in between), high)


def _number(key: str, text: str) -> float:
    try:
        return number(key).convert(text.strip(), None, None)
    except click.BadParameter as error:
        raise InvalidInputError(f"--grid {cut(key)}: {error.message}") from None


def _whole(key: str) -> bool:
    from hockeystick.questions.parameters import PARAMETERS
    from hockeystick.questions.sweeps.grid import parameter_of

    known = PARAMETERS.get(parameter_of(key))
    return known is not None and known.whole
