"""delta of a mechanism from the masses of its outcomes: plain sums over them, for one round and for two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

STEPS = 200  # cells to a unit of a density, whose kinks lie on their edges


@dataclass(frozen=True)
class Definition:
    """A mechanism as it is defined.

    Attributes:
        keys: of an instance, as in plan files.
        outcomes: all that are ever seen.
        width: of the cell around each outcome, 1 where it is a point.
        mass: of an outcome, or its density: with the record (1), without it (0), with another one in its place (-1).
    """

    keys: Mapping[str, Any]
    outcomes: Array
    width: float
    mass: Callable[[float, int], float]

    def law(self, record: int) -> Array:
        """The masses of all outcomes."""
        return np.array([self.width * self.mass(x, record) for x in self.outcomes.tolist()])

    def laws(self, direction: str, sampling: str = "none", rate: float = 1.0) -> tuple[Array, Array]:
        """The two laws of a round; in a batch of a fixed size every other record is opposed to the one in question."""
        if direction == "replace-one":
            return self._mixed(1, 0, rate), self._mixed(-1, 0, rate)
        away = -1 if sampling == "without-replacement" else 0
        both = self._mixed(1, away, rate), self.law(away)
        return both if direction == "remove" else (both[1], both[0])

    def _mixed(self, record: int, otherwise: int, rate: float) -> Array:
        law = self.law(record)
        return law if rate == 1 else (1 - rate) * self.law(otherwise) + rate * law


def counts(first: int, last: int) -> tuple[Array, float]:
    """Whole numbers, which are outcomes themselves."""
    return np.arange(first, last + 1, dtype=np.float64), 1.0


def cells(low: int, high: int) -> tuple[Array, float]:
    """The middles of narrow cells, and their width: a sum over them is 1e-5 off an integral."""
    return low + (np.arange((high - low) * STEPS) + 0.5) / STEPS, 1 / STEPS


def delta(p: Array, q: Array, epsilon: float, rounds: int) -> float:
    """``sum (P - e^epsilon Q)_+`` over the outcomes of one round, or of two: over the first, delta of the second."""
    one = np.log(p[(p > 0) & (q > 0)] / q[(p > 0) & (q > 0)])
    mass, other = p[(p > 0) & (q > 0)], q[(p > 0) & (q > 0)]
    order = np.argsort(one)
    one, mass, other = one[order], mass[order], other[order]
    above = [np.append(np.cumsum(law[::-1])[::-1], 0.0) for law in (mass, other)]
    alone = float(p[q == 0].sum())

    def single(at: Array) -> Array:
        first = np.searchsorted(one, at, side="right")
        rest: Array = np.exp(np.where(first < len(one), at, 0.0)) * above[1][first]
        return alone + above[0][first] - rest

    if rounds == 1:
        return float(single(np.array([epsilon]))[0])
    assert rounds == 2
    return alone + float((mass * single(epsilon - one)).sum())
