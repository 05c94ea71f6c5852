"""Delta of purely atomic rounds, with any number of rounds and losses, bounded by two laws on a grid.

Both laws are computed in whole numbers, with rounding to the safe side at every step (``cells.py`` gives the
inequalities). A cell is *in doubt* if its loss is neither certainly above eps nor certainly at most eps. Let the cells
from n on be the cells whose losses certainly exceed eps. In the upper law, let A_n be their total mass, and B_n their
total mass under Q, where a cell's mass under Q is ``e^-loss`` times its mass. Then

    delta(eps) <= lost + A_n - e^eps B_n + sum over cells in doubt of (1 - e^(eps - loss))_+ times their masses .

The lower bound is ``P(E) - e^eps Q(E)``, where E consists of the cells from n on, for any n.

Suppose that all losses of the rounds differ by integer multiples of one number, a common spacing, and that the grid
contains all losses. Then the ends differ by rounding only. A common spacing is guessed in floating point. The validity
of no end depends on the guess.
"""

from __future__ import annotations

import math
from functools import reduce
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from flint import arb

from hockeystick.engines.proof.atoms import Outcome
from hockeystick.engines.proof.cells import Cells, Scale, fitting, parts_below, power, together
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.engines.proof.search import Enclosure
from hockeystick.numerics.balls import GUARD_BITS, Ball, precision
from hockeystick.numerics.rounding import LARGEST
from hockeystick.values.errors import NotApplicableError

SHARE = 0.02  # share of the requested width of log delta for cuts, and the same share for roundings
PARTS = 1 << 40  # number of parts of a range of losses; a common spacing is a whole number of these parts
LEAST_STEPS = 1 << 22  # a common spacing is used if the range of losses has fewer steps than this
MOST_BITS = 350_000_000  # largest number of bits in the cells of all products, which take some seconds
ATOM = 3_000.0  # number of bits that take as long to process as one outcome of a round
LARGEST_EPSILON = 1e6  # largest epsilon, as the number of bits of masses under Q grows with epsilon
SPARE_EPSILON = 40.0  # range of epsilon above the guess with full precision, times the tilt


class Kind(NamedTuple):
    """All rounds that have the same law.

    Attributes:
        outcomes: outcomes of one round with a finite loss.
        left_out: upper bound on the P-mass of all other finite losses of one round.
        times: number of rounds.
        offset: approximate loss of the heaviest outcome.
    """

    outcomes: list[Outcome]
    left_out: Ball
    times: int
    offset: Ball


class GridLaws:
    """Two laws on a grid that bound delta of some rounds from above and from below.

    Args:
        rounds: purely atomic rounds.
        epsilon: epsilon for which the laws are set up.
        log_delta: approximate log delta at this epsilon.
        tilt: approximate ``-d log delta / d eps`` at this epsilon.
        tolerance: desired size of roundings relative to delta.
        length: number of cells of a law.

    Raises:
        NotApplicableError: the laws would take too long, or delta is too small.
    """

    name = "grid of whole numbers"

    def __init__(
        self, rounds: ExactRounds, epsilon: float, log_delta: float, tilt: float, tolerance: float, length: int
    ) -> None:
        if not (log_delta >= -LARGEST and epsilon <= LARGEST_EPSILON):
            raise NotApplicableError("delta is too small or epsilon too large for a proof")
        atomic, number = rounds.atomic, rounds.number
        share = log_delta + math.log(SHARE * tolerance)
        cut = share - math.log(number)  # log of the mass of a round that is left out
        bits = math.ceil((math.log(length) - share) / math.log(2)) + number.bit_length() + 2
        most = epsilon + SPARE_EPSILON / max(tilt, 1.0)
        q_bits = bits + math.ceil(most / math.log(2)) + 2
        self._bits = q_bits + GUARD_BITS
        made = len(atomic) + sum(count.bit_length() + count.bit_count() for _, count in atomic)
        if length * (2 * bits + q_bits) * made + ATOM * sum(one.size(cut) for one, _ in atomic) > MOST_BITS:
            raise NotApplicableError("the losses have too many distinct sums for a proof")
        with precision(self._bits):
            kinds = [_kind(*one.outcomes(cut), count, cut) for one, count in atomic]
            unit, finest = _grid(kinds)
            scale = Scale(unit, bits, q_bits)
            self._offset = sum((kind.times * kind.offset for kind in kinds), arb(0))
            whole = parts_below(arb(share).exp(), bits) // (4 * number)
            laws = []
            for kind in kinds:
                fine = _fineness(kind, unit, finest, length)
                one = fitting(Cells.of(kind.outcomes, kind.offset, scale, fine, kind.left_out), length)
                # the allowance for cuts is divided among all rounds: the law of n rounds may be cut by n shares
                laws.append(power(one, kind.times, length, lambda size: whole * size))
            self._lay(reduce(lambda one, other: together(one, other, length, whole), laws))

    def _lay(self, law: Cells) -> None:
        """Store, for each cell of either law, the total mass of this cell and all later ones under P and under Q."""
        bits, q_bits = law.scale.bits, law.scale.q_bits
        self._law, self._spacing = law, law.scale.spacing(law.fine)
        self._parts, self._q_parts = arb(2) ** -bits, arb(2) ** -q_bits
        fall, size = (-self._spacing).exp(), (-self._spacing * law.first - self._offset).exp()
        shares = []
        for mass in law.above:
            shares.append(size * mass)
            size *= fall
        self._above, self._above_q = _tails(law.above), _tails(shares)
        self._p, self._q = _tails(law.p), _tails(law.q)
        self._log_p, self._log_q = _logs(self._p, bits), _logs(self._q, q_bits)

    def upper(self, epsilon: Ball) -> Ball:
        """Return an upper bound on delta at an epsilon."""
        law, odds = self._law, epsilon.exp()
        place = (epsilon - self._offset) / self._spacing - law.first
        last = law.length
        low = min(max(int(place.lower().floor().unique_fmpz()), 0), last)  # below, losses are at most eps
        sure = min(max(int(place.upper().floor().unique_fmpz()) + 1, 0), last)  # from here on, losses exceed eps
        total = self._parts * (self._above[sure] + law.lost - odds * self._above_q[sure])
        for n in range(low, sure):
            excess = -(epsilon - self._offset - self._spacing * (law.first + n)).expm1()
            total += self._parts * law.above[n] * excess.upper().max(arb(0))
        return total.upper()

    def lower(self, epsilon: Ball) -> Ball:
        """Return a lower bound on delta: ``P(E) - e^eps Q(E)``, where E consists of one cell and all later ones.

        This cell is chosen so that the bound is about the best.
        """
        with np.errstate(over="ignore"):
            best = int(np.argmax(np.exp(self._log_p) - np.exp(float(epsilon.mid()) + self._log_q)))
        found = self._parts * self._p[best] - epsilon.exp() * self._q_parts * self._q[best]
        return found.lower().max(arb(0))

    def delta(self, epsilon: Ball) -> Enclosure:
        """Return both ends of delta at an epsilon."""
        with precision(self._bits):
            return Enclosure(self.lower(epsilon), self.upper(epsilon))


