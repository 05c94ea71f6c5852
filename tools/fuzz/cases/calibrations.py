"""Calibration: every parameter, every target."""

from __future__ import annotations

from collections.abc import Callable

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case
from hockeystick import targets
from hockeystick.questions.search import SPENT_TOLERANCE


def _two(draw: Draw) -> tuple[float, float]:
    """Two probabilities inside (0, 1), the smaller first."""
    one, two = sorted((draw.probability(inside=True), draw.probability(inside=True)))
    return (one, two) if one < two else (0.5 * one, one)


def _risk(draw: Draw) -> targets.Target:
    prior = draw.probability(inside=True)
    most = min(prior, 1 - prior)
    return targets.BayesRisk(max(most * draw.of(0.5, 0.9, 1e-3, 1 - 1e-12), 5e-324), prior)


def _tpr(draw: Draw) -> targets.Target:
    fpr, tpr = _two(draw)
    return targets.TruePositiveRate(tpr, fpr)


def _reconstruction(draw: Draw) -> targets.Target:
    baseline, success = _two(draw)
    return targets.Reconstruction(success, baseline)


TARGETS: dict[str, Callable[[Draw], targets.Target]] = {
    "Epsilon": lambda draw: targets.Epsilon(draw.epsilon(), draw.delta(zero=True)),
    "Delta": lambda draw: targets.Delta(draw.delta(), draw.epsilon()),
    "GaussianDP": lambda draw: targets.GaussianDP(draw.noise()),
    "Advantage": lambda draw: targets.Advantage(draw.probability(inside=True)),
    "TruePositiveRate": _tpr,
    "BayesRisk": _risk,
    "Reconstruction": _reconstruction,
}
PARAMETERS = ("noise-multiplier", "scale", "noise", "epsilon", "sample-rate", "batch-size", "steps", "epochs")
METHODS = {
    "Target": ("measure", "met", "missed", "safe_end", "excess", "described", "limit", "at_delta", "said"),
    "Epsilon": ("measure",),
    "Delta": ("measure", "excess"),
    "GaussianDP": ("measure",),
    "Advantage": ("measure",),
    "TruePositiveRate": ("measure",),
    "Reconstruction": ("measure",),
    "BayesRisk": ("measure",),
}
MEASURES = tuple(f"targets.{name}.{method}" for name, methods in METHODS.items() for method in methods)


def _target(draw: Draw, held: Held) -> targets.Target | None:
    name = draw.note("kind", draw.of(*TARGETS))
    found = held.ask(f"targets.{name}", lambda: TARGETS[name](draw), invalid=True)
    return None if found is None else draw.note("target", found)


def _start(draw: Draw, parameter: str) -> hs.Plan:
    """A plan that has the parameter."""
    kind = {"scale": "laplace", "epsilon": draw.of("randomized-response", "approximate-dp")}.get(parameter, "gaussian")
    item = draw.round(kind=kind)
    if parameter in ("batch-size", "epochs", "sample-rate"):
        said = ("sample_rate", "batch_size", "dataset_size", "epochs")
        item = {key: value for key, value in item.items() if key not in said} | {"count": draw.count()}
        records = int(draw.edge((1, 2, 10**12), 1, 1e9))
        batch = draw.random.randint(1, records)
        sizes = {"batch_size": batch, "dataset_size": records}
        item |= {"sampling": "poisson", **({"sample_rate": draw.rate()} if parameter == "sample-rate" else sizes)}
        if parameter != "sample-rate" and draw.chance(0.5) and records // batch < 10**9:
            del item["count"]
            item["epochs"] = draw.random.randint(1, 100)
    rounds = [item]
    if parameter not in ("steps", "epochs") and draw.chance(0.3):
        if item.get("count") == 0:  # rounds that never happen are none, and the other one lacks the parameter
            item["count"] = 1
        other = "approximate-dp" if parameter != "epsilon" else "gaussian"
        rounds.append(draw.round("rate" not in parameter and "batch" not in parameter, other))  # a rate of its own
    adjacency = "add-or-remove" if draw.chance(0.8) else draw.of("add", "remove")
    return hs.Plan.from_dict(draw.note("plan", {"adjacency": adjacency, "round": rounds}))


