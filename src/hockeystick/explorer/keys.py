"""Sliders of DP-SGD: the arguments of ``hs.dp_sgd`` that the page offers, their ranges, and the plan they make."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hockeystick.plan.dp_sgd import dp_sgd
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.plan import Plan
from hockeystick.plan.sampling import NoSampling
from hockeystick.plan.sampling.cyclic_poisson import CyclicPoisson
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.plan.sampling.random_allocation import RandomAllocation
from hockeystick.plan.sampling.shuffled import Shuffled
from hockeystick.plan.sampling.truncated_poisson import TruncatedPoisson
from hockeystick.plan.sampling.with_replacement import WithReplacement
from hockeystick.plan.sampling.without_replacement import WithoutReplacement
from hockeystick.report.rounding import exact
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.domains import choice, shown
from hockeystick.values.errors import HockeystickError, InvalidInputError
from hockeystick.values.exact import quotient, towards


@dataclass(frozen=True, slots=True)
class Slider:
    """Slider on a logarithmic scale.

    Attributes:
        key: name in ``hs.dp_sgd`` and on the command line.
        label: label on the page.
        least: value at the left end; the input field beside the slider accepts any value.
        most: value at the right end.
        whole: True for whole numbers.
        digits: significant digits of the values that the slider can take.
    """

    key: str
    label: str
    least: float
    most: float
    whole: bool = False
    digits: int = 3


SLIDERS = (
    Slider("noise_multiplier", "Noise multiplier", 0.2, 50.0),
    Slider("sample_rate", "Sample rate", 1e-6, 1.0),
    Slider("batch_size", "Batch size", 1, 1e6, whole=True),
    Slider("draws", "Draws per step", 1, 1e6, whole=True),
    Slider("dataset_size", "Dataset size", 100, 1e9, whole=True),
    Slider("max_batch_size", "Maximum batch size", 1, 1e6, whole=True),
    Slider("groups", "Groups", 1, 1e4, whole=True),
    Slider("epochs", "Epochs", 1, 1e4, whole=True),
    Slider("steps", "Steps", 1, 1e7, whole=True),
    Slider("delta", "Delta", 1e-12, 1e-2, digits=2),
)
"""Sliders of DP-SGD in the order of the page; their ranges include published values and somewhat more."""

SIZES = ("batch_size", "dataset_size")
"""Keys that determine the batch size and, with it, the sample rate: two numbers of records."""

SCHEMES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    Poisson.name: (SIZES, ("sample_rate",)),
    RandomAllocation.name: (SIZES,),
    WithoutReplacement.name: (SIZES,),
    Shuffled.name: (SIZES,),
    WithReplacement.name: (("draws", "dataset_size"),),
    TruncatedPoisson.name: (("sample_rate", "dataset_size", "max_batch_size"),),
    CyclicPoisson.name: (("groups", "sample_rate"),),
    NoSampling.name: ((),),
}
"""Sampling schemes of the page, with the sets of keys that determine their batch size."""

TEXTS = {"sampling": tuple(SCHEMES), "adjacency": tuple(kind.value for kind in Adjacency)}
"""Allowed values of the keys that are names."""

EXAMPLE: Mapping[str, str] = {
    "noise_multiplier": "1.1",
    "batch_size": "256",
    "dataset_size": "60000",
    "epochs": "60",
    "delta": "1e-5",
    "sampling": Poisson.name,
    "adjacency": Adjacency.ADD_OR_REMOVE.value,
}
"""Default plan of the page: the best-known example of DP-SGD, on 60,000 images."""


def plan_of(given: Mapping[str, Any]) -> tuple[Plan, dict[str, Any]]:
    """Return the plan that arguments of ``hs.dp_sgd`` make, and these arguments as numbers.

    Args:
        given: texts of the arguments by key; a number may be written as ``1e-5``, ``60_000``, ``256/60000`` or ``1%``.
            A quotient that is not exactly a double is rounded to the safe side: a rate up, noise and delta down.

    Raises:
        InvalidInputError: a key is unknown, a value is no number, or ``hs.dp_sgd`` refuses the keys.

    >>> plan_of({"noise_multiplier": "1.1", "sample_rate": "1%", "steps": "1e4", "delta": "1e-6"})[1]["sample_rate"]
    0.01
    """
    sliders = {slider.key: slider for slider in SLIDERS}
    values: dict[str, Any] = {}
    for key, text in given.items():
        if key in TEXTS:
            values[key] = text
        elif key in sliders:
            values[key] = number(sliders[key], text)
        else:
            raise InvalidInputError(choice("a key", key, [*sliders, *TEXTS]), "plan")
    for key in ("noise_multiplier", "delta"):
        if key not in values:
            raise InvalidInputError(f"{key} is missing", key)
    return dp_sgd(**values), values


def number(slider: Slider, text: object) -> float:
    """Return the number that the text beside a slider denotes.

    Raises:
        InvalidInputError: the text is no number.
    """
    value = None
    if isinstance(text, str):
        with suppress(ValueError):
            value = float(text)
        if value is None and (found := quotient(text.strip())) is not None:
            value = towards(found, up=slider.key == "sample_rate")
    if value is None:
        raise InvalidInputError(
            f"{slider.key} must be a number, such as 0.01 or 1/60000; received {shown(text)}", slider.key
        )
    return int(value) if slider.whole and value.is_integer() else value


def keys_of(plan: Plan) -> dict[str, str] | None:
    """Return arguments of ``hs.dp_sgd`` that make exactly this plan, as texts by key; ``None`` if there are none.

    >>> keys_of(dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60, delta=1e-5)) == dict(EXAMPLE)
    True
    """
    if len(plan.rounds) != 1 or plan.delta_target is None or plan.published is not None or not plan.of_records:
        return None
    (item,) = plan.rounds
    if not isinstance(item.mechanism, Gaussian) or item.sampling.name not in SCHEMES or plan.best_of is not None:
        return None
    often = {"steps": item.steps} if item.epochs is None else {"epochs": item.epochs}
    found = {"noise_multiplier": item.mechanism.noise_multiplier, "delta": plan.delta_target, **often}
    for ways in SCHEMES[item.sampling.name]:
        values: dict[str, Any] = {**found, **{key: getattr(item.sampling, key, None) for key in ways}}
        if None in values.values():
            continue
        texts = {key: exact(value) for key, value in values.items()}
        texts |= {"sampling": item.sampling.name, "adjacency": plan.adjacency.value}
        try:
            if plan_of(texts)[0] == plan:
                return texts
        except HockeystickError:  # the scheme has a key that is not on the page; the other keys contradict each other
            continue
    return None
