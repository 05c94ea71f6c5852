"""The charges of the grid engine, one at a time, each on an input that makes it decide.

Most are far below the width of an ordinary answer. Here the laws have two or three atoms, the windows hold a part of
them, and the transform that convolves them is replaced by one that is exact, or wrong by exactly as much as it says
(:func:`convolving`). The truth is summed term by term, in many digits, from the very doubles of the laws.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from hockeystick.engines.grid import stages, sums
from hockeystick.engines.grid.cells import UNDERFLOW, Cells, Mesh, Points, shares
from hockeystick.engines.grid.laws import GridLaw, merge, spread
from hockeystick.engines.grid.stages import Tail, Window
from hockeystick.engines.grid.sums import FADE, GridSum
from hockeystick.numerics.fourier import ConvolutionPower
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
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
    """``e^log_lost`` of P-mass may have infinite loss: it counts once, not less; the lower side owes nothing."""
    laws = [(law_of({0: 0.75, 8: 0.25}, 0.1, 1.0), 2)]
    true = mpmath.exp(true_log_delta(laws, 0.5))
    for share in (1e-3, 1.0, 1e3):
        log_lost = float(mpmath.log(share * true))
        upper = GridSum(laws, WIDE, +1, log_lost).log_delta(0.5)
        assert mpmath.exp(upper) >= true + mpmath.exp(log_lost)
        assert mpmath.exp(upper) <= (true + mpmath.exp(log_lost)) * (1 + 1e-9)
        assert GridSum(laws, WIDE, -1, log_lost).log_delta(0.5) <= mpmath.log(true)


@pytest.mark.parametrize("error", [1e-3, 1e-9], ids="error {:g}".format)
def test_the_error_of_the_transform_is_charged_at_every_place(error: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transform that errs by all that it admits, and against us at every place: ``error * sum f`` is owed."""
    laws = [(law_of({0: 0.75, 8: 0.25}, 0.1, 1.0), 2)]
    true = true_log_delta(laws, 0.5)
    for side in (-1, +1):
        monkeypatch.setattr(sums, "convolution_power", convolving(error, -side * error))
        found = GridSum(laws, WIDE, side, NOTHING).log_delta(0.5)
        assert side * (found - true) >= 0
        assert side * (found - true) < 400 * error, "or the other charges would hide this one"


def test_the_error_of_the_scale_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product of the laws' totals is known up to ``scale_error`` in its logarithm, and may be off by all of it."""
    laws = [(law_of({0: 0.75, 8: 0.25}, 0.1, 1.0), 2)]
    true = true_log_delta(laws, 0.5)
    for side in (-1, +1):
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
    total = GridSum(laws, window, +1, NOTHING)
    assert len(total) == 16
    true = true_log_delta(laws, 0.5)
    assert 0 <= total.log_delta(0.5) - true < 0.02


@pytest.mark.usefixtures("exact_sums")
def test_mass_below_the_window_is_charged_where_epsilon_is_below_it_too() -> None:
    """Between epsilon and the window mass counts, but the sum has it at the other end: the peak of f is charged."""
    t, h = 3.0, 0.01
    at = round(math.log1p(1 / t) / h)  # where f is at its peak, for epsilon 0
    laws = [(law_of({at: 0.5, at + 60: 0.5}, h, t), 1)]
    window = Window((at + 1) * h, (at + 90) * h, 15.0, 15.0)
    total = GridSum(laws, window, +1, NOTHING)
    true = true_log_delta(laws, 0.0)
    assert 0 <= total.log_delta(0.0) - true < 0.3


@pytest.mark.usefixtures("exact_sums")
def test_terms_where_f_has_faded_are_charged() -> None:
    """A law all of whose mass lies beyond where f is summed: what it is worth there is charged whole."""
    t, h = 1.0, 0.01
    place = math.ceil((FADE / t + math.log1p(1 / t)) / h) + 3
    laws = [(law_of({place: 1.0}, h, t), 1)]
    found = GridSum(laws, Window(-0.5, (place + 100) * h, 1.0, 1.0), +1, NOTHING).log_delta(0.0)
    assert 0 <= found - true_log_delta(laws, 0.0) < 0.2


@pytest.mark.usefixtures("exact_sums")
def test_mass_that_wraps_to_above_epsilon_is_taken_off() -> None:
    """Mass far above, worth nothing there, lands on the peak of f: its probability times the peak is taken off."""
    t, h, n = 30.0, 0.01, 900
    peak = round(math.log1p(1 / t) / h)
    laws = [(law_of({0: 0.875, peak + 2: 0.0625, peak + n: 0.0625}, h, t), 1)]
    total = GridSum(laws, Window(-0.5, -0.5 + n * h, 4.0, 4.0), -1, NOTHING)
    assert len(total) == n
    found = total.log_delta(0.0)
    assert -0.5 < found - true_log_delta(laws, 0.0) <= 0


