"""Two laws known cell by cell: one pair dominates and one is dominated, whatever lies within the cells."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import genpareto, laplace, logistic, norm, t

import hockeystick as hs
from hockeystick.pairs.knots import either_order
from hockeystick.values.adjacency import Direction


def truth(law: Any, epsilon: float) -> float:
    """The hockey-stick divergence of a law moved by 1: the mass of the places at which the ratio is large enough."""
    x = np.linspace(-200, 200, 4_000_001)
    large = law.logpdf(x - 1) - law.logpdf(x) > epsilon
    ends = np.flatnonzero(np.diff(large))
    edges = [*(0.5 * (x[ends] + x[ends + 1])), *([np.inf] if large[-1] else [])]
    masses = law.cdf(np.array(edges) - 1) - np.exp(epsilon) * law.cdf(np.array(edges))
    return float(masses[1::2].sum() - masses[::2].sum())


@pytest.mark.parametrize("law", [logistic, t(5)], ids=["logistic", "student"])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.9])
def test_one_round_contains_the_truth_by_quadrature(law: Any, epsilon: float) -> None:
    made = hs.Round(hs.Pair.from_densities(1.0, law.pdf))
    for rate in (1.0, 0.1):
        at = np.log1p(rate * np.expm1(epsilon))
        found = hs.Plan([hs.Round(made.mechanism, hs.Poisson(rate))], "remove").delta(at)
        true = rate * truth(law, epsilon)  # of a mixture with the law without the record
        assert isinstance(found, hs.DeltaBound)
        assert found.lower <= true * (1 + 1e-9)
        assert true * (1 - 1e-9) <= found.upper <= found.lower * (1 + 1e-4)


@pytest.mark.parametrize(
    ("pair", "known"),
    [
        (hs.Pair.from_densities(0.2, norm.pdf), hs.Gaussian(5.0)),
        (hs.Pair.from_densities(1.0, laplace.pdf, [0, 1]), hs.Laplace(1.0)),
    ],
    ids=["gaussian", "laplace"],
)
@pytest.mark.parametrize("rate", [1.0, 0.1])
@pytest.mark.parametrize("accountant", ["auto", "prv", "fourier", "connect-the-dots"])
def test_a_known_law_by_its_density_meets_its_mechanism(pair: Any, known: Any, rate: float, accountant: str) -> None:
    found, true = (
        hs.Plan([hs.Round(one, hs.Poisson(rate), count=20)]).epsilon(1e-6, accountant=name)
        for one, name in ((pair, accountant), (known, "auto"))
    )
    assert isinstance(found, hs.Bound)
    assert 0 < found.lower <= true.ends["upper"]
    assert true.ends["lower"] <= found.upper
    if accountant == "auto":
        assert found.relative_gap < 2e-6


def test_a_plan_file_of_it_loads_again() -> None:
    plan = hs.Plan([hs.Round(hs.Pair.from_densities(1.0, t(5).pdf), hs.Poisson(0.1), count=100)])
    with tempfile.TemporaryDirectory() as folder:
        plan.save(Path(folder) / "plan.toml")
        assert hs.load_plan(Path(folder) / "plan.toml") == plan


def test_replacing_a_record_has_both_orders() -> None:
    """An uneven pair: the larger of both orders for one round, at every epsilon."""
    cells: Any = {"p": [0.1, 0.2, 0.7], "q": [0.3, 0.3, 0.4]}
    cells |= {"least": [0.3, 0.6, 1.7], "reverse": [2.9, 1.4, 0.5]}
    one, both = hs.Pair(**cells), hs.Pair(**cells, replaced=True)
    for epsilon in (0.0, 0.2, 0.5, 1.0):
        found = hs.Plan([hs.Round(both)], "replace-one").delta(epsilon).ends["upper"]
        orders = [hs.Plan([hs.Round(one)], order).delta(epsilon).ends["upper"] for order in ("add", "remove")]
        assert found >= max(orders) * (1 - 1e-12)
    joined = either_order(one.pair(Direction.REMOVE))
    assert joined.infinite_mass == 0
    with pytest.raises(hs.UnsupportedError, match="replaced = true"):
        hs.Plan([hs.Round(one)], "replace-one").epsilon(0.1)


ANY: Any = hs.Pair
"""The class, as whoever passes lists uses it."""


@st.composite
def laws(draw: st.DrawFn) -> tuple[list[Fraction], list[Fraction], list[int], bool]:
    """Two laws on two to nine outcomes, which outcomes end a cell, and whether their ratio increases."""
    size, rises = draw(st.integers(2, 9)), draw(st.booleans())
    q = [Fraction(draw(st.integers(0, 9))) for _ in range(size)]
    p = [mass * draw(st.integers(0, 9)) for mass in q]
    if rises:
        ratios = sorted(draw(st.integers(0, 9)) for _ in range(size))
        p = [mass * ratio for mass, ratio in zip(q, ratios, strict=True)]
    p[-1] += 1
    q[0] += 1
    ends = sorted(draw(st.sets(st.integers(0, size - 2), max_size=8)))
    return [one / sum(p) for one in p], [one / sum(q) for one in q], [*ends, size - 1], rises


def divergence(p: Sequence[Fraction], q: Sequence[Fraction], alpha: Fraction, rounds: int, rate: Fraction) -> Fraction:
    """That of rounds sampled at a rate, a record being removed, in exact rationals."""
    pairs = list(zip(((1 - rate) * b + rate * a for a, b in zip(p, q, strict=True)), q, strict=True))
    products = [(Fraction(1), Fraction(1))]
    for _ in range(rounds):
        products = [(a * c, b * d) for a, b in products for c, d in pairs]
    return sum((max(a - alpha * b, Fraction(0)) for a, b in products), Fraction(0))


@settings(max_examples=200, deadline=None)
@given(
    laws(),
    st.lists(st.sampled_from([-1, 1]), min_size=18, max_size=18),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.integers(1, 2),
    st.sampled_from(["1", "1/4"]),
    st.booleans(),
)
def test_the_truth_is_between_whatever_lies_in_the_cells(
    law: tuple[list[Fraction], list[Fraction], list[int], bool],
    off: list[int],
    errors: tuple[int, int],
    rounds: int,
    rate: str,
    swap: bool,
) -> None:
    """Masses off by up to some thousandths either way, against the exact curve of the fine law, which nobody saw."""
    (p, q, ends, rises), signs = law, iter(off)
    cells = [range(a, b + 1) for a, b in zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True)]
    given_p, given_q = (
        [min(max(float(sum(one[i] for i in cell) + Fraction(next(signs) * error, 1000)), 0.0), 1.0) for cell in cells]
        for one, error in zip((p, q), errors, strict=True)
    )
    if abs(sum(given_p) - 1) > 1e-6 + errors[0] * len(cells) / 1000:
        return  # a mass that an error left below 0
    bounds: dict[str, Any] = {}
    if not rises:
        bounds["least"] = [float(min((p[i] / q[i] for i in cell if q[i]), default=0)) for cell in cells]
        bounds["reverse"] = [float(min((q[i] / p[i] for i in cell if p[i]), default=0)) for cell in cells]
    doubts = [[error / 1000 + 1e-15] * len(cells) for error in errors]
    made = ANY(given_p, given_q, *doubts, **bounds)
    plan = hs.Plan([hs.Round(made, hs.Poisson(float(Fraction(rate))), count=rounds)], "add" if swap else "remove")
    for epsilon in (0.0, 0.1, 0.7, 2.0):
        alpha = Fraction(math.exp(epsilon))
        if swap:  # Q against the mixture: of the same sums with the places of both exchanged
            mixed = [(1 - Fraction(rate)) * b + Fraction(rate) * a for a, b in zip(p, q, strict=True)]
            true = divergence(q, mixed, alpha, rounds, Fraction(1))
        else:
            true = divergence(p, q, alpha, rounds, Fraction(rate))
        for accountant in ("auto", "prv", "connect-the-dots"):
            try:
                found = plan.delta(epsilon, accountant=accountant)
            except hs.NotApplicableError:
                assert accountant == "prv"  # masses far above 1, as where p is 0 but for its error
                continue
            assert found.ends.get("lower", 0.0) <= float(true) + 1e-14
            assert float(true) <= found.ends["upper"] + 1e-14


def test_mass_that_a_total_misses_counts_above_only() -> None:
    """The far tail of a heavy law, of which the loss is bounded; and values that are too small by 7e-7."""
    heavy = hs.Pair.from_densities(genpareto(10, scale=1.1).pdf, genpareto(10).pdf)
    found = hs.Plan([hs.Round(heavy)], "remove").delta(5.0)
    assert found.ends["lower"] == 0.0
    assert 0 < found.ends["upper"] < 1e-10
    short = hs.Pair.from_densities(0.2, lambda x: 0.398942 * np.exp(-x * x / 2))
    assert hs.Plan([hs.Round(short)], "remove").delta(2.0).ends["lower"] < 1e-24
    wide = hs.Plan([hs.Round(short, count=1000)], "remove").epsilon(1e-4)
    assert wide.ends["lower"] <= 42.737 < wide.ends["upper"]


@pytest.mark.parametrize("accuracy", [1e-13, 1e-6, 1e-3])
def test_a_spike_that_is_missed_shows_in_the_total(accuracy: float) -> None:
    """Whatever the accuracy that is stated: less of it does not give less delta."""
    made = hs.Pair.from_densities(
        lambda x: (1 - 5e-7) * norm.pdf(x) + 5e-7 * norm.pdf(x, 2.3456789, 1e-7), norm.pdf, accuracy=accuracy
    )
    found = hs.Plan([hs.Round(made)], "remove").delta(0.7).ends
    assert found["lower"] <= 4.83e-7 <= found["upper"]


def test_a_trade_off_function_is_seen_to_its_ends() -> None:
    made = hs.Pair.from_tradeoff(lambda alpha: norm.cdf(norm.isf(alpha) - 1))
    for epsilon in (1.0, 6.0):
        found, true = (hs.Plan([hs.Round(each)]).delta(epsilon).ends for each in (made, hs.Gaussian(1.0)))
        assert found["lower"] <= true["upper"]
        assert true["lower"] <= found["upper"] <= 1.01 * found["lower"]


def test_masses_far_above_1_are_not_coupled() -> None:
    """Two cells told apart, known to within a few hundredths: PRV's ends were 0 and 0.001, of a truth above 0.99."""
    made = ANY(
        [0.0, 1.0], [1.0, 0.35], p_error=[0.04, 0.05], q_error=[1e-4, 0.35], least=[5e-8, 14000], reverse=[1.7e7, 7e-5]
    )
    plan = hs.Plan([hs.Round(made, count=3), hs.Round(hs.RandomizedResponse(0.5))], "remove")
    for accountant in ("prv", "evolving"):
        with pytest.raises(hs.NotApplicableError, match="needs distributions that add up to 1"):
            plan.delta(2.5, accountant=accountant)
    assert plan.delta(2.5).ends["upper"] > 0.99


