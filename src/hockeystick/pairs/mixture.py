"""Gaussian mixtures against one Gaussian: p_0 N(0, 1) + sum_k p_k N(mu_k, 1) against N(0, 1), with shifts mu_k > 0.

This pair dominates normal noise on a sum to which a person contributes a *random* vector. The vector is v_k with
probability p_k, where ``|v_k| <= mu_k`` in units of the noise. With a standard normal vector X and the likelihood ratio
Lambda,

    Lambda = sum_k p_k exp(<v_k, X> - |v_k|^2 / 2),
    H_a(P || Q) = E (Lambda - a)_+,    H_a(Q || P) = E (1 - a Lambda)_+ ,

and both divergences have the form E phi(Lambda) with phi convex. *Claim* (a case of Kahane's inequality): E phi does
not decrease if the vectors v_k are replaced by numbers ``mu_k >= |v_k|``. *Proof*: let G and G' be independent centred
normal vectors, G with the covariances ``<v_j, v_k>``, and G' with the covariances ``mu_j mu_k``, which are no smaller.
Let ``G_s = sqrt(1 - s) G + sqrt(s) G'``. Let ``Z_k`` be the exponential of the k-th entry of G_s minus half of the
variance of this entry, and ``S = sum p_k Z_k``. If phi has two bounded derivatives, integration by parts gives

    d/ds E phi(S) = (1/2) sum_jk (mu_j mu_k - <v_j, v_k>) p_j p_k E [ Z_j Z_k phi''(S) ] >= 0 ,

as the terms with phi' cancel. Other convex phi are limits of such functions. The proof includes ``mu_0 = 0``. The
contributions of other persons may depend on the same random choices: they are revealed first, and H is jointly convex.
The pair is tight, as vectors v_k of norm mu_k in one direction attain it.

So a pair with a larger shift mu_k dominates a pair with a smaller shift. A pair also becomes worse if a stochastically
larger law of shifts replaces the law of shifts, as the two random shifts can be coupled so that the new shift is never
below the old one. A pair also becomes worse if a part of the mass of a term is put at infinite loss, since a kernel can
turn this part back into the term.

If p_0 > 0, the pair is that of Poisson *sampling*, at the rate ``1 - p_0``, of the mixture of the terms with a shift
(``pairs/sampled/poisson.py``). So the pairs here have no term without a shift.

**Inverse.** For the terms with a shift, of weights w_k, the loss ``l(x) = log sum_k w_k e^(mu_k x - mu_k^2/2)`` is
convex, with a slope between the least and the largest shift. So Newton's method, started above the root, approaches the
root from above. The start is the least x at which a single term reaches the given loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from hockeystick.numerics.logarithm import log_sum
from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.pairs import concentrated, moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair, Masses
from hockeystick.pairs.sampled.gaussian_transform import Kind, MixtureTransform
from hockeystick.pairs.sampled.poisson import HALF, LARGE, SAMPLED_SECONDS, BasePart, PoissonSmooth

FAR = 0.3  # absolute value of a loss above which a cruder bound on its error is used
NEWTON = 60  # largest number of Newton steps towards an outcome; about six are taken
NEAR = 1e-14  # relative size of a Newton step below which the search ends
UNITS = 8.0  # bound on the relative error of a weight, in roundings


@dataclass(frozen=True)
class MixtureLocation:
    """The densities of a Gaussian mixture under P and of N(0, 1) under Q; the weights and ``missing`` sum to 1."""

    shifts: tuple[float, ...]
    weights: tuple[float, ...]
    missing: float

    @property
    def terms(self) -> int:
        """Number of normal densities in the mixture."""
        return len(self.shifts)

    @cached_property
    def _columns(self) -> tuple[Array, Array]:
        return np.array(self.shifts)[:, None], np.array(self.weights)[:, None]

    def log_p(self, x: Array) -> Array:
        """The log-density of the mixture at each x."""
        out: Array = self.log_q(x) + self.loss(x)
        return out

    def log_q(self, x: Array) -> Array:
        """The log-density of N(0, 1) at each x."""
        return -0.5 * np.square(x) - HALF_LOG_TWO_PI

    def _exponents(self, x: Array) -> Array:
        shifts, _ = self._columns
        with np.errstate(over="ignore"):
            out: Array = shifts * (x - 0.5 * shifts)
        return out

    def loss(self, x: Array) -> Array:
        """Return ``log sum_k w_k e^(mu_k x - mu_k^2/2)``, computed without cancellation where it is near 0."""
        exponents = self._exponents(x)
        excess = self._columns[1][:, 0] @ np.expm1(np.minimum(exponents, LARGE)) - self.missing
        near = np.log1p(np.maximum(excess, -HALF))
        far = (excess < -HALF) | (exponents.max(axis=0) > LARGE)
        return np.where(far, self._log_sum(exponents), near) if far.any() else near

    def _log_sum(self, exponents: Array) -> Array:
        logs = np.log(self._columns[1]) + exponents
        top = logs.max(axis=0)
        with np.errstate(invalid="ignore"):
            out: Array = np.where(np.isfinite(top), top + np.log(np.exp(logs - top).sum(axis=0)), top)
        return out

    def log_contrast(self, x: Array) -> Array:
        """The logarithm of the sum of both densities."""
        return np.logaddexp(self.log_p(x), self.log_q(x))

    def masses(self, x: Array) -> Masses:
        """The masses of the mixture and of N(0, 1) below and above each x."""
        from scipy.special import ndtr

        shifts, weights = self._columns
        below, above = (weights * ndtr(x - shifts)).sum(axis=0), (weights * ndtr(shifts - x)).sum(axis=0)
        return Masses(below, above, ndtr(x), ndtr(-x))

    def outcome(self, loss: Array) -> Array:
        """Return the outcome x of each loss by Newton's method; it is infinite where x leaves the range of a double."""
        shifts, weights = self._columns
        with np.errstate(over="ignore", invalid="ignore"):
            x: Array = ((loss - np.log(weights)) / shifts + 0.5 * shifts).min(axis=0)
            known = np.isfinite(loss) & np.isfinite(x)
            at, target = x[known], loss[known]
            for _ in range(NEWTON):
                exponents = self._exponents(at)
                found = self.loss(at)
                slope = (shifts * weights * np.exp(np.minimum(exponents - found, LARGE))).sum(axis=0)
                step = (found - target) / np.maximum(slope, shifts[0])
                at = at - step
                if not (np.abs(step) > NEAR * (1 + np.abs(at))).any():
                    break
        x[known] = at
        return x

    def loss_error(self, x: Array) -> Array:
        """Bound on the error of the loss, from rounding the exponents, the weights, the sum and its logarithm."""
        loss, exponents = self.loss(x), self._exponents(x)
        shifts, weights = self._columns
        spread = weights[:, 0] @ np.abs(np.expm1(np.minimum(exponents, LARGE))) * 2  # where the loss is next to 0
        logs = np.abs(np.log(weights)).max()
        far = np.abs(loss) > FAR
        terms = 16 + len(self.shifts) + UNITS
        size = 8 * shifts[-1, 0] * (np.abs(x) + 0.5 * shifts[-1, 0])
        error: Array = size + np.where(far, 5 * terms + 4 * (logs + np.abs(loss)), terms * spread) + 16 * np.abs(loss)
        return error

    def log_p_error(self, x: Array) -> Array:
        """Bound on the error of the log-density, from the roundings of x, of the square, and of the loss."""
        return 8 * np.square(np.abs(x) + self.shifts[-1]) + 8 + self.loss_error(x)

    def growth(self, x: Array) -> Array:
        """The growth constant ``|x| + mu`` of a normal density, with mu the largest shift."""
        return np.abs(x) + self.shifts[-1]

    def support(self, log_mass: float) -> tuple[float, float]:
        """Return an interval around all centres, from the normal tail bound ``Phi(-r) <= exp(-r^2/2)``.

        A term of small weight needs a smaller r.
        """
        share = log_mass - math.log(len(self.shifts) + 1)
        highest = max(
            mu + math.sqrt(2 * max(math.log(p) - share, 0.0)) if math.log(p) > share else 0.0
            for mu, p in zip(self.shifts, self.weights, strict=True)
        )
        r = math.sqrt(-2 * min(share, -1.0))
        return -r, max(highest, r)


