"""Certified cumulants of tilted privacy losses, from two-sided values of K on the real line.

Let X = L - c, with expectations E under the law tilted by t, ``psi(u) = E e^(uX) = e^(K(t + u) - K(t) - cu)`` and
``M_j = E X^j``. The moments are bounded by values of K at t, ``t +- h`` and ``t +- 2h``, which are known up to
certified errors (``pairs/transform.py``):

- ``A(h) = (psi(h) + psi(-h) - 2) / h^2 = sum_j 2 h^(2j - 2) M_2j / (2j)!``, with all terms positive. Hence
  ``(4 A(h) - A(2h)) / 3 <= M_2 <= A(h)``.
- ``B(h) = (psi(h) - psi(-h)) / (2h)``. By ``sinh(z)/z - 1 <= (cosh(z) - 1)/3`` and the Cauchy-Schwarz inequality,
  ``|B(h) - M_1| <= (h/3) sqrt(A(h) (A(2h) - A(h)))``, since ``E (cosh(hX) - 1)^2 = h^2 (A(2h) - A(h))``.

- ``A(2h) - A(h)`` has positive terms too, and the first one is ``h^2 M_4 / 4``. By the Cauchy-Schwarz inequality the
  third absolute moment is at most ``sqrt(M_2 M_4) <= (2/h) sqrt(A(h) (A(2h) - A(h)))``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hockeystick.accountants.shared.tilted import Cumulants
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs import DominatingPair
from hockeystick.pairs.transform import Transform
from hockeystick.values.errors import NotApplicableError

STEP = 0.02  # h, in units of sqrt(M_2 / M_4) of the tilted loss
TOLERANCE = 1e-18  # bound on the analytic remainders of K
OUT_OF_REACH = "the cumulants cannot be evaluated at the tilt that delta needs; raise delta, or use accountant 'rdp'"
"""Reason for refusing a tilt."""

BERRY_ESSEEN = 0.56  # Shevtsova 2010 [She10], for sums of unequal terms
RELATIVE_SLACK = 1e-12  # relative slack that covers some dozens of roundings


class Interval(NamedTuple):
    """Certified lower and upper bound on a number."""

    low: float
    high: float


class TiltedMoments(NamedTuple):
    """Bounds for one round's loss L tilted by t: on K(t), mean and variance, and an upper one on ``E |L - E L|^3``."""

    log: Interval
    mean: Interval
    variance: Interval
    third: float


def representable(t: float) -> float:
    """Return t rounded to 24 bits, so that t + h and t + 2h are exact for every power of two h >= 2^-28 t."""
    return float(np.float32(t))


def moments_of(pair: DominatingPair, t: float, about: Cumulants) -> TiltedMoments:
    """Return certified bounds on the moments of one round, tilted by a t that :func:`representable` returned.

    ``about`` holds the cumulants by quadrature. They determine the c and h of the module docstring only; the bounds are
    valid whatever their accuracy.

    Raises:
        NotApplicableError: the pair has no two-sided values of K.
    """
    transform = pair.transform
    if transform is None:
        raise NotApplicableError("a round has no certified moments; set order to 1 or 2, or use accountant 'grid'")
    c = about.mean
    fourth = about.fourth + 3 * about.variance**2
    h = min(STEP * math.sqrt(about.variance / fourth), 0.49 * t) if fourth > 0 else 0.49 * t
    h = 2.0 ** math.floor(math.log2(max(h, t * 2.0**-27)))
    centre = _value(transform, t)
    up, down, up2, down2 = (_psi_minus_one(transform, t, centre, c, u) for u in (h, -h, 2 * h, -2 * h))
    once = Interval((up.low + down.low) / h**2, (up.high + down.high) / h**2)
    twice = Interval((up2.low + down2.low) / (4 * h**2), (up2.high + down2.high) / (4 * h**2))
    second = Interval((4 * once.low - twice.high) / 3 * (1 - RELATIVE_SLACK), once.high * (1 + RELATIVE_SLACK))
    root = math.sqrt(max(once.high, 0.0) * max(twice.high - once.low, 0.0)) * (1 + RELATIVE_SLACK)
    remainder, third = h / 3 * root, 2 / h * root
    first = Interval((up.low - down.high) / (2 * h) - remainder, (up.high - down.low) / (2 * h) + remainder)
    off = max(abs(first.low), abs(first.high))
    slack = 8 * UNIT_ROUNDOFF * (abs(c) + off)
    apart = third ** (1 / 3) + off
    return TiltedMoments(
        centre,
        Interval(c + first.low - slack, c + first.high + slack),
        Interval(second.low - off * off * (1 + RELATIVE_SLACK), second.high),
        apart * apart * apart * (1 + RELATIVE_SLACK),  # infinite on overflow
    )


def _value(transform: Transform, t: float) -> Interval:
    values, errors = transform.line(t, 0.0, TOLERANCE).cumulants(1.0, 1)
    value, error = float(values[0].real), float(errors[0])
    if not math.isfinite(value + error):
        raise NotApplicableError(OUT_OF_REACH)
    error = error * (1 + RELATIVE_SLACK) + UNIT_ROUNDOFF * abs(value)
    return Interval(value - error, value + error)


def _psi_minus_one(transform: Transform, t: float, centre: Interval, c: float, u: float) -> Interval:
    found = _value(transform, t + u)
    care = 8 * UNIT_ROUNDOFF * (abs(found.high) + abs(centre.high) + abs(c * u))
    low, high = found.low - centre.high - c * u - care, found.high - centre.low - c * u + care
    if high > LARGEST:
        raise NotApplicableError(OUT_OF_REACH)
    low, high = math.expm1(low), math.expm1(high)
    return Interval(low - 8 * UNIT_ROUNDOFF * abs(low), high + 8 * UNIT_ROUNDOFF * abs(high))
