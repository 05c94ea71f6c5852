"""True values as balls (Johansson 2017 [Joh17]): a midpoint and a radius that holds the truth. Needs python-flint."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import flint
from flint import arb

from hockeystick.numerics.balls import Ball, precision
from hockeystick.numerics.doctor.truth import unit_below

BITS = 160  # of the first try: three times those of a double
ENOUGH = 90  # bits of the truth that have to be known: an error is then known to 2^-37 of a unit
MOST_BITS = 8192  # no function here needs as many


def _phi(x: Ball) -> Ball:
    return (-x / arb(2).sqrt()).erfc() / 2


def _log_phi(x: Ball) -> Ball:
    return _phi(x).log() if x < 0 else (-_phi(-x)).log1p()


FUNCTIONS: Mapping[str, Callable[..., Ball]] = {
    "exp": lambda x: x.exp(),
    "expm1": lambda x: x.expm1(),
    "log": lambda x: x.log(),
    "log1p": lambda x: x.log1p(),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "sinh": lambda x: x.sinh(),
    "cosh": lambda x: x.cosh(),
    "hypot": lambda x, y: (x * x + y * y).sqrt(),
    "arctan2": lambda y, x: arb.atan2(y, x),
    "logaddexp": lambda x, y: (x.exp() + y.exp()).log(),
    "ndtr": _phi,
    "log_ndtr": _log_phi,
    "cos_turn": lambda k, n: (2 * k / n).cos_pi(),
    "sin_turn": lambda k, n: (2 * k / n).sin_pi(),
}
"""The functions in balls; the last two take a number of parts of a turn, and how many parts it has."""


class Balls:
    """True values by python-flint."""

    name = f"python-flint {flint.__version__} (FLINT {flint.__FLINT_VERSION__})"
    share = 1.0

    def knows(self, function: str) -> bool:
        """Whether there is a ball function of that name."""
        return function in FUNCTIONS

    def value(self, function: str, arguments: tuple[float, ...]) -> tuple[float, float, float]:
        """The double next to the true value, what is left in its units, and the unit.

        Raises:
            ArithmeticError: no ball is narrow enough to judge by.
        """
        bits = BITS
        while bits <= MOST_BITS:
            with precision(bits):
                true = FUNCTIONS[function](*map(arb, arguments))
                if true == 0:
                    return 0.0, 0.0, unit_below(0.0, below=False)
                if true.rel_accuracy_bits() >= ENOUGH:
                    hi = float(true)
                    rest = true - arb(hi)
                    unit = unit_below(hi, below=not (rest > 0 if hi > 0 else rest < 0))
                    return hi, float(rest / arb(unit)), unit
            bits *= 2
        raise ArithmeticError(f"no ball of {MOST_BITS} bits is narrow enough for {function} at {arguments}")
