"""The error analysis of Koskela, Jalko, Honkela 2020 [KJH20]: where it holds, how loose it is, and that it bounds."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

import hockeystick as hs
from hockeystick.accountants.fourier import FourierAccountant, WithErrors
from hockeystick.accountants.shared import density_errors as bounds
from hockeystick.accountants.shared.density_errors import DensityErrors
from hockeystick.accountants.shared.loss_grid import LossGrid
from hockeystick.directions.directions import compositions
from hockeystick.pairs import GaussianPair, PoissonRemovePair
from oracle import delta as true_delta


def log_density(noise: float, rate: float, above: np.ndarray) -> np.ndarray:
    """log of the density of the loss, so much above its lower edge."""
    u = np.expm1(above) * (1 - rate) / rate
    x = noise**2 * np.log(u) + 0.5
    mixture = np.logaddexp(math.log(rate) - (x - 1) ** 2 / (2 * noise**2), math.log1p(-rate) - x**2 / (2 * noise**2))
    step = math.log(noise**2) + above + math.log1p(-rate) - math.log(rate) - np.log(u)
    return np.asarray(mixture - 0.5 * math.log(2 * math.pi * noise**2) + step)


@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.3])
def test_lemmas_12_and_13(noise: float, rate: float) -> None:
    above = np.geomspace(1e-13, 60.0, 100_001)
    density = log_density(noise, rate, above)
    assert density.max() <= bounds.log_density_bound(noise, rate)
    losses = above + math.log1p(-rate)
    for at in np.flatnonzero(losses >= 2)[::100]:
        if noise**2 * (losses[at] - math.log(2 * rate)) >= 0.5:
            assert density[at] <= bounds.log_tail_bound(noise, rate, float(losses[at])) + 1e-9


def test_the_printed_bound_is_of_use_for_few_rounds_only() -> None:
    assert bounds.log_truncation(1.0, 0.01, 20.0, 35) <= math.log(1e-6) < bounds.log_truncation(1.0, 0.01, 20.0, 36)
    more = bounds.log_truncation(1.0, 0.01, 20.0, 3) - bounds.log_truncation(1.0, 0.01, 20.0, 2)
    assert math.exp(more) == pytest.approx(2277, abs=1)
    assert bounds.log_periodisation(1.0, 0.01, 20.0, 10_000) > 30_000


def errors_of(noise: float, rate: float, length: float, points: int) -> DensityErrors:
    return DensityErrors.of(PoissonRemovePair(GaussianPair(1 / noise), rate), LossGrid(length, points))


def exact(noise: float, rate: float, loss: mpmath.mpf) -> mpmath.mpf:
    """The density of the loss, in the digits at hand, straight from the two normal densities."""
    sigma, q = mpmath.mpf(noise), mpmath.mpf(rate)
    u = (mpmath.exp(loss) - (1 - q)) / q
    if u <= 0:
        return mpmath.mpf(0)
    x = sigma**2 * mpmath.log(u) + mpmath.mpf(1) / 2
    mixture = (1 - q) * mpmath.npdf(x, 0, sigma) + q * mpmath.npdf(x, 1, sigma)
    return mixture * sigma**2 * mpmath.exp(loss) / (mpmath.exp(loss) - (1 - q))


@pytest.mark.parametrize("noise", [0.6, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("rate", [1e-3, 0.01, 0.3])
@pytest.mark.share(3)
def test_the_variations_of_the_density(noise: float, rate: float) -> None:
    """By differences of the density itself on a fine mesh in log u, and not more than twice as much."""
    found = errors_of(noise, rate, 40.0, 1 << 20)
    with mpmath.workdps(60):
        edge, step = mpmath.log1p(-mpmath.mpf(rate)), mpmath.mpf(10) ** -20
        mean = float(-3 / mpmath.mpf(noise) ** 2)
        logs = np.linspace(mean - 12 / noise, 10 / noise + 4 / noise**2, 1500)
        at = [mpmath.log(rate * mpmath.exp(float(log)) + 1 - mpmath.mpf(rate)) for log in logs]
        assert min(at) > edge
        values = [exact(noise, rate, y) for y in at]
        slopes = [(exact(noise, rate, y + step) - exact(noise, rate, y - step)) / (2 * step) for y in at]
        first, second = (float(sum(abs(b - a) for a, b in itertools.pairwise(v))) for v in (values, slopes))
    assert first <= found.first_variation <= 2.0 * first
    assert second <= found.second_variation <= 2.0 * second
    assert float(max(values)) <= found.supremum


def test_the_trapezoidal_rule_is_off_by_a_sixteenth() -> None:
    """Hats and parabolas at every place between two points: h^2/16 times the variation of f' bounds, and is reached."""
    worst = 0.0
    for shift in np.linspace(0, 1, 41):
        at = np.arange(-8, 9) - shift
        hat = np.maximum(1 - np.abs(at) / 2.5, 0)  # f' varies by 4 / 2.5, its integral is 2.5
        assert abs(hat.sum() - 2.5) <= 1.6 / 16 + 1e-12
        bump = np.maximum(1 - np.square(at / 1.5), 0)  # f' varies by 8 / 1.5: up by 4 / 3 at the ends, down between
        assert abs(bump.sum() - 2.0) <= 16 / 3 / 16 + 1e-12
        narrow = np.maximum(1 - 2 * np.abs(at), 0)  # f' varies by 8, its integral is 1/2
        worst = max(worst, abs(narrow.sum() - 0.5) / (8 / 16))
    assert worst == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("noise", "rate"), [(1.0, 0.01), (2.0, 0.3), (0.5, 1e-4), (20.0, 0.4)])
