"""Atoms on lattices of their own (engines/grid/blocks.py), on a grid, against sums in many digits."""

from __future__ import annotations

from typing import Any

import mpmath
import pytest

from hockeystick import Plan, RandomizedResponse, Round
from polygons import Number


@pytest.fixture(autouse=True)
def digits() -> Any:
    with mpmath.workdps(60):
        yield


def response(epsilon: str, n: int) -> list[tuple[Number, Number]]:
    """(probability, loss) of n rounds of randomised response."""
    one = mpmath.mpf(epsilon)
    p = 1 / (1 + mpmath.exp(-one))
    return [(mpmath.binomial(n, j) * p**j * (1 - p) ** (n - j), (2 * j - n) * one) for j in range(n + 1)]


def enumerated(parts: list[list[tuple[Number, Number]]], epsilon: Number) -> Number:
    """delta of independent laws, outcome by outcome."""
    sums = [(mpmath.mpf(1), mpmath.mpf(0))]
    for part in parts:
        sums = [(a * b, x + y) for a, x in sums for b, y in part]
    return mpmath.fsum(p * -mpmath.expm1(epsilon - x) for p, x in sums if x > epsilon)


@pytest.mark.parametrize("counts", [(3, 2), (10, 13), (60, 41), (1, 90)], ids=str)
@pytest.mark.parametrize("losses", [("0.1", "0.234578"), ("1.0", "0.0314159"), ("0.5", "0.70710678")], ids=str)
@pytest.mark.share(3)
def test_atoms_without_a_common_divisor(losses: tuple[str, str], counts: tuple[int, int]) -> None:
    """Two kinds of randomised response on lattices of their own, against exact enumeration."""
    parts = [response(loss, n) for loss, n in zip(losses, counts, strict=True)]
    plan = Plan([Round(RandomizedResponse(float(loss)), count=n) for loss, n in zip(losses, counts, strict=True)])
    top = float(sum(mpmath.mpf(loss) * n for loss, n in zip(losses, counts, strict=True)))
    for share in (0.0, 0.2, 0.55):
        epsilon = share * top
        bound = plan.delta(epsilon, accountant="grid")
        true = enumerated(parts, mpmath.mpf(epsilon))
        assert bound.lower <= true <= bound.upper
        assert bound.relative_gap <= 1e-3 or bound.reason
    found = plan.epsilon(1e-3, accountant="grid")
    assert enumerated(parts, mpmath.mpf(found.upper)) <= 1e-3
    assert found.lower == 0 or enumerated(parts, mpmath.mpf(found.lower)) >= 1e-3 * (1 - 1e-15)
    assert found.relative_gap <= 1e-3 or found.reason


@pytest.mark.share(2)
@pytest.mark.parametrize("n", [10**6, 10**6 + 3], ids=str)
def test_many_rounds_against_the_binomial(n: int) -> None:
    """A million rounds of randomised response beside a few of another kind: summed around epsilon in many digits."""
    small, other = mpmath.mpf("0.001"), response("0.37", 3)
    p = 1 / (1 + mpmath.exp(-small))
    plan = Plan([Round(RandomizedResponse(0.001), count=n), Round(RandomizedResponse(0.37), count=3)])
    epsilon = 4.0
    true = mpmath.mpf(0)
    for weight, shift in other:
        first = int(mpmath.floor(((epsilon - shift) / small + n) / 2)) + 1
        term = mpmath.exp(mpmath.loggamma(n + 1) - mpmath.loggamma(first + 1) - mpmath.loggamma(n - first + 1))
        term *= p**first * (1 - p) ** (n - first)
        for j in range(first, first + 9000):
            true += weight * term * -mpmath.expm1(epsilon - shift - (2 * j - n) * small)
            term *= p / (1 - p) * (n - j) / (j + 1)
    bound = plan.delta(epsilon, accountant="grid")
    assert bound.lower <= true <= bound.upper
    assert bound.relative_gap <= 1e-3
