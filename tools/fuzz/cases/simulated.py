"""Samples of a privacy loss, whose truth is known in closed form."""

from __future__ import annotations

import numpy as np

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case

SURE = 1 - 1e-12
"""The confidence at which an interval that misses the truth is a finding, and not chance."""


@case("simulated", "SampledLoss", "SampledLoss.delta", "SampledLoss.epsilon")
def losses(draw: Draw, held: Held) -> None:
    """Normal losses of one or two directions: ends in order, falling with epsilon and delta, around the truth."""
    mu, seed = draw.note("mu", draw.spread(1e-3, 10.0)), draw.note("seed", draw.random.getrandbits(32))
    sizes = draw.note("sizes", [int(draw.spread(1, 1e5)) for _ in range(draw.of(1, 2))])
    lost = draw.note("lost", draw.of(0.0, 0.0, draw.probability()))
    rng = np.random.default_rng(seed)
    made = [np.where(rng.random(n) < lost, np.inf, rng.normal(mu**2 / 2, mu, n)) for n in sizes]
    samples = held.ask("samples", lambda: hs.SampledLoss(*made))
    if samples is None:
        return
    epsilon, delta = draw.note("epsilon", draw.spread(1e-3, 20.0)), draw.note("delta", draw.spread(1e-9, 0.9))
    at = held.ask("delta", lambda: samples.delta(epsilon, confidence=SURE))
    further = held.ask("delta further on", lambda: samples.delta(2 * epsilon, confidence=SURE))
    by = held.ask("epsilon", lambda: samples.epsilon(delta, confidence=SURE))
    if at is None or further is None or by is None:
        return
    for found in (at, further, by):
        held.law(0 <= found.lower <= found.estimate <= found.upper, f"ends out of order: {found!r}")
        held.law((found.reason is None) == (found.upper < np.inf), f"a reason: {found!r}")
    held.law(further.lower <= at.lower and further.upper <= at.upper, f"delta grows: {at!r}, {further!r}")
    plan = hs.Plan([hs.Round(hs.Gaussian(1 / mu))], "remove")
    truth = plan.delta(epsilon)
    most, least = lost + (1 - lost) * truth.upper, lost + (1 - lost) * truth.lower
    held.law(at.lower <= most * (1 + 1e-9) and least * (1 - 1e-9) <= at.upper, f"{at!r} misses {truth!r}")
