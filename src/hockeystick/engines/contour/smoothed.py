"""Smoothing: a little Gaussian noise is added to losses whose characteristic function does not decay.

The characteristic function of atoms does not decay: it returns to about its initial size again and again, so that a
contour would need infinitely many points. Therefore the rounds are composed with one more round, of unsampled Gaussian
noise with a small mu. The characteristic function of this round decays as fast as desired, and the round changes delta
by an amount of order ``v = mu^2``. Let S be the loss of the rounds under P, where the finite losses may have a mass
below 1. Let N_w be normal with mean w / 2 and variance w, which is the loss of a Gaussian pair with mu^2 = w. Let

    D(w) = E (1 - e^(eps - S - N_w))_+,

so that D(0) is the delta to be bounded, and a contour gives D(w) for w > 0. Let ``g(x) = (1 - e^(eps - x))_+``. The law
of N_w satisfies the heat equation with drift 1/2, and ``g'/2 + g''/2`` is half a point mass at eps, so that

    D'(w) = 1/2 E psi_w(eps - S),    psi_w(y) = (2 pi w)^(-1/2) e^(-(y - w/2)^2 / 2w) = e^(y/2 - w/8) phi_w(y),

where phi_w is the density of N(0, w). Since D' >= 0, **D(v) is an upper bound** on D(0); it is also the delta of a
composition with one more round. The lower bound is

    D(0) >= D(v) - e^(v/2) (D(4v) - D(v)).

Proof. It is enough that ``int_0^v psi_w(y) dw <= e^(v/2) int_v^4v psi_w(y) dw`` for every y. The factor e^(y/2) of
psi_w cancels, and its factor e^(-w/8) lies between e^(-v/2) and 1. So it is enough that ``int_0^v phi_w(y) dw <=
int_v^4v phi_w(y) dw``. With ``w = v u`` and ``c = y^2 / 2v`` this is ``int_0^1 u^(-1/2) e^(-c/u) du <= int_1^4 u^(-1/2)
e^(-c/u) du``. Since e^(-c/u) increases in u, the left side is at most ``e^-c int_0^1 u^(-1/2) du = 2 e^-c``. The right
side is at least ``e^-c int_1^4 u^(-1/2) du``, which is also ``2 e^-c``.

The two bounds are ``e^(v/2) (D(4v) - D(v))`` apart. This is about ``3/2 v`` times the density of the loss at eps,
whatever the number of rounds. A contour gives each of D(v) and D(4v) as an interval that includes all errors; each
bound uses the ends of these intervals that keep it valid. The number of points of a contour grows with 1 / mu. If the
atoms of the composition are further apart than mu, the two bounds differ by about the mass of an atom, and a smaller mu
is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hockeystick.engines.base import ATTEMPTS, DEFAULT_GAP, LEAST_GAP
from hockeystick.engines.contour.engine import Plain
from hockeystick.engines.contour.sweep import Terms
from hockeystick.engines.guide import Guide
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition, GaussianPair
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Ends

Array = npt.NDArray[np.float64]

SHARE = 0.3  # share of the requested width of log delta for which the first noise is chosen
OWN = 0.03  # share of the requested width for each contour's own interval
COARSER = (1.0, 1.7, 8.0, 60.0, 500.0)
"""Factors on mu, tried in turn if the contour would be too long. With the second, the width is still about the gap."""

LARGEST_MU = 0.5  # largest mu of the noise before a factor of COARSER is applied
COARSEST_MU = 30.0  # largest mu of the noise; above 37.6 the factor e^(mu^2 / 2) would exceed the range of a double


@dataclass(frozen=True, slots=True)
class Smoothed:
    """Two contours, for losses with added noise of variance v and 4v, which together bound delta without noise.

    The bounds are valid at every epsilon, and narrow near the epsilon for which the contours were laid.

    Attributes:
        once: contour with added variance v.
        fourfold: contour with added variance 4v.
        variance: v.
    """

    once: Terms
    fourfold: Terms
    variance: float

    def log_delta(self, epsilon: Array) -> Ends:
        """Return the logs of the two bounds of the module docstring; the estimate extrapolates to no noise."""
        once, fourfold = self.once.log_delta(epsilon), self.fourfold.log_delta(epsilon)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            factor = math.exp(0.5 * self.variance) * (1 + 8 * UNIT_ROUNDOFF)
            # in units of the upper end of D(v): D(v) (1 + factor) - factor D(4v), each on its safe side
            own, more = np.exp(once.lower - once.upper), np.exp(fourfold.upper - once.upper)
            left = own - factor * (more - own) - 16 * UNIT_ROUNDOFF * (1 + factor) * (own + more)
            lower = np.where(left > 0, np.log(left) + once.upper, -np.inf)
            lower = lower - 8 * UNIT_ROUNDOFF * (1 + np.abs(once.upper))
            third = np.exp(once.estimate - once.upper) - (np.exp(fourfold.estimate - once.upper) - own) / 3
            middle = np.where(third > 0, np.log(third) + once.upper, lower)
        lower = np.where(np.isnan(lower), -np.inf, np.minimum(lower, once.upper))
        return Ends.of(lower, np.where(np.isnan(middle), once.upper, middle), once.upper)


class Smoothing:
    """Lays pairs of contours of the rounds with a little Gaussian noise added.

    Args:
        composition: pairs and counts; the caller handles mass at infinite loss.

    Raises:
        NotApplicableError: a pair has no known characteristic function.
    """

    gap: ClassVar[float] = DEFAULT_GAP
    wide: ClassVar[str] = "the noise added to smooth the losses keeps the interval wider than the requested gap"

    def __init__(self, composition: Composition) -> None:
        if any(pair.transform is None for pair, _ in composition.rounds):
            raise NotApplicableError("one of the rounds has no known characteristic function")
        self._composition = composition

    def _with(self, mu: float) -> Plain:
        return Plain(Composition([*self._composition.rounds, (GaussianPair(mu), 1)]), wider=())

    def at(self, epsilon: float, gap: float, guide: Guide | None = None) -> Smoothed:
        """Return contours that bound log delta to about ``gap`` at an epsilon, and nearly as closely around it.

        Several variances of the smoothing noise are tried. The first variance is right for a loss with a smooth law.
        Each later variance follows from the width of the previous interval.

        Raises:
            NotApplicableError: no contour can be laid.
        """
        tilt = (guide or Guide.reaching(self._composition, epsilon)[0]).saddle(epsilon)
        mu = min(math.sqrt(SHARE * gap / (1.5 * tilt * (1 + tilt))), LARGEST_MU)
        best, least = self._pair(epsilon, mu, gap), math.inf
        at = np.array([epsilon])
        for _ in range(ATTEMPTS):
            width = float(best.log_delta(at).width[0])
            if width <= gap or not width < least:
                break
            least = width
            mu = math.sqrt(best.variance) * min(max(math.sqrt(SHARE * gap / width), 1e-3), 0.5)
            try:
                finer = self._pair(epsilon, mu, gap)
            except NotApplicableError:
                break
            best = finer if float(finer.log_delta(at).width[0]) < width else best
        return best

    def _pair(self, epsilon: float, mu: float, gap: float) -> Smoothed:
        own = max(OWN * gap, LEAST_GAP)
        for noise in dict.fromkeys(min(factor * mu, COARSEST_MU) for factor in COARSER):
            try:
                once = self._with(noise).at(epsilon, own)
                return Smoothed(once, self._with(2 * noise).at(epsilon, own), noise * noise)
            except NotApplicableError:
                continue
        raise NotApplicableError("no contour is short enough, whatever noise is added")
