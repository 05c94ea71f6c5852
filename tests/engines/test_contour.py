"""The contour engine: its remainders on both sides, its reach, and its gap against the oracle."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import hockeystick as hs
import oracle
from hockeystick.engines.auto import AutoEngine
from hockeystick.engines.contour import cut as cutting
from hockeystick.engines.contour.cut import cut
from hockeystick.engines.contour.engine import ContourEngine, Plain, at, transforms_of
from hockeystick.engines.contour.path import Aim, Path, upper
from hockeystick.engines.guide import Guide
from hockeystick.pairs import Composition, GaussianPair, LaplacePair, PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.closed_transforms import QuadraticTransform
from hockeystick.pairs.renyi import log_peak
from hockeystick.pairs.sampled.gaussian_transform import Kind, MixtureTransform
from hockeystick.pairs.transform import Transform
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError

GAP = 1e-6


def gaussian_delta(mu: float, epsilon: Any) -> Any:
    """``Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2)``."""
    m, e = mpf(repr(mu)), mpf(epsilon)
    return mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2)


@pytest.fixture(autouse=True)
def precision() -> Any:
    with mpmath.workdps(40):
        yield


@pytest.mark.parametrize(
    ("mu", "epsilon", "t", "period"), [(0.5, 1.0, 3.0, 6.0), (1.0, 4.0, 3.0, 9.0), (0.2, 0.1, 9.0, 2.0)]
)
def test_aliasing(mu: float, epsilon: float, t: float, period: float) -> None:
    """The trapezoid sum is the sum over the aliases; their bound lies above the excess, and not far."""

    def term(j: int) -> Any:
        z = mp.mpc(t, 2 * mp.pi * j / mpf(period))
        return mp.exp(mpf(repr(mu)) ** 2 * z * (1 + z) / 2 - mpf(repr(epsilon)) * z) / (z * (1 + z))

    total = (term(0) + 2 * mp.fsum(term(j).real for j in range(1, 200))).real / mpf(period)
    aliases = [mp.exp(t * period * m) * gaussian_delta(mu, mpf(repr(epsilon)) + period * m) for m in range(-30, 30)]
    assert abs(total - mp.fsum(aliases)) <= mpf("1e-12") * total
    excess = total - gaussian_delta(mu, mpf(repr(epsilon)))
    left = 1 / mp.expm1(t * period)
    right = min(
        mp.exp(mu * mu * (t + th) * (1 + t + th) / 2 - (t + th) * epsilon + log_peak(t + th)) / mp.expm1(th * period)
        for th in np.geomspace(0.05 * t, 20 * t, 60).tolist()
    )
    assert 0 < excess <= left + right <= 30 * excess


@pytest.mark.parametrize(
    ("transforms", "t"),
    [
        ([(QuadraticTransform(0.5), 1)], 3.0),
        ([(MixtureTransform.sampled(1.0, 0.01, Kind.REMOVE), 10_000)], 3.0),
        ([(MixtureTransform.sampled(1.0, 0.01, Kind.ADD), 1000)], 9.0),
        ([(MixtureTransform.sampled(0.5, 0.05, Kind.REPLACE), 300), (QuadraticTransform(0.1), 1)], 2.0),
    ],
)
def test_what_the_cut_leaves_out(transforms: list[tuple[Transform, int]], t: float) -> None:
    step, depth = 0.4, -18.0
    lines = [(transform.line(t, 2000 * step, 1e-12), k) for transform, k in transforms]
    log_m = np.sum([k * line.cumulants(step, 2000)[0].real for line, k in lines], axis=0)
    variance = 2 * (log_m[0] - log_m[1]) / step**2
    found = cut(transforms, t, step, depth, variance, 100_000)
    reach, log_bound = found.reach, found.log_tail(np.array([float(k) for _, k in transforms]), step)
    assert log_bound <= depth + 1e-6
    s = step * np.arange(2000)
    z = t + 1j * s
    sizes = np.exp(log_m - log_m[0]) / np.abs(z * (1 + z))
    left_out = step / math.pi * float(sizes[s > reach].sum())
    assert left_out <= math.exp(log_bound)
    # the law itself would have allowed a cut not much shorter
    needed = s[np.flatnonzero(step / math.pi * np.cumsum(sizes[::-1])[::-1] > math.exp(depth))[-1]]
    assert reach <= 2.5 * (needed + step)


def test_cut_refuses_what_does_not_fall() -> None:
    with pytest.raises(NotApplicableError, match="decay fast enough"):
        cut([(MixtureTransform.sampled(1.0, 1e-9, Kind.REMOVE), 2)], 1.0, 0.5, -200.0, 1e-9, 1000)


def test_guide_and_certified_cumulant_agree() -> None:
    rounds = [(PoissonRemovePair(GaussianPair(1.0), 0.01), 1000), (LaplacePair(1.0, 20.0), 5)]
    composition = Composition(rounds)
    transforms = [(pair.transform, k) for pair, k in composition.rounds]
    guide = Guide(composition, -50.0)
    for t in (0.1, 1.0, 4.0):
        k0 = guide.cumulants(t).k0
        assert 0 <= upper([(f, k) for f, k in transforms if f is not None], t) - k0 < 1e-2 * (1 + k0)
    steps = np.array([0.5, 1.0])
    slopes = np.diff(guide.curves(np.array([0.999, 1.001]))[0]) / 0.002
    assert guide.curves(steps)[1][1] == pytest.approx(slopes[0], rel=1e-4)


def plan(*rounds: dict[str, Any], adjacency: str = "remove") -> dict[str, Any]:
    return {"adjacency": adjacency, "round": list(rounds)}


def sampled(noise: float, rate: float, count: int) -> dict[str, Any]:
    return {
        "mechanism": "gaussian",
        "noise_multiplier": noise,
        "sampling": "poisson",
        "sample_rate": rate,
        "count": count,
    }


@pytest.mark.parametrize(
    ("given", "epsilon", "log_delta"),
    [
        # values computed in 113-bit arithmetic
        (plan(sampled(0.8, 1e-3, 10_000)), 8.0, mpmath.log(mpf("7.136246711244151e-29"))),
        (plan(sampled(0.5, 2e-5, 1000)), 1.0, mpmath.log(mpf("8.1607706e-9"))),
        (plan(sampled(1.0, 0.01, 100)), 8.0, mpmath.log(mpf("2.157395344952484e-31"))),
    ],
)
def test_delta_where_rounding_or_reach_used_to_bind(given: dict[str, Any], epsilon: float, log_delta: Any) -> None:
    bound = hs.Plan.from_dict(given).delta(epsilon, accountant="contour").log_delta
    assert bound.upper - bound.lower <= GAP
    assert bound.lower - 1e-7 <= float(log_delta) <= bound.upper + 1e-7


@pytest.mark.parametrize(
    ("given", "delta"),
    [
        (plan(sampled(1.0, 0.01, 2)), "1e-6"),
        (plan(sampled(1.0, 0.05, 5), adjacency="add"), "1e-4"),
        (plan(sampled(0.8, 1e-3, 200)), "1e-5"),
        (plan(sampled(1.0, 0.01, 1000), adjacency="replace-one"), "1e-30"),
        (plan(sampled(1.0, 0.01, 10_000)), "1e-100"),
        (plan(sampled(2.0, 0.02, 500), {"mechanism": "laplace", "scale": 20.0, "count": 10}), "1e-6"),
    ],
)
def test_epsilon_against_the_oracle(given: dict[str, Any], delta: str) -> None:
    bound = hs.Plan.from_dict(given).epsilon(float(delta), accountant="contour")
    assert bound.upper - bound.lower <= GAP * bound.upper
    with mpmath.workdps(30):
        assert oracle.delta(given, mpf(bound.upper), digits=9) <= mpf(delta) * (1 + mpf("1e-8"))
        assert oracle.delta(given, mpf(bound.lower), digits=9) >= mpf(delta) * (1 - mpf("1e-8"))


@pytest.mark.parametrize(
    ("given", "delta"),
    [
        # the guide's nodes do not see the hump that takes over at a larger tilt
        (plan(sampled(2.0, 0.01, 1023)), 1e-5),
        (plan(sampled(4.0, 0.01, 1023)), 1e-20),
        (plan(sampled(4.0, 1e-4, 255)), 1e-9),
        # close to the tilt at which it takes over
        (plan(sampled(0.79, 6e-6, 172_183)), 4.7e-79),
        (plan(sampled(0.58, 8e-5, 4), adjacency="replace-one"), 3.2e-64),
        (plan(sampled(0.61, 1.3e-4, 6747), adjacency="replace-one"), 8.9e-55),
    ],
)
def test_where_a_contour_is_hard_to_lay(given: dict[str, Any], delta: float) -> None:
    bound = hs.Plan.from_dict(given).epsilon(delta, accountant="contour")
    assert bound.upper - bound.lower <= GAP * bound.upper
    grid = hs.Plan.from_dict(given).epsilon(delta, accountant="grid", gap=1e-2)
    assert max(bound.lower, grid.lower) <= min(bound.upper, grid.upper)


def test_a_path_is_as_short_as_its_law_allows() -> None:
    """With the extra tilt at which the guide is blind the period, and the path, were hundreds of times as long."""
    composition = Composition([(PoissonRemovePair(GaussianPair(0.5), 0.01), 1023)])
    log = math.log(1e-5)
    epsilon = ContourEngine(composition).epsilon((log, log), GAP).estimate
    assert len(Plain(composition).at(epsilon, GAP).s) < 30


@pytest.mark.parametrize("count", [700, 960, 1000, 1023, 1400])
def test_a_path_serves_other_counts(count: int) -> None:
    """What it gives is certified for the counts that are composed, wherever it was laid, and narrow near those."""
    pair, laid, epsilon = PoissonRemovePair(GaussianPair(1.0), 0.01), 960, 2.0
    composition = Composition([(pair, laid)])
    transforms: list[tuple[Transform, int]] = [(MixtureTransform.sampled(1.0, 0.01, Kind.REMOVE), laid)]
    guide = Guide(composition, -60.0)
    aim = Aim(guide, guide.saddle(epsilon), math.inf, epsilon, guide.log_delta(epsilon))
    found = at(Path(transforms, aim, 1e-7).terms([count]), epsilon)
    exact = ContourEngine(Composition([(pair, count)])).log_delta(epsilon, 1e-9)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.upper - found.lower <= (1e-6 if 900 < count < 1100 else 0.1)


def test_many_laplace_rounds_are_nearly_gaussian() -> None:
    """scale 1e4, 1e9 rounds: mu^2 = 10 in the limit, with a relative correction of about the round's epsilon."""
    rounds = {"mechanism": "laplace", "scale": 1e4, "count": 10**9}
    bound = hs.Plan.from_dict(plan(rounds)).epsilon(1e-6, accountant="contour")
    assert bound.upper - bound.lower <= GAP * bound.upper
    normal = {"mechanism": "gaussian", "noise_multiplier": 1 / math.sqrt(10), "count": 1}
    limit = hs.Plan.from_dict(plan(normal)).epsilon(1e-6)
    assert bound.estimate == pytest.approx(limit.estimate, rel=1e-4)


