"""How much noise a training run needs: the one place where the integrations calibrate.

The upper end of epsilon is certified, so a noise multiplier at which it does not exceed the target is safe, whatever
the search does. That epsilon falls as the noise grows makes it also nearly the least.
"""

from __future__ import annotations

from collections.abc import Callable

from hockeystick import domains
from hockeystick.errors import InvalidInputError
from hockeystick.mechanisms import Gaussian
from hockeystick.plan import Plan, Round, target_delta
from hockeystick.sampling import Poisson

LEAST_NOISE, MOST_NOISE = 1e-2, 1e6
TOLERANCE = 1e-6  # relative, of the noise multiplier

TARGET_EPSILON = domains.POSITIVE.of("the target epsilon")


def least_noise_multiplier(
    epsilon: float, delta: float, sample_rate: float, steps: int, spent: Plan | None = None
) -> float:
    """The noise multiplier with which a run of Poisson-sampled Gaussian steps meets (epsilon, delta).

    Args:
        epsilon: target, greater than 0.
        delta: target, in (0, 1).
        sample_rate: probability that a record enters a batch, in (0, 1].
        steps: number of steps still to run, at least 1.
        spent: what was run before, which counts towards the target; nothing by default.

    Returns:
        A noise multiplier at which the certified upper end of epsilon is at most the target, and within one part in
        a million of one at which it is above.

    Raises:
        InvalidInputError: a value outside its domain, or a target that no noise multiplier from 0.01 to 10^6 just
            meets.
    """
    epsilon = TARGET_EPSILON.check(epsilon, "target_epsilon")
    delta = target_delta(delta)
    sampling = Poisson(sample_rate)
    steps = domains.whole(steps, "steps", "number of steps still to run", least=1)
    before = spent if spent is not None else Plan([])

    def upper(noise: float) -> float:
        return (before + Round(Gaussian(noise), sampling, steps)).epsilon(delta).upper

    used = before.epsilon(delta).upper
    if used >= epsilon:
        raise InvalidInputError(
            f"target_epsilon must be greater than {used!r}, which the steps recorded so far have spent at delta "
            f"{delta:g}; received {epsilon!r}",
            "target_epsilon",
        )
    low, high = _bracket(upper, epsilon)
    while high > low * (1 + TOLERANCE):
        middle = (low * high) ** 0.5
        if upper(middle) <= epsilon:
            high = middle
        else:
            low = middle
    return high


def _bracket(upper: Callable[[float], float], epsilon: float) -> tuple[float, float]:
    """A noise multiplier that misses the target and one that meets it, a factor 2 apart."""
    noise = 1.0
    if upper(noise) <= epsilon:
        while upper(noise / 2) <= epsilon:
            noise /= 2
            if noise < LEAST_NOISE:
                raise InvalidInputError(
                    f"target_epsilon must be one that noise_multiplier {noise:g} misses; received {epsilon!r}, which "
                    "takes next to no noise: call make_private with a noise_multiplier of your choice",
                    "target_epsilon",
                )
        return noise / 2, noise
    while upper(2 * noise) > epsilon:
        noise *= 2
        if noise > MOST_NOISE:
            raise InvalidInputError(
                f"target_epsilon must be at least {upper(noise)!r}, which noise_multiplier {noise:g} reaches; "
                f"received {epsilon!r}",
                "target_epsilon",
            )
    return noise, 2 * noise
