"""Unknown argument names of a function or a class: refused in one line that suggests the intended name."""

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

    The suggested name is the one here for another tool's name, or else the one that is closest in spelling. A correct
    call is not examined.

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

    A decorator would not work: the ``__init__`` of a dataclass is made after anything that a base class can do to it.
    """

    if not TYPE_CHECKING:  # a type checker takes the arguments from ``__init__``

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
    """Refuse the first name that is not an argument of the function.

    Raises:
        InvalidInputError: there is one; the message has the likely name, or all valid ones.
    """
    known = [name for name in signature(function).parameters if name not in ("self", "others")]
    for name in given:
        if name not in known:
            close = key_meant(name, known) or nearest(name, known)
            hint = f"its arguments are {', '.join(known)}" if close is None else f"did you mean {close!r}?"
            raise InvalidInputError(f"{function.__name__} has no argument {shown(name)}; {hint}", name) from None
