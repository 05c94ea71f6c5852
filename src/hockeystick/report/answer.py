"""What is said of a bound: the sentence to quote, the lines under it, and the same thing as a JSON object."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hockeystick.bounds import Bound, DeltaBound
from hockeystick.domains import one_line
from hockeystick.plan import Plan
from hockeystick.report.rounding import QUOTED_DIGITS, SHOWN_DIGITS, exact, exp_down, exp_up, round_down, round_up

SMALLEST_NORMAL = 2.0**-1022
_SURE = ("certified", "proved")


@dataclass(frozen=True, slots=True)
class Answer:
    """A bound as shown to people.

    Attributes:
        headline: what to quote: the upper end, rounded up.
        lines: label and text of each line under it.
    """

    headline: str
    lines: tuple[tuple[str, str], ...]


def epsilon_answer(plan: Plan, delta: float, bound: Bound) -> Answer:
    """What to say of epsilon at delta.

    >>> from hockeystick import Bound, dp_sgd
    >>> epsilon_answer(dp_sgd(1.0, 0.01, 10), 1e-6, Bound(6.90583, 6.907, 6.90738)).headline
    'epsilon <= 6.91 at delta = 1e-6'
    """
    quoted = round_up(bound.upper, QUOTED_DIGITS)
    headline = f"epsilon {_relation(bound)} {quoted} at delta = {exact(delta)}"
    interval = round_down(bound.lower, SHOWN_DIGITS), round_up(bound.upper, SHOWN_DIGITS)
    return Answer(headline, tuple(_lines(plan, bound, interval, delta)))


def delta_answer(plan: Plan, epsilon: float, bound: DeltaBound) -> Answer:
    """What to say of delta at epsilon; from its logarithm where delta is below the normal range of a double."""
    log = bound.log_delta
    if 0 < bound.upper < SMALLEST_NORMAL:
        quoted = exp_up(log.upper, QUOTED_DIGITS)
        interval = exp_down(log.lower, SHOWN_DIGITS), exp_up(log.upper, SHOWN_DIGITS)
    else:
        quoted = round_up(bound.upper, QUOTED_DIGITS)
        interval = round_down(bound.lower, SHOWN_DIGITS), round_up(bound.upper, SHOWN_DIGITS)
    headline = f"delta {_relation(bound)} {quoted} at epsilon = {exact(epsilon)}"
    return Answer(headline, tuple(_lines(plan, bound, interval, bound.upper)))


def epsilon_json(plan: Plan, delta: float, bound: Bound) -> dict[str, Any]:
    """The object that ``hockeystick epsilon --json`` prints; an infinite end is ``None``, and ``reason`` says why."""
    return {"epsilon": _ends(bound), "delta": delta, **_common(plan, bound)}


def delta_json(plan: Plan, epsilon: float, bound: DeltaBound) -> dict[str, Any]:
    """The object that ``hockeystick delta --json`` prints; an end of ``log_delta`` is ``None`` where delta is 0."""
    return {"delta": _ends(bound), "log_delta": _ends(bound.log_delta), "epsilon": epsilon, **_common(plan, bound)}


def _relation(bound: Bound) -> str:
    if math.isinf(bound.upper):
        return "is"
    return "is about" if bound.guarantee == "estimate" else "<="


def _lines(plan: Plan, bound: Bound, interval: tuple[str, str], delta: float) -> list[tuple[str, str]]:
    label = f"{bound.guarantee} interval" if bound.guarantee in _SURE else "interval"
    lower, upper = interval
    lines = [(label, lower if lower == upper else f"{lower} to {upper}")]
    if bound.reason is not None:
        lines.append(("reason", bound.reason))
    lines.append(("adjacency", plan.adjacency.value))
    if bound.direction is not None and bound.direction != plan.adjacency:
        lines.append(("direction", f"{bound.direction} (the worse one)"))
    lines += [("rounds", str(plan.steps)), ("accountant", f"{bound.accountant} ({bound.guarantee})")]
    for sampling in dict.fromkeys(type(item.sampling) for item in plan.rounds):
        lines.append((f"sampling {sampling.name}", sampling.assumption))
    if plan.published and plan.published.get("epsilon") is not None:
        lines.append(("published", _published(plan.published)))
    records = plan.dataset_size
    if records is not None and delta * records >= 1:
        text = f"delta is at least 1/dataset_size = 1/{records}, so that it allows one record to be published whole"
        lines.append(("warning", text))
    return lines


def _published(published: Mapping[str, Any]) -> str:
    text = f"epsilon {exact(published['epsilon'])}"
    if published.get("delta") is not None:
        text += f" at delta {exact(published['delta'])}"
    origin = [one_line(str(published[key])) for key in ("accountant", "source") if published.get(key)]
    return f"{text} ({'; '.join(origin)})" if origin else text


def _ends(bound: Bound) -> dict[str, float | None]:
    ends = {"lower": bound.lower, "estimate": bound.estimate, "upper": bound.upper}
    return {name: end if math.isfinite(end) else None for name, end in ends.items()}


def _common(plan: Plan, bound: Bound) -> dict[str, Any]:
    said = {
        "adjacency": plan.adjacency.value,
        "accountant": bound.accountant,
        "guarantee": bound.guarantee,
        "direction": bound.direction,
        "reason": bound.reason,
    }
    return {key: value for key, value in said.items() if value is not None}
