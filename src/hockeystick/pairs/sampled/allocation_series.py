"""The means ``E_Q Lambda^n e^(-r Lambda)`` of one epoch of random allocation on a ray ``arg r = phi``, with errors.

Every error is bounded. Group g has ``T_g`` steps of probability ``w_g``, and c is the probability of no step. With
``kappa_g = r w_g``,

    E Lambda^n e^(-r Lambda) = n! [h^n] e^(-rc + hc) prod_g (sum_k a_gk h^k)^(T_g) ,
    a_gk = E (w_g Y)^k e^(-kappa_g Y) / k! .

So ``a_gk = w_g^k e_k(kappa_g)``, where ``e_k(kappa) = E Y^k e^(-kappa Y) / k!`` belongs to a step of probability 1
(``allocation_columns.py``). Nodes are values of ``v = log |kappa_1|``, so that ``kappa_g = (w_g / w_1) e^v``. The
quotient of the two fractions is rounded once, and its product with ``e^v`` once more. Where the quotient is not 1, the
errors of the coefficients include both roundings.

**Errors.** The powers of all ``a_g0`` and ``e^(-rc)`` are computed as one exponential. Its error comes from the errors
of all ``log a_g0`` and from roundings. The rest is the product of ``e^(hc)`` and of the series
``(1 + (1/T_g) sum_k C_gk h^k)^(T_g)``, ``C_gk = T_g a_gk / a_g0``. Let ``E_gk`` bound the error of ``C_gk``, and let
``b_gk = |C_gk| + E_gk``. Let N be the product of ``e^(hc)`` and of all ``(1 + (1/T_g) sum_k b_gk h^k)^(T_g)``, a series
in h. Then each coefficient of the computed product is off by at most the same coefficient of ``sum_g E_g(h)`` times N,
where ``E_g(h) = sum_k E_gk h^k``, and by roundings relative to N. This follows from
``pq - p'q' = (p - p') q + p' (q - q')``, factor by factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import LARGEST, SPARE, UNIT_ROUNDOFF
from hockeystick.numerics.series_powers import power, product, roundings
from hockeystick.pairs.sampled.allocation_columns import Coefficients, Columns
from hockeystick.pairs.sampled.allocation_law import AllocationLaw

Array = npt.NDArray[np.float64]
Ray = tuple[float, float | None, Array]  # the angle phi, the step of the nodes v if they are equidistant, the nodes v
ComplexArray = npt.NDArray[np.complex128]
Bools = npt.NDArray[np.bool_]

ROUGH = 1.0  # error of the logarithm of a power above which only a bound on the size of the power is used
LOST = 1e-290  # error charged for underflow, relative to a number of ordinary size


class Rows(NamedTuple):
    """Values of ``E Lambda^n e^(-r Lambda)`` on a ray, one for each r.

    Attributes:
        value: ``E Lambda^n e^(-r Lambda) / scale``.
        log_scale: logarithm of each scale, without the factor that all scales share.
        error: bound on the error of each value, including the error of its scale.
        log_shared: logarithm of the factor that all scales share.
        share: bound on a further error of the integral of ``r^(w-1)`` times the values, relative to
            ``Gamma(W) A(Re zeta)``.
    """

    value: ComplexArray
    log_scale: Array
    error: Array
    log_shared: float
    share: float = 0.0


def on_rays(law: AllocationLaw, n: int, rays: Sequence[Ray], ratio: float) -> list[Rows]:
    """Return ``E Lambda^n e^(-r Lambda)`` at ``r = e^(v + i phi) / w_1`` on several rays.

    Args:
        law: the epoch.
        n: power of Lambda.
        rays: for each ray, phi in [0, pi/2); the step of its nodes (``allocation_columns.py``), or None if they are not
            equidistant; and the nodes v, which increase and are taken as exact.
        ratio: logarithm of the largest ratio of two kappa in a chunk of nodes that share an error bound.
    """
    first = law.groups[0][0]
    columns = [Columns(law.mu, n, angle, dv) for angle, dv, _ in rays]
    found = []
    for weight, _ in law.groups:
        parts = [each.at(v, ratio, float(weight / first)) for each, (_, _, v) in zip(columns, rays, strict=True)]
        found.append(Coefficients(*(np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))))
    r = np.concatenate([np.exp(v) * (float(1 / first) * np.exp(1j * angle)) for angle, _, v in rays])
    rows = powered(law, found, r)
    ends = np.cumsum([len(v) for _, _, v in rays])[:-1]
    values, scales, errors = np.split(rows.value, ends), np.split(rows.log_scale, ends), np.split(rows.error, ends)
    return [Rows(*each, rows.log_shared) for each in zip(values, scales, errors, strict=True)]


def widened(units: Array) -> Array:
    """Return the factor by which a number may exceed its computed size if its logarithm is off by ``units`` roundings.

    The factor is limited to the range of a double. A larger factor would need a logarithm so far below 0 (about 1e15
    times the logarithm of the factor) that the number itself is 0.
    """
    return np.exp(np.minimum(UNIT_ROUNDOFF * units, LARGEST))


def powered(law: AllocationLaw, found: Sequence[Coefficients], r: ComplexArray) -> Rows:
    """Return the product of the series of all groups, each raised to the number of steps of its group.

    Args:
        law: the epoch.
        found: for each group, its coefficients ``e_0, ..., e_n``.
        r: the points, each with an error of at most ten roundings.
    """
    n, factors = len(found[0].rest), len(found) + bool(law.constant)
    counts = [count for _, count in law.groups]
    # logarithm of e^(-rc) prod_g a_g0^(T_g), with its error and its roundings
    log_total = -float(law.constant) * r
    log_error, units = np.zeros(len(r)), (16 + factors) * np.abs(log_total)
    for count, each in zip(counts, found, strict=True):
        log_total = log_total + count * each.log_first
        log_error += count * each.log_error
        units += (1 + factors) * count * np.abs(each.log_first)
    rough = log_error > ROUGH  # in this case only the size of the product is known
    log_scale = log_total.real + np.where(rough, log_error, 0.0)
    turned = np.where(rough, 0.0, np.exp(1j * log_total.imag))
    rounded = sum(roundings(n, count) for count in counts) + (factors - 1) * (4 * n + 16)
    care = np.expm1(np.where(rough, 0.0, log_error)) + UNIT_ROUNDOFF * (12 + units + rounded)
    of_size = widened(12 + units + (1 + factors) * log_error + 4 * np.abs(log_scale))
    care = np.where(rough, of_size, care)
    if n == 0:
        return Rows(turned, log_scale, care, 0.0)
    # h is scaled so that no coefficient is above 1
    scaled = [_scaled(group, each, rough) for group, each in zip(law.groups, found, strict=True)]
    k = np.arange(1, n + 1, dtype=np.float64)[:, None]
    with np.errstate(divide="ignore"):
        log_h = np.maximum.reduce([(np.log(np.abs(c) + spread) / k).max(axis=0) for c, spread in scaled])
    if law.constant:
        log_h = np.maximum(log_h, math.log(law.constant))
    scale = np.exp(-k * log_h)
    values, bounds, spreads = [], [], np.zeros((n, len(r)))
    for count, (c, spread) in zip(counts, scaled, strict=True):
        values.append(power(c * scale / count, count))
        bounds.append(power((np.abs(c) + spread) * scale / count, count))
        spreads += spread * scale
    if law.constant:
        x = float(law.constant) * np.exp(-log_h)  # (hc)^k / k!, each from the one before
        powers = np.cumprod(np.vstack([np.ones(len(x)), x / k]), axis=0)
        values.append(powers.astype(np.complex128))
        bounds.append(powers)
    most = reduce(product, bounds) * ((1 + UNIT_ROUNDOFF * (rounded + 64 * n)) * (1 + SPARE))
    error = care * most[n]
    error += np.where(rough, 0.0, np.einsum("kv,kv->v", spreads, most[:n][::-1]) * (1 + care))
    error += UNIT_ROUNDOFF * (6 * n + 5 * n * np.abs(log_h)) * most[n]  # of the scaling
    return Rows(reduce(product, values)[n] * turned, log_scale + n * log_h, error, math.lgamma(n + 1))


def _scaled(group: tuple[Fraction, int], found: Coefficients, rough: Bools) -> tuple[ComplexArray, Array]:
    """Return ``C_k = T a_k / a_0`` and bounds on its errors, from errors of e_k and of 1 / a_0, rounding, underflow."""
    weight, count = group
    log_size = found.log_first.real + np.where(rough, found.log_error, 0.0)
    inverse = np.exp(-log_size - 1j * found.log_first.imag)
    size = np.abs(inverse) * np.exp(found.log_error)
    powers = np.array([float(count * weight**k) for k in range(1, len(found.rest) + 1)])[:, None]
    c = found.rest * (inverse * powers)
    spread = (found.error + 12 * UNIT_ROUNDOFF * np.abs(found.rest)) * (size * powers)
    spread += np.abs(c) * np.expm1(found.log_error) + LOST * size * np.abs(found.rest)
    return c, spread
