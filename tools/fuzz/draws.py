"""Values at the edges of each domain and between them, plans made of them, and a record of what was drawn."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, TypeVar

import hockeystick as hs

T = TypeVar("T")

MOST_BELOW_ONE = 1 - 2.0**-53  # the largest double below 1
NEAR_ONE = 1 - 1e-6  # the largest sample rate below 1
LEAST = 1e-300  # the least delta

COUNTS = (0, 1, 2, 3, 10, 10**6, 10**12)
RATES = (1e-10, 1e-6, 1e-3, 0.5, NEAR_ONE, 1.0)
NOISES = (0.01, 0.03, 0.3, 1.0, 100.0, 1e6)
ROUND_EPSILONS = (0.0, 1e-6, 0.5, 10.0, 100.0)
ROUND_DELTAS = (0.0, 1e-100, 1e-5, 0.5, MOST_BELOW_ONE)
DELTAS = (LEAST, 1e-100, 1e-12, 1e-6, 0.1, 0.5, MOST_BELOW_ONE)
EPSILONS = (0.0, 1e-6, 0.5, 100.0, 700.0, 745.0, 1e4)
RATES_OF_ERROR = (0.0, 1e-100, 1e-16, 1e-9, 1e-3, 0.5, MOST_BELOW_ONE, 1.0)
GAPS = (1e-15, 1e-9, 1e-3, 0.5, 1.0)
SIZES = (1, 2, 3, 10, 1000, 10**6, 10**12)
KINDS = (
    "gaussian",
    "laplace",
    "randomized-response",
    "approximate-dp",
    "discrete-laplace",
    "discrete-gaussian",
    "staircase",
    "binomial",
    "pmf",
    "truncated-laplace",
)
LIKELY = (20, 8, 4, 4, 1, 1, 1, 1, 1, 1)  # how often each is drawn
REPLACEABLE = KINDS[1:7]  # that have a pair where a record is replaced, unsampled
ABSENT = ("gaussian", "laplace", "discrete-laplace", "discrete-gaussian", "binomial", "truncated-laplace")
"""Whose laws are as without the record where its contribution is set to nothing, sampled or not."""
GIVEN = ("approximate-dp", "staircase")  # that are given for the plan's own adjacency, and then not sampled
AT_AN_EDGE = 0.25  # share of the values that lie at an edge; a plan of several has most of its values between them


class Draw:
    """Random values from one seed; whatever is drawn under a name is kept in :attr:`said`.

    Attributes:
        said: what was drawn, by name, for whoever has to reproduce a case.
    """

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.said: dict[str, Any] = {}

    def note(self, name: str, value: T) -> T:
        """Keep a value that was drawn."""
        self.said[name] = value
        return value

    def chance(self, share: float) -> bool:
        """Whether something happens that happens in this share of the cases."""
        return self.random.random() < share

    def of(self, *values: T) -> T:
        """One of the values."""
        return self.random.choice(values)

    def spread(self, low: float, high: float) -> float:
        """Between two positive numbers, uniform in the logarithm; with three digits, or sometimes with all of them."""
        value = math.exp(self.random.uniform(math.log(low), math.log(high)))
        value = value if self.chance(0.3) else float(f"{value:.3g}")
        return min(max(value, low), high)

    def edge(self, values: Sequence[float], low: float, high: float) -> float:
        """One of the values at the edges, or one between ``low`` and ``high``."""
        return self.of(*values) if self.chance(AT_AN_EDGE) else self.spread(low, high)

    def count(self) -> int:
        """A number of rounds."""
        return int(self.edge(COUNTS, 1, 1e9))

    def rate(self) -> float:
        """A sample rate."""
        value = self.edge(RATES, 1e-10, 1) if self.chance(0.2) else self.edge(RATES, 1e-6, 1)
        return value if value <= NEAR_ONE else 1.0

    def noise(self) -> float:
        """A noise multiplier or scale."""
        return self.edge(NOISES, 0.01, 1e6) if self.chance(0.2) else self.edge(NOISES, 0.1, 1e3)

    def delta(self, zero: bool = False) -> float:
        """A target delta; 0 where ``zero`` allows it."""
        return self.edge((0.0, *DELTAS) if zero else DELTAS, LEAST if self.chance(0.2) else 1e-15, 0.5)

    def epsilon(self) -> float:
        """A target epsilon, from 0 on."""
        return self.edge(EPSILONS, 1e-9, 1e4) if self.chance(0.2) else self.edge(EPSILONS, 1e-3, 100.0)

    def probability(self, inside: bool = False) -> float:
        """A probability or error rate; neither 0 nor 1 where it is to be ``inside``."""
        value = self.edge(RATES_OF_ERROR, 1e-100 if self.chance(0.2) else 1e-9, MOST_BELOW_ONE)
        value = 1 - value if self.chance(0.2) else value
        return min(max(value, 1e-100), MOST_BELOW_ONE) if inside else value

    def gap(self) -> float | None:
        """A width that is asked of an interval; none in most cases."""
        return None if self.chance(0.75) else self.edge(GAPS, 1e-15, 1.0)

    def batch(self, records: int) -> int:
        """A batch size of so many records whose quotient is a sample rate."""
        batch = self.random.randint(-(-records // 10**10), records)
        return batch if batch <= NEAR_ONE * records else records

    def size(self) -> int:
        """A number of records of a group."""
        return int(self.edge(SIZES, 1, 1e12)) if self.chance(0.5) else self.random.randint(1, 8)

    def several(self, one: Any, most: int = 5) -> Any:
        """One value of a kind, or a list of up to ``most`` of them."""
        return one() if self.chance(0.3) else [one() for _ in range(self.random.randint(1, most))]

    def round(self, sampled: bool = True, kind: str | None = None) -> dict[str, Any]:
        """A table of a plan file for one kind of rounds."""
        kind = kind or self.random.choices(KINDS, LIKELY)[0]
        made: dict[str, Any] = {"mechanism": kind, "count": self.count()}
        if kind == "gaussian":
            made["noise_multiplier"] = self.noise()
        elif kind in ("laplace", "discrete-laplace"):
            made["scale"] = self.noise()
        elif kind == "discrete-gaussian":
            made["noise_multiplier"] = self.edge((0.01, 0.1, 1.0, 500.0), 0.1, 50.0)
        elif kind == "binomial":
            made |= {"trials": self.random.randint(1, 60), "probability": self.edge((1e-6, 0.5, 0.999999), 0.01, 0.99)}
        elif kind == "truncated-laplace":
            made |= {"scale": self.noise(), "bound": self.edge((0.51, 1.0, 2.0, 1e6), 0.6, 1e3)}
        elif kind == "pmf":
            made |= {"p": self.law(size := self.random.randint(1, 5)), "q": self.law(size)}
        else:
            made["epsilon"] = self.edge(ROUND_EPSILONS, 1e-6, 10.0)
        if kind == "randomized-response" and self.chance(0.3):
            made["categories"] = int(self.edge((2, 3, 10**6, 10**12), 2, 1000))
        if kind in ("discrete-laplace", "discrete-gaussian", "binomial") and self.chance(0.3):
            made["sensitivity"] = self.random.randint(1, 3)
            if kind == "discrete-gaussian":
                made["noise_multiplier"] = min(made["noise_multiplier"], 100.0)
        if kind == "staircase" and self.chance(0.5):
            made["gamma"] = self.edge((0.0, 0.5, 1.0), 1e-3, 1.0)
        if kind == "approximate-dp":
            made["delta"] = self.edge(ROUND_DELTAS, 1e-15, 1e-3)
        if sampled and self.chance(0.6):
            made["sampling"] = "poisson"
            if self.chance(0.2):
                records = int(self.spread(1, 1e12))
                batch = self.batch(records)
                made |= {"dataset_size": records, "batch_size": batch}
                if self.chance(0.5):
                    made["epochs"] = int(self.spread(1, min(1e12 // -(-records // batch), 1e6) or 1))
                    del made["count"]
            else:
                made["sample_rate"] = self.rate()
        return made

    def zeroed_round(self) -> dict[str, Any]:
        """A table for one kind of rounds of which something is proven where a contribution is set to nothing."""
        kind = self.of(*ABSENT, *GIVEN)
        return self.round(kind in ABSENT, kind)

    def law(self, size: int) -> list[str]:
        """Probabilities that add up to 1, some of them 0, as fractions."""
        weights = [int(self.edge((0, 1, 10**9), 1, 1000)) for _ in range(size)]
        weights[self.random.randrange(size)] += 1
        return [f"{weight}/{sum(weights)}" for weight in weights]

    def table(self, kinds: int | None = None, both: bool = False) -> dict[str, Any]:
        """A plan as the keys of its file.

        Args:
            kinds: number of kinds of rounds; 1 to 4 by default.
            both: whether the adjacency has both orderings of two neighbouring datasets.
        """
        one_sided = () if both else ("add", "remove")
        twice = ("add-or-remove", "add-or-remove", "add-or-remove", "replace-one", "zero-out")
        adjacency = self.of(*twice, *one_sided)
        rounds = []
        for _ in range(kinds or self.random.choices([1, 2, 3, 4], [6, 3, 1, 1])[0]):
            kind = None
            if adjacency == "replace-one":
                kind = "gaussian" if self.chance(0.5) else self.of(*REPLACEABLE)
            if adjacency == "zero-out":
                rounds.append(self.zeroed_round())
            else:
                rounds.append(self.round(adjacency != "replace-one" or kind == "gaussian", kind))
            if len(rounds) > 1 and sum(item.get("count", 0) for item in rounds) > 1e12:
                rounds.pop()  # equal rounds are one, of at most 1e12 together
            if adjacency == "replace-one" and "scale" in rounds[-1] and self.chance(0.3):
                rounds[-1]["replace_one_distance"] = 1
        return self.note("plan", {"adjacency": adjacency, "round": rounds})

    def plan(self, kinds: int | None = None, both: bool = False) -> hs.Plan:
        """The plan of :meth:`table`."""
        return hs.Plan.from_dict(self.table(kinds, both))

    def sgd(self) -> hs.Plan:
        """A plan of DP-SGD with moderate values, as most plans are."""
        noise, rate, steps = self.spread(0.3, 30.0), self.spread(1e-5, 1.0), int(self.spread(1, 1e6))
        self.note("dp_sgd", (noise, rate, steps))
        return hs.dp_sgd(noise, rate, steps)


def _noise_of(item: dict[str, Any]) -> str | None:
    """The key of the noise of a round, if there is one and more of it always protects more.

    Of discrete Gaussian noise it does not: its losses are whole multiples of 1 over the variance, and two rounds of
    0.126, sampled at 1e-300, have a smaller delta at 0.649 (e^-4500.87) than two of 0.1260126 (e^-4500.10).
    """
    if item["mechanism"] in ("truncated-laplace", "discrete-gaussian"):
        return None
    return next((key for key in ("scale", "noise_multiplier") if key in item), None)


def weaker(table: dict[str, Any], draw: Draw) -> dict[str, Any]:
    """A plan that is at least as private: less of one parameter that costs, or more of one that protects."""
    rounds = [dict(item) for item in table["round"]]
    item = draw.of(*rounds)
    factor = draw.of(1.0001, 1.1, 3.0)
    change = draw.of("noise", "rate", "count")
    if change == "noise" and "epsilon" in item:
        item["epsilon"] = max(item["epsilon"] / factor, min(item["epsilon"], 1e-6))
    elif change == "noise" and (key := _noise_of(item)) is not None:
        item[key] = min(item[key] * factor, 1e6)
    elif change == "rate" and "sample_rate" in item:
        item["sample_rate"] = min(max(item["sample_rate"] / factor, 1e-10), NEAR_ONE)
    else:
        key = "epochs" if "epochs" in item else "count"
        item[key] = int(item[key] / factor)
    return draw.note("weaker", {**table, "round": rounds})
