"""The Skellam mechanism against Bessel functions of many digits: masses, losses, outcomes left out, deltas."""

from __future__ import annotations

import math
from decimal import localcontext
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ive

import hockeystick as hs
from hockeystick.numerics.rounding import TINY, UNIT_ROUNDOFF
from hockeystick.pairs.check import check_pair
from hockeystick.pairs.discrete import LEFT_OUT, _cut
from hockeystick.plan.mechanisms.skellam import SkellamPair

WIDE, LEAST = 1e-5, 1e-300  # relative width of a delta, and a delta that is none


def mass(variance: float, k: int) -> mpmath.mpf:
    """The probability of k, from the Bessel function."""
    with mpmath.workdps(50):
        return mpmath.exp(-variance) * mpmath.besseli(abs(k), variance)


def delta(variance: float, distance: int, epsilon: float, rate: float, add: bool) -> float:
    """The definition of delta, summed over all outcomes that count."""
    with mpmath.workdps(50):
        alpha, far = mpmath.exp(epsilon), int(12 * variance**0.5) + 60
        f = [mass(variance, k) for k in range(far + distance + 1)]
        laws = [((1 - rate) * f[abs(x)] + rate * f[abs(x - distance)], f[abs(x)]) for x in range(-far, far + distance)]
        return float(sum(max(q - alpha * p if add else p - alpha * q, 0) for p, q in laws))


@pytest.mark.parametrize("variance", ["0.01", "1", "40", "250000"])
@pytest.mark.parametrize("distance", [1, 2, 7, 1000])
def test_its_pair_fits_in_itself(variance: str, distance: int) -> None:
    check_pair(SkellamPair(distance, Fraction(variance)))


@pytest.mark.parametrize("variance", ["0.01", "0.7", "20", "3000"])
def test_masses_and_losses_are_those_of_bessel_functions(variance: str) -> None:
    pair = SkellamPair(3, Fraction(variance))
    atoms, ends = pair.atoms, len(pair.atoms.loss)
    first = -(ends - 2 - 4) // 2  # of the outcomes with atoms of their own, the first of which is at index 1
    with mpmath.workdps(50):
        v = mpmath.mpf(pair.variance.numerator) / pair.variance.denominator
        for at in (1, 2, ends // 3, ends // 2 - 1, ends // 2, ends // 2 + 1, ends // 2 + 2, ends - 2):
            x = first + at - 1
            p, q = mass(v, x - 3), mass(v, x)
            assert abs(atoms.log_p[at] - mpmath.log(p)) <= 8 * UNIT_ROUNDOFF * (1 + abs(mpmath.log(p)))
            assert abs(atoms.log_q[at] - mpmath.log(q)) <= 8 * UNIT_ROUNDOFF * (1 + abs(mpmath.log(q)))
            assert abs(atoms.loss[at] - mpmath.log(p / q)) <= 8 * UNIT_ROUNDOFF * abs(mpmath.log(p / q))


def test_much_noise_has_the_masses_of_scipy() -> None:
    """The series of many digits converges too slowly here; SciPy has 13 digits."""
    log_q = SkellamPair(1, Fraction(250_000)).atoms.log_q
    x, centre = np.arange(5000), len(log_q) // 2 - 1
    assert log_q[centre + x] == pytest.approx(np.log(ive(x, 250_000.0)), rel=0, abs=1e-11)


@pytest.mark.parametrize("variance", ["0.01", "1", "20", "3000", "250000"])
def test_the_smallest_double_is_more_than_the_mass_left_out(variance: str) -> None:
    log_q = SkellamPair(1, Fraction(variance)).atoms.log_q
    ratio = math.exp(log_q[-2] - log_q[-3])  # of the last two outcomes; the ratios fall
    assert log_q[-2] + math.log(ratio / (1 - ratio)) < -LEFT_OUT
    assert math.log(2) - LEFT_OUT < math.log(TINY)


@pytest.mark.parametrize("direction", ["add", "remove"])
@pytest.mark.parametrize("rate", [1.0, 0.1])
@pytest.mark.parametrize("variance", [0.5, 4.0, 150.0])
@pytest.mark.parametrize("sensitivity", [1, 5])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.8])
def test_deltas_are_sums_of_bessel_functions(
    direction: str, rate: float, variance: float, sensitivity: int, epsilon: float
) -> None:
    truth = delta(variance, sensitivity, epsilon, rate, direction == "add")
    found = hs.Plan([hs.Round(hs.Skellam(variance, sensitivity), hs.Poisson(rate))], direction).delta(epsilon)
    assert isinstance(found, hs.DeltaBound)
    assert found.lower <= truth * (1 + 1e-12)
    assert found.upper >= truth * (1 - 1e-12)
    assert found.upper - found.lower <= WIDE * truth + LEAST


