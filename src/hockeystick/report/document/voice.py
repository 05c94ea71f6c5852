"""Two ways of writing a sentence with numbers: plain text and LaTeX."""

from __future__ import annotations

import re

from hockeystick.values.domains import one_line

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}
"""Escape sequence of each special character in LaTeX."""

_POWER = re.compile(r"^(-?[0-9.]+)e(-?[0-9]+)$")
"""Number with a power of ten, as this library prints it."""


class Text:
    """Plain ASCII text."""

    epsilon, delta = "epsilon", "delta"  # their names in a sentence

    def words(self, text: str) -> str:
        """Return any text on one line."""
        return one_line(text)

    def number(self, text: str) -> str:
        """Return a number as this library prints it."""
        return text

    def at_most(self, name: str, number: str) -> str:
        """Return the statement that a quantity is at most a number, or infinite."""
        return f"{name} is infinite" if number == "infinite" else f"{name} <= {number}"

    def pair(self, epsilon: str, delta: str) -> str:
        """Return the name of the guarantee, such as (1, 1e-5)-differential privacy."""
        return f"({epsilon}, {delta})-differential privacy"


class Latex(Text):
    """LaTeX without packages: names and numbers in math mode, all else escaped."""

    epsilon, delta = r"$\varepsilon$", r"$\delta$"  # their names in a sentence

    def words(self, text: str) -> str:
        """Return any text on one line, escaped for LaTeX.

        >>> Latex().words("50% of a_b \\\\input{x} & $y$")
        '50\\\\% of a\\\\_b \\\\textbackslash{}input\\\\{x\\\\} \\\\& \\\\$y\\\\$'
        """
        return "".join(_LATEX.get(character, character) for character in one_line(text))

    def number(self, text: str) -> str:
        """Return a number in math mode, with a power of ten instead of an exponent such as e-6.

        >>> Latex().number("2.5e-6"), Latex().number("1e-5"), Latex().number("2.39")
        ('$2.5 \\\\cdot 10^{-6}$', '$10^{-5}$', '$2.39$')
        """
        return f"${self._bare(text)}$"

    def at_most(self, name: str, number: str) -> str:
        """Return, in math mode, the statement that a quantity is at most a number, or infinite."""
        if number == "infinite":
            return f"{name} is infinite"
        return f"{name.removesuffix('$')} \\le {self._bare(number)}$"

    def pair(self, epsilon: str, delta: str) -> str:
        """Return the name of the guarantee, with epsilon and delta in math mode."""
        return f"$({self._bare(epsilon)}, {self._bare(delta)})$-differential privacy"

    def _bare(self, text: str) -> str:
        found = _POWER.match(text)
        if found is None:
            return text
        power = f"10^{{{found[2]}}}"
        return power if found[1] == "1" else f"{found[1]} \\cdot {power}"
