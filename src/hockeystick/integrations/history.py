"""Plans from a training history of (noise multiplier, sample rate, steps), as kept by Opacus' accountants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import NO_SAMPLING, Round
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError

Entry = tuple[float, float, int]
"""Noise multiplier, 0 or greater; sample rate, in (0, 1]; number of steps."""

NOISE = domains.NOISE_OR_NONE.of("standard deviation of the noise / clipping norm")
"""Domain of a noise multiplier; 0 means a step without noise."""

RATE = domains.RATE.of("probability that a batch contains a given record")

STEPS = domains.whole_numbers().of("number of steps")


def plan_from_history(
    history: Iterable[Any], adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE, delta: float | None = None
) -> Plan:
    """Return the plan of a training run: Gaussian rounds with Poisson sampling, or without sampling at rate 1.

    Args:
        history: entries (noise multiplier, sample rate, steps): your own list, the ``history`` of an Opacus accountant,
            or the value of ``"history"`` in a checkpoint's accountant state.
        adjacency: neighbouring relation.
        delta: default target delta.

    Raises:
        InvalidInputError: an entry is not three numbers in their domains, or its noise multiplier is 0.

    >>> plan = plan_from_history([(1.0, 0.01, 100), (2.0, 0.01, 50)])
    >>> [(item.mechanism.noise_multiplier, item.count) for item in plan.rounds]
    [(1.0, 100), (2.0, 50)]
    """
    rounds = []
    for index, (noise, rate, steps) in enumerate(entries(history), start=1):
        if not noise:
            raise InvalidInputError(
                f"history entry {index}: noise_multiplier must be greater than 0; received {noise!r}, which makes "
                "epsilon infinite",
                "noise_multiplier",
            )
        rounds.append(training_round(noise, rate, steps))
    return Plan(rounds, adjacency, delta)


def training_round(noise: float, rate: float, steps: int) -> Round:
    """Return the round for ``steps`` steps of DP-SGD at one noise multiplier and one rate.

    The steps are Poisson-sampled, or unsampled at rate 1.
    """
    return Round(Gaussian(noise), NO_SAMPLING if rate == 1 else Poisson(rate), steps)


def entries(history: Iterable[Any]) -> Iterator[Entry]:
    """Yield the validated entries of a history; a noise multiplier of 0 is valid.

    Raises:
        InvalidInputError: an entry is not three numbers in their domains; the message names it.
    """
    if not isinstance(history, Iterable):
        raise InvalidInputError(
            "history must be a list of (noise_multiplier, sample_rate, steps); received " + domains.shown(history),
            "history",
        )
    for index, entry in enumerate(history, start=1):
        try:
            noise, rate, steps = entry
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"history entry {index} must be (noise_multiplier, sample_rate, steps); received "
                + domains.shown(entry),
                "history",
            ) from None
        place = f"history entry {index}: "
        yield (
            NOISE.check(noise, place + "noise_multiplier"),
            RATE.check(rate, place + "sample_rate"),
            int(STEPS.check(steps, place + "steps")),
        )
