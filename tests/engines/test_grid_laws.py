"""The laws of engines/grid against closed forms: spreading makes a pair worse, merging better, at every epsilon."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import Phase, assume, example, given, settings
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.engines.grid.cells import BLOCK, TAIL_SHARE, Reach, integrate
from hockeystick.engines.grid.laws import merge, spread
from hockeystick.engines.guide import Guide
from hockeystick.numerics.hull import lower_hull
from hockeystick.numerics.lattice import GridLaw, GridSum, Mesh, Window
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import (
    BlackBoxPair,
    Composition,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
)
from hockeystick.values.side import Side
from polygons import Number, Polygon, convolved, grid_point

Array = npt.NDArray[np.float64]
Tails = Callable[[Number], tuple[Number, Number]]

DIGITS = 60
LOG_FLOOR, LOG_LOW = -100.0, -60.0


@pytest.fixture(autouse=True)
def digits() -> Any:
    with mpmath.workdps(DIGITS):
        yield


# --- the true curves, by normal and Laplace distribution functions ---


def base_tails(pair: DominatingPair) -> Tails:
    """``c -> (W(l > c), O(l > c))`` for the base loss l."""
    if isinstance(pair, GaussianPair):
        mu = mpmath.mpf(pair.mu)

        def normal(c: Number) -> tuple[Number, Number]:
            x = c / mu + mu / 2
            return mpmath.erfc((x - mu) / mpmath.sqrt(2)) / 2, mpmath.erfc(x / mpmath.sqrt(2)) / 2

        return normal
    assert isinstance(pair, LaplacePair)
    theta = mpmath.mpf(pair.distance) / mpmath.mpf(pair.scale)

    def laplace(c: Number) -> tuple[Number, Number]:
        if c < -theta:
            return mpmath.mpf(1), mpmath.mpf(1)
        if c >= theta:
            return mpmath.mpf(0), mpmath.mpf(0)
        x = (c + theta) / 2
        return 1 - mpmath.exp(x - theta) / 2, mpmath.exp(-x) / 2

    return laplace


def true_delta(pair: DominatingPair, epsilon: Number) -> Number:
    """``P(L > eps) - e^eps Q(L > eps)``, for any real epsilon."""
    factor = mpmath.exp(epsilon)
    if isinstance(pair, PoissonRemovePair | PoissonAddPair):
        q, remove = mpmath.mpf(pair.rate), isinstance(pair, PoissonRemovePair)
        assert isinstance(pair.base, GaussianPair | LaplacePair)
        tails = base_tails(pair.base)
        inside = mpmath.exp(epsilon if remove else -epsilon) - (1 - q)
        with_, without = tails(mpmath.log(inside / q)) if inside > 0 else (mpmath.mpf(1), mpmath.mpf(1))
        mixed = (1 - q) * without + q * with_
        return mixed - factor * without if remove else (1 - without) - factor * (1 - mixed)
    with_, without = base_tails(pair)(epsilon)
    return with_ - factor * without


def mesh_for(pair: DominatingPair, h: float, t: float, shift: float = 0.0) -> Mesh:
    """As the engine chooses it: the grid starts at an end of the loss if that is finite."""
    low, high = pair.loss_range
    offset = high if math.isfinite(high) else low if math.isfinite(low) else 0.0
    kappa = Guide(Composition([(pair, 1)]), LOG_FLOOR).pair_cumulants(t)[0].k0
    return Mesh(offset + shift * h, h, t, kappa)


def both_laws(pair: DominatingPair, mesh: Mesh, count: int = 1) -> tuple[GridLaw, GridLaw]:
    cells = integrate(pair, mesh, Reach(LOG_FLOOR, LOG_LOW, count))
    return merge(cells, mesh), spread(cells, mesh)


PAIRS: list[DominatingPair] = [
    GaussianPair(1.0),
    GaussianPair(0.05),
    LaplacePair(1.0, 1.0),
    LaplacePair(2.0, 0.5),
    PoissonRemovePair(GaussianPair(1.0), 0.01),
    PoissonAddPair(GaussianPair(1.0), 0.01),
    PoissonRemovePair(GaussianPair(2.0), 0.6),
    PoissonAddPair(GaussianPair(2.0), 0.6),
    PoissonRemovePair(GaussianPair(1.0), 1e-7),
    PoissonAddPair(GaussianPair(1.0), 1e-7),
    PoissonRemovePair(LaplacePair(1.0, 1.0), 0.1),
    PoissonAddPair(LaplacePair(1.0, 1.0), 0.1),
]


def label(pair: object) -> str:
    return str(pair).replace("Pair", "").replace("distance=", "").replace("scale=", "/")


every_pair = pytest.mark.parametrize("pair", PAIRS, ids=label)


def epsilons(law: GridLaw, count: int = 60) -> list[Number]:
    """Over the whole law and beyond it on both sides: knots, places between them, and 0."""
    random = np.random.default_rng(9)
    last = law.first + len(law.mass)
    knots = random.integers(law.first - 3, last + 3, count)
    inside = [grid_point(law.mesh, int(j)) for j in knots]
    between = [grid_point(law.mesh, int(j)) + mpmath.mpf(law.mesh.h) * random.uniform() for j in knots]
    return [mpmath.mpf(0), *inside, *between]


@pytest.mark.parametrize("t", [0.05, 1.0, 12.0], ids="t {:g}".format)
@pytest.mark.parametrize("h", [0.5, 0.06], ids="h {:g}".format)
@every_pair
def test_merging_is_below_and_spreading_above_the_true_curve(pair: DominatingPair, h: float, t: float) -> None:
    """At every real epsilon ``delta_merge <= delta <= delta_spread``: the one idea of laws.py, rounding included.

    Spreading is allowed the mass that the caller charges for what lies above the highest cell.
    """
    scale = min(1.0, 2 * float(np.ptp(np.clip(pair.loss_range, -1.0, 1.0))))
    sides(pair, mesh_for(pair, h * scale, t))


@pytest.mark.slow
@settings(max_examples=40, deadline=None, phases=[Phase.reuse, Phase.generate])
@given(st.sampled_from(PAIRS), st.floats(0.02, 1.0), st.floats(0.01, 30.0), st.floats(0.0, 1.0))
def test_the_sides_hold_on_any_grid(pair: DominatingPair, h: float, t: float, shift: float) -> None:
    """The same for grids laid anywhere: atoms between the grid points, ends of the loss inside a cell."""
    sides(pair, mesh_for(pair, h, t, shift))


def sides(pair: DominatingPair, mesh: Mesh) -> None:
    lower, upper = both_laws(pair, mesh)
    assert (lower.mass >= 0).all()
    assert (upper.mass >= 0).all()
    below, above = Polygon.of(lower), Polygon.of(upper)
    # atoms count as on the grid up to a few roundings of their loss; the composed sum pays by its slip in epsilon
    slip = mpmath.mpf(64 * UNIT_ROUNDOFF) * max(abs(end) for end in (*upper.losses[[0, -1]], mesh.offset))
    for epsilon in epsilons(upper):
        true = true_delta(pair, epsilon)
        assert below.delta(epsilon + slip) <= true, float(epsilon)
        assert above.delta(epsilon - slip) + mpmath.exp(LOG_FLOOR) >= true, float(epsilon)


CONVERGING = [pair for pair in PAIRS if getattr(pair, "rate", 1.0) >= 0.1]


@pytest.mark.parametrize("pair", CONVERGING, ids=label)
def test_both_sides_converge_to_second_order(pair: DominatingPair) -> None:
    """Halving h divides the distance from the true curve by 4, for spreading and for merging."""
    assert pair.smooth is not None
    ends = pair.smooth.support(LOG_FLOOR)
    low, high = pair.smooth.loss(np.clip(ends, -1.5, 1.5)).tolist()  # the bulk of P
    h = (high - low) / 64
    at = [mpmath.mpf(low) + (high - low) * (i + 0.37) / 160 for i in range(20, 140)]
    errors = []
    for gap in (h, h / 2):
        lower, upper = map(Polygon.of, both_laws(pair, mesh_for(pair, gap, 1.0)))
        true = [true_delta(pair, epsilon) for epsilon in at]
        errors.append(
            [
                float(mpmath.fsum(a - lower.delta(epsilon) for a, epsilon in zip(true, at, strict=True))),
                float(mpmath.fsum(upper.delta(epsilon) - a for a, epsilon in zip(true, at, strict=True))),
            ]
        )
    for coarse, fine in zip(*errors, strict=True):
        assert 3.4 < coarse / fine < 4.6


@pytest.mark.parametrize("t", [0.5, 2.0], ids="t {:g}".format)
@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0], ids="mu {:g}".format)
def test_the_error_law(mu: float, t: float) -> None:
    """Spreading adds ``h^2/6`` to the loss's variance, merging takes ``h^2/12``: K moves by t (1+t)/2 times that."""
    h = mu / 40
    assert mu * (1 + t) < 14, "the tilted law is not to be cut off by LOG_FLOOR"
    lower, upper = both_laws(GaussianPair(mu), mesh_for(GaussianPair(mu), h, t))
    true = t * (1 + t) * mu**2 / 2
    assert upper.log_mass - true == pytest.approx(t * (1 + t) * h**2 / 12, rel=0.02)
    assert true - lower.log_mass == pytest.approx(t * (1 + t) * h**2 / 24, rel=0.02)


