"""The core, stage by stage, against mpmath, which shares no code with it; and whole answers.

A certified part is checked by the inequality that it states: a value and its error enclose the integral in 40 digits, a
bound on a tail lies above the tail. A chunk, its size and its order must not be seen in any bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest

from core_lines import FEW, KINDS, PLANS, lines_of, listed, log_moment, moment, sums_of, true_log_delta
from hockeystick.engines.base import DEFAULT_GAP
from hockeystick.engines.core import line as line_module
from hockeystick.engines.core.aim import Asked, first_aim
from hockeystick.engines.core.ask import _milder, solve, worse
from hockeystick.engines.core.law import Law, log_tail
from hockeystick.engines.core.line import LEAP, PARTS, Grid, Line, cells, leaps
from hockeystick.engines.core.rows import Plans
from hockeystick.engines.core.sum import Cut
from hockeystick.numerics.arrays import CHUNK
from hockeystick.numerics.boxes import Boxes
from hockeystick.numerics.logarithm import log_peaks
from hockeystick.numerics.rounding import UNIT_ROUNDOFF


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """As the engine is: a branch that is not taken may overflow."""
    with np.errstate(all="ignore"):
        yield


def at_deltas(log_delta: float, plans: int) -> Asked:
    """The epsilons of so many plans at one log delta."""
    return Asked.epsilons(np.full((plans, 2), log_delta), DEFAULT_GAP)


@pytest.mark.parametrize("add", [False, True])
def test_the_line_encloses_the_integral(add: bool) -> None:
    """``m(t + is) / m(t) - 1`` at points of each line, its errors small beside it, and bounds on m(t) and m(y)."""
    plans, aim, lines = lines_of(add=add)
    values, errors = lines.ratios(aim.step, 3, 4)
    for row in range(len(plans)):
        mu, rate = float(plans.rows.mu[row]), float(plans.rows.rate[row])
        t, y, step = (float(column[row, 0]) for column in (aim.t, aim.y, aim.step))
        whole = moment(mu, rate, complex(t), add)
        for point in (1, 11):
            with mpmath.workdps(40):
                true = moment(mu, rate, complex(t, point * step), add) / whole - 1
                off = abs(mpmath.mpc(complex(values[row, point])) - true)
            assert off <= errors[row, point] <= 1e-6 * abs(true)
        assert values[row, 0] == 0
        for found, tilt in ((lines.highest, t), (lines.upper, y)):
            true_log = float(mpmath.log(moment(mu, rate, complex(tilt), add).real))
            assert true_log <= found[row, 0] <= true_log + 2e-3


@pytest.mark.parametrize("parts", [1, 2, 8])
@pytest.mark.parametrize("add", [False, True])
def test_boxes_lie_above_the_characteristic_function(add: bool, parts: int) -> None:
    """At the edge and beyond it; and what they bound falls."""
    plans, aim, lines = lines_of(add=add)
    boxes = Boxes.below(*cells(lines, parts))
    assert (boxes.area.sum(axis=1) <= 1).all()
    before = np.zeros((len(plans), 1))
    for height in (0.3, 3.0):
        edges = height / np.sqrt(lines.variance)
        bound = boxes.log_bound(edges)
        assert (bound < before).all()
        before = bound
        for row in range(0, len(plans), 2):
            mu, rate, t = float(plans.rows.mu[row]), float(plans.rows.rate[row]), float(aim.t[row, 0])
            whole = moment(mu, rate, complex(t), add)
            for beyond in (1.0, 1.3):
                value = moment(mu, rate, complex(t, beyond * float(edges[row, 0])), add)
                assert float(mpmath.log(abs(value) / abs(whole))) <= bound[row, 0]


def test_a_normal_tail_is_bounded_far_out_and_where_mills_ratio_ends() -> None:
    """``log Phi(-x)`` in 40 digits, up to where a double ends."""
    for x in (-3.0, 0.49, 0.51, 1.0, 3.0, 8.0, 37.0, *(1e5 * (1 + number / 7) for number in range(20))):
        with mpmath.workdps(40):
            true = mpmath.log(mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) / 2)
            assert true <= mpmath.mpf(float(log_tail(np.array(x))))


@pytest.mark.parametrize(("rate", "tilt"), [(0.3, 5.0), (0.01, 40.0), (0.8, 0.5)])
def test_what_g_loses_off_the_real_line_is_bounded(rate: float, tilt: float) -> None:
    """``|g(x + iy)|^-t <= g(x)^-t + (e^dip - 1)`` times ``m(t) >= 1``, as much as ``mu y = pi / 2`` allows."""
    mu = 1.3
    law = Law(np.array([[mu]]), np.array([[rate]]), np.array([[True]]))
    for height in (0.3, 1.2):
        dip = math.exp(float(law.log_dip(np.array([[tilt]]), np.array([[height]]))[0, 0]))
        for x in np.linspace(-6.0, 6.0, 25):
            g = [1 - rate + rate * np.exp(mu * z - mu * mu / 2) for z in (x, x + 1j * height)]
            assert abs(g[1]) ** -tilt <= dip * max(abs(g[0]) ** -tilt, 1.0) * (1 + 1e-12)


@pytest.mark.parametrize("add", [False, True])
def test_what_lies_beyond_the_nodes_is_bounded(add: bool) -> None:
    """Against sums of fine steps, with the hump beyond the nodes and within, and as a sum over coarse nodes."""
    for mu, rate, t, low, high, share in (
        (1.0, 0.01, 3.0, -2.0, 3.0, 0.5),
        (1.0, 0.01, 3.0, -2.0, 6.0, 0.2),
        (0.25, 1e-4, 20.0, -3.0, 3.0, 0.05),
        (2.0, 0.1, 1.0, -1.0, 8.0, 0.5),
        (1.0, 0.1, 20.0, -4.0, 6.0, 0.5),
        (1.0, 0.5, 6.0, -4.0, 5.0, 0.9),
    ):
        law = Law(*(np.array([[value]]) for value in (mu, rate, add)))
        t_, low_, high_, share_ = (np.array([[value]]) for value in (t, low, high, share))
        bound = float(law.beyond(t_, low_, high_, share_)[0, 0])
        for step in (0.01, 0.7):
            x = step * np.arange(1, int(60 / step))
            outside = np.concatenate([low - x, high + x])
            log_g = np.log1p(rate * np.expm1(mu * outside - mu * mu / 2))
            power = -t if add else 1 + t
            found = step * np.exp(power * log_g - outside**2 / 2).sum() / math.sqrt(2 * math.pi)
            assert found <= bound


@pytest.mark.parametrize("most", [2, 3, 5, 8, 13, 16, 20, 32, 47, 64, 128])
def test_leaps_are_counted_as_they_are_made(most: int) -> None:
    """Powers as ``_powers`` makes them, each with the number of leaps that it has behind it."""

    def depths(first: int, many: int) -> list[int]:
        out = [0, first]
        while len(out) < many:
            leap = out[-1] + 1  # max(depth, first) + 1, the former being no less
            out += [max(leap, depth) + 1 if at else leap for at, depth in enumerate(out)]
        return out[:many]

    for outer, inner in ((2, most), (most, 2), (most, most)):
        near = depths(0, inner)
        far = depths(max(near[inner - 1], 0) + 1, outer)
        assert max(near + far) <= leaps(outer, inner)


def test_leaps_are_charged() -> None:
    """At one point of one line, laid in few leaps and in many: each more takes its share of ``s E |l|`` or more."""
    _, aim, lines = lines_of()
    (values, few), (_, many) = lines.ratios(aim.step, 2, 2), lines.ratios(aim.step, 16, 16)
    more = LEAP * (leaps(16, 16) - leaps(2, 2)) * UNIT_ROUNDOFF
    assert more > 0
    assert (many[:, 1] - few[:, 1] >= 0.99 * more * np.abs(values[:, 1])).all()


def test_powers_by_leaps_are_off_by_less_than_they_are_charged() -> None:
    """``(1 + E)^j - 1`` in 40 digits: f is 0 as E is given."""
    draw = np.random.default_rng(11)
    size, turn = draw.normal(0, 0.02, 6), 0.02 * draw.random(6)
    first = np.exp(1j * (size + 1j * turn)) - 1
    found = line_module._powers(first[None, :], 64)[0]
    for j in (2, 3, 7, 8, 31, 33, 63):
        for at in range(6):
            with mpmath.workdps(40):
                true = (1 + mpmath.mpc(complex(first[at]))) ** j - 1
                off = float(abs(mpmath.mpc(complex(found[j, at])) - true))
            assert off <= LEAP * 2 * (j.bit_length() - 1) * UNIT_ROUNDOFF * j * abs(first[at])


def test_complex_exponentials_less_one_are_as_near_as_is_charged() -> None:
    """``e^z - 1`` as NumPy has it, within FACTOR units of its size."""
    draw = np.random.default_rng(2)
    z = 10.0 ** draw.uniform(-9, 1, 400) * np.exp(1j * draw.uniform(math.pi / 2, 3 * math.pi / 2, 400))
    for given, found in zip(z, np.expm1(z), strict=True):
        with mpmath.workdps(40):
            true = mpmath.expm1(mpmath.mpc(complex(given)))
            assert abs(mpmath.mpc(complex(found)) - true) <= line_module.FACTOR * UNIT_ROUNDOFF * abs(true)


@pytest.mark.parametrize("add", [False, True])
def test_bounds_on_the_right_alias_lie_above_the_sum_of_all_kinds(add: bool) -> None:
    """Above K(y) of each plan, and by little."""
    sums, aim = sums_of(PLANS, add)
    for number, plan in enumerate(PLANS):
        true = float(log_moment(plan, complex(float(aim.y[number, 0])), add).real)
        assert true <= sums.k_right[number, 0] <= true + 0.1


def test_a_sum_is_cut_where_the_product_of_all_kinds_is_small() -> None:
    """The bound on the rest is that of the product of what all kinds fall by, and as small as was wanted."""
    plans, aim, lines = lines_of(PLANS)
    cut = Cut.of(lines, plans, aim)
    decay = Boxes.below(*cells(lines, PARTS)).log_bound(np.repeat(cut.edge, KINDS, axis=0))
    product = (plans.rows.count[:, None] * decay).reshape(-1, KINDS).sum(axis=1)
    edge, step = cut.edge[:, 0], aim.step[:, 0]
    assert (cut.log_tail[:, 0] >= product + np.log((step / edge + 1) / (math.pi * edge)) - 1e-9).all()
    assert (cut.log_tail <= aim.cut).all()


@pytest.mark.parametrize("add", [False, True])
def test_guesses_are_near(add: bool) -> None:
    """The first aim is at an epsilon less than a third from the answer, by the central limit or by one loss."""
    plans = listed([*FEW, *([kind] for kind in PLANS[0])], add)
    found = solve(plans, at_deltas(-14.0, len(plans)))
    aim = first_aim(plans, at_deltas(-14.0, len(plans)))
    assert (np.abs(aim.epsilon[:, 0] / found.estimate - 1) < 0.3).all()


@pytest.mark.parametrize("add", [False, True])
def test_the_true_log_delta_lies_within(add: bool) -> None:
    """Of products of kinds, with and without Gaussian noise beside them, on a line that is none of the engine's."""
    for noise, epsilon in ((0.0, 3.0), (0.09, 3.0), (0.09, 1.0)):
        ends = solve(listed(PLANS[:1], add, noise), Asked.log_deltas(np.array([epsilon]), DEFAULT_GAP))
        # the noise is one round of mu = sqrt(v) that takes every record
        kinds = [*PLANS[0], *([(math.sqrt(noise), 1.0, 1.0)] if noise else [])]
        true = true_log_delta(kinds, epsilon, add)
        assert ends.lower[0] - 1e-10 <= true <= ends.upper[0] + 1e-10
        assert ends.upper[0] - ends.lower[0] <= 1e-6


