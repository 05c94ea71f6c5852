"""An upper bound on ``|m(t + is)| / m(t)`` of unsampled Laplace noise, for all s from a point on.

With theta = distance / scale, ``h = theta / 2``, ``w = 2t + 1``, ``a = h w``, ``b = 2 h s`` (see
``pairs/laplace_transform.py``)

    m(t) = e^(-h) [cosh a + sinh(a) / w] ,
    |m(t + is)| <= e^(-h) [sqrt(cosh^2 a - sin^2 b) + min(sinh(a) / w, cosh(a) / sqrt(w^2 + 4 s^2))] .

since ``|sinh(a + ib)| <= cosh a``. The two atoms return to full size at every multiple of pi. So, for ``b < pi/2``: up
to ``b' = pi - b`` sin is at least sin b, and from there on the smooth part has lost what it has lost there.
"""

from __future__ import annotations

from flint import arb

from hockeystick.engines.proof.rounds import LaplaceNoise
from hockeystick.numerics.balls import Ball, ball, upper


class LaplaceDecay:
    """The decay of one unsampled Laplace round at one tilt.

    Args:
        noise: the round.
        t: tilt > 0.
    """

    def __init__(self, noise: LaplaceNoise, t: float) -> None:
        self._h = ball(noise.theta) / 2
        self._w = 2 * arb(t) + 1
        self._cosh, self._smooth = (self._h * self._w).cosh(), (self._h * self._w).sinh() / self._w

    def log_bound(self, s: float) -> Ball:
        """Upper bound, non-positive, on ``log |m(t + is')| / m(t)`` for all ``s' >= s``."""
        at, b = arb(s), 2 * self._h * arb(s)
        if not b < arb.pi() / 2:
            return self._far(at)
        near = self._share((self._cosh**2 - b.sin() ** 2).sqrt(), at)
        return near.max(self._far((arb.pi() - b) / (2 * self._h)))

    def _far(self, s: Ball) -> Ball:
        """The bound by the smooth part alone, for all larger s."""
        return self._share(self._cosh, s)

    def _share(self, atoms: Ball, s: Ball) -> Ball:
        """The log of the bound, from the atoms' part and the least s."""
        left = self._smooth.min(self._cosh / (self._w**2 + 4 * s * s).sqrt())
        return upper(((atoms + left) / (self._cosh + self._smooth)).log()).min(arb(0))
