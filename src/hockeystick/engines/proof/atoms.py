"""Finitely many losses a round: delta by the sum over all compositions, in balls.

The k-fold law of a round is multinomial: the sum of the losses ``n_1 L_1 + n_2 L_2 + ...`` with P-mass ``k! / (n_1!
n_2! ...) p_1^n_1 p_2^n_2 ...``, Q-mass likewise. Terms that are light are left out; what they weigh together under P is
known exactly, as all masses sum to the mass of the finite losses. With terms sorted by loss,

    A - e^eps B <= delta(eps) <= A - e^eps B + sum over terms in doubt of (P - e^eps Q)_+ + mass left out,

A and B the P- and Q-masses of any set of terms whose losses certainly exceed eps; in doubt are the others that are not
certainly at most eps. The lower end holds for every set: it is ``P(E) - e^eps Q(E)`` of an event.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate, islice
from typing import NamedTuple

from flint import arb, ctx

from hockeystick.engines.proof.atom_count import DOUBT, Counted, counted
from hockeystick.engines.proof.enclosure import Enclosure
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.numerics.balls import Ball, precision
from hockeystick.numerics.work import charge, check_left
from hockeystick.values.errors import NotApplicableError

MAX_TERMS = 300_000  # of a composed law
FEW_ATOMS, MANY_TERMS = 3, 30_000  # of a round; terms of a law of rounds with more of them, each of which is dearer
MAX_SUMS = 60_000  # over the number of one loss, in a composed law of rounds of many: half a second or more
TERM, SUM = 2400.0, 10_000.0  # units of work of a term, and of a sum that is begun: operations on balls of few bits
MODERATE_BITS, MANY_BITS = 1000, 5000  # up to which the cost of a term's bit is the same, and from which it rises
SUM_BITS = 1000  # from which a sum, whose first term takes factorials and powers, costs as the square of its bits
MAX_ATOMS = 60  # of a round that is composed with itself
GUARD_BITS = 96  # beyond those of the lightest term and of the number of rounds
DEEPEST = -30_000.0  # log of the lightest terms
TOO_MANY = "the losses have too many distinct sums for a proof"
"""Why there is no sum."""


class Term(NamedTuple):
    """A loss with its masses."""

    loss: Ball
    p: Ball
    q: Ball


NOTHING = Term(arb(0), arb(1), arb(1))
"""The only term of the law of no rounds."""


class AtomSum:
    """delta(eps) of black boxes, and of other rounds with atoms alone.

    Args:
        rounds: such rounds alone.
        log_floor: log of the mass below which terms are left out.

    Raises:
        NotApplicableError: delta is too small, or there are too many terms.
    """

    name = "sum over atoms"

    def __init__(self, rounds: ExactRounds, log_floor: float) -> None:
        if log_floor < DEEPEST:
            raise NotApplicableError("delta is too small for a proof")
        check_left()
        atomic = rounds.atomic
        largest = max(count for _, count in atomic)
        self._bits = GUARD_BITS + math.ceil(-log_floor / math.log(2)) + 2 * largest.bit_length()
        with precision(self._bits):
            terms: list[Term] = []
            for place, (law, count) in enumerate(atomic):
                if law.terms(log_floor, self._bits) > MAX_TERMS:
                    raise NotApplicableError("a round has too many different losses for a proof")
                atoms = [Term(*outcome) for outcome in law.outcomes(log_floor)[0]]
                if len(atoms) > MAX_ATOMS and count > 1:
                    raise NotApplicableError("a round has too many different losses for a proof")
                one = self._composed(atoms, count, log_floor)
                if len(one) * (len(terms) if place else 1) > _most_terms(atoms):
                    raise NotApplicableError(TOO_MANY)
                if place:
                    self._pay(len(terms) * len(one))
                    one = [Term(a.loss + b.loss, a.p * b.p, a.q * b.q) for a in terms for b in one]
                terms = one
            terms.sort(key=lambda term: -float(term.loss.mid()))
            left_out = rounds.finite_mass() - sum((term.p for term in terms), arb(0))
            self._left_out = left_out.upper().max(arb(0))
            self._terms = terms
            self._p = [arb(0), *accumulate(term.p for term in terms)]
            self._q = [arb(0), *accumulate(term.q for term in terms)]
            # the first n terms certainly exceed eps where the least of them does; the rest likewise
            self._least: list[Ball] = list(
                accumulate((term.loss.lower() for term in terms), lambda x, y: y if y < x else x)
            )
            upper = (term.loss.upper() for term in reversed(terms))
            self._largest: list[Ball] = list(accumulate(upper, lambda x, y: y if y > x else x))[::-1]

    def _composed(self, atoms: list[Term], count: int, log_floor: float) -> list[Term]:
        """The terms of the law of so many rounds, which are counted and paid for first.

        The lightest losses come last, as few rounds show them: so a sum has few sums below it.
        """
        if count == 1:
            self._pay(len(atoms))
            return atoms
        atoms = sorted(atoms, key=lambda atom: -_log(atom.p))
        if len(atoms) < 2:
            return list(power(atoms, count, log_floor, iter(range(MAX_SUMS))))
        most = Counted(MAX_SUMS, _most_terms(atoms))
        found = counted([_log(atom.p) for atom in atoms], count, log_floor, most)
        if found.sums > DOUBT * most.sums or found.terms > DOUBT * most.terms:
            raise NotApplicableError(TOO_MANY)
        self._pay(found.terms, found.sums)
        return list(islice(power(atoms, count, log_floor, iter(range(MAX_SUMS))), most.terms + 1))

    def _pay(self, terms: int, sums: int = 0) -> None:
        term = TERM * (1 + self._bits / MODERATE_BITS + (self._bits / MANY_BITS) ** 2)
        begun = SUM * (1 + (self._bits / SUM_BITS) ** 2)
        charge(term * terms + begun * sums, TOO_MANY)

    def delta(self, epsilon: Ball) -> Enclosure:
        """The two ends of the module's docstring."""
        with precision(self._bits):
            odds = epsilon.exp()
            first = _count(self._least, lambda loss: bool(loss > epsilon))
            last = _count(self._largest, lambda loss: not loss <= epsilon)
            sure = self._p[first] - odds * self._q[first]
            doubt = sum(
                ((term.p - odds * term.q).upper().max(arb(0)) for term in self._terms[first:last]), self._left_out
            )
            return Enclosure(sure.lower().max(arb(0)), (sure + doubt).upper())


