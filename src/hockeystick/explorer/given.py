"""Plan with which the explorer was started, from a file or from Python: its sliders, and the plan after moving some.

A plan that ``hs.dp_sgd`` can make has a slider for each of the numbers that it takes. Any other plan has sliders for
parameters that can be calibrated (``questions/parameters.py``): a parameter with the same value in all rounds that have
it, or a common factor on all noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from hockeystick.explorer.keys import SLIDERS, Slider, keys_of, number
from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import noise_of, of_plan
from hockeystick.report.document.envelope import digest
from hockeystick.report.rounding import exact
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.domains import choice
from hockeystick.values.errors import HockeystickError, InvalidInputError, UnsupportedError

GROUPS = (("sample-rate", "batch-size"), ("epochs", "steps"))
"""Groups of parameters that determine the same quantity; the first one that the plan has gets the slider."""

LABELS = {"scale": "Noise scale", "noise": "Noise factor"}
"""Labels on the page of the parameters whose names are too short."""

SPAN = 10.0  # factor by which a slider changes a parameter up and down
NO_DELTA = "1e-5"  # delta used for a plan without one; the page says so


@dataclass(frozen=True)
class Given:
    """Plan with which the explorer was started.

    Args:
        plan: the plan.
        name: name on the page: the name of the plan's file, or an empty text.
    """

    plan: Plan
    name: str

    @cached_property
    def digest(self) -> str:
        """Digest that identifies this plan in links."""
        return digest(self.plan.to_dict())

    @cached_property
    def keys(self) -> dict[str, str] | None:
        """Arguments of ``hs.dp_sgd`` that make this plan, as texts by name; ``None`` if there are none."""
        return keys_of(self.plan)

    @cached_property
    def sliders(self) -> dict[str, tuple[Slider, str]]:
        """Sliders of the plan by key, each with the plan's own value as text."""
        found: dict[str, tuple[Slider, str]] = {}
        noises: tuple[str, ...] = ()
        with suppress(UnsupportedError):  # the plan has no noise to scale
            noises = (noise_of(self.plan)[0].name,)
        for group in (noises, *GROUPS):
            for name in group:
                try:
                    parameter, build = of_plan(self.plan, name)
                    start = parameter.start
                    if start <= 0 or build(start).whole != self.plan.whole:
                        continue
                except HockeystickError:  # the plan lacks the parameter
                    continue
                least = max(parameter.least, start / SPAN, 1 if parameter.whole else 0)
                most = min(parameter.most, start * SPAN)
                key, label = name.replace("-", "_"), LABELS.get(name, name.replace("-", " ").capitalize())
                found[key] = Slider(key, label, least, most, parameter.whole), exact(start)
                break
        delta = next(slider for slider in SLIDERS if slider.key == "delta")
        target = self.plan.delta_target
        return {**found, "delta": (delta, NO_DELTA if target is None else exact(target))}

    def moved(self, moved: Mapping[str, Any]) -> tuple[Plan, dict[str, Any]]:
        """Return the plan with new values of some parameters, and the resulting values of all sliders.

        Raises:
            InvalidInputError: a parameter has no slider, or a value is outside its domain.
        """
        plan = self.plan
        values: dict[str, Any] = {
            key: number(slider, moved.get(key, own)) for key, (slider, own) in self.sliders.items()
        }
        for key in moved:
            if key != "adjacency" and key not in values:
                raise InvalidInputError(choice("a key", key, [*values, "adjacency"]), "plan")
        for key, value in values.items():
            slider, own = self.sliders[key]
            if key == "delta" or value == number(slider, own):
                continue
            parameter, build = of_plan(plan, key)
            if not parameter.least <= value <= parameter.most or (slider.whole and value != int(value)):
                what = "a whole number" if slider.whole else "a number"
                raise InvalidInputError(
                    f"{key} must be {what} from {parameter.least:g} to {parameter.most:g}; received {value!r}", key
                )
            plan = build(value)
        values["adjacency"] = Adjacency.parse(moved.get("adjacency", plan.adjacency.value)).value
        plan = replace(plan, delta_target=values["delta"], adjacency=Adjacency(values["adjacency"]))
        if replace(plan, delta_target=None) != replace(self.plan, delta_target=None):
            plan = replace(plan, published=None)  # the source's claim is about the plan as given
        return plan, values

    def said(self) -> dict[str, Any]:
        """Return the description of the plan that the page reads, in JSON values."""
        return {
            "digest": self.digest,
            "name": self.name,
            "keys": self.keys,
            "sliders": [{**asdict(slider), "value": own} for slider, own in self.sliders.values()],
            "adjacency": self.plan.adjacency.value,
            "delta": self.plan.delta_target is not None,
            "rounds": len(self.plan.rounds),
        }
