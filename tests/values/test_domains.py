"""The declared domain: its edges are accepted, and what lies just beyond them is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fuzz.cases.values import ASKED_BEYOND, BEYOND

import hockeystick as hs
from hockeystick.values import domains

EDGES = {
    "noise_multiplier": (0.01, 1e6), "scale": (0.01, 1e6), "sample_rate": (1e-10, 1 - 1e-6, 1.0),
    "batch_size": (1, 10**10), "count": (0, 10**12), "epsilon": (0.0, 1e-6, 100.0), "delta": (0.0, 1e-100, 0.999),
    "mu": (1e-6, 100.0), "rho": (1e-13, 1e4), "steps_per_epoch": (1, 10**10), "sensitivity": (1e-6, 2.0**20),
}  # fmt: skip


@pytest.mark.parametrize(("key", "made", "beyond"), BEYOND, ids=[key for key, _, _ in BEYOND])
def test_plans_are_accepted_up_to_the_edges_and_not_beyond(key: str, made: object, beyond: tuple[float, ...]) -> None:
    """A refusal names the key, what is accepted, and the value."""
    assert callable(made)
    for value in EDGES[key]:
        hs.Plan.from_dict(made(value))
    for value in beyond:
        with pytest.raises(hs.InvalidInputError, match=f"{key}.* must be .*received"):
            hs.Plan.from_dict(made(value))


@pytest.mark.parametrize("what", ASKED_BEYOND)
def test_questions_beyond_the_edges_are_refused(what: str) -> None:
    asked, beyond = ASKED_BEYOND[what]
    for value in beyond:
        with pytest.raises(
            (hs.InvalidInputError, hs.UnsupportedError), match=r"must be|accepts at most|accepts a delta"
        ):
            asked(value)


def test_questions_at_the_edges_are_answered() -> None:
    plan = hs.dp_sgd(1.0, 0.1, 10)
    assert plan.delta(1e4).log_delta.upper < -1e6
    assert plan.epsilon(1e-300).upper < 1e3
    assert plan.epsilon(1e-100, accountant="rdp").quoted < 1e3
    assert hs.dp_sgd(1e3, 1e-3, 10**12).epsilon(1e-5).upper < 1e2
    assert hs.dp_sgd(1e3, 1e-3, 10**9).epsilon(1e-5, accountant="rdp").quoted < 1e2


@pytest.mark.parametrize("one", [np.array, lambda number: np.array([[number]]), np.float64])
def test_one_element_is_a_number(one: Any) -> None:
    """As a training loop hands it over; a tensor answers alike."""
    assert hs.dp_sgd(one(1.1), one(0.01), one(100)) == hs.dp_sgd(1.1, 0.01, 100)
    assert hs.RandomizedResponse(one(0.5)) == hs.RandomizedResponse(0.5)
    with pytest.raises(hs.InvalidInputError, match=r"noise_multiplier must be a number .* received array"):
        hs.Gaussian(np.array([1.0, 2.0]))  # type: ignore[arg-type]
    for wrong in (True, "1"):
        with pytest.raises(hs.InvalidInputError, match="noise_multiplier must be a number"):
            hs.Gaussian(np.array([wrong]))  # type: ignore[arg-type]


def test_schema_says_both_parts_of_a_domain() -> None:
    assert domains.RATE.schema() == {"type": "number", "anyOf": [{"const": 1.0}, dict(domains.RATE.keywords)]}
