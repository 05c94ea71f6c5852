"""Sides of pairs and errors of series where they are made: what is gathered, powers of series, tails, outcomes far out.

Each bound is held against mpmath, exact fractions or double precision far from its limits, on inputs made so that one
charge decides: two kinds in a box, a power of which only the size is known, noise whose outcomes far out fall slowly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from hockeystick.numerics.rounding import TINY, UNIT_ROUNDOFF
from hockeystick.pairs import (
    AllocationPair,
    BlackBoxPair,
    Composition,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
    PoissonSubstitutionPair,
)
from hockeystick.pairs import gathered as module
from hockeystick.pairs.discrete import DiscreteGaussianPair
from hockeystick.pairs.gathered import Gathered
from hockeystick.pairs.sampled.allocation_columns import Coefficients
from hockeystick.pairs.sampled.allocation_law import AllocationLaw
from hockeystick.pairs.sampled.allocation_series import Rows, powered

Number = Any
GROUPS = ((Fraction(1, 4), 1), (Fraction(1, 8), 2))


def even(mu: float, steps: int) -> AllocationLaw:
    """An epoch of equally likely steps."""
    return AllocationLaw(mu, Fraction(0), ((Fraction(1, steps), steps),))


# What is gathered -----------------------------------------------------------------------------------------------------


def laplace_delta(distance: Number, scale: Number, epsilon: Number) -> Number:
    """``1 - e^((epsilon - distance / scale) / 2)``, 0 from the largest loss on."""
    return -mp.expm1(min(epsilon - distance / scale, mpf(0)) / 2)


def density_delta(p: Number, q: Number, epsilon: Number) -> Number:
    """The integral of ``(p - e^epsilon q)^+`` by a sum over nodes: the sides differ by far more than it errs."""
    step = mpf(1) / 16
    nodes = [j * step for j in range(-12 * 16, 16 * 16)]
    return step * mp.fsum(max(p(x) - mp.exp(epsilon) * q(x), mpf(0)) for x in nodes)


def sampled(mu: Number, rate: Number, sign: int) -> Any:
    """The density of a normal law of which a share has moved."""
    return lambda x: (1 - rate) * mp.npdf(x) + rate * mp.npdf(x - sign * mu)


def epoch_delta(mu: Number, weights: list[Number], constant: Number, add: bool, epsilon: Number) -> Number:
    """Of an epoch of two steps or three: the sum of ``(Lambda - e^epsilon)^+``, or its mirror image."""
    x = np.linspace(-8.0, 10.0, 120)
    y, mass = np.exp(mu * x - 0.5 * mu * mu), np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    total, weight = np.array([constant]), np.ones(1)
    for share in weights:
        total, weight = np.add.outer(total, share * y).ravel(), np.multiply.outer(weight, mass).ravel()
    excess = 1 - math.exp(epsilon) * total if add else total - math.exp(epsilon)
    return float((weight * np.maximum(excess, 0.0)).sum())


def true_delta(pair: DominatingPair, epsilon: float) -> Number:
    """Of one round, from its definition."""
    if isinstance(pair, LaplacePair):
        return laplace_delta(mpf(pair.distance), mpf(pair.scale), mpf(epsilon))
    if isinstance(pair, BlackBoxPair):  # the worst pair of Kairouz, Oh and Viswanath
        odds = mp.exp(mpf(pair.epsilon))
        return pair.delta + (1 - pair.delta) * max((odds - mp.exp(epsilon)) / (1 + odds), mpf(0))
    if isinstance(pair, PoissonRemovePair | PoissonAddPair):
        assert isinstance(pair.base, GaussianPair)
        one, other = sampled(mpf(pair.base.mu), mpf(pair.rate), 1), mp.npdf
        p, q = (one, other) if isinstance(pair, PoissonRemovePair) else (other, one)
        return density_delta(p, q, mpf(epsilon))
    if isinstance(pair, PoissonSubstitutionPair):
        one, other = (sampled(mpf(pair.mu), mpf(pair.rate), sign) for sign in (1, -1))
        return density_delta(one, other, mpf(epsilon))
    assert isinstance(pair, AllocationPair)
    law = pair.law
    assert isinstance(law, AllocationLaw)
    weights = [float(weight) for weight, steps in law.groups for _ in range(steps)]
    return epoch_delta(law.mu, weights, float(law.constant), pair.add, epsilon)


FAMILIES: dict[str, list[DominatingPair]] = {
    "Laplace": [LaplacePair(1.0, 1.0), LaplacePair(1.0, 2.5)],
    "Laplace, two distances": [LaplacePair(1.0, 2.0), LaplacePair(1.0, 2.5), LaplacePair(3.0, 2.2)],
    "black boxes": [BlackBoxPair(0.3, 0.01), BlackBoxPair(0.9, 0.001), BlackBoxPair(0.5, 0.1)],
    "removed": [PoissonRemovePair(GaussianPair(1.0), 0.3), PoissonRemovePair(GaussianPair(2.0), 0.1)],
    "added": [PoissonAddPair(GaussianPair(1.0), 0.5), PoissonAddPair(GaussianPair(2.0), 0.2)],
    "replaced": [PoissonSubstitutionPair(1.0, 0.3), PoissonSubstitutionPair(1.6, 0.1)],
    "epochs": [AllocationPair(even(0.5, 2), False), AllocationPair(even(1.5, 2), False)],
    "epochs, added": [AllocationPair(even(0.5, 2), True), AllocationPair(even(1.5, 2), True)],
    "epochs, two lengths": [AllocationPair(even(mu, steps), False) for mu, steps in ((1.0, 2), (1.2, 2), (1.1, 3))],
    "uneven epochs": [AllocationPair(AllocationLaw(mu, Fraction(1, 2), GROUPS), False) for mu in (0.5, 1.5)],
    "uneven epochs, added": [AllocationPair(AllocationLaw(mu, Fraction(1, 2), GROUPS), True) for mu in (0.5, 1.5)],
    "uneven epochs, two laws": [
        AllocationPair(AllocationLaw(1.3, Fraction(1, 2), GROUPS), False),
        AllocationPair(AllocationLaw(1.2, Fraction(1, 4), ((Fraction(1, 2), 1), (Fraction(1, 8), 2))), False),
    ],
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", FAMILIES)
def test_the_box_of_a_family_lies_on_either_side_of_its_rounds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deltas from the definitions of the pairs: of each side in order of size, those of the rounds between them.

    No box is cut, so that there is one for each order; every pair is run three times.
    """
    monkeypatch.setattr(module, "KINDS", 1)
    monkeypatch.setattr(module, "MIXTURES", 1)
    composition = Composition([(pair, 3) for pair in FAMILIES[name]])
    found = Gathered(composition, many=True)
    sides = (found.milder, composition, found.worse)
    assert [side.count for side in sides] == [3 * len(FAMILIES[name])] * 3
    for epsilon in (0.0, 0.2, 0.5):
        with mp.workdps(15):
            each = [sorted(d for pair, n in side.rounds for d in [true_delta(pair, epsilon)] * n) for side in sides]
        for low, middle, high in zip(*each, strict=True):
            assert low <= middle * (1 + 1e-6)
            assert middle <= high * (1 + 1e-6)


