"""How delta moves with epsilon and with a parameter of the rounds: the contour's own sum, with one more factor.

With ``F(z) = K(z; x) - eps z - log z - log(1 + z)`` and ``delta = (1 / 2 pi) int e^(F(t + is)) ds``,

    d delta / d eps = -(1 / 2 pi) int z e^F ds,      d delta / dx = (1 / 2 pi) int (dK / dx) e^F ds,

and at a fixed delta ``d eps / dx = -(d delta / dx) / (d delta / d eps)``. All three are sums over the same points. By
Poisson summation each sum is the derivative plus that of the aliases ``e^(tPm) delta(eps + P m)``.

**dK / dx.** K of n rounds is n times that of one, so that by the number of rounds the derivative is K of one round. By
any other parameter it is the difference over five points of ``log x``,

    (8 (K_1 - K_-1) - (K_2 - K_-2)) / (12 h) = dK / d log x + h^4 / 30 d^5 K / (d log x)^5 + ... ,

of one round of each kind, on the line of the contour. With K about ``e^(a log x)`` the last term is ``(ah)^4 / 30`` of
the first, and roundings of K are ``u / (ah)`` of it: at :data:`BEND` for ``ah`` both are below 1e-12.

Nothing here is certified: the remainders of the differences are not bounded, nor are those of the sums. What comes out
is an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.engines.contour.contour import Contour
from hockeystick.engines.contour.engine import aim_at, seeing_guide, transforms_of
from hockeystick.engines.contour.path import CALLS, EVALUATION, MAX_POINTS, Aim, BlindError, Path
from hockeystick.engines.guide import Guide
from hockeystick.numerics.work import charge
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]
Rounds = list[tuple[DominatingPair, int]]

TOLERANCE = 1e-10  # relative: what each remainder of the sum may be
INNER = 1e-14  # of K of one round, times the number of rounds: what differences of it are divided by is far larger
BEND = 1e-3  # a h of the module docstring
STEEP = 30.0  # a, at least: far up the line K turns faster than at its foot, by some tens before e^K is nothing
NUDGE = 1e-6  # relative, by which a is found
STENCIL = ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0))  # times h, and the weight there
DOUBT = 1e-6  # width of log delta, from which on nothing is said of derivatives
TWELVE = 12.0  # what the weighted sum is divided by, times h


class Slopes(NamedTuple):
    """Where a sum is and how it moves.

    Attributes:
        epsilon: where the derivatives are taken.
        log_delta: log of the sum there.
        fall: ``-d log delta / d eps``.
        rise: ``d log delta / dx``; 0 where no parameter was asked about.
    """

    epsilon: float
    log_delta: float
    fall: float
    rise: float


class SlopeContour:
    """The contour around one epsilon, and what it says of derivatives there.

    Args:
        composition: pairs and counts; mass at infinite loss is the caller's.
        epsilon: about where.
        tolerance: relative, what each remainder of the sum may be.
        longest: most points.
        inner: how accurate K of all rounds is wanted where it is asked for anew; differences want it far more so.

    Raises:
        NotApplicableError: there is no contour, or none of so few points.
    """

    def __init__(
        self,
        composition: Composition,
        epsilon: float,
        tolerance: float = TOLERANCE,
        longest: int = MAX_POINTS,
        inner: float = INNER,
    ) -> None:
        transforms = transforms_of(composition.rounds)
        guide, tilt, depth = Guide.reaching(composition, epsilon)

        def seen() -> Aim:
            return aim_at(
                *seeing_guide(composition, guide, min(depth, -50.0), transforms, lambda it: it.saddle(epsilon)), epsilon
            )

        try:
            self._path = Path(transforms, aim_at(guide, tilt, None, epsilon), tolerance, longest)
        except BlindError:
            self._path = Path(transforms, seen(), tolerance, longest)
        self._counts = [count for _, count in transforms]
        self._contour = Contour(self._path, self._counts)
        self._guess = epsilon
        self._inner = inner / sum(self._counts)
        self._lines: dict[DominatingPair, ComplexArray] = {
            pair: self._path.values[kind] for kind, (pair, _) in enumerate(composition.rounds)
        }

    @property
    def cumulant(self) -> ComplexArray:
        """K of all rounds together on the line."""
        return np.array([float(count) for count in self._counts]) @ self._path.values

    def epsilon(self, log_delta: float) -> float:
        """The epsilon >= 0 at which the sum meets log delta."""
        return self._contour.solve(log_delta, self._guess)[0]

    def check(self, epsilon: float) -> None:
        """Raise where the certified interval of the same sum is wide: derivatives lose as many digits, or more.

        Raises:
            NotApplicableError: it is.
        """
        found = self._contour.log_delta(epsilon)
        if not found.upper - found.lower <= DOUBT:
            raise NotApplicableError("rounding leaves too few digits of the contour")

    def at(self, epsilon: float, change: ComplexArray | None = None) -> Slopes:
        """The sum and its derivatives at an epsilon near that of the contour; ``change`` is ``dK / dx`` on the line.

        Raises:
            NotApplicableError: nothing but rounding is left.
        """
        terms = self._contour.terms
        weighted = terms.terms * np.exp((-1j * epsilon) * terms.s)
        z = terms.t + 1j * terms.s
        value, fall = float(weighted.real.sum()), float((z * weighted).real.sum())
        rise = 0.0
        if change is not None:
            known = terms.terms != 0  # elsewhere K is not known, and weighs nothing
            rise = float((change[known] * weighted[known]).real.sum())
        if not (value > 0 and fall > 0 and math.isfinite(rise)):
            raise NotApplicableError("rounding leaves nothing of the contour")
        log_delta = math.log(value / terms.period) + terms.k_top - terms.t * epsilon
        return Slopes(epsilon, log_delta, fall / value, rise / value)

    def log_delta(self, rounds: Rounds) -> float:
        """log of the sum for other rounds near those of the contour, at the epsilon for which it was laid.

        Raises:
            NotApplicableError: a round has no line there, or nothing but rounding is left.
        """
        s, t = self._path.s, self._path.t
        k = np.zeros(len(s), dtype=np.complex128)
        for pair, count in rounds:
            if count:
                k += count * self._line(pair)
        top = float(k[0].real)
        z = t + 1j * s
        with np.errstate(over="ignore", invalid="ignore"):
            terms = (np.exp(k - top - 1j * self._guess * s) / (z * (1 + z))).real
        value = float(2 * terms.sum() - terms[0]) / self._path.period
        if not 0 < value < math.inf:
            raise NotApplicableError("rounding leaves nothing of the contour")
        return math.log(value) + top - t * self._guess

    def change(self, rounds_at: Callable[[float], Rounds]) -> tuple[ComplexArray, float]:
        """``dK / d log x`` on the line, and the h of the differences.

        Args:
            rounds_at: the rounds at ``x e^u``, by u; the same kinds as often, in the same order.

        Raises:
            NotApplicableError: the kinds of rounds are others at another value, or have no line there.
        """
        here = rounds_at(0.0)
        step = BEND / max(STEEP, self._bend(here, rounds_at(NUDGE)))
        total = np.zeros(len(self._path.s), dtype=np.complex128)
        for times, weight in STENCIL:
            for (pair, count), (moved, moved_count) in zip(here, _like(here, rounds_at(times * step)), strict=True):
                if moved_count != count:
                    raise NotApplicableError("the number of rounds changes with it")
                if moved == pair or not count:
                    continue
                moving = self._line(moved) - self._line(pair)
                # the branch of the logarithm that is next to it
                turns = np.round(moving.imag / (2 * math.pi))
                total += (weight * count) * (moving - 2j * math.pi * turns)
        return total / (TWELVE * step), step

    def _line(self, pair: DominatingPair) -> ComplexArray:
        """K of one round of a pair on the line."""
        if pair in self._lines:
            return self._lines[pair]
        transform, path = pair.transform, self._path
        if transform is None:
            raise NotApplicableError(f"no characteristic function is implemented for {type(pair).__name__}")
        line = transform.line(path.t, float(path.s[-1]), self._inner)
        charge(EVALUATION * line.cost(len(path.s)) + CALLS, f"a line of {len(path.s)} points")
        with np.errstate(over="ignore", invalid="ignore"):
            found: ComplexArray = line.cumulants(2 * math.pi / path.period, len(path.s))[0]
        if not np.isfinite(found).all():
            raise NotApplicableError("a characteristic function is out of reach")
        self._lines[pair] = found
        return found

    def _bend(self, here: Rounds, nudged: Rounds) -> float:
        """a of the module docstring, at the foot of the line: the largest ``|d log K / d log x|`` of a kind."""
        found = 0.0
        for (pair, _), (moved, _) in zip(here, _like(here, nudged), strict=True):
            if moved == pair:
                continue
            ends = []
            for one in (pair, moved):
                transform = one.transform
                if transform is None:
                    raise NotApplicableError(f"no characteristic function is implemented for {type(one).__name__}")
                ends.append(abs(float(transform.line(self._path.t, 0.0, INNER).cumulants(1.0, 1)[0][0].real)))
            if min(ends) > 0:
                found = max(found, abs(math.log(ends[1] / ends[0])) / NUDGE)
        return found


def _like(here: Rounds, moved: Rounds) -> Rounds:
    """The rounds at another value, where they are of as many kinds.

    Raises:
        NotApplicableError: they are not.
    """
    if len(here) != len(moved):
        raise NotApplicableError("the kinds of rounds change with it")
    return moved
