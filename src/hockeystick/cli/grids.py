"""The option ``--grid`` of ``hockeystick sweep``: a parameter with its values.

``0.5:2:50`` is fifty equally spaced values from 0.5 to 2, both included; ``1000,2000`` is a list. Each number may be a
quotient or a percentage. If the parameter takes only whole numbers, the values of a range are rounded and duplicates
are dropped; each answer then stands beside the value that was used.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from hockeystick.cli.numbers import number
from hockeystick.cli.options import named_values
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import cut, shown

if TYPE_CHECKING:
    from hockeystick.questions.sweeps.grid import Point

FORM = "NAME=VALUES, such as noise_multiplier=0.5:2:50 or steps=1000,2000"


def grids(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, Point]:
    """Parse the options ``--grid``; return the values of each parameter, by its name with underscores."""
    return named_values("--grid", FORM, given, _values)


def _values(key: str, values: str) -> Point:
    from hockeystick.questions.sweeps.grid import MOST_POINTS

    parts = values.split(":")
    if len(parts) == 1:
        return tuple(_number(key, part) for part in values.split(","))
    if len(parts) != 3:
        raise InvalidInputError(f"--grid must be {FORM}; received {shown(f'{key}={values}')}")
    low, high, many = (_number(key, part) for part in parts)
    if not (many.is_integer() and 2 <= many <= MOST_POINTS):
        raise InvalidInputError(
            f"--grid {cut(key)}: the number of values must be a whole number from 2 to {MOST_POINTS:,}; "
            f"received {shown(many)}"
        )
    if not low < high or high == float("inf"):
        raise InvalidInputError(
            f"--grid {cut(key)}: a range must run from a number to a larger one, both finite; received {shown(values)}"
        )
    found = _steps(low, high, int(many))
    return tuple(dict.fromkeys(float(round(value)) for value in found)) if _whole(key) else found


def _steps(low: float, high: float, many: int) -> Point:
    """``many`` equally spaced values, computed without rounding: 0.1:1:10 has 0.3 instead of 0.30000000000000004.

    >>> _steps(0.1, 0.4, 4)
    (0.1, 0.2, 0.3, 0.4)
    """
    from hockeystick.values.exact import decimal

    first, step = decimal(low), Fraction(decimal(high) - decimal(low), many - 1)
    return tuple(float(first + place * step) for place in range(many))


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
