"""The best of a random number of runs."""

from __future__ import annotations

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case
from hockeystick.plan.selection import RUNS
from hockeystick.values.domains import OTHER_LEAST_DELTA


@case("selection", "Plan.selection", "Profile.trade_offs")
def best(draw: Draw, held: Held) -> None:
    """At least what one run costs in its lower end, by more where there are more runs; delta and epsilon agree."""
    plan = draw.sgd() if draw.chance(0.6) else draw.plan()
    runs, delta = draw.note("runs", draw.of(*RUNS)), draw.note("delta", max(draw.delta(), OTHER_LEAST_DELTA))
    mean = draw.note("mean", draw.of(1.1, 3.0, 20.0, 1e4))
    shape = draw.note("shape", draw.of(-0.5, 0.3, 2.0, 10.0)) if runs == "negative-binomial" else None
    made = held.ask("selection", lambda: plan.selection(runs, mean, shape))
    found = None if made is None else held.ask("epsilon", lambda: made.epsilon(delta), invalid=delta == 0)
    if made is None or found is None:
        return
    held.law(found.upper >= 0, f"epsilon {found}")
    once = held.ask("epsilon of one run", lambda: plan.epsilon(delta / max(mean, 1.0)))
    if isinstance(once, hs.Bound) and runs != "poisson":
        held.at_most("epsilon of one run at delta", plan.epsilon(delta).lower, found.upper, 1e-3)
    if not found.upper < 1e3:
        return
    back = held.ask("delta", lambda: made.delta(found.upper))
    if isinstance(back, hs.DeltaBound):
        held.at_most("delta at the upper end of epsilon", back.lower, delta, 1e-3)
