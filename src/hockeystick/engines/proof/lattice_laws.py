"""Laws of a loss on a grid in whole numbers, from above and from below: rounded, multiplied, cut and made coarser.

A mass is a whole number of parts ``2^-bits`` of 1, and a cell n of a grid of fineness f stands for ``n unit 2^-f``. Let
D(eps) be ``E (1 - e^(eps - L))_+`` of a list of rounds, whose losses are L under P; what is infinite counts 1.

**From above** (:class:`Above`). A law on the grid is *above* rounds if its D is at least theirs at every real eps. As D
of two independent lists together is the mean of D of the one at eps less a loss of the other, a law above each of them
gives one above both. Each of these steps keeps a law above:

- a loss is raised, to infinity in particular: ``(1 - e^(eps - x))_+`` rises with x;
- a loss x between a and b is split, the share ``w = (1 - e^(a - x)) / (1 - e^(a - b))`` going to b and the rest to a:
  mass and mean of ``e^-x`` are kept, and D is the mean of a convex function of that (Jensen).

Masses are kept as upper bounds on those of such a law, whose own masses never sum to more than 1: what is lost of a sum
is then at most what is lost of either. The law of a sum of independent losses is a product of polynomials, the
coefficients rounded up; one above 1 is 1, so that no rounding, however coarse, makes numbers longer than ``bits``.

**From below** (:class:`Below`). A cell is nothing but a name for a set of outcomes. With any map from the outcomes of
all rounds to cells, and any set E of cells, ``delta(eps) >= P(E) - e^eps Q(E)``: the excess of an event. The map here
is a sum over the rounds of rounded losses, pairs of neighbouring cells joined now and then, so that the masses of cells
under P and under Q are products of polynomials each; those of P are rounded down, those of Q up. Cells that are left
out are in no E.

Both are off by about the variance of what is rounded times half the density of the loss at eps: of second order in the
grid. Rounds are composed by squares, each cut where next to nothing is left and put on a grid as coarse as its width
asks for, so that rounding is done about as often as the number of rounds has binary digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

from flint import arb, fmpz_poly

from hockeystick.numerics.balls import Ball, precision
from hockeystick.numerics.work import check_left, spend

CELL = 200.0  # units of work of a cell in a product
MORE_BITS = 32  # of a share by which a mass is split, beyond those of the mass


class Outcome(NamedTuple):
    """A finite loss of one round with balls around its masses under P and Q."""

    loss: Ball
    p: Ball
    q: Ball


@dataclass(frozen=True)
class Scale:
    """What the laws of one proof have in common.

    Attributes:
        unit: spacing of the grid of fineness 0, an exact ball above 0.
        bits: of a mass under P.
        q_bits: of a mass under Q.
    """

    unit: Ball
    bits: int
    q_bits: int

    def spacing(self, fine: int) -> Ball:
        """The spacing of a grid, exact up to the precision."""
        return self.unit * arb(2) ** -fine

    @cached_property
    def _shares(self) -> dict[int, tuple[int, int]]:
        return {}

    def upward(self, fine: int) -> tuple[int, int]:
        """Ends of the share ``1 / (1 + e^-spacing)`` of an odd cell that goes up, where every second cell is kept."""
        if fine not in self._shares:
            bits = self.bits + MORE_BITS
            with precision(bits + MORE_BITS):
                share = 1 / (1 + (-self.spacing(fine)).exp())
                self._shares[fine] = parts_below(share, bits), parts_above(share, bits)
        return self._shares[fine]


def parts_above(value: Ball, bits: int) -> int:
    """The least number of parts ``2^-bits`` that is certainly at least a ball; at least 0."""
    return max(int((value.upper() * arb(2) ** bits).ceil().unique_fmpz()), 0)


def parts_below(value: Ball, bits: int) -> int:
    """The largest number of parts ``2^-bits`` that is certainly at most a ball, or 0."""
    return max(int((value.lower() * arb(2) ** bits).floor().unique_fmpz()), 0)


LawT = TypeVar("LawT", bound="Law")
"""A law from above or from below."""


class Law(Protocol):
    """What both kinds of laws do."""

    @property
    def fine(self) -> int:
        """Fineness of the grid."""
        ...

    @property
    def length(self) -> int:
        """The number of cells."""
        ...

    def times(self: LawT, other: LawT) -> LawT:
        """The law of the sum of two independent losses on one grid."""
        ...

    def coarser(self: LawT) -> LawT:
        """The law on the grid of twice the spacing."""
        ...

    def cut(self: LawT, parts: int) -> LawT:
        """The law without cells at either end that weigh no more than so many parts together."""
        ...


@dataclass(frozen=True)
class Above:
    """A law above some rounds (see the module).

    Attributes:
        scale: what masses and cells mean.
        fine: fineness of the grid.
        first: the lowest cell.
        masses: of this cell and those that follow, at least one.
        lost: mass at infinity.
    """

    scale: Scale
    fine: int
    first: int
    masses: list[int]
    lost: int

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], offset: Ball, scale: Scale, fine: int, lost: Ball) -> Above:
        """The losses less an offset, split between the cells around them; ``lost`` of them are taken for infinite."""
        spacing, found = scale.spacing(fine), dict[int, int]()
        whole = -(-spacing).expm1()
        for outcome in outcomes:
            place = ((outcome.loss - offset) / spacing).upper()
            cell = int(place.floor().unique_fmpz())
            share = -(-(place - cell) * spacing).expm1() / whole
            for at, mass in ((cell, outcome.p * (1 - share)), (cell + 1, outcome.p * share)):
                found[at] = found.get(at, 0) + parts_above(mass, scale.bits)
        first = min(found)
        masses = [min(found.get(cell, 0), 1 << scale.bits) for cell in range(first, max(found) + 1)]
        return cls(scale, fine, first, masses, parts_above(lost, scale.bits))

    @property
    def length(self) -> int:
        """The number of cells."""
        return len(self.masses)

    def times(self, other: Above) -> Above:
        """The law of the sum; what is lost of either is lost."""
        bits = self.scale.bits
        masses = [min(-(-mass >> bits), 1 << bits) for mass in _product(self.masses, other.masses)]
        return Above(self.scale, self.fine, self.first + other.first, masses, self.lost + other.lost)

    def coarser(self) -> Above:
        """Every second cell is kept, and the others split between their neighbours."""
        low, high = self.scale.upward(self.fine)
        shift = self.scale.bits + MORE_BITS
        masses = [0, *self.masses] if self.first % 2 else self.masses
        first = self.first - self.first % 2
        even, odd = masses[::2], masses[1::2]
        out = [*even, 0] if len(odd) == len(even) else even
        for place, mass in enumerate(odd):
            out[place] += mass - (mass * low >> shift)
            out[place + 1] += -(-mass * high >> shift)
        return Above(self.scale, self.fine - 1, first // 2, out, self.lost)

    def cut(self, parts: int) -> Above:
        """The law without its ends: what is above is lost, what is below is raised to the lowest cell that is left."""
        top, lost = _end(self.masses[::-1], parts)
        kept = self.masses[: len(self.masses) - top] if top else self.masses
        bottom, raised = _end(kept, parts)
        kept = kept[bottom:]
        kept[0] += raised
        return Above(self.scale, self.fine, self.first + bottom, kept, self.lost + lost)


@dataclass(frozen=True)
class Below:
    """The masses of sets of outcomes of some rounds (see the module).

    Attributes:
        scale: what masses mean.
        fine: fineness of the grid that names the cells.
        first: the lowest cell.
        p: masses of this cell and those that follow under P, rounded down.
        q: masses under Q, rounded up, as many.
    """

    scale: Scale
    fine: int
    first: int
    p: list[int]
    q: list[int]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], offset: Ball, scale: Scale, fine: int) -> Below:
        """Every outcome in the cell next to its loss less an offset."""
        spacing, p, q = scale.spacing(fine), dict[int, int](), dict[int, int]()
        for outcome in outcomes:
            cell = int((((outcome.loss - offset) / spacing).mid() + 0.5).floor().unique_fmpz())
            p[cell] = p.get(cell, 0) + parts_below(outcome.p, scale.bits)
            q[cell] = q.get(cell, 0) + parts_above(outcome.q, scale.q_bits)
        cells = range(min(p), max(p) + 1)
        return cls(scale, fine, cells[0], [p.get(cell, 0) for cell in cells], [q.get(cell, 0) for cell in cells])

    @property
    def length(self) -> int:
        """The number of cells."""
        return len(self.p)

    def times(self, other: Below) -> Below:
        """The masses of the sums of cells."""
        q_bits = self.scale.q_bits
        p = [mass >> self.scale.bits for mass in _product(self.p, other.p)]
        q = [min(-(-mass >> q_bits), 1 << q_bits) for mass in _product(self.q, other.q)]
        return Below(self.scale, self.fine, self.first + other.first, p, q)

    def coarser(self) -> Below:
        """Pairs of neighbouring cells joined."""
        front = [0] * (self.first % 2)
        p, q = front + self.p, front + self.q
        end = [0] * (len(p) % 2)
        p, q = p + end, q + end
        joined = (
            [a + b for a, b in zip(p[::2], p[1::2], strict=True)],
            [a + b for a, b in zip(q[::2], q[1::2], strict=True)],
        )
        return Below(self.scale, self.fine - 1, self.first // 2, *joined)

    def cut(self, parts: int) -> Below:
        """The cells in the middle, those at the ends that P hardly shows left out."""
        top, _ = _end(self.p[::-1], parts)
        last = len(self.p) - top
        bottom, _ = _end(self.p[:last], parts)
        return Below(self.scale, self.fine, self.first + bottom, self.p[bottom:last], self.q[bottom:last])


def _end(masses: Sequence[int], parts: int) -> tuple[int, int]:
    """How many masses at the beginning weigh no more than so many parts together, all but one at most, and how much."""
    count = total = 0
    for mass in masses[:-1]:
        if total + mass > parts:
            break
        count, total = count + 1, total + mass
    return count, total


def _product(one: list[int], other: list[int]) -> list[int]:
    """The coefficients of the product of two polynomials, zeros at the end included."""
    first = fmpz_poly(one)
    found = first * first if one is other else first * fmpz_poly(other)
    out = [int(value) for value in found.coeffs()]
    return out + [0] * (len(one) + len(other) - 1 - len(out))


def fitting(law: LawT, most: int) -> LawT:
    """The law on the finest grid, of those from its own on, on which it has no more cells than that."""
    while law.length > most:
        law = law.coarser()
    return law


def together(one: LawT, other: LawT, most: int, parts: int) -> LawT:
    """The law of the sum of two independent losses, cut and put on a grid on which it fits."""
    same = one is other
    while one.fine > other.fine:
        one = one.coarser()
    while other.fine > one.fine:
        other = other.coarser()
    check_left()
    spend(CELL * (one.length + other.length))
    return fitting((one.times(one) if same else one.times(other)).cut(parts), most)


def power(law: LawT, count: int, most: int, parts: Callable[[int], int]) -> LawT:
    """The law of the sum of so many independent losses.

    Args:
        law: of one of them.
        count: how many, at least 1.
        most: cells of a law.
        parts: what may be cut from each end of the law of a sum of so many.
    """
    out: LawT | None = None
    block, size, done = law, 1, 0
    while True:
        if count & size:
            done += size
            out = block if out is None else together(out, block, most, parts(done))
        if 2 * size > count:
            break
        block, size = together(block, block, most, parts(2 * size)), 2 * size
    assert out is not None  # count is at least 1
    return out


def products(count: int) -> int:
    """How many products :func:`power` takes."""
    return count.bit_length() + count.bit_count() - 2
