"""Bounds on the decay of the characteristic function of the loss of a mixture of Gaussians against one Gaussian.

With phi, g, u, the real part A of the exponent and the loss L of ``mixture_law.py``, the loss under the law tilted by t
has the density ``f = phi e^A / (|L'| m(t))``. Each outcome may be kept only with a probability b, where log b is
concave (``capped_law.py``); then f has the factor b. Let R be the slope of u divided by the largest shift mu; it rises
with x, as u is convex. Between two outcomes at a distance d, where R rises from R_0 to R_1,

- ``|L'|`` is at most mu times R_1 or, for replace-one, mu times the sum of R_1 and of the larger value of R(-x);
- ``(log phi e^A b)'' <= C = p u'' - 1``, where p is the coefficient of u in A, or 0 if that is negative, and
  ``u'' <= mu^2 min(R_1 (1 - R_0), 1/4)``, as u'' is the variance of a number between 0 and mu with the mean mu R. So
  the numerator of f is at least ``e^(-C d^2 / 8)`` times the lesser of its values at the two outcomes if C > 0, and at
  least the lesser of these values if not.

Boxes below this density (``numerics/boxes.py``) bound the decay of a round in a composition of many rounds, in which
each factor need not decay far. The density has up to two high peaks, near the outcomes without the record and near
those with it.

In a composition of few rounds each factor must decay far. The bound for these uses a path off the real line
(``gaussian_panels.py``), relative to a lower bound on m(t). The boxes together have at most the mass of the law, so
that ``m(t)`` is at least the upper bound by which they were scaled, multiplied by the sum of their areas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.boxes import OF_AN_ENVELOPE, Boxes, lengths_between
from hockeystick.numerics.rounding import SMALLEST_NORMAL, SPARE, UNIT_ROUNDOFF
from hockeystick.pairs.sampled.gaussian_panels import Panels
from hockeystick.pairs.sampled.mixture_law import MixtureLaw, Nodes, log_density

Array = npt.NDArray[np.float64]

PIECES = 2000  # least number of pieces into which the range of outcomes is divided
WIDEST = 0.05  # largest width of a piece
PEAKS = 2  # largest number of high peaks of the density
PER_PANEL = 8  # number of pieces in a panel
HEIGHTS = np.concatenate([[0.0], np.geomspace(0.02, 1.0, 24)])  # heights of a path, relative to the largest height
LARGEST_SHIFT = 4.0  # largest height y of a path: for larger y, e^(y^2/2) is too large
DEEPEST = 1e-17  # approximate share of the law outside all pieces


def boxes(nodes: Nodes, x: Array, log_m: float, log_kept: Array | float = 0.0, doubt: Array | float = 0.0) -> Boxes:
    """Return boxes below the density of the tilted loss on the pieces between neighbouring outcomes.

    Args:
        nodes: values of the round at the outcomes x.
        x: increasing outcomes.
        log_m: upper bound on log m(t).
        log_kept: log b at the outcomes, b the probability with which an outcome is kept.
        doubt: bounds on the relative rounding errors of b.
    """
    units = UNIT_ROUNDOFF * nodes.share_units()
    unsure = np.minimum(nodes.care() + units + doubt + SPARE * (1 + abs(log_m)), 1.0)
    with np.errstate(divide="ignore"):
        log_tilted = log_density(x) + nodes.exponent + log_kept - log_m + np.log1p(-unsure)
    rise, *falling = nodes.rises
    steepest = rise[1:] + sum(fall[:-1] for fall in falling)
    spread = nodes.mu**2 * np.minimum(rise[1:] * (1 - rise[:-1]) + units[1:], 0.25)
    bend = np.maximum(float(nodes.powers[0, 0]) * spread - 1, 0.0)
    log_least = np.minimum(log_tilted[1:], log_tilted[:-1]) - bend * np.square(np.diff(x)) / 8
    height = np.exp(log_least) / (nodes.mu * np.maximum(steepest, SMALLEST_NORMAL))
    return Boxes.below(height, lengths_between(nodes.slopes[0] * nodes.loss, nodes.slip()), PEAKS)


@dataclass(frozen=True, slots=True)
class MixtureEnvelope:
    """Bounds on ``|m(t + is)| / m(t)`` of one round.

    Attributes:
        near: boxes below the density of the tilted loss.
        far: bounds on the integrand off the real line.
        log_least: lower bound on log m(t).
    """

    near: Boxes
    far: Panels
    log_least: float

    @classmethod
    def at(cls, law: MixtureLaw, t: float, log_m: float) -> MixtureEnvelope:
        """Return the envelope at tilt t, from an upper bound on log m(t)."""
        low, high = law.range_for(t, 0.0, DEEPEST)
        x = np.linspace(low, high, max(PIECES, math.ceil((high - low) / WIDEST)) + 1)
        found = boxes(Nodes(law, x, t), x, log_m)
        tallest = min(0.5 * math.pi / law.mu * (1 - SPARE), LARGEST_SHIFT)
        panels = Panels(law, t, np.append(x[:-1:PER_PANEL], x[-1]), tallest * HEIGHTS)
        mass = float(found.area.sum()) * (1 - SPARE)
        return cls(found, panels, log_m + math.log(mass) if mass > 0 else -math.inf)

    @property
    def cost(self) -> float:
        """The number of evaluations for the bound at one edge, from the boxes and from the path."""
        return self.near.cost + OF_AN_ENVELOPE * self.far.size

    def log_bound(self, edges: Array) -> Array:
        """Return, for each edge, an upper bound of at most 0 on ``log |m(t + is) / m(t)|`` for all ``s >= edge``."""
        out = self.near.log_bound(edges)
        if math.isfinite(self.log_least):
            far = [self.far.log_moved(s) - self.log_least for s in edges.tolist()]
            out = np.minimum(out, np.array(far) + SPARE * (1 + abs(self.log_least)))
        return out
