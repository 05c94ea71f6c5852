"""m of many kinds from a few knots: held against mpmath, and each charge by itself."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from hockeystick.engines.contour import near_kinds as module
from hockeystick.engines.contour.bundle import Bundle, BundleLine, bundle_of
from hockeystick.engines.contour.near_kinds import REACH, AtKnots, Cell, Interpolant, basis, cells_of
from hockeystick.engines.core.rows import Rows
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]

RATE, T = 0.05, 3.0
HEIGHTS = (0.0, 2.0, 9.0)
CENTRE = 1.0 / (1 - REACH)  # of the cell that begins at v = 1


def moment(v: complex | float, z: complex, add: bool) -> mpmath.mpc:
    """m(z; v) by the trapezoid rule over the loss, in 30 digits: analytic in v."""
    with mpmath.workdps(30):
        v, power = mpmath.mpmathify(v), mpmath.mpmathify(-z if add else 1 + z)
        step = mpmath.sqrt(abs(v)) / 4
        rate = mpmath.mpf(RATE)

        def term(j: int) -> mpmath.mpc:
            loss = j * step
            g = 1 - rate + rate * mpmath.exp(loss)
            return mpmath.exp(-loss * loss / (2 * v) - loss / 2) * mpmath.exp(power * mpmath.log(g))

        scale = mpmath.exp(-v / 8) / mpmath.sqrt(2 * mpmath.pi * v)
        return scale * step * mpmath.fsum(term(j) for j in range(-45, 80))


def at_knots(mu: Array, add: bool) -> AtKnots:
    """What is true of some kinds, rounded to doubles, as if nothing else were off."""
    values = np.empty((len(mu), len(HEIGHTS)), dtype=np.complex128)
    log_total = np.empty(len(mu))
    with mpmath.workdps(30):
        for row, each in enumerate(mu.tolist()):
            v = mpmath.mpf(each) ** 2
            base = moment(v, T, add)
            log_total[row] = float(mpmath.log(base).real)
            values[row] = [complex(moment(v, complex(T, s), add) / base - 1) for s in HEIGHTS]
    return AtKnots(log_total, np.zeros(len(mu)), values, np.zeros(values.shape))


def rows_of(mu: Array, add: bool) -> Rows:
    size = len(mu)
    return Rows(mu, np.full(size, RATE), np.ones(size), np.full(size, math.log(RATE)), np.full(size, add))


def upper(ends: Rows) -> Array:
    return Bundle(ends).uppers(T, 1e-6)


def one_cell(add: bool, wanted: float, many: int = 100) -> tuple[Cell, Array]:
    mu = np.sqrt(np.linspace(1.01, 1.66, many))
    (cell,) = cells_of(rows_of(mu, add), T, wanted, upper)
    return cell, mu


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("wanted", [0.3, 0.01, 1e-9])
def test_what_follows_from_knots_is_enclosed(add: bool, wanted: float) -> None:
    """Values and m(t) at kinds between the knots, next to the ends and at a knot, by few knots and by many."""
    cell, _ = one_cell(add, wanted)
    assert cell.centre == pytest.approx(CENTRE)
    assert cell.remainder <= wanted
    knots = at_knots(cell.mu, add)
    mu = np.array([1.0, 1.01, 1.13, 1.2345, float(cell.mu[0]), math.sqrt(5 / 3)])
    found, true = Interpolant(cell, knots).at(mu), at_knots(mu, add)
    off = np.abs(found.values - true.values)
    assert (off <= found.errors).all()
    assert (np.abs(found.log_total - true.log_total) <= found.common).all()
    assert (found.errors <= 3 * wanted + 1e-12).all()
    if wanted > 1e-3:  # what a polynomial errs by is far beyond rounding, and rounding is charged as little
        assert off[:4, 1:].max() > 1e-9
        assert np.abs(found.log_total - true.log_total)[:4].max() > 1e-9
        assert found.errors[4, 1:].max() < 1e-12
    assert (found.errors[:, 0] == 0).all()
    assert (found.values[:, 0] == 0).all()


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("a", module.ELLIPSES)
@pytest.mark.parametrize("centre", [0.05, 1.0, 3.5])
def test_m_is_bounded_on_the_ellipse(add: bool, a: float, centre: float) -> None:
    """And so is twice of it, ``m(t + is) - m(t)`` being one less another."""
    b = math.sqrt(a * a - REACH * REACH)
    end = np.array([math.sqrt(centre * (1 + a))])
    bound = float(module._log_bound(np.array([centre]), a, upper(rows_of(end, add)))[0])
    largest = 0.0
    for angle in (0.0, 0.7, 1.4, 2.2, 2.9, math.pi):
        v = centre * complex(1 + a * math.cos(angle), b * math.sin(angle))
        largest = max(largest, *(float(abs(moment(v, complex(T, s), add))) for s in HEIGHTS))
    least = 2 * largest * a / (a - REACH)
    assert least <= math.exp(bound) * (1 + 1e-12)
    assert math.exp(bound) <= 3.0 * least * math.exp(centre)


@pytest.mark.parametrize("wanted", [0.3, 1e-9])
def test_the_bound_of_a_cell_is_at_the_end_of_its_ellipse(wanted: float) -> None:
    """The remainder is Hermite's for the number of knots, with the bound on m on one of the ellipses."""
    cell, _ = one_cell(False, wanted)
    found = []
    for a in module.ELLIPSES:
        b = math.sqrt(a * a - REACH * REACH)
        w = cell.centre * (1 + a)
        log_m = float(mpmath.log(moment(w, T, False).real)) + 0.25 * math.log1p(b * b / (1 - a) ** 2)
        log_m += cell.centre * b * b / (8 * (1 - a))
        rho = (a + b) / REACH
        found.append(2 * math.exp(log_m) * a / (a - REACH) / math.sinh(len(cell.mu) * math.log(rho)))
    assert any(each <= cell.remainder <= 1.01 * each for each in found)


