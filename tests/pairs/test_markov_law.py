"""Balls in bins with lambda-CGD: its exact law against quadrature, simulation, brute force, and other meshes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

import hockeystick as hs
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.mirrored import Mirror, Turned, _whole
from hockeystick.numerics.budget import Budget
from hockeystick.pairs import AllocationPair, Composition, GaussianPair
from hockeystick.pairs.laplace_window import WindowPair
from hockeystick.pairs.sampled import markov_law
from hockeystick.pairs.sampled.allocation_line import AllocationLine
from hockeystick.pairs.sampled.markov_law import MarkovLaw
from hockeystick.plan.sampling.balls_in_bins import _markov, chained
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Ends

Array = npt.NDArray[np.float64]


def covariance(law: MarkovLaw) -> Array:
    """Of ``x_0, ..., x_(b-1)`` and, of several epochs, ``x_b``, from the strategy itself."""
    b, n = law.bins, law.bins * law.epochs
    strategy = np.tril(law.rate ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    columns: Any = sum(strategy[:, e * b : (e + 1) * b] for e in range(law.epochs))
    if law.epochs > 1:
        columns = np.column_stack([columns, strategy[:, b::b].sum(axis=1)])
    out: Array = columns.T @ columns / law.epochs
    return out


def quadrature(law: MarkovLaw, function: Any) -> Any:
    """``E f(Lambda)`` of two bins, by Gauss and Hermite's rule."""
    node, weight = np.polynomial.hermite_e.hermegauss(120)
    joint = law.mu**2 * covariance(law)[:2, :2]
    root = np.linalg.cholesky(joint)
    x, y = np.meshgrid(node, node)
    first = root[0, 0] * x
    second = root[1, 0] * x + root[1, 1] * y
    ratio = 0.5 * (np.exp(first - 0.5 * joint[0, 0]) + np.exp(second - 0.5 * joint[1, 1]))
    return (np.outer(weight, weight) / (2 * math.pi) * function(ratio)).sum()


def plan(
    lam: float, bins: int, noise: float, epochs: int, adjacency: str = "add-or-remove", *others: hs.Round
) -> hs.Plan:
    run = hs.MatrixGaussian(noise, bins * epochs, bins, "none", inverse_coefficients=(1.0, -lam))
    return hs.Plan([hs.Round(run, hs.BallsInBins(bins)), *others], adjacency)


@pytest.mark.parametrize("seed", range(12))
def test_the_ring_has_the_products_of_the_strategy(seed: int) -> None:
    random = np.random.default_rng(seed)
    law = MarkovLaw(0.5, float(random.choice([0.01, 0.3, 0.9, 0.99])), *random.integers(2, 9, 2).tolist())
    found, (_, variances) = law._form[1], law._exact
    assert found == pytest.approx(covariance(law), rel=1e-10, abs=1e-12)
    assert variances == pytest.approx(covariance(law).diagonal()[: law.bins], rel=1e-13)


def test_a_stationary_chain() -> None:
    """Its covariance is ``lambda^d / (1 - lambda^2)``, of its moments as well."""
    law = MarkovLaw(0.5, 0.8, 7, 1, stationary=True)
    distance = np.abs(np.subtract.outer(np.arange(7), np.arange(7)))
    assert law._form[1] == pytest.approx(0.8**distance / 0.36, rel=1e-12)
    assert law._exact[1] == pytest.approx(np.full(7, 1 / 0.36), rel=1e-15)
    two = MarkovLaw(0.5, 0.8, 2, 1, stationary=True)
    x = np.random.default_rng(2).multivariate_normal(np.zeros(2), 0.25 * two._form[1], size=400_000)
    sample = np.exp(x - 0.125 / 0.36).mean(axis=1) ** -3.0
    values, errors, top = AllocationLine(two, -3.0, 1, 0.0, 1e-12).moments(1.0, 1)
    assert abs(values[0].real * math.exp(top) - sample.mean()) <= 6 * sample.std() / math.sqrt(400_000)
    assert errors[0] <= 1e-9 * values[0].real


