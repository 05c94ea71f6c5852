"""Every charge of the nodes, of the envelope and of the line of many plans at once, each where it decides.

A bound is held to the inequality that it states, against integrals and sums in mpmath, on nodes that are laid by hand:
few of them, such that end early, such that lie far from 0, and tilts that are high.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from hockeystick.engines.batch import nodes as fine
from hockeystick.engines.batch.envelope import Envelope
from hockeystick.engines.batch.guess import Place
from hockeystick.engines.batch.line import line_of
from hockeystick.engines.batch.nodes import Nodes, log_beyond, log_dip, log_tail
from hockeystick.engines.batch.rows import Array, Rows

Number = Any
DEPTH = 7.0  # for which ends of nodes are taken to have been laid, where a test says nothing else
FAR = 14  # standard deviations from every middle of an integrand, beyond which there is nothing that counts


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workdps(25):
        yield


def full(value: float, rows: int = 1) -> Array:
    return np.full(rows, value)


def row(mu: float, rate: float, add: bool = False) -> Rows:
    return Rows(full(mu), full(rate), full(100.0), np.log(full(rate)), np.full(1, add))


def nodes_of(rows: Rows, t: float, low: float, high: float, count: int) -> Nodes:
    """So many nodes of one row from ``low`` to ``high``, at one tilt; all else is as the engine lays it."""
    one, right = full(1.0), full(2 * t)
    place = Place(full(t), right, 30 * one, one, -14 * one, full(t), 0 * one, one, 1e-8 * one)
    layout = replace(fine.laid(rows, place), low=full(low), high=full(high))
    with np.errstate(under="ignore"):
        return Nodes(rows, place, layout, count)


def log_g(mu: float, rate: float, x: Number) -> Number:
    """The logarithm of the likelihood ratio at an outcome, which may be complex."""
    q, m = mpf(rate), mpf(mu)
    return mp.log(1 - q + q * mp.exp(m * x - m * m / 2))


def density(mu: float, rate: float, power: Number) -> Callable[[Number], Number]:
    """``phi g^power``."""
    return lambda x: mp.npdf(x) * mp.exp(power * log_g(mu, rate, x))


def off_the_line(mu: float, rate: float, tilt: float, shift: float) -> Callable[[Number], Number]:
    """``phi |g|^-t``, g at a distance from the real line and phi left where it is."""
    return lambda x: mp.npdf(x) * mp.exp(-tilt * mp.re(log_g(mu, rate, mp.mpc(x, shift))))


def ends(mu: float, power: Number) -> tuple[float, float]:
    """Outcomes beyond which ``phi g^power`` is next to nothing: it has its modes between 0 and ``power mu``."""
    move = float(mp.re(power)) * mu
    return min(move, 0.0) - FAR, max(move, 0.0) + FAR


def summed(f: Callable[[Number], Number], low: float, high: float, step: Number, first: Number = 0) -> Number:
    """``step`` times the sum of f over all nodes ``first + j step`` between."""
    start, end = math.ceil((low - first) / step), math.floor((high - first) / step)
    return step * mp.fsum(f(first + j * step) for j in range(start, end + 1))


def moment(mu: float, rate: float, power: Number, steps: int = 32) -> Number:
    """``int phi g^power``, by a trapezoid rule that is exact to far more digits than are compared."""
    return summed(density(mu, rate, power), *ends(mu, power), mpf(1) / steps)


def direction(add: bool, z: Number) -> Number:
    """The exponent of g in ``m(z)``."""
    return -z if add else 1 + z


def outside(f: Callable[[Number], Number], low: float, high: float, farthest: float) -> Number:
    """The integral of f below ``low`` and above ``high``, up to ``farthest``."""
    below = mp.quad(f, [low - FAR, low - 3, low])
    return below + mp.quad(f, [high + j * (farthest - high) / 8 for j in range(9)])


def test_a_normal_tail_is_bounded_far_out_and_where_mills_ratio_ends() -> None:
    """Far out the bound is nearly attained, and its own rounding decides; above -1/2 it is the whole law."""
    far = -np.exp(np.random.default_rng(5).uniform(math.log(1e5), math.log(1e6), 40))
    for x in [*far.tolist(), -30.0, -2.0, -0.51, -0.5, -0.3, 0.0, 1.0, 4.0]:
        true = mp.log(mp.ncdf(x))
        found = float(log_tail(full(x))[0])
        assert true <= mpf(found)
        assert found <= true + 1e-6 + 1e-13 * abs(true) or x > -1e4


@pytest.mark.parametrize(("rate", "tilt"), [(0.5, 30.0), (0.02, 60.0)])
def test_what_g_loses_off_the_real_line_is_bounded(rate: float, tilt: float) -> None:
    """By the cosine where both parts of g weigh alike, by ``1 - q`` where one is small; both are all but attained."""
    mu = 0.02
    for part in (1.0, 0.7):
        a = part * 0.5 * math.pi / mu
        true = moment(mu, rate, -tilt, 8)
        moved = summed(off_the_line(mu, rate, tilt, a), -FAR, FAR, mpf(1) / 8)
        found = float(log_dip(row(mu, rate, True), full(tilt), full(a))[0])
        assert mp.log(moved / true) <= found
        if part == 1.0:
            assert found <= mp.log(moved / true) + 0.1 * found


@pytest.mark.parametrize(
    ("mu", "rate", "tilt", "low", "high", "depth"),
    [
        (0.4, 0.0173, 22.3, -10.5, 10.28, 11.2),  # both parts of g weigh at the end, the hump lies below it
        (0.219, 0.105, 28.5, -11.7, 5.3, 26.5),  # likewise, and the hump lies above it
        (3.0, 0.01, 2.0, -9.0, 6.0, DEPTH),  # all of the hump lies above the end
        (1.3, 0.07, 9.3, -11.0, 14.5, 18.6),  # the hump's tail does
        (0.073, 3e-5, 6.7, -12.0, 2.3, 5.0),  # nothing but the normal tail does
        (0.65, 1.8e-4, 0.56, -1.3, 14.8, 10.0),  # nothing but what is below does
        (0.985, 1.9e-5, 2.16, -12.0, 14.0, 18.3),
    ],
)
def test_what_lies_beyond_the_nodes_where_a_record_is_removed(
    mu: float, rate: float, tilt: float, low: float, high: float, depth: float
) -> None:
    farthest = max(high, (1 + tilt) * mu) + FAR
    true = mp.log(outside(density(mu, rate, 1 + tilt), low, high, farthest))
    found = log_beyond(row(mu, rate), full(tilt), full(low), full(high), full(depth))
    assert true <= float(found[0])


@pytest.mark.parametrize(
    ("mu", "rate", "tilt", "low", "high", "part"),
    [
        (1.5, 0.2, 20.0, -3.0, 30.0, 0.0),  # below, where g is nearly ``1 - q``
        (0.05, 1e-3, 1.0, -30.0, 3.0, 0.0),  # above, where it is nearly 1
        (0.1, 0.2, 10.0, -40.0, 4.0, 1.0),  # above, where |g| is less than 1 off the real line
        (0.1, 0.2, 10.0, -40.0, 4.0, 0.8),
    ],
)
def test_what_lies_beyond_the_nodes_where_a_record_is_added(
    mu: float, rate: float, tilt: float, low: float, high: float, part: float
) -> None:
    """The shift off the real line is a part of ``pi / (2 mu)``; the bounds are nearly attained."""
    shift = part * 0.5 * math.pi / mu
    moved = off_the_line(mu, rate, tilt, shift)
    true = mp.log(outside(moved, low, high, high + FAR))
    found = log_beyond(row(mu, rate, True), full(tilt), full(low), full(high), full(DEPTH), full(shift))
    assert true <= float(found[0]) <= true + 0.5


@pytest.mark.parametrize(
    ("add", "mu", "rate", "tilt", "dx"),
    [
        (True, 0.02, 0.48, 10.0, 2.0),  # nearly a normal law, of which the bound is attained
        (True, 0.29, 0.515, 22.0, 0.8),  # much is lost off the real line
        (False, 0.04, 0.0016, 22.0, 1.3),
        (False, 4.5, 0.05, 0.36, 0.3),  # g has a zero near the real line
        (True, 3.0, 0.3, 1.5, 0.4),
    ],
)
def test_a_sum_over_coarse_nodes_is_off_by_less_than_its_step_remainder(
    add: bool, mu: float, rate: float, tilt: float, dx: float
) -> None:
    """Relative to the moment, and wherever the nodes lie."""
    power = direction(add, mpf(tilt))
    f, (low, high) = density(mu, rate, power), ends(mu, power)
    whole = moment(mu, rate, power, 64)
    nodes = Nodes.__new__(Nodes)
    nodes.rows, nodes.dx = row(mu, rate, add), full(dx)
    found = float(nodes.real_step(full(tilt))[0])
    off = max(abs(summed(f, low, high, mpf(dx), mpf(dx) * j / 8) / whole - 1) for j in range(8))
    assert off <= found
    if mu == 0.02:
        assert found <= 1.1 * off


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(
    ("low", "high", "count"),
    [
        (-10.5, 10.5, 8),  # a step of 3: a fifth of the law is missed
        (-9.0, 9.0, 4),  # a step of 6: a twentieth is seen
        (-1.5, 1.5, 300),  # an eighth of the law is beyond
        (-9.0, 1.0, 300),
        (-1.0, 9.0, 300),
    ],
)
def test_bounds_on_a_moment_hold_on_few_nodes_and_on_such_that_end_early(
    add: bool, low: float, high: float, count: int
) -> None:
    """Of K in one direction, and of adding a record from the nodes for removing one."""
    mu, rate, tilt = 0.01, 0.01, 1.0
    nodes = nodes_of(row(mu, rate, add), tilt, low, high, count)
    true = mp.log(moment(mu, rate, direction(add, tilt), 4))
    found = float(nodes.upper(nodes.place.t)[0])
    assert true <= found
    assert found <= true + 0.7 or count == 4
    if not add:
        adding = float(nodes.upper_adding(np.arange(1), full(tilt))[0])
        assert mp.log(moment(mu, rate, -tilt, 4)) <= adding
        assert adding <= 0.7 or count == 4


@pytest.mark.parametrize(
    ("mu", "rate", "y", "low", "high", "count"),
    [
        (0.5, 0.3, 10.0, -1.5, 12.0, 300),  # much lies below the nodes
        (0.05, 1e-3, 1.0, -14.0, 1.5, 300),  # some lies above them
        (4.0, 0.5, 10.0, -14.0, 1.0, 300),  # likewise, and there g is less than 1
    ],
)
def test_bounds_on_adding_hold_on_nodes_for_removing_that_end_early(
    mu: float, rate: float, y: float, low: float, high: float, count: int
) -> None:
    found = nodes_of(row(mu, rate), 1.0, low, high, count).upper_adding(np.arange(1), full(y))
    assert mp.log(moment(mu, rate, -y)) <= float(found[0])


@pytest.mark.parametrize("first", range(8))
def test_bounds_on_adding_hold_where_the_step_misses_much_off_the_real_line(first: int) -> None:
    """The nodes of a step of 0.8 lie where the sum is largest, where it is least, and between."""
    mu, rate, y, dx, count = 0.29, 0.515, 22.0, 0.8, 60
    low = -30.0 + first * dx / 8
    found = nodes_of(row(mu, rate), 1.0, low, low + dx * (count - 1), count).upper_adding(np.arange(1), full(y))
    true = mp.log(moment(mu, rate, -y))
    assert true <= mpf(float(found[0])) <= true + 1e-3


@pytest.mark.parametrize("add", [False, True])
def test_roundings_of_a_sum_over_nodes_are_charged_to_the_bound_on_its_moment(add: bool) -> None:
    """Many nodes, from end to end: there is nothing but rounding, which is down in about every other row."""
    draw = np.random.default_rng(17)
    for mu, rate, tilt in zip(
        draw.uniform(0.2, 1, 25), draw.uniform(0.01, 0.3, 25), draw.uniform(1, 6, 25), strict=True
    ):
        nodes = nodes_of(row(mu, rate, add), tilt, -22.0, 24.0, 400)
        true = mp.log(moment(mu, rate, direction(add, mpf(tilt)), 8))
        assert true <= mpf(float(nodes.upper(nodes.place.t)[0])) <= true + 1e-11
        if not add:
            adding = nodes.upper_adding(np.arange(1), full(tilt))
            other = mp.log(moment(mu, rate, -mpf(tilt), 8))
            assert other <= mpf(float(adding[0])) <= other + 1e-11


GRIDS = [
    (False, 0.01, 0.01, 1.0, -1e5, 30.0, 100_001),  # the first node is far away: what is rounded of x moves phi
    (False, 1.0, 0.5, 300.0, -1e5, 2.0, 100_001),  # what is rounded of x moves g, to a high power
    (True, 2.0, 0.999999, 3.0, -12.0, 12.0, 97),  # ``1 - q`` is little: what is rounded of the rate moves g
    (False, 3.0, 0.2, 20.0, -12.0, 80.0, 97),
]
"""Direction, one over the noise multiplier, rate, tilt, the first node and the last, and how many there are."""


def exactly(nodes: Nodes, j: int, power: Number) -> Number:
    """``dx phi g^power`` at a node, from the first node and the step as they are held."""
    dx = mpf(float(nodes.dx[0]))
    x = mpf(float(nodes.layout.low[0])) + j * dx
    return dx * density(float(nodes.rows.mu[0]), float(nodes.rows.rate[0]), power)(x)


def seen(nodes: Nodes, weight: Array) -> list[int]:
    return np.flatnonzero(weight > 1e-60).tolist()[-120:]


@pytest.mark.parametrize("grid", GRIDS)
def test_roundings_of_each_value_are_bounded(grid: tuple[bool, float, float, float, float, float, int]) -> None:
    """On grids whose roundings are large, for the power of one direction and for that of the other."""
    add, mu, rate, tilt, low, high, count = grid
    for off in (0.0, 0.3, 0.71):
        nodes = nodes_of(row(mu, rate, add), tilt, low - off, high, count)
        care, top = nodes.care(nodes.place.t)[0], mpf(float(nodes.top[0]))
        for j in np.flatnonzero(nodes.weight[0] > 1e-250).tolist()[-80:]:
            true = exactly(nodes, j, direction(add, mpf(tilt)))
            assert abs(mpf(float(nodes.weight[0, j])) * mp.exp(top) / true - 1) <= mpf(float(care[j]))
        of_adding, log_value = nodes.care_of(np.arange(1), full(tilt))[0], nodes.log_density[0] - tilt * nodes.u[0]
        for j in np.flatnonzero(np.abs(nodes.x[0]) < 12).tolist()[-80:]:
            value = mp.exp(mpf(float(log_value[j])))
            assert abs(value / exactly(nodes, j, -mpf(tilt)) - 1) <= mpf(float(of_adding[j]))


@pytest.mark.parametrize("grid", GRIDS)
def test_roundings_of_a_sum_over_nodes_are_bounded(
    grid: tuple[bool, float, float, float, float, float, int],
) -> None:
    """Relative to the exact sum over the same nodes, of which those that do not count are left out."""
    add, mu, rate, tilt, low, high, count = grid
    for off in (0.0, 0.3, 0.71):
        nodes = nodes_of(row(mu, rate, add), tilt, low - off, high, count)
        true = mp.fsum(exactly(nodes, j, direction(add, mpf(tilt))) for j in seen(nodes, nodes.weight[0]))
        found = mpf(float(nodes.total[0])) * mp.exp(mpf(float(nodes.top[0])))
        assert abs(found / true - 1) <= mpf(float(nodes.doubt[0]))


def relative(mu: float, rate: float, tilt: float, s: float, add: bool) -> Number:
    """``m(t + is) / m(t)``, by a rule that is fine enough for the oscillation."""
    steps = 16 * math.ceil((16 + s * mu / 4) / 16)
    z = mp.mpc(tilt, s)
    return moment(mu, rate, direction(add, z), steps) / moment(mu, rate, direction(add, mpf(tilt)), steps)


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("add", "mu", "rate", "tilt", "low", "high", "count", "height"),
    [
        (True, 0.66341, 0.10441, 2.68582, -1.52244, 7.66638, 400, 447.542),  # what is below has hardly any spread
        (False, 0.47874, 0.29876, 1.0096, -2.49031, 3.06637, 34, 149.0283),  # a constant shift, and ends that are near
        (False, 0.03441, 0.06069, 1.00322, -5.01888, 7.67484, 8, 808.33993),  # a coarse step
        (True, 4.04822, 0.00432, 0.68817, -5.13436, 3.06461, 2, 16.0),  # two nodes
        (False, 1.34414, 0.0034, 2.06914, -5.5151, 10.9083, 3, 7.86493),  # three
        (False, 1.34414, 0.0034, 2.06914, -5.5151, 10.9083, 3, 100.25),
        (True, 2.10317, 0.0008, 23.88592, -4.95527, 7.25485, 400, 25.47643),  # a shift of which the slope counts
        (True, 1.17022, 0.67934, 30.92369, -5.73356, 2.53213, 400, 5.43423),
        (False, 0.79236, 0.00376, 38.34028, -0.864, 9.16737, 15, 0.1),  # most of the moment lies beyond the nodes
    ],
)
def test_the_envelope_holds_on_few_nodes_and_on_such_that_end_early(
    add: bool, mu: float, rate: float, tilt: float, low: float, high: float, count: int, height: float
) -> None:
    """The nodes' own moments fall off faster than the true one."""
    nodes = nodes_of(row(mu, rate, add), tilt, low, high, count)
    with np.errstate(all="ignore"):
        found = float(Envelope(nodes).log_bound(full(height), np.arange(1))[0])
    for factor in (1.0, 1.02):
        assert mp.log(abs(relative(mu, rate, tilt, factor * height, add))) <= found


