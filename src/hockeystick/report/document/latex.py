"""A sentence as LaTeX without packages: epsilon, delta and powers of ten in math mode, special characters escaped."""

from __future__ import annotations

import re

_ESCAPED = {
    **{mark: rf"\{mark}" for mark in "{}$&#%_"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}
"""Escape sequence of each special character in LaTeX."""

_POWER = r"\b(\d(?:\.\d+)?)e(-?\d{1,6})\b"
"""Pattern of a number with a power of ten, as this library prints it; digests are too long to match."""

_FORMULA = re.compile(
    r"epsilon <= \d(?:[\d.e-]*\d)?|\([^ ()]+, [^ ()]+\)(?=-differential)|\b(?:epsilon|delta)\b|"
    rf"{_POWER}|[\\{{}}$&#%_^~<>|\"]"
)
"""A formula in a sentence, or a special character."""


def latex(text: str) -> str:
    """Return a sentence of this library as LaTeX.

    >>> print(latex("50% of a_b has (2.39, 1e-5)-differential privacy: epsilon <= 2.5e-6"))
    50\\% of a\\_b has $(2.39, 10^{-5})$-differential privacy: $\\varepsilon \\le 2.5 \\cdot 10^{-6}$
    """
    return _FORMULA.sub(lambda found: _ESCAPED.get(found[0]) or f"${_formula(found[0])}$", text)


def _formula(text: str) -> str:
    named = text.replace("epsilon", r"\varepsilon").replace("delta", r"\delta").replace("<=", r"\le")
    return re.sub(_POWER, _power, named)


def _power(found: re.Match[str]) -> str:
    factor = "" if found[1] == "1" else rf"{found[1]} \cdot "
    return f"{factor}10^{{{found[2]}}}"