def drawn(plans: int, kinds: int) -> Plans:
    """Plans at random, some of few rounds that are rarely sampled."""
    draw = np.random.default_rng(kinds)
    ends = ((0.5, 8), (1e-4, 0.2), (20, 20_000))
    noise, rate, count = (np.exp(draw.uniform(math.log(low), math.log(high), (plans, kinds))) for low, high in ends)
    given = [list(zip(*kind, strict=True)) for kind in zip(1 / noise, rate, np.rint(count), strict=True)]
    return listed(given)


@pytest.mark.parametrize("kinds", [1, 3])
@pytest.mark.parametrize("numbers", [1, 20_000])
def test_chunks_are_not_seen(kinds: int, numbers: int) -> None:
    """Any size of chunk and any order of the plans: the same bits of every end, of epsilons and of log deltas."""
    many = 24
    plans = drawn(many, kinds)
    order = np.random.default_rng(1).permutation(many)
    whole = worse(plans, at_deltas(-14.0, many)).found
    cut = worse(plans.at(order), at_deltas(-14.0, many), numbers).found
    question = Asked.log_deltas(0.9 * whole.estimate, DEFAULT_GAP)
    logs = worse(plans, question).found
    cut_logs = worse(plans.at(order), question.at(order), numbers).found
    for name in ("lower", "estimate", "upper"):
        for one, two in ((whole, cut), (logs, cut_logs)):
            assert getattr(two, name).tobytes() == getattr(one, name)[order].tobytes(), name


