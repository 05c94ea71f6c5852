"""Certified epsilon and log delta by the trapezoid rule on a vertical line through the saddle point.

With ``F(z) = K(z) - eps z - log z - log(1 + z)`` and t > 0, ``delta(eps) = (1 / 2 pi) int e^(F(t + is)) ds``, and by
Poisson summation the trapezoid rule of step ``2 pi / P`` is exactly

    S = (1 / P) sum_j e^(F(t + 2 pi i j / P)) = sum_m e^(t P m) delta(eps + P m) .

The term m = 0 is delta(eps), and the other terms, the aliases, are positive. So S is an upper bound at any step. On the
left (m < 0), delta <= 1; on the right (m > 0), delta has a Chernoff bound at the tilt t + theta. So all aliases
together are at most

    1 / (e^(tP) - 1)  +  e^(K(t+theta) - (t+theta) eps) peak(t+theta) / (e^(theta P) - 1),   peak(t) = t^t /
    (1+t)^(1+t) .

The sum is cut at a height beyond which the terms are provably small (``engines/contour/cut.py``). Each value of K comes
with a bound on its error, which may change a term by ``|e^F| (e^error - 1)``; the sum of these changes widens the
interval.

``engines/contour/path.py`` chooses the place of the contour; ``engines/contour/sweep.py`` computes the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Protocol

import numpy as np

from hockeystick.engines.base import ATTEMPTS, DEFAULT_GAP, ROUGH, TOO_WIDE, WIDER, Section
from hockeystick.engines.contour.path import Aim, BlindError, LongLineError, Path, highest_tilt, upper
from hockeystick.engines.contour.sweep import Terms, solved
from hockeystick.engines.guide import Guide
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.renyi import log_peak
from hockeystick.pairs.transform import Transform
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

GUIDES = 3  # number of guides tried in turn, each with more improbable losses
SHARPNESS = 0.5  # width of a section at its own epsilon, relative to the request, so that nearby epsilons also reach it
CLOSE = 1e-5  # largest tolerance of the search for both ends, so that a contour sharper than requested is used fully
HOPELESS = 0.3  # relative width; if the second contour is wider, no further contour is tried

Rounds = tuple[tuple[DominatingPair, int], ...]


class Way(Protocol):
    """Interface of the classes that lay contours for a composition.

    Attributes:
        gap: width of the interval if the caller requests none.
        wide: reason that is reported if an interval is wider than requested.
    """

    gap: ClassVar[float]
    wide: ClassVar[str]

    def at(self, epsilon: float, gap: float, guide: Guide | None = None) -> Section:
        """Return a contour that bounds log delta to about ``gap`` at an epsilon, and nearly as closely around it.

        Args:
            epsilon: the epsilon for which the contour is laid.
            gap: requested width of log delta.
            guide: approximate cumulants of the composition, accurate enough for this epsilon; ``None`` to compute them.

        Raises:
            NotApplicableError: no contour can be laid.
        """
        ...


class ContourEngine:
    """Engine for certified epsilon and log delta of one direction, computed from its finite losses.

    Args:
        composition: pairs and counts; the caller handles mass at infinite loss.
        way: class that lays the contours: :class:`Plain` for the rounds themselves, the class in
            ``contour/smoothed.py`` for the rounds with a little noise, or the class in ``engines/mirrored.py`` for
            their mirror image.

    Raises:
        NotApplicableError: a pair has no characteristic function, or none that ``way`` can use.
    """

    def __init__(self, composition: Composition, way: Callable[[Composition], Way] | None = None) -> None:
        self._composition, self._way = composition, (way or Plain)(composition)

    def at(self, epsilon: float, gap: float) -> Section:
        """Return the contour from which :meth:`log_delta` is computed; it also bounds log delta at nearby epsilons."""
        return self._way.at(epsilon, gap)

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Return an interval for ``log E (1 - e^(eps - L))_+``.

        Args:
            epsilon: an epsilon below the supremum of the loss L.
            gap: approximate width requested; ``None`` for the default.
        """
        gap = gap or self._way.gap
        found = at(self._way.at(epsilon, gap), epsilon)
        return found if found.upper - found.lower <= gap else replace(found, limited=self._way.wide)

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Return an interval for ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``.

        Args:
            log_delta: ends of an interval that contains the target log delta.
            gap: approximate width requested, relative to epsilon; ``None`` for the default.
        """
        gap, target = gap or self._way.gap, log_delta[0]
        if target == -math.inf:
            raise NotApplicableError("the remaining delta is below the range of a double")
        guide = Guide(self._composition, target - 50.0)
        tilt = guide.tilt_for_delta(target)
        guess, best, reason = max(guide.guess(target, tilt), 0.0), Interval(0.0, math.inf, math.inf), self._way.wide
        for attempt in range(ATTEMPTS):
            if attempt or guess == 0:
                tilt = guide.saddle(guess)
            wanted = tolerance_of(SHARPNESS * gap, guess, tilt)
            try:
                contour = self._way.at(guess, wanted, guide)
            except NotApplicableError as error:
                if attempt:
                    reason = str(error)  # no sharper contour is possible: keep the previous interval
                    break
                contour = self._way.at(guess, max(wanted, ROUGH), guide)
            before, found = best.upper - best.lower, solved(contour.log_delta, log_delta, guess, tilt, min(gap, CLOSE))
            best = best.intersected(found)
            width = best.upper - best.lower
            if width <= gap * best.upper < math.inf or best.upper == 0.0:
                return replace(best, limited=None, engine="contour", tilt=tilt)
            if attempt and not (width <= HOPELESS * best.upper and width < 0.5 * before):
                break
            guess = found.estimate
        return replace(best, limited=reason, engine="contour", tilt=tilt)


class Plain:
    """Lays contours of the rounds themselves, without added noise.

    Args:
        composition: the rounds.
        wider: larger gaps, tried in turn if no contour reaches the requested gap. They are used only for rounds whose
            tilts are limited because only their moments are known: no other engine handles such rounds.

    Raises:
        NotApplicableError: a pair has no characteristic function, or none of them decays.
    """

    gap: ClassVar[float] = DEFAULT_GAP
    wide: ClassVar[str] = TOO_WIDE

    def __init__(self, composition: Composition, wider: tuple[float, ...] = WIDER) -> None:
        self._wider = wider
        self._composition = composition
        self._transforms = transforms_of(composition.rounds)
        self._counts = [count for _, count in self._transforms]

    def at(self, epsilon: float, gap: float, guide: Guide | None = None) -> Terms:
        """Return a contour whose interval of log delta is narrow at an epsilon.

        Raises:
            NotApplicableError: no contour can be laid.
        """
        coarser = [wider for wider in self._wider if wider > gap and highest_tilt(self._transforms) < math.inf]
        for each in (gap, *coarser):
            try:
                return self._at(epsilon, each, guide)
            except NotApplicableError as error:
                refusal = error
        raise refusal

    def _at(self, epsilon: float, gap: float, guide: Guide | None) -> Terms:
        """Return the contour with the narrowest interval among a few contours.

        After each contour there are four cases:

        - *narrow*: the interval is narrow enough, and the search ends;
        - *blind*: the losses from which the guide approximates K do not include those that matter at the tilt, and a
          guide with more improbable losses replaces it;
        - *shallow*: delta is smaller than expected, and the next contour gets smaller remainders;
        - *too coarse*: the next contour gets a smaller tolerance.
        """
        first = guide or Guide.reaching(self._composition, epsilon)[0]
        aim = aim_at(first, first.saddle(epsilon), None, epsilon)

        def seeing() -> Aim:
            return aim_at(*seeing_guide(self._composition, first, self._transforms, epsilon), epsilon)

        def laid(aim: Aim, tolerance: float) -> tuple[Aim, Path]:
            try:
                return aim, Path(self._transforms, aim, tolerance)
            except BlindError:
                deeper = seeing()
                return deeper, Path(self._transforms, deeper, tolerance)

        sharpness, best, narrowest = 0.2, None, (math.inf, math.inf)
        for _ in range(ATTEMPTS):
            try:
                aim, path = laid(aim, sharpness * gap)
            except LongLineError:
                if best is None:
                    raise
                break  # no sharper contour is possible: keep the previous one
            sums = path.terms(self._counts)
            found = at(sums, epsilon)
            wide = found.upper - found.lower, found.upper  # without a lower end, the smaller upper end is better
            if best is None or wide < narrowest:
                best, narrowest = sums, wide
            if found.upper - found.lower <= gap:
                break
            if aim.limit is None:
                aim = seeing()
            if math.isfinite(found.estimate) and found.upper < aim.depth - 0.5:
                aim = aim._replace(depth=found.estimate - 0.1)  # delta was smaller than expected
            else:
                sharpness *= 0.05
        assert best is not None
        return best


def at(section: Section, epsilon: float) -> Interval:
    """Return the certified interval of log delta at one epsilon."""
    return section.log_delta(np.array([epsilon])).first("contour")


def aim_at(guide: Guide, tilt: float, limit: float | None, epsilon: float) -> Aim:
    """Return the aim of a contour for an epsilon.

    Args:
        guide: approximate cumulants of the composition.
        tilt: the saddle point of epsilon or, if the saddle point exceeds the limit, a tilt below the limit.
        limit: largest tilt at which the guide is reliable; ``None`` if unknown.
        epsilon: the epsilon for which the contour is laid.
    """
    chernoff = min(guide.cumulants(tilt).k0 - tilt * epsilon + log_peak(tilt), 0.0)
    return Aim(guide, tilt, limit, epsilon, max(min(chernoff, guide.log_delta(epsilon)), chernoff - 20.0))


def tolerance_of(gap: float, epsilon: float, slope: float) -> float:
    """Return the width of log delta that matches a relative width ``gap`` of epsilon; at epsilon 0, a fixed guess.

    Args:
        gap: width relative to epsilon.
        epsilon: approximate epsilon.
        slope: approximate decrease in log delta per unit of epsilon.
    """
    return min(gap * epsilon * slope, ROUGH) if epsilon > 0 else 1e-4


def transforms_of(rounds: Rounds) -> list[tuple[Transform, int]]:
    """Return the characteristic function and the count of each pair.

    Raises:
        NotApplicableError: a pair has no known characteristic function.
    """
    out = []
    for pair, count in rounds:
        transform = pair.transform
        if transform is None:
            raise NotApplicableError(f"no characteristic function is implemented for {type(pair).__name__}")
        out.append((transform, count))
    return out


def seeing_guide(
    composition: Composition, first: Guide, transforms: list[tuple[Transform, int]], epsilon: float
) -> tuple[Guide, float, float]:
    """Return a guide, a tilt for an epsilon at which this guide is reliable, and the limit of reliable tilts.

    A guide approximates K from finitely many losses. It counts as reliable at a tilt t if its K(t) is close to the
    certified upper bound on K(t). If the first guide is not reliable at the saddle point, guides that include more
    improbable losses are tried. If no guide is reliable at its saddle point, the first guide is returned, with a tilt
    just below the largest tilt at which it is reliable.
    """

    def sees(guide: Guide, tilt: float) -> bool:
        seen = guide.cumulants(tilt).k0
        return upper(transforms, tilt) <= seen + 0.1 + 0.01 * abs(seen)

    guide = first
    for _ in range(GUIDES):
        tilt = guide.saddle(epsilon)
        if sees(guide, tilt):
            return guide, tilt, math.inf
        guide = Guide(composition, 4.0 * guide.log_floor)
    low, high = math.log(first.saddle(epsilon)) - 25.0, math.log(first.saddle(epsilon))
    while high - low > 0.01:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if sees(first, math.exp(middle)) else (low, middle)
    return first, 0.99 * math.exp(low), math.exp(low)
