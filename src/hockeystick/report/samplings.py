"""One training run under every sampling scheme, side by side, as a table of text and as a JSON object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hockeystick.plan.plan import Plan
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.plan.users import USER
from hockeystick.questions.samplings import Sampled, sampled
from hockeystick.report.answer import caveats_json, ends_said, finite_ends, relation_json, warning_lines
from hockeystick.report.kinds import Found
from hockeystick.report.loaders import LOADERS
from hockeystick.report.rounding import QUOTED_DIGITS, exact, round_up
from hockeystick.report.tables import print_table

NOISE_DIGITS = 4
"""Significant digits of a noise multiplier found by search."""


def samplings_asked(plan: Plan, say: Callable[[str], None], /, delta: Any, epsilon: Any) -> Found:
    """Answer the question of ``hockeystick sampling``: the plan under every scheme, with the noise for ``epsilon``."""
    rows = []
    for number, row in enumerate(sampled(plan, delta, epsilon), start=1):
        say(f"{row.scheme.name} ({number} of {len(SAMPLINGS)})")
        rows.append(row)
    return Found(rows, lambda: _json(plan, delta, epsilon, rows), lambda: _print(plan, delta, epsilon, rows))


def _print(plan: Plan, delta: float, target: float, rows: Sequence[Sampled]) -> None:
    """Print the table, and below it remarks on the schemes.

    The remarks state, for each scheme with an epsilon, its assumption and the loaders that satisfy it. Reasons for
    missing numbers and warnings follow.
    """
    users = f", users with at most {plan.records_per_unit} records" if plan.unit == USER else ""
    headline = f"epsilon at delta = {exact(delta)} under {plan.adjacency.value}{users}"
    table, loaders, warnings = [("sampling", "lower", "upper", "noise needed")], [], []
    for row in rows:
        if row.epsilon is None:
            continue
        said = ends_said(row.epsilon)
        noise = "" if row.noise_multiplier is None else _noise(row.noise_multiplier)
        table.append((row.scheme.name, said.get("lower", ""), said["upper"], noise))
        loaders.append((row.scheme.name, row.scheme.assumption))
        loaders += [("", f"- {loader}") for loader in LOADERS.get(row.scheme.name, ())]
        warnings += [] if row.plan is None else warning_lines(row.plan, delta)
    blocks = [
        ("Assumptions about the loader, and loaders that meet them", loaders),
        ("Remarks", [(row.scheme.name, row.reason) for row in rows if row.reason and row.epsilon is not None]),
        ("Not answered", [(row.scheme.name, row.reason) for row in rows if row.reason and row.epsilon is None]),
        ("Caution", list(dict.fromkeys(warnings))),
    ]
    print_table(f"{headline}; noise for epsilon {round_up(target, QUOTED_DIGITS)}", table, {0}, blocks)


def _noise(value: float) -> str:
    """A noise multiplier as text, rounded up if it has many digits and otherwise unchanged."""
    return exact(value) if len(exact(value)) <= NOISE_DIGITS + 1 else round_up(value, NOISE_DIGITS)


def _json(plan: Plan, delta: float, target: float, rows: Sequence[Sampled]) -> dict[str, Any]:
    return {
        **relation_json(plan),
        "delta": delta,
        "epsilon": target,
        "samplings": [_row_json(row, delta) for row in rows],
        **caveats_json(plan, delta),
    }


def _row_json(row: Sampled, delta: float) -> dict[str, Any]:
    """JSON object about one scheme; an infinite bound is ``None``, and ``reason`` says why it is infinite."""
    warnings = [] if row.plan is None or row.epsilon is None else warning_lines(row.plan, delta)
    return {
        "scheme": row.scheme.name,
        "parameters": None if row.sampling is None else row.sampling.keys(),
        "epsilon": None if row.epsilon is None else finite_ends(row.epsilon),
        "guarantee": None if row.epsilon is None else row.epsilon.guarantee,
        "noise_multiplier": row.noise_multiplier,
        "reason": row.reason,
        "assumption": row.scheme.assumption,
        "loaders": list(LOADERS.get(row.scheme.name, ())),
        "warnings": [text for _, text in warnings],
    }
