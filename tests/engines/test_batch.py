"""The batch contour, stage by stage, against what shares no code with it: mpmath, and the engine for one plan.

A certified part is checked by the inequality that it states: a value and its error enclose the integral in 50 digits, a
bound on a tail lies above the tail. A chunk, its size and its order must not be seen in any bit.
"""

from __future__ import annotations

import math
from dataclasses import fields

import mpmath
import numpy as np
import pytest

from hockeystick.engines.batch import engine as engine_of_batch
from hockeystick.engines.batch import guess
from hockeystick.engines.batch import nodes as fine
from hockeystick.engines.batch.engine import NUMBERS, BatchEngine, worse_epsilons
from hockeystick.engines.batch.envelope import Envelope
from hockeystick.engines.batch.guess import Asked, Look, Place
from hockeystick.engines.batch.line import line_of
from hockeystick.engines.batch.nodes import Nodes, log_beyond
from hockeystick.engines.batch.rows import Rows
from hockeystick.engines.batch.sums import Sums
from hockeystick.pairs.sampled.gaussian_law import Kind, MixtureLaw
from hockeystick.pairs.sampled.gaussian_transform import MixtureTransform

ROWS = [(1.0, 0.01, 1000.0), (0.25, 0.1, 5000.0), (1.8, 2e-4, 300.0), (0.7, 3e-3, 20_000.0)]


def rows_of(add: bool, listed: list[tuple[float, float, float]] = ROWS) -> Rows:
    mu, rate, count = (np.array(column) for column in zip(*listed, strict=True))
    return Rows(mu, rate, count, np.log(rate), np.full(len(mu), add))


def placed(rows: Rows, log_delta: float = math.log(1e-6)) -> Place:
    asked = Asked(np.full(len(rows), log_delta), np.full(len(rows), np.nan))
    return Look(rows, guess.first(rows, asked), 512).place(asked, 1e-6, relative=True)


def laid(add: bool, count: int = 512) -> Nodes:
    rows = rows_of(add)
    place = placed(rows)
    return Nodes(rows, place, fine.laid(rows, place), count)


def moment(mu: float, rate: float, z: complex, add: bool) -> mpmath.mpc:
    """``int phi g^(1+z)``, or ``int phi g^-z``, in 40 digits."""
    with mpmath.workdps(40):
        power = mpmath.mpc(-z if add else 1 + z)

        def integrand(x: mpmath.mpf) -> mpmath.mpc:
            g = 1 - mpmath.mpf(rate) + mpmath.mpf(rate) * mpmath.exp(mu * x - mpmath.mpf(mu) ** 2 / 2)
            return mpmath.npdf(x) * mpmath.exp(power * mpmath.log(g))

        far = 14 if add else 12 + (1 + z.real) * mu
        step = mpmath.mpf(1) / 16  # the trapezoid rule, which is exact to far more digits than are compared
        return step * mpmath.fsum(integrand(j * step) for j in range(int(-14 / step), int(far / step) + 1))


@pytest.mark.parametrize("add", [False, True])
def test_the_line_encloses_the_integral(add: bool) -> None:
    """``m(t + is) / m(t) - 1`` at a few points of each line, with an error that is small beside it."""
    nodes = laid(add)
    step = 2 * math.pi / nodes.place.period
    line = line_of(nodes, step, 3, 4)
    for row in range(len(nodes.rows)):
        mu, rate = float(nodes.rows.mu[row]), float(nodes.rows.rate[row])
        t = float(nodes.place.t[row])
        whole = moment(mu, rate, complex(t), add)
        for point in (1, 11):
            with mpmath.workdps(40):
                true = moment(mu, rate, complex(t, float(line.s[row, point])), add) / whole - 1
                off = abs(mpmath.mpc(complex(line.values[row, point])) - true)
            assert off <= line.errors[row, point] <= 1e-8 * abs(true)
        assert line.values[row, 0] == 0


@pytest.mark.parametrize("add", [False, True])
def test_the_upper_bound_on_a_moment_is_one(add: bool) -> None:
    """Above the moment, and by no more than is lost nowhere."""
    nodes = laid(add)
    for tilt in (nodes.place.t, nodes.place.right):
        bound = nodes.upper(tilt)
        for row in range(len(nodes.rows)):
            true = moment(float(nodes.rows.mu[row]), float(nodes.rows.rate[row]), complex(float(tilt[row])), add)
            log = float(mpmath.log(true.real))
            assert log <= bound[row] <= log + 2e-3


@pytest.mark.parametrize("add", [False, True])
def test_the_envelope_lies_above_the_characteristic_function(add: bool) -> None:
    """At the edge and beyond it, for every height that was tried; and it falls."""
    nodes = laid(add)
    every = np.arange(len(nodes.rows))
    envelope = Envelope(nodes)
    before = np.zeros(len(every))
    for height in (0.5, 4.0):
        edges = height * math.sqrt(40.0) / np.sqrt(nodes.place.variance)
        bound = envelope.log_bound(edges, every)
        assert (bound <= before + 1e-12).all()
        assert (bound < 0).any()
        before = np.minimum(before, bound)
        for row in range(len(every)):
            mu, rate, t = float(nodes.rows.mu[row]), float(nodes.rows.rate[row]), float(nodes.place.t[row])
            whole = moment(mu, rate, complex(t), add)
            value = moment(mu, rate, complex(t, 1.1 * float(edges[row])), add)
            assert float(mpmath.log(abs(value) / abs(whole))) <= bound[row]


