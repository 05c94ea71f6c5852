"""The law of Poisson-sampled Gaussian noise without outcomes in the tail, for removing a record, and the lost mass.

Consider a round with loss ``u = log g``, ``g(x) = 1 - q + q e^(mu x - mu^2/2)``, under P, which has the density ``phi
g``. An outcome x is kept with probability

    b(x) = exp(-e^(kappa (x - c))) ,      1 - b(x) <= min(1, e^(kappa (x - c))) ,

which falls faster than any power ``g^t`` rises, so that ``m_b(z) = int phi g^(1+z) b`` can be computed at every tilt.
m_b is the characteristic function of the loss, restricted to the part of the law that is kept.

**What is left out** of P is ``int phi g (1 - b)``. We have ``phi g = (1 - q) phi(x) + q phi(x - mu)``, a mixture of two
normal laws. For either of them, let ``d > 0`` be the distance of c from its middle, with ``kappa > d``. By Mills'
ratio,

    int_(x > d) phi <= phi(d) / d ,      int_(x < d) phi e^(kappa (x - d)) = e^(kappa^2/2 - kappa d) Phi(d - kappa)
    <= phi(d) / (kappa - d) ,

so that the mass left out is at most ``(1 - q) T(c) + q T(c - mu)``, ``T(d) = phi(d) (1/d + 1/(kappa - d))``.

**Off the real line.** With ``0 <= a``, ``kappa a <= pi/3``, ``mu a <= pi/2``, ``l = mu x - mu^2/2`` and the odds ``o =
q e^l / (1 - q)``,

    |b(x + ia)| = exp(-e^(kappa (x - c)) cos(kappa a)),    |g(x + ia)| <= g(x),
    arg g(x + ia) = arctan(o sin(mu a) / (1 + o cos(mu a))) =: alpha(x), which is positive and rises with x and with a.

**Density.** Under the tilted law, the loss of the outcomes kept has the density ``f = phi b g^(1+t) / (u' m_b(t))``,
``u' = mu r`` with ``r = q e^l / g``. As ``u'' = mu^2 r (1 - r) = -(log u')''``, and log b is concave, ``(log f)'' <= C
= (2 + t) mu^2 min(r, 1/4) - 1``, where between two outcomes r is taken at the upper one, because r rises. So between
two outcomes at a distance d, f is at least ``e^(-C d^2 / 8)`` times the lesser of its values at the two if C > 0, and
at least the lesser of these values if not.

**Beyond an outcome h > 0.** Let ``w = log(1 + q e^l)``, so that ``w >= u``. Over a distance d, w and alpha grow by a
factor of at most e^(mu d), since both are concave functions of ``e^l`` that are 0 where ``e^l`` is 0. As ``kappa >=
mu``, it follows that if ``G = e^(kappa (h - c)) cos(kappa a) - (1 + t) w(h) - s alpha(h) >= 0``, then ``|b g^(1+z)| <=
e^(-G)`` at all ``x + ia`` with ``x >= h``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.numerics.rounding import LARGEST, SPARE, UNIT_ROUNDOFF
from hockeystick.pairs.sampled.gaussian_panels import Panels, polar
from hockeystick.pairs.sampled.mixture_law import MixtureLaw, Nodes, log_tail

Array = npt.NDArray[np.float64]

STEEPEST_TURN = math.pi / 3  # largest kappa a: ``cos(kappa a)`` is at least 1/2
FARTHEST, FIRST = 60.0, 1.5  # largest c, and least c minus mu, in the search
LEAST_STEEPNESS, STEEPNESS, OF_SHIFT = 20.0, 2.0, 4.0  # kappa is the largest of the first, 2 c and 4 mu
PRECISE = 2.0**-20  # width of the bracket of c at which the search ends
WIDTH = 0.02  # width of the panels on which bounds are taken, in units of min(1, 1 / mu)
LATTICE = 2.0**-28  # a power of two, so that multiples are exact


def on_lattice(x: float) -> float:
    """Return x rounded down to a multiple of LATTICE; sums and differences of a few such multiples are exact."""
    return math.floor(x / LATTICE) * LATTICE


@dataclass(frozen=True, slots=True)
class CappedLaw:
    """The law of one Poisson-sampled Gaussian round without outcomes far above ``centre``, for removing a record.

    Attributes:
        law: the round with all its outcomes.
        centre: c, a multiple of LATTICE.
        steepness: kappa, which is at least mu and larger than c.
    """

    law: MixtureLaw
    centre: float
    steepness: float

    @property
    def log_lost(self) -> float:
        """Upper bound on the log of the mass under P that is left out."""
        q, mu = self.law.rate, self.law.mu
        near = math.log1p(-q) + _log_around(self.centre, self.steepness)
        far = math.log(q) + _log_around(self.centre - mu, self.steepness)
        return float(np.logaddexp(near, far)) + SPARE

    @property
    def largest_loss(self) -> float:
        """Return the loss at c, which is approximately the largest loss kept."""
        return self._log_sum(math.log1p(-self.law.rate), self.centre)

    def _log_sum(self, log_first: float, x: float) -> float:
        """Return ``log(e^log_first + q e^l)`` at an outcome x, also where ``e^l`` exceeds the range of a double."""
        law = self.law
        return float(np.logaddexp(log_first, math.log(law.rate) + law.mu * (x - 0.5 * law.mu)))

    def log_fading(self, x: Array) -> Array:
        """Return ``kappa (x - c)``, which is the logarithm of ``-log b``."""
        return self.steepness * (x - self.centre)

    def log_above(self, h: float, t: float, s: float, a: float) -> float:
        """Return an upper bound on ``log |b g^(1+z)|`` at ``x + ia`` for all ``x >= h > 0``; ``inf`` if unknown.

        The bound holds for all ``Im z`` up to s.
        """
        law, fading = self.law, self.steepness * (h - self.centre)
        if not (h > 0 and self.steepness * a <= STEEPEST_TURN and fading < LARGEST):
            return math.inf
        growth = (1 + t) * self._log_sum(0.0, h) + s * polar(law, np.array([h]), np.array([a]))[1].item()
        left = growth * (1 + SPARE) - math.exp(fading) * math.cos(self.steepness * a) * (1 - SPARE)
        return left if left <= 0 else math.inf

    def range_for(self, t: float, s: float, a: float, depth: float) -> tuple[float, float]:
        """Return two multiples of LATTICE, the ends of a range outside which integrands are at most about e^-depth."""
        law, deep = self.law, depth + math.log(4 + t)
        far = math.sqrt(2 * deep)
        shifted = law.mu + math.sqrt(2 * max(deep + math.log(law.rate), 1.0))  # first-order terms are small beyond it
        high = max(self.centre, far, shifted)
        for _ in range(8):
            turn = polar(law, np.array([high]), np.array([a]))[1].item()
            grown = (1 + t) * self._log_sum(0.0, high) + s * turn + depth
            high = max(high, self.centre + math.log(2 * grown) / self.steepness)
        return on_lattice(-far), on_lattice(high) + 1.0 / 64

    def log_size(self, t: float, s: float, a: Array) -> Array:
        """Return, for each a, the log of a bound on ``int |b phi g^(1+z)|`` along ``Im x = a`` and along ``Im x = -a``.

        The bound holds for all ``Im z`` up to s. On each panel, b is bounded by its value at the lower end.
        """
        low, high = self.range_for(t, s, float(a.max()), 40.0)
        x = np.linspace(low, high, math.ceil((high - low) * max(1.0, self.law.mu) / WIDTH) + 1)
        panels = Panels(self.law, t, x, a)
        fading = np.exp(np.minimum(self.log_fading(x[:-1]), LARGEST))
        logs = panels.grown(s) - np.multiply.outer(fading, np.cos(self.steepness * a))
        below = log_tail(low) + np.maximum((1 + t) * polar(self.law, x[:1], np.zeros(1))[0], 0.0) + s * panels.first
        above = [self.log_above(high, t, s, one) + log_tail(-high) for one in a.tolist()]
        logs = np.concatenate([logs, below + 0.5 * np.square(a), [above + 0.5 * np.square(a)]])
        tops = logs.max(axis=0)
        with np.errstate(invalid="ignore"):
            out: Array = tops + np.log(np.exp(logs - tops).sum(axis=0))
        out[np.isnan(out)] = np.inf
        return out + SPARE * (1 + np.abs(out))


def _log_around(distance: float, steepness: float) -> float:
    """Return the logarithm of T(d), as in the module docstring, at a distance d; ``inf`` where T is no bound."""
    if not 0 < distance < steepness:
        return math.inf
    return -0.5 * distance**2 - HALF_LOG_TWO_PI + math.log(1 / distance + 1 / (steepness - distance))


def capped_at(law: MixtureLaw, log_mass: float) -> CappedLaw | None:
    """Return the law with about the least centre c at which a mass of at most ``e^log_mass`` is left out.

    The result is ``None`` if there is no such c.
    """

    def tried(centre: float) -> CappedLaw:
        steepness = max(LEAST_STEEPNESS, STEEPNESS * centre, OF_SHIFT * law.mu)
        return CappedLaw(law, centre, steepness)

    low, high = law.mu + FIRST, FARTHEST
    if not low < high or tried(high).log_lost > log_mass:
        return None
    while high - low >= PRECISE:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if tried(middle).log_lost <= log_mass else (middle, high)
    found = tried(on_lattice(high) + PRECISE)
    return found if found.log_lost <= log_mass else None


class CappedNodes:
    """Values of a round at nodes that are multiples of LATTICE, with bounds on their rounding errors.

    Args:
        capped: the round.
        x: shape (n,), the nodes.
        t: tilt.

    Attributes:
        nodes: values of the round with all its outcomes, at the same nodes.
        log_kept: shape (n,), log b.
        lost: shape (n,), ``1 - b``.
        doubt: shape (n,), bound on the relative rounding error of b.
        lost_doubt: shape (n,), bound on the relative rounding error of ``1 - b``.
    """

    def __init__(self, capped: CappedLaw, x: Array, t: float) -> None:
        self.nodes = Nodes(capped.law, x, t)
        log_fading = capped.log_fading(x)
        fading = np.exp(np.minimum(log_fading, LARGEST))
        # kappa (x - c) has one relative rounding, the exponential has four units, and its cut one
        slip = UNIT_ROUNDOFF * (16 + 4 * np.abs(log_fading))
        self.log_kept: Array = -fading
        self.lost: Array = -np.expm1(-fading)
        self.doubt: Array = np.minimum(fading * slip, 1.0) + 16 * UNIT_ROUNDOFF
        self.lost_doubt: Array = slip + 16 * UNIT_ROUNDOFF
