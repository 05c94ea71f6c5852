"""Attacks on the grid engine: each discrete law against its exact curve, and whole answers against the oracle.

The exact curves here are written from the densities, in 220 digits; only the parameters come from the pairs.
"""

from __future__ import annotations

import bisect
import math
import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from mpmath import mp

import hockeystick as hs
import oracle
from hockeystick.engines.grid.cells import Reach, integrate
from hockeystick.engines.grid.laws import merge, spread
from hockeystick.engines.guide import Guide
from hockeystick.numerics.hull import lower_hull
from hockeystick.numerics.lattice import GridLaw, Mesh
from hockeystick.pairs import (
    BlackBoxPair,
    Composition,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
    PoissonSubstitutionPair,
)

DIGITS = 220
SLIP = 8 * 2.0**-53  # by which the sum moves epsilon, in units of the numbers that make it up


def _normal(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _tail(base: Any, loss: Any) -> tuple[Any, Any]:
    """Masses of {L > loss} under both laws of a base pair."""
    if isinstance(base, GaussianPair):
        mu = mp.mpf(base.mu)
        x = loss / mu + mu / 2
        return _normal(mu - x), _normal(-x)
    if isinstance(base, LaplacePair):
        theta = mp.mpf(base.width)
        x = (loss + theta) / 2
        if x >= theta:
            return mp.zero, mp.zero
        return (mp.one, mp.one) if x < 0 else (1 - mp.exp(x - theta) / 2, mp.exp(-x) / 2)
    e0 = mp.mpf(base.epsilon)
    likely = 1 / (1 + mp.exp(-e0))
    atoms = [(e0, likely, 1 - likely), (-e0, 1 - likely, likely)]
    return mp.fsum(p for at, p, _ in atoms if at > loss), mp.fsum(q for at, _, q in atoms if at > loss)


def _curve(pair: DominatingPair, eps: Any) -> Any:
    """``E_P (1 - e^(eps - L))_+`` of one round with the parameters as exact doubles; no black box with delta > 0."""
    if isinstance(pair, PoissonSubstitutionPair):
        mu, q = mp.mpf(pair.mu), mp.mpf(pair.rate)
        x = (eps / 2 + mp.asinh((1 - q) / (q * mp.exp(-mu * mu / 2)) * mp.sinh(eps / 2))) / mu
        return (
            (1 - q) * _normal(-x) + q * _normal(mu - x) - mp.exp(eps) * ((1 - q) * _normal(-x) + q * _normal(-mu - x))
        )
    if isinstance(pair, PoissonRemovePair):
        q = mp.mpf(pair.rate)
        odds = (mp.expm1(eps) + q) / q
        with_record, without = _tail(pair.base, mp.log(odds)) if odds > 0 else (mp.one, mp.one)
        return (1 - q) * without + q * with_record - mp.exp(eps) * without
    if isinstance(pair, PoissonAddPair):
        q = mp.mpf(pair.rate)
        odds = (mp.expm1(-eps) + q) / q
        if odds <= 0:
            return mp.zero
        with_record, without = (1 - mass for mass in _tail(pair.base, mp.log(odds)))
        return without - mp.exp(eps) * ((1 - q) * without + q * with_record)  # atoms at equality weigh nothing
    p, q = _tail(pair, eps)
    return p - mp.exp(eps) * q


class _Discrete:
    """The exact curve of a discrete law."""

    def __init__(self, mass: npt.NDArray[np.float64], at: list[Any], t: float, kappa: float) -> None:
        held = [i for i in range(len(mass)) if mass[i] != 0]
        self.at = [at[i] for i in held]
        self.p, self.q = [mp.zero], [mp.zero]
        for i in reversed(held):
            p = mp.mpf(float(mass[i])) * mp.exp(mp.mpf(kappa) - mp.mpf(t) * at[i])
            self.p.append(self.p[-1] + p)
            self.q.append(self.q[-1] + p * mp.exp(-at[i]))
        self.p.reverse()
        self.q.reverse()

    @classmethod
    def of(cls, law: GridLaw) -> _Discrete:
        mesh = law.mesh
        at = [mp.mpf(mesh.offset) + (law.first + i) * mp.mpf(mesh.h) for i in range(len(law.mass))]
        return cls(law.mass, at, mesh.t, mesh.kappa)

    def __call__(self, eps: Any) -> Any:
        i = bisect.bisect_right(self.at, eps)
        return self.p[i] - mp.exp(eps) * self.q[i]


def _offset(pair: DominatingPair) -> float:
    low, high = pair.loss_range
    return high if math.isfinite(high) else low if math.isfinite(low) else 0.0


def check_laws(
    pair: DominatingPair, h: float, t: float, reach: Reach, offset: float | None = None, seed: int = 0, points: int = 12
) -> bool:
    """Assert ``merge <= truth <= spread`` at, between and just below knots; False where nothing is checked."""
    rnd = random.Random(seed)
    kappa = Guide(Composition([(pair, 1)]), -300.0).pair_cumulants(t)[0].k0
    mesh = Mesh(_offset(pair) if offset is None else offset, h, t, kappa)
    cells = integrate(pair, mesh, reach)
    if len(cells.knots) > 3000:
        return False
    upper, lower = spread(cells, mesh), merge(cells, mesh)
    assert np.isfinite(upper.mass).all()
    assert np.isfinite(lower.mass).all()
    with mp.workdps(DIGITS):
        above, below = _Discrete.of(upper), _Discrete.of(lower)
        at = []
        for law in (above, below):
            for knot in rnd.sample(law.at, min(len(law.at), points)) + law.at[-1:]:
                at += [knot, knot + mp.mpf(rnd.random()) * h, knot - h * mp.mpf(10) ** -rnd.randint(1, 12)]
        lost = mp.exp(mp.mpf(reach.log_floor))
        size = abs(mesh.offset) + h * float(np.abs(cells.knots[[0, -1]]).max())
        for eps in at:
            slip = mp.mpf(SLIP) * (size + abs(eps))
            truth = _curve(pair, eps)
            assert truth <= above(eps - slip) + lost, (
                pair,
                mesh,
                float(eps),
                mp.nstr(above(eps - slip) / truth - 1, 5),
            )
            assert below(eps + slip) <= truth + mp.mpf(10) ** (20 - DIGITS), (pair, mesh, float(eps))
    return True


@pytest.mark.parametrize(
    ("pair", "h", "t"),
    [
        (LaplacePair(1.0, 1.0), 0.1, 1e4),  # e^(t h) beyond the range of a double: both sides were wrong
        (PoissonAddPair(GaussianPair(3.0), 0.3), 0.05, 2e4),
        (GaussianPair(8.0), 8.0, 100.0),
    ],
)
def test_more_tilt_than_a_double_holds(pair: DominatingPair, h: float, t: float) -> None:
    """Masses whose tilt leaves the range of doubles are refused, not clamped: the engine takes other cells then."""
    with pytest.raises(OverflowError, match=r"over a step of .* exceeds the range of a double"):
        check_laws(pair, h, t, Reach(-300.0, -300.0))


def test_what_is_left_out_below() -> None:
    """The second knot may lie below the loss at which the cells begin: the mass left out must go no lower than that."""
    check_laws(
        LaplacePair(1.0, 0.4572818042296837), 0.16075173642037618, 104.8993206946652, Reach(-100.0, -300.0), points=40
    )


@pytest.mark.parametrize("epsilon", [0.5, 5.0, 10.0])
@pytest.mark.parametrize("off", [9e-7, -9e-7])
def test_atoms_almost_on_the_grid(epsilon: float, off: float) -> None:
    """An atom a millionth of a cell from a knot is not on it: above a knot, below a knot, in narrow and wide cells."""
    pair = BlackBoxPair(epsilon)
    h = 2 * epsilon * (1 + off)
    mesh = Mesh(epsilon, h, 0.05, 0.0)
    cells = integrate(pair, mesh, Reach(-300.0, -300.0))
    with mp.workdps(DIGITS):
        above, below = _Discrete.of(spread(cells, mesh)), _Discrete.of(merge(cells, mesh))
        for eps in (-epsilon - 0.4 * h, -epsilon - 1e-3 * h, -epsilon - 1e-9, -epsilon + 0.5 * epsilon * off):
            truth = _curve(pair, mp.mpf(eps))
            assert below(mp.mpf(eps)) <= truth, (eps, mp.nstr(below(mp.mpf(eps)) / truth - 1, 5))
            assert truth <= above(mp.mpf(eps)), (eps, mp.nstr(above(mp.mpf(eps)) / truth - 1, 5))


@pytest.mark.parametrize(
    ("mass", "h", "t"),
    [
        ([-0.0576, 0.21, 0.000993, 0.665], 1.230930103288683e-13, 6.60118991542948),
        ([-0.148, 0.671, 0, 0.536, 0, 0.00236, 0.357, 0, 0.74], 2.3995208581995655e-12, 0.370081333821538),
        ([0, -0.115, 0.341, 0, 0.399, 0], 2.2882003846672793e-11, 1057190771.6232172),
        ([0.59, 0.414, 0.543, 0, 0.6, 0.205, 0.814, 0, -0.0752], 2.569861918928934e-07, 2.4188904542100143),
    ],
)
def test_hull_on_narrow_cells(mass: list[float], h: float, t: float) -> None:
    """Settling an end must not raise P - Q: the difference of two nearly equal sums is known to their rounding only."""
    masses: npt.NDArray[np.float64] = np.array(mass, dtype=np.float64)
    at: npt.NDArray[np.float64] = np.arange(len(mass), dtype=np.float64) * h
    hull = lower_hull(masses.copy(), at, t)
    if hull is None:
        return
    with mp.workdps(DIGITS):
        exact = [mp.mpf(float(x)) for x in at]
        before, after = _Discrete(masses, exact, t, 0.0), _Discrete(hull, exact, t, 0.0)
        for eps in [*exact, mp.mpf(-h), mp.mpf(0.3 * h)]:
            bound = max(before(eps), 0, before.p[0] - mp.exp(eps) * before.q[0])
            assert after(eps) <= bound, (float(eps / h), mp.nstr(after(eps) - bound, 5))


@pytest.mark.slow
def test_random_laws() -> None:
    """Pairs, meshes, tilts and reaches at random; tilts within what the exponents hold."""
    rnd = random.Random(20240)

    def wide(low: float, high: float) -> float:
        return math.exp(rnd.uniform(math.log(low), math.log(high)))

    checked = 0
    while checked < 60:
        base: Any = rnd.choice(
            [GaussianPair(wide(1e-3, 20)), LaplacePair(1.0, 1 / wide(1e-3, 20)), BlackBoxPair(wide(1e-3, 10))]
        )
        rate = rnd.choice([wide(1e-9, 0.5), rnd.uniform(0.01, 0.99), 1 - wide(1e-9, 1e-2)])
        pairs = [
            base,
            PoissonRemovePair(base, rate),
            PoissonAddPair(base, rate),
            PoissonSubstitutionPair(wide(0.01, 20), rate),
        ]
        pair = rnd.choice(pairs)
        t = wide(0.01, 1e3)
        deviation = math.sqrt(Guide(Composition([(pair, 1)]), -60.0).cumulants(t).k2)
        low, high = pair.loss_range
        if pair.smooth is not None and not math.isfinite(high - low):
            low, high = pair.smooth.loss(np.array(pair.smooth.support(-100.0)))
        span = high - low
        h = rnd.choice([wide(0.02, 20) * max(deviation, span * 1e-3), span * wide(0.01, 5)])
        if not 0 < t * h * 64 < 600 or span / h > 3000:
            continue
        reach = Reach(rnd.choice([-30.0, -100.0]), rnd.choice([-5.0, -30.0]), rnd.choice([1, 10**6]))
        checked += check_laws(pair, h, t, reach, rnd.choice([None, rnd.uniform(-1, 1) * h]), points=5)


def _rounds(mechanism: str, count: int, rate: float | None = None, **parameters: float) -> dict[str, Any]:
    sampled = {} if rate is None else {"sampling": "poisson", "sample_rate": rate}
    return {"mechanism": mechanism, "count": count, **sampled, **parameters}


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("adjacency", "rounds", "delta"),
    [
        ("remove", [_rounds("laplace", 1, scale=1.0)], 1e-20),
        ("remove", [_rounds("laplace", 3, scale=1.0)], 1e-20),
        ("add", [_rounds("laplace", 1, 0.587, scale=5.83)], 5.98e-5),
        ("add", [_rounds("gaussian", 1, 0.3, noise_multiplier=0.2)], 1e-16),
        ("add", [_rounds("gaussian", 10, 0.0272, noise_multiplier=0.0714)], 5.31e-31),
        ("remove", [_rounds("laplace", 7, 0.961, scale=3100.0)], 9.48e-59),
    ],
)
def test_close_to_the_supremum(adjacency: str, rounds: list[dict[str, Any]], delta: float) -> None:
    """A tiny delta of a bounded loss: all the mass on one side of a cell, the tilt of the order of 1/delta."""
    plan = {"adjacency": adjacency, "round": rounds}
    found = hs.Plan.from_dict(plan).epsilon(delta, accountant="grid", gap=0.1)
    assert oracle.delta(plan, found.upper, 25) <= mp.mpf(repr(delta))
    assert found.lower == 0 or oracle.delta(plan, found.lower, 25) >= mp.mpf(repr(delta))


