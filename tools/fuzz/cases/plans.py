"""Epsilon and delta of plans: of moderate ones over the whole domain, and of extreme ones."""

from __future__ import annotations

import copy
import math
import pickle
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import hockeystick as hs
from fuzz.draws import Draw, weaker
from fuzz.laws import Held
from fuzz.registry import case
from hockeystick.values.bounds import Answer
from hockeystick.values.errors import NotApplicableError

ENGINES = ("grid", "contour")
SEARCHED = 1e-9
"""Relative: two searches for the best order, at targets a rounding apart, find bounds that differ by less than it."""


@dataclass(frozen=True)
class Case:
    """A plan as its dictionary, and what is asked of it: epsilon at a delta, or delta at an epsilon."""

    plan: dict[str, Any]
    quantity: str
    at: float

    def ask(self, accountant: str = "auto") -> Answer:
        """The answer of one accountant."""
        plan = hs.Plan.from_dict(self.plan)
        if self.quantity == "epsilon":
            return plan.epsilon(self.at, accountant=accountant)
        return plan.delta(self.at, accountant=accountant)


def moderate(draw: random.Random) -> Case:
    """A plan of one to four kinds of rounds whose values are far from the edges of their domains, and a question."""

    def spread(low: float, high: float) -> float:
        return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.3g}")

    def entry(sampled: bool) -> dict[str, Any]:
        kind = draw.choices(["gaussian", "laplace", "randomized-response", "approximate-dp"], [6, 2, 1, 1])[0]
        made: dict[str, Any] = {"mechanism": kind, "count": int(spread(1, 1e9))}
        if kind == "gaussian":
            made["noise_multiplier"] = spread(0.02, 1e4)
        elif kind == "laplace":
            made["scale"] = spread(1e-2, 1e5)
        else:
            made["epsilon"] = spread(1e-6, 10)
        if kind == "approximate-dp":
            made["delta"] = spread(1e-15, 1e-3)
        if sampled and draw.random() < 0.8:
            made |= {"sampling": "poisson", "sample_rate": spread(1e-9, 1)}
        return made

    adjacency = draw.choices(["add-or-remove", "add", "remove", "replace-one"], [5, 1, 1, 1])[0]
    kinds = draw.choices([1, 2, 3, 4], [5, 3, 1, 1])[0]
    rounds = [entry(adjacency != "replace-one") for _ in range(kinds)]
    plan = {"adjacency": adjacency, "round": rounds}
    if draw.random() < 0.5:
        return Case(plan, "epsilon", spread(1e-100, 0.5))
    return Case(plan, "delta", draw.choice([0.0, spread(1e-3, 30), spread(1e-6, 1e4)]))


def drawn(seed: int, index: int) -> Case:
    """The moderate case of that number."""
    return moderate(random.Random(f"{seed}:{index}"))


def easier(question: Case, draw: Draw) -> Case:
    """A plan that is at least as private, or an easier question."""
    if draw.chance(0.25):
        factor = draw.of(1.0001, 1.1, 3.0)
        at = question.at * factor
        return replace(question, at=min(at, 0.9) if question.quantity == "epsilon" else at)
    return replace(question, plan=weaker(question.plan, draw))


def problems(question: Case, engines: tuple[str, ...] = ENGINES, patience: float = 1.0) -> Iterator[str]:
    """Every law that does not hold for a moderate case, in words; limits on time are multiplied by ``patience``."""
    held = Held(patience)
    _laws(question, Draw(repr(question)), held, engines)
    yield from held.wrong


def _laws(question: Case, draw: Draw, held: Held, engines: tuple[str, ...] = ENGINES) -> None:
    found = held.ask(question.quantity, question.ask)
    if found is None:
        held.law(False, f"{question.quantity}: refused")
        return
    held.answer(question.quantity, found)
    rough = held.ask(f"{question.quantity} by rdp", lambda: question.ask("rdp"))
    if rough is not None:
        held.at_most(f"upper end of {found} against the Renyi bound", found.quoted, rough.quoted, SEARCHED)
    for name in engines:
        other = held.ask(f"{question.quantity} by {name}", lambda name=name: _or_none(question, name))  # type: ignore[misc]
        if other is not None:
            held.meet(f"contradiction in {question.quantity}", found, other)
    easy = easier(question, draw)
    bound = held.ask("the easier question", easy.ask)
    if bound is not None:
        held.at_most(f"not monotone: {easy}", bound.ends["lower"], found.quoted)


def _or_none(question: Case, name: str) -> Answer | None:
    try:
        return question.ask(name)
    except NotApplicableError:
        return None


@case("plan", "Plan.epsilon", "Plan.delta")
def moderate_laws(draw: Draw, held: Held) -> None:
    """One moderate question: at or below the Renyi bound, no contradiction between engines, monotone."""
    question = moderate(draw.random)
    draw.note("case", question)
    _laws(question, draw, held)


