"""Epochs of random allocation: moments against nested real integrals, answers against a law on a line grid."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.numerics.series_powers import power
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.sampled.allocation import epoch
from hockeystick.pairs.sampled.allocation_decay import AllocationEnvelope
from hockeystick.pairs.sampled.allocation_law import AllocationLaw
from hockeystick.pairs.sampled.allocation_line import AllocationLine
from hockeystick.pairs.sampled.allocation_series import Rows, on_rays
from oracle.allocation import (
    Array,
    ComplexArray,
    grid_laws,
    hockey_stick,
    nested_moments,
    product,
    two_steps,
    whole_moment,
)

V = np.array([-6.0, -3.0, -1.5, -0.8, 0.1, 0.9])
"""Logarithms of r / t on a ray."""

FEW_STEPS = [
    (1.0, 1, 2.0, 1), (1.0, 2, 2.5, 1), (1.0, 2, -1.25, -1), (0.5, 3, 4.0, 1), (2.0, 2, 1.25, 1), (2.0, 3, -0.5, -1),
    (0.5, 2, -6.0, -1), (0.3, 3, 20.0, 1), (2.5, 2, 1.75, 1), (0.1, 2, 9.5, 1), (1.7, 3, -3.0, -1),
]  # fmt: skip
"""Cases (mu, steps, real part of the exponent, sign of its imaginary part)."""


def even(mu: float, steps: int) -> AllocationLaw:
    """An epoch of equally likely steps."""
    return AllocationLaw(mu, Fraction(0), ((Fraction(1, steps), steps),))


def even_pair(mu: float, steps: int, add: bool) -> DominatingPair:
    return epoch(mu, ((Fraction(1, steps), steps),), Fraction(0), add)


def on_a_ray(law: AllocationLaw, n: int, angle: float, v: Array) -> Rows:
    return on_rays(law, n, [(angle, None, v)], 0.69)[0]


def moments(
    mu: float, steps: int, alpha: float, sign: int, tolerance: float, step: float, count: int
) -> tuple[ComplexArray, Array]:
    line = AllocationLine(even(mu, steps), alpha, sign, step * count, tolerance)
    values, errors, top = line.moments(step, count)
    return values * math.exp(top), errors * math.exp(top)


@pytest.mark.parametrize(("mu", "steps", "alpha", "sign"), FEW_STEPS)
def test_moments_of_few_steps(mu: float, steps: int, alpha: float, sign: int) -> None:
    """Both to 1e-13 of the moment on the real axis, and well within the error that is stated."""
    values, errors = moments(mu, steps, alpha, sign, 1e-16, 0.9 / mu, 8)
    truth = nested_moments(mu, steps, alpha + 1j * sign * 0.9 / mu * np.arange(8))
    assert np.abs(values - truth).max() <= 1e-13 * abs(truth[0])
    assert (np.abs(values - truth) <= errors + 3e-14 * abs(truth[0])).all()


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize(("mu", "steps", "alpha", "sign"), FEW_STEPS[:8])
def test_remainders_are_bounded_where_they_matter(
    mu: float, steps: int, alpha: float, sign: int, tolerance: float
) -> None:
    """With few nodes the trapezoid rule and the ends are all that errs, and each is within its bound."""
    values, errors = moments(mu, steps, alpha, sign, tolerance, 0.9 / mu, 8)
    truth = nested_moments(mu, steps, alpha + 1j * sign * 0.9 / mu * np.arange(8))
    assert (np.abs(values - truth) <= errors).all()
    assert errors.max() <= 8 * tolerance * abs(truth[0])


def test_the_ends_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a third of the nodes gone at either end, that is what errs, and the bound on it is kept."""
    from hockeystick.pairs.sampled import allocation_line

    laid = allocation_line.AllocationLine._ended
    truth = nested_moments(1.0, 2, 2.5 + 0.5j * np.arange(4))
    for lower, upper in ((0.5, 0.0), (0.0, 0.5)):

        def fewer(self, low, high, angle, strip, dv, lower=lower, upper=upper):  # type: ignore[no-untyped-def]
            band = laid(self, low, high, angle, strip, dv)
            cut, w = int(lower * band.count), self._w
            first, count = band.first + cut, band.count - cut - int(upper * band.count)
            left = first * dv + math.log(2)  # log R of the first node, two steps an epoch
            right = (first + count) * dv + math.log(2)
            log_lower = self._law.log_whole(self._n) + w * (left - dv) + math.log(dv / -math.expm1(-w * dv))
            eta = 2.0
            log_upper = self._law.log_power_above(self._alpha - eta) - eta * right
            log_upper += (w + eta) * (math.log((w + eta) / math.cos(angle)) - 1) + math.log(dv / -math.expm1(-eta * dv))
            return allocation_line.Band(high, angle, strip, dv, first, count, float(np.logaddexp(log_lower, log_upper)))

        with monkeypatch.context() as patched:
            patched.setattr(allocation_line.AllocationLine, "_ended", fewer)
            values, errors = moments(1.0, 2, 2.5, 1, 1e-16, 0.5, 4)
        assert np.abs(values - truth).max() > 1e-9
        assert (np.abs(values - truth) <= errors).all()


