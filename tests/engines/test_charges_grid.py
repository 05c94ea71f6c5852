"""The charges of the grid engine, one at a time, each on an input that makes it decide.

Most are far below the width of an ordinary answer. Here the laws have two or three atoms, the windows hold a part of
them, and the transform that convolves them is replaced by one that is exact, or wrong by exactly as much as it says
(:func:`convolving`). The truth is summed term by term, in many digits, from the very doubles of the laws.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from hockeystick.engines.grid.cells import UNDERFLOW, Cells, Points, Reach, integrate, shares
from hockeystick.engines.grid.laws import merge, spread
from hockeystick.engines.grid.run import Run, Target
from hockeystick.engines.guide import Guide
from hockeystick.numerics import lattice as sums
from hockeystick.numerics.fourier import ConvolutionPower
from hockeystick.numerics.lattice import FADE, GridLaw, GridSum, Mesh, Tail, Window
from hockeystick.numerics.rounding import ULPS, UNIT_ROUNDOFF
from hockeystick.pairs import BlackBoxPair, Composition, GaussianPair, PoissonRemovePair
from hockeystick.pairs.base import Atoms, SmoothPart
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side
from polygons import Number, Polygon, convolved

Array = npt.NDArray[np.float64]
Counted = Sequence[tuple[GridLaw, int]]
NOTHING = -math.inf


@pytest.fixture(autouse=True)
def digits() -> Any:
    with mpmath.workdps(60):
        yield


def law_of(masses: dict[int, float], h: float, t: float, offset: float = 0.0, kappa: float = 0.0) -> GridLaw:
    """Tilted masses at grid indices; they should add up to 1 exactly."""
    first, last = min(masses), max(masses)
    mass = np.zeros(last - first + 1)
    for place, value in masses.items():
        mass[place - first] = value
    return GridLaw(Mesh(offset, h, t, kappa), first, mass)


def convolving(
    error: float = 0.0, off: float = 0.0, scale_error: float = 0.0, scale_off: float = 0.0
) -> Callable[[Sequence[tuple[Array, int]], int], ConvolutionPower]:
    """A convolution of vectors of sum 1 that says it errs by ``error``, and errs by ``off`` in every entry."""
    assert abs(off) <= error
    assert abs(scale_off) <= scale_error

    def power(vectors: Sequence[tuple[Array, int]], n: int) -> ConvolutionPower:
        product = {0: Fraction(1)}
        for x, k in vectors:
            assert sum(map(Fraction, x.tolist())) == 1
            for _ in range(k):
                held = [(j, Fraction(value)) for j, value in enumerate(x.tolist()) if value]
                folded: dict[int, Fraction] = {}
                for (i, a), (j, b) in itertools.product(product.items(), held):
                    folded[(i + j) % n] = folded.get((i + j) % n, Fraction(0)) + a * b
                product = folded
        values = np.array([float(product.get(j, 0)) for j in range(n)])
        return ConvolutionPower(values + off, 0, error, scale_off, scale_error)

    return power


def true_log_delta(laws: Counted, epsilon: float) -> Number:
    """``log E (1 - e^(eps - S))_+``, term by term."""
    terms = zip(*convolved(laws), strict=True)
    delta = mpmath.fsum(p * max(-mpmath.expm1(mpmath.mpf(epsilon) - loss), 0) for p, loss in terms)
    return mpmath.log(delta) if delta else mpmath.mpf("-inf")


# --- the sum: what its window loses, what wraps around, what the transform and the rounding do ---

WIDE = Window(-2.0, 3.0, 5.0, 5.0)


@pytest.fixture
def exact_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transform makes no error: every other charge has to stand on its own."""
    monkeypatch.setattr(sums, "convolution_power", convolving())


def test_what_the_laws_leave_out_is_charged_in_full() -> None:
    """``e^log_lost`` of P-mass has infinite loss: it counts once, not less, and on the lower side not more."""
    laws = [(law_of({0: 0.75, 8: 0.25}, 0.1, 1.0), 2)]
    true = mpmath.exp(true_log_delta(laws, 0.5))
    for share in (1e-3, 1.0, 1e3):
        log_lost = float(mpmath.log(share * true))
        upper = GridSum(laws, WIDE, Side.ABOVE, log_lost).log_delta(0.5)
        assert mpmath.exp(upper) >= true + mpmath.exp(log_lost)
        assert mpmath.exp(upper) <= (true + mpmath.exp(log_lost)) * (1 + 1e-9)
        assert GridSum(laws, WIDE, Side.BELOW, log_lost).log_delta(0.5) <= mpmath.log(true + mpmath.exp(log_lost))


