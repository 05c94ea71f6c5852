"""The charges between an engine's interval and the answer, one at a time, each on an input that makes it decide.

Infinite loss, the largest loss, several directions, the search for epsilon, and what is rounded at the end. The engine
is one whose truth is known: its certified ends are that truth, rounded to the safe side and no further.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import hockeystick as hs
from hockeystick.directions import certified, finite_losses
from hockeystick.directions.curve import DirectionCurve
from hockeystick.directions.two_sided import delta_of
from hockeystick.engines.grid import engine as grid
from hockeystick.engines.grid.query import EpsilonQuery
from hockeystick.numerics import rounding
from hockeystick.numerics.meet import lower_end, upper_end
from hockeystick.numerics.rounding import ULPS, next_down, next_up
from hockeystick.pairs import (
    BlackBoxPair,
    Composition,
    DominatingPair,
    GaussianPair,
    PoissonAddPair,
    PoissonRemovePair,
    RenyiComposition,
)
from hockeystick.pairs.discrete import DiscreteGaussianPair
from hockeystick.pairs.gathered import Gathered
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import Bound
from hockeystick.values.interval import Ends, Interval

Number = Any
RANDOM_CASES = 40


@pytest.fixture(autouse=True)
def digits() -> Any:
    with mpmath.workdps(60):
        yield


def double(x: Number, side: int) -> float:
    """The nearest double on that side."""
    value = float(x)
    while side * (mpmath.mpf(value) - x) < 0:
        value = math.nextafter(value, side * math.inf)
    return value


@dataclass
class Exact:
    """An engine for a law of which log delta falls from ``top`` by ``slope`` an epsilon."""

    top: float
    slope: float = 1.0

    def true(self, epsilon: float) -> Number:
        return mpmath.mpf(self.top) - mpmath.mpf(self.slope) * mpmath.mpf(epsilon)

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        low, high = (double(self.true(epsilon), side) for side in (-1, +1))
        return Interval(low, low, high)

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        low, high = (
            double((mpmath.mpf(self.top) - mpmath.mpf(target)) / mpmath.mpf(self.slope), side)
            for target, side in zip(reversed(log_delta), (-1, +1), strict=True)
        )
        return Interval(low, low, high)


def boxes(*pairs: tuple[float, float, int]) -> Composition:
    """Black boxes: epsilon, delta, count."""
    return Composition([(BlackBoxPair(epsilon, delta), count) for epsilon, delta, count in pairs])


def unbounded(infinite: float) -> Composition:
    """Infinite loss with that probability, beside a loss that has no largest value."""
    return Composition([(BlackBoxPair(0.1, infinite), 1), (GaussianPair(1.0), 1)])


# --- infinite loss ---


def test_the_probability_of_infinite_loss_lies_between_its_ends() -> None:
    """``1 - prod (1 - p)^k`` in many digits: from the least double to nearly 1, over one round and a million."""
    random = np.random.default_rng(1)
    for _ in range(300):
        p = float(10.0 ** random.uniform(*random.choice([(-12.0, -0.01), (-300.0, -290.0), (-323.0, -318.0)])))
        count = int(10.0 ** random.uniform(0.0, 6.0))
        low, high = boxes((0.1, p, count)).infinite_mass_ends
        true = -mpmath.expm1(count * mpmath.log1p(-mpmath.mpf(p)))
        assert low <= true <= high
        assert high <= true * (1 + 1e-9) or high < 1e-310


def test_infinite_loss_leaves_less_of_delta_for_the_rest() -> None:
    """The smallest epsilon whose finite part is at most ``delta - p``: p may be the one or the other of its ends."""
    random = np.random.default_rng(2)
    for _ in range(RANDOM_CASES):
        p = float(random.uniform(0.1, 0.9))
        delta = p + float(10.0 ** random.uniform(-6.0, -2.0))
        engine = Exact(0.0)
        found = certified._epsilon_of(unbounded(p), delta, None, lambda _, engine=engine: engine)
        assert found.lower <= -mpmath.log(mpmath.mpf(delta) - mpmath.mpf(p)) <= found.upper
        assert found.upper - found.lower < 1e-4


def test_the_logarithm_of_delta_is_rounded_to_the_safe_side() -> None:
    """An engine that is sharp to the last digit is asked for a delta whose logarithm is no double."""
    random = np.random.default_rng(3)
    for infinite in (0.0, 1e-20):
        for _ in range(RANDOM_CASES):
            delta = (
                float(10.0 ** random.uniform(-300.0, -1.0))
                if infinite == 0
                else float(1 - random.uniform(1e-16, 1e-12))
            )
            composition = unbounded(infinite) if infinite else Composition([(GaussianPair(1.0), 1)])
            found = certified._epsilon_of(composition, delta, None, lambda _: Exact(0.0))
            true = -mpmath.log(mpmath.mpf(delta) - mpmath.mpf(infinite))
            assert found.lower <= true <= found.upper
            assert found.upper - found.lower < 1e-13 * true + 1e-15


def with_infinite_loss(ask: Callable[[Composition, float, Exact], tuple[float, float]]) -> None:
    """``log (p + e^x)``: p far below, near and far above the finite part; logarithms next to 0 and in the hundreds."""
    random = np.random.default_rng(4)
    for _ in range(RANDOM_CASES):
        p = float(10.0 ** random.uniform(*random.choice([(-1.0, -0.1), (-300.0, -290.0)])))
        top = float(mpmath.log(p)) + float(random.choice([random.uniform(-3.0, 3.0), random.uniform(5.0, 20.0)]))
        engine = Exact(min(top, -0.3))
        low, high = ask(unbounded(p), 0.25, engine)
        true = mpmath.log(mpmath.mpf(p) + mpmath.exp(engine.true(0.25)))
        assert low <= min(true, 0) <= high
        assert high - low < 1e-11


def test_infinite_loss_adds_to_delta() -> None:
    """At one epsilon, as :func:`with_infinite_loss` has it."""

    def ask(composition: Composition, epsilon: float, engine: Exact) -> tuple[float, float]:
        found = certified._log_delta_of(composition, epsilon, None, lambda _: engine)
        return found.lower, found.upper

    with_infinite_loss(ask)


def test_infinite_loss_adds_to_delta_on_a_curve() -> None:
    """At many epsilons."""

    def ask(composition: Composition, epsilon: float, engine: Exact) -> tuple[float, float]:
        curve = DirectionCurve(composition, None)
        one = engine.log_delta(epsilon, None)

        class Known:
            def log_delta(self, epsilon: Any, enough: Any) -> Ends:
                return Ends(*(np.array([end]) for end in (one.lower, one.estimate, one.upper)))

        curve._curve = Known()  # type: ignore[assignment]
        found = curve.log_delta(np.array([epsilon]))
        return float(found.lower[0]), float(found.upper[0])

    with_infinite_loss(ask)


# --- the largest loss ---


def test_the_largest_loss_lies_between_its_doubles() -> None:
    """Sums of decimals that are no doubles, compared as exact fractions with the decimals that are shown."""
    random = np.random.default_rng(5)
    moved = 0
    for _ in range(200):
        rounds = [(float(f"{random.uniform(0.01, 2.0):.17g}"), 0.0, int(random.integers(1, 9))) for _ in range(3)]
        composition = boxes(*rounds)
        true = sum((count * Fraction(repr(epsilon)) for epsilon, _, count in rounds), Fraction(0))
        ends = composition.largest_loss
        assert ends is not None
        assert Fraction(repr(ends[0])) <= true <= Fraction(repr(ends[1]))
        moved += Fraction(repr(float(true))) != true
    assert moved > 100


@pytest.mark.parametrize("remove", [True, False], ids=["remove", "add"])
def test_the_largest_loss_of_sampled_rounds_is_known_up_to_its_rounding(remove: bool) -> None:
    """``log(1 + q (e^a - 1))``, no decimal: a thousand times its rounding."""
    random = np.random.default_rng(6)
    for _ in range(RANDOM_CASES):
        a, q = float(random.uniform(0.1, 3.0)), float(random.uniform(0.01, 0.9))
        pair = (PoissonRemovePair if remove else PoissonAddPair)(BlackBoxPair(a), q)
        low, high = Composition([(pair, 1000)]).supremum
        psi = mpmath.log1p(mpmath.mpf(q) * mpmath.expm1(mpmath.mpf(a) if remove else -mpmath.mpf(a)))
        true = 1000 * abs(psi)
        assert mpmath.mpf(low.numerator) / low.denominator <= true <= mpmath.mpf(high.numerator) / high.denominator


def test_epsilon_is_not_above_the_largest_loss() -> None:
    """An engine that answers more is cut off there, at the upper one of the doubles around it."""
    composition = boxes((0.1, 0.0, 3), (1e-18, 0.0, 1))
    true = 3 * Fraction("0.1") + Fraction("1e-18")
    found = certified._epsilon_of(composition, 1e-9, None, lambda _: Exact(0.0, 1.0))
    assert Fraction(repr(found.upper)) >= true
    assert found.upper == next_up(0.3)
    pure = certified._epsilon_of(composition, 0.0, None, lambda _: Exact(0.0, 1.0))
    assert Fraction(repr(pure.lower)) <= true <= Fraction(repr(pure.upper))


def test_delta_near_the_largest_loss_is_bounded_by_how_far_it_is() -> None:
    """``1 - e^(eps - sup)`` is a bound, and for one atom beside nothing it is the truth."""
    random = np.random.default_rng(7)
    for _ in range(RANDOM_CASES):
        a = float(f"{random.uniform(0.5, 3.0):.6g}")
        for epsilon in (a * (1 - 10.0 ** random.uniform(-14.0, -4.0)), next_down(a, 2)):
            found = finite_losses.finite_log_delta(boxes((a, 0.0, 1)), epsilon, lambda: Interval(0.0, 0.0, 0.0))
            distance = Fraction(repr(a)) - Fraction(repr(epsilon))
            true = mpmath.log(-mpmath.expm1(-mpmath.mpf(distance.numerator) / distance.denominator))
            assert true <= found.upper <= true + 1e-11
        assert finite_losses.finite_log_delta(boxes((a, 0.0, 1)), a, lambda: Interval(0.0, 0.0, 0.0)).upper == -math.inf


def test_delta_near_the_largest_loss_on_a_curve() -> None:
    """The same at many epsilons, near the end and clear of it."""
    random = np.random.default_rng(8)
    a = 1.7
    curve = DirectionCurve(boxes((a, 0.0, 1)), None)

    class Nothing:
        def log_delta(self, epsilon: Any, enough: Any) -> Ends:
            return Ends(np.full(len(epsilon), -math.inf), np.zeros(len(epsilon)), np.zeros(len(epsilon)))

    curve._curve = Nothing()  # type: ignore[assignment]
    epsilons = np.concatenate([random.uniform(0.0, a, 100), a * (1 - 10.0 ** random.uniform(-14.0, -3.0, 50))])
    found = curve.log_delta(epsilons)
    for epsilon, upper in zip(epsilons.tolist(), found.upper.tolist(), strict=True):
        distance = Fraction(repr(a)) - Fraction(repr(epsilon))
        true = mpmath.log(-mpmath.expm1(-mpmath.mpf(distance.numerator) / distance.denominator))
        assert true <= upper <= true + 1e-10


def test_a_mass_that_stands_for_outcomes_far_out_is_bounded_from_above_and_not_from_below() -> None:
    """Masses of the least double, and of less after sampling, in each of many rounds."""
    noise = DiscreteGaussianPair(1, Fraction(25))
    for pair, q in ((noise, 1.0), (PoissonRemovePair(noise, 0.3), 0.3)):
        for count in (1, 10**6, 10**12):
            low, high = Composition([(pair, count)]).infinite_mass_ends
            assert low == 0.0
            assert high >= count * mpmath.mpf(q) * mpmath.mpf(5e-324)


def test_the_total_variation_is_asked_of_one_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Delta at epsilon 0 is that of both where one is the other with P and Q exchanged; at no other epsilon."""
    rounds = [
        hs.Round(hs.Gaussian(1.0), hs.Poisson(1e-8), 10**9),
        hs.Round(hs.Laplace(9e5)),
        hs.Round(hs.Gaussian(9e5)),
    ]
    ends = [hs.Plan(rounds, adjacency=side).delta(0.0) for side in ("add", "remove")]
    assert max(end.lower for end in ends) <= min(end.upper for end in ends)
    asked: list[Any] = []
    ask = certified._log_delta

    def counted(*given: Any) -> Interval:
        asked.append(given)
        return ask(*given)

    monkeypatch.setattr(certified, "_log_delta", counted)
    found = hs.Plan(rounds).delta(0.0)
    assert len(asked) == 1
    assert found.lower <= ends[0].upper
    assert found.upper >= ends[0].lower
    assert hs.Plan(rounds).delta(0.003).upper >= hs.Plan(rounds, adjacency="add").delta(0.003).lower
    assert len(asked) > 3