def _tails(masses: list[Ball] | list[int]) -> list[Ball]:
    """Return, for each mass, the sum of this mass and all later masses; a last entry of 0 is appended."""
    return [0, *accumulate(reversed(masses))][::-1]


def _logs(tails: list[int], bits: int) -> npt.NDArray[np.float64]:
    """Return approximate logarithms of masses given in units of ``2^-bits``; minus infinity where a mass is 0."""
    return np.array([math.log(mass) - bits * math.log(2) if mass else -math.inf for mass in tails])


def _kind(outcomes: list[Outcome], left_out: Ball, count: int, cut: float) -> Kind:
    """Return all rounds of one law after the rarest outcomes of a round are left out.

    The total P-mass of these outcomes in one round is at most about ``e^cut``.
    """
    least = arb(cut).exp() / len(outcomes)
    kept = [outcome for outcome in outcomes if not outcome.p < least]
    left_out += sum((outcome.p for outcome in outcomes if outcome.p < least), arb(0))
    heaviest = max(kept, key=lambda outcome: float(outcome.p.mid()))
    return Kind(kept, left_out, count, heaviest.loss.mid())


def _grid(kinds: list[Kind]) -> tuple[Ball, int | None]:
    """Return the spacing of the grid of fineness 0, and the largest useful fineness; any spacing above 0 is sound.

    The largest useful fineness is 0 if all losses of each kind differ by whole multiples of the spacing; otherwise it
    is ``None``, for no limit.
    """
    apart = [outcome.loss - kind.offset for kind in kinds for outcome in kind.outcomes]
    widest = max(abs(float(one.mid())) for one in apart) or 1.0
    scale = arb(PARTS) * arb(PARTS) / arb(widest)
    least, found = PARTS, 0  # roundings are far below ``least``
    for one in apart:
        a, b = found, abs(int((one.mid() * scale).mid().floor().unique_fmpz()))
        while b > least:
            a, b = b, min(a % b, b - a % b)
        found = a
    if found > PARTS * PARTS // LEAST_STEPS:
        top = max(apart, key=lambda one: abs(float(one.mid())))
        return abs(top / round(float((top * scale / found).mid()))).mid(), 0  # accurate to all digits
    return arb(widest).mid(), None


def _fineness(kind: Kind, unit: Ball, finest: int | None, length: int) -> int:
    """Return the fineness of the grid for one round: as fine as ``length`` cells allow, and at most ``finest``."""
    losses = [float(outcome.loss.mid()) for outcome in kind.outcomes]
    width = max(losses) - min(losses)
    if not width > 0:
        return 0
    fine = math.floor(math.log2((length - 2) * float(unit.mid()) / width))
    return fine if finest is None else min(fine, finest)
