"""Contours without the core of the law: core and jumps against mpmath, answers against the oracle."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf

import hockeystick as hs
import oracle
from hockeystick.engines.contour import path as contour_path
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.contour.jumps import Choice, JumpCut, Jumps, chosen
from hockeystick.engines.contour.path import Path
from hockeystick.engines.contour.sweep import Terms
from hockeystick.engines.guide import Guide
from hockeystick.numerics.balls import precision
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition
from hockeystick.pairs.renyi import log_peak
from hockeystick.pairs.sampled.gaussian_jumps import JumpLine, Split, log_core, log_jump_bound, on_lattice, panels
from hockeystick.pairs.sampled.gaussian_transform import Kind, MixtureTransform
from hockeystick.values.adjacency import Direction

Number = Any

LAWS = [
    (MixtureTransform(2.0, 2e-4, Kind.REMOVE), Split(3.0, 0.25), 1.5),
    (MixtureTransform(2.0, 2e-5, Kind.REMOVE), Split(6.0, 0.0625), 4.5),
    (MixtureTransform(1.25, 1e-3, Kind.REMOVE), Split(4.25, 0.125), 7.5),
    (MixtureTransform(5.0, 1e-8, Kind.REMOVE), Split(6.5, 0.03125), 1.0),
]
HIGH = 30.0


@pytest.fixture(autouse=True)
def digits() -> Any:
    with mpmath.workdps(25):
        yield


def part(law: MixtureTransform, split: Split, z: Number, sign: int) -> Number:
    """J(z), or C(z) with sign -1, by quadrature."""
    m, q, z = mpf(repr(law.mu)), mpf(repr(law.rate)), mp.mpc(z)

    def weight(x: Number) -> Number:
        ratio = mp.log(1 - q + q * mp.exp(m * x - m * m / 2))
        return mp.npdf(x) * mp.exp((1 + z) * ratio) * mp.ncdf(sign * (x - split.centre) / split.width)

    c, w = split
    edges = sorted({mpf(i) / 2 for i in range(-22, 60)} | {mpf(c + i * w) for i in range(-12, 13)})
    return mp.quad(weight, edges, maxdegree=5)


@pytest.mark.parametrize(("law", "split", "t"), LAWS)
@pytest.mark.parametrize("y", [0.5, 20.0])
@pytest.mark.share(3)
def test_the_bound_on_the_core(law: MixtureTransform, split: Split, t: float, y: float) -> None:
    """Above ``log C(y)``, by less than what matters after the count."""
    count = 100_000
    true, bound = mp.log(part(law, split, y, -1).real), log_core(law, split, y, count)
    assert float(true) <= bound <= float(true) + 1e-4 / count + 1e-9


def test_no_bound_on_a_core_where_the_ratio_grows_faster_than_the_cut_falls() -> None:
    law = MixtureTransform(2.0, 2e-4, Kind.REMOVE)
    assert log_core(law, Split(3.0, 0.25), 1e7, 10) == math.inf


@pytest.mark.share(4)
@pytest.mark.slow
@pytest.mark.parametrize(("law", "split", "t"), LAWS)
def test_the_bound_on_the_jumps(law: MixtureTransform, split: Split, t: float) -> None:
    """Above ``|J(t + is)|``, and falling: what holds at s holds beyond it."""
    edges = np.array([0.5, 3.0, 10.0, 30.0])
    truths = [float(mp.log(abs(part(law, split, mp.mpc(t, s), 1)))) for s in edges.tolist()]
    largest = float(mp.log(part(law, split, t, 1).real))
    for shift in (2 * split.width, min(4 * split.width, 1.5 / law.mu)):
        bounds = log_jump_bound(law, split, t, shift, HIGH, edges)
        assert (np.diff(bounds) < 0).all()
        assert (bounds >= truths).all()
        assert bounds[0] <= largest + 0.5 * split.growth * shift**2 + 1.0


def test_the_bound_on_the_jumps_charges_both_ends() -> None:
    """Few panels, and a range that ends too early: the bound stays above what they leave out."""
    law, split = MixtureTransform(2.0, 2e-4, Kind.REMOVE), Split(3.0, 0.25)
    true = float(mp.log(abs(part(law, split, 1.5, 1))))
    assert log_jump_bound(law, split, 1.5, 0.5, 5.5, np.array([0.0]))[0] >= true
    assert log_jump_bound(law, split, 1.5, 0.5, 4.0, np.array([0.0]))[0] == math.inf
    assert len(panels(law, split, 2.0)) > 3


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize(("law", "split", "t"), LAWS)
def test_jumps_on_the_line(law: MixtureTransform, split: Split, t: float) -> None:
    """Within the stated error, which is some 1e-13 of J(t)."""
    step, count = 7.0, 5
    size = float(part(law, split, t, 1).real)
    found = JumpLine(law, split, t, step * (count - 1), 1e-14 * size, HIGH).values(step, count)
    assert found is not None
    values, errors = found
    for j in (0, 1, 4):
        true = part(law, split, mp.mpc(t, step * j), 1)
        assert abs(mp.mpc(values[j]) - true) <= errors[j] <= 1e-11 * size


@pytest.mark.long
def test_remainders_of_the_line_are_charged() -> None:
    """Far too few nodes: the error says so."""
    law, split, t = LAWS[0]
    values, errors = JumpLine(law, split, t, 40.0, 1e-2, HIGH).values(10.0, 5) or (None, None)
    assert values is not None
    assert errors is not None
    for j in (0, 2, 4):
        assert abs(mp.mpc(values[j]) - part(law, split, mp.mpc(t, 10.0 * j), 1)) <= errors[j]


def test_on_the_lattice_differences_are_exact() -> None:
    c, dx = on_lattice(5.96321), on_lattice(0.0123456789)
    for n in (1, 7, 1000):
        assert c + n * dx - c == n * dx


def test_accuracy_of_the_cut() -> None:
    """``log Phi`` errs by at most the units that are charged for it, its argument's aside."""
    from scipy.special import log_ndtr

    x = np.random.default_rng(5).uniform(-30.0, 12.0, 3000)
    with precision(200):
        for argument, value in zip(x.tolist(), log_ndtr(x).tolist(), strict=True):
            true = ((-arb(argument) / arb(2).sqrt()).erfc() / 2).log()
            assert abs(float(true - arb(value))) <= UNIT_ROUNDOFF * (64 + 4 * min(argument, 0.0) ** 2)


