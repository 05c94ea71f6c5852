"""The dominating pair of a round on a batch of fixed size, drawn without replacement, when one record is replaced.

Let (B, A) dominate the mechanism when one record of a batch is replaced, at every ``b = e^eps >= 0``. Let q be the
batch size divided by the size of the dataset. Replacing a record is a symmetric relation, and (B, A) is assumed to be
its own mirror image: ``H_b(B || A) = H_b(A || B)``.

**Theorem.** Let the two datasets differ in one record. Given that this record is not in the batch, the output has the
same law mu0 for both datasets; given that it is, it has the laws mu1 and mu1'. So the two laws of the output are
``P' = (1 - q) mu0 + q mu1`` and ``Q' = (1 - q) mu0 + q mu1'``. For ``b >= 1`` (Balle, Barthe, Gaboardi 2018 [BBG18],
Theorem 2: advanced joint convexity), with ``a = 1 + (b - 1) / q`` and ``beta = b / a``,

    H_b(P' || Q') = q H_a(mu1 || (1 - beta) mu0 + beta mu1')
                 <= q max(H_a(mu1 || mu0), H_a(mu1 || mu1')) <= q H_a(B || A).

The last step is joint convexity. Given the rest of the batch, mu1 and mu1' are laws on two batches that differ in the
record in question. Given the same rest, and one more record drawn from those that are left, mu0 is the law on a batch
that differs from that of mu1 in one record.

``q H_a(B || A)`` is ``g(b) = H_b((1 - q) A + q B || A)``, the curve of a removed record. For ``b < 1``, ``H_b(P' || Q')
= 1 - b + b H_(1/b)(Q' || P') <= 1 - b + b g(1/b)``, as the datasets may be exchanged. So every instance is dominated by
the curve

    h(b) = g(b) for b >= 1,     h(b) = 1 - b + b g(1/b) for b < 1.

**The pair.** Let ``P = (1 - q) A + q B`` and ``Q = A`` be the pair of the removed record, of loss L. The curve h is
that of the pair (P*, Q*) with three parts:

- the outcomes with ``L > 0``, which have the law P under P* and Q under Q*, and the loss L;
- the same outcomes once more, mirrored: they have the law Q under P* and P under Q*, and the loss -L;
- the remaining mass, ``1 - P(L > 0) - Q(L > 0)`` under both laws, at loss 0.

The remaining mass is ``(1 - q) TV(A, B) + A(L = 0) >= 0``, as ``B(L < 0) = A(L > 0)`` for a pair that is its own mirror
image. So P* and Q* are laws. Their curve h is convex, a privacy curve, and it dominates at every b, so that rounds
compose (Zhu, Dong, Wang 2022 [ZDW22], Theorem 10). Composing the pair of the removed record alone would not be a bound:
below ``b = 1`` its curve lies under h, and the composition of curves uses every b.

**Moments.** With ``g = dP/dQ = 1 - q + q e^l``, where l is the base loss ``log dB/dA``, and
``f(g) = (1 - g^-t) (g^(1+t) - 1)``,

    E_P* e^(tL) = 1 - P(L = inf) + E_A[f(g); 0 < l < inf] ,

the sum of the three parts; all terms are positive. f is convex and increasing for g >= 1, with f(1) = 0. So the moment
has three upper bounds:

- (1) ``1 + q (e^K - 1)``, where K is that of (B, A);
- (2) ``e^K_P + 1 - (1 - q)^t``, where K_P is that of the removed record, as ``E_P e^(tL)`` differs from the moment by
  ``E_P[1 - e^(tL); L <= 0] - E_A[1 - g^-t; L > 0]``;
- (3) a sum over cells of the base loss, on each of which f lies below its chord in ``e^l``; the mean of a chord follows
  from the masses of both laws in the cell. Beyond the last cell ``E_A[g^(1+t); l > c] <= e^(K(t + s) - s c)``, where c
  is its upper end.

**Rounding.** The pair serves upper bounds only, so every rounding makes it less private: the mass at loss 0 is rounded
up, and masses are raised by the error of moving outcomes to a new origin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair, Masses, SmoothPart
from hockeystick.pairs.renyi import SLACK
from hockeystick.pairs.sampled.poisson import (
    SAMPLED_SECONDS,
    BasePart,
    PoissonRemovePair,
    PoissonSmooth,
    mixed_loss,
)

CELL = 0.03  # width of a cell of the base loss, times the order 1 + t: a chord is off by the square of this over 8
LEAST_CELLS, MOST_CELLS = 500, 20_000  # least and largest number of cells in the sum for one moment
LOG_TAIL = -120.0  # log of the part of a moment that is bounded rather than summed
TILTS = np.geomspace(0.01, 1000.0, 26)  # values of s that are tried in the bound on that part
REST_UP = 8 * UNIT_ROUNDOFF  # amount by which the mass at loss 0 is raised, because it is a difference of masses


@dataclass(frozen=True, slots=True)
class MirroredSmooth:
    """The densities of the pair (P*, Q*), as functions of an outcome x.

    The outcomes x > 0 are a removed record's outcomes of positive loss. The outcomes x < 0 are their mirror image.

    Attributes:
        base: densities of the base.
        rate: share of the records in a batch.
        start: outcome of the base that has loss 0; it becomes the outcome x = 0.
    """

    base: BasePart
    rate: float
    start: float

    kink: ClassVar[float] = 0.0
    """The outcome at which the two halves meet: densities are analytic on either side, but only continuous at it."""

    @property
    def _removed(self) -> PoissonSmooth:
        return PoissonSmooth(self.base, self.rate, +1)

    def _from(self, x: Array) -> Array:
        """Return the base's outcome ``start + |x|``."""
        return self.start + np.abs(x)

    def log_p(self, x: Array) -> Array:
        """The log-density under P*: at x > 0 that of the mixture, at x < 0 that of the law without the record."""
        at = self._from(x)
        return np.where(x >= 0, self._removed.log_p(at), self.base.log_q(at))

    def loss(self, x: Array) -> Array:
        """The loss of a removed record at the base's outcome ``start + |x|``, with the sign of x."""
        return np.sign(x) * np.maximum(self._removed.loss(self._from(x)), 0.0)

    def log_contrast(self, x: Array) -> Array:
        """The log of a bound on ``|p - q|``: the removed record's bound at the base's outcome ``start + |x|``."""
        return self._removed.log_contrast(self._from(x))

    def masses(self, x: Array) -> Masses:
        """The masses of both laws below and above each x, rounded in the direction of a less private pair."""
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
        """Return the outcome x with the given loss; it is 0 at loss 0."""
        x: Array = np.sign(loss) * np.maximum(self._removed.outcome(np.abs(loss)) - self.start, 0.0)
        return np.where(loss == 0, 0.0, x)

    def loss_error(self, x: Array) -> Array:
        """Bound on the error of the loss: twice a removed record's, which covers the rounding of ``start + |x|``."""
        return 2 * self._removed.loss_error(self._from(x))

    def log_p_error(self, x: Array) -> Array:
        """Bound on the log-density's error: twice a removed record's, which covers the rounding of ``start + |x|``."""
        return 2 * self._removed.log_p_error(self._from(x))

    def growth(self, x: Array) -> Array:
        """The base's growth constant at the outcome ``start + |x|``."""
        return self.base.growth(self._from(x))

    def support(self, log_mass: float) -> tuple[float, float]:
        """Return an interval around 0, each half of which is as long as the base's interval above :attr:`start`.

        This is enough because P* has less mass below 0 than above 0.
        """
        reach = max(self.base.support(log_mass)[1] - self.start, 0.0)
        return -reach, reach


