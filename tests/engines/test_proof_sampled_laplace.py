"""Proofs for sampled Laplace noise: the rule, the transform, its decay and the intervals, against mpmath."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import pytest
from flint import acb, arb

import oracle
from hockeystick import Direction, Plan, UnsupportedError
from hockeystick.engines.proof import sampled_laplace
from hockeystick.engines.proof.rounds import SampledLaplace
from hockeystick.engines.proof.sampled_laplace import SampledLaplaceBalls, SampledLaplaceDecay
from hockeystick.numerics.ball_gauss import gauss_error, gauss_rule
from hockeystick.numerics.balls import above, precision
from oracle.real import to_fraction

Number = Any
DIRECTIONS = [Direction.REMOVE, Direction.ADD]
ROUNDS = [  # theta, rate, tilt
    (Fraction(1), Fraction(1, 100), 2.0),
    (Fraction(1, 10), Fraction(1, 2), 0.3),
    (Fraction(5), Fraction(1, 100), 0.8),
    (Fraction(3), Fraction(1, 20), 40.0),
]


@pytest.mark.parametrize(("points", "pole"), [(1, 3.0), (4, 1.5), (9, 1.1)])
def test_gauss_and_its_remainder(points: int, pole: float) -> None:
    """``1 / (pole - x)``: the error is below the bound for every ellipse, and within 100 of the best of them."""
    with precision(120):
        value = sum((weight / (arb(pole) - node) for node, weight in gauss_rule(points)), arb(0))
        error = float(abs(value - ((arb(pole) + 1) / (arb(pole) - 1)).log()))
        edge = pole + math.sqrt(pole * pole - 1)
        bounds = []
        for share in (0.5, 0.8, 0.9, 0.95):
            rho = arb(1 + share * (edge - 1))
            bounds.append(float(gauss_error(points, rho, 1 / (arb(pole) - (rho + 1 / rho) / 2))))
        assert error < min(bounds) < 400 * error
        assert math.isinf(float(gauss_error(points, arb(1), arb(1))))
        for degree in range(2 * points):
            power = sum((weight * node**degree for node, weight in gauss_rule(points)), arb(0))
            assert power.contains(arb(2) / (degree + 1) if degree % 2 == 0 else 0)


def integral(item: SampledLaplace, z: Number) -> Number:
    """m(z), over the outcomes x."""
    with mpmath.workdps(30):
        theta = mpmath.mpf(item.theta.numerator) / item.theta.denominator
        q = mpmath.mpf(item.rate.numerator) / item.rate.denominator
        power = -z if item.direction is Direction.ADD else 1 + z

    def weight(x: Number) -> Number:
        ratio = mpmath.exp(abs(x) - abs(x - theta))
        return mpmath.exp(-abs(x)) / 2 * mpmath.exp(power * mpmath.log(1 - q + q * ratio))

    with mpmath.workdps(30):
        knots = [-80, -40, -20, -10, -5, 0, *(theta * i / 8 for i in range(1, 9)), *(theta + 2**i for i in range(7))]
        return mpmath.quad(weight, knots, maxdegree=8)


def item_of(theta: Fraction, rate: Fraction, direction: Direction) -> SampledLaplace:
    return SampledLaplace(theta, rate, direction)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("theta", "rate", "t"), ROUNDS)
@pytest.mark.parametrize("log_tolerance", [-1.0, -12.0, -40.0])
@pytest.mark.share(3)
def test_the_transform_with_its_remainder(
    direction: Direction, theta: Fraction, rate: Fraction, t: float, log_tolerance: float
) -> None:
    """It holds the integral, and is as narrow as was asked."""
    with precision(130):
        found = SampledLaplaceBalls(item_of(theta, rate, direction)).values(t, 7.5, 4, log_tolerance)
        for j in (0, 1, 3):
            truth = integral(item_of(theta, rate, direction), mpmath.mpc(t, 7.5 * j))
            exact = acb(mpmath.nstr(truth.real, 25), mpmath.nstr(truth.imag, 25))
            assert (found[j] + acb(arb(0, 1e-20), arb(0, 1e-20)) * found[0].real).contains(exact)
            assert found[j].real.rad() < 10 * math.exp(log_tolerance) * found[0].real


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_coarse_rule_needs_its_remainder(direction: Direction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it two points a panel are wrong, by less than the bound."""
    item = item_of(Fraction(3), Fraction(1, 20), direction)
    monkeypatch.setattr(SampledLaplaceBalls, "_rule", lambda *_: (2, 2.0))
    truth = integral(item, mpmath.mpc(2.0, 15.0))
    with precision(120):
        bound = SampledLaplaceBalls(item).values(2.0, 15.0, 2, -1.0)[1]
        monkeypatch.setattr(sampled_laplace, "gauss_error", lambda *_: arb(0))
        bare = SampledLaplaceBalls(item).values(2.0, 15.0, 2, -1.0)[1]
    error = abs(complex(bare.mid()) - complex(truth))
    assert float(bare.real.rad()) < 1e-20
    assert 1e-6 < error < float(bound.real.rad())


