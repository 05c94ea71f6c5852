"""Composition in stages (engines/grid/stages.py): upper >= truth >= lower at every epsilon, every error paid."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hockeystick import Laplace, Plan, Poisson, RandomizedResponse, Round
from hockeystick.engines.grid.layout import Layout, Route, Spread
from hockeystick.engines.grid.stages import coarsen, compose
from hockeystick.numerics.lattice import GridLaw, Mesh, Tail, Window
from hockeystick.pairs import BlackBoxPair, Composition, DominatingPair, GaussianPair, LaplacePair
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side
from polygons import Number, Polygon, convolved


@pytest.fixture(autouse=True)
def digits() -> Any:
    with mpmath.workdps(60):
        yield


def law_of(random: np.random.Generator, kind: str, h: float, t: float, n: int = 24) -> GridLaw:
    """Tilted masses that add up to about 1."""
    if kind == "even":
        mass = random.uniform(0.5, 1.0, n)
    elif kind == "heavy tail":
        mass = 10.0 ** -np.linspace(0.0, 12.0, n) * random.uniform(0.5, 1.0, n)
    elif kind == "rare jump":
        mass = 10.0 ** random.uniform(-14.0, -9.0, n)
        mass[int(random.integers(n // 2))] = 1.0
    else:  # two atoms, far apart
        mass = np.zeros(n)
        mass[[0, -1]] = random.uniform(0.1, 1.0, 2)
    offset = float(random.uniform(-2.0, 2.0))
    return GridLaw(
        Mesh(offset, h, t, float(random.uniform(-1.0, 1.0))), int(random.integers(-20, 5)), mass / mass.sum()
    )


def places(*laws: GridLaw) -> list[Number]:
    """All kinks, places beside them, and places beyond both ends."""
    losses = sorted({float(x) for law in laws for x in law.losses[law.mass > 0]})
    around = [losses[0] - 40.0, losses[0] - 0.3, *losses, losses[-1] + 0.01]
    between = [0.5 * (a + b) for a, b in itertools.pairwise(losses)]
    return [mpmath.mpf(x) for x in (*around, *between[:: max(1, len(between) // 60)])]


KINDS = ["even", "heavy tail", "rare jump", "two atoms"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("t", [1e-3, 0.7, 9.0], ids="t {:g}".format)
@pytest.mark.parametrize("ratio", [0.37, 1.0, 2.0, 3.3, 17.0], ids="ratio {:g}".format)
def test_coarser_grids_keep_their_sides(kind: str, t: float, ratio: float) -> None:
    """``merged <= law <= spread`` at every real epsilon, hence in both directions; no slack for rounding."""
    random = np.random.default_rng([len(kind), int(1000 * t), int(100 * ratio)])
    for _ in range(3):
        law = law_of(random, kind, 0.07, t)
        lower, upper = (coarsen(law, 0.07 * ratio, side) for side in Side)
        assert (lower.mass >= 0).all()
        assert lower.mesh.h == upper.mesh.h == 0.07 * ratio
        true, below, above = map(Polygon.of, (law, lower, upper))
        for epsilon in places(law, lower, upper):
            assert below.delta(epsilon) <= true.delta(epsilon) <= above.delta(epsilon), float(epsilon)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(st.just(0.0), st.floats(1e-18, 1.0)), min_size=1, max_size=12).filter(any),
    st.floats(0.01, 3.0),
    st.floats(0.01, 3.0),
    st.floats(1e-4, 8.0),
    st.floats(-50.0, 50.0),
)
@example([1.0], 2.00001, 0.125, 1.0, 6.0)  # the loss is -3e-5, and an offset of 6 less 3 times 2.00001
def test_coarsening_holds_for_any_law(mass: list[float], h: float, to: float, t: float, offset: float) -> None:
    """The same for laws with holes, on grids of any gap, the finer one included."""
    law = GridLaw(Mesh(offset, h, t, 0.0), -3, np.array(mass))
    lower, upper = (coarsen(law, to, side) for side in Side)
    true, below, above = map(Polygon.of, (law, lower, upper))
    for epsilon in places(law, upper):
        assert below.delta(epsilon) <= true.delta(epsilon) <= above.delta(epsilon), float(epsilon)


def test_coarsening_costs_the_error_law() -> None:
    """On a smooth law: spreading to a gap h adds ``h^2/6`` to the variance, merging takes ``h^2/12``."""
    t, sigma, fine = 0.8, 1.0, 0.0005
    x = np.arange(-16000, 16001) * fine
    law = GridLaw(Mesh(0.0, fine, t, 0.0), -16000, np.exp(-0.5 * (x / sigma) ** 2))
    for h in (0.05, 0.11):
        lower, upper = (coarsen(law, h, side) for side in Side)
        assert upper.log_mass - law.log_mass == pytest.approx(t * (1 + t) * h**2 / 12, rel=0.03)
        assert law.log_mass - lower.log_mass == pytest.approx(t * (1 + t) * h**2 / 24, rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", [0.3, 0.8, 2.0], ids="{} of the reach".format)
def test_what_a_window_loses_is_paid(kind: str, kept: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block on a window that holds only part of it: still above (below) the sum taken term by term."""
    monkeypatch.setattr("hockeystick.engines.grid.stages.WHOLE_PERIOD", 1)
    random = np.random.default_rng(len(kind))
    for t in (0.05, 1.0, 6.0):
        law = law_of(random, kind, 0.1, t, 14)
        other = law_of(random, "even", 0.1, t, 5)
        laws = [(law, 4), (other, 2)]
        masses, losses = convolved(laws)
        true = Polygon([float(m) for m in masses], losses, 0.0, 0.0)
        low, high = float(losses[0]), float(losses[-1])
        middle = float(mpmath.fsum(m * mpmath.exp(t * x) * x for m, x in zip(masses, losses, strict=True)))
        middle /= float(mpmath.fsum(m * mpmath.exp(t * x) for m, x in zip(masses, losses, strict=True)))
        reach = 0.5 * kept * (high - low)
        window = Window(middle - reach, middle + reach, 4.0, 4.0)
        for side in Side:
            block, lost = compose(laws, window, side)
            assert side < 0 or window.high > high - 0.1 or lost > -math.inf
            found = Polygon.of(block)
            extra = mpmath.exp(mpmath.mpf(lost)) if side > 0 and lost > -math.inf else mpmath.mpf(0)
            for epsilon in [mpmath.mpf(low) - 1, *losses[::2], *(x + mpmath.mpf("0.03") for x in losses[::3])]:
                # the masses of the oracle were rounded to doubles
                slack = 1e-15 * true.p[0]
                difference = found.delta(epsilon) + extra - true.delta(epsilon)
                assert difference >= -slack if side > 0 else difference <= slack, float(epsilon)


