"""Logarithm of the Gamma function in the right half-plane, by Stirling's series, with a bound on its error.

For Re w > 0 and ``w' = w + N``

    log Gamma(w) = (w' - 1/2) log w' - w' + log(2 pi) / 2 + sum_(j=1)^8 B_2j / (2j (2j-1) w'^(2j-1)) + R
                   - sum_(k<N) log(w + k) .

In ``|arg w'| < pi/2`` the remainder is at most ``|B_18| / (18 * 17 |w'|^17)`` times ``sec^18(arg(w') / 2)`` (Olver,
Lozier, Boisvert, Clark 2010 [OLBC10], 5.11(ii)). With ``|w'| >= 16`` and ``sec^2 <= 2`` that is below 1e-18, so
N = 0 suffices if ``|w| >= 16``; otherwise N is chosen so that ``Re w' >= 16``.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

LEAST = 16.0  # least |w'| at which the series is summed
SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
"""Coefficients ``B_2j / (2j (2j - 1))``, j = 1, ..., 8."""

LEFT_OUT = 1e-18  # bound on the remainder R of the series for |w'| of at least 16


def log_gamma(real: float, imaginary: Array) -> tuple[ComplexArray, Array]:
    """Return ``log Gamma(real + i imaginary)`` for real > 0, and bounds on its errors.

    The branch of the logarithm is continuous along vertical lines, and real on the real axis. Each rounding is charged
    with 8 units of round-off, relative to the term in which it occurs. A relative error of one unit in w moves the
    logarithm by about ``|w log w|`` units, which are also charged.
    """
    w = real + 1j * np.asarray(imaginary, dtype=np.float64)
    shift = max(math.ceil(LEAST - real), 0)
    value = np.zeros(len(w), dtype=np.complex128)
    size = np.zeros(len(w))
    near = np.abs(w) < LEAST * (1 + 1e-15)
    parts = np.log(np.add.outer(np.arange(shift, dtype=np.float64), w[near]))
    value[near] = -parts.sum(axis=0)
    size[near] = np.abs(parts).sum(axis=0) * (1 + shift / 8) + shift  # the sum: N units
    far = np.where(near, w + shift, w)
    log = np.log(far)
    inverse = 1 / far
    square = inverse * inverse
    series = np.zeros(len(w), dtype=np.complex128)
    for coefficient in reversed(SERIES):
        series = series * square + coefficient
    value += (far - 0.5) * log - far + HALF_LOG_TWO_PI + series * inverse
    size += np.abs(far) * (np.abs(log) + 2) + 4
    return value, 8 * UNIT_ROUNDOFF * size + LEFT_OUT
