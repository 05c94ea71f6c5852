"""Answers about an audit: the verdict and the p-value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hockeystick.plan.audit import Audit
from hockeystick.plan.plan import Plan
from hockeystick.report.answer import Answer, plan_json, plan_lines
from hockeystick.report.kinds import Found
from hockeystick.report.rounding import QUOTED_DIGITS, exact, round_down, round_up
from hockeystick.report.tables import print_answer


def audit_answer(plan: Plan, found: Audit, delta: float | None) -> Answer:
    """Return the text about an audit: its verdict, then lines of details.

    Args:
        plan: the audited plan.
        found: the result of the audit.
        delta: delta at which a lower bound on the run's epsilon is stated; ``None`` to state none.
    """
    word = "rejected" if found.rejected else "not rejected"
    headline = f"{word}: p <= {round_up(found.p_value, QUOTED_DIGITS)} at significance {exact(found.significance)}"
    lines = [
        ("verdict", found.verdict.partition(": ")[2]),
        ("guesses", f"{found.correct} of {found.guesses} correct, {found.canaries} canaries"),
    ]
    if delta is not None:
        least = round_down(found.epsilon_below(delta), QUOTED_DIGITS)
        lines.append(
            ("lower bound", f"epsilon >= {least} at delta = {exact(delta)}, for this run, at this significance")
        )
    return Answer(headline, (*lines, *plan_lines(plan, delta)))


def audit_json(plan: Plan, found: Audit, delta: float | None) -> dict[str, Any]:
    """Return the object that ``hockeystick audit --json`` prints."""
    return {
        "p_value": found.p_value,
        "rejected": found.rejected,
        "significance": found.significance,
        "verdict": found.verdict,
        "canaries": found.canaries,
        "guesses": found.guesses,
        "correct": found.correct,
        "run": None if delta is None else {"epsilon_at_least": found.epsilon_below(delta), "delta": delta},
        **plan_json(plan, delta),
    }


def audit_asked(
    plan: Plan, say: Callable[[str], None], /, canaries: Any, guesses: Any, correct: Any, significance: Any, delta: Any
) -> Found:
    """Answer the question of ``hockeystick audit``: whether counts of guesses contradict the plan."""
    found = plan.audit(canaries, guesses, correct, significance)
    return Found(found, lambda: audit_json(plan, found, delta), lambda: print_answer(audit_answer(plan, found, delta)))