def test_a_mass_of_q_that_is_seen_too_large_is_lowered() -> None:
    """In two sampled rounds the outcome that P all but lacks counts with its mass, beside one that Q all but lacks."""
    p, q = [Fraction(1, 50), Fraction(49, 50)], [Fraction(9, 10), Fraction(1, 10)]
    made = ANY([0.02, 0.98], [0.92, 0.1], q_error=[0.02, 1e-15], least=[0.02, 9.7], reverse=[44.0, 0.1])
    found = hs.Plan([hs.Round(made, hs.Poisson(0.25), count=2)], "remove").delta(0.0)
    true = float(divergence(p, q, Fraction(1), 2, Fraction(1, 4)))
    assert 0.95 * true < found.ends["lower"] <= true <= found.ends["upper"]


NOTCHED: Any = lambda x: np.where(abs(x - 0.76) < 4e-7, 0, norm.pdf(x)) / (1 - 8e-7 * norm.pdf(0.76))  # noqa: E731
"""Whose gap is not seen, but in the total."""

NAN: Any = lambda x: x * np.nan  # noqa: E731


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: hs.Pair.from_densities(1.0, lambda x: 2 * norm.pdf(x)), "q must integrate to 1|p must integrate to 1"),
        (lambda: hs.Pair.from_densities(1.0, NAN), "must return a finite number"),
        (lambda: hs.Pair.from_densities(1.0, lambda x: -norm.pdf(x)), "must return a finite number, 0 or greater"),
        (lambda: ANY.from_densities(1.0, 3.0), "q must be a function"),
        (lambda: hs.Pair.from_cdfs(1.0, lambda x: 1 - norm.cdf(x)), "must rise from 0 to 1"),
        (lambda: hs.Pair.from_cdfs(1.0, t(5).cdf), "pass least and reverse for each cell, or densities"),
        (lambda: hs.Pair.from_cdfs([0.3, 0.6], [0.1, 0.3]), "pass least and reverse for each cell, or densities"),
        (lambda: ANY([0.5, 0.5], [0.5, 0.4]), "the masses of q must add up to 1"),
        (lambda: ANY([0.5, 0.5], [0.5]), "q must have as many elements as p"),
        (lambda: ANY([0.5, 0.5], [0.5, 0.5], least=[2, 0], reverse=[0, 0]), "contradict the bounds"),
        (lambda: ANY.from_tradeoff(0.5), "beta must be a function"),
        (
            lambda: hs.Pair.from_tradeoff(lambda alpha: np.sqrt(1 - alpha)),
            "beta must be convex and fall from at most 1",
        ),
        (lambda: hs.Pair.from_densities(norm.pdf, NOTCHED), "q must integrate to 1"),
        (lambda: ANY.from_densities(1.0, lambda x: 1 / (4 * math.cosh(x / 2) ** 2)), "raised OverflowError"),
        (lambda: ANY.from_densities(1.0, norm.pdf, 0.0), "knots must be a list of 1 to 100"),
        (
            lambda: ANY([0.9, 0.1], [0.9, 0.1], least=[1, 0], reverse=[1, 5e-324]),
            "reverse must contain only 0",
        ),
        (lambda: ANY([0.1, 0.7, 0.2], [0.6, 0.4, 1e-320]), "q must contain only 0 and numbers of at least"),
        (lambda: ANY([0.5 + 1e-6, 0.5], [0.4, 0.6]), "give the error of each as p_error"),
    ],
)
def test_what_is_no_pair_is_refused(make: Any, said: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=said):
        make()


def test_functions_of_one_number_are_asked_one_by_one() -> None:
    def scalar(x: float) -> float:
        return 0.25 if x < 1 and x > -3 else 0.0

    made = ANY.from_densities(1.0, scalar, [-3, -2, 1, 2])
    found = hs.Plan([hs.Round(made)]).delta(0.0)
    assert found.ends["lower"] <= 0.25 + 1e-9
    assert found.ends["upper"] == pytest.approx(0.25, abs=1e-6)
