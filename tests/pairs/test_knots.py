"""Two laws known cell by cell: one pair dominates and one is dominated, whatever lies within the cells."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import laplace, logistic, norm, t

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


NAN: Any = lambda x: x * np.nan  # noqa: E731


ANY: Any = hs.Pair
"""The class, as whoever passes lists uses it."""


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: hs.Pair.from_densities(1.0, lambda x: 2 * norm.pdf(x)), "q must integrate to 1|p must integrate to 1"),
        (lambda: hs.Pair.from_densities(1.0, NAN), "must give a finite number"),
        (lambda: hs.Pair.from_densities(1.0, lambda x: -norm.pdf(x)), "must give a finite number, 0 or greater"),
        (lambda: ANY.from_densities(1.0, 3.0), "q must be a function"),
        (lambda: hs.Pair.from_cdfs(1.0, lambda x: 1 - norm.cdf(x)), "must rise from 0 to 1"),
        (lambda: hs.Pair.from_cdfs(1.0, t(5).cdf), "give least and reverse for each cell, or densities"),
        (lambda: hs.Pair.from_cdfs([0.3, 0.6], [0.1, 0.3]), "give least and reverse for each cell, or densities"),
        (lambda: ANY([0.5, 0.5], [0.5, 0.4]), "the masses of q must add up to 1"),
        (lambda: ANY([0.5, 0.5], [0.5]), "q must have as many elements as p"),
        (lambda: ANY([0.5, 0.5], [0.5, 0.5], least=[2, 0], reverse=[0, 0]), "contradict the bounds"),
        (lambda: ANY.from_tradeoff(0.5), "beta must be a function"),
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
