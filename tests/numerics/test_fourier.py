"""Convolution powers against exact arithmetic: the error law at the head of numerics/fourier.py."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
import scipy.fft

from hockeystick.numerics.fourier import ConvolutionPower, convolution_power, fast_length, transform_error
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]
Vectors = list[tuple[Array, int]]


def exact_power(vectors: Vectors, n: int) -> list[Fraction]:
    """The n-periodic convolution of the vectors' powers, in whole numbers over a power of two."""
    product, bits = [1] + [0] * (n - 1), 0
    for x, k in vectors:
        scale = max(Fraction(value).denominator for value in x.tolist()).bit_length() - 1
        base = [0] * n
        for i, value in enumerate(x.tolist()):
            base[i % n] += int(Fraction(value) * 2**scale)
        power = [1] + [0] * (n - 1)
        for digit in f"{k:b}":
            power = circular(power, power)
            if digit == "1":
                power = circular(power, base)
        product = circular(product, power)
        bits += k * scale
    return [Fraction(value, 2**bits) for value in product]


def circular(a: list[int], b: list[int]) -> list[int]:
    n = len(a)
    out = [0] * n
    for i, x in enumerate(a):
        if x:
            for j, y in enumerate(b):
                out[(i + j) % n] += x * y
    return out


def log_of(x: Fraction) -> Any:
    return mpmath.log(mpmath.mpf(x.numerator)) - mpmath.log(mpmath.mpf(x.denominator))


def check(found: ConvolutionPower, vectors: Vectors, n: int) -> float:
    """Assert every statement of the error law; the largest error found, in units of the bound."""
    exact = exact_power(vectors, n)
    with mpmath.workdps(50):
        log_total = mpmath.fsum(k * log_of(sum(map(Fraction, x.tolist()), Fraction(0))) for x, k in vectors)
        assert abs(log_total - found.log_scale) <= found.scale_error
        unit = mpmath.exp(-mpmath.mpf(found.log_scale))
        worst = 0.0
        for p, value in enumerate(found.values.tolist()):
            entry = exact[(found.origin + p) % n]
            true = mpmath.mpf(entry.numerator) / mpmath.mpf(entry.denominator) * unit
            allowed = found.error + true * mpmath.expm1(mpmath.mpf(found.scale_error))
            distance = abs(value - true)
            assert distance <= allowed, (p, value, float(true), found.error)
            worst = max(worst, float(distance / allowed))
    return worst


def vector(random: np.random.Generator, kind: str, length: int) -> Array:
    x: Array
    if kind == "even":
        x = random.uniform(0.5, 1.0, length)
    elif kind == "wide":
        x = 10.0 ** random.uniform(-18.0, 0.0, length)
    elif kind == "gaps":
        x = random.uniform(0.0, 1.0, length) * random.integers(0, 2, length)
        x[random.integers(length)] = 1.0
    else:  # heavy: next to nothing outside the mode
        x = 10.0 ** random.uniform(-9.0, -6.0, length)
        x[random.integers(length)] = 1.0
    return x / x.sum() if random.uniform() < 0.5 else x * random.uniform(0.1, 10.0)


@pytest.mark.parametrize("kind", ["even", "wide", "gaps", "heavy"])
@pytest.mark.parametrize("n", [16, 27, 60], ids="period {}".format)
def test_one_vector_to_a_power(kind: str, n: int) -> None:
    """``values`` errs by ``error`` in each entry and ``log_scale`` by ``scale_error``; long vectors are folded."""
    random = np.random.default_rng([n, len(kind)])
    for k in (1, 2, 3, 7, 20, 50):
        vectors = [(vector(random, kind, int(random.integers(2, 2 * n))), k)]
        check(convolution_power(vectors, n), vectors, n)


@pytest.mark.parametrize("n", [16, 45], ids="period {}".format)
def test_several_vectors(n: int) -> None:
    """A product of powers: the relative errors of the factors add up."""
    random = np.random.default_rng(n)
    for _ in range(12):
        kinds = random.choice(["even", "wide", "gaps", "heavy"], int(random.integers(2, 5)))
        vectors = [
            (vector(random, kind, int(random.integers(2, n + 5))), int(random.integers(1, 30))) for kind in kinds
        ]
        check(convolution_power(vectors, n), vectors, n)


def test_the_bound_is_of_the_size_of_the_rounding() -> None:
    """``error`` is a few hundred units per composition and level, and the true error reaches a fair share of it."""
    random = np.random.default_rng(1)
    shares = []
    for kind in ("even", "wide", "gaps", "heavy"):
        for n in (16, 60):
            for k in (1, 10, 50):
                vectors = [(vector(random, kind, n), k)]
                found = convolution_power(vectors, n)
                assert found.error <= 60 * k * math.log2(n) * UNIT_ROUNDOFF
                assert found.scale_error <= 20 * k * UNIT_ROUNDOFF
                shares.append(check(found, vectors, n))
    assert max(shares) > 1e-4