@pytest.mark.usefixtures("exact_sums")
def test_mass_below_the_window_is_taken_off_a_lower_bound() -> None:
    """Mass below the window lands at its upper end; with epsilon just below that end, on the peak of f."""
    t, h, n = 30.0, 0.01, 900
    peak = round(math.log1p(1 / t) / h)
    low = -1
    laws = [(law_of({low - 1: 0.0625, 400: 0.875, n - 3: 0.0625}, h, t), 1)]
    total = GridSum(laws, Window(low * h, (n + low) * h, 4.0, 4.0), -1, NOTHING)
    assert len(total) == n
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
            assert GridSum(laws, window, -1, NOTHING).log_delta(epsilon) <= true
            assert GridSum(laws, window, +1, NOTHING).log_delta(epsilon) >= true
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
        for side in (-1, +1):
            found = GridSum(laws, WIDE, side, NOTHING).log_delta(0.3)
            assert 0 <= side * (found - true) < 1e-7


# --- Markov's bounds ---


def test_the_rounding_of_markovs_bound_is_charged() -> None:
    """Of one atom the bound is an equality, ``e^(theta (s - b))``: only what is charged for its rounding holds it up.

    With b at 0 the sum of cumulants decides, with s at 0 the product of theta and b.
    """
    random = np.random.default_rng(3)
    for _ in range(60):
        theta, at = float(random.uniform(1.0, 50.0)), float(random.uniform(100.0, 1000.0))
        for loss, b in ((at, 0.0), (0.0, -at)):
            law = GridLaw(Mesh(loss, 0.1, 1.0, 0.0), 0, np.array([float(random.uniform(0.1, 1.0))]))
            true = mpmath.mpf(theta) * (mpmath.mpf(loss) - mpmath.mpf(b))
            found = Tail([(law, 1)], theta, +1, theta).log_weight_beyond(b)
            assert true <= found <= true * (1 + mpmath.mpf(1e-13))
            mirrored = GridLaw(Mesh(-loss, 0.1, 1.0, 0.0), 0, law.mass)
            assert true <= Tail([(mirrored, 1)], theta, -1, theta).log_weight_beyond(-b)


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


# --- blocks of rounds: every mass of the sum on its side, whatever wraps around ---


def curve(laws: Counted) -> Polygon:
    """The exact curve of a sum of laws."""
    masses, losses = convolved(laws)
    return Polygon(masses, losses, 0.0, 0.0)


def holds(laws: Counted, window: Window, side: int, at: Sequence[float], within: float = math.inf) -> None:
    """That a block with what is charged beside it is on its side of the sum's own curve, at every epsilon given.

    ``within``: and no further than that, relative, or another charge would hide the one that is looked at.
    """
    block, lost = stages.compose(laws, window, side)
    true, found = curve(laws), Polygon.of(block)
    extra = mpmath.exp(mpmath.mpf(lost)) if side > 0 and lost > NOTHING else mpmath.mpf(0)
    for epsilon in map(mpmath.mpf, at):
        difference = side * (found.delta(epsilon) + extra - true.delta(epsilon))
        assert 0 <= difference <= within * true.delta(epsilon), float(epsilon)


@pytest.fixture
def exact_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transform makes no error, and a window is kept to however few places a law has."""
    monkeypatch.setattr(stages, "convolution_power", convolving())
    monkeypatch.setattr(stages, "WHOLE_PERIOD", 1)


def test_the_error_of_the_transform_is_charged_at_every_place_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mass is raised (lowered) by the whole error that the transform admits."""
    laws = [(law_of({0: 0.75, 8: 0.25}, 0.1, 1.0), 2)]
    for side in (-1, +1):
        monkeypatch.setattr(stages, "convolution_power", convolving(1e-6, -side * 1e-6))
        holds(laws, WIDE, side, (-1.0, 0.5, 1.55), 1e-4)


