"""Nested boxes below the density of a law L; they bound ``|E e^(isL)|``, its characteristic function, for all large s.

Consider a law of mass 1 and an interval that is divided into consecutive pieces. On the i-th piece, let the law have a
density of at least h_i; the law may have other parts as well. Let l_i be at most the length of this piece. Let H be the
largest function below the h_i that rises up to one piece, its peak, and falls from there. For each value of H, the
pieces on which H is at least this value are consecutive. They form a box, whose height is the fall of H from this value
to its next lower value. The boxes are nested, and the law is the sum of all boxes and of a rest. To ``|E e^(isL)|``, a
box of area a and length l adds at most ``a |sin u / u|`` with ``u = s l / 2``. The rest adds at most its mass. On
[0, pi] ``sin u / u = prod (1 - u^2 / (n pi)^2)``, where ``1 - v <= e^-v`` and ``sum 1 / (n pi)^2 = 1/6``. Beyond pi,
``|sin u / u|`` is below .2173. So

    |sin u / u| <= env(u) = min(max(e^(-u^2/6), .2173), 1 / max(u, 1)) ,

which decreases, and for all ``s' >= s``

    |E e^(is'L)| <= 1 - sum a (1 - env(s l / 2)) .

Lower h_i or l_i make the right side larger, so both may be rounded down. The density of the rest is at least ``h_i -
H``, and further boxes around another peak may be placed below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import SMALLEST_NORMAL, SPARE

Array = npt.NDArray[np.float64]

LOBE = 0.2173  # more than the height of the second lobe of sin u / u
OF_AN_ENVELOPE = 0.02  # cost of the bound for one box at one edge, in units of a hundred elementary functions


def lengths_between(places: Array, slip: Array) -> Array:
    """Return lower bounds on the distances between neighbouring places; each place has an error of at most its slip."""
    return np.maximum(np.diff(places) * (1 - SPARE) - slip[1:] - slip[:-1], 0.0)


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of one law, or of many laws with equally many pieces; boxes run along the last axis.

    Attributes:
        half: half the length of each box.
        area: area of each box.
    """

    half: Array
    area: Array

    @classmethod
    def below(cls, height: Array, length: Array, peaks: int = 1) -> Boxes:
        """Return the boxes below a density.

        Args:
            height: lower bounds on the density on consecutive pieces of an interval.
            length: lower bounds on the lengths of these pieces.
            peaks: number of families of nested boxes. Each later family is placed below the density of the rest that
                the earlier families leave.
        """
        half, area = [], []
        for _ in range(peaks):
            place, centre = np.arange(height.shape[-1]), height.argmax(axis=-1)[..., None]
            left = np.where(place <= centre, height, np.inf)[..., ::-1]
            right = np.where(place >= centre, height, np.inf)
            under = np.minimum(np.minimum.accumulate(left, axis=-1)[..., ::-1], np.minimum.accumulate(right, axis=-1))
            height = np.maximum(height * (1 - SPARE) - under, 0.0)
            under = np.where(under < SMALLEST_NORMAL, 0.0, under)  # roundings of smaller ones exceed them
            order = np.argsort(-under, axis=-1, kind="stable")
            under = np.take_along_axis(under, order, axis=-1)
            lengths = np.take_along_axis(length, order, axis=-1).cumsum(axis=-1)
            half.append(0.5 * lengths)
            area.append(-np.diff(under, axis=-1, append=0.0) * lengths)
        return cls(np.concatenate(half, axis=-1), np.concatenate(area, axis=-1))

    @property
    def cost(self) -> float:
        """Return the cost of the bound at one edge, in units of a hundred elementary functions."""
        return OF_AN_ENVELOPE * self.half.size

    def log_bound(self, edges: Array) -> Array:
        """Return an upper bound on ``log |E e^(isL)|`` for all s that are at least an edge, for each edge.

        The edges run along the last axis.
        """
        u = edges[..., :, None] * self.half[..., None, :]
        gone = np.minimum(-np.expm1(u * u * (-1 / 6)), 1 - LOBE)  # 1 - env, without cancellation
        np.maximum(u, 1.0, out=u)
        np.maximum(gone, 1 - 1 / u, out=gone)
        taken = (self.area[..., None, :] * gone).sum(axis=-1)
        out: Array = np.log1p(-(1 - SPARE) * np.minimum(taken, 1.0))
        return out