def test_the_weights_are_those_of_the_polynomial() -> None:
    """Exactly, but for the units that are charged; at a knot, next to it, and a little beyond the ends."""
    cell, mu = one_cell(False, 1e-12)
    n = len(cell.mu)
    mu = np.append(mu[::20], [cell.mu[3], np.nextafter(cell.mu[3], 2.0), 1.0, math.sqrt(5 / 3)])
    weights, omega = basis(cell, mu)
    at = [Fraction(knot) ** 2 for knot in cell.mu.tolist()]
    half = Fraction(REACH) * Fraction(cell.centre)
    for row, each in enumerate(mu.tolist()):
        v = Fraction(each) ** 2
        product = math.prod((v - knot for knot in at), start=Fraction(1))
        assert float(abs(product) * 2 ** (n - 1) / half**n) == pytest.approx(omega[row], rel=1e-12)
        for k, knot in enumerate(at):
            others = [other for other in at if other != knot]
            exact = math.prod(((v - other) / (knot - other) for other in others), start=Fraction(1))
            assert abs(Fraction(float(weights[row, k])) - exact) <= Fraction((10 * n + 8) * UNIT_ROUNDOFF) * abs(exact)
    assert (weights[len(mu) - 4] == np.eye(n)[3]).all()


def even(cell: Cell, error: float, common: float, value: complex = 0.0) -> AtKnots:
    """As much at each knot, and ``m(t) = e^(1/2)``."""
    n = len(cell.mu)
    values = np.full((n, 2), value, dtype=np.complex128)
    return AtKnots(np.full(n, 0.5), np.full(n, common), values, np.full((n, 2), error))


def test_what_the_knots_are_off_by_is_charged() -> None:
    """By the sizes of the weights, some of which are negative."""
    cell, mu = one_cell(False, 1e-12)
    weights, _ = basis(cell, mu)
    sizes = np.abs(weights).sum(axis=1)
    assert sizes.max() > 1.5
    exact = Interpolant(cell, even(cell, 0.0, 0.0)).at(mu)
    assert exact.errors.max() < 1e-11
    assert exact.common.max() < 1e-11
    off = Interpolant(cell, even(cell, 1e-3, 0.0)).at(mu)
    assert (off.errors[:, 1] >= 1e-3 * sizes * (1 - 1e-9)).all()
    assert (off.errors[:, 1] <= 1.01e-3 * sizes).all()
    assert (off.common <= 1e-11).all()
    common = Interpolant(cell, even(cell, 0.0, 1e-3, 0.5j)).at(mu)
    assert (common.common >= 1e-3 * sizes * (1 - 1e-9)).all()
    assert (common.common <= 1.01e-3 * sizes).all()
    # m(t) enters twice: what the values are scaled by at the knots, and by what they are divided
    assert (common.errors[:, 1] >= 2 * 0.5 * 1e-3 * sizes * (1 - 1e-9)).all()
    assert (common.errors[:, 1] <= 1.05e-3 * sizes).all()
    unknown = Interpolant(cell, even(cell, 0.0, 1.0, 0.5j)).at(mu)
    assert not np.isfinite(unknown.common).any()


