"""Answers about remaining rounds: how many more rounds keep the plan within its target, and the total cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hockeystick.plan.file import plan_from_dict
from hockeystick.plan.labels import LABELS
from hockeystick.plan.plan import Plan
from hockeystick.questions.remaining import Remaining, remaining
from hockeystick.report.answer import (
    MAX_CLAUSE,
    Answer,
    caveat_lines,
    finite_ends,
    interval_said,
    plan_json,
    relation_lines,
    rounds_said,
    settings_said,
)
from hockeystick.report.kinds import Found
from hockeystick.report.rounding import exact
from hockeystick.report.tables import print_answer
from hockeystick.values.bounds import Answer as Said
from hockeystick.values.domains import cut


def remaining_answer(plan: Plan, found: Remaining) -> Answer:
    """Return the text with the number of further rounds, and the cost of the plan including them.

    >>> from hockeystick import dp_sgd
    >>> from hockeystick.questions.remaining import remaining
    >>> plan = dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60)
    >>> remaining_answer(plan, remaining(plan, 3.0, 1e-5)).headline
    '30 more epochs keep epsilon <= 3 at delta = 1e-5'
    """
    target = found.target
    limit = f"epsilon <= {exact(target.epsilon)} at delta = {exact(target.delta)}"
    unit = found.unit if found.count != 1 else found.unit.removesuffix("s")
    lines = [("spent so far", f"epsilon {_ends(found.spent)}")]
    if found.count:
        headline = f"{found.count} more {unit} keep{'s' if found.count == 1 else ''} {limit}"
        lines.append((f"with {found.count} more", f"epsilon {_ends(found.achieved)}"))
    else:
        headline = f"no more {found.unit} within {limit}"
    lines += [
        (f"with {found.count + 1} more", f"epsilon {_ends(found.beside)}, which exceeds the limit"),
        *relation_lines(plan),
        ("rounds so far", rounds_said(plan)),
        ("repeated", _repeated(found)),
    ]
    samplings = plan.with_rounds([*plan.rounds, found.more])
    return Answer(headline, (*lines, *caveat_lines(samplings, target.delta)))


def remaining_json(plan: Plan, found: Remaining) -> dict[str, Any]:
    """Return the object that ``hockeystick remaining --json`` prints."""
    whole = plan.with_rounds([*plan.rounds, found.more])
    return {
        "remaining": found.count,
        "unit": found.unit,
        "target": found.target.described(),
        "spent": finite_ends(found.spent),
        "achieved": finite_ends(found.achieved),
        "beside": finite_ends(found.beside),
        **plan_json(whole, found.target.delta, found.achieved.guarantee),
    }


def _ends(bound: Said) -> str:
    said = interval_said(bound)
    return said if "lower" in bound.ends else f"at most {said}"


def _repeated(found: Remaining) -> str:
    item = Plan([found.more]).to_dict()["round"][0]
    names = {key: value for key, value in item.items() if key not in (*LABELS, "count", "epochs")}
    return f"one {found.unit.removesuffix('s')} of {cut(settings_said(names), MAX_CLAUSE)}"


def remaining_asked(plan: Plan, say: Callable[[str], None], /, epsilon: Any, delta: Any, more: Any) -> Found:
    """Answer ``hockeystick remaining``; ``more`` is a plan, as a table of keys, whose first round is repeated."""
    repeated = None if more is None else plan_from_dict(more).rounds[0]
    found = remaining(plan, epsilon, delta, repeated)
    return Found(found, lambda: remaining_json(plan, found), lambda: print_answer(remaining_answer(plan, found)))