@case("calibration", "calibrate", "Calibration", "targets.Target", *(f"targets.{name}" for name in TARGETS), *MEASURES)
def calibrate(draw: Draw, held: Held) -> None:
    """What is found meets the target by the safe end of its interval; what lies beside it does not."""
    parameter, target = draw.note("parameter", draw.of(*PARAMETERS)), _target(draw, held)
    if target is None:
        return
    plan = held.ask("the plan to start from", lambda: _start(draw, parameter))
    if plan is None:
        return
    tolerance = draw.note("tolerance", 1e-6 if draw.chance(0.7) else draw.edge((1e-15, 1e-9, 1.0), 1e-12, 1.0))
    gap = draw.note("gap", draw.gap() if draw.chance(0.2) else None)
    found = held.ask("calibrate", lambda: hs.calibrate(plan, parameter, target, tolerance=tolerance, gap=gap))
    if found is not None:
        _on_the_safe_side(held, found, target, tolerance, gap)


def _on_the_safe_side(
    held: Held, found: hs.Calibration, target: targets.Target, tolerance: float, gap: float | None
) -> None:
    held.answer("achieved", found.achieved)
    held.law(target.met(found.achieved), f"{found.achieved} does not meet {target}")
    held.law(not target.missed(found.achieved), f"{found.achieved} misses {target}")
    held.law(float(found) == found.value, "float of a calibration")
    again = held.ask("the target of the plan found", lambda: target.measure(found.plan, gap))
    if again is not None:
        held.meet("measured again", again, found.achieved)
        held.law(not target.missed(again), f"the plan found misses the target: {again}")
        held.law(target.safe_end(again) in (again.lower, again.upper), "the safe end is an end")
        excess = held.ask("excess", lambda: target.excess(again))
        if excess is not None and not target.met(again):
            held.law(excess >= 0, f"an excess of {excess} where {again} does not meet {target}")
        held.law(target.at_delta == getattr(target, "delta", None), f"at delta {target.at_delta}: {target}")
        held.law(target.described()[target.name] == target.limit, f"described: {target.described()}")
    if found.beside is not None:
        value, bound = found.beside
        held.law(not target.met(bound), f"beside, at {value!r}, {bound} meets {target}")
        if found.parameter in ("batch-size", "steps", "epochs"):
            held.law(abs(value - found.value) <= 1, f"beside is {value!r}, not next to {found.value!r}")
        else:
            apart = abs(value - found.value)
            allowed = tolerance if found.limited is None else max(tolerance, SPENT_TOLERANCE)
            held.law(apart <= allowed * found.value * (1 + 1e-9) + 1e-300 or apart <= 4e-16 * found.value,
                     f"beside is {value!r}, {apart / found.value:.1e} from {found.value!r}")  # fmt: skip


@case("calibration", "calibrate", "Calibration.parameter", "Parameter.rounding")
def of_a_function(draw: Draw, held: Held) -> None:
    """A parameter of one's own, of a function that makes the plan."""
    target = _target(draw, held)
    if target is None:
        return
    low, high = sorted((draw.spread(1e-2, 1e3), draw.spread(1e-2, 1e3)))
    parameter = hs.Parameter("noise", costs=False, least=draw.note("least", low), most=draw.note("most", high))
    rate, steps = draw.note("rate", draw.rate()), draw.note("steps", draw.count())
    held.law(parameter.rounding == "ROUND_CEILING", "more noise is safe")
    found = held.ask("calibrate", lambda: hs.calibrate(lambda noise: hs.dp_sgd(noise, rate, steps), parameter, target))
    if found is not None:
        held.same("parameter", found.parameter, parameter.name)
        held.law(low <= found.value <= high, f"{found.value!r} is not within {low!r} and {high!r}")
        _on_the_safe_side(held, found, target, 1e-6, None)
