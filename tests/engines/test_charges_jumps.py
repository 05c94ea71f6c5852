"""Every charge of jumps apart from their core, and of the envelope, where it is made.

Wide panels, coarse steps and ranges that end within the law: any of them is sound, and each charge is all that counts
somewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from hockeystick.pairs.sampled import gaussian_jumps
from hockeystick.pairs.sampled.gaussian_envelope import MixtureEnvelope
from hockeystick.pairs.sampled.gaussian_jumps import JumpLine, Split, log_core, log_jump_bound, on_lattice
from hockeystick.pairs.sampled.gaussian_law import Kind, MixtureLaw
from hockeystick.pairs.sampled.gaussian_transform import MixtureTransform
from transform_truths import exact

Number = Any
Array = Any


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    with mpmath.workdps(30):
        yield


# Jumps ----------------------------------------------------------------------------------------------------------------


def part(law: MixtureLaw, split: Split, z: Number, sign: int) -> Number:
    """J(z), or C(z) with sign -1, by a trapezoid rule so fine that its error is below 1e-20."""
    mu, q, z = exact(law.mu), exact(law.rate), mp.mpc(z)
    dx = mpf(split.width) / 12
    first, last = int(-13 / dx), int((split.centre + 13 + 3 * law.mu) / dx)

    def weight(x: Number) -> Number:
        ratio = mp.log(1 - q + q * mp.exp(mu * x - mu * mu / 2))
        return mp.npdf(x) * mp.exp((1 + z) * ratio) * mp.ncdf(sign * (x - split.centre) / split.width)

    return dx * mp.fsum(weight(i * dx) for i in range(first, last))


JUMPY, CUT = MixtureLaw(2.0, 2e-2, Kind.REMOVE), Split(2.0, 0.5)


@pytest.mark.parametrize("shift", [0.0, 0.25, 0.5, 0.75])
def test_a_bound_on_the_core_charges_a_coarse_step(monkeypatch: pytest.MonkeyPatch, shift: float) -> None:
    """On a long range; half way between its nodes the rule misses what it may miss."""
    true, step, lattice = mp.log(part(JUMPY, CUT, 0.5, -1).real), 1.0, on_lattice
    given = iter((step, -12.0 + shift * step))
    monkeypatch.setattr(gaussian_jumps, "on_lattice", lambda x: lattice(next(given)))
    monkeypatch.setattr(gaussian_jumps, "CORE_DEPTH", 4.0)
    assert true <= log_core(JUMPY, CUT, 0.5, 1) < math.inf


def test_a_bound_on_the_core_charges_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fine step on a range that ends within the law."""
    true = mp.log(part(JUMPY, CUT, 0.5, -1).real)
    lattice = on_lattice
    # the first of the two numbers that are put on the lattice is the step, the second the lower end
    for low, around in ((-0.5, 10.0), (-12.0, 0.3)):
        given = iter((1 / 64, low))
        monkeypatch.setattr(gaussian_jumps, "on_lattice", lambda x, given=given: lattice(next(given)))
        monkeypatch.setattr(gaussian_jumps, "AROUND", around)
        assert true <= log_core(JUMPY, CUT, 0.5, 1) < math.inf


@pytest.mark.share(2)
@pytest.mark.parametrize("centre", [1.0, 2.0, 3.0, 4.0, 5.0])
def test_a_bound_on_the_core_charges_its_roundings(monkeypatch: pytest.MonkeyPatch, centre: float) -> None:
    monkeypatch.setattr(gaussian_jumps, "CORE_DEPTH", 55.0)
    for y in (0.1, 0.7, 20.0):
        split = Split(centre, 0.5)
        true = mp.log(part(JUMPY, split, y, -1).real)
        assert true <= log_core(JUMPY, split, y, 1) <= true + mpf(10) ** -11


@pytest.mark.parametrize("s", [0.0, 2.0, 6.0])
def test_a_bound_on_the_jumps_by_wide_panels(monkeypatch: pytest.MonkeyPatch, s: float) -> None:
    """Each panel by its larger end; the shift costs what it costs."""
    true = mp.log(abs(part(JUMPY, CUT, mp.mpc(1.5, s), 1)))
    for fine, wide, below, high in (
        (0.05, 0.01, 15.0, 16.0),
        (2.0, 1.0, 15.0, 16.0),
        (0.1, 0.05, 0.0, 16.0),
        (0.05, 0.02, 15.0, 5.5),
    ):
        monkeypatch.setattr(gaussian_jumps, "FINE", fine)
        monkeypatch.setattr(gaussian_jumps, "COARSE", wide)
        monkeypatch.setattr(gaussian_jumps, "BELOW", below)
        for shift in (1e-3, 0.1, 0.5):
            assert true <= log_jump_bound(JUMPY, CUT, 1.5, shift, high, np.array([s]))[0]


