"""``E_Q Lambda^n e^(-r Lambda)`` of an epoch with steps of several probabilities, on a ray ``arg r = phi``.

With ``kappa_g = r w_g`` for each group of ``T_g`` steps, and the probability c of no step,

    E Lambda^n e^(-r Lambda) = n! [h^n] e^(-rc + hc) prod_g (sum_k a_gk h^k)^(T_g) ,
    a_gk = E (w_g Y)^k e^(-kappa_g Y) / k! .

With ``e_k`` those of one step of probability 1 (``allocation_columns.py``), ``a_gk = w_g^k e_k(kappa_g)``. Nodes are
places of ``v = log |kappa_1|``, so that ``kappa_g = (w_g / w_1) e^v``: the quotient of two fractions is rounded once,
and the product with it. Both roundings of kappa are charged with the coefficients, where the factor is not 1.

**Errors.** Every factor is a series with coefficients ``p_k``, bounds ``P_k`` on their moduli, computed or true, and
bounds ``E_k`` on their errors. Of a power as in ``allocation_series.py``: with ``C_gk = T_g a_gk / a_g0`` and ``b_k``
their moduli with their errors, P is the power of ``1 + (1/T_g) sum b_k h^k``, and E is the series of the errors times
P, besides roundings relative to P. Of a product of two, ``pq - p'q' = (p - p') q + p' (q - q')``, so that its errors
are ``E_p * Q + P * E_q``. Of ``e^(hc)`` the coefficients ``c^k / k!`` are known to a few roundings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.sampled.allocation_columns import Coefficients
from hockeystick.pairs.sampled.allocation_law import AllocationLaw, power, product, roundings
from hockeystick.pairs.sampled.allocation_series import KNOWN, LOST, ROUGH, SPARE, RaySeries, Rows, widened
from hockeystick.pairs.sampled.uneven_law import UnevenLaw

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]


class Factor(NamedTuple):
    """One factor: coefficients 0 to n of a series in h for each node, shape (n + 1, V), the first of them 1.

    Attributes:
        value: as computed.
        most: bounds on the moduli, of the computed and of the true ones.
        error: bounds on the errors.
    """

    value: ComplexArray
    most: Array
    error: Array


class UnevenSeries:
    """The nodes in x for one ray.

    Args:
        law: the epoch.
        n: power of Lambda.
        angle: phi, in [0, pi/2).
        dv: step of the nodes (``allocation_columns.py``); None where they are not equidistant.
        shifted: whether the constant part is there; without it the transform is that of S.
    """

    def __init__(self, law: UnevenLaw, n: int, angle: float, dv: float | None = None, *, shifted: bool = True) -> None:
        self._law, self._n, self._angle = law, n, angle
        self._constant = law.constant if shifted else law.constant * 0
        self._base = RaySeries(AllocationLaw(law.mu, law.steps), n, angle, dv)

    def rows(self, v: Array, ratio: float) -> Rows:
        """``E Lambda^n e^(-r Lambda)`` at ``r = e^(v + i phi) / w_1``.

        Args:
            v: increasing, and taken as exact.
            ratio: log of the largest ratio of kappa in a chunk.
        """
        law, n = self._law, self._n
        first = law.groups[0][0]
        found = [self._base.coefficients(v, ratio, float(weight / first)) for weight, _ in law.groups]
        # e^(-rc), whose exponent has a few roundings, and the powers of all a_0
        kappa = float(self._constant / first) * np.exp(v)
        log_total = -kappa * np.exp(1j * self._angle)
        summed = 8 + len(law.groups)
        log_error, care = np.zeros(len(v)), 2 * summed * kappa
        for (_, count), each in zip(law.groups, found, strict=True):
            log_total = log_total + count * each.log_first
            log_error += count * each.log_error
            care += summed * count * np.abs(each.log_first)
        rough = log_error > ROUGH
        known = np.where(rough, np.minimum(log_error, KNOWN * law.steps), 0.0)
        log_scale = log_total.real + known
        of_size = widened(32 + care + summed * known + 4 * np.abs(log_scale))
        care = UNIT_ROUNDOFF * (32 + care)
        care = np.where(rough, of_size, np.expm1(np.where(rough, 0.0, log_error)) + care)
        turned = np.where(rough, 0.0, np.exp(1j * log_total.imag))
        if n == 0:
            return Rows(turned, log_scale, care, 0.0)
        scaled = [self._scaled(group, each, rough) for group, each in zip(law.groups, found, strict=True)]
        log_h = self._log_h(scaled)
        factors = [self._power(c, spread, count, log_h)
                   for (c, spread), (_, count) in zip(scaled, law.groups, strict=True)]  # fmt: skip
        if self._constant:
            factors.append(self._exponential(log_h))
        whole = factors[0]
        for other in factors[1:]:
            whole = self._product(whole, other)
        error = care * whole.most[n] + whole.error[n] * (1 + care)
        return Rows(whole.value[n] * turned, log_scale + n * log_h, error * (1 + SPARE), math.lgamma(n + 1))

    def _scaled(
        self, group: tuple[Fraction, int], found: Coefficients, rough: npt.NDArray[np.bool_]
    ) -> tuple[ComplexArray, Array]:
        """``T a_k / a_0`` of a group, and bounds on the errors: of e_k, of a_0 to the power -1, and roundings."""
        weight, count = group
        log_error = np.minimum(found.log_error, KNOWN)
        k = np.arange(1, self._n + 1, dtype=np.float64)[:, None]
        powers = count * float(weight) ** k
        log_first = found.log_first
        inverse = np.exp(-log_first.real - np.where(rough, log_error, 0.0) - 1j * log_first.imag)
        size = np.abs(inverse) * (1 + np.expm1(log_error))
        c = found.rest * (inverse * powers)
        spread = (found.error + UNIT_ROUNDOFF * (16 + 4 * k) * np.abs(found.rest)) * (size * powers)
        spread += np.abs(c) * np.expm1(log_error) + LOST * size * np.abs(found.rest)
        return c, spread

    def _log_h(self, scaled: list[tuple[ComplexArray, Array]]) -> Array:
        """The scale of h with which no coefficient is above 1."""
        k = np.arange(1, self._n + 1, dtype=np.float64)[:, None]
        with np.errstate(divide="ignore"):
            logs = [(np.log(np.abs(c) + spread) / k).max(axis=0) for c, spread in scaled]
        if self._constant:
            logs.append(np.full(len(logs[0]), math.log(self._constant)))
        found: Array = np.maximum.reduce(logs)
        return found

    def _power(self, c: ComplexArray, spread: Array, count: int, log_h: Array) -> Factor:
        n = self._n
        k = np.arange(1, n + 1, dtype=np.float64)[:, None]
        scale = np.exp(-k * log_h)
        c, spread = c * scale, spread * scale
        slack = (1 + UNIT_ROUNDOFF * (roundings(n, count) + 64 * n)) * (1 + SPARE)
        most = power((np.abs(c) + spread) / count, count) * slack
        own = UNIT_ROUNDOFF * (roundings(n, count) + 8 * n + 5 * n * np.abs(log_h))
        spreads = np.vstack([np.zeros((1, spread.shape[1])), spread])
        return Factor(power(c / count, count), most, own * most + product(spreads, most))

    def _exponential(self, log_h: Array) -> Factor:
        """The powers of hc over factorials."""
        n = self._n
        k = np.arange(n + 1, dtype=np.float64)[:, None]
        logs = k * (math.log(self._constant) - log_h) - np.array([math.lgamma(i + 1) for i in range(n + 1)])[:, None]
        most = np.exp(logs) * (1 + SPARE)
        own = UNIT_ROUNDOFF * (16 + 8 * n * (1 + np.abs(log_h) + abs(math.log(self._constant))) + 4 * n * n)
        return Factor(np.exp(logs).astype(np.complex128), most, own * most)

    def _product(self, one: Factor, other: Factor) -> Factor:
        most = product(one.most, other.most) * (1 + SPARE)
        error = product(one.error, other.most) + product(one.most, other.error)
        return Factor(product(one.value, other.value), most, error + UNIT_ROUNDOFF * (4 * self._n + 16) * most)


def on_uneven_rays(law: UnevenLaw, n: int, rays: Sequence[tuple[float, float, Array]], ratio: float) -> list[Rows]:
    """``E Lambda^n e^(-r Lambda)`` on several rays, each an angle, a step and nodes."""
    return [UnevenSeries(law, n, angle, dv).rows(v, ratio) for angle, dv, v in rays]
