"""Measurements of the machine: accuracy of the elementary functions and of arithmetic, which every certificate assumes.

Six functions of NumPy and of Python's math module are compared with true values at fixed points. The certificates
assume errors of at most ``ULPS`` units in the last place (``numerics/rounding.py``). The accuracy of the other
functions is measured in ``tests/numerics/test_elementary_accuracy.py``.

True values come from Python's decimals, whose ``exp`` and ``ln`` are correctly rounded to the digits of the context
(Python's library reference, module decimal). The other functions are computed in decimals from these two and from power
series.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from decimal import Context, Decimal, localcontext
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import SMALLEST_NORMAL, ULPS, UNIT_ROUNDOFF
from hockeystick.values.outward import UP, rounded

Array = npt.NDArray[np.float64]

NOT_WITHIN = "NOT within what is assumed"
"""First words of the summary of a machine that does not meet an assumption of the certificate."""

DIGITS = 70  # decimal digits of the true values: three times those of a double, and twenty more for cancellation
SMALL = Decimal("1e-12")  # size of an argument below which five terms of a power series give 60 digits
TURN = Decimal("6.283185307179586476925286766559005768394338798750211641949889184615632812572417997256069650684234136")
"""Two pi to 100 digits, so that angles of up to ``1e8`` less whole turns have 60 digits after the point."""

SIZES = np.ldexp(np.linspace(1.0, 2.0, 80, endpoint=False), [*range(-1060, -60, 40), *range(-54, 1)])
"""Numbers of every size below 2, two of them subnormal."""
NEAR_ZERO = np.concatenate([-SIZES, SIZES])
LARGE = np.ldexp(SIZES, 1023)  # numbers from about 1e-11 up to nearly the largest double

EXPONENTS = np.concatenate([NEAR_ZERO, np.linspace(-745.0, 709.5, 201), np.linspace(-2.0, 2.0, 50)])
"""Arguments of exp and expm1, some of them with an exponential that is subnormal, next to 1, or next to overflow."""
LOGS = np.concatenate([SIZES, LARGE, 1.0 + 0.49 * NEAR_ZERO, np.linspace(0.2, 3.0, 50)])
"""Arguments of log: numbers of every size, and numbers next to 1."""
LOGS_OF_ONE_MORE = np.concatenate([0.49 * NEAR_ZERO, LARGE, np.linspace(-0.999, 3.0, 50)])
"""Arguments of log1p: numbers of every size, and numbers next to -1."""
ANGLES = np.concatenate([NEAR_ZERO, np.linspace(-7.0, 7.0, 101), 0.25 * np.pi * np.arange(1, 50), [1e4, 1e6, 1e8]])
"""Arguments of sine and cosine: numbers next to 0, next to zeros of the two functions, within a turn, and far out."""


def _expm1(x: Decimal) -> Decimal:
    # x + x^2/2! + x^3/3! + ...
    return x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5)))) if abs(x) < SMALL else x.exp() - 1


def _log1p(x: Decimal) -> Decimal:
    # x - x^2/2 + x^3/3 - ...
    return x - x**2 / 2 + x**3 / 3 - x**4 / 4 + x**5 / 5 if abs(x) < SMALL else (1 + x).ln()


def _reduced(x: Decimal) -> Decimal:
    return x - TURN * (x / TURN).to_integral_value()


def _sine(x: Decimal) -> Decimal:
    # y - y^3/3! + y^5/5! - ..., y the angle less whole turns
    term = total = _reduced(x)
    square, n = term * term, 1
    while abs(term) > abs(total).scaleb(-DIGITS):
        n += 2
        term *= -square / (n * (n - 1))
        total += term
    return total


def _cosine(x: Decimal) -> Decimal:
    return _sine(TURN / 4 - abs(_reduced(x)))


FUNCTIONS: Mapping[str, tuple[Callable[[Decimal], Decimal], Array]] = {
    "exp": (Decimal.exp, EXPONENTS),
    "expm1": (_expm1, EXPONENTS),
    "log": (Decimal.ln, LOGS),
    "log1p": (_log1p, LOGS_OF_ONE_MORE),
    "sin": (_sine, ANGLES),
    "cos": (_cosine, ANGLES),
}
"""For each function by its name: the same function on decimals, and the arguments at which values are compared."""


def _computed(name: str, x: Array) -> Iterator[tuple[str, Array]]:
    """Yield each way of calling a function (its name and its values at x); each may run another compiled loop."""
    of_numpy, of_math = getattr(np, name), getattr(math, name)
    yield "numpy", of_numpy(x)
    yield "numpy, strided arrays", of_numpy(np.repeat(x, 3)[::3])
    yield "numpy, single numbers", np.array([of_numpy(each) for each in x])
    yield "math", np.array([of_math(each) for each in x.tolist()])
    if name in ("sin", "cos"):
        turned = np.exp(1j * x)
        yield "numpy, of complex numbers", turned.imag if name == "sin" else turned.real


def _error(value: float, true: Decimal) -> float:
    """Return the error of a value in units in the last place of the true value; infinite if the value is not finite.

    If the true value is a power of two, the unit is the smaller one, that of the doubles just below it.
    """
    unit = math.ulp(math.nextafter(float(true), 0.0))
    return float(abs(Decimal(value) - true) / Decimal(unit)) if math.isfinite(value) else math.inf


def _faults() -> Iterator[str]:
    """Yield a line for each fault of the arithmetic.

    Other code in the process can cause such faults. Loading a library compiled with ``-ffast-math`` may make the
    processor replace every subnormal number by 0, and a program may change the direction of rounding.
    """
    u = UNIT_ROUNDOFF
    numbers: Mapping[str, Any] = {"Python": SMALLEST_NORMAL, "NumPy": np.full(33, SMALLEST_NORMAL)}
    for kind, number in numbers.items():
        if not np.all(number * 0.5 * 2.0**60 == 2.0**-963):
            yield f"{kind} puts 0 in place of subnormal numbers"
        one = number * 2.0**1022
        if not (np.all(one + u == 1.0) and np.all((one + 2 * u) + u == 1.0 + 4 * u)):
            yield f"{kind} does not round to nearest, ties to even"
    square = np.full((64, 64), 1.0 + 2.0**-30)
    if np.abs(square @ square / 64 - (1.0 + 2.0**-29)).max() > 64 * u:
        yield "products of matrices are not computed in double precision"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Measurements of a machine.

    Attributes:
        measured: largest error of each way of calling each function, in units in the last place; infinite if a value is
            not a finite number.
        failures: one line for each assumption that the machine does not meet.
        versions: versions of Python and of the libraries used (see :func:`versions`).
    """

    measured: Mapping[str, float]
    failures: tuple[str, ...]
    versions: Mapping[str, str]

    @property
    def sound(self) -> bool:
        """True if the machine meets all assumptions."""
        return not self.failures

    @property
    def summary(self) -> str:
        """The diagnosis in one sentence, with the first failure, or with the largest error if there is no failure."""
        if self.failures:
            more = f", and {len(self.failures) - 1} more" if len(self.failures) > 1 else ""
            return f"{NOT_WITHIN}: {self.failures[0]}{more}"
        worst = max(self.measured, key=lambda name: self.measured[name])
        error = rounded(self.measured[worst], ".3g", UP)
        return f"all within what is assumed, at most {error} of {ULPS} units in the last place ({worst})"

    def __str__(self) -> str:
        return self.summary

    def to_json(self) -> dict[str, Any]:
        """Return the diagnosis as JSON values; an infinite error is ``None``."""
        errors = {name: error if error < math.inf else None for name, error in self.measured.items()}
        return {"sound": self.sound, **asdict(self), "measured": errors}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries on which results depend, and the machine's type.

    >>> list(versions())[:3]
    ['python', 'numpy', 'scipy']
    """
    import scipy  # imported late: importing SciPy takes as long as a query

    try:
        flint = version("python-flint")
    except PackageNotFoundError:
        flint = "none"
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python-flint": flint,
        "C library": " ".join(filter(None, platform.libc_ver())) or "unknown",
        "machine": f"{platform.system()} {platform.machine()}",
    }


def doctor() -> Diagnosis:
    """Measure how well this machine meets the assumptions of the certificate on elementary functions and arithmetic.

    >>> import hockeystick as hs
    >>> found = hs.doctor()
    >>> found.sound, found.failures
    (True, ())
    """
    measured, failures = {}, []
    for name, (truth, points) in FUNCTIONS.items():
        with localcontext(Context(prec=DIGITS)), np.errstate(all="ignore"):  # underflow is intended
            truths = [truth(Decimal(point)) for point in points.tolist()]
            for way, values in _computed(name, points):
                errors = [_error(value, true) for value, true in zip(values.tolist(), truths, strict=True)]
                worst = max(errors)
                measured[f"{name} ({way})"] = worst
                if worst > ULPS:
                    place = f"at {points[errors.index(worst)]}"
                    failures.append(f"{name} ({way}) errs by {worst:.3g} units in the last place {place}")
    return Diagnosis(measured, (*failures, *_faults()), versions())
