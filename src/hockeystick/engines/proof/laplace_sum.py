"""delta(eps) of k equal unsampled Laplace rounds in closed form.

Symbols as in ``laplace.py``. The law of one loss under P is ``e^((l - theta)/2) nu(dl)`` with nu the atoms 1/2 at
-theta and theta and the density 1/4 between (see ``pairs/laplace.py``: ``e^-(theta - x) / 2`` in x, l = 2x - theta). So
that of the sum is ``e^((l - k theta)/2) nu^k(dl)``, and as ``int e^(wl) nu(dl) = e^(theta w) (1 + 1/(2w)) / 2 +
e^(-theta w) (1 - 1/(2w)) / 2``, the transform of the k-fold nu is

    2^-k sum_j C(k, j) e^(l_j w) sum_c K_jc (2w)^-c ,  l_j = (k - 2j) theta,  K_jc = [y^c] (1 + y)^(k-j) (1 - y)^j .

For Re w > 0 ``e^(l_j w) w^-c`` is the transform of ``(l_j - l)_+^(c-1) / (c-1)!``, of an atom at l_j for c = 0. With
``D_j = (l_j - eps)_+`` and ``delta(eps) = int_eps^inf (1 - e^(eps - l)) P(dl)``,

    delta(eps) = e^((eps - k theta)/2) 2^-k sum_j C(k, j) sum_c K_jc h_c(D_j) ,
    h_c(D) = 2^-c int_0^D 2 sinh((D - v)/2) v^(c-1) / (c-1)! dv = 2 sum of (D/2)^m / m! over m = c+1, c+3, ... ,

h_0 = 2 sinh(D/2): in parts twice, ``h_c = h_(c-2) - 2 (D/2)^(c-1) / (c-1)!``. The terms cancel; balls show how much
is left.
"""

from __future__ import annotations

from flint import arb, fmpq, fmpz, fmpz_poly

from hockeystick.engines.proof.rounds import LaplaceNoise
from hockeystick.numerics.balls import Ball, ball

MOST_ROUNDS = 128  # the cost grows with the third power


class LaplaceSum:
    """The formula, for one number of rounds.

    Args:
        noise: the round.
        count: how many there are, 1 to MOST_ROUNDS.
    """

    def __init__(self, noise: LaplaceNoise, count: int) -> None:
        self._noise, self._count = noise, count
        largest = count * noise.theta
        self._largest = fmpq(largest.numerator, largest.denominator)
        up, down = fmpz_poly([1, 1]), fmpz_poly([1, -1])
        self._rows = [(up ** (count - j) * down**j * fmpz.bin_uiui(count, j)).coeffs() for j in range(count + 1)]

    def delta(self, epsilon: Ball) -> Ball:
        """The ball around delta(eps), eps >= 0; exactly 0 at an exact eps from the largest loss on."""
        theta, count = ball(self._noise.theta), self._count
        if epsilon.is_exact() and epsilon.fmpq() >= self._largest:
            return arb(0)
        total = arb(0)
        for j, row in enumerate(self._rows):
            distance = ((count - 2 * j) * theta - epsilon).max(arb(0))
            if distance.is_zero():
                break  # those that follow are further below
            for coefficient, part in zip(row, self._parts(distance / 2), strict=True):
                total += coefficient * part
        return total * ((epsilon - count * theta) / 2).exp() * arb(2) ** -count

    def _parts(self, half: Ball) -> list[Ball]:
        """``h_c(2 half)`` for c = 0 to the number of rounds."""
        out, power = [2 * half.sinh(), 4 * (half / 2).sinh() ** 2], half
        for c in range(2, self._count + 1):
            out.append(out[c - 2] - 2 * power)
            power = power * half / c
        return out[: self._count + 1]
