"""The dominating pair of a round on a batch of fixed size, drawn without replacement, when one record is replaced.

Let (B, A) dominate the mechanism when one record of a batch is replaced, at every ``b = e^eps >= 0``, and let q be the
batch size divided by the size of the dataset. Replacing a record is a symmetric relation, and (B, A) is taken to be its
own mirror image: ``H_b(B || A) = H_b(A || B)``.

**Theorem.** Let the two datasets differ in one record. With mu0 the law of the output given that it is not in the
batch, mu1 and mu1' the laws given that it is, the two laws are ``P' = (1 - q) mu0 + q mu1`` and ``Q' = (1 - q) mu0 + q
mu1'``. For ``b >= 1`` (Balle, Barthe, Gaboardi 2018 [BBG18], Theorem 2: advanced joint convexity), with ``a = 1 + (b -
1) / q`` and ``beta = b / a``,

    H_b(P' || Q') = q H_a(mu1 || (1 - beta) mu0 + beta mu1')
                 <= q max(H_a(mu1 || mu0), H_a(mu1 || mu1')) <= q H_a(B || A).

The last step is joint convexity: mu1 and mu1' are mixtures over the rest of the batch, of laws on batches that differ
in that record; and mu0 is a mixture, over the same rest and one more record drawn from those that are left, of laws on
batches that differ from those of mu1 in one record. ``q H_a(B || A)`` is ``g(b) = H_b((1 - q) A + q B || A)``, the
curve of a removed record. For ``b < 1``, ``H_b(P' || Q') = 1 - b + b H_(1/b)(Q' || P') <= 1 - b + b g(1/b)``, as the
datasets may be exchanged. So every instance is dominated by the curve

    h(b) = g(b) for b >= 1,     h(b) = 1 - b + b g(1/b) for b < 1.

**The pair.** Let (P, Q) be that of the removed record, ``P = (1 - q) A + q B`` and ``Q = A``, of loss L. The curve h is
that of the pair (P*, Q*) which has, under P* and Q*,

- P and Q where ``L > 0``: losses L;
- their mirror image, Q and P with the loss -L: the same outcomes once more;
- the rest, ``1 - P(L > 0) - Q(L > 0)`` of both, at loss 0.

The rest is ``(1 - q) TV(A, B) + A(L = 0) >= 0``, as ``B(L < 0) = A(L > 0)`` for a pair that is its own mirror image.
That it is a law makes h convex: it is a privacy curve, and dominates at every b, so that rounds compose (Zhu, Dong,
Wang 2022 [ZDW22], Theorem 10). Composing the pair of the removed record alone would not be a bound: below ``b = 1`` its
curve lies under h, and the composition of curves uses every b.

**Moments.** With ``g = dP/dQ = 1 - q + q e^l``, l the base loss, and ``f(g) = (1 - g^-t) (g^(1+t) - 1)``,

    E_P* e^(tL) = 1 - P(L = inf) + E_A[f(g); 0 < l < inf],

which follows by adding up the three parts; all terms are positive. f is convex and increasing for g >= 1 with f(1) = 0.
So the moment is at most (1) ``1 + q (e^K - 1)``, K that of (B, A); (2) ``e^K_P + 1 - (1 - q)^t``, K_P that of the
removed record, as ``E_P e^(tL)`` differs by ``E_P[1 - e^(tL); L <= 0] - E_A[1 - g^-t; L > 0]``; (3) the sum over cells
of the base loss, on each of which f lies below its chord in ``e^l``: the mean of a chord follows from the masses of
both laws. Beyond the last cell ``E_A[g^(1+t); l > c] <= e^(K(t + s) - s c)``.

**Rounding.** The pair serves upper bounds only, and errs to that side: the rest is rounded up, and masses are raised by
the error that shifting outcomes to their new origin causes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair, Masses, SmoothPart
from hockeystick.pairs.sampled.poisson import (
    SAMPLED_SECONDS,
    BasePart,
    PoissonRemovePair,
    PoissonSmooth,
    mixed_loss,
)

CELL = 0.03  # width of a cell of the base loss times the order 1 + t: a chord is off by its square over 8
LEAST_CELLS, MOST_CELLS = 500, 20_000  # of one moment
LOG_TAIL = -120.0  # log of the part of a moment that is bounded rather than summed
TILTS = np.geomspace(0.01, 1000.0, 26)  # of the bound on it
CARE = 64 * UNIT_ROUNDOFF  # relative: the roundings of a mass or of a term
REST_UP = 8 * UNIT_ROUNDOFF  # by which the mass at loss 0 is raised, because it is a difference of masses


@dataclass(frozen=True, slots=True)
class MirroredSmooth:
    """Smooth part of a removed record: outcomes of positive loss right of 0, and their mirror image left of it.

    Attributes:
        base: densities of the base.
        rate: share of the records in a batch.
        start: outcome of the base with loss 0, which becomes the outcome 0.
    """

    base: BasePart
    rate: float
    start: float

    kink: ClassVar[float] = 0.0
    """The outcome at which the two halves meet: densities are analytic on either side, and only continuous there."""

    @property
    def _removed(self) -> PoissonSmooth:
        return PoissonSmooth(self.base, self.rate, +1)

    def _from(self, x: Array) -> Array:
        """Return the base's outcome at distance ``|x|`` from :attr:`start`."""
        return self.start + np.abs(x)

    def log_p(self, x: Array) -> Array:
        """Log-density of the mixture to the right, and of the law without the record to the left."""
        at = self._from(x)
        return np.where(x >= 0, self._removed.log_p(at), self.base.log_q(at))

    def loss(self, x: Array) -> Array:
        """The loss of the removed record with the sign of x."""
        return np.sign(x) * np.maximum(self._removed.loss(self._from(x)), 0.0)

    def log_contrast(self, x: Array) -> Array:
        """The contrast of the removed record's laws, on either side."""
        return self._removed.log_contrast(self._from(x))

    def masses(self, x: Array) -> Masses:
        """Sums of positive masses, and of comparatively small differences, rounded towards a worse pair."""
        at = self._from(x)
        far, near = self.base.masses(at), self.base.masses(np.array([self.start]))
        q = self.rate
        left_out = near.q_above - far.q_above  # of the law without the record, between 0 and |x|
        p_out, q_out = (1 - q) * far.q_above + q * far.p_above, far.q_above
        p_in = near.q_above + (1 - q) * np.maximum(left_out, 0.0) + q * np.maximum(far.p_below - near.p_below, 0.0)
        q_in = (1 - q) * near.q_above + q * near.p_above + np.maximum(left_out, 0.0)
        care = 4 * UNIT_ROUNDOFF * abs(self.start) * (abs(self.start) + 2 * np.abs(x))
        p_out, q_out = p_out * (1 + care), q_out * np.maximum(1 - care, 0.0)
        right = x >= 0
        return Masses(
            np.where(right, p_in, q_out),
            np.where(right, p_out, q_in),
            np.where(right, q_in, p_out),
            np.where(right, q_out, p_in),
        )

    def outcome(self, loss: Array) -> Array:
        """Inverse of the loss; 0 at loss 0."""
        x: Array = np.sign(loss) * np.maximum(self._removed.outcome(np.abs(loss)) - self.start, 0.0)
        return np.where(loss == 0, 0.0, x)

    def loss_error(self, x: Array) -> Array:
        """Twice the error for a removed record, which covers the rounding of the outcome's distance from the start."""
        return 2 * self._removed.loss_error(self._from(x))

    def log_p_error(self, x: Array) -> Array:
        """Twice the error for a removed record, which also covers that rounding."""
        return 2 * self._removed.log_p_error(self._from(x))

    def growth(self, x: Array) -> Array:
        """The base's growth at the outcome that x represents."""
        return self.base.growth(self._from(x))

    def support(self, log_mass: float) -> tuple[float, float]:
        """The upper reach of the base on both sides: P has less mass to the left than to the right."""
        reach = max(self.base.support(log_mass)[1] - self.start, 0.0)
        return -reach, reach


