"""Many sampled Gaussian kinds as one factor: its values, bounds and charges, and whole answers.

Values and bounds are held against mpmath; each charge by itself against numbers put in place of what it adds up.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

import hockeystick as hs
from hockeystick.engines.contour import bundle as module
from hockeystick.engines.contour.bundle import Bundle, bundle_of
from hockeystick.engines.contour.bundling import bundled
from hockeystick.engines.contour.cut import cut
from hockeystick.engines.contour.engine import ContourEngine, Plain
from hockeystick.engines.contour.stand_ins import STAND_INS, stand_ins
from hockeystick.engines.core.line import Line
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition, DominatingPair, GaussianPair, LaplacePair
from hockeystick.pairs.gathered import gathered
from hockeystick.pairs.sampled import bundles
from hockeystick.pairs.sampled.bundles import FEWEST, bundle_split
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair

Array = npt.NDArray[np.float64]

THREE = [(1.0, 0.01, 40), (0.5, 0.1, 7), (2.0, 1e-3, 300)]
DRAWN = np.random.default_rng(11)


def log_moment(mu: float, rate: float, z: complex, add: bool) -> mpmath.mpc:
    """``log int phi g^(1+z)``, or ``log int phi g^-z``, in 40 digits, by the trapezoid rule in steps of 1/16."""
    with mpmath.workdps(40):
        power = mpmath.mpc(-z if add else 1 + z)
        far = 14 if add else 14 + (1 + z.real) * mu

        def integrand(x: mpmath.mpf) -> mpmath.mpc:
            g = 1 - mpmath.mpf(rate) + mpmath.mpf(rate) * mpmath.exp(mu * x - mpmath.mpf(mu) ** 2 / 2)
            return mpmath.npdf(x) * mpmath.exp(power * mpmath.log(g))

        step = mpmath.mpf(1) / 16
        return mpmath.log(step * mpmath.fsum(integrand(j * step) for j in range(int(-14 / step), int(far / step) + 1)))


def true_k(z: complex, add: bool) -> mpmath.mpc:
    with mpmath.workdps(40):
        return mpmath.fsum(count * log_moment(mu, rate, z, add) for mu, rate, count in THREE)


@pytest.mark.parametrize("add", [False, True])
def test_values_and_their_errors_enclose_the_product(add: bool) -> None:
    """``e^K`` of three kinds at points of a line, as an error of K enters the sum of a contour."""
    t, step = 3.0, 0.4
    line = bundle_of(THREE, add).line(t, 14 * step, 1e-11)
    values, errors = line.cumulants(step, 15)
    assert len(values) == len(errors) == 15
    assert line.common <= 1e-9
    for point in (0, 1, 6, 14):
        with mpmath.workdps(40):
            true = mpmath.exp(true_k(complex(t, point * step), add))
            found = mpmath.exp(mpmath.mpc(complex(values[point])))
            assert abs(true - found) <= abs(found) * mpmath.expm1(mpmath.mpf(errors[point] + line.common))
        assert errors[point] <= 1e-5


@pytest.mark.parametrize("add", [False, True])
def test_the_upper_bound_is_one(add: bool) -> None:
    """Above K, and by little."""
    for t in (0.5, 9.0):
        true = float(true_k(complex(t), add).real)
        assert true <= bundle_of(THREE, add).upper(t, 1e-6) <= true + 1e-5


@pytest.mark.parametrize("add", [False, True])
def test_the_product_falls_off_as_is_bounded(add: bool) -> None:
    """At the edge and beyond; the bound is worth something."""
    t, edges = 3.0, np.array([2.0, 12.0])
    bounds = bundle_of(THREE, add).envelope(t, 1).log_bound(edges)
    assert (bounds <= 0).all()
    assert bounds[1] < -0.7
    base = float(true_k(complex(t), add).real)
    for edge, bound in zip(edges.tolist(), bounds.tolist(), strict=True):
        for factor in (1.0, 1.3):
            assert float(true_k(complex(t, factor * edge), add).real) - base <= bound


def faked(monkeypatch: pytest.MonkeyPatch, error: float, common: float) -> None:
    """Put lines whose ratios are all 0, with given errors, in place of the true ones."""
    known = Line.of

    def ratios(self: Line, step: Array, outer: int, inner: int) -> tuple[npt.NDArray[np.complex128], Array]:
        shape = len(step), outer * inner
        return np.zeros(shape, dtype=np.complex128), np.full(shape, error)

    def of(*asked: Any) -> Line:
        line = known(*asked)
        return replace(line, common=np.full(line.common.shape, common))

    monkeypatch.setattr(Line, "ratios", ratios)
    monkeypatch.setattr(Line, "of", of)


def test_the_errors_of_all_rounds_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each one's, as often as it is run."""
    faked(monkeypatch, 1e-3, 0.0)
    rounds = sum(count for _, _, count in THREE)
    _, errors = bundle_of(THREE, False).line(2.0, 1.0, 1e-8).cumulants(0.5, 3)
    assert (errors >= -rounds * math.log1p(-1e-3)).all()
    assert (errors <= -1.01 * rounds * math.log1p(-1e-3)).all()


