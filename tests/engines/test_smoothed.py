"""Contours with a little noise: both ends against sums that are listed, the lemma on its own, and every charge."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp
from scipy.stats import norm

import hockeystick as hs
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.contour.smoothed import Smoothed, Smoothing
from hockeystick.engines.contour.sweep import Terms
from hockeystick.engines.direct import DirectEngine
from hockeystick.pairs import Composition, LaplacePair
from hockeystick.pairs.discrete import DiscreteLaplacePair
from hockeystick.pairs.finite import FinitePair
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Ends


def pair(p: list[str], q: list[str]) -> FinitePair:
    return FinitePair(tuple(map(Fraction, p)), tuple(map(Fraction, q)))


THREE = pair(["0.5", "0.3", "0.2"], ["0.4", "0.35", "0.25"])
FIVE = pair(["0.5", "0.3", "0.1", "0.06", "0.04"], ["0.4", "0.35", "0.12", "0.1", "0.03"])
COMPOSITIONS = [
    Composition([(THREE, 10)]),
    Composition([(THREE, 300)]),
    Composition([(FIVE, 20)]),
    Composition([(THREE, 30), (FIVE, 4)]),
    Composition([(DiscreteLaplacePair(3, Fraction(5)), 40)]),
]


@pytest.mark.parametrize("composition", COMPOSITIONS, ids=range(len(COMPOSITIONS)))
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-20])
def test_the_sum_over_all_losses_is_within(composition: Composition, delta: float) -> None:
    """The sums are listed one by one, to 1e-11; the contours know nothing of them."""
    log = math.log(delta)
    truth = DirectEngine(composition).epsilon((log, log), None)
    try:
        found = ContourEngine(composition, Smoothing).epsilon((log, log), 1e-6)
    except NotApplicableError:  # at the end of the losses of few rounds, where single sums decide
        assert truth.upper > 0.9 * composition.largest_loss[1]  # type: ignore[index]
        return
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    assert found.limited or found.upper - found.lower <= 1e-6 * found.upper
    at = ContourEngine(composition, Smoothing).log_delta(truth.estimate, 1e-5)
    sums = DirectEngine(composition).log_delta(truth.estimate, None)
    assert at.lower <= sums.upper
    assert sums.lower <= at.upper
    assert at.limited or at.upper - at.lower <= 1e-5


def test_few_laplace_rounds_have_a_contour() -> None:
    """Their characteristic function falls off too slowly by itself; two rounds, by the convolution of two densities."""
    composition = Composition([(LaplacePair(1.0, 2.0), 2)])
    found = ContourEngine(composition, Smoothing).log_delta(0.3, 1e-6)
    with mp.workdps(30):
        theta = mp.mpf("0.5")

        def one(eps: mp.mpf) -> mp.mpf:
            """delta of one round at any epsilon in [-theta, theta]: 1 - e^((eps - theta)/2) (Balle, Wang)."""
            return mp.zero if eps >= theta else (-mp.expm1((eps - theta) / 2) if eps >= -theta else 1 - mp.exp(eps))

        def density(loss: mp.mpf) -> mp.mpf:
            return mp.exp((loss - theta) / 2) / 4

        eps = mp.mpf("0.3")
        truth = one(eps - theta) / 2 + one(eps + theta) * mp.exp(-theta) / 2
        truth += mp.quad(lambda loss: density(loss) * one(eps - loss), [-theta, eps - theta, theta])
        assert found.lower <= mp.log(truth) <= found.upper
    assert found.upper - found.lower <= 1e-5


@pytest.mark.parametrize("y", [0.0, 1e-3, 0.1, 1.0, 5.0, -2.0])
@pytest.mark.parametrize("v", [1e-4, 0.01, 0.5])
def test_the_lemma_on_kernels(y: float, v: float) -> None:
    """``int_0^v psi_w dw <= e^(v/2) int_v^4v psi_w dw`` by quadrature."""
    with mp.workdps(25):

        def psi(w: mp.mpf) -> mp.mpf:
            return mp.exp(-((y - w / 2) ** 2) / (2 * w)) / mp.sqrt(2 * mp.pi * w)

        first = mp.quad(lambda r: psi(r * r) * 2 * r, mp.linspace(mp.mpf("1e-12"), mp.sqrt(v), 30))
        second = mp.quad(psi, mp.linspace(v, 4 * v, 10))
        assert first <= mp.exp(mp.mpf(v) / 2) * second * (1 + mp.mpf("1e-15"))


class Given:
    """Contours that answer with given numbers."""

    def __init__(self, lower: float, upper: float) -> None:
        self._ends = math.log(lower), math.log(upper)

    def log_delta(self, epsilon: np.ndarray) -> Ends:
        low, high = (np.full(len(epsilon), end) for end in self._ends)
        return Ends(low, 0.5 * (low + high), high)


def test_every_part_of_the_lower_end_is_on_its_side() -> None:
    """``D(v)`` from below, ``D(4v)`` from above, and the factor e^(v/2)."""
    once: Terms = Given(0.10, 0.11)  # type: ignore[assignment]
    fourfold: Terms = Given(0.12, 0.13)  # type: ignore[assignment]
    found = Smoothed(once, fourfold, 0.04).log_delta(np.array([1.0]))
    expected = 0.10 - math.exp(0.02) * (0.13 - 0.10)
    assert math.exp(found.upper[0]) == pytest.approx(0.11)
    assert math.exp(found.lower[0]) == pytest.approx(expected, rel=1e-12)
    assert found.lower[0] < math.log(expected)


def test_one_atom_shows_how_far_the_noise_moves_delta() -> None:
    """A loss that is always l: D(w) is a Gaussian's, whose two ends hold the truth, off by the root of the variance."""
    loss, eps = 0.7, 0.7
    for v in (1e-2, 1e-4, 1e-6):
        once, four = (_of_point(loss, eps, w) for w in (v, 4 * v))
        assert once - math.exp(v / 2) * (four - once) <= max(-math.expm1(eps - loss), 0.0) + 1e-15 <= once + 1e-15


def _of_point(loss: float, eps: float, w: float) -> float:
    sd = math.sqrt(w)
    high = (eps - loss - w / 2) / sd
    return float(norm.sf(high) - math.exp(eps - loss) * norm.sf(high + sd))


def test_no_noise_is_so_large_that_its_factor_overflows() -> None:
    """1.2 million rounds whose losses are out of reach of any contour: one answer or another, and no error."""
    item = {"mechanism": "binomial", "count": 1_200_000, "trials": 53, "probability": 0.999999}
    found = hs.Plan.from_dict({"round": [item]}).delta(0.44054460137110746)
    assert 0 <= found.lower <= found.upper <= 1