def test_directions_that_are_not_known_to_be_exchanged_are_both_asked() -> None:
    """Other rates, noise, counts, and more kinds; pairs whose mirror image is not built; what is known beside pairs."""

    def rounds(*kinds: tuple[DominatingPair, int], moments: RenyiComposition | None = None) -> Gathered:
        return Gathered(Composition(list(kinds)), moments=moments)

    base, box = GaussianPair(1.0), BlackBoxPair(0.1, 0.2)
    remove, add = PoissonRemovePair(base, 0.1), PoissonAddPair(base, 0.1)
    assert certified._mirrored(rounds((remove, 3), (base, 1)), rounds((add, 3), (base, 1)))
    assert certified._mirrored(rounds((add, 3)), rounds((remove, 3)))
    for other in ((add, 4), (remove, 3), (PoissonAddPair(base, 0.2), 3), (PoissonAddPair(GaussianPair(2.0), 0.1), 3)):
        assert not certified._mirrored(rounds((remove, 3)), rounds(other))
    assert not certified._mirrored(rounds((remove, 3)), rounds((add, 3), (box, 1)))
    assert not certified._mirrored(rounds((box, 1)), rounds((box, 1)))
    assert not certified._mirrored(rounds((remove, 3)), rounds((add, 3), moments=Composition([(add, 3)])))