def _most_terms(atoms: list[Term]) -> int:
    """Of a law in which rounds with these are."""
    return MAX_TERMS if len(atoms) <= FEW_ATOMS else MANY_TERMS


def _count(falling: list[Ball], holds: Callable[[Ball], bool]) -> int:
    """How many entries at the head of a falling list a property that large numbers have holds for."""
    low, high = 0, len(falling)
    while low < high:
        middle = (low + high) // 2
        if holds(falling[middle]):
            low = middle + 1
        else:
            high = middle
    return low


def power(
    atoms: list[Term], count: int, log_floor: float, sums: Iterator[int], outer: Term = NOTHING
) -> Iterator[Term]:
    """The terms of the count-fold law that are not light; which are left out is a choice, and any choice is sound.

    Args:
        atoms: of one round.
        count: of rounds.
        log_floor: log of the mass of the lightest terms.
        sums: one number for each sum that may be begun.
        outer: of other rounds, whose loss is added to each term's and with whose masses they are multiplied.

    Raises:
        NotApplicableError: more sums are begun than there are numbers left in ``sums``.
    """
    if next(sums, None) is None:
        raise NotApplicableError(TOO_MANY)
    if len(atoms) == 1:
        (only,) = atoms
        yield Term(outer.loss + count * only.loss, outer.p * only.p**count, outer.q * only.q**count)
        return
    if len(atoms) == 2:
        first, second = atoms
        yield from _binomial(first, second, count, log_floor, outer)
        return
    *rest, last = atoms
    others_p = sum((atom.p for atom in rest), arb(0))
    log_total = _log(others_p + last.p)  # they need not sum to 1
    shares = _log(last.p) - log_total, _log(others_p) - log_total
    for n in _window(count, *shares, log_floor - count * log_total):
        p, q = (_choose(count, n) * mass**n for mass in (last.p, last.q))
        beyond = Term(outer.loss + n * last.loss, outer.p * p, outer.q * q)
        yield from power(rest, count - n, log_floor - _log(p), sums, beyond)


def _binomial(first: Term, second: Term, count: int, log_floor: float, outer: Term) -> Iterator[Term]:
    """``C(k, n) p_1^n p_2^(k - n)`` for n in a window, each from the one before, times those of other rounds."""
    log_total = _log(first.p + second.p)  # the two need not sum to 1
    shares = _log(first.p) - log_total, _log(second.p) - log_total
    window = _window(count, *shares, log_floor - count * log_total)
    start = window[0]
    coefficient = _choose(count, start)
    p = outer.p * coefficient * first.p**start * second.p ** (count - start)
    q = outer.q * coefficient * first.q**start * second.q ** (count - start)
    loss = outer.loss + start * first.loss + (count - start) * second.loss
    step, p_ratio, q_ratio = first.loss - second.loss, first.p / second.p, first.q / second.q
    for n in window:
        yield Term(loss, p, q)
        ratio = arb(count - n) / (n + 1)
        loss, p, q = loss + step, p * p_ratio * ratio, q * q_ratio * ratio


def _log(mass: Ball) -> float:
    """About the logarithm of a mass, which may be below the least double."""
    return float(mass.log().mid())


def _choose(count: int, n: int) -> Ball:
    """The binomial coefficient ``C(count, n)`` as a ball."""
    return _factorial(count, ctx.prec) / (_factorial(n, ctx.prec) * _factorial(count - n, ctx.prec))


@lru_cache(maxsize=1 << 12)
def _factorial(n: int, bits: int) -> Ball:
    """``n!`` as a ball of so many bits, which are those of the open precision."""
    return arb(n + 1).lgamma().exp()


def _window(count: int, log_share: float, log_rest: float, log_floor: float) -> range:
    """The n for which ``-k KL(n/k, share)``, about the log of the binomial mass, reaches a floor, or next to the mode.

    Args:
        count: k.
        log_share: log of the share.
        log_rest: log of 1 less the share, of which nothing is left where the share is next to 1.
        log_floor: the floor.

    Raises:
        NotApplicableError: they are too many.
    """

    def log_mass(n: int) -> float:
        a, b = n, count - n
        total = -(a * (math.log(a / count) - log_share) if a else 0.0)
        return total - (b * (math.log(b / count) - log_rest) if b else 0.0)

    mode = min(max(round(count * math.exp(log_share)), 0), count)
    ends = []
    for far in (0, count):
        near = mode
        while abs(far - near) > 1:  # bisection between the mode and an end
            middle = (far + near) // 2
            near, far = (middle, far) if log_mass(middle) >= log_floor else (near, middle)
        ends.append(far if log_mass(far) >= log_floor else near)
    if ends[1] - ends[0] >= MAX_TERMS:
        raise NotApplicableError("too many rounds with atoms for a proof: the sum would have too many terms")
    return range(ends[0], ends[1] + 1)