def test_rounds_of_no_known_order_are_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a box of Laplace rounds a round of discrete noise is what it is, as often as it is run."""
    monkeypatch.setattr(module, "KINDS", 1)
    noise = DiscreteGaussianPair(1, Fraction(25))
    found = Gathered(Composition([(LaplacePair(1.0, 2.0), 1), (LaplacePair(1.0, 3.0), 1), (noise, 4)]), many=True)
    for side in (found.milder, found.worse):
        assert dict(side.rounds)[noise] == 4


# Powers of series -----------------------------------------------------------------------------------------------------


def of_step(first: complex, doubt: float, rest: list[float], errors: list[float]) -> Coefficients:
    """Coefficients at one node: log e_0, what it may be off by, the others, and what they may be off by."""
    return Coefficients(
        np.array([first + 0j]), np.array([doubt]), np.array(rest, dtype=np.complex128).reshape(-1, 1),
        np.array(errors, dtype=np.float64).reshape(-1, 1),
    )  # fmt: skip


def power_of(step: Coefficients, t: int) -> Rows:
    """The power of an epoch of t equally likely steps."""
    return powered(even(1.0, t), [step], np.ones(1, dtype=complex))


def true_power(first: Number, rest: list[Number], t: int, rows: Rows) -> Number:
    """``n! [h^n] (sum_k e_k (h/t)^k)^t`` over the scale of the rows, to 60 digits, by Miller's recurrence."""
    n = len(rest)
    a = [value * mp.exp(-first) * mpf(t) ** -(k + 1) for k, value in enumerate(rest)]
    found = [mpf(1)]
    for m in range(1, n + 1):
        found.append(mp.fsum((k * (t + 1) - m) * a[k - 1] * found[m - k] for k in range(1, m + 1)) / m)
    log_scale = mpf(float(rows.log_scale[0]))
    # the scale of all rows is n!, to a rounding of its own
    assert rows.log_shared == pytest.approx(math.lgamma(n + 1), abs=0)
    return found[n] * mp.exp(t * first - log_scale)


