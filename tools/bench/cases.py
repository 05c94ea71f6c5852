"""What is asked of every accountant, and the true answers.

The true values in ``truth.json`` come from two independent contour integrations in 113-bit arithmetic where its entry
says ``"contour integrations"``, and from ``tests/oracle`` (mpmath, 20 digits) otherwise; ``python -m bench.truth``
recomputes the whole file with the latter and compares.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

TRUTH = Path(__file__).with_name("truth.json")
STEP = 1e-6  # by how much the noise differs, relatively, from one repetition to the next, so that no cache answers
LIMIT = 60.0  # seconds for one call
LONG_LIMIT = 100.0  # for a call that asks 200 questions

Quantity = Literal["epsilon", "delta", "stepwise"]
"""``epsilon`` at a delta; ``delta`` at an epsilon; ``stepwise``: epsilon after each round, of which the last counts."""


@dataclass(frozen=True)
class Release:
    """``count`` rounds of one mechanism; ``noise`` is relative to the sensitivity, ``rate`` 1 is no sampling."""

    mechanism: Literal["gaussian", "laplace"]
    noise: float
    rate: float
    count: int

    def as_round(self) -> dict[str, Any]:
        """As a plan file has it."""
        key = "noise_multiplier" if self.mechanism == "gaussian" else "scale"
        sampled = {} if self.rate == 1 else {"sampling": "poisson", "sample_rate": self.rate}
        return {"mechanism": self.mechanism, key: self.noise, "count": self.count, **sampled}


@dataclass(frozen=True)
class Case:
    """One question.

    Attributes:
        name: what ``CASES=`` selects by, and the key in ``truth.json``.
        group: heading under which it is shown.
        quantity: what is asked.
        at: the delta (or, for ``delta``, the epsilon) at which.
        releases: the plan.
        limit: seconds that a call may take.
    """

    name: str
    group: str
    quantity: Quantity
    at: float
    releases: tuple[Release, ...]
    limit: float = LIMIT

    def question(self, i: int = 0) -> dict[str, Any]:
        """What the workers get: all noises times ``1 + i STEP``; ``i = 0`` is the case itself."""
        rounds = [vars(replace(item, noise=item.noise * (1 + i * STEP))) for item in self.releases]
        return {"quantity": self.quantity, "at": self.at, "rounds": rounds}

    def plan(self) -> dict[str, Any]:
        """The mapping form of the plan."""
        return {"adjacency": "add-or-remove", "round": [item.as_round() for item in self.releases]}

    @property
    def truth(self) -> Decimal:
        """The true answer, for noises, rates and targets that are exact decimals."""
        return truths()[self.name]

    @property
    def rounds(self) -> int:
        """How many in all."""
        return sum(item.count for item in self.releases)


@cache
def truths() -> dict[str, Decimal]:
    """All true values by the name of the case."""
    values = json.loads(TRUTH.read_text(encoding="utf-8"))["values"]
    return {name: Decimal(entry["value"]) for name, entry in values.items()}


def short(x: float) -> str:
    """``1e-7``, ``3e3``, ``0.65``: as few characters as say it exactly."""
    mantissa, exponent = f"{x:e}".split("e")
    scientific = f"{Decimal(mantissa).normalize():f}e{int(exponent)}"
    plain = f"{Decimal(repr(x)):f}".removesuffix(".0")
    return plain if len(plain) <= len(scientific) else scientific


def all_cases() -> tuple[Case, ...]:
    """Every case, in the order in which they are asked."""
    return tuple(_cases())


def _cases() -> Iterator[Case]:
    yield from _dp_sgd(0.8, 1e-3, (100, 1_000, 10_000, 100_000), "epsilon", (1e-7,))
    yield from _dp_sgd(0.8, 4e-3, (1_000, 3_000, 5_000), "delta", (1.5,))
    yield from _dp_sgd(0.5, 2e-5, (1_000, 10_000, 100_000, 1_000_000), "epsilon", (1e-8,))
    yield from _dp_sgd(1.0, 0.01, (10_000,), "epsilon", (1e-6,))
    yield from _dp_sgd(2.0, 0.01, (10_000,), "epsilon", (1e-6,))
    yield from _dp_sgd(0.65, 0.01, (500, 2_000, 5_000), "epsilon", (1e-5,))
    yield from _dp_sgd(1.0, 0.01, (2_000,), "epsilon", (1e-10, 1e-15, 1e-20, 1e-40))
    different = tuple(Release("gaussian", round(0.8 + 1.2 * i / 99, 6), 0.01, 100) for i in range(100))
    group = "100 different noises from 0.8 to 2, rate 0.01, 100 rounds each: epsilon at delta 1e-6"
    yield Case("different-noises", group, "epsilon", 1e-6, different)
    laplace = (Release("laplace", 1.0, 1.0, 100),)
    yield Case("laplace", "Laplace, scale 1, 100 rounds: epsilon at delta 1e-6", "epsilon", 1e-6, laplace)
    steps = (Release("gaussian", 1.0, 0.01, 200),)
    group = "200 DP-SGD steps one by one, noise 1, rate 0.01: epsilon at delta 1e-6 after each (200 questions)"
    yield Case("stepwise", group, "stepwise", 1e-6, steps, LONG_LIMIT)


def _dp_sgd(
    noise: float, rate: float, counts: tuple[int, ...], quantity: Quantity, targets: tuple[float, ...]
) -> Iterator[Case]:
    given = "delta" if quantity == "epsilon" else "epsilon"
    group = f"DP-SGD, noise {short(noise)}, rate {short(rate)}: {quantity} at {given} {short(targets[0])}"
    if len(targets) > 1:
        group += f" to {short(targets[-1])}"
    for count in counts:
        for target in targets:
            name = f"sgd-{short(noise)}-{short(rate)}-{short(count)}-{given}-{short(target)}"
            yield Case(name, group, quantity, target, (Release("gaussian", noise, rate, count),))


def scaling_cases() -> tuple[Case, ...]:
    """One plan at a thousand, a million and a thousand million rounds: asked of this library alone, no truth needed."""
    return tuple(_dp_sgd(4.0, 1e-3, (10**3, 10**6, 10**9), "epsilon", (1e-6,)))
