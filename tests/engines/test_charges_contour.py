"""Every charge of the contour engine where it is made: few points, short periods and large errors make each decide.

A sum is given by hand: the law, and so the truth, is known in closed form, and what the engine must allow for is put
into it in full.
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from hockeystick.engines.contour.cut import Cut
from hockeystick.engines.contour.engine import at
from hockeystick.engines.contour.path import Path, summed
from hockeystick.engines.contour.sweep import Terms, solved
from hockeystick.engines.curve import _Chernoff
from hockeystick.numerics.rounding import SPARE, UNIT_ROUNDOFF
from hockeystick.pairs import Composition, GaussianPair

Number = Any
NOTHING = -1000.0  # log of a remainder that is of no account
FAR = (1.0, -1e4)  # an extra tilt at which there is next to no moment: no alias to the right


@pytest.fixture(autouse=True)
def precision() -> Any:
    with mpmath.workdps(40):
        yield


def sum_of(cumulant: Any, t: float, period: float, points: int) -> Terms:
    """The sum of a law with that cumulant, without an error but those of a double; nothing is charged for its ends."""
    s = 2 * math.pi / period * np.arange(points, dtype=np.float64)
    z = t + 1j * s
    k = cumulant(z)
    terms = np.exp(k - k[0].real) / (z * (1 + z))
    terms[1:] *= 2
    return Terms(s, terms, np.zeros(points), float(k[0].real), t, period, FAR, NOTHING, 0.0)


def ends_of(terms: Terms, epsilon: float) -> tuple[float, float]:
    """Certified ends of log delta at one epsilon."""
    found = at(terms, epsilon)
    return found.lower, found.upper


def exactly(terms: Terms, epsilon: float) -> Number:
    """``S e^(t eps - K_top)`` of the terms as they are given."""
    parts = zip(terms.s.tolist(), terms.terms.tolist(), strict=True)
    return mp.fsum((mp.mpc(term) * mp.expj(-mpf(epsilon) * mpf(s))).real for s, term in parts) / mpf(terms.period)


def log_of(terms: Terms, value: Number, epsilon: float) -> Number:
    return mp.log(value) + mpf(terms.k_top) - mpf(terms.t) * mpf(epsilon)


def test_the_aliases_to_the_left_are_taken_off() -> None:
    """A long period and little tilt: delta is all but 1 at the aliases, whose sum is what is charged."""
    mu, epsilon, t, period = 1.0, 0.5, 0.1, 40.0
    terms = sum_of(lambda z: 0.5 * mu * mu * z * (1 + z), t, period, 120)
    e, m = mpf(epsilon), mpf(mu)
    truth = mp.log(mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2))
    aliases = 1 / mp.expm1(mpf(t) * period)
    lower, upper = ends_of(terms, epsilon)
    assert truth - mpf(10) ** -8 <= lower <= truth <= upper
    assert abs(mp.exp(upper) - mp.exp(truth) - aliases) <= 1e-8 * aliases  # as large as they can be


def test_the_aliases_to_the_right_are_taken_off() -> None:
    """A loss that is certain, one period beyond epsilon: the tilted bound on its first alias is all but attained."""
    t, theta, period, epsilon = 1.0, 1.5, 3.0, 0.25
    loss = epsilon + period + math.log1p(1 / (t + theta))
    points = 200_000
    terms = sum_of(lambda z: loss * z, t, period, points)
    cut = period / (math.pi**2 * 2 * points)  # all beyond, by 1/s^2
    terms = replace(terms, right=(theta, loss * (t + theta)), log_tail=math.log(cut))
    truth = math.log(-math.expm1(epsilon - loss))
    assert math.exp(t * period) * -math.expm1(epsilon + period - loss) > 5  # that alias, against delta below 1
    lower, upper = ends_of(terms, epsilon)
    assert truth - 0.1 <= lower <= truth <= upper


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("charge", ["log_tail", "slack"])
def test_what_is_cut_off_is_charged_on_both_sides(charge: str, side: int) -> None:
    """One term is missing, at its worst phase: with it the sum is at the very end of the interval without it."""
    mu, t, period = 1.2, 0.8, 30.0
    whole = sum_of(lambda z: 0.5 * mu * mu * z * (1 + z), t, period, 6)
    s, last = float(whole.s[5]), complex(whole.terms[5])
    epsilon = (np.angle(last) - (0.0 if side > 0 else math.pi)) / s % (2 * math.pi / s)
    short = replace(whole, s=whole.s[:5], terms=whole.terms[:5], k_error=whole.k_error[:5])
    size = abs(last) / period
    short = replace(short, log_tail=math.log(size)) if charge == "log_tail" else replace(short, slack=size)
    truth = log_of(whole, exactly(whole, epsilon), epsilon)
    missed = log_of(short, exactly(short, epsilon), epsilon)
    assert abs(truth - missed) > 1e-4
    # the aliases to the left, of this law next to nothing, are no matter here
    lower, upper = ends_of(short, epsilon)
    end = upper if side > 0 else lower
    assert side * (end - truth) >= 0
    assert side < 0 or upper - truth < 1e-6


@pytest.mark.parametrize("side", [1, -1])
def test_errors_of_the_cumulant_are_charged_where_they_are(side: int) -> None:
    """A sum of the term at s = 0, whose cumulant is off by all that is stated."""
    t, period, off = 0.7, 20.0, 0.1
    exact = sum_of(lambda z: -1e3 * (z != t), t, period, 2)
    moved = replace(exact, terms=exact.terms * math.exp(-side * off), k_error=np.full(2, off))
    truth = log_of(exact, exactly(exact, 0.0), 0.0)
    lower, upper = ends_of(moved, 0.0)
    assert side * ((upper if side > 0 else lower) - truth) >= 0
    assert ends_of(moved, 0.0)[1] <= truth + off * (1 - side) + 1e-9


@pytest.mark.parametrize("epsilon", [0.3, 700.3, 3.1e7, 8.7e10])
def test_roundings_of_the_phases_and_of_the_sum_are_charged(epsilon: float) -> None:
    """``eps s`` is rounded, and turns a term by as much: at large epsilons there is nothing else."""
    random = np.random.default_rng(11)
    for points in (3, 40, 700):  # one by one, and as products of few exponentials
        s = 0.37 * np.arange(points, dtype=np.float64)
        terms = Terms(
            s, random.normal(size=points) * np.exp(2j * s), np.zeros(points), 0.0, 1.0, 3.0, FAR, NOTHING, 0.0
        )
        truth = exactly(terms, epsilon)
        values, error = terms._sums(np.array([epsilon]))
        assert abs(values[0] - truth) <= error


def test_the_bound_on_the_phases_holds_at_every_epsilon_it_is_kept_for() -> None:
    """It is kept by powers of two, and an epsilon just below one has the error of its own."""
    s = 0.37 * np.arange(300, dtype=np.float64)
    terms = Terms(s, np.exp(2j * s), np.zeros(300), 0.0, 1.0, 3.0, FAR, NOTHING, 0.0)
    (_, least), (_, last), (_, before) = (
        terms._sums(np.array([at])) for at in (2.0**30, math.nextafter(2.0**31, 0.0), 2.0**30 * 0.999)
    )
    assert last == least >= before
    for epsilon in (2.0**30, 1.9 * 2.0**30, math.nextafter(2.0**31, 0.0)):
        assert abs(terms._sums(np.array([epsilon]))[0][0] - exactly(terms, epsilon)) <= least
    exponent = float(np.abs(terms.terms) @ terms.s) * 2.0**31 * UNIT_ROUNDOFF / terms.period
    assert least >= exponent  # half a unit of eps s, and of s itself, for the largest epsilon


def test_roundings_of_the_norm_are_charged() -> None:
    """``K_top - t eps`` is rounded in full, however small the rest is; the period leaves no alias."""
    random = np.random.default_rng(3)
    for epsilon, t, top in zip(1e10 * (1 + random.random(30)), 1 + random.random(30), random.random(30), strict=True):
        terms = Terms(np.array([0.0, 0.1]), np.array([0.7 + 0j, 0j]), np.zeros(2), top, t, 3e10, FAR, NOTHING, 0.0)
        truth = log_of(terms, exactly(terms, float(epsilon)), float(epsilon))
        lower, upper = ends_of(terms, float(epsilon))
        assert lower <= truth <= upper


@pytest.mark.parametrize("side", [1, -1])
def test_the_ends_of_epsilon_are_where_the_certified_ends_meet_the_target(side: int) -> None:
    """The cumulant is off by all that is stated: the root of the sum is wrong, the ends are not."""
    mu, off, epsilon = 0.5, 0.2, 1.0
    terms = sum_of(lambda z: 0.5 * mu * mu * z * (1 + z), 4.0, 12.0, 60)
    moved = replace(terms, terms=terms.terms * math.exp(-side * off), k_error=np.full(60, off))
    truth = float(log_of(terms, exactly(terms, epsilon), epsilon))
    for half, steeper in ((0.0, 1.0), (0.5, 1.0), (0.5, 9.0), (0.5, 0.1)):
        target = truth - half, truth + half
        found = solved(moved.log_delta, target, 0.9, 4.0 * steeper, 1e-9)  # the slope only says how far to step
        # delta at the ends, of the law itself
        at_upper = log_of(terms, exactly(terms, found.upper), found.upper)
        at_lower = log_of(terms, exactly(terms, found.lower), found.lower)
        assert at_upper <= target[0]
        assert at_lower >= target[1]


@pytest.mark.parametrize(("first", "step"), [(30.0, 1e4), (30.0, 1e-3), (50.0, 40.0)])
def test_the_bound_on_the_terms_beyond_the_cut(first: float, step: float) -> None:
    """Against the terms themselves where nothing falls: a large step, and steps so small that they are an integral."""
    edges, bounds = np.array([first]), np.array([[math.log(0.5)]])
    found = Cut(edges, bounds).log_tail(np.array([3.0]), step)

    def term(s: Number) -> Number:  # 2 / |z (1 + z)| at t = 0
        return 2 / (s * mp.hypot(1, s))

    few = step > 1
    true = mp.nsum(lambda j: term(first + j * step), [0, mp.inf]) if few else mp.quad(term, [first, mp.inf]) / step
    true *= 0.5**3 * mpf(step) / (2 * mp.pi)
    assert mp.log(true) <= found <= mp.log(true) + (0.3 if step == 40.0 else 5e-3)


def path_of(values: Any, errors: Any) -> Path:
    """A path that was laid with these values of K, of one kind of round."""
    path = object.__new__(Path)
    path.t, path.theta, path.period = 1.0, 1.0, 10.0
    path.s = 2 * math.pi / path.period * np.arange(len(values), dtype=np.float64)
    path.values, path.errors = np.array([values], dtype=np.complex128), np.array([errors], dtype=np.float64)
    path.right, path.tolerance = np.array([-1e4]), 1e-9
    path.beyond = cast(Any, SimpleNamespace(log_tail=lambda times, step: NOTHING))
    return path


def composed(path: Path, cumulants: list[Number], count: int, factors: list[Number] | None = None) -> Number:
    """The sum at epsilon 0, from what K of one round truly is at the points."""
    total = mpf(0)
    for j, (s, cumulant) in enumerate(zip(path.s.tolist(), cumulants, strict=True)):
        z = mp.mpc(path.t, s)
        total += (2 if j else 1) * (mp.exp(count * cumulant) * (factors[j] if factors else 1) / (z * (1 + z))).real
    return total / mpf(path.period)


@pytest.mark.parametrize("side", [1, -1])
def test_errors_of_one_round_count_for_all_of_them(side: int) -> None:
    """A thousand rounds, each off by all that is stated."""
    count, off = 1000, 1e-4
    path = path_of([0.001, 0.0005], [off, off])
    truth = mp.log(composed(path, [mpf("0.001") + side * off, mpf("0.0005")], count))
    lower, upper = ends_of(path.terms([count]), 0.0)
    assert lower <= truth <= upper


@pytest.mark.parametrize("turns", [1e9 + 0.1, 3e9 + 0.7, 7e9 + 0.3])
def test_roundings_of_many_rounds_turn_a_term(turns: float) -> None:
    """The phase of all rounds is ``k Im K``, of which the last digits are lost."""
    count = 1023
    path = path_of([0.0, -1e-4 + 1j * turns / count], [0.0, 0.0])
    cumulants = [mp.mpc(complex(value)) for value in path.values[0]]
    truth = composed(path, cumulants, count)
    terms = path.terms([count])
    values, error = terms._sums(np.zeros(1))
    assert abs(values[0] * mp.exp(terms.k_top) - truth) <= error


@pytest.mark.parametrize("angle", [0.0, 1.0, 2.0, 3.0, -2.0])
def test_where_nothing_is_known_a_term_may_be_as_large_as_the_first(angle: float) -> None:
    """``|m(t + is)| <= m(t)`` is all; m(t) itself is the larger by its own error."""
    error = 0.3
    path = path_of([0.2, 0.1], [error, 100.0])
    for off in (error, -error):
        top = mpf(0.2) + off
        value = composed(path, [top, mp.mpc(top, angle)], 1)
        truth = mp.log(value) if value > 0 else -mp.inf
        lower, upper = ends_of(path.terms([1]), 0.0)
        assert lower <= truth <= upper


def test_bounds_of_rounds_add_up_with_their_roundings() -> None:
    for i in range(1, 30):
        each, counts = np.array([0.1, 1 / 3]) * i, [3, 10**9 + i]
        true = sum(count * mpf(bound) for count, bound in zip(counts, each.tolist(), strict=True))
        assert true <= summed(counts, each) <= true * (1 + 2 * SPARE) + 2 * SPARE


@pytest.mark.parametrize("epsilon", [1.1e7 + 0.37 * i for i in range(12)])
def test_the_rough_lines_of_a_curve_keep_their_side(epsilon: float) -> None:
    """No line is lower than what its number and its slope exactly say."""
    rough = _Chernoff(Composition([(GaussianPair(4000.0), 1)]))
    exact = min(
        mpf(top) - mpf(epsilon) * mpf(t) for top, t in zip(rough._tops.tolist(), rough._tilts.tolist(), strict=True)
    )
    assert min(exact, mpf(0)) <= float(rough.log_delta(np.array([epsilon])).upper[0])