@pytest.mark.parametrize("move", [1e-9, 1e-6], ids="moves with probability {:g}".format)
def test_a_billion_rounds_of_a_law_that_rarely_moves(move: float) -> None:
    """Binomial masses in closed form: what is rounded is ``1 - x_m``, not 1, so a billion rounds lose nothing.

    The total's own rounding, ``scale_error``, is apart: it scales all entries together.
    """
    k = 10**9
    n = fast_length(64 if k * move < 2 else 2000)
    x = np.array([1 - move, move])
    found = convolution_power([(x, k)], n)
    assert found.error < 1e-12
    with mpmath.workdps(40):
        p = mpmath.mpf(x[1] / math.fsum(x))
        mean = int(k * move)
        assert found.origin == 0  # where no round has moved
        for j in {0, 1, 2, 5, mean, mean + 1, mean + 30, max(mean - 40, 0), n // 2, n - 1}:
            true = mpmath.binomial(k, j) * p**j * mpmath.exp((k - j) * mpmath.log1p(-p))
            assert abs(found.values[j] - true) <= found.error + 8 * UNIT_ROUNDOFF * (1 + k * move) * true


def test_a_billion_rounds_around_a_three_point_law() -> None:
    """Poisson-like: the difference of two counts, each nearly Poisson(1), is nearly Skellam(1, 1)."""
    k, rare = 10**9, 1e-9
    n = fast_length(128)
    found = convolution_power([(np.array([rare, 1 - 2 * rare, rare]), k)], n)
    assert found.origin == k
    with mpmath.workdps(30):
        for p, value in enumerate(found.values.tolist()):
            offset = p if p <= n // 2 else p - n
            skellam = mpmath.exp(-2) * mpmath.besseli(abs(offset), 2)
            # k rounds of probability 1/k are Poisson up to 1/k relative (in the tails: offset^2 / k)
            assert abs(value - skellam) <= found.error + skellam * (offset**2 + 2) * 2e-9


def test_the_transforms_error_is_the_stated_one() -> None:
    """``e = (1 + c u)^(log2 n) - 1`` bounds every entry of a real transform against exact trigonometric sums."""
    from scipy.fft import rfft

    random = np.random.default_rng(2)
    for n in (16, 45, 250, 864):
        x = random.uniform(0.0, 1.0, n) ** 6
        found = rfft(x)
        with mpmath.workdps(30):
            roots = [mpmath.expjpi(mpmath.mpf(-2 * j) / n) for j in range(n)]
            for j in range(0, n // 2 + 1, max(1, n // 32)):
                true = mpmath.fsum(value * roots[i * j % n] for i, value in enumerate(x.tolist()))
                assert abs(complex(found[j]) - true) <= transform_error(n) * x.sum()


@pytest.mark.parametrize("n", [1, 17, 1000, 65537, 1_000_003], ids="at least {}".format)
def test_lengths_have_small_factors_only(n: int) -> None:
    """The error law is for radices 2, 3, 4, 5: lengths are 5-smooth."""
    length = fast_length(n)
    assert length >= n
    for factor in (2, 3, 5):
        while length % factor == 0:
            length //= factor
    assert length == 1


@pytest.mark.parametrize("moved", [1e-9, 0.3], ids="moves with probability {:g}".format)
@pytest.mark.parametrize("k", [1, 40], ids="{} rounds".format)
def test_transforms_may_be_off_by_all_that_is_stated(k: int, moved: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transforms that err by all of ``e ||x||_1`` in every entry, in the directions that add up at one place.

    Real transforms are ten times better than what is stated of them; the statement is made as large as 1e-7 here, so
    that it is above the rounding of everything else.
    """
    n, e = 16, 1e-7
    x = np.zeros(n)
    x[[0, 1, 3]] = 1 - moved, 0.75 * moved, 0.25 * moved
    exact = [float(value) for value in exact_power([(x, k)], n)]
    spectrum = np.fft.rfft(x)
    plain, inverse = scipy.fft.rfft, scipy.fft.irfft
    monkeypatch.setattr("hockeystick.numerics.fourier.transform_error", lambda _: e)
    for there, back in ((e, 0.0), (0.0, e), (e, e)):

        def forward(values: Array, there: float = there) -> Any:
            # dY = k X^(k-1) dX is to be real and positive everywhere: all of it arrives at place 0
            phase = np.exp(-1j * (k - 1) * np.angle(spectrum))
            return plain(values) + there * np.abs(values).sum() * phase

        def backward(values: Any, length: int, back: float = back) -> Array:
            whole = np.abs(np.concatenate([values, values[1:-1]]))
            out: Array = inverse(values, length) + back * float(whole.mean())
            return out

        monkeypatch.setattr(scipy.fft, "rfft", forward)
        monkeypatch.setattr(scipy.fft, "irfft", backward)
        found = convolution_power([(x, k)], n)
        assert found.origin == 0
        errors = np.abs(found.values - np.array(exact))
        aimed = k * e * moved * float(np.mean(np.abs(np.fft.fft(x)) ** (k - 1))) if there else e * max(exact)
        assert errors.max() > 0.5 * aimed, "or nothing was put to the test"
        assert errors.max() <= found.error + 1e-13


def test_a_transform_meets_no_subnormal_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processors take up to a hundred times as long for them: of 10^12 Laplace rounds epsilon took 9 s and not 4."""
    met: list[Array] = []
    inverse = scipy.fft.irfft

    def seen(values: Any, length: int) -> Array:
        met.append(np.abs(np.concatenate([values.real, values.imag])))
        out: Array = inverse(values, length)
        return out

    monkeypatch.setattr(scipy.fft, "irfft", seen)
    for k in (1000, 10**6, 10**12):
        found = convolution_power([(np.array([0.4, 0.35, 0.25]), k)], 1024)
        (sizes,) = met
        assert sizes.max() == 1.0
        assert ((sizes == 0) | (sizes > 1e-290)).all()
        assert (sizes == 0).sum() > 100, "or nothing was put to the test"
        assert found.values.sum() == pytest.approx(1.0, abs=1e-9)
        met.clear()
    convolution_power([(np.array([1.0, 1e-304]), 4_050_000)], 1024)  # next to a point mass: one part of each is nothing
    (sizes,) = met
    assert ((sizes == 0) | (sizes > 1e-290)).all()