BOXES: list[DominatingPair] = [
    BlackBoxPair(0.7),
    BlackBoxPair(1e-6),
    BlackBoxPair(9.0),
    PoissonRemovePair(BlackBoxPair(0.7), 0.05),
    PoissonAddPair(BlackBoxPair(0.7), 0.05),
    PoissonRemovePair(BlackBoxPair(3.0), 0.999),
]


@pytest.mark.parametrize("parts", [1, 2, 7], ids="{} cells".format)
@pytest.mark.parametrize("pair", BOXES, ids=label)
def test_atoms_on_the_grid_stay_as_they_are(pair: DominatingPair, parts: int) -> None:
    """On a lattice that holds all the atoms neither side loses anything but rounding."""
    low, high = pair.loss_range
    lower, upper = both_laws(pair, mesh_for(pair, (high - low) / parts, 0.5))
    p = [mpmath.exp(mpmath.mpf(log)) for log in pair.atoms.log_p.tolist()]
    losses = [mpmath.mpf(loss) for loss in pair.atoms.loss.tolist()]
    for epsilon in (low - 1, low, (low + 2 * high) / 3, (2 * low + high) / 3, high - (high - low) / 50):
        pairs = zip(p, losses, strict=True)
        true = mpmath.fsum(mass * max(-mpmath.expm1(epsilon - loss), 0) for mass, loss in pairs)
        for law in (lower, upper):
            assert abs(Polygon.of(law).delta(mpmath.mpf(epsilon)) - true) <= 1e-13 * float(true) + 1e-15 * (high - low)