def test_laplace_against_the_grid() -> None:
    given = hs.Plan.from_dict(plan({"mechanism": "laplace", "scale": 5.0, "count": 3000}))
    contour = given.epsilon(1e-8, accountant="contour")
    grid = given.epsilon(1e-8, accountant="grid", gap=1e-4)
    assert grid.lower <= contour.lower <= contour.upper <= grid.upper


@pytest.mark.parametrize("count", [10**3, 10**6, 10**9])
def test_gap_does_not_depend_on_the_rounds(count: int) -> None:
    given = hs.Plan.from_dict(plan(sampled(1.0, 1e-3, count), adjacency="add-or-remove"))
    epsilon = given.epsilon(1e-9, accountant="contour")
    assert epsilon.upper - epsilon.lower <= GAP * epsilon.upper
    log_delta = given.delta(epsilon.upper, accountant="contour").log_delta
    assert log_delta.upper - log_delta.lower <= GAP
    assert log_delta.lower <= math.log(1e-9) + 1e-12


def test_infinite_ends_are_labelled() -> None:
    """Atoms alone do not fall off; what is returned or refused must not pass for narrow."""
    given = hs.Plan.from_dict(plan({"mechanism": "randomized-response", "epsilon": 0.71, "count": 100}))
    try:
        bound = given.epsilon(1.36e-91, accountant="contour")
    except hs.UnsupportedError:
        return
    assert bound.reason is not None or bound.upper - bound.lower <= GAP * bound.upper


