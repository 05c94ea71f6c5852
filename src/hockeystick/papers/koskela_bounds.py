"""The error analysis of Koskela, Jalko, Honkela 2020 [KJH20], version 1, Section 10 and its appendix, as numbers.

For a sampled Gaussian round under add/remove at rate q < 1/2 with noise sigma, with omega the density of its loss:

    Lemma 12:   omega(y) <= M = sigma / (q sqrt(2 pi)) e^(1 / sigma^2)                      everywhere;
    Lemma 13:   omega(y) <= b(y) = sigma sqrt(2 / pi) e^(-(sigma^2 y + C)^2 / (2 sigma^2))  for y >= 2,

``C = sigma^2 log(1 / (2 q)) - 1/2``; the printed exponent of the second has two minus signs, one too many. Both hold;
the proof of the second needs ``sigma^2 y + C >= 0`` besides, which small noise at a rate near 1/2 does not have. The
errors of the density of k rounds by cutting the convolutions off at L, (10.9), and by making it periodic, (10.13):

    2 b(L) ((L + 1) M)^(k - 2),      (L + 1)^(k - 2) sigma / (q sqrt(2 pi)) e^(1 / sigma^2) log(1 / (1 - q)^2) s,

``s = sigma / (q pi) e^(-(sigma^2 L + C)^2 / (2 sigma^2) + 1 / sigma^2)``. They say nothing but for a few rounds: every
further one multiplies the first by (L + 1) M, 2,277 at noise 1, rate 0.01 and L = 20. That factor is not needed. omega
is a density, so that convolving with it raises no supremum; the recursion (10.6) then gives ``(k - 1) b(L)``, which is
:func:`log_truncation_linear`.

(10.15) bounds the Riemann sum of delta by ``max |h'| (L - eps)^2 / (2 n)``. The n points are those of all of [-L, L],
whose step is ``2 L / n``; what the argument gives is ``max |h'| (L - eps) L / n``, more by ``2 L / (L - eps)``. And
no bound is on the trapezoidal rule of the convolutions themselves: the C of (10.14) are values of the exact periodic
convolution, which the method does not have. The errors of Table 1 at noise 1 are of this kind (``koskela_table.py``).

Everything is in logarithms: the numbers have thousands of digits.
"""

from __future__ import annotations

import math


def log_density_bound(noise: float, rate: float) -> float:
    """log of M, Lemma 12: no density of a loss is larger."""
    return math.log(noise / (rate * math.sqrt(2 * math.pi))) + noise**-2


def log_tail_bound(noise: float, rate: float, loss: float) -> float:
    """log of b, Lemma 13: the density at a loss of 2 or more.

    Raises:
        ValueError: the loss is below 2, or ``sigma^2 y + C`` is negative, where the lemma is not proved.
    """
    from_centre = noise**2 * (loss - math.log(2 * rate)) - 0.5
    if loss < 2 or from_centre < 0:
        raise ValueError(f"Lemma 13 is for losses of 2 or more, not too small for the noise; received {loss:g}")
    return math.log(noise * math.sqrt(2 / math.pi)) - 0.5 * (from_centre / noise) ** 2


def log_truncation(noise: float, rate: float, length: float, rounds: int) -> float:
    """log of (10.9): error of the density of k >= 2 rounds from convolving on [-L, L] only."""
    more = math.log(length + 1) + log_density_bound(noise, rate)
    return math.log(2) + log_tail_bound(noise, rate, length) + (rounds - 2) * more


def log_truncation_linear(noise: float, rate: float, length: float, rounds: int) -> float:
    """log of the same error, bounded by ``(k - 1) b(L)``: convolving with a density raises no supremum."""
    return math.log(rounds - 1) + log_tail_bound(noise, rate, length)


def log_periodisation(noise: float, rate: float, length: float, rounds: int) -> float:
    """log of (10.13): error of the density of k >= 2 rounds from taking omega for periodic."""
    first = log_density_bound(noise, rate) + (rounds - 2) * math.log(length + 1)
    last = (
        math.log(noise / (rate * math.pi))
        + noise**-2
        - 0.5 * (noise * (length - math.log(2 * rate)) - 0.5 / noise) ** 2
    )
    return first + math.log(-2 * math.log1p(-rate)) + last


def most_rounds(noise: float, rate: float, length: float, log_error: float) -> int:
    """The most rounds for which (10.9) is at most a given error; 1 if it is above for two."""
    spare = log_error - log_truncation(noise, rate, length, 2)
    return 1 if spare < 0 else 2 + math.floor(spare / (math.log(length + 1) + log_density_bound(noise, rate)))
