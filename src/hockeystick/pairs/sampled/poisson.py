"""The pairs of Poisson sampling of any base pair, for removing and for adding a record.

Zhu, Dong, Wang 2022 [ZDW22], Theorem 11: let the base pair (W, O) dominate the mechanism, with W the law with the
record and O the law without it. If each record is included independently with probability q, the pairs are

- remove: P = (1 - q) O + q W, Q = O, with loss ``psi(l) = log(1 - q + q e^l)``, l the base loss ``log dW/dO``;
- add: P = O, Q = (1 - q) O + q W, with loss ``-psi(l)``.

Numerics: psi and its inverse are computed such that the error of psi is a few units of ``|psi|``, however small q is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, cast

import numpy as np

from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF, next_up
from hockeystick.pairs import moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair, Masses, SmoothPart, rounding_of, transform_of_atoms
from hockeystick.pairs.transform import SampledTransform, Transform

SAMPLED_SECONDS = 0.003  # seconds that one search spends on the moments of one kind of sampled round, in one direction
HALF, LARGE = 0.5, 500.0  # largest rate and largest loss for which ``log(1 + q (e^l - 1))`` is computed directly


class BasePart(SmoothPart, Protocol):
    """A smooth part that also gives the density under Q."""

    def log_q(self, x: Array) -> Array:
        """The logarithm of the density under Q at each x."""
        ...


def mixed_loss(loss: Array, rate: float) -> Array:
    """Return ``psi(l) = log(1 - q + q e^l)``, elementwise; ``log(1 - q)`` at ``-inf``, ``+inf`` at ``+inf``."""
    if rate == 1:
        return loss
    if rate <= HALF and len(loss) and float(loss.max()) <= LARGE:
        return np.log1p(rate * np.expm1(loss))
    with np.errstate(over="ignore", divide="ignore"):
        excess = rate * np.expm1(np.minimum(loss, LARGE))
        mixed: Array = np.log1p(np.maximum(excess, -HALF))
        beyond = (excess < -HALF) | (loss > LARGE)
        if beyond.any():
            mixed = np.where(beyond, np.logaddexp(math.log1p(-rate), math.log(rate) + loss), mixed)
    return mixed


def unmixed_loss(psi: Array, rate: float) -> Array:
    """Return the base loss at which :func:`mixed_loss` takes the value psi; ``-inf`` at and below ``log(1 - q)``."""
    if rate == 1:
        return psi
    floor = math.log1p(-rate)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio = np.expm1(np.minimum(psi, LARGE)) / rate
        near: Array = np.log1p(np.maximum(ratio, -HALF))
        if not ((psi > LARGE) | (ratio < -HALF)).any():
            return near
        low = np.log(np.expm1(np.maximum(psi - floor, 0.0))) + (floor - math.log(rate))
        high = psi - math.log(rate) + np.log1p(-np.exp(floor - np.maximum(psi, floor)))
    return np.where(psi > LARGE, high, np.where(ratio < -HALF, low, near))


def mixed_slope(loss: Array, psi: Array, rate: float) -> Array:
    """Return the slope ``d psi / d l = q e^(l - psi)``, at most 1."""
    return np.exp(np.minimum(math.log(rate) + loss - psi, 0.0))


def mixed_units(rate: float) -> float:
    """Return a bound on the error of psi, in units of ``|psi|``, caused by errors of four units in l and in q.

    The part due to l is bounded by ``|l| psi'(l) <= (2 + A) |psi(l)|``, with ``A = log 1/q``. Three cases prove this.
    For l < 0, psi is convex and psi(0) = 0, so that ``|l| psi' <= |psi|``. For ``0 < l <= 1 + A``,
    ``log(1 + y) >= y / (1 + y)`` gives ``l psi' / psi <= l / (1 - e^-l) <= 1 + l``. For ``l > 1 + A``,
    ``psi >= l - A >= 1`` and ``psi' <= 1``, so that ``l psi' / psi`` is at most ``1 + A``.

    The part due to q is ``q |e^l - 1| / g = |1 - 1/g|``, with ``g = e^psi``. For psi > 0 it is at most psi. For psi <
    0, where ``psi >= log(1 - q)``, this part is convex in psi, and so at most its chord ``q / (1 - q) |psi| / log
    1/(1-q)``.
    """
    return 4 * (2 - math.log(rate)) + 4 * max(rate / (1 - rate) / -math.log1p(-rate), 1.0)


def rate_error(loss: Array, psi: Array, rate: float) -> Array:
    """Return the error of psi, in units, from a relative error of one unit in q: ``q |e^l - 1| / e^psi``.

    The error is large for q near 1. A rate of 1 is exact, so its error is 0.
    """
    if rate == 1:
        return np.zeros_like(loss)
    excess = rate * np.abs(np.expm1(np.minimum(loss, LARGE)))
    return np.where(loss > 0, np.minimum(excess, 1.0), excess * np.exp(-np.minimum(psi, 0.0)))


@dataclass(frozen=True, slots=True)
class PoissonSmooth:
    """The densities after Poisson sampling; ``sign`` is +1 for removing a record and -1 for adding a record.

    For adding a record, an outcome x is minus an outcome of the base, so that the loss increases with x. At rate 1 the
    record is in every batch, and adding exchanges the two laws of the base.
    """

    base: BasePart
    rate: float
    sign: int

    def log_p(self, x: Array) -> Array:
        """The log-density under P: for removing a record that of the mixture, for adding a record that of O."""
        x = self.sign * x
        without = self.base.log_q(x)
        return without + mixed_loss(self.base.loss(x), self.rate) if self.sign > 0 else without

    def log_q(self, x: Array) -> Array:
        """The log-density under Q: for removing a record that of O, for adding a record that of the mixture."""
        return self.log_p(x) - self.loss(x)

    def loss(self, x: Array) -> Array:
        """The loss of the sampled round, ``psi(l)`` for remove and ``-psi(l)`` for add."""
        return self.sign * mixed_loss(self.base.loss(self.sign * x), self.rate)

    def log_contrast(self, x: Array) -> Array:
        """The log of a bound on ``|p - q|``: sampling multiplies ``p - q``, and so the base's bound, by the rate."""
        return math.log(self.rate) + self.base.log_contrast(self.sign * x)

    def masses(self, x: Array) -> Masses:
        """The masses of both laws below and above each x, mixed from the base's masses."""
        base = self.base.masses(self.sign * x)
        mixed_below = (1 - self.rate) * base.q_below + self.rate * base.p_below
        mixed_above = (1 - self.rate) * base.q_above + self.rate * base.p_above
        if self.sign > 0:
            return Masses(mixed_below, mixed_above, base.q_below, base.q_above)
        return Masses(base.q_above, base.q_below, mixed_above, mixed_below)

    def outcome(self, loss: Array) -> Array:
        """Return the outcome with the given loss, by the inverse of psi."""
        return self.sign * self.base.outcome(unmixed_loss(self.sign * loss, self.rate))

    def loss_error(self, x: Array) -> Array:
        """Bound on the error of the loss: the base's bound times the slope of psi, plus roundings of psi and q."""
        x = self.sign * x
        loss = self.base.loss(x)
        psi = mixed_loss(loss, self.rate)
        own: Array = mixed_slope(loss, psi, self.rate) * (self.base.loss_error(x) + 16 * np.abs(loss))
        error: Array = own + 16 * np.abs(psi) + rate_error(loss, psi, self.rate)
        return error

    def log_p_error(self, x: Array) -> Array:
        """Bound on the error of the log-density: the base's bound, valid for W and O, plus the error of psi."""
        return self.base.log_p_error(self.sign * x) + self.loss_error(x)

    def growth(self, x: Array) -> Array:
        """The base's growth constant, as mixtures grow no faster than their components."""
        return self.base.growth(self.sign * x)

    def support(self, log_mass: float) -> tuple[float, float]:
        """Return the base's interval, mirrored for adding; each law has at most ``exp(log_mass)`` on either side."""
        low, high = self.base.support(log_mass)
        return (low, high) if self.sign > 0 else (-high, -low)