@pytest.mark.parametrize(("name", "value"), [("DEPTH", 4.0), ("REACH", 2.5)])
def test_the_quadrature_in_x_is_charged(monkeypatch: pytest.MonkeyPatch, name: str, value: float) -> None:
    """With a coarse step, or a short range, that is what errs, and the bound on it is kept."""
    from hockeystick.pairs.sampled import allocation_columns

    exact = on_a_ray(even(1.0, 2), 2, 0.9, V)
    first = on_a_ray(even(1.0, 2), 0, 0.9, V)
    monkeypatch.setattr(allocation_columns, name, value)
    for n, rows in ((2, exact), (0, first)):
        coarse = on_a_ray(even(1.0, 2), n, 0.9, V)
        scale = np.exp(coarse.log_scale - rows.log_scale)
        off = np.abs(coarse.value * scale - rows.value)
        assert off.max() > 1e-4
        assert (off <= coarse.error * scale + rows.error).all()


def test_exponents_of_many_digits_are_charged() -> None:
    """The rounding of ``n - alpha`` moves a moment, as a derivative has it."""
    law = even(1.0, 2)
    line = AllocationLine(law, 1 / 3, 1, 1.0, 1e-16)
    assert line._moved(0.0) > 0
    assert AllocationLine(law, 0.25, 1, 1.0, 1e-16)._moved(0.0) == 0
    logs = sum(
        abs(nested_moments(1.0, 2, np.array([1 / 3 + h + 0j]))[0].real) * (-1) ** i for i, h in enumerate((1e-4, -1e-4))
    )
    assert abs(logs) / 2e-4 * line._inexact <= line._moved(0.0)


@pytest.mark.parametrize(("mu", "steps"), [(1.0, 1000), (0.3, 10_000), (2.5, 8), (1.4, 47), (0.7, 3), (2.5, 100_000)])
def test_whole_moments(mu: float, steps: int) -> None:
    """On the real axis, by quadrature and by the upper bounds, against exact sums."""
    law = even(mu, steps)
    for n in range(2, min(law.highest, 12)):
        truth = mp.log(whole_moment(mu, steps, n))
        assert 0 <= law.log_whole(n) - truth <= 1e-9 * (1 + truth)
        table, _ = law.log_moment_above(float(n))
        assert 0 <= table - truth <= 1e-8 * (1 + truth)
        if n < law.highest - 2:
            line = AllocationLine(law, float(n), 1, 0.0, 1e-16)
            values, errors = line.cumulants(1.0, 1)
            assert abs(mp.mpf(values[0].real) - truth) <= errors[0] <= 1e-10