def test_of_several_directions_the_worse_end_counts() -> None:
    """Whichever is asked first, and whichever is wider."""
    truths = {Direction.ADD: Interval(1.0, 1.1, 1.2), Direction.REMOVE: Interval(1.05, 1.3, 1.5)}
    for order in ((Direction.ADD, Direction.REMOVE), (Direction.REMOVE, Direction.ADD)):
        _, found = certified.worst_direction(
            [(one, truths[one]) for one in order], lambda one: one, lambda one, best: one
        )
        assert found.lower == 1.05
        assert found.upper == 1.5


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_sampling_has_the_law_with_the_record_on_the_right_side(epsilon: float) -> None:
    """Removing: the mixture against the law without the record; adding: the other way round. In closed form."""
    q, phi = mpmath.mpf(0.25), mpmath.ncdf
    x = mpmath.log1p(mpmath.expm1(mpmath.mpf(epsilon)) / q) + mpmath.mpf(0.5)  # where the loss of removing is epsilon
    removed = q * phi(1 - x) + (1 - q) * phi(-x) - mpmath.exp(epsilon) * phi(-x)
    inside = (mpmath.exp(-mpmath.mpf(epsilon)) - 1 + q) / q
    y = mpmath.log(inside) + mpmath.mpf(0.5) if inside > 0 else -mpmath.inf
    added = phi(y) - mpmath.exp(epsilon) * (q * phi(y - 1) + (1 - q) * phi(y)) if inside > 0 else mpmath.mpf(0)
    for adjacency, true in (("remove", removed), ("add", added)):
        bound = hs.Plan([hs.Round(hs.Gaussian(1.0), hs.Poisson(0.25))], adjacency).delta(epsilon)
        assert bound.lower <= true <= bound.upper


