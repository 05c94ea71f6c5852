"""Plans of several kinds in the batch: each sum over kinds, and each charge for it, against mpmath.

What a plan of several kinds has beyond one of a single kind is the sum over its kinds: of K and of what it is off by,
of the bounds on the right alias and on what is cut off, and of the bound by which adding a record is the milder
direction. Each is held to the inequality that it states.
"""

from __future__ import annotations

import math
from dataclasses import fields
from functools import cache

import mpmath
import numpy as np
import pytest

from hockeystick.engines.batch import engine as engine_of_batch
from hockeystick.engines.batch import guess
from hockeystick.engines.batch import line as line_module
from hockeystick.engines.batch import nodes as fine
from hockeystick.engines.batch.engine import NUMBERS, TILTS_ABOVE, BatchEngine, worse_epsilons, worse_log_deltas
from hockeystick.engines.batch.envelope import Envelope
from hockeystick.engines.batch.guess import Asked, Look, Place
from hockeystick.engines.batch.line import LEAP, Line, leaps, line_of
from hockeystick.engines.batch.nodes import Nodes
from hockeystick.engines.batch.rows import Rows, rows_of
from hockeystick.engines.batch.sums import Sums
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

KINDS = 3
PLANS = [
    [(1.0, 0.01, 500.0), (0.5, 0.05, 300.0), (1.6, 1e-3, 40.0)],
    [(0.25, 0.1, 2000.0), (0.4, 0.02, 5000.0), (0.8, 2e-3, 1500.0)],
]
"""One over the noise multiplier, rate and rounds of each kind of each plan."""


def listed(add: bool = False, plans: list[list[tuple[float, float, float]]] = PLANS) -> Rows:
    mu, rate, count = np.array([kind for plan in plans for kind in plan]).T.copy()
    return Rows(mu, rate, count, np.log(rate), np.full(len(mu), add))


def laid(add: bool = False, count: int = 512) -> tuple[Nodes, Place]:
    """Nodes of all rows, and the place of each plan at delta 1e-6."""
    rows = listed(add)
    asked = Asked(np.full(len(PLANS), math.log(1e-6)), np.full(len(PLANS), np.nan))
    place = Look(rows, guess.first(rows, asked, KINDS), 512, KINDS).place(asked, 1e-6, relative=True)
    of_rows = place.of_rows(KINDS)
    return Nodes(rows, of_rows, fine.laid(rows, of_rows, kinds=KINDS), count), place


def summed(add: bool = False) -> tuple[Sums, Nodes, Place]:
    nodes, place = laid(add)
    known, points = engine_of_batch._cut(nodes, place, KINDS)
    return Sums(known, nodes, math.ceil(float(points.max()) / 16), 16, KINDS), nodes, place


@cache
def integrands(mu: float, rate: float, far: int) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """``log phi`` and ``log g`` at the nodes of a trapezoid rule of step 1/16, in 40 digits."""
    with mpmath.workdps(40):
        q, m = mpmath.mpf(rate), mpmath.mpf(mu)
        nodes = [mpmath.mpf(j) / 16 for j in range(-16 * 14, 16 * far + 1)]
        return [
            (-x * x / 2 - mpmath.log(2 * mpmath.pi) / 2, mpmath.log(1 - q + q * mpmath.exp(m * x - m * m / 2)))
            for x in nodes
        ]


def log_moment(plan: list[tuple[float, float, float]], z: complex, add: bool) -> mpmath.mpc:
    """``sum_i k_i log int phi g_i^(1+z)``, or ``g_i^-z``, in 40 digits; the branches do not matter to a caller."""
    with mpmath.workdps(40):
        power = mpmath.mpc(-z if add else 1 + z)
        total = mpmath.mpc(0)
        for mu, rate, count in plan:
            far = 14 if add else math.ceil(12 + (1 + z.real) * mu)
            values = [mpmath.exp(density + power * log_g) for density, log_g in integrands(mu, rate, far)]
            total += int(count) * mpmath.log(mpmath.fsum(values) / 16)
        return total


def test_the_guess_is_the_saddle_point_of_the_sum() -> None:
    """``K'(t) = eps + 1/t + 1/(1+t)`` at the place of each plan, K' by differences of true moments."""
    _, place = laid()
    for number, plan in enumerate(PLANS):
        t, h = float(place.slope[number]), 1e-4
        slope = (log_moment(plan, t + h, False) - log_moment(plan, t - h, False)).real / (2 * h)
        assert math.isclose(float(slope) - 1 / t - 1 / (1 + t), float(place.epsilon[number]), rel_tol=0.05)


@pytest.mark.parametrize("add", [False, True])
def test_bounds_on_the_right_alias_lie_above_the_sum_of_all_kinds(add: bool) -> None:
    sums, _, place = summed(add)
    for number, plan in enumerate(PLANS):
        true = float(log_moment(plan, float(place.right[number]), add).real)
        assert true <= sums.known.k_right[number] <= true + 2e-3 * (1 + true) + 0.1