def test_bounds_between_whole_moments() -> None:
    law = even(0.8, 3)
    for alpha in (1.0, 1.3, 2.5, 6.01, 30.5, 200.0):
        truth = math.log(nested_moments(0.8, 3, np.array([alpha + 0j]))[0].real) if alpha < 30 else None
        found, _ = law.log_moment_above(alpha)
        assert found <= 0.32 * alpha * (alpha - 1) * (1 + 1e-9)
        assert truth is None or truth - 1e-12 <= found <= truth + 0.1
    for alpha in (-0.5, -3.0, -20.0):
        truth = math.log(nested_moments(0.8, 3, np.array([alpha + 0j]))[0].real)
        assert truth <= law.log_power_above(alpha)


@pytest.mark.parametrize(("mu", "steps"), [(1.0, 2), (0.4, 3), (2.0, 3)])
def test_the_envelope_bounds_the_fall(mu: float, steps: int) -> None:
    s = np.linspace(0.0, 7.0 / mu, 10)
    for alpha in (-2.0, 3.0):
        sizes = np.abs(nested_moments(mu, steps, alpha + 1j * s))
        assert (sizes / sizes[0] <= np.exp(AllocationEnvelope(even(mu, steps), alpha).log_bound(s)) + 1e-9).all()


def test_powers_of_series() -> None:
    """By the recurrence and by squaring, against exact integers."""
    for steps in (1, 2, 5, 6, 40):
        exact = np.array([math.comb(steps, k) for k in range(7)], dtype=np.float64)
        found = power(np.array([[1.0 + 0j], *([[0j]] * 5)]), steps)[:, 0]
        assert np.allclose(found, exact, rtol=1e-14)


@pytest.mark.parametrize(("mu", "steps", "n", "angle"), [(1.0, 3, 2, 1.2), (2.5, 2, 1, 0.7), (0.3, 50, 4, 1.5)])
def test_transforms_on_a_ray(mu: float, steps: int, n: int, angle: float) -> None:
    """``E Lambda^n e^(-r Lambda)`` against mpmath, from small to large r, within the stated error."""
    v = np.array([-9.0, -2.0, 0.2, 2.0])
    rows = on_a_ray(even(mu, steps), n, angle, v)

    def coefficient(k: int, kappa: mp.mpc) -> mp.mpc:
        def density(x: mp.mpf) -> mp.mpc:
            y = mp.exp(mu * x - mp.mpf(mu) ** 2 / 2)
            return mp.exp(-x * x / 2) * (y / steps) ** k * mp.exp(-kappa * y)

        return mp.quad(density, mp.linspace(-11, 15, 27)) / mp.sqrt(2 * mp.pi) / mp.factorial(k)

    with mp.workdps(18):
        for at in range(len(v)):
            kappa = mp.exp(mp.mpc(v[at], angle))
            a = [coefficient(k, kappa) for k in range(n + 1)]
            total = [a[0] ** steps] + [mp.mpc(0)] * n
            for m in range(1, n + 1):  # Miller's recurrence, for the truth
                total[m] = mp.fsum((k * (steps + 1) - m) * a[k] * total[m - k] for k in range(1, m + 1)) / (m * a[0])
            truth = mp.factorial(n) * total[n] * mp.exp(-rows.log_scale[at] - rows.log_shared)
            assert abs(mp.mpc(rows.value[at]) - truth) <= rows.error[at] + 1e-13, at


REFERENCE = [
    (1.0, 1000, 1, 1e-6, 0.171728684, 0.14943095), (1.0, 1000, 10, 1e-6, 0.540050511, 0.52217222),
    (1.0, 8, 1, 1e-8, 3.71852081, 2.065069326), (0.6, 1000, 10, 1e-5, 2.401774224, 1.28572629),
]  # fmt: skip
"""(noise, steps, epochs, delta, epsilon of removing, epsilon of adding), computed once at two tilts each."""