@pytest.mark.parametrize(
    ("rounds", "epsilon"),
    [
        ([_rounds("gaussian", 2, noise_multiplier=2.94)], 6.19),
        ([_rounds("gaussian", 7, noise_multiplier=83.3)], 1.22),
        ([_rounds("gaussian", 1, noise_multiplier=5.0)], 10.0),
    ],
)
def test_far_beyond_the_law(rounds: list[dict[str, Any]], epsilon: float) -> None:
    """An epsilon tens of standard deviations out: answered with bounded memory."""
    plan = {"adjacency": "add", "round": rounds}
    found = hs.Plan.from_dict(plan).log_delta(epsilon, accountant="grid", gap=1e-2)
    assert found.lower <= mp.log(oracle.delta(plan, epsilon, 25)) <= found.upper


@pytest.mark.slow
def test_hardly_any_noise_and_many_rounds() -> None:
    """Jumps of 850 each, at which the normal density is below the range of a double: contour and Renyi agree."""
    plan = hs.Plan.from_dict({"round": [_rounds("gaussian", 23_600_000, 2.21e-6, noise_multiplier=0.024)]})
    contour = plan.epsilon(2.43e-75, accountant="contour")
    assert contour.upper <= plan.epsilon(2.43e-75, accountant="rdp").quoted <= 1.1 * contour.lower
    grid = plan.epsilon(2.43e-75, accountant="grid", gap=1e-2)
    assert grid.lower <= contour.lower <= contour.upper <= grid.upper
    assert grid.reason == "a finer grid would take too long"