def test_a_root_at_zero() -> None:
    engine = ContourEngine(Composition([(PoissonRemovePair(GaussianPair(1.0), 1e-3), 100)]))
    log_delta = math.log(0.4)
    assert engine.epsilon((log_delta, log_delta), None).upper == 0.0


def test_a_milder_direction_without_a_contour_is_no_obstacle() -> None:
    """In the direction add this epsilon is within rounding of the largest loss; the Renyi bound shows it milder."""
    engine = ContourEngine(Composition([(PoissonAddPair(GaussianPair(1.25), 1e-3), 1000)]))
    for gap in (1e-6, 0.1):
        with pytest.raises(NotApplicableError):
            engine.log_delta(1.00050033, gap)
    given = hs.Plan.from_dict(plan(sampled(0.8, 1e-3, 1000), adjacency="add-or-remove"))
    log_delta = given.delta(1.0, accountant="contour").log_delta
    assert log_delta.upper - log_delta.lower <= GAP
    assert log_delta.reason is None


def test_an_epsilon_where_nothing_is_known_of_the_sum_is_no_warning() -> None:
    """At 1e4 the bound on the error of a sum laid for small epsilons is beyond a double: delta is at most 1 there."""
    gaussians = [hs.Round(hs.Gaussian(1.71), count=519_000_000), hs.Round(hs.Gaussian(284.0), count=250)]
    box = hs.Round(hs.ApproximateDP(10.0, 6.12e-08), hs.Poisson(0.0024), 27)
    profile = hs.Plan([*gaussians, box]).profile().group(1_140_000_000)
    found = profile.delta([0.0015945336508625335, 710.0, 1e4])
    assert (found.upper <= 1).all()
    assert (found.lower >= 0).all()


