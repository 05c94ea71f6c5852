"""Every charge of simple, advanced and optimal composition, where it is made: the theorems to fifty digits."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from mpmath import mp, mpf

from hockeystick.accountants.advanced import AdvancedAccountant
from hockeystick.accountants.basic import BasicAccountant
from hockeystick.accountants.optimal import OptimalAccountant
from hockeystick.accountants.shared.round_guarantee import (
    RoundGuarantee,
    SplitAccountant,
    divided,
    guarantees,
)
from hockeystick.directions.directions import Directions
from hockeystick.pairs import BlackBoxPair, GaussianPair, LaplacePair, PoissonRemovePair
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import DeltaBound

Number = Any
DRAWS = 300


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workdps(50):
        yield


def draws() -> Iterator[tuple[list[int], list[float], float]]:
    """Counts and epsilons of up to three kinds of rounds, and a slack."""
    draw = random.Random(5)
    for _ in range(DRAWS):
        kinds = draw.randint(1, 3)
        counts = [draw.randint(1, 5000) for _ in range(kinds)]
        yield counts, [math.exp(draw.uniform(-9, 0.5)) for _ in range(kinds)], math.exp(draw.uniform(-30, -1))


def boxes(counts: list[int]) -> list[tuple[RoundGuarantee, int]]:
    """Rounds of which the theorem reads the counts alone."""
    return [(RoundGuarantee(BlackBoxPair(1.0), mutual=True), count) for count in counts]


def theorem(counts: list[int], each: list[float], slack: Number) -> Number:
    """Epsilon of Kairouz, Oh, Viswanath 2015, Theorem 3.5."""
    kinds = [(count, mpf(epsilon)) for count, epsilon in zip(counts, each, strict=True)]
    square = mp.fsum(count * epsilon**2 for count, epsilon in kinds)
    depth = min(-mp.log(slack), mp.log(mp.e + mp.sqrt(square) / slack))
    mean = mp.fsum(count * epsilon * mp.tanh(epsilon / 2) for count, epsilon in kinds)
    return min(mean + mp.sqrt(2 * square * depth), mp.fsum(count * epsilon for count, epsilon in kinds))


def test_advanced_composition_is_the_theorem_rounded_up() -> None:
    for counts, each, slack in draws():
        found = AdvancedAccountant().composed(boxes(counts), each, slack)
        exact = theorem(counts, each, -mp.expm1(-mpf(slack)))
        assert exact <= found <= exact * (1 + mpf(10) ** -12)


@pytest.mark.parametrize("accountant", [AdvancedAccountant(), OptimalAccountant()])
def test_the_delta_of_an_epsilon_has_at_most_that_epsilon(accountant: SplitAccountant) -> None:
    """And hardly less would do: the search is for the split as well, to about a percent."""
    for rounds in ([(LaplacePair(1.0, 5.0), 30)], [(GaussianPair(0.2), 9), (LaplacePair(1.0, 7.0), 5)]):
        kinds = guarantees(rounds, mutual=True)
        for epsilon in (0.5, 1.5, 3.0):
            delta = math.exp(accountant.log_delta_above(kinds, epsilon))
            assert accountant.epsilon_above(kinds, delta) <= 1.01 * epsilon
            assert accountant.epsilon_above(kinds, 0.97 * delta) > epsilon


@pytest.mark.parametrize("accountant", [AdvancedAccountant(), OptimalAccountant()])
def test_a_delta_just_below_what_is_lost_has_no_epsilon(accountant: SplitAccountant) -> None:
    """Black boxes that may fail, and a delta next below the probability that any of them does; twice it is enough."""
    for i in range(60):
        failing, count = 10.0 ** -(1.5 + i / 9), 2 + i
        kinds = [(RoundGuarantee(BlackBoxPair(0.5, failing), mutual=True), count)]
        exact = 1 - (1 - mpf(failing)) ** count
        below = float(exact)
        while mpf(below) >= exact:
            below = math.nextafter(below, 0.0)
        assert accountant.epsilon_above(kinds, below) == math.inf
        assert accountant.epsilon_above(kinds, min(2 * below, 0.99)) < math.inf


def test_epsilons_are_summed_and_rounded_up() -> None:
    """Pure rounds at delta 0 have the sum of their decimals, other rounds that of their own epsilons, as doubles."""
    draw = random.Random(11)
    for _ in range(DRAWS):
        kinds = [(draw.uniform(0.01, 2.0), draw.randint(1, 9)) for _ in range(3)]
        directions = Directions.of_pairs({Direction.REMOVE: [(BlackBoxPair(each), count) for each, count in kinds]})
        exact = sum(Fraction(repr(each)) * count for each, count in kinds)
        found = Fraction(repr(BasicAccountant().epsilon(directions, 0.0).quoted))
        assert exact <= found <= exact * (1 + Fraction(1, 10**15))
    for i in range(30):
        rounds = [(LaplacePair(1.0, 1.0 + i / 7), 3 + i), (PoissonRemovePair(GaussianPair(1 + i / 9), 0.1), 7 + 2 * i)]
        own = guarantees(rounds, mutual=False)
        sums = [
            sum((Fraction(epsilon) * count for epsilon, (_, count) in zip(each, rounds, strict=True)), Fraction(0))
            for each in divided(own, [0.0, 0.0], 1e-3, abs, float)
        ]
        exact = min(sums)
        directions = Directions.of_pairs({Direction.REMOVE: rounds})
        assert exact <= BasicAccountant().epsilon(directions, 1e-3).quoted <= exact * (1 + Fraction(1, 10**14))


def responses(epsilon: float, count: int, at: Number) -> Number:
    """delta of so many randomised responses, by the binomial law."""
    e = mpf(epsilon)
    norm = (1 + mp.exp(e)) ** count
    return (
        mp.fsum(
            mp.binomial(count, m) * max(mp.exp((count - m) * e) - mp.exp(at + m * e), mpf(0)) for m in range(count + 1)
        )
        / norm
    )


@pytest.mark.parametrize("failing", [0.0, 0.3])
def test_optimal_composition_is_known_from_both_sides(failing: float) -> None:
    """The curve of rounds that fail with a probability of three tenths, or never, and its inverse."""
    accountant = OptimalAccountant()
    for i in range(12):
        epsilon, count = 0.25 + 0.0625 * (i % 5), 3 + i
        directions = Directions.of_pairs({Direction.REMOVE: [(BlackBoxPair(epsilon, failing), count)]})
        finite = (1 - mpf(3) / 10) ** count if failing else mpf(1)
        for share in (0.1, 0.4, 0.8):
            at = share * epsilon * count
            exact = mp.log(1 - finite * (1 - responses(epsilon, count, mpf(at))))
            found = accountant.delta(directions, at)
            assert isinstance(found, DeltaBound)
            low, high = found.log_delta.lower, found.log_delta.upper
            assert low <= exact <= high
            assert high - low < 1e-10
            delta = float(mp.exp(exact))
            ends = accountant.epsilon(directions, delta).ends
            above, below = (1 - finite * (1 - responses(epsilon, count, mpf(ends[end]))) for end in ("lower", "upper"))
            assert below <= delta <= above
            assert above - below < 1e-10 * delta
