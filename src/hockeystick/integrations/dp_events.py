"""Conversion of dp_accounting's events to rounds of a plan.

A rule is a function that converts one kind of event; its docstring states why the round represents the event. If a rule
uses only a pure epsilon of the event (randomised response under REPLACE_SPECIAL), the round is the worst mechanism with
that epsilon. The upper end of the plan is then valid for the event, and the lower end only for the worst mechanism.

Each number stands for the decimal that it prints as. Values computed from such numbers are rounded to the side with the
larger epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from hockeystick.integrations.needed import missing
from hockeystick.numerics.rounding import next_down, next_up
from hockeystick.plan.mechanisms.approximate_dp import ApproximateDP
from hockeystick.plan.mechanisms.discrete_laplace import DiscreteLaplace
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.mechanisms.laplace import Laplace
from hockeystick.plan.mechanisms.mixture_gaussian import MixtureGaussian
from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse
from hockeystick.plan.mechanisms.zcdp import ZCDP
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import NO_SAMPLING, Round
from hockeystick.plan.sampling import NoSampling, Sampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.plan.sampling.random_allocation import RandomAllocation
from hockeystick.plan.sampling.truncated_poisson import TruncatedPoisson
from hockeystick.plan.sampling.with_replacement import WithReplacement
from hockeystick.plan.sampling.without_replacement import WithoutReplacement
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.domains import COUNT, POSITIVE, Domain, shown, whole_numbers
from hockeystick.values.errors import HockeystickError, InvalidInputError, UnsupportedError
from hockeystick.values.exact import decimal, towards

try:
    import dp_accounting
    from dp_accounting import NeighboringRelation
    from dp_accounting import dp_event as events
except ModuleNotFoundError as error:
    raise missing(error) from None

ADD_OR_REMOVE_ONE, REPLACE_ONE, REPLACE_SPECIAL = (
    NeighboringRelation.ADD_OR_REMOVE_ONE,
    NeighboringRelation.REPLACE_ONE,
    NeighboringRelation.REPLACE_SPECIAL,
)
"""Relations of dp_accounting; the first is the default here and in dp_accounting."""

ADJACENCIES: Mapping[Any, Adjacency] = {
    ADD_OR_REMOVE_ONE: Adjacency.ADD_OR_REMOVE,
    REPLACE_ONE: Adjacency.REPLACE_ONE,
    REPLACE_SPECIAL: Adjacency.ZERO_OUT,  # replaces a record by one that contributes nothing
}
"""Adjacency of a plan for each relation of dp_accounting."""

PROBABILITY = Domain("a number from 0 to 1", {"minimum": 0, "maximum": 1})  # sample rate, or rate of random answers
FINITE = Domain("a finite number", {})  # sensitivity, of either sign
WHOLE = whole_numbers()  # count of records, steps or sensitivities

SAMPLED = frozenset(
    {
        events.NoOpDpEvent,
        events.NonPrivateDpEvent,
        events.GaussianDpEvent,
        events.LaplaceDpEvent,
        events.DiscreteLaplaceDpEvent,
        events.ComposedDpEvent,
        events.SelfComposedDpEvent,
        events.PoissonSampledDpEvent,
    }
)
"""Kinds of events that may run on a sample: sums to which a record outside the sample contributes zero."""


class UnsupportedEventError(UnsupportedError, dp_accounting.UnsupportedEventError):
    """Error for an event that no round represents.

    Attributes:
        event: the unsupported event, which may be nested in the one that was given.
    """

    def __init__(self, message: str, event: Any) -> None:
        super().__init__(f"{type(event).__name__}: {message}")
        self.event = event


class NonPrivate(NamedTuple):
    """Marker for an event without privacy, whose epsilon is infinite and which no round represents."""

    event: Any


Item = Round | NonPrivate
Rule = Callable[[Any, Any], Iterator[Item]]


def to_plan(event: Any, neighboring_relation: Any = ADD_OR_REMOVE_ONE, delta: float | None = None) -> Plan:
    """Return the plan of an event.

    Args:
        event: ``DpEvent`` of any kind.
        neighboring_relation: relation under which the event is accounted.
        delta: default target delta of the plan.

    Raises:
        UnsupportedEventError: no round represents the event or one nested in it; the message names that event.
        InvalidInputError: the relation is unknown.
    """
    found = list(items(event, neighboring_relation))
    for item in found:
        if isinstance(item, NonPrivate):
            raise UnsupportedEventError(
                "an event that is not private has no plan, because its epsilon is infinite", item.event
            )
    return Plan([item for item in found if isinstance(item, Round)], adjacency_of(neighboring_relation), delta)


def adjacency_of(neighboring_relation: Any) -> Adjacency:
    """Return the adjacency that corresponds to a relation of dp_accounting.

    Raises:
        InvalidInputError: the argument is no relation of dp_accounting.
    """
    if neighboring_relation not in ADJACENCIES:
        known = ", ".join(str(relation) for relation in ADJACENCIES)
        raise InvalidInputError(
            f"neighboring_relation must be one of {known}; received {shown(neighboring_relation)}",
            "neighboring_relation",
        )
    return ADJACENCIES[neighboring_relation]


def items(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the rounds of an event, and a :class:`NonPrivate` for each part without privacy.

    Each round has a Renyi curve in every direction of the relation; most rounds also have dominating pairs.

    Raises:
        UnsupportedEventError: no round represents a part of the event, or a parameter is outside its domain.
    """
    adjacency = adjacency_of(relation)
    rule = RULES.get(type(event)) or (BY_NAME.get(type(event).__name__) if isinstance(event, events.DpEvent) else None)
    if rule is None:
        raise UnsupportedEventError(UNSUPPORTED.get(type(event), "this event is not supported"), event)
    try:
        for item in rule(event, relation):
            if isinstance(item, Round):
                for direction in adjacency.directions:
                    item.curve(direction)
            yield item
    except UnsupportedEventError:
        raise
    except OverflowError as error:
        raise UnsupportedEventError(
            "a parameter is outside the range in which the cost can be computed", event
        ) from error
    except HockeystickError as error:
        raise UnsupportedEventError(str(error), event) from error


