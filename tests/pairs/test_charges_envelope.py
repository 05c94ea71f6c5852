"""Every charge of the envelope, where it is made: paths off the line, and boxes on coarse pieces, are sound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from hockeystick.pairs.sampled.gaussian_envelope import MixtureEnvelope, boxes
from hockeystick.pairs.sampled.gaussian_panels import Panels, polar
from hockeystick.pairs.sampled.gaussian_transform import MixtureTransform
from hockeystick.pairs.sampled.mixture_law import Kind, Nodes

Number = Any
Array = Any


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workdps(30):
        yield


LAWS = [
    (MixtureTransform.sampled(0.5, 0.1, Kind.REMOVE), 1.0),
    (MixtureTransform.sampled(0.5, 0.1, Kind.ADD), 3.0),
    (MixtureTransform.sampled(0.5, 0.3, Kind.REPLACE), 2.0),
    (MixtureTransform((0.3, 1.4), (0.5, 0.1), 0.4, Kind.REMOVE), 4.0),
    (MixtureTransform((0.3, 1.4), (0.5, 0.1), 0.4, Kind.REPLACE), 0.5),
    (MixtureTransform((0.3, 1.4), (0.5, 0.5), 0.0, Kind.ADD), 6.0),
]


def log_g(law: MixtureTransform, x: Array) -> Array:
    terms = zip((0.0, *law.shifts), (law.rest, *law.weights), strict=True)
    return np.log(sum(p * np.exp(mu * x - mu**2 / 2) for mu, p in terms))


def on_fine_nodes(law: MixtureTransform, t: float, s: float) -> tuple[float, float]:
    """The modulus of m(t + is), and m(t), by a trapezoid rule in doubles."""
    x = np.arange(-16.0, 24.0, 1 / 256)
    (ca, cb), (slope_u, slope_v) = law.kind.coefficients(t), law.kind.slopes
    u, v = log_g(law, x), log_g(law, -x)
    weight = np.exp(-0.5 * x * x + ca * u + cb * v) / (256 * math.sqrt(2 * math.pi))
    return abs(complex((weight * np.exp(1j * s * (slope_u * u + slope_v * v))).sum())), float(weight.sum())


def test_the_ratio_off_the_line() -> None:
    """In logarithms and angles, also where its terms are beyond the range of a double."""
    for law, _ in [*LAWS, (MixtureTransform((2.0, 50.0), (1e-9, 1e-7), 0.9, Kind.ADD), 1.0)]:
        y = np.array([0.0, 0.3, 1.0]) * 0.5 * math.pi / law.mu
        x = np.array([-40.0, -1.0, 0.0, 2.0, 60.0])
        size, angle = polar(law, x, y)
        for i, j in np.ndindex(size.shape):
            z = mp.mpc(float(x[i]), float(y[j]))
            terms = zip((0.0, *law.shifts), (law.rest, *law.weights), strict=True)
            g = mp.fsum(mpf(p) * mp.exp(mpf(mu) * z - mpf(mu) ** 2 / 2) for mu, p in terms)
            assert abs(size[i, j] - mp.log(abs(g))) <= 1e-12 * (1 + abs(size[i, j]))
            assert abs(angle[i, j] - mp.arg(g)) <= 1e-12 * angle[i, j] + 1e-300


@pytest.mark.parametrize(("law", "t"), LAWS)
@pytest.mark.parametrize("edges", [400, 40, 12])
@pytest.mark.parametrize(("low", "high"), [(-12.0, 20.0), (-2.0, 20.0), (-12.0, 3.0)])
def test_a_path_is_no_less_than_the_moment(
    law: MixtureTransform, t: float, edges: int, low: float, high: float
) -> None:
    """On few panels, and on a range that ends within the law, as well."""
    heights = np.linspace(0.0, 0.5 * math.pi / law.mu, 9)
    panels = Panels(law, t, np.linspace(low, high, edges), heights)
    for s in (0.0, 1.0, 6.0, 20.0):
        assert math.log(on_fine_nodes(law, t, s)[0]) <= panels.log_moved(s) + 1e-9


@pytest.mark.parametrize(("law", "t"), LAWS)
def test_a_path_follows_the_moment_far_down(law: MixtureTransform, t: float) -> None:
    heights = np.concatenate([[0.0], np.geomspace(0.02, 1.0, 40)]) * min(0.5 * math.pi / law.mu, 3.0)
    panels = Panels(law, t, np.linspace(-9.0, 16.0, 1000), heights)
    for s in (1.0, 4.0):
        true, still = on_fine_nodes(law, t, s)
        moved = panels.log_moved(s) - math.log(still)
        assert moved <= 0.5 * math.log(true / still) + 0.1


@pytest.mark.parametrize(("law", "t"), LAWS)
@pytest.mark.parametrize("pieces", [2000, 60, 9])
def test_boxes_on_coarse_pieces_lie_below_the_density(law: MixtureTransform, t: float, pieces: int) -> None:
    x = np.linspace(*law.range_for(t, 0.0, 1e-17), pieces + 1)
    still = math.log(on_fine_nodes(law, t, 0.0)[1])
    found = boxes(Nodes(law, x, t), x, still)
    assert 0 < found.area.sum() < 1
    for s in (0.3, 2.0, 9.0):
        true = math.log(on_fine_nodes(law, t, s)[0]) - still
        assert true <= found.log_bound(np.array([s]))[0] <= 0
        if pieces == 2000:
            assert found.log_bound(np.array([s]))[0] <= 0.2 * max(true, -3.0)


def test_the_density_bends_between_outcomes() -> None:
    """It falls between two peaks, where a box on one piece from one to the other lies below it as well."""
    law, t, x = MixtureTransform.sampled(3.0, 0.01, Kind.REMOVE), 1.2, np.array([0.0, 6.6])
    still = on_fine_nodes(law, t, 0.0)[1]
    found = boxes(Nodes(law, x, t), x, math.log(still))
    height = found.area[0] / (2 * found.half[0])
    between = np.linspace(0.0, 6.6, 67)
    slope = 3.0 * 0.01 * np.exp(3.0 * between - 4.5 - log_g(law, between))
    density = np.exp((1 + t) * log_g(law, between) - 0.5 * between**2) / (math.sqrt(2 * math.pi) * slope * still)
    assert 0 < height <= density.min()


def test_where_the_moment_itself_is_not_known_nothing_relative_to_it_is() -> None:
    """At a rate next to 1 and a large tilt the care of the nodes is more than their weight."""
    law, t = MixtureTransform.sampled(0.01, 1 - 2.0**-53, Kind.ADD), 326366.7
    envelope = law.envelope(t, 2)
    assert isinstance(envelope, MixtureEnvelope)
    assert (envelope.log_bound(np.array([208.0, 300.0, 417.0])) == 0).all()


@pytest.mark.parametrize("s", [0.35, 0.5, 1.0])
def test_of_several_terms_in_both_directions_the_shift_is_charged_no_less_than_its_slope(s: float) -> None:
    shifts, weights, t = (0.1, 0.6), (0.6, 0.395), 0.05
    law = MixtureTransform(shifts, weights, 1 - math.fsum(weights), Kind.REPLACE)
    x = np.arange(-14.0, 14.0, 0.01)

    def log_g(at: Array) -> Array:
        return np.log(law.rest + sum(p * np.exp(mu * at - mu**2 / 2) for mu, p in zip(shifts, weights, strict=True)))

    weight = np.exp(-0.5 * x * x + (1 + t) * log_g(x) - t * log_g(-x))
    turned = np.exp(1j * s * (log_g(x) - log_g(-x)))
    truth = math.log(abs(complex((weight * turned).sum())) / float(weight.sum()))
    assert float(law.envelope(t, 100).log_bound(np.array([s]))[0]) >= truth