@pytest.mark.parametrize("step", [30.0, 0.01])
def test_the_bound_on_the_terms_beyond_the_cut(step: float) -> None:
    """Against the terms themselves where nothing falls: a step as large as the edge, and one that is next to none."""
    log_rho, edge, wanted = -50.0, 30.0, -45.0
    envelope = Envelope.__new__(Envelope)
    variance = full(2 * -wanted * (1.05 / edge) ** 2)
    envelope._nodes = cast(Any, SimpleNamespace(rows=row(1.0, 0.1), place=SimpleNamespace(variance=variance)))
    envelope._nodes.rows.count[:] = 1.0
    envelope.log_bound = lambda edges, which: full(log_rho)  # type: ignore[method-assign]
    edges, tails = envelope.cut(full(2 * math.pi / step), full(wanted))
    first, tail = float(edges[0]), float(tails[0])
    assert math.isclose(first, edge)

    def term(s: Number) -> Number:  # 2 / |z (1 + z)| at t = 0
        return 2 / (s * mp.hypot(1, s))

    few = step > 1
    true = mp.nsum(lambda j: term(first + j * step), [0, mp.inf]) if few else mp.quad(term, [first, mp.inf]) / step
    true = mp.log(true * mpf(step) / (2 * mp.pi)) + log_rho
    assert true <= tail <= true + (0.3 if few else 1e-2)


