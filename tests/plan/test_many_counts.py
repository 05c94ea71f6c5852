"""Discrete Laplace noise on counts that one record changes by up to 2^20."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.values.adjacency import Direction
from hockeystick.values.exact import decimal
from oracle.real import mp, to_mpf


def delta(distance: int, scale: float, epsilon: float) -> mp.mpf:
    """The delta of one round: the best of the half-lines of whole numbers, each by its closed form."""
    with mp.workdps(50):
        a, alpha = mp.exp(-1 / to_mpf(decimal(scale))), mp.exp(mp.mpf(epsilon))
        middle = int(mp.floor((distance - mp.mpf(epsilon) * to_mpf(decimal(scale))) / 2))
        tried = [min(max(j, 0), distance) for j in range(middle - 2, middle + 3)]
        return max(1 - (a ** (j + 1) + alpha * a ** (distance - j)) / (1 + a) for j in tried)


@settings(max_examples=12, deadline=None)
@given(st.integers(100_001, 2**20), st.floats(0.01, 1e3), st.floats(0.0, 0.98), st.booleans())
def test_one_round_is_its_closed_form(sensitivity: int, ratio: float, part: float, replaced: bool) -> None:
    scale = min(max(sensitivity * ratio, sensitivity / 100 + 1), 1e6)
    mechanism = hs.DiscreteLaplace(scale, sensitivity=sensitivity)
    direction = Direction.REPLACE_ONE if replaced else Direction.REMOVE
    distance = mechanism.distance(direction) * sensitivity
    epsilon = part * distance / scale
    plan = hs.Plan([hs.Round(mechanism)], "replace-one" if replaced else "add-or-remove")
    found, truth = plan.delta(epsilon), delta(distance, scale, epsilon)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 1e-9


def test_many_counts_are_sampled() -> None:
    found = hs.Plan([hs.Round(hs.DiscreteLaplace(2e4, sensitivity=110_000), hs.Poisson(0.01))]).delta(1.0)
    plain = hs.Plan([hs.Round(hs.Laplace(2 / 11), hs.Poisson(0.01))]).delta(1.0)
    assert found.upper == pytest.approx(plain.upper, rel=1e-3)


def test_larger_sensitivities_are_refused() -> None:
    with pytest.raises(hs.InvalidInputError, match="sensitivity must be a whole number from 1 to 1048576"):
        hs.DiscreteLaplace(1e6, sensitivity=2**20 + 1)
