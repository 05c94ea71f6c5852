"""Releases of keys whose noisy count reaches a threshold, dataset by dataset, for tests only.

One key of n other persons is a law with a point (nothing is released) and a density of noisy counts at or above the
threshold; what is seen of it is integrated.  Keys of one person alone are released or not: two outcomes each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .real import Mpf, OracleError, Real, mp, to_mpf

DIGITS = 30
STEPS = (0, 0.05, 0.2, 0.5, 1, 2, 4, 8, 16, 60)  # of a tail that is integrated, in units of the noise


def released_alone(noise: str, scale: Real, threshold: Real) -> Mpf:
    """``P(1 + Z >= T)`` by integrating the density of the noise."""
    with mp.workdps(DIGITS):
        return _tail(_density(noise, to_mpf(scale)), to_mpf(scale), to_mpf(threshold) - 1)


def release_delta(noise: str, scale: Real, threshold: Real, others: Sequence[int], epsilon: Real) -> Mpf:
    """delta when a person is removed who adds 1 to the counts of some keys.

    Args:
        noise: "laplace" or "gaussian".
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
        kept = (1 - _tail(density, s, t - 1)) ** (len(others) - len(shared))  # none of the person's own is released
        ratio /= kept
        if not shared:
            return 1 - kept + kept * max(1 - ratio, mp.zero)
        (count,) = shared

        def below(mean: int) -> Mpf:
            """P(mean + Z < T)."""
            return _tail(density, s, mean - t) if mean >= t else 1 - _tail(density, s, t - mean)

        value = max(below(count + 1) - ratio * below(count), mp.zero)

        def excess(y: Mpf) -> Mpf:
            return max(density(y - count - 1) - ratio * density(y - count), mp.zero)

        # the likelihood ratio is 1 in the middle and rises from there: where it meets the ratio the integrand bends
        bend = count + mp.mpf(1) / 2 + mp.log(ratio) * (s * s if noise == "gaussian" else s / 2)
        edges = {t, *(b for b in (mp.mpf(count), mp.mpf(count + 1), bend) if b > t)}
        edges |= {max(edges) + s * to_mpf(step) for step in STEPS}
        return 1 - kept + kept * (value + mp.quad(excess, sorted(edges)))


def _density(noise: str, scale: Mpf) -> Callable[[Mpf], Mpf]:
    if noise == "laplace":
        return lambda x: mp.exp(-abs(x) / scale) / (2 * scale)
    return lambda x: mp.exp(-((x / scale) ** 2) / 2) / (scale * mp.sqrt(2 * mp.pi))


def _tail(density: Callable[[Mpf], Mpf], scale: Mpf, start: Mpf) -> Mpf:
    """P(Z >= start), for a start of at least 0."""
    # the length on which the density falls by a factor e there
    unit = min(scale, 1 / (mp.log(density(start)) - mp.log(density(start + 1)))) if start else scale
    first = density(start)  # the rule is refined until it settles to so many digits of 1
    return first * unit * mp.quad(lambda x: density(start + unit * x) / first, [to_mpf(step) for step in STEPS])
