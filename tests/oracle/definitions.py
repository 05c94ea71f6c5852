"""The mechanisms as they are defined: one function each, the mass of an outcome with the record and without it.

From it the house makes all comparisons (``definition.py``, ``tests/test_definitions.py``): one and two rounds,
unsampled and sampled, in every direction that is claimed. Nothing here is taken from the library. The record of
``mass(outcome, record)`` is 1 where it is in the data, 0 where it is not, and -1 where the worst other one is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from .definition import Definition, cells, counts

Mass = Callable[[float, int], float]


def normal(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def laplace(x: float) -> float:
    return math.exp(-abs(x)) / 2


def staircase(epsilon: float, gamma: float) -> Mass:
    """Geng, Viswanath 2014: steps of the widths gamma and 1 - gamma, each e^-epsilon of the one before.

    Its sensitivity is that of the relation of datasets itself: a replaced record moves the number by 1.
    """
    fall = math.exp(-epsilon)
    top = (1 - fall) / (2 * (gamma + fall * (1 - gamma)))

    def noise(x: float, record: int) -> float:
        step, part = divmod(abs(x - (record == 1)), 1)
        return top * math.exp(-epsilon * (step + (part > gamma)))

    return noise


def discrete_gaussian(noise: float) -> Mass:
    total = math.fsum(math.exp(-0.5 * (k / noise) ** 2) for k in range(-200, 201))
    return lambda k, record: math.exp(-0.5 * ((k - record) / noise) ** 2) / total


def discrete_laplace(scale: float, sensitivity: int) -> Mass:
    r = math.exp(-1 / scale)
    return lambda k, record: (1 - r) / (1 + r) * r ** abs(k - sensitivity * record)


def skellam(mean: float, sensitivity: int) -> Mass:
    """The difference of two Poisson variables of this mean: the sum over all values of the smaller one."""

    def poisson(k: int) -> float:
        return math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))

    def mass(x: float, record: int) -> float:
        away = abs(int(x) - sensitivity * record)
        return math.fsum(poisson(k) * poisson(k + away) for k in range(80))

    return mass


def binomial(trials: int, probability: str) -> Mass:
    chance = Fraction(probability)

    def mass(k: float, record: int) -> float:
        heads = int(k) - record
        if not 0 <= heads <= trials:
            return 0.0
        return float(math.comb(trials, heads) * chance**heads * (1 - chance) ** (trials - heads))

    return mass


def truncated_laplace(scale: float, bound: float) -> Mass:
    total = 2 * scale * (1 - math.exp(-bound / scale))
    return lambda x, record: math.exp(-abs(x - record) / scale) / total if abs(x - record) < bound else 0.0


def response(epsilon: float, categories: int) -> Mass:
    """The true answer is 1 with the record, and another one without it or with another record."""
    others = 1 / (math.exp(epsilon) + categories - 1)
    return lambda answer, record: others * (math.exp(epsilon) if answer == (1 if record == 1 else 0) else 1)


def listed(with_record: list[float], without: list[float]) -> Mass:
    return lambda outcome, record: (with_record if record == 1 else without)[int(outcome)]


def guarantee(epsilon: float, delta: float) -> Mass:
    """Outcomes that only one of both has, and randomised response."""
    more, less = (1 - delta) / (1 + math.exp(-epsilon)), (1 - delta) / (1 + math.exp(epsilon))
    return listed([delta, more, less, 0.0], [0.0, less, more, delta])


def exponential(epsilon: float, shift: float) -> Mass:
    """Two candidates whose scores, in units of 2 / epsilon, are apart by the shift, which the record changes by 1."""
    return lambda chosen, record: 1 / (1 + math.exp((1 if chosen else -1) * (shift + epsilon * (record == 1))))


def permuted(epsilon: float) -> Mass:
    """Permute and flip between two candidates, one of which the record makes worse by 1: it falls with e^-epsilon."""
    return lambda chosen, record: abs(chosen - (math.exp(-epsilon) if record == 1 else 1.0) / 2)


def mixture(shifts: list[float], weights: list[float]) -> Mass:
    """The record moves normal noise by one of the shifts, drawn by the weights."""
    return lambda x, record: sum(w * normal(x - record * s) for s, w in zip(shifts, weights, strict=True))


DEFINITIONS: dict[str, Definition] = {
    "gaussian": Definition({"noise_multiplier": 1.5}, *cells(-10, 10), lambda x, r: normal(x - r / 1.5)),
    "gdp": Definition({"mu": 0.8}, *cells(-10, 10), lambda x, r: normal(x - 0.8 * (r == 1))),
    "laplace": Definition({"scale": 2.0}, *cells(-20, 20), lambda x, r: laplace(x - r / 2)),
    "staircase": Definition({"epsilon": 1.0, "gamma": 0.25}, *cells(-30, 30), staircase(1.0, 0.25)),
    "mixture-gaussian": Definition(
        {"sensitivities": [0.5, 1.0], "probabilities": [0.25, 0.75], "noise_multiplier": 1.0},
        *cells(-10, 10),
        mixture([0.5, 1.0], [0.25, 0.75]),
    ),
    "truncated-laplace": Definition({"scale": 1.0, "bound": 4.0}, *cells(-6, 6), truncated_laplace(1.0, 4.0)),
    "discrete-laplace": Definition({"scale": 2.5, "sensitivity": 3}, *counts(-90, 90), discrete_laplace(2.5, 3)),
    "discrete-gaussian": Definition({"noise_multiplier": 2.0}, *counts(-40, 40), discrete_gaussian(2.0)),
    "skellam": Definition({"variance": 6.0, "sensitivity": 2}, *counts(-60, 60), skellam(3.0, 2)),
    "binomial": Definition({"trials": 20, "probability": 0.25}, *counts(-2, 22), binomial(20, "0.25")),
    "randomized-response": Definition({"epsilon": 1.0, "categories": 4}, *counts(0, 3), response(1.0, 4)),
    "approximate-dp": Definition({"epsilon": 0.5, "delta": 0.01}, *counts(0, 3), guarantee(0.5, 0.01)),
    "pmf": Definition(
        {"p": [0.5, 0.3, 0.2], "q": [0.2, 0.3, 0.5]}, *counts(0, 2), listed([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
    ),
    "exponential": Definition({"epsilon": 1.0}, *counts(0, 1), exponential(1.0, -0.5)),
    "permute-and-flip": Definition({"epsilon": 1.0}, *counts(0, 1), permuted(1.0)),
}
"""What is compared, by the plan file's name of the mechanism; keys as in plan files."""