OFF = [  # log e_0, its error, coefficients, their errors, steps
    (0.0, 0.01, [], [], 50),  # the first coefficient alone, to the power 50
    (-0.7, 0.0099, [], [], 100),
    (0.1, 0.0, [1.0], [0.01], 20),  # an error of the only other one is that of the result
    (0.1, 0.0, [1.0, 0.4], [0.0, 0.2], 3),
    (-0.2, 0.001, [0.9, 0.5, 0.1], [0.01, 0.02, 0.05], 1000),
    (-0.2, 0.01, [0.9, 0.5, 0.1], [0.01, 0.02, 0.05], 2),  # by squaring
    (0.25, 0.0625, [], [], 100),  # only the size of the power is known
    (0.3, 0.05, [1.0, 0.5], [0.01, 0.01], 100),
    (0.3, 2.0, [1.0], [0.3], 7),
]


@pytest.mark.parametrize(("first", "doubt", "rest", "errors", "t"), OFF)
@pytest.mark.parametrize("side", [1, -1])
def test_errors_of_the_coefficients_are_those_of_the_power(
    first: float, doubt: float, rest: list[float], errors: list[float], t: int, side: int
) -> None:
    """Each coefficient is off by all that is stated, the same way; a sum of moduli is met by numbers of one sign."""
    rows = power_of(of_step(first, doubt, rest, errors), t)
    with mp.workdps(60):
        moved = [mpf(value) + side * mpf(error) for value, error in zip(rest, errors, strict=True)]
        truth = true_power(mpf(first) + side * mpf(doubt), moved, t, rows)
        assert abs(mp.mpc(complex(rows.value[0])) - truth) <= rows.error[0]


@pytest.mark.parametrize("first", [-0.3 + 2.0j, -1.1 + 0.7j, -0.02 - 1.3j, -5.7 + 3.1j])
@pytest.mark.parametrize("t", [10**6 + 3, 10**9 + 7, 10**11 + 19])
def test_roundings_of_a_high_power_are_charged(first: complex, t: int) -> None:
    """Size and phase of the power lose the digits that ``t log e_0`` has before its point."""
    rows = power_of(of_step(first, 0.0, [], []), t)
    with mp.workdps(60):
        assert abs(mp.mpc(complex(rows.value[0])) - true_power(mp.mpc(first), [], t, rows)) <= rows.error[0] < 1


@pytest.mark.parametrize("size", [1.1e-99, 3.7e-98, 2.3e-97, 7.9e-96, 5.3e-95, 1.3e93])
def test_roundings_of_the_scale_of_a_series_are_charged(size: float) -> None:
    """The power of h that brings small coefficients and large ones to 1 is off by the rounding of its logarithm."""
    rest = [size, 0.0, 0.0]
    rows = power_of(of_step(0.0, 0.0, rest, [0.0] * 3), 1000)
    with mp.workdps(60):
        truth = true_power(mpf(0), [mpf(value) for value in rest], 1000, rows)
        assert abs(mp.mpc(complex(rows.value[0])) - truth) <= rows.error[0] < 1e-9


