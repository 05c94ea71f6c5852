"""Answers to the cases of the conformance set from ``tests/oracle``, which shares no code with the package."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

import oracle
from oracle import allocation, keys, mixtures, windows
from oracle.plan import DIRECTIONS, PARAMETERS

CHECKER = Path(__file__).parents[1] / "checker" / "hockeystick_check.py"
CLAIMED = 2e-3  # above the upper end, for the checker
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
    law, count = mixtures.Mixture.of(shifts, weights, entry["noise_multiplier"]), entry["count"]

    def directed(direction: str, epsilon: float) -> Any:
        if count == 1:
            return mixtures.single_delta(law, direction, epsilon)

        def size(tilt: float) -> float:  # of the integrand on the real line
            moment = mixtures.log_moment(mixtures.moment_nodes(law, direction, tilt, 0.06), tilt, np.zeros(1))
            return float(count * moment.real[0] - epsilon * tilt - math.log(tilt * (1 + tilt)))

        return mixtures.delta(law, direction, count, epsilon, min(np.geomspace(0.1, 30, 40).tolist(), key=size))

    def curve(epsilon: float) -> Ends:
        value = max(directed(direction, epsilon) for direction in DIRECTIONS[plan["adjacency"]])
        return value * (1 - 1e-10), value * (1 + 1e-10)

    return curve


def epoch(plan: Mapping[str, Any], entry: Mapping[str, Any]) -> Curve:
    """One epoch of random allocation: two steps by an integral, more by two laws on a grid of numbers."""
    steps, kept = entry["steps_per_epoch"], entry.get("epochs_per_assignment", 1)
    mu = math.sqrt(kept) / entry["noise_multiplier"]
    ways = [direction == "add" for direction in DIRECTIONS[plan["adjacency"]]]
    spread, merged, beyond = (None, None, 0.0) if steps == 2 else allocation.grid_laws(mu, steps, 0.02, 150_000)

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


NOBODY = ("dp-sgd-18", "dp-sgd-19", "choice-02", "allocation-02", "other-01")
"""Rates for which the oracle takes hours, sums too many to list, and plans of several rounds that it does not know."""
BY_CHECKER = (
    *("dp-sgd-28", "laplace-05", "guarantee-02", "mixed-04"),
    *("discrete-gaussian-03", "discrete-gaussian-04", "discrete-gaussian-05"),
)
"""Plans with too many atoms for the oracle to list, or too many rounds."""


def of_the_checker(plan: Mapping[str, Any], delta: float, upper: float) -> Ends:
    """What the checker of reports proves, which shares nothing with the package either; its lower ends may be far."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plan.json"
        file.write_text(json.dumps(plan), encoding="utf-8")
        claim = ["--epsilon", repr(upper * (1 + CLAIMED)), "--delta", repr(delta), "--both"]
        said = subprocess.run(
            [sys.executable, CHECKER, file, *claim], check=True, capture_output=True, text=True
        ).stdout
    found = re.search(r"proved is (?:(\S+) <= )?epsilon <= (\S+)", said)
    assert found is not None
    return mpmath.mpf(found[1] or 0), mpmath.mpf(found[2])


def independent(name: str, case: Mapping[str, Any]) -> tuple[str, Ends] | None:
    """Who answers, and an interval for the answer; None where nobody does."""
    plan, ((asked, at),) = case["plan"], case["question"].items()
    if name in NOBODY:
        return None
    if name in BY_CHECKER:
        return "checker/hockeystick_check.py", of_the_checker(plan, at, float(case["upper"]))
    first = plan["round"][0]
    sampled = first.get("sampling", "none")
    unit = "user" if plan.get("unit") == "user" and sampled != "none" else ""
    key = next((key for key in (unit, sampled, first["mechanism"]) if key in OTHERS), None)
    if key is None:
        return "tests/oracle", of_the_oracle(plan, case["question"])
    by, of = OTHERS[key]
    curve = of(plan, first)
    return by, solved(curve, at) if asked == "epsilon_at_delta" else curve(at)


def text(value: Any) -> str:
    """A number of the oracle, to 18 digits."""
    with mpmath.workdps(40):
        return str(mpmath.nstr(mpmath.mpf(value), 18))
