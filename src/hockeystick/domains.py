"""The domains of parameters: each check returns the value in its own type or raises one line that can be shown to a person."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable

from hockeystick.errors import InvalidInputError

MAX_COUNT = 10**12


def positive(value: float, key: str, hint: str) -> float:
    """``value`` as a float, if it is a finite number greater than 0.

    Raises:
        InvalidInputError: it is not; the message names key, value and what is accepted.
    """
    return _number(value, key, hint, lambda x: x > 0, "a finite number greater than 0")


def at_least_zero(value: float, key: str, hint: str) -> float:
    """``value`` as a float, if it is a finite number that is not negative.

    Raises:
        InvalidInputError: it is not.
    """
    return _number(value, key, hint, lambda x: x >= 0, "a finite number, 0 or greater")


def rate(value: float, key: str, hint: str) -> float:
    """``value`` as a float, if it lies in (0, 1].

    Raises:
        InvalidInputError: it does not.
    """
    return _number(value, key, hint, lambda x: 0 < x <= 1, "a number greater than 0 and at most 1")


def open_probability(value: float, key: str, hint: str) -> float:
    """``value`` as a float, if it lies in [0, 1): 0 asks for pure differential privacy.

    Raises:
        InvalidInputError: it does not.
    """
    return _number(value, key, hint, lambda x: 0 <= x < 1, "a number between 0 and 1")


def whole(value: float, key: str, hint: str, least: int = 0, most: int = MAX_COUNT) -> int:
    """``value`` as an int, if it is a whole number in range; 1e4 is one.

    Raises:
        InvalidInputError: it is not.
    """
    valid = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (valid and math.isfinite(value) and value == int(value) and least <= value <= most):
        raise InvalidInputError(f"{key} must be a whole number from {least} to {most:.0e} ({hint}); received {value!r}", key)
    return int(value)


def _number(value: object, key: str, hint: str, accept: Callable[[float], bool], accepted: str) -> float:
    valid = isinstance(value, numbers.Real) and not isinstance(value, bool)
    number = float(value) if valid else math.nan  # type: ignore[arg-type]
    if not (math.isfinite(number) and accept(number)):
        raise InvalidInputError(f"{key} must be {accepted} ({hint}); received {value!r}", key)
    return number