# --- the hull ---


def hull_case(
    masses: Sequence[float], gaps: Sequence[float], t: float
) -> tuple[Array, Array, Array | None, Polygon, Polygon | None]:
    mass, at = np.array(masses), np.cumsum([0.0, *gaps[: len(masses) - 1]])
    given_mass = mass.copy()
    out = lower_hull(mass, at, t)
    assert np.array_equal(mass, given_mass), "the argument is not to be changed"
    losses = [mpmath.mpf(x) for x in at.tolist()]
    return (
        mass,
        at,
        out,
        Polygon(mass.tolist(), losses, t, 0.0),
        None if out is None else Polygon(out.tolist(), losses, t, 0.0),
    )


masses = st.lists(st.one_of(st.floats(0.0, 1.0), st.floats(-0.3, 1.0), st.just(0.0)), min_size=2, max_size=9)
gaps = st.lists(st.sampled_from([0.01, 0.1, 0.1, 0.2, 0.8]), min_size=8, max_size=8)
tilts = st.sampled_from([0.0, 0.3, 2.0, 9.0])


@settings(max_examples=400, deadline=None)
@given(masses, gaps, tilts)
@example([0.1, -0.05, 1.0, -0.02, 0.3], [0.1] * 8, 2.0)
@example([-0.2, 0.5, 1.0], [0.1] * 8, 0.0)
@example([1.0, 0.5, -0.01], [0.1] * 8, 0.0)
@example([-0.1, 0.3, -0.1, 0.3, -0.1], [0.2] * 8, 0.3)
def test_the_hull_is_convex_and_lies_below(masses: list[float], gaps: list[float], t: float) -> None:
    """All masses are non-negative, and the polygon lies below ``max(given, l, 0)``, l the given one's first line.

    l is the total ``P - alpha Q`` of the outcomes kept, 0 that of none: no curve of those outcomes is below either.
    Between knots and crossings of the three every line is straight: checking there checks everywhere.
    """
    assume(any(masses))
    _, at, out, before, after = hull_case(masses, gaps, t)
    if out is None or after is None:
        return
    assert (out >= 0).all()
    knots = [mpmath.mpf(-200), *(mpmath.mpf(x) for x in at.tolist()), mpmath.mpf(float(at[-1]) + 1)]
    lines: list[Callable[[Number], Number]] = [before.delta, before.first_line, lambda x: mpmath.mpf(0)]
    places = list(knots)
    for (a, b), (f, g) in itertools.product(itertools.pairwise(knots), itertools.combinations(lines, 2)):
        left, right = f(a) - g(a), f(b) - g(b)
        if left * right < 0:  # linear in alpha = e^x
            places.append(mpmath.log((mpmath.exp(a) * right - mpmath.exp(b) * left) / (right - left)))
    size = mpmath.fsum(abs(m) * mpmath.exp(-t * mpmath.mpf(x)) for m, x in zip(masses, at.tolist(), strict=True))
    for x in places:
        assert after.delta(x) <= max(f(x) for f in lines) + 1e-15 * size, float(x)


