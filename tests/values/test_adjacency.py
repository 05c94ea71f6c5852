"""Neighbouring relations and directions as people name them."""

from __future__ import annotations

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.values.adjacency import Adjacency, Direction


@pytest.mark.parametrize("given", [np.array([0.5, 0.7]), ["add"], {}, None, 3, "replace"], ids=str)
def test_what_is_no_adjacency_is_refused_with_the_names(given: object) -> None:
    """Whatever it is: an array has no truth value when it is compared with a name, and a list no hash."""
    with pytest.raises(hs.InvalidInputError, match="adjacency must be one of 'add-or-remove', 'add', 'remove'"):
        hs.Accountant(given)  # type: ignore[arg-type]


@pytest.mark.parametrize("direction", Direction)
def test_a_direction_is_looked_up_by_its_name(direction: Direction) -> None:
    """It equals the text, and has its hash."""
    assert {direction: 1}[direction.value] == {direction.value: 1}[direction] == 1  # type: ignore[index]


def test_the_directions_of_zero_out_set_a_contribution_to_nothing() -> None:
    """Those, and no others."""
    assert [one for one in Direction if one.zeroes] == list(Adjacency.ZERO_OUT.directions)