@pytest.mark.share(3)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("theta", "rate", "t"), ROUNDS)
def test_decay(direction: Direction, theta: Fraction, rate: Fraction, t: float) -> None:
    """Above ``|m(t + is)| / m(t)`` at s and all that is beyond, and a good part of the quadratic fall near 0."""
    item = item_of(theta, rate, direction)
    with precision(90):
        decay = SampledLaplaceDecay(item, t, 10_000)
        width = float(decay._width)
        for b in (0.05, 0.5, 1.5, 1.7, 4.0, 12.0, 60.0):
            s = 2 * b / width
            bound = above(decay.log_bound(s))
            values = SampledLaplaceBalls(item).values(t, s / 40, 240, -25.0)
            sizes = [float((abs(value) / values[0].real).log().upper()) for value in values]
            assert max(sizes[40:]) <= bound <= 0
            if b == 0.05 and t < 10:  # at a large tilt the law is at one end, and the two atoms say little
                assert bound <= 0.15 * sizes[40]
        assert above(decay.log_bound(400.0 / width)) < -0.002  # the smooth part has lost something for good


@pytest.mark.share(3)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("theta", "rate", "t"), ROUNDS)
def test_the_parts_of_the_decay(direction: Direction, theta: Fraction, rate: Fraction, t: float) -> None:
    """The tail is above the values it is for; the slope in s is at least their differences, and not much more."""
    item = item_of(theta, rate, direction)
    with precision(90):
        decay = SampledLaplaceDecay(item, t, 10_000)
        step = 0.1 / float(decay._width)
        sizes = [abs(value) for value in SampledLaplaceBalls(item).values(t, step, 3000, -25.0)]
        for j in range(1, 3000, 7):
            assert sizes[j] <= decay._tail(arb(step) * j)
        steepest = max(float(abs(a - b).upper()) for a, b in pairwise(sizes)) / step
        assert steepest <= float(decay._lambda) <= 20 * steepest
        masses = sum((mass for _, _, mass in decay._cells()), arb(0))
        assert decay._smooth <= masses
        assert masses <= (1.3 if t < 10 else 3) * decay._smooth


PLANS = [
    (1.0, 0.01, 1000, "remove", 1.0),
    (1.0, 0.01, 1000, "add", 0.9),
    (2.0, 0.05, 3000, "remove", 2.0),
    (1.0, 0.3, 200, "add", 6.0),
]


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize(("scale", "rate", "count", "adjacency", "epsilon"), PLANS)
def test_delta_against_the_oracle(scale: float, rate: float, count: int, adjacency: str, epsilon: float) -> None:
    entry = {"mechanism": "laplace", "scale": scale, "sampling": "poisson", "sample_rate": rate, "count": count}
    plan = {"adjacency": adjacency, "round": [entry]}
    found = Plan.from_dict(plan).delta(epsilon, proof=True)
    truth, slack = to_fraction(oracle.delta(plan, epsilon, digits=20)), Fraction(1, 10**18)
    assert Fraction(found.lower) * (1 - slack) <= truth <= Fraction(found.upper) * (1 + slack)
    assert found.upper - found.lower <= 1e-6 * found.upper


@pytest.mark.slow
def test_beside_other_rounds_against_the_oracle() -> None:
    """One of each kind that a proof can treat."""
    sampling = {"sampling": "poisson", "sample_rate": 0.02}
    rounds = [
        {"mechanism": "laplace", "scale": 1.0, **sampling, "count": 200},
        {"mechanism": "gaussian", "noise_multiplier": 0.8, **sampling, "count": 200},
        {"mechanism": "approximate-dp", "epsilon": 0.1, "delta": 1e-9, "count": 2},
    ]
    plan = {"adjacency": "remove", "round": rounds}
    found = Plan.from_dict(plan).delta(2.0, proof=True)
    truth, slack = to_fraction(oracle.delta(plan, 2.0, digits=20)), Fraction(1, 10**18)
    assert Fraction(found.lower) * (1 - slack) <= truth <= Fraction(found.upper) * (1 + slack)
    assert found.upper - found.lower <= 1e-6 * found.upper


@pytest.mark.parametrize("adjacency", ["add", "remove"])
def test_the_largest_loss(adjacency: str) -> None:
    """``k log(1 - q + q e^theta)``, or ``-k log(1 - q + q e^-theta)``; from there on delta is 0."""
    entry = {"mechanism": "laplace", "scale": 0.5, "sampling": "poisson", "sample_rate": 0.25, "count": 300}
    plan = Plan.from_dict({"adjacency": adjacency, "round": [entry]})
    with mpmath.workdps(30):
        sign = 1 if adjacency == "remove" else -1
        top = 300 * sign * mpmath.log(mpmath.mpf(3) / 4 + mpmath.exp(2 * sign) / 4)
        truth = to_fraction(top)
    found = plan.epsilon(0.0, proof=True)
    assert Fraction(found.lower) <= truth <= Fraction(found.upper)
    assert found.relative_gap < 1e-14
    assert plan.delta(1.001 * found.upper, proof=True).upper == 0.0
    assert plan.delta(0.9 * found.lower, proof=True).upper > 0


def test_a_tilt_out_of_range_is_refused() -> None:
    """Two rounds close to the largest loss: a refusal, and no arithmetic on what is not a number."""
    entry = {"mechanism": "laplace", "scale": 0.598, "sampling": "poisson", "sample_rate": 0.0785, "count": 2}
    with pytest.raises(UnsupportedError, match="no proof for this plan"):
        Plan.from_dict({"adjacency": "add", "round": [entry]}).epsilon(1.44e-19, proof=True)
