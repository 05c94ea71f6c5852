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
from hockeystick.accountants.shared.round_guarantee import RoundGuarantee, epsilons, guarantees, split
from hockeystick.directions.directions import Directions
from hockeystick.pairs import BlackBoxPair, Composition, GaussianPair, LaplacePair, PoissonRemovePair
from hockeystick.values.adjacency import Direction

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


def theorem(counts: list[int], each: list[float], slack: Number, sharper: int) -> Number:
    """Epsilon of Dwork, Rothblum, Vadhan 2010, Theorem III.3, or of Kairouz, Oh, Viswanath 2015, Theorem 3.5."""
    kinds = [(count, mpf(epsilon)) for count, epsilon in zip(counts, each, strict=True)]
    square = mp.fsum(count * epsilon**2 for count, epsilon in kinds)
    depth = -mp.log(slack)
    if sharper:
        mean = mp.fsum(count * epsilon * mp.tanh(epsilon / 2) for count, epsilon in kinds)
        depth = min(depth, mp.log(mp.e + mp.sqrt(square) / slack))
    else:
        mean = mp.fsum(count * epsilon * mp.expm1(epsilon) for count, epsilon in kinds)
    return min(mean + mp.sqrt(2 * square * depth), mp.fsum(count * epsilon for count, epsilon in kinds))


@pytest.mark.parametrize("sharper", [0, 1])
def test_advanced_composition_is_the_theorem_rounded_up(sharper: int) -> None:
    accountant = AdvancedAccountant(sharper=sharper)
    for counts, each, slack in draws():
        found = accountant._composed(boxes(counts), each, slack)
        exact = theorem(counts, each, -mp.expm1(-mpf(slack)) if sharper else mpf(slack), sharper)
        assert exact <= found <= exact * (1 + mpf(10) ** -12)


@pytest.mark.parametrize("sharper", [0, 1])
def test_the_slack_that_an_epsilon_wants_is_rounded_up(sharper: int) -> None:
    """With it the theorem gives that epsilon, and hardly less would do; of the second form where it is small alone."""
    accountant = AdvancedAccountant(sharper=sharper)
    seen = 0
    for counts, each, slack in draws():
        epsilon = float(theorem(counts, each, mpf(slack), sharper))
        found = accountant._slack(counts, each, epsilon)
        if not 0 < found < 0.01:
            continue
        seen += 1
        assert theorem(counts, each, mpf(found), sharper) <= epsilon
        assert theorem(counts, each, found * (1 - mpf(10) ** -9), sharper) > epsilon * (1 - mpf(10) ** -9)
    assert seen > DRAWS / 3


@pytest.mark.parametrize("accountant", [AdvancedAccountant(), AdvancedAccountant(sharper=0), OptimalAccountant()])
def test_a_delta_just_below_what_is_lost_has_no_epsilon(accountant: AdvancedAccountant | OptimalAccountant) -> None:
    """Black boxes that may fail, and a delta next below the probability that any of them does; twice it is enough."""
    sharper = not isinstance(accountant, AdvancedAccountant) or accountant.sharper
    for i in range(60):
        failing, count = 10.0 ** -(1.5 + i / 9), 2 + i
        kinds = [(RoundGuarantee(BlackBoxPair(0.5, failing), mutual=True), count)]
        exact = 1 - (1 - mpf(failing)) ** count if sharper else count * mpf(failing)
        below = float(exact)
        while mpf(below) >= exact:
            below = math.nextafter(below, 0.0)
        assert accountant._epsilon(kinds, below) == math.inf
        assert accountant._epsilon(kinds, min(2 * below, 0.99)) < math.inf


def test_epsilons_are_summed_and_rounded_up() -> None:
    """Pure rounds at delta 0 have the sum of their decimals, other rounds that of their own epsilons, as doubles."""
    draw = random.Random(11)
    for _ in range(DRAWS):
        kinds = [(draw.uniform(0.01, 2.0), draw.randint(1, 9)) for _ in range(3)]
        directions = Directions.of_pairs({Direction.REMOVE: [(BlackBoxPair(each), count) for each, count in kinds]})
        exact = sum(Fraction(repr(each)) * count for each, count in kinds)
        found = Fraction(repr(BasicAccountant().epsilon(directions, 0.0, None).upper))
        assert exact <= found <= exact * (1 + Fraction(1, 10**15))
    for i in range(30):
        rounds = [(LaplacePair(1.0, 1.0 + i / 7), 3 + i), (PoissonRemovePair(GaussianPair(1 + i / 9), 0.1), 7 + 2 * i)]
        own = guarantees(rounds, mutual=False)
        deltas = split(own, 1e-3, lambda epsilon: epsilon)
        assert deltas is not None
        parts = zip(epsilons(own, deltas), rounds, strict=True)
        exact = sum((Fraction(epsilon) * count for epsilon, (_, count) in parts), Fraction(0))
        directions = Directions.of_pairs({Direction.REMOVE: rounds})
        assert exact <= BasicAccountant().epsilon(directions, 1e-3, None).upper <= exact * (1 + Fraction(1, 10**14))


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
        composition = Composition([(BlackBoxPair(epsilon, failing), count)])
        finite = (1 - mpf(3) / 10) ** count if failing else mpf(1)
        for share in (0.1, 0.4, 0.8):
            at = share * epsilon * count
            exact = mp.log(1 - finite * (1 - responses(epsilon, count, mpf(at))))
            low, high = accountant._exact_log_delta(composition, at)
            assert low <= exact <= high
            assert high - low < 1e-10
            delta = float(mp.exp(exact))
            least, most = accountant._exact_epsilon(composition, delta)
            above, below = (1 - finite * (1 - responses(epsilon, count, mpf(end))) for end in (least, most))
            assert below <= delta <= above
            assert above - below < 1e-10 * delta
