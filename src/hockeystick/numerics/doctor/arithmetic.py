"""Whether the arithmetic of doubles is what it is taken for: correctly rounded, to nearest, with subnormal numbers.

A library that was compiled with ``-ffast-math`` may, when it is loaded, have the processor of the thread put 0 in place
of every subnormal number, and a program may have changed the direction of rounding. Sums, differences, products,
quotients and square roots are compared with exact fractions here.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import SMALLEST_NORMAL, TINY, UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]

OPERATIONS: tuple[tuple[str, Callable[..., Array], Callable[..., float], Callable[..., Fraction]], ...] = (
    ("sums", np.add, operator.add, operator.add),
    ("differences", np.subtract, operator.sub, operator.sub),
    ("products", np.multiply, operator.mul, operator.mul),
    ("quotients", np.divide, operator.truediv, operator.truediv),
)
"""Each operation of NumPy, of Python, and of fractions."""

INNER = 96  # terms of an entry of the product of matrices that is looked at
OUTER = 24  # rows and columns of it


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that holds or does not.

    Attributes:
        name: what was looked at.
        holds: whether it is as is assumed.
        said: what is assumed where it holds, else what was found.
    """

    name: str
    holds: bool
    said: str

    @property
    def failure(self) -> str:
        """One line that says what was found."""
        return f"{self.name}: {self.said}"


def arithmetic_checks(count: int, seed: int) -> Iterator[Check]:
    """All that is looked at, one after another.

    Args:
        count: pairs of numbers that each operation is tried on.
        seed: of these numbers.
    """
    yield _doubles()
    yield _subnormal()
    yield _to_nearest()
    yield _rounded(count, seed)
    yield _square_roots(count, seed)
    yield _accurate_sum()
    yield _matrices(seed)


def _check(name: str, assumed: str, failures: list[str]) -> Check:
    return Check(name, not failures, assumed if not failures else failures[0])


def _doubles() -> Check:
    info = sys.float_info
    found = (info.radix, info.mant_dig, info.max_exp, info.min_exp)
    said = (
        f"Python has floats of {info.mant_dig} digits in base {info.radix}, exponents {info.min_exp} to {info.max_exp}"
    )
    return _check("doubles", "IEEE 754 binary64", [] if found == (2, 53, 1024, -1021) else [said])


def _subnormal() -> Check:
    """Subnormal values come out, and subnormal arguments go in, in Python and in loops of NumPy."""
    failures = []
    half, tiny = SMALLEST_NORMAL * 0.5, TINY * 2.0**60
    if not half > 0.0 or tiny != 2.0**-1014 or TINY == 0.0:
        failures.append("Python puts 0 in place of subnormal numbers")
    for length in (1, 2, 3, 8, 33):
        normal, least = np.full(length, SMALLEST_NORMAL), np.full(length, TINY)
        if not (normal * 0.5 == 2.0**-1023).all() or not (least * 2.0**60 == 2.0**-1014).all():
            failures.append(f"NumPy puts 0 in place of subnormal numbers, in arrays of length {length}")
        if not (np.exp(np.full(length, -740.0)) > 0).all():
            failures.append(f"exponentials below 2^-1022 are 0, in arrays of length {length}")
    return _check("subnormal numbers", "kept", failures)


def _to_nearest() -> Check:
    """Ties go to even, on both sides of 0: any other direction of rounding changes one of these sums."""
    u, failures = UNIT_ROUNDOFF, []
    rows = [(1.0, u, 1.0), (1.0 + 2 * u, u, 1.0 + 4 * u), (1.0, 1.5 * u, 1.0 + 2 * u), (1.0, 0.5 * u, 1.0)]
    for a, b, true in rows:
        for sign in (1.0, -1.0):
            if sign * a + sign * b != sign * true:
                failures.append(f"Python rounds {sign * a!r} + {sign * b!r} to {sign * a + sign * b!r}")
            for length in (1, 2, 3, 8, 33):
                found = np.full(length, sign * a) + np.full(length, sign * b)
                if not (found == sign * true).all():
                    failures.append(f"NumPy rounds {sign * a!r} + {sign * b!r} to {float(found[-1])!r}")
    return _check("direction of rounding", "to nearest, ties to even", failures)


