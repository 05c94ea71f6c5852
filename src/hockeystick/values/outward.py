"""Display of bounds in format strings, in print, and as a small table in notebooks.

``f"{bound:.2f}"`` is the number to quote, rounded up: if an upper bound is rounded down, it is no longer a bound. The
ends of a printed interval are rounded outward. An estimate, which may lie on either side of the truth, is rounded to
the nearest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from hockeystick.values.errors import InvalidInputError
from hockeystick.values.refused import NoNumber
from hockeystick.values.words import one_line

MOST_ROWS = 20  # largest number of rows of a table in a notebook

DIGITS = ".6g"  # format of ends if none is given, the same as on the command line

UP, DOWN, NEAREST = "ROUND_CEILING", "ROUND_FLOOR", "ROUND_HALF_EVEN"  # roundings, as the module decimal names them

USUAL = ".6"  # precision of a format that has a type but no precision, as in Python


def rounded(value: float, spec: str, rounding: str) -> str:
    """Return a number in a format such as ``.2f``, rounded in exact decimal arithmetic.

    Args:
        value: any double.
        spec: a format for floats; without a precision and a type, the digits are those that Python prints.
        rounding: :data:`UP`, :data:`DOWN` or :data:`NEAREST`.

    Raises:
        InvalidInputError: the format is not one for floats.

    >>> rounded(2.3851, ".2f", UP), rounded(2.3851, ".2f", DOWN), rounded(1.21e-7, ".1e", UP)
    ('2.39', '2.38', '1.3e-7')
    """
    from decimal import Decimal, localcontext  # late imports, since computations do not need them

    try:
        if spec.endswith(tuple("eEfFgG%")) and "." not in spec:
            spec = f"{spec[:-1]}{USUAL}{spec[-1]}"
        if not math.isfinite(value) or "." not in spec:
            return format(value, spec)
        with localcontext() as context:
            context.rounding = rounding
            return format(Decimal(value), spec)
    except ValueError:
        raise InvalidInputError(
            f"the format of a bound must be a float format such as '.2f'; received {spec!r}", "format"
        ) from None


def shortest(value: float) -> str:
    """Return a number with six significant digits if they are exact, else with all digits that Python prints.

    >>> shortest(3.0), shortest(1e-5), shortest(1 / 60_000)
    ('3', '1e-5', '1.6666666666666667e-5')
    """
    short = f"{value:g}"
    return short_exponent(short if float(short) == value else repr(float(value)))


def six_digits(value: float) -> str:
    """Return a number rounded to six significant digits; use it only for values that are not bounds.

    >>> six_digits(1e-6), six_digits(5000.0), six_digits(1.0 / 3.0)
    ('1e-6', '5000', '0.333333')
    """
    return short_exponent(f"{value:g}")


def short_exponent(written: str) -> str:
    """Return a decimal without leading zeros or a plus sign in its exponent.

    >>> short_exponent(repr(1e-5)), short_exponent(repr(1e16)), short_exponent("0.5")
    ('1e-5', '1e16', '0.5')
    """
    return written.replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


class Shows(NoNumber):
    """Base class for the display of bounds and estimates: format strings, print, notebooks.

    A subclass lists the names of its numbers in ``_numbers``; the last of them is the number to quote. The
    subclass also has the attributes ``guarantee``, ``accountant``, ``direction``, ``reason``, ``assumptions`` and
    ``warnings``.
    """

    __slots__ = ()
    _numbers: ClassVar[tuple[str, ...]]

    @property
    def quoted(self) -> float:
        """Return the number to quote: the upper end, which is safe, or else the estimate."""
        return float(getattr(self, self._numbers[-1]))

    @property
    def ends(self) -> Mapping[str, float]:
        """Return the numbers by their names."""
        return {name: getattr(self, name) for name in self._numbers}

    # attributes of the dataclasses that inherit from this class
    guarantee: str
    accountant: str
    direction: str | None
    reason: str | None
    assumptions: Sequence[str]
    warnings: Sequence[str]

    def _instead(self) -> str:
        name, ends = type(self).__name__, self.ends
        if self.guarantee == "estimate":
            return f"an {name} is not a number and may lie on either side of the truth; use .value"
        if "lower" not in ends:
            return f"an {name} is not a number; use .upper, which is safe to quote"
        return f"a {name} is an interval, not a number; use .upper, the end that is safe to quote, or .lower"

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        return rounded(self.quoted, spec, NEAREST if self.guarantee == "estimate" else UP)

    def __str__(self) -> str:
        return f"{self._interval()} ({self.guarantee})"

    def _interval(self) -> str:
        ends = self.ends
        if self.guarantee == "estimate":
            return f"about {rounded(self.quoted, DIGITS, NEAREST)}"
        upper = rounded(self.quoted, DIGITS, UP)
        if "lower" not in ends:
            return f"at most {upper}"
        lower = rounded(ends["lower"], DIGITS, DOWN)
        return upper if lower == upper else f"{lower} to {upper}"

    def _repr_html_(self) -> str:
        """Return an HTML table for notebooks: the number to quote as the caption, then its details."""
        sign = "about" if self.guarantee == "estimate" else "at most"
        headline = f"{sign} {rounded(self.quoted, '.3g', NEAREST if self.guarantee == 'estimate' else UP)}"
        rows = [("interval", self._interval()), ("guarantee", f"{self.guarantee}, by {self.accountant}")]
        if self.direction is not None:
            rows.append(("direction", f"{self.direction} (the worse direction)"))
        if self.reason is not None:
            rows.append(("reason", self.reason))
        rows += [("assumes", text) for text in self.assumptions] + [("warning", text) for text in self.warnings]
        return html_table(headline, rows)


def and_more(rows: Sequence[Sequence[str]], count: int) -> list[Sequence[str]]:
    """Return the rows and, if they are fewer than ``count``, one more row with the number of rows left out.

    >>> and_more([("1", "a"), ("2", "b")], 5)
    [('1', 'a'), ('2', 'b'), ('and 3 more', '')]
    """
    return [*rows, (f"and {count - len(rows)} more", *[""] * (len(rows[0]) - 1))] if count > len(rows) else [*rows]


def html_table(caption: str, rows: Iterable[Sequence[str]], heads: Sequence[str] = ()) -> str:
    """Return an HTML table for a notebook, with all strings escaped; the first cell of each row is the row header.

    >>> html_table("<b>", [("a", "1 < 2")])
    '<table><caption>&lt;b&gt;</caption><tbody><tr><th scope="row">a</th><td>1 &lt; 2</td></tr></tbody></table>'
    """
    head = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in heads)
    body = "".join(_row(row) for row in rows)
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table><caption>{_text(caption)}</caption>{top}<tbody>{body}</tbody></table>"


def _row(row: Sequence[str]) -> str:
    first, *others = row
    cells = "".join(f"<td>{_text(cell)}</td>" for cell in others)
    return f'<tr><th scope="row">{_text(first)}</th>{cells}</tr>'


def _text(text: str) -> str:
    from html import escape

    return escape(one_line(text))