def test_a_sum_is_cut_where_the_product_of_all_kinds_is_small() -> None:
    """Above the product at the edge, by a bound that a single kind, or all but one, would not have met."""
    nodes, place = laid()
    wanted = place.depth + np.log(place.tolerance) - 2.0 - place.top
    period = sums_period(nodes, place)
    edges, tails = Envelope(nodes).cut(period, wanted, KINDS)
    assert (tails <= wanted).all()
    for number, plan in enumerate(PLANS):
        edge = float(edges[number])
        tail = math.log((2 * math.pi / period[number] / edge**2 + 1 / edge) / math.pi)
        t = float(place.t[number])
        for height in (edge, 1.2 * edge):
            true = (log_moment(plan, complex(t, height), False) - log_moment(plan, t, False)).real
            assert float(true) + tail <= tails[number]


def sums_period(nodes: Nodes, place: Place) -> np.ndarray:
    return engine_of_batch._cut(nodes, place, KINDS)[0].period


@pytest.mark.parametrize("add", [False, True])
def test_the_terms_are_the_product_of_all_kinds(add: bool) -> None:
    """Each term of the sum against the moments at its point, within what the sum is charged."""
    sums, _, place = summed(add)
    for number, plan in enumerate(PLANS):
        t = float(place.t[number])
        base = log_moment(plan, t, add)
        for point in (1, 5, 12):
            s = float(sums._s[number, point])
            with mpmath.workdps(40):
                z = mpmath.mpc(t, s)
                true = 2 * mpmath.exp(log_moment(plan, complex(t, s), add) - base) / (z * (1 + z))
                off = abs(mpmath.mpc(complex(sums._terms[number, point])) - true)
            assert off <= (sums._lost[number] + sums._rounded[number]) * sums.known.period[number]
            assert off <= 1e-8 * abs(true)
        top = float(base.real)
        assert abs(sums._k_top[number] - top) <= sums._common[number] + 4 * UNIT_ROUNDOFF * top


def test_what_a_sum_over_kinds_rounds_is_charged_to_all_terms_alike() -> None:
    """Each product ``k K`` is rounded, and so is each sum of two of them: u of the sum of the sizes, C times."""
    sums, nodes, _ = summed()
    step = np.repeat(sums._step, KINDS)
    alone = line_of(nodes, step, sums._outer, sums._inner).common
    sizes = nodes.rows.count * np.abs(nodes.log_total)
    for number in range(len(PLANS)):
        rows = slice(KINDS * number, KINDS * number + KINDS)
        shared = math.fsum(nodes.rows.count[rows] * -np.log1p(-alone[rows]))
        rounded = KINDS * UNIT_ROUNDOFF * math.fsum(sizes[rows])
        assert sums._common[number] >= (shared + rounded) * (1 - 1e-12)
        assert rounded > 1e-6 * shared  # else the comparison says nothing about it


def powers(values: list[complex], errors: list[float], count: list[float]) -> tuple[float, float, float]:
    """What ``Sums._power`` says of one point of a plan of so many kinds."""
    sums = Sums.__new__(Sums)
    sums._kinds = len(values)
    column = np.array(values, dtype=np.complex128)[:, None]
    line = Line(np.zeros(column.shape), column, np.array(errors)[:, None], np.zeros(len(values)))
    found = sums._power(line, np.array(count)[:, None])
    return tuple(float(part[0, 0]) for part in found)  # type: ignore[return-value]


@pytest.mark.parametrize("size", [1e-9, 1e-3, 0.05])
def test_what_values_are_off_by_moves_the_product_no_more_than_is_charged(size: float) -> None:
    """Values moved by all of their errors in the worst directions; the charge is little more than that."""
    draw = np.random.default_rng(7)
    for _ in range(40):
        count = np.rint(np.exp(draw.uniform(0, math.log(100), 4)))
        values = draw.uniform(0.3, 1.0, 4) * np.exp(2j * math.pi * draw.random(4)) - 1
        errors = size * draw.random(4) / count
        _, _, lost = powers(values.tolist(), errors.tolist(), count.tolist())
        with mpmath.workdps(40):
            true = moved = mpmath.mpf(1)
            for value, error, k in zip(values.tolist(), errors.tolist(), count.tolist(), strict=True):
                m = 1 + mpmath.mpc(value)
                true, moved = true * m ** int(k), moved * (m * (1 + mpmath.mpf(error) / abs(m))) ** int(k)
            off = float(abs(moved - true))
        assert off <= lost
        if abs(1 + values).min() > 0.5:  # else the power is bounded by that of 1/2
            assert lost <= 1.5 * off


def test_what_adding_up_logarithms_rounds_is_charged() -> None:
    """Values without any error: ``C - 1`` roundings of the sum of all ``k |log(1 + D)|``, relative to the product."""
    values, count = [-0.2 + 0.3j, 0.1j, -0.05 - 0.02j, 0.5 + 0.1j], [3.0, 7.0, 50.0, 2.0]
    log_size, angle, lost = powers(values, [0.0] * 4, count)
    logs = [k * np.log(1 + value) for k, value in zip(count, values, strict=True)]
    assert math.isclose(log_size, sum(log.real for log in logs), rel_tol=1e-12)
    assert math.isclose(angle, sum(log.imag for log in logs), rel_tol=1e-12)
    assert lost >= 3 * UNIT_ROUNDOFF * sum(abs(log) for log in logs) * math.exp(log_size)
    assert powers(values[:1], [0.0], count[:1])[2] == 0.0