def _numbers(count: int, seed: int) -> tuple[Array, Array]:
    """Pairs of numbers, every other time of one size, so that sums cancel; some of their values are subnormal."""
    random = np.random.default_rng(seed)
    size = np.where(np.arange(count) % 8 == 0, 2.0**-510, 1.0)
    a = random.normal(size=count) * 2.0 ** random.integers(-60, 60, count) * size
    near = np.arange(count) % 2 == 0
    return a, np.where(near, -a * random.uniform(0.5, 2.0, count), random.normal(size=count) * size * 2.0**-6)


def _rounded(count: int, seed: int) -> Check:
    a, b = _numbers(count, seed)
    pairs, failures = list(zip(a.tolist(), b.tolist(), strict=True)), []
    for name, of_numpy, of_python, of_fractions in OPERATIONS:
        true = [float(of_fractions(Fraction(x), Fraction(y))) for x, y in pairs]
        found = {"NumPy": of_numpy(a, b).tolist(), "Python": [of_python(x, y) for x, y in pairs]}
        strided = of_numpy(np.repeat(a, 2)[::2], np.repeat(b, 2)[::2]).tolist()
        for who, values in (*found.items(), ("NumPy, strided", strided)):
            wrong = [pair for pair, value, is_true in zip(pairs, values, true, strict=True) if value != is_true]
            if wrong:
                failures.append(f"{name} of {who} are not correctly rounded, as at {wrong[0][0]!r}, {wrong[0][1]!r}")
    return _check("sums, differences, products, quotients", "correctly rounded", failures)


def _square_roots(count: int, seed: int) -> Check:
    """A root is the nearest double where the number lies between the squares of its two midpoints."""
    x = np.abs(_numbers(count, seed)[0])
    failures = []
    for who, roots in (("NumPy", np.sqrt(x).tolist()), ("Python", [math.sqrt(value) for value in x.tolist()])):
        for value, root in zip(x.tolist(), roots, strict=True):
            low = (Fraction(root) + Fraction(math.nextafter(root, 0.0))) / 2
            high = (Fraction(root) + Fraction(math.nextafter(root, math.inf))) / 2
            if not low * low <= Fraction(value) <= high * high:
                failures.append(f"square roots of {who} are not correctly rounded, as at {value!r}")
    return _check("square roots", "correctly rounded", failures)


def _accurate_sum() -> Check:
    terms = [1e100, 1.0, 2.0**-60, -1e100, 2.0**-53]
    found = math.fsum(terms)
    true = float(sum(map(Fraction, terms), Fraction(0)))
    return _check("math.fsum", "correctly rounded", [] if found == true else [f"a sum is {found!r}, and not {true!r}"])


def _matrices(seed: int) -> Check:
    """Every entry of a product of matrices is within n roundings of the sum of its products' sizes.

    That is Higham 2002 [Hig02], (3.13), in whatever order the products are added, fused or not.
    """
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(OUTER, INNER)), random.normal(size=(INNER, OUTER))
    found = a @ b
    failures = []
    bound = INNER * UNIT_ROUNDOFF / (1 - INNER * UNIT_ROUNDOFF)
    for i in range(0, OUTER, 5):
        for j in range(0, OUTER, 5):
            products = [Fraction(x) * Fraction(y) for x, y in zip(a[i].tolist(), b[:, j].tolist(), strict=True)]
            error = abs(Fraction(float(found[i, j])) - sum(products, Fraction(0)))
            if error > Fraction(bound) * sum(map(abs, products), Fraction(0)):
                failures.append(f"an entry is off by {float(error):.3g}, more than {INNER} roundings of its products")
    return _check("products of matrices", "every sum in double precision", failures)
