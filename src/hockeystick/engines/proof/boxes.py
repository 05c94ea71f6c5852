"""Nested boxes below the density of a loss, which bound its characteristic function m(t + is) for all large s.

Suppose that the density of the loss under the law tilted by t is above a stack of nested boxes with lengths l_i and
areas a_i. Box i adds at most ``a_i |sin u / u|`` to ``|m(t + is) / m(t)|``, where ``u = s l_i / 2``. The rest of the
law adds at most its mass. Moreover, ``|sin u / u| <= env(u) = min(max(e^(-u^2/6), .2173), 1 / max(u, 1))``, as
``sin u / u = prod (1 - u^2 / (n pi)^2)`` on [0, pi], and ``|sin u / u|`` is below .2173 beyond pi. Since env decreases,
``1 - sum a_i (1 - env(s l_i / 2))`` bounds ``|m(t + is') / m(t)|`` for all ``s' >= s``.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from flint import arb

from hockeystick.numerics.balls import Ball, upper

LOBE = "0.2173"  # more than the height of the second lobe of sin u / u


class Boxes:
    """Nested boxes that fill the largest unimodal function below a density.

    Args:
        heights: balls, one for each of the consecutive pieces of a range of losses, at most the density on that piece.
        lengths: balls that are at most the lengths of the pieces.
    """

    def __init__(self, heights: list[Ball], lengths: list[Ball]) -> None:
        heights = [height.lower().max(arb(0)) for height in heights]
        top = max(range(len(heights)), key=lambda n: float(heights[n]))
        left = list(accumulate(heights[top::-1], lambda one, other: one.min(other)))[::-1]
        right = list(accumulate(heights[top:], lambda one, other: one.min(other)))
        pieces = list(zip(left + right[1:], (length.lower().max(arb(0)) for length in lengths), strict=True))
        pieces.sort(key=lambda piece: piece[0], reverse=True)
        falls = [one - other for one, other in pairwise([*(height for height, _ in pieces), arb(0)])]
        boxes = zip(falls, accumulate(length for _, length in pieces), strict=True)
        self._boxes = [((fall * length).lower(), length / 2) for fall, length in boxes if fall > 0]  # areas, halves

    def log_decay(self, s: float) -> Ball:
        """Return an upper bound on ``log |m(t + is') / m(t)|`` for all ``s' >= s``; see the module docstring."""
        gone = sum((area * (1 - _envelope(arb(s) * half)) for area, half in self._boxes), arb(0))
        return upper((1 - gone).log())


def _envelope(u: Ball) -> Ball:
    """Return a ball around env(u), the bound on ``|sin u / u|`` in the module docstring."""
    high = (-u * u / 6).exp().max(arb(LOBE))
    return high.min(1 / u) if u > 1 else high
