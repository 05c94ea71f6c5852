"""Brent's method written out: the places, the order and the bits of SciPy's ``brentq``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from hockeystick.numerics.roots import ITERATIONS, ROOT_GAP, root

FUNCTIONS: dict[str, Callable[[float, float], float]] = {
    "line": lambda x, at: x - at,
    "far off": lambda x, at: 1e200 * (x - at),
    "tiny": lambda x, at: 1e-310 * (x - at),
    "cubic": lambda x, at: (x - at) ** 3,
    "exponential": lambda x, at: math.exp(min(x, 700.0)) - math.exp(min(at, 700.0)),
    "step": lambda x, at: math.copysign(1.0, x - at),
    "step with a slope": lambda x, at: math.copysign(1.0, x - at) + 1e-3 * (x - at),
    "logarithm": lambda x, at: math.log1p(abs(x)) - math.log1p(abs(at)),
    "infinite": lambda x, at: math.inf if x > at else x - at - 1,
    "arctangent": lambda x, at: math.atan(1e6 * (x - at)),
    "level on one side": lambda x, at: max(x - at, -1e-30),
    "underflowing": lambda x, at: math.copysign((x - at) ** 2 * 1e-300, x - at),
}
"""Functions with a root at a place, or a jump across 0 there: smooth, flat, steep, without a slope."""


def visited(
    search: Callable[[Callable[[float], float]], float], function: Callable[[float], float]
) -> tuple[str | None, list[str]]:
    """What a search finds, and all places at which it asks, each to the last bit."""
    places: list[str] = []

    def asked(x: float) -> float:
        places.append(float(x).hex())
        return function(x)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(search(asked)).hex(), places
    except (ValueError, RuntimeError) as error:
        return type(error).__name__, places


@given(
    st.sampled_from(sorted(FUNCTIONS)),
    st.floats(-1e3, 1e3) | st.floats(0, 1e-200) | st.sampled_from([0.0, 1.0]),
    st.floats(0, 1e4),
    st.floats(0, 1e4) | st.floats(0, 1e-6),
    st.sampled_from([1e-300, 1e-12, 1e-3]),
    st.sampled_from([ROOT_GAP, 1e-14, 1e-9]),
)
def test_each_place_and_the_root_are_those_of_scipy(
    name: str, at: float, below: float, above: float, xtol: float, rtol: float
) -> None:
    function = FUNCTIONS[name]
    low, high = at - below, at + above
    ours = visited(lambda f: root(f, low, high, xtol=xtol, rtol=rtol), lambda x: function(x, at))
    theirs = visited(
        lambda f: brentq(f, low, high, xtol=xtol, rtol=rtol, maxiter=ITERATIONS), lambda x: function(x, at)
    )
    assert ours == theirs


def test_a_root_far_below_the_ends_takes_more_steps_than_scipy_allows_by_itself() -> None:
    assert abs(root(lambda x: x - 1e-250, 0.0, 1.0, xtol=1e-300, rtol=1e-13) - 1e-250) < 1e-262


def test_what_has_no_root_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a root needs different signs at 1.0 and 2.0"):
        root(lambda x: x, 1.0, 2.0, xtol=1e-12)
    with pytest.raises(ValueError, match="the function is no number"):
        root(lambda x: x - 0.3 if x in (0.0, 1.0) else math.nan, 0.0, 1.0, xtol=1e-12)
