"""Every charge of the envelope, where it is made: coarse steps, and ranges that end within the law, are sound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from hockeystick.pairs.sampled.gaussian_envelope import MixtureEnvelope
from hockeystick.pairs.sampled.gaussian_transform import MixtureTransform
from hockeystick.pairs.sampled.mixture_law import Kind
from transform_truths import exact

Number = Any
Array = Any


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workdps(30):
        yield


ENVELOPED = [
    (MixtureTransform.sampled(0.5, 0.1, Kind.REMOVE), 1.0, 0.6),
    (MixtureTransform.sampled(0.5, 0.1, Kind.ADD), 3.0, 0.6),
    (MixtureTransform.sampled(0.5, 0.3, Kind.REPLACE), 2.0, 0.6),
]


def on_constant_shift(law: MixtureTransform, t: float, y: float, s: float) -> float:
    """``B(s) / m(t)`` of the envelope's docstring, for a shift that is the same everywhere."""
    x = np.arange(-14.0, 16.0, 0.01)
    ca, cb = law.kind.coefficients(t)

    def log_g(at: Array) -> Array:
        return np.log(1 - law.rate + law.rate * np.exp(law.mu * at - law.mu**2 / 2))

    u, v = log_g(x).real, log_g(-x).real
    up, down = log_g(x + 1j * y), log_g(-x - 1j * y)
    weight = np.exp(-0.5 * x * x + ca * u + cb * v)
    turned = np.abs(up.imag) + (np.abs(down.imag) if cb else 0.0)
    psi = 0.5 * y * y + ca * (up.real - u) + cb * (down.real - v) - s * turned
    return float((weight * np.exp(psi)).sum() / weight.sum())


def envelope_on(law: MixtureTransform, t: float, dx: float, low: float, nodes: int) -> MixtureEnvelope:
    """With nodes of one's own."""
    envelope = MixtureEnvelope(law, t, 100)
    envelope._dx, envelope._low = dx, low
    envelope._build(low + dx * np.arange(nodes, dtype=np.float64))
    return envelope


def bound_of(envelope: MixtureEnvelope, y: float, s: float, eta: float) -> float:
    remainder = envelope._step_remainder(0.0, y, eta)
    one = np.full((1, 1), y)
    return float(envelope._log_values(one, np.zeros_like(one), np.array([s]), remainder)[0])


@pytest.mark.parametrize(("law", "t", "y"), ENVELOPED)
def test_the_bound_off_the_line_is_no_less_than_its_integral(law: MixtureTransform, t: float, y: float) -> None:
    """With fine nodes it is that, and its roundings; and no less with coarse ones, or few."""
    for s in (8.0, 15.0, 40.0):
        true = math.log(on_constant_shift(law, t, y, s))
        fine = bound_of(envelope_on(law, t, 1 / 16, -13.0, 16 * 27), y, s, 0.5)
        assert min(true, 0.0) <= fine + 1e-12
        assert fine <= true + 1e-6 * abs(true) or true > 0
        for place in (0.0, 0.25, 0.5, 0.75):
            rough = envelope_on(law, t, 2.5, -15.0 + 2.5 * place, 13)
            assert min(true, 0.0) <= bound_of(rough, y, s, 1.0 if law.kind is Kind.REMOVE else 0.6) + 1e-12
        for low, nodes in ((-0.5, 16 * 15), (0.5, 16 * 15), (-13.0, int(16 * 14.5))):
            assert min(true, 0.0) <= bound_of(envelope_on(law, t, 1 / 16, low, nodes), y, s, 0.5) + 1e-12


@pytest.mark.parametrize("s", [9.0, 10.5, 12.0, 17.0, 21.0])
def test_the_bound_off_the_line_charges_its_roundings(s: float) -> None:
    """At the farthest shift at which anything is gained: what is gained and lost cancels there to the last digit."""
    law, t = MixtureTransform.sampled(0.5, 0.1, Kind.REMOVE), 1.0
    envelope = envelope_on(law, t, 1 / 16, -13.0, 16 * 27)
    low, high = 0.01, 3.0
    assert bound_of(envelope, low, s, 1.5) < 0 == bound_of(envelope, high, s, 1.5)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if bound_of(envelope, middle, s, 1.5) < 0 else (low, middle)
    above = below = mpf(0)
    mu, q = exact(law.mu), exact(law.rate)
    for at in (envelope._low + envelope._dx * np.arange(16 * 27)).tolist():
        g = 1 - q + q * mp.exp(mu * mpf(at) - mu * mu / 2)
        turned = 1 - q + q * mp.exp(mu * (mpf(at) + 1j * mpf(low)) - mu * mu / 2)
        weight = mp.npdf(mpf(at)) * g**2
        below += weight
        above += weight * mp.exp(mpf(low) ** 2 / 2 + 2 * mp.log(abs(turned) / g) - s * mp.arg(turned))
    assert mp.log(above / below) <= bound_of(envelope, low, s, 1.5)


def test_where_the_moment_itself_is_not_known_nothing_relative_to_it_is() -> None:
    """At a rate next to 1 and a large tilt the care of the nodes is more than their weight."""
    envelope = MixtureEnvelope(MixtureTransform.sampled(0.01, 1 - 2.0**-53, Kind.ADD), 326366.7, 2)
    assert envelope._slip > 1
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
    assert float(MixtureEnvelope(law, t, 100).log_bound(np.array([s]))[0]) >= truth
