"""Sums of many numbers: every mass between its bounds, near them far into the tails, and with short periods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from hockeystick.pairs.sampled import ratio_sum
from hockeystick.pairs.sampled.ratio_sum import summed
from hockeystick.values.errors import UnsupportedError

BITS = 64
"""Binary digits of the masses of the tests."""


def exact(parts: Sequence[tuple[Sequence[float], int]]) -> list[Fraction]:
    """The law of the sum in fractions of the doubles: whole numbers over a power of 2."""
    out, shift = [1], 0
    for masses, count in parts:
        whole = [(j, int(Fraction(mass) * 2**BITS)) for j, mass in enumerate(masses) if mass]
        assert all(Fraction(number, 2**BITS) == Fraction(masses[j]) for j, number in whole)
        for _ in range(count):
            following = [0] * (len(out) + len(masses) - 1)
            for i, one in enumerate(out):
                for j, number in whole:
                    following[i + j] += one * number
            out, shift = following, shift + BITS
    return [Fraction(number, 2**shift) for number in out]


@pytest.mark.parametrize(
    "parts",
    [
        [([0.7, 0.3], 40)],
        [([0.9, 0.0, 0.0, 0.1], 25)],
        [([0.5, 0.25, 0.0, 0.2, 0.05], 20), ([0.6, 0.4], 7)],
        [([1.0, 0.0], 5)],
        [([0.0, 0.999, 0.0, 2.0**-10], 12)],
    ],
)
def test_every_mass_is_between_its_bounds(parts: list[tuple[list[float], int]]) -> None:
    law = exact(parts)
    arrays = [(np.array(masses), count) for masses, count in parts]
    above, below = summed(arrays, True), summed(arrays, False)
    for found, sign in ((above, 1), (below, -1)):
        assert sum(law[: found.first]) <= found.below
        assert sum(law[found.first + len(found.masses) :]) <= found.beyond + 1e-280
        for mass, truth in zip(found.masses.tolist(), law[found.first :], strict=False):
            assert sign * (Fraction(mass) - truth) >= 0
            if truth > Fraction(1, 10**100):
                assert mass == pytest.approx(float(truth), rel=1e-6)


def test_a_million_coins_against_the_binomial_law() -> None:
    coins, at = 1_000_000, 503_000
    arrays = [(np.array([0.5, 0.5]), coins)]
    above, below = summed(arrays, True), summed(arrays, False)
    truth = math.lgamma(coins + 1) - math.lgamma(at + 1) - math.lgamma(coins - at + 1) - coins * math.log(2)
    high, low = (math.log(found.masses[at - found.first]) for found in (above, below))
    assert low <= high
    assert high - low < 1e-6
    assert high == pytest.approx(truth, abs=1e-6)


def test_what_a_short_period_wraps_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """A period of hardly more than what is read of it, which is not made longer."""
    monkeypatch.setattr(ratio_sum, "PERIOD", 1.0)
    monkeypatch.setattr(ratio_sum, "LONGEST", 0)
    masses = [0.5, 0.2, 0.1, 0.1, 0.05, 0.05] + [0.0] * 10 + [2.0**-7]
    arrays = [(np.array(masses), 40)]
    law = exact([(masses, 40)])
    short = summed(arrays, False)
    for mass, truth in zip(short.masses.tolist(), law[short.first :], strict=False):
        assert Fraction(mass) <= truth
    long = summed(arrays, True)
    for mass, truth in zip(long.masses.tolist(), law[long.first :], strict=False):
        assert Fraction(mass) >= truth


def test_masses_beyond_the_list_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratio_sum, "DEPTH", 8.0)
    masses = [0.6, 0.3, 0.1]
    law = exact([(masses, 100)])
    found = summed([(np.array(masses), 100)], True)
    assert found.first > 0
    last = found.first + len(found.masses)
    assert last < len(law)
    assert 0 < sum(law[: found.first]) <= Fraction(found.below) < Fraction(1, 1000)
    assert 0 < sum(law[last:]) <= Fraction(found.beyond) < Fraction(1, 1000)


def test_a_transform_that_would_not_fit_into_memory_is_refused() -> None:
    """A thousand numbers with half of their mass a million apart: twenty standard deviations are 3e8 points."""
    masses = np.zeros(2**20 + 1)
    masses[[0, -1]] = 0.5
    with pytest.raises(UnsupportedError, match="fewer steps an epoch"):
        summed([(masses, 1000)], True)
