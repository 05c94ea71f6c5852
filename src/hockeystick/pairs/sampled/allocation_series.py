"""``E_Q Lambda^n e^(-r Lambda)`` of one epoch of random allocation on a ray ``arg r = phi``, with every error bounded.

With ``kappa = r / t`` the Laplace transform of the sum of t independent terms is a power,

    E Lambda^n e^(-r Lambda) = n! [h^n] (sum_k e_k (h/t)^k)^t
                             = n! e_0^t [h^n] (1 + (1/t) sum_(k>=1) C_k h^k)^t ,      C_k = t^(1-k) e_k / e_0 ,

``e_k = E Y^k e^(-kappa Y) / k!`` being those of one step (``allocation_columns.py``). ``C_1`` is about 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.sampled.allocation_columns import Coefficients, Columns
from hockeystick.pairs.sampled.allocation_law import AllocationLaw, power, roundings

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

ROUGH = 1.0  # error of the logarithm of a power from which on only its size is used
KNOWN = 3.0  # error of a logarithm beyond which nothing is known of it
LARGEST = 700.0  # exponent that a double can hold
SPARE = 1e-9  # relative: pays for the roundings of bounds
LOST = 1e-290  # what underflows, with some to spare, relative to a number of ordinary size


class Rows(NamedTuple):
    """Values on a ray, one for each r.

    Attributes:
        value: ``E Lambda^n e^(-r Lambda) / scale``.
        log_scale: logarithm of the scale, but for what all rows share.
        error: bound on the error of the value, with those of the scale.
        log_shared: logarithm of a factor of all scales.
    """

    value: ComplexArray
    log_scale: Array
    error: Array
    log_shared: float


class RaySeries:
    """The transforms on one ray.

    Args:
        law: the epoch.
        n: power of Lambda.
        angle: phi, in [0, pi/2).
        dv: step of the nodes (``allocation_columns.py``); None where they are not equidistant.
    """

    def __init__(self, law: AllocationLaw, n: int, angle: float, dv: float | None = None) -> None:
        self._law = law
        self._columns = Columns(law.mu, n, angle, dv)

    def rows(self, v: Array, ratio: float) -> Rows:
        """``E Lambda^n e^(-r Lambda)`` at ``r = t e^(v + i phi)``.

        Args:
            v: increasing, and taken as exact.
            ratio: log of the largest ratio of kappa in a chunk.
        """
        return powered(self.coefficients(v, ratio), self._law.steps)

    def coefficients(self, v: Array, ratio: float, factor: float = 1.0) -> Coefficients:
        """``e_0, ..., e_n`` at ``kappa = factor e^(v + i phi)``; arguments as of :meth:`rows`."""
        return self._columns.at(v, ratio, factor)


def on_rays(law: AllocationLaw, n: int, rays: Sequence[tuple[float, float, Array]], ratio: float) -> list[Rows]:
    """``E Lambda^n e^(-r Lambda)`` on several rays, each an angle, a step and nodes; their powers are one."""
    found = [RaySeries(law, n, angle, dv).coefficients(v, ratio) for angle, dv, v in rays]
    rows = powered(Coefficients(*(np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))), law.steps)
    ends = np.cumsum([len(v) for _, _, v in rays])[:-1]
    values, scales, errors = np.split(rows.value, ends), np.split(rows.log_scale, ends), np.split(rows.error, ends)
    return [Rows(*each, rows.log_shared) for each in zip(values, scales, errors, strict=True)]


def widened(units: Array) -> Array:
    """By what factor a size may be above the computed one, where its logarithm may be off by so many roundings.

    Where that is beyond the range of a double, the logarithm itself is 1e15 times as far below 0, and the size is none.
    """
    out: Array = np.exp(np.minimum(UNIT_ROUNDOFF * units, LARGEST))
    return out


def powered(of_step: Coefficients, t: int) -> Rows:
    """The power of the series. The error of its coefficients is multiplied out against what the moduli make.

    With ``b_k = |C_k| + E_k`` and N the coefficients of ``(1 + (1/t) sum b_k h^k)^t``: the power of the true series
    differs from that of the computed one, coefficient by coefficient, by at most ``E(h) (..)^(t-1)`` of the moduli, E
    the series of the errors, which is at most E(h) N(h).
    """
    n = len(of_step.rest)
    log_first, log_error = of_step.log_first, of_step.log_error
    rough = t * log_error > ROUGH  # the power is not known then, but for its size
    log_error = np.minimum(log_error, KNOWN)
    log_size = log_first.real + np.where(rough, log_error, 0.0)
    log_scale = t * log_size
    turned = np.where(rough, 0.0, np.exp(1j * (t * log_first.imag)))
    care = np.expm1(np.where(rough, 0.0, t * log_error)) + UNIT_ROUNDOFF * (
        12 + 2 * t * np.abs(log_first) + roundings(n, t)
    )
    care = np.where(rough, widened(12 + 4 * t * np.abs(log_size)), care)  # of the size alone
    if n == 0:
        return Rows(turned, log_scale, care, 0.0)
    inverse = np.exp(-log_size - 1j * log_first.imag)
    # of e_k / e_0: the errors of e_k, and that of e_0 to the power -1, times e^(log_error) <= e^3
    size = np.abs(inverse) * (1 + np.expm1(log_error))
    k = np.arange(1, n + 1, dtype=np.float64)[:, None]
    powers = float(t) ** (1 - k)
    c = of_step.rest * (inverse * powers)
    spread = (of_step.error + 12 * UNIT_ROUNDOFF * np.abs(of_step.rest)) * (size * powers)
    spread += np.abs(c) * np.expm1(log_error) + LOST * size * np.abs(of_step.rest)
    # h is scaled so that no coefficient is above 1
    most = np.abs(c) + spread
    with np.errstate(divide="ignore"):
        log_h = (np.log(most) / k).max(axis=0)
    scale = np.exp(-k * log_h)
    most, c, spread = most * scale, c * scale, spread * scale
    slack = (1 + UNIT_ROUNDOFF * (roundings(n, t) + 64 * n)) * (1 + SPARE)
    largest = power(most / t, t).real * slack
    error = care * largest[n]
    error += np.where(rough, 0.0, np.einsum("kv,kv->v", spread, largest[:n][::-1]) * (1 + care))
    error += UNIT_ROUNDOFF * (6 * n + 5 * n * np.abs(log_h)) * largest[n]  # of the scaling
    return Rows(power(c / t, t)[n] * turned, log_scale + n * log_h, error, math.lgamma(n + 1))
