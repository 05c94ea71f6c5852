"""Samples of a privacy loss: what simulated runs say of delta and epsilon, with a confidence and never for certain.

Let L be the privacy loss of a whole plan in one direction, drawn under P. Its delta is a mean of numbers from 0 to 1,

    delta(eps) = E_P[ max(0, 1 - e^(eps - L)) ],

so that of n independent losses the mean m of these numbers estimates it. By Hoeffding 1963 [Hoe63], Theorem 1, a mean
of independent numbers from 0 to 1 with expectation delta is at most ``m < delta`` with probability at most ``exp(-n
KL(m, delta))``, where KL is the divergence of two coins of these chances; numbers taken from 1 give the same for ``m >
delta``. With n KL = log(1 / alpha) that is an upper end, and a lower one, each wrong with probability at most alpha.

**Epsilon.** At a given delta let u be the largest mean whose upper end is delta. The upper end is the least epsilon at
which the mean is at most u. Is the truth e larger, then at every epsilon between the two the upper end of delta is too
small. For one fixed epsilon below e that has probability at most alpha, and these events grow to the whole as epsilon
grows to e: nothing is lost by looking at all epsilons. The lower end is likewise the largest epsilon at which the mean
is at least l, the least mean whose lower end is delta.

**Two directions.** Their samples may depend on one another in any way: each end of each direction has an equal share
of what is left of the confidence, and by the union bound all hold together. The largest lower and the largest upper
ends are those of the plan.

Means are sums of n rounded numbers, widened by :data:`SPARE`. What the samples themselves are (independent, of the plan
that is meant, under P) is for whoever simulates to see to, and no answer here is called certified.
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

SPARE = 1e-9
"""Relative: a sum of n doubles from 0 to 1, in pairs, is off by ``2^-52 log2(n)`` of itself, each by a few of these."""

PRECISION = 1e-12
"""Relative, of the epsilon at which a mean crosses a threshold; the end that is taken is beyond it."""

LEAST = 1e-300  # the chance beside which roots are looked for: by it any mean can be divided

CONFIDENCE = domains.Domain(
    "a number between 0 and 1",
    {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "probability with which all ends hold together",
)
"""Domain of the confidence."""

FAR = 1e3
"""Losses beyond the epsilon that is asked about by so much, or more, count as infinite: ``1 - e^-1000`` is 1."""


@dataclass(frozen=True, slots=True)
class ConfidenceInterval(Shows):
    """Two ends between which the truth lies with a stated probability over the samples; neither is certified.

    ``float()`` refuses it, as of an estimate: a number that may be wrong by chance is quoted with its confidence.

    Attributes:
        lower: the lower end.
        estimate: the value of the samples themselves, between the two ends.
        upper: the upper end; ``inf`` where the samples are too few, as ``reason`` says.
        confidence: probability with which both ends hold, at least; each by itself is wrong with half the rest.
        samples: the number of losses, of the direction that has fewest.
        reason: why an end is infinite; ``None`` otherwise.
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
        """The probability, in words: never "certified"."""
        return f"with confidence {self.confidence:g}"

    @property
    def quoted(self) -> float:
        """The number to quote, with its confidence: the upper end."""
        return self.upper

    @property
    def ends(self) -> Mapping[str, float]:
        """The numbers by name: lower, estimate, upper."""
        return {"lower": self.lower, "estimate": self.estimate, "upper": self.upper}

    def _instead(self) -> str:
        return (
            "an interval by samples is wrong with some probability, and no number: take .upper, and say its .confidence"
        )

    if not TYPE_CHECKING:  # readers of types refuse it by themselves
        __float__ = refusal("float()")