# --- the search for epsilon ---


def test_the_search_ends_where_the_bound_holds() -> None:
    """The upper end meets the target by the upper bound, the lower end misses it by the lower bound; both are near."""
    random = np.random.default_rng(9)
    for _ in range(RANDOM_CASES):
        top, slope = float(random.uniform(-3.0, 5.0)), float(random.uniform(0.1, 20.0))
        bend = float(random.uniform(0.0, 2.0))

        def log_delta(epsilon: float, top: float = top, slope: float = slope, bend: float = bend) -> float:
            return top - slope * epsilon - bend * epsilon * epsilon

        target = float(random.uniform(-40.0, -5.0))
        for guess in (0.0, 0.5, 5.0):
            high = upper_end(log_delta, target, guess, slope, 1e-3)
            low = lower_end(log_delta, target, high, slope, 1e-3)
            assert log_delta(high) <= target < log_delta(low)
            assert high - low <= 1e-4 * high
            # from farther above, and with a slope that makes the first step far too short
            for above, steep in ((1.5 * high + 1.0, slope), (high + 1e-3, 1e6 * slope)):
                assert log_delta(lower_end(log_delta, target, above, steep, 1e-3)) > target


def test_each_end_of_epsilon_is_searched_at_its_own_end_of_the_target() -> None:
    """A target that is known up to an interval: the upper end has to meet its lower end."""

    class Sum:
        def log_delta(self, epsilon: float) -> float:
            return 1.0 - 2.0 * epsilon

    total: Any = Sum()
    found = EpsilonQuery((-5.0, -4.0), 2.0, 1e-3).measure(total, total, 2.0)
    assert found.lower <= 2.5
    assert found.upper >= 3.0