def _mixed_atoms(atoms: Atoms, rate: float) -> Atoms:
    """Return the atoms at loss psi, with the mixture (1 - q) Q + q P as the first law and Q as the second.

    The error of the base's loss, ``slip`` plus ``units`` roundings of the loss, is multiplied by the slope of psi at
    the loss plus its error, since the slope increases. The logarithm of a sum has at most the error of the logarithms
    of its terms. Where the base's loss is infinite, psi is exact.
    """
    with np.errstate(invalid="ignore"):
        log_mixture = np.logaddexp(math.log1p(-rate) + atoms.log_q, math.log(rate) + atoms.log_p)
    slip: Array | float = 0.0
    if atoms.units or np.max(atoms.slip) > 0:
        loss = np.where(np.isfinite(atoms.loss), atoms.loss, 0.0)
        off = atoms.slip + atoms.units * UNIT_ROUNDOFF * np.abs(loss)
        slip = off * mixed_slope(loss + off, mixed_loss(loss + off, rate), rate)
    return Atoms(mixed_loss(atoms.loss, rate), log_mixture, atoms.log_q, mixed_units(rate), slip, atoms.log_slip)


@dataclass(frozen=True, slots=True)
class _PoissonPair(DominatingPair):
    """Base class of the pairs for removing and for adding a record, which are computed from the base pair (W, O)."""

    base: DominatingPair
    rate: float

    add: ClassVar[bool]
    """True for the direction that adds a record."""

    seconds: ClassVar[float] = SAMPLED_SECONDS

    @property
    def variation(self) -> float:
        """Upper bound on the total variation distance: q times the base's bound, as both laws share ``(1 - q) O``."""
        return next_up(self.rate * self.base.variation, 2)

    @property
    def smooth(self) -> SmoothPart | None:
        """The base's densities after sampling; ``None`` if the base has none."""
        smooth = cast(BasePart | None, self.base.smooth)
        return None if smooth is None else PoissonSmooth(smooth, self.rate, -1 if self.add else +1)

    @property
    def transform(self) -> Transform | None:
        """The characteristic function of the finite losses; ``None`` if it is not known for the base's densities."""
        if self.base.smooth is None:
            return transform_of_atoms(self.atoms)
        return self.base.sampled_transform(self.rate, add=self.add)

    @property
    def stands_in(self) -> bool:
        """True if the base has atoms that replace outcomes cut off in its tail.

        If such an atom has loss minus infinity in the base, its loss in the mixture is finite.
        """
        return self.base.stands_in

    @property
    def limit_variance(self) -> float | None:
        """Amount that a round adds to ``mu^2`` in the central limit theorem (Bu, Dong, Long, Su 2020 [BDLS20]).

        In both directions it is ``q^2 chi^2`` with ``chi^2 = E_P e^L - 1`` of the base. It is infinite if it exceeds
        the range of a double, and ``None`` if the base has infinite losses.
        """
        if np.isinf(self.base.atoms.loss).any():
            return None
        second = self.base.log_moment(1.0)
        if second <= LARGE:
            return self.rate**2 * math.expm1(second)
        log = second + 2 * math.log(self.rate)  # the 1 that is subtracted is far below a rounding
        return math.exp(log) if log < LARGEST else math.inf

    def sampled_transform(self, rate: float, add: bool) -> SampledTransform | None:
        """Return the characteristic function after a second sampling, which multiplies the rates.

        It is ``None`` for the pair of adding a record, and where the base's is not known.
        """
        return None if self.add else self.base.sampled_transform(rate * self.rate, add)

    def _slope(self, loss: float) -> float:
        """Return the slope of psi at a loss of the base; 1 if the loss is infinite."""
        at = np.array([loss])
        return float(mixed_slope(at, mixed_loss(at, self.rate), self.rate)[0]) if loss < math.inf else 1.0

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t) after sampling, from the atoms or as the smaller of a computed and a rough bound."""
        if self.base.smooth is None:
            return self.atoms.log_moment(t)
        mix = moment.mixture_add if self.add else moment.mixture_remove
        rough, transform = mix(self._base_moment, self.rate, t), self.base.sampled_transform(self.rate, self.add)
        return rough if transform is None else min(transform.log_moment(t), rough)

    def _base_moment(self, t: float) -> float:
        """Upper bound on K(t) of the base, with its laws exchanged for adding a record."""
        if not self.add:
            return self.base.log_moment(t)
        mirror = self.base.mirror
        return math.inf if mirror is None or mirror.infinite_mass else mirror.log_moment(t)


@dataclass(frozen=True, slots=True)
class PoissonRemovePair(_PoissonPair):
    """The pair ((1 - q) O + q W, O) of removing a record, for the base pair (W, O) and the rate 0 < q < 1."""

    add: ClassVar[bool] = False

    @property
    def atoms(self) -> Atoms:
        """The base's atoms, each moved to the loss psi."""
        atoms = self.base.atoms
        if not atoms.loss.size:
            return atoms
        return _mixed_atoms(atoms, self.rate)

    @property
    def loss_range(self) -> tuple[float, float]:
        """Range of the base pair's losses, mapped by psi; an outcome impossible under W has the loss ``log(1 - q)``."""
        return _psi_range(self.base, self.rate)

    @property
    def supremum_error(self) -> float:
        """Bound on the error of the largest loss: the base's bound times the slope of psi, plus roundings of psi."""
        passed_on = self._slope(self.base.loss_range[1]) * self.base.supremum_error
        return passed_on + rounding_of(self.loss_range[1], mixed_units(self.rate))

    @property
    def mirror(self) -> PoissonAddPair:
        """The pair of adding a record."""
        return PoissonAddPair(self.base, self.rate)

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy: the base's rho or the rho of a bounded loss, whichever is smaller."""
        return min(self.base.rho, super(PoissonRemovePair, self).rho)


