"""One training under each sampling scheme: its epsilon, and the noise with which epsilon meets a target.

*The same training* has the batch size, the dataset and the number of steps of the plan; only the way of drawing batches
differs. The keys of a scheme are derived from these: a rate from the sizes, the steps of an epoch from the sizes or the
rate. A key that cannot be derived is not guessed: the scheme reports it as missing. If a round is an epoch, an epoch
that is begun counts in full. Unsampled rounds stay unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from hockeystick.plan.plan import Plan, asked_delta
from hockeystick.plan.round import Round
from hockeystick.plan.sampling import NoSampling, Sampling
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.questions.calibration import calibrate
from hockeystick.questions.targets import Epsilon
from hockeystick.values import domains
from hockeystick.values.bounds import Bound
from hockeystick.values.errors import InvalidInputError, UnreachableError, UnsupportedError

WAYS = (
    ("batch_size", "dataset_size"),
    ("draws", "dataset_size"),
    ("sample_rate", "dataset_size"),
    ("sample_rate",),
    ("steps_per_epoch", "dataset_size"),
    ("steps_per_epoch",),
)
"""Sets of keys that determine the batch size of a scheme, the most informative first."""

CUT_MARGIN = 4.0
"""Margin of the batch limit over the mean Poisson batch size, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """Training under one sampling scheme, with its epsilon and the noise for a target.

    Attributes:
        scheme: the scheme.
        plan: training under the scheme; ``None`` if its keys cannot be derived from the plan.
        epsilon: epsilon of that plan at the delta; ``None`` if nothing is proved.
        noise_multiplier: noise multiplier, the same in all rounds, with which epsilon is at most the target; ``None``
            if unknown.
        reason: reason for a missing epsilon, a missing lower end or a wide interval.
    """

    scheme: type[Sampling]
    plan: Plan | None = None
    epsilon: Bound | None = None
    noise_multiplier: float | None = None
    reason: str | None = None

    @property
    def sampling(self) -> Sampling | None:
        """The scheme with its parameters, taken from the first round that it samples."""
        rounds = () if self.plan is None else self.plan.rounds
        return next((item.sampling for item in rounds if isinstance(item.sampling, self.scheme)), None)


def samplings(plan: Plan, delta: float | None = None, epsilon: float | None = None) -> tuple[Sampled, ...]:
    """Compare the same training under each sampling scheme: its epsilon, and the noise that meets a target epsilon.

    Args:
        plan: plan with sampled rounds.
        delta: target delta; the plan's own by default.
        epsilon: target epsilon for the noise; by default the upper end of the plan's own epsilon.

    Returns:
        A row for each scheme, in the order of ``hockeystick supported``. If nothing is proved, or if the keys cannot be
        derived from the plan, the row has a reason.

    Raises:
        InvalidInputError: there is no delta, a value is outside its domain, or no round is sampled.
        UnsupportedError: no epsilon is given, and nothing is proved for the plan as it is.

    >>> from hockeystick import dp_sgd
    >>> plan = dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60)
    >>> {row.scheme.name: f"{row.epsilon:.1f}" for row in samplings(plan, 1e-5) if row.epsilon is not None}
    {'none': '6285.9', 'poisson': '2.4', 'without-replacement': '14.8', 'random-allocation': '2.4', 'shuffled': '190.3',
     'with-replacement': '16.0', 'truncated-poisson': '2.5'}
    """
    return tuple(sampled(plan, delta, epsilon))


def sampled(plan: Plan, delta: float | None = None, epsilon: float | None = None) -> Iterator[Sampled]:
    """Yield the rows of :func:`samplings`, one after the other.

    Raises:
        InvalidInputError: there is no delta, a value is outside its domain, or no round is sampled.
        UnsupportedError: no epsilon is given, and nothing is proved for the plan as it is.
    """
    delta = asked_delta(plan, delta)
    if all(isinstance(item.sampling, NoSampling) for item in plan.rounds):
        raise InvalidInputError(
            "no round of the plan is sampled; give it a sampling scheme, such as sampling = 'poisson'", "sampling"
        )
    if epsilon is None:
        epsilon = plan.epsilon(delta).upper
    elif epsilon != math.inf:  # an infinite epsilon needs no noise
        epsilon = domains.epsilon(epsilon, "epsilon", "the target epsilon")
    target = Epsilon(epsilon, delta) if 0 < epsilon < math.inf else None
    for kind in SAMPLINGS:
        yield _row(plan, kind, delta, target)


def _row(plan: Plan, kind: type[Sampling], delta: float, target: Epsilon | None) -> Sampled:
    """Return the row of one scheme; a refusal becomes its reason."""
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
    """Return the smallest noise multiplier, the same in all rounds, that meets the target; None if there is none."""
    try:
        return float(calibrate(plan, "noise-multiplier", target))
    except (InvalidInputError, UnreachableError):  # no such key, several values of it, or no valid value
        return None


def resampled(plan: Plan, kind: type[Sampling]) -> Plan:
    """Return the plan with its sampled rounds under another scheme.

    Raises:
        InvalidInputError: a key of the scheme cannot be derived from the plan.
        UnsupportedError: a round may not be sampled by the scheme.
    """
    return plan.with_rounds([_resampled(item, kind) for item in plan.rounds])


def _resampled(item: Round, kind: type[Sampling]) -> Round:
    """Return a round under another scheme, with as many steps as before; a scheme of epochs rounds up to whole ones."""
    if isinstance(item.sampling, NoSampling | kind):
        return item
    other = kind(**_keys(kind, known_of(item.sampling)))
    return item.changed(sampling=other, count=-(-item.steps // other.steps_per_round))


def known_of(sampling: Sampling) -> Mapping[str, float]:
    """Return the keys (batch size, rate, steps of an epoch, ...) that can be derived from a given scheme."""
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
        found["max_batch_size"] = math.ceil(batch + CUT_MARGIN * math.sqrt(batch * (1 - min(rate, 1.0))))
    return {key: value for key, value in found.items() if value is not None}


def _keys(kind: type[Sampling], known: Mapping[str, float]) -> dict[str, Any]:
    """Return the keys of a scheme: those that determine the batch size, and all other required ones.

    Raises:
        InvalidInputError: one of these keys is unknown.
    """
    own = {item.name: item for item in fields(kind)}  # type: ignore[arg-type]  # a scheme is a dataclass
    ways = [way for way in WAYS if set(way) <= set(own) and set(way) <= set(known)]
    wanted = {key: None for key, item in own.items() if item.default is MISSING and item.default_factory is MISSING}
    wanted |= dict.fromkeys(ways[0] if ways else ())
    for key in wanted:
        if key not in known:
            raise InvalidInputError(
                f"{key} does not follow from the plan; give a plan with sampling {kind.name!r}", key
            )
    return {key: known[key] for key in wanted}
