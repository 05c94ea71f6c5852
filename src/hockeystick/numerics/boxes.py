"""Nested boxes below a density, which bound the characteristic function of its law from a given height on.

Let a law of mass 1, apart from any other parts, have a density at least h_i on the i-th of consecutive pieces of an
interval, and let l_i be at most the length of that piece. Let H be the largest function below the h_i that rises up to
one piece and falls from there. The pieces on which H is at least some value follow each other: they form a box, whose
height is the fall of H to its next lower value. The law is the sum of these boxes, which are nested, and of a rest. A
box of area a and length l adds at most ``a |sin u / u|`` to ``|E e^(isL)|``, ``u = s l / 2``, the rest at most its
mass. On [0, pi] ``sin u / u = prod (1 - u^2 / (n pi)^2)``, where ``1 - v <= e^-v`` and ``sum 1 / (n pi)^2 = 1/6``;
later lobes are below .2173. So

    |sin u / u| <= env(u) = min(max(e^(-u^2/6), .2173), 1 / max(u, 1)) ,

which decreases, and for all ``s' >= s``

    |E e^(is'L)| <= 1 - sum a (1 - env(s l / 2)) .

Lower heights or shorter pieces make the right side larger: both stay bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import SMALLEST_NORMAL, SPARE

Array = npt.NDArray[np.float64]

LOBE = 0.2173  # more than the height of the second lobe of sin u / u
OF_AN_ENVELOPE = 0.02  # cost of a box relative to a node of a shifted integral: two functions, not a hundred


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of one law, or of many with equally many pieces; the last axis is that of the boxes.

    Attributes:
        half: halves of the lengths.
        area: areas.
    """

    half: Array
    area: Array

    @classmethod
    def below(cls, height: Array, length: Array) -> Boxes:
        """Return the boxes below a density.

        Args:
            height: at most the density on each of the consecutive pieces.
            length: at most the length of each piece.
        """
        place, centre = np.arange(height.shape[-1]), height.argmax(axis=-1)[..., None]
        left = np.where(place <= centre, height, np.inf)[..., ::-1]
        right = np.where(place >= centre, height, np.inf)
        height = np.minimum(np.minimum.accumulate(left, axis=-1)[..., ::-1], np.minimum.accumulate(right, axis=-1))
        height = np.where(height < SMALLEST_NORMAL, 0.0, height)  # roundings of smaller ones exceed them
        order = np.argsort(-height, axis=-1, kind="stable")
        height = np.take_along_axis(height, order, axis=-1)
        length = np.take_along_axis(length, order, axis=-1).cumsum(axis=-1)
        return cls(0.5 * length, -np.diff(height, axis=-1, append=0.0) * length)

    @property
    def cost(self) -> float:
        """Evaluations per edge, in those of an envelope."""
        return OF_AN_ENVELOPE * self.half.size

    def log_bound(self, edges: Array) -> Array:
        """Upper bounds on ``log |E e^(isL)|`` for all s from each edge on; the last axis is that of the edges."""
        u = edges[..., :, None] * self.half[..., None, :]
        gone = np.minimum(-np.expm1(u * u * (-1 / 6)), 1 - LOBE)  # 1 - env, without cancellation
        np.maximum(u, 1.0, out=u)
        np.maximum(gone, 1 - 1 / u, out=gone)
        taken = (self.area[..., None, :] * gone).sum(axis=-1)
        out: Array = np.log1p(-(1 - SPARE) * np.minimum(taken, 1.0))
        return out