@dataclass(frozen=True, slots=True)
class PoissonAddPair(_PoissonPair):
    """The pair (O, (1 - q) O + q W) of adding a record, for the base pair (W, O) and the rate 0 < q < 1."""

    add: ClassVar[bool] = True

    @property
    def atoms(self) -> Atoms:
        """The base's atoms at loss -psi, in increasing order; an outcome that only W has is an atom without P-mass."""
        atoms = self.base.atoms
        if not atoms.loss.size:
            return atoms
        mixed = _mixed_atoms(atoms, self.rate).kept(np.arange(len(atoms.loss))[::-1])
        return replace(mixed, loss=-mixed.loss, log_p=mixed.log_q, log_q=mixed.log_p)

    @property
    def loss_range(self) -> tuple[float, float]:
        """The range of losses for removing a record, mirrored at 0."""
        low, high = _psi_range(self.base, self.rate)
        return -high, -low

    @property
    def supremum_error(self) -> float:
        """Bound on the error of the largest loss, including the rounding of ``-log(1 - q)``."""
        least, atoms = self.base.loss_range[0], self.base.atoms.finite()
        error = rounding_of(self.loss_range[1], mixed_units(self.rate))
        if math.isfinite(least):
            of_least = rounding_of(least, atoms.units) + float(np.max(atoms.slip, initial=0.0))
            error += self._slope(least) * of_least
        return error + 4 * UNIT_ROUNDOFF * self.rate / (1 - self.rate)

    @property
    def mirror(self) -> PoissonRemovePair:
        """The pair of removing a record."""
        return PoissonRemovePair(self.base, self.rate)

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy, the smaller of the exchanged base's rho and the rho of a bounded loss.

        By convexity the mixture is no farther from O than W is, if W has all outcomes of O. Outcomes that W lacks have
        infinite loss in the exchanged base, and its rho ignores them. Here their loss is ``-log(1 - q)``, so only the
        second rho holds.
        """
        lacking, mirror = np.isneginf(self.base.atoms.loss).any(), self.base.mirror
        of_range = super(PoissonAddPair, self).rho
        return of_range if lacking or mirror is None else min(mirror.rho, of_range)


def _psi_range(base: DominatingPair, rate: float) -> tuple[float, float]:
    low, high = base.loss_range
    if low == -math.inf and high == math.inf:
        return math.log1p(-rate), math.inf
    if np.isneginf(base.atoms.loss).any():
        low = -math.inf
    psi = mixed_loss(np.array([low, high]), rate)
    return float(psi[0]), float(psi[1])
