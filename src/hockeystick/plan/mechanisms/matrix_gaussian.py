"""Correlated noise: one release of a matrix times all gradients of a run, with normal noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import GaussianPair
from hockeystick.pairs.sides import Between
from hockeystick.plan.mechanisms.base import AS_ABSENT, MOST_LISTED, Claim, Mechanism, Property, Status, claims_of
from hockeystick.plan.mechanisms.strategy import MOST_ERROR, Array, Sensitivity, Strategy
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import MAX_ITEMS, NOISE, Domain, Names, list_of, unmet, whole_numbers
from hockeystick.values.errors import InvalidInputError

NUMBER = Domain("a number from -1e6 to 1e6", {"minimum": -1e6, "maximum": 1e6})
DECAY = Domain("a number from 0 to 1", {"minimum": 0, "maximum": 1})
GIVEN = ("coefficients", "inverse_coefficients", "blt_decay", "matrix", "tree_depth")
"""Keys of which exactly one gives the strategy."""

COLUMNS, NONE = "columns", "none"
MOST = 1e100
"""Largest size of a coefficient, and of the reciprocal of one on the diagonal: their squares are normal doubles."""

KEPT = 8  # number of cached strategies, those of the latest plans
MOST_STEPS = MAX_ITEMS  # a second or so of work, like MOST_LISTED participations
MOST_LEVELS = MOST_STEPS.bit_length() + 1  # of the tree over so many steps

_CITED = "Denisov, McMahan, Rush, Smith, Thakurta 2022 [DMR+22]; sensitivity and proof in plan/mechanisms/strategy.py"

_BETWEEN = Claim(Status.BRACKET, _CITED)

_REPLACED = Claim(
    Status.BRACKET, f"{_CITED}; replacing a record moves a gradient by up to 2 norm bounds, which doubles it"
)

WHY = {
    True: "the attained sensitivity and its certified bound differ only by rounding",
    False: "the sensitivity of the strategy lies between an attained value and a certified bound",
}
"""Reason for different pairs above and below, by whether the sensitivity is exact."""


@dataclass(frozen=True, repr=False)
class MatrixGaussian(Mechanism):
    """Correlated noise (DP-FTRL, banded and BLT strategies, trees): ``C x + noise``, x the gradients of all steps.

    A round is a whole run, and ``count`` is the number of runs. Exactly one of ``coefficients``,
    ``inverse_coefficients``, ``blt_decay`` with ``blt_scale``, ``matrix`` and ``tree_depth`` gives the lower triangular
    matrix C.

    Args:
        noise_multiplier: standard deviation of the noise divided by the norm bound of one gradient.
        steps: number n of steps.
        min_separation: least distance of two steps in which a record takes part.
        norm: ``columns`` if each column of C is divided by its norm before noise is added, as jax_privacy does;
            ``none`` if C is used as given.
        max_participations: largest number of steps in which a record takes part; by default as many as the separation
            allows.
        coefficients: first column of a Toeplitz matrix; further entries are 0.
        inverse_coefficients: first column of the inverse of a Toeplitz matrix, as for lambda-CGD and BISR.
        blt_decay: decays of a buffered linear Toeplitz matrix, whose coefficients are 1 and
            ``sum_i scale_i decay_i^(m - 1)``, m = 1, 2, ..
        blt_scale: scales of the buffers, equally many.
        matrix: rows of C, n rows of n numbers.
        tree_depth: levels of a binary tree whose leaves are the steps.

    Raises:
        InvalidInputError: a value is outside its domain, none or several of the strategies are given, the matrix is not
            lower triangular, its diagonal has a number below 1e-100, or rounding makes an inverse meaningless.

    >>> run = MatrixGaussian(2.0, steps=100, min_separation=25, norm="none", coefficients=[1, 0.5, 0.25])
    >>> print(f"{run.sensitivity.upper:.6f} at {run.sensitivity.places}")
    2.291288 at (0, 25, 50, 75)
    """

    noise_multiplier: Annotated[float, NOISE.of("standard deviation of the noise / norm bound of one gradient")]
    steps: Annotated[int, whole_numbers(1, MOST_STEPS).of("number of steps in a run")]
    min_separation: Annotated[
        int, whole_numbers(1, MOST_STEPS).of("minimum number of steps between two participations of a record")
    ]
    norm: Annotated[str, Names((COLUMNS, NONE), "whether the columns of the matrix are divided by their norms")]
    max_participations: Annotated[
        int | None, whole_numbers(1, MOST_LISTED).of("maximum number of steps in which one record takes part")
    ] = None
    coefficients: Annotated[tuple[float, ...] | None, list_of(NUMBER).of("first column of the matrix")] = None
    inverse_coefficients: Annotated[tuple[float, ...] | None, list_of(NUMBER).of("first column of the inverse")] = None
    blt_decay: Annotated[tuple[float, ...] | None, list_of(DECAY, most=100).of("decays of the buffers")] = None
    blt_scale: Annotated[tuple[float, ...] | None, list_of(NUMBER, most=100).of("scales of the buffers")] = None
    matrix: Annotated[
        tuple[tuple[float, ...], ...] | None,
        list_of(list_of(NUMBER, most=MOST_LISTED), most=MOST_LISTED).of("rows of the matrix"),
    ] = None
    tree_depth: Annotated[int | None, whole_numbers(1, MOST_LEVELS).of("number of levels of the tree")] = None

    name = "matrix-gaussian"
    claims: ClassVar[Mapping[Direction, Claim]] = claims_of(_BETWEEN, _REPLACED)
    zeroed = AS_ABSENT
    properties = frozenset({Property.JOINT, Property.RUN})

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [key for key in GIVEN if getattr(self, key) is not None]
        if len(given) != 1:
            raise InvalidInputError(
                f"exactly one of {', '.join(GIVEN)} must be given; received {', '.join(given) or 'none'}",
                "coefficients",
            )
        if len(self.blt_decay or ()) != len(self.blt_scale or ()):
            raise InvalidInputError(
                "blt_decay and blt_scale must be given together and have the same length", "blt_scale"
            )
        room = -(-self.steps // self.min_separation)
        if self.participations > MOST_LISTED:
            raise InvalidInputError(
                f"max_participations is missing, and its default {room} exceeds {MOST_LISTED}; give it, or a "
                "larger min_separation",
                "max_participations",
            )
        if self.participations > room:
            raise InvalidInputError(
                f"max_participations must be at most {room} with {self.steps} steps and min_separation "
                f"{self.min_separation}; received {self.max_participations}",
                "max_participations",
            )
        _ = self.strategy  # refuses invalid strategies

    def __repr__(self) -> str:
        return f"MatrixGaussian({self.noise_multiplier!r}, <{self.steps} steps, {self._given}>)"

    @property
    def _given(self) -> str:
        return next(key for key in GIVEN if getattr(self, key) is not None)

    @property
    def participations(self) -> int:
        """Largest number of steps in which a record takes part."""
        return self.max_participations or -(-self.steps // self.min_separation)

    @property
    def strategy(self) -> Strategy:
        """The matrix C, as inner products of its columns."""
        return self._made(absolute=False)

    @property
    def magnitudes(self) -> Strategy:
        """The matrix |C| of absolute values, as inner products of its columns."""
        return self._made(absolute=True)

    @property
    def markov(self) -> tuple[float, float] | None:
        """(lambda, c) if ``C_ij = c lambda^(i-j)`` with 0 < lambda < 1 (lambda-CGD), else ``None``.

        lambda is exact, and c is rounded.
        """
        given = np.trim_zeros(np.array(self.inverse_coefficients or ()), "b").tolist()
        if self.norm == COLUMNS or len(given) != 2 or not given[0]:
            return None
        rate = Fraction(-given[1]) / Fraction(given[0])
        return (float(rate), abs(1 / given[0])) if 0 < rate < 1 and rate == float(rate) else None

    def _made(self, *, absolute: bool) -> Strategy:
        value = getattr(self, self._given)
        return _strategy(self.steps, self.norm, self._given, value, self.blt_scale, absolute=absolute)

    @property
    def sensitivity(self) -> Sensitivity:
        """The sensitivity to one record, in units of the norm bound of one gradient."""
        return _ends(self.strategy, self.min_separation, self.participations)

    @property
    def premises(self) -> Mapping[str, str]:
        """Conditions on the program's treatment of records."""
        return {
            "participation": f"a record takes part in at most {self.participations} of the {self.steps} steps, at "
            f"least {self.min_separation} apart, and its participation does not affect that of other records"
        }

    def known(self, direction: Direction) -> Between:
        """Return the Gaussian pairs for both ends of the sensitivity, which doubles if a record is replaced."""
        low = self._distance(direction) * self.sensitivity.lower / self.noise_multiplier
        below = GaussianPair(low * (1 - 2 * UNIT_ROUNDOFF))
        return Between(self.pair(direction), (below,), f"{WHY[self.sensitivity.exact]} ({self.sensitivity.theorem})")

    def pair(self, direction: Direction) -> GaussianPair:
        """Return the pair that dominates."""
        high = self._distance(direction) * self.sensitivity.upper / self.noise_multiplier
        return GaussianPair(high * (1 + 2 * UNIT_ROUNDOFF))

    def _distance(self, direction: Direction) -> int:
        """Largest change of a gradient by one record, in units of the gradient's norm bound."""
        return 2 if direction is Direction.REPLACE_ONE else 1

    def with_against_without(self) -> GaussianPair:
        """Return the dominating pair: the law with the record against the law without it."""
        return self.pair(Direction.REMOVE)