def test_every_sample_is_off_by_what_is_charged(noise: float, rate: float) -> None:
    """Each against the density in fifty digits, at the exact point of the grid; the sum of the errors is the charge."""
    errors = errors_of(noise, rate, 30.0, 1 << 13)
    law, charged = errors.samples()
    with mpmath.workdps(50):
        step, first = mpmath.mpf(errors.grid.step), round(law.first / errors.grid.step)
        off = mpmath.fsum(
            abs(step * exact(noise, rate, step * (first + i)) - mass) for i, mass in enumerate(law.mass.tolist())
        )
    assert 0 < float(off) <= charged
    assert charged < 1e-9 * law.mass.sum() + 1e-280


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize(
    ("noise", "rate", "rounds"), [(1.0, 0.3, 1), (1.0, 0.01, 1), (1.0, 0.3, 3), (2.0, 0.1, 20), (4.0, 0.45, 60)]
)
@pytest.mark.parametrize(("length", "points"), [(2.5, 400), (2.5, 1 << 15), (12.0, 4000), (12.0, 1 << 17)])
@pytest.mark.share(3)
def test_the_bounds_hold_the_truth(
    noise: float, rate: float, rounds: int, length: float, points: int, printed: bool
) -> None:
    """Coarse meshes and short windows, where one term or another is all of the error."""
    plan = {
        "adjacency": "remove",
        "round": [
            {
                "mechanism": "gaussian",
                "noise_multiplier": noise,
                "sampling": "poisson",
                "sample_rate": rate,
                "count": rounds,
            }
        ],
    }
    method = FourierAccountant(length, points, errors=1 if printed else 2)
    for epsilon in (0.0, 0.3, 1.5):
        truth = float(true_delta(plan, epsilon))
        found = method.delta_at(hs.dp_sgd(noise, rate, rounds, adjacency="remove").directions, epsilon)
        assert isinstance(found, hs.DeltaBound)
        assert found.lower <= truth <= found.upper


