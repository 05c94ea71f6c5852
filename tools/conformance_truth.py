"""Answers to the cases of the conformance set from ``tests/oracle``, which shares no code with the package."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import mpmath

import oracle
from oracle import allocation, keys, mixtures, windows
from oracle.plan import DIRECTIONS, PARAMETERS

DIGITS = 20  # of the oracle
SEARCH = 50  # halvings of an interval for epsilon
Ends = tuple[Any, Any]
Curve = Callable[[float], Ends]
"""An interval for delta as a function of epsilon."""


def plain(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The same plan with unsampled and Poisson-sampled rounds of single records alone, where that is possible.

    A record of a fixed batch takes the place of another one: the sum moves twice as far, which is half the noise. A
    record is in every ``groups``-th of the cyclic steps. Unsampled records of one user move a sum together.
    """
    rounds = []
    for entry in plan["round"]:
        made = dict(entry)
        if made.get("sampling") == "without-replacement":
            noise = "scale" if made["mechanism"] == "laplace" else "noise_multiplier"
            size, records = made.pop("batch_size"), made.pop("dataset_size")
            made |= {"sampling": "poisson", "sample_rate": f"{size}/{records}", noise: made[noise] / 2}
        if made.get("sampling") == "cyclic-poisson":
            made |= {"sampling": "poisson", "count": -(-made["count"] // made.pop("groups"))}
        if plan.get("unit") == "user" and made.get("sampling", "none") == "none":
            made["noise_multiplier"] /= plan["records_per_unit"]
        rounds.append(made)
    return {"adjacency": plan["adjacency"], "round": rounds}


def of_the_oracle(plan: Mapping[str, Any], question: Mapping[str, float]) -> Ends:
    """By the routes that ``tests/oracle/__init__.py`` lists; their digits are measured."""
    ((asked, at),) = question.items()
    ask = oracle.epsilon if asked == "epsilon_at_delta" else oracle.delta
    value = ask(plain(plan), repr(at), DIGITS)
    return value, value


def mixture(plan: Mapping[str, Any], entry: Mapping[str, Any]) -> Curve:
    """A mixture of Gaussians; of the records of a user a batch holds a binomial number."""
    shifts, weights = entry.get("sensitivities"), entry.get("probabilities")
    if shifts is None or weights is None:
        most, rate = plan["records_per_unit"], Fraction(str(entry["sample_rate"]))
        shifts = range(most + 1)
        weights = [math.comb(most, k) * rate**k * (1 - rate) ** (most - k) for k in shifts]
    law = mixtures.Mixture.of(shifts, weights, entry["noise_multiplier"])
    directions = DIRECTIONS[plan["adjacency"]]

    def curve(epsilon: float) -> Ends:
        if entry["count"] == 1:
            value = max(mixtures.single_delta(law, direction, epsilon) for direction in directions)
            return value, value
        value = max(mixtures.delta(law, direction, entry["count"], epsilon, 0.7) for direction in directions)
        return value * (1 - 1e-10), value * (1 + 1e-10)

    return curve


def epoch(plan: Mapping[str, Any], entry: Mapping[str, Any]) -> Curve:
    """One epoch of random allocation: two steps by an integral, more by two laws on a grid of numbers."""
    steps, kept = entry["steps_per_epoch"], entry.get("epochs_per_assignment", 1)
    mu = math.sqrt(kept) / entry["noise_multiplier"]
    ways = [direction == "add" for direction in DIRECTIONS[plan["adjacency"]]]
    spread, merged, beyond = (None, None, 0.0) if steps == 2 else allocation.grid_laws(mu, steps, 0.005, 40_000)

    def curve(epsilon: float) -> Ends:
        if spread is None or merged is None:
            values = [allocation.two_steps(mu, epsilon, add) for add in ways]
            return max(values) * (1 - 1e-9), max(values) * (1 + 1e-9)
        slack = 2 * math.exp(epsilon) * beyond + 1e-12
        low, high = (max(allocation.hockey_stick(*law, epsilon, add) for add in ways) for law in (merged, spread))
        return low - slack, high + slack

    return curve


def truncated(plan: Mapping[str, Any], entry: Mapping[str, Any]) -> Curve:
    """One release with truncated Laplace noise."""

    def curve(epsilon: float) -> Ends:
        value = windows.truncated_laplace_delta(repr(entry["scale"]), repr(entry["bound"]), 1, epsilon)
        return value, value

    return curve


def choice(plan: Mapping[str, Any], entry: Mapping[str, Any]) -> Curve:
    """One choice by the exponential mechanism: two candidates are the worst, whose weights depend on epsilon."""

    def curve(epsilon: float) -> Ends:
        ends = mpmath.exp(entry["epsilon"]), mpmath.exp(epsilon)
        value = (mpmath.sqrt(ends[0]) - mpmath.sqrt(ends[1])) ** 2 / (ends[0] - 1)
        return value * (1 - 1e-14), value * (1 + 1e-14)

    return curve


def released_keys(plan: Mapping[str, Any], entry: Mapping[str, Any]) -> Curve:
    """Keys above a threshold: the noise of all keys alone from below, and with a key of one's own from above."""
    noise = entry["mechanism"].removesuffix("-threshold")
    name = PARAMETERS[noise][0]
    alone = keys.released_alone(noise, entry[name], entry["threshold"])
    hidden = (1 - alone) ** entry["keys"]
    visible = {
        "adjacency": plan["adjacency"],
        "round": [{"mechanism": noise, name: entry[name], "count": entry["keys"]}],
    }

    def curve(epsilon: float) -> Ends:
        low = oracle.delta(visible, epsilon, DIGITS)
        return low, 1 - hidden + hidden * low

    return curve


def solved(curve: Curve, delta: float) -> Ends:
    """Epsilon from both ends of delta."""

    def end(which: int) -> float:
        low, high = 0.0, 1.0
        while curve(high)[which] > delta:
            high *= 2
        for _ in range(SEARCH):
            middle = (low + high) / 2
            low, high = (middle, high) if curve(middle)[which] > delta else (low, middle)
        return high

    return end(0), end(1)


OTHERS: dict[str, tuple[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Curve]]] = {
    "user": ("tests/oracle/mixtures.py", mixture),
    "mixture-gaussian": ("tests/oracle/mixtures.py", mixture),
    "random-allocation": ("tests/oracle/allocation.py", epoch),
    "exponential": ("the closed form in conformance/README.md", choice),
    "truncated-laplace": ("tests/oracle/windows.py", truncated),
    "laplace-threshold": ("tests/oracle/keys.py", released_keys),
    "gaussian-threshold": ("tests/oracle/keys.py", released_keys),
}
"""What is asked about plans that the oracle does not read, by mechanism, sampling scheme or unit: all of one round."""


ONE = (epoch, choice, truncated, released_keys)
"""Those that know of one round alone."""


def independent(plan: Mapping[str, Any], question: Mapping[str, float]) -> tuple[str, Ends] | None:
    """Who answers, and an interval for the answer; None where nobody does."""
    first = plan["round"][0]
    sampled = first.get("sampling", "none")
    unit = "user" if plan.get("unit") == "user" and sampled != "none" else ""
    name = next((key for key in (unit, sampled, first["mechanism"]) if key in OTHERS), None)
    if name is not None:
        by, of = OTHERS[name]
        if len(plan["round"]) > 1 or (of in ONE and first["count"] > 1):
            return None
        curve, ((asked, at),) = of(plan, first), question.items()
        return by, solved(curve, at) if asked == "epsilon_at_delta" else curve(at)
    if any(entry["mechanism"] not in PARAMETERS for entry in plan["round"]):
        return None
    return "tests/oracle", of_the_oracle(plan, question)


def text(value: Any) -> str:
    """A number of the oracle, to 18 digits."""
    with mpmath.workdps(40):
        return str(mpmath.nstr(mpmath.mpf(value), 18))
