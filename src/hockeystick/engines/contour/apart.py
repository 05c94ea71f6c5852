"""Few rounds with atoms and a smooth part: what has at most one smooth loss is summed exactly, the rest by a contour.

A round of the Laplace kind has the transform ``m = A + C``, A of its atoms and C of what is between them. Atoms do not
fall off, so that few rounds have no end of a contour. Of rounds with ``M = prod m_i^(n_i)`` (a round of atoms alone has
C = 0) let

    M_0 = prod A_i^(n_i),      M_1 = sum_i n_i C_i A_i^(n_i - 1) prod_(j != i) A_j^(n_j),      R = M - M_0 - M_1 .

All three are transforms of positive measures: the law of the sum where no loss, one loss, and two losses or more are
smooth. So ``delta = delta_0 + delta_1 + delta_R``, where

- delta_0 is a sum over finitely many atoms,
- delta_1 a sum over finitely many atoms of the closed form of one smooth part (``pairs/sampled/laplace_ends.py``),
- delta_R the sum on a contour with R for M; its aliases are at most those of delta, since R is a part of M.

**Cut.** Every term of R has two smooth factors at least. The terms in which a given pair of rounds is smooth add up to
at most ``|C| |C'| prod (|A| + |C|)`` over the others, whose parts at t make m(t); so with ``b_i(s)``, which falls, a
bound on ``|C_i(t + is)| / m_i(t)`` (``SmoothTail``),

    |R(t + is)| / M(t) <= (sum_i n_i b_i(s))^2 / 2 .

**Rounding.** All quotients by ``m_i(t)`` are at most 1 in size, up to their errors. Errors e_i of ``A_i / m_i(t)`` and
f_i of ``C_i / m_i(t)`` move ``M_0 / M(t)`` by at most ``E = sum n_i e_i``, and ``M_1 / M(t)`` by at most ``sum n_i
f_i + E sum n_i |C_i| / m_i(t)``, to first order; the error of M is that of any contour. All are charged as absolute
errors of the terms.

**At the end.** As delta_R is not negative, ``delta_0 + delta_1`` alone bounds delta from below: an epsilon next to the
largest loss lies between where that exceeds the target, and the largest loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.engines.base import DEFAULT_GAP
from hockeystick.engines.contour.cut import SPARE, log_tails
from hockeystick.engines.contour.engine import aim_at, seeing_guide, transforms_of
from hockeystick.engines.contour.path import EVALUATION, LEAST_TOLERANCE, Aim, BlindError, placed, summed
from hockeystick.engines.contour.smoothed import interval_of, solved
from hockeystick.engines.contour.sweep import Terms
from hockeystick.engines.direct import of_atoms
from hockeystick.engines.guide import Guide
from hockeystick.numerics.meet import lower_end
from hockeystick.numerics.rounding import TINY, UNIT_ROUNDOFF
from hockeystick.numerics.work import charge, check_left, left, spend
from hockeystick.pairs import Composition
from hockeystick.pairs.base import Atoms, DominatingPair
from hockeystick.pairs.laplace import LaplaceMiddle, law_of_all
from hockeystick.pairs.product import product, seen, terms
from hockeystick.pairs.sampled.laplace_ends import EndsPair, log_between
from hockeystick.pairs.sampled.laplace_envelope import SmoothTail
from hockeystick.pairs.sampled.laplace_law import LaplaceLaw
from hockeystick.pairs.sampled.laplace_line import SampledLaplaceTransform
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Ends, Interval
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

MOST_ATOMS = 50_000  # of all sums of atoms, at each of which a closed form is evaluated
MOST_KINDS = 8  # different rounds
MAX_POINTS = 200_000  # of the contour
RATIO = 1.25  # of heights next to each other at which the line may end
HEIGHTS = RATIO ** np.arange(96, dtype=np.float64)  # heights that are looked at, of the least
ATTEMPTS = 4  # at a contour that reaches the gap
SHARPNESS = 0.1  # of the gap, at first: what each remainder may be
SHARPER = 0.02  # of the sharpness, at the next attempt
ROUGH = 1e-3  # width of log delta that is asked at a guessed place
AT_THE_END = 0.5  # of the gap: from there on the largest loss is near enough
ATOM = 80.0  # units of work of one sum of atoms, at one epsilon
BESIDE = 200.0  # the same where a smooth loss is beside it
EACH = 3e5  # units of work of one epsilon and kind, however few the atoms: more than a hundred calls of NumPy
LARGEST = 700.0  # exponent that a double holds
UNKNOWN = 0.5  # error of a logarithm from which on the value says nothing
POWER = 64.0  # roundings of a power, for each of its factors
TOO_WIDE = "rounding or remainders keep it from the asked gap, with the atoms taken apart"
"""Why an interval is wider than was asked."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of rounds.

    Attributes:
        pair: its pair.
        count: how many there are.
        law: what is between its atoms; None where there is nothing.
    """

    pair: DominatingPair
    count: int
    law: LaplaceLaw | None

    @property
    def atoms_alone(self) -> DominatingPair:
        """The pair without what is between its atoms."""
        return self.pair if self.law is None else EndsPair(self.pair)


class Sums(NamedTuple):
    """The atoms beside one smooth loss of a kind.

    Attributes:
        law: of that loss.
        atoms: sums of the losses of all other rounds, where these are atoms.
        log_count: log of the number of rounds of the kind.
    """

    law: LaplaceLaw
    atoms: Atoms
    log_count: float

    @property
    def price(self) -> float:
        """Units of work of one epsilon."""
        return EACH + BESIDE * len(self.atoms.loss)

    def log_ends(self, epsilon: float) -> list[float]:
        """Logarithms of both ends of what it adds to delta."""
        if not len(self.atoms.loss):  # the other rounds have none, so that no sum has a single smooth loss
            return [-math.inf, -math.inf]
        x = epsilon - self.atoms.loss
        slip = np.asarray(self.atoms.slip) + 8 * UNIT_ROUNDOFF * (np.abs(self.atoms.loss) + abs(epsilon)) + 4 * TINY
        ends = []
        for side in Side:
            logs = self.atoms.log_p + log_between(self.law, x, slip, side) + self.log_count
            blur = self.atoms.log_slip + 8 * UNIT_ROUNDOFF * (1 + np.abs(self.atoms.log_p) + self.log_count)
            logs = logs + float(side) * blur
            top = float(logs.max())
            if top == -math.inf:
                ends.append(top)
                continue
            total = float(np.exp(logs - top).sum())
            ends.append(top + math.log(total) + float(side) * (len(logs) + 8 + abs(top)) * UNIT_ROUNDOFF)
        return ends


@dataclass(frozen=True, slots=True)
class Exact:
    """Sums that are exact.

    Attributes:
        atoms: the pair of the sums of all atoms; None where a round has none.
        sums: one smooth loss of each kind beside atoms.
    """

    atoms: DominatingPair | None
    sums: tuple[Sums, ...]

    @property
    def price(self) -> float:
        """Units of work of one epsilon."""
        alone = 0.0 if self.atoms is None else ATOM * len(self.atoms.atoms.loss)
        return alone + math.fsum(each.price for each in self.sums)

    def exact(self, epsilon: float) -> tuple[float, float]:
        """Logarithms of both ends of ``delta_0 + delta_1``."""
        spend(self.price)
        low, high = -math.inf, -math.inf
        if self.atoms is not None:
            low, high = of_atoms(self.atoms, self.atoms.atoms, epsilon)
        for each in self.sums:
            more = each.log_ends(epsilon)
            low, high = float(np.logaddexp(low, more[0])), float(np.logaddexp(high, more[1]))
        slip = 4 * UNIT_ROUNDOFF * (1 + abs(high)) * len(self.sums) if high > -math.inf else 0.0
        return low - slip, high + slip


@dataclass(frozen=True, slots=True)
class Apart:
    """delta as the sum of three parts, around the epsilon for which the contour was laid.

    Attributes:
        parts: what is summed exactly.
        rest: the contour of what has two smooth losses or more.
    """

    parts: Exact
    rest: Terms

    @property
    def affordable(self) -> float:
        """At how many epsilons it can be looked by the work that is left."""
        return left() / (self.parts.price + self.rest.price)

    def log_delta(self, epsilon: Array) -> Ends:
        """Certified ends of log delta at each epsilon: those of the parts, added."""
        rest = self.rest.log_delta(epsilon)
        exact = np.array([self.parts.exact(at) for at in epsilon.tolist()])
        lower = np.logaddexp(rest.lower, exact[:, 0])
        middle = np.logaddexp(rest.estimate, exact.mean(axis=1))
        upper = np.logaddexp(rest.upper, exact[:, 1])
        slip = 4 * UNIT_ROUNDOFF * (1 + np.abs(upper))
        return Ends.of(lower - slip, middle, np.minimum(upper + slip, 0.0))


class ApartEngine:
    """Certified epsilon and log delta of one direction with few rounds that have atoms and something between them.

    Args:
        composition: pairs and counts; mass at infinite loss is the caller's.

    Raises:
        NotApplicableError: a round is of another kind, none has a smooth part, or the sums of atoms are too many.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition
        if composition.count < 2 or len(composition.rounds) > MOST_KINDS:
            raise NotApplicableError(
                "atoms are taken apart where there are few kinds of rounds, and two rounds at least"
            )
        self._kinds = [Kind(pair, count, _between(pair)) for pair, count in composition.rounds]
        if all(kind.law is None for kind in self._kinds):
            raise NotApplicableError("no round has a smooth part between its atoms")
        number = 1
        for kind in self._kinds:
            number *= max(terms(len(seen(kind.pair).loss), kind.count), 1)
            if number > MOST_ATOMS:
                raise NotApplicableError("the sums of the atoms of all rounds are too many to be listed")
        self._transforms = transforms_of(composition.rounds)

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Interval of ``log E (1 - e^(eps - L))_+`` at an epsilon below the supremum, of width at most about gap.

        Raises:
            NotApplicableError: there is no contour.
        """
        gap = gap or DEFAULT_GAP
        return interval_of(self.laid(epsilon, gap), epsilon, gap, TOO_WIDE)

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Interval of ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``, relative width about gap.

        Raises:
            NotApplicableError: there is no contour.
        """
        gap = gap or DEFAULT_GAP
        check_left()
        at_the_end = self._at_the_end(log_delta[1], gap)
        if at_the_end is not None:
            return at_the_end
        guide = Guide(self._composition, log_delta[0] - 50.0)
        tilt = guide.tilt_for_delta(log_delta[0])
        guess, best = guide.guess(log_delta[0], tilt), None
        for attempt in range(ATTEMPTS):
            if attempt or not guess > 0:
                tilt = guide.saddle(guess)
            wanted = min(0.3 * gap * guess * tilt, 0.1) if guess > 0 else gap
            try:
                found = solved(self.laid(guess, wanted), log_delta, guess, tilt, gap)
            except NotApplicableError:
                if best is None:
                    raise
                break
            best = found if best is None else best.intersected(found)
            if best.upper - best.lower <= gap * best.upper or best.upper == 0.0 or best.upper == math.inf:
                break
            guess = best.estimate
        assert best is not None
        narrow = best.upper - best.lower <= gap * best.upper < math.inf
        return replace(best, limited=None if narrow else TOO_WIDE, engine="contour")

    def _at_the_end(self, log_delta: float, gap: float) -> Interval | None:
        """The answer where epsilon is next to the largest loss: between where the exact parts suffice and that loss.

        As the rest of delta is not negative, the exact parts bound it from below at any epsilon.
        """
        largest = self._composition.largest_loss
        if largest is None or not largest[0] > 0:
            return None
        parts = self._parts()

        def exact(epsilon: float) -> float:
            return parts.exact(epsilon)[0]

        if not exact(largest[0] * (1 - AT_THE_END * gap)) > log_delta:
            return None
        lower = lower_end(exact, log_delta, largest[1], 1 / (gap * largest[1]), gap)
        return Interval(lower, lower + 0.5 * (largest[1] - lower), largest[1], None, "contour")

    def _parts(self) -> Exact:
        atoms = product(tuple((kind.atoms_alone, kind.count) for kind in self._kinds))
        sums = tuple(self._beside(i) for i, kind in enumerate(self._kinds) if kind.law is not None)
        return Exact(atoms if len(atoms.atoms.loss) else None, sums)

    def laid(self, epsilon: float, gap: float) -> Apart:
        """The parts around an epsilon, whose ends are about ``gap`` apart in log delta there.

        Raises:
            NotApplicableError: there is no contour.
        """
        check_left()
        parts = self._parts()
        guide, tilt, depth = Guide.reaching(self._composition, epsilon)
        aim, sharpness, best, least = aim_at(guide, tilt, None, epsilon), SHARPNESS, None, math.inf
        for _ in range(ATTEMPTS):
            try:
                rest = self._rest(aim, sharpness * gap)
            except BlindError:
                floor = min(depth, -50.0)
                seen_by = seeing_guide(self._composition, guide, floor, self._transforms, lambda it: it.saddle(epsilon))
                aim = aim_at(*seen_by, epsilon)
                continue
            except NotApplicableError:
                if best is None:
                    raise
                break
            found = Apart(parts, rest)
            ends = found.log_delta(np.array([epsilon]))
            width = float(ends.width[0])
            best, least = (found, width) if width < least or best is None else (best, least)
            if width <= gap:
                break
            aim = aim._replace(depth=min(aim.depth, float(ends.estimate[0]) - 0.1))
            sharpness *= SHARPER
        if best is None:
            raise NotApplicableError("the guide does not see what counts")
        return best

    def _beside(self, i: int) -> Sums:
        """One smooth loss of a kind, and the atoms of all other rounds."""
        kind = self._kinds[i]
        assert kind.law is not None
        others = [(other.atoms_alone, other.count - (j == i)) for j, other in enumerate(self._kinds)]
        return Sums(kind.law, product(tuple((pair, n) for pair, n in others if n)).atoms, math.log(kind.count))

    def _rest(self, aim: Aim, tolerance: float) -> Terms:
        """The sum on a contour with R for M."""
        tolerance = max(tolerance, LEAST_TOLERANCE)
        wanted = aim.depth + math.log(tolerance) - 2.0  # log of what each remainder may be
        t, theta, period, right = placed(self._transforms, aim, wanted, tolerance)
        if not 0 < period < math.inf:
            raise NotApplicableError("a characteristic function is out of reach: no alias can be bounded")
        counts, step = [kind.count for kind in self._kinds], 2 * math.pi / period
        starts = [transform.line(t, 0.0, UNIT_ROUNDOFF).cumulants(1.0, 1) for transform, _ in self._transforms]
        scales = [float(value[0].real) for value, _ in starts]
        k_top = math.fsum(count * scale for count, scale in zip(counts, scales, strict=True))
        if not math.isfinite(k_top):
            raise NotApplicableError("a characteristic function is out of reach")
        top = k_top - t * aim.epsilon
        edges = step * HEIGHTS
        smooth, doubt = np.zeros(len(edges)), SPARE
        for kind, scale, (_, error) in zip(self._kinds, scales, starts, strict=True):
            doubt += kind.count * float(error[0])
            if kind.law is not None:
                tail = SmoothTail(kind.law, t, scale, float(error[0]))
                smooth += kind.count * tail.left(edges)
        log_rho = 2 * np.log(np.maximum(smooth, TINY)) - math.log(2) + doubt  # below a double it is not nothing
        tails = log_tails(edges, log_rho, step)
        deep = np.flatnonzero(tails <= wanted - top)
        if not len(deep) or not edges[deep[0]] <= MAX_POINTS * step:
            raise NotApplicableError("what has two smooth losses or more is not bound to fall off fast enough")
        count = math.ceil(float(edges[deep[0]]) / step) + 1
        terms, slack = self._terms(
            t, step, count, scales, tolerance / sum(counts) * math.exp(min(aim.depth - top, 0.0))
        )
        slack += 8 * UNIT_ROUNDOFF * (1 + abs(k_top))
        log_tail = float(tails[deep[0]]) + SPARE
        s: Array = step * np.arange(count, dtype=np.float64)
        right_bound = theta, summed(counts, right)
        return Terms(s, terms, np.zeros(count), k_top, t, period, right_bound, log_tail, slack)

    def _terms(
        self, t: float, step: float, count: int, scales: list[float], tolerance: float
    ) -> tuple[ComplexArray, float]:
        """``R e^-K_top / (z (1 + z))`` at the points, all but the first counted twice, and what they are off by."""
        s: Array = step * np.arange(count, dtype=np.float64)
        lines = [transform.line(t, float(s[-1]), tolerance) for transform, _ in self._transforms]
        charge(EVALUATION * sum(line.cost(count) for line in lines), f"a contour of {count} points")
        k, k_error = np.zeros(count, dtype=np.complex128), np.zeros(count)
        none, one = np.ones(count, dtype=np.complex128), np.zeros(count, dtype=np.complex128)
        error, smooth, smooth_error = np.zeros(count), np.zeros(count), np.zeros(count)
        for kind, line, scale in zip(self._kinds, lines, scales, strict=True):
            values, errors = line.cumulants(step, count)
            if not (np.isfinite(values).all() and np.isfinite(errors).all()):
                raise NotApplicableError("a characteristic function is out of reach")
            n = float(kind.count)
            k += n * (values - scale)
            k_error += n * (errors + 8 * UNIT_ROUNDOFF * (np.abs(values) + abs(scale)))
            doubt = errors + 8 * UNIT_ROUNDOFF * (1 + np.abs(values) + abs(scale))
            whole, off = _relative(values - scale, doubt)
            atoms, own = (whole, off) if kind.law is None else _atoms_on(kind.pair, t, s, scale)
            between = np.zeros(count) if kind.law is None else whole - atoms
            before, power = _power(atoms, kind.count - 1), _power(atoms, kind.count)
            one = one * power + none * (n * between * before)
            none = none * power
            error += n * (own + POWER * UNIT_ROUNDOFF)
            smooth += n * np.abs(between)
            smooth_error += n * (off + own) * (kind.law is not None)
        full, absolute = _relative(k, k_error)
        far = np.minimum(error, LARGEST)
        with np.errstate(over="ignore"):
            known = np.expm1(far) * (1 + smooth) + np.exp(far) * smooth_error  # of powers of what may be off by e each
        if not np.isfinite(known).all():
            raise NotApplicableError("powers of what is between the atoms are off by more than a double holds")
        absolute = absolute + known * (1 + 1e-6) + 8 * UNIT_ROUNDOFF * (2 + smooth)
        z = t + 1j * s
        weights = 1 / (z * (1 + z))
        weights[1:] *= 2
        slack = float(np.abs(weights) @ absolute) * step / (2 * math.pi) * (1 + SPARE)
        return (full - none - one) * weights, slack


