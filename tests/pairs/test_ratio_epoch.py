"""Epochs of mechanisms with bounded ratios: between exact fractions, nested quadrature and a simulation."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from hockeystick.pairs import DominatingPair, LaplacePair
from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.sampled.ratio_epoch import epoch_pairs
from hockeystick.pairs.tabulated import TabulatedPair
from oracle.epochs import delta, epoch_law, laplace_delta, product, ratio_law

F = Fraction
PMF = FinitePair((F(1, 2), F(3, 10), F(1, 5)), (F(1, 5), F(3, 10), F(1, 2)))
GAPS = FinitePair((F(1, 20), F(9, 20), F(2, 5), F(1, 10), F(0)), (F(0), F(1, 5), F(2, 5), F(3, 10), F(1, 10)))
RESPONSE = FinitePair((F(3, 4), F(1, 4)), (F(1, 4), F(3, 4)))


def curve(pair: TabulatedPair, alpha: float, epochs: int = 1) -> float:
    """Delta of so many epochs, by all sums of losses."""
    atoms = pair.atoms.finite()
    loss, p = np.zeros(1), np.ones(1)
    for _ in range(epochs):
        loss = np.add.outer(loss, atoms.loss).ravel()
        p = np.multiply.outer(p, np.exp(atoms.log_p)).ravel()
    finite = float(np.maximum(p * (1 - alpha * np.exp(-loss)), 0.0).sum())
    return finite + 1 - (1 - pair.infinite_mass) ** epochs


@pytest.mark.parametrize("pair", [PMF, GAPS, GAPS.mirrored, RESPONSE])
@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(
    ("weights", "constant"),
    [
        ([F(1, 2)] * 2, F(0)),
        ([F(1, 4)] * 4, F(0)),
        ([F(2, 7)] * 3 + [F(1, 7)], F(0)),  # a smaller last batch
        ([F(1, 5)] * 3, F(2, 5)),  # two steps that are not taken, or a check-in of 3/5
    ],
)
@pytest.mark.share(3)
def test_all_outcomes_of_few_steps(pair: FinitePair, add: bool, weights: list[Fraction], constant: Fraction) -> None:
    groups = tuple((weight, len(list(same))) for weight, same in itertools.groupby(weights))
    above, below = epoch_pairs(pair, groups, constant, add)
    law, infinite = ratio_law(pair.p, pair.q)
    epoch = epoch_law(law, weights, constant)
    for epochs in (1, 2):
        finite = (1 - infinite * (1 - constant)) ** epochs
        ratios = product(epoch, epochs)
        for alpha in (F(1, 2), F(1), F(5, 4), F(3, 2), F(7, 4), F(2), F(11, 5)):
            truth = float(delta(ratios, alpha, add, finite))
            low, high = (curve(each, float(alpha), epochs) for each in (below, above))
            assert low <= truth + 1e-14
            assert high >= truth - 1e-14
            assert high - low <= 5e-4 * truth + 1e-5


@pytest.mark.parametrize(("theta", "steps"), [(0.1, 2), (1.0, 2), (3.0, 2), (1.0, 3), (2.0, 3)])
@pytest.mark.parametrize("add", [False, True])
def test_laplace_by_nested_quadrature(theta: float, steps: int, add: bool) -> None:
    above, below = epoch_pairs(LaplacePair(theta, 1.0), ((F(1, steps), steps),), F(0), add)
    for share in (0.0, 0.2, 0.5, 0.8):
        epsilon = share * (theta if add else math.log((math.exp(theta) + steps - 1) / steps))
        truth = laplace_delta(theta, steps, epsilon, add)
        low, high = (curve(pair, math.exp(epsilon)) for pair in (below, above))
        assert low <= truth * (1 + 1e-6) + 1e-9
        assert high >= truth * (1 - 1e-6) - 1e-9
        assert high - low <= 1e-4 * truth + 1e-6


def test_laplace_by_simulation() -> None:
    """Two hundred steps, two epochs, a million draws with a fixed seed; five standard errors."""
    theta, steps, draws = 1.0, 200, 200_000
    rng = np.random.default_rng(15)
    ratios = np.ones(draws)
    for _ in range(2):
        total = np.zeros(draws)
        for _ in range(steps):
            x = rng.laplace(size=draws)
            total += np.exp(np.abs(x) - np.abs(x - theta))
        ratios *= total / steps
    for add in (False, True):
        above, below = epoch_pairs(LaplacePair(theta, 1.0), ((F(1, steps), steps),), F(0), add)
        for alpha in (1.0, 1.05):
            seen = np.maximum(1 - alpha * ratios, 0.0) if add else np.maximum(ratios - alpha, 0.0)
            error = 5 * seen.std() / math.sqrt(draws)
            low, high = (_two(pair, alpha) for pair in (below, above))
            assert low - error <= seen.mean() <= high + error
            assert high - low < 1e-3 * high


def _two(pair: TabulatedPair, alpha: float) -> float:
    """Two epochs, by one sum for each loss of the first."""
    atoms = pair.atoms.finite()
    loss, p = atoms.loss, np.exp(atoms.log_p)
    above_p, above_q = (np.append(np.cumsum(each[::-1])[::-1], 0.0) for each in (p, p * np.exp(-loss)))
    wanted = math.log(alpha) - loss
    first = np.searchsorted(loss, wanted, side="right")
    return float((p * (above_p[first] - alpha * np.exp(-loss) * above_q[first])).sum())


@pytest.mark.parametrize("pair", [LaplacePair(1.0, 1.0), PMF])
def test_remove_and_add_are_two_orders_of_one_law(pair: DominatingPair) -> None:
    """``H_a(Q || P) = 1 - a + a H_(1/a)(P || Q)``, of the true law; of bounds to their width."""
    groups = ((F(1, 50), 50),)
    removed, added = epoch_pairs(pair, groups, F(0), False), epoch_pairs(pair, groups, F(0), True)
    for alpha in (1.0, 1.1):
        for one, other in zip(removed, added, strict=True):
            assert curve(other, alpha) == pytest.approx(1 - alpha + alpha * curve(one, 1 / alpha), abs=1e-8)