@pytest.mark.parametrize("count", [2, 1000, 10**7])
def test_the_part_that_is_not_the_cores(count: int) -> None:
    """``1 - (1 - J/m)^k`` from K and J, with their errors."""
    cumulant, error = np.array([1e-5 + 0j, -3e-4 + 2e-3j, -0.2 + 1.5j]), np.array([1e-16, 1e-15, 1e-12])
    values, errors = np.array([1e-9 + 0j, 2e-7 - 1e-7j, 1e-4 + 3e-5j]), np.array([1e-22, 1e-20, 1e-16])
    choice = Choice(Split(1.0, 1.0), 1.0, 0.0, JumpCut(np.ones(1), np.ones(1)))
    jumps = Jumps(choice, values, errors, 1.0)
    found, doubt = jumps.factor(cumulant, error, count)
    for j in range(3):
        for sign in (-1, 0, 1):  # both ends of what K and J may be
            k, moved = mp.mpc(cumulant[j]) + sign * mpf(error[j]), mp.mpc(values[j]) - sign * mpf(errors[j])
            true = 1 - (1 - moved * mp.exp(-k)) ** count
            assert abs(mp.mpc(found[j]) - true) <= doubt[j]
        assert doubt[j] <= 1e-3 * abs(found[j]) + 1e-12


def test_what_an_error_moves_where_nothing_is_left() -> None:
    """``(1 - J/m)^k`` is below the roundings of 1; its error need not be."""
    values, errors = np.array([0.05 + 0j]), np.array([0.03])
    choice = Choice(Split(1.0, 1.0), 1.0, 0.0, JumpCut(np.ones(1), np.ones(1)))
    jumps = Jumps(choice, values, errors, 1.0)
    found, doubt = jumps.factor(np.zeros(1, dtype=np.complex128), np.zeros(1), 1000)
    assert abs(mp.mpc(found[0]) - (1 - (1 - mpf("0.02")) ** 1000)) <= doubt[0]


def test_a_line_without_room_is_refused() -> None:
    """A range that ends below the jumps, and jumps beyond the range of a double."""
    law, split, t = LAWS[0]
    assert JumpLine(law, split, t, 10.0, 1e-10, -3.0).values(1.0, 10) is None
    steep = MixtureTransform(7.91, 8.7e-6, Kind.REMOVE)
    assert JumpLine(steep, Split(9.06, 0.01), 8.757, 10.0, 1e-10, 100.0).values(1.0, 10) is None


def plan(noise: float, rate: float, count: int) -> dict[str, Any]:
    item = {
        "mechanism": "gaussian",
        "noise_multiplier": noise,
        "sampling": "poisson",
        "sample_rate": rate,
        "count": count,
    }
    return {"adjacency": "remove", "round": [item]}


SHORT = [
    (0.5, 2e-5, 1000, "1e-8", 1000),
    (0.457, 4.67e-8, 258217, "1.33e-23", 200),
    (0.729, 2.88e-5, 68, "1.34e-14", 2000),
    (0.271, 1.02e-7, 4, "3.29e-37", 1000),
]


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "rate", "count", "delta", "longest"), SHORT)
def test_answers_on_short_lines(
    monkeypatch: pytest.MonkeyPatch, noise: float, rate: float, count: int, delta: str, longest: int
) -> None:
    """Where the core would need tens of thousands of points and more, or there was no answer at all."""
    paths: list[Path] = []
    terms = Path.terms

    def seen(path: Path, counts: list[int]) -> Terms:
        paths.append(path)
        return terms(path, counts)

    monkeypatch.setattr(Path, "terms", seen)
    given = plan(noise, rate, count)
    found = hs.Plan.from_dict(given).epsilon(float(delta), accountant="contour")
    assert paths[-1].jumps is not None
    assert len(paths[-1].s) <= longest
    assert found.relative_gap <= 1e-6
    assert oracle.delta(given, found.upper, 15) <= mpf(delta) * (1 + mpf("1e-12"))
    assert oracle.delta(given, found.lower, 15) >= mpf(delta) * (1 - mpf("1e-12"))