@pytest.mark.parametrize("seed", range(20))
def test_chains_lie_above(seed: int) -> None:
    """Above all products, at every distance; of products that are those of a chain, with hardly more."""
    random = np.random.default_rng(seed)
    bins = int(random.integers(4, 40))
    between = np.sort(random.uniform(0.0, 0.9, bins) ** random.integers(1, 6))[::-1]
    own = between[0] = 1.0
    found = chained(own, between)
    assert found is not None
    second, shared, law = found
    entries = shared + law.mu**2 * law.rate ** np.arange(law.bins) / (1 - law.rate**2)
    assert (entries >= between[: law.bins]).all()
    assert law.bins in (bins, bins // 2)
    pairs = np.abs(np.subtract.outer(np.arange(law.bins), np.arange(law.bins)))
    assert second == pytest.approx(math.log(np.exp(entries[pairs]).mean()), rel=1e-9)
    found = chained(1.0, 0.3 + 0.7 * 0.8 ** np.arange(bins, dtype=np.float64))
    assert found is not None
    assert found[1] <= 0.32
    assert found[2].rate <= 0.81


@pytest.mark.share(5)
@pytest.mark.parametrize("epochs", [1, 2, 3])
@pytest.mark.parametrize(("mu", "rate"), [(0.3, 0.5), (0.5, 0.9), (0.5, 0.05)])
@pytest.mark.parametrize("alpha", [-0.75, -6.0])
def test_moments_against_quadrature(mu: float, rate: float, epochs: int, alpha: float) -> None:
    law = MarkovLaw(mu, rate, 2, epochs)
    step, count = 1.5, 6
    values, errors, top = AllocationLine(law, alpha, 1, step * count, 1e-12).moments(step, count)
    for j in range(count):
        zeta = alpha + 1j * step * j
        truth = quadrature(law, lambda ratio: np.exp(zeta * np.log(ratio)))  # noqa: B023
        assert abs(values[j] * math.exp(top) - truth) <= errors[j] * math.exp(top) + 1e-12 * abs(truth)
    assert errors[0] <= 1e-9 * abs(values[0])


@pytest.mark.parametrize("alpha", [-0.5, -4.0, -12.0])
def test_closed_bounds_lie_above(alpha: float) -> None:
    law = MarkovLaw(0.6, 0.7, 2, 2)
    assert law.log_above(alpha) >= math.log(quadrature(law, lambda ratio: ratio**alpha))
    assert law.log_above(1 - alpha / 6) >= math.log(quadrature(law, lambda ratio: ratio ** (1 - alpha / 6)))
    sizes = [abs(quadrature(law, lambda ratio: ratio ** (alpha + 1j * s))) for s in (0.0, 4.0, 9.0)]  # noqa: B023
    assert all(
        size <= sizes[0] * math.exp(-0.5 * law.decay * s**2) + 1e-12 for size, s in zip(sizes, (0, 4, 9), strict=True)
    )


@pytest.mark.parametrize("name", ["DEPTH", "STRIP", "LIFTS"])
def test_two_meshes_and_paths_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another mesh: its values agree within what both say that they err by, and a coarse one says that it is coarse."""
    first, coarse = MarkovLaw(0.5, 0.6, 24, 1), 0
    before, errors, top = AllocationLine(first, -5.0, 1, 24.0, 1e-12).moments(3.0, 8)
    for value in {"DEPTH": (24.0, 8.0), "STRIP": (0.5, 0.95), "LIFTS": ((0.0,), (3.0,))}[name]:
        monkeypatch.setattr(markov_law, name, value)
        markov_law._kept.cache_clear()
        after, others, other_top = AllocationLine(MarkovLaw(0.5, 0.6, 24, 1), -5.0, 1, 24.0, 1e-12).moments(3.0, 8)
        scale = math.exp(other_top - top)
        assert (abs(after * scale - before) <= errors + others * scale).all()
        coarse += others[0] > 1e-6 * abs(after[0])
    markov_law._kept.cache_clear()
    assert coarse == (name == "DEPTH")


def test_rounding_grows_with_the_size_of_the_exponent() -> None:
    """Far from the real axis the exponent turns fast: what it is off by counts there, and more for a higher power."""
    law, v = MarkovLaw(0.5, 0.6, 24, 1), np.linspace(-3.0, 3.0, 9)
    shares = [law._on_ray(alpha, angle, v).share for alpha, angle in ((-5.0, 0.0), (-5.0, 1.4), (-50.0, 1.4))]
    assert 1e-14 < shares[0] < 1e-11
    assert 5 * shares[0] < shares[1] < shares[2]


def test_what_a_ray_is_charged_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule and the range, where both leave out much; and rounding, which turns with the angle."""
    monkeypatch.setattr(markov_law, "DEPTH", 8.0)
    law, v = MarkovLaw(0.5, 0.6, 24, 1), np.linspace(-3.0, 3.0, 9)
    mesh = law.mesh(-5.0, 1.2)
    assert mesh.rule > 1e-4
    beyond = mesh.most * 4 * 25 * math.exp(-8.0)
    assert law._on_ray(-5.0, 1.2, v).share == pytest.approx(mesh.rule + beyond, rel=1e-5)
    monkeypatch.setattr(markov_law, "DEPTH", 60.0)
    mesh, share = law.mesh(-5.0, 1.4), law._on_ray(-5.0, 1.4, v).share
    assert share >= mesh.most * 24 * 2 * len(mesh.places) * 2**-53  # of the sums
    monkeypatch.undo()
    law = MarkovLaw(0.5, 0.6, 2, 1)
    mesh, share = law.mesh(-40.0, 0.0), law._on_ray(-40.0, 0.0, v).share
    assert share >= mesh.most * 2**-52 * 10 * 0.5 * np.abs(mesh.places).max() * 40  # of the exponents


@pytest.mark.parametrize(("angle", "alpha", "epochs"), [(0.0, -3.0, 1), (1.3, -6.0, 1), (1.4, -20.0, 2)])
def test_what_a_mesh_leaves_out(angle: float, alpha: float, epochs: int) -> None:
    """The bounds of the module once more, from the path that was chosen, and from Q as a sum of squares."""
    law = MarkovLaw(0.4, 0.7, 12, epochs)
    mesh, form = law.mesh(alpha, angle), np.linalg.inv(covariance(law))
    assert mesh.beta == pytest.approx(angle - mesh.theta * law.mu, abs=1e-12)
    lift = 0.5 * mesh.theta**2 * form.sum()
    assert math.log(mesh.most) >= lift + alpha * math.log(math.cos(mesh.beta)) - 1e-4

    row = np.abs(form).sum(axis=1).max()
    a = min(0.8 * (0.5 * math.pi - mesh.beta) / law.mu, math.sqrt(2 * (36 + lift) / row))
    cost = a * mesh.theta * np.abs(form.sum(axis=1)).max() + 0.5 * a * a * row
    each = 2 * math.exp(cost - 2 * math.pi * a / mesh.step)
    rule = math.exp(lift) * math.cos(mesh.beta + a * law.mu) ** alpha * len(form) * each
    assert mesh.rule == pytest.approx(rule, rel=1e-2, abs=0.0)
    assert rule <= 1e-12


@pytest.mark.parametrize("alpha", [-0.5, -8.0, -40.0])
def test_what_lies_beyond_the_range(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a range that leaves out more: by quadrature, against what is allowed, at each place and end."""
    monkeypatch.setattr(markov_law, "DEPTH", 4.0)
    law = MarkovLaw(0.8, 0.9, 2, 1)
    joint, node = covariance(law), np.linspace(-30.0, 30.0, 3001)
    root = np.linalg.cholesky(joint)
    first, inner = root[0, 0] * node, np.linspace(-12.0, 12.0, 401)
    low, high = law.reach(alpha)
    second = np.add.outer(root[1, 0] * node, root[1, 1] * inner)
    shifts = 0.5 * law.mu**2 * joint.diagonal()
    ratio = 0.5 * (np.exp(law.mu * first - shifts[0])[:, None] + np.exp(law.mu * second - shifts[1]))
    weight = np.exp(-0.5 * np.add.outer(node**2, inner**2) + alpha * np.log(ratio))
    for place in (np.broadcast_to(first[:, None], weight.shape), second):
        assert weight[place < -low].sum() <= math.exp(-4.0) * weight.sum()
        assert weight[place > high].sum() <= math.exp(-4.0) * weight.sum()


TABLE = [
    (0.5, 64, 2.0, 1, 1e-6, 0.53226),
    (0.5, 64, 2.0, 1, 1e-5, 0.457113),
    (0.9, 64, 4.0, 1, 1e-5, 1.11713),
    (0.9, 256, 4.0, 1, 1e-5, 0.572118),
]
"""lambda, bins, noise, epochs, delta, and epsilon of removing to 1e-5, by another transfer operator on two meshes."""


@pytest.mark.parametrize(("lam", "bins", "noise", "epochs", "delta", "epsilon"), TABLE)
def test_figures(lam: float, bins: int, noise: float, epochs: int, delta: float, epsilon: float) -> None:
    found = plan(lam, bins, noise, epochs, "remove").epsilon(delta)
    assert found.lower - 1e-5 <= epsilon <= found.upper + 1e-5
    assert found.upper - found.lower <= 1e-4 * found.upper
    added = plan(lam, bins, noise, epochs, "add").epsilon(delta)
    assert added.upper - added.lower <= 1e-6 * added.upper
    assert added.upper < found.lower


@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize("epsilon", [0.1, 0.9])
def test_both_orders_against_quadrature(epochs: int, epsilon: float) -> None:
    law, a = MarkovLaw(math.sqrt(epochs) / 2, 0.7, 2, epochs), math.exp(epsilon)
    random = np.random.default_rng(epochs)
    joint = law.mu**2 * covariance(law)[:2, :2]
    x = random.multivariate_normal(np.zeros(2), joint, size=1_000_000)
    ratio = np.exp(x - 0.5 * joint.diagonal()).mean(axis=1)
    for adjacency, sample in (("remove", np.maximum(ratio - a, 0.0)), ("add", np.maximum(1 - a * ratio, 0.0))):
        found = plan(0.7, 2, 2.0, epochs, adjacency).delta(epsilon)
        error = 5 * sample.std() / 1000
        assert found.lower - error <= sample.mean() <= found.upper + error
        assert found.upper - found.lower <= 1e-5 * found.upper


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("lam", "bins", "noise", "epochs", "epsilon"),
    [(0.2, 9, 1.0, 1, 0.5), (0.95, 20, 6.0, 1, 0.7), (0.6, 12, 2.0, 2, 0.4), (0.4, 5, 3.0, 5, 0.3),
     (0.8, 30, 3.0, 1, 0.6), (0.99, 6, 8.0, 2, 0.6), (0.05, 6, 2.5, 2, 0.3), (0.7, 3, 1.0, 1, 1.0),
     (0.9, 10, 5.0, 4, 0.5), (0.3, 50, 0.9, 1, 0.4)],
)  # fmt: skip
def test_ten_settings_by_simulation(lam: float, bins: int, noise: float, epochs: int, epsilon: float) -> None:
    """With six standard errors, by the strategy itself."""
    law, a = MarkovLaw(math.sqrt(epochs) / noise, lam, bins, epochs), math.exp(epsilon)
    joint = law.mu**2 * covariance(law)[:bins, :bins]
    x = np.random.default_rng(bins).multivariate_normal(np.zeros(bins), joint, size=200_000, method="cholesky")
    ratio = np.exp(x - 0.5 * joint.diagonal()).mean(axis=1)
    for adjacency, sample in (("remove", np.maximum(ratio - a, 0.0)), ("add", np.maximum(1 - a * ratio, 0.0))):
        found = plan(lam, bins, noise, epochs, adjacency).delta(epsilon)
        error = 6 * sample.std() / math.sqrt(200_000) + 1e-6
        assert found.lower - error <= sample.mean() <= found.upper + error
        assert found.upper - found.lower <= 1e-3 * found.upper


def test_little_correlation_is_random_allocation() -> None:
    """As lambda goes to 0; what lambda moves is of its own size."""
    for adjacency in ("add", "remove"):
        known = hs.Plan([hs.Round(hs.Gaussian(1.5), hs.RandomAllocation(20))], adjacency).epsilon(1e-5)
        found = plan(1e-9, 20, 1.5, 1, adjacency).epsilon(1e-5)
        assert found.lower <= known.upper * (1 + 1e-7)
        assert known.lower <= found.upper
        assert found.upper - found.lower <= 1e-4 * found.upper


def test_runs_compose_with_other_rounds() -> None:
    """Removing goes by the mirror image: also of sampled noise; and with a Gaussian round against a simulation."""
    others = [hs.Round(hs.Gaussian(2.0)), hs.Round(hs.Gaussian(1.0), hs.Poisson(0.01), 50), hs.Round(hs.Laplace(9.0))]
    found = plan(0.5, 16, 2.0, 1, "remove", *others).epsilon(1e-5)
    assert found.upper - found.lower <= 2e-4 * found.upper
    law, a = MarkovLaw(0.5, 0.5, 16, 1), math.exp(0.8)
    random = np.random.default_rng(4)
    joint = law.mu**2 * covariance(law)
    x = random.multivariate_normal(np.zeros(16), joint, size=500_000, method="cholesky")
    ratio = np.exp(x - 0.5 * joint.diagonal()).mean(axis=1) * np.exp(0.5 * random.normal(size=500_000) - 0.125)
    sample = np.maximum(ratio - a, 0.0)
    found = plan(0.5, 16, 2.0, 1, "remove", others[0]).delta(0.8)
    error = 6 * sample.std() / math.sqrt(500_000)
    assert found.lower - error <= sample.mean() <= found.upper + error


def test_the_mirror_image_is_the_other_direction() -> None:
    """Of rounds that are known in both directions both ways agree."""
    run = AllocationPair(MarkovLaw(0.5, 0.5, 8, 1), False)
    engine = ContourEngine(Composition([(run, 1), (GaussianPair(0.8), 2)]), Mirror)
    way = cast(Mirror, engine._way)
    way._mirror = Composition([(GaussianPair(0.7), 3)])
    way._transforms = [(GaussianPair(0.7).transform, 3)]
    for epsilon in (0.2, 3.0):
        truth = hs.Plan([hs.Round(hs.Gaussian(1 / 0.7), count=3)], "remove").delta(epsilon)
        with Budget(1e10):
            found = engine.log_delta(epsilon, None)
        assert math.exp(found.lower) <= truth.upper * (1 + 1e-12)
        assert truth.lower * (1 - 1e-12) <= math.exp(found.upper)
        assert math.exp(found.upper - found.lower) <= 1 + 1e-4


def test_rounds_without_a_whole_mirror_image_have_a_wider_answer() -> None:
    run = AllocationPair(MarkovLaw(0.5, 0.5, 8, 1), False)
    rounds = Composition([(run, 1), (hs.RandomizedResponse(0.6).pair(Direction.REMOVE), 1)])
    with pytest.raises(NotApplicableError, match="another only in this one"):
        Mirror(rounds)
    with pytest.raises(NotApplicableError, match="no round"):
        Mirror(Composition([(GaussianPair(1.0), 1)]))
    response = hs.Round(hs.RandomizedResponse(0.6), count=2)
    answer = plan(0.5, 8, 2.0, 1, "remove", response)
    equal = hs.MatrixGaussian(2.0, 8, 8, "none", coefficients=tuple(0.5**i for i in range(8)))
    wider = hs.Plan([hs.Round(equal, hs.BallsInBins(8)), response], "remove")
    assert answer.epsilon(1e-5).upper == pytest.approx(wider.epsilon(1e-5).upper, rel=1e-4)
    assert answer.epsilon(1e-5).lower <= answer.epsilon(1e-5).upper


def test_tiny_deltas_are_answered_and_say_why_they_are_wide() -> None:
    found = plan(0.5, 8, 2.0, 1, "remove").epsilon(1e-30)
    assert 0 < found.lower <= found.upper < plan(0.5, 8, 2.0, 1, "add").epsilon(1e-30).upper * 2
    assert found.upper > plan(0.5, 8, 2.0, 1, "add").epsilon(1e-30).lower


def test_steps_that_bins_do_not_divide() -> None:
    """Between the whole epochs around them; outside of the domain there is no exact law."""
    run = hs.MatrixGaussian(4.0, 20, 8, "none", inverse_coefficients=(2.0, -1.0))
    ends = [_markov(run, 8, side) for side in (-1, 1)]
    assert [end and (end.rate, end.epochs) for end in ends] == [(0.5, 2), (0.5, 3)]
    assert ends[1] is not None
    assert ends[1].mu == pytest.approx(math.sqrt(3) / 8)
    found = hs.Plan([hs.Round(run, hs.BallsInBins(8))]).epsilon(1e-5)
    runs = [hs.MatrixGaussian(4.0, n, 8, "none", inverse_coefficients=(2.0, -1.0)) for n in (16, 24)]
    whole = [hs.Plan([hs.Round(each, hs.BallsInBins(8))]).epsilon(1e-5) for each in runs]
    assert whole[0].lower * (1 - 1e-6) <= found.lower <= found.upper <= whole[1].upper * (1 + 1e-6)
    far = [hs.MatrixGaussian(4.0, 16, 8, "none", inverse_coefficients=(1.0, -0.995)),
           hs.MatrixGaussian(4.0, 16, 8, "columns", inverse_coefficients=(1.0, -0.5)),
           hs.MatrixGaussian(4.0, 16, 8, "none", inverse_coefficients=(1.0, 0.5)),
           hs.MatrixGaussian(4.0, 16, 8, "none", inverse_coefficients=(3.0, -1.0))]  # fmt: skip
    assert [_markov(each, 8, 1) for each in far] == [None] * 4


def test_the_turn_is_charged_with_its_rounding() -> None:
    """Where nothing else is unknown, the ends still are as far apart as a few roundings of ``e^eps``."""

    class Known:
        def log_delta(self, epsilon: Array) -> Ends:
            value = np.log(-np.expm1(epsilon) + 1e-3 * np.exp(epsilon))
            return Ends(value, value, value)

    epsilon = np.array([0.5, 3.0])
    ends = Turned(Known()).log_delta(epsilon)  # type: ignore[arg-type]
    assert np.exp(ends.estimate) == pytest.approx(1e-3, rel=1e-10)
    assert (np.exp(ends.upper) - np.exp(ends.lower) >= 16 * 2**-53 * np.exp(epsilon)).all()


def test_laws_with_infinite_losses_or_of_numbers_are_not_whole() -> None:
    window = WindowPair.truncated_laplace(Fraction(1), Fraction(3), Fraction(1))
    assert window.infinite_mass > 0
    numbers = hs.RandomizedResponse(0.6).pair(Direction.REMOVE)
    assert [_whole(pair) for pair in (window, numbers, GaussianPair(1.0))] == [False, False, True]


@pytest.mark.parametrize(("alpha", "truth"), [(-45.5, 213.27918), (-45.0, 208.680050830479), (-12.0, None)])
def test_what_underflows_is_charged(alpha: float, truth: float | None) -> None:
    """Two bins at mu 1/2, of which F is 0 for a double where it counts; truths by quadrature, of 30 digits far out."""
    law = MarkovLaw(0.5, 0.5, 2, 1)
    value, error = AllocationLine(law, alpha, 1, 0.0, 1e-9).cumulants(1.0, 1)
    true = truth or math.log(quadrature(law, lambda ratio: ratio**alpha))
    assert true <= value[0].real + error[0] + 1e-5
    assert (true >= value[0].real - error[0] - 1e-5) == (error[0] < 1e-8) == (truth is None)


@pytest.mark.share(3)
@pytest.mark.parametrize(("bins", "noise", "adjacency"), [(2, 0.05, "remove"), (2, 0.05, "add"), (16, 0.1, "add")])
def test_little_noise_has_no_line_and_a_bound(bins: int, noise: float, adjacency: str) -> None:
    """A matrix would not fit in memory."""
    found = plan(0.5, bins, noise, 1, adjacency)
    assert found.delta(1.0).upper == 1.0
    assert 0 < found.epsilon(1e-5).lower <= found.epsilon(1e-5).upper < math.inf


@pytest.mark.parametrize("adjacency", ["add", "remove"])
def test_a_run_and_an_epoch_have_profiles(adjacency: str) -> None:
    """At many epsilons as at each of them alone."""
    epoch = hs.Plan([hs.Round(hs.Gaussian(1.5), hs.RandomAllocation(20))], adjacency)
    for each in (epoch, plan(0.5, 8, 2.0, 1, adjacency)):
        found = each.profile().delta([0.2, 0.5])
        for epsilon, lower, upper in zip((0.2, 0.5), found.lower, found.upper, strict=True):
            alone = each.delta(epsilon)
            assert lower <= alone.upper
            assert alone.lower <= upper
            assert upper <= lower * (1 + 1e-3)
