"""Measures on equally spaced points, as rows of whole numbers over a power of two: their products are exact.

A row is a part of a law (``convex_order.py``): masses are rounded down when they are made and after every product, and
masses at either end that have become 0 are dropped. So a row covers what is heavier than ``2^-bits``, wherever that is,
and is as long as some standard deviations of the sum. Products are those of polynomials over the integers in FLINT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpz_poly

UNIT = (100.0, 5.0)
"""Units of work of a point of a product: of it, and of each bit of a mass."""


@dataclass(frozen=True, slots=True)
class Row:
    """Masses ``2^-bits poly[i]`` at the points ``first + i``; no point has any where the polynomial is 0."""

    first: int
    poly: fmpz_poly
    bits: int

    @classmethod
    def of(cls, masses: Sequence[int], first: int, bits: int) -> Row:
        """The row of some masses, at least 0."""
        return cls(0, fmpz_poly([]), bits)._trimmed(list(masses), first)

    @classmethod
    def one(cls, bits: int) -> Row:
        """The sum of no terms: all mass at 0."""
        return cls(0, fmpz_poly([1 << bits]), bits)

    def _trimmed(self, masses: list[int], first: int) -> Row:
        start = next((i for i, mass in enumerate(masses) if mass), len(masses))
        return Row(first + start, fmpz_poly(masses[start:]), self.bits)

    def __len__(self) -> int:
        return len(self.poly)

    def masses(self) -> list[int]:
        """All masses, in units of ``2^-bits``."""
        return [int(mass) for mass in self.poly.coeffs()]

    def times(self, other: Row) -> Row:
        """The sum of two independent ones, every mass rounded down.

        Both polynomials have coefficients of at least 0, and so has their product; its division by a constant divides
        each of them and rounds it down.
        """
        product = self.poly * other.poly // fmpz_poly([1 << self.bits])
        first = self.first + other.first
        if len(product) and product[0] == 0:
            return self._trimmed([int(mass) for mass in product.coeffs()], first)
        return Row(first, product, self.bits)

    def scaled(self, factor: Fraction) -> Row:
        """All masses by a factor, rounded down."""
        return Row(self.first, self.poly * factor.numerator // fmpz_poly([factor.denominator]), self.bits)

    def power(self, count: int) -> Row:
        """The sum of so many independent ones."""
        out = Row.one(self.bits)
        for digit in bin(count)[2:]:
            out = out.times(out)
            if digit == "1":
                out = out.times(self)
        return out


def cost(points: float, bits: int) -> float:
    """Units of work of a product of so many points."""
    return points * (UNIT[0] + UNIT[1] * bits)
