"""Two laws of one's own, as functions or as lists, through every accountant: Algorithm 1 on any privacy loss variable.

What is composed is a pair that dominates the two laws and one that they dominate (``pairs/knots.py``), so that answers
have both ends, whose distance shrinks with the square of the knots'. They are certified given what is said in
:attr:`Pair.assumed`, since functions can only be asked at points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hockeystick.accountants import ACCOUNTANTS
from hockeystick.accountants.base import Accountant
from hockeystick.directions.directions import Directions
from hockeystick.numerics.legendre import rule
from hockeystick.pairs.finite import FinitePair, completed
from hockeystick.pairs.knots import masses_below, spread_above
from hockeystick.pairs.sides import Between, Known, Tight
from hockeystick.plan.mechanisms.pmf import Pmf
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Answer, DeltaAnswer
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.exact import decimal

Array = npt.NDArray[np.float64]
Function = Callable[[Array], npt.ArrayLike]

KNOTS = domains.list_of(domains.Domain("a finite number", {}), least=2, most=5001)
"""Places at which functions are asked."""

ACCURACY = domains.Domain("a number from 0 to 0.01", {"minimum": 0, "maximum": 0.01})
"""By how much the values of functions may be off."""

ROUNDED = 2.0**-50  # relative: a sum of sixteen products of doubles
RULES = (8, 16)  # nodes of the two rules whose difference is charged


@dataclass(frozen=True)
class Pair:
    """Two laws, P told from Q; made by :meth:`from_probabilities` or :meth:`from_densities`.

    Attributes:
        known: the pair, or the pair above and the one below.
        assumed: what the answers rest on, beside the mathematics.
    """

    known: Known
    assumed: str

    @classmethod
    def from_probabilities(cls, p: Sequence[object], q: Sequence[object]) -> Pair:
        """Finitely many outcomes with these probabilities, as in :class:`Pmf`.

        Raises:
            InvalidInputError: no two laws of the same outcomes.

        >>> pair = Pair.from_probabilities(["1/2", "1/2"], ["1/3", "2/3"])
        >>> print(pair.delta(0.1, count=10))
        0.387503 to 0.387504 (certified)
        """
        law = Pmf(p, q)  # type: ignore[arg-type]  # it checks them
        pair = FinitePair(*completed(law.p, law.q))
        if sum(law.p) == sum(law.q) == 1:
            return cls(Tight(pair), "the probabilities are the numbers as they are written")
        below = masses_below(law.p, law.q, *((Fraction(0),) * len(law.p) for _ in range(2)))
        why = "the probabilities do not add up to 1"
        return cls(Between(pair, (below,), why), "what the probabilities miss is on outcomes that are not listed")

    @classmethod
    def from_densities(cls, p: Function, q: Function, knots: Sequence[float], *, accuracy: float = 1e-14) -> Pair:
        """Two laws by their densities, whose ratio must not decrease along the line.

        Each is integrated between neighbouring knots by Gauss and Legendre's rules with 8 and with 16 nodes; what the
        two differ by is charged. What is left of 1 beyond the knots counts as infinite loss.

        Args:
            p: density of P, of an array of places.
            q: density of Q.
            knots: increasing places; both densities are smooth between neighbours.
            accuracy: by how much each value may be off, relative to itself.

        Raises:
            InvalidInputError: knots that do not increase, or values that are no densities.

        >>> from scipy.stats import norm
        >>> knots = [x / 20 for x in range(-180, 201)]
        >>> pair = Pair.from_densities(norm(0.2).pdf, norm(0).pdf, knots)
        >>> print(pair.epsilon(1e-6, count=10))  # ten rounds of Gaussian noise with mu = 0.2: 2.9216005904...
        2.92125 to 2.92228 (certified)
        """
        at = _knots(knots)
        off = ACCURACY.check(accuracy, "accuracy")
        (p_mass, e), (q_mass, f) = (_integrals(one, at, off, key) for one, key in ((p, "p"), (q, "q")))
        here, other = (_asked(one, at, key) for one, key in ((p, "p"), (q, "q")))
        wide = 1 + 4 * decimal(off)
        ratios = [Fraction(a) / Fraction(b) if b > 0 else None for a, b in zip(here, other, strict=True)]
        between = []
        for low, high in pairwise(ratios):
            between.append((low / wide if low is not None else Fraction(0), high * wide if high is not None else None))
        return cls(
            Between(spread_above(p_mass, q_mass, e, f, between), (masses_below(p_mass, q_mass, e, f),), _WHY),
            f"the ratio of the densities does not decrease along the line, their values are good to {off:g} of "
            "themselves, and the error of their integrals between knots is at most the difference of two rules",
        )

    def directions(self, count: int = 1) -> Directions:
        """The composition of ``count`` independent copies, P told from Q, for any accountant."""
        return Directions.of_pairs({Direction.REMOVE: [(self.known, count)]})

    def epsilon(self, delta: float, count: int = 1, accountant: str = "auto", gap: float | None = None) -> Answer:
        """The least epsilon at which ``P^count`` is told from ``Q^count`` with at most that delta."""
        target = domains.delta(delta)
        directions = self.directions(count)
        return _accountant(accountant).epsilon(directions, target, gap)

    def delta(self, epsilon: float, count: int = 1, accountant: str = "auto", gap: float | None = None) -> DeltaAnswer:
        """The hockey-stick divergence of ``P^count`` from ``Q^count`` at an epsilon."""
        at = domains.epsilon(epsilon, "epsilon", "at which delta is asked")
        directions = self.directions(count)
        return _accountant(accountant).delta(directions, at, gap)


_WHY = "the laws are known at knots only: one pair is spread between them, and one is merged"
"""Why there are two pairs."""


def _accountant(name: str) -> Accountant:
    if name not in ACCOUNTANTS:
        raise InvalidInputError(domains.choice("accountant", name, list(ACCOUNTANTS)), "accountant")
    return ACCOUNTANTS[name]


def _knots(knots: Sequence[float]) -> Array:
    at = np.array(KNOTS.check(list(knots), "knots"))
    if not (np.diff(at) > 0).all():
        raise InvalidInputError("knots must increase", "knots")
    return at


def _asked(function: Function, at: Array, key: str) -> list[float]:
    values = domains.array(function(at), key)
    if values.shape != at.shape or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInputError(f"{key} must give a finite number, 0 or greater, for each of {len(at)} places", key)
    return [float(value) for value in values]


def _integrals(density: Function, at: Array, off: float, key: str) -> tuple[list[Fraction], list[Fraction]]:
    """Masses of the cells between knots, and by how much each may be off."""
    found = []
    half, middle = 0.5 * np.diff(at), 0.5 * (at[1:] + at[:-1])
    for nodes in RULES:
        x, weight = rule(nodes)
        places = (middle[:, None] + half[:, None] * x).ravel()
        values = np.array(_asked(density, places, key)).reshape(len(half), nodes)
        found.append((values * weight).sum(axis=1) * half)
    coarse, fine = found
    error = np.abs(fine - coarse) + (off + ROUNDED) * fine
    if not math.isfinite(float(fine.sum())):
        raise InvalidInputError(f"{key} must have a finite integral", key)
    return [Fraction(value) for value in fine.tolist()], [Fraction(value) for value in error.tolist()]
