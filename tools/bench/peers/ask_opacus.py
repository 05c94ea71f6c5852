"""opacus: its PRV and RDP accountants, epsilon only, with their defaults.

The history is set at once, as ``opacus.accountants.utils.get_noise_multiplier`` does; stepwise, with ``step``.
"""

from __future__ import annotations

from opacus.accountants import PRVAccountant, RDPAccountant
from opacus.accountants.accountant import IAccountant

from bench.peers import worker


def ask(accountant: IAccountant, question: worker.Question) -> worker.Answer:
    """Epsilon of the history."""
    if question["quantity"] == "delta":
        raise worker.NotOffered("epsilon only")
    if question["quantity"] == "stepwise":
        release = worker.only_release(question)
        for _ in range(release["count"]):
            accountant.step(noise_multiplier=release["noise"], sample_rate=release["rate"])
            value = accountant.get_epsilon(question["at"])
        return {"value": float(value)}
    releases = [worker.only_gaussian(release) for release in question["rounds"]]
    accountant.history = [(release["noise"], release["rate"], release["count"]) for release in releases]
    return {"value": float(accountant.get_epsilon(question["at"]))}


ROUTES = {
    "prv": lambda question: ask(PRVAccountant(), question),
    "rdp": lambda question: ask(RDPAccountant(), question),
}

if __name__ == "__main__":
    worker.serve("opacus", ROUTES)
