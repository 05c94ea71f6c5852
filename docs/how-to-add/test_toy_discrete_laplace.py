"""The toy discrete Laplace mechanism: properties that its definition in the oracle does not test."""

from __future__ import annotations

import pytest

import hockeystick as hs
from hockeystick.pairs.check import check_pair
from hockeystick.plan.mechanisms.toy_discrete_laplace import ToyDiscreteLaplace, ToyDiscreteLaplacePair
from oracle.definition import Definition, counts, delta
from oracle.definitions import discrete_laplace


@pytest.mark.parametrize("scale", [0.1, 2.5, 1e6])
@pytest.mark.parametrize("distance", [1, 3, 1000])
def test_its_pair_fits_in_itself(scale: float, distance: int) -> None:
    check_pair(ToyDiscreteLaplacePair(distance, scale))


@pytest.mark.parametrize("smaller", [1, 2])
def test_a_smaller_difference_is_dominated(smaller: int) -> None:
    """Check the lemma of the proof at distances below the largest."""
    near, far = (Definition({}, *counts(-80, 80), discrete_laplace(2.0, each)).laws("remove") for each in (smaller, 3))
    for epsilon in (0.0, 0.2, 0.5, 1.0):
        assert delta(*near, epsilon, 1) <= delta(*far, epsilon, 1) + 1e-12


def test_its_pure_epsilon_is_exact() -> None:
    plan = hs.Plan([hs.Round(ToyDiscreteLaplace(0.1, 3), count=10)])
    assert plan.epsilon(0.0) == hs.Bound(300.0, 300.0, 300.0)


def test_every_accountant_answers_or_says_why_not() -> None:
    plan = hs.Plan([hs.Round(ToyDiscreteLaplace(20.0, 2), count=50)])
    certified, refused = plan.epsilon(1e-6), []
    for name in hs.ACCOUNTANTS:
        try:
            ends = plan.epsilon(1e-6, accountant=name).ends
        except hs.UnsupportedError:  # an accountant may refuse, but not contradict
            refused.append(name)
        else:
            assert ends.get("upper", certified.upper) >= certified.lower
            assert ends.get("lower", certified.lower) <= certified.upper
    assert refused == []


def test_plan_files_know_it() -> None:
    plan = hs.Plan([hs.Round(ToyDiscreteLaplace(2.5, 3), hs.Poisson(0.01), 1000)], delta=1e-6)
    assert plan.to_dict()["round"] == [
        {
            "mechanism": "toy-discrete-laplace",
            "scale": 2.5,
            "sensitivity": 3,
            "sampling": "poisson",
            "sample_rate": 0.01,
            "count": 1000,
        }
    ]
    assert hs.Plan.from_dict(plan.to_dict()) == plan
    with pytest.raises(hs.InvalidInputError, match="sensitivity must be a whole number"):
        hs.Plan.from_dict({"round": [{"mechanism": "toy-discrete-laplace", "scale": 1, "sensitivity": 0}]})
