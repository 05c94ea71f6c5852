"""Sampled Gaussian rounds without outcomes above a sharp end, in mpmath: shares nothing with the library."""

from __future__ import annotations

from typing import Any, NamedTuple

from mpmath import mp, mpf

from oracle.real import gauss_legendre

Mpf = Any


class Sharp(NamedTuple):
    """Rounds of noise and rate, a record being removed, and the line on which their law below ``end`` is summed.

    Attributes:
        noise, rate: as decimals.
        rounds: how many there are.
        end: outcomes above it are left out.
        tilt, period, points: of the trapezoid rule on ``Re z = tilt``.
    """

    noise: str
    rate: str
    rounds: int
    end: float
    tilt: float
    period: str
    points: int

    @property
    def lost(self) -> Mpf:
        """The mass that is left out under P, of all rounds."""
        mu, q, end = 1 / mpf(self.noise), mpf(self.rate), mpf(self.end)
        return self.rounds * ((1 - q) * mp.ncdf(-end) + q * mp.ncdf(mu - end))

    def ends(self, epsilons: list[float]) -> list[tuple[Mpf, Mpf]]:
        """Between what delta lies at each epsilon, but for aliases, which only add, and the end of the sum.

        By Gauss-Legendre panels over each of which the integrand turns by a few radians.
        """
        mu, q, t = 1 / mpf(self.noise), mpf(self.rate), mpf(self.tilt)
        step = 2 * mp.pi / mpf(self.period)
        fastest = t + step * self.points
        panels, x = [], mpf(-12)
        while x < self.end:
            width = mpf(1) / 2
            for _ in range(2):
                width = min(width, 6 / (fastest * mu * q * mp.exp(mu * (x + width) - mu * mu / 2)))
            panels.append((x, min(x + width, mpf(self.end))))
            x = panels[-1][1]
        weights, turns = [], []
        for low, high in panels:
            for node, weight in gauss_legendre(24, mp.prec):
                at = low + (high - low) * (1 + node) / 2
                loss = mp.log1p(q * mp.expm1(mu * at - mu * mu / 2))
                weights.append(mp.mpc(weight * (high - low) / 2 * mp.npdf(at) * mp.exp((1 + t) * loss)))
                turns.append(mp.expj(step * loss))
        sums = [mpf(0)] * len(epsilons)
        for j in range(self.points):
            z = t + 1j * step * j
            factor = mp.fsum(weights) ** self.rounds / (z * (1 + z)) * (1 if j == 0 else 2) / mpf(self.period)
            sums = [total + (factor * mp.exp(-mpf(at) * z)).real for total, at in zip(sums, epsilons, strict=True)]
            weights = [weight * turn for weight, turn in zip(weights, turns, strict=True)]
        return [(total, total + self.lost) for total in sums]
