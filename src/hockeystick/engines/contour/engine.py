"""Certified epsilon and log delta by the trapezoid rule on a vertical line through the saddle point.

With ``F(z) = K(z) - eps z - log z - log(1 + z)`` and t > 0, ``delta(eps) = (1 / 2 pi) int e^(F(t + is)) ds``, and by
Poisson summation the trapezoid rule of step ``2 pi / P`` is exactly

    S = (1 / P) sum_j e^(F(t + 2 pi i j / P)) = sum_m e^(t P m) delta(eps + P m) .

Every alias is positive, so S is an upper bound at any step. As delta <= 1 to the left, and by a Chernoff bound at the
tilt t + theta to the right, the excess is at most

    1 / (e^(tP) - 1)  +  e^(K(t+theta) - (t+theta) eps) peak(t+theta) / (e^(theta P) - 1),   peak(t) = t^t /
    (1+t)^(1+t) .

The sum is cut where the remainder is provably small (``engines/contour/cut.py``). Each value of K comes with a
bound on its error, which enters the sum as ``|e^F| (e^error - 1)``.

``engines/contour/path.py`` chooses the place of the contour; ``engines/contour/sweep.py`` computes the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from hockeystick.engines.base import COARSE, DEFAULT_GAP, TOO_WIDE, WIDER
from hockeystick.engines.contour.bundling import bundled
from hockeystick.engines.contour.cut import SPARE
from hockeystick.engines.contour.path import (
    MAX_POINTS,
    Aim,
    BlindError,
    LongLineError,
    Path,
    highest_tilt,
    upper,
)
from hockeystick.engines.contour.sweep import Terms, solved
from hockeystick.engines.guide import Guide
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.renyi import log_peak
from hockeystick.pairs.transform import Transform
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

LONG = 20_000  # points above which a sum is not repeated if its interval stays wide
ROUGH = 0.01  # remainders of a quick bound, relative to delta
SHORT, COARSE_POINTS = (
    3000,
    50_000,
)  # points of a sum at a guessed place; points of a coarse sum if other engines follow
GUIDES = 3  # guides tried in turn, each with deeper nodes
HOPELESS = 0.3  # relative width; wider than this at a second attempt, rounding dominates
ATTEMPTS = 4  # attempts at a contour that reaches the gap
SHARPNESS = 0.1  # largest size of each remainder at first, relative to the gap
MOST_ONE_BY_ONE = 1000  # most kinds tried one by one if their bundle has no answer: they take a second

Rounds = tuple[tuple[DominatingPair, int], ...]


class ContourEngine:
    """Certified epsilon and log delta of one direction with finite losses.

    Args:
        composition: pairs and counts; the caller handles mass at infinite loss.
        bundling: whether many different sampled Gaussian rounds are treated as one factor (``contour/bundle.py``).
        longest: largest number of points of the contour behind :meth:`log_delta`.

    Raises:
        NotApplicableError: a pair has no characteristic function, or none of them decays.
    """

    def __init__(self, composition: Composition, bundling: bool = True, longest: int = MAX_POINTS) -> None:
        self._longest = longest
        self.composition = self._steering = composition
        self._bundled = bundled(composition) if bundling else None
        if self._bundled is None:
            self._transforms = transforms_of(composition.rounds)
        else:
            self._transforms, self._steering = self._bundled.transforms, self._bundled.steering()
        self._counts = [count for _, count in self._transforms]

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Interval for ``log E (1 - e^(eps - L))_+`` at an epsilon below the supremum, of width at most about gap.

        If there is no contour and a coarse interval suffices: the Chernoff bound ``K(t) - t eps + log peak(t)``.
        """
        gap = gap or DEFAULT_GAP
        return self._narrower(lambda engine: engine._log_delta(epsilon, gap), gap)

    def _log_delta(self, epsilon: float, gap: float) -> Interval:
        try:
            return self._coarser(lambda gap: self._at(epsilon, gap)[0], gap)
        except NotApplicableError as error:
            if gap < COARSE:
                raise
            tilt = Guide.reaching(self._steering, epsilon)[1]
            bound = min(upper(self._transforms, tilt) - tilt * epsilon + log_peak(tilt), 0.0)
            if not math.isfinite(bound):
                raise
            slip = SPARE * (1 + abs(tilt * epsilon))
            return Interval(
                -math.inf, bound, min(bound + slip, 0.0), f"only a Chernoff bound applies: {error}", "contour"
            )

    def at(self, epsilon: float, gap: float) -> tuple[Interval, Terms]:
        """Return an interval for log delta at an epsilon, and its contour, which also applies to nearby epsilons.

        After each contour the search is in one of four states: *narrow*, which ends it; *blind*, the nodes of the guide
        did not reach as far as the tilt, and a deeper guide replaces it; *shallow*, delta was smaller than expected,
        and the next contour leaves out less; *too coarse*, and the next one is sharper.

        Raises:
            NotApplicableError: there is no contour.
        """
        try:
            return self._at(epsilon, gap)
        except NotApplicableError:
            one_by_one = self._one_by_one
            if one_by_one is None:
                raise
            return one_by_one._at(epsilon, gap)

    def _at(self, epsilon: float, gap: float) -> tuple[Interval, Terms]:
        guide, tilt, depth = Guide.reaching(self._steering, epsilon)
        aim = aim_at(guide, tilt, None, epsilon)

        def seeing() -> Aim:
            floor = min(depth, -50.0)
            return aim_at(
                *seeing_guide(self._steering, guide, floor, self._transforms, lambda it: it.saddle(epsilon)), epsilon
            )

        def laid(aim: Aim, tolerance: float) -> tuple[Aim, Path]:
            try:
                return aim, Path(self._transforms, aim, tolerance, self._longest)
            except BlindError:
                deeper = seeing()
                return deeper, Path(self._transforms, deeper, tolerance, self._longest)

        sharpness, best, terms, reason = 0.2, None, None, TOO_WIDE
        for _ in range(ATTEMPTS):
            try:
                aim, path = laid(aim, sharpness * gap)
            except LongLineError as error:
                if best is None:
                    raise
                reason = str(error)  # a sharper contour is out of reach: keep the last one
                break
            sums = path.terms(self._counts)
            found = sums.at(epsilon)
            if best is None or found.upper - found.lower < best.upper - best.lower:
                best, terms = found, sums
            if found.upper - found.lower <= gap:
                break
            if aim.limit is None:
                aim = seeing()
            if math.isfinite(found.estimate) and found.upper < aim.depth - 0.5:
                aim = aim._replace(depth=found.estimate - 0.1)  # delta was smaller than expected
            else:
                sharpness *= 0.05
        assert best is not None
        assert terms is not None
        return _labelled(best, best.upper - best.lower <= gap, aim.saddle, reason), terms

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Interval for ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``, of relative width about gap.

        If there is no contour and a coarse interval suffices: the epsilon of the Chernoff bound.
        """
        gap = gap or DEFAULT_GAP
        return self._narrower(lambda engine: engine._epsilon_or_bound(log_delta, gap), gap)

    def _narrower(self, ask: Callable[[ContourEngine], Interval], gap: float) -> Interval:
        """Return the answer; if a bundle of few kinds misses the gap, try the kinds one by one and keep the narrower.

        The rounding of a single kind is charged more precisely, and its bounds decay faster.
        """
        try:
            found = ask(self)
        except NotApplicableError:
            one_by_one = self._one_by_one
            if one_by_one is None:
                raise
            return ask(one_by_one)
        if found.limited is None or gap >= COARSE:
            return found
        one_by_one = self._one_by_one
        if one_by_one is None:
            return found
        try:
            other = ask(one_by_one)
        except NotApplicableError:
            return found
        return other if other.limited is None else found if _width(found) <= _width(other) else other

    @property
    def _one_by_one(self) -> ContourEngine | None:
        """Return the engine without a bundle; ``None`` if that is this one, or its kinds are too many."""
        if self._bundled is None or len(self.composition.rounds) > MOST_ONE_BY_ONE:
            return None
        return ContourEngine(self.composition, bundling=False, longest=self._longest)

    def _epsilon_or_bound(self, log_delta: tuple[float, float], gap: float) -> Interval:
        try:
            return self._coarser(lambda gap: self._epsilon(log_delta, gap), gap)
        except NotApplicableError as error:
            if gap < COARSE:
                raise
            tilt = _placed_at(log_delta[0])(Guide(self._steering, log_delta[0] - 50.0))
            bound = max((upper(self._transforms, tilt) - log_delta[0] + log_peak(tilt)) / tilt, 0.0)
            if not math.isfinite(bound):
                raise
            slip = SPARE * (bound + abs(log_delta[0]) / tilt)
            return Interval(0.0, bound, bound + slip, f"only a Chernoff bound applies: {error}", "contour")

    def _coarser(self, ask: Callable[[float], Interval], gap: float) -> Interval:
        """Return the answer at this gap or, if there is no contour, at the first wider gap that has one.

        Used only where no other engine has an interval: rounds known by moments alone, at limited tilts.
        """
        try:
            return ask(gap)
        except NotApplicableError as error:
            if highest_tilt(self._transforms) == math.inf:
                raise
            for wider in WIDER:
                if wider > gap:
                    try:
                        return _labelled_too_wide(ask(wider), str(error))
                    except NotApplicableError:
                        continue
            raise

    @property
    def _left_to_others(self) -> bool:
        """True if smoothing handles the rounds: there is only one kind, with atoms, or no kind has a smooth part."""
        rounds = self.composition.rounds
        try:
            one = len(rounds) == 1 and len(rounds[0][0].atoms.loss) > 0
            return one or all(pair.smooth is None for pair, _ in rounds)
        except NotApplicableError:
            return False  # a pair known by its moments only

    def _epsilon(self, log_delta: tuple[float, float], gap: float) -> Interval:
        target = log_delta[0]
        if target == -math.inf:
            raise NotApplicableError("the remaining delta is below the range of a double")
        longest = COARSE_POINTS if self._left_to_others else MAX_POINTS
        path, tilt, guess, coarse = first_path_of(self._steering, self._transforms, target, gap, longest)
        aim, sharpness, best, astray, reason = None, SHARPNESS, None, False, TOO_WIDE
        for attempt in range(ATTEMPTS):
            if attempt:
                if aim is None:
                    aim = aim_of(self._steering, self._transforms, target)
                    guess = aim.epsilon if astray else guess
                tilt = min(aim.guide.saddle(guess), 0.99 * (aim.limit or math.inf))
                aim = aim._replace(saddle=tilt, epsilon=guess)
                try:
                    path = Path(self._transforms, aim, tolerance_of(sharpness * gap, aim.epsilon, tilt))
                except NotApplicableError as error:
                    if self._left_to_others and not isinstance(error, LongLineError):
                        raise  # the engines after it are sharper than a coarse contour
                    reason = str(error)  # a sharper contour is out of reach: keep the last one
                    break
            found = solved(path.terms(self._counts).log_delta, log_delta, guess, tilt, gap)
            root = found.estimate
            best = found if best is None or found.upper - found.lower < best.upper - best.lower else best
            if found.upper - found.lower <= gap * found.upper or found.upper == 0.0:
                break
            placed = abs(root - guess) * tilt < 0.3  # the contour was at the right place
            wide = not found.upper - found.lower <= HOPELESS * found.upper
            if attempt and wide and (len(path.s) > LONG or placed):
                break
            astray = wide
            if coarse and not attempt:
                sharpness = 0.3
            elif placed:
                sharpness *= 0.05
            guess = root
        assert best is not None
        return _labelled(best, best.upper - best.lower <= gap * best.upper < math.inf, tilt, reason)


class FirstPath(NamedTuple):
    """A path laid for a guessed epsilon; coarse where a fine one would be long, in order to locate epsilon."""

    path: Path
    tilt: float
    guess: float
    coarse: bool


def first_path_of(
    composition: Composition,
    transforms: list[tuple[Transform, int]],
    target: float,
    gap: float,
    longest: int = MAX_POINTS,
) -> FirstPath:
    """Return the first path for transforms, steered by a composition; a coarse one has at most ``longest`` points."""
    guide = Guide(composition, target - 50.0)
    tilt = _placed_at(target)(guide)
    aim = Aim(guide, tilt, None, guide.guess(target, tilt), target)
    try:
        return _first_path_at(aim, transforms, gap, longest)
    except BlindError:
        return _first_path_at(aim_of(composition, transforms, target), transforms, gap, longest)


def _first_path_at(aim: Aim, transforms: list[tuple[Transform, int]], gap: float, longest: int) -> FirstPath:
    tolerance = tolerance_of(SHARPNESS * gap, aim.epsilon, aim.saddle)
    try:
        return FirstPath(Path(transforms, aim, tolerance, SHORT), aim.saddle, aim.epsilon, False)
    except BlindError:
        raise
    except NotApplicableError:
        return FirstPath(Path(transforms, aim, max(tolerance, ROUGH), longest), aim.saddle, aim.epsilon, True)


def aim_of(composition: Composition, transforms: list[tuple[Transform, int]], target: float) -> Aim:
    """Return the aim at the epsilon >= 0 where log delta is about the target."""
    floor = target - 50.0
    guide, tilt, limit = seeing_guide(composition, Guide(composition, floor), floor, transforms, _placed_at(target))
    return Aim(guide, tilt, limit, guide.guess(target, tilt), target)


def aim_at(guide: Guide, tilt: float, limit: float | None, epsilon: float) -> Aim:
    """Return the aim at an epsilon whose saddle point is the tilt, or lies beyond the limit."""
    chernoff = min(guide.cumulants(tilt).k0 - tilt * epsilon + log_peak(tilt), 0.0)
    return Aim(guide, tilt, limit, epsilon, max(min(chernoff, guide.log_delta(epsilon)), chernoff - 20.0))


def tolerance_of(gap: float, epsilon: float, slope: float) -> float:
    """Return the width of log delta that a relative gap of epsilon allows, by the slope; at epsilon 0, a guess."""
    return min(gap * epsilon * slope, 1e-2) if epsilon > 0 else 1e-4


def transforms_of(rounds: Rounds) -> list[tuple[Transform, int]]:
    """Return the characteristic functions of pairs, and their counts.

    Raises:
        NotApplicableError: one of them is not known.
    """
    out = []
    for pair, count in rounds:
        transform = pair.transform
        if transform is None:
            raise NotApplicableError(f"no characteristic function is implemented for {type(pair).__name__}")
        out.append((transform, count))
    return out


def seeing_guide(
    composition: Composition,
    guide: Guide,
    floor: float,
    transforms: list[tuple[Transform, int]],
    place: Callable[[Guide], float],
) -> tuple[Guide, float, float]:
    """Return a guide whose nodes cover the law at the tilt, the tilt, and the limit up to which the guide is reliable.

    K(t) is compared with the certified bound. If deeper nodes do not help, because a hump in the tail takes over within
    a small step of t, the tilt stays below that step.
    """

    def sees(guide: Guide, tilt: float) -> bool:
        seen = guide.cumulants(tilt).k0
        return upper(transforms, tilt) <= seen + 0.1 + 0.01 * abs(seen)

    first = guide
    for _ in range(GUIDES):
        tilt = place(guide)
        if sees(guide, tilt):
            return guide, tilt, math.inf
        floor *= 4.0
        guide = Guide(composition, floor)
    low, high = math.log(place(first)) - 25.0, math.log(place(first))
    while high - low > 0.01:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if sees(first, math.exp(middle)) else (low, middle)
    return first, 0.99 * math.exp(low), math.exp(low)


def _width(found: Interval) -> float:
    return math.inf if math.isinf(found.upper) else found.upper - found.lower


def _labelled(found: Interval, narrow: bool, tilt: float, reason: str) -> Interval:
    return Interval(found.lower, found.estimate, found.upper, None if narrow else reason, "contour", tilt)


def _labelled_too_wide(found: Interval, reason: str) -> Interval:
    return replace(found, limited=found.limited or reason)


def _placed_at(log_delta: float) -> Callable[[Guide], float]:
    """Return a function from a guide to the saddle point of the epsilon >= 0 at which log delta takes a value."""

    def place(guide: Guide) -> float:
        tilt = guide.tilt_for_delta(log_delta)
        return tilt if guide.epsilon(tilt) > 0 else guide.saddle(0.0)

    return place
