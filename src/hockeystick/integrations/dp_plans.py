"""Plans as events of dp_accounting."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hockeystick.integrations.needed import missing
from hockeystick.numerics.rounding import next_down
from hockeystick.plan.mechanisms import Mechanism
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.mechanisms.laplace import Laplace
from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import Round
from hockeystick.plan.sampling import NoSampling, Sampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.plan.sampling.random_allocation import RandomAllocation
from hockeystick.plan.sampling.truncated_poisson import TruncatedPoisson
from hockeystick.plan.sampling.with_replacement import WithReplacement
from hockeystick.plan.sampling.without_replacement import WithoutReplacement
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import UnsupportedError

try:
    import dp_accounting
    from dp_accounting import dp_event as events
except ModuleNotFoundError as error:
    raise missing(error) from None


def to_event(plan: Plan) -> Any:
    """Return the event of a plan and the relation of its adjacency.

    The probability of randomised response is rounded to the side with the larger epsilon.

    Raises:
        UnsupportedError: no event exists for the plan: it has a black box, a sampling unknown to the installed version
            of dp_accounting, the adjacency ``add`` or ``remove``, or randomised response that is sampled or whose
            adjacency is not ``replace-one``.
    """
    if plan.adjacency in (Adjacency.ADD, Adjacency.REMOVE):
        raise UnsupportedError(
            f"adjacency {plan.adjacency.value!r} has no neighbouring relation in dp_accounting; use 'add-or-remove', "
            "which covers both directions"
        )
    if not plan.of_records or plan.best_of is not None:
        key, what = ("unit", "users with several records") if plan.best_of is None else ("selection", "a selection")
        raise UnsupportedError(f"{key}: dp_accounting has no event for {what}, only for single records")
    builder = dp_accounting.DpEventBuilder()
    for item in plan.rounds:
        if item.count:
            builder.compose(_event_of(plan, item), item.count)
    return builder.build()


def _event_of(plan: Plan, item: Round) -> Any:
    """Event of a round of a plan.

    dp_accounting's randomised response describes the answer of one record that is always present, so it is refused in a
    plan that adds, removes or samples records. Truncated batches are refused unless the adjacency is ``zero-out``: the
    event's size might mean either dataset. In a plan, ``dataset_size`` means the larger dataset if a record is added or
    removed.
    """
    replaced = plan.adjacency is Adjacency.REPLACE_ONE
    if isinstance(item.mechanism, RandomizedResponse) and not (replaced and isinstance(item.sampling, NoSampling)):
        raise UnsupportedError(
            f"mechanism {item.mechanism.name!r} has an event only for unsampled rounds under replacement; received "
            f"adjacency {plan.adjacency.value!r} and sampling {item.sampling.name!r}"
        )
    if isinstance(item.sampling, TruncatedPoisson) and plan.adjacency is not Adjacency.ZERO_OUT:
        raise UnsupportedError(
            "sampling 'truncated-poisson' has an event only for adjacency 'zero-out'; received "
            f"{plan.adjacency.value!r}"
        )

    if isinstance(item.mechanism, Gaussian) and isinstance(item.sampling, TruncatedPoisson):
        own = item.sampling
        return events.TruncatedSubsampledGaussianDpEvent(
            own.dataset_size, own.sample_rate, own.max_batch_size, item.mechanism.noise_multiplier
        )
    if type(item.mechanism) not in EVENTS:
        raise UnsupportedError(
            f"mechanism {item.mechanism.name!r} has no event in dp_accounting; only "
            f"{', '.join(repr(known.name) for known in EVENTS)} have one"
        )
    if type(item.sampling) not in SAMPLES:
        raise UnsupportedError(f"sampling {item.sampling.name!r} has no event in dp_accounting")
    return SAMPLES[type(item.sampling)](item.sampling, EVENTS[type(item.mechanism)](item.mechanism))


def _at_two(noise: float, mechanism: Gaussian | Laplace) -> float:
    """Noise relative to distance 2, as in all events: noise s over distance 1 is noise 2s over distance 2."""
    return noise * (2 / mechanism.replace_one_distance)


def _of_response(mechanism: RandomizedResponse) -> Any:
    """Event of randomised response, with its probability p rounded to the safe side.

    ``k (1 - p)/p + 1 = e^epsilon`` gives ``p = k / (e^epsilon + k - 1)``.
    """
    if mechanism.epsilon == 0:
        return events.NoOpDpEvent()
    odds = math.exp(-mechanism.epsilon)
    answers = mechanism.categories
    noise = next_down(answers * odds / (1 + (answers - 1) * odds), 8)
    return events.RandomizedResponseDpEvent(noise, answers)


def _draws(sampling: WithReplacement, event: Any) -> Any:
    if sampling.dataset_size is None:
        raise UnsupportedError(
            "sampling 'with-replacement' has an event only for records with equal weights; give dataset_size "
            "instead of weight"
        )
    return events.SampledWithReplacementDpEvent(sampling.dataset_size, sampling.draws, event)


def _allocation(sampling: RandomAllocation, event: Any) -> Any:
    made = getattr(events, "RandomAllocationDpEvent", None)
    if made is None:
        raise UnsupportedError(
            "sampling 'random-allocation' has no event in the installed version of dp_accounting; install a version "
            "that has RandomAllocationDpEvent"
        )
    steps, selected = sampling.steps, sampling.participations_per_epoch
    if replace(sampling, dataset_size=None) != RandomAllocation(steps, selected):
        raise UnsupportedError(
            "sampling 'random-allocation' has an event only for steps_per_epoch and participations_per_epoch; "
            f"received {sampling!r}"
        )
    return made(event=event, num_selected=selected, num_steps=steps)


EVENTS: Mapping[type[Mechanism], Callable[[Any], Any]] = {
    Gaussian: lambda mechanism: events.GaussianDpEvent(_at_two(mechanism.noise_multiplier, mechanism)),
    Laplace: lambda mechanism: events.LaplaceDpEvent(_at_two(mechanism.scale, mechanism)),
    RandomizedResponse: _of_response,
}
"""Event of each mechanism that dp_accounting has."""

SAMPLES: Mapping[type[Sampling], Callable[[Any, Any], Any]] = {
    NoSampling: lambda sampling, event: event,
    Poisson: lambda sampling, event: events.PoissonSampledDpEvent(sampling.sample_rate, event),
    WithoutReplacement: lambda sampling, event: events.SampledWithoutReplacementDpEvent(
        sampling.dataset_size, sampling.batch_size, event
    ),
    WithReplacement: _draws,
    RandomAllocation: _allocation,
}
"""Event of each sampling scheme, from the scheme and the event of its mechanism."""