OTHER: dict[str, tuple[str, dict[str, Any]]] = {
    "tradeoff": ("finite", {"alphas": [0.0, 0.1, 1.0], "betas": [0.9, 0.5, 0.0]}),
    "pair": ("finite", {"p": [0.1, 0.2, 0.7], "q": [0.3, 0.3, 0.4], "replaced": True}),
    "privacy-curve": ("finite", {"epsilons": [0.5, 1.0], "deltas": [0.01, 1e-5]}),
    "report-noisy-max": ("selections", {"epsilon": 1.0}),
    "sparse-vector": ("selections", {"epsilon": 1.0, "cutoff": 2}),
    "laplace-threshold": ("keys", {"scale": 2.0, "threshold": 20.0, "keys": 2}),
    "gaussian-threshold": ("keys", {"noise_multiplier": 2.0, "threshold": 20.0, "keys": 2}),
    "zcdp": ("moments", {"rho": 0.1}),
    "rdp": ("moments", {"orders": [2.0, 8.0], "epsilons": [0.1, 0.4]}),
    "matrix-gaussian": (
        "strategies",
        {
            "noise_multiplier": 2.0,
            "steps": 6,
            "min_separation": 2,
            "norm": "none",
            "coefficients": [1.0, -0.5, 0.5, 0.25],
        },
    ),
    "dp-sgd-jl": ("projections", {"noise_multiplier": 2.0, "projections": 10}),
}
"""Mechanisms with no law of one outcome, or one of its own kind: the module here that knows better, and an instance."""
