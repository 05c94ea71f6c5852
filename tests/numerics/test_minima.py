"""Golden sections and parabolas written out: the places, the order and the bits of SciPy's ``minimize_scalar``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from hockeystick.numerics.minima import least_place

FUNCTIONS: dict[str, Callable[[float, float], float]] = {
    "square": lambda x, at: (x - at) ** 2,
    "distance": lambda x, at: abs(x - at),
    "level": lambda x, at: 1.0,
    "falling": lambda x, at: -x,
    "rising": lambda x, at: 1e200 * x,
    "waves": lambda x, at: math.cos(7 * x) + 0.1 * (x - at) ** 2,
    "fourth power": lambda x, at: 1e-250 * (x - at) ** 4,
    "infinite above": lambda x, at: math.inf if x > at else -x,
    "infinite": lambda x, at: math.inf,
    "no number above": lambda x, at: math.nan if x > at else -x,
    "stairs": lambda x, at: float(round(4 * abs(x - at))),
}
"""Functions with a minimum at a place, several, none inside, or values that are no numbers."""


@given(
    st.sampled_from(sorted(FUNCTIONS)),
    st.floats(-50, 50),
    st.floats(-50, 50),
    st.floats(0, 50) | st.floats(0, 1e-9),
    st.sampled_from([1e-12, 1e-5, 1e-3, 0.1]),
)
def test_each_place_is_that_of_scipy(name: str, at: float, low: float, width: float, xtol: float) -> None:
    asked: dict[str, list[str]] = {"ours": [], "theirs": []}

    def noted(x: float, whose: str) -> float:
        asked[whose].append(float(x).hex())
        return FUNCTIONS[name](x, at)

    found = least_place(lambda x: noted(x, "ours"), low, low + width, xtol=xtol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        true = minimize_scalar(
            lambda x: noted(float(x), "theirs"), bounds=(low, low + width), method="bounded", options={"xatol": xtol}
        )
    assert asked["ours"] == asked["theirs"]
    assert found.hex() == float(true.x).hex()
