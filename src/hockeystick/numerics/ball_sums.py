"""``sum_x w_x e^(i s_j L_x)`` on equidistant ``s_j = j ds``, weights w >= 0, every term a ball.

Short sums: one product of matrices (``balls.phase_sums``). Long ones: a Gaussian of width sigma stands for each phase
on a grid of step ``D = 2 pi / N``, ``N = n ds``, so that one n-point Fourier transform gives all s_j. By Poisson
summation

    sum_b e^(-(L - bD)^2 / (2 sigma^2)) e^(i s b D)
        = (sigma sqrt(2 pi) / D) sum_m e^(-sigma^2 (s + m N)^2 / 2) e^(i (s + m N) L) ,

whose term m = 0 is the phase times ``F(s) = (sigma sqrt(2 pi) / D) e^(-sigma^2 s^2 / 2)``. For ``0 <= s < N / 2``:

- aliases: ``(s + m N)^2 - s^2 >= |m| N (N - 2 s)``, so that the others are at most ``2 / (e^a - 1)`` of it, ``a =
  sigma^2 N (N - 2s) / 2``;
- the Gaussian is cut w steps from a point b_0; with ``|L - b_0 D| <= c D``, c < 1, what is left out is at most
  ``2 e^(-(w + 1 - c)^2 D^2 / (2 sigma^2)) / (1 - e^(-(w + 1 - c) D^2 / sigma^2))``.

Neighbours in the sum whose places are close together are merged into a few moments before they are spread.
"""

from __future__ import annotations

import math
from itertools import accumulate, chain, groupby, repeat
from operator import add, mul

from flint import acb, arb, arb_poly

from hockeystick.numerics.balls import Ball, ComplexBall, phase_sums, spread, upper
from hockeystick.numerics.work import charge

FEW = 100_000  # products, and SHORT points, up to which the product of matrices is quicker
SHORT = 100  # points s_j
PARTS = 8  # of a cell
PRODUCT, CELL = 450.0, 5_000.0  # units of work of a product of balls with its addition, and of a cell of the transform
MANY = 12  # places in a part from which on they are merged into moments


def weighted_phases(weights: list[Ball], losses: list[Ball], step: Ball, count: int, depth: float) -> list[ComplexBall]:
    """The sums for j < count, remainders included, about ``e^-depth`` of the sum of the weights."""
    if count == 1:
        return [acb(sum(weights, arb(0)))]
    if count <= SHORT or len(weights) * count <= FEW:
        return phase_sums(weights, [step * loss for loss in losses], count)
    return gridded_sums(weights, losses, step, count, depth)


def gridded_sums(weights: list[Ball], losses: list[Ball], step: Ball, count: int, depth: float) -> list[ComplexBall]:
    """The sums by one Fourier transform."""
    n = 1 << (3 * count - 1).bit_length()
    spacing = 2 * arb.pi() / (step * n)
    ratio = arb(math.sqrt(2 * depth / (1 - 2 * (count - 1) / n)) / (2 * math.pi))  # sigma / D: exact, a choice
    half = math.ceil(float(ratio) * math.sqrt(2 * depth) + 0.5)
    cells, farthest = _spread_out(weights, [loss / spacing for loss in losses], ratio, half, n, depth)
    transform = acb.dft(cells)  # of e^(-2 pi i j b / n): the conjugate, the cells being real
    near = half + 1 - farthest
    left_out = arb.pos_inf()
    if near > 0:
        left_out = 2 * (-((near / ratio) ** 2) / 2).exp() / (1 - (-near / ratio**2).exp())
    turn = 2 * arb.pi() * ratio / n  # sigma ds
    scale = 1 / (ratio * (2 * arb.pi()).sqrt())
    # sigma^2 N (N - 2 s) / 2 = turn^2 n (n - 2 j) / 2: both remainders are largest at the last point
    last = count - 1
    alias = 2 / (turn**2 * n * (n - 2 * last) / 2).expm1()
    error = spread(sum(weights, arb(0)) * (alias + scale * ((turn * last) ** 2 / 2).exp() * left_out))
    out = []
    for j in range(count):
        value = transform[j] * (scale * ((turn * j) ** 2 / 2).exp())
        out.append(acb(value.real + error, error - value.imag if j else 0))
    return out


