"""Plans: lists of rounds in exact rationals, read from the mapping form of a plan file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .real import to_fraction

PARAMETERS: dict[str, tuple[str, ...]] = {
    "gaussian": ("noise_multiplier",),
    "laplace": ("scale",),
    "randomized-response": ("epsilon", "categories"),
    "approximate-dp": ("epsilon", "delta"),
    "staircase": ("epsilon", "sensitivity", "gamma"),
    "discrete-laplace": ("scale", "sensitivity"),
    "discrete-gaussian": ("noise_multiplier", "sensitivity"),
    "binomial": ("trials", "probability", "sensitivity"),
    "pmf": ("p", "q"),
    "tradeoff": ("alphas", "betas"),
    "privacy-curve": ("epsilons", "deltas"),
    "gdp": ("mu",),
}
DEFAULTS: dict[str, Any] = {"sensitivity": 1, "gamma": -1, "probability": "0.5", "categories": 2}
"""What is meant where a key is left out; a gamma below 0 stands for the one of least expected size."""
WHOLE = ("pmf", "binomial", "tradeoff", "privacy-curve")
"""Mechanisms whose two directions differ although nothing is sampled."""
DIRECTIONS: dict[str, tuple[str, ...]] = {
    "add": ("add",),
    "remove": ("remove",),
    "add-or-remove": ("remove", "add"),
    "replace-one": ("replace-one",),
}


@dataclass(frozen=True)
class Round:
    """`count` runs of one mechanism; `rate` is the Poisson sampling rate, 1 where there is no sampling."""

    mechanism: str
    parameters: tuple[Fraction, ...]
    rate: Fraction
    count: int
    lists: tuple[tuple[Fraction, ...], ...] = ()


def read_plan(plan: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Round, ...]]:
    """Directions whose maximum is asked for, and the rounds; equal rounds are merged and empty ones dropped."""
    directions = DIRECTIONS[plan["adjacency"]]
    merged: dict[tuple[str, tuple[Fraction, ...], Fraction, tuple[tuple[Fraction, ...], ...]], int] = {}
    for entry in plan["round"]:
        mechanism = entry["mechanism"]
        if mechanism not in PARAMETERS:
            raise ValueError(f"unknown mechanism {mechanism!r}")
        names = PARAMETERS[mechanism]
        unknown = set(entry) - {"mechanism", "count", "sampling", "sample_rate", *names}
        if unknown:
            raise ValueError(f"unknown keys {sorted(unknown)}")
        sampling = entry.get("sampling")
        if sampling not in (None, "none", "poisson"):
            raise ValueError(f"unknown sampling {sampling!r}")
        rate = to_fraction(entry["sample_rate"]) if sampling == "poisson" else Fraction(1)
        if not 0 <= rate <= 1:
            raise ValueError("sample_rate outside [0, 1]")
        count = int(entry.get("count", 1))
        if count < 0:
            raise ValueError("negative count")
        values = [entry.get(name, DEFAULTS[name]) if name in DEFAULTS else entry[name] for name in names]
        lists = tuple(tuple(to_fraction(item) for item in value) for value in values if isinstance(value, list | tuple))
        parameters = () if lists else tuple(to_fraction(value) for value in values)
        if mechanism == "gdp":  # noise at the distance that the guarantee speaks of
            mechanism, parameters = "gaussian", ((2 if plan["adjacency"] == "replace-one" else 1) / parameters[0],)
        if lists or mechanism in WHOLE:
            pass
        elif parameters[0] < 0 or (mechanism in ("gaussian", "laplace") and parameters[0] == 0):
            raise ValueError(f"{names[0]} out of range")
        if mechanism == "approximate-dp" and not 0 <= parameters[1] <= 1:
            raise ValueError("delta outside [0, 1]")
        if count and rate:
            key = (mechanism, parameters, rate, lists)
            merged[key] = merged.get(key, 0) + count
    rounds = tuple(Round(*kind[:3], count, kind[3]) for kind, count in merged.items())
    symmetric = all(entry.rate == 1 and entry.mechanism not in WHOLE for entry in rounds)
    return directions[:1] if symmetric else directions, rounds
