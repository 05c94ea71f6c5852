"""What the questions at many places have in common, of one record and of groups: one call each, checked arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.numerics.work import one_call
from hockeystick.values import domains

Array = npt.NDArray[np.float64]

SLIP = 16 * UNIT_ROUNDOFF
"""Relative error that pays for some roundings of a number read off delta."""


class OfKinds(Protocol):
    """What answers about rounds of so many kinds."""

    @property
    def _kinds(self) -> int:
        """How many kinds of rounds a question is about: of very many a call may take more."""


P = ParamSpec("P")  # the parameters of a method that is one call
T = TypeVar("T")  # what it returns
S = TypeVar("S", bound=OfKinds)  # whose method it is


def one_call_each(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A method that is one call, as far as counted work goes (:mod:`hockeystick.numerics.work`)."""

    @wraps(method)
    def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with one_call(self._kinds):
            return method(self, *args, **kwargs)

    return called


def checked(value: npt.ArrayLike, domain: domains.Domain, key: str) -> Array:
    """The value as an array of floats, each checked to be in the domain.

    Raises:
        InvalidInputError: what is no number, or one outside the domain.
    """
    at = domains.array(value, key)
    rest = at[at != domain.also]
    for one in (rest.min(), rest.max()) if rest.size else ():
        domain.check(float(one), key)
    return at