def test_no_looser_than_the_renyi_bound_next_to_the_largest_loss() -> None:
    """Where all rounds together just reach epsilon, moments of high order say it all."""
    plan = hs.Plan.from_dict({"round": [_rounds("randomized-response", 155, 0.00555, epsilon=0.0795)]})
    assert plan.epsilon(5.78e-57).upper <= plan.epsilon(5.78e-57, accountant="rdp").quoted


@pytest.mark.parametrize(("noise", "rate", "count", "eps_error"), [(0.024, 0.9999, 200, 0.4), (0.02, 0.99, 1000, 2.0)])
@pytest.mark.parametrize("accountant", ["prv", "evolving"])
@pytest.mark.share(3)
def test_masses_under_q_below_the_range_of_a_double(
    accountant: str, noise: float, rate: float, count: int, eps_error: float
) -> None:
    """A mass that comes out as 0 need not be 0: the mean of the loss is not known from it."""
    item = _rounds("gaussian", count, rate, noise_multiplier=noise)
    plan = hs.Plan.from_dict({"adjacency": "remove", "round": [item]})
    found = plan.epsilon(1e-5, accountant=accountant, eps_error=eps_error)
    certified = plan.epsilon(1e-5, gap=1e-10)
    assert found.ends["lower"] <= certified.lower <= certified.upper <= found.ends["upper"]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("epsilon", "rate"), [(12.0, 0.999999), (25.0, 0.999999)])