@pytest.mark.parametrize("kind", KINDS)
def test_stage_after_stage(kind: str) -> None:
    """((law^3 coarsened)^2 coarsened)^2 against the twelve-fold sum taken term by term: errors do not get lost."""
    random = np.random.default_rng(7 + len(kind))
    t = 1.3
    law = law_of(random, kind, 0.05, t, 8)
    masses, losses = convolved([(law, 12)])
    true = Polygon([float(m) for m in masses], losses, 0.0, 0.0)
    wide = Window(-100.0, 100.0, 5.0, 5.0)
    for side in Side:
        found = law
        log_lost = -math.inf
        for count, gap in ((3, 0.11), (2, 0.15), (2, 0.4)):
            found, lost = compose([(found, count)], wide, side)
            log_lost = max(log_lost, lost)
            found = coarsen(found, gap, side)
        assert log_lost == -math.inf, "the window holds everything"
        staged = Polygon.of(found)
        for epsilon in [losses[0] - 1, *losses, *(x + mpmath.mpf("0.01") for x in losses)]:
            slack = 1e-15 * true.p[0]
            difference = staged.delta(epsilon) - true.delta(epsilon)
            assert difference >= -slack if side > 0 else difference <= slack, float(epsilon)
        assert abs(staged.delta(mpmath.mpf(-60)) - true.delta(mpmath.mpf(-60))) < 1e-9 * true.p[0]