@pytest.mark.parametrize(
    ("add", "mu", "rate", "tilt", "low", "high", "count", "step", "point"),
    [
        (True, 0.87257, 0.01118, 3.59033, -3.70855, 6.65687, 352, 90.0488, 3),  # both integrals miss as much
        (False, 0.7226, 0.01015, 7.16234, -4.83129, 7.20756, 384, 276.391, 1),
        (False, 1.56911, 0.00665, 0.61932, -2.86735, 7.35033, 256, 138.198, 3),
        (True, 0.04687, 0.00313, 3.95479, -2.43302, 5.34097, 96, 502.201, 3),  # ends that are near
        (False, 0.28519, 0.01554, 0.67561, -5.05982, 8.28032, 320, 187.41, 1),
        (True, 1.26287, 0.38813, 25.76913, -4.66259, 6.0564, 352, 2.6878, 3),  # m(t) itself is not all seen
        (False, 0.31528, 0.00701, 3.50879, -118.727, 21.2493, 96, 512.753, 1),  # a coarse step
        (True, 0.22075, 0.45636, 44.02047, -29.2512, 71.836, 96, 1.06844, 3),  # likewise, at a high tilt
    ],
)
def test_the_line_holds_on_few_nodes_and_on_such_that_end_early(
    add: bool, mu: float, rate: float, tilt: float, low: float, high: float, count: int, step: float, point: int
) -> None:
    line = line_of(nodes_of(row(mu, rate, add), tilt, low, high, count), full(step), 2, 2)
    true = relative(mu, rate, tilt, point * step, add) - 1
    assert abs(mp.mpc(complex(line.values[0, point])) - true) <= mpf(float(line.errors[0, point]))


@pytest.mark.parametrize("add", [False, True])
def test_roundings_of_a_line_are_charged_beside_a_difference_that_is_small(add: bool) -> None:
    """Rare small losses at small heights: what is summed cancels to a thousandth, and its roundings stay."""
    draw = np.random.default_rng(23)
    for mu, rate in zip(draw.uniform(0.1, 0.3, 8), draw.uniform(1e-4, 1e-3, 8), strict=True):
        nodes = nodes_of(row(mu, rate, add), 1.5, -14.0, 15.0, 160)
        line = line_of(nodes, full(0.01), 2, 2)
        true = relative(mu, rate, 1.5, float(line.s[0, 3]), add) - 1
        off = abs(mp.mpc(complex(line.values[0, 3])) - true)
        assert off <= mpf(float(line.errors[0, 3])) <= 1e-6 * abs(true)
