"""Confidence intervals for delta and epsilon from simulated privacy losses; they are never certain.

Let L be the privacy loss of a whole plan in one direction, drawn under P. Delta is a mean of numbers from 0 to 1,

    delta(eps) = E_P[ max(0, 1 - e^(eps - L)) ],

so the mean m of these numbers over n independent losses estimates it. By Hoeffding 1963 [Hoe63], Theorem 1, a mean
of independent numbers from 0 to 1 with expectation delta is at most ``m < delta`` with probability at most ``exp(-n
KL(m, delta))``, where KL is the divergence of two coins with these probabilities; the complements give the same for ``m
> delta``. With n KL = log(1 / alpha) this gives an upper end and a lower end, each wrong with probability at most
alpha.

**Epsilon.** At a given delta let u be the largest mean whose upper end is delta. The upper end is the smallest epsilon
at which the mean is at most u. If the truth e is larger, then at every epsilon between the two the upper end of delta
is too small. For one fixed epsilon below e this has probability at most alpha, and these events increase to the whole
event as epsilon grows to e, so considering all epsilons loses nothing. The lower end is likewise the largest epsilon at
which the mean is at least l, the smallest mean whose lower end is delta.

**Two directions.** Their samples may depend on one another in any way: each end of each direction gets an equal share
of the allowed error probability, and by the union bound all hold together. The largest lower and the largest upper ends
are those of the plan.

Means are sums of n rounded numbers, widened by :data:`RELATIVE_SLACK`. The caller must ensure that the samples are
independent, under P, and of the right plan, so no answer here is called certified.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.roots import root
from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.outward import Shows
from hockeystick.values.refused import refusal

Array = npt.NDArray[np.float64]

RELATIVE_SLACK = 1e-9
"""Relative slack of a mean, far above ``2^-52 log2(n)`` and the few roundings of n doubles added in pairs."""

PRECISION = 1e-12
"""Relative accuracy of the epsilon at which a mean crosses a threshold; the end taken lies beyond it."""

MIN_PROBABILITY = 1e-300  # smallest probability considered, by which any mean can be divided

CONFIDENCE = domains.Domain(
    "a number between 0 and 1",
    {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "probability with which all ends hold together",
)

MAX_EXCESS_LOSS = 1e3
"""Losses this far beyond epsilon count as infinite: ``1 - e^-1000`` is 1."""


@dataclass(frozen=True, slots=True)
class ConfidenceInterval(Shows):
    """Interval that contains the truth with a stated probability over the samples; neither end is certified.

    ``float()`` refuses it, like an estimate: a number that may be wrong by chance is quoted with its confidence.

    Attributes:
        lower: lower end.
        estimate: value of the samples, between the two ends.
        upper: upper end; ``inf`` for too few samples, as ``reason`` explains.
        confidence: least probability with which both ends hold; each alone is wrong with half the rest.
        samples: number of losses in the direction with fewest.
        reason: reason for an infinite end; ``None`` otherwise.
        accountant: ``"monte-carlo"``.
    """

    lower: float
    estimate: float
    upper: float
    confidence: float
    samples: int
    reason: str | None = field(default=None, compare=False)
    accountant: str = field(default="monte-carlo", init=False, compare=False)
    direction: str | None = field(default=None, init=False, compare=False)
    assumptions: tuple[str, ...] = field(
        default=("the losses are independent samples of the whole plan's privacy loss, drawn under its first law",),
        init=False,
        compare=False,
        repr=False,
    )
    warnings: tuple[str, ...] = field(default=(), init=False, compare=False)

    @property
    def guarantee(self) -> str:
        """Confidence in words; never "certified"."""
        return f"with confidence {self.confidence:g}"

    @property
    def quoted(self) -> float:
        """Number to quote with its confidence: the upper end."""
        return self.upper

    @property
    def ends(self) -> Mapping[str, float]:
        """Numbers by name: lower, estimate, upper."""
        return {"lower": self.lower, "estimate": self.estimate, "upper": self.upper}

    def _instead(self) -> str:
        return (
            "an interval by samples is wrong with some probability, and no number: take .upper, and say its .confidence"
        )

    if not TYPE_CHECKING:  # type checkers refuse it by themselves
        __float__ = refusal("float()")


class SampledLoss:
    """Simulated privacy losses of a plan, in one or several directions.

    Args:
        losses: array of finite or infinite losses for each direction, of any lengths.

    Raises:
        InvalidInputError: there is no direction, or an array is empty or has an item that is no number.

    Gaussian noise with mu = 1 has normal losses, with mean 1/2 and variance 1, in both directions:

    >>> loss = SampledLoss(np.random.default_rng(1).normal(0.5, 1.0, 1_000_000))
    >>> print(loss.epsilon(1e-3))  # the truth is 3.1387
    3.10555 to 3.17072 (with confidence 0.99)
    >>> print(loss.epsilon(1e-7).reason)
    fewer than 52,983,172 samples say nothing of so small a delta at that confidence, whatever they are
    """

    def __init__(self, *losses: npt.ArrayLike) -> None:
        if not losses:
            raise InvalidInputError("losses must be an array for each direction; received none", "losses")
        self._losses = tuple(np.sort(_checked(given)) for given in losses)

    def __repr__(self) -> str:
        return f"SampledLoss({', '.join(f'<{len(losses):,} losses>' for losses in self._losses)})"

    def delta(self, epsilon: float, *, confidence: float = 0.99) -> ConfidenceInterval:
        """Return delta at an epsilon.

        Args:
            epsilon: epsilon, 0 or greater.
            confidence: probability with which both ends hold.

        Raises:
            InvalidInputError: an argument is outside its domain.
        """
        epsilon, confidence = domains.EPSILON.check(epsilon, "epsilon"), CONFIDENCE.check(confidence, "confidence")
        ends = []
        for losses in self._losses:
            mean, divergence = _mean(losses, epsilon), self._log_odds(confidence) / len(losses)
            lower, upper = (
                _lower(mean * (1 - RELATIVE_SLACK), divergence),
                _upper(min(mean * (1 + RELATIVE_SLACK), 1.0), divergence),
            )
            ends.append((lower, mean, upper))
        return self._interval(ends, confidence)

    def epsilon(self, delta: float, *, confidence: float = 0.99) -> ConfidenceInterval:
        """Return epsilon at a delta.

        Args:
            delta: delta, greater than 0 and below 1.
            confidence: probability with which both ends hold.

        Raises:
            InvalidInputError: an argument is outside its domain.
        """
        delta, confidence = DELTA.check(delta, "delta"), CONFIDENCE.check(confidence, "confidence")
        ends = []
        for losses in self._losses:
            divergence = self._log_odds(confidence) / len(losses)
            most, least = _least_safe(delta, divergence), _most_safe(delta, divergence)
            ends.append(
                (
                    0.0 if least is None else _crossing(losses, least / (1 - RELATIVE_SLACK), above=False),
                    _crossing(losses, delta, above=True),
                    math.inf if most is None else _crossing(losses, most / (1 + RELATIVE_SLACK), above=True),
                )
            )
        needed = math.ceil(self._log_odds(confidence) / -math.log1p(-delta))
        few = min(map(len, self._losses)) < needed
        return self._interval(
            ends,
            confidence,
            f"fewer than {needed:,} samples say nothing of so small a delta at that confidence, whatever they are"
            if few
            else "infinite or extreme losses have more than delta of the samples, within what chance allows",
        )

    def _log_odds(self, confidence: float) -> float:
        """``log(1 / alpha)`` of each end of each direction."""
        return math.log(2 * len(self._losses) / (1 - confidence)) * (1 + 1e-15)

    def _interval(
        self, ends: list[tuple[float, float, float]], confidence: float, infinite: str | None = None
    ) -> ConfidenceInterval:
        lower, estimate, upper = (max(column) for column in zip(*ends, strict=True))
        return ConfidenceInterval(
            lower,
            estimate,
            upper,
            confidence,
            min(map(len, self._losses)),
            infinite if math.isinf(upper) else None,
        )


DELTA = domains.Domain("a number between 0 and 1", {"exclusiveMinimum": 0, "exclusiveMaximum": 1}, "delta")


def _checked(given: npt.ArrayLike) -> Array:
    try:
        losses = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # not numbers, not an array, or beyond the range of a double
        losses = np.empty((0, 0))
    if losses.ndim != 1 or not len(losses) or np.isnan(losses).any():
        raise InvalidInputError(
            f"losses must be an array of one dimension, of one number or more, none of them NaN; "
            f"received {domains.shown(given)}",
            "losses",
        )
    return losses


def _mean(losses: Array, epsilon: float) -> float:
    """The mean of ``max(0, 1 - e^(epsilon - L))`` of sorted losses."""
    beyond = losses[np.searchsorted(losses, epsilon, side="right") :]
    return float(-np.expm1(np.maximum(epsilon - beyond, -MAX_EXCESS_LOSS)).sum()) / len(losses)


def _divergence(mean: float, chance: float) -> float:
    """KL of a coin with probability ``mean`` from one with ``chance``, which is between 0 and 1; rounded down."""
    parts = _part(mean, chance, chance - mean), _part(1 - mean, 1 - chance, mean - chance)
    return sum(parts) - 1e-15 * sum(map(abs, parts))


def _part(share: float, other: float, difference: float) -> float:
    """``share * log(share / other)``, with ``difference`` equal to ``other - share``; 0 for a share of 0."""
    if share == 0:
        return 0.0
    near = other > 0.5 * share
    return -share * math.log1p(difference / share) if near else share * math.log(share / other)


def _upper(mean: float, divergence: float) -> float:
    """Upper bound on the expectation: the larger probability at which the coins diverge this much, or 1."""
    last = 1 - 2.0**-53
    if mean >= last or _divergence(mean, last) <= divergence:
        return 1.0
    near = root(
        lambda chance: _divergence(mean, chance) - divergence, mean or MIN_PROBABILITY, last, xtol=1e-300, rtol=1e-13
    )
    return min(near * (1 + 1e-12), 1.0)


def _lower(mean: float, divergence: float) -> float:
    """Lower bound on the expectation: the smaller probability at which the coins diverge this much, or 0."""
    first = MIN_PROBABILITY
    if mean <= first or _divergence(mean, first) <= divergence:
        return 0.0
    near = root(lambda chance: _divergence(mean, chance) - divergence, first, mean, xtol=1e-300, rtol=1e-13)
    return near * (1 - 1e-12)


def _least_safe(delta: float, divergence: float) -> float | None:
    """The largest mean below delta that diverges from it this much; ``None`` if not even 0 does."""
    if _divergence(0.0, delta) < divergence:
        return None
    near = root(lambda mean: _divergence(mean, delta) - divergence, 0.0, delta, xtol=1e-300, rtol=1e-13)
    return near * (1 - 1e-12)


def _most_safe(delta: float, divergence: float) -> float | None:
    """The smallest mean above delta that diverges from it this much; ``None`` if not even 1 does."""
    if _divergence(1.0, delta) < divergence:
        return None
    near = root(lambda mean: _divergence(mean, delta) - divergence, delta, 1.0, xtol=1e-300, rtol=1e-13)
    return min(near * (1 + 1e-12), 1.0)


def _crossing(losses: Array, threshold: float, above: bool) -> float:
    """The epsilon at which the decreasing mean crosses a threshold, rounded up (``above``) or down.

    Returns:
        ``inf`` if infinite losses alone exceed the threshold; 0 if the mean at 0 does not.
    """
    if _mean(losses, 0.0) <= threshold:
        return 0.0
    if float(np.isposinf(losses).sum()) / len(losses) > threshold:
        return math.inf
    finite = losses[np.isfinite(losses)]
    low, high = 0.0, float(finite[-1])  # beyond the largest finite loss only infinite ones contribute
    while high - low > PRECISION * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _mean(losses, middle) > threshold else (low, middle)
    return high if above else low
