"""Names of arguments that a function or a class does not have: refused in one line, with the one that was meant."""

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
T = TypeVar("T")  # what it returns


def named_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """A function that refuses the name of an argument that it does not have as a plan file refuses a key.

    The name that is meant is the one here of what other tools call so, or else the one of which it is a slip. Nothing
    is looked at where a call is right.

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
    """The metaclass of what a plan is made of: a class refuses names as :func:`named_arguments` lets a function do.

    A decorator would not do: the ``__init__`` of a dataclass is made after all that a base class may do to it.
    """

    if not TYPE_CHECKING:  # a checker knows the arguments by those of ``__init__``

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            """An instance, or the refusal."""
            try:
                return super().__call__(*args, **kwargs)
            except TypeError:
                refuse(cls, kwargs)
                raise

        @property
        def __signature__(cls) -> Any:
            """The arguments of ``__init__``, which ``help`` would otherwise look for in what calls it."""
            own = signature(cls.__init__)
            return own.replace(parameters=list(own.parameters.values())[1:])


def refuse(function: Callable[..., object], given: Iterable[str]) -> None:
    """Refuse the first name that is none of the function's.

    Raises:
        InvalidInputError: there is one; the line has the name that was meant, or all that there are.
    """
    known = [name for name in signature(function).parameters if name not in ("self", "others")]
    for name in given:
        if name not in known:
            close = key_meant(name, known) or nearest(name, known)
            hint = f"its arguments are {', '.join(known)}" if close is None else f"did you mean {close!r}?"
            raise InvalidInputError(f"{function.__name__} has no argument {shown(name)}; {hint}", name) from None
