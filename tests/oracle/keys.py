"""Releases of keys whose noisy count reaches a threshold, dataset by dataset, for tests only.

One key of n other persons is a law with a point (nothing is released) and a density of noisy counts at or above the
threshold; what is seen of it is integrated, and added up where the noise is on the whole numbers.  Keys of one person
alone are released or not: two outcomes each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .real import Mpf, OracleError, Real, mp, to_mpf

DIGITS = 30
DISCRETE = ("discrete-laplace", "discrete-gaussian")
STEPS = (0, 0.05, 0.2, 0.5, 1, 2, 4, 8, 16, 60)  # of a tail that is integrated, in units of the noise


def released_alone(noise: str, scale: Real, threshold: Real) -> Mpf:
    """``P(1 + Z >= T)`` by integrating the density of the noise, or adding up its law."""
    with mp.workdps(DIGITS):
        return _tail(noise, to_mpf(scale), to_mpf(threshold) - 1)


def release_delta(noise: str, scale: Real, threshold: Real, others: Sequence[int], epsilon: Real) -> Mpf:
    """delta when a person is removed who adds 1 to the counts of some keys.

    Args:
        noise: "laplace" or "gaussian", "discrete-laplace" or "discrete-gaussian".
        scale: of the noise, or its standard deviation.
        threshold: T.
        others: for each key of the person the number of other persons who have it, 0 for a key of the person's own; at
            most one of them may be above 0.
        epsilon: where, 0 or more.
    """
    shared = [count for count in others if count]
    if len(shared) > 1:
        raise OracleError("one key that others have is integrated")
    with mp.workdps(DIGITS):
        s, t = to_mpf(scale), to_mpf(threshold)
        density, ratio = _density(noise, s), mp.exp(to_mpf(epsilon))
        kept = (1 - _tail(noise, s, t - 1)) ** (len(others) - len(shared))  # none of the person's own is released
        ratio /= kept
        if not shared:
            return 1 - kept + kept * max(1 - ratio, mp.zero)
        (count,) = shared

        def below(mean: int) -> Mpf:
            """P(mean + Z < T)."""
            if noise in DISCRETE:  # noise of at most so much: the law is symmetric
                most = math.ceil(t) - 1 - mean
                return _tail(noise, s, mp.mpf(-most)) if most < 0 else 1 - _tail(noise, s, mp.mpf(most + 1))
            return _tail(noise, s, mean - t) if mean >= t else 1 - _tail(noise, s, t - mean)

        value = max(below(count + 1) - ratio * below(count), mp.zero)
        if noise in DISCRETE:
            seen = (density(y - count - 1) - ratio * density(y - count) for y in whole_numbers(t, s, count))
            return 1 - kept + kept * (value + mp.fsum(max(each, mp.zero) for each in seen))

        def excess(y: Mpf) -> Mpf:
            return max(density(y - count - 1) - ratio * density(y - count), mp.zero)

        # the likelihood ratio is 1 in the middle and rises from there: where it meets the ratio the integrand bends
        bend = count + mp.mpf(1) / 2 + mp.log(ratio) * (s * s if noise == "gaussian" else s / 2)
        edges = {t, *(b for b in (mp.mpf(count), mp.mpf(count + 1), bend) if b > t)}
        edges |= {max(edges) + s * to_mpf(step) for step in STEPS}
        return 1 - kept + kept * (value + mp.quad(excess, sorted(edges)))


def whole_numbers(threshold: Mpf, scale: Mpf, count: int = 0) -> range:
    """The noisy counts that are released, up to where there is nothing to all digits that are looked at."""
    return range(math.ceil(threshold), max(math.ceil(threshold), count) + math.ceil(80 * scale) + 40)


def key_law(noise: str, scale: Real, threshold: Real, count: int | None) -> dict[int | None, Mpf]:
    """What is seen of a key with that count and whole-number noise; ``None`` is nothing, as of a key that is absent."""
    with mp.workdps(DIGITS):
        s, t = to_mpf(scale), to_mpf(threshold)
        mass = _density(noise, s)
        law: dict[int | None, Mpf] = (
            {} if count is None else {y: mass(mp.mpf(y - count)) for y in whole_numbers(t, s, count)}
        )
        return {None: 1 - mp.fsum(law.values()), **law}


def _density(noise: str, scale: Mpf) -> Callable[[Mpf], Mpf]:
    if noise == "discrete-laplace":
        decay = mp.exp(-1 / scale)
        return lambda k: (1 - decay) / (1 + decay) * mp.power(decay, abs(k))
    if noise == "discrete-gaussian":
        total = 1 + 2 * mp.fsum(mp.exp(-((k / scale) ** 2) / 2) for k in range(1, math.ceil(20 * scale) + 2))
        return lambda k: mp.exp(-((k / scale) ** 2) / 2) / total
    if noise == "laplace":
        return lambda x: mp.exp(-abs(x) / scale) / (2 * scale)
    return lambda x: mp.exp(-((x / scale) ** 2) / 2) / (scale * mp.sqrt(2 * mp.pi))


def _tail(noise: str, scale: Mpf, start: Mpf) -> Mpf:
    """P(Z >= start), for a start of at least 0."""
    density = _density(noise, scale)
    if noise in DISCRETE:
        return mp.fsum(density(mp.mpf(k)) for k in whole_numbers(start, scale))
    # the length on which the density falls by a factor e there
    unit = min(scale, 1 / (mp.log(density(start)) - mp.log(density(start + 1)))) if start else scale
    first = density(start)  # the rule is refined until it settles to so many digits of 1
    return first * unit * mp.quad(lambda x: density(start + unit * x) / first, [to_mpf(step) for step in STEPS])
