"""Rounds with atoms alone, however many and of however many losses: delta between two laws on a grid.

Both are made in whole numbers, rounding on the safe side at every step (``lattice_laws.py`` has the inequalities). With
A_n the mass of the cells from n on and B_n what Q has of them, ``e^-loss`` times each,

    delta(eps) <= lost + A_n - e^eps B_n + sum over cells in doubt of (1 - e^(eps - loss))_+ of their masses ,

where the cells from n on have losses that certainly exceed eps, and those in doubt neither certainly exceed it nor are
certainly at most eps. From below it is ``P(E) - e^eps Q(E)`` with E the cells from n on, for any n.

Where all losses of the rounds are a first one plus whole multiples of one number, and the grid takes them all, both
ends differ by roundings alone. That this is so is guessed in floating point: no end rests on it.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import NamedTuple

from flint import arb

from hockeystick.engines.proof.enclosure import Enclosure
from hockeystick.engines.proof.lattice_laws import (
    CELL,
    Above,
    Below,
    LawT,
    Outcome,
    Scale,
    fitting,
    parts_below,
    power,
    products,
    together,
)
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.numerics.balls import Ball, precision
from hockeystick.numerics.work import charge
from hockeystick.values.errors import NotApplicableError

SHARE = 0.02  # of the asked width of log delta, for what is cut, and for what is rounded
SPARE_BITS = 64  # of balls, beyond those of the masses
PARTS = 1 << 40  # of a range of losses, of which their common spacing is sought
LEAST_STEPS = 1 << 22  # of a range of losses, at most, that a spacing which they are taken to have leaves
CELL_BIT = 9.0  # units of work of a bit of a cell, in a product
ATOM = 30_000.0  # units of work of an outcome of a round
DEEPEST = 30_000.0  # log of the least delta
LARGEST = 1e6  # epsilon: masses under Q have as many bits more
NEIGHBOURS = 3  # cells on either side of the one where the masses' ratio crosses e^eps, from which E may begin


class Kind(NamedTuple):
    """Rounds of one law.

    Attributes:
        outcomes: those of one round that have a finite loss.
        left_out: what P has of finite losses beside them, at most.
        times: how many rounds.
        offset: the loss of the heaviest outcome, about.
    """

    outcomes: list[Outcome]
    left_out: Ball
    times: int
    offset: Ball


class PoweredLaws:
    """Two laws between which delta of some rounds lies.

    Args:
        rounds: rounds with atoms alone.
        epsilon: where to look.
        depth: about log delta there.
        tolerance: wanted size of roundings relative to delta.
        length: cells of a law.
        finer: whether laws of fewer cells were had, so that these are not begun unless all of their work is left.

    Raises:
        NotApplicableError: they would take too long, or delta is too small.
    """

    name = "grid of whole numbers"

    def __init__(
        self, rounds: ExactRounds, epsilon: float, depth: float, tolerance: float, length: int, finer: bool = False
    ) -> None:
        if not (-depth <= DEEPEST and epsilon <= LARGEST):
            raise NotApplicableError("delta is too small, or epsilon too large, for a proof")
        atomic, number = rounds.atomic, rounds.number
        share = depth + math.log(SHARE * tolerance)
        cut = share - math.log(number)  # log of the mass of a round that is left out
        bits = math.ceil((math.log(length) - share) / math.log(2)) + number.bit_length() + 2
        q_bits = bits + max(math.ceil(epsilon / math.log(2)), 0) + 2
        self._bits = q_bits + SPARE_BITS
        made = len(atomic) - 1 + sum(products(count) for _, count in atomic)
        units = CELL_BIT * length * (2 * bits + q_bits) * (made + 1)
        units += ATOM * sum(one.terms(cut, self._bits) for one, _ in atomic)
        cells = 4 * CELL * length * made if finer else 0.0  # of two laws, a product of two that are no longer than that
        charge(units, "the losses have too many distinct sums for a proof, on any grid", cells)
        with precision(self._bits):
            found = [_kind(*one.outcomes(cut), count, cut) for one, count in atomic]
            unit, finest = _grid(found)
            scale = Scale(unit, bits, q_bits)
            self._offset = sum((kind.times * kind.offset for kind in found), arb(0))
            whole = parts_below(arb(share).exp(), bits)
            above, below = [], []
            for kind in found:
                fine = _fineness(kind, unit, finest, length)
                args = kind.outcomes, kind.offset, scale, fine
                parts = _Parts(whole, kind.times, number)
                above.append(power(fitting(Above.of(*args, kind.left_out), length), kind.times, length, parts))
                below.append(power(fitting(Below.of(*args), length), kind.times, length, parts))
            self._lay_above(_joined(above, length, whole // number))
            self._lay_below(_joined(below, length, whole // number))

    def _lay_above(self, law: Above) -> None:
        parts, spacing = arb(2) ** -law.scale.bits, law.scale.spacing(law.fine)
        self._above, self._spacing = law, spacing
        fall, size = (-spacing).exp(), (-spacing * law.first - self._offset).exp()
        q = []
        for mass in law.masses:
            q.append(size * mass)
            size *= fall
        self._above_p: list[int] = [0, *accumulate(reversed(law.masses))][::-1]
        self._above_q: list[Ball] = [arb(0), *accumulate(reversed(q))][::-1]
        self._parts = parts

    def _lay_below(self, law: Below) -> None:
        self._below_p: list[int] = [0, *accumulate(reversed(law.p))][::-1]
        self._below_q: list[int] = [0, *accumulate(reversed(law.q))][::-1]
        shift = (law.scale.q_bits - law.scale.bits) * math.log(2)
        self._seen = [place for place, mass in enumerate(law.p) if mass]  # cells that may belong to E
        self._ratio = [math.log(law.p[n]) - math.log(max(law.q[n], 1)) + shift for n in self._seen]
        self._q_parts = arb(2) ** -law.scale.q_bits

    def upper(self, epsilon: Ball) -> Ball:
        """An upper end of delta at an epsilon."""
        with precision(self._bits):
            law, odds = self._above, epsilon.exp()
            place = (epsilon - self._offset) / self._spacing - law.first
            last = len(law.masses)
            low = min(max(int(place.lower().floor().unique_fmpz()), 0), last)  # those below are at most eps
            sure = min(max(int(place.upper().floor().unique_fmpz()) + 1, 0), last)  # those from here on exceed it
            total = self._parts * (self._above_p[sure] + law.lost - odds * self._above_q[sure])
            for n in range(low, sure):
                excess = -(epsilon - self._offset - self._spacing * (law.first + n)).expm1()
                total += self._parts * law.masses[n] * excess.upper().max(arb(0))
            return total.upper()

    def lower(self, epsilon: Ball) -> Ball:
        """A lower end of delta at an epsilon."""
        with precision(self._bits):
            at, odds = float(epsilon.mid()), epsilon.exp()
            first, last = 0, len(self._seen)
            while first < last:
                middle = (first + last) // 2
                first, last = (first, middle) if self._ratio[middle] > at else (middle + 1, last)
            best = arb(0)
            for place in self._seen[max(first - NEIGHBOURS, 0) : first + NEIGHBOURS + 1]:
                found = self._parts * self._below_p[place] - odds * self._q_parts * self._below_q[place]
                best = best.max(found.lower())
            return best.lower()

    def delta(self, epsilon: Ball) -> Enclosure:
        """Both ends of delta at an epsilon."""
        return Enclosure(self.lower(epsilon), self.upper(epsilon))


class _Parts:
    """What may be cut from each end of the law of a sum of so many rounds of a kind.

    A sum of n rounds is used about ``count / n`` times, n being each power of 2 in turn: of the ``whole`` parts, which
    all rounds share, the sums of each size get as much.
    """

    def __init__(self, whole: int, count: int, number: int) -> None:
        self._whole, self._times = whole, 2 * number * count.bit_length()

    def __call__(self, size: int) -> int:
        return self._whole * size // self._times


def _joined(laws: list[LawT], length: int, parts: int) -> LawT:
    out, *others = laws
    for law in others:
        out = together(out, law, length, parts)
    return out


def _kind(outcomes: list[Outcome], left_out: Ball, count: int, cut: float) -> Kind:
    """Rounds of which outcomes that weigh nothing beside a mass, of logarithm ``cut``, are left out."""
    least = arb(cut).exp() / len(outcomes)
    kept = [outcome for outcome in outcomes if not outcome.p < least]
    left_out += sum((outcome.p for outcome in outcomes if outcome.p < least), arb(0))
    heaviest = max(kept, key=lambda outcome: float(outcome.p.mid()))
    return Kind(kept, left_out, count, heaviest.loss.mid())


def _grid(kinds: list[Kind]) -> tuple[Ball, int | None]:
    """The spacing of a grid, and its fineness where the losses of each kind are whole multiples of it apart, else none.

    Any spacing above 0 is sound.
    """
    apart = [outcome.loss - kind.offset for kind in kinds for outcome in kind.outcomes]
    widest = max(abs(float(one.mid())) for one in apart) or 1.0
    scale = arb(PARTS) * arb(PARTS) / arb(widest)
    least, found = PARTS, 0  # roundings are far below the first of them
    for one in apart:
        a, b = found, abs(int((one.mid() * scale).mid().floor().unique_fmpz()))
        while b > least:
            a, b = b, min(a % b, b - a % b)
        found = a
    if found > PARTS * PARTS // LEAST_STEPS:
        top = max(apart, key=lambda one: abs(float(one.mid())))
        return abs(top / round(float((top * scale / found).mid()))).mid(), 0  # to all digits
    return arb(widest).mid(), None


def _fineness(kind: Kind, unit: Ball, finest: int | None, length: int) -> int:
    """The fineness of the grid on which the losses of one round are put."""
    losses = [float(outcome.loss.mid()) for outcome in kind.outcomes]
    width = max(losses) - min(losses)
    if not width > 0:
        return 0
    fine = math.floor(math.log2((length - 2) * float(unit.mid()) / width))
    return fine if finest is None else min(fine, finest)
