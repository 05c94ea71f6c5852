"""An epsilon in plain words: the share of right guesses, against the exact worst pair."""

from __future__ import annotations

import math

import mpmath as mp
import pytest

from hockeystick import dp_sgd
from hockeystick.report.scale import scale_lines


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.3, 2.4, 12.0, 40.0, 800.0])
@pytest.mark.parametrize("delta", [0.0, 1e-9, 0.2])
def test_the_share_is_above_that_of_the_worst_pair_and_next_to_it(epsilon: float, delta: float) -> None:
    """The worst pair of [KOV15] has masses delta, (1 - delta) e^eps / (1 + e^eps), the rest; the better guess wins."""
    with mp.workdps(60):
        high = (1 - mp.mpf(delta)) * mp.exp(epsilon) / (1 + mp.exp(epsilon))
        right = 100 * (mp.mpf(delta) + high)  # those with infinite loss are known, of the others the likelier is named
        words = dict(scale_lines(dp_sgd(1.0, 0.01, 10), epsilon, delta))["in words"]
        stated = mp.mpf(words.partition("at most ")[2].partition("%")[0])
        assert right <= stated
        assert stated <= right + mp.mpf("0.1001")


def test_nothing_is_said_of_an_infinite_epsilon_or_one_ordering() -> None:
    assert scale_lines(dp_sgd(1.0, 0.01, 10), math.inf, 1e-5) == []
    assert scale_lines(dp_sgd(1.0, 0.01, 10, adjacency="add"), 1.0, 1e-5) == []
