"""Base class of results that are not numbers: arithmetic, order and rounding raise an error with a remedy.

The results of ``bound + 1`` and ``bound <= 3.0`` would depend on which end of the interval is meant, so a program must
name the end. Rounding is refused because an upper bound that is rounded down is no longer a bound. The methods that
raise are hidden from type checkers, which therefore report such code before it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "divmod": "divmod()",
}  # fmt: skip
"""Binary operators by the names of their methods; each also has a reflected method, such as ``__radd__``."""

ORDER = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
"""Order comparisons; equality of two answers is allowed."""

UNARY = {
    "neg": "-", "pos": "+", "abs": "abs()", "round": "round()", "floor": "math.floor()", "trunc": "math.trunc()",
    "int": "int()",
}  # fmt: skip
"""Unary functions by the names of their methods. ``math.ceil`` is allowed: it rounds the result of ``float()`` up."""


class NoNumber:
    """Base class that refuses the operations of numbers; :meth:`_instead` of a subclass says what to use instead."""

    __slots__ = ()

    def _instead(self) -> str:
        """Return a description of this result and of what to use instead, as a sentence without its full stop."""
        raise NotImplementedError

    if not TYPE_CHECKING:

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> NoReturn:
            raise TypeError(f"{self._instead()}; received np.{ufunc.__name__}()")


def refusal(said: str) -> Any:
    """Return a method that accepts any operands and raises a TypeError with the text of :meth:`NoNumber._instead`.

    Args:
        said: name of the operation, which ends the message.
    """

    def refused(self: NoNumber, *others: object) -> NoReturn:
        raise TypeError(f"{self._instead()}; received {said}")

    return refused


for _name, _said in BINARY.items():
    setattr(NoNumber, f"__{_name}__", refusal(_said))
    setattr(NoNumber, f"__r{_name}__", refusal(_said))
for _name, _said in (*ORDER.items(), *UNARY.items()):
    setattr(NoNumber, f"__{_name}__", refusal(_said))