def sensitivity(
    steps: int, min_separation: int, norm: str, max_participations: int | None = None, **strategy: Any
) -> Sensitivity:
    """Return the L2 sensitivity of a strategy to one record, in units of the norm bound of one gradient.

    Args:
        steps: number n of steps.
        min_separation: least distance of two steps in which a record takes part.
        norm: ``columns`` or ``none``, as in :class:`MatrixGaussian`.
        max_participations: largest number of steps in which a record takes part.
        strategy: one of the strategies of :class:`MatrixGaussian`, lists or NumPy arrays.

    Returns:
        A named tuple: ``lower``, a sensitivity that is attained; ``upper``, a certified upper bound; ``places``, the
        steps of a record that attains ``lower``; ``exact``, True if both ends are equal except for rounding; and
        ``theorem``, the source of ``upper``.

    Raises:
        InvalidInputError: as :class:`MatrixGaussian`.

    >>> found = sensitivity(1000, 250, "none", coefficients=[1.0, 0.5])
    >>> print(f"{found.upper:.6f}, {found.exact}")
    2.236068, True
    """
    return MatrixGaussian(1.0, steps, min_separation, norm, max_participations, **strategy).sensitivity


@lru_cache(maxsize=KEPT)
def _ends(strategy: Strategy, separation: int, participations: int) -> Sensitivity:
    """Return the sensitivity of a strategy, from a cache, since calibration of the noise needs it many times."""
    return strategy.sensitivity(separation, participations)


