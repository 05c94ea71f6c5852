"""What can be slid of DP-SGD: the keys of ``hs.dp_sgd`` that the page has, their ranges, and the plan they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hockeystick.plan.dp_sgd import dp_sgd
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.plan import Plan
from hockeystick.plan.sampling import (
    CyclicPoisson,
    NoSampling,
    Poisson,
    RandomAllocation,
    Shuffled,
    TruncatedPoisson,
    WithoutReplacement,
    WithReplacement,
)
from hockeystick.report.rounding import exact
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.domains import choice, shown
from hockeystick.values.errors import HockeystickError, InvalidInputError
from hockeystick.values.exact import quotient, towards

LONGEST_TEXT = 60  # characters of a value: no number that a person writes has more


@dataclass(frozen=True, slots=True)
class Slider:
    """A number that can be slid, on a logarithmic scale.

    Attributes:
        key: its name in ``hs.dp_sgd`` and on the command line.
        label: what the page calls it.
        least: the left end of the slider; the box beside it takes any value.
        most: the right end.
        whole: whether it is a whole number.
        digits: significant digits to which the slider moves.
    """

    key: str
    label: str
    least: float
    most: float
    whole: bool = False
    digits: int = 3

    def keys(self) -> dict[str, Any]:
        """The slider as the page reads it."""
        return asdict(self)


SLIDERS = (
    Slider("noise_multiplier", "Noise multiplier", 0.2, 50.0),
    Slider("sample_rate", "Sample rate", 1e-6, 1.0),
    Slider("batch_size", "Batch size", 1, 1e6, whole=True),
    Slider("draws", "Draws in a step", 1, 1e6, whole=True),
    Slider("dataset_size", "Dataset size", 100, 1e9, whole=True),
    Slider("max_batch_size", "Largest batch", 1, 1e6, whole=True),
    Slider("groups", "Groups", 1, 1e4, whole=True),
    Slider("epochs", "Epochs", 1, 1e4, whole=True),
    Slider("steps", "Steps", 1, 1e7, whole=True),
    Slider("delta", "Delta", 1e-12, 1e-2, digits=2),
)
"""The numbers of DP-SGD in the order of the page; their ranges hold what is published, and somewhat more."""

SIZES, RATE, EPOCHS, STEPS = ("batch_size", "dataset_size"), ("sample_rate",), ("epochs",), ("steps",)
"""The keys that say how large batches are, and those that say how long training goes on."""

SCHEMES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    Poisson.name: (SIZES, RATE),
    RandomAllocation.name: (SIZES,),
    WithoutReplacement.name: (SIZES,),
    Shuffled.name: (SIZES,),
    WithReplacement.name: (("draws", "dataset_size"),),
    TruncatedPoisson.name: (("sample_rate", "dataset_size", "max_batch_size"),),
    CyclicPoisson.name: (("groups", "sample_rate"),),
    NoSampling.name: ((),),
}
"""The schemes of the page, and by which keys each can say how large batches are."""

TEXTS = {"sampling": tuple(SCHEMES), "adjacency": tuple(kind.value for kind in Adjacency)}
"""The names that can be chosen, by the key that they are the value of."""

EXAMPLE: Mapping[str, str] = {
    "noise_multiplier": "1.1",
    "batch_size": "256",
    "dataset_size": "60000",
    "epochs": "60",
    "delta": "1e-5",
    "sampling": Poisson.name,
    "adjacency": Adjacency.ADD_OR_REMOVE.value,
}
"""The plan that the page begins with where none is given: the best known example of DP-SGD, on 60,000 images."""


def plan_of(given: Mapping[str, Any]) -> tuple[Plan, dict[str, Any]]:
    """The plan that keys make, and the keys with their values as numbers.

    Args:
        given: texts by key; a number may be written as ``1e-5``, ``60_000``, ``256/60000`` or ``1%``. A quotient that
            no double stands for goes to its safe side: a rate up, noise and delta down.

    Raises:
        InvalidInputError: a key that the page does not have, a value that is no number, or what ``hs.dp_sgd`` refuses.

    >>> plan_of({"noise_multiplier": "1.1", "sample_rate": "1%", "steps": "1e4", "delta": "1e-6"})[1]["sample_rate"]
    0.01
    """
    sliders = {slider.key: slider for slider in SLIDERS}
    values: dict[str, Any] = {}
    for key, text in given.items():
        if key in TEXTS:
            if text not in TEXTS[key]:
                raise InvalidInputError(choice(key, text, TEXTS[key]), key)
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
    """The number that a text of the page stands for.

    Raises:
        InvalidInputError: it stands for none.
    """
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_TEXT:
        raise InvalidInputError(f"{slider.key} must be a number, such as 0.01 or 1/60000; received {shown(text)}")
    try:
        value = float(text)
    except ValueError:
        found = quotient(text.strip())
        if found is None:
            raise InvalidInputError(
                f"{slider.key} must be a number, such as 0.01 or 1/60000; received {shown(text)}", slider.key
            ) from None
        value = towards(found, up=slider.key == "sample_rate")
    return int(value) if slider.whole and value.is_integer() else value


def keys_of(plan: Plan) -> dict[str, str] | None:
    """The keys of the page that make a plan, as texts; ``None`` where none make just that one.

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
        sizes: dict[str, Any] = {key: getattr(item.sampling, key, None) for key in ways}
        if None in sizes.values():
            continue
        values: dict[str, Any] = {**found, **sizes}
        texts = {key: exact(value) for key, value in values.items()}
        texts |= {"sampling": item.sampling.name, "adjacency": plan.adjacency.value}
        try:
            if plan_of(texts)[0] == plan:
                return texts
        except HockeystickError:  # a key of the scheme that the page does not have makes others contradict each other
            continue
    return None