@settings(max_examples=200, deadline=None)
@given(masses, gaps, tilts)
def test_the_hull_of_a_hull_is_itself(masses: list[float], gaps: list[float], t: float) -> None:
    """A convex polygon is its own lower hull, to the bit."""
    assume(any(masses))
    _, at, out, _, _ = hull_case(masses, gaps, t)
    if out is not None:
        again = lower_hull(out, at, t)
        assert again is not None
        assert np.array_equal(again, out)


@pytest.mark.parametrize("end", [0, -1], ids=["lowest", "highest"])
def test_an_end_of_the_hull_pays_for_its_own_rounding(end: int) -> None:
    """Knots at an end merged into one outcome that is brought onto the grid: below the given polygon to the last bit.

    Where the mass at the end nearly cancels what it is merged with, the sums are known no better than their parts.
    """
    random = np.random.default_rng(15)
    for _ in range(80):
        masses = random.uniform(0.01, 1.0, 5)
        masses[end] = -random.choice([random.uniform(0.0, 1e-3), 0.3 * random.uniform()])
        t, gap = float(random.uniform(0.0, 3.0)), float(random.choice([1e-4, 0.01, 0.3]))
        _, at, out, before, after = hull_case(masses.tolist(), [gap] * 4, t)
        if out is None or after is None:
            continue
        for x in (-200.0, float(at[0]) - 0.3, *at.tolist(), *(0.5 * (at[1:] + at[:-1])).tolist()):
            most = max(before.delta(mpmath.mpf(x)), before.first_line(mpmath.mpf(x)), 0)
            assert after.delta(mpmath.mpf(x)) <= most, x