@lru_cache(maxsize=KEPT)
def _strategy(
    steps: int, norm: str, key: str, value: Any, scale: tuple[float, ...] | None, *, absolute: bool
) -> Strategy:
    """Return the strategy for a key and its value; if ``absolute``, with the absolute values of its entries.

    ``scale`` has the scales of a BLT (buffered linear Toeplitz) strategy, and is ``None`` for other strategies.

    Raises:
        InvalidInputError: the value gives no strategy.
    """
    if key == "tree_depth":
        if steps > 1 << (value - 1):
            raise unmet("steps", f"must be at most {1 << (value - 1)} with a tree of {value} levels", steps)
        found = Strategy.tree(value, steps)
    elif key == "matrix":
        rows = _rows(value, steps)
        found = Strategy.dense(np.abs(rows) if absolute else rows)
    else:
        coefficients, doubt = _coefficients(steps, key, np.array(value), scale)
        if not abs(coefficients[0]) >= 1 / MOST:
            raise InvalidInputError(
                f"the first coefficient must be at least {1 / MOST:g} in magnitude; received "
                f"{float(coefficients[0])!r}",
                "coefficients",
            )
        if not np.abs(coefficients).max() <= MOST:
            raise InvalidInputError(
                f"the coefficients must be at most {MOST:g} in magnitude, but those of the inverse exceed it within "
                f"{steps} steps; use fewer steps",
                "inverse_coefficients",
            )
        found = Strategy.toeplitz(np.abs(coefficients) if absolute else coefficients, doubt, steps)
        if not found.error < MOST_ERROR:
            raise InvalidInputError(
                f"rounding leaves fewer than three digits of the coefficients within {steps} steps; give coefficients "
                "instead",
                "inverse_coefficients",
            )
    return found.of_unit_columns() if norm == COLUMNS else found


