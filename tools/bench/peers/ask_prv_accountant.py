"""prv-accountant: eps_error 0.01, and delta_error as its ``DPSGDAccountant`` has it by default.

Its answers are (lower bound, estimate, upper bound); the value is the upper bound.
"""

from __future__ import annotations

import inspect
from typing import Any

from prv_accountant import LaplaceMechanism, PoissonSubsampledGaussianMechanism, PRVAccountant
from prv_accountant.dpsgd import DPSGDAccountant

from bench.peers import worker

EPS_ERROR = 0.01
DELTA_ERROR = inspect.signature(DPSGDAccountant).parameters["delta_error"].default


def variable(release: dict[str, Any]) -> object:
    """The privacy random variable of one round."""
    if release["mechanism"] == "laplace":
        return LaplaceMechanism(mu=1 / release["noise"])
    return PoissonSubsampledGaussianMechanism(noise_multiplier=release["noise"], sampling_probability=release["rate"])


def ask(question: worker.Question) -> worker.Answer:
    """One accountant for the most rounds there will be; stepwise, it is asked at every number of rounds up to that."""
    rounds, at = question["rounds"], question["at"]
    counts = [release["count"] for release in rounds]
    accountant = PRVAccountant(
        prvs=[variable(release) for release in rounds],
        max_self_compositions=counts,
        eps_error=EPS_ERROR,
        delta_error=DELTA_ERROR,
    )
    if question["quantity"] == "stepwise":
        for step in range(1, counts[0] + 1):
            lower, estimate, upper = accountant.compute_epsilon(at, [step])
    elif question["quantity"] == "epsilon":
        lower, estimate, upper = accountant.compute_epsilon(at, counts)
    else:
        lower, estimate, upper = accountant.compute_delta(at, counts)
    return {"value": upper, "estimate": estimate, "lower": lower}


if __name__ == "__main__":
    worker.serve("prv-accountant", {"prv": ask})
