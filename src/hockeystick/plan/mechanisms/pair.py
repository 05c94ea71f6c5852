"""Two user-defined laws, with the record and without it, as functions or as a table of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np
import numpy.typing as npt

from hockeystick.pairs import functions
from hockeystick.pairs.knots import Cells, KnottedPair, either_order, increasing, merged_below, spread_above
from hockeystick.pairs.sides import Between
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status, claims_of
from hockeystick.plan.mechanisms.finite import LAWS_ALONE
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import unmet
from hockeystick.values.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    Array: TypeAlias = npt.NDArray[np.float64]

Function: TypeAlias = "functions.Function | float"
"""A function of an array of places; for the law with the record also a distance by which the other law is shifted."""

ONE_MASS = domains.Domain("a number from 0 to 1", {"minimum": 0, "maximum": 1})
"""Domain of the masses of cells, and of their errors."""

RATIO = domains.Domain("a number from 0 to 1e150", {"minimum": 0, "maximum": 1e150})
"""Domain of the least ratios of cells."""

ACCURACY = domains.Domain("a number from 0 to 0.01", {"minimum": 0, "maximum": 0.01})
"""Domain of the error of the values of functions."""

MASSES = domains.list_of(ONE_MASS)
RATIOS = domains.list_of(RATIO)
KNOTS = domains.list_of(domains.Domain("a finite number", {}), most=100)

TOTAL = 1e-12
"""Relative amount, beyond the errors, by which the masses of a law may miss 1."""

_BETWEEN = Claim(
    Status.BRACKET, "one pair spread within the cells dominates, one merged is dominated: proof in pairs/knots.py"
)

_REPLACED = Claim(Status.BRACKET, f"{_BETWEEN.cited}; with replaced = true, both orders of the laws together")

WHY = "the interval is as wide as the cells allow: the distributions are known only cell by cell"
"""Reason why the upper and the lower pair differ."""

PREMISE = (
    "the masses, errors and ratios of the two distributions are as given; for functions, hockeystick assumes that the "
    "ratio between neighbouring points stays within its values at them, that the error of an integral is at most the "
    "difference of two quadrature rules, and that no mass lies elsewhere beyond what the totals lack"
)
"""Premise of every answer about two user-defined laws."""


@dataclass(frozen=True, repr=False)
class Pair(Mechanism):
    """Mechanism given by its two laws, p with the record and q without it, cell by cell.

    :meth:`from_densities`, :meth:`from_cdfs` and :meth:`from_tradeoff` make the cells. From the cells follow an upper
    pair, which dominates the two laws, and a lower pair, which the two laws dominate. Answers lie between those of the
    two pairs, whose difference falls with the square of the cell width.

    Args:
        p: mass of each cell with the record.
        q: mass of each cell without it, equally many.
        p_error: bound on the error of each element of p; 0 by default.
        q_error: bound on the error of each element of q; 0 by default.
        least: the least likelihood ratio p / q in each cell. By default the cells are taken as consecutive intervals
            of a line along which the ratio does not decrease.
        reverse: the least reverse ratio q / p in each cell; 0 where p / q is not bounded. It requires ``least``, and
            vice versa.
        replaced: True if the laws are those for two values of a record, for adjacency ``replace-one``.

    Raises:
        InvalidInputError: a value is outside its domain, lists differ in length, a total differs from 1 by more than
            the errors, or the masses contradict the ratios.

    >>> from hockeystick import Plan, Round
    >>> noisy = Pair(p=[0.1, 0.2, 0.7], q=[0.3, 0.3, 0.4])
    >>> print(Plan([Round(noisy, count=2)]).delta(1.0))
    0.134085 to 0.680605 (certified)
    """

    p: Annotated[tuple[float, ...], MASSES.of("probability of each cell with the record")]
    q: Annotated[tuple[float, ...], MASSES.of("probability of each cell without the record")]
    p_error: Annotated[tuple[float, ...] | None, MASSES.of("error bound of each element of p")] = None
    q_error: Annotated[tuple[float, ...] | None, MASSES.of("error bound of each element of q")] = None
    least: Annotated[tuple[float, ...] | None, RATIOS.of("smallest ratio p / q in each cell")] = None
    reverse: Annotated[tuple[float, ...] | None, RATIOS.of("smallest ratio q / p in each cell")] = None
    replaced: Annotated[bool, domains.Switch("whether the distributions belong to two values of one record")] = False

    name = "pair"
    claims = claims_of(_BETWEEN, _REPLACED)
    zeroed = LAWS_ALONE
    properties = frozenset({Property.INFINITE_LOSS, Property.LAWS})

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("q", "p_error", "q_error", "least", "reverse"):
            if getattr(self, key) is not None:
                self._check_lengths(key, "p")
        if (self.least is None) != (self.reverse is None):
            raise InvalidInputError("least and reverse must be given together; give both or neither", "least")
        for key in ("p", "q", "least", "reverse"):
            small = next((each for each in getattr(self, key) or () if 0 < each < functions.LEAST_MASS), None)
            if small is not None:
                raise unmet(key, f"must contain only 0 and numbers of at least {functions.LEAST_MASS:g}", small)
        _ = self._above  # refuses masses that contradict the ratios

    def __repr__(self) -> str:
        replaced = ", replaced=True" if self.replaced else ""
        return f"Pair(p=<{len(self.p)} masses>, q=<{len(self.q)} masses>{replaced})"

    @classmethod
    def from_densities(
        cls,
        p: Function,
        q: Function,
        knots: Sequence[float] = (0.0,),
        *,
        accuracy: float = 1e-13,
        replaced: bool = False,
    ) -> Pair:
        """Return the mechanism whose laws have these densities on the line; the likelihood ratio may rise and fall.

        Args:
            p: density with the record, as a function of one place or of an array of places. A number instead of a
                function is the distance by which the record shifts q.
            q: density without the record.
            knots: places near most of the mass, and places where a density has a corner or a jump.
            accuracy: relative error of each value.
            replaced: as in the class.

        Raises:
            InvalidInputError: the values are not densities, the total mass of a law differs from 1, or a value is
                outside its domain.

        >>> from hockeystick import Gaussian, Plan, Round
        >>> from scipy.stats import norm
        >>> print(Plan([Round(Pair.from_densities(0.2, norm.pdf), count=10)]).epsilon(1e-6))
        2.92159 to 2.92161 (certified)
        >>> print(Plan([Round(Gaussian(5.0), count=10)]).epsilon(1e-6))
        2.92160 to 2.92161 (certified)
        """
        return cls._of(functions.of_densities, p, q, knots, accuracy, replaced)

    @classmethod
    def from_cdfs(
        cls,
        p: Function | Sequence[float],
        q: Function | Sequence[float],
        knots: Sequence[float] = (0.0,),
        *,
        accuracy: float = 2.0**-52,
        replaced: bool = False,
    ) -> Pair:
        """Return the mechanism whose laws have these distribution functions; the likelihood ratio must not decrease.

        Args:
            p: distribution function with the record, or its values at increasing places. A number is the distance by
                which the record shifts q.
            q: distribution function without the record, or its values at the same places.
            knots: places near most of the mass.
            accuracy: absolute error of each value.
            replaced: as in the class.

        Raises:
            InvalidInputError: the values are not distribution functions, the ratio decreases, or a value is outside its
                domain.

        >>> from hockeystick import Plan, Round
        >>> print(Plan([Round(Pair.from_cdfs([0.1, 0.3], [0.3, 0.6]), count=2)]).delta(1.0))
        0.134085 to 0.680605 (certified)
        """
        if callable(q):
            return cls._of(functions.of_distributions, p, q, knots, accuracy, replaced)
        first, second = (np.array(MASSES.check(one, key)) for one, key in ((p, "p"), (q, "q")))
        if first.shape != second.shape:
            raise InvalidInputError(f"q must have as many values as p; received {len(second)} and {len(first)}", "q")
        return cls.of_cells(functions.of_values(first, second, ACCURACY.check(accuracy, "accuracy")), replaced)

    @classmethod
    def from_tradeoff(
        cls, beta: Callable[[Array], npt.ArrayLike], *, accuracy: float = 2.0**-52, replaced: bool = False
    ) -> Pair:
        """Return the mechanism with the trade-off function ``beta``; use :class:`Tradeoff` if it is piecewise linear.

        Args:
            beta: convex function from the false-positive rate, 0 to 1, to the least false-negative rate of a test for
                the record.
            accuracy: absolute error of each value.
            replaced: as in the class.

        Raises:
            InvalidInputError: the values are not a trade-off function, or a value is outside its domain.

        >>> from hockeystick import Plan, Round
        >>> print(Plan([Round(Pair.from_tradeoff(lambda alpha: (1 - alpha) ** 2))]).delta(0.1))
        0.226209 to 0.226211 (certified)
        """
        if not callable(beta):
            raise InvalidInputError(
                f"beta must be a function of the false-positive rate; received {domains.shown(beta)}; for a trade-off "
                "function given by its corners use Tradeoff",
                "beta",
            )
        return cls.of_cells(functions.of_trade_off(beta, ACCURACY.check(accuracy, "accuracy")), replaced)

    @classmethod
    def of_cells(cls, cells: Cells, replaced: bool = False) -> Pair:
        """Return the mechanism with these cells."""
        return cls(**{key: tuple(one.tolist()) for key, one in cells._asdict().items()}, replaced=replaced)

    @classmethod
    def _of(
        cls, made: Callable[..., Cells], p: object, q: object, knots: Sequence[float], accuracy: float, replaced: bool
    ) -> Pair:
        if not callable(q):
            raise unmet("q", "must be a function", q)
        if not callable(p):
            p = functions.shifted(q, domains.Domain("a function, or a finite distance", {}).check(p, "p"))
        places = np.unique(np.array(KNOTS.check(knots, "knots")))
        return cls.of_cells(made(p, q, places, ACCURACY.check(accuracy, "accuracy")), replaced)

    @property
    def premises(self) -> Mapping[str, str]:
        """Condition on the program under which the given table of outcomes dominates the mechanism, by its label."""
        return {"cells": PREMISE}

    @property
    def replacement_only(self) -> str | None:
        """Reason to refuse other adjacencies if the laws belong to two values of a record; else ``None``."""
        if not self.replaced:
            return None
        return (
            "the distributions belong to two values of a record; use adjacency 'replace-one' or set replaced to false"
        )

    def with_against_without(self) -> KnottedPair:
        """Return the dominating pair: the law with the record against the law without it."""
        return self._above

    def known(self, direction: Direction) -> Between:
        """Return the upper and the lower pair in one direction; under ``replace-one``, for both orders of the two laws.

        Raises:
            UnsupportedError: as :meth:`pair`.
        """
        below = self._below if direction is Direction.REPLACE_ONE else (self._below[direction is Direction.ADD],)
        return Between(self.pair(direction), below, WHY)

    def pair(self, direction: Direction) -> KnottedPair:
        """Return the pair that dominates.

        Raises:
            UnsupportedError: the direction is the replacement of a record, but the laws are those with and without the
                record.
        """
        if direction is not Direction.REPLACE_ONE:
            return self._above.mirror if direction is Direction.ADD else self._above
        if not self.replaced:
            raise UnsupportedError(
                "the distributions of mechanism 'pair' are those with and without a record, which do not cover "
                "replacing a record; give the distributions of two values, with replaced = true"
            )
        return either_order(self._above)

    @cached_property
    def _cells(self) -> Cells:
        p, q = np.array(self.p), np.array(self.q)
        p_error, q_error = (
            np.array(one or np.zeros(len(p))) + TOTAL * mass for one, mass in ((self.p_error, p), (self.q_error, q))
        )
        if self.least is None or self.reverse is None:
            return Cells(p, q, p_error, q_error, *increasing(p, q, p_error, q_error))
        return Cells(p, q, p_error, q_error, np.array(self.least), np.array(self.reverse))

    @cached_property
    def _above(self) -> KnottedPair:
        for key, mass, error in (("p", self.p, self.p_error), ("q", self.q, self.q_error)):
            total, doubt = math.fsum(mass), math.fsum(error or ())
            if abs(total - 1) > TOTAL + doubt:
                raise InvalidInputError(
                    f"the masses of {key} must add up to 1; received a sum of {total!r}; give the error of each as "
                    f"{key}_error",
                    key,
                )
        return spread_above(self._cells)

    @cached_property
    def _below(self) -> tuple[KnottedPair, KnottedPair]:
        return merged_below(self._cells), merged_below(self._cells.mirror)