def test_plans_out_of_reach_have_no_answer() -> None:
    """Nodes without end, no finite aim and points without end: not a number, and the others are answered."""
    plans = listed([[(60.0, 0.01, 1e9)], [(1.0, 0.01, 1000.0)], [(1e5, 0.5, 1.0)], [(1.0, 1e-9, 2.0)]])
    found = solve(plans, at_deltas(-10.0, 4))
    assert np.isnan(found.upper[[0, 2]]).all()
    assert found.upper[1] - found.lower[1] <= 1e-6 * found.upper[1]
    assert not found.upper[3] - found.lower[3] <= 1e-6 * found.upper[3]


def test_adding_is_not_taken_for_milder_where_its_own_bound_is_above() -> None:
    """``sum_i k_i K_i(y) - y eps + log peak(y)``, the lesser of two tilts; a hair below shows nothing."""
    plans = listed(PLANS, True)
    epsilon, tilt = np.full(len(PLANS), 1.5), np.full(len(PLANS), 2.0)
    bound = np.array([
        min(
            float(log_moment(plan, y, True).real) - y * 1.5 + float(log_peaks(np.array(y)))
            for y in (1.2 * 2.0, 2.2 * 2.0)
        )
        for plan in PLANS
    ])  # fmt: skip
    assert not _milder(plans, epsilon, bound - 1e-9, tilt, CHUNK).any()
    # no loss is larger than -log(1 - q) a round, where no noise is beside them
    largest = np.array([sum(-count * math.log1p(-rate) for _, rate, count in plan) for plan in PLANS])
    none = np.full(len(PLANS), -math.inf)
    assert _milder(plans, 1.01 * largest, none, tilt, CHUNK).all()
    assert not _milder(plans, 0.99 * largest, none, tilt, CHUNK).any()
    assert not _milder(listed(PLANS, True, 0.1), 1.01 * largest, none, tilt, CHUNK).any()
    assert _milder(plans, epsilon, bound + 1e-2 * np.abs(bound), tilt, CHUNK).all()