def test_a_rate_next_to_one_of_atoms(epsilon: float, rate: float, count: int) -> None:
    """The largest loss is ``-log(1 - q)``, or nearly: the decimal and the double of q are not the same there."""
    plan = {"adjacency": "add", "round": [_rounds("randomized-response", count, rate, epsilon=epsilon)]}
    with mp.workdps(40):
        e, q, delta = mp.mpf(epsilon), mp.mpf(repr(rate)), mp.mpf("1e-9")
        p = [1 / (1 + mp.exp(-e)), 1 / (1 + mp.exp(e))]
        mixed = [(1 - q) * p[0] + q * p[1], (1 - q) * p[1] + q * p[0]]

        def curve(at: Any) -> Any:
            terms = []
            for wins in range(count + 1):
                one, two = p[0] ** wins * p[1] ** (count - wins), mixed[0] ** wins * mixed[1] ** (count - wins)
                terms.append(math.comb(count, wins) * max(one - mp.exp(at) * two, 0))
            return mp.fsum(terms)

        for name in ("auto", "connect-the-dots", "grid"):
            found = hs.Plan.from_dict(plan).epsilon(1e-9, accountant=name).ends
            assert curve(mp.mpf(found["upper"])) <= delta
            assert found["lower"] == 0 or curve(mp.mpf(found["lower"])) >= delta