def test_tails_are_bounded_by_markov() -> None:
    """``Tail`` is above the probability of both tails and of their weighted form, at places near and far."""
    law = law_of(np.random.default_rng(3), "heavy tail", 0.1, 0.5, 12)
    masses, losses = convolved([(law, 5)])
    tilted = [m * mpmath.exp(mpmath.mpf("0.5") * x) for m, x in zip(masses, losses, strict=True)]
    total = mpmath.fsum(tilted)
    for sign in (-1, +1):
        tail = Tail([(law, 5)], 3.0, sign, 0.5)
        for b in (*losses[::7], losses[0] - 1, losses[-1] + 1):
            beyond = [(p / total, x) for p, x in zip(tilted, losses, strict=True) if sign * (x - b) >= 0]
            assert mpmath.fsum(p for p, _ in beyond) <= mpmath.exp(tail.log_beyond(float(b))) * (1 + 1e-12)
            weighted = mpmath.fsum(p * mpmath.exp(mpmath.mpf("0.5") * sign * (x - b)) for p, x in beyond)
            assert weighted <= mpmath.exp(tail.log_weight_beyond(float(b))) * (1 + 1e-12)


# --- layouts ---


def rounds_in(route: Route) -> int:
    """How many rounds the copies of a route hold."""
    sizes = [1]
    for level in route.levels:
        sizes = [sum(n * size for n, size in zip(recipe, sizes, strict=True)) for recipe in level.recipes]
        assert level.rounds == sizes[-1]
        assert all(n >= 0 for recipe in level.recipes for n in recipe)
    total = sum(n * size for n, size in zip(route.copies, sizes, strict=True))
    often = list(route.copies)  # from above: what is lost in a block is charged for each of them
    for level in reversed(route.levels):
        assert sum(often) <= level.blocks
        columns = zip(*level.recipes, strict=True)
        often = [sum(n * one for n, one in zip(often, column, strict=True)) for column in columns]
    assert not route.levels or often == [total]
    return total


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(1, 10**12), min_size=1, max_size=3),
    st.floats(1e-6, 10.0),
    st.floats(-9.0, 0.0),
    st.floats(-1.0, 4.0),
)
def test_blocks_hold_every_round_once(counts: list[int], t: float, log_asked: float, log_width: float) -> None:
    """Whatever the number of stages, and also where a count has no divisor."""
    pairs: list[DominatingPair] = [BlackBoxPair(0.1), LaplacePair(1.0, 3.7), GaussianPair(0.3)]
    composition = Composition(zip(pairs, counts, strict=False))
    spreads = [Spread(0.6, 0.2)] * len(composition.rounds)
    layout = Layout.of(composition, t, 10.0**log_asked, 10.0**log_width, spreads)
    for route, (_, count) in zip(layout.routes, composition.rounds, strict=True):
        assert rounds_in(route) == count


# --- from plans ---


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


@pytest.mark.parametrize("rounds", [10**7, 10**9], ids=str)
def test_a_billion_rounds_are_narrow(rounds: int) -> None:
    """Stages keep the asked gap however many rounds there are, and wider answers hold the narrower ones."""
    plan = Plan([Round(Laplace(300.0), Poisson(0.01), rounds)])
    near, wide = plan.epsilon(1e-8, accountant="grid"), plan.epsilon(1e-8, accountant="grid", gap=0.02)
    assert near.relative_gap <= 1e-3
    assert wide.lower <= near.upper
    assert near.lower <= wide.upper


def test_masses_beyond_doubles_are_no_law() -> None:
    """Of an infinite mass nothing is spread or merged: the answer comes by another route."""
    law = GridLaw(Mesh(0.0, 0.1, 1.0, 0.0), 0, np.array([1.0, math.inf, 0.5]))
    for side in Side:
        with pytest.raises(NotApplicableError, match="exceed the range of a double"):
            coarsen(law, 0.3, side)


def test_no_law_is_composed_on_a_window_without_a_size() -> None:
    law = GridLaw(Mesh(0.0, 0.1, 1.0, 0.0), 0, np.ones(3) / 3)
    with pytest.raises(NotApplicableError, match="range of a double"):
        compose([(law, 5)], Window(math.inf, 1.0, 1.0, 1.0), Side.ABOVE)
