"""The total variation of a composition bounds delta at every epsilon: epsilon is 0 wherever delta is no less."""

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.pairs import BlackBoxPair, Composition
from hockeystick.pairs.base import DominatingPair
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.laplace import LaplacePair
from hockeystick.pairs.sampled.fixed_size_pair import WithoutReplacementPair
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.sampled.replaced_gaussian import PoissonSubstitutionPair

PAIRS = [
    *[GaussianPair(mu) for mu in (1e-12, 0.01, 1.0, 2.5, 40.0)],
    *[PoissonRemovePair(GaussianPair(mu), rate) for mu in (0.01, 1.0, 30.0) for rate in (1e-9, 0.3, 0.999)],
    *[PoissonAddPair(GaussianPair(mu), rate) for mu in (0.01, 1.0, 30.0) for rate in (1e-9, 0.3, 0.999)],
    PoissonRemovePair(LaplacePair(1.0, 0.05), 0.25),
    PoissonSubstitutionPair(6.0, 0.4),
    WithoutReplacementPair(GaussianPair(3.0), 0.2),
]


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_bound_of_a_pair_is_above_its_distance(pair: DominatingPair) -> None:
    """The distance is the integral of ``(p - q)_+ = p (1 - e^-L)_+``, and as much of the atoms."""
    smooth, atoms = pair.smooth, pair.atoms
    assert smooth is not None
    low, high = smooth.support(-60.0)
    x = np.linspace(low, high, 400_001)
    seen = smooth.loss(x) > 0
    density = np.zeros(len(x))
    density[seen] = np.exp(smooth.log_p(x[seen])) * -np.expm1(-smooth.loss(x[seen]))
    distance = np.trapezoid(density, x)
    up = atoms.loss > 0
    distance += float((np.exp(atoms.log_p[up]) * -np.expm1(-atoms.loss[up])).sum())
    assert distance * (1 - 1e-5) <= pair.variation <= 1
    assert pair.variation <= getattr(pair, "rate", 1.0) * (1 + 1e-15)


def test_small_shifts_and_rates_multiply() -> None:
    """2 Phi(mu / 2) - 1 is next to mu / sqrt(2 pi) there."""
    mu, rate, rounds = 1e-3, 1e-5, 7
    found = Composition([(PoissonRemovePair(GaussianPair(mu), rate), rounds)]).variation(1.0)
    exact = rounds * rate * math.erf(mu / math.sqrt(8))
    assert exact <= found <= exact * (1 + 1e-7)


def test_distances_add_up() -> None:
    """Of far apart laws, where a pair's distance is its rate, and two outcomes tell two kinds of rounds apart."""
    kinds = [(PoissonRemovePair(GaussianPair(60.0), 1e-9), 3), (PoissonRemovePair(GaussianPair(70.0), 2e-9), 4)]
    found = Composition(kinds).variation(1.0)
    truth = -math.expm1(3 * math.log1p(-1e-9) + 4 * math.log1p(-2e-9))
    assert truth <= found <= truth * (1 + 1e-7)


def test_sum_is_given_up_where_it_exceeds_what_matters() -> None:
    rare, common = PoissonRemovePair(GaussianPair(1.0), 1e-9), PoissonRemovePair(GaussianPair(2.0), 0.5)
    assert Composition([(rare, 3), (common, 5)]).variation(1.0) == math.inf
    assert Composition([(rare, 3)]).variation(1e-12) == math.inf
    assert Composition([]).variation(0.0) == 0.0


@pytest.mark.parametrize("adjacency", ["add-or-remove", "replace-one"])
def test_epsilon_is_nothing_where_every_inclusion_may_be_seen(adjacency: str) -> None:
    """Steps x rate is no more than delta: no engine is asked, whatever the noise."""
    plan = hs.dp_sgd(noise_multiplier=0.03, sample_rate=1e-10, steps=18, adjacency=adjacency)
    found = plan.epsilon(3.9e-9)
    assert (found.lower, found.upper) == (0.0, 0.0)


@pytest.mark.share(2)
@pytest.mark.parametrize("noise", [1.0, 0.03])
def test_delta_is_at_most_the_distance_at_any_epsilon(noise: float) -> None:
    """At the little noise every inclusion is seen: delta is the chance of one, and the bound is attained."""
    rate, steps = 1e-9, 5
    plan = hs.dp_sgd(noise_multiplier=noise, sample_rate=rate, steps=steps)
    share = min(0.3989422804014327 / noise, 1.0)
    assert plan.delta(0.001).upper <= steps * rate * share * (1 + 1e-12)
    assert plan.profile().delta([0.001, 3.0]).upper.max() <= steps * rate * share * (1 + 1e-12)
    if noise == 0.03:
        seen = -math.expm1(steps * math.log1p(-rate)) * (1 - 1e-9)
        assert plan.delta(0.001).upper >= seen
        assert plan.profile().delta([0.001, 3.0]).upper.min() >= seen


def test_epsilon_is_something_below_the_distance() -> None:
    """Two inclusions at so little noise are seen: a delta below their chance asks for the loss of being seen."""
    plan = hs.dp_sgd(noise_multiplier=0.03, sample_rate=1e-7, steps=2)
    assert plan.epsilon(1.9e-7).upper > 100
    assert plan.epsilon(2.0001e-7).upper == 0


def test_mass_at_infinite_loss_is_part_of_the_distance() -> None:
    """A sampled black box fails with probability 1e-9: below it epsilon is infinite, above the rate it is nothing."""
    plan = hs.Plan([hs.Round(hs.ApproximateDP(0.1, 1e-6), hs.Poisson(1e-3), count=1)])
    assert plan.epsilon(0.9e-9).lower == math.inf
    assert plan.epsilon(1e-8).upper > 0
    assert plan.epsilon(1.001e-3).upper == 0


@pytest.mark.parametrize(
    "pair",
    [
        BlackBoxPair(0.3, 0.0),
        BlackBoxPair(1e-300, 0.0),
        BlackBoxPair(0.01, 0.2),
        PoissonRemovePair(BlackBoxPair(0.3, 0.0), 0.2),
        PoissonAddPair(BlackBoxPair(0.7, 1e-3), 0.2),
    ],
    ids=repr,
)
def test_the_largest_loss_is_above_the_distance(pair: DominatingPair) -> None:
    """Of two laws on few outcomes, of which some have infinite loss: the distance is the sum of ``(p - q)_+``."""
    atoms = pair.atoms
    distance = float(np.maximum(np.exp(atoms.log_p) - np.exp(atoms.log_q), 0.0).sum())
    assert distance * (1 - 1e-12) <= pair.variation
    assert pair.infinite_mass > 0 or pair.variation <= pair.loss_range[1] * (1 + 1e-13)
