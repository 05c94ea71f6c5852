"""Aim of a proof: a table of K in doubles, which gives tilts and guesses. Everything is chosen, nothing charged."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.engines.proof.atoms import DiscreteNoise, FiniteLaw
from hockeystick.engines.proof.rounds import ExactRounds, SampledGaussian
from hockeystick.values.adjacency import Direction

Array = npt.NDArray[np.float64]

RATIO = 1.15  # ratio of neighbouring tilts in the table
TILTS = RATIO ** np.arange(-70.0, 36.0)  # relative to the tilt of the central limit
LOWER = 8  # number of tilts tried for a line below that of the least Chernoff bound
DEARER = 12.0  # growth of the log of terms that justifies a line e times as long
NODES = np.linspace(-10.0, 17.0, 109)  # outcomes of a sampled Gaussian
SLOPE = 1.7  # of the logistic function that approximates the normal distribution
PLACES = np.linspace(-1.0, 1.0, 65)  # losses of Laplace noise, relative to the largest
DEEP = -60.0  # log of the mass of discrete noise that is left out
LARGEST = 600.0  # exponent that a double can hold
LEAST_VARIANCE = 1e-100  # of the sum of all losses
RARE, HALVINGS = 1.0, 40  # K below which a single loss determines delta; bisection steps for it


class Tilt(NamedTuple):
    """A tilt of the table, K there, and the variance of the tilted loss."""

    tilt: float
    cumulant: float
    variance: float


class Aim:
    """A table of K at tilts, and the aim derived from it.

    Args:
        rounds: the rounds.
        epsilon: approximate epsilon of the query, or ``None``.
        log_delta: approximate log of the delta of the query, or ``None``.
    """

    def __init__(self, rounds: ExactRounds, epsilon: float | None, log_delta: float | None) -> None:
        self._laws = [(_gaussian(one), count) for one, count in rounds.sampled.items()]
        self._laws += [(_laplace(theta), count) for theta, count in rounds.laplace.items()]
        self._laws += [(_atoms(law), count) for law, count in rounds.atomic]
        self._mu_squared = float(rounds.mu_squared)
        variance = max(self._mu_squared + sum(count * law.square for law, count in self._laws), LEAST_VARIANCE)
        if epsilon is None:
            limit = math.sqrt(-2 * min(log_delta or 0.0, -0.1) / variance)
        else:  # where K(t) is variance t (1 + t) / 2
            excess = epsilon - 0.5 * variance
            limit = 0.5 * (excess + math.sqrt(excess**2 + 8 * variance)) / variance
        self._tilts = limit * TILTS
        self._cumulants = self._at(self._tilts)
        self._log_peaks = self._tilts * np.log(self._tilts) - (1 + self._tilts) * np.log1p(self._tilts)

    def _at(self, tilts: Array) -> Array:
        """Return K at tilts."""
        total = self._mu_squared * tilts * (1 + tilts) / 2
        with np.errstate(all="ignore"):
            for law, count in self._laws:
                total = total + count * law.cumulant(tilts)
        return total

    def _log_single(self, epsilon: float) -> float:
        """Approximate log delta if two or more large losses together are extremely improbable."""
        with np.errstate(divide="ignore"):
            return float(np.log(sum(count * law.excess(epsilon) for law, count in self._laws)))

    def _least(self, bounds: Array) -> Tilt:
        """Return the tilt of the least of some bounds."""
        return self._tilt(int(np.clip(np.argmin(np.where(np.isfinite(bounds), bounds, np.inf)), 1, len(bounds) - 2)))

    def _tilt(self, n: int) -> Tilt:
        """Return the n-th tilt."""
        low, middle, high = (float(k) for k in self._cumulants[n - 1 : n + 2])
        h = math.log(RATIO)
        bend = (high - 2 * middle + low) / h**2 - (high - low) / (2 * h)  # t^2 K''
        t = float(self._tilts[n])
        return Tilt(t, middle, max(bend, 1e-3 * abs(middle), 1e-300) / t**2 if math.isfinite(bend) else 1.0)

    def tilt(self, epsilon: float) -> Tilt:
        """Return the saddle point of an epsilon, where ``K(t) - t eps - log t - log(1 + t)`` is least."""
        return self._least(self._exponents(epsilon))

    def _exponents(self, epsilon: float) -> Array:
        """Return ``K(t) - t eps - log t - log(1 + t)`` at all tilts."""
        return self._cumulants - self._tilts * epsilon - np.log(self._tilts) - np.log1p(self._tilts)

    def tilt_for_delta(self, log_delta: float) -> Tilt:
        """Return the tilt of the least Chernoff bound on epsilon at a delta."""
        return self._least((self._cumulants + self._log_peaks - log_delta) / self._tilts)

    def epsilon(self, log_delta: float) -> float:
        """Approximate epsilon at a delta, by the saddle point formula at the tilt of the least Chernoff bound.

        If K is small there, a single loss nearly determines delta.
        """
        at = self.tilt_for_delta(log_delta)
        found = max((at.cumulant + _log_saddle(at) - log_delta) / at.tilt, 0.0)
        if at.cumulant < RARE and not self._mu_squared:
            low, high = 0.0, found
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if self._log_single(middle) > log_delta else (low, middle)
            found = low + (found - low) * _share(at)
        return found

    def log_delta(self, epsilon: float) -> float:
        """Approximate log delta at an epsilon, by the saddle point formula and, where K is small, by single losses."""
        at = self.tilt(epsilon)
        found = min(at.cumulant - at.tilt * epsilon + _log_saddle(at), 0.0)
        if at.cumulant < RARE and not self._mu_squared:
            single = self._log_single(epsilon)
            found = single + (found - single) * _share(at) if math.isfinite(single) else found
        return found

    def line(self, epsilon: float, wanted: float) -> tuple[Tilt, float]:
        """Return the tilts of a line and of its right alias, with aliases as small as ``e^wanted`` at a short period P.

        At a lower tilt t, P may be shorter, as ``y - t`` is larger; but larger terms need more nodes and bits.
        """
        heights = self._cumulants + self._log_peaks - self._tilts * epsilon
        heights = np.where(np.isfinite(heights), heights, np.inf)
        exponents = self._exponents(epsilon)
        exponents = np.where(np.isfinite(exponents), exponents, np.inf)
        best = int(np.clip(np.argmin(exponents), 1, len(exponents) - 2))
        found, cost = (best, len(heights) - 1), math.inf
        for n in range(max(best - LOWER, 1), best + 1):
            t, after = self._tilts[n], self._tilts[n + 1 :]
            periods = np.maximum((heights[n + 1 :] - wanted) / (after - t), -wanted / t)
            y = int(np.argmin(periods))
            if (dear := math.log(periods[y]) + (exponents[n] - exponents[best]) / DEARER) < cost:
                found, cost = (n, n + 1 + y), dear
        return self._tilt(found[0]), float(self._tilts[found[1]])


def _log_saddle(at: Tilt) -> float:
    """Return ``log S - K(t) + t eps``, where S is about ``e^(K(t) - t eps) / (t (1 + t)) (2 pi F''(t))^(-1/2)``."""
    t = at.tilt
    return -math.log((1 + t) * math.sqrt(2 * math.pi * (t * t * at.variance + 1 + (t / (1 + t)) ** 2)))


def _share(at: Tilt) -> float:
    """Return the weight of the saddle point formula, which grows with K."""
    return at.cumulant**2 / (4 + at.cumulant**2)


class Law:
    """A law of finitely many losses, in doubles, that represents the law of a round.

    Args:
        loss: the losses.
        log_mass: logs of their masses, up to a factor.
        hump: log of the part of m(t) beyond the losses, or ``None``.
    """

    def __init__(self, loss: Array, log_mass: Array, hump: Callable[[Array], Array] | None = None) -> None:
        self._loss, self._log_mass, self._hump = loss, log_mass - np.logaddexp.reduce(log_mass), hump
        self.square = float(np.sum(np.exp(self._log_mass) * loss * loss))  # the mean square of the loss

    def cumulant(self, t: Array) -> Array:
        """Return K of a round."""
        out: Array = np.logaddexp.reduce(t[:, None] * self._loss + self._log_mass, axis=1)
        return np.logaddexp(out, self._hump(t)) if self._hump else out

    def excess(self, epsilon: float) -> float:
        """Return delta of one round."""
        gains = -np.expm1(np.minimum(epsilon - self._loss, 0.0))
        return float(np.sum(np.exp(self._log_mass) * gains))


def _gaussian(item: SampledGaussian) -> Law:
    """Law of a sampled Gaussian round: a few outcomes and, beyond them, the hump about ``(1 + t) mu``."""
    mu, q = float(item.mu), float(item.rate)
    rises, falls = item.direction is not Direction.ADD, item.direction is not Direction.REMOVE
    u, v = (np.log1p(q * np.expm1(np.minimum(mu * (x - mu / 2), LARGEST))) for x in (NODES, -NODES))
    if not rises:
        return Law(-u, -0.5 * NODES**2)

    def hump(t: Array) -> Array:
        whole = (1 + t) * math.log(q) + t * (1 + t) * mu * mu / 2 - (t * math.log1p(-q) if falls else 0.0)
        out: Array = whole - np.log1p(np.exp(np.minimum(SLOPE * (NODES[-1] - (1 + t) * mu), LARGEST)))
        return out

    return Law(u - v if falls else u, u - 0.5 * NODES**2, hump)


def _laplace(theta: Fraction) -> Law:
    """Law of Laplace noise: two atoms, and losses between them that represent the density ``e^((l - theta)/2) / 4``."""
    loss = float(theta) * PLACES
    weight = np.full(len(loss), math.log(0.25 * float(loss[1] - loss[0])))
    weight[[0, -1]] = math.log(0.5)
    return Law(loss, (loss - loss[-1]) / 2 + weight)


def _atoms(law: FiniteLaw | DiscreteNoise) -> Law:
    """Law of a round whose losses are atoms."""
    outcomes = law.outcomes(DEEP)[0]
    loss = np.array([float(outcome.loss.mid()) for outcome in outcomes])
    return Law(loss, np.array([float(outcome.p.log().mid()) for outcome in outcomes]))
