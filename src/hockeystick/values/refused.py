"""Base of results that are no numbers: arithmetic, order and rounding are refused in one line with the remedy.

``bound + 1`` and ``bound <= 3.0`` have to name an end, since the answer depends on it; rounded to the nearest, or down,
a bound is none. Readers of types know nothing of these methods, so that they refuse such code before it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "divmod": "divmod()",
}  # fmt: skip
"""Operators of two operands, by the names of their methods, each of which has a reflected one."""

ORDER = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
"""Comparisons; whether two answers are equal is a question that has an answer."""

UNARY = {
    "neg": "-", "pos": "+", "abs": "abs()", "round": "round()", "floor": "math.floor()", "trunc": "math.trunc()",
    "int": "int()",
}  # fmt: skip
"""Functions of one operand. ``math.ceil`` is none of them: where there is a ``float()``, it rounds that up."""


class NoNumber:
    """Refuses what numbers do. Whoever inherits it says in :meth:`_instead` what to take in its place."""

    __slots__ = ()

    def _instead(self) -> str:
        """Description of this, and what to take, as one sentence without its end."""
        raise NotImplementedError

    if not TYPE_CHECKING:

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> NoReturn:
            raise TypeError(f"{self._instead()}; received np.{ufunc.__name__}()")


def refusal(said: str) -> Any:
    """A method that raises the TypeError of :meth:`NoNumber._instead` for what was received, whatever its operands."""

    def refused(self: NoNumber, *others: object) -> NoReturn:
        raise TypeError(f"{self._instead()}; received {said}")

    return refused


for _name, _said in BINARY.items():
    setattr(NoNumber, f"__{_name}__", refusal(_said))
    setattr(NoNumber, f"__r{_name}__", refusal(_said))
for _name, _said in (*ORDER.items(), *UNARY.items()):
    setattr(NoNumber, f"__{_name}__", refusal(_said))