@case("edge", "Plan.epsilon", "Plan.from_dict")
def epsilon(draw: Draw, held: Held) -> None:
    """Epsilon of an extreme plan: as above, and delta at its ends is on the right side of the delta asked."""
    table = draw.table()
    delta, gap = draw.note("delta", draw.delta(zero=True)), draw.note("gap", draw.gap())
    plan = hs.Plan.from_dict(table)
    found = held.ask("epsilon", lambda: plan.epsilon(delta, gap=gap))
    if found is None:
        return
    held.answer("epsilon", found)
    _rough_and_engines(held, found, "epsilon", lambda name: plan.epsilon(delta, accountant=name))
    weak = hs.Plan.from_dict(weaker(table, draw))
    bound = held.ask("epsilon of the weaker plan", lambda: weak.epsilon(delta))
    if bound is not None:
        held.at_most("epsilon of the weaker plan", bound.lower, found.upper)
    more = held.ask("epsilon at 2 delta", lambda: plan.epsilon(min(2 * delta, 0.9999)))
    if more is not None and 2 * delta < 0.9999:
        held.at_most("epsilon at 2 delta", more.lower, found.upper)
    if math.isfinite(found.upper) and found.upper <= 1e4:
        below = held.ask(f"delta at {found.upper!r}", lambda: plan.delta(found.upper))
        if below is not None:
            held.at_most("delta at the upper end of epsilon", below.lower, delta)
    if 0 < found.lower <= 1e4:
        above = held.ask(f"delta at {found.lower!r}", lambda: plan.delta(found.lower))
        if above is not None:
            held.at_most("delta at the lower end of epsilon", delta, above.upper)


@case("edge", "Plan.delta", "Plan.log_delta", "Estimate.ends", "UpperBound.ends")
def delta(draw: Draw, held: Held) -> None:
    """Delta of an extreme plan, and its logarithm."""
    table = draw.table()
    at, gap = draw.note("epsilon", draw.epsilon()), draw.note("gap", draw.gap())
    plan = hs.Plan.from_dict(table)
    found = held.ask("delta", lambda: plan.delta(at, gap=gap))
    log = held.ask("log_delta", lambda: plan.log_delta(at, gap=gap))
    if found is None or log is None:
        return
    held.answer("delta", found, 1.0)
    held.answer("log_delta", log, 0.0) if log.upper > 0 else held.law(log.lower <= log.estimate <= log.upper, str(log))
    held.same("log_delta beside delta", (log.lower, log.upper), (found.log_delta.lower, found.log_delta.upper))
    for end in ("lower", "upper"):
        value, logarithm = getattr(found, end), getattr(log, end)
        if value > 1e-300:
            held.law(abs(math.log(value) - logarithm) < 1e-9, f"delta {end} {value!r} beside its logarithm {logarithm}")
    _rough_and_engines(held, found, "delta", lambda name: plan.delta(at, accountant=name))
    weak = hs.Plan.from_dict(weaker(table, draw))
    bound = held.ask("delta of the weaker plan", lambda: weak.delta(at))
    if bound is not None:
        held.at_most("delta of the weaker plan", bound.log_delta.lower, found.log_delta.upper)
    farther = held.ask("delta at a larger epsilon", lambda: plan.delta(min(at * 1.5 + 1e-3, 1e4)))
    if farther is not None:
        held.at_most("delta at a larger epsilon", farther.log_delta.lower, found.log_delta.upper)


def _rough_and_engines(held: Held, found: hs.Bound, quantity: str, ask: Any) -> None:
    rough = held.ask(f"{quantity} by rdp", lambda: ask("rdp"))
    if rough is not None:
        held.answer(f"{quantity} by rdp", rough)
        held.at_most(f"upper end of {quantity} ({found.accountant}: {found.reason}) against the Renyi bound",
                     found.upper, rough.upper, SEARCHED)  # fmt: skip
    for name in ENGINES:
        other = held.ask(f"{quantity} by {name}", lambda name=name: ask(name))  # type: ignore[misc]
        if other is not None:
            held.answer(f"{quantity} by {name}", other)
            held.meet(f"contradiction in {quantity}", found, other)


@case("edge", "Plan.steps", "Plan.dataset_size", "Plan.directions", "Plan.kinds",
      "Plan.samplings", "Plan.to_dict", "Plan.from_dict", "Round.pair", "Round.curve",
      "Round.known", "Round.exact", "Round.claim", "Round.steps", "Round.changed", "Round.joined",
      "Round.sort_key")  # fmt: skip
