"""Upper bounds on ``|m(t + is)| / m(t)`` of one sampled round that hold for all larger s too: the integral is moved.

The inequality, its proof and that of the remainders are those of ``pairs/sampled/gaussian_envelope.py``, here in balls.
With x moved to ``x + i y(x)``, ``y = Y R^p``, and the slope of the loss ``mu R``,

    |m(t + is)| <= B(s) = int w e^psi dx ,   w = phi e^A ,

B decreasing in s, and what is summed over nodes of step dx is ``D = m(t) - B = int w (1 - e^psi)``. Both parts of the
sum err by at most ``2 M / (e^(2 pi eta / dx) - 1)``,

    M = 3/2 m(t) e^((eta^2 + Y'^2) / 2) e^((1+t) mu^2 b^2 / 8) cos(mu (eta + Y') / 2)^(-t) ,

``Y' = Y (max R / cos(nu/2))^p``, ``b = Y' sin(p nu)``, ``nu = mu eta`` (the factor with 1 + t not for add, the cosine
not for remove; for add it may be less, see :meth:`MixtureBalls.log_dip`), where either

- ``p nu + mu (eta + Y') <= pi/2`` and ``p mu Y' <= 0.9 cos(nu/2) cos(nu)``, or
- p = 0, ``eta <= Y`` and ``mu (eta + Y) < pi``;

beyond the range the sum loses at most ``w e^psi``, with ``1 + y'^2/2 <= 3/2``, ``y <= Y'`` and a phase of at most 1:
``3/2 e^(Y'^2/2)`` times what :meth:`MixtureBalls.moved_range_remainder` bounds, for ``mu Y' <= pi/2`` or remove.
Which shift is best is found in floating point: any is sound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from flint import arb

from hockeystick.engines.proof.mixture import MixtureBalls
from hockeystick.numerics.balls import Ball, ball, upper
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]

STRIP = 0.45  # eta, of 1 / mu
LARGEST_SHIFT = 2.5  # Y: beyond, e^(y^2/2) is too much
FAR_SHIFT = 2.0  # Y of the constant shift for remove, of 1 / mu
FAR_STRIP = 1.0  # its eta
DIP = 20.0  # of t (mu strip)^2, about 8 times the log of a factor of the remainder
POWERS = (0.5, 0.25, 0.0)
SHARES = (1.0, 0.5, 0.25)  # of the largest shift
MAX_NODES = 20_000
CAREFUL = 1e-9  # shifts keep this far, relatively, from where the conditions end


class Shift(NamedTuple):
    """``y = size R^power``, with the half-width of the strip."""

    power: float
    size: float
    strip: float


class EnvelopeBalls:
    """One sampled round at one tilt.

    Args:
        mixture: the round.
        t: tilt > 0.
        count: power to which the bounds will be raised: their logarithms are wanted to well below its inverse.
    """

    def __init__(self, mixture: MixtureBalls, t: float, count: int) -> None:
        self.mixture, self.t, self.count = mixture, t, count
        self._mu = float(mixture.item.mu)
        self._exact_mu, self._highest = ball(mixture.item.mu), mixture.turns
        log_slack = math.log(min(1e-3 / count, 1e-8))
        self._moment = upper(mixture.values(t, 1.0, 1, log_slack - 2.0)[0].real)
        strip = min(STRIP / self._mu, 4.0)
        if mixture.falls and mixture.rises:
            strip = min(strip, math.sqrt(DIP / t) / self._mu)
        self._shifts = [Shift(power, self._widest(power, strip), strip) for power in POWERS]
        if not mixture.falls:
            far = min(FAR_SHIFT / self._mu, LARGEST_SHIFT)
            self._shifts.append(Shift(0.0, far, min(FAR_STRIP / self._mu, far)))
        self._place(log_slack)
        self._build()

    def _widest(self, power: float, strip: float) -> float:
        """The largest Y that the first conditions allow."""
        mu, nu = self._mu, self._mu * strip
        slope = 0.9 / (power * mu) * math.cos(0.5 * nu) * math.cos(nu) if power else math.inf
        steep = 2 * math.sqrt(DIP / self.t) / mu if self.mixture.falls and self.mixture.rises else math.inf
        tall = min((0.5 * math.pi - (1 + power) * nu) / mu, slope, LARGEST_SHIFT, steep) * (1 - CAREFUL)
        return float(tall * (self._highest / math.cos(0.5 * nu)) ** -power)

    def _place(self, log_slack: float) -> None:
        """Range and step at which the remainders should be below the slack."""
        tallest, self._dx = 0.0, math.inf
        for shift in self._shifts:
            tall, log_size = self._log_size(shift)
            tallest = max(tallest, float(tall))
            self._dx = min(self._dx, 2 * math.pi * shift.strip / (4.0 - log_slack + float(log_size)))
        grid = self.mixture.grid(self.t, 0.0, log_slack - 0.5 * tallest**2 - 2.0)
        number = math.ceil((grid.high - grid.low) / self._dx) + 1
        if number > MAX_NODES:
            raise NotApplicableError("the decay of a characteristic function is too long to be proved")
        self._low, self._number = arb(grid.low), number

    def _log_size(self, shift: Shift) -> tuple[Ball, Ball]:
        """``Y'`` and ``log(M / m(t))``.

        Raises:
            NotApplicableError: the conditions on the shift do not hold.
        """
        power, size, strip = arb(shift.power), arb(shift.size), arb(shift.strip)
        mu, t = self._exact_mu, arb(self.t)
        nu = mu * strip
        tall = size * (power * (self._highest / (nu / 2).cos()).log()).exp() if shift.power else size
        turned = mu * (strip + tall)
        near = power * nu + turned <= arb.pi() / 2 and power * mu * tall <= arb("0.9") * (nu / 2).cos() * nu.cos()
        far = not shift.power and not self.mixture.falls and strip <= size and turned < arb.pi()
        if not (near or far):
            raise NotApplicableError("the path of integration is moved too far")
        log_size = (strip * strip + tall * tall) / 2 + arb("1.5").log()
        if self.mixture.rises:
            log_size += (1 + t) * (mu * tall * (power * nu).sin()) ** 2 / 8
        if self.mixture.falls:
            log_size += self.mixture.log_dip(self.t, turned)
        return tall, log_size

    def _build(self) -> None:
        """w, R's two parts and their floating-point shadows."""
        a, b = self.mixture.coefficients(self.t)
        mu, q = self._exact_mu, ball(self.mixture.item.rate)
        both = self._highest == 2
        odds, dx = (1 - q) / q * (mu * mu / 2).exp(), arb(self._dx)
        scale, logs = dx / (2 * arb.pi()).sqrt(), self.mixture.logs()
        self._weights, self._rising, self._falling = [], [], []
        for n in range(self._number):
            x = self._low + dx * n
            u, v = logs(x)
            turn = (mu * x).exp()
            self._weights.append(scale * (a * u + b * v - x * x / 2).exp())
            self._rising.append(1 / (1 + odds / turn))
            self._falling.append(1 / (1 + odds * turn) if both else arb(0))
        self._end = self._low + dx * (self._number - 1)
        self._exponents = float(a.mid()), float(b.mid())
        self._shadow: Array = np.array([float((w / self._moment).mid()) for w in self._weights])
        self._up: Array = np.array([float(r.mid()) for r in self._rising])
        self._down: Array = np.array([float(r.mid()) for r in self._falling])

    def proposal(self, s: float) -> tuple[Shift, float]:
        """The best of some shifts, and about the logarithm of the bound that it gives, times the count."""
        best, slope = (0.0, self._shifts[0]), self._up + self._down
        a, b = self._exponents
        bends = self._mu**2 * (a * self._up * (1 - self._up) + b * self._down * (1 - self._down))
        for widest in self._shifts:
            least = 0.0 if self._gentle(widest) else widest.strip
            sizes = {max(share * widest.size, least) for share in SHARES}
            shape = slope**widest.power
            # psi = Y^2 Q / 2 - s Y J to leading order
            square = float((self._shadow * shape**2 * (1 - bends)).sum())
            if square > 0:
                steepest = s * self._mu * float((self._shadow * slope * shape).sum()) / square
                sizes.add(min(max(steepest, least), widest.size))
            shifts = (widest._replace(size=size) for size in sizes)
            best = min(best, *((self._about(shift, s), shift) for shift in shifts))
        return best[1], self.count * best[0]

    def _gentle(self, shift: Shift) -> bool:
        """Whether a strip is that of the first conditions, which hold for all smaller shifts too."""
        return shift.strip <= STRIP / self._mu

    def _about(self, shift: Shift, s: float) -> float:
        """``log B(s) / m(t)`` in floating point."""
        slope = self._up + self._down
        a, b = self._exponents
        y = shift.size * slope**shift.power
        change = self._up * (1 - self._up) - self._down * (1 - self._down)
        bent = shift.power * self._mu * y * change / np.maximum(slope, 1e-300)
        psi = 0.5 * y**2 + np.log1p(0.5 * bent**2)
        for r, power in ((self._up, a), (self._down, b)):
            half = np.sin(0.5 * self._mu * y)
            psi = psi + power * 0.5 * np.log1p(-4 * r * (1 - r) * half**2)
            psi = psi - s * np.arctan2(r * np.sin(self._mu * y), 1 - 2 * r * half**2)
        drop = float((np.expm1(np.minimum(psi, 300.0)) * self._shadow).sum() / self._shadow.sum())
        return math.log1p(min(max(drop, -1 + 1e-15), 0.0))

    def log_bound(self, s: float, shift: Shift) -> Ball:
        """Upper bound, non-positive, on ``log |m(t + is')| / m(t)`` for all ``s' >= s``."""
        tall, log_size = self._log_size(shift)
        if self.mixture.falls and not self._exact_mu * tall <= arb.pi() / 2:
            return arb(0)
        moved = sum(self._moved(s, shift), arb(0))
        step = 4 * log_size.exp() / (2 * arb.pi() * arb(shift.strip) / arb(self._dx)).expm1()
        beyond = self.mixture.moved_range_remainder(self.t, self._low, self._end, self._exact_mu * tall)
        outside = arb("1.5") * (tall * tall / 2).exp() * beyond
        # B / m(t) <= 1 - D / m(t), with D >= -moved - remainders, and m(t) <= moment
        share = (-moved - outside) / self._moment - step
        return upper((1 - share).log()) if share > 0 and share < 1 else arb(0)

    def _moved(self, s: float, shift: Shift) -> list[Ball]:
        """``w (e^psi - 1)`` at the nodes."""
        a, b = self.mixture.coefficients(self.t)
        mu, size, at, power = self._exact_mu, arb(shift.size), arb(s), arb(shift.power)
        factor = arb(shift.power) * mu
        out = []
        for weight, rise, fall in zip(self._weights, self._rising, self._falling, strict=True):
            slope = rise + fall
            y = size * (power * slope.log()).exp() if shift.power else size
            sine, cosine = (mu * y).sin_cos()
            psi = y * y / 2
            for r, coefficient in ((rise, a), (fall, b)):
                if r.is_zero():
                    continue
                # |1 - r + r e^(i angle)|^2 = 1 - 2 r (1 - r) (1 - cos)
                psi += coefficient * (-2 * r * (1 - r) * (1 - cosine)).log1p() / 2
                psi -= at * arb.atan2(r * sine, 1 - r * (1 - cosine))
            if shift.power:
                bent = factor * y * (rise * (1 - rise) - fall * (1 - fall)) / slope
                psi += (bent * bent / 2).log1p()
            out.append(weight * psi.expm1())
        return out
