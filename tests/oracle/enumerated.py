"""One round of Gaussian noise on a random sum of numbers, by enumeration of the batches: exact laws of small datasets.

A law is a mapping from centres to probabilities; delta is the integral of (p - e^eps q)_+ over a fine grid.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Law = Mapping[Fraction, Fraction]


def with_replacement(records: Sequence[Fraction], draws: int) -> Law:
    """Sums of so many independent draws, each record being as likely."""
    law: dict[Fraction, Fraction] = defaultdict(Fraction)
    for batch in itertools.product(records, repeat=draws):
        law[sum(batch, Fraction(0))] += Fraction(1, len(records) ** draws)
    return law


def truncated_poisson(records: Sequence[Fraction], rate: Fraction, most: int) -> Law:
    """Sums of a Poisson sample that is cut to so many records, every part of that size being as likely."""
    law: dict[Fraction, Fraction] = defaultdict(Fraction)
    for size in range(len(records) + 1):
        chance = rate**size * (1 - rate) ** (len(records) - size)
        for sample in itertools.combinations(records, size):
            parts = list(itertools.combinations(sample, min(size, most)))
            for part in parts:
                law[sum(part, Fraction(0))] += chance / len(parts)
    return law


def delta(first: Law, second: Law, noise: float, epsilon: float) -> float:
    """``int (p - e^eps q)_+`` for normal noise around the centres, to about seven digits."""
    centres = [float(c) for c in (*first, *second)]
    x = np.linspace(min(centres) - 12 * noise, max(centres) + 12 * noise, 40_001)

    def density(law: Law) -> Any:
        total = np.zeros_like(x)
        for centre, mass in law.items():
            total += float(mass) * np.exp(-0.5 * np.square((x - float(centre)) / noise))
        return total / (noise * np.sqrt(2 * np.pi))

    return float(np.maximum(density(first) - np.exp(epsilon) * density(second), 0.0).sum() * (x[1] - x[0]))
