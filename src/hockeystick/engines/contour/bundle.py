"""Bundles: many different Poisson-sampled Gaussian rounds as one factor of the characteristic function.

A *bundle* is a list of kinds ``(mu_i, q_i)`` with counts ``k_i``, all in one direction. Its characteristic function is
``m(z) = prod m_i(z)^(k_i)``, and everything that a contour needs from a round is a sum over kinds:

- **values:** ``K = sum k_i K_i``; where ``|K_i - K_i'| <= e_i``, K errs by at most ``sum k_i e_i`` plus the rounding
  of the sum itself. With ``D_i = m_i(t + is) / m_i(t) - 1``, a bound E_i on its error and c_i on the relative error
  of ``m_i(t)`` (``engines/core/line.py``), ``K_i = log m_i(t) + log(1 + D_i)`` errs by the effect of E_i on the
  logarithm (:func:`hockeystick.pairs.transform.safe_log_one_plus`) and by at most ``-log(1 - c_i)``, a real number
  common to all points: it is a factor of the whole sum, kept separate from the other errors, which the sum amplifies.
- **envelope:** a product is at most the product of the bounds on its factors: ``log |m(t + is) / m(t)| <= sum k_i
  log rho_i(S)`` for all ``s >= S``, as each bound ``rho_i(S)`` holds for all such s (``engines/core/line.py``, boxes).
- **upper bounds:** ``K(t) <= sum k_i U_i`` with ``K_i(t) <= U_i`` (``Line.highest``).

Where a value of ``m_i`` may be 0 within its error, a number v replaces its logarithm, such that
``|m_i^k - e^(k v)| <= |e^(k v)| (e^(2k) - 1)`` (``safe_log_one_plus``). From ``|a_i - b_i| <= |b_i| (e^(e_i) -
1)`` follow ``|a_i| <= |b_i| e^(e_i)`` and, by replacing one factor after the other, ``|prod a_i - prod b_i| <= prod
|b_i| (e^(sum e_i) - 1)``, which is how an error of K enters the sum of a contour.

**Summation.** ``sum k_i v_i`` over n kinds is added row by row within chunks, and chunk by chunk: each term undergoes
fewer than ``rows + chunks + 3`` roundings, which together are at most that many units of ``sum k_i |v_i|`` (Higham 2002
[Hig02], Section 4.2), up to a factor near 1, which the charge covers.

Kinds are grouped by number of nodes, like the plans of the core (``engines/core/rows.py``), in chunks that fit the
cache: no array is ever larger than NUMBERS doubles or one row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hockeystick.engines.contour.stand_ins import stand_ins
from hockeystick.engines.core.law import Law
from hockeystick.engines.core.line import CLASSES, Boxes, Grid, Line
from hockeystick.engines.core.rows import Array, Places, Rows
from hockeystick.numerics.rounding import SPARE, UNIT_ROUNDOFF
from hockeystick.pairs.transform import ComplexArray, safe_log_one_plus

NUMBERS = 1 << 15  # doubles of one array of a chunk
MOST_ROWS = 512  # rows of a chunk
PREPARED = 20.0  # evaluations per node of a line, however many points there are
FACTORED = 12.0  # points per node for which the matrix products take as long as one evaluation
LOGARITHMS = 6.0  # evaluations per point: one guarded logarithm, its error and the sums
LEFT_OUT = 0.01  # share of the log of an envelope, about -20, left out: moves the edge by 0.7 per cent
LEADING = 0.8  # share of the total decay due to the leading kinds: in a schedule, a third of all
LOOSEST = 1e-6  # remainder over all rounds, for an upper bound that is needed to about 1e-3


@dataclass(frozen=True)
class Bundle:
    """The characteristic function of many different sampled Gaussian rounds in one direction.

    Args:
        rows: the kinds and their counts.
        among: the number of rounds among which a remainder is divided; those of the bundle if ``None``.
    """

    rows: Rows
    among: float | None = None

    bundles: ClassVar[bool] = True
    most_evaluations: ClassVar[int] = 200_000_000
    """Limit on the elementary functions of a line, higher than for other rounds: so many kinds may take longer."""

    @property
    def highest_tilt(self) -> float:
        """Highest tilt with a line: infinite, as a line exists at every tilt."""
        return math.inf

    @cached_property
    def few(self) -> Bundle:
        """Return a bundle of few kinds with about the same cumulants, which certifies nothing about this one."""
        return Bundle(stand_ins(self.rows))

    @property
    def total(self) -> float:
        """Return the number of rounds among which a remainder is divided."""
        return float(self.rows.count.sum()) if self.among is None else self.among

    def line(self, t: float, reach: float, tolerance: float) -> BundleLine:
        """Return the line through t, whose remainders are below ``tolerance`` for all rounds together."""
        return BundleLine(self, t, tolerance)

    def envelope(self, t: float, count: int) -> BundleEnvelope:
        """Return the envelope at t, to a precision of about 1/count."""
        return BundleEnvelope(self, t, count)

    def upper(self, t: float, slack: float) -> float:
        """Upper bound on K(t): the sum of the bounds of the kinds; ``inf`` if one has none."""
        found = self.rows.count * self.uppers(t, slack)
        if not np.isfinite(found).all():
            return math.inf
        terms = found.tolist()
        return math.fsum(terms) + 4 * UNIT_ROUNDOFF * math.fsum(map(abs, terms))

    def uppers(self, t: float, slack: float) -> Array:
        """Upper bounds on K(t) of one round of each kind; ``inf`` where there is none."""
        out = np.full(len(self.rows), math.inf)
        for which, line in self.lines(t, min(slack, LOOSEST)):
            out[which] = line.highest[:, 0]
        return out

    def lines(
        self, t: float, tolerance: float, points: int = 1, right: float | None = None
    ) -> Iterator[tuple[Places, Line]]:
        """Yield the lines of the kinds in chunks with equally many nodes, each with the indices of its kinds.

        Kinds that would need too many nodes are skipped. The nodes of a kind do not depend on the other kinds.

        Args:
            t: tilt.
            tolerance: limit on the remainders of m over all rounds together, relative to m.
            points: number of points of the line.
            right: a tilt above t at which upper bounds are also needed, as sharp as those of :meth:`upper`.
        """
        law, grid = self._laid(t, tolerance, right)
        needed = grid.needed[:, 0]
        number = np.searchsorted(CLASSES, needed)
        number[~(needed <= CLASSES[-1])] = len(CLASSES)
        order = np.argsort(number, kind="stable")
        ends = np.searchsorted(number[order], np.arange(len(CLASSES) + 1))
        for at, count in enumerate(CLASSES.tolist()):
            size = max(1, min(MOST_ROWS, int(NUMBERS // max(count, points))))
            for start in range(ends[at], ends[at + 1], size):
                some = order[start : min(start + size, ends[at + 1])]
                ones = np.ones((len(some), 1))
                with np.errstate(all="ignore"):
                    yield some, Line.of(law.at(some), grid.at(some), t * ones, (right or t) * ones, int(count))

    def _laid(self, t: float, tolerance: float, right: float | None = None) -> tuple[Law, Grid]:
        """Return the laws of one round of each kind, and their nodes; all rounds share the tolerance equally."""
        law, ones = Law.of(self.rows), np.ones((len(self.rows), 1))
        inner = tolerance / self.total
        with np.errstate(all="ignore"):
            return law, Grid.of(law, t * ones, (right or t) * ones, inner * ones, max(LOOSEST / self.total, inner))

    def sizes(self, t: float, tolerance: float) -> float:
        """Approximate number of nodes of all kinds; infinite if one would need too many."""
        if not len(self.rows):
            return 0.0
        needed = self._laid(t, tolerance)[1].needed[:, 0]
        number = np.searchsorted(CLASSES, needed)
        return float(CLASSES[number].sum()) if (needed <= CLASSES[-1]).all() else math.inf


class BundleLine:
    """K of a bundle on Re z = t.

    Attributes:
        common: bound on a real error shared by all values, besides the error of each; infinite until they are computed.
    """

    def __init__(self, bundle: Bundle, t: float, tolerance: float) -> None:
        self._bundle, self._t, self._tolerance = bundle, t, tolerance
        self.common = math.inf

    def cost(self, count: int) -> float:
        """Approximate number of elementary evaluations for this many points."""
        factors = math.sqrt(count) + count / FACTORED
        nodes = self._bundle.sizes(self._t, self._tolerance)
        return nodes * (PREPARED + factors) + LOGARITHMS * count * len(self._bundle.rows)

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, npt.NDArray[np.float64]]:
        """Return K and its error (without ``common``) at each ``s = j step``; infinite if a kind has too many nodes."""
        outer = math.isqrt(count - 1) + 1
        inner = -(-count // outer)
        summed = _Summed(count)
        for which, line in self._bundle.lines(self._t, self._tolerance, outer * inner):
            with np.errstate(all="ignore"):
                ratios, errors = line.ratios(np.full((len(which), 1), step), outer, inner)
                summed.add(self._bundle.rows.count[which], line, ratios[:, :count], errors[:, :count])
        if summed.seen < len(self._bundle.rows):
            return np.full(count, np.inf, dtype=np.complex128), np.full(count, np.inf)
        self.common = summed.all_common
        return summed.all()


class _Summed:
    """Sums over the kinds, accumulated chunk by chunk.

    Attributes:
        seen: number of kinds added so far.
    """

    def __init__(self, count: int) -> None:
        self._values, self._errors = np.zeros(count, dtype=np.complex128), np.zeros(count)
        self._sizes = np.zeros(count)
        self._total = self._size = self._common = 0.0
        self.seen = self._chunks = self._longest = 0

    def add(self, times: Array, line: Line, ratios: ComplexArray, errors: Array) -> None:
        """Add the kinds of a line, each ``times`` times, from the ratios of their m with bounds on the errors."""
        k, own = safe_log_one_plus(ratios, errors)
        k *= times[:, None]
        own *= times[:, None]
        self._values += k.sum(axis=0)
        self._errors += own.sum(axis=0)
        self._sizes += (np.abs(k.real) + np.abs(k.imag)).sum(axis=0)
        self._total += float(times @ line.log_total[:, 0])
        self._common += float(times @ -np.log1p(-np.minimum(line.common[:, 0], 1.0)))
        self._size += float(times @ np.abs(line.log_total[:, 0]))
        self.seen, self._chunks = self.seen + len(times), self._chunks + 1
        self._longest = max(self._longest, len(times))

    @property
    def _units(self) -> float:
        """Bound on the rounding of a sum, relative to the sum of the sizes of its terms."""
        return UNIT_ROUNDOFF * (self._longest + self._chunks + 4)

    @property
    def all_common(self) -> float:
        """Bound on a real error shared by all values."""
        return (self._common + self._units * self._size) * (1 + SPARE)

    def all(self) -> tuple[ComplexArray, Array]:
        """Return K of all kinds, and its error without the part shared by all values."""
        values = self._values + self._total
        errors = self._errors + self._units * self._sizes + 4 * UNIT_ROUNDOFF * np.abs(values)
        return values, errors * (1 + SPARE)


class BundleEnvelope:
    """Bound on the decay of the characteristic function of a bundle.

    An edge is expensive: a search evaluates one at a time.
    """

    def __init__(self, bundle: Bundle, t: float, count: int) -> None:
        self._bundle, self._t, self._tolerance = bundle, t, LEFT_OUT / count
        self._known: dict[float, float] = {}

    def guessed(self, edges: Array) -> Array:
        """Estimate of :meth:`log_bound`, from the few kinds that represent all."""
        out = np.zeros(len(edges))
        for boxes, count in self._few:
            for at, edge in enumerate(edges.tolist()):
                with np.errstate(all="ignore"):
                    out[at] += count @ boxes.log_decay(np.full((len(count), 1), edge))[:, 0]
        return np.minimum.accumulate(out)

    @cached_property
    def _few(self) -> list[tuple[Boxes, Array]]:
        """Return the boxes and counts of the stand-ins for all kinds; stored, as edges are evaluated one by one."""
        few = self._bundle.few
        with np.errstate(all="ignore"):
            lines = few.lines(self._t, self._tolerance)
            return [(Boxes.of(line), few.rows.count[which]) for which, line in lines]

    @property
    def cost(self) -> float:
        """Number of nodes of all kinds, or nearly 0 if there is no bound."""
        nodes = self._bundle.sizes(self._t, self._tolerance)
        return nodes if math.isfinite(nodes) else 1.0

    def log_bound(self, edges: Array) -> Array:
        """Upper bounds on ``log |m(t + is) / m(t)|`` for ``s >= edges[i]``; kinds with too many nodes count as 0."""
        out = np.array([self._by_leaders(edge) + self._of(self._parts[1], edge) for edge in edges.tolist()])
        return np.minimum.accumulate(out) * (1 - SPARE)  # terms of one sign: rounding loses a share of the sum

    def by_leaders(self, edges: Array) -> Array:
        """Return the :meth:`log_bound` of the fastest-decaying kinds alone; valid as all factors are at most 1."""
        out = np.array([self._by_leaders(edge) for edge in edges.tolist()])
        return np.minimum.accumulate(out) * (1 - SPARE)

    @cached_property
    def _parts(self) -> tuple[Bundle, Bundle]:
        """Split the kinds with the largest K(1), ``k log(1 + q^2 (e^(mu^2) - 1))``, from the others."""
        rows, total = self._bundle.rows, self._bundle.total
        square = np.square(rows.mu)
        falls = rows.count * np.logaddexp(0.0, 2 * rows.log_rate + square + np.log(-np.expm1(-square)))
        order = np.argsort(-falls, kind="stable")
        leading = int(np.searchsorted(np.cumsum(falls[order]), LEADING * falls.sum())) + 1
        leaders = np.zeros(len(rows), dtype=np.bool_)
        leaders[order[:leading]] = True
        return Bundle(rows.at(leaders), total), Bundle(rows.at(~leaders), total)

    def _by_leaders(self, edge: float) -> float:
        """Return the bound by the leading kinds from one edge on; stored, as a bound by all kinds may need it again."""
        if edge not in self._known:
            self._known[edge] = self._of(self._parts[0], edge)
        return self._known[edge]

    def _of(self, bundle: Bundle, edge: float) -> float:
        """Return the sum of the bounds of the kinds of a part."""
        out = 0.0
        for which, line in bundle.lines(self._t, self._tolerance):
            with np.errstate(all="ignore"):
                found = Boxes.of(line).log_decay(np.full((len(which), 1), edge))
            out += float(bundle.rows.count[which] @ found[:, 0])
        return out


def bundle_of(kinds: Sequence[tuple[float, float, int]], add: bool) -> Bundle:
    """Return the bundle of kinds given by mu, rate and count.

    >>> bundle_of([(1.0, 0.01, 100), (0.5, 0.02, 50)], add=False).upper(2.0, 1e-6)  # doctest: +ELLIPSIS
    0.070...
    """
    mu, rate, count = (np.array(column, dtype=np.float64) for column in zip(*kinds, strict=True))
    return Bundle(Rows(mu, rate, count, np.log(rate), np.full(len(mu), add)))