class SampledLoss:
    """Simulated privacy losses of a plan, in one direction or in several.

    Args:
        losses: one array of finite or infinite losses for each direction, of any lengths.

    Raises:
        InvalidInputError: no direction, an empty array, or one with something that is no number.

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
        """Delta at an epsilon.

        Args:
            epsilon: 0 or greater.
            confidence: probability with which both ends hold.

        Raises:
            InvalidInputError: an argument outside its domain.
        """
        epsilon, confidence = domains.EPSILON.check(epsilon, "epsilon"), CONFIDENCE.check(confidence, "confidence")
        ends = []
        for losses in self._losses:
            mean, divergence = _mean(losses, epsilon), self._log_odds(confidence) / len(losses)
            lower, upper = _lower(mean * (1 - SPARE), divergence), _upper(min(mean * (1 + SPARE), 1.0), divergence)
            ends.append((lower, mean, upper))
        return self._interval(ends, confidence)

    def epsilon(self, delta: float, *, confidence: float = 0.99) -> ConfidenceInterval:
        """Epsilon at a delta.

        Args:
            delta: greater than 0, and below 1.
            confidence: probability with which both ends hold.

        Raises:
            InvalidInputError: an argument outside its domain.
        """
        delta, confidence = DELTA.check(delta, "delta"), CONFIDENCE.check(confidence, "confidence")
        ends = []
        for losses in self._losses:
            divergence = self._log_odds(confidence) / len(losses)
            most, least = _least_safe(delta, divergence), _most_safe(delta, divergence)
            ends.append(
                (
                    0.0 if least is None else _crossing(losses, least / (1 - SPARE), above=False),
                    _crossing(losses, delta, above=True),
                    math.inf if most is None else _crossing(losses, most / (1 + SPARE), above=True),
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
"""Domain of the deltas of which samples can say something."""


def _checked(given: npt.ArrayLike) -> Array:
    try:
        losses = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # no numbers, no array, or beyond the range of a double
        losses = np.empty((0, 0))
    if losses.ndim != 1 or not len(losses) or np.isnan(losses).any():
        raise InvalidInputError(
            f"losses must be an array of one dimension, of one number or more, none of them NaN; "
            f"received {domains.shown(given)}",
            "losses",
        )
    return losses


def _mean(losses: Array, epsilon: float) -> float:
    """The mean of ``max(0, 1 - e^(epsilon - L))``, of sorted losses."""
    beyond = losses[np.searchsorted(losses, epsilon, side="right") :]
    return float(-np.expm1(np.maximum(epsilon - beyond, -FAR)).sum()) / len(losses)


def _divergence(mean: float, chance: float) -> float:
    """KL of a coin of chance ``mean`` from one of ``chance``, which is between 0 and 1; rounded down."""
    parts = _part(mean, chance, chance - mean), _part(1 - mean, 1 - chance, mean - chance)
    return sum(parts) - 1e-15 * sum(map(abs, parts))


def _part(share: float, other: float, difference: float) -> float:
    """``share * log(share / other)``, where ``difference`` is ``other - share``; 0 where the share is 0."""
    if share == 0:
        return 0.0
    near = other > 0.5 * share
    return -share * math.log1p(difference / share) if near else share * math.log(share / other)


def _upper(mean: float, divergence: float) -> float:
    """A number that the expectation does not exceed: the chance at which the coins diverge by so much, or 1."""
    last = 1 - 2.0**-53
    if mean >= last or _divergence(mean, last) <= divergence:
        return 1.0
    near = root(lambda chance: _divergence(mean, chance) - divergence, mean or LEAST, last, xtol=1e-300, rtol=1e-13)
    return min(near * (1 + 1e-12), 1.0)


def _lower(mean: float, divergence: float) -> float:
    """A number that the expectation is not below: the lesser chance where the coins diverge by so much, or 0."""
    first = LEAST
    if mean <= first or _divergence(mean, first) <= divergence:
        return 0.0
    near = root(lambda chance: _divergence(mean, chance) - divergence, first, mean, xtol=1e-300, rtol=1e-13)
    return near * (1 - 1e-12)


def _least_safe(delta: float, divergence: float) -> float | None:
    """The largest mean below delta that diverges from it by so much; ``None`` where not even 0 does."""
    if _divergence(0.0, delta) < divergence:
        return None
    near = root(lambda mean: _divergence(mean, delta) - divergence, 0.0, delta, xtol=1e-300, rtol=1e-13)
    return near * (1 - 1e-12)


def _most_safe(delta: float, divergence: float) -> float | None:
    """The least mean above delta that diverges from it by so much; ``None`` where not even 1 does."""
    if _divergence(1.0, delta) < divergence:
        return None
    near = root(lambda mean: _divergence(mean, delta) - divergence, delta, 1.0, xtol=1e-300, rtol=1e-13)
    return min(near * (1 + 1e-12), 1.0)


def _crossing(losses: Array, threshold: float, above: bool) -> float:
    """Where the mean, which falls with epsilon, crosses a threshold: at or above that epsilon, or at or below it.

    Returns:
        ``inf`` where infinite losses alone are more than the threshold; 0 where the mean at 0 is not.
    """
    if _mean(losses, 0.0) <= threshold:
        return 0.0
    if float(np.isposinf(losses).sum()) / len(losses) > threshold:
        return math.inf
    finite = losses[np.isfinite(losses)]
    low, high = 0.0, float(finite[-1])  # from the largest finite loss on the mean is that of the infinite ones
    while high - low > PRECISION * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _mean(losses, middle) > threshold else (low, middle)
    return high if above else low