def test_the_hull_of_one_dent_is_the_line_across_it() -> None:
    """A negative mass between two positive ones: the knot goes, Q-mass and P-mass stay."""
    _, at, out, before, after = hull_case([0.4, -0.05, 0.6], [0.1, 0.2], 1.5)
    assert out is not None
    assert after is not None
    assert out[1] == 0
    for x in (-5.0, 0.0, float(at[2])):
        assert abs(after.delta(mpmath.mpf(x)) - before.delta(mpmath.mpf(x))) < 1e-15
    assert after.delta(mpmath.mpf(0.1)) < before.delta(mpmath.mpf(0.1))


def test_nothing_but_negative_mass_has_no_hull() -> None:
    """Where the polygon is below 0 everywhere there is nothing left to certify."""
    assert lower_hull(np.array([-1.0, -0.5]), np.array([0.0, 0.1]), 0.5) is None


# --- cells in the tails ---


@pytest.mark.parametrize("count", [1, 1000, 10**6], ids="{} rounds".format)
@pytest.mark.parametrize(
    "pair",
    [GaussianPair(1.0), PoissonRemovePair(GaussianPair(1.0), 0.01), PoissonAddPair(GaussianPair(1.0), 0.01)],
    ids=label,
)
def test_cells_are_wide_only_where_rarely_met(pair: DominatingPair, count: int) -> None:
    """A gap of w grid points needs ``w <= TAIL_SHARE sqrt(k / max(met, 1))``, met how often what is beyond is met."""
    low, high = (max(min(end, 10.0), -10.0) for end in pair.loss_range)
    mesh = mesh_for(pair, (high - low) / 4000, 0.7)
    cells = integrate(pair, mesh, Reach(LOG_FLOOR, LOG_LOW, count))
    width = np.diff(cells.knots)
    assert set(width.tolist()) <= {2**i for i in range(BLOCK.bit_length())}
    mass = (cells.left + cells.right).sum(axis=0)  # in units of each cell's lower end: at most what they weigh inside
    above, below = np.cumsum(mass[::-1])[::-1], np.cumsum(mass)
    met = count * np.minimum(above, below)
    wide = width > 1
    assert (width[wide] <= TAIL_SHARE * np.sqrt(count / np.maximum(met[wide], 1.0)) * (1 + 1e-9)).all()
    if count >= 1000:
        assert wide.any()
        assert mass[wide].sum() < 0.1
    sides(pair, mesh) if count == 1 else None


# --- sums ---


@dataclass(frozen=True)
class Case:
    name: str
    rounds: tuple[tuple[DominatingPair, int], ...]
    h: float
    epsilons: tuple[float, ...]


SUMS = [
    Case("three Gaussians", ((GaussianPair(1.0), 3),), 0.25, (0.1, 1.0, 4.0)),
    Case("three sampled Gaussians", ((PoissonRemovePair(GaussianPair(1.0), 0.1), 3),), 0.1, (0.05, 0.5, 2.0)),
    Case("three in the other direction", ((PoissonAddPair(GaussianPair(1.0), 0.1), 3),), 0.02, (0.01, 0.1, 0.2)),
    Case("three Laplaces", ((LaplacePair(1.0, 1.0), 3),), 0.1, (0.1, 1.5, 2.6)),
    Case("two and one", ((GaussianPair(1.0), 2), (LaplacePair(1.0, 1.0), 1)), 0.2, (0.5, 3.0)),
]