@dataclass(frozen=True, slots=True)
class MixturePair(DominatingPair):
    """The mixture sum_k p_k N(mu_k, 1) as P and N(0, 1) as Q, or the other way round.

    The exact weights and ``missing`` sum to 1, and each given weight is within UNITS roundings of the exact weight.

    Attributes:
        shifts: the mu_k, positive and increasing.
        weights: the p_k, positive.
        mirrored: True if N(0, 1) is P.
        missing: mass that the mixture has at outcomes impossible under N(0, 1); 0 unless the pair is sampled.
    """

    shifts: tuple[float, ...]
    weights: tuple[float, ...]
    mirrored: bool = False
    missing: float = 0.0

    seconds: ClassVar[float] = SAMPLED_SECONDS

    @property
    def atoms(self) -> Atoms:
        """The atom with the mass ``missing``, which only the mixture has; its loss is +inf, or -inf if N(0, 1) is P."""
        only_p, only_q = (0.0, self.missing) if self.mirrored else (self.missing, 0.0)
        return Atoms.none().beside(only_p, only_q)

    @property
    def smooth(self) -> BasePart:
        """The densities of the mixture and of N(0, 1)."""
        direct = MixtureLocation(self.shifts, self.weights, self.missing)
        return PoissonSmooth(direct, 1.0, -1) if self.mirrored else direct

    loss_range: ClassVar[tuple[float, float]] = -math.inf, math.inf
    """The loss is unbounded, as every term has a shift."""

    @property
    def transform(self) -> MixtureTransform:
        """The characteristic function of the loss, computed by the trapezoid rule."""
        kind = Kind.ADD if self.mirrored else Kind.REMOVE
        return MixtureTransform(self.shifts, self.weights, 0.0, kind, UNITS)

    def sampled_transform(self, rate: float, add: bool) -> MixtureTransform:
        """Return the characteristic function after Poisson sampling, which adds a term without a shift."""
        weights = tuple(rate * weight for weight in self.weights)
        kind, missing = Kind.ADD if add else Kind.REMOVE, rate * self.missing
        return MixtureTransform(self.shifts, weights, 1 - rate + missing, kind, UNITS + 4, missing)

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy: the rho of the Gaussian pair with the largest shift.

        As ``g^(1+t)`` and ``g^(-t)`` are convex in the likelihood ratio g, the mixture has no larger rho than its worst
        term. Missing mass lowers the likelihood ratio; with it no rho is known, and the result is infinite.
        """
        return math.inf if self.missing else concentrated.gaussian(self.shifts[-1])

    @property
    def mirror(self) -> MixturePair:
        """The pair with P and Q exchanged."""
        return replace(self, mirrored=not self.mirrored)

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t): the smaller of a trapezoid-rule bound and the log of the mean of the terms' moments.

        By convexity the mean is a bound whichever law is P. If the mixture is P, Minkowski's inequality gives another
        bound, which is smaller for large t.
        """
        logs, each = np.log(np.array(self.weights)), np.array([moment.gaussian(mu, t) for mu in self.shifts])
        rough = log_sum(logs + each)
        if not self.mirrored:
            rough = min(rough, (1 + t) * log_sum(logs + each / (1 + t)))
        return min(self.transform.log_moment(t), moment.rounded_up(rough, 1 + t + float(each.max())))
