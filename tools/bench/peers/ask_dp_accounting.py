"""dp-accounting: the PLD accountant on its default grid (1e-4) and the RDP accountant with its default orders."""

from __future__ import annotations

from dp_accounting import (
    DpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PrivacyAccountant,
    SelfComposedDpEvent,
    calibrate_dp_mechanism,
)
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from bench.peers import worker


def event(release: dict[str, object]) -> DpEvent:
    """One round."""
    kinds = {"gaussian": GaussianDpEvent, "laplace": LaplaceDpEvent}
    one = kinds[str(release["mechanism"])](release["noise"])
    return one if release["rate"] == 1 else PoissonSampledDpEvent(release["rate"], one)


def ask(accountant: PrivacyAccountant, question: worker.Question) -> worker.Answer:
    """Compose all rounds, or one by one with a question after each, and ask."""
    if question["quantity"] == "stepwise":
        for release in question["rounds"]:
            for _ in range(release["count"]):
                accountant.compose(event(release))
                value = accountant.get_epsilon(question["at"])
        return {"value": value}
    for release in question["rounds"]:
        accountant.compose(event(release), release["count"])
    get = accountant.get_epsilon if question["quantity"] == "epsilon" else accountant.get_delta
    return {"value": float(get(question["at"]))}


def calibrate(question: worker.Question) -> worker.Answer:
    """The noise with which one kind of rounds meets a target epsilon, to the function's own tolerance."""
    release = worker.only_release(question)
    value = calibrate_dp_mechanism(
        PLDAccountant,
        lambda noise: SelfComposedDpEvent(event({**release, "noise": noise}), release["count"]),
        question["target"],
        question["at"],
    )
    return {"value": value}


ROUTES: dict[str, worker.Route] = {
    "pld": lambda question: ask(PLDAccountant(), question),
    "rdp": lambda question: ask(RdpAccountant(), question),
    "calibrate": calibrate,
}

if __name__ == "__main__":
    worker.serve("dp-accounting", ROUTES)
