"""What points of a privacy curve say of all others: above and below the true curve, and near it where points are."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from hockeystick.engines import curve as curves
from hockeystick.engines.contour.apart import ApartEngine
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.curve import Curve
from hockeystick.engines.grid.query import KeepingQuery
from hockeystick.engines.known import MOST, Points
from hockeystick.numerics.work import CALL, left, one_call, short, spend
from hockeystick.pairs import Composition, GaussianPair, LaplacePair, PoissonRemovePair
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Ends

Array = npt.NDArray[np.float64]

FEW_LAPLACE = Composition([(LaplacePair(1.0, 1.0), 3)])


def log_delta(epsilon: float, mu: float = 1.0) -> mpmath.mpf:
    """log delta of one Gaussian round, to 60 digits."""
    with mpmath.workdps(60):
        eps = mpmath.mpf(epsilon)
        above, beyond = (mpmath.ncdf(-eps / mu + sign * mpmath.mpf(mu) / 2) for sign in (1, -1))
        return mpmath.log(above - mpmath.exp(eps) * beyond)


def points_of(epsilons: Array, mu: float = 1.0) -> Points:
    """The points of one Gaussian round at some epsilons, to a rounding."""
    true = np.array([float(log_delta(at, mu)) for at in epsilons.tolist()])
    points = Points()
    points.add(epsilons, Ends(np.nextafter(true, -np.inf), true, np.nextafter(true, 0.0)))
    return points


@pytest.mark.parametrize(("spacing", "width"), [(2.0, 16.0), (0.1, 0.3), (1e-3, 4e-3), (1e-9, 1e-8)])
def test_ends_hold_the_truth_between_and_beyond_points(spacing: float, width: float) -> None:
    known = np.linspace(1.0, 1.0 + 4 * spacing, 5)
    asked = np.sort(np.concatenate([[0.3, 1.0], 1.0 + spacing * np.linspace(-0.5, 4.6, 41)]))
    found = points_of(known).ends(asked)
    for at, low, high in zip(asked.tolist(), found.lower.tolist(), found.upper.tolist(), strict=True):
        assert low <= log_delta(at) <= high
    inside = (asked >= 1.0) & (asked <= known[-1])
    assert found.width[inside].max() <= width
    assert (found.lower <= found.estimate).all()
    assert (found.estimate <= found.upper).all()


def test_a_chord_is_nearer_than_the_point_before_it() -> None:
    """Of second order in the distance of the points, where the value at the point before is of first."""
    known = np.linspace(1.0, 2.0, 11)
    middle = 0.5 * (known[1:] + known[:-1])
    upper, true = points_of(known).ends(middle).upper, [float(log_delta(at)) for at in middle.tolist()]
    assert (upper - true).max() < 0.01
    assert (points_of(known).ends(known[:-1]).upper - upper).min() > 0.05


def test_a_chord_is_above_an_exact_one() -> None:
    """delta = 1 - e^(eps - L) is its own chord: what is rounded up must not be below it, whatever the distances."""
    rng = np.random.default_rng(7)
    for largest in (1e-9, 1.0, 40.0, 3000.0):
        x, y = np.sort(largest * rng.uniform(0, 1, 2))
        points = Points()
        with mpmath.workdps(60):
            line = [mpmath.log1p(-mpmath.exp(mpmath.mpf(at) - mpmath.mpf(largest))) for at in (x, y)]
            known = np.array([math.nextafter(float(one), 1.0) for one in line])
            points.add(np.array([x, y]), Ends(known - 1, known, known))
            asked = x + (y - x) * rng.uniform(0, 1, 50)
            for at, high in zip(asked.tolist(), points.ends(asked).upper.tolist(), strict=True):
                true = mpmath.log1p(-mpmath.exp(mpmath.mpf(at) - mpmath.mpf(largest)))
                assert true <= high


def test_a_chord_is_above_the_exact_one_next_to_its_lower_end() -> None:
    """Where s is nearly 1 its rounding is a part of 1 - s that counts, beside a second delta of next to nothing."""
    rng = np.random.default_rng(11)
    (x, y), (u, v) = (1.0, 1.75), (-0.5, -60.0)
    points = Points()
    points.add(np.array([x, y]), Ends(*np.array([[-1.0, -70.0], [u, v], [u, v]])))
    asked = y - 10.0 ** rng.uniform(-12, -6, 40)
    with mpmath.workdps(60):
        for at, high in zip(asked.tolist(), points.ends(asked).upper.tolist(), strict=True):
            b, first, last = (mpmath.exp(mpmath.mpf(one)) for one in (at, x, y))
            share = (b - first) / (last - first)
            true = mpmath.log((1 - share) * mpmath.exp(u) + share * mpmath.exp(v))
            assert true <= high < true + 0.01


def test_points_that_are_far_apart_or_of_no_mass() -> None:
    points = Points()
    points.add(
        np.array([0.0, 5000.0, 9000.0]), Ends(*np.array([[-2.0, -1.0, -0.5], [-9.0, -8.0, -7.0], [-np.inf] * 3]).T)
    )
    found = points.ends(np.array([0.0, 2500.0, 4999.0, 5000.0, 7000.0, 9000.0, 1e100]))
    assert found.upper[0] == -0.5
    assert found.upper[1] == pytest.approx(-0.5, abs=1e-9)
    share = math.exp(-1.0)
    chord = math.log((1 - share) * math.exp(-0.5) + share * math.exp(-7.0))
    assert found.upper[2] == pytest.approx(chord, abs=1e-12)
    assert found.upper[3:5].tolist() == pytest.approx([-7.0, -7.0], abs=1e-9)
    assert found.upper[5:].tolist() == [-np.inf, -np.inf]
    assert found.lower.tolist() == [-2.0, -9.0, -9.0, -9.0, -np.inf, -np.inf, -np.inf]


def test_nothing_is_known_without_points() -> None:
    points = Points()
    points.add(np.array([1.0]), Ends(np.array([-np.inf]), np.zeros(1), np.zeros(1)))  # which says nothing
    found = points.ends(np.array([0.5, 2.0]))
    assert found.lower.tolist() == [-np.inf, -np.inf]
    assert found.upper.tolist() == [0.0, 0.0]


def test_wide_points_do_not_spoil_what_others_say() -> None:
    points = points_of(np.array([1.0, 2.0]))
    before = points.ends(np.array([1.5]))
    points.add(np.array([1.4, 1.5, 1.6]), Ends(np.full(3, -900.0), np.full(3, -0.1), np.full(3, -1e-3)))
    after = points.ends(np.array([1.5]))
    assert after.lower[0] == before.lower[0]
    assert after.upper[0] <= points_of(np.array([1.0])).ends(np.array([1.5])).upper[0]


def test_the_oldest_points_are_let_go() -> None:
    points = points_of(np.array([1.0]))
    for start in range(4):
        at = 10.0 + start + np.linspace(0, 0.5, MOST // 3)
        points.add(at, Ends(*np.full((3, len(at)), -50.0)))
    assert points.ends(np.array([1.0])).upper[0] == 0.0
    assert points.ends(np.array([13.0])).upper[0] == -50.0


def _refused(*_: object) -> None:
    raise NotApplicableError("refused")


@pytest.mark.parametrize(
    "composition",
    [FEW_LAPLACE, Composition([(PoissonRemovePair(GaussianPair(1.0), 0.1), 50)])],
    ids=["atoms apart", "contour"],
)
def test_epsilons_take_nothing_once_the_work_is_used_up(composition: Composition) -> None:
    """Sections that were laid are not looked at: what was found before says what it can, and the call that it did."""
    curve, asked = Curve(composition), np.linspace(0.21, 1.99, 3001)
    with one_call():
        curve.log_delta(np.linspace(0.2, 2.0, 100))
        assert not short()
    with one_call():
        spend(CALL)
        found = curve.log_delta(asked)
        assert left() > -1e7  # a few moments, which a curve asks for once; one look at all would take ten times that
        assert short()
    whole = Curve(composition).log_delta(asked)
    assert (found.lower <= whole.upper).all()
    assert (whole.lower <= found.upper).all()
    assert (found.upper - whole.upper).max() < 0.01
    assert found.width.max() < 0.2


def test_what_is_left_is_spent_on_some_of_the_epsilons() -> None:
    """Of thousands, as many as it pays for, spread over all of them; the others lie between."""
    curve, asked = Curve(FEW_LAPLACE), np.linspace(0.21, 1.99, 3001)
    with one_call():
        curve.log_delta(np.array([1.0]))
    units = 2e8
    with one_call():
        spend(CALL - units)
        found = curve.log_delta(asked)
        assert -0.2 * units < left() < 0.5 * units
    whole = Curve(FEW_LAPLACE).log_delta(asked)
    assert (found.lower <= whole.upper).all()
    assert (whole.lower <= found.upper).all()
    assert np.median(found.upper - whole.upper) < 1e-3


def test_grids_that_may_not_be_looked_at_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the ends of a question, and for their own epsilon; in between the curve falls and is convex."""
    monkeypatch.setattr(ContourEngine, "at", _refused)
    monkeypatch.setattr(ApartEngine, "laid", _refused)
    composition, at = Composition([(LaplacePair(1.0, 2.0), 20)]), np.linspace(0.5, 4.0, 50)
    whole = Curve(composition).log_delta(at)
    looks: list[int] = []
    look = KeepingQuery.log_delta

    def counted(query: KeepingQuery, epsilon: Array) -> Ends:
        looks.append(len(epsilon))
        return look(query, epsilon)

    monkeypatch.setattr(KeepingQuery, "log_delta", counted)
    monkeypatch.setattr(curves, "LOOKS", 0.0)
    monkeypatch.setattr(curves, "MOST_SECTIONS", 1)
    few = Curve(composition).log_delta(at)
    assert looks == [3]
    assert (few.lower <= whole.upper).all()
    assert (whole.lower <= few.upper).all()
    assert few.width[[0, 25, -1]].max() < 0.01 < few.width[12]
