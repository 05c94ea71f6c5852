"""The toy discrete Laplace mechanism against sums written down here, which share nothing with the library."""

from __future__ import annotations

from collections import defaultdict

import pytest
from mpmath import mp

import hockeystick as hs
from hockeystick.plan.mechanisms.toy_discrete_laplace import ToyDiscreteLaplace

FAR = 400
"""Answers farther out are left out: their probability is far below the 50 places that are compared."""


def true_delta(
    scale: float, distance: int, rounds: int, epsilon: float, rate: float = 1.0, add: bool = False
) -> mp.mpf:
    """delta by enumeration of all answers of one round, and of all sums of their losses, with 60 digits.

    Args:
        scale: of the noise, as the decimal that it prints as.
        distance: between the two centres.
        rounds: how many.
        epsilon: where.
        rate: with which the record is in the batch.
        add: whether the law without the record is the one whose loss it is.
    """
    with mp.workdps(60):
        r = mp.exp(-1 / mp.mpf(repr(scale)))
        q = mp.mpf(repr(rate))

        def noise(k: int) -> mp.mpf:
            return (1 - r) / (1 + r) * r ** abs(k)

        law: dict[int, tuple[mp.mpf, mp.mpf]] = defaultdict(lambda: (mp.zero, mp.zero))  # by j, which fixes the loss
        for k in range(-FAR, FAR + 1):
            j = min(max(k, 0), distance)
            without, with_it = noise(k), (1 - q) * noise(k) + q * noise(k - distance)
            p, other = (without, with_it) if add else (with_it, without)
            law[j] = law[j][0] + p, law[j][1] + other
        sums = {0: (mp.one, mp.one)}
        if rounds > 1:
            assert rate == 1.0  # then losses are an arithmetic progression, and their sums are known by that of the j
        for _ in range(rounds):
            longer: dict[int, tuple[mp.mpf, mp.mpf]] = defaultdict(lambda: (mp.zero, mp.zero))
            for at, (p, other) in sums.items():
                for j, (more_p, more_other) in law.items():
                    longer[at + j] = longer[at + j][0] + p * more_p, longer[at + j][1] + other * more_other
            sums = longer
        alpha = mp.exp(mp.mpf(repr(epsilon)))
        return mp.fsum(max(p - alpha * other, mp.zero) for p, other in sums.values())


def held(found: hs.DeltaBound, truth: mp.mpf) -> None:
    """The truth, which is known to 50 places, lies between the ends, and these are near each other."""
    assert found.lower - mp.mpf("1e-50") <= truth <= found.upper + mp.mpf("1e-50")
    assert found.upper - found.lower <= 1e-3 * found.upper


@pytest.mark.parametrize("adjacency", ["add", "remove", "replace-one"])
@pytest.mark.parametrize(("scale", "sensitivity"), [(2.0, 1), (2.5, 3), (0.7, 2)])
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_delta_is_that_of_all_answers(adjacency: str, scale: float, sensitivity: int, rounds: int) -> None:
    plan = hs.Plan([hs.Round(ToyDiscreteLaplace(scale, sensitivity), count=rounds)], adjacency)
    distance = 2 * sensitivity if adjacency == "replace-one" else sensitivity
    for epsilon in (0.0, 0.3, 1.0):
        held(plan.delta(epsilon), true_delta(scale, distance, rounds, epsilon))


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.2])
def test_sampled_it_is_the_mixture(add: bool, epsilon: float) -> None:
    plan = hs.Plan([hs.Round(ToyDiscreteLaplace(1.5, 2), hs.Poisson(0.1))], "add" if add else "remove")
    held(plan.delta(epsilon), true_delta(1.5, 2, 1, epsilon, 0.1, add))


@pytest.mark.parametrize("smaller", [1, 2])
def test_a_smaller_difference_is_dominated(smaller: int) -> None:
    """The lemma of the proof, at the distances below the largest."""
    for epsilon in (0.0, 0.2, 0.5, 1.0):
        assert true_delta(2.0, smaller, 1, epsilon) <= true_delta(2.0, 3, 1, epsilon)


def test_its_pure_epsilon_is_exact() -> None:
    plan = hs.Plan([hs.Round(ToyDiscreteLaplace(0.1, 3), count=10)])
    assert plan.epsilon(0.0) == hs.Bound(300.0, 300.0, 300.0)


def test_every_accountant_answers_or_says_why_not() -> None:
    plan = hs.Plan([hs.Round(ToyDiscreteLaplace(20.0, 2), count=50)])
    certified, refused = plan.epsilon(1e-6), []
    for name in hs.ACCOUNTANTS:
        try:
            ends = plan.epsilon(1e-6, accountant=name).ends
        except hs.UnsupportedError:  # with a reason: it may refuse, and may not contradict
            refused.append(name)
        else:
            assert ends.get("upper", certified.upper) >= certified.lower
            assert ends.get("lower", certified.lower) <= certified.upper
    assert refused == ["contour"]  # atoms alone have a characteristic function that does not fall off


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