def _coefficients(steps: int, key: str, value: Array, scale: tuple[float, ...] | None) -> tuple[Array, Array]:
    """Return the first column of a Toeplitz matrix, and bounds on the errors of its entries."""
    if key == "inverse_coefficients":
        return inverted(value, steps)
    if scale is None:
        given = np.trim_zeros(value, "b")
        given = given if len(given) else np.zeros(1)
        return given, np.zeros(len(given))
    powers = value ** np.arange(steps - 1)[:, None]
    doubt = (len(scale) + 8) * UNIT_ROUNDOFF * (powers @ np.abs(scale))
    return np.append(1.0, powers @ np.array(scale)), np.append(0.0, doubt)


def _rows(rows: tuple[tuple[float, ...], ...], steps: int) -> Array:
    """Return the matrix with these rows as an array, after a check.

    Raises:
        InvalidInputError: it is not square, not lower triangular, or has a number below 1e-100 on its diagonal.
    """
    if len(rows) != steps or any(len(row) != steps for row in rows):
        raise InvalidInputError(f"matrix must have {steps} rows of {steps} numbers, one for each step", "matrix")
    matrix: Array = np.array(rows)
    if np.triu(matrix, 1).any() or np.abs(np.diagonal(matrix)).min() < 1 / MOST:
        raise InvalidInputError(
            f"matrix must be lower triangular, with diagonal entries of at least {1 / MOST:g} in magnitude, because "
            "the noise of a step may depend on earlier steps only",
            "matrix",
        )
    return matrix


def inverted(d: Array, n: int) -> tuple[Array, Array]:
    """Return n coefficients of ``1 / (d_0 + d_1 z + ..)``, and bounds on their errors.

    The recursion ``c_m = -(sum_j d_j c_{m-j}) / d_0`` leaves ``d * c = 1 + r``, where ``*`` is the product of series,
    and rounding makes ``|r_m| <= (len(d) + 6) u (|d| * |c|)_m =: R_m``. The error ``e = c - 1/d`` is ``(1/d) * r``, so
    that ``|e| <= (|c| + |e|) * R``. With ``o = |c| * R`` and ``s = sum R < 1``, it follows that ``max |e| <= max o / (1
    - s)``, and ``|e_m| <= o_m + s max o / (1 - s)``.
    """
    if not d[0]:
        return np.zeros(1), np.zeros(1)
    c, tail = np.zeros(n), d[1:][::-1]
    c[0] = 1 / d[0]
    with np.errstate(over="ignore", invalid="ignore"):
        for m in range(1, n):
            j = min(m, len(tail))
            c[m] = -(tail[len(tail) - j :] @ c[m - j : m]) / d[0]
        left = (len(d) + 6) * UNIT_ROUNDOFF * np.convolve(np.abs(d), np.abs(c))[:n]
        off, total = np.convolve(np.abs(c), left)[:n], float(left.sum())
    if not total < 0.5:
        return c, np.full(n, np.inf)
    return c, 1.01 * (off + total * off.max() / (1 - total))  # 1.01: roundings of the bound itself
