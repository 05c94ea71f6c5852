"""The axes of a table: knots of one parameter, along which epsilon only rises or only falls.

*Why knots bracket what lies between them.* One round compares (1 - q) N(0, s^2) + q N(1, s^2) with N(0, s^2), in either
order: noise multiplier s, rate q. Write H_a for the hockey-stick divergence. Where H_a of one pair is at most that of
another one for all a >= 0, the other one dominates it, products of so many rounds are ordered likewise [ZDW22], Theorem
10, and so is epsilon at every delta.

- *Noise.* Independent N(0, r^2) added to each outcome turns both laws of s into those of (s^2 + r^2)^(1/2). H_a does
  not grow by what is done to outcomes alone, so that epsilon does not rise with the noise; nor does it fall with the
  sensitivity, by which the noise is divided.
- *Rate.* For q' = c q with c <= 1 the mixture is (1 - c) N(0, s^2) + c times that of q. H_a is jointly convex, hence at
  most (1 - c) (1 - a)_+ + c H_a(q), in which (1 - a)_+ is H_a of two equal laws, the least there is. Hence H_a(q') <=
  H_a(q), in both orders, and epsilon does not fall with the rate.
- *Rounds.* Outcomes of the first rounds are those of all with the others left out: epsilon does not fall.
- *Delta.* The epsilons that hold at a delta hold at every larger one: epsilon does not rise.

The worse of both directions is the maximum of two such functions. Nothing here is said of a record that is replaced, of
other noise or of other ways of sampling; tables refuse them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

MOST_BUCKETS = 1 << 18
"""Buckets of the index of an axis, so that it stays in the cache of a processor; beyond, knots are searched."""

SIGNS: Mapping[str, int] = {"noise": -1, "rate": 1, "rounds": 1, "delta": -1}
"""The axes in their order, and whether epsilon rises or falls along each."""

DOMAINS: Mapping[str, domains.Domain] = {
    "noise": domains.NOISE.of("the noise multiplier"),
    "rate": domains.RATE.of("the sample rate"),
    "rounds": domains.whole_numbers(1, 10**9).of("the number of rounds"),
    "delta": domains.TARGET_DELTA,
}
"""What the knots of each axis are among."""


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """The knots of one parameter, in increasing order.

    Attributes:
        name: one of ``noise``, ``rate``, ``rounds``, ``delta``.
        knots: finite positive numbers, each larger than the one before.

    >>> axis = Axis("rate", np.array([0.01, 0.02, 0.04]))
    >>> safe, dangerous = axis.corners(np.array([0.01, 0.03, 0.04]))
    >>> safe.tolist(), dangerous.tolist()
    ([0, 1, 2], [0, 2, 2])
    """

    name: str
    knots: Array
    _shift: int = field(init=False, repr=False)
    _first: int = field(init=False, repr=False)
    _last_knot: Places | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Lay out buckets: doubles that agree in their first bits, at most one knot in each, and the last knot so far.

        The bits of positive doubles, read as whole numbers, are ordered as the doubles are, and their first bits are a
        logarithm by halves of an octave, quarters and so on: a bucket is found without one.
        """
        bits = self.knots.view(np.int64)
        shift, buckets = 0, None
        for shift in range(52, 31, -1):
            of = bits >> shift
            many = int(of[-1] - of[0]) + 1
            if many > MOST_BUCKETS:
                break
            if np.all(np.diff(of) > 0):
                buckets = np.cumsum(np.bincount(of - of[0], minlength=many)) - 1
                break
        object.__setattr__(self, "_shift", shift)
        object.__setattr__(self, "_first", int(bits[0] >> shift))
        object.__setattr__(self, "_last_knot", None if buckets is None else buckets.astype(np.intp))

    def __len__(self) -> int:
        return len(self.knots)

    def corners(self, at: Array) -> tuple[Places, Places]:
        """The knots between which values lie: where epsilon is not larger, and where it is not smaller.

        Both are the same at a knot. The last comparison is with the knots themselves.

        Args:
            at: values from the first knot to the last one, of one dimension and contiguous.
        """
        if self._last_knot is None:
            near = np.searchsorted(self.knots, at, side="right") - 1
        else:
            bucket = at.view(np.int64) >> self._shift
            bucket -= self._first
            near = self._last_knot.take(bucket)  # the knot in the bucket or, where there is none, the one before
        knot = self.knots.take(near)
        below, above = near - (knot > at), near + (knot < at)
        return (below, above) if SIGNS[self.name] > 0 else (above, below)

    def without(self, at: Array) -> npt.NDArray[np.bool_]:
        """Which values lie outside the axis; NaN does."""
        inside: npt.NDArray[np.bool_] = (at >= self.knots[0]) & (at <= self.knots[-1])
        return ~inside

    def holds(self, at: Array) -> bool:
        """Whether all values lie on the axis, from the first knot to the last."""
        return bool(at.min() >= self.knots[0] and at.max() <= self.knots[-1])  # neither of NaN

    def steps(self) -> Array:
        """Between which neighbours another knot could lie: the quotient of each two, 1 where none could.

        Between two whole numbers there is no number of rounds.
        """
        quotient = self.knots[1:] / self.knots[:-1]
        return np.where(np.diff(self.knots) <= 1, 1.0, quotient) if self.name == "rounds" else quotient

    def split(self, into: Places) -> Axis:
        """More knots: as many steps as said in place of each one, equal on a logarithmic scale."""
        parts = [
            np.exp(np.linspace(np.log(low), np.log(high), many + 1)[:-1])
            for low, high, many in zip(self.knots[:-1], self.knots[1:], into.tolist(), strict=True)
        ]
        knots = np.concatenate([*parts, self.knots[-1:]])
        if self.name == "rounds":
            knots = np.rint(knots)
        inside = (knots > self.knots[0]) & (knots < self.knots[-1])
        return Axis(self.name, np.union1d(knots[inside], self.knots))


def axis_of(name: str, given: Any) -> Axis:
    """An axis through the numbers that are given: one of them, or several in any order.

    Raises:
        InvalidInputError: no number, or one outside the domain of the axis.
    """
    numbers = np.unique(domains.array(given, name).ravel())
    if not numbers.size:
        raise InvalidInputError(f"{name} must be a number or a sequence of numbers; received an empty one", name)
    for number in numbers[[0, -1]].tolist():  # NaN is last
        DOMAINS[name].check(number, name)
    if name == "rounds" and np.any(numbers != np.floor(numbers)):
        DOMAINS[name].check(float(numbers[numbers != np.floor(numbers)][0]), name)
    return Axis(name, numbers)
