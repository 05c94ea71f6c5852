"""The largest error of each function, over all points and all ways of calling it, beside what is assumed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.doctor.assumed import Assumption, assumptions
from hockeystick.numerics.doctor.truth import Reference, truths
from hockeystick.numerics.fourier import ROUNDINGS_PER_LEVEL
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]

LENGTHS = (4096, 7200, 50_000)
"""Lengths of the transforms that are looked at: 2^12, 2^5 3^2 5^2 and 2^4 5^5; each factor has a pass of its own."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found of one function of one library.

    Attributes:
        name: of the function.
        library: whose it is.
        largest: the largest error that was found, in units; infinite where a value is no number.
        assumed: the largest error that is assumed, in units.
        unit: what a unit is.
        route: the way of calling it in which that was found.
        at: the arguments at which it was found.
        values: how many values were compared.
    """

    name: str
    library: str
    largest: float
    assumed: float
    unit: str
    route: str
    at: tuple[float, ...]
    values: int

    @property
    def within(self) -> bool:
        """Whether no error was found that is larger than what is assumed."""
        return self.largest <= self.assumed

    @property
    def failure(self) -> str:
        """One line that says what was found and where."""
        at = ", ".join(map(repr, self.at))
        return (
            f"{self.name} ({self.library}, {self.route}) errs by {self.largest:.4g} {self.unit} at {at}; assumed are "
            f"{self.assumed:g}"
        )


def functions_measured(reference: Reference, count: int, seed: int) -> Iterator[Measured]:
    """What is found of each function that the reference has true values of.

    Args:
        reference: what knows them.
        count: points of each range.
        seed: of the points that are drawn at random.
    """
    random = np.random.default_rng(seed)
    for assumption in assumptions():
        if reference.knows(assumption.name):
            yield from measured(assumption, reference, assumption.draw(random, count))


def measured(assumption: Assumption, reference: Reference, arguments: tuple[Array, ...]) -> Iterator[Measured]:
    """What is found of one function, by the library that answers.

    Args:
        assumption: the function, what is assumed of it, and how it is called.
        reference: what knows the true values.
        arguments: an array of shape (n,) for each argument of the function.
    """
    true = truths(reference, assumption.name, arguments)
    size = 1.0 if assumption.sized is None else assumption.sized(arguments, true.hi, true.unit)
    found: dict[str, Measured] = {}
    for library, route, called in assumption.routes():
        with np.errstate(all="ignore"):  # overflow and underflow are asked for; what comes of them is compared
            errors = true.errors(called(*arguments)) / size
        worst = int(np.argmax(errors))
        before = found.get(library)
        values = len(errors) + (before.values if before else 0)
        if before is not None and errors[worst] <= before.largest:
            found[library] = Measured(
                before.name, library, before.largest, before.assumed, before.unit, before.route, before.at, values
            )
        else:
            at = tuple(float(each[worst]) for each in arguments)
            largest = float(errors[worst])
            found[library] = Measured(
                assumption.name, library, largest, assumption.units, assumption.said, route, at, values
            )
    yield from found.values()


def transform_measured(reference: Reference, count: int, seed: int) -> Measured:
    """What is found of Fourier transforms of impulses, whose true values are points of the unit circle.

    Every output is then a product of the rotations that the transform has computed, so that their errors show; the
    assumption is that of ``numerics/fourier.py``, so many roundings for each of ``log2 n`` levels.

    Args:
        reference: what knows the points of the circle.
        count: outputs that are compared, of each length.
        seed: of the impulses and of the outputs.
    """
    from scipy.fft import rfft

    random = np.random.default_rng(seed)
    worst, at, values = 0.0, (0.0, 0.0, 0.0), 0
    for n in LENGTHS:
        impulse = np.zeros(n)
        place = int(random.integers(1, n))
        impulse[place] = 1.0
        with np.errstate(all="ignore"):
            transformed = rfft(impulse)
        outputs = random.integers(0, n // 2 + 1, count)
        parts = ((place * outputs) % n).astype(np.float64)  # whole numbers, exactly
        whole = np.full(count, float(n))
        cosine, sine = (truths(reference, name, (parts, whole)) for name in ("cos_turn", "sin_turn"))
        real = cosine.errors(transformed.real[outputs]) * cosine.unit
        imaginary = sine.errors(-transformed.imag[outputs]) * sine.unit
        errors = np.hypot(real, imaginary) / (UNIT_ROUNDOFF * math.log2(n))
        number, values = int(np.argmax(errors)), values + count
        if not errors[number] <= worst:
            worst, at = float(errors[number]), (float(n), float(place), float(outputs[number]))
    unit = "roundings a level"
    return Measured("rfft", "scipy", worst, float(ROUNDINGS_PER_LEVEL), unit, "impulses (n, place, output)", at, values)
