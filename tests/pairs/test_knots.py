"""Two laws known at knots: one pair dominates and one is dominated, whatever lies between the knots."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import hockeystick as hs
from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.knots import masses_below, neighbours, spread_above

ZERO = Fraction(0)


def curve(pair: FinitePair, alpha: Fraction) -> Fraction:
    """The hockey-stick divergence in exact rationals."""
    return sum((max(p - alpha * q, ZERO) for p, q in zip(pair.p, pair.q, strict=True)), ZERO)


@st.composite
def monotone(draw: st.DrawFn) -> tuple[list[Fraction], list[Fraction], list[int]]:
    """Two laws on up to nine outcomes whose ratio increases, and which outcomes end a cell."""
    size = draw(st.integers(2, 9))
    q = [Fraction(draw(st.integers(1, 9))) for _ in range(size)]
    ratio, p = ZERO, []
    for mass in q:
        ratio += draw(st.integers(0, 4))
        p.append(mass * ratio)
    p[-1] += 1
    ends = sorted(draw(st.sets(st.integers(0, size - 2), max_size=4)))
    return [one / sum(p) for one in p], [one / sum(q) for one in q], [*ends, size - 1]


@settings(max_examples=200, deadline=None)
@given(monotone(), st.integers(0, 3))
def test_the_truth_is_between_at_every_alpha(law: tuple[list[Fraction], list[Fraction], list[int]], error: int) -> None:
    """Masses off by up to some thousandths either way, and the curve of the fine law, which nobody was shown."""
    p, q, ends = law
    starts = [0, *(end + 1 for end in ends[:-1])]
    off = Fraction(error, 1000)
    cells_p = [sum(p[a : b + 1], ZERO) for a, b in zip(starts, ends, strict=True)]
    cells_q = [sum(q[a : b + 1], ZERO) for a, b in zip(starts, ends, strict=True)]
    seen_p = [max(mass + (off if i % 2 else -off), ZERO) for i, mass in enumerate(cells_p)]
    seen_q = [max(mass - (off if i % 2 else -off), ZERO) for i, mass in enumerate(cells_q)]
    e = [off] * len(ends)
    above = spread_above(seen_p, seen_q, e, e, neighbours(seen_p, seen_q, e, e))
    below = masses_below(seen_p, seen_q, e, e)
    true = FinitePair(tuple(p), tuple(q))
    assert sum(above.p) >= 1
    assert sum(above.q) >= 1
    for alpha in map(Fraction, ("0", "1/4", "1/2", "9/10", "1", "11/10", "3/2", "2", "5", "40")):
        assert curve(below, alpha) <= curve(true, alpha) <= curve(above, alpha)


LAWS: Any = (["1/2", "1/2"], ["1/3", "2/3"])


def test_mass_that_may_lie_in_another_cell_is_taken_apart() -> None:
    """Ratios are known, 2/5 and 8/5, and the masses of P are off by a hundredth: the truth is met exactly."""
    e, no = [Fraction(1, 100)] * 2, [ZERO] * 2
    ratios = [(Fraction(2, 5), Fraction(2, 5)), (Fraction(8, 5), Fraction(8, 5))]
    above = spread_above([Fraction(21, 100), Fraction(79, 100)], [Fraction(1, 2)] * 2, e, no, ratios)
    true = FinitePair((Fraction(1, 5), Fraction(4, 5)), (Fraction(1, 2), Fraction(1, 2)))
    assert curve(above, Fraction(1)) >= curve(true, Fraction(1)) == Fraction(3, 10)


KNOTS = (np.arange(-180, 201) / 20).tolist()


def gaussian(mu: float = 0.2, accuracy: float = 1e-14) -> hs.Pair:
    return hs.Pair.from_densities(norm(mu).pdf, norm(0).pdf, KNOTS, accuracy=accuracy)


@pytest.mark.parametrize("count", [1, 10])
def test_gaussian_noise_by_its_densities(count: int) -> None:
    made = gaussian()
    truth = hs.Plan([hs.Round(hs.Gaussian(5.0), count=count)]).epsilon(1e-5)
    found = made.epsilon(1e-5, count=count)
    assert isinstance(found, hs.Bound)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper <= found.lower * 1.01
    assert found.reason is not None
    assert "known at knots only" in found.reason
    assert "does not decrease" in made.assumed


def test_the_width_falls_with_the_square_of_the_distance_of_knots() -> None:
    widths = []
    for step in (10, 20, 40):
        knots = (np.arange(-9 * step, 10 * step + 1) / step).tolist()
        made = hs.Pair.from_densities(norm(0.2).pdf, norm(0).pdf, knots)
        answers: list[Any] = [made.delta(at) for at in np.linspace(0.05, 0.2, 31)]
        widths.append(sum(found.upper - found.lower for found in answers))
    assert widths[0] / widths[1] > 3
    assert widths[1] / widths[2] > 3


def test_published_accountants_take_the_pair_above() -> None:
    made = gaussian()
    truth = hs.Plan([hs.Round(hs.Gaussian(5.0), count=10)]).epsilon(1e-5)
    for accountant in ("prv", "connect-the-dots", "privacy-buckets"):
        assert made.epsilon(1e-5, count=10, accountant=accountant).ends["upper"] >= truth.lower


def test_what_functions_may_be_off_by_is_charged() -> None:
    """With values good to 1e-6 the same masses give an answer as much wider."""
    sharp: Any
    blunt: Any
    sharp, blunt = (gaussian(accuracy=accuracy).delta(0.1) for accuracy in (0.0, 1e-6))
    assert blunt.upper > sharp.upper + 1e-8
    assert blunt.lower < sharp.lower


def test_what_lies_beyond_the_knots_counts_as_infinite_loss() -> None:
    made = hs.Pair.from_densities(norm(0.2).pdf, norm(0).pdf, (np.arange(-60, 21) / 20).tolist())
    assert made.delta(50.0).ends["upper"] == pytest.approx(1 - (norm(0.2).cdf(1) - norm(0.2).cdf(-3)), rel=1e-6)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: hs.Pair.from_densities(norm.pdf, norm.pdf, [1.0, 0.0]), "knots must increase"),
        (lambda: hs.Pair.from_densities(norm.pdf, norm.pdf, [1.0]), "knots must be a list of 2 to"),
        (lambda: hs.Pair.from_densities(lambda x: -x, norm.pdf, [0.5, 1.0]), "p must give a finite number"),
        (lambda: hs.Pair.from_densities(norm.pdf, lambda x: "a", [0.0, 1.0]), "q must be a number or an array"),
        (lambda: hs.Pair.from_probabilities([0.5], [0.5]), "must add up to 1"),
        (lambda: gaussian().epsilon(1e-5, accountant="nobody"), "accountant must be one of"),
    ],
)  # fmt: skip
def test_what_is_no_pair_is_refused(made: object, said: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=said):
        made()  # type: ignore[operator]


def test_probabilities_are_exact_and_tight() -> None:
    made = hs.Pair.from_probabilities(*LAWS)
    truth = hs.Plan([hs.Round(hs.Pmf(*LAWS), count=7)], "remove").delta(0.1)
    assert made.delta(0.1, count=7) == truth
    rounded = hs.Pair.from_probabilities([1 / 3, 2 / 3], [0.5, 0.5])
    found = rounded.delta(0.1, count=7)
    assert isinstance(found, hs.DeltaBound)
    assert 0 < found.upper - found.lower < 1e-12
