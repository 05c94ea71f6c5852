"""Nested boxes below a density: what they hold, and what they bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hockeystick.numerics.boxes import Boxes


def test_a_valley_is_filled_from_below() -> None:
    boxes = Boxes.below(np.array([0.1, 0.4, 0.2, 0.3]), np.ones(4))
    assert boxes.area.sum() == pytest.approx(0.1 + 0.4 + 0.2 + 0.2)
    assert sorted(boxes.half[boxes.area > 0]) == [0.5, 1.5, 2.0]


def test_all_lobes_of_a_box_lie_below_its_bound() -> None:
    """Also those of heights beyond an edge."""
    alone = Boxes.below(np.ones(1), np.ones(1))
    for s in (0.5, 3.0, 6.5, 9.0, 15.4):
        truth = max(abs(math.sin(u) / u) for u in (0.5 * s * (1 + 0.01 * n) for n in range(600)))
        assert math.log(truth) <= float(alone.log_bound(np.array([s]))[0]) <= min(math.log(truth) + 0.9, 0.0)


def test_half_a_law_keeps_the_other_half() -> None:
    """What lies in no box falls by nothing."""
    bounds = Boxes.below(np.array([0.25]), np.array([2.0])).log_bound(np.array([1.0, 1e6]))
    assert bounds[1] == pytest.approx(math.log(0.5), abs=1e-5)
    assert math.log(0.5 + 0.5 * math.sin(1.0)) <= bounds[0] < 0


def test_laws_side_by_side_are_as_each_alone() -> None:
    draw = np.random.default_rng(2)
    height, length, edges = draw.random((3, 7)), draw.random((3, 7)), 5 * draw.random((3, 4))
    height /= 4 * (height * length).sum(axis=1, keepdims=True)
    together = Boxes.below(height, length).log_bound(edges)
    for row in range(3):
        assert (Boxes.below(height[row], length[row]).log_bound(edges[row]) == together[row]).all()
