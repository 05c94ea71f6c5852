"""Upper and lower laws of a loss on a grid in whole numbers: rounded, multiplied, cut and coarsened.

A mass is a whole multiple of ``2^-bits``, and cell n of a grid of fineness f represents the loss ``n unit 2^-f``. For a
list of rounds, let L be the sum of their losses under P, and let D(eps) be ``E (1 - e^(eps - L))_+``, where an infinite
loss counts 1.

**From above.** A law on the grid is *above* a list of rounds if its D is at least theirs at every real eps. Consider
two independent lists of rounds. Their common D at eps is the mean of the second list's D at eps - l, taken over the
loss l of the first list. So if there is a law above each list, the law of the sum of two independent losses, one from
each law, is above both lists together. A law stays above under each of these steps:

- a loss is raised, possibly to infinity: ``(1 - e^(eps - x))_+`` increases with x;
- a loss x between a and b is split: the share ``w = (1 - e^(a - x)) / (1 - e^(a - b))`` goes to b, and the rest to a.
  This keeps the mass and the mean of ``e^-x``, and D is the mean of a convex function of ``e^-x`` (Jensen).

The stored masses are upper bounds on the masses of such a law. The true masses of this law never sum to more than 1, so
the lost mass of a sum is at most the sum of the lost masses. The law of a sum of independent losses is a product of
polynomials. Its coefficients are rounded up, and a coefficient above 1 becomes 1, so that no rounding, however coarse,
makes numbers longer than ``bits``.

**From below.** A cell represents a set of outcomes. For any map from the outcomes of all rounds to cells, and any set E
of cells, ``delta(eps) >= P(E) - e^eps Q(E)``, as E is an event. The map used here adds the rounded losses of the
rounds, and merges pairs of neighbouring cells from time to time. So the masses of cells under P and under Q are
products of polynomials. Masses under P are rounded down, and masses under Q are rounded up. Cells left out belong to no
E.

The error of either bound is about half the variance of the rounding times the density of the loss at eps, which is of
second order in the grid spacing. Rounds are composed by repeated squaring. Each square is cut where masses become
negligible, and moved to a coarser grid if it has too many cells. So losses are rounded about once per binary digit of
the number of rounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import arb, fmpz_poly

from hockeystick.engines.proof.atoms import Outcome
from hockeystick.numerics.balls import GUARD_BITS, Ball, precision


@dataclass(frozen=True)
class Scale:
    """The spacing of the grid and the size of the whole numbers, shared by all laws of one proof.

    Attributes:
        unit: spacing of the grid of fineness 0, an exact ball above 0.
        bits: number of bits of a mass under P, which is a multiple of ``2^-bits``.
        q_bits: number of bits of a mass under Q, which is a multiple of ``2^-q_bits``.
    """

    unit: Ball
    bits: int
    q_bits: int

    def spacing(self, fine: int) -> Ball:
        """Return the spacing of the grid of a given fineness, exact up to the precision."""
        return self.unit * arb(2) ** -fine


def parts_above(value: Ball, bits: int) -> int:
    """Return the least whole number n >= 0 such that ``n 2^-bits`` is certainly at least the value in a ball."""
    return max(int((value.upper() * arb(2) ** bits).ceil().unique_fmpz()), 0)


def parts_below(value: Ball, bits: int) -> int:
    """Return the largest n such that ``n 2^-bits`` is certainly at most the value in a ball; at least 0."""
    return max(int((value.lower() * arb(2) ** bits).floor().unique_fmpz()), 0)


@dataclass(frozen=True)
class Cells:
    """An upper and a lower law of some rounds, on one grid.

    Attributes:
        scale: spacing of the grid of fineness 0, and bits of the masses.
        fine: fineness of the grid.
        first: number of the lowest cell.
        above: masses of the upper law in the cells from ``first`` on.
        lost: mass of the upper law at infinite loss.
        p: masses of the lower law under P in the same cells.
        q: masses of the lower law under Q in the same cells.
    """

    scale: Scale
    fine: int
    first: int
    above: list[int]
    lost: int
    p: list[int]
    q: list[int]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], offset: Ball, scale: Scale, fine: int, lost: Ball) -> Cells:
        """Return the two laws of one round's losses minus an offset.

        The P-mass ``lost``, which ``outcomes`` do not include, counts as infinite loss.
        """
        spacing, above, p, q = scale.spacing(fine), Counter[int](), Counter[int](), Counter[int]()
        whole = -(-spacing).expm1()
        for outcome in outcomes:
            place = ((outcome.loss - offset) / spacing).upper()
            cell = int(place.floor().unique_fmpz())
            share = -(-(place - cell) * spacing).expm1() / whole
            above[cell] += parts_above(outcome.p * (1 - share), scale.bits)
            above[cell + 1] += parts_above(outcome.p * share, scale.bits)
            nearest = round(float(place))
            p[nearest] += parts_below(outcome.p, scale.bits)
            q[nearest] += parts_above(outcome.q, scale.q_bits)
        cells = range(min(min(above), min(p)), max(max(above), max(p)) + 1)
        masses = [min(above[cell], 1 << scale.bits) for cell in cells]
        below = [p[cell] for cell in cells], [q[cell] for cell in cells]
        return cls(scale, fine, cells[0], masses, parts_above(lost, scale.bits), *below)

    @property
    def length(self) -> int:
        """Return the number of cells."""
        return len(self.above)

    def times(self, other: Cells) -> Cells:
        """Return the laws of the sum of two independent losses on one grid; the masses at infinite loss add up."""
        bits, q_bits = self.scale.bits, self.scale.q_bits
        above = [min(-(-mass >> bits), 1 << bits) for mass in _product(self.above, other.above)]
        p = [mass >> bits for mass in _product(self.p, other.p)]
        q = [min(-(-mass >> q_bits), 1 << q_bits) for mass in _product(self.q, other.q)]
        return Cells(self.scale, self.fine, self.first + other.first, above, self.lost + other.lost, p, q)

    def coarser(self) -> Cells:
        """Return the laws on the grid that consists of the even cells.

        The upper law splits the mass of each odd cell between its two neighbours; the lower law adds it to the cell
        below.
        """
        bits = self.scale.bits + GUARD_BITS
        with precision(bits + GUARD_BITS):  # share of a cell's mass that goes up
            share = 1 / (1 + (-self.scale.spacing(self.fine)).exp())
            low, high = parts_below(share, bits), parts_above(share, bits)
        front = [0] * (self.first % 2)
        above, p, q = front + self.above, front + self.p, front + self.q
        back = [0] * (1 - len(above) % 2)  # an even cell comes last
        above, p, q = above + back, p + back, q + back
        out, odd = above[::2], above[1::2]
        for place, mass in enumerate(odd):
            out[place] += mass - (mass * low >> bits)
            out[place + 1] += -(-mass * high >> bits)
        joined = [[a + b for a, b in zip(law[::2], [*law[1::2], 0], strict=True)] for law in (p, q)]
        return Cells(self.scale, self.fine - 1, self.first // 2, out, self.lost, *joined)

    def cut(self, parts: int) -> Cells:
        """Return the laws after cells are cut at both ends; at each end, the mass cut is at most ``parts``.

        In the upper law, mass cut at the upper end counts as infinite loss, and mass cut at the lower end is raised to
        the lowest cell that is kept. In the lower law, cells that are cut belong to no event E.
        """
        top, lost = _end(self.above[::-1], parts)
        last = self.length - top
        bottom, raised = _end(self.above[:last], parts)
        kept = slice(bottom, last)
        above = self.above[kept]
        above[0] += raised
        return Cells(self.scale, self.fine, self.first + bottom, above, self.lost + lost, self.p[kept], self.q[kept])


def _end(masses: Sequence[int], parts: int) -> tuple[int, int]:
    """Return the largest number of leading masses with a sum of at most ``parts``, and their sum.

    The last mass is never counted.
    """
    count = total = 0
    for mass in masses[:-1]:
        if total + mass > parts:
            break
        count, total = count + 1, total + mass
    return count, total


def _product(one: list[int], other: list[int]) -> list[int]:
    """Return the coefficients of the product of two polynomials, including zeros at the end."""
    first = fmpz_poly(one)
    found = first * first if one is other else first * fmpz_poly(other)
    out = [int(value) for value in found.coeffs()]
    return out + [0] * (len(one) + len(other) - 1 - len(out))


def fitting(law: Cells, most: int) -> Cells:
    """Return the laws on a grid on which they have at most ``most`` cells.

    This grid is the finest such grid that is no finer than the given one.
    """
    while law.length > most:
        law = law.coarser()
    return law


def together(one: Cells, other: Cells, most: int, parts: int) -> Cells:
    """Return the laws of the sum of two independent losses, cut at both ends, on a grid with few enough cells.

    Args:
        one: laws of the first loss.
        other: laws of the second loss.
        most: largest number of cells.
        parts: mass of the upper law that may be cut at each end.
    """
    same = one is other
    while one.fine > other.fine:
        one = one.coarser()
    while other.fine > one.fine:
        other = other.coarser()
    return fitting(one.times(one if same else other).cut(parts), most)


def power(law: Cells, count: int, most: int, parts: Callable[[int], int]) -> Cells:
    """Return the laws of the sum of ``count`` independent losses of the same law.

    Args:
        law: laws of one loss.
        count: number of losses, at least 1.
        most: largest number of cells of a law.
        parts: function that returns, for n losses, the mass that may be cut from each end of the law of their sum.
    """
    out, done = law, 1
    for digit in bin(count)[3:]:
        out, done = together(out, out, most, parts(2 * done)), 2 * done
        if digit == "1":
            out, done = together(out, law, most, parts(done + 1)), done + 1
    return out
