"""fourier-accountant: its defaults (nx = 1e6, L = 20), and nx = 4e6 as in Table 1 of its paper [KJH20]."""

from __future__ import annotations

import fourier_accountant
import numpy as np

from bench.peers import worker

FINE = 4_000_000


def ask(question: worker.Question, **settings: int) -> worker.Answer:
    """For the remove/add relation."""
    releases = [worker.only_gaussian(release) for release in question["rounds"]]
    sigma, q = (np.array([release[key] for release in releases]) for key in ("noise", "rate"))
    counts = np.array([release["count"] for release in releases])
    at = question["at"]
    if question["quantity"] == "stepwise":
        for step in range(1, counts[0] + 1):
            value = fourier_accountant.get_epsilon_R(at, sigma, q, np.array([step]), **settings)
        return {"value": float(value)}
    get = fourier_accountant.get_epsilon_R if question["quantity"] == "epsilon" else fourier_accountant.get_delta_R
    return {"value": float(get(at, sigma, q, counts, **settings))}


ROUTES = {"default": ask, "fine": lambda question: ask(question, nx=FINE)}

if __name__ == "__main__":
    worker.serve("fourier-accountant", ROUTES)