def laplace_rounds(count: int) -> list[tuple[Transform, int]]:
    """Two kinds of sampled Laplace rounds, whose characteristic functions stay above that of their atoms."""
    kinds = [PoissonRemovePair(LaplacePair(1.0, 2.0), 0.3), PoissonRemovePair(LaplacePair(1.0, 0.7), 0.1)]
    return transforms_of(tuple((pair, count) for pair in kinds))


def test_a_contour_that_cannot_end_is_refused() -> None:
    """Few rounds stay above their atoms; deep sums of many rounds end."""

    def ends(count: int, t: float, depth: float) -> bool:
        try:
            return cutting.cut(laplace_rounds(count), t, 0.01, depth, 1.0, 500_000).reach > 0
        except NotApplicableError:
            return False

    asked = list(itertools.product((3, 30, 300), (0.4, 2.0), (-3.0, -12.0, -40.0)))
    found = [ends(*each) for each in asked]
    assert sum(found) >= 4
    assert not any(end for end, (count, _, depth) in zip(found, asked, strict=True) if count == 3 and depth < -3)


def test_what_a_coarse_contour_has_found_is_kept_where_a_finer_one_cannot_end() -> None:
    rounds = [(PoissonRemovePair(LaplacePair(1.0, 5.0 + i / 10), 0.3), 2) for i in range(15)]
    engine, log_delta = ContourEngine(Composition(rounds)), (math.log(1e-3),) * 2
    found = engine.epsilon(log_delta, 1e-9)
    assert found.limited == cutting.SLOW
    narrow = AutoEngine(Composition(rounds)).epsilon(log_delta, 1e-5)
    assert found.lower <= narrow.lower <= narrow.upper <= found.upper
    assert found.upper - found.lower <= 0.05 * found.upper


@pytest.mark.parametrize(("count", "rate"), [(10, None), (100, 0.01)])
def test_a_coarse_contour_of_atoms_is_no_answer(count: int, rate: float | None) -> None:
    """Discrete Gaussian noise: the contour cannot end, and the engines after it have seven digits."""
    item: dict[str, object] = {"mechanism": "discrete-gaussian", "noise_multiplier": 20.0 if rate is None else 5.0}
    item |= {"count": count} if rate is None else {"count": count, "sampling": "poisson", "sample_rate": rate}
    found = hs.Plan.from_dict({"adjacency": "add", "round": [item]}).epsilon(1e-10)
    assert found.upper - found.lower <= 1e-6 * found.upper


@pytest.mark.parametrize(
    ("noise", "rate", "count", "delta"), [(0.5, 2e-5, 1000, 1e-8), (0.8, 1e-3, 100, 1e-7), (0.5, 2e-5, 10**6, 1e-8)]
)
def test_the_first_guess_from_single_losses(noise: float, rate: float, count: int, delta: float) -> None:
    """Within a few per cent, where the saddle point's epsilon is off by up to a factor of three."""
    given = hs.dp_sgd(noise, rate, count, adjacency="remove")
    guide = Guide(Composition(given.directions.pairs(Direction.REMOVE)), math.log(delta) - 50.0)
    tilt = guide.tilt_for_delta(math.log(delta))
    true = given.epsilon(delta).upper
    assert abs(guide.guess(math.log(delta), tilt) / true - 1) < 0.06 < guide.epsilon(tilt) / true - 1
    assert log_peak(tilt) < 0


@pytest.mark.slow
def test_few_expected_samples_have_a_coarse_contour_where_a_finer_one_does_not_end() -> None:
    """An epsilon within the reach of the core: the grid after the contour would be 10 per cent wide."""
    both, removed = (
        hs.dp_sgd(1.0, 1e-6, 1000, adjacency=adjacency).epsilon(1e-9) for adjacency in ("add-or-remove", "remove")
    )
    assert both.relative_gap < 1e-4
    assert both.lower <= removed.upper
    assert removed.lower <= both.upper


def test_the_end_of_the_sum_is_found_beside_a_slowly_decaying_round() -> None:
    """Three kinds with little noise, of which one is hardly ever sampled: the decay shows late."""
    rare, often = hs.Round(hs.Gaussian(0.0113), hs.Poisson(3e-9), count=2), hs.Gaussian(0.025)
    plan = hs.Plan(
        [rare, hs.Round(often, hs.Poisson(0.0016), 14_600), hs.Round(often, hs.Poisson(0.076), 660)], "remove"
    )
    bound = plan.epsilon(5e-10, accountant="contour")
    assert 103_198 < bound.lower <= bound.upper < 103_201
    assert bound.relative_gap <= 1e-6