def test_what_is_common_to_all_values_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of m(t) itself; where nothing is known of it there is no value."""
    faked(monkeypatch, 0.0, 1e-3)
    rounds = sum(count for _, _, count in THREE)
    line = bundle_of(THREE, False).line(2.0, 1.0, 1e-8)
    assert line.common == math.inf
    line.cumulants(0.5, 3)
    assert -rounds * math.log1p(-1e-3) <= line.common <= -1.01 * rounds * math.log1p(-1e-3)
    faked(monkeypatch, 0.0, 1.5)
    line.cumulants(0.5, 3)
    assert line.common == math.inf


def test_the_summation_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """By units of rounding of all that is added up: as many as there are rows in a chunk and chunks, at least."""
    faked(monkeypatch, 0.0, 0.0)
    kinds = [(float(mu), 0.01, 1000) for mu in DRAWN.uniform(0.5, 2.0, 100)]
    line = bundle_of(kinds, False).line(2.0, 1.0, 1e-8)
    values, _ = line.cumulants(0.5, 3)
    assert (20 * UNIT_ROUNDOFF * values.real <= line.common).all()
    assert (line.common <= 1e-10 * values.real).all()

    def turned(w: npt.NDArray[np.complex128], absolute: Array) -> tuple[npt.NDArray[np.complex128], Array]:
        return np.full(w.shape, -3.0 + 1.0j), np.zeros(w.shape)

    monkeypatch.setattr(module, "safe_log_one_plus", turned)
    _, errors = line.cumulants(0.5, 3)
    rounds = sum(count for _, _, count in kinds)
    assert (errors >= 20 * UNIT_ROUNDOFF * 4.0 * rounds).all()
    assert (errors <= 1e-10 * rounds).all()


def test_bounds_are_added_up_outward(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of what is bound to fall off is not below the exact one."""

    class Thirds:
        def __init__(self, rows: int) -> None:
            self._rows = rows

        @classmethod
        def of(cls, line: Line) -> Thirds:
            return cls(len(line))

        def log_decay(self, edges: Array) -> Array:
            return np.full((self._rows, 1), -1 / 3)

    monkeypatch.setattr(module, "Boxes", Thirds)
    for count in (1, 3, 1001):
        kinds = [(0.5 + 0.01 * number, 0.01, count) for number in range(50)]
        envelope = bundle_of(kinds, False).envelope(2.0, 1)
        for many, bounds in ((50, envelope.log_bound), (len(envelope._parts[0].rows), envelope.by_leaders)):
            exact = many * count * Fraction(-1 / 3)
            assert exact <= Fraction(float(bounds(np.array([1.0]))[0])) <= exact * (1 - Fraction(1, 10**8))


def test_a_kind_of_too_many_nodes_has_no_value() -> None:
    """Infinite, and never as if it were not there; its bound on the fall adds nothing."""
    wide = bundle_of([*THREE, (19.0, 0.5, 1)], False)
    assert wide.upper(200.0, 1e-3) == math.inf
    values, errors = wide.line(200.0, 1.0, 1e-8).cumulants(0.5, 3)
    assert np.isinf(errors).all()
    assert np.isinf(values).all()
    assert math.isinf(wide.line(200.0, 1.0, 1e-8).cost(3))