@pytest.mark.parametrize(("noise", "steps", "epochs", "delta", "remove", "add"), REFERENCE)
def test_reference_values(noise: float, steps: int, epochs: int, delta: float, remove: float, add: float) -> None:
    for added, truth in ((False, remove), (True, add)):
        engine = ContourEngine(Composition([(even_pair(1 / noise, steps, added), epochs)]))
        found = engine.epsilon((math.log(delta), math.log(delta)), None)
        assert found.upper - found.lower <= 1e-6 * found.upper
        assert found.lower - 6e-9 * (1 + truth) <= truth <= found.upper + 6e-9 * (1 + truth)


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(("mu", "steps", "epsilon"), [(0.5, 100, 0.1), (0.5, 12, 0.6), (0.4, 300, 0.02)])
def test_one_epoch_lies_between_laws_on_a_grid(mu: float, steps: int, epsilon: float, added: bool) -> None:
    spread, merged, beyond = grid_laws(mu, steps, 0.02, 2500)
    engine = ContourEngine(Composition([(even_pair(mu, steps, added), 1)]))
    found = engine.log_delta(epsilon, None)
    slack = 2 * math.exp(epsilon) * beyond + 1e-12
    low, high = hockey_stick(*merged, epsilon, added) - slack, hockey_stick(*spread, epsilon, added) + slack
    assert low <= math.exp(found.upper)
    assert math.exp(found.lower) <= high
    assert high - low <= 2e-2 * high
    assert found.upper - found.lower <= 1e-6


@pytest.mark.parametrize("added", [False, True])
def test_two_epochs_lie_between_laws_on_a_grid(added: bool) -> None:
    spread, merged, beyond = grid_laws(0.5, 20, 0.05, 1000)
    engine = ContourEngine(Composition([(even_pair(0.5, 20, added), 2)]))
    for epsilon in (0.1, 0.5):
        found = engine.log_delta(epsilon, None)
        slack = 4 * math.exp(epsilon) * beyond + 1e-10
        low, high = (hockey_stick(*product(*law, 1e-16), epsilon, added) for law in (merged, spread))
        assert low - slack <= math.exp(found.upper)
        assert math.exp(found.lower) <= high + slack
        assert high - low <= 3e-2 * high


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize("mu", [0.3, 0.5, 1.0, 1.7, 2.5])
def test_one_epoch_of_two_steps(mu: float, added: bool) -> None:
    """Against one integral of a closed form, from the bulk to deltas of 1e-9 and less, to 1e-6 of delta."""
    engine = ContourEngine(Composition([(even_pair(mu, 2, added), 1)]))
    for share in (0.1, 0.7, 1.5, 3.0):
        epsilon = share * (mu if not added else 0.5 * min(mu, 1.0)) * (1 + 0.3 * mu)
        truth = two_steps(mu, epsilon, added)
        found = engine.log_delta(epsilon, None)
        assert math.exp(found.lower) <= truth * (1 + 1e-9) + 1e-14, epsilon
        assert truth * (1 - 1e-9) - 1e-14 <= math.exp(found.upper), epsilon
        assert found.upper - found.lower <= 2e-5 or truth < 1e-11, epsilon


def test_total_variation_of_ten_epochs() -> None:
    """Delta at epsilon 0 is 0.10 at noise 1.426215 (Ertan and van Dijk's table), the same from either side."""
    found = [
        ContourEngine(Composition([(even_pair(1 / 1.426215, 100, added), 10)])).log_delta(0.0, None)
        for added in (False, True)
    ]
    for each in found:
        assert math.exp(each.lower) - 1e-7 <= 0.10 <= math.exp(each.upper) + 1e-7
    assert found[0].lower <= found[1].upper
    assert found[1].lower <= found[0].upper


def test_rounds_of_other_kinds_compose_with_epochs() -> None:
    """A Gaussian round beside an epoch costs more than either, and less than both in a row."""
    from hockeystick.pairs import GaussianPair

    epochs, plain = (even_pair(1.0, 50, False), 3), (GaussianPair(0.4), 1)

    def epsilon(*rounds: tuple[object, int]) -> float:
        return ContourEngine(Composition(rounds)).epsilon((math.log(1e-6),) * 2, None).upper  # type: ignore[arg-type]

    both = epsilon(epochs, plain)
    assert max(epsilon(epochs), epsilon(plain)) < both < epsilon(epochs) + epsilon(plain)