def test_a_replaced_record_moves_the_count_twice_as_far() -> None:
    found = hs.Plan([hs.Round(hs.Skellam(4.0, 3))], "replace-one").delta(0.8)
    truth = delta(4.0, 6, 0.8, 1.0, False)
    assert found.ends["lower"] <= truth * (1 + 1e-12)
    assert found.ends["upper"] >= truth * (1 - 1e-12)


@pytest.mark.parametrize("smaller", [1, 2])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5, 1.0])
def test_a_smaller_difference_is_dominated(smaller: int, epsilon: float) -> None:
    """Check the lemma of the proof at distances below the largest."""
    assert delta(4.0, smaller, epsilon, 1.0, False) <= delta(4.0, 3, epsilon, 1.0, False)


@pytest.mark.parametrize("adjacency", ["add", "remove", "add-or-remove", "zero-out"])
def test_ten_rounds(adjacency: str) -> None:
    """Another accountant brackets this epsilon by 2.239954 and 2.240155."""
    found = hs.Plan([hs.Round(hs.Skellam(40.0), count=10)], adjacency).epsilon(1e-6)
    assert isinstance(found, hs.Bound)
    assert 2.240057 <= found.lower <= found.upper <= 2.240058


def test_the_context_of_the_caller_changes_nothing() -> None:
    usual = SkellamPair(2, Fraction(9)).atoms
    _cut.cache_clear()
    with localcontext() as context:
        context.prec = 3
        assert np.array_equal(SkellamPair(2, Fraction(9)).atoms.loss, usual.loss)


def test_every_accountant_answers_or_says_why_not() -> None:
    plan = hs.Plan([hs.Round(hs.Skellam(100.0, 2), count=50)])
    certified, refused = plan.epsilon(1e-6), []
    for name in hs.ACCOUNTANTS:
        try:
            ends = plan.epsilon(1e-6, accountant=name).ends
        except hs.UnsupportedError:  # an accountant may refuse, but not contradict
            refused.append(name)
        else:
            assert ends.get("upper", certified.upper) >= certified.lower
            assert ends.get("lower", certified.lower) <= certified.upper
    assert refused == ["characteristic-function"]  # the losses lie on no lattice


def test_its_variance_can_be_calibrated() -> None:
    plan = hs.Plan([hs.Round(hs.Skellam(1.0), count=10)])
    assert hs.calibrate(plan, "variance", hs.targets.Epsilon(2.2400575, 1e-6)).value == pytest.approx(40.0, rel=1e-5)


def test_users_with_too_many_records_are_refused() -> None:
    plan = hs.Plan([hs.Round(hs.Skellam(100.0))], unit="user", records_per_unit=1001)
    with pytest.raises(hs.UnsupportedError, match="up to a distance of 1000 counts"):
        plan.epsilon(1e-6)


def test_plan_files_know_it() -> None:
    plan = hs.Plan([hs.Round(hs.Skellam(6.0, 2), hs.Poisson(0.01), 1000)], delta=1e-6)
    assert plan.to_dict()["round"] == [
        {
            "mechanism": "skellam",
            "variance": 6.0,
            "sensitivity": 2,
            "sampling": "poisson",
            "sample_rate": 0.01,
            "count": 1000,
        }
    ]
    assert hs.Plan.from_dict(plan.to_dict()) == plan
    with pytest.raises(hs.InvalidInputError, match=r"variance must be a number from 0\.01 to 250000"):
        hs.Plan.from_dict({"round": [{"mechanism": "skellam", "variance": 0}]})