def test_chunks_make_next_to_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values in chunks of few rows agree within their errors, and no array is larger than a chunk."""
    kinds = [(float(mu), float(rate), 3) for mu, rate in DRAWN.uniform(0.01, 0.5, (40, 2))]
    whole = bundle_of(kinds, False)
    values, errors = whole.line(5.0, 4.0, 1e-9).cumulants(0.5, 9)
    monkeypatch.setattr(module, "NUMBERS", 256)
    sizes = [line.x.size for _, line in whole.lines(5.0, 1e-9, 9)]
    assert max(sizes) <= 256
    others, more = whole.line(5.0, 4.0, 1e-9).cumulants(0.5, 9)
    assert (np.abs(values - others) <= errors + more).all()


def test_the_cut_is_certified_by_all_kinds() -> None:
    """The stand-ins only say where to look: the bound is that of all kinds, or of those that fall off most."""
    kinds = [(float(mu), 0.02, 20) for mu in DRAWN.uniform(0.3, 1.5, 60)]
    whole = bundle_of(kinds, False)
    for most in (10_000, 50):
        found = cut([(whole, 1)], 4.0, 0.3, -30.0, 1.0, most)
        envelope = whole.envelope(4.0, 1)
        assert found.bounds[0, 0] in (envelope.by_leaders(found.edges)[0], envelope.log_bound(found.edges)[0])
        assert found.log_tail(np.array([1.0]), 0.3) <= -30.0 + 1e-6


def test_kinds_that_fall_off_most_are_in_the_bound_of_all() -> None:
    """Each kind is in one part of the two, so that the bound of all is the sum of those of single kinds."""
    kinds = [(float(mu), float(rate), 7) for mu, rate in DRAWN.uniform(0.05, 1.2, (25, 2))]
    envelope, edges = bundle_of([(mu, min(rate, 0.8), k) for mu, rate, k in kinds], True).envelope(3.0, 1), [0.7, 2.0]
    all_kinds, leaders = envelope.log_bound(np.array(edges)), envelope.by_leaders(np.array(edges))
    alone = [
        sum(bundle_of([(mu, min(rate, 0.8), k)], True).envelope(3.0, 1).log_bound(np.array([at]))[0]
            for mu, rate, k in kinds) for at in edges
    ]  # fmt: skip
    assert all_kinds == pytest.approx(alone, rel=0.05)
    assert (all_kinds < 0.999 * leaders).all()
    assert (leaders < 0.4 * all_kinds).all()


def test_the_stand_ins_are_few_and_near() -> None:
    """They have as many rounds and about the same cumulants."""
    kinds = [(float(1 / noise), 0.01, 10) for noise in DRAWN.uniform(0.7, 3.0, 500)]
    whole = bundle_of(kinds, False)
    few = stand_ins(whole.rows)
    assert len(few) <= STAND_INS
    assert few.count.sum() == whole.total
    for t in (1.0, 5.0, 12.0):
        assert Bundle(few).upper(t, 1e-6) == pytest.approx(whole.upper(t, 1e-6), rel=0.05)


def rounds_of(kinds: list[tuple[float, float, int]], add: bool) -> list[tuple[DominatingPair, int]]:
    made = PoissonAddPair if add else PoissonRemovePair
    return [(made(GaussianPair(mu), rate), count) for mu, rate, count in kinds]


def test_which_rounds_are_bundled() -> None:
    """Sampled Gaussians of one direction, from a dozen on; all others stay as they are."""
    kinds = [(1 / (1 + 0.1 * number), 0.01, number + 1) for number in range(FEWEST)]
    some = rounds_of(kinds, False)
    assert bundle_split(tuple(some[1:])) is None
    assert bundled(Composition(some[1:])) is None
    other = [(LaplacePair(1.0, 5.0), 2), (GaussianPair(0.1), 3), *rounds_of([(0.3, 0.1, 1)], True)]
    far = rounds_of([(30.0, 0.1, 1), (0.5, 0.95, 1)], False)
    split = bundle_split((*other, *some, *far))
    assert split is not None
    assert split[0] == kinds
    assert split[1] is False
    assert split[2] == [*other, *far]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundles, "MOST_ROUNDS", 5)
        assert bundle_split(tuple(some)) is None


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("others", [[], [(LaplacePair(1.0, 8.0), 3), (GaussianPair(0.2), 2)]])
def test_both_ways_answer_alike(add: bool, others: list[tuple[DominatingPair, int]]) -> None:
    """Intervals of random kinds overlap those of kinds one by one, and are as narrow as was asked."""
    random = np.random.default_rng(3)
    for kinds_ in (13, 40):
        noise, rate = np.exp(random.uniform(np.log([[0.6], [1e-3]]), np.log([[6.0], [0.1]]), (2, kinds_)))
        count = np.exp(random.uniform(0, math.log(300), kinds_)).astype(int)
        kinds = list(zip((1 / noise).tolist(), rate.tolist(), count.tolist(), strict=True))
        composition = Composition([*rounds_of(kinds, add), *others])
        together, apart = ContourEngine(composition), ContourEngine(composition, partial(Plain, bundling=False))
        for log_delta in (math.log(1e-4), math.log(1e-10)):
            one, two = (engine.epsilon((log_delta, log_delta), None) for engine in (together, apart))
            assert max(one.lower, two.lower) <= min(one.upper, two.upper)
            assert one.upper - one.lower <= 1e-6 * one.upper
            first, second = (engine.log_delta(1.1 * one.estimate, None) for engine in (together, apart))
            assert max(first.lower, second.lower) <= min(first.upper, second.upper)
            assert first.upper - first.lower <= 1e-6


def test_what_all_points_share_is_charged_on_both_ends() -> None:
    """As a factor of what was found, and not of the aliases."""
    kinds = [(0.5 + 0.01 * number, 0.01, 50) for number in range(20)]
    terms = Plain(Composition(rounds_of(kinds, False))).at(1.0, 1e-6)
    assert 0 < terms.common < 1e-9
    plain, moved = replace(terms, common=0.0), replace(terms, common=0.25)
    one, two = (each.log_delta(np.array([1.0])) for each in (plain, moved))
    assert two.upper[0] - one.upper[0] >= 0.25 - 1e-12
    assert one.lower[0] - two.lower[0] >= 0.25


def test_what_all_points_share_takes_nothing_off_the_aliases() -> None:
    """They are bounds on delta itself: relative to a sum that is taken for smaller they are larger."""
    kinds = [(0.5 + 0.01 * number, 0.01, 50) for number in range(20)]
    terms = Plain(Composition(rounds_of(kinds, False))).at(1.0, 1e-6)
    scale = terms.k_top - terms.t
    theta = terms.right[0]
    neither = replace(terms, common=0.0, right=(theta, -1e4), period=50 * terms.period)
    left = replace(neither, period=(1.0 - scale) / terms.t)
    right = replace(neither, period=terms.period, right=(theta, scale + (terms.t + theta) + theta * terms.period))
    bare = neither.certificate(1.0, 1.0, 0.0).low
    for each in (left, right):
        plain, moved = (replace(each, common=common).certificate(1.0, 1.0, 0.0).low for common in (0.0, 0.25))
        assert bare - plain > 0.01
        assert bare - moved >= math.exp(0.25) * (bare - plain) * (1 - 1e-9)


def test_many_kinds_are_composed_exactly() -> None:
    """Thousands of them, in both directions, without gathering any."""
    noise = np.linspace(0.9, 2.1, 3000).tolist()
    plan = hs.Plan([hs.Round(hs.Gaussian(each), hs.Poisson(0.01)) for each in noise])
    found, delta = plan.epsilon(1e-6), plan.delta(2.0)
    assert found.reason is None
    assert delta.reason is None
    assert found.relative_gap < 1e-6
    few = hs.Plan([hs.Round(hs.Gaussian(each), hs.Poisson(0.01), 3) for each in noise[1::3]])
    assert few.epsilon(1e-6).estimate == pytest.approx(found.estimate, rel=1e-3)
    for direction in ("remove", "add"):
        side = hs.Plan(plan.rounds, direction).epsilon(1e-6)
        assert side.lower <= found.upper
        assert side.reason is None


def test_the_sides_of_what_is_bundled_are_made_when_they_are_asked_for() -> None:
    """A contour answers for all kinds: nobody asks for the two sides."""
    kinds = [(1 / (1 + 0.01 * number), 0.01, 1) for number in range(300)]
    sides = gathered(Composition(rounds_of(kinds, False)))
    assert sides.many
    assert sides.bundled
    assert sides.tried
    assert "_sides" not in vars(sides)
    assert len(sides.worse.rounds) < 300
