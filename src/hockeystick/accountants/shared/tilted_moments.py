"""Certified cumulants of tilted privacy losses, from two-sided values of K on the real line.

Let X = L - c, with expectations E under the law tilted by t, ``psi(u) = E e^(uX) = e^(K(t + u) - K(t) - cu)`` and
``M_j = E X^j``. The moments are bounded by values of K at t, ``t +- h`` and ``t +- 2h``, which are known up to
certified errors (``pairs/transform.py``):

- ``A(h) = (psi(h) + psi(-h) - 2) / h^2 = sum_j 2 h^(2j - 2) M_2j / (2j)!``, with all terms positive. Hence
  ``(4 A(h) - A(2h)) / 3 <= M_2 <= A(h)``.
- ``B(h) = (psi(h) - psi(-h)) / (2h)``. By ``sinh(z)/z - 1 <= (cosh(z) - 1)/3`` and the Cauchy-Schwarz inequality,
  ``|B(h) - M_1| <= (h/3) sqrt(A(h) (A(2h) - A(h)))``, since ``E (cosh(hX) - 1)^2 = h^2 (A(2h) - A(h))``.

For the third absolute moment, the range of the outcome is divided into cells. Each cell contributes at most its mass,
which has a closed form, times the largest value of ``|y|^3 e^(ty)`` on it, with y = L - c. The right tail is bounded by
``|y|^3 <= (3 / (e eta))^3 e^(eta y)`` and K at a larger argument. The left tail contributes at most its mass times
``(3 / (e t))^3``, the maximum of ``|y|^3 e^(ty)`` over y < 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hockeystick.accountants.shared.lattice import RELATIVE
from hockeystick.accountants.shared.privacy_curve import END_OF_RANGE, outcome_roundings
from hockeystick.accountants.shared.tilted import Cumulants
from hockeystick.numerics.rounding import LARGEST, SMALLEST_NORMAL, UNIT_ROUNDOFF
from hockeystick.pairs import DominatingPair
from hockeystick.pairs.transform import Transform
from hockeystick.values.errors import NotApplicableError

STEP = 0.02  # h, in units of sqrt(M_2 / M_4) of the tilted loss
TOLERANCE = 1e-18  # bound on the analytic remainders of K
CELLS = 8192  # number of cells of the outcome for the bound on the third moment
HALF_ORDERS = (0.5, 1.0, 2.0, 4.0)  # values of eta = tau tried in the bound on the tail
OUT_OF_REACH = "the cumulants cannot be evaluated at the tilt that delta needs; raise delta, or use accountant 'rdp'"
"""Reason for refusing a plan: its tilt is out of range."""

BERRY_ESSEEN = 0.56  # Shevtsova 2010 [She10], for sums of unequal terms


class Interval(NamedTuple):
    """Certified lower and upper bound on a number."""

    low: float
    high: float


class TiltedMoments(NamedTuple):
    """Bounds on K(t), mean and variance of one round's tilted loss L, and an upper bound on ``E |L - E L|^3``."""

    log: Interval
    mean: Interval
    variance: Interval
    third: float


def representable(t: float) -> float:
    """Return t rounded to 24 bits, so that t + h and t + 2h are exact for every power of two h >= 2^-28 t."""
    return float(np.float32(t))


def moments_of(pair: DominatingPair, t: float, about: Cumulants) -> TiltedMoments:
    """Return certified bounds on the moments of one round, tilted by a t that :func:`representable` returned.

    ``about`` holds the cumulants by quadrature. They only determine c and h of the module docstring; the bounds are
    valid whatever their accuracy.

    Raises:
        NotApplicableError: the pair has no two-sided values of K.
    """
    transform = pair.transform
    if transform is None:
        raise NotApplicableError("a round has no certified moments; set order to 1 or 2, or use accountant 'grid'")
    c = about.mean
    fourth = about.fourth + 3 * about.variance**2
    h = min(STEP * math.sqrt(about.variance / fourth), t / 4) if fourth > 0 else t / 4
    h = 2.0 ** math.floor(math.log2(max(h, t * 2.0**-27)))
    centre = _value(transform, t)
    up, down, up2, down2 = (_psi_minus_one(transform, t, centre, c, u) for u in (h, -h, 2 * h, -2 * h))
    once = Interval((up.low + down.low) / h**2, (up.high + down.high) / h**2)
    twice = Interval((up2.low + down2.low) / (4 * h**2), (up2.high + down2.high) / (4 * h**2))
    second = Interval((4 * once.low - twice.high) / 3 * (1 - RELATIVE), once.high * (1 + RELATIVE))
    remainder = h / 3 * math.sqrt(max(once.high, 0.0) * max(twice.high - once.low, 0.0)) * (1 + RELATIVE)
    first = Interval((up.low - down.high) / (2 * h) - remainder, (up.high - down.low) / (2 * h) + remainder)
    off = max(abs(first.low), abs(first.high))
    slack = 8 * UNIT_ROUNDOFF * (abs(c) + off)
    apart = (_third_about(pair, t, c, centre.low) * (1 + RELATIVE)) ** (1 / 3) + off
    return TiltedMoments(
        centre,
        Interval(c + first.low - slack, c + first.high + slack),
        Interval(second.low - off * off * (1 + RELATIVE), second.high),
        apart * apart * apart * (1 + RELATIVE),  # infinite on overflow
    )