@dataclass(frozen=True, slots=True)
class WithoutReplacementPair(DominatingPair):
    """The dominating pair (P*, Q*) of a round on a batch of fixed size when one record is replaced (see the module).

    Attributes:
        base: a pair that dominates the mechanism under replacement, and is its own mirror image.
        rate: the share of the records in a batch, between 0 and 1.
    """

    base: DominatingPair
    rate: float

    seconds: ClassVar[float] = SAMPLED_SECONDS

    @property
    def variation(self) -> float:
        """Upper bound on the total variation distance: a removed record's, as ``h(1) = g(1)`` (see the module)."""
        return self._removed.variation

    @property
    def _removed(self) -> PoissonRemovePair:
        return PoissonRemovePair(self.base, self.rate)

    @property
    def atoms(self) -> Atoms:
        """Atoms with positive loss of the pair for a removed record, their mirror images, and the rest at loss 0."""
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
        """The mass of both laws at loss 0, rounded up by the errors of the masses from which it is computed."""
        atoms = self.base.atoms
        with_record, without = np.exp(atoms.log_p + atoms.log_slip), np.exp(atoms.log_q - atoms.log_slip)
        up = atoms.loss > 0
        apart = float(with_record[up].sum() - without[up].sum())
        if self.base.smooth is not None:
            masses = self.base.smooth.masses(np.array([_start(self.base.smooth)]))
            apart += float(masses.p_above[0] - masses.q_above[0])
        same = float(with_record[atoms.loss == 0].sum())
        return ((1 - self.rate) * max(apart, 0.0) + same) * (1 + SLACK) + REST_UP

    @property
    def smooth(self) -> SmoothPart | None:
        """The densities for losses above 0 and their mirror image; ``None`` if the base has no densities."""
        smooth = cast(BasePart | None, self.base.smooth)
        return None if smooth is None else MirroredSmooth(smooth, self.rate, _start(smooth))

    @property
    def loss_range(self) -> tuple[float, float]:
        """The bounds -b and b, where b is the largest loss of a removed record."""
        high = self._removed.loss_range[1]
        return -high, high

    @property
    def supremum_error(self) -> float:
        """The error of the removed record's largest loss; 0 if that loss is infinite."""
        return self._removed.supremum_error if self.loss_range[1] < math.inf else 0.0

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy, the smaller of two.

        They are the base's rho, valid by bound (1) of the module docstring, and the rho of a bounded loss.
        """
        return min(self.base.rho, super(WithoutReplacementPair, self).rho)

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t): the least of the module docstring's bounds; (3) is used only if few cells are enough."""
        if self.base.smooth is None:
            return self.atoms.log_moment(t)
        k = self.base.log_moment(t)
        rough = moment.rounded_up(moment.log_mixture(self.rate, k), 1.0 if k > 1 else 0.0)
        removed = self._removed.log_moment(t)
        if removed < moment.MOST_EXPONENT:
            missing = -math.expm1(t * math.log1p(-self.rate))
            rough = min(rough, moment.rounded_up(math.log1p(math.expm1(removed) + missing), removed))
        else:
            rough = min(rough, moment.rounded_up(removed, 1.0))
        cells = self._by_cells(t)
        return rough if cells is None else min(rough, cells)

    def _by_cells(self, t: float) -> float | None:
        """Return bound (3) of the module docstring on K(t).

        The result is ``None`` if the bound needs too many cells or exceeds the range of a double.
        """
        smooth = self.base.smooth
        assert smooth is not None
        last, tail = self._last_cell(t)
        if not last > 0 or not last * (1 + t) <= min(MOST_CELLS * CELL, moment.MOST_EXPONENT):
            return None
        cells = max(math.ceil(last * (1 + t) / CELL), LEAST_CELLS)
        x = np.maximum.accumulate(smooth.outcome(np.linspace(0.0, last, cells + 1)))
        loss = np.maximum.accumulate(np.maximum(smooth.loss(x), 0.0))
        slip = UNIT_ROUNDOFF * (smooth.loss_error(x) + 4 * loss)
        f = _f(mixed_loss(loss + slip, self.rate), t)
        masses = smooth.masses(x)
        care = SLACK * (1 + np.square(x[:-1]))
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
        return moment.rounded_up(math.log1p((total + tail) * (1 + SLACK * (4 + t))))

    def _last_cell(self, t: float) -> tuple[float, float]:
        """Return the base loss at which the last cell ends, and a bound on the part of the moment beyond it."""
        high = self.base.loss_range[1]
        if high < math.inf:
            return high, 0.0
        ends = [((self.base.log_moment(t + s) - LOG_TAIL) / s, s) for s in TILTS.tolist()]
        return min(ends)[0], math.exp(LOG_TAIL + 1e-9)


def _start(smooth: SmoothPart) -> float:
    """Return the outcome at which the base loss is 0."""
    return float(smooth.outcome(np.zeros(1))[0])


def _f(loss: Array, t: float) -> Array:
    """Return f, ``(1 - g^-t) (g^(1+t) - 1)`` with ``g = e^loss >= 1`` (see the module)."""
    return -np.expm1(-t * loss) * np.expm1((1 + t) * loss)
