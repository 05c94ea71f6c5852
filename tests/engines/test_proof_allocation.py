"""Proofs of random allocation: laws on either side of the true one, what they leave out, the intervals they give."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from flint import arb, fmpz_poly
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from mpmath import mp

import hockeystick as hs
from hockeystick.engines.proof import allocation_epoch
from hockeystick.engines.proof.allocation_epoch import Epoch, EpochMesh, _Sums, _whole
from hockeystick.engines.proof.convex_order import Part, merged, spread, whole_below
from hockeystick.engines.proof.enclosure import Enclosure
from hockeystick.engines.proof.ratio_grid import Plan, RatioGrid, product
from hockeystick.engines.proof.ratio_laws import Lognormal
from hockeystick.engines.proof.ratio_mesh import Mesh, far, multiples
from hockeystick.engines.proof.ratio_rows import Row
from hockeystick.numerics.balls import ball, precision
from hockeystick.values.errors import UnsupportedError
from oracle.allocation import two_steps

ATOMS = st.lists(
    st.tuples(st.integers(1, 2000), st.integers(1, 1000)), min_size=1, max_size=30, unique_by=lambda x: x[0]
)
COARSE = Mesh(0.2, -20.0, 8.0)


def rounds(noise: float, count: int = 1, adjacency: str = "remove", **how: Any) -> hs.Plan:
    one = hs.Round(hs.Gaussian(noise_multiplier=noise), hs.RandomAllocation(**how), count)
    return hs.Plan((one,), adjacency=adjacency)


def excess(law: list[tuple[Any, Any]], c: Any) -> Any:
    """``E (X - c)_+`` of a law of points and masses."""
    return sum((mass * (value - c) for value, mass in law if value > c), Fraction(0))


def exact(x: Any) -> Fraction:
    """An exact ball as a fraction, or the lower end of another."""
    low = x.lower()
    mantissa, power = low.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(power)


@settings(deadline=None, max_examples=60)
@given(atoms=ATOMS, gaps=st.lists(st.integers(20, 400), min_size=3, max_size=12), where=st.floats(0, 1))
def test_laws_on_points_are_on_their_side(atoms: list[tuple[int, int]], gaps: list[int], where: float) -> None:
    """For every threshold, removed and added alike; what is spread keeps mass and mean, what is merged has less."""
    points = [sum(gaps[:j]) for j in range(len(gaps) + 1)]
    law = [(Fraction(value), Fraction(mass)) for value, mass in sorted(atoms) if value <= points[-1]]
    balls = [arb(point) for point in points]
    cells = [[(v, m) for v, m in law if a <= v and (v < b or v == b == points[-1])] for a, b in pairwise(points)]
    parts = [Part(ball(sum(m for _, m in cell)), ball(sum(v * m for v, m in cell))) if cell else Part(arb(0), arb(0))
             for cell in cells]  # fmt: skip
    with precision(200):
        above = [(Fraction(p), exact(m)) for p, m in zip(points, spread(balls, parts), strict=True)]
        start = 1 + int(where * (len(points) - 2))
        middle = (points[start - 1] + points[start]) / 2
        small = [Part(ball(m), ball(v * m)) for v, m in law]
        masses = merged(balls, small, start, sum(v < middle for v, _ in law))
        below = [(Fraction(p), exact(m)) for p, m in zip(points, masses, strict=True)]
    slip: Any = Fraction(1, 2**120)
    for c in {*map(Fraction, points), *(value for value, _ in law)}:
        true, shy = excess(law, c), [(-v, m) for v, m in law]
        assert excess(above, c) >= true - slip
        assert excess(below, c) <= true + slip
        assert excess([(-v, m) for v, m in above], -c) >= excess(shy, -c) - slip
        assert excess([(-v, m) for v, m in below], -c) <= excess(shy, -c) + slip
    total, mean = sum(m for _, m in law), sum(v * m for v, m in law)
    assert abs(sum(m for _, m in above) - total) < slip
    assert abs(sum(v * m for v, m in above) - mean) < slip


def test_little_is_left_out_where_there_is_something_to_merge_with() -> None:
    """A smooth law is merged but for the top, also what lies at the bottom, next to 0."""
    law = Lognormal(Fraction(1))
    with precision(160):
        edges = [arb(i) / 40 for i in range(4001)]
        tails = [law.tail(edge) for edge in edges]
        parts = [Part(a.mass - b.mass, a.moment - b.moment) for a, b in pairwise(tails)]
        masses = merged([arb(i) / 10 for i in range(1001)], parts, 10, 38)
        total = sum(masses, arb(0))
        assert float((1 - total).mid()) < 1e-5
        assert float(abs(sum((mass * i / 10 for i, mass in enumerate(masses)), arb(0)) - 1).mid()) < 1e-3


def test_masses_are_rounded_down() -> None:
    """Also those that are only known to a radius, and those below one unit."""
    with precision(100):
        wide = arb(1, 2.0**-10)
        assert whole_below(wide, 20) <= (1 - 2.0**-10) * 2**20
        assert whole_below(arb(1) / 3, 20) == 2**20 // 3
        assert whole_below(arb(-1), 20) == whole_below(arb("nan"), 20) == 0


@settings(deadline=None, max_examples=40)
@given(some=st.lists(st.integers(0, 255), min_size=1, max_size=8), count=st.integers(0, 6), first=st.integers(-3, 3))
def test_powers_of_rows_are_the_sums_rounded_down(some: list[int], count: int, first: int) -> None:
    """No mass above the true one, and none below it by more than a unit for each product."""
    row = Row.of(some, first, 8)
    power = row.power(count)
    true = {0: Fraction(1)}
    for _ in range(count):
        following: dict[int, Fraction] = {}
        for at, mass in true.items():
            for i, other in enumerate(some, first):
                following[at + i] = following.get(at + i, Fraction(0)) + mass * Fraction(other, 256)
        true = following
    found = dict(enumerate(power.masses(), power.first))
    assert all(Fraction(mass, 256) <= true.get(at, Fraction(0)) for at, mass in found.items())
    assert not power.masses() or power.masses()[0] > 0
    if count == 2:
        assert all(mass * 256 - found.get(at, 0) < 1 for at, mass in true.items())
    third = row.scaled(Fraction(1, 3))
    assert all(mass == row.masses()[i] // 3 for i, mass in enumerate(third.masses()))
    assert third.first == row.first
    assert isinstance(row.poly, fmpz_poly)


@pytest.mark.parametrize("mu", [Fraction(1, 3), Fraction(5, 3)])
def test_tails_of_a_step(mu: Fraction) -> None:
    """Mass under Q and under P by quadrature of the normal densities."""
    with precision(120), mp.workdps(30):
        for x in (-2, 0, 1, 4):
            y = arb(x).exp()
            found = Lognormal(mu**2).tail(y)
            place = mp.mpf(x) / mp.mpf(float(mu)) + mp.mpf(float(mu)) / 2
            assert abs(float(found.mass.mid()) / float(mp.ncdf(-place)) - 1) < 1e-12
            assert abs(float(found.moment.mid()) / float(mp.ncdf(mp.mpf(float(mu)) - place)) - 1) < 1e-12
        everything = Lognormal(mu**2).tail(arb(0))
        assert everything == Part(arb(1), arb(1))
    assert math.erfc(far(-20.0) / math.sqrt(2)) / 2 < math.exp(-20.0)


@settings(deadline=None, max_examples=30)
@given(width=st.floats(0.01, 1), top=st.floats(1, 1e4), share=st.floats(0.02, 0.9))
def test_points_far_out_are_at_about_equal_ratios(width: float, top: float, share: float) -> None:
    """They rise by as much as their cells, of odd widths, take: each cell ends where the next begins."""
    found = multiples(width, top, share)
    edges = [0.5]
    for a, b in pairwise(found):
        assert b > a
        edges.append(2 * b - (a + (edges[-1] if a else 0.5)) if a else b + 0.5)
    assert found[0] == 0
    assert found[-1] * width >= top > found[-2] * width
    assert all(b - a <= max(1.0, share * b + 1) for a, b in pairwise(found))


def laid(noise: str, steps: int, epochs: int, mesh: Mesh) -> Plan:
    return Plan(((Epoch(1 / Fraction(noise) ** 2, Fraction(1, steps), steps), epochs),), mesh)


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize(("noise", "steps"), [("1", 5), ("0.7", 40), ("3", 12)])
def test_the_sum_of_an_epoch_has_its_moments(noise: str, steps: int, above: bool) -> None:
    """All mass and the whole mean, jumps among them; the second moment is above on one side, below on the other."""
    ((mesh, _),) = laid(noise, steps, 1, Mesh(0.15, -30.0, 12.0)).meshes()
    bits = mesh.mesh.bits(steps)
    with precision(bits + 64):
        step = allocation_epoch._step(mesh, bits)
        found = allocation_epoch._sum(mesh, step.above if above else step.below, bits, above)
        mass = mean = square = 0.0
        for sums, spacing, offset in found:
            for i in range(sums.ends[0], sums.ends[1] + 1):
                share = float(sums.between(i, i + 1).mass)
                value = mesh.width * (spacing * i + float(offset.mid())) / steps
                mass, mean, square = mass + share, mean + share * value, square + share * value**2
    assert (len(found) > 1) == (mesh.jumps > 0)
    assert mass == pytest.approx(1.0, abs=1e-6)
    assert mean == pytest.approx(1.0, abs=1e-4)
    true = 1 + math.expm1(1 / float(noise) ** 2) / steps
    assert (square > true) if above else (square < true)
    assert square == pytest.approx(true, rel=3e-2)


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("noise", ["0.5", "1", "2"])
def test_two_steps_by_an_integral(noise: str, add: bool) -> None:
    """Both ends of delta of one epoch of two steps hold what the second step in closed form gives."""
    grid = RatioGrid(product(laid(noise, 2, 1, Mesh(0.1, -30.0, 8.0))), add)
    for epsilon in (0.0, 0.3, 1.0):
        true = two_steps(1 / float(noise), epsilon, add)
        assert grid.lower(epsilon) <= true * (1 + 1e-9) + 1e-13
        assert grid.upper(epsilon) >= true * (1 - 1e-9) - 1e-13
        assert float(grid.upper(epsilon)) - float(grid.lower(epsilon)) < 0.05 * true + 1e-6


@pytest.mark.parametrize("add", [False, True])
def test_what_is_left_out_is_charged(add: bool) -> None:
    """Far beyond all points nothing of the law above is left but what it lacks, which holds delta there."""
    plan = laid("1", 4, 3, Mesh(0.3, -4.0, 2.0))
    grid = RatioGrid(product(plan), add)
    certified = rounds(1.0, 3, "add" if add else "remove", steps_per_epoch=4)
    for epsilon in (0.5, 3.0, 8.0):
        assert grid.upper(epsilon) >= certified.delta(epsilon=epsilon).lower
        assert grid.lower(epsilon) <= certified.delta(epsilon=epsilon).upper
    charged = grid.upper(30.0)
    ledger = grid._ledgers[0]
    with precision(200):
        assert charged >= 1 - (ledger.mass if add else ledger.moment) > 1e-6


@pytest.mark.parametrize("add", [False, True])
def test_every_epoch_is_counted(add: bool) -> None:
    """Laws of different epochs side by side: the order does not matter, and each costs something."""
    one, other = Epoch(Fraction(1), Fraction(1, 4), 4), Epoch(Fraction(4), Fraction(1, 9), 9)
    both = RatioGrid(product(Plan(((one, 2), (other, 1)), COARSE)), add)
    turned = RatioGrid(product(Plan(((other, 1), (one, 2)), COARSE)), add)
    alone = RatioGrid(product(Plan(((one, 2),), COARSE)), add)
    kinds = (hs.Round(hs.Gaussian(noise_multiplier=1.0), hs.RandomAllocation(steps_per_epoch=4), 2),
             hs.Round(hs.Gaussian(noise_multiplier=0.5), hs.RandomAllocation(steps_per_epoch=9), 1))  # fmt: skip
    found = hs.Plan(kinds, adjacency="add" if add else "remove").delta(epsilon=1.5)
    assert both.lower(1.5) <= found.upper
    assert both.upper(1.5) >= found.lower
    assert float(both.lower(1.5)) == pytest.approx(float(turned.lower(1.5)), rel=1e-6)
    assert alone.upper(1.5) < both.lower(1.5)


def test_ends_of_epsilon_are_on_their_side_of_the_target() -> None:
    """The upper end is a double where delta is proved to be at most the target, the lower one where it is above."""
    grid = RatioGrid(product(laid("1", 6, 2, COARSE)), False)
    for target in (0.1, 1e-3):
        with precision(100):
            sure = Enclosure(arb(target), arb(target))
        lower, upper = grid.epsilon(sure, 20.0)
        assert grid.upper(upper) <= target < grid.upper(upper * (1 - 1e-14))
        assert grid.lower(lower) > target >= grid.lower(lower * (1 + 1e-14))
        assert lower < upper < 1.2 * lower
    assert grid.epsilon(Enclosure(arb(0), arb(0)), 20.0)[1] == math.inf
    assert grid.epsilon(Enclosure(arb(1), arb(1)), 20.0) == (0.0, 0.0)


PLANS = [
    (1.0, 20, 3, 1e-5),
    (0.6, 50, 1, 1e-6),
    (3.0, 8, 10, 1e-3),
    (2.0, 500, 4, 1e-8),
]


@pytest.mark.parametrize("adjacency", ["remove", "add"])
@pytest.mark.parametrize(("noise", "steps", "epochs", "delta"), PLANS)
def test_the_contour_lies_inside(noise: float, steps: int, epochs: int, delta: float, adjacency: str) -> None:
    """A proof to a thousandth holds the certified interval, which is narrower, and says its way."""
    plan = rounds(noise, epochs, adjacency, steps_per_epoch=steps)
    proved, certified = plan.epsilon(delta=delta, gap=2e-3, proof=True), plan.epsilon(delta=delta)
    assert proved.guarantee == "proved"
    assert proved.accountant == RatioGrid.name
    assert proved.lower <= certified.lower <= certified.upper <= proved.upper
    assert proved.relative_gap <= 2e-3
    assert proved.reason is None


@settings(deadline=None, max_examples=5, phases=[Phase.explicit, Phase.generate])
@given(
    noise=st.floats(0.5, 4).map(lambda x: round(x, 2)),
    steps=st.integers(2, 300),
    epochs=st.integers(1, 20),
    log_delta=st.floats(-8, -1),
    adjacency=st.sampled_from(["remove", "add", "add-or-remove", "zero-out"]),
)
def test_any_plan_meets_the_certified_interval(
    noise: float, steps: int, epochs: int, log_delta: float, adjacency: str
) -> None:
    """Over noise, steps, epochs, delta and every relation that has the pair."""
    plan, delta = rounds(noise, epochs, adjacency, steps_per_epoch=steps), 10.0**log_delta
    proved, certified = plan.epsilon(delta=delta, gap=0.05, proof=True), plan.epsilon(delta=delta)
    assert proved.lower <= certified.upper
    assert certified.lower <= proved.upper
    assert proved.relative_gap <= 0.05 or proved.upper < 1e-6 or proved.reason


def test_delta_is_proved_too() -> None:
    """At an epsilon, in both directions, with the larger one as the answer."""
    plan = rounds(1.0, 4, "add-or-remove", steps_per_epoch=30)
    proved, certified = plan.delta(epsilon=1.0, gap=0.01, proof=True), plan.delta(epsilon=1.0)
    assert proved.lower <= certified.lower <= certified.upper <= proved.upper
    assert proved.upper <= 1.01 * proved.lower
    assert proved.accountant == RatioGrid.name


@pytest.mark.parametrize(
    "how",
    [
        {"steps_per_epoch": 40, "epochs_per_assignment": 2},
        {"steps_per_epoch": 40, "steps_taken": 13},
        {"steps_per_epoch": 40, "check_in": 0.5},
        {"batch_size": 10, "dataset_size": 200},
    ],
)
@pytest.mark.parametrize("adjacency", ["remove", "add"])
def test_other_epochs_of_equal_steps(how: dict[str, Any], adjacency: str) -> None:
    """Assignments that are kept, epochs broken off, random check-in, and sizes that come out even."""
    plan = rounds(1.0, 3, adjacency, **how)
    proved, certified = plan.epsilon(delta=1e-4, gap=5e-3, proof=True), plan.epsilon(delta=1e-4)
    assert proved.lower <= certified.lower <= certified.upper <= proved.upper
    assert proved.relative_gap <= 5e-3


@pytest.mark.parametrize("adjacency", ["remove", "add"])
def test_one_step_that_may_be_missed_is_poisson_sampling(adjacency: str) -> None:
    """An epoch broken off after the first of its steps has the closed form of one sampled Gaussian round."""
    plan = rounds(1.0, 1, adjacency, steps_per_epoch=4, steps_taken=1)
    sampled = hs.Plan((hs.Round(hs.Gaussian(noise_multiplier=1.0), hs.Poisson(sample_rate=0.25)),), adjacency=adjacency)
    proved, closed = plan.epsilon(delta=1e-3, gap=1e-3, proof=True), sampled.epsilon(delta=1e-3, proof=True)
    assert closed.accountant == "closed form"
    assert proved.lower <= closed.lower <= closed.upper <= proved.upper
    assert proved.relative_gap <= 1e-3


def test_pure_epsilon_of_adding_where_a_record_may_be_missing() -> None:
    """With probability 1/2 of no step an epoch, no ratio is below 1/2: at delta 0 epsilon is 3 log 2."""
    found = rounds(1.0, 3, "add", steps_per_epoch=5, check_in=0.5).epsilon(delta=0.0, proof=True)
    assert found.lower <= 3 * math.log(2) <= found.upper
    assert found.relative_gap < 1e-12
    assert rounds(1.0, 3, "add", steps_per_epoch=5).epsilon(delta=0.0, proof=True).lower == math.inf


def test_an_epoch_of_one_step_is_not_sampled() -> None:
    """Kept for four epochs it is four rounds, with the closed form."""
    found = rounds(2.0, 1, steps_per_epoch=1, epochs_per_assignment=4).epsilon(delta=1e-5, proof=True)
    plain = hs.Plan((hs.Round(hs.Gaussian(noise_multiplier=2.0), count=4),), adjacency="remove")
    assert found == plain.epsilon(delta=1e-5, proof=True)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"steps_per_epoch": 10, "participations_per_epoch": 2}, "several participations"),
        ({"batch_size": 30, "dataset_size": 100}, "smaller last batch"),
        ({"steps_per_epoch": 10**9}, "too long"),
    ],
)
def test_refusals_say_why(how: dict[str, Any], why: str) -> None:
    with pytest.raises(UnsupportedError, match=why):
        rounds(1.0, **how).epsilon(delta=1e-5, proof=True)


def test_other_rounds_beside_are_refused() -> None:
    plan = rounds(1.0, steps_per_epoch=10) + hs.Round(hs.Gaussian(noise_multiplier=4.0))
    with pytest.raises(UnsupportedError, match="together with other rounds"):
        plan.epsilon(delta=1e-5, proof=True)
    other = hs.Plan((hs.Round(hs.RandomizedResponse(epsilon=1.0), hs.RandomAllocation(steps_per_epoch=10)),))
    with pytest.raises(UnsupportedError, match="no proof is implemented"):
        other.epsilon(delta=1e-5, proof=True)


def test_jumps_are_far_and_few() -> None:
    """They are taken apart where the tail of a step is long beside the sum, and not where it is not."""
    long, short = (
        EpochMesh(Epoch(1 / Fraction(noise) ** 2, Fraction(1, 1000), 1000), COARSE, 1) for noise in ("0.6", "5")
    )
    assert long.jumps > 1
    assert long.place < long.farthest
    assert short.jumps == 0
    assert short.place == short.farthest


@pytest.mark.share(5)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "steps", "epochs", "delta", "gap"),
    [
        (1.0, 1000, 1, 1e-6, 1e-4),
        (1.0, 1000, 10, 1e-6, 1e-4),
        (0.6, 1000, 10, 1e-5, 2e-4),
        (3.0, 10_000, 100, 1e-8, 4e-4),
        (1.0, 8, 1, 0.1, 4e-4),
    ],
)
def test_typical_plans_to_a_ten_thousandth(noise: float, steps: int, epochs: int, delta: float, gap: float) -> None:
    plan = rounds(noise, epochs, "add-or-remove", steps_per_epoch=steps)
    proved, certified = plan.epsilon(delta=delta, proof=True), plan.epsilon(delta=delta)
    assert proved.lower <= certified.lower <= certified.upper <= proved.upper
    assert proved.relative_gap <= gap


@pytest.mark.parametrize(
    ("count", "steps", "adjacency"),
    [
        pytest.param(1, 31_100, "add", marks=pytest.mark.slow),  # rounding leaves nothing beside the jumps
        (300, 2, "remove"),  # masses of more bits than a double reaches
    ],
)
def test_light_laws_are_answered(count: int, steps: int, adjacency: str) -> None:
    plan = rounds(0.3, count, adjacency, steps_per_epoch=steps)
    proved, certified = plan.epsilon(0.9, proof=True), plan.epsilon(0.9)
    assert proved.lower <= certified.upper
    assert certified.lower <= proved.upper


def test_sums_of_which_rounding_has_left_nothing_have_no_mass() -> None:
    sums = _Sums.of(Row.of([0, 0], 5, 40))
    assert sums.ends == (0, 0)
    assert sums.lightest(0.5) == 0
    assert _whole(sums).mass == 0


def test_a_mass_is_found_among_more_bits_than_a_double_reaches() -> None:
    assert _Sums.of(Row.of([1 << 1999, 1 << 1999], 3, 2000)).lightest(0.6) == 4


def test_ratios_beyond_the_range_of_a_double_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="too many points"):
        rounds(5.0, steps_per_epoch=48_100, steps_taken=4617).delta(2.33, proof=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_ratios_beyond_the_whole_numbers_of_a_machine_are_merged() -> None:
    plan = rounds(0.3, adjacency="remove", steps_per_epoch=3, epochs_per_assignment=3)
    proved, certified = plan.epsilon(0.5, proof=True), plan.epsilon(0.5)
    assert proved.lower <= certified.upper
    assert certified.lower <= proved.upper