@pytest.mark.parametrize(
    ("mu", "n", "angle", "dv"), [(1.25, 6, 1.55, 0.002), (1.25, 3, 1.07, 0.06), (0.4, 9, 0.3, 0.2), (2.5, 0, 1.5, 0.01)]
)
def test_nodes_on_a_lattice_and_apart_agree(mu: float, n: int, angle: float, dv: float) -> None:
    """Sums by tiles, by windows and term by term, at small and at large kappa."""
    from hockeystick.pairs.sampled.allocation_columns import Columns, matched

    step = matched(mu, angle, dv)
    v = step * np.arange(-math.ceil(5 / step), math.ceil(2 / step), dtype=np.float64)
    one, other = Columns(mu, n, angle, step).at(v, 0.69), Columns(mu, n, angle).at(v, 0.69)
    assert (np.abs(one.log_first - other.log_first) <= one.log_error + other.log_error).all()
    assert (np.abs(one.rest - other.rest) <= one.error + other.error).all()
    known = np.exp(v) < 0.5
    assert np.abs(one.log_first - other.log_first)[known].max() <= 1e-14
    assert n == 0 or np.abs(one.rest[0] - other.rest[0])[known].max() <= 1e-14


def test_first_terms_are_known_to_their_own_size() -> None:
    """``log E e^(-kappa Y)`` and ``E Y e^(-kappa Y) - 1`` against mpmath, to some roundings of a small kappa."""
    from hockeystick.pairs.sampled.allocation_columns import Columns

    v, angle = np.array([-9.0, -4.0, -1.0]), 1.5
    found = Columns(0.8, 1, angle).at(v, 0.69)
    with mp.workdps(30):
        for at, place in enumerate(v.tolist()):
            kappa = mp.exp(mp.mpc(place, angle))

            def mean(power: int, kappa: mp.mpc = kappa) -> mp.mpc:
                def density(x: mp.mpf) -> mp.mpc:
                    y = mp.exp(mp.mpf(0.8) * x - mp.mpf(0.8) ** 2 / 2)
                    return mp.npdf(x) * y**power * mp.exp(-kappa * y)

                return mp.quad(density, mp.linspace(-12, 14, 27))

            first, one = mp.log(mean(0)), mean(1)
            assert abs(mp.mpc(found.log_first[at]) - first) <= found.log_error[at] <= 300 * 2**-52 * math.exp(place)
            assert abs(mp.mpc(found.rest[0, at]) - one) <= found.error[0, at] <= 2**-52 * (1000 * math.exp(place) + 2)


def test_phases_are_exact_where_their_numbers_are_short() -> None:
    from hockeystick.numerics.phased_sum import phased_sum

    step, dv = 1365 / 2**10, 9001 / 2**17
    v = dv * np.arange(-300, 500, dtype=np.float64)
    terms = np.exp(-np.square(v)) + 0j
    for stop, exact in ((200, True), (200, False)):
        width = step if exact else 4 / 3
        sums, care = phased_sum(terms, v, dv, width, 17, stop)
        assert (care <= 24 * 2**-53).all() == exact
        for j in (17, 100, 199):
            phases = [mp.expj(mp.mpf(width) * j * mp.mpf(x)) for x in v]
            truth = mp.fsum(term.real * phase for term, phase in zip(terms, phases, strict=True))
            assert abs(sums[j - 17] - truth) <= (care[j - 17] + 1e-13) * float(np.abs(terms).sum())


def test_phases_are_charged_where_their_numbers_are_long() -> None:
    """Far out the rounding of ``s v`` is what errs: within the charge, and beyond that of a sine."""
    from hockeystick.numerics.phased_sum import phased_sum

    dv, step = 1 / 3, 1e9 / 7
    v = dv * np.arange(1, 40, dtype=np.float64)
    terms = np.ones(len(v), dtype=np.complex128)
    sums, care = phased_sum(terms, v, dv, step, 0, 30)
    with mp.workdps(40):
        truth = [mp.fsum(mp.expj(mp.mpf(step) * j * mp.mpf(x)) for x in v.tolist()) for j in range(30)]
    off = np.array([float(abs(mp.mpc(sums[j]) - truth[j])) for j in range(30)])
    assert (off <= (care + 1e-13) * len(v)).all()
    assert off.max() > 1e-11