def _check_relation(event: Any, relation: Any, *allowed: Any) -> None:
    """Check that a round represents the event under this relation.

    Raises:
        UnsupportedEventError: the relation is not in ``allowed``.
    """
    if relation not in allowed:
        names = " or ".join(each.name for each in allowed)
        raise UnsupportedEventError(f"neighboring_relation must be {names}; received {relation.name}", event)


def _nothing(event: Any, relation: Any) -> Iterator[Item]:
    yield from ()


def _non_private(event: Any, relation: Any) -> Iterator[Item]:
    yield NonPrivate(event)


def _noisy(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the round of Gaussian or Laplace noise.

    The noise is relative to the norm bound of one record: L2 for Gaussian noise, L1 for Laplace noise. Replacing a
    record moves the sum by twice the bound.
    """
    mechanism = Gaussian if isinstance(event, events.GaussianDpEvent) else Laplace
    yield NonPrivate(event) if event.noise_multiplier == 0 else Round(mechanism(event.noise_multiplier))


def _discrete_laplace(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the round of discrete Laplace noise with parameter a, which has the scale 1/a, rounded down."""
    _check_relation(event, relation, ADD_OR_REMOVE_ONE, REPLACE_SPECIAL)
    if event.sensitivity == 0:
        return
    if event.noise_parameter == 0:
        # e^(-a |x|) tanh(a / 2) is no mass function at a = 0; dp_accounting treats it as no protection
        yield NonPrivate(event)
        return
    sensitivity = int(WHOLE.check(event.sensitivity, "sensitivity"))
    parameter = POSITIVE.check(event.noise_parameter, "noise_parameter")
    yield Round(DiscreteLaplace(towards(1 / decimal(parameter), up=False), sensitivity))


def _randomized_response(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the round of randomised response with k buckets: a uniform answer with probability p, else the true one.

    REPLACE_ONE: the true answer has probability 1 - p + p/k and each other answer p/k, so e^epsilon = k (1 - p)/p + 1.
    Rounding epsilon up is safe: if some answers are replaced by uniform ones, randomised response with a larger epsilon
    becomes randomised response with a smaller one.

    REPLACE_SPECIAL: the answer of the special record is uniform, so the largest likelihood ratios of the two directions
    are k (1 - p) + p and 1/p. The round is a pure epsilon, the logarithm of the larger ratio.
    """
    _check_relation(event, relation, REPLACE_ONE, REPLACE_SPECIAL)
    buckets = int(whole_numbers(least=1).check(event.num_buckets, "num_buckets"))
    noise = PROBABILITY.check(event.noise_parameter, "noise_parameter")
    if buckets == 1 or noise == 1:
        return
    if noise == 0:
        yield NonPrivate(event)
        return
    exact = min(Fraction(noise), decimal(noise))  # near 1, the odds of the double and of its decimal differ
    if relation is REPLACE_SPECIAL:
        yield Round(ApproximateDP(_log_up(max(buckets * (1 - exact) + exact, 1 / exact)), 0.0))
    else:
        yield Round(RandomizedResponse(_log_up(buckets * (1 - exact) / exact + 1), buckets))


def _composed(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the rounds of all parts of a composed event; a plan composes its rounds in the same way."""
    for part in event.events:
        yield from items(part, relation)


def _self_composed(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the rounds of an event that is repeated ``count`` times."""
    count = int(COUNT.check(event.count, "count"))
    for item in items(event.event, relation):
        if count:
            yield item if isinstance(item, NonPrivate) else item * count


def _poisson(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the round of one mechanism under Poisson sampling.

    Nested Poisson samplings are one Poisson sampling at the product of their rates, since each record passes all of
    them independently of other records.
    """
    rate = PROBABILITY.check(event.sampling_probability, "sampling_probability")
    inner = list(items(event.event, relation))
    if rate == 0 or not inner:
        return
    if rate == 1:
        yield from inner
        return
    for part in _parts(event.event):
        if type(part) not in SAMPLED:
            raise UnsupportedEventError("no pair is proven for it with sampling", part)
    item = _one_round(event, relation, inner)
    if isinstance(item, NonPrivate):
        yield item
        return
    outer = getattr(item.sampling, "sample_rate", None)
    yield Round(item.mechanism, Poisson(rate if outer is None else towards(decimal(rate) * decimal(outer), up=True)))


def _fixed_size(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the round of one mechanism on a sample of fixed size, drawn without or with replacement.

    If records are added or removed, the event's dataset size is taken as the size of the larger dataset. The upper end
    is also valid if it is the size of the smaller one. Without replacement, the added record is then in a batch less
    often. The dominating pairs of this sampling are those of Poisson sampling; a lower rate does not weaken their
    guarantee. With replacement, the number of draws of a record is stochastically larger in a smaller dataset.
    """
    again = isinstance(event, events.SampledWithReplacementDpEvent)
    scheme: Callable[[int, int], Sampling] = WithReplacement if again else WithoutReplacement
    size, records = (WHOLE.check(getattr(event, key), key) for key in ("sample_size", "source_dataset_size"))
    yield from _one_sampled(event, relation, scheme(int(size), int(records)) if size else None)


def _random_allocation(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the round of one epoch of random allocation: each record enters ``num_selected`` random steps.

    Several such events draw the steps independently. Not every version of dp_accounting has this event.
    """
    selected, steps = (whole_numbers(least=1).check(getattr(event, key), key) for key in ("num_selected", "num_steps"))
    yield from _one_sampled(event, relation, RandomAllocation(int(steps), int(selected)))


def _one_sampled(event: Any, relation: Any, sampling: Sampling | None) -> Iterator[Item]:
    """Yield the round of a single unsampled mechanism under ``sampling``.

    Nothing is yielded if ``sampling`` is ``None``, which means an empty sample.
    """
    inner = list(items(event.event, relation))
    if sampling is None:
        return
    for item in inner:
        if isinstance(item, NonPrivate):
            yield item
            return
        if len(inner) > 1 or item.count > 1 or not isinstance(item.sampling, NoSampling):
            raise UnsupportedEventError(
                "each batch must run a single unsampled mechanism; if every mechanism gets its own batch, draw a "
                "batch for each",
                event,
            )
        yield Round(item.mechanism, sampling)


def _parts(event: Any) -> Iterator[Any]:
    """Yield an event and all events nested in it."""
    yield event
    inner = [event.event] if hasattr(event, "event") else getattr(event, "events", ())
    for part in inner:
        yield from _parts(part)


def _one_round(event: Any, relation: Any, inner: Sequence[Item]) -> Item:
    """Return one round that represents several rounds on the same sample.

    If an event has no privacy, its :class:`NonPrivate` is returned instead.

    Several Gaussian rounds on the same records have the dominating pair of one Gaussian round of noise ``(sum
    s_i^-2)^(-1/2)``, since the privacy losses of independent rounds add up and a sum of normal losses is normal. The
    noise is rounded down. Sampling preserves domination if a record is added or removed (Zhu, Dong, Wang 2022 [ZDW22],
    Theorem 11). A replacement under sampling is refused, since it involves three laws, and a dominating pair describes
    only two.
    """
    rounds = []
    for item in inner:
        if isinstance(item, NonPrivate):
            return item
        rounds.append(item)
    if len(rounds) == 1 and rounds[0].count == 1:
        return rounds[0]
    squares = Fraction(0)
    for item in rounds:
        mechanism, sampled = item.mechanism, not isinstance(item.sampling, NoSampling)
        if not isinstance(mechanism, Gaussian) or sampled or relation is REPLACE_ONE:
            raise UnsupportedEventError(
                "each sample must run a single mechanism, or, under add-or-remove, several unsampled Gaussian "
                "mechanisms; if every mechanism gets its own sample, sample for each",
                event,
            )
        squares += item.count / decimal(mechanism.noise_multiplier) ** 2
    return Round(Gaussian(_root_down(1 / squares)))


def _mixture(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the round of Gaussian noise on a sum with a random sensitivity.

    If the sensitivity is either 0 or c, the round is a Gaussian mechanism under Poisson sampling, with the probability
    of c as its rate. If there are more sensitivities, all of one sign, the round is the mixture itself. Negative
    sensitivities are replaced by their absolute values, which does not change the privacy. Sensitivities of probability
    0 are dropped.
    """
    _check_relation(event, relation, ADD_OR_REMOVE_ONE, REPLACE_SPECIAL)
    if len(event.sensitivities) != len(event.sampling_probs):
        raise UnsupportedEventError("sensitivities and sampling_probs must have the same length", event)
    moved: dict[float, Fraction] = {}
    for sensitivity, probability in zip(event.sensitivities, event.sampling_probs, strict=True):
        distance, rate = FINITE.check(sensitivity, "sensitivities"), PROBABILITY.check(probability, "sampling_probs")
        if distance and rate:
            moved[distance] = moved.get(distance, Fraction(0)) + decimal(rate)
    if not math.isclose(sum(event.sampling_probs), 1, rel_tol=1e-9):
        raise UnsupportedEventError(f"sampling_probs must add up to 1; received {shown(event.sampling_probs)}", event)
    if not moved:
        return
    if event.standard_deviation == 0:
        yield NonPrivate(event)
        return
    deviation = POSITIVE.check(event.standard_deviation, "standard_deviation")
    if len(moved) > 1:
        if min(moved) < 0 < max(moved):
            raise UnsupportedEventError("sensitivities must all have the same sign; no pair is proven otherwise", event)
        yield Round(MixtureGaussian(tuple(map(abs, event.sensitivities)), tuple(event.sampling_probs), deviation))
        return
    ((only, mass),) = moved.items()
    noise = towards(decimal(deviation) / abs(decimal(only)), up=False)
    yield Round(Gaussian(noise), NO_SAMPLING if mass >= 1 else Poisson(towards(mass, up=True)))


def _concentrated(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the round of a rho-zCDP guarantee (Bun, Steinke 2016 [BS16], Definition 1.1); it gives upper ends only."""
    if event.xi != 0:
        raise UnsupportedEventError(
            f"xi must be 0; received {shown(event.xi)}; give the underlying mechanism instead", event
        )
    if event.rho != 0:
        yield Round(ZCDP(event.rho))


def _tree(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the round of a tree aggregation with noise multiplier s.

    A record contributes to one leaf and its ancestors. It therefore moves at most ``depth`` nodes, each by at most the
    clipping norm. All nodes together are one Gaussian round of noise ``s / sqrt(depth)`` (Kairouz, McMahan, Song,
    Thakkar, Thakurta, Xu 2021 [KMS+21], appendix D). A tree over t steps has depth ``ceil(log2(t + 1))``, the number of
    binary digits of t.
    """
    _check_relation(event, relation, REPLACE_SPECIAL)
    counts = event.step_counts if isinstance(event.step_counts, Sequence) else [event.step_counts]
    depth = max((int(WHOLE.check(count, "step_counts")).bit_length() for count in counts), default=0)
    if depth == 0:
        return
    if event.noise_multiplier == 0:
        yield NonPrivate(event)
        return
    noise = POSITIVE.check(event.noise_multiplier, "noise_multiplier")
    yield Round(Gaussian(_root_down(decimal(noise) ** 2 / depth)))


def _truncated(event: Any, relation: Any) -> Iterator[Item]:
    """Yield the round of Gaussian noise under truncated Poisson sampling.

    If no sample can exceed the limit, the round has plain Poisson sampling.
    """
    for key in ("dataset_size", "truncated_batch_size"):
        WHOLE.check(getattr(event, key), key)
    if not (event.sampling_probability and event.truncated_batch_size and event.dataset_size):
        return
    room = event.truncated_batch_size - event.dataset_size
    if relation is REPLACE_ONE and room < 0:
        raise UnsupportedEventError(
            f"neighboring_relation must be REPLACE_SPECIAL; received {relation.name}; no pair is proven for "
            "replacing a record in truncated batches",
            event,
        )
    if relation is ADD_OR_REMOVE_ONE and room <= 0:
        raise UnsupportedEventError(
            "truncated_batch_size must exceed dataset_size under ADD_OR_REMOVE_ONE, because the event does not say "
            f"which dataset has that size; received {event.truncated_batch_size} and {event.dataset_size}; use "
            "REPLACE_SPECIAL, or a plan with sampling 'truncated-poisson'",
            event,
        )
    if room >= 0:
        gaussian = events.GaussianDpEvent(event.noise_multiplier)
        yield from _poisson(events.PoissonSampledDpEvent(event.sampling_probability, gaussian), relation)
        return
    rate = PROBABILITY.check(event.sampling_probability, "sampling_probability")
    if event.noise_multiplier == 0:
        yield NonPrivate(event)
        return
    sampling = TruncatedPoisson(rate, int(event.dataset_size), int(event.truncated_batch_size))
    yield Round(Gaussian(event.noise_multiplier), sampling)


RULES: Mapping[type, Rule] = {
    events.NoOpDpEvent: _nothing,
    events.NonPrivateDpEvent: _non_private,
    events.GaussianDpEvent: _noisy,
    events.LaplaceDpEvent: _noisy,
    events.DiscreteLaplaceDpEvent: _discrete_laplace,
    events.RandomizedResponseDpEvent: _randomized_response,
    events.ComposedDpEvent: _composed,
    events.SelfComposedDpEvent: _self_composed,
    events.PoissonSampledDpEvent: _poisson,
    events.SampledWithoutReplacementDpEvent: _fixed_size,
    events.SampledWithReplacementDpEvent: _fixed_size,
    events.MixtureOfGaussiansDpEvent: _mixture,
    events.SingleEpochTreeAggregationDpEvent: _tree,
    events.TruncatedSubsampledGaussianDpEvent: _truncated,
    events.ZCDpEvent: _concentrated,
}
"""Function that converts each kind of event."""

BY_NAME: Mapping[str, Rule] = {"RandomAllocationDpEvent": _random_allocation}
"""Rules of events that the installed version of dp_accounting may lack, by name."""

UNSUPPORTED: Mapping[type, str] = {
    events.UnsupportedDpEvent: "the event states that it has no description",
    events.RepeatAndSelectDpEvent: (
        "a round cannot be the best of several runs; if nothing else is composed with it, use to_plan(event.event, "
        "...).selection(...)"
    ),
}
"""Reason for refusing each of the other kinds of events."""


def _root_down(exact: Fraction) -> float:
    """Return a lower bound on the square root of a fraction, at most two roundings below it.

    The bound is the decimal that the returned double prints as.
    """
    near = math.sqrt(float(exact))
    while decimal(near) ** 2 > exact:
        near = next_down(near)
    return near


def _log_up(exact: Fraction) -> float:
    """Return an upper bound on the logarithm of a number above 1.

    ``log1p`` of a double errs by at most 4 roundings (docs/certified.md). Its argument errs by half a rounding, which
    the logarithm does not magnify: the condition number of log1p is at most 1.
    """
    return next_up(math.log1p(towards(exact - 1, up=True)), 8)
