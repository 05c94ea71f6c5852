"""Several releases about one batch as one round, and clips of parts as one: against products of laws, and by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick import InvalidInputError

PARTS = st.lists(st.floats(0.01, 1e3), min_size=1, max_size=5)


@given(PARTS)
def test_joint_noise_is_rounded_down(noises: list[float]) -> None:
    """As the decimal that it prints as, which is what a plan of that noise reads it as."""
    found = Fraction(repr(hs.joint_noise_multiplier(noises)))
    total = sum(1 / Fraction(repr(noise)) ** 2 for noise in noises)
    assert 1 - Fraction(1, 10**14) <= found**2 * total <= 1


@given(PARTS)
def test_norms_of_parts_are_rounded_up(norms: list[float]) -> None:
    found, total = hs.clipping_norm(norms), sum(Fraction(repr(norm)) ** 2 for norm in norms)
    assert Fraction(repr(found)) ** 2 >= total
    assert found <= math.hypot(*norms) * (1 + 1e-14)


def test_unsampled_it_is_the_composition_of_the_releases() -> None:
    joint = hs.Plan([hs.Round(hs.Gaussian(hs.joint_noise_multiplier([2.0, 3.0, 6.0])), count=4)])
    apart = hs.Plan([hs.Round(hs.Gaussian(noise), count=4) for noise in (2.0, 3.0, 6.0)])
    assert joint.epsilon(1e-6).upper == pytest.approx(apart.epsilon(1e-6).upper, rel=1e-9)


def test_on_one_sampled_batch_it_is_a_mixture_in_the_plane() -> None:
    """Delta of the law of two releases with one coin, by a sum over the plane: and not that of two batches."""
    rate, first, second, epsilon = 0.2, 1.5, 2.0, 0.3
    noise = hs.joint_noise_multiplier([first, second])
    step = 0.02
    x = np.arange(-10, 10, step) + step / 2
    plain = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    moved = [np.exp(-((x - 1 / s) ** 2) / 2) / math.sqrt(2 * math.pi) for s in (first, second)]
    q = np.multiply.outer(plain, plain)
    p = (1 - rate) * q + rate * np.multiply.outer(*moved)
    truth = float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) * step**2
    found = hs.dp_sgd(noise, rate, 1, adjacency="remove").delta(epsilon)
    assert found.upper == pytest.approx(truth, rel=1e-3)
    twice = hs.dp_sgd(first, rate, 1, adjacency="remove") + hs.dp_sgd(second, rate, 1, adjacency="remove")
    assert twice.delta(epsilon).upper < 0.9 * found.upper  # what two batches would cost is no bound for one


def test_none_and_nothing_are_refused() -> None:
    for function, key in ((hs.joint_noise_multiplier, "noise_multipliers"), (hs.clipping_norm, "norms")):
        for wrong in ([], [0.0], [1.0, -2.0], [math.nan]):
            with pytest.raises(InvalidInputError, match=key):
                function(wrong)