def test_the_error_of_the_scale_of_a_block_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logarithm of all masses together is off by ``scale_error``."""
    laws = [(law_of({0: 0.75, 8: 0.25}, 0.1, 1.0), 2)]
    for side in (-1, +1):
        monkeypatch.setattr(stages, "convolution_power", convolving(0, 0, 1e-6, -side * 1e-6))
        holds(laws, WIDE, side, (-1.0, 0.5, 1.55), 1e-5)


@pytest.mark.usefixtures("exact_blocks")
def test_mass_below_the_window_of_a_block_is_raised_to_it() -> None:
    """At a steep tilt the bound on what it weighs at the lowest place is an equality: nothing of it may be missing."""
    laws = [(law_of({-3: 0.5, 13: 0.5}, 0.1, 30.0), 1)]
    holds(laws, Window(-0.2, 1.4, 30.0, 30.0), +1, (-40.0, -0.5, -0.25))


@pytest.mark.usefixtures("exact_blocks")
def test_mass_above_the_window_of_a_block_counts_as_infinite() -> None:
    """It has wrapped to the lowest place, and is missing at every epsilon above that."""
    laws = [(law_of({0: 0.5, 16: 0.5}, 0.1, 0.5), 1)]
    holds(laws, Window(0.0, 1.6, 50.0, 50.0), +1, (0.1, 0.7, 1.5))


@pytest.mark.usefixtures("exact_blocks")
def test_mass_that_wraps_around_a_block_is_taken_off() -> None:
    """From above the window it lands at the lower end, from below at the upper one: it is taken off every place."""
    n, h, t = 200, 0.1, 1.0
    window = Window(0.0, n * h, 15.0, 15.0)
    above = [(law_of({0: 0.25, 100: 0.25, n: 0.5}, h, t), 1)]
    holds(above, window, -1, (-40.0, -1.0, 0.05))
    below = [(law_of({-1: 0.125, 100: 0.625, n - 1: 0.25}, h, t), 1)]
    holds(below, window, -1, (10.0, 15.0, 19.5))


@pytest.mark.usefixtures("exact_blocks")
def test_the_rounding_of_losses_moves_a_block() -> None:
    """Offsets near 1000 are rounded when they are added up: a block just below its largest loss shows it."""
    random = np.random.default_rng(5)
    for _ in range(30):
        offset, h = float(random.uniform(900.0, 1000.0)), float(random.uniform(0.01, 0.02))
        laws = [(law_of({0: 0.5, 1: 0.5}, h, 1e-6, offset), 3)]
        top = float(convolved(laws)[1][-1])
        for side in (-1, +1):
            holds(laws, Window(top - 1.0, top + 1.0, 5.0, 5.0), side, (math.nextafter(top, 0.0), top - 1e-12))


@pytest.mark.usefixtures("exact_blocks")
def test_the_rounding_of_losses_under_a_steep_tilt_is_paid_by_the_masses() -> None:
    """A tilted mass read at a loss that is off by a rounding stands for a P-mass off by t times that."""
    random = np.random.default_rng(6)
    for _ in range(30):
        offset = float(random.uniform(900.0, 1000.0))
        laws = [(law_of({0: 0.5, 1: 0.5}, 0.25, 50.0, offset), 3)]
        for side in (-1, +1):
            holds(laws, Window(3 * offset - 1.0, 3 * offset + 1.0, 60.0, 60.0), side, (0.0,), 1e-8)


@pytest.mark.usefixtures("exact_blocks")
def test_the_rounding_of_the_norm_of_a_block_is_paid_by_the_masses() -> None:
    """Cumulants in the millions: one rounding of their sum is worth more than all else."""
    random = np.random.default_rng(7)
    for _ in range(30):
        kappa = float(random.uniform(1e6, 2e6))
        laws = [(law_of({0: 0.5, 1: 0.5}, 0.25, 1.0, 0.0, kappa), 3)]
        for side in (-1, +1):
            holds(laws, WIDE, side, (-50.0, 0.0), 1e-7)


# --- one round on its grid ---

CUTS = 6  # cells of the laws below


def cells_of(left: Array, right: Array, **doubts: Any) -> Cells:
    """Cells between neighbouring grid points from 0 on, with nothing in doubt but what is given."""
    n = left.shape[1]
    made = Cells(np.arange(n + 1), left, right, np.zeros(n), np.zeros(n), Points.none())
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


def on_its_side(law: GridLaw, true: Polygon, side: int, at: Sequence[Number] = ()) -> None:
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
    on_its_side(spread(cells, mesh), curve_of([(p, loss + slip)]), +1)
    on_its_side(merge(cells, mesh), curve_of([(p, loss - slip)]), -1)


def test_a_mass_known_up_to_its_rounding_counts_on_the_safe_side() -> None:
    """Every mass has been computed with a relative error of a thousandth, against us."""
    mesh = Mesh(0.3, 0.25, 2.0, 0.1)
    for share in (0.0, 0.4):
        cells, p = one_outcome(share, mesh)
        cells.mass_error[:] = 1e-3
        loss = mpmath.mpf(mesh.offset) + (2 + mpmath.mpf(share)) * mpmath.mpf(mesh.h)
        tiny = mpmath.mpf(1e-14)  # the share of the cell is itself a double
        on_its_side(spread(cells, mesh), curve_of([(p / (1 - mpmath.mpf(1e-3)), loss - tiny)]), +1)
        on_its_side(merge(cells, mesh), curve_of([(p / (1 + mpmath.mpf(1e-3)), loss + tiny)]), -1)


def test_atoms_on_grid_points_count_with_their_errors() -> None:
    """The same for atoms that lie on the grid, and for one too rare for a double."""
    mesh = Mesh(0.0, 0.25, 2.0, 0.0)
    nothing = np.zeros((2, CUTS))
    points = Points(np.array([1, 3, 5]), np.array([0.5, 0.25, 0.0]), np.array([1e-3, 1e-3, 0.0]))
    cells = cells_of(nothing, nothing.copy(), points=points)
    held = [(mass, mpmath.mpf(place) * mesh.h) for place, mass in ((1, mpmath.mpf(0.5)), (3, mpmath.mpf(0.25)))]
    p = [(mass * mpmath.exp(-mesh.t * loss), loss) for mass, loss in held]
    lost = (mpmath.mpf(UNDERFLOW) * mpmath.exp(-mesh.t * mpmath.mpf(1.25)), mpmath.mpf(1.25))
    on_its_side(spread(cells, mesh), curve_of([*((m / (1 - mpmath.mpf(1e-3)), x) for m, x in p), lost]), +1)
    on_its_side(merge(cells, mesh), curve_of([(m / (1 + mpmath.mpf(1e-3)), x) for m, x in p]), -1)


def test_what_is_left_out_below_lies_as_high_as_it_may() -> None:
    """``below`` bounds its tilted mass; its losses may come up to the third knot."""
    mesh = Mesh(0.0, 0.25, 2.0, 0.0)
    cells, p = one_outcome(0.5, mesh, 4)
    cells.below = 1e-3
    third = 2 * mpmath.mpf(mesh.h)
    true = curve_of([(p, mpmath.mpf(4.5) * mesh.h), (mpmath.mpf(1e-3) * mpmath.exp(-mesh.t * third), third)])
    on_its_side(spread(cells, mesh), true, +1)


def test_masses_too_small_for_a_double_are_charged_at_the_top() -> None:
    """Every cell may have lost ``underflow``."""
    mesh = Mesh(0.0, 0.25, 2.0, 0.0)
    cells, p = one_outcome(0.5, mesh, 4)
    cells.underflow = 1e-3
    unit = mpmath.exp(-mesh.t * CUTS * mpmath.mpf(mesh.h))
    lost = [(mpmath.mpf(1e-3) * unit, (i + 1) * mpmath.mpf(mesh.h)) for i in range(CUTS)]
    on_its_side(spread(cells, mesh), curve_of([(p, mpmath.mpf(4.5) * mesh.h), *lost]), +1)


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
        on_its_side(spread(cells, mesh), curve_of(true), +1)
        on_its_side(merge(cells, mesh), curve_of(true), -1)


def test_merging_pays_for_what_cancels() -> None:
    """Wide cells beside narrow ones lend far more than they have: what is left of it is known less well."""
    random = np.random.default_rng(9)
    knots = np.array([0, 64, 65, 66, 130, 131, 195])
    for _ in range(200):
        left, right = (10.0 ** random.uniform(-3.0, 0.0, (2, CUTS)) for _ in range(2))
        mesh = Mesh(float(random.uniform(-1.0, 1.0)), 0.01, 0.1, 0.0)
        cells = cells_of(left, right)
        cells.knots = knots
        cells.left[0], cells.right[1] = 3 * cells.left[0], 3 * cells.right[1]
        on_its_side(merge(cells, mesh), curve_of(outcomes_of(cells, mesh)), -1)


def test_merging_pays_for_the_rounding_of_the_grid_that_it_moves() -> None:
    """The grid is moved to where the merged outcome lies: near 1000 its offset is rounded in the 13th decimal."""
    random = np.random.default_rng(10)
    for _ in range(40):
        mesh = Mesh(float(random.uniform(900.0, 1000.0)), 0.25, 0.01, 0.0)
        cells, _ = one_outcome(float(random.uniform(0.1, 0.9)), mesh)
        cells.right[1] += 1e-3  # neighbours to lend from
        lower = merge(cells, mesh)
        assert lower.mesh.offset != mesh.offset
        on_its_side(lower, curve_of(outcomes_of(cells, mesh)), -1)
