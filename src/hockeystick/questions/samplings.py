"""One training under each sampling scheme: what it costs, and the noise that it would take to cost no more.

*The same training* has the batch size, the data set and the number of steps of the plan, and other batches. What a
scheme asks for follows from these: a rate from the sizes, the steps of an epoch from either. A key that does not follow
is not guessed: the scheme then says what it wants. Epochs that have begun count whole where a round is an epoch. Rounds
that are not sampled stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from hockeystick.plan.plan import Plan
from hockeystick.plan.round import Round
from hockeystick.plan.sampling import SAMPLINGS, NoSampling, Sampling
from hockeystick.questions.calibration import calibrate
from hockeystick.questions.targets import Epsilon
from hockeystick.values import domains
from hockeystick.values.bounds import Bound
from hockeystick.values.errors import InvalidInputError, UnreachableError, UnsupportedError
from hockeystick.values.outward import UP, html_table, rounded

WAYS = (
    ("batch_size", "dataset_size"),
    ("draws", "dataset_size"),
    ("sample_rate", "dataset_size"),
    ("sample_rate",),
    ("steps_per_epoch", "dataset_size"),
    ("steps_per_epoch",),
)
"""The keys by which schemes say how large batches are, those that say most first."""

ROOM = 4.0
"""Standard deviations of the size of a Poisson batch for which there is room where batches are cut off."""

NOISE_TOLERANCE = 1e-4
"""Relative, of the noise that is looked for."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """One training under one sampling scheme.

    Attributes:
        scheme: its name.
        plan: the training under it; ``None`` where its keys do not follow from the plan.
        epsilon: what that costs at the delta; ``None`` where nothing is proven.
        noise_multiplier: with that noise, the same in all rounds, epsilon is at most the target; ``None`` where no
            noise is known that reaches it.
        reason: why there is no epsilon, or why it has no lower end or a wide interval.
    """

    scheme: type[Sampling]
    plan: Plan | None = None
    epsilon: Bound | None = None
    noise_multiplier: float | None = None
    reason: str | None = None

    @property
    def sampling(self) -> Sampling | None:
        """The scheme with its parameters, of the first round that is sampled by it."""
        rounds = () if self.plan is None else self.plan.rounds
        return next((item.sampling for item in rounds if isinstance(item.sampling, self.scheme)), None)


class Samplings(tuple[Sampled, ...]):
    """The rows of a comparison of sampling schemes, which notebooks show as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The schemes with their interval and the noise that they need, and the reasons of those without a number."""
        return html_table("epsilon by sampling scheme", map(_cells, self), ("sampling", "epsilon", "noise needed"))


def _cells(row: Sampled) -> tuple[str, str, str]:
    noise = "" if row.noise_multiplier is None else rounded(row.noise_multiplier, ".4g", UP)
    return row.scheme.name, row.reason or "" if row.epsilon is None else str(row.epsilon), noise


def samplings(plan: Plan, delta: float | None = None, epsilon: float | None = None) -> Samplings:
    """One training under each sampling scheme: what it costs, and the noise that it takes to reach an epsilon.

    Args:
        plan: a plan with sampled rounds.
        delta: target; the plan's own by default.
        epsilon: what the noise is looked for; by default the upper end of what the plan costs as it is.

    Returns:
        A row for each scheme, in the order of ``hockeystick supported``; those of which nothing is proven, or whose
        keys do not follow from the plan, say so.

    Raises:
        InvalidInputError: no delta, a value outside its domain, or a plan without sampled rounds.
        UnsupportedError: no epsilon is given, and of the plan as it is nothing is proven.

    >>> from hockeystick import dp_sgd
    >>> plan = dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60)
    >>> {row.scheme.name: f"{row.epsilon:.1f}" for row in samplings(plan, 1e-5) if row.epsilon is not None}
    {'none': '6285.9', 'poisson': '2.4', 'without-replacement': '14.8', 'random-allocation': '2.4', 'shuffled': '190.3',
     'with-replacement': '16.0', 'truncated-poisson': '2.5'}
    """
    return Samplings(sampled(plan, delta, epsilon))


def sampled(plan: Plan, delta: float | None = None, epsilon: float | None = None) -> Iterator[Sampled]:
    """The rows of :func:`samplings`, one after the other.

    Raises:
        InvalidInputError: no delta, a value outside its domain, or a plan without sampled rounds.
        UnsupportedError: no epsilon is given, and of the plan as it is nothing is proven.
    """
    delta = plan.delta_target if delta is None else domains.delta(delta)
    if delta is None:
        raise InvalidInputError(
            "no delta: the plan has no default target; pass delta=, or set the key delta in the plan", "delta"
        )
    if all(isinstance(item.sampling, NoSampling) for item in plan.rounds):
        raise InvalidInputError(
            "no round of the plan is sampled: give one with sampling, such as sampling = 'poisson'", "sampling"
        )
    if epsilon is None:
        epsilon = plan.epsilon(delta).upper
    elif epsilon != math.inf:  # which asks for no noise
        epsilon = domains.epsilon(epsilon, "epsilon", "the target epsilon")
    target = Epsilon(epsilon, delta) if 0 < epsilon < math.inf else None
    for kind in SAMPLINGS:
        yield _row(plan, kind, delta, target)


def _row(plan: Plan, kind: type[Sampling], delta: float, target: Epsilon | None) -> Sampled:
    """The row of one scheme; what it refuses is its reason."""
    try:
        other = resampled(plan, kind)
    except (InvalidInputError, UnsupportedError) as error:
        return Sampled(kind, reason=str(error))
    try:
        found = other.epsilon(delta)
    except UnsupportedError as error:
        return Sampled(kind, other, reason=str(error))
    return Sampled(kind, other, found, None if target is None else _noise(other, target), found.reason)


def _noise(plan: Plan, target: Epsilon) -> float | None:
    """The least noise multiplier, the same in all rounds that have one; None where none reaches the target."""
    try:
        return float(calibrate(plan, "noise-multiplier", target, tolerance=NOISE_TOLERANCE))
    except (InvalidInputError, UnreachableError):  # no such key, or several values of it; or no value of it
        return None


def resampled(plan: Plan, kind: type[Sampling]) -> Plan:
    """The plan with its sampled rounds under another scheme.

    Raises:
        InvalidInputError: a key of the scheme does not follow from the plan.
        UnsupportedError: a round that may not be sampled so.
    """
    return plan.with_rounds([_resampled(item, kind) for item in plan.rounds])


def _resampled(item: Round, kind: type[Sampling]) -> Round:
    """A round under another scheme, with as many steps, or as many epochs as these begin."""
    if isinstance(item.sampling, NoSampling | kind):
        return item
    other = kind(**_keys(kind, known_of(item.sampling)))
    return item.changed(sampling=other, count=-(-item.steps // other.steps_per_round))


def known_of(sampling: Sampling) -> Mapping[str, float]:
    """What a scheme says of the size of its batches, in the keys of all schemes."""
    said = {key: value for key, value in sampling.keys().items() if isinstance(value, int | float)}
    records, batch = sampling.dataset_records, said.get("batch_size", said.get("draws"))
    rate = getattr(sampling, "sample_rate", None)
    if batch is None and rate is not None and records is not None:
        batch = max(round(rate * records), 1)
    if rate is None and batch is not None and records is not None:
        rate = batch / records
    each = sampling.steps_per_epoch
    if each is None and rate is not None:
        each = math.ceil(1 / rate)
    if rate is None and each is not None:
        rate = 1 / each
    found = {"batch_size": batch, "draws": batch, "dataset_size": records, "sample_rate": rate, "steps_per_epoch": each}
    if batch is not None and rate is not None:
        found["max_batch_size"] = math.ceil(batch + ROOM * math.sqrt(batch * (1 - min(rate, 1.0))))
    return {key: value for key, value in found.items() if value is not None}


def _keys(kind: type[Sampling], known: Mapping[str, float]) -> dict[str, Any]:
    """The keys of a scheme: one way to say how large batches are, and whatever else it cannot do without.

    Raises:
        InvalidInputError: one of these is not known.
    """
    own = {item.name: item for item in fields(kind)}  # type: ignore[arg-type]  # a scheme is a dataclass
    ways = [way for way in WAYS if set(way) <= set(own) and set(way) <= set(known)]
    wanted = {key: None for key, item in own.items() if item.default is MISSING and item.default_factory is MISSING}
    wanted |= dict.fromkeys(ways[0] if ways else ())
    for key in wanted:
        if key not in known:
            raise InvalidInputError(
                f"{key} does not follow from the plan: give a plan with sampling {kind.name!r}", key
            )
    return {key: known[key] for key in wanted}