@pytest.mark.long
@pytest.mark.filterwarnings("error")
def test_random_plans() -> None:
    """Small plans at random, against the oracle, at three gaps whose answers must also meet."""
    rnd = random.Random(77)

    def wide(low: float, high: float) -> float:
        return float(f"{math.exp(rnd.uniform(math.log(low), math.log(high))):.3g}")

    for _ in range(12):
        first = rnd.choice(
            [
                _rounds("gaussian", rnd.choice([1, 5, 200]), wide(1e-4, 0.5), noise_multiplier=wide(0.5, 5)),
                _rounds("laplace", rnd.choice([1, 3, 10]), scale=wide(0.5, 5)),
                _rounds("randomized-response", rnd.choice([1, 20, 300]), epsilon=wide(0.01, 1)),
            ]
        )
        plan = {"adjacency": rnd.choice(["add", "remove", "add-or-remove"]), "round": [first]}
        delta = wide(1e-10, 0.1)
        low, high = 0.0, math.inf
        for gap in (0.3, 1e-2, 1e-3):
            found = hs.Plan.from_dict(plan).epsilon(delta, accountant="grid", gap=gap)
            low, high = max(low, found.lower), min(high, found.upper)
        assert low <= high, (plan, delta)
        assert oracle.delta(plan, high, 22) <= mp.mpf(repr(delta)), (plan, delta)
        assert low == 0 or oracle.delta(plan, low, 22) >= mp.mpf(repr(delta)), (plan, delta)