def test_what_a_polynomial_errs_by_is_charged() -> None:
    """To m(t) and to the values, by the size of omega, whatever the values are."""
    cell, mu = one_cell(False, 1e-12)
    omega = basis(cell, mu)[1]
    found = Interpolant(cell._replace(remainder=1e-3), even(cell, 0.0, 0.0)).at(mu)
    least = 1e-3 * omega * math.exp(-0.5)
    assert (found.errors[:, 1] >= least * (1 - 1e-9)).all()
    assert (found.errors[:, 1] <= 1.01 * least + 1e-11).all()
    assert (found.common >= least * (1 - 1e-9)).all()
    assert (found.common <= 1.01 * least + 1e-11).all()


def test_roundings_are_charged() -> None:
    """By as many units as there are roundings of a weight and of a sum."""
    cell, mu = one_cell(False, 1e-12)
    none = cell._replace(remainder=0.0)
    n = len(cell.mu)
    found = Interpolant(none, even(cell, 0.0, 0.0, 0.5j)).at(mu)
    units = (11 * n + 8) * UNIT_ROUNDOFF
    sizes = np.abs(basis(cell, mu)[0]).sum(axis=1)
    assert (found.errors[:, 1] >= 0.5 * units * sizes).all()
    assert (found.errors[:, 1] <= 0.5 * 6 * units * sizes).all()
    excess = math.expm1(0.5) / math.exp(0.5)
    assert (found.common >= excess * units * sizes).all()
    assert (found.common <= 3 * excess * units * sizes).all()


@pytest.mark.parametrize("add", [False, True])
def test_a_line_with_knots_agrees_with_one_without(add: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds of three rates, some of them by knots, some with too few neighbours; as narrow, and cheaper."""
    random = np.random.default_rng(5)
    kinds = [(float(mu), 0.02, 1 + i % 3) for i, mu in enumerate(random.uniform(0.5, 1.2, 400))]
    kinds += [(float(mu), 0.05, 2) for mu in random.uniform(0.5, 1.2, 50)]
    kinds += [(float(mu), float(rate), 2) for mu, rate in random.uniform(0.01, 0.5, (20, 2))]
    line = bundle_of(kinds, add).line(4.0, 8.0, 1e-9)
    assert isinstance(line, BundleLine)
    assert 0 < len(line._knots.rows) < 120
    assert len(line._others.rows) + sum(len(cell.which) for cell in line._cells) == len(kinds)
    values, errors = line.cumulants(0.5, 16)
    monkeypatch.setattr(module, "FEWEST", 10**9)
    plain = bundle_of(kinds, add).line(4.0, 8.0, 1e-9)
    assert not plain._cells
    other, more = plain.cumulants(0.5, 16)
    assert (np.abs(values - other) <= errors + more + line.common + plain.common).all()
    assert (errors <= 3 * more + 1e-10).all()
    assert line.common <= 3 * plain.common + 1e-9
    assert line.cost(16) < 0.7 * plain.cost(16)


def test_knots_that_need_too_many_nodes_have_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is known of the kinds between them."""
    kinds = [(1.0 + 0.001 * i, 0.02, 1) for i in range(100)]
    line = bundle_of(kinds, False).line(4.0, 8.0, 1e-9)
    assert len(line._cells) == 1
    monkeypatch.setattr(Bundle, "lines", lambda *args, **kwargs: iter(()))
    _, errors = line.cumulants(0.5, 4)
    assert not np.isfinite(errors[1:]).any()
    assert not math.isfinite(line.common)


def test_which_kinds_have_knots() -> None:
    """Many of one rate whose variances are near, of which one round has a moment that is not large."""
    mu = np.sqrt(np.linspace(1.01, 1.66, 80))
    assert cells_of(rows_of(mu[: module.FEWEST - 1], False), T, 1e-3, upper) == []
    assert cells_of(rows_of(mu, False), T, 1e-30, upper) == []  # more knots than are worth it
    (cell,) = cells_of(rows_of(mu, False), T, 1e-3, upper)
    assert sorted(cell.which.tolist()) == list(range(80))
    different = rows_of(mu, False)
    different.rate[::2] = 0.04
    assert len(cells_of(different, T, 1e-3, upper)) == 2
    far = rows_of(3.0 * mu, False)
    assert cells_of(far, T, 1e-3, upper) == []  # variances so large that m is not nearly the same in a cell
    assert cells_of(rows_of(mu, False), 40.0, 1e-3, lambda ends: Bundle(ends).uppers(40.0, 1e-6)) == []
    assert cells_of(rows_of(mu, False), T, 1e-3, lambda ends: np.full(len(ends), np.inf)) == []
