"""What is said of an audit: the verdict, the p-value, and the point of the plan's curve that makes it."""

from __future__ import annotations

from typing import Any

from hockeystick.plan.audit import Audit
from hockeystick.plan.plan import Plan
from hockeystick.report.answer import Answer, assumption_lines, caveats_json, relation_json, relation_lines, rounds_said
from hockeystick.report.rounding import QUOTED_DIGITS, SHOWN_DIGITS, exact, round_down, round_up


def audit_answer(plan: Plan, found: Audit, delta: float | None) -> Answer:
    """The verdict for people.

    Args:
        plan: what was audited.
        found: what came out.
        delta: at which the epsilon that the run has at least is said; ``None`` for none.
    """
    word = "rejected" if found.rejected else "not rejected"
    headline = f"{word}: p <= {round_up(found.p_value, QUOTED_DIGITS)} at significance {exact(found.significance)}"
    lines = [
        ("verdict", found.verdict.partition(": ")[2]),
        ("guesses", f"{found.correct} right of {found.guesses}, {found.canaries} canaries"),
        ("decided by", f"delta {round_up(found.delta, SHOWN_DIGITS)} of the plan at epsilon {found.epsilon:.6g}"),
    ]
    if delta is not None:
        least = round_down(found.epsilon_below(delta), QUOTED_DIGITS)
        lines.append(("of the run", f"epsilon >= {least} at delta = {exact(delta)}, at that significance"))
    lines += [*relation_lines(plan), ("rounds", rounds_said(plan)), *assumption_lines(plan)]
    return Answer(headline, tuple(lines))


def audit_json(plan: Plan, found: Audit, delta: float | None) -> dict[str, Any]:
    """The object that ``hockeystick audit --json`` prints."""
    return {
        "p_value": found.p_value,
        "rejected": found.rejected,
        "significance": found.significance,
        "verdict": found.verdict,
        "canaries": found.canaries,
        "guesses": found.guesses,
        "correct": found.correct,
        "decided_by": {"epsilon": found.epsilon, "delta": found.delta},
        "run": None if delta is None else {"epsilon_at_least": found.epsilon_below(delta), "delta": delta},
        **relation_json(plan),
        **caveats_json(plan, delta),
    }
