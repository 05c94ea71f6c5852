"""Sums over kinds that are kept on fixed points: held against mpmath; each charge by numbers put in its place."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from hockeystick.directions.stepped import Question, laid
from hockeystick.engines.contour.kept import Each, KeptPath, Running
from hockeystick.engines.contour.path import Path
from hockeystick.engines.core.rows import Rows
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]

THREE = [(1.0, 0.01, 40), (0.5, 0.1, 7), (2.0, 1e-3, 300)]
MU, RATE, COUNT = (np.array(column, dtype=np.float64) for column in zip(*THREE, strict=True))
HIGHER = 3.0  # a tilt at which moments of adding a record are asked


def true_k(z: complex, add: bool) -> mpmath.mpc:
    """``sum k log int phi g^(1+z)``, or ``g^-z``, in 40 digits, by the trapezoid rule in steps of 1/16."""
    with mpmath.workdps(40):
        power, step, total = mpmath.mpc(-z if add else 1 + z), mpmath.mpf(1) / 16, mpmath.mpf(0)
        for mu, rate, count in THREE:
            values = []
            for j in range(-14 * 16, int((14 + (0 if add else (1 + z.real) * mu)) * 16) + 1):
                g = 1 - mpmath.mpf(rate) + mpmath.mpf(rate) * mpmath.exp(mu * j * step - mpmath.mpf(mu) ** 2 / 2)
                values.append(mpmath.npdf(j * step) * mpmath.exp(power * mpmath.log(g)))
            total += count * mpmath.log(step * mpmath.fsum(values))
        return total


def points(add: bool) -> Path:
    """Of a contour for the three kinds."""
    rows = Rows(MU, RATE, COUNT, np.log(RATE), np.full(3, add))
    return laid(rows, Question((math.log(1e-6), math.log(1e-6)), math.nan, 1e-6)).path


def alike(kinds: int, value: float, points: int = 3, **other: float) -> Each:
    """Kinds with the same numbers: a value of K everywhere, and 0 where nothing else is said."""
    numbers = {name: np.full(kinds, other.get(name, 0.0)) for name in ("total", "common", "right", "fall")}
    errors = np.full((kinds, points), other.get("errors", 0.0))
    adding = np.full((kinds, 1), other.get("adding", 0.0))
    return Each(np.full((kinds, points), value, dtype=np.complex128), errors, adding=adding, **numbers)


def empty() -> KeptPath:
    """Points to which nothing was added."""
    path = points(False)
    path.s = path.s[:3]
    return KeptPath(path, 100.0, False, [HIGHER])


@pytest.mark.parametrize("add", [False, True])
def test_the_sums_enclose_the_product(add: bool) -> None:
    """K of three kinds at points of the line, on its right and where it is cut, with one of them apart."""
    path = points(add)
    kept = KeptPath(path, 1000.0, add, [] if add else [HIGHER])
    kept.add(kept.each(MU[:2], RATE[:2]), COUNT[:2])
    last = kept.each(MU[2:], RATE[2:])
    found, counts = kept.on(last), [1, int(COUNT[2])]
    terms = found.terms(counts)
    assert terms.common <= 1e-8
    for point in (0, 1, 12):  # farther up the sums in mpmath want a finer step
        value = np.array(counts) @ found.values[:, point]
        with mpmath.workdps(40):
            true = mpmath.exp(true_k(complex(path.t, path.s[point]), add))
            near = mpmath.exp(mpmath.mpc(complex(value)))
            assert abs(true - near) <= abs(near) * mpmath.expm1(mpmath.mpf(terms.k_error[point] + terms.common))
    right = float(true_k(complex(path.t + path.theta), add).real)
    assert right <= terms.right[1] <= right + 1e-4
    base = float(true_k(complex(path.t), add).real)
    beyond = float(true_k(complex(path.t, 1.2 * path.beyond.reach), add).real) - base
    assert beyond <= counts @ found.beyond.bounds[:, 0] < -1.0
    if not add:
        adding = float(true_k(complex(HIGHER), True).real)
        assert adding <= kept.moments(last, COUNT[2])[0] <= adding + 1e-4


def test_many_at_a_time_are_as_one_by_one() -> None:
    """To the last bit."""
    path = points(False)
    together, apart = KeptPath(path, 1000.0, False, [HIGHER]), KeptPath(path, 1000.0, False, [HIGHER])
    together.add(together.each(MU, RATE), COUNT)
    for at in range(3):
        one = slice(at, at + 1)
        apart.add(apart.each(MU[one], RATE[one]), COUNT[one])
    last = together.each(MU[:1], RATE[:1])
    first, second = together.on(last), apart.on(last)
    for name in ("values", "errors", "common", "right"):
        assert (getattr(first, name) == getattr(second, name)).all()
    assert (first.beyond.bounds == second.beyond.bounds).all()
    assert together.moments(last, 5.0) == apart.moments(last, 5.0)


def test_the_errors_of_all_rounds_are_charged() -> None:
    """Those of the values and those that all values share, each as often as the rounds are run."""
    kept = empty()
    kept.add(alike(2, 0.0, errors=1e-3, common=1e-4, total=0.0), np.array([3.0, 4.0]))
    found = kept.on(alike(1, 0.0, errors=1e-2, common=1e-5))
    assert (found.errors[0] >= 7e-3 * (1 - 1e-12)).all()
    assert (found.errors[1] >= 1e-2).all()
    assert found.common[0] >= 7e-4 * (1 - 1e-12)
    assert found.common[1] >= 1e-5


def test_the_roundings_of_the_running_sums_are_charged() -> None:
    """A unit of each partial sum: a number that is next to nothing beside the first is lost each time."""
    kept, lost = empty(), 2.0**-54
    kept.add(alike(1, 1.0, total=1.0, right=1.0, adding=1.0), np.ones(1))
    kept.add(alike(1000, lost, total=lost, right=lost, adding=lost), np.ones(1000))
    found, missed = kept.on(alike(1, 0.0)), 1000 * lost
    assert (found.values[0] == 2.0).all()  # K and log m(t): nothing of what was added later is there
    assert (found.errors[0] >= missed).all()
    assert found.common[0] >= missed
    assert found.right[0] >= 1.0 + missed
    assert kept.moments(alike(1, 0.0), 1.0)[0] >= 1.0 + missed


def test_the_product_of_a_count_is_rounded_too() -> None:
    """A third, three times, is not one."""
    total = Running()
    total.add(3.0, 0.1)
    assert total.error >= abs(3 * 0.1 - 0.3)
    assert total.above >= 3 * 0.1 >= 0.3
    assert Running().with_one(3.0, 0.1) > 0.3


def test_a_fall_is_never_overstated() -> None:
    """What the product has fallen by is a share of the sum, which its roundings are less than."""
    kept = empty()
    kept.add(alike(1000, 0.0, fall=-0.1), np.ones(1000))
    assert kept.on(alike(1, 0.0)).beyond.bounds[0, 0] >= -100.0


def test_a_kind_of_which_nothing_is_known_is_told() -> None:
    """It needs more nodes than there are classes."""
    kept = empty()
    kept.add(alike(1, 0.0, errors=math.inf), np.ones(1))
    with pytest.raises(NotApplicableError, match="out of reach"):
        kept.on(alike(1, 0.0))


def test_units_are_what_is_added_at_least() -> None:
    """A sum of two numbers that rounds to even errs by half a unit in the last place of the result."""
    total = Running()
    total.add(1.0, 1.0)
    total.add(1.0, UNIT_ROUNDOFF)
    assert total.value == 1.0
    assert total.error >= UNIT_ROUNDOFF
