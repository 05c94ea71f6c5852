"""Privacy curves of discrete laws, exactly: from masses at losses, and from sums taken term by term."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import mpmath

from hockeystick.numerics.lattice import GridLaw, Mesh

Number = Any  # an mpmath number


class Polygon:
    """``sum_j q_j (alpha_j - alpha)_+`` exactly, from tilted masses at losses."""

    def __init__(self, mass: Sequence[float], losses: Sequence[Number], t: float, kappa: float) -> None:
        held = [i for i, value in enumerate(mass) if value]
        self.losses = [losses[i] for i in held]
        p = [mpmath.mpf(mass[i]) * mpmath.exp(mpmath.mpf(kappa) - mpmath.mpf(t) * losses[i]) for i in held]
        q = [value * mpmath.exp(-loss) for value, loss in zip(p, self.losses, strict=True)]
        self.p = list(itertools.accumulate(reversed(p), initial=mpmath.mpf(0)))[::-1]
        self.q = list(itertools.accumulate(reversed(q), initial=mpmath.mpf(0)))[::-1]

    @classmethod
    def of(cls, law: GridLaw) -> Polygon:
        mesh = law.mesh
        losses = [grid_point(mesh, law.first + i) for i in range(len(law.mass))]
        return cls(law.mass.tolist(), losses, mesh.t, mesh.kappa)

    def delta(self, epsilon: Number) -> Number:
        i = next((i for i, loss in enumerate(self.losses) if loss > epsilon), len(self.losses))
        return self.p[i] - mpmath.exp(epsilon) * self.q[i]

    def first_line(self, epsilon: Number) -> Number:
        """The line that it follows below its lowest kink, everywhere."""
        return self.p[0] - mpmath.exp(epsilon) * self.q[0]


def grid_point(mesh: Mesh, j: int) -> Number:
    return mpmath.mpf(mesh.offset) + j * mpmath.mpf(mesh.h)


def convolved(laws: Sequence[tuple[GridLaw, int]]) -> tuple[list[Number], list[Number]]:
    """The law of the sum, term by term: P-masses and losses."""
    mesh = laws[0][0].mesh
    masses: dict[int, Number] = {0: mpmath.mpf(1)}
    offset = mpmath.mpf(0)
    for law, count in laws:
        one = {law.first + i: mpmath.mpf(m) for i, m in enumerate(law.mass.tolist()) if m}
        for _ in range(count):
            out: dict[int, Number] = {}
            for (i, a), (j, b) in itertools.product(masses.items(), one.items()):
                out[i + j] = out.get(i + j, mpmath.mpf(0)) + a * b
            unit = mpmath.exp(mpmath.mpf(law.mesh.kappa))
            masses = {i: value * unit for i, value in out.items()}
            offset += mpmath.mpf(law.mesh.offset)
    index = sorted(masses)
    losses = [offset + i * mpmath.mpf(mesh.h) for i in index]
    return [masses[i] * mpmath.exp(-mpmath.mpf(mesh.t) * x) for i, x in zip(index, losses, strict=True)], losses
