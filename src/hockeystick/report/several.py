"""Epsilon of several plans side by side: a line for each; assumptions that they share are printed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hockeystick.plan.plan import Plan
from hockeystick.report.answer import Answer, assumption_lines, epsilon_answer, relation_lines, warning_lines
from hockeystick.report.document.envelope import sealed
from hockeystick.values.bounds import Answer as Said
from hockeystick.values.domains import cut
from hockeystick.values.version import __version__

SEVERAL = "several"

MAX_CHARACTERS = 40  # longest label: half a line

Row = tuple[str, Plan, float, Said]
"""Name of a plan, the plan, delta, and the bound."""


def several_answer(rows: Sequence[Row]) -> Answer:
    """Return the sentence to quote for each plan with its interval, then assumptions and warnings.

    >>> from hockeystick import dp_sgd
    >>> plan = dp_sgd(1.0, 0.01, 1000)
    >>> several_answer([("a.toml", plan, 1e-6, plan.epsilon(1e-6))] * 2).lines[0]
    ('a.toml', 'epsilon <= 2.13 at delta = 1e-6; 2.12451 to 2.12452 (contour, certified)')
    """
    named = _labels([name for name, _, _, _ in rows])
    said, units, warnings = [], [], []
    for name, (_, plan, delta, bound) in zip(named, rows, strict=True):
        answer = epsilon_answer(plan, delta, bound)
        text = f"{answer.headline}; {answer.lines[0][1]} ({bound.accountant}, {bound.guarantee})"
        said.append((name, text if bound.reason is None else f"{text}: {bound.reason}"))
        units += [(label, f"{name}: {text}") for label, text in relation_lines(plan)[1:]]
        warnings += [(label, f"{name}: {text}") for label, text in warning_lines(plan, delta)]
    relations = ("adjacency", ", ".join(dict.fromkeys(plan.adjacency.value for _, plan, _, _ in rows)))
    assumptions = dict.fromkeys(line for _, plan, _, _ in rows for line in assumption_lines(plan))
    return Answer(f"epsilon of {len(rows)} plans", (*said, relations, *units, *assumptions, *warnings))


def _labels(names: Sequence[str]) -> list[str]:
    """Short names of the files: without folders if still distinct, and cut if long."""
    short = [Path(name).name for name in names]
    told_apart = len(set(short)) == len(set(names))
    return [cut(name, MAX_CHARACTERS) for name in (short if told_apart else names)]


def several_json(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one object that holds the answers of several plans, each as printed for one plan."""
    return sealed({"answer": SEVERAL, "answers": [dict(answer) for answer in answers], "version": __version__})
