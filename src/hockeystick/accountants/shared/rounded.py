"""Mean-preserving rounding of a privacy loss to a lattice, and a bound on the sum of its errors.

Gopi, Lee, Wutschitz 2021 [GLW21], Algorithm 2, DiscretizePRV: every loss is rounded to the nearest point ``j h``, and
all points are then shifted by one number mu, so that the rounded loss has the mean of the loss. The rounding error of
one round has mean 0 and lies in an interval of width h. By Hoeffding's inequality (Lemma 5.3 of [GLW21]) the sum of k
independent errors is at most ``h sqrt((k / 2) log(2 / eta))`` in absolute value, with probability at least ``1 - eta``.

The mean of the loss is enclosed cell by cell. Let a cell have masses p and q under P and Q, and losses in [l, r]. Given
the cell, the mean of ``e^-L`` under P is ``q / p``, and L is the convex function ``-log`` of ``e^-L``. By Jensen's
inequality the mean of L is at least ``log(p / q)``. It is at most the value at ``q / p`` of the chord of ``-log``
between ``e^-r`` and ``e^-l``. The two bounds differ by at most ``c^2 / 8`` for cells of width c.

The law is returned with masses rounded up, for upper bounds on delta, and with masses rounded down, for lower bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hockeystick.accountants.shared.dots import cell_masses, loss_range
from hockeystick.accountants.shared.lattice import LatticeLaw, Laws
from hockeystick.accountants.shared.privacy_curve import LOST, PrivacyCurve
from hockeystick.numerics.arrays import Array
from hockeystick.numerics.rounding import LARGEST, SPARE, UNIT_ROUNDOFF
from hockeystick.numerics.summation import accurate_sum
from hockeystick.pairs import DominatingPair

CELLS = 1 << 16
"""Number of cells in the bracket of the mean, divided among all kinds of rounds.

With one cell per gap of the lattice, the bias of k rounds is ``k h^2 / 8``, which for
``h = eps_error / sqrt((k / 2) log(2 / eta))`` is at most a hundredth of ``eps_error``.
"""


class Rounded(NamedTuple):
    """Law of one round's finite loss, rounded to a lattice with its mean nearly kept.

    Attributes:
        above: law with masses rounded up.
        below: law with masses rounded down.
        bias: bound on the difference of the means of the loss and of the rounded loss.
        lost: mass of the losses left out.
    """

    above: LatticeLaw
    below: LatticeLaw
    bias: float
    lost: float


def sides(rounds: Sequence[tuple[Rounded, int]]) -> tuple[Laws, Laws]:
    """Return the laws of all rounds with masses rounded up, and with masses rounded down."""
    return [(law.above, count) for law, count in rounds], [(law.below, count) for law, count in rounds]


def deviation(count: float, log_eta: float) -> float:
    """Return Hoeffding's bound on the absolute value of the sum of ``count`` independent errors.

    Each error has mean 0 and lies in an interval of width 1. The bound fails with a probability of at most
    ``e^log_eta``.
    """
    return math.sqrt(0.5 * count * (math.log(2) - log_eta))


def rounded(pair: DominatingPair, gap: float, log_lost: float, kinds: int = 1) -> Rounded:
    """Round the finite losses to a lattice, and nearly keep their mean.

    Losses in the tails may be left out, with mass of at most about ``e^log_lost`` on either side.

    Args:
        pair: pair of one round.
        gap: gap of the lattice.
        log_lost: logarithm of the mass that may be left out on either side.
        kinds: number of different rounds in one answer; with more of them, each mean is computed from fewer cells.
    """
    low, high = loss_range(pair, log_lost)
    # a loss that is at the edge of its cell, up to rounding, gets one more cell beyond it
    first, last = math.floor(low / gap + 0.5 - SPARE), math.ceil(high / gap - 0.5 + SPARE)
    edges = gap * (np.arange(first, last + 2, dtype=np.float64) - 0.5)
    curve = PrivacyCurve(pair)
    mass, error = cell_masses(curve, edges)[:2]
    lost = float(curve.above(edges[-1:])[0][0] + curve.below(edges[:1])[0][0])
    points = gap * np.arange(first, last + 1, dtype=np.float64)
    lower, upper = _mean(curve, edges, CELLS // kinds)
    zero = int(np.searchsorted(points, 0.0))
    mean = accurate_sum((mass * points)[zero:]) - accurate_sum(-(mass * points)[:zero])
    shift = 0.5 * (lower + upper) - mean
    # conditional on the losses kept, whose total mass is about 1 - p_inf, up to the errors of the masses
    scale = float(max(abs(edges[0]), abs(edges[-1]))) + 1
    bias = 0.5 * (upper - lower) + float((error * np.abs(points)).sum()) + 4 * scale * lost
    finite = float(mass.sum()) + lost
    shift, bias = shift / finite, bias / finite + 16 * UNIT_ROUNDOFF * scale
    slip = 8 * UNIT_ROUNDOFF * scale
    start = float(points[0] + shift)
    return Rounded(
        LatticeLaw(start, gap, mass + error, 0.0, slip),
        LatticeLaw(start, gap, np.maximum(mass - error, 0.0), 0.0, slip),
        bias,
        lost * (1 + 1e-9),
    )


def _mean(curve: PrivacyCurve, edges: Array, cells: int) -> tuple[float, float]:
    """Lower and upper bounds on ``E_P[L; first edge < L <= last edge]``, from at least ``cells`` cells."""
    fine = -(-cells // (len(edges) - 1))
    steps = np.linspace(0.0, 1.0, fine, endpoint=False)
    cuts = np.append((edges[:-1, None] + np.diff(edges)[:, None] * steps).ravel(), edges[-1])
    p, p_error, q, q_error = cell_masses(curve, cuts)
    low, high = cuts[:-1], cuts[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        # ends of the ratio q / p; if p does not exceed its error, any loss in the cell is possible
        most = np.where(p > p_error, (q + q_error + LOST) / (p - p_error), np.inf)
        least = np.maximum(q - q_error, 0.0) / (p + p_error)
        jensen = np.where(p > p_error, np.clip(-np.log(most), low, high), low)
        width = high - low
        share = (1 - least * np.exp(np.minimum(low, LARGEST))) / -np.expm1(-width)  # fraction of the way from l to r
        chord = np.where(p > 0, low + width * np.clip(share, 0.0, 1.0), high)
    error = float((p_error * np.maximum(np.abs(low), np.abs(high))).sum())
    error += 16 * UNIT_ROUNDOFF * float((p * (1 + np.maximum(np.abs(low), np.abs(high)))).sum())
    return float((p * jensen).sum()) - error, float((p * np.maximum(chord, jensen)).sum()) + error
