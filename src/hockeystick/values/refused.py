"""Base class of results that are not numbers: arithmetic, order and rounding raise a one-line error with the remedy.

``bound + 1`` and ``bound <= 3.0`` must name an end, since the result depends on which end is meant; and a bound that is
rounded down or to the nearest is no longer a bound. Type checkers do not see these methods, so they refuse such code
before it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "divmod": "divmod()",
}  # fmt: skip
"""Binary operators by the names of their methods, each of which has a reflected one."""

ORDER = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
"""Order comparisons; equality of two answers is allowed."""

UNARY = {
    "neg": "-", "pos": "+", "abs": "abs()", "round": "round()", "floor": "math.floor()", "trunc": "math.trunc()",
    "int": "int()",
}  # fmt: skip
"""Unary functions. ``math.ceil`` is not included: if there is a ``float()``, it rounds that up."""


class NoNumber:
    """Base class that refuses the operations of numbers; subclasses name the replacement in :meth:`_instead`."""

    __slots__ = ()

    def _instead(self) -> str:
        """Return a description of this result and of what to use instead, as a sentence without its full stop."""
        raise NotImplementedError

    if not TYPE_CHECKING:

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> NoReturn:
            raise TypeError(f"{self._instead()}; received np.{ufunc.__name__}()")


def refusal(said: str) -> Any:
    """Return a method that raises a TypeError with the text of :meth:`NoNumber._instead`, whatever its operands."""

    def refused(self: NoNumber, *others: object) -> NoReturn:
        raise TypeError(f"{self._instead()}; received {said}")

    return refused


for _name, _said in BINARY.items():
    setattr(NoNumber, f"__{_name}__", refusal(_said))
    setattr(NoNumber, f"__r{_name}__", refusal(_said))
for _name, _said in (*ORDER.items(), *UNARY.items()):
    setattr(NoNumber, f"__{_name}__", refusal(_said))