def test_bounds_are_those_of_the_law_of_one_plan() -> None:
    """Remainders that both engines have: the range for adding, the same to a rounding; for removing no larger a one."""
    for add, kind in ((True, Kind.ADD), (False, Kind.REMOVE)):
        rows = rows_of(add)
        for t, low, high in ((0.5, -8.0, 12.0), (3.0, -9.0, 25.0)):
            many = log_beyond(
                rows, np.full(len(rows), t), np.full(len(rows), low), np.full(len(rows), high), np.full(len(rows), 40.0)
            )
            for row, (mu, rate, _) in enumerate(ROWS):
                one = MixtureLaw(mu, rate, kind).log_beyond(t, low, high)
                assert many[row] <= one + 1e-9 * abs(one)
                if add:
                    assert math.isclose(many[row], one, rel_tol=1e-12)


def test_what_lies_beyond_is_bounded_where_the_hump_is_left_out() -> None:
    """Against the integral beyond the nodes in 50 digits, the hump far above the last of them."""
    rows = rows_of(False, [(0.25, 1e-4, 100.0), (1.0, 1e-6, 100.0)])
    for t in (5.0, 20.0):
        full = [np.full(len(rows), value) for value in (t, -9.0, 9.0, 30.0)]
        found = log_beyond(rows, *full)
        for row in range(len(rows)):
            mu, rate = mpmath.mpf(float(rows.mu[row])), mpmath.mpf(float(rows.rate[row]))
            with mpmath.workdps(40):
                above = mpmath.quad(
                    lambda x, mu=mu, rate=rate, t=t: (
                        mpmath.npdf(x) * (1 - rate + rate * mpmath.exp(mu * x - mu**2 / 2)) ** (1 + t)
                    ),
                    [9, 12, 16, 24, 40, 60],
                )
                assert mpmath.log(above + mpmath.ncdf(-9)) <= found[row] + 1e-9


def test_the_envelope_is_about_that_of_one_plan() -> None:
    """Both shift x into the complex plane in the same way: at one edge they agree to a few parts in a hundred."""
    nodes = laid(False)
    edges = math.sqrt(40.0) / np.sqrt(nodes.place.variance)
    found = nodes.rows.count * Envelope(nodes).log_bound(edges, np.arange(len(edges)))
    for row, (mu, rate, count) in enumerate(ROWS):
        one = MixtureTransform(mu, rate, Kind.REMOVE).envelope(float(nodes.place.t[row]), int(count))
        other = count * float(one.log_bound(edges[row : row + 1])[0])
        assert found[row] <= 0.9 * other < 0


@pytest.mark.parametrize("numbers", [1, 700, 3000, NUMBERS])
def test_chunks_are_not_seen(numbers: int) -> None:
    """Any size of chunk and any order of the rows: the same bits of every end, with long lines and short ones."""
    draw = np.random.default_rng(3)
    listed = [
        (float(1 / noise), float(rate), float(count))
        for noise, rate, count in zip(
            np.exp(draw.uniform(math.log(0.5), math.log(8), 40)),
            np.exp(draw.uniform(math.log(1e-4), math.log(0.2), 40)),
            np.rint(np.exp(draw.uniform(math.log(100), math.log(30_000), 40))),
            strict=True,
        )
    ]
    rows, target = rows_of(False, listed), np.full(40, math.log(1e-6))
    whole = worse_epsilons(rows, (target, target), None).found
    order = draw.permutation(40)
    cut = worse_epsilons(rows.at(order), (target, target), None, numbers).found
    for field in fields(whole):
        assert getattr(cut, field.name).tobytes() == getattr(whole, field.name)[order].tobytes(), field.name


def test_rows_that_are_out_of_reach_are_told() -> None:
    """Nodes without end: not a number, and no answer that is not certified."""
    rows = rows_of(False, [(60.0, 0.01, 1e9), (1.0, 0.01, 1000.0)])
    found = BatchEngine(rows).epsilons((np.full(2, -10.0), np.full(2, -10.0)))
    assert not found.upper[0] < math.inf or found.upper[0] - found.lower[0] <= 1e-3 * found.upper[0]
    assert found.upper[1] - found.lower[1] <= 1e-6 * found.upper[1]


def test_an_error_of_all_terms_alike_makes_the_aliases_no_smaller() -> None:
    """Of ``e^c V - A`` with ``|c| <= 1/2`` the least is ``e^(-1/2) V - A``, and not ``e^(-1/2) (V - A)``."""
    rows = rows_of(add=False)
    place = placed(rows)
    nodes = Nodes(rows, place, fine.laid(rows, place), 512)
    known, points = engine_of_batch._cut(nodes, place)
    sums = Sums(known, nodes, math.ceil(float(points.max()) / 16), 16)
    every, none = np.arange(len(rows)), np.zeros(len(rows))
    values = sums.values(place.epsilon, every)
    size = np.log(values.value) + sums._k_top - known.t * place.epsilon  # of log delta
    sums._left[:] = 0.0
    sums._log_left[:], sums._log_right[:] = size + math.log(0.25), -math.inf
    sums._common[:] = 0.5
    lower, _, upper = sums.certificate(values, none)
    assert (lower <= size + math.log(math.exp(-0.5) - 0.25) + 1e-9).all()
    assert (lower > size + math.log(math.exp(-0.5) - 0.25) - 0.1).all()
    assert (upper >= np.minimum(size + 0.5, 0.0)).all()
