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
"""

from __future__ import annotations

import math
from itertools import accumulate, chain, repeat
from operator import add, mul

from flint import acb, arb

from hockeystick.numerics.balls import Ball, ComplexBall, phase_sums, spread, upper

FEW = 100_000  # products, and SHORT points, up to which the product of matrices is quicker
SHORT = 100


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
    cells, farthest = _spread_out(weights, [loss / spacing for loss in losses], ratio, half, n)
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
    weights: list[Ball], places: list[Ball], ratio: Ball, half: int, n: int
) -> tuple[list[ComplexBall], Ball]:
    """The grid, wrapped to n cells, and the largest distance of a place from the cell it is spread around.

    With d the distance, ``e^(-(d - k)^2 / (2 r^2)) = e^(-d^2 / (2 r^2)) (e^(d / r^2))^k e^(-k^2 / (2 r^2))``.
    """
    cells = [arb(0)] * (n + 2 * half)  # those at the ends belong to others, modulo n
    inverse = 1 / (ratio * ratio)
    table = [(-(inverse * (k * k)) / 2).exp() for k in range(half + 1)]
    farthest = arb(0)
    for weight, place in zip(weights, places, strict=True):
        centre = round(float(place.mid()))
        d = place - centre
        farthest = farthest.max(upper(abs(d)))
        share = weight * (-(d * d * inverse) / 2).exp()
        growth = (d * inverse).exp()
        at = centre % n + half
        above = slice(at, at + half + 1)
        cells[above] = map(add, cells[above], map(mul, table, accumulate(repeat(growth, half), mul, initial=share)))
        below = slice(at - 1, at - half - 1 if at > half else None, -1)
        falling = accumulate(repeat(1 / growth, half - 1), mul, initial=share / growth)
        cells[below] = map(add, cells[below], map(mul, table[1:], falling))
    for i in chain(range(half), range(n + half, n + 2 * half)):
        cells[half + (i - half) % n] += cells[i]
    return [acb(cell) for cell in cells[half : n + half]], upper(farthest)
