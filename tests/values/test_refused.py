"""What is no number refuses what numbers do, in one line that says which number to take."""

from __future__ import annotations

import math
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hockeystick as hs

BOUND = hs.Bound(2.38, 2.381, 2.383)
ABOVE = hs.UpperBound(2.5, "rdp")
NEAR = hs.Estimate(2.4, "gdp")
BAND = hs.epsilons([hs.dp_sgd(1.0, 0.01, 100), hs.dp_sgd(2.0, 0.01, 100)], 1e-5)

SENTENCES = {
    "bound": (BOUND, "a Bound is an interval, not a number; use .upper, the end that is safe to quote, or .lower"),
    "delta": (hs.dp_sgd(1.0, 0.01, 10).delta(1.0), "a DeltaBound is an interval, not a number; use .upper"),
    "upper bound": (ABOVE, "an UpperBound is not a number; use .upper, which is safe to quote"),
    "estimate": (NEAR, "an Estimate is not a number and may lie on either side of the truth; use .value"),
    "band": (BAND, "a PlanBand consists of arrays, not of one number; use .upper, the ends that are safe to quote"),
}

OPERATIONS: dict[str, Callable[[Any], object]] = {
    "x + 1": lambda x: x + 1,
    "1 + x": lambda x: 1 + x,
    "x - x": lambda x: x - x,
    "2 * x": lambda x: 2 * x,
    "x / 2": lambda x: x / 2,
    "x // 2": lambda x: x // 2,
    "x % 2": lambda x: x % 2,
    "x ** 2": lambda x: x**2,
    "divmod": lambda x: divmod(x, 2),
    "-x": operator.neg,
    "+x": operator.pos,
    "abs": abs,
    "x < 3": lambda x: x < 3,
    "x <= 3": lambda x: x <= 3,
    "3 < x": lambda x: 3 < x,  # noqa: SIM300
    "x >= x": lambda x: x >= x,
    "max": lambda x: max(x, x),
    "sorted": lambda x: sorted([x, x]),
    "sum": lambda x: sum([x, x]),
    "round": lambda x: round(x, 2),
    "math.floor": math.floor,
    "math.trunc": math.trunc,
    "int": int,
    "np.sqrt": np.sqrt,
    "np.float64 * x": lambda x: np.float64(2) * x,
    "np.array + x": lambda x: np.ones(2) + x,
    "np.less": lambda x: np.less(x, 3.0),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=list(OPERATIONS))
@pytest.mark.parametrize("kind", SENTENCES)
def test_one_line_says_what_to_take(kind: str, operation: Callable[[Any], object]) -> None:
    thing, said = SENTENCES[kind]
    with pytest.raises(TypeError) as refusal:
        operation(thing)
    assert str(refusal.value).startswith(said)
    assert "; received " in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_what_has_an_answer_is_answered() -> None:
    """Equality, the safe end as a float, and that rounded up."""
    assert hs.Bound(2.38, 2.381, 2.383) == BOUND
    assert BOUND != 2.383  # type: ignore[comparison-overlap]
    assert float(BOUND) == float(hs.UpperBound(2.383, "rdp")) == 2.383
    assert math.ceil(BOUND) == 3
    assert hash(BOUND) == hash(hs.Bound(2.38, 2.381, 2.383))
    assert pickle.loads(pickle.dumps(BOUND)) == BOUND  # our own
    assert not hasattr(BOUND, "__dict__")
    assert np.asarray([BOUND, BOUND], dtype=float).tolist() == [2.383, 2.383]
    assert len(BAND) == 2


def test_an_estimate_is_no_float() -> None:
    with pytest.raises(TypeError, match=r"use \.value; received float\(\)"):
        float(NEAR)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"use \.value; received float\(\)"):
        math.ceil(NEAR)  # type: ignore[call-overload]


def test_a_band_is_no_sequence_of_its_own() -> None:
    with pytest.raises(TypeError, match=r"use \.upper.*received an index"):
        BAND[0]  # type: ignore[index]
    with pytest.raises(TypeError, match=r"use \.upper.*received a loop over it"):
        list(BAND)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"use \.upper.*received float\(\)"):
        float(BAND)  # type: ignore[arg-type]
