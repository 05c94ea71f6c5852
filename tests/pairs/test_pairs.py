"""Every family of dominating pairs against plain formulas in high precision, over wide ranges of parameters."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import (
    BlackBoxPair,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
    PoissonSubstitutionPair,
    SmoothPart,
)
from hockeystick.pairs.check import check_pair
from hockeystick.pairs.sampled.poisson import mixed_loss, unmixed_loss

Array = npt.NDArray[np.float64]
Number = Any  # an mpmath number, real or complex
Density = Callable[[Number], Number]

DIGITS = 40


def mpf(x: float | Fraction) -> Number:
    exact = Fraction(x)
    return mpmath.mpf(exact.numerator) / mpmath.mpf(exact.denominator)


# --- the pairs again, in mpmath: densities as sums of plain exponentials, never in log space ---


@dataclass(frozen=True)
class Exact:
    """P and Q: densities over an interval and masses of atoms (both as functions of the outcome's place in the law).

    Attributes:
        p, q: densities, entire functions.
        ends: the interval of the densities.
        means: where the densities have their bulk.
        atoms: (P-mass, Q-mass) in order of increasing loss.
    """

    p: Density
    q: Density
    ends: tuple[Number, Number]
    means: tuple[Number, ...]
    atoms: tuple[tuple[Number, Number], ...] = ()

    def loss(self, x: Number) -> Number:
        return mpmath.log(self.p(x) / self.q(x))


def normal(mean: Number) -> Density:
    return lambda x: mpmath.exp(-((x - mean) ** 2) / 2) / mpmath.sqrt(2 * mpmath.pi)


def mixture(q: Number, without: Density, with_: Density) -> Density:
    return lambda x: (1 - q) * without(x) + q * with_(x)


def nothing(x: Number) -> Number:
    raise AssertionError("no densities")


@functools.singledispatch
def exact(pair: object) -> Exact:
    raise NotImplementedError(pair)


@exact.register
def _(pair: GaussianPair) -> Exact:
    mu = mpf(pair.mu)
    return Exact(normal(mu), normal(mpf(0)), (-mpmath.inf, mpmath.inf), (mpf(0), mu))


@exact.register
def _(pair: LaplacePair) -> Exact:
    theta = mpf(Fraction(pair.distance) / Fraction(pair.scale))
    high, low = mpf(0.5), mpmath.exp(-theta) / 2
    return Exact(
        lambda x: mpmath.exp(x - theta) / 2,
        lambda x: mpmath.exp(-x) / 2,
        (mpf(0), theta),
        (),
        ((low, high), (high, low)),
    )


@exact.register
def _(pair: BlackBoxPair) -> Exact:
    e, d = mpmath.exp(mpf(pair.epsilon)), mpf(pair.delta)
    low, high = (1 - d) / (1 + e), (1 - d) * e / (1 + e)
    atoms: tuple[tuple[Number, Number], ...] = ((low, high), (high, low))
    if pair.delta:
        atoms = ((mpf(0), d), *atoms, (d, mpf(0)))
    return Exact(nothing, nothing, (mpf(0), mpf(0)), (), atoms)


@exact.register
def _(pair: PoissonRemovePair) -> Exact:
    return with_record_removed(pair.base, mpf(pair.rate))


def with_record_removed(base_pair: object, q: Number) -> Exact:
    """The laws after sampling: with the record's mixture as P."""
    base = exact(base_pair)
    atoms = tuple(((1 - q) * o + q * w, o) for w, o in base.atoms)
    return Exact(mixture(q, base.q, base.p), base.q, base.ends, base.means, atoms)


@exact.register
def _(pair: PoissonAddPair) -> Exact:
    remove = with_record_removed(pair.base, mpf(pair.rate))
    low, high = remove.ends
    return Exact(
        lambda x: remove.q(-x),
        lambda x: remove.p(-x),
        (-high, -low),
        tuple(-mean for mean in remove.means),
        tuple((q, p) for p, q in reversed(remove.atoms)),
    )


@exact.register
def _(pair: PoissonSubstitutionPair) -> Exact:
    mu, q = mpf(pair.mu), mpf(pair.rate)
    without = normal(mpf(0))
    return Exact(
        mixture(q, without, normal(mu)),
        mixture(q, without, normal(-mu)),
        (-mpmath.inf, mpmath.inf),
        (-mu, mpf(0), mu),
    )


# --- the parameters ---

MUS = [1e-6, 0.02, 1.0, 5.0, 40.0]
RATES = [1e-12, 1e-4, 0.3, 1 - 1e-12]
THETAS = [(1.0, 1e5), (1.0, 3.0), (2.0, 1.0), (1.0, 0.02)]
BLACK_BOXES = [
    BlackBoxPair(0.0),
    BlackBoxPair(1e-9),
    BlackBoxPair(0.7),
    BlackBoxPair(50.0),
    BlackBoxPair(0.3, 1e-12),
    BlackBoxPair(2.0, 0.25),
]
BASES: list[GaussianPair | LaplacePair] = [
    *(GaussianPair(mu) for mu in MUS),
    *(LaplacePair(*theta) for theta in THETAS),
]

UNSAMPLED: list[DominatingPair] = [*BASES]
SAMPLED: list[DominatingPair] = [
    kind(base, rate) for kind, base, rate in itertools.product((PoissonRemovePair, PoissonAddPair), BASES, RATES)
]
SUBSTITUTION: list[DominatingPair] = [PoissonSubstitutionPair(mu, q) for mu in MUS for q in RATES]
SAMPLED_BOXES: list[DominatingPair] = [
    kind(base, rate) for kind, base, rate in itertools.product((PoissonRemovePair, PoissonAddPair), BLACK_BOXES, RATES)
]
SMOOTH = UNSAMPLED + SAMPLED + SUBSTITUTION
EVERY = SMOOTH + list[DominatingPair](BLACK_BOXES) + SAMPLED_BOXES


def label(pair: object) -> str:
    return str(pair).replace("Pair", "").replace("distance=", "").replace("scale=", "/")


every_pair = pytest.mark.parametrize("pair", EVERY, ids=label)
every_smooth_pair = pytest.mark.parametrize("pair", SMOOTH, ids=label)

mus = st.floats(1e-6, 40.0)
rates = st.one_of(st.floats(1e-12, 0.5), st.floats(1e-12, 0.5).map(lambda q: 1 - q))
bases = st.one_of(
    st.builds(GaussianPair, mus), st.builds(LaplacePair, st.sampled_from([1.0, 2.0]), st.floats(0.02, 1e5))
)
smooth_pairs = st.one_of(
    bases,
    st.builds(PoissonRemovePair, bases, rates),
    st.builds(PoissonAddPair, bases, rates),
    st.builds(PoissonSubstitutionPair, mus, rates),
)


def smooth_of(pair: DominatingPair) -> SmoothPart:
    assert pair.smooth is not None
    return pair.smooth


def outcomes(pair: DominatingPair, count: int = 25, log_mass: float = -80.0) -> Array:
    """Outcomes all over the support, the ends left out."""
    low, high = smooth_of(pair).support(log_mass)
    random = np.random.default_rng(5)
    return np.sort(low + (high - low) * np.concatenate([random.uniform(size=count - 2), [1e-9, 1 - 1e-9]]))


# --- laws ---


@every_smooth_pair
def test_densities_agree_with_exact_ones(pair: DominatingPair) -> None:
    """``log_p`` and ``loss`` err by at most ``log_p_error`` and ``loss_error`` units of the unit round-off."""
    agree(pair)


@settings(max_examples=150, deadline=None)
@given(smooth_pairs)
def test_densities_of_random_pairs_agree_with_exact_ones(pair: DominatingPair) -> None:
    """The same at parameters nobody chose."""
    agree(pair)


def agree(pair: DominatingPair) -> None:
    smooth, x = smooth_of(pair), outcomes(pair)
    found = zip(
        *(f(x).tolist() for f in (smooth.log_p, smooth.log_p_error, smooth.loss, smooth.loss_error)), strict=True
    )
    with mpmath.workdps(DIGITS + 30):
        truth = exact(pair)
        for at, (log_p, log_p_error, loss, loss_error) in zip(x.tolist(), found, strict=True):
            here = mpf(at)
            assert abs(log_p - mpmath.log(truth.p(here))) <= log_p_error * UNIT_ROUNDOFF
            assert abs(loss - truth.loss(here)) <= loss_error * UNIT_ROUNDOFF


@pytest.mark.parametrize("mu", MUS, ids="mu {:g}".format)
def test_the_errors_cover_the_rounding_of_a_folded_mu(mu: float) -> None:
    """ "a folded mu has four" roundings: the errors hold against the loss with mu anywhere within 4 u."""
    pair = GaussianPair(mu)
    smooth, x = pair.smooth, outcomes(pair)
    with mpmath.workdps(DIGITS):
        for side in (-4, 4):
            true_mu = mpf(mu) * (1 + side * mpf(UNIT_ROUNDOFF))
            for at, loss, loss_error, log_p, log_p_error in zip(
                x.tolist(), smooth.loss(x), smooth.loss_error(x), smooth.log_p(x), smooth.log_p_error(x), strict=True
            ):
                here = mpf(at)
                assert abs(float(loss) - true_mu * (here - true_mu / 2)) <= float(loss_error) * UNIT_ROUNDOFF
                true_log_p = mpmath.log(normal(true_mu)(here))
                assert abs(float(log_p) - true_log_p) <= float(log_p_error) * UNIT_ROUNDOFF


@every_smooth_pair
def test_outcome_is_the_inverse_of_loss(pair: DominatingPair) -> None:
    """``outcome`` lands where the exact loss is the asked one, up to twice what a cell is charged for rounding.

    An edge that is off by so little moves a share of its square only: no statement rests on the factor.
    """
    inverse(pair)


@settings(max_examples=150, deadline=None)
@given(smooth_pairs)
def test_outcome_is_the_inverse_of_loss_of_random_pairs(pair: DominatingPair) -> None:
    """The same at parameters nobody chose."""
    inverse(pair)


def inverse(pair: DominatingPair) -> None:
    smooth = smooth_of(pair)
    low, high = smooth.loss(np.array(smooth.support(-80.0)))
    losses = np.random.default_rng(6).uniform(low, high, 25)
    x = smooth.outcome(losses)
    errors = smooth.loss_error(x)
    with mpmath.workdps(DIGITS + 30):
        truth = exact(pair)
        for loss, at, error in zip(losses.tolist(), x.tolist(), errors.tolist(), strict=True):
            assert abs(truth.loss(mpf(at)) - loss) <= 2 * UNIT_ROUNDOFF * (error + 4 * abs(loss))


@settings(max_examples=200, deadline=None)
@given(smooth_pairs, st.floats(0, 1), st.floats(0, 1))
def test_loss_increases(pair: DominatingPair, a: float, b: float) -> None:
    """The loss increases in x, so that a cell of losses is an interval of outcomes."""
    smooth = smooth_of(pair)
    low, high = smooth.support(-60.0)
    x = low + (high - low) * np.sort(np.array([a, b]))
    first, second = smooth.loss(x)
    assert first <= second + UNIT_ROUNDOFF * float(smooth.loss_error(x).max())
    with mpmath.workdps(DIGITS):
        truth = exact(pair)
        assert truth.loss(mpf(float(x[0]))) <= truth.loss(mpf(float(x[1]))) + mpmath.mpf(10) ** (5 - DIGITS)


def mass(density: Density, truth: Exact, power: Callable[[Number], Number] = lambda x: mpmath.mpf(1)) -> Number:
    """The integral of a density, cut around its bulk."""
    low, high = truth.ends
    if not truth.means:
        return mpmath.quad(density, [low, (low + high) / 2, high])
    cuts = sorted({mean + step for mean in truth.means for step in (-14, -6, -2, 0, 2, 6, 14)})
    return mpmath.quad(density, cuts)


@pytest.mark.parametrize("pair", [pair for pair in EVERY if getattr(pair, "rate", 0.3) == 0.3], ids=label)
def test_both_laws_have_mass_one(pair: DominatingPair) -> None:
    """P and Q are probability laws: densities and atoms together make 1."""
    with mpmath.workdps(25):
        truth = exact(pair)
        for density, which in ((truth.p, 0), (truth.q, 1)):
            smooth = mass(density, truth) if pair.smooth is not None else mpmath.mpf(0)
            assert abs(smooth + mpmath.fsum(atom[which] for atom in truth.atoms) - 1) < 1e-20


@settings(max_examples=150, deadline=None)
@given(smooth_pairs)
def test_random_pairs_fit_in_themselves(pair: DominatingPair) -> None:
    check_pair(pair)


@every_pair
def test_pairs_fit_in_themselves(pair: DominatingPair) -> None:
    check_pair(pair)


@every_pair
def test_atoms(pair: DominatingPair) -> None:
    """Atoms come in order of loss, with the exact masses, and ``loss = log p - log q``."""
    atoms = pair.atoms
    assert len(atoms.loss) == len(atoms.log_p) == len(atoms.log_q)
    assert (np.diff(atoms.loss[np.isfinite(atoms.loss)]) >= 0).all()
    assert atoms.loss.tolist() == sorted(atoms.loss.tolist())
    with mpmath.workdps(DIGITS):
        truth = exact(pair)
        assert len(truth.atoms) == len(atoms.loss)
        rows = zip(truth.atoms, atoms.loss.tolist(), atoms.log_p.tolist(), atoms.log_q.tolist(), strict=True)
        for (p, q), loss, log_p, log_q in rows:
            for true, log in ((p, log_p), (q, log_q)):
                if true == 0:
                    assert log == -math.inf
                else:
                    assert abs(log - mpmath.log(true)) <= 16 * UNIT_ROUNDOFF * (1 + abs(mpmath.log(true)))
            if p == 0:
                assert loss == -math.inf
            elif q == 0:
                assert loss == math.inf
            else:
                # cells.py charges an atom 4 u |loss| and, below that, its mass an error of 16 u
                assert abs(loss - mpmath.log(p / q)) <= 4 * UNIT_ROUNDOFF * abs(loss) + 1e-300
    finite = atoms.finite()
    assert np.isfinite(finite.loss).all()
    assert pair.infinite_mass == pytest.approx(sum(float(p) for p, q in truth.atoms if q == 0), rel=1e-14)


@every_pair
def test_loss_range(pair: DominatingPair) -> None:
    """The finite losses lie in ``loss_range``, and come near its ends."""
    low, high = pair.loss_range
    atoms = pair.atoms.finite()
    losses = atoms.loss[np.isfinite(atoms.log_p)].tolist()
    if pair.smooth is not None:
        with mpmath.workdps(400):  # far out, where the loss of a mixture is at its end up to e^-800
            truth = exact(pair)
            ends = truth.ends
            if not truth.means:
                losses += [float(truth.loss(end)) for end in ends]
            else:
                far = 50 * (1 + max(map(abs, truth.means))) + 800 / min(abs(m) for m in truth.means if m)
                losses += [float(truth.loss(-far)), float(truth.loss(far))]
    slack = 1e-14
    assert min(losses) >= low - slack * abs(low)
    assert max(losses) <= high + slack * abs(high)
    assert min(losses) < -700 if math.isinf(low) else min(losses) == pytest.approx(low, rel=1e-13, abs=1e-300)
    assert max(losses) > 700 if math.isinf(high) else max(losses) == pytest.approx(high, rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("pair", [*(LaplacePair(*theta) for theta in THETAS), *BLACK_BOXES], ids=label)
def test_exact_supremum(pair: DominatingPair) -> None:
    """The largest finite loss as an exact number: parameters are read as the decimals they print as."""
    if isinstance(pair, LaplacePair):
        expected = Fraction(repr(pair.distance)) / Fraction(repr(pair.scale))
    else:
        assert isinstance(pair, BlackBoxPair)
        expected = Fraction(repr(pair.epsilon))
    assert pair.exact_supremum == expected
    assert float(expected) == pytest.approx(pair.loss_range[1], rel=1e-15)


def test_decimals_are_read_as_written() -> None:
    """0.1 is a tenth, so that ten rounds of it have supremum 1."""
    assert LaplacePair(1.0, 10.0).exact_supremum == BlackBoxPair(0.1).exact_supremum == Fraction(1, 10)
    assert PoissonRemovePair(GaussianPair(1.0), 0.1).exact_supremum is None


@pytest.mark.parametrize("pair", [*UNSAMPLED, *SUBSTITUTION, *BLACK_BOXES], ids=label)
def test_symmetric_pairs_are_their_own_mirror_image(pair: DominatingPair) -> None:
    """-L under Q has the law of L under P: one direction stands for both."""
    atoms = pair.atoms
    np.testing.assert_allclose(atoms.loss, -atoms.loss[::-1])
    np.testing.assert_allclose(atoms.log_p, atoms.log_q[::-1], rtol=1e-15)
    if pair.smooth is None:
        return
    with mpmath.workdps(DIGITS + 30):
        truth = exact(pair)
        centre = (truth.ends[0] + truth.ends[1] if not truth.means else truth.means[0] + truth.means[-1]) / 2
        for at in outcomes(pair).tolist():
            x = mpf(at)
            mirror = 2 * centre - x
            assert mpmath.almosteq(truth.p(x), truth.q(mirror), 1e-30)
            assert abs(truth.loss(x) + truth.loss(mirror)) <= 1e-30 * (1 + abs(truth.loss(x)))


@pytest.mark.parametrize("pair", [pair for pair in SAMPLED if isinstance(pair, PoissonRemovePair)], ids=label)
def test_add_is_remove_with_the_laws_swapped(pair: PoissonRemovePair) -> None:
    """Zhu, Dong, Wang 2022, Theorem 11: (O, (1-q) O + q W) against ((1-q) O + q W, O)."""
    add = PoissonAddPair(pair.base, pair.rate)
    x = outcomes(pair)
    assert np.array_equal(smooth_of(add).loss(-x), -smooth_of(pair).loss(x))
    log_q = smooth_of(pair).log_p(x) - smooth_of(pair).loss(x)
    np.testing.assert_allclose(smooth_of(add).log_p(-x), log_q, rtol=1e-12, atol=1e-12)
    assert add.loss_range == (-pair.loss_range[1], -pair.loss_range[0])
    assert np.array_equal(add.atoms.log_p, pair.atoms.log_q[::-1])
    assert np.array_equal(add.atoms.log_q, pair.atoms.log_p[::-1])


def grows_within_bounds(pair: DominatingPair, x: float, growth: float, z: complex) -> None:
    with mpmath.workdps(DIGITS):
        truth, here = exact(pair), mpf(x)
        for step in (mpmath.mpc(z), mpmath.mpc(0, z.imag)):
            factor = mpmath.exp(mpf(growth) * abs(step) + abs(step) ** 2 / 2) * (1 + mpmath.mpf(10) ** (10 - DIGITS))
            for density in (truth.p, truth.q):
                assert abs(density(here + step)) <= density(here) * factor


@every_smooth_pair
def test_growth_at_fixed_places(pair: DominatingPair) -> None:
    """``|p(x + z)| <= p(x) exp(growth |z| + |z|^2 / 2)`` for complex z, likewise q: quadrature rests on it."""
    x = outcomes(pair, 8)
    for at, growth in zip(x.tolist(), smooth_of(pair).growth(x).tolist(), strict=True):
        for z in (0.01j, 1j, 7j, 0.3 + 0.3j, -0.3 + 2j, 1.5, -1.5, 5 - 5j):
            grows_within_bounds(pair, at, growth, z)


@settings(max_examples=200, deadline=None)
@given(smooth_pairs, st.floats(0, 1), st.complex_numbers(max_magnitude=30.0))
def test_growth(pair: DominatingPair, share: float, z: complex) -> None:
    """The same anywhere."""
    low, high = smooth_of(pair).support(-80.0)
    x = low + share * (high - low)
    grows_within_bounds(pair, x, float(smooth_of(pair).growth(np.array([x]))[0]), z)


def upper_tail(mean: Number, x: Number) -> Number:
    return mpmath.erfc((x - mean) / mpmath.sqrt(2)) / 2


@every_smooth_pair
def test_support_leaves_little_outside(pair: DominatingPair) -> None:
    """P has mass at most ``exp(log_mass)`` on either side of ``support(log_mass)``."""
    for log_mass in (-0.5, -5.0, -60.0, -2000.0):
        leaves_little_outside(pair, log_mass)


def leaves_little_outside(pair: DominatingPair, log_mass: float) -> None:
    low, high = map(mpf, smooth_of(pair).support(log_mass))
    with mpmath.workdps(DIGITS):
        truth = exact(pair)
        if not truth.means:
            slack = 4 * UNIT_ROUNDOFF * abs(truth.ends[1] - truth.ends[0])  # of theta = distance / scale
            assert low <= truth.ends[0] + slack
            assert high >= truth.ends[1] - slack
            return
        allowed = mpmath.exp(mpf(log_mass))
        for mean in truth.means if not isinstance(pair, PoissonSubstitutionPair) else truth.means[1:]:
            assert upper_tail(mean, high) <= allowed
            assert upper_tail(-mean, -low) <= allowed


@pytest.mark.parametrize("pair", BLACK_BOXES, ids=label)
def test_black_box_meets_its_guarantee_with_equality(pair: BlackBoxPair) -> None:
    """Kairouz, Oh, Viswanath 2015, Theorem 3.4: ``H_{e^eps}(P || Q) = delta``, the guarantee and no more.

    For every e >= -eps, ``H_{e^e} = delta + (1 - delta) (e^eps - e^e)_+ / (1 + e^eps)``: their trade-off in this form.
    """
    atoms = pair.atoms
    with mpmath.workdps(DIGITS):
        p = [mpmath.exp(mpf(log)) if log > -math.inf else mpf(0) for log in atoms.log_p.tolist()]
        q = [mpmath.exp(mpf(log)) if log > -math.inf else mpf(0) for log in atoms.log_q.tolist()]
        assert abs(mpmath.fsum(p) - 1) < 1e-14
        assert abs(mpmath.fsum(q) - 1) < 1e-14
        epsilon, delta = mpf(pair.epsilon), mpf(pair.delta)
        for share in (-1, -0.5, 0, 0.25, 1, 1.5):
            at = mpmath.exp(share * epsilon)
            divergence = mpmath.fsum(max(a - at * b, 0) for a, b in zip(p, q, strict=True))
            inside = max(mpmath.exp(epsilon) - at, 0) / (1 + mpmath.exp(epsilon))
            assert abs(divergence - (delta + (1 - delta) * inside)) <= 1e-13
        assert pair.infinite_mass == pytest.approx(pair.delta, rel=1e-15)


@pytest.mark.parametrize("rate", [1e-12, 1e-6, 0.01, 0.5, 0.99, 1 - 1e-6, 1 - 1e-12], ids="rate {!r}".format)
def test_mixed_loss_and_back(rate: float) -> None:
    """``psi(l) = log(1 - q + q e^l)`` errs by a few units of ``|psi|`` and of its slope times ``|l|``.

    Its inverse finds a base loss with nearly that psi: it errs by a few units of ``|l|`` and of ``log(1 - q)``.
    """
    sizes = np.geomspace(1e-14, 745.0, 60)
    losses = np.concatenate([-sizes[::-1], [0.0], sizes, [1e4]])
    psi = mixed_loss(losses, rate)
    back = unmixed_loss(psi, rate)
    assert (np.diff(psi) >= 0).all()
    with mpmath.workdps(500):
        q = mpf(rate)
        for loss, value, returned in zip(losses.tolist(), psi.tolist(), back.tolist(), strict=True):
            true = mpmath.log1p(q * mpmath.expm1(mpf(loss)))
            slope = q * mpmath.exp(mpf(loss) - true)
            error = 16 * UNIT_ROUNDOFF * (abs(true) + slope * abs(loss))
            assert abs(value - true) <= error
            again = mpmath.log1p(q * mpmath.expm1(mpf(returned))) if returned > -math.inf else mpmath.log1p(-q)
            slope = q * mpmath.exp(mpf(returned) - again) if returned > -math.inf else mpf(0)
            size = abs(true) + (slope * (abs(mpf(returned)) - mpmath.log1p(-q) / 4) if slope else 0)
            assert abs(again - value) <= 16 * UNIT_ROUNDOFF * size
    assert mixed_loss(np.array([-np.inf, np.inf]), rate).tolist() == [math.log1p(-rate), math.inf]
    assert unmixed_loss(np.array([math.log1p(-rate), -1e9]), rate).tolist() == [-math.inf, -math.inf]


@settings(max_examples=300, deadline=None)
@given(st.floats(-700, 700).filter(lambda loss: loss == 0 or abs(loss) > 1e-280), rates)
def test_mixed_loss_of_random_arguments(loss: float, rate: float) -> None:
    """The error law of psi at arguments nobody chose, rates to within 1e-12 of 0 and of 1."""
    value = float(mixed_loss(np.array([loss]), rate)[0])
    with mpmath.workdps(400):
        q = mpf(rate)
        true = mpmath.log1p(q * mpmath.expm1(mpf(loss)))
        slope = q * mpmath.exp(mpf(loss) - true)
        assert abs(value - true) <= 16 * UNIT_ROUNDOFF * (abs(true) + slope * abs(loss))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(1e-3, 10.0), st.integers(1, 10**6)), min_size=1, max_size=4))
def test_gaussians_fold(rounds: list[tuple[float, int]]) -> None:
    """Dong, Roth, Su 2022, Corollary 3.3: mu^2 adds up; the folded mu has at most four roundings."""
    [(folded, count)] = GaussianPair.fold([(GaussianPair(mu), k) for mu, k in rounds])
    assert count == 1
    square = sum((k * Fraction(mu) ** 2 for mu, k in rounds), Fraction(0))
    low, high = (Fraction(folded.mu) * (1 + side * 4 * Fraction(UNIT_ROUNDOFF)) for side in (-1, 1))
    assert low**2 <= square <= high**2