@pytest.mark.parametrize("error", [1e-3, 1e-9], ids="error {:g}".format)
def test_the_error_of_the_transform_is_charged_at_every_place(error: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transform that errs by all that it admits, and against us at every place: ``error * sum f`` is owed."""
    laws = [(law_of({0: 0.75, 8: 0.25}, 0.1, 1.0), 2)]
    true = true_log_delta(laws, 0.5)
    for side in Side:
        monkeypatch.setattr(sums, "convolution_power", convolving(error, -side * error))
        found = GridSum(laws, WIDE, side, NOTHING).log_delta(0.5)
        assert side * (found - true) >= 0
        assert side * (found - true) < 400 * error, "or the other charges would hide this one"


def test_the_error_of_the_scale_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product of the laws' totals is known up to ``scale_error`` in its logarithm, and may be off by all of it."""
    laws = [(law_of({0: 0.75, 8: 0.25}, 0.1, 1.0), 2)]
    true = true_log_delta(laws, 0.5)
    for side in Side:
        monkeypatch.setattr(sums, "convolution_power", convolving(0, 0, 1e-6, -side * 1e-6))
        found = GridSum(laws, WIDE, side, NOTHING).log_delta(0.5)
        assert 0 <= side * (found - true) < 1e-7


@pytest.mark.usefixtures("exact_sums")
def test_mass_above_the_window_is_charged_where_the_window_ends() -> None:
    """An atom on the first place that the window does not hold wraps to below epsilon, where f is 0: only the charge
    ``P(S >= high) f(high - eps)`` is left of it, and with steep tilts in Markov's bound it is nothing but what is owed.
    """
    laws = [(law_of({0: 0.5, 11: 0.5}, 0.1, 3.0), 1)]
    window = Window(-0.5, 1.0, 200.0, 200.0)  # 16 places: up to 1.1
    total = GridSum(laws, window, Side.ABOVE, NOTHING)
    assert len(total._values) == 16
    true = true_log_delta(laws, 0.5)
    assert 0 <= total.log_delta(0.5) - true < 0.02


@pytest.mark.usefixtures("exact_sums")
def test_mass_below_the_window_is_charged_where_epsilon_is_below_it_too() -> None:
    """Between epsilon and the window mass counts, but the sum has it at the other end: the peak of f is charged."""
    t, h = 3.0, 0.01
    at = round(math.log1p(1 / t) / h)  # where f is at its peak, for epsilon 0
    laws = [(law_of({at: 0.5, at + 60: 0.5}, h, t), 1)]
    window = Window((at + 1) * h, (at + 90) * h, 15.0, 15.0)
    total = GridSum(laws, window, Side.ABOVE, NOTHING)
    true = true_log_delta(laws, 0.0)
    assert 0 <= total.log_delta(0.0) - true < 0.3


@pytest.mark.usefixtures("exact_sums")
def test_terms_where_f_has_faded_are_charged() -> None:
    """A law all of whose mass lies beyond where f is summed: what it is worth there is charged whole."""
    t, h = 1.0, 0.01
    place = math.ceil((FADE / t + math.log1p(1 / t)) / h) + 3
    laws = [(law_of({place: 1.0}, h, t), 1)]
    found = GridSum(laws, Window(-0.5, (place + 100) * h, 1.0, 1.0), Side.ABOVE, NOTHING).log_delta(0.0)
    assert 0 <= found - true_log_delta(laws, 0.0) < 0.2


@pytest.mark.usefixtures("exact_sums")
def test_mass_that_wraps_to_above_epsilon_is_taken_off() -> None:
    """Mass far above, worth nothing there, lands on the peak of f: its probability times the peak is taken off."""
    t, h, n = 30.0, 0.01, 900
    peak = round(math.log1p(1 / t) / h)
    laws = [(law_of({0: 0.875, peak + 2: 0.0625, peak + n: 0.0625}, h, t), 1)]
    total = GridSum(laws, Window(-0.5, -0.5 + n * h, 4.0, 4.0), Side.BELOW, NOTHING)
    assert len(total._values) == n
    found = total.log_delta(0.0)
    assert -0.5 < found - true_log_delta(laws, 0.0) <= 0


@pytest.mark.usefixtures("exact_sums")
def test_mass_below_the_window_is_taken_off_a_lower_bound() -> None:
    """Mass below the window lands at its upper end; with epsilon just below that end, on the peak of f."""
    t, h, n = 30.0, 0.01, 900
    peak = round(math.log1p(1 / t) / h)
    low = -1
    laws = [(law_of({low - 1: 0.0625, 400: 0.875, n - 3: 0.0625}, h, t), 1)]
    total = GridSum(laws, Window(low * h, (n + low) * h, 4.0, 4.0), Side.BELOW, NOTHING)
    assert len(total._values) == n
    epsilon = (n + low - 1 - peak) * h  # the mass below lands a peak above it
    found = total.log_delta(epsilon)
    assert -1.0 < found - true_log_delta(laws, epsilon) <= 0


@pytest.mark.usefixtures("exact_sums")
def test_epsilon_moves_by_the_rounding_of_the_grid_points() -> None:
    """An atom that is above epsilon by less than the rounding of its loss is worth that distance: epsilon moves."""
    random = np.random.default_rng(1)
    decided = 0
    for _ in range(40):
        offset, h = float(random.uniform(900.0, 1000.0)), float(random.uniform(0.01, 0.02))
        laws = [(law_of({0: 0.5, 100: 0.5}, h, 0.5, offset), 3)]
        top = float(convolved(laws)[1][-1])
        window = Window(top - 8.0, top + 2.0, 5.0, 5.0)
        for epsilon in (math.nextafter(top, 0.0), top, top - 1e-11):
            true = true_log_delta(laws, epsilon)
            assert GridSum(laws, window, Side.BELOW, NOTHING).log_delta(epsilon) <= true
            assert GridSum(laws, window, Side.ABOVE, NOTHING).log_delta(epsilon) >= true
            decided += true > NOTHING
    assert decided > 40


@pytest.mark.usefixtures("exact_sums")
def test_the_rounding_of_the_norm_is_charged() -> None:
    """With cumulants in the millions one rounding of the norm is worth more than every other charge together."""
    random = np.random.default_rng(2)
    for _ in range(30):
        kappa = float(random.uniform(1e6, 2e6))
        laws = [(law_of({0: 0.5, 10: 0.5}, 0.1, 1.0, 0.0, kappa), 1)]
        true = true_log_delta(laws, 0.3)
        for side in Side:
            found = GridSum(laws, WIDE, side, NOTHING).log_delta(0.3)
            assert 0 <= side * (found - true) < 1e-7


@pytest.mark.usefixtures("exact_sums")
def test_the_elementary_functions_in_a_sum_may_be_off_by_all_that_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """exp and expm1 off by ``ULPS`` units each, against us: far above epsilon no other charge is as large as that."""
    laws = [(law_of({0: 0.75, 1000: 0.25}, 0.05, 1e-4), 1)]
    true = true_log_delta(laws, 0.01)
    for side in Side:
        off = 1 - side * 2 * ULPS * UNIT_ROUNDOFF

        class Worst:
            """NumPy, but for two functions."""

            exp = staticmethod(lambda x, off=off: np.exp(x) * off)
            expm1 = staticmethod(lambda x, off=off: np.expm1(x) * off)

            def __getattr__(self, name: str) -> Any:
                return getattr(np, name)

        monkeypatch.setattr(sums, "np", Worst())
        found = GridSum(laws, Window(-0.1, 60.0, 1.0, 1.0), side, NOTHING).log_delta(0.01)
        assert 0 <= side * (found - true) < 1e-10


# --- Markov's bounds ---


def test_the_rounding_of_markovs_bound_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one atom the bound is an equality, ``e^(theta (s - b))``: only what is charged for its rounding holds it up.

    With b at 0 the sum of cumulants decides, with s at 0 the product of theta and b.
    """
    monkeypatch.setattr(sums, "TAIL_TILTS", (1.0,))
    random = np.random.default_rng(3)
    for _ in range(60):
        theta, at = float(random.uniform(1.0, 50.0)), float(random.uniform(100.0, 1000.0))
        for loss, b in ((at, 0.0), (0.0, -at)):
            law = GridLaw(Mesh(loss, 0.1, 1.0, 0.0), 0, np.array([float(random.uniform(0.1, 1.0))]))
            true = mpmath.mpf(theta) * (mpmath.mpf(loss) - mpmath.mpf(b))
            found = Tail([(law, 1)], theta, +1).log_weight_beyond(b)
            assert true <= found <= true * (1 + mpmath.mpf(1e-13))
            mirrored = GridLaw(Mesh(-loss, 0.1, 1.0, 0.0), 0, law.mass)
            assert true <= Tail([(mirrored, 1)], theta, -1).log_weight_beyond(-b)


def test_a_tail_is_empty_only_beyond_the_last_atom() -> None:
    """A million roundings of a loss that is a difference of large numbers put the largest sum beside the true one."""
    random = np.random.default_rng(4)
    for _ in range(40):
        law = law_of({10_000: 0.5, 10_003: 0.5}, float(random.uniform(0.1, 0.11)), 1.0, -1050.0)
        count = int(random.integers(10**6, 10**7))
        for sign, place in ((+1, 10_003), (-1, 10_000)):
            end = float(count * (mpmath.mpf(law.mesh.offset) + place * mpmath.mpf(law.mesh.h)))
            inside = math.nextafter(end, -sign * math.inf)
            assert Tail([(law, count)], 1e-9, sign).log_beyond(inside) > NOTHING


# --- one round on its grid ---

CUTS = 6  # cells of the laws below


def cells_of(left: Array, right: Array, **doubts: Any) -> Cells:
    """Cells between neighbouring grid points from 0 on, with nothing in doubt but what is given."""
    n = left.shape[1]
    made = Cells(np.arange(n + 1), left, right, np.zeros(n), np.zeros(n), Points.none(), 0.0, 0.0, 0.0)
    for name, value in doubts.items():
        setattr(made, name, value)
    return made


def outcomes_of(cells: Cells, mesh: Mesh) -> list[tuple[Number, Number]]:
    """The (P-mass, loss) of the one outcome that each half of a cell may hold; it has just those two integrals."""
    found = []
    for half, i in itertools.product(range(2), range(cells.left.shape[1])):
        low, high = (mpmath.mpf(mesh.offset) + int(j) * mpmath.mpf(mesh.h) for j in cells.knots[i : i + 2])
        unit = mpmath.exp(mpmath.mpf(mesh.kappa) - mpmath.mpf(mesh.t) * low)
        at_low, at_high = (mpmath.mpf(float(part[half, i])) * unit for part in (cells.left, cells.right))
        p, q = at_low + at_high, at_low * mpmath.exp(-low) + at_high * mpmath.exp(-high)
        if p:
            found.append((p, mpmath.log(p / q)))
    return sorted(found, key=lambda one: one[1])


def curve_of(outcomes: Sequence[tuple[Number, Number]]) -> Polygon:
    ordered = sorted(outcomes, key=lambda one: one[1])
    return Polygon([p for p, _ in ordered], [loss for _, loss in ordered], 0.0, 0.0)


def on_its_side(law: GridLaw, true: Polygon, side: Side, at: Sequence[Number] = ()) -> None:
    """At every kink of both, between and beyond."""
    found = Polygon.of(law)
    kinks = sorted([*true.losses, *found.losses, *at])
    for epsilon in [kinks[0] - 40, *kinks, *((a + b) / 2 for a, b in itertools.pairwise(kinks))]:
        assert side * (found.delta(epsilon) - true.delta(epsilon)) >= 0, float(epsilon)


def one_outcome(share: float, mesh: Mesh, cell: int = 2) -> tuple[Cells, Number]:
    """An outcome that far into a cell, and the P-mass it has."""
    left, right = np.zeros((2, CUTS)), np.zeros((2, CUTS))
    w, rest = shares(np.array([share * mesh.h]), np.array([mesh.h]))
    half = int(share > 0.5)
    left[half, cell], right[half, cell] = float(w[0]), float(rest[0])
    unit = mpmath.exp(mpmath.mpf(mesh.kappa) - mpmath.mpf(mesh.t) * (mesh.offset + cell * mpmath.mpf(mesh.h)))
    return cells_of(left, right), unit * (mpmath.mpf(left[half, cell]) + mpmath.mpf(right[half, cell]))


@pytest.mark.parametrize("h", [0.25, 2.5], ids="h {:g}".format)
@pytest.mark.parametrize("share", [0.0, 0.4, 0.97, 1.0], ids="{:g} of the cell".format)
def test_a_loss_known_up_to_its_rounding_counts_on_the_safe_side(share: float, h: float) -> None:
    """An outcome whose loss may be off by a hundredth of its cell, and is: up for the upper side, down for the lower.

    Near an end of the cell it may lie in the next one.
    """
    mesh = Mesh(0.3, h, 2.0, 0.1)
    cells, p = one_outcome(share, mesh)
    slip = 0.01 * mesh.h
    mass = float(cells.left.sum() + cells.right.sum())
    cells.shift[2] = mass * slip / -math.expm1(-mesh.h)
    loss = mpmath.mpf(mesh.offset) + (2 + mpmath.mpf(share)) * mpmath.mpf(mesh.h)
    on_its_side(spread(cells, mesh), curve_of([(p, loss + slip)]), Side.ABOVE)
    on_its_side(merge(cells, mesh), curve_of([(p, loss - slip)]), Side.BELOW)


def test_a_mass_known_up_to_its_rounding_counts_on_the_safe_side() -> None:
    """Every mass has been computed with a relative error of a thousandth, against us."""
    mesh = Mesh(0.3, 0.25, 2.0, 0.1)
    for share in (0.0, 0.4):
        cells, p = one_outcome(share, mesh)
        cells.mass_error[:] = 1e-3
        loss = mpmath.mpf(mesh.offset) + (2 + mpmath.mpf(share)) * mpmath.mpf(mesh.h)
        tiny = mpmath.mpf(1e-14)  # the share of the cell is itself a double
        on_its_side(spread(cells, mesh), curve_of([(p / (1 - mpmath.mpf(1e-3)), loss - tiny)]), Side.ABOVE)
        on_its_side(merge(cells, mesh), curve_of([(p / (1 + mpmath.mpf(1e-3)), loss + tiny)]), Side.BELOW)


def test_atoms_on_grid_points_count_with_their_errors() -> None:
    """The same for atoms that lie on the grid, and for one too rare for a double."""
    mesh = Mesh(0.0, 0.25, 2.0, 0.0)
    nothing = np.zeros((2, CUTS))
    points = Points(np.array([1, 3, 5]), np.array([0.5, 0.25, 0.0]), np.array([1e-3, 1e-3, 0.0]))
    cells = cells_of(nothing, nothing.copy(), points=points)
    held = [(mass, mpmath.mpf(place) * mesh.h) for place, mass in ((1, mpmath.mpf(0.5)), (3, mpmath.mpf(0.25)))]
    p = [(mass * mpmath.exp(-mesh.t * loss), loss) for mass, loss in held]
    lost = (mpmath.mpf(UNDERFLOW) * mpmath.exp(-mesh.t * mpmath.mpf(1.25)), mpmath.mpf(1.25))
    on_its_side(spread(cells, mesh), curve_of([*((m / (1 - mpmath.mpf(1e-3)), x) for m, x in p), lost]), Side.ABOVE)
    on_its_side(merge(cells, mesh), curve_of([(m / (1 + mpmath.mpf(1e-3)), x) for m, x in p]), Side.BELOW)


def test_what_is_left_out_below_lies_as_high_as_it_may() -> None:
    """``below`` bounds its tilted mass; its losses may come up to the third knot."""
    mesh = Mesh(0.0, 0.25, 2.0, 0.0)
    cells, p = one_outcome(0.5, mesh, 4)
    cells.below = 1e-3
    third = 2 * mpmath.mpf(mesh.h)
    true = curve_of([(p, mpmath.mpf(4.5) * mesh.h), (mpmath.mpf(1e-3) * mpmath.exp(-mesh.t * third), third)])
    on_its_side(spread(cells, mesh), true, Side.ABOVE)


def test_masses_too_small_for_a_double_are_charged_at_the_top() -> None:
    """Every cell may have lost ``underflow``."""
    mesh = Mesh(0.0, 0.25, 2.0, 0.0)
    cells, p = one_outcome(0.5, mesh, 4)
    cells.underflow = 1e-3
    unit = mpmath.exp(-mesh.t * CUTS * mpmath.mpf(mesh.h))
    lost = [(mpmath.mpf(1e-3) * unit, (i + 1) * mpmath.mpf(mesh.h)) for i in range(CUTS)]
    on_its_side(spread(cells, mesh), curve_of([(p, mpmath.mpf(4.5) * mesh.h), *lost]), Side.ABOVE)


@pytest.mark.parametrize("h", [0.05, 2.5], ids="h {:g}".format)
def test_spreading_and_merging_pay_for_their_own_roundings(h: float) -> None:
    """Integrals without any error of their own: the curves touch, and what is left is the rounding of the moves.

    ``e^(t h)``, which takes masses from one end of a cell to the other, is rounded too: ``mass_error`` holds that.
    """
    random = np.random.default_rng(8)
    for _ in range(40):
        left, right = (10.0 ** random.uniform(-3.0, 0.0, (2, CUTS)) for _ in range(2))
        mesh = Mesh(float(random.uniform(-3.0, 3.0)), h, float(random.uniform(0.1, 9.0)), float(random.uniform(-1, 1)))
        cells = cells_of(left, right)
        cells.left[0], cells.right[1] = 3 * cells.left[0], 3 * cells.right[1]  # halves in order
        cells.mass_error[:] = UNIT_ROUNDOFF * (8 + 4 * mesh.t * h)
        true = outcomes_of(cells, mesh)
        on_its_side(spread(cells, mesh), curve_of(true), Side.ABOVE)
        on_its_side(merge(cells, mesh), curve_of(true), Side.BELOW)


CANCELLING: list[tuple[list[int], float, float, list[list[float]], list[list[float]]]] = [
    (
        [0, 1, 2, 3, 4, 12, 13],
        0.01,
        -0.24,
        [[0.78, 0.79, 0.62, 0.08, 0.54, 0.00058], [0.00027, 0.00019, 2.2e-05, 0.00052, 0.00014, 0.0028]],
        [[0.016, 0.15, 0.62, 0.08, 0.07, 0.00058], [0.033, 0.00019, 0.82, 0.049, 0.0021, 0.0028]],
    ),
    (
        [0, 8, 9, 10, 11, 12, 13],
        0.01,
        -0.24,
        [[0.033, 0.00022, 0.087, 0.032, 0.0071, 0.0037], [6.8e-05, 0.043, 0.001, 1.5e-05, 0.0061, 0.21]],
        [[0.03, 0.00022, 0.015, 0.00074, 0.0071, 0.0037], [0.0016, 0.043, 0.24, 0.0003, 0.0061, 0.21]],
    ),
    (
        [0, 1, 2, 3, 4, 5, 69],
        0.01,
        -0.37,
        [[0.3, 0.058, 0.61, 1.7e-05, 0.0011, 0.048], [0.048, 8.3e-05, 0.0029, 0.35, 0.00014, 0.014]],
        [[0.0013, 0.058, 0.083, 1.5e-05, 0.0011, 0.048], [0.048, 8.3e-05, 0.0076, 0.35, 0.42, 0.014]],
    ),
    (
        [0, 1, 65, 129, 137, 201, 202],
        0.01,
        -0.21,
        [[0.00092, 0.011, 0.0053, 0.00056, 0.021, 0.0061], [0.074, 0.19, 0.025, 6.9e-05, 0.068, 0.84]],
        [[0.00027, 0.011, 0.0053, 0.00056, 0.021, 0.00038], [0.074, 0.19, 0.025, 0.025, 0.068, 0.84]],
    ),
    (
        [0, 1, 9, 10, 18, 19, 20],
        0.01,
        -0.42,
        [[0.098, 0.77, 0.11, 0.037, 0.33, 0.00042], [0.0048, 3.9e-05, 0.23, 0.16, 1.6e-05, 0.21]],
        [[0.074, 0.77, 0.11, 0.00034, 0.047, 0.00042], [0.45, 0.00025, 0.23, 0.16, 0.00016, 0.21]],
    ),
    (
        [0, 1, 9, 73, 74, 75, 83],
        0.01,
        0.086,
        [[0.42, 0.17, 0.44, 1.5e-05, 0.0012, 0.0083], [0.0091, 0.0029, 0.11, 0.00011, 0.034, 0.00024]],
        [[0.0009, 0.00094, 0.44, 1.5e-05, 0.0012, 0.0083], [0.0091, 0.41, 0.11, 0.011, 0.034, 0.00024]],
    ),
    (
        [0, 1, 9, 73, 74, 82, 83],
        0.0001,
        -0.29,
        [[0.52, 0.0026, 0.59, 0.078, 0.0004, 0.00093], [0.0083, 4.3e-05, 5.2e-05, 5.6e-05, 0.00046, 0.18]],
        [[0.52, 0.0026, 0.00015, 0.078, 2.4e-05, 0.00093], [0.052, 4.3e-05, 5.2e-05, 0.026, 0.00046, 0.18]],
    ),
    (
        [0, 8, 72, 80, 144, 208, 209],
        0.0001,
        -0.31,
        [[0.0042, 0.13, 0.0014, 0.72, 0.0044, 0.41], [0.0016, 0.0093, 0.00091, 0.13, 0.65, 0.00083]],
        [[0.00092, 0.13, 8.4e-05, 0.08, 0.0044, 0.41], [0.36, 0.0093, 0.021, 0.13, 0.65, 0.00083]],
    ),
    (
        [0, 1, 65, 73, 74, 75, 139],
        0.0001,
        -0.32,
        [[0.3, 0.046, 0.014, 0.00026, 0.0053, 0.003], [0.00018, 1.9e-05, 0.00062, 0.22, 0.0096, 0.097]],
        [[0.0085, 0.046, 0.0039, 4.2e-05, 0.0053, 0.003], [0.00018, 0.026, 0.12, 0.6, 0.0096, 0.097]],
    ),
]
"""Knots, gap, offset and the integrals over the halves of the cells, in which merging loses more digits than usual:
among a thousand random ones about one is like that."""


@pytest.mark.parametrize(("knots", "h", "offset", "left", "right"), CANCELLING)
def test_merging_pays_for_what_cancels(
    knots: list[int], h: float, offset: float, left: list[list[float]], right: list[list[float]]
) -> None:
    """Wide cells beside narrow ones lend far more than they have: what is left of it is known less well."""
    mesh = Mesh(offset, h, 0.1, 0.0)
    cells = cells_of(np.array(left), np.array(right))
    cells.knots = np.array(knots)
    on_its_side(merge(cells, mesh), curve_of(outcomes_of(cells, mesh)), Side.BELOW)


def test_merging_pays_for_the_rounding_of_the_grid_that_it_moves() -> None:
    """The grid is moved to where the merged outcome lies: near 1000 its offset is rounded in the 13th decimal."""
    random = np.random.default_rng(10)
    for _ in range(40):
        mesh = Mesh(float(random.uniform(900.0, 1000.0)), 0.25, 0.01, 0.0)
        cells, _ = one_outcome(float(random.uniform(0.1, 0.9)), mesh)
        cells.right[1] += 1e-3  # neighbours to lend from
        lower = merge(cells, mesh)
        assert lower.mesh.offset != mesh.offset
        on_its_side(lower, curve_of(outcomes_of(cells, mesh)), Side.BELOW)


# --- the integrals over the cells ---


@dataclass(frozen=True)
class OffPart:
    """A Gaussian's smooth part whose loss and log-density are off by as much as they admit: a bound's worst case."""

    base: SmoothPart
    loss_off: float = 0.0
    log_p_off: float = 0.0

    def loss(self, x: Array) -> Array:
        return self.base.loss(x) + self.loss_off

    def log_p(self, x: Array) -> Array:
        return self.base.log_p(x) + self.log_p_off

    def outcome(self, loss: Array) -> Array:
        return self.base.outcome(loss - self.loss_off)

    def loss_error(self, x: Array) -> Array:
        return self.base.loss_error(x) + abs(self.loss_off) / UNIT_ROUNDOFF

    def log_p_error(self, x: Array) -> Array:
        return self.base.log_p_error(x) + abs(self.log_p_off) / UNIT_ROUNDOFF

    def growth(self, x: Array) -> Array:
        return self.base.growth(x)

    def support(self, log_mass: float) -> tuple[float, float]:
        return self.base.support(log_mass)


@dataclass(frozen=True)
class StubPair:
    """What the cells ask of a pair."""

    smooth: Any
    atoms: Atoms


def gaussian_delta(mu: float, epsilon: Number) -> Number:
    """In closed form."""
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(("loss_off", "log_p_off"), [(5e-4, 0.0), (0.0, 1e-3)], ids=["loss", "density"])
def test_what_a_pair_admits_of_its_roundings_is_charged(loss_off: float, log_p_off: float) -> None:
    """Losses and densities off by all they admit, against us: a twentieth of a cell, a thousandth of the mass."""
    base = GaussianPair(1.0).smooth
    assert base is not None
    mesh = Mesh(0.0, 0.01, 1.0, 1.0)
    for side in Side:
        pair: Any = StubPair(OffPart(base, -side * loss_off, -side * log_p_off), Atoms.none())
        cells = integrate(pair, mesh, Reach(-100.0, -60.0))
        law = spread(cells, mesh) if side > 0 else merge(cells, mesh)
        found = Polygon.of(law)
        for place in (-50, -3.5, 0, 7, 120.5):
            epsilon = mpmath.mpf(place) * mpmath.mpf(mesh.h)
            assert side * (found.delta(epsilon) - gaussian_delta(1.0, epsilon)) >= 0


def atoms_at(losses: Sequence[float], masses: Sequence[float], units: float = 0.0) -> Any:
    log_p = np.log(np.array(masses))
    return StubPair(None, Atoms(np.array(losses), log_p, log_p - np.array(losses), units))


def test_what_atoms_admit_of_their_losses_is_charged() -> None:
    """Atoms between the grid points whose losses are off by a few thousandths, as they say."""
    mesh, units = Mesh(0.0, 0.25, 1.0, 0.2), 1e-3 / UNIT_ROUNDOFF
    losses, masses = [-0.6, 0.3, 0.9], [0.25, 0.5, 0.25]
    for side in Side:
        cells = integrate(atoms_at(losses, masses, units), mesh, Reach(-100.0, -60.0))
        true = [
            (mpmath.mpf(p), mpmath.mpf(x) + side * abs(x) * mpmath.mpf(1e-3))
            for p, x in zip(masses, losses, strict=True)
        ]
        on_its_side(spread(cells, mesh) if side > 0 else merge(cells, mesh), curve_of(true), side)


def test_the_rounding_of_the_exponent_of_an_atom_is_charged() -> None:
    """A tilt of a million over losses near 1: the exponent is a small difference of large, rounded numbers."""
    random = np.random.default_rng(11)
    for _ in range(30):
        t, loss = float(random.uniform(1e5, 1e6)), 1.0 + float(random.integers(1, 100)) / 128
        mesh = Mesh(0.0, 2.0**-13 if random.integers(2) else 1.1e-4, t, float(t * loss + random.uniform(-1.0, 1.0)))
        cells = integrate(atoms_at([loss], [0.75]), mesh, Reach(-100.0, -60.0))
        total = mpmath.exp(mpmath.log(mpmath.mpf(0.75)))
        for side, law in ((Side.BELOW, merge(cells, mesh)), (Side.ABOVE, spread(cells, mesh))):
            assert side * (Polygon.of(law).delta(mpmath.mpf(-60)) - total * (1 - mpmath.exp(-60 - loss))) >= 0


def test_atoms_count_as_on_the_grid_only_within_a_few_roundings() -> None:
    """One that misses a grid point by more is spread; the sum pays for a few roundings only."""
    mesh = Mesh(0.0, 0.25, 1.0, 0.0)
    for steps in (40, 4000, 4 * 10**6):
        loss = 0.75 + steps * math.ulp(0.75)
        cells = integrate(atoms_at([0.25, loss], [0.5, 0.5]), mesh, Reach(-100.0, -60.0))
        true = curve_of([(mpmath.mpf(0.5), mpmath.mpf(0.25)), (mpmath.mpf(0.5), mpmath.mpf(loss))])
        slip = 32 * mpmath.mpf(UNIT_ROUNDOFF)
        assert Polygon.of(spread(cells, mesh)).delta(mpmath.mpf(0.75) - slip) >= true.delta(mpmath.mpf(0.75))


# --- a run: what is lost on the way counts for every round ---


def test_what_one_round_leaves_out_counts_for_every_round() -> None:
    """The P-mass above the highest cell, ``Phi(-r)``, times the rounds."""
    composition = Composition([(PoissonRemovePair(GaussianPair(1.0), 0.1), 10**6)])
    guide = Guide(composition, -100.0)
    run = Run(composition, guide, Target(3.0, guide.saddle(3.0), -10.0, 1e-2, 0.6, 3))
    smooth = composition.rounds[0][0].smooth
    assert smooth is not None
    end = mpmath.mpf(smooth.support(run.reach.log_floor)[1])
    above = mpmath.mpf(0.1) * mpmath.ncdf(1 - end) + mpmath.mpf(0.9) * mpmath.ncdf(-end)
    assert mpmath.log(10**6 * above) <= run.log_lost


def test_atoms_on_the_grid_are_moved_by_what_they_admit() -> None:
    """Sampled atoms: their losses may be off by more than a sum's own slip pays for."""
    pair = PoissonRemovePair(BlackBoxPair(1.0), 1e-6)
    low, high = pair.loss_range
    mesh = Mesh(high, high - low, 0.5, 0.0)
    cells = integrate(pair, mesh, Reach(-100.0, -60.0))
    laws = merge(cells, mesh), spread(cells, mesh)
    stub: Any = SimpleNamespace(_laws=lambda *_: laws, t=mesh.t)
    lower, upper = Run._round(stub, pair, 1, 0.0, mesh.h, math.inf)
    off = mpmath.mpf(pair.atoms.units) * UNIT_ROUNDOFF * max(abs(low), abs(high))
    for law, before, side in ((lower, laws[0], Side.BELOW), (upper, laws[1], Side.ABOVE)):
        true = Polygon.of(before)
        true.losses = [loss + side * off for loss in true.losses]
        true.q = [q * mpmath.exp(-side * off) for q in true.q]
        found = Polygon.of(law)
        for epsilon in (true.losses[-1] - off / 2, true.losses[0] - off / 2, mpmath.mpf(-1)):
            assert side * (found.delta(epsilon) - true.delta(epsilon)) >= -(off**2)


def test_what_the_tilt_cuts_off_below_is_charged() -> None:
    """At a steep tilt the low losses weigh nothing, and are left out; their P-mass may be nearly 1."""
    pair = GaussianPair(1.0)
    mesh = Mesh(0.0, 0.05, 9.0, 45.0)
    upper = Polygon.of(spread(integrate(pair, mesh, Reach(-100.0, -4.0)), mesh))
    for epsilon in (-3.0, 1.0, 3.0):
        assert upper.delta(mpmath.mpf(epsilon)) >= gaussian_delta(1.0, mpmath.mpf(epsilon))


def test_losses_that_doubles_cannot_place_are_refused() -> None:
    """A loss of 1e20 steps has a neighbour 16,384 of them away: there is no cell around it."""
    with pytest.raises(NotApplicableError, match="cannot distinguish grid points"):
        integrate(atoms_at([1e12], [1.0]), Mesh(0.0, 1e-8, 1e-12, 0.0), Reach(-100.0, -60.0))
