"""Losses rounded up or down to buckets ``i h``, -n <= i <= n, with a correction of most of the rounding.

**Plain.** Meiser, Mohammadi 2018 [MM18]. Bucket i holds the outcomes with ``(i - 1) h < L <= i h``. For the upper bound
on delta, a loss is rounded up to ``i h``; losses above n h become infinite, and losses below -n h are raised to -n h.
For the lower bound, a loss is rounded down to ``(i - 1) h``; losses above n h are lowered to n h, and losses below -n h
are dropped. Since ``E_P (1 - e^(eps - L))_+`` is increasing in the loss of each round, rounding up gives an upper bound
on the delta of the composition, and rounding down a lower bound.

**Corrected.** Every bucket has a mass ``a`` under P and a mass ``b`` under Q. Under composition the a are convolved,
and so are the b. If all losses in bucket i were ``i h``, b would be ``a e^(-i h)``. The difference is the error term of
the paper, ``l = b - a e^(-i h) >= 0``. The paper's rule ``l = a_1 f_1 * l_2 + a_2 f_2 * l_1 + l_1 * l_2``, with f the
factors ``e^(-i h)``, is equivalent to the convolution of b. After k rounds the losses in bucket i lie in
``((i - r) h, i h]``. For one round r = 1. The r of two laws are added when the laws are convolved; r becomes (r + 1) /
2 when two neighbouring buckets are merged. Let ``w = e^(eps - i h)`` and ``c = b e^(i h)``; c is convolved like a and
b, and is about as large as a. Then:

- *virtual error*, for the lower bound: ``delta >= sum_i (a - w c)_+``, wherever the losses lie in their buckets. This
  is data processing, since ``(A - e^eps B)_+`` is convex and homogeneous in the masses (A, B). The term of a bucket is
  exact if all its losses are at most eps, or all at least eps.
- *real error*, for the upper bound: if ``(i - r) h >= eps``, all losses of the bucket are at least eps, and its
  contribution to delta is exactly ``a - w c``. The contribution after plain rounding, ``a (1 - w)``, is larger
  by ``w (c - a)``. Outcomes raised to -n h are given the likelihood ratio of -n h, so that c = a for them (no real
  error). The resulting pair dominates the true one, and its losses in bucket i still lie in ``((i - r) h, i h]``.
- If eps lies between ``(i - r) h`` and ``i h``, the bucket contributes at most ``a (1 - w)``, as in the paper. Since a
  and c are both known, a smaller bound holds. ``(1 - e^(eps) / x)_+`` is convex in 1 / x, hence the contribution is
  largest if all losses of the bucket are at the two ends of its range. This chord bound is less than ``a (1 - w)`` by
  ``(1 - w) (c - a) / (e^(r h) - 1)``; at ``(i - r) h = eps`` it agrees with the previous item. It is an addition of
  this library.

The remaining error of either bound is at most r h times the mass between eps and ``eps + r h``. It is of second order
in k h, while the error of plain rounding is of first order. Once r h is large (:data:`MAX_CORRECTED`), there is no
gain, and c is dropped. The lower bound is then that of plain rounding, ``sum_i a (1 - e^(eps - (i - r) h))_+``, which
is also used wherever it is the larger one.

**Rounding errors.** All expressions above increase with a and decrease with c. The upper bound therefore uses an upper
bound on a and a lower bound on c; the lower bound uses a lower bound on a and an upper bound on c. For outcomes that a
convolution raises to -n h, c is multiplied by ``e^(-r h)``, after which it is at most their a. Convolutions are done by
FFT. Bounds on the parts of a and of c misplaced by their rounding are added to the upper bound on delta, and subtracted
from the lower bound; no mass has a weight above 1 in delta. Losses are off by at most ``slip``. Therefore eps is moved
by ``slip``, down for the upper bound and up for the lower bound.

The names of the errors and the paper's rule are quoted for reference; every bound is proved above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hockeystick.accountants.shared.dots import cell_masses
from hockeystick.accountants.shared.lattice import RELATIVE
from hockeystick.accountants.shared.privacy_curve import LOST, PrivacyCurve
from hockeystick.numerics.arrays import Array
from hockeystick.numerics.fourier import fast_length, transform_error
from hockeystick.numerics.lattice import SUM_ERROR
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs import DominatingPair
from hockeystick.values.side import Side

LEAST = 1e-280  # smallest mass under Q of a bucket with full precision
MAX_CORRECTED = 2.0  # smallest r h without correction


@dataclass(frozen=True)
class Correction:
    """Masses of the buckets under Q, each multiplied by ``e^(i h)`` for bucket i (c of the module docstring).

    Attributes:
        mass: c, shape (2n + 1,); rounded down when it serves the upper bound on delta, up when it serves the lower.
        error: bound on the mass misplaced by rounding.
    """

    mass: Array
    error: float


@dataclass(frozen=True)
class Buckets:
    """Law of the loss, rounded up or down to buckets.

    Attributes:
        width: width h.
        mass: mass a of each bucket i = -n .. n, whose losses are at most ``i h``, shape (2n + 1,).
        infinite: mass at infinite loss.
        error: bound on the mass misplaced by rounding.
        slip: bound on the rounding error of the losses.
        side: ``ABOVE`` if deltas of this law are upper bounds, ``BELOW`` if they are lower bounds.
        reach: r; the losses in bucket i lie in ``((i - r) h, i h]``.
        correction: c, or None for plain rounding.
    """

    width: float
    mass: Array
    infinite: float
    error: float
    slip: float
    side: Side
    reach: float
    correction: Correction | None = None

    @classmethod
    def of(cls, pair: DominatingPair, width: float, half: int, side: Side, corrected: bool) -> Buckets:
        """Return the law of one round; if ``corrected``, with the masses under Q that the correction needs."""
        edges = width * np.arange(-half, half + 1, dtype=np.float64)
        curve = PrivacyCurve(pair)
        p, p_error, q, q_error = cell_masses(curve, edges)
        above, below = float(curve.above(edges[-1:])[0][0]), float(curve.below(edges[:1])[0][0])
        slip = 4 * UNIT_ROUNDOFF * width * half
        mass, found = np.zeros(2 * half + 1), None
        if side is Side.ABOVE:
            mass[1:] = p + p_error
            mass[0] = below * (1 + RELATIVE)
            infinite = above * (1 + RELATIVE)
            if corrected and width < MAX_CORRECTED:
                own = np.maximum(q - q_error, 0.0) * np.exp(np.minimum(edges[1:], LARGEST))
                lifted = np.append(below, np.maximum(own, p - p_error))  # the loss is at most the bucket's
                found = Correction(lifted * (1 - RELATIVE), LOST)
            return cls(width, mass, infinite, LOST, slip, side, 1.0, found)
        mass[1:] = np.maximum(p - p_error, 0.0)
        if corrected and width < MAX_CORRECTED:
            far = (edges[1:] > LARGEST) | (q + q_error < LEAST)  # the product of both has lost its precision
            most = (p + p_error) * math.exp(width)  # the loss is at least that of the bucket below
            own = np.where(far, most, (q + q_error) * np.exp(np.where(far, 0.0, edges[1:])))
            lifted = np.append(0.0, np.minimum(own, most))
            lifted[-1] += above  # losses above n h
            found = Correction(lifted * (1 + RELATIVE), LOST)
        mass[-1] += above * (1 - RELATIVE)
        return cls(width, mass, 0.0, LOST, slip, side, 1.0, found)

    @property
    def half(self) -> int:
        """Number n of buckets on either side of bucket 0."""
        return len(self.mass) // 2

    def squared(self) -> Buckets:
        """Return the law with buckets of twice the width; each of them is the union of two neighbours."""
        index = np.arange(-self.half, self.half + 1)
        to = -(-index // 2) + self.half
        size = len(self.mass)
        mass = np.bincount(to, weights=self.mass, minlength=size).astype(np.float64)
        width, reach = 2 * self.width, 0.5 * (self.reach + 1)
        found = self.correction if reach * width < MAX_CORRECTED else None
        if found is not None:
            grown = found.mass * np.where(index % 2, math.exp(self.width), 1.0)  # the bucket below goes up by h
            lifted = np.bincount(to, weights=grown, minlength=size).astype(np.float64)
            error = found.error * math.exp(self.width) + RELATIVE * float(lifted.sum())
            found = Correction(lifted, error)
        return replace(self, width=width, mass=mass, error=self.error + SUM_ERROR, reach=reach, correction=found)

    def convolved(self, other: Buckets, negligible: float) -> Buckets:
        """Return the composition of two laws.

        The width of their buckets is doubled until they agree and at most about ``negligible`` mass lies above n h.
        """
        a, b = self, other
        while True:
            while a.width < b.width:
                a = a.squared()
            while b.width < a.width:
                b = b.squared()
            n = a.half
            full, error = convolution(a.mass, b.mass)
            over = float(full[3 * n + 1 :].sum())
            if over <= negligible + error:
                break
            same = a is b
            a = a.squared()
            b = a if same else b.squared()
        mass = full[n : 3 * n + 1].copy()
        infinite = a.infinite + b.infinite - a.infinite * b.infinite
        if self.side is Side.ABOVE:
            mass[0] += full[:n].sum()
            infinite += over
        else:
            mass[-1] += over
        # all masses together err by at most ``error``; each law's own error is multiplied by the other's total mass
        size = max(float(a.mass.sum()), float(b.mass.sum()), 1.0)
        misplaced = error + (a.error + b.error) * size + a.error * b.error + SUM_ERROR * over
        made = Buckets(a.width, mass, infinite, misplaced, a.slip + b.slip, self.side, a.reach + b.reach)
        return replace(made, correction=_corrected(a, b, made))

    def log_delta(self, epsilon: float) -> float:
        """Return the logarithm of a bound on delta: an upper bound if ``side`` is ``ABOVE``, else a lower bound."""
        losses = self.width * np.arange(-self.half, self.half + 1, dtype=np.float64)
        at = epsilon - self.side * self.slip
        start = int(np.searchsorted(losses, at, side="right"))
        mass, beyond = self.mass[start:], losses[start:] - at
        lifted = None if self.correction is None else self.correction.mass[start:]
        low = beyond - self.reach * self.width * (1 + 1e-15)  # smallest losses of the buckets
        if self.side is Side.ABOVE:
            found, error = float((mass * -np.expm1(-beyond)).sum()), self.error
            if self.correction is not None and lifted is not None:
                apart = self.reach * self.width * (1 + 1e-15) + 2 * self.slip
                chord = -np.expm1(-beyond) / math.expm1(apart)
                share = np.where(low >= 2 * self.slip, np.exp(-beyond), chord)
                back = float((share * np.maximum(lifted - mass, 0.0)).sum()) * (1 - RELATIVE)
                found -= max(back - self.correction.error - self.error, 0.0)
        else:
            found, error = float((mass * -np.expm1(-np.maximum(low, 0.0))).sum()), self.error
            if self.correction is not None and lifted is not None:
                own = float(np.maximum(mass - np.exp(-beyond) * lifted * (1 + SUM_ERROR), 0.0).sum())
                if own - self.correction.error > found:
                    found, error = own, self.error + self.correction.error
        total = (self.infinite + found) * (1 + self.side * 10 * SUM_ERROR) + self.side * error
        return min(math.log(total), 0.0) if total > 0 else -math.inf


def _corrected(a: Buckets, b: Buckets, made: Buckets) -> Correction | None:
    """Correction of ``made``, the composition of a and b; ``None`` if its r h is too large for a correction to help."""
    one, two = a.correction, b.correction
    if one is None or two is None or made.reach * made.width >= MAX_CORRECTED:
        return None
    n = a.half
    full, error = convolution(one.mass, two.mass if a is not b else one.mass)
    lifted = full[n : 3 * n + 1].copy()
    if made.side is Side.ABOVE:
        lifted[0] += full[:n].sum() * math.exp(-made.reach * made.width) * (1 - RELATIVE)
    else:
        beyond = full[3 * n + 1 :]  # losses lowered to n h
        lifted[-1] += float((beyond * np.exp(-made.width * np.arange(1, len(beyond) + 1))).sum()) * (1 + RELATIVE)
    size = max(float(one.mass.sum()), float(two.mass.sum()), 1.0)
    misplaced = error + (one.error + two.error) * size + one.error * two.error + SUM_ERROR * size
    return Correction(lifted, misplaced)


def convolution(a: Array, b: Array) -> tuple[Array, float]:
    """Return the linear convolution of two non-negative arrays, and a bound on the mass that its rounding misplaces.

    Let x be the largest entry of a, y that of b, and a', b' the arrays with these entries set to 0. Then
    ``(x + a') * (y + b') = x y + x b' + y a' + a' * b'``, and only ``a' * b'`` uses Fourier transforms. Each of three
    transforms has a relative error e in the 2-norm (``numerics/fourier.py``). The error of ``a' * b'`` is therefore at
    most ``(3 e + 3 u) |a'|_2 |b'|_1`` in the 2-norm, with u the unit roundoff. The sum of the errors of its n entries
    is at most sqrt(n) times this bound.
    """
    from scipy.fft import irfft, rfft

    length = len(a) + len(b) - 1
    n = fast_length(length)
    at, place = int(np.argmax(a)), int(np.argmax(b))
    rest = [np.where(np.arange(len(one)) == heaviest, 0.0, one) for one, heaviest in ((a, at), (b, place))]
    # the true entries are not negative, so raising a negative one to 0 reduces its error
    total = np.maximum(irfft(rfft(rest[0], n) * rfft(rest[1], n), n)[:length], 0.0)
    size = min(float(np.linalg.norm(one) * other.sum()) for one, other in (rest, rest[::-1]))
    misplaced = math.sqrt(length) * (3 * transform_error(n) + 4 * UNIT_ROUNDOFF) * size
    total[at : at + len(b)] += a[at] * b
    total[place : place + len(a)] += b[place] * rest[0]
    return total, misplaced + 8 * UNIT_ROUNDOFF * float(total.sum()) + LOST