@pytest.mark.parametrize("case", SUMS, ids=lambda case: case.name)
def test_a_composed_law_agrees_with_brute_force(case: Case) -> None:
    """``GridSum.log_delta`` is on its side of the k-fold sum taken term by term, and within what its tails allow."""
    composition = Composition(case.rounds)
    guide = Guide(composition, LOG_FLOOR)
    epsilon = case.epsilons[1]
    t = guide.saddle(epsilon)
    high, theta_high = guide.tail_tilt(t, -45.0, +1)
    low, theta_low = guide.tail_tilt(t, -45.0, -1)
    window = Window(min(low, 0.0), high + 1.0, theta_low, theta_high)
    meshes = [mesh_for(pair, case.h, t) for pair, _ in composition.rounds]
    laws = [both_laws(pair, mesh) for (pair, _), mesh in zip(composition.rounds, meshes, strict=True)]
    counts = [count for _, count in composition.rounds]
    log_lost = LOG_FLOOR + math.log(composition.count)
    for side, which in ((Side.BELOW, 0), (Side.ABOVE, 1)):
        chosen = [(law[which], count) for law, count in zip(laws, counts, strict=True)]
        total = GridSum(chosen, window, side, log_lost)
        masses, losses = convolved(chosen)
        for at in case.epsilons:
            terms = zip(masses, losses, strict=True)
            true = mpmath.fsum(p * max(-mpmath.expm1(mpmath.mpf(at) - loss), 0) for p, loss in terms)
            true += mpmath.exp(log_lost) if side > 0 else 0
            found = total.log_delta(at)
            assert side * (found - mpmath.log(true)) >= 0
            assert abs(found - mpmath.log(true)) < 1e-9


@pytest.mark.parametrize("k", [3, 40], ids="{} rounds".format)
def test_composed_gaussians_enclose_the_closed_form(k: int) -> None:
    """The k-fold sum of spread (merged) Gaussians is above (below) the Gaussian with ``mu sqrt(k)``."""
    mu, h = 0.5, 0.02
    pair = GaussianPair(mu)
    folded = GaussianPair(mu * math.sqrt(k))
    guide = Guide(Composition([(folded, 1)]), LOG_FLOOR)
    for epsilon in (0.3, 2.0, 5.0):
        t = guide.saddle(epsilon)
        high, theta_high = guide.tail_tilt(t, -40.0, +1)
        low, theta_low = guide.tail_tilt(t, -40.0, -1)
        window = Window(min(low, epsilon), high, theta_low, theta_high)
        lower, upper = both_laws(pair, mesh_for(pair, h, t), k)
        log_lost = LOG_FLOOR + math.log(k)
        true = mpmath.log(true_delta(folded, mpmath.mpf(epsilon)))
        below = GridSum([(lower, k)], window, Side.BELOW, log_lost).log_delta(epsilon)
        above = GridSum([(upper, k)], window, Side.ABOVE, log_lost).log_delta(epsilon)
        assert below <= true <= above
        assert above - below <= 1.3 * k * t * (1 + t) * h**2 / 8


def test_a_moment_with_losses_at_both_ends_of_the_range() -> None:
    """One exponent is far below the other one, by more than a double can say; its term is nothing."""
    law = GridLaw(Mesh(-1e5, 2e5, 1.0, 0.0), 0, np.array([0.5, 0.5]))
    assert law.log_moment(1.7e303) == pytest.approx(1.7e308)


def test_a_wide_half_cell_has_more_nodes_than_fit_the_cache() -> None:
    """Far out the density is steep, and one half-cell takes a thousand panels: no reason to say nothing."""
    deep = hs.dp_sgd(4.32, 5.22e-5, 384, adjacency="remove").delta(700.0, accountant="grid", gap=None, proof=False)
    assert deep.log_delta.upper < -4000
    many = hs.Plan([hs.Round(hs.Laplace(0.01), hs.Poisson(0.8), count=750_000)], "remove")
    found = many.epsilon(1e-12, accountant="grid", gap=None, proof=False)
    assert isinstance(found, hs.Bound)
    assert found.relative_gap < 2e-3
