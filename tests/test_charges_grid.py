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
from hockeystick.engines.grid.cells import Mesh
from hockeystick.engines.grid.laws import GridLaw
from hockeystick.engines.grid.stages import Tail, Window
from hockeystick.engines.grid.sums import FADE, GridSum
from hockeystick.numerics.fourier import ConvolutionPower
from polygons import Number, convolved

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