def test_a_bound_on_the_jumps_takes_the_larger_density(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing else changes along a panel: to the left of 0 at its upper end, to the right at its lower one."""
    monkeypatch.setattr(gaussian_jumps, "COARSE", 0.3)
    law = MixtureLaw(0.3, 0.02, Kind.REMOVE)
    for centre in (-3.0, 0.5):
        split = Split(centre, 0.0625)
        true = mp.log(part(law, split, 0.1, 1).real)
        assert true <= log_jump_bound(law, split, 0.1, 1e-3, 12.0, np.array([0.0]))[0]


def jump_line(dx: float, low: float, nodes: int) -> JumpLine:
    line = JumpLine(JUMPY, CUT, 1.5, 3.0, 1e-20, 16.0)
    line._dx, line._low, line._nodes = dx, low, nodes
    return line


@pytest.mark.parametrize("place", [0.0, 0.25, 0.5, 0.75])
def test_jumps_on_a_line_charge_a_coarse_step(place: float) -> None:
    dx = 1.0
    line = jump_line(dx, -10.0 + place * dx, 40)
    line._a = 1.3
    values, errors = line.values(3.0, 2) or (None, None)
    assert values is not None
    assert errors is not None
    for j in (0, 1):
        assert abs(mp.mpc(complex(values[j])) - part(JUMPY, CUT, mp.mpc(1.5, 3.0 * j), 1)) <= errors[j] < 20


@pytest.mark.parametrize(("low", "nodes"), [(1.5, 64 * 15), (2.5, 64 * 15), (-8.0, int(64 * 13.6))])
def test_jumps_on_a_line_charge_both_ends(low: float, nodes: int) -> None:
    values, errors = jump_line(1 / 64, low, nodes).values(3.0, 2) or (None, None)
    assert values is not None
    assert errors is not None
    for j in (0, 1):
        assert abs(mp.mpc(complex(values[j])) - part(JUMPY, CUT, mp.mpc(1.5, 3.0 * j), 1)) <= errors[j] < 2


def test_jumps_on_a_line_charge_their_roundings() -> None:
    """Nothing else is left; far up the line those of the loss."""
    for law in (JUMPY, MixtureLaw(2.3, 0.9999, Kind.REMOVE)):
        line = JumpLine(law, CUT, 1.5, 30.0, 1e-25, 22.0)
        values, errors = line.values(30.0, 2) or (None, None)
        assert values is not None
        assert errors is not None
        for j in (0, 1):
            assert abs(mp.mpc(complex(values[j])) - part(law, CUT, mp.mpc(1.5, 30.0 * j), 1)) <= errors[j]


def test_the_cut_and_its_rounding() -> None:
    """Above and below the centre, on either side of it."""
    split = Split(1.5, 0.0625)
    x = np.arange(-1.0, 4.0, 0.015625)
    for sign in (1, -1):
        log, care = split.log_jump(x, sign), split.care(x, sign)
        for at, value, allowed in zip(x.tolist(), log.tolist(), care.tolist(), strict=True):
            true = mp.log(mp.ncdf(sign * (mpf(at) - mpf(1.5)) / mpf(0.0625)))
            assert abs(mp.expm1(mpf(value) - true)) <= allowed


# The envelope ---------------------------------------------------------------------------------------------------------

ENVELOPED = [
    (MixtureTransform(0.5, 0.1, Kind.REMOVE), 1.0, 0.6),
    (MixtureTransform(0.5, 0.1, Kind.ADD), 3.0, 0.6),
    (MixtureTransform(0.5, 0.3, Kind.REPLACE), 2.0, 0.6),
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
    return float(envelope._log_values(one, np.zeros_like(one), np.array([s]), remainder)[0][0])


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
    law, t = MixtureTransform(0.5, 0.1, Kind.REMOVE), 1.0
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
    envelope = MixtureEnvelope(MixtureTransform(0.01, 1 - 2.0**-53, Kind.ADD), 326366.7, 2)
    assert envelope._slip > 1
    assert (envelope.log_bound(np.array([208.0, 300.0, 417.0])) == 0).all()
