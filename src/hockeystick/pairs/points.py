"""Exact pairs for given points of a privacy curve, and for trade-off functions that are piecewise linear.

**Points of a privacy curve.** Let a mechanism satisfy (epsilon_i, delta_i) for several i, in both directions. As a
function of ``alpha = e^eps`` its privacy curve h is convex, does not increase, and is 1 at alpha 0. With P and Q
exchanged the curve is ``1 - alpha + alpha h(1 / alpha)``, so that each point also gives the bound ``1 - e^-epsilon (1 -
delta)`` at -epsilon. The largest function with these properties is the lower convex hull of all of these points and of
(0, 1), constant from the last point on: the hull is convex, and no convex function below the points exceeds it. The
hull is the curve of a pair (Zhu, Dong, Wang 2022 [ZDW22], after Definition 7). This pair has a loss at each corner of
the hull, whose Q-mass is the change of slope there. Its mass at infinite loss is the last delta. The pair itself
satisfies all of the points in both directions, so that the bound is attained. For a single point, the pair is that of
Kairouz, Oh and Viswanath (``black_box.py``).

Numbers ``e^epsilon`` are taken to 60 digits. Their error is far below the rounding error of a loss, for which engines
account.

**A trade-off function with corners** (Dong, Roth, Su 2022 [DRS22]): ``f(alpha_i) = beta_i``, and f is linear between
these corners. For every two neighbouring corners the pair has one outcome, with probability ``alpha_(i+1) - alpha_i``
under Q and ``beta_i - beta_(i+1)`` under P. The Neyman-Pearson test that rejects outcomes in this order has the error
rates given by f. The P-mass ``1 - f(0)`` has infinite loss. One further outcome has the masses that remain at the last
corner.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate, pairwise

from hockeystick.pairs.finite import FinitePair

DIGITS = 60
"""Number of decimal digits to which powers of e are computed."""

ONE, ZERO = Fraction(1), Fraction(0)  # the exact numbers 1 and 0


def exponential(power: Fraction) -> Fraction:
    """Return e to the given power, rounded to :data:`DIGITS` digits."""
    context = Context(prec=DIGITS)
    return Fraction(context.exp(context.divide(Decimal(power.numerator), Decimal(power.denominator))))


def largest_curve(epsilons: Sequence[Fraction], deltas: Sequence[Fraction]) -> FinitePair:
    """Return the pair of the largest privacy curve among mechanisms that satisfy every given (epsilon, delta).

    Args:
        epsilons: 0 or greater.
        deltas: one for each epsilon, between 0 and 1.
    """
    points: dict[Fraction, Fraction] = {ZERO: ONE}
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        alpha = exponential(epsilon)
        for at, value in ((alpha, delta), (1 / alpha, 1 - (1 - delta) / alpha)):
            points[at] = min(points.get(at, ONE), value)
    places = sorted(points)
    corners = _hull(zip(places, accumulate((points[at] for at in places), min), strict=True))  # no curve increases
    slopes = [(low[1] - high[1]) / (high[0] - low[0]) for low, high in pairwise(corners)]
    falls = [*slopes, ZERO]
    q = [falls[i] - falls[i + 1] for i in range(len(slopes))]
    at_corners = [at for at, _ in corners[1:]]
    with_ = [at * mass for at, mass in zip(at_corners, q, strict=True)]
    # Q alone has mass 1 less the slope before the first corner; P alone has the last delta
    return FinitePair((ZERO, *with_, ONE - sum(with_)), (ONE - sum(q), *q, ZERO))


def _hull(points: Iterable[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """Return the corners of the lower convex hull of points (place, value), given in increasing order of the place."""
    corners: list[tuple[Fraction, Fraction]] = []
    for at, value in points:
        while len(corners) > 1:
            (x, y), (middle, height) = corners[-2:]
            if (height - y) * (at - x) < (value - y) * (middle - x):
                break
            corners.pop()
        if not corners or at > corners[-1][0]:
            corners.append((at, value))
    return corners


def of_trade_off(alphas: Sequence[Fraction], betas: Sequence[Fraction]) -> FinitePair | None:
    """Return the pair whose trade-off function is linear between given corners; ``None`` if it is not convex.

    Args:
        alphas: rates of false alarms, increasing from 0.
        betas: rates of missed records, not increasing.
    """
    ends = [*zip(alphas, betas, strict=True), (ONE, ZERO)]
    p, q = [ONE - betas[0]], [ZERO]
    for (alpha, beta), (after, less) in pairwise(ends):
        step, fall = after - alpha, beta - less
        if step < 0 or fall < 0 or (not step and fall):
            return None
        if q[-1] and step and fall * q[-1] > p[-1] * step:  # slopes do not get flatter
            return None
        p.append(fall)
        q.append(step)
    return FinitePair(tuple(p), tuple(q))


def of_tests(alphas: Iterable[float], betas: Iterable[float]) -> FinitePair:
    """Return the exact pair whose trade-off function is the lower convex hull of the error rates of given tests.

    The hull includes (0, 1) and (1, 0). The pair is dominated by every pair that attains the true rates, because
    rounding the rates up amounts to a test that sometimes errs on purpose.

    Args:
        alphas: rates of false alarms, rounded up; a test with a rate of 1 or more is left out.
        betas: rates of missed records, rounded up.

    >>> of_tests([0.25], [0.25]).loss_range
    (-1.0986122886681098, 1.0986122886681098)
    """
    points = [(Fraction(float(alpha)), Fraction(float(beta))) for alpha, beta in zip(alphas, betas, strict=True)]
    hull = _hull([(ZERO, ONE), *sorted(point for point in points if ZERO < point[0] < ONE), (ONE, ZERO)])
    found = of_trade_off(*zip(*hull[:-1], strict=True))
    assert found is not None  # a convex hull is convex, and falls from (0, 1) to (1, 0)
    return found
