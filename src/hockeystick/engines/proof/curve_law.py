"""The pair of the largest privacy curve through some points, in balls (``pairs/points.py`` has what it is, and why).

Which points are corners of the curve is decided exactly. Both coordinates of every point, ``e^epsilon`` and delta, or
``e^-epsilon`` and ``1 - (1 - delta) e^-epsilon``, are sums of rational multiples of powers of e with rational
exponents, and so is the determinant that says on which side of a chord a point lies. By the theorem of Lindemann and
Weierstrass such a sum, its exponents all different, is 0 only where all of its factors are: else its sign is told by a
ball of enough bits.

The set of points is its own mirror image, so that the largest curve is, too: what Q alone shows is what P alone shows,
the least of the deltas.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from flint import arb

from hockeystick.engines.proof.finite_sums import atom_sums, exponential_ball
from hockeystick.engines.proof.lattice_laws import Outcome
from hockeystick.numerics.balls import Ball, ComplexBall, ball, precision
from hockeystick.pairs.exact import ExactCurve, Exponential, exponential
from hockeystick.values.adjacency import Direction

LEAST_BITS = 64  # of the ball by which a sign is told, to begin with
CURVES = 64  # of which the corners are kept

ONE, ZERO = Fraction(1), Fraction(0)  # as fractions


class Corner(NamedTuple):
    """A point of a curve: ``e^epsilon``, or 0, and delta, each as ``sum a e^b``."""

    alpha: Exponential
    delta: Exponential


def corners(curve: ExactCurve) -> list[Corner]:
    """The corners of the largest curve, from (0, 1) on by increasing alpha; delta falls from each to the next.

    Raises:
        NotApplicableError: points so near one line that no precision tells on which side of it they lie.
    """
    return list(_corners(curve.epsilons, curve.deltas))


@lru_cache(CURVES)
def _corners(epsilons: tuple[Fraction, ...], deltas: tuple[Fraction, ...]) -> tuple[Corner, ...]:
    least: dict[Fraction, Fraction] = {}
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        least[epsilon] = min(least.get(epsilon, ONE), delta)
    points = [(epsilon, exponential((delta, ZERO))) for epsilon, delta in least.items()]
    points += [(-e, exponential((ONE, ZERO), (delta - 1, -e))) for e, delta in least.items() if e]
    hull = [Corner((), exponential((ONE, ZERO)))]
    for epsilon, value in sorted(points, key=lambda point: point[0]):
        new = Corner(exponential((ONE, epsilon)), value)
        while len(hull) > 1 and _side(hull[-2], hull[-1], new) >= 0:
            hull.pop()
        hull.append(new)
    while len(hull) > 1 and sign(_sum((1, hull[-1].delta), (-1, hull[-2].delta))) >= 0:
        hull.pop()
    return tuple(hull)


def _side(one: Corner, middle: Corner, last: Corner) -> int:
    """Above (1), on (0) or below (-1) the chord of the others: where the middle one of three points lies."""
    rise = _sum((1, middle.delta), (-1, one.delta)), _sum((1, last.delta), (-1, one.delta))
    run = _sum((1, middle.alpha), (-1, one.alpha)), _sum((1, last.alpha), (-1, one.alpha))
    return sign(_sum((1, _product(rise[0], run[1])), (-1, _product(rise[1], run[0]))))


def _sum(*terms: tuple[int, Exponential]) -> Exponential:
    found: dict[Fraction, Fraction] = defaultdict(Fraction)
    for factor, number in terms:
        for share, power in number:
            found[power] += factor * share
    return exponential(*((share, power) for power, share in found.items()))


def _product(one: Exponential, other: Exponential) -> Exponential:
    return _sum(*((1, tuple((a * share, b + power) for share, power in other)) for a, b in one))


def sign(number: Exponential) -> int:
    """-1, 0 or 1, of ``sum a e^b`` with all b different and no a of 0.

    Raises:
        NotApplicableError: it is so near 0 that no precision tells.
    """
    if not number:
        return 0
    with precision(LEAST_BITS):
        return 1 if exponential_ball(number, bits=1) > 0 else -1


@dataclass(frozen=True, slots=True)
class CurveLaw:
    """The pair of a privacy curve; Poisson-sampled where rate < 1, else without a direction."""

    curve: ExactCurve
    direction: Direction | None

    def atoms(self) -> list[tuple[Ball, Ball, Ball]]:
        """Finite losses that P can show, with their masses under P and Q (see ``pairs/sampled/poisson.py``)."""
        return [((p / q).log(), p, q) for p, q in self._masses() if not (p.is_zero() or q.is_zero())]

    def _masses(self) -> list[tuple[Ball, Ball]]:
        """Masses under P and Q: at each corner by how much the slope changes there, and what each law alone shows.

        The slopes' difference is one exact number over the product of two widths, so that nothing of it cancels.
        """
        found = corners(self.curve)
        runs = [_sum((1, after.alpha), (-1, one.alpha)) for one, after in pairwise(found)]
        falls = [_sum((1, one.delta), (-1, after.delta)) for one, after in pairwise(found)]
        widths, at = [exponential_ball(run) for run in runs], [exponential_ball(corner.alpha) for corner in found]
        changes = [
            exponential_ball(_sum((1, _product(falls[i], runs[i + 1])), (-1, _product(falls[i + 1], runs[i]))))
            / (widths[i] * widths[i + 1])
            for i in range(len(runs) - 1)
        ]
        if runs:
            changes.append(exponential_ball(falls[-1]) / widths[-1])
        alone = ball(self.alone)
        pairs = [*((a * q, q) for a, q in zip(at[1:], changes, strict=True)), (arb(0), alone), (alone, arb(0))]
        if self.curve.rate == 1:
            return pairs
        rate = ball(self.curve.rate)
        mixed = [((1 - rate) * q + rate * p, q) for p, q in pairs]
        return mixed if self.direction is Direction.REMOVE else [(q, p) for p, q in mixed]

    @property
    def alone(self) -> Fraction:
        """The last delta, which all larger epsilons have: the mass of the unsampled pair at infinite loss."""
        return sum((factor for factor, _ in corners(self.curve)[-1].delta), ZERO)

    @property
    def infinite_mass(self) -> Fraction:
        """``P(L = +inf)``, of a sampled record where it is removed; where it is added P cannot show it."""
        if self.direction is Direction.ADD and self.curve.rate < 1:
            return ZERO
        return self.curve.rate * self.alone

    @property
    def largest(self) -> Fraction | None:
        """The largest finite loss, where it is a fraction."""
        found = corners(self.curve)[-1].alpha
        return found[0][1] if self.curve.rate == 1 and found else None

    def terms(self, log_mass: float, bits: int) -> int:
        """How many outcomes there are."""
        return len(corners(self.curve)) + 1

    def outcomes(self, log_mass: float) -> tuple[list[Outcome], Ball]:
        """All outcomes, and that there are no others, whatever their masses."""
        return [Outcome(*atom) for atom in self.atoms()], arb(0)

    def values(self, t: float, step: float, count: int) -> list[ComplexBall]:
        """``m(t + i j step) = sum p e^(zL)`` for j < count."""
        return atom_sums(self.atoms(), t, step, count)