@pytest.mark.slow
def test_the_printed_terms_are_of_no_use_and_the_proved_ones_are() -> None:
    """Noise 2, rate 0.3, 20 rounds, L = 20, n = 4e6: 1.2e-2 wide as printed, 4e-8 as proved."""
    plan, window = hs.dp_sgd(2.0, 0.3, 20, adjacency="remove"), (20.0, 4_000_000)
    truth = plan.delta(0.5)
    widths = []
    for errors in (1, 2):
        found = plan.delta(0.5, accountant="fourier", length=window[0], points=window[1], errors=errors)
        assert isinstance(found, hs.DeltaBound)
        assert found.lower <= truth.lower <= truth.upper <= found.upper
        widths.append(found.upper - found.lower)
    assert widths == pytest.approx([1.095e-2, 3.13e-8], rel=0.01)
    epsilon = plan.epsilon(0.1, accountant="fourier", length=window[0], points=window[1], errors=2)
    assert isinstance(epsilon, hs.Bound)
    certain = plan.epsilon(0.1)
    assert epsilon.lower <= certain.lower <= certain.upper <= epsilon.upper <= epsilon.lower + 1e-6


def test_a_mesh_so_coarse_that_samples_add_up_to_more_than_one() -> None:
    """What is taken off may be more than 1 as well."""
    plan = hs.dp_sgd(0.33, 0.006, 10, adjacency="remove")
    found = plan.delta(0.06, accountant="fourier", errors=2, length=60.0, points=64)
    assert isinstance(found, hs.DeltaBound)
    assert found.lower <= plan.delta(0.06).lower
    assert found.upper == 1
    assert found.reason is not None


def test_sums_below_the_window_are_charged_to_the_lower_end() -> None:
    """2,000 losses of mean 1e-3 and deviation 0.045: the sum is below -2.5 with probability 0.012.

    In delta the sums that are lost above the window outweigh them, so that no answer shows it.
    """
    ((_, composition),) = compositions(hs.dp_sgd(10.0, 0.45, 2000, adjacency="remove").directions)
    found = FourierAccountant(2.5, 1 << 17, errors=2).ends(composition, 1e-9)
    assert isinstance(found, WithErrors)
    others = errors_of(10.0, 0.45, 2.5, 1 << 17).discretisation(2000)
    assert others < 2e-4
    assert 0.012 < found.below < found.above


def test_errors_fall_as_the_square_of_the_step() -> None:
    one, two = (errors_of(1.0, 0.01, 20.0, n).discretisation(1) for n in (2_000_000, 4_000_000))
    assert one == pytest.approx(4 * two, rel=1e-6)
    assert two == pytest.approx(2.124e-6, rel=1e-3)


@pytest.mark.parametrize(
    "plan",
    [
        hs.dp_sgd(1.0, 0.01, 10),
        hs.dp_sgd(1.0, 0.6, 10, adjacency="remove"),
        hs.dp_sgd(1.0, 0.01, 3, adjacency="remove") + hs.dp_sgd(2.0, 0.01, 3, adjacency="remove"),
        hs.Plan([hs.Round(hs.Gaussian(3.0), count=5)], "remove"),
        hs.Plan([hs.Round(hs.Laplace(3.0), hs.Poisson(0.1), 5)], "remove"),
    ],
)
def test_the_analysis_is_refused_elsewhere(plan: hs.Plan) -> None:
    with pytest.raises(hs.NotApplicableError, match="a single kind of Poisson-sampled Gaussian rounds"):
        plan.delta(0.02, accountant="fourier", errors=2)


def test_the_window_has_to_reach_to_where_lemma_13_holds() -> None:
    with pytest.raises(hs.NotApplicableError, match="set length above"):
        hs.dp_sgd(1.0, 0.01, 10, adjacency="remove").delta(1.0, accountant="fourier", errors=2, length=1.9)
    with pytest.raises(hs.NotApplicableError, match="set length above"):
        hs.dp_sgd(0.2, 0.45, 1, adjacency="remove").delta(1.0, accountant="fourier", errors=2, length=3.0)
