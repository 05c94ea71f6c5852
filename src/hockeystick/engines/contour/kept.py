"""Sums over kinds of rounds that are kept on the points of one contour, so that a further kind adds one row to them.

A training run whose noise is another one at each step, and which is asked after each, adds one kind of sampled
Gaussian rounds to those that there were. Everything that a contour asks of a product of kinds is a sum over them
(``engines/contour/bundle.py``): K at its points, bounds on its errors, an upper bound on ``K(t + theta)`` to the right
and one on how much the product has fallen where the sum is cut. On *fixed* points these sums stay, and a new kind is
added to them.

The points are laid for a few kinds that stand in for those of a time (``engines/contour/stand_ins.py``), which certify
nothing. All bounds hold on any points, at any later time: points that no longer suit give a wide interval.

**Rounding of the running sums.** ``s_n = s_(n-1) + c k_n`` errs by at most ``u |s_n|`` in its last addition and by
``u |c k_n|`` in its product, for real numbers and, by both parts, for complex ones (Higham 2002 [Hig02], Section 2.2):
both are added to the bound on the error as each kind is added. The bounds themselves are sums of at most MOST terms of
one sign, whose roundings are less than the share SPARE of them.

**Order.** Kinds are added one after another, in the order of the history, each from numbers that depend on its own row
alone (``engines/core/rows.py``): the sums are the same to the last bit however many are added at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hockeystick.engines.contour.bundle import (
    FACTORED,
    LOGARITHMS,
    LOOSEST,
    NODE_OF_BOUND,
    NODE_OF_EDGE,
    PREPARED,
    SPARE,
    Bundle,
)
from hockeystick.engines.contour.path import EVALUATION, OnPath, Path
from hockeystick.engines.core.line import Boxes
from hockeystick.engines.core.rows import Rows
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.numerics.work import spend
from hockeystick.pairs.transform import ComplexArray, safe_log_one_plus
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]

MOST = 1_000_000  # terms of a running sum: their roundings are 1e-10 of it, a tenth of SPARE
BOUNDS = 4  # upper bounds of each kind: to the right, and three of adding a record
BLOCK = 256  # kinds whose rows are had at a time


@dataclass(frozen=True, slots=True)
class Each:
    """What one round of each of some kinds has on the points of a path, in the order of the kinds.

    Attributes:
        values: shape (kinds, points), ``K(t + is) - log m(t)``.
        errors: shape (kinds, points), bounds on their errors.
        total: shape (kinds,), ``log m(t)`` as it was found.
        common: shape (kinds,), bounds on its error.
        right: shape (kinds,), upper bounds on ``K(t + theta)``.
        fall: shape (kinds,), bounds on ``log |m(t + is)| / m(t)`` from the last point on.
        adding: shape (kinds, tilts), upper bounds on K with a record added.
    """

    values: ComplexArray
    errors: Array
    total: Array
    common: Array
    right: Array
    fall: Array
    adding: Array


class KeptPath:
    """Points of a contour, and running sums over the kinds of rounds that were added so far.

    Args:
        path: whose points they are; what its kinds have there is not used.
        among: the number of rounds to which remainders are shared out.
        add: whether a record is added.
        adding: tilts at which upper bounds on K with a record added are kept, too, where one is removed.

    Raises:
        NotApplicableError: the core of the law is left out on that path, which no sum over kinds knows of.
    """

    def __init__(self, path: Path, among: float, add: bool, adding: Sequence[float] = ()) -> None:
        if path.jumps is not None:
            raise NotApplicableError("jumps are taken apart for one kind of rounds")
        self.path, self._among, self._add, self._adding = path, among, add, tuple(adding)
        self._points = len(path.s)
        self._step = float(path.s[1]) if self._points > 1 else 1.0  # one point is at s = 0
        self._values: ComplexArray = np.zeros(self._points, dtype=np.complex128)
        self._errors = np.zeros(self._points)
        self._total = Running()
        self._common = 0.0
        self._right, self._fall = Running(), 0.0
        self._sums_adding = [Running() for _ in self._adding]

    def each(self, mu: Array, rate: Array) -> Each:
        """What one round of each kind has on the points; not finite where a kind needs too many nodes.

        Args:
            mu: shape (kinds,), one over the noise multipliers.
            rate: shape (kinds,), sampling rates.
        """
        kinds, points = len(mu), self._points
        rows = Rows(mu, rate, np.ones(kinds), np.log(rate), np.full(kinds, self._add))
        bundle = Bundle(rows, self._among)
        path = self.path
        outer = math.isqrt(points - 1) + 1
        inner = -(-points // outer)
        values = np.full((kinds, points), np.inf, dtype=np.complex128)
        errors = np.full((kinds, points), np.inf)
        total, common, right, fall = (np.full(kinds, np.inf) for _ in range(4))
        adding = np.full((kinds, len(self._adding)), np.inf)
        for which, line in bundle.lines(path.t, path.inner, outer * inner, right=path.t + path.theta):
            size = float(line.x.size)
            spend(
                EVALUATION * size * (PREPARED + math.sqrt(points) + points / FACTORED)
                + (NODE_OF_EDGE + BOUNDS * NODE_OF_BOUND) * size
            )
            spend(EVALUATION * LOGARITHMS * points * len(which))
            with np.errstate(all="ignore"):
                found, own = line.ratios(np.full((len(which), 1), self._step), outer, inner)
                values[which], errors[which] = safe_log_one_plus(found[:, :points], own[:, :points])
                total[which] = line.log_total[:, 0]
                common[which] = -np.log1p(-np.minimum(line.common[:, 0], 1.0))
                fall[which] = Boxes.of(line).log_decay(np.full((len(which), 1), path.beyond.reach))[:, 0]
                right[which] = line.upper[:, 0]
        flipped = Bundle(replace(rows, add=~rows.add), self._among)
        for order, y in enumerate(self._adding):
            adding[:, order] = flipped.uppers(y, LOOSEST)
        return Each(values, errors, total, common, right, fall, adding)

    def add(self, each: Each, times: Array) -> None:
        """Add kinds to the sums, one after another, each with its number of rounds."""
        with np.errstate(all="ignore"):
            for at, count in enumerate(times.tolist()):
                term = count * each.values[at]
                self._values = self._values + term
                rounded = np.abs(self._values) + np.abs(term)
                self._errors = self._errors + count * each.errors[at] + UNIT_ROUNDOFF * rounded
                self._total.add(count, float(each.total[at]))
                self._common += count * float(each.common[at])
                self._right.add(count, float(each.right[at]))
                self._fall += count * float(each.fall[at])
                for moment, bound in zip(self._sums_adding, each.adding[at].tolist(), strict=True):
                    moment.add(count, bound)

    def moments(self, last: Each, times: float) -> list[float]:
        """Upper bounds on K with a record added, of all that was added and so many rounds of another kind."""
        found = zip(self._sums_adding, last.adding[0].tolist(), strict=True)
        return [moment.with_one(times, bound) for moment, bound in found]

    def on(self, last: Each) -> Path:
        """The path with two kinds: all that were added, once, and one round of another one.

        Raises:
            NotApplicableError: of some kind nothing is known on these points.
        """
        with np.errstate(all="ignore"):
            values = self._values + self._total.value
            errors = (self._errors + 4 * UNIT_ROUNDOFF * np.abs(values)) * (1 + SPARE)
            common = (self._common + self._total.error) * (1 + SPARE)
            added = OnPath(values, errors, common, self._right.above, self._fall * (1 - SPARE))
            one = last.values[0] + last.total[0]
            own = (last.errors[0] + 4 * UNIT_ROUNDOFF * np.abs(one)) * (1 + SPARE)
        kinds = added, OnPath(one, own, float(last.common[0]), float(last.right[0]), float(last.fall[0]))
        for kind in kinds:
            numbers = (kind.common, kind.right, kind.fall)
            if not (
                np.isfinite(kind.values).all() and np.isfinite(kind.errors).all() and all(map(math.isfinite, numbers))
            ):
                raise NotApplicableError("a characteristic function is out of reach")
        return self.path.with_kinds(kinds)


class Running:
    """A running sum of real numbers, and a bound on its rounding."""

    def __init__(self) -> None:
        self.value = self.error = 0.0

    def add(self, count: float, number: float) -> None:
        """Add a number so often."""
        term = count * number
        self.value += term
        self.error += UNIT_ROUNDOFF * (abs(self.value) + abs(term))

    @property
    def above(self) -> float:
        """At least the sum."""
        return (self.value + self.error * (1 + SPARE)) + UNIT_ROUNDOFF * 2 * abs(self.value)

    def with_one(self, count: float, number: float) -> float:
        """At least the sum with one more number, which is not kept."""
        term = count * number
        total = self.above + term
        return total + 2 * UNIT_ROUNDOFF * (abs(total) + abs(term))