def test_far_below_the_answer_is_the_renyi_bound() -> None:
    """There is no lower end."""
    engine = grid.GridEngine(Composition([(GaussianPair(1.0), 1)]))
    for epsilon in (120.0, 150.0):
        found = engine.log_delta(epsilon, 0.1)
        assert -0.5 * (epsilon - 0.5) ** 2 - 10 <= found.upper <= -0.5 * (epsilon - 0.5) ** 2
        assert found.lower == -math.inf
        assert str(found.limited).startswith("log delta is below -5000")


# --- from log delta to delta ---


def test_delta_is_rounded_outward_from_its_logarithm() -> None:
    """Each end to its own side, also where both are one."""
    random = np.random.default_rng(10)
    for log in random.uniform(-740.0, 0.0, 400).tolist():
        found = delta_of(Bound(log, log, log, accountant="x", direction="remove"))
        assert found.lower <= mpmath.exp(mpmath.mpf(log)) <= found.upper
        assert found.upper <= found.lower * (1 + 1e-13) or found.upper < 1e-300


@pytest.mark.parametrize("units", [-ULPS, ULPS])
def test_exponentials_keep_their_side_for_all_that_is_stated(units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ``exp`` returns within the stated accuracy, next to a power of two too."""
    random = np.random.default_rng(11)
    near = [math.log(2.0) * k + offset for k in range(-40, 1) for offset in (-3e-16, 0.0, 3e-16)]
    arguments = [*random.uniform(-700.0, 0.0, 300).tolist(), *near]

    def worst(x: float) -> float:
        """The double farthest from ``e^x`` on that side, within so many units in the last place of the truth."""
        true = mpmath.exp(mpmath.mpf(x))
        unit = mpmath.mpf(2) ** (mpmath.floor(mpmath.log(true, 2)) - 52)
        return double(true + units * unit, -1 if units > 0 else +1)

    monkeypatch.setattr("hockeystick.numerics.rounding.math.exp", worst)
    for x in arguments:
        assert rounding.exp_below(x) <= mpmath.exp(mpmath.mpf(x)) <= rounding.exp_above(x), x
