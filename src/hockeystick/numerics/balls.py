"""Ball arithmetic, in which a comparison is a proof. Needs python-flint (Johansson 2017 [Joh17]).

A ball is a midpoint and a radius. It represents all numbers within the radius of the midpoint. The result of an
operation contains the exact results for all numbers in its operands. A comparison is true only if it holds for all
numbers in both balls.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeAlias

from flint import acb, acb_mat, arb, ctx, fmpq

Ball: TypeAlias = Any
"""A real ``flint.arb`` (python-flint carries no type annotations)."""

ComplexBall: TypeAlias = Any
"""A complex ``flint.acb``."""


precision = ctx.workprec
"""Context manager ``precision(bits)``: inside its block, midpoints of balls have this many bits."""


def ball(value: Fraction | int) -> Ball:
    """Return a ball around an exact number."""
    return arb(fmpq(value.numerator, value.denominator))


def above(x: Ball) -> float:
    """Return an upper bound on all points of the ball: the least such double, or the next larger one.

    Raises:
        ArithmeticError: the ball is NaN.
    """
    if x.is_nan():
        raise ArithmeticError("a ball that is not a number has no upper end")
    top = float(x.upper())
    while not arb(top) >= x:
        top = math.nextafter(top, math.inf)
    return top


def below(x: Ball) -> float:
    """Return a lower bound on all points of the ball: the greatest such double, or the next smaller one.

    Raises:
        ArithmeticError: the ball is NaN.
    """
    return 0.0 - above(-x)


def upper(x: Ball) -> Ball:
    """Return the upper end of the ball, as a ball of radius 0."""
    return x.upper()


def spread(radius: Ball) -> Ball:
    """Return the ball around 0 whose radius is the largest modulus of a number in the given ball."""
    return arb(0, upper(abs(radius)))


GUARD_BITS = 64
"""Extra bits of precision, beyond the bits that the size and the required accuracy of a number need."""

MOST_BITS = 1 << 16
"""Largest precision at which a proof is tried."""

MOST_TERMS = 20_000
"""Largest number of terms of a sum or of a continued fraction. If a continued fraction needs more terms, its ball is
wide."""

FAR_OUT = 1 << 14
"""Number of standard deviations beyond which a normal tail is computed as density times Mills ratio. Beyond 2^14
standard deviations, the complementary error function of balls loses bits; beyond 2^18, it loses all of them."""


def normal_tail(x: Ball) -> Ball:
    """Return ``Phi(-x)``, the standard normal mass above x."""
    if x > FAR_OUT:
        return (-x * x / 2).exp() / (2 * arb.pi()).sqrt() * mills_ratio(x)
    return (x / arb(2).sqrt()).erfc() / 2


def mills_ratio(x: Ball) -> Ball:
    """Return the Mills ratio at x > 1: ``Phi(-x)`` divided by the standard normal density at x.

    The ratio equals Laplace's continued fraction ``1/(x + 1/(x + 2/(x + 3/(x + ...))))`` (Olver et al. 2010 [OLBC10],
    7.9.1). All terms of the fraction are positive, so two consecutive convergents enclose its value. The returned ball
    contains these two convergents, which differ by about ``n! x^(-2n)`` after n terms. For large x, n is chosen so that
    this difference is below the precision. For small x the ball is wide.
    """
    count = min(int(ctx.prec / (2 * max(float(abs(x).lower().log()), 0.1))) + 2, MOST_TERMS)

    def convergent(n: int) -> Ball:
        rest = x
        for part in range(n, 0, -1):
            rest = x + part / rest
        return 1 / rest

    return convergent(count).union(convergent(count + 1))


def powers(base: ComplexBall, count: int) -> list[ComplexBall]:
    """Return the first ``count`` powers ``base^0, base^1, ...`` of a complex ball.

    A complex ball is a rectangle, which grows by a factor of up to sqrt 2 in each product, because a product rotates
    it. So each power is the product of two powers of about half its exponent: few products then follow one another.
    """
    out = [acb(1), base]
    for j in range(2, count):
        out.append(out[j // 2] * out[(j + 1) // 2])
    return out[:count]


def phase_sums(weights: list[Ball], angles: list[Ball], count: int) -> list[ComplexBall]:
    """Return ``sum_x w_x e^(i j a_x)`` for j = 0, ..., count - 1, with weights w_x and real or complex angles a_x.

    Every j is written as ``j1 B + j2`` with B about sqrt(count). Then ``e^(i j a_x)`` is the product of the powers for
    ``j1 B`` and for j2, and all sums together are one matrix product.
    """
    width = math.isqrt(count - 1) + 1
    near = [powers((acb(0, 1) * angle).exp(), width + 1) for angle in angles]
    far = [
        [weight * turn for turn in powers(row[width], -(-count // width))]
        for weight, row in zip(weights, near, strict=True)
    ]
    product = acb_mat([list(column) for column in zip(*far, strict=True)]) * acb_mat([row[:width] for row in near])
    return list(product.entries()[:count])
