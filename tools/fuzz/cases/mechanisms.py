"""Mechanisms by their laws or guarantees, and two laws of one's own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case
from hockeystick.plan.mechanisms.replacement import NoiseOnSum

ASKED = (
    "pair", "known", "curve", "exact", "with_against_without", "unsampled_only", "replacement_only",
    "of_many", "null_record", "premises",
)  # fmt: skip
"""What a round asks of a mechanism."""

ASKED_OF_A_SUM = ("at", "distance")
"""What a round asks of noise on a sum besides."""


def sums(held: Held, mechanism: Any, direction: hs.Direction) -> None:
    """Hold noise on a sum to its pair: the one at the largest change."""
    if hasattr(mechanism, "distance"):
        pair = held.ask("pair", lambda: mechanism.pair(direction))
        held.same("pair at the largest change", mechanism.at(mechanism.distance(direction)), pair)


def _law(draw: Draw, size: int) -> list[Fraction]:
    weights = [draw.random.randint(1, 1000) for _ in range(size)]
    return [Fraction(weight, sum(weights)) for weight in weights]


def _two(draw: Draw) -> tuple[list[Fraction], list[Fraction]]:
    size = draw.random.randint(2, 6)
    return _law(draw, size), _law(draw, size)


def _exact(*values: float) -> tuple[Fraction, ...]:
    return tuple(Fraction(repr(value)) for value in values)


MAKERS: dict[str, Callable[[Draw], Any]] = {
    "Binomial": lambda draw: hs.Binomial(draw.random.randint(1, 60), draw.of(0.1, 0.5, 0.9), 1),
    "DPSGDJL": lambda draw: hs.DPSGDJL(draw.spread(1.0, 30.0), draw.random.randint(1, 500)),
    "DiscreteGaussian": lambda draw: hs.DiscreteGaussian(draw.spread(0.3, 60.0)),
    "DiscreteLaplace": lambda draw: hs.DiscreteLaplace(draw.spread(0.1, 100.0), draw.random.randint(1, 5)),
    "Exponential": lambda draw: hs.Exponential(draw.of(0.0, draw.spread(1e-3, 5.0))),
    "GDP": lambda draw: hs.GDP(draw.spread(1e-3, 10.0)),
    "GaussianThreshold": lambda draw: hs.GaussianThreshold(
        draw.spread(0.3, 30.0), draw.spread(1.0, 200.0), draw.random.randint(1, 20), draw.of("continuous", "integer")
    ),
    "LaplaceThreshold": lambda draw: hs.LaplaceThreshold(
        draw.spread(0.3, 30.0), draw.spread(1.0, 500.0), draw.random.randint(1, 20), draw.of("continuous", "integer")
    ),
    "MatrixGaussian": lambda draw: hs.MatrixGaussian(
        draw.spread(1.0, 100.0),
        draw.of(4, 50),
        draw.of(1, 2, 4),
        draw.of("columns", "none"),
        None,
        (1.0, draw.spread(0.01, 1.0), draw.of(-0.2, 0.3)),
    ),
    "PermuteAndFlip": lambda draw: hs.PermuteAndFlip(draw.of(0.0, draw.spread(1e-3, 5.0))),
    "ReportNoisyMax": lambda draw: hs.ReportNoisyMax(draw.spread(1e-3, 5.0)),
    "Skellam": lambda draw: hs.Skellam(draw.spread(0.1, 1000.0), draw.random.randint(1, 5)),
    "SparseVector": lambda draw: hs.SparseVector(draw.spread(1e-3, 2.0), draw.random.randint(1, 50)),
    "Pair": lambda draw: hs.Pair.from_cdfs((0.2,), (draw.of(0.3, 0.5, 0.8),)),
    "Pmf": lambda draw: hs.Pmf(*map(tuple, _two(draw))),
    "PrivacyCurve": lambda draw: hs.PrivacyCurve(
        _exact(0.0, draw.spread(0.1, 3.0)), _exact(0.3, draw.spread(1e-12, 1e-2))
    ),
    "RDP": lambda draw: hs.RDP((2, 8, 32), tuple(sorted(draw.spread(1e-4, 5.0) for _ in range(3)))),
    "Staircase": lambda draw: hs.Staircase(draw.spread(1e-3, 5.0)),
    "Tradeoff": lambda draw: hs.Tradeoff(_exact(0.0, 0.25, 1.0), _exact(1.0, draw.spread(0.01, 0.5), 0.0)),
    "TruncatedLaplace": lambda draw: hs.TruncatedLaplace(
        draw.spread(0.1, 100.0), draw.spread(2.0, 1000.0), draw.of(0.5, 1.0, 1.9)
    ),
    "ZCDP": lambda draw: hs.ZCDP(draw.spread(1e-8, 3.0)),
}
"""How a mechanism of each class is drawn."""

SUMS = tuple(name for name in MAKERS if issubclass(getattr(hs, name), NoiseOnSum))
"""Noise on a sum among them."""


@case("mechanism", *MAKERS, *(f"{name}.{asked}" for name in MAKERS for asked in ASKED),
      *(f"{name}.{asked}" for name in SUMS for asked in ASKED_OF_A_SUM))  # fmt: skip
def rounds(draw: Draw, held: Held) -> None:
    """Copies are equal, fewer rounds cost no more, and delta at the upper end of epsilon is at most delta."""
    name = draw.note("class", draw.of(*MAKERS))
    mechanism = held.ask(name, lambda: MAKERS[name](draw))
    if mechanism is None:
        return
    draw.note("mechanism", repr(mechanism))
    held.same("pickle", pickle.loads(pickle.dumps(mechanism)), mechanism)
    held.same("copies", copy.deepcopy(mechanism), mechanism)
    sums(held, mechanism, hs.Direction.REMOVE)
    sampling = hs.Poisson(draw.of(0.5, 0.01)) if draw.chance(0.3) and name != "DPSGDJL" else hs.NoSampling()
    count, delta = draw.note("count", draw.of(1, 3, 10, 100)), draw.note("delta", draw.of(1e-3, 1e-6, 1e-10))
    draw.note("sampling", repr(sampling))
    plan = hs.Plan([hs.Round(mechanism, sampling, count)])
    found = held.ask("epsilon", lambda: plan.epsilon(delta))
    if found is None:
        return
    held.law(found.upper >= 0, f"epsilon {found}")
    if draw.chance(0.3):
        adjacency = draw.note("adjacency of users", draw.of("add-or-remove", "replace-one"))
        users = hs.Plan(plan.rounds, adjacency, unit="user", records_per_unit=3)
        of_users = held.ask("epsilon of users with 3 records", lambda: users.epsilon(delta))
        if of_users is not None:
            held.at_most("epsilon of one record", found.ends.get("lower", 0.0), of_users.ends["upper"])
    fewer = held.ask(
        "epsilon of half the rounds", lambda: hs.Plan([hs.Round(mechanism, sampling, count // 2)]).epsilon(delta)
    )
    if isinstance(fewer, hs.Bound):
        held.at_most("epsilon of half the rounds", fewer.lower, found.upper)
    if found.upper < 700:
        back = held.ask("delta", lambda: plan.delta(found.upper))
        if isinstance(back, hs.DeltaBound):
            held.at_most("delta at the upper end of epsilon", back.lower, delta)


@case("mechanism", *(f"{name}.{asked}" for name in ("GaussianThreshold", "LaplaceThreshold") for asked in
      ("alone", "shared", "gap", "check_integer")))  # fmt: skip
def keys(draw: Draw, held: Held) -> None:
    """The probability that a key of one person alone is released: two ends, less for more.

    At most a half; more of integer noise than of continuous noise with the same gap.
    """
    kind = draw.of(hs.GaussianThreshold, hs.LaplaceThreshold)
    noise, threshold = draw.note("noise", draw.noise()), draw.note("threshold", draw.edge((1.0, 1e9), 1.0, 1e4))
    law = draw.note("kind of noise", draw.of("continuous", "integer"))
    if law == "integer":
        noise, threshold = draw.note("integer noise", draw.spread(1e-2, 500.0)), max(threshold, 1.5)
    made = held.ask("threshold", lambda: kind(noise, threshold, 1, law))
    if made is None:
        return
    low, high = made.alone()
    held.law(0 <= low <= high <= 0.5 * (1 + 1e-9) and high > 0, f"{low} to {high}")
    held.law(made.shared.infinite_mass == 0 or made.shared.stands_in, "noise with infinite loss")
    farther = kind(noise, min(2 * threshold, 1e9), 1, law).alone()
    held.at_most("the probability at twice the threshold", farther[0], high)
    continuous = kind(noise, min(float(made.gap + 1), 1e9), 1).alone()
    held.at_most("the probability under continuous noise", continuous[0], high)


@case("mechanism", "Pair", *(f"Pair.{name}" for name in ("from_cdfs", "from_densities", "from_tradeoff", "of_cells")))
def own(draw: Draw, held: Held) -> None:
    """Two laws by the masses of their outcomes: as those of a mechanism with them."""
    p, q = draw.note("laws", _two(draw))
    first, second = ([float(mass) for mass in law] for law in (p, q))
    both = list(zip(first, second, strict=True))
    least, reverse = (
        [a / b * (1 - 1e-9) if b else 0.0 for a, b in pairs] for pairs in (both, [each[::-1] for each in both])
    )
    keys: dict[str, Any] = {"p": first, "q": second, "least": least, "reverse": reverse}
    made = held.ask("Pair", lambda: hs.Pair(**keys))
    if made is None:
        return
    count, epsilon = draw.of(1, 4, 12), draw.spread(1e-3, 3.0)

    def delta(one: Any) -> Any:
        return hs.Plan([hs.Round(one, count=count)], "remove").delta(epsilon)

    found = held.ask("delta", lambda: delta(made))
    other = held.ask("delta of the mechanism", lambda: delta(hs.Pmf(tuple(p), tuple(q))))
    if isinstance(found, hs.DeltaBound) and isinstance(other, hs.DeltaBound):
        held.at_most("delta of the pair", found.lower, other.upper)
        held.at_most("delta of the mechanism", other.lower, found.upper)


@case(
    "mechanism", "sensitivity",
    *(f"MatrixGaussian.{part}" for part in ("sensitivity", "strategy", "magnitudes", "markov", "participations")),
)  # fmt: skip
def strategies(draw: Draw, held: Held) -> None:
    """The ends of a sensitivity are in order, and farther participations move no more."""
    column = draw.note("column", [1.0, *(draw.spread(1e-3, 2.0) * draw.of(-1.0, 1.0) for _ in range(draw.of(0, 3, 9)))])
    steps, apart = draw.note("steps and separation", draw.of((20, 4), (50, 1), (300, 30)))
    found = held.ask("sensitivity", lambda: hs.sensitivity(steps, apart, "none", coefficients=column))
    if found is None:
        return
    held.law(0 < found.lower <= found.upper, f"{found}")
    made = hs.MatrixGaussian(1.0, steps, 2 * apart, "none", coefficients=tuple(column))
    held.at_most("sensitivity at twice the separation", made.sensitivity.lower, found.upper)
    noise = draw.note("noise", draw.spread(0.5, 20.0))
    run = hs.MatrixGaussian(noise, steps, apart, "none", coefficients=tuple(column))
    plain = held.ask("unsampled", lambda: hs.Plan([hs.Round(run)]).epsilon(1e-6))
    for scheme in (hs.BallsInBins(apart), hs.CyclicPoisson(apart, draw.rate()), hs.RandomAllocation(steps // apart)):
        asked = partial(hs.Plan([hs.Round(run, scheme)]).epsilon, 1e-6)
        sampled = held.ask(f"epsilon with {scheme!r}", asked, invalid=True)
        if plain is not None and isinstance(sampled, hs.Bound):
            held.at_most("sampled below unsampled", sampled.lower, plain.upper)