def _spread_out(
    weights: list[Ball], places: list[Ball], ratio: Ball, half: int, n: int, depth: float
) -> tuple[list[ComplexBall], Ball]:
    """The grid, wrapped to n cells, and the largest distance of a place from the cell it is spread around.

    With d the distance, ``e^(-(d - k)^2 / (2 r^2)) = e^(-d^2 / (2 r^2)) (e^(d / r^2))^k e^(-k^2 / (2 r^2))``.
    """
    cells = [arb(0)] * (n + 2 * half)  # those at the ends belong to others, modulo n
    inverse = 1 / (ratio * ratio)
    table = [(-(inverse * (k * k)) / 2).exp() for k in range(half + 1)]
    farthest = arb(0)
    runs = [(at, list(run)) for at, run in groupby(zip(weights, places, strict=True), key=_neighbourhood)]
    spread_alone = sum(min(len(members), MANY) for _, members in runs)
    charge(PRODUCT * 2 * half * spread_alone + CELL * n, "the sums of a proof are too long")
    for (centre, part), members in runs:
        distances = [place - centre for _, place in members]
        for d in distances:
            farthest = farthest.max(upper(abs(d)))
        shares = [weight * (-(d * d * inverse) / 2).exp() for (weight, _), d in zip(members, distances, strict=True)]
        at = centre % n + half
        above, below = slice(at, at + half + 1), slice(at - 1, at - half - 1 if at > half else None, -1)
        merged = _merged(shares, distances, (part + 0.5) / PARTS, inverse, half, depth) if len(shares) >= MANY else None
        if merged:
            cells[above] = map(add, cells[above], map(mul, table, merged[half:]))
            cells[below] = map(add, cells[below], map(mul, table[1:], merged[half - 1 :: -1]))
            continue
        for d, share in zip(distances, shares, strict=True):
            growth = (d * inverse).exp()
            cells[above] = map(add, cells[above], map(mul, table, accumulate(repeat(growth, half), mul, initial=share)))
            falling = accumulate(repeat(1 / growth, half - 1), mul, initial=share / growth)
            cells[below] = map(add, cells[below], map(mul, table[1:], falling))
    for i in chain(range(half), range(n + half, n + 2 * half)):
        cells[half + (i - half) % n] += cells[i]
    return [acb(cell) for cell in cells[half : n + half]], upper(farthest)


def _neighbourhood(one: tuple[Ball, Ball]) -> tuple[int, int]:
    """The cell that a place is nearest to, and which part of it."""
    place = float(one[1].mid())
    centre = round(place)
    return centre, math.floor((place - centre) * PARTS)


def _merged(
    shares: list[Ball], distances: list[Ball], middle: float, inverse: Ball, half: int, depth: float
) -> list[Ball] | None:
    """``sum share e^(d k / r^2)`` for k from -half to half, by moments about the middle; None if they do not converge.

    With ``x = (d - middle) k / r^2`` and ``|x| <= X < 1``, p terms of ``e^x`` leave out at most ``X^p / p! / (1 - X)``.
    """
    offsets = [d - middle for d in distances]
    size = arb(0)
    for offset in offsets:
        size = size.max(upper(abs(offset)))
    size = upper(size * half * inverse)
    if not size < 1:
        return None
    order, left_out = 0, sum(shares, arb(0)) / (1 - size)
    smallest = left_out * math.exp(-depth)
    moments, powers_, factorial = [], shares, 1
    while order < 2 or not left_out < smallest:
        moments.append(sum(powers_, arb(0)) / factorial)
        powers_ = list(map(mul, powers_, offsets))
        order += 1
        factorial *= order
        left_out *= size / order
    series, around = arb_poly(moments), spread(left_out)
    growth = (inverse * middle).exp()
    return [(series(inverse * k) + around) * growth**k for k in range(-half, half + 1)]