def test_the_worse_direction_is_found_where_adding_is_worse() -> None:
    """The larger of both directions, each asked by itself, at deltas at which either is the larger one."""
    plans = listed([[(0.5, 0.5, 4.0)], [(1.0, 0.01, 1000.0)]])
    for log_delta in (-0.9, -2.0, -14.0):
        question = at_deltas(log_delta, len(plans))
        found, adding = worse(plans, question)
        own = solve(plans, question)
        other = solve(listed([[(0.5, 0.5, 4.0)], [(1.0, 0.01, 1000.0)]], True), question)
        for plan in range(len(plans)):
            if adding[plan]:
                assert found.upper[plan] == other.upper[plan] >= own.upper[plan]
            elif not math.isnan(found.upper[plan]):
                assert found.upper[plan] == own.upper[plan] >= other.lower[plan]


def test_an_error_of_all_terms_alike_makes_the_aliases_no_smaller() -> None:
    """Of ``e^c V - A`` with ``|c| <= 1/2`` the least is ``e^(-1/2) V - A``, and not ``e^(-1/2) (V - A)``."""
    sums, aim = sums_of()
    size = sums.log_value(aim.epsilon)[0]
    sums._error = np.zeros_like(sums._error)
    sums._log_left, sums._log_right = size + math.log(0.25), np.full_like(size, -math.inf)
    sums._common = np.full_like(size, 0.5)
    lower, _ = sums.ends(aim.epsilon)
    assert (lower <= size + math.log(math.exp(-0.5) - 0.25) + 1e-9).all()
    assert (lower > size + math.log(math.exp(-0.5) - 0.25) - 0.1).all()


