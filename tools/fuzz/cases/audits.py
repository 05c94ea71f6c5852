"""Audits of plans by guesses."""

from __future__ import annotations

from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case


@case("audit", "Plan.audit")
def guesses(draw: Draw, held: Held) -> None:
    """A p-value is a probability, falls with every right guess, and rejects nothing that half of the guesses allow."""
    plan = draw.sgd() if draw.chance(0.8) else draw.plan(both=True)
    canaries = draw.note("canaries", draw.size())
    made = draw.note("guesses", draw.random.randint(0, min(canaries, 10**9)))
    right = draw.note("correct", draw.random.randint(0, made))
    invalid = canaries > 10**9 or plan.adjacency != "add-or-remove"
    found = held.ask("audit", lambda: plan.audit(canaries, made, right), invalid=invalid)
    if found is None:
        return
    held.law(0 <= found.p_value <= 1, f"p-value {found.p_value}")
    held.law(found.rejected == (found.p_value <= 0.05), found.verdict)
    if 2 * right <= made:
        held.law(not found.rejected, f"half of the guesses are right: {found}")
    if right < made:
        more = held.ask("audit with one more", lambda: plan.audit(canaries, made, right + 1))
        if more is not None:
            held.at_most("p-value with one more right guess", more.p_value, found.p_value, 0.05)
    held.law(found.epsilon_below(1e-6) >= 0, "an epsilon below 0")
