"""This library, with its defaults; a question may ask for a ``gap``, or for a published method by its name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import hockeystick as hs
import hockeystick.accountants
from bench.peers import worker
from bench.sweep import swept
from hockeystick.targets import Epsilon


def round_of(release: dict[str, Any]) -> hs.Round:
    """One kind of round."""
    noise, rate = release["noise"], release["rate"]
    mechanism = hs.Gaussian(noise_multiplier=noise) if release["mechanism"] == "gaussian" else hs.Laplace(scale=noise)
    if "steps_per_epoch" in release:
        return hs.Round(mechanism, hs.RandomAllocation(release["steps_per_epoch"]), release["count"])
    sampling = hs.NoSampling() if rate == 1 else hs.Poisson(sample_rate=rate)
    return hs.Round(mechanism, sampling, release["count"])


def ask(question: worker.Question) -> worker.Answer:
    """The certified interval."""
    gap = question.get("gap")
    if question["quantity"] == "stepwise":
        return shown(stepwise(question, gap))
    plan = hs.Plan([round_of(release) for release in question["rounds"]])
    if question["quantity"] == "epsilon":
        return shown(plan.epsilon(question["at"], gap=gap))
    return shown(plan.delta(question["at"], gap=gap))


def ask_method(question: worker.Question) -> worker.Answer:
    """What one of the published methods says."""
    plan = hs.Plan([round_of(release) for release in question["rounds"]])
    ask = plan.epsilon if question["quantity"] == "epsilon" else plan.delta
    found = ask(question["at"], accountant=question["accountant"], **question["options"])
    return {"value": found.quoted, "estimate": found.ends.get("estimate")}


def stepwise(question: worker.Question, gap: float | None) -> hs.Bound:
    """One step, one question, as a training loop would; the last answer."""
    accountant = hs.Accountant()
    bound: hs.Bound | None = None
    for release in map(worker.only_gaussian, question["rounds"]):
        for _ in range(release["count"]):
            accountant.step(noise_multiplier=release["noise"], sample_rate=release["rate"])
            bound = accountant.epsilon(question["at"], gap=gap)
    assert bound is not None
    return bound


def calibrate(question: worker.Question) -> worker.Answer:
    """The noise with which one kind of rounds meets a target epsilon, to the default tolerance."""
    plan = hs.Plan([round_of(worker.only_release(question))])
    found = hs.calibrate(plan, "noise-multiplier", Epsilon(question["target"], delta=question["at"]))
    return {"value": found.value}


def sweep(question: worker.Question) -> worker.Answer:
    """A sweep over many plans in one call."""
    return asdict(swept(question["plans"], seed=question["seed"]))


def shown(bound: hs.Bound) -> worker.Answer:
    """What is quoted is the upper end."""
    return {"value": bound.upper, "estimate": bound.estimate, "lower": bound.lower, "by": bound.accountant}


if __name__ == "__main__":
    worker.serve("hockeystick", {"default": ask, "method": ask_method, "calibrate": calibrate, "sweep": sweep})
