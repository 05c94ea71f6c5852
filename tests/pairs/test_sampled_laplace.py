"""The characteristic function of sampled Laplace noise: values, bounds on its fall, and delta between the atoms.

Truths are integrals in mpmath with the decimals that the parameters print as; they share nothing with the library.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from hockeystick.pairs import LaplacePair
from hockeystick.pairs.laplace_window import WindowPair
from hockeystick.pairs.sampled import laplace_law
from hockeystick.pairs.sampled.laplace_law import LaplaceNodes
from hockeystick.pairs.sampled.laplace_line import (
    SampledLaplaceLine,
    SampledLaplaceTransform,
)
from hockeystick.pairs.sampled.poisson import mixed_loss
from oracle.real import gauss_legendre
from transform_truths import exact, off_by

Number = Any
Array = npt.NDArray[np.float64]


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workdps(30):
        yield


def transform(theta: float, rate: float, *, add: bool) -> SampledLaplaceTransform:
    return LaplacePair(theta, 1.0).sampled_transform(rate, add)


def smooth(theta: float, rate: float, z: Any, *, add: bool, low: Any = None) -> Any:
    """What is between the atoms, above ``low``, by integration over the loss before sampling."""
    th, q = exact(theta), exact(rate)
    start = -th if low is None else mpf(low)
    power = -z if add else 1 + z
    turns = abs(mp.mpc(z).imag) * (mp.log(1 - q + q * mp.exp(th)) - mp.log(1 - q + q * mp.exp(-th)))
    pieces = 6 + int(turns / 6) + int(theta) + int(abs(mp.mpc(power).real) * theta / 10 * min(1, 4 * rate))

    def value(loss: Any) -> Any:
        return mp.exp(-(loss + th) / 2) / 4 * mp.exp(power * mp.log(1 - q + q * mp.exp(loss)))

    edges = mp.linspace(start, th, pieces + 1)
    rule = gauss_legendre(24, mp.prec)  # on pieces that are short beside the distance of the singularities
    half = (edges[1] - edges[0]) / 2
    return half * mp.fsum(w * value(a + half * (1 + x)) for a in edges[:-1] for x, w in rule)


def moment(theta: float, rate: float, z: Any, *, add: bool) -> Any:
    """m(z): both atoms and what is between them."""
    th, q = exact(theta), exact(rate)
    power = -z if add else 1 + z
    low, high = (mp.exp(power * mp.log(1 - q + q * mp.exp(side * th))) for side in (-1, 1))
    return low / 2 + mp.exp(-th) * high / 2 + smooth(theta, rate, z, add=add)


CASES = [
    (1.0, 0.01, 2.0, 10.0),
    (1.0, 0.01, 20.0, 300.0),
    (20.0, 1e-3, 0.5, 5.0),
    (0.02, 0.5, 30.0, 300.0),
    (5.0, 0.99, 3.0, 20.0),
    (1.0, 1e-6, 1e4, 1e5),
    (3.0, 0.3, 400.0, 50.0),
]


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(("theta", "rate", "t", "reach"), CASES)
def test_values_on_a_line(theta: float, rate: float, t: float, reach: float, add: bool) -> None:
    """Each is within its own bound, and the bound is small; K(t) is below its upper bound."""
    law = transform(theta, rate, add=add)
    values, errors = law.line(t, reach, 1e-16).cumulants(reach / 8, 9)
    for j in (0, 3, 8):
        true = moment(theta, rate, mp.mpc(t, mpf(reach) / 8 * j), add=add)
        assert off_by(values[j], errors[j], true) <= 1
    assert float(errors.max()) < 1e-10
    true = float(mp.log(moment(theta, rate, mpf(t), add=add)))
    assert true * (1 - 1e-13) <= law.upper(t, 0.0) <= true + 1e-10 * (1 + true)


@settings(max_examples=25, deadline=None)
@given(
    log_theta=st.floats(math.log(0.02), math.log(20.0)),
    log_rate=st.floats(math.log(1e-6), math.log(0.99)),
    turns=st.floats(0.0, 30.0),
    depth=st.floats(0.01, 3.0),
    add=st.booleans(),
)
def test_values_of_any_round(log_theta: float, log_rate: float, turns: float, depth: float, add: bool) -> None:
    """Over scales from 0.05 to 50 and rates from 1e-6 to 0.99, at tilts that make K a few units."""
    theta, rate = float(f"{math.exp(log_theta):.6g}"), float(f"{math.exp(log_rate):.6g}")
    law = transform(theta, rate, add=add)
    u = mixed_loss(np.array([-theta, theta]), law.rate)
    t, s = depth / float(np.abs(u).max()), turns / float(u[1] - u[0])
    values, errors = law.line(t, s, 1e-16).cumulants(s or 1.0, 2)
    for j in range(2 if s else 1):
        assert off_by(values[j], errors[j], moment(theta, rate, mp.mpc(t, mpf(s) * j), add=add)) <= 1
    assert float(errors.max()) < 1e-10


@pytest.mark.parametrize("add", [False, True])
def test_values_of_truncated_noise(add: bool) -> None:
    """Mass that only the law without the record has is an atom at ``log(1 - q)``; the other one is infinite loss."""
    pair = WindowPair.truncated_laplace(Fraction(1), Fraction(3), Fraction(1))
    values, errors = pair.sampled_transform(0.2, add).line(1.5, 4.0, 1e-16).cumulants(4.0, 2)
    q, z0 = mpf("0.2"), 2 * (1 - mp.exp(-3))
    for j in range(2):
        power = (-1 if add else 1) * mp.mpc(1.5, 4.0 * j) + (0 if add else 1)

        def density(x: Any) -> Any:
            return mp.exp(-abs(x)) / z0

        def value(x: Any, power: Any = power) -> Any:
            with_record = density(x - 1) if x >= -2 else mpf(0)
            return density(x) * mp.exp(power * mp.log(1 - q + q * with_record / density(x)))

        true = mp.quad(value, [-3, -2]) + mp.quad(value, [-2, 0, 0.5, 1, 3])
        assert off_by(values[j], errors[j], true) <= 1


# Charges --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(
    ("theta", "rate"), [(0.3, 0.1), (33.3, 0.01), (5.1, 0.9999), (0.7, 1.7e-7), (17.7, 0.92), (20.0, 0.99999999)]
)
def test_roundings_at_a_node(theta: float, rate: float, add: bool) -> None:
    """Of weight and loss, with the true rate and theta; the nodes are where the true panels have theirs."""
    law = transform(theta, rate, add=add)
    edges = law.panels(3.0, 0.0, 1.0)
    assert edges is not None
    nodes = LaplaceNodes(law, edges, 3.0)
    from numpy.polynomial.legendre import leggauss

    x, w = leggauss(16)
    th, q = exact(theta), exact(rate)
    for panel in range(0, len(edges) - 1, max(1, len(edges) // 7)):
        b, half = (mpf(edges[panel]) + mpf(edges[panel + 1])) / 2, (mpf(edges[panel + 1]) - mpf(edges[panel])) / 2
        for i in (0, 5, 15):
            at = (b + half * mpf(x[i])) * th / mpf(theta)
            u = mp.log(1 - q + q * mp.exp(at))
            j = 16 * panel + i
            assert abs(mpf(float(nodes.loss[j])) - (-u if add else u)) <= nodes.slip[j]
            true = mp.log(half * mpf(w[i]) * th / mpf(theta) / 4) - (at + th) / 2
            assert abs(mpf(float(nodes.log_weight[j])) - true) <= nodes.care[j]
            power = mpf(law.power(3.0))
            assert abs(mpf(float(nodes.exponent[j])) - power * u) <= nodes.doubt[j]
    for j, at in ((-2, -th), (-1, th)):
        u = mp.log(1 - q + q * mp.exp(at))
        assert abs(mpf(float(nodes.loss[j])) - (-u if add else u)) <= nodes.slip[j]


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(
    ("theta", "rate", "t", "s"), [(40.0, 0.3, 2.0, 8.0), (40.0, 0.3, 0.5, 40.0), (9.0, 1e-4, 1.0, 90.0)]
)
@pytest.mark.share(3)
def test_the_rule_errs_less_than_its_remainder(
    theta: float, rate: float, t: float, s: float, add: bool, moved: bool
) -> None:
    """Any panels are sound: here a few wide ones, on which the rule is far from exact."""
    law = transform(theta, rate, add=add)
    for panels in (6, 12, 24):
        edges = np.linspace(-theta, theta, panels + 1)
        at = LaplaceNodes(law, edges, t)
        between = slice(0, 16 * panels)
        turned = np.exp(at.log_weight + at.exponent + 1j * s * at.loss)[between]
        still = np.exp(at.log_weight)[between] if moved else 0.0
        rule = complex((turned - still).sum())
        true = smooth(theta, rate, mp.mpc(t, s), add=add)
        if moved:
            th = exact(theta)
            true -= (1 - mp.exp(-th)) / 2
        bound = law.log_remainder(edges, t, s, moved=moved)
        assert float(mp.log(abs(true - rule) + mpf(10) ** -290)) <= max(bound, -30.0)


def test_what_hardly_moves_hardly_errs() -> None:
    """At a rate of 1e-9 the remainder of ``m - 1`` is that much smaller than the one of m."""
    law = transform(1.0, 1e-9, add=False)
    edges = np.linspace(-1.0, 1.0, 3)
    moved, plain = (law.log_remainder(edges, 1.0, 1.0, moved=each) for each in (True, False))
    assert moved < plain - 15
    line = SampledLaplaceLine(law, 1.0, 1.0, 1e-16)
    value, error = line.cumulants(1.0, 2)
    assert float(error[0]) < 1e-4 * float(value[0].real)


@pytest.mark.parametrize("add", [False, True])
def test_remainder_and_roundings_are_charged_to_a_line(add: bool) -> None:
    """Each charge alone is what it says: the others are set to nothing, and the rest of the error is the sum's."""
    law = transform(2.0, 0.3, add=add)

    def error(**changed: object) -> Any:
        line = SampledLaplaceLine(law, 0.5, 40.0, 1e-16)
        line.cumulants(20.0, 3)
        for name in ("_still", "_slope", "remainder"):
            assert getattr(line, name) > 0
            setattr(line, name, 0.0)
        assert min(line._turning) > 0
        line._turning = 0.0, 0.0
        for name, value in changed.items():
            setattr(line, name, value)
        return line.cumulants(20.0, 3)[1]

    none = error()
    for name in ("_still", "remainder"):
        assert (error(**{name: 1e-6}) - none > 0.5e-6).all()
    slope = error(_slope=1e-8) - none
    assert slope[0] < 1e-12
    assert (slope[1:] > np.array([1e-7, 2e-7])).all()
    turning = error(_turning=(1e-8, 3e-7)) - none
    assert turning[0] < 1e-12
    assert (turning[1:] > np.array([1e-7, 1.5e-7])).all()


