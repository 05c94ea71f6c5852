"""Calibration of the noise multiplier of a training run, for all integrations."""

from __future__ import annotations

from hockeystick.integrations.history import RATE, training_round
from hockeystick.plan.plan import Plan, target_delta
from hockeystick.questions.calibration import calibrate
from hockeystick.questions.targets import Epsilon
from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError


def least_noise_multiplier(
    epsilon: float, delta: float, sample_rate: float, steps: int, spent: Plan | None = None
) -> float:
    """Return the smallest noise multiplier with which a run of Poisson-sampled Gaussian steps meets (epsilon, delta).

    Args:
        epsilon: target epsilon, greater than 0.
        delta: target delta, in (0, 1).
        sample_rate: probability that a record enters a batch, in (0, 1].
        steps: number of steps to run, at least 1.
        spent: plan of earlier steps, which count towards the target and set the adjacency; by default no earlier steps,
            and the adjacency ``"add-or-remove"``.

    Returns:
        A noise multiplier at which the certified upper end of epsilon is at most the target. It exceeds the smallest
        such noise multiplier by at most one part per million.

    Raises:
        InvalidInputError: a value is outside its domain, or earlier steps exceed the target.
        UnreachableError: no noise multiplier meets the target.

    >>> least_noise_multiplier(1.0, 1e-6, sample_rate=0.01, steps=10_000)  # doctest: +ELLIPSIS
    4.3021...
    """
    epsilon = domains.POSITIVE.of("the target epsilon").check(epsilon, "target_epsilon")
    target = Epsilon(epsilon, delta=target_delta(delta))
    rate = RATE.check(sample_rate, "sample_rate")
    steps = domains.whole(steps, "steps", "number of remaining steps", least=1)
    before = spent if spent is not None else Plan([])
    used = before.epsilon(delta).upper
    if used >= epsilon:
        raise InvalidInputError(
            f"target_epsilon must be greater than {used!r}, the epsilon of the recorded steps at delta {delta:g}; "
            f"received {epsilon!r}",
            "target_epsilon",
        )
    found = calibrate(lambda noise: before + training_round(noise, rate, steps), "noise-multiplier", target)
    return found.value