def test_a_grid_has_as_many_nodes_as_its_remainders_want() -> None:
    """Where a remainder is to be smaller there are more nodes, and a loss beyond the range of a double has no grid."""
    law = Law(*(np.array([[value]]) for value in (1.0, 0.01, False)))

    def ones(value: float) -> np.ndarray:
        return np.array([[value]])

    coarse, fine = (Grid.of(law, ones(3.0), ones(5.0), ones(inner), 1e-3) for inner in (1e-6, 1e-12))
    assert fine.needed[0, 0] > coarse.needed[0, 0]
    assert fine.dx[0, 0] < coarse.dx[0, 0]
    assert math.isinf(Grid.of(law, ones(900.0), ones(1000.0), ones(1e-6), 1e-3).needed[0, 0])
    lines = Line.of(law, coarse, ones(3.0), ones(5.0), 256)
    assert lines.x.shape == (1, 256)
    assert (lines.weight.sum(axis=1) > 1 - 1e-12).all()


@pytest.mark.parametrize(("error", "whole"), [(0.3, False), (0.5, True), (math.inf, True), (math.nan, None)])
def test_a_term_that_may_be_as_large_as_it_can_be_is_charged_whole(
    error: float, whole: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ratios of 1/2 within 1/2 may be 1: the power of what was computed is 0, and that of the truth is not."""
    honest = float(sums_of([[(1.0, 0.01, 10_000.0)]])[0]._error[0, 0])
    ratios = Line.ratios

    def doubtful(self: Line, *given: Any) -> Any:
        ratio, own = (column.copy() for column in ratios(self, *given))
        ratio[:, -3:], own[:, -3:] = -0.5, error
        return ratio, own

    monkeypatch.setattr(Line, "ratios", doubtful)
    with np.errstate(all="ignore"):
        made, aim = sums_of([[(1.0, 0.01, 10_000.0)]])
    charged = float(made._error[0, 0])
    if whole is None:
        assert math.isnan(charged)
    elif whole:
        z = aim.t[0, 0] + 1j * made._s[0, -3:]
        terms = float(aim.step[0, 0]) / math.pi / np.abs(z * (1 + z))
        assert charged >= terms.sum() > 1e3 * honest
    else:
        assert charged == pytest.approx(honest, rel=1e-6)