def test_coefficients_that_underflow_are_charged() -> None:
    """``t^(1-k)`` of 10^9 steps and k = 40 is no double, and yet its term is next to all of the result."""
    rest, t = [1e-9, *([0.0] * 38), 1.0], 10**9
    rows = power_of(of_step(0.0, 0.0, rest, [0.0] * 40), t)
    with mp.workdps(60):
        truth = true_power(mpf(0), [mpf(value) for value in rest], t, rows)
        assert 0 < abs(mp.mpc(complex(rows.value[0])) - truth) <= rows.error[0]


# Outcomes far out -----------------------------------------------------------------------------------------------------


def weigh(variance: Fraction, last: int, distance: int) -> tuple[Number, Number]:
    """The mass beyond ``last`` on one side and beyond ``last + distance`` on the other, and the sum of all weights."""
    two, s = 2 * mpf(variance.numerator) / variance.denominator, math.sqrt(variance)
    far = [mp.exp(-mpf(k * k) / two) for k in range(last + 1, last + distance + 20 + math.ceil(3 * s))]
    total = 1 + 2 * mp.fsum(mp.exp(-mpf(k * k) / two) for k in range(1, 20 + math.ceil(12 * s)))
    return (mp.fsum(far) + mp.fsum(far[distance:])) / total, total


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(25), Fraction(10**4)])
@pytest.mark.parametrize("distance", [1, 3])
def test_what_stands_for_outcomes_far_out_is_above_their_mass(variance: Fraction, distance: int) -> None:
    """Of either law: at infinite loss what P has of them, and at its mirror image what Q has."""
    atoms = DiscreteGaussianPair(distance, variance).atoms
    finite = np.isfinite(atoms.loss)
    last = (int(finite.sum()) - distance - 1) // 2
    with mp.workdps(30):
        beyond = weigh(variance, last, distance)[0]
        for masses, loss in ((atoms.log_p, math.inf), (atoms.log_q, -math.inf)):
            assert beyond <= mpf(float(np.exp(masses[atoms.loss == loss]).sum())) <= TINY


@pytest.mark.parametrize("variance", [Fraction(1, 25), Fraction(1, 4), Fraction(4, 5), Fraction(1), Fraction(36, 25)])
def test_masses_of_narrow_noise_are_known_to_roundings(variance: Fraction) -> None:
    """Next to s = 1, where the sum of all weights is no longer that of continuous noise, and below."""
    found = DiscreteGaussianPair(1, variance).log_normaliser
    with mp.workdps(30):
        assert abs(mpf(found) - mp.log(weigh(variance, 1, 1)[1])) <= 16 * UNIT_ROUNDOFF * (1 + found)


@pytest.mark.parametrize(("first", "doubt", "t"), [(0.0, 0.05, 100), (-50.3, 0.3, 10**6), (-55.3, 0.3, 10**9 + 7)])
def test_the_size_of_a_power_of_which_nothing_else_is_known_is_charged_for_its_rounding(
    first: float, doubt: float, t: int
) -> None:
    """The largest power that the error of e_0 allows, over the scale that is stated: more than 1 by roundings alone."""
    for i in range(12):
        nothing = np.empty((0, 1))
        at = first - i
        found = power_of(Coefficients(np.array([at + 0j]), np.array([doubt]), nothing.astype(complex), nothing), t)
        with mp.workdps(40):
            most = mp.exp(t * (mpf(at) + mpf(doubt)) - mpf(float(found.log_scale[0])))
            assert most <= float(found.error[0]) < 1.001


def test_the_size_of_a_product_of_which_nothing_else_is_known_is_charged_for_its_rounding() -> None:
    """An epoch of a thousand million equal steps and one that is larger, each e_0 known to a third of its logarithm."""
    count = 10**9
    law = AllocationLaw(1.0, Fraction(0), ((Fraction(1, 2), 1), (Fraction(1, 2 * count), count)))
    nothing = np.empty((0, 1))
    for i in range(12):
        at, doubt = -50.3 - i, 0.3
        given = Coefficients(np.array([at + 0j]), np.array([doubt]), nothing.astype(complex), nothing)
        found = powered(law, [given, given], np.ones(1, dtype=complex))
        with mp.workdps(40):
            most = mp.exp((count + 1) * (mpf(at) + mpf(doubt)) - mpf(float(found.log_scale[0])))
            assert most <= float(found.error[0]) < 1.001
