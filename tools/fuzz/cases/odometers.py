"""The accountant that is stepped as training goes."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case

BROKEN: tuple[Any, ...] = (
    {}, [], None, {"adjacency": "add"}, {"adjacency": "add", "history": None}, {"adjacency": "sub", "history": []},
    {"adjacency": "add", "history": 3}, {"adjacency": "add", "history": [3]}, {"adjacency": [], "history": []},
    {"adjacency": "add", "history": [{"mechanism": "gaussian"}]}, {"adjacency": "add", "history": [], "more": 1},
)  # fmt: skip
"""What is no state."""

METHODS = ("step", "plan", "history", "epsilon", "delta", "state_dict", "load_state_dict")


def _stepped(draw: Draw, held: Held) -> hs.Accountant:
    """An accountant after a few steps, of DP-SGD and others."""
    made = hs.Accountant(draw.note("adjacency", draw.of("add-or-remove", "add", "remove", "replace-one", "zero-out")))
    steps: list[Any] = []
    for _ in range(draw.random.randint(1, 4)):
        if draw.chance(0.6):
            noise, rate, count = draw.noise(), draw.rate(), draw.count()
            steps.append((noise, rate, count))
            held.do("step", lambda: made.step(noise_multiplier=noise, sample_rate=rate, count=count))  # noqa: B023
        else:
            zeroed = made.plan.adjacency is hs.Adjacency.ZERO_OUT
            table = draw.zeroed_round() if zeroed else draw.round(made.plan.adjacency is not hs.Adjacency.REPLACE_ONE)
            steps.append(table)
            item = hs.Plan.from_dict({"round": [table]}).rounds[0]
            held.do("step", lambda: made.step(item, count=draw.of(0, 1, 2)), invalid=True)  # noqa: B023
    draw.note("steps", steps)
    return made


@case("odometer", "Accountant", *(f"Accountant.{name}" for name in METHODS))
def accountant(draw: Draw, held: Held) -> None:
    """Answers are the plan's, bit for bit; a state that went through JSON goes on."""
    made = _stepped(draw, held)
    held.same("number of steps", len(made), sum(item.steps for item in made.history))
    plan = held.ask("plan", lambda: made.plan, invalid=True)
    if plan is None:
        return
    delta, at = draw.note("delta", draw.delta(zero=True)), draw.note("epsilon", draw.epsilon())
    found, other = held.ask("epsilon", lambda: made.epsilon(delta)), held.ask("plan", lambda: plan.epsilon(delta))
    held.same("epsilon", found, other)
    found, other = held.ask("delta", lambda: made.delta(at)), held.ask("plan.delta", lambda: plan.delta(at))
    held.same("delta", found, other)
    state = held.ask("state_dict", made.state_dict)
    again = hs.Accountant()
    held.do("load_state_dict", lambda: again.load_state_dict(json.loads(json.dumps(state))))
    for twin in (again, pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        held.same("history of a copy", twin.history, made.history)
        held.same("plan of a copy", twin.plan, plan)
    before = again.history
    broken = draw.note("broken", draw.of(*BROKEN))
    taken = held.do("load_state_dict", lambda: again.load_state_dict(broken), invalid=True)
    held.law(not taken, f"the state {broken} is taken")
    held.same("history after a broken state", again.history, before)


TELLING = 1e-4
"""Relative width of an answer from which on it does not tell a step from the next: hard plans are answered to 1e-3, and
the search may have seen another one of their intervals."""


@case("odometer", "Accountant.remaining")
def remaining(draw: Draw, held: Held) -> None:
    """The largest number of steps within the target: one more is not within it."""
    made = _stepped(draw, held) if draw.chance(0.5) else hs.Accountant()
    noise, rate = draw.note("noise", draw.noise()), draw.note("rate", draw.rate())
    epsilon, delta = draw.note("epsilon", max(draw.epsilon(), 1e-9)), draw.note("delta", draw.delta())

    def ask() -> int:
        return made.remaining(noise_multiplier=noise, sample_rate=rate, epsilon=epsilon, delta=delta)

    more = held.ask("remaining", ask, invalid=len(made) > 10**12)
    if more is None:
        return
    held.law(0 <= more <= 10**12, f"remaining: {more}")
    for extra in (0, 1):
        total = more + extra
        after = hs.Round(hs.Gaussian(noise), hs.Poisson(rate), min(total, 10**12))
        plan = held.ask("the plan after", lambda after=after: made.plan + after, invalid=True)  # type: ignore[misc]
        found = None if plan is None else held.ask("epsilon", lambda plan=plan: plan.epsilon(delta))  # type: ignore[misc]
        if found is not None and extra == 0 and more and plan is not None:
            # the search is content with a rough interval that is low enough, and asks for delta where epsilon is tiny
            within = found.upper <= epsilon or plan.epsilon(delta, gap=1e-2).upper <= epsilon
            within = within or plan.delta(epsilon).upper <= delta
            held.law(within, f"{more} more steps have {found}, above {epsilon!r}")
        if found is not None and extra == 1 and plan is not None and plan.steps < 10**12:
            held.law(
                found.upper > epsilon
                or found.upper - found.lower > TELLING * found.upper
                or _short_of_work(made.plan, after, hs.targets.Epsilon(epsilon, delta)),
                f"{total} more steps have {found}, within {epsilon!r}",
            )


def _short_of_work(plan: hs.Plan, step: hs.Round, target: hs.targets.Epsilon) -> bool:
    """Whether the number of steps that does not meet the target was measured too roughly to tell, and says so."""
    found = hs.calibrate(lambda count: plan + step.changed(count=int(count)), "steps", target)
    return found.beside is not None and (found.beside[1].reason or found.achieved.reason) is not None