def test_adding_is_not_taken_for_milder_where_its_own_bound_is_above() -> None:
    """``sum_i k_i K_i(y) - y eps + log peak(y)``, least over the orders that are tried; a hair below shows nothing."""
    nodes, place = laid()
    both, epsilon = np.ones(len(PLANS), dtype=bool), 0.8 * place.epsilon
    least = []
    for number, plan in enumerate(PLANS):
        bounds = []
        for factor in TILTS_ABOVE:
            y = factor * float(place.slope[number])
            peak = y * math.log(y) - (1 + y) * math.log(1 + y)
            bounds.append(float(log_moment(plan, y, True).real) - y * epsilon[number] + peak)
        least.append(min(bounds))
    bound = np.array(least)
    assert not engine_of_batch._milder(nodes, place, both, epsilon, bound - 1e-9, KINDS).any()
    assert engine_of_batch._milder(nodes, place, both, epsilon, bound + 1e-3 * np.abs(bound), KINDS).all()


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
    nodes, place = laid()
    step = np.repeat(2 * math.pi / sums_period(nodes, place), KINDS)
    few, many = line_of(nodes, step, 2, 2), line_of(nodes, step, 16, 16)
    more = LEAP * (leaps(16, 16) - leaps(2, 2)) * UNIT_ROUNDOFF
    assert more > 0
    assert (many.errors[:, 1] - few.errors[:, 1] >= 0.99 * more * np.abs(few.values[:, 1])).all()


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


@pytest.mark.parametrize("kinds", [2, 5, 9])
@pytest.mark.parametrize("numbers", [1, 3000, 20_000])
def test_chunks_are_not_seen(kinds: int, numbers: int) -> None:
    """Any size of chunk and any order of the plans: the same bits of every end, of epsilons and of deltas."""
    draw = np.random.default_rng(kinds)
    plans = [
        [
            (1 / math.exp(noise), math.exp(rate), float(round(math.exp(count))))
            for noise, rate, count in zip(
                draw.uniform(math.log(0.5), math.log(8), kinds),
                draw.uniform(math.log(1e-4), math.log(0.2), kinds),
                draw.uniform(math.log(50), math.log(10_000), kinds),
                strict=True,
            )
        ]
        for _ in range(25)
    ]
    rows, target = listed(plans=plans), np.full(25, math.log(1e-6))
    order = draw.permutation(25)
    other = rows.at(rows_of(order, kinds))
    whole = worse_epsilons(rows, (target, target), None, NUMBERS, kinds).found
    cut = worse_epsilons(other, (target, target), None, numbers, kinds).found
    epsilon = 0.9 * whole.estimate
    whole_logs = worse_log_deltas(rows, epsilon, None, NUMBERS, kinds).found
    cut_logs = worse_log_deltas(other, epsilon[order], None, numbers, kinds).found
    for field in fields(whole):
        for one, two in ((whole, cut), (whole_logs, cut_logs)):
            assert getattr(two, field.name).tobytes() == getattr(one, field.name)[order].tobytes(), field.name


def true_log_delta(plan: list[tuple[float, float, float]], t: float, epsilon: float) -> mpmath.mpf:
    """``(1/pi) int_0^oo Re e^(K(z) - z eps) / (z (1 + z)) ds`` on Re z = t, in 40 digits, for removing a record.

    By the trapezoid rule of step 1/8, whose aliases are ``e^(-16 pi t)`` and what delta is ``16 pi`` farther up.
    """
    with mpmath.workdps(40):
        base, step = log_moment(plan, t, False), mpmath.mpf(1) / 8
        total = mpmath.exp(-t * epsilon) / (2 * mpmath.mpf(t) * (1 + mpmath.mpf(t)))
        for j in range(1, 10_000):
            z = mpmath.mpc(t, j * step)
            term = mpmath.exp(log_moment(plan, complex(z), False) - base - z * epsilon) / (z * (1 + z))
            total += term.real
            if abs(term) < mpmath.mpf(10) ** -16 * abs(total):
                break
        return base.real + mpmath.log(total * step / mpmath.pi)


def test_the_true_log_deltas_lie_within() -> None:
    """On lines that are none of the engine's."""
    found = BatchEngine(listed(), kinds=KINDS)
    for at, (t, epsilon) in enumerate(((2.0, 3.0), (2.0, 4.0))):
        ends = found.log_deltas(np.full(len(PLANS), epsilon)).at(np.array([at]))
        true = true_log_delta(PLANS[at], t, epsilon)
        assert ends.lower[0] <= true + mpmath.mpf(10) ** -13
        assert ends.upper[0] >= true - mpmath.mpf(10) ** -13
        assert ends.upper[0] - ends.lower[0] <= 1e-6
