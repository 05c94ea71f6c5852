"""Parameters of a plan for calibration: each with its range, its effect on privacy, and the plan at another value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from hockeystick.plan.mechanisms import Status
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import Round, steps_of_epoch
from hockeystick.values.domains import MAX_COUNT, RATE, choice
from hockeystick.values.errors import InvalidInputError, UnsupportedError
from hockeystick.values.outward import DOWN, UP

Build = Callable[[float], Plan]

FOLLOWING = ("sample_rate", "steps_per_epoch", "last_batch_size")
"""Keys of sampling schemes that derive from batch size and dataset size, and change with the batch size."""

NOISES = ("noise_multiplier", "scale")
"""Keys of mechanisms that scale their noise."""


@dataclass(frozen=True)
class Parameter:
    """Numerical parameter of a plan, such as its noise, in which privacy is monotone.

    Args:
        name: name for ``calibrate``.
        costs: True if a larger value costs more privacy; otherwise it protects more.
        least: smallest value tried.
        most: largest value tried.
        whole: True for a whole number.
        start: first value tried.
        stair: only for a parameter that determines the number of steps of an epoch, which falls in jumps as the
            parameter grows. This function returns the smallest value at which an epoch has at most a given number of
            steps. Privacy is monotone only between two such values, where the number of steps is constant.
    """

    name: str
    costs: bool
    least: float = 0.01
    most: float = 1e6
    whole: bool = False
    start: float = 1.0
    stair: Callable[[float], float] | None = None

    @property
    def rounding(self) -> str:
        """Direction in which a value that meets a target may be rounded."""
        return DOWN if self.costs else UP


def of_plan(plan: Plan, name: str) -> tuple[Parameter, Build]:
    """Return a parameter of a plan, starting at its present value, and a function from a value to the changed plan.

    Raises:
        InvalidInputError: the parameter is unknown, or the plan has none or several values of it.
    """
    parameter, build = _read(plan, named(name))
    if parameter.whole:
        return parameter, build
    ends = (_last(build, parameter.start, end) for end in (parameter.least, parameter.most))
    return replace(parameter, least=next(ends), most=next(ends)), build


def _last(build: Build, start: float, end: float) -> float:
    """Return the last value that the plan accepts, going from a valid value to an end of the range.

    Mechanisms have limits of their own. Their valid values form an interval of positive numbers; bisection of the
    logarithms finds its end.
    """
    if _makes(build, end):
        return end
    good, bad = start, end
    while (middle := math.sqrt(good) * math.sqrt(bad)) not in (good, bad):
        good, bad = (middle, bad) if _makes(build, middle) else (good, middle)
    after = math.nextafter(good, bad)  # bisection may stop a few doubles early, since the root rounds
    while after != bad and _makes(build, after):
        good, after = after, math.nextafter(after, bad)
    return good


def _makes(build: Build, value: float) -> bool:
    try:
        build(value)
    except InvalidInputError:
        return False
    return True


def build_of(plan: Plan, name: str) -> Build:
    """Return the function from a value to the changed plan, as :func:`of_plan` does, without determining the range.

    Raises:
        InvalidInputError: the parameter is unknown, or the plan has none or several values of it.
    """
    return _read(plan, named(name))[1]


def noise_of(plan: Plan) -> tuple[Parameter, Build]:
    """Return the noise parameter of a plan: a parameter shared by all its noise, or else a common factor on all noise.

    Returns:
        The parameter, starting at its present value, and a function from a value to the changed plan.

    Raises:
        UnsupportedError: the plan has no noise to scale, or privacy is not monotone in it.

    >>> import hockeystick as hs
    >>> gaussian, laplace = hs.Round(hs.Gaussian(2.0)), hs.Round(hs.Laplace(3.0))
    >>> [noise_of(hs.Plan(rounds))[0].name for rounds in ([gaussian], [laplace], [gaussian, laplace])]
    ['noise-multiplier', 'scale', 'noise']
    """
    present = [key for key in NOISES if any(_has(item.mechanism, key) for item in plan.rounds)]
    for name in [*present, "noise"] if len(present) == 1 else ["noise"]:
        try:
            return of_plan(plan, name)
        except InvalidInputError as error:  # several values of one key get a common factor
            reason = str(error)
    raise UnsupportedError(reason)


def batch_of(plan: Plan) -> float | None:
    """Return the expected batch size common to all sampled rounds of a plan; ``None`` if it is unknown.

    >>> from hockeystick import dp_sgd
    >>> batch_of(dp_sgd(1.0, sample_rate=0.01, dataset_size=60_000, epochs=2))
    600.0
    >>> batch_of(dp_sgd(1.0, sample_rate=0.01, steps=100))
    """
    try:
        return _read(plan, PARAMETERS["batch-size"])[0].start
    except InvalidInputError:
        return None


def named(name: str) -> Parameter:
    """Return the parameter of this name; ``_`` counts as ``-``.

    Raises:
        InvalidInputError: the name is unknown.
    """
    known = str(name).replace("_", "-")
    if known not in PARAMETERS:
        hint = "; the parameter comes before the plan" if str(name).endswith((".toml", ".json")) else ""
        raise InvalidInputError(choice("parameter", name, list(PARAMETERS)) + hint, "parameter")
    return PARAMETERS[known]


PARAMETERS: Mapping[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        Parameter("noise-multiplier", costs=False),
        Parameter("scale", costs=False),
        Parameter("variance", costs=False),
        Parameter("noise", costs=False, least=1e-8, most=1e8),
        Parameter("epsilon", costs=True, least=1e-6, most=100.0),
        Parameter("sample-rate", costs=True, least=1e-10, most=1.0, start=0.01),
        Parameter("check-in", costs=True, least=1e-9, most=1.0, start=0.5),
        Parameter("batch-size", costs=True, least=1, most=MAX_COUNT, whole=True, start=100),
        Parameter("steps", costs=True, least=0, most=MAX_COUNT, whole=True, start=1000),
        Parameter("epochs", costs=True, least=0, most=MAX_COUNT, whole=True, start=10),
    )
}
"""All parameters by name; ``noise`` is a common factor on all noise of a plan."""


def _read(plan: Plan, parameter: Parameter) -> tuple[Parameter, Build]:
    """Return the parameter with its present value and its range, and the function from a value to the changed plan."""
    return _READERS.get(parameter.name, _field)(plan, parameter)


def _field(plan: Plan, parameter: Parameter) -> tuple[Parameter, Build]:
    """Return a parameter that is a field of mechanisms or schemes; all rounds with it must have the same value."""
    key = parameter.name.replace("-", "_")
    part = "sampling" if key == "check_in" else "mechanism"
    found = {getattr(getattr(item, part), key) for item in plan.rounds if _has(getattr(item, part), key)}
    value = _one(found, key)
    _check_monotone(plan, key)
    return replace(parameter, start=float(value)), lambda new: _each(plan, lambda item: _with(item, part, key, new))


def _check_monotone(plan: Plan, key: str) -> None:
    """Refuse a parameter in which privacy is not monotone.

    Raises:
        InvalidInputError: a mechanism declares that it is not.
    """
    for item in plan.rounds:
        reason = item.mechanism.not_monotone.get(key)
        if reason is not None:
            raise InvalidInputError(
                f"{key} of mechanism {item.mechanism.name!r} cannot be calibrated, because privacy is not monotone in "
                f"it: {reason}; compare a few values with `epsilon`",
                key,
            )


def _has(part: object, key: str) -> bool:
    return any(item.name == key for item in fields(part)) and getattr(part, key) is not None  # type: ignore[arg-type]


def _with(item: Round, part: str, key: str, value: float) -> Round:
    old: Any = getattr(item, part)
    return item.changed(**{part: replace(old, **{key: value})}) if _has(old, key) else item


def _rate(plan: Plan, parameter: Parameter) -> tuple[Parameter, Build]:
    """Return the sample rate as a parameter; with epochs, a rate of at least 1/k gives at most k steps per epoch."""
    schemes: list[Any] = [item.sampling for item in plan.rounds if _has(item.sampling, "sample_rate")]
    value = _one({scheme.sample_rate for scheme in schemes}, "sample_rate")
    parameter = replace(parameter, start=value)

    def build(new: float) -> Plan:
        rate = 1.0 if new > RATE.keywords["maximum"] else new  # not valid just below 1; 1 costs at least as much
        return _each(plan, lambda item: _resampled(item, "sample_rate", sample_rate=rate, batch_size=None))

    if epochs := _epochs_of(plan, "sample_rate"):
        least = max(parameter.least, 1 / (MAX_COUNT // epochs))
        parameter = replace(parameter, least=least, stair=lambda steps: 1 / steps)
    return parameter, build


def _batch(plan: Plan, parameter: Parameter) -> tuple[Parameter, Build]:
    """Return the batch size as a parameter, at most the dataset's size N.

    With epochs, a batch of at least N/k records gives at most k steps per epoch.
    """
    schemes: list[Any] = [
        item.sampling
        for item in plan.rounds
        if _has(item.sampling, "dataset_size")
        and any(_has(item.sampling, key) for key in ("batch_size", "sample_rate"))
    ]
    batch, records = _one({(_batch_of(scheme), scheme.dataset_size) for scheme in schemes}, "batch_size")
    most = int(RATE.keywords["maximum"] * records)  # a batch of nearly all records counts as all

    def build(new: float) -> Plan:
        size = min(int(new), records)
        keys = dict.fromkeys(FOLLOWING) | {"batch_size": records if size > most else size}
        return _each(plan, lambda item: _resampled(item, "dataset_size", **keys))

    epochs = _epochs_of(plan, "dataset_size")
    least = max(
        math.ceil(Fraction(records, MAX_COUNT // epochs)) if epochs else 1,
        math.ceil(RATE.keywords["minimum"] * records),
    )
    parameter = replace(parameter, start=batch, least=least, most=most if _refused_whole(plan) else records)
    if epochs:
        parameter = replace(parameter, stair=lambda steps: math.ceil(Fraction(records, int(steps))))
    return parameter, build


def _batch_of(scheme: Any) -> float:
    """Return the batch size of a scheme with a known dataset size; if it has a rate, the expected batch size."""
    return float(scheme.batch_size or scheme.sample_rate * scheme.dataset_size)


def _resampled(item: Round, has: str, **keys: float | None) -> Round:
    """Return the round with new values of its scheme's keys; keys that the scheme lacks are ignored.

    The round is unchanged if its scheme lacks the key ``has``.
    """
    scheme: Any = item.sampling
    if not _has(scheme, has):
        return item
    own = {one.name for one in fields(scheme)}
    return item.changed(sampling=replace(scheme, **{key: value for key, value in keys.items() if key in own}))


def _epochs_of(plan: Plan, has: str) -> int:
    """Return the largest number of epochs of the rounds whose scheme has the key ``has``; 0 if there are none."""
    return max((item.epochs or 0 for item in plan.rounds if _has(item.sampling, has)), default=0)


def _refused_whole(plan: Plan) -> bool:
    """Return True if some round is supported, but would be refused if each batch held all records."""
    for item in plan.rounds:
        if _has(item.sampling, "batch_size") and _has(item.sampling, "dataset_size"):
            keys = dict.fromkeys(FOLLOWING) | {"batch_size": item.sampling.dataset_records}
            whole = _resampled(item, "dataset_size", **keys)
            claims = [(item.claim(direction), whole.claim(direction)) for direction in plan.adjacency.directions]
            if any(one.status is not Status.REFUSED is every.status for one, every in claims):
                return True
    return False


def _steps(plan: Plan, parameter: Parameter) -> tuple[Parameter, Build]:
    """Return the number of steps as a parameter, for a plan of one kind of round.

    If a round has several steps, each begun round counts in full.
    """
    item = _only(plan, "steps", plan.rounds)
    together = item.steps_per_round
    return replace(parameter, start=item.steps), lambda new: _each(
        plan, lambda item: item.changed(count=-(-int(new) // together))
    )


def _epochs(plan: Plan, parameter: Parameter) -> tuple[Parameter, Build]:
    """Return the number of epochs of the only round with epochs, or else of the only kind of round, as a parameter."""
    with_epochs = [item for item in plan.rounds if item.epochs is not None]
    only = _only(plan, "epochs", with_epochs or plan.rounds)
    each = steps_of_epoch(only.sampling)
    return replace(parameter, start=only.steps / each, most=MAX_COUNT // each), lambda new: _each(
        plan, lambda item: item.changed(epochs=int(new)) if item is only else item
    )


def _noise(plan: Plan, parameter: Parameter) -> tuple[Parameter, Build]:
    for key in NOISES:
        _check_monotone(plan, key)
    if not any(_has(item.mechanism, key) for item in plan.rounds for key in NOISES):
        raise InvalidInputError("the plan has no round with noise to scale", "noise")

    def scaled(item: Round, factor: float) -> Round:
        for key in NOISES:
            if _has(item.mechanism, key):
                return _with(item, "mechanism", key, factor * getattr(item.mechanism, key))
        return item

    return parameter, lambda factor: _each(plan, lambda item: scaled(item, factor))


def _each(plan: Plan, change: Callable[[Round], Round]) -> Plan:
    return plan.with_rounds([change(item) for item in plan.rounds])


def _one(values: set[Any], key: str) -> Any:
    if not values:
        raise InvalidInputError(f"no round of the plan has the key {key!r}", key)
    if len(values) > 1:
        shown = ", ".join(sorted(map(str, values)))
        raise InvalidInputError(
            f"the rounds have different values of {key} ({shown}); calibrate 'noise', a common factor, or pass a "
            "function that makes the plan to calibrate in Python",
            key,
        )
    return values.pop()


def _only(plan: Plan, key: str, those: Sequence[Round]) -> Round:
    """Return the only round in ``those``: a calibration changes the count of one kind of round.

    Raises:
        InvalidInputError: there are several rounds.
    """
    if len(those) != 1:
        which = "kinds of rounds" if len(those) == len(plan.rounds) else f"kinds of rounds with {key}"
        raise InvalidInputError(
            f"{key} is ambiguous in a plan with {len(those)} {which}; calibrate another parameter, or pass a function "
            "that makes the plan to calibrate in Python",
            key,
        )
    return those[0]


_READERS: Mapping[str, Callable[[Plan, Parameter], tuple[Parameter, Build]]] = {
    "noise": _noise,
    "sample-rate": _rate,
    "batch-size": _batch,
    "steps": _steps,
    "epochs": _epochs,
}
"""Readers of the parameters that are not simply a field of a mechanism or a scheme: see :func:`_read`."""
