"""Characteristic functions of privacy losses along a vertical line, with every error bounded.

``m(z) = E_P e^(zL)``, ``K = log m``, ``z = t + is``. What an engine needs of one round is a :class:`Transform`: K on the line, an upper bound
on K(t), and how fast ``|m(t + is)| / m(t)`` is bound to fall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]


class Line(Protocol):
    """K of one round on the line Re z = t, |Im z| <= some reach."""

    @property
    def cost(self) -> int:
        """Elementary evaluations for each point of the line."""
        ...

    def cumulants(self, s: Array) -> tuple[ComplexArray, Array]:
        """``K(t + is)`` and a bound on the absolute error of each value."""
        ...


class Transform(Protocol):
    """The characteristic function of one round."""

    def line(self, t: float, reach: float, tolerance: float) -> Line:
        """The line through t > 0, for ``|s| <= reach``; analytic remainders of K below ``tolerance`` where possible."""
        ...

    def log_decay(self, t: float, s: Array) -> Array:
        """Upper bounds, non-positive, on ``log sup |m(t + iv)| / m(t)`` over ``s <= v <= 2 s``, for each s > 0."""
        ...

    def log_variation(self, t: float) -> float:
        """log of a constant C with ``|m(t + is)| / m(t) <= C / s`` for all s > 0; ``inf`` where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class QuadraticTransform:
    """The Gaussian: ``K(z) = mu^2 z (1 + z) / 2`` exactly."""

    mu: float

    def line(self, t: float, reach: float, tolerance: float) -> QuadraticLine:
        """No remainder but rounding."""
        return QuadraticLine(self.mu, t)

    def log_decay(self, t: float, s: Array) -> Array:
        """``-mu^2 s^2 / 2``."""
        decay: Array = -0.5 * np.square(self.mu * s) * (1 - 1e-12)
        return decay

    def log_variation(self, t: float) -> float:
        """``sup s e^(-mu^2 s^2 / 2) = e^(-1/2) / mu``."""
        return -0.5 - math.log(self.mu) + 1e-12


@dataclass(frozen=True, slots=True)
class QuadraticLine:
    """K of the Gaussian on Re z = t."""

    mu: float
    t: float
    cost: int = 1

    def cumulants(self, s: Array) -> tuple[ComplexArray, Array]:
        """Closed form; relative error a few roundings, eight of them from mu."""
        half = 0.5 * self.mu * self.mu
        real = half * (self.t * (1 + self.t) - np.square(s))
        imaginary = half * (1 + 2 * self.t) * s
        size = half * (self.t * (1 + self.t) + np.square(s)) + np.abs(imaginary)
        return real + 1j * imaginary, 32 * 2.0**-53 * size
