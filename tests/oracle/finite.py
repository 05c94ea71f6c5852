"""Laws with finitely many outcomes, each outcome listed from the definition of its mechanism, for tests only.

The staircase is integrated piece by piece over its own density, the discrete laws are summed outcome by outcome:
nothing here knows which losses there are, or which pair is the worst.  Outcomes of masses below 1e-60 are left out.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

from .closed_forms import Atoms
from .plan import Round
from .real import Mpf, OracleError, mp, to_mpf

Law = list[tuple[Mpf, Mpf]]
"""Masses of each outcome with the record and without it."""

DEPTH = 140  # outcomes of masses below e^-140 are left out
SAME = 30  # digits to which losses are the same


def _categories(entry: Round, shift: int) -> Law:
    epsilon, number = entry.parameters
    odds = mp.exp(to_mpf(epsilon))
    total = odds + int(number) - 1
    return [(odds / total, 1 / total), (1 / total, odds / total)] + [(1 / total, 1 / total)] * (int(number) - 2)


def _staircase(entry: Round, shift: int) -> Law:
    epsilon, width, gamma = entry.parameters
    e, d = mp.exp(-to_mpf(epsilon)), to_mpf(width)
    g = to_mpf(gamma) if gamma >= 0 else 1 / (1 + mp.exp(to_mpf(epsilon) / 2))
    top = (1 - e) / (2 * d * (g + e * (1 - g)))

    def density(x: Mpf) -> Mpf:
        stairs = mp.floor(abs(x) / d)
        return top * e ** (stairs + (1 if abs(x) - stairs * d >= g * d else 0))

    far = math.ceil(DEPTH / max(float(epsilon), 1e-3))
    if far > 2000:
        raise OracleError("too many stairs")
    edges = {sign * (k + part) * d + move for k in range(far) for part in (0, g) for sign in (1, -1) for move in (0, d)}
    ordered = sorted(edges)
    out: Law = []
    for left, right in itertools.pairwise(ordered):
        middle = (left + right) / 2
        out.append(((right - left) * density(middle - d), (right - left) * density(middle)))
    return out


def _discrete_laplace(entry: Round, shift: int) -> Law:
    scale, distance = to_mpf(entry.parameters[0]), int(entry.parameters[1]) * shift
    r = mp.exp(-1 / scale)
    far = math.ceil(DEPTH * float(scale)) + distance
    constant = (1 - r) / (1 + r)
    return [(constant * r ** abs(x - distance), constant * r ** abs(x)) for x in range(-far, far + distance + 1)]


def _discrete_gaussian(entry: Round, shift: int) -> Law:
    sensitivity = int(entry.parameters[1])
    sigma, distance = to_mpf(entry.parameters[0]) * sensitivity, sensitivity * shift
    far = math.ceil(math.sqrt(2 * DEPTH) * float(sigma)) + 1
    weights = {x: mp.exp(-x * x / (2 * sigma**2)) for x in range(-far - distance, far + distance + 1)}
    total = mp.fsum(weights.values())
    return [
        (weights.get(x - distance, mp.zero) / total, weights.get(x, mp.zero) / total)
        for x in range(-far, far + distance + 1)
    ]


def _binomial(entry: Round, shift: int) -> Law:
    trials, heads, distance = int(entry.parameters[0]), entry.parameters[1], int(entry.parameters[2])

    def mass(k: int) -> Mpf:
        if not 0 <= k <= trials:
            return mp.zero
        exact = math.comb(trials, k) * Fraction(heads) ** k * (1 - Fraction(heads)) ** (trials - k)
        return mp.mpf(exact.numerator) / exact.denominator

    return [(mass(k - distance), mass(k)) for k in range(trials + distance + 1)]


def _pmf(entry: Round, shift: int) -> Law:
    p, q = entry.lists
    return [(to_mpf(a), to_mpf(b)) for a, b in zip(p, q, strict=True)]


def _tradeoff(entry: Round, shift: int) -> Law:
    """Differences of neighbouring corners, the last of which is (1, 0)."""
    alphas, betas = ((*entry.lists[0], Fraction(1)), (*entry.lists[1], Fraction(0)))
    out: Law = [(to_mpf(1 - betas[0]), mp.zero)]
    for i in range(len(alphas) - 1):
        out.append((to_mpf(betas[i] - betas[i + 1]), to_mpf(alphas[i + 1] - alphas[i])))
    return out


def _privacy_curve(entry: Round, shift: int) -> Law:
    """By the definition of the largest curve: at each corner the least that any chord of two points allows."""
    points: dict[Mpf, Mpf] = {mp.zero: mp.one}
    for epsilon, delta in zip(*entry.lists, strict=True):
        alpha, value = mp.exp(to_mpf(epsilon)), to_mpf(delta)
        points[alpha] = min(points.get(alpha, mp.one), value)
        points[1 / alpha] = min(points.get(1 / alpha, mp.one), 1 - (1 - value) / alpha)
    places = sorted(points)
    least = {place: min(points[other] for other in places if other <= place) for place in places}

    def height(at: Mpf) -> Mpf:
        chords = [
            (least[low] * (high - at) + least[high] * (at - low)) / (high - low)
            for low in places
            for high in places
            if low <= at <= high and low < high
        ]
        return min([*chords, least[at]])

    heights = [height(place) for place in places]
    falls = [(heights[i] - heights[i + 1]) / (places[i + 1] - places[i]) for i in range(len(places) - 1)] + [mp.zero]
    q = [falls[i] - falls[i + 1] for i in range(len(places) - 1)]
    finite = [(place * mass, mass) for place, mass in zip(places[1:], q, strict=True) if mass > mp.mpf(10) ** -50]
    alone = [(mp.zero, 1 - mp.fsum(mass for _, mass in finite)), (1 - mp.fsum(p for p, _ in finite), mp.zero)]
    return [*finite, *alone]


LAWS = {
    "randomized-response": _categories,
    "staircase": _staircase,
    "discrete-laplace": _discrete_laplace,
    "discrete-gaussian": _discrete_gaussian,
    "binomial": _binomial,
    "pmf": _pmf,
    "tradeoff": _tradeoff,
    "privacy-curve": _privacy_curve,
}
"""The outcomes of each mechanism; ``shift`` is 2 where a record is replaced, whose contributions may be opposite."""

SYMMETRIC = ("privacy-curve", "randomized-response", "staircase", "discrete-laplace", "discrete-gaussian")
"""Mechanisms whose law when a record is replaced is known: the first two by their own adjacency, the others twice as
far."""


def finite_atoms(entry: Round, direction: str) -> Atoms:
    """The pair of one round in one direction, outcomes of one loss together."""
    if direction == "replace-one" and (entry.mechanism not in SYMMETRIC or entry.rate != 1):
        raise OracleError("no pair is defined for this mechanism under replace-one")
    law = LAWS[entry.mechanism](entry, 2 if direction == "replace-one" else 1)
    q = to_mpf(entry.rate)
    mixed = [((1 - q) * b + q * a, b) for a, b in law]
    pairs = [(b, a) for a, b in mixed] if direction == "add" else mixed
    merged: dict[str, list[Mpf]] = defaultdict(lambda: [mp.zero, mp.zero])
    infinite = mp.zero
    for p, other in pairs:
        if p and not other:
            infinite += p
        elif p:
            loss = mp.log(p / other)
            cell = merged[mp.nstr(loss, SAME) if abs(loss) > mp.mpf(10) ** -SAME else "0"]
            cell[0], cell[1] = loss, cell[1] + p
    return Atoms(tuple((loss, mass) for loss, mass in merged.values()), infinite)
