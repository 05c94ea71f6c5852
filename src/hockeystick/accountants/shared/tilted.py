"""Cumulants of the privacy loss under exponential tilting, by quadrature.

Saddle-point estimates need ``K(t) = log E_P [e^(tL); L < inf]``, and the cumulants of the loss under the tilted law,
which has the density ``e^(tL - K(t))`` with respect to P. Both are summed over the rounds. They are accurate to about
1e-13, without a certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hockeystick.accountants.shared.privacy_curve import LIGHT, PrivacyCurve
from hockeystick.numerics.arrays import Array
from hockeystick.numerics.logarithm import log_sum
from hockeystick.numerics.rounding import LARGEST
from hockeystick.pairs import Composition
from hockeystick.values.errors import NotApplicableError

LADDER = np.geomspace(1e-4, 1e4, 161)  # tilts tried on either side of 0
AT_THE_END = 1e-10  # largest fraction of tilted mass near the last node; with more, the nodes do not reach far enough


class Cumulants(NamedTuple):
    """K(t) and its first four derivatives, which are the cumulants of the loss tilted by t."""

    log: float
    mean: float
    variance: float
    third: float
    fourth: float


@dataclass(frozen=True)
class TiltedComposition:
    """Cumulants of the summed loss of a composition, tilted by any t.

    >>> from hockeystick.pairs import Composition
    >>> from hockeystick.pairs.gaussian import GaussianPair
    >>> found = TiltedComposition(Composition([(GaussianPair(0.5), 4)])).at(2.0)
    >>> round(found.log, 12), round(found.mean, 12), round(found.variance, 12)  # t (1 + t) / 2, t + 1/2, 1
    (3.0, 2.5, 1.0)
    """

    composition: Composition

    @cached_property
    def _rounds(self) -> list[tuple[Array, Array, float]]:
        found = []
        for pair, _ in self.composition.rounds:
            losses, log_weight = PrivacyCurve(pair).nodes
            order = np.argsort(losses, kind="stable")
            found.append((losses[order], log_weight[order], pair.infinite_mass))
        return found

    def at(self, t: float) -> Cumulants:
        """Return the cumulants of the sum, tilted by t.

        Raises:
            NotApplicableError: the tilted law lies beyond the nodes of the quadrature.
        """
        parts = list(zip((count for _, count in self.composition.rounds), self.rounds_at(t), strict=True))
        return Cumulants(*(math.fsum(count * part[i] for count, part in parts) for i in range(5)))

    def rounds_at(self, t: float) -> list[Cumulants]:
        """Return the cumulants of one round of each kind, tilted by t.

        Raises:
            NotApplicableError: the tilted law lies beyond the nodes of the quadrature.
        """
        return [_cumulants(losses, weights, infinite, t) for losses, weights, infinite in self._rounds]


def _cumulants(losses: Array, log_weight: Array, infinite: float, t: float) -> Cumulants:
    exponent = log_weight + t * losses
    top = float(exponent.max())
    scaled = np.exp(exponent - top)
    total = float(scaled.sum())
    at_the_end = scaled[-16:].sum() > AT_THE_END * total > 0 and log_weight[-1] < -LARGEST
    if at_the_end and len(losses) > 64 and losses[-1] > losses[0]:
        raise NotApplicableError(
            f"at the tilt {t:.3g} the loss lies beyond the range of the quadrature; raise delta, or use accountant "
            "'contour' or 'rdp'"
        )
    log = top + math.log(total)
    if abs(log) < 1:  # the true masses add up to 1 - infinite exactly, so this part is subtracted analytically
        near = np.abs(t * losses) < 1
        weight = np.exp(log_weight)
        excess = np.where(near, weight * np.expm1(np.where(near, t * losses, 0.0)), np.exp(exponent) - weight)
        log = math.log1p(float(excess.sum()) - infinite)
    tilted = scaled / total
    mean = float((tilted * losses).sum())
    away = losses - mean
    squared = tilted * away * away
    second, third, fourth = float(squared.sum()), float((squared * away).sum()), float((squared * away * away).sum())
    return Cumulants(log, mean, second, third, fourth - 3 * second * second)


def reach_of(composition: Composition, log_inverse: float) -> float:
    """Return r such that the sum has mass of at most about ``exp(-log_inverse)`` above r, and below -r (Chernoff)."""
    scale = np.concatenate([-LADDER, LADDER])
    total = np.zeros_like(scale)
    most = 0.0
    for pair, count in composition.rounds:
        losses, log_weight = PrivacyCurve(pair).nodes
        keep = log_weight > LIGHT
        losses, log_weight = losses[keep], log_weight[keep]
        total += count * np.array([log_sum(log_weight + t * losses) for t in scale])
        most += count * float(np.abs(losses).max())
    reach = (total + log_inverse) / np.abs(scale)
    half = len(LADDER)
    return min(max(float(reach[:half].min()), float(reach[half:].min())), most) * (1 + 1e-6)