def arithmetic(draw: Draw, held: Held) -> None:
    """Sums, multiples and copies of plans are plans of the same rounds, whatever the order; pairs go with rounds."""
    one, two = draw.plan(), draw.plan(1)
    two = hs.Plan(two.rounds, one.adjacency)
    total = held.ask("one + two", lambda: one + two, invalid=True)
    if total is not None:
        held.same("one + two and two + one", total, two + one)
        held.same("steps", total.steps, one.steps + two.steps)
        sizes = [size for size in (one.dataset_size, two.dataset_size) if size is not None]
        held.law(total.dataset_size in (None, *sizes), f"dataset_size {total.dataset_size} of {sizes}")
        held.same("from_dict of to_dict", hs.Plan.from_dict(total.to_dict()), total)
        held.same("pickle", pickle.loads(pickle.dumps(total)), total)
    twice = held.ask("2 * one", lambda: 2 * one, invalid=True)
    if twice is not None:
        held.same("steps of twice", twice.steps, 2 * one.steps)
    held.same("steps of the rounds", sum(item.steps for item in one.rounds), one.steps)
    for item in one.rounds:
        held.same("joined", held.ask("joined", partial(item.joined, item), invalid=True), held.ask(
            "twice", lambda item=item: 2 * item, invalid=True))  # type: ignore[misc]  # fmt: skip
        held.same("changed", item.changed(count=3).count, 3)
        held.same("sort_key", item.sort_key(), copy.deepcopy(item).sort_key())
    held.same("samplings", len(one.samplings), len(one.rounds))
    held.same("steps of the kinds", sum(count * item.sampling.steps_per_round for item, count in one.kinds), one.steps)
    known = [item.claim(direction).status in ("tight", "between") for item in one.rounds if item.count
             for direction in one.adjacency.directions]  # fmt: skip
    held.law(all(known) or not one.directions.known_from_below, "what is known from below is not what the claims say")
    for direction in one.adjacency.directions:
        pairs = held.ask("pairs", lambda direction=direction: one.directions.pairs(direction))  # type: ignore[misc]
        held.ask("curves", lambda direction=direction: one.directions.curves(direction))  # type: ignore[misc]
        if pairs is not None:
            held.law([n for _, n in pairs] == [count for _, count in one.kinds], "counts of the pairs")
            held.ask("round.pair", lambda direction=direction: one.rounds[0].pair(direction))  # type: ignore[misc]
            held.ask("round.exact", lambda direction=direction: one.rounds[0].exact(direction))  # type: ignore[misc]
            held.ask("round.curve", lambda direction=direction: one.rounds[0].curve(direction))  # type: ignore[misc]


@case("edge", "dp_sgd")
def sgd(draw: Draw, held: Held) -> None:
    """Flags of DP-SGD: sizes give the rate, epochs the steps, and what contradicts is refused."""
    noise, steps = draw.note("noise", draw.noise()), draw.note("steps", draw.count())
    records = draw.note("records", int(draw.edge((1, 2, 10**12), 1, 1e12)))
    batch, epochs = draw.note("batch", draw.batch(records)), draw.note("epochs", draw.random.randint(0, 50))
    sized = held.ask("dp_sgd of sizes", lambda: hs.dp_sgd(noise, batch_size=batch, dataset_size=records, steps=steps))
    rated = held.ask("dp_sgd of a rate", lambda: hs.dp_sgd(noise, batch / records, steps))
    if sized is not None and rated is not None:
        delta = draw.note("delta", draw.delta())
        one, two = (held.ask("epsilon", lambda plan=plan: plan.epsilon(delta)) for plan in (sized, rated))  # type: ignore[misc]
        if one is not None and two is not None:
            held.same("sizes and their rate", one, two)
    passes = held.ask(
        "dp_sgd of epochs",
        lambda: hs.dp_sgd(noise, batch_size=batch, dataset_size=records, epochs=epochs),
        invalid=True,
    )
    if passes is not None:
        held.same("steps of epochs", passes.steps, epochs * -(-records // batch))
    both = held.ask("steps and epochs", lambda: hs.dp_sgd(noise, 0.1, 5, epochs=3), invalid=True)
    held.law(both is None, "steps and epochs together are accepted")


@case("proof", "Plan.epsilon", "Plan.delta")
def proved(draw: Draw, held: Held) -> None:
    """A proof of a small plan meets the certified interval, or is refused with its reason."""
    plan = draw.sgd() if draw.chance(0.5) else draw.plan(1)
    delta = draw.note("delta", draw.delta())
    found = held.ask("epsilon", lambda: plan.epsilon(delta))
    sure = held.ask("epsilon, proved", lambda: plan.epsilon(delta, proof=True))
    if found is not None and sure is not None:
        held.answer("epsilon, proved", sure)
        held.meet("proof and certified interval", sure, found)
        at = min(found.upper, 1e4)
        proof = held.ask("delta, proved", lambda: plan.delta(at, proof=True))
        plain = held.ask("delta", lambda: plan.delta(at))
        if proof is not None and plain is not None:
            held.meet("proof and certified interval of delta", proof, plain)