@dataclass(frozen=True, slots=True)
class WithoutReplacementPair(DominatingPair):
    """The pair (P*, Q*) of the module; the base is its own mirror image, and dominates under replacement.

    The rate lies strictly between 0 and 1.
    """

    base: DominatingPair
    rate: float

    seconds: ClassVar[float] = SAMPLED_SECONDS

    @property
    def variation(self) -> float:
        """Total variation distance of the removed record's pair: ``h(1) = g(1)`` for the curves of the module."""
        return self._removed.variation

    @property
    def _removed(self) -> PoissonRemovePair:
        return PoissonRemovePair(self.base, self.rate)

    @property
    def atoms(self) -> Atoms:
        """The atoms of positive loss of the removed record, their mirror images, and the remaining mass at loss 0."""
        base = self.base.atoms
        up, at_zero = self._removed.atoms.kept(base.loss > 0), base.kept(base.loss == 0)
        rest = math.log(self.rest)
        rest_slip = float(np.max(at_zero.slip, initial=0.0))
        slip, log_slip = (np.broadcast_to(error, up.loss.shape) for error in (up.slip, up.log_slip))
        return Atoms(
            np.concatenate([-up.loss[::-1], [0.0], up.loss]),
            np.concatenate([up.log_q[::-1], [rest], up.log_p]),
            np.concatenate([up.log_p[::-1], [rest], up.log_q]),
            up.units,
            np.concatenate([slip[::-1], [rest_slip], slip]),
            np.concatenate([log_slip[::-1], [0.0], log_slip]),
        )

    @property
    def rest(self) -> float:
        """The mass at loss 0, rounded up by the error of the masses."""
        atoms = self.base.atoms
        with_record, without = np.exp(atoms.log_p + atoms.log_slip), np.exp(atoms.log_q - atoms.log_slip)
        up = atoms.loss > 0
        apart = float(with_record[up].sum() - without[up].sum())
        if self.base.smooth is not None:
            masses = self.base.smooth.masses(np.array([_start(self.base.smooth)]))
            apart += float(masses.p_above[0] - masses.q_above[0])
        same = float(with_record[atoms.loss == 0].sum())
        return ((1 - self.rate) * max(apart, 0.0) + same) * (1 + CARE) + REST_UP

    @property
    def smooth(self) -> SmoothPart | None:
        """The densities above loss 0 and their mirror image; ``None`` if the base has none."""
        smooth = cast(BasePart | None, self.base.smooth)
        return None if smooth is None else MirroredSmooth(smooth, self.rate, _start(smooth))

    @property
    def loss_range(self) -> tuple[float, float]:
        """The largest loss of a removed record, either way."""
        high = self._removed.loss_range[1]
        return -high, high

    @property
    def supremum_error(self) -> float:
        """The error of the removed record's largest loss; 0 if that loss is infinite."""
        return self._removed.supremum_error if self.loss_range[1] < math.inf else 0.0

    @property
    def rho(self) -> float:
        """The smaller of the base's rho, valid by bound (1) of the module, and the rho from a bounded loss."""
        return min(self.base.rho, super(WithoutReplacementPair, self).rho)

    @property
    def mirrored_rho(self) -> float:
        """The rho of the pair, which is its own mirror image."""
        return self.rho

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t): the least of the module's bounds, with (3) if few cells are enough."""
        if self.base.smooth is None:
            return self.atoms.log_moment(t)
        k = self.base.log_moment(t)
        rough = moment.rounded_up(moment.log_mixture(self.rate, k), 1.0 if k > 1 else 0.0)
        removed = self._removed.log_moment(t)
        if removed < moment.DIRECT:
            missing = -math.expm1(t * math.log1p(-self.rate))
            rough = min(rough, moment.rounded_up(math.log1p(math.expm1(removed) + missing), removed))
        else:
            rough = min(rough, moment.rounded_up(removed, 1.0))
        cells = self._by_cells(t)
        return rough if cells is None else min(rough, cells)

    def _by_cells(self, t: float) -> float | None:
        """Return the bound (3) on K(t); ``None`` if it needs too many cells or leaves the range of a double."""
        smooth = self.base.smooth
        assert smooth is not None
        last, tail = self._last_cell(t)
        if not last > 0 or not last * (1 + t) <= min(MOST_CELLS * CELL, moment.DIRECT):
            return None
        cells = max(math.ceil(last * (1 + t) / CELL), LEAST_CELLS)
        x = np.maximum.accumulate(smooth.outcome(np.linspace(0.0, last, cells + 1)))
        loss = np.maximum.accumulate(np.maximum(smooth.loss(x), 0.0))
        slip = UNIT_ROUNDOFF * (smooth.loss_error(x) + 4 * loss)
        f = _f(mixed_loss(loss + slip, self.rate), t)
        masses = smooth.masses(x)
        care = CARE * (1 + np.square(x[:-1]))
        mass = -np.diff(masses.q_above) + care * masses.q_above[:-1]
        size = masses.p_above[:-1] + np.exp(loss[:-1]) * masses.q_above[:-1]
        gap = np.exp(loss[:-1]) * np.expm1(np.diff(loss))
        lifted = -np.diff(masses.p_above) - np.exp(loss[:-1]) * -np.diff(masses.q_above)
        doubt = (care + slip[1:] + slip[:-1]) * size
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.where(gap > 0, np.clip((lifted + doubt) / gap, 0.0, mass), mass)
        total = float((mass * f[:-1] + up * np.diff(f)).sum())
        base = self.base.atoms.loss
        seen = self._removed.atoms.kept((base > 0) & np.isfinite(base))
        total += float((np.exp(seen.log_q + seen.log_slip) * _f(seen.loss + seen.slip, t)).sum())
        return moment.rounded_up(math.log1p((total + tail) * (1 + CARE * (4 + t))))

    def _last_cell(self, t: float) -> tuple[float, float]:
        """Return the base loss at which cells end, and a bound on the moment beyond it."""
        high = self.base.loss_range[1]
        if high < math.inf:
            return high, 0.0
        ends = [((self.base.log_moment(t + s) - LOG_TAIL) / s, s) for s in TILTS.tolist()]
        return min(ends)[0], math.exp(LOG_TAIL + 1e-9)


def _start(smooth: SmoothPart) -> float:
    """Return the outcome at which the base loss is 0."""
    return float(smooth.outcome(np.zeros(1))[0])


def _f(loss: Array, t: float) -> Array:
    """``(1 - g^-t) (g^(1+t) - 1)`` with ``g = e^loss >= 1``."""
    return -np.expm1(-t * loss) * np.expm1((1 + t) * loss)