def _value(transform: Transform, t: float) -> Interval:
    values, errors = transform.line(t, 0.0, TOLERANCE).cumulants(1.0, 1)
    value, error = float(values[0].real), float(errors[0])
    if not math.isfinite(value + error):
        raise NotApplicableError(OUT_OF_REACH)
    error = error * (1 + RELATIVE) + UNIT_ROUNDOFF * abs(value)
    return Interval(value - error, value + error)


def _psi_minus_one(transform: Transform, t: float, centre: Interval, c: float, u: float) -> Interval:
    found = _value(transform, t + u)
    care = 8 * UNIT_ROUNDOFF * (abs(found.high) + abs(centre.high) + abs(c * u))
    low, high = found.low - centre.high - c * u - care, found.high - centre.low - c * u + care
    if high > LARGEST:
        raise NotApplicableError(OUT_OF_REACH)
    low, high = math.expm1(low), math.expm1(high)
    return Interval(low - 8 * UNIT_ROUNDOFF * abs(low), high + 8 * UNIT_ROUNDOFF * abs(high))


def _third_about(pair: DominatingPair, t: float, c: float, log: float) -> float:
    """Upper bound on ``E_P [|L - c|^3 e^(tL - log); L < inf]``; ``inf`` on overflow."""
    atoms = pair.atoms.finite()
    seen = np.isfinite(atoms.log_p)
    total = float((np.exp(atoms.log_p[seen] + t * atoms.loss[seen] - log) * np.abs(atoms.loss[seen] - c) ** 3).sum())
    smooth = pair.smooth
    if smooth is None:
        return total * (1 + RELATIVE)
    x = np.linspace(*smooth.support(END_OF_RANGE), CELLS + 1)
    masses = smooth.masses(x)
    doubt = (64 + 4 * outcome_roundings(x)) * UNIT_ROUNDOFF
    below = np.diff(masses.p_below) + (masses.p_below * doubt)[1:] + (masses.p_below * doubt)[:-1]
    above = -np.diff(masses.p_above) + (masses.p_above * doubt)[1:] + (masses.p_above * doubt)[:-1]
    mass = np.minimum(np.maximum(below, 0.0), np.maximum(above, 0.0)) + 4 * SMALLEST_NORMAL
    y = smooth.loss(x) - c
    slip = (smooth.loss_error(x) + 4 * (np.abs(y) + abs(c))) * UNIT_ROUNDOFF
    log_f = 3 * np.log(np.maximum(np.abs(y) + slip, 1e-300)) + t * (y + slip)
    largest = np.maximum(log_f[:-1], log_f[1:])  # on a cell, except for the peak at y = -3/t
    peak = 3 * math.log(3 / t) - 3
    at_peak = (y[:-1] <= -3 / t + slip[:-1]) & (y[1:] >= -3 / t - slip[1:])
    largest = np.where(at_peak, np.maximum(largest, peak), largest)
    with np.errstate(over="ignore"):
        total += float(np.exp(np.log(mass) + largest + t * c - log).sum())
    total += math.exp(min(END_OF_RANGE + 50 + peak + t * c - log, LARGEST))  # to the left
    return (total + _right_tail(pair, t, c, float(smooth.loss(x[-1:])[0]), log)) * (1 + RELATIVE)


def _right_tail(pair: DominatingPair, t: float, c: float, edge: float, log: float) -> float:
    """Upper bound on ``e^-log E [|L - c|^3 e^(tL); L > edge]``, for edge >= c.

    For any eta, tau > 0 the expectation is at most ``(3/(e eta))^3 e^(-eta c - tau edge) e^(K(t + eta + tau))``.
    """
    logs = [
        3 * (math.log(3 / half) - 1) - half * c - half * edge + pair.log_moment(t + half + half) for half in HALF_ORDERS
    ]
    if pair.loss_range[1] < math.inf:
        top = pair.loss_range[1]
        logs.append(END_OF_RANGE + t * top + 3 * math.log(abs(top - c) + 1e-300))
    best = min(logs) - log
    return math.exp(best) if best < LARGEST else math.inf
