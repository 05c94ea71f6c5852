"""Correlated noise: sensitivities against all places and signs, and answers against rounds of Gaussian noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import hockeystick as hs
from oracle.strategies import brute, triangular

Array = npt.NDArray[np.float64]


def drawn(random: np.random.Generator, n: int) -> tuple[dict[str, Any], Array]:
    """A strategy as it is given, and its matrix."""
    kind = random.integers(4)
    if kind == 0:
        column: Any = random.normal(size=int(random.integers(1, n + 1)))
        return {"coefficients": column}, triangular(column, n)
    if kind == 1:
        matrix = np.triu(np.tril(random.normal(size=(n, n))), -int(random.integers(0, n)))
        return {"matrix": matrix}, matrix
    if kind == 2:
        inverse = np.append(1.0, 0.4 * random.normal(size=2))
        made: Any = np.linalg.inv(triangular(inverse, n))
        return {"inverse_coefficients": inverse}, made
    decay, scale = random.random(2), random.normal(size=2)
    powers = [float(scale @ decay ** (m - 1)) for m in range(1, n)]
    return {"blt_decay": decay, "blt_scale": scale}, triangular([1.0, *powers], n)


@pytest.mark.parametrize("seed", range(25))
def test_ends_lie_around_all_places_and_signs(seed: int) -> None:
    """Twenty strategies each; a path of at most twice as many bands as the separation is exact, whatever its signs."""
    random = np.random.default_rng(seed)
    for _ in range(20):
        n = int(random.integers(3, 9))
        b = int(random.integers(1, min(n, 4) + 1))
        k = int(random.integers(1, min(-(-n // b), 4) + 1))
        given, matrix = drawn(random, n)
        norm = str(random.choice(["none", "columns"]))
        matrix = matrix / np.linalg.norm(matrix, axis=0) if norm == "columns" else matrix
        gram = matrix.T @ matrix
        found, truth = hs.sensitivity(n, b, norm, k, **given), brute(gram, b, k)
        assert found.lower <= truth * (1 + 1e-12)
        assert truth * (1 - 1e-12) <= found.upper
        if not np.triu(gram, 2 * b).any():
            assert found.exact
            assert found.upper <= truth * (1 + 1e-12)


@pytest.mark.parametrize(("momentum", "square"), [(0.9, 740.899477683), (0.95, 1429.95202686)])
def test_square_roots_of_momentum(momentum: float, square: float) -> None:
    """Banded square roots, 1,000 steps, 10 participations 100 apart: the closed form for coefficients that fall."""
    powers = np.cumprod(np.append(1.0, (2 * np.arange(1, 1000) - 1) / (2 * np.arange(1, 1000))))
    column = np.convolve(powers, powers * momentum ** np.arange(1000))[:1000]
    found = hs.sensitivity(1000, 100, "none", 10, coefficients=column)
    assert found.exact
    assert found.theorem == "bound for any strategy"
    assert found.places == tuple(range(0, 1000, 100))
    assert found.upper**2 == pytest.approx(square, rel=1e-11)


@pytest.mark.parametrize("n", range(10, 40))
def test_rounding_is_charged(n: int) -> None:
    """An inverse that loses digits: exact sums of squares lie between the ends, without any tolerance."""
    inverse = [Fraction(float(each)) for each in 1.1 * np.poly([0.95] * 3)]
    exact = [1 / inverse[0]]
    for m in range(1, n):
        exact.append(-sum(inverse[j] * exact[m - j] for j in range(1, min(m, 3) + 1)) / inverse[0])
    found = hs.sensitivity(n, n, "none", 1, inverse_coefficients=[float(each) for each in inverse])
    square = sum(each * each for each in exact)
    assert Fraction(found.lower) ** 2 <= square <= Fraction(found.upper) ** 2


def test_ten_thousand_steps_of_any_signs() -> None:
    column = np.random.default_rng(1).normal(size=10_000) / np.arange(1, 10_001)
    found = hs.sensitivity(10_000, 1000, "none", coefficients=column)
    assert found.lower <= found.upper <= 1.3 * found.lower


def test_trees_count_levels() -> None:
    for depth in (1, 5, 12):
        found = hs.sensitivity(2 ** (depth - 1), 1, "none", 1, tree_depth=depth)
        assert found.exact
        assert found.upper == pytest.approx(math.sqrt(depth), rel=1e-14)
    leaves = np.arange(8)
    nodes = np.array([leaves // 2**level == at for level in range(4) for at in range(8 >> level)], dtype=np.float64)
    for b, k in ((1, 3), (2, 2), (3, 3)):
        found, truth = hs.sensitivity(8, b, "none", k, tree_depth=4), brute(nodes.T @ nodes, b, k)
        assert found.lower <= truth * (1 + 1e-12)
        assert truth <= found.upper <= 1.05 * truth


def test_the_identity_is_noise_of_every_step() -> None:
    """With other rounds beside it, under each relation that is known."""
    one = hs.Round(hs.MatrixGaussian(5.0, 100, 1, "columns", coefficients=(1.0,)), count=2)
    for adjacency in ("add", "remove", "replace-one", "zero-out"):
        plain = hs.Round(hs.Gaussian(5.0), count=200)
        found, truth = (hs.Plan([each, hs.Round(hs.Laplace(3.0))], adjacency).epsilon(1e-6) for each in (one, plain))
        assert isinstance(found, hs.Bound)
        assert found.lower <= truth.upper
        assert truth.lower <= found.upper
        assert found.upper - found.lower < 1e-4


def test_more_noise_is_found_for_a_target() -> None:
    made = hs.MatrixGaussian(1.0, 1000, 100, "none", coefficients=(1.0, 0.5))
    plan = hs.Plan([hs.Round(made)])
    found = hs.calibrate(plan, "noise-multiplier", hs.targets.Epsilon(1.0, delta=1e-6))
    one = hs.calibrate(hs.Plan([hs.Round(hs.Gaussian(1.0))]), "noise-multiplier", hs.targets.Epsilon(1.0, delta=1e-6))
    assert found.value == pytest.approx(one.value * made.sensitivity.upper, rel=1e-5)


BANDED: Any = {"coefficients": [1.0, 0.5]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"min_separation": -1, **BANDED}, "min_separation must be a whole number from 1"),
        ({"max_participations": 3, **BANDED}, "max_participations must be at most 2 with 10 steps"),
        ({"matrix": np.ones((10, 10))}, "matrix must be lower triangular"),
        ({"matrix": np.ones((9, 9))}, "matrix must have 10 rows of 10 numbers"),
        ({"coefficients": [math.nan]}, "element 1 of coefficients must be a number"),
        ({"coefficients": [0.0, 1.0]}, "the first coefficient must be at least"),
        ({"inverse_coefficients": [0.0, 1.0]}, "the first coefficient must be at least"),
        (
            {"steps": 5000, "min_separation": 500, "inverse_coefficients": [1.0, -1e3]},
            "those of the inverse exceed it",
        ),
        ({"steps": 50, "min_separation": 50, "inverse_coefficients": [1.1, -5.0, 1.0]}, "fewer than three digits"),
        ({"steps": 5000, "min_separation": 1, **BANDED}, "max_participations is missing"),
        ({"norm": "rows", **BANDED}, "norm must be one of 'columns', 'none'"),
        (
            {"norm": "columns", "coefficients": [1e-200, 1e6]},
            "the first coefficient must be at least 1e-100 in magnitude",
        ),
        ({"blt_decay": [0.5], "blt_scale": [1.0, 2.0]}, "blt_decay and blt_scale must be given together"),
        ({"tree_depth": 3}, "steps must be at most 4 with a tree"),
        ({}, "exactly one of coefficients, .* must be given; received none"),
        ({"tree_depth": 5, **BANDED}, "received coefficients, tree_depth"),
    ],
)
def test_what_is_no_strategy_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=said):
        hs.MatrixGaussian(1.0, **{"steps": 10, "min_separation": 5, "norm": "none", **given})


def test_sampling_is_refused_with_its_reason() -> None:
    made = hs.MatrixGaussian(1.0, 10, 5, "none", **BANDED)
    with pytest.raises(hs.UnsupportedError, match="use sampling 'none'"):
        hs.Plan([hs.Round(made, hs.Poisson(0.1))]).epsilon(1e-6)
