"""Few unsampled Laplace rounds: the closed form against integrals in mpmath and the oracle."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import mpmath
import pytest
from flint import arb

import oracle
from hockeystick import Laplace, Plan, Round
from hockeystick.engines.proof.closed import LaplaceSum
from hockeystick.numerics.balls import MOST_TERMS, ball, precision
from oracle.real import to_fraction


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("half", ["0.01", "1.25", "30"])
def test_the_parts_are_tails_of_the_exponential_series(count: int, half: str) -> None:
    """``2 sum of x^m / m!`` over m = c + 1, c + 3, ..."""
    with precision(900):
        found = LaplaceSum(Counter({Fraction(1): count}))._parts(arb(half))
        assert len(found) == count + 1
        with mpmath.workdps(60):
            for c, part in enumerate(found):
                x = mpmath.mpf(half)
                truth = 2 * mpmath.fsum(x**m / mpmath.factorial(m) for m in range(c + 1, c + 401, 2))
                assert abs(part - arb(mpmath.nstr(truth, 40))) < 1e-35 * part


@pytest.mark.parametrize("theta", [Fraction(1, 10), Fraction(3, 2), Fraction(6)])
def test_one_and_two_rounds_by_integration(theta: Fraction) -> None:
    """Over the outcomes of one or two rounds: ``int (p - e^eps q)_+``, the kinks at the ends of panels."""
    with mpmath.workdps(30):
        shift = mpmath.mpf(theta.numerator) / theta.denominator
        eps = 2 * shift / 5

        def excess(level: mpmath.mpf) -> mpmath.mpf:
            """delta of one round at any real level."""
            if level >= shift:
                return mpmath.mpf(0)
            if level <= -shift:
                return 1 - mpmath.exp(level)
            return 1 - mpmath.exp((level - shift) / 2)

        def weighed(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp(-abs(x - shift)) / 2 * excess(eps - abs(x) + abs(x - shift))

        knots = [-60, -20, -5, 0, *(shift * i / 10 for i in range(1, 11)), shift + 5, shift + 20, shift + 60]
        two = mpmath.quad(weighed, knots, maxdegree=8)
        single = excess(eps)
    with precision(200):
        at = ball(2 * theta / 5)
        for count, truth in ((1, single), (2, two)):
            found = LaplaceSum(Counter({theta: count})).delta(at)
            assert abs(found - arb(mpmath.nstr(truth, 28))) < 1e-18 * found


MOST_ROUNDS = math.isqrt(MOST_TERMS) - 1  # of one scale


@pytest.mark.parametrize("count", [3, 10, MOST_ROUNDS])
@pytest.mark.parametrize(("scale", "share"), [(1.0, 0.25), (10.0, 0.8), (0.3, 0.125)])
def test_few_rounds_against_the_oracle(count: int, scale: float, share: float) -> None:
    """Up to where the contour takes over."""
    plan = {"adjacency": "remove", "round": [{"mechanism": "laplace", "scale": scale, "count": count}]}
    epsilon = share * count / scale
    found = Plan.from_dict(plan).delta(epsilon, proof=True)
    truth, slack = to_fraction(oracle.delta(plan, Fraction(repr(epsilon)), digits=20)), Fraction(1, 10**18)
    assert Fraction(found.log_delta.lower) < 0
    assert Fraction(found.lower) * (1 - slack) <= truth <= Fraction(found.upper) * (1 + slack)
    assert found.upper - found.lower <= 1e-6 * found.upper
    assert found.accountant == "closed form"
    more = Plan([(MOST_ROUNDS + 2) * Round(Laplace(1.0))]).delta(60.0, proof=True)
    assert more.accountant == "contour"


@pytest.mark.parametrize("delta", [1e-3, 1e-10, 1e-40, 1e-100])
def test_epsilon_up_to_the_largest_loss(delta: float) -> None:
    """delta is met between the ends: neighbours, or one double apart where the nearer one prints as beyond it."""
    plan = Plan([10 * Round(Laplace(10.0))])
    found = plan.epsilon(delta, proof=True)
    assert found.upper <= 1.0
    assert found.upper in (above := math.nextafter(found.lower, 2.0), math.nextafter(above, 2.0))
    with precision(800):
        law = LaplaceSum(Counter({Fraction(1, 10): 10}))
        assert law.delta(arb(found.lower)) > ball(Fraction(repr(delta)))
        assert law.delta(arb(found.upper)) <= ball(Fraction(repr(delta)))
        assert law.delta(arb(1)).is_zero()
        assert law.delta(arb(math.nextafter(1.0, 0.0))) > 0


def test_equal_rounds_are_gathered() -> None:
    """Also where they come apart."""
    apart = Plan([Round(Laplace(2.0)), 3 * Round(Laplace(2.0))]).delta(0.5, proof=True)
    assert apart == Plan([4 * Round(Laplace(2.0))]).delta(0.5, proof=True)


@pytest.mark.parametrize("epsilon", [0.25, 0.9, 1.9, 2.4])
def test_several_scales_against_the_oracle(epsilon: float) -> None:
    """On either side of where single terms of the sum end."""
    scales = ((2.0, 2), (4.0, 1), (1.0, 1))
    entries = [{"mechanism": "laplace", "scale": scale, "count": count} for scale, count in scales]
    plan = {"adjacency": "remove", "round": entries}
    found = Plan.from_dict(plan).delta(epsilon, proof=True)
    if epsilon > 2.25:
        assert found.upper == 0.0
        return
    truth, slack = to_fraction(oracle.delta(plan, Fraction(repr(epsilon)), digits=20)), Fraction(1, 10**18)
    assert Fraction(found.lower) * (1 - slack) <= truth <= Fraction(found.upper) * (1 + slack)
    assert found.upper - found.lower <= 1e-6 * found.upper
    assert found.accountant == "closed form"
