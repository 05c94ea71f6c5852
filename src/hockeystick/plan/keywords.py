"""Refusal of unknown argument names of functions and classes, in one line that suggests the intended name."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from hockeystick.plan.other_names import key_meant
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import nearest, shown

P = ParamSpec("P")  # the parameters of the function
T = TypeVar("T")  # its return type


def named_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that refuses unknown argument names, as a plan file refuses unknown keys.

    The refusal suggests the argument that corresponds to another tool's name, or else the one closest in spelling.
    Correct calls are not examined.

    >>> @named_arguments
    ... def noisy(noise_multiplier: float) -> float:
    ...     return noise_multiplier
    >>> noisy(sigma=1.0)
    Traceback (most recent call last):
    hockeystick.values.errors.InvalidInputError: noisy has no argument 'sigma'; did you mean 'noise_multiplier'?
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TypeError:
            refuse(function, kwargs)
            raise

    return called


class NamedArguments(ABCMeta):
    """Metaclass of the parts of a plan: their classes refuse unknown names as :func:`named_arguments` does.

    A decorator in a base class would not work: ``dataclass`` makes the ``__init__`` of a subclass after every hook of
    the base class has run.
    """

    if not TYPE_CHECKING:  # a type checker takes the arguments from ``__init__``

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            """Return an instance, or refuse an unknown name."""
            try:
                return super().__call__(*args, **kwargs)
            except TypeError:
                refuse(cls, kwargs)
                raise

        @property
        def __signature__(cls) -> Any:
            """Signature of ``__init__`` without ``self``; otherwise ``help`` would show that of ``__call__`` above."""
            own = signature(cls.__init__)
            return own.replace(parameters=list(own.parameters.values())[1:])


def refuse(function: Callable[..., object], given: Iterable[str]) -> None:
    """Refuse the first name that is not an argument of the function.

    Raises:
        InvalidInputError: there is such a name; the message suggests the likely one, or lists all valid ones.
    """
    known = [name for name in signature(function).parameters if name not in ("self", "others")]
    for name in given:
        if name not in known:
            close = key_meant(name, known) or nearest(name, known)
            hint = f"its arguments are {', '.join(known)}" if close is None else f"did you mean {close!r}?"
            raise InvalidInputError(f"{function.__name__} has no argument {shown(name)}; {hint}", name) from None
