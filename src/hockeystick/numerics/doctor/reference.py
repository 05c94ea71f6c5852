"""Which program the true values come from: balls where python-flint is installed, else decimals."""

from __future__ import annotations

from hockeystick.numerics.doctor.decimals import Decimals
from hockeystick.numerics.doctor.truth import Reference


def reference() -> Reference:
    """What is at hand: balls where python-flint can be imported, else decimals."""
    try:
        from hockeystick.numerics.doctor.balls import Balls
    except ImportError:
        return Decimals()
    return Balls()