def _between(pair: DominatingPair) -> LaplaceLaw | None:
    """Smooth part of a round, between its atoms.

    Raises:
        NotApplicableError: it is of another kind.
    """
    transform = pair.transform
    if isinstance(transform, SampledLaplaceTransform):
        return transform
    smooth = pair.smooth
    if smooth is None:
        return None
    if not isinstance(smooth, LaplaceMiddle):
        raise NotApplicableError("atoms are taken apart of Laplace noise alone")
    return law_of_all(smooth, pair.atoms)


def _atoms_on(pair: DominatingPair, t: float, s: Array, scale: float) -> tuple[ComplexArray, Array]:
    """``A e^-scale`` at ``t + is``, and bounds on its errors."""
    atoms = seen(pair)
    out, error = np.zeros(len(s), dtype=np.complex128), np.zeros(len(s))
    for loss, log_p in zip(atoms.loss.tolist(), atoms.log_p.tolist(), strict=True):
        size = math.exp(log_p + t * loss - scale)
        out += size * np.exp(1j * loss * s)
        units = 32 + 8 * (abs(log_p) + t * abs(loss) + abs(scale)) + (16 + atoms.units) * abs(loss) * (t + s)
        error += size * UNIT_ROUNDOFF * units
    return out, error


def _relative(log: ComplexArray, error: Array) -> tuple[ComplexArray, Array]:
    """``m(t + is) / m(t)`` from its logarithm, and a bound on its error; 0 and 1 where only the size is known."""
    unknown = error > UNKNOWN
    value = np.exp(np.where(unknown, 0.0, log))
    off = np.where(unknown, 1 + SPARE, np.abs(value) * np.expm1(np.where(unknown, 0.0, error)))
    return np.where(unknown, 0.0, value), off


def _power(a: ComplexArray, count: int) -> ComplexArray:
    """``a^count``, 1 for a count of 0; to ``POWER`` roundings of 1 for each factor, where ``|a| <= 1`` or nearly."""
    if count == 0:
        return np.ones(len(a), dtype=np.complex128)
    safe = np.where(a == 0, 1.0, a)
    out: ComplexArray = np.where(a == 0, 0.0, np.exp(count * np.log(safe)))
    return out