@pytest.mark.parametrize(
    ("noise", "rate", "count", "delta"),
    [(1.45, 0.00265, 7, 4.21e-29), (2.08, 0.00917, 10, 1.47e-35), (1.82, 0.00107, 1348, 2.37e-33)],
)
def test_less_tilt_where_farther_jumps_weigh(noise: float, rate: float, count: int, delta: float) -> None:
    """At the saddle point of the whole law a hump of jumps far out would leave four digits; ball arithmetic agrees."""
    given = hs.Plan.from_dict(plan(noise, rate, count))
    found, proved = given.epsilon(delta, accountant="contour"), given.epsilon(delta, proof=True)
    assert found.reason is None
    assert max(found.lower, proved.lower) <= min(found.upper, proved.upper)


def test_with_and_without_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two ways of the same contour overlap, on delta too."""
    given = hs.Plan.from_dict(plan(0.6, 1e-4, 300))
    target = (math.log(1e-9),) * 2
    engine = ContourEngine(Composition(given.pairs(Direction.REMOVE)))
    short, at = engine.epsilon(target, 1e-7), engine.log_delta(0.7, 1e-7)
    monkeypatch.setattr(contour_path, "LINE_WITH_JUMPS", 10**9)
    other = hs.Plan.from_dict(plan(0.6, 1e-4, 300))
    engine = ContourEngine(Composition(other.pairs(Direction.REMOVE)))
    long, there = engine.epsilon(target, 1e-6), engine.log_delta(0.7, 1e-6)
    assert max(short.lower, long.lower) <= min(short.upper, long.upper)
    assert max(at.lower, there.lower) <= min(at.upper, there.upper)


@pytest.mark.slow
def test_a_curve_of_many_epsilons_charges_the_core_at_each() -> None:
    """Far below the epsilon for which the core was left out the upper end still holds, and is wide."""
    given = plan(0.5, 2e-5, 1000)
    engine = ContourEngine(Composition(hs.Plan.from_dict(given).pairs(Direction.REMOVE)))
    terms = engine.at(0.95, 1e-6)[1]
    assert terms.core[1] > -math.inf
    epsilon = np.array([0.05, 0.3, 0.95, 1.2])
    ends = terms.log_delta(epsilon)
    for at, low, high in zip(epsilon.tolist(), ends.lower.tolist(), ends.upper.tolist(), strict=True):
        assert low <= float(mp.log(oracle.delta(given, at, 15))) <= high


def test_no_choice_where_the_core_reaches_epsilon() -> None:
    law = MixtureTransform(1.0, 0.01, Kind.REMOVE)
    assert chosen(law, 10_000, 3.0, 0.5, -30.0, -20.0, HIGH, 1e3) is None
    for kind in (Kind.ADD, Kind.REPLACE):
        other = MixtureTransform(2.0, 2e-5, kind)
        assert Jumps.on([(other, 1000)], 3.0, 0.4, 0.95, -36.0, -3.0, 1e-17, 1e4) is None


@pytest.mark.parametrize(
    ("noise", "rate", "count", "delta"), [(0.5, 2e-5, 1000, 1e-8), (0.8, 1e-3, 100, 1e-7), (0.5, 2e-5, 10**6, 1e-8)]
)
def test_the_first_guess_from_single_losses(noise: float, rate: float, count: int, delta: float) -> None:
    """Within a few per cent, where the saddle point's epsilon is off by up to a factor of three."""
    given = hs.Plan.from_dict(plan(noise, rate, count))
    guide = Guide(Composition(given.pairs(Direction.REMOVE)), math.log(delta) - 50.0)
    tilt = guide.tilt_for_delta(math.log(delta))
    true = given.epsilon(delta).upper
    assert abs(guide.guess(math.log(delta), tilt) / true - 1) < 0.06 < guide.epsilon(tilt) / true - 1
    assert log_peak(tilt) < 0


@pytest.mark.slow
def test_few_expected_samples_have_a_coarse_contour_where_a_finer_one_does_not_end() -> None:
    """An epsilon within the reach of the core: the grid after the contour would be 10 per cent wide."""
    both, removed = (
        hs.dp_sgd(1.0, 1e-6, 1000, adjacency=adjacency).epsilon(1e-9) for adjacency in ("add-or-remove", "remove")
    )
    assert both.relative_gap < 1e-4
    assert both.lower <= removed.upper
    assert removed.lower <= both.upper
