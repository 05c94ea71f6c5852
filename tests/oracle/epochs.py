"""Epochs of random allocation of finite mechanisms in fractions, and of Laplace noise by nested quadrature.

Nothing here knows of lattices or transforms. All outcomes of a few steps are listed, those with one likelihood ratio
together, and the divergence of a few epochs is a sum over products of their ratios.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Law = dict[Fraction, Fraction]


def ratio_law(p: Sequence[Fraction], q: Sequence[Fraction]) -> tuple[Law, Fraction]:
    """Masses under Q of each likelihood ratio, and what P has where Q has nothing."""
    law: Law = defaultdict(Fraction)
    for with_, without in zip(p, q, strict=True):
        if without:
            law[with_ / without] += without
    return dict(law), sum((a for a, b in zip(p, q, strict=True) if not b), Fraction(0))


def epoch_law(law: Law, weights: Sequence[Fraction], constant: Fraction = Fraction(0)) -> Law:
    """The law under Q of ``c + sum_j w_j W_j``."""
    found: Law = {constant: Fraction(1)}
    for weight in weights:
        following: Law = defaultdict(Fraction)
        for value, mass in found.items():
            for ratio, other in law.items():
                following[value + weight * ratio] += mass * other
        found = dict(following)
    return found


def product(law: Law, epochs: int) -> Law:
    """The law of the product of so many independent ratios."""
    found: Law = {Fraction(1): Fraction(1)}
    for _ in range(epochs):
        following: Law = defaultdict(Fraction)
        for value, mass in found.items():
            for ratio, other in law.items():
                following[value * ratio] += mass * other
        found = dict(following)
    return found


def delta(law: Law, alpha: Fraction, add: bool, finite: Fraction = Fraction(1)) -> Fraction:
    """The divergence at ``alpha = e^eps`` of a law of ratios; ``finite`` is what P has of finite ratio."""
    if add:
        return sum((mass * max(1 - alpha * ratio, Fraction(0)) for ratio, mass in law.items()), Fraction(0))
    return sum((mass * max(ratio - alpha, Fraction(0)) for ratio, mass in law.items()), Fraction(0)) + 1 - finite


def laplace_delta(theta: float, steps: int, epsilon: float, add: bool) -> float:
    """One epoch of 2 or 3 steps of Laplace noise, by Gauss and Legendre's rule over all but one step."""
    alpha = math.exp(epsilon)
    ratios, masses = _laplace_law(theta, 400 if steps == 2 else 160)
    total, mass = np.zeros(1), np.ones(1)
    for _ in range(steps - 1):
        total = np.add.outer(total, ratios).ravel()
        mass = np.multiply.outer(mass, masses).ravel()
    if add:  # E (1 - alpha Lambda)_+ = E (alpha Lambda - 1)_+ + 1 - alpha
        return float((mass * _excess(theta, steps / alpha - total)).sum()) * alpha / steps + 1 - alpha
    return float((mass * _excess(theta, steps * alpha - total)).sum()) / steps


def _laplace_law(theta: float, nodes: int) -> tuple[Array, Array]:
    """Ratios and masses under Q: both atoms, and the nodes of four panels between."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    ends = np.linspace(-theta, theta, 5)
    loss = np.concatenate([0.5 * (a + b) + 0.5 * (b - a) * x for a, b in pairwise(ends.tolist())])
    weight = np.concatenate([0.5 * (b - a) * w for a, b in pairwise(ends.tolist())])
    masses = 0.25 * math.exp(-0.5 * theta) * np.exp(-0.5 * loss) * weight
    return (
        np.concatenate([[math.exp(-theta)], np.exp(loss), [math.exp(theta)]]),
        np.concatenate([[0.5], masses, [0.5 * math.exp(-theta)]]),
    )


def _excess(theta: float, c: Array) -> Array:
    """``E_Q (W - c)_+`` of one step in closed form."""
    inside = np.clip(c, math.exp(-theta), math.exp(theta))
    loss = np.log(inside)
    half = 0.5 * math.exp(-0.5 * theta)
    p = half * (math.exp(0.5 * theta) - np.exp(0.5 * loss)) + 0.5
    q = half * (np.exp(-0.5 * loss) - math.exp(-0.5 * theta)) + 0.5 * math.exp(-theta)
    within = p - inside * q
    out: Array = np.where(c >= math.exp(theta), 0.0, np.where(c <= math.exp(-theta), 1 - c, within))
    return out
