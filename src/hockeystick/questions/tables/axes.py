"""The axes of a table: knots of one parameter in which epsilon is monotone.

*Proof of monotonicity, by which knots bracket the points between them.* One round compares (1 - q) N(0, s^2) + q N(1,
s^2) with N(0, s^2), in either order: noise multiplier s, rate q. Write H_a for the hockey-stick divergence. If H_a of
one pair is at most that of another for all a >= 0, the other dominates it. Products of equally many rounds are then
ordered likewise [ZDW22], Theorem 10, and so is epsilon at every delta.

- *Noise.* Independent N(0, r^2) added to each outcome turns both laws of s into those of (s^2 + r^2)^(1/2). H_a does
not grow under post-processing, so epsilon does not rise with the noise; nor does it fall with the sensitivity, which
divides the noise.
- *Rate.* For q' = c q with c <= 1 the mixture is (1 - c) N(0, s^2) + c times that of q. H_a is jointly convex, hence at
most (1 - c) (1 - a)_+ + c H_a(q), in which (1 - a)_+ is H_a of two equal laws, the smallest possible. So H_a(q') <=
H_a(q), in both orders, and epsilon does not fall with the rate.
- *Rounds.* The outcomes of the first rounds are a post-processing of all outcomes: epsilon does not fall.
- *Delta.* An epsilon valid at a delta is valid at every larger one: epsilon does not rise.

The worse of both directions is the maximum of two such functions. The proof does not cover replaced records, other
noise or other sampling schemes; tables refuse them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

SIGNS: Mapping[str, int] = {"noise": -1, "rate": 1, "rounds": 1, "delta": -1}
"""Axes in order, each with the sign of epsilon's slope."""

DOMAINS: Mapping[str, domains.Domain] = {
    "noise": domains.NOISE.of("the noise multiplier"),
    "rate": domains.RATE.of("the sample rate"),
    "rounds": domains.whole_numbers(1, 10**9).of("the number of rounds"),
    "delta": domains.TARGET_DELTA,
}
"""Domain of the knots of each axis."""


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """Knots of one parameter, in increasing order.

    Attributes:
        name: one of ``noise``, ``rate``, ``rounds``, ``delta``.
        knots: increasing finite positive numbers.

    >>> axis = Axis("rate", np.array([0.01, 0.02, 0.04]))
    >>> safe, dangerous = axis.corners(np.array([0.01, 0.03, 0.04]))
    >>> safe.tolist(), dangerous.tolist()
    ([0, 1, 2], [0, 2, 2])
    """

    name: str
    knots: Array

    def __len__(self) -> int:
        return len(self.knots)

    def corners(self, at: Array) -> tuple[Places, Places]:
        """Return the knots around values: those where epsilon is not larger, and those where it is not smaller.

        Both are equal at a knot.

        Args:
            at: values from the first knot to the last.
        """
        above = np.searchsorted(self.knots, at)  # the first knot that is not below the value
        below = above - (self.knots.take(above) > at)
        return (below, above) if SIGNS[self.name] > 0 else (above, below)

    def within(self, at: Array) -> npt.NDArray[np.bool_]:
        """Return a mask of the values from the first knot to the last; NaN is outside."""
        inside: npt.NDArray[np.bool_] = (at >= self.knots[0]) & (at <= self.knots[-1])
        return inside

    def steps(self) -> Array:
        """Return the ratio of each two neighbouring knots, or 1 if no knot fits between them.

        None fits between two successive whole numbers of rounds.
        """
        quotient = self.knots[1:] / self.knots[:-1]
        return np.where(np.diff(self.knots) <= 1, 1.0, quotient) if self.name == "rounds" else quotient

    def split(self, into: Places) -> Axis:
        """Return the axis with each step split into ``into`` steps, equal on a logarithmic scale."""
        logs = np.log(self.knots)
        parts = [
            np.exp(np.linspace(low, high, many + 1)[1:-1])
            for low, high, many in zip(logs[:-1], logs[1:], into.tolist(), strict=True)
        ]
        between = np.concatenate(parts) if parts else self.knots
        if self.name == "rounds":
            between = np.rint(between)
        return Axis(self.name, np.union1d(between[self.within(between)], self.knots))


def axis_of(name: str, given: Any) -> Axis:
    """Return an axis through the given numbers: one, or several in any order.

    Raises:
        InvalidInputError: there is no number, or one outside the domain of the axis.
    """
    numbers = np.unique(domains.array(given, name).ravel())
    if not numbers.size:
        raise InvalidInputError(f"{name} must be a number or a sequence of numbers; received an empty one", name)
    for number in numbers.tolist():
        DOMAINS[name].check(number, name)
    return Axis(name, numbers)