# Fall -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(
    ("theta", "rate", "t"), [(1.0, 0.01, 15.0), (5.0, 0.3, 0.7), (0.1, 0.9, 3.0), (12.0, 1e-3, 0.3), (0.5, 0.31, 300.0)]
)
def test_no_value_is_above_the_boxes(theta: float, rate: float, t: float, add: bool) -> None:
    """At heights of all sizes, in phase with the atoms too; and many rounds fall off enough."""
    law = transform(theta, rate, add=add)
    u = mixed_loss(np.array([-theta, theta]), law.rate)
    edges = np.geomspace(1e-3, 1e4, 180) / float(u[1] - u[0])
    bounds = law.envelope(t, 50).log_bound(edges)
    assert (np.diff(bounds) <= 1e-15).all()
    heights = edges[::9]
    values = np.array([law.line(t, float(s), 1e-13).cumulants(float(s), 2)[0].real for s in heights])
    fall = values[:, 1] - values[:, 0]
    assert (fall <= bounds[::9] + 1e-11).all()
    assert 10**6 * float(bounds[-1]) < -40


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("cells", [8, laplace_law.CELLS])
@pytest.mark.parametrize(("theta", "rate", "t"), [(6.0, 0.02, 3.0), (5.0, 0.3, 0.7), (0.1, 0.9, 300.0)])
def test_cells_lie_below_the_density(
    theta: float, rate: float, t: float, cells: int, add: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between losses, where it may be below both ends; and nearly all of the smooth part is in many of them."""
    monkeypatch.setattr(laplace_law, "CELLS", cells)
    monkeypatch.setattr(laplace_law, "FINE", 0.0)
    law = transform(theta, rate, add=add)
    m, q, th = moment(theta, rate, mpf(t), add=add), exact(rate), exact(theta)
    height, length = law.cells(t, float(mp.log(m)) + 1e-12)
    edges = law.graded(t, cells)
    assert edges is not None

    def density(loss: Any) -> Any:
        g = 1 - q + q * mp.exp(loss)
        return mp.exp(-(loss + th) / 2) / 4 * g ** (1 - t if add else 2 + t) / (q * mp.exp(loss) * m)

    for j in range(0, len(height), 1 + len(height) // 40):
        inside = [mpf(edges[j]) + part * (mpf(edges[j + 1]) - mpf(edges[j])) / 8 for part in range(9)]
        assert all(height[j] <= density(loss) for loss in inside)
        low, high = (mp.log(1 - q + q * mp.exp(loss)) for loss in (inside[0], inside[-1]))
        assert length[j] <= high - low
    whole = smooth(theta, rate, mpf(t), add=add) / m
    assert (0.9 * whole if cells > 8 else 0) < float(height @ length) <= whole
