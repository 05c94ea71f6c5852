"""One training under every sampling scheme, side by side, as rows for people and as a JSON object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hockeystick.plan.plan import Plan
from hockeystick.plan.users import USER
from hockeystick.questions.samplings import Sampled
from hockeystick.report.answer import caveats_json, finite_ends, relation_json, warning_lines
from hockeystick.report.loaders import loaders_of
from hockeystick.report.rounding import QUOTED_DIGITS, SHOWN_DIGITS, exact, round_down, round_up

NOISE_DIGITS = 4
"""Significant digits of a noise multiplier found by search."""


def sampling_cells(row: Sampled) -> tuple[str, str, str, str]:
    """Return name, lower end, upper end and noise multiplier of a row as text, rounded outward."""
    assert row.epsilon is not None
    ends = row.epsilon.ends
    lower = round_down(ends["lower"], SHOWN_DIGITS) if "lower" in ends else ""
    noise = "" if row.noise_multiplier is None else _noise(row.noise_multiplier)
    return row.scheme.name, lower, round_up(row.epsilon.quoted, SHOWN_DIGITS), noise


def _noise(value: float) -> str:
    """A short noise multiplier unchanged, a long one rounded up."""
    return exact(value) if len(exact(value)) <= NOISE_DIGITS + 1 else round_up(value, NOISE_DIGITS)


def sampling_headline(plan: Plan, delta: float, target: float | None) -> str:
    """Return the heading of the table."""
    wanted = "" if target is None else f"; noise for epsilon {round_up(target, QUOTED_DIGITS)}"
    users = f", users with at most {plan.records_per_unit} records" if plan.unit == USER else ""
    return f"epsilon at delta = {exact(delta)} under {plan.adjacency.value}{users}{wanted}"


def sampling_notes(rows: Sequence[Sampled]) -> list[tuple[str, str]]:
    """Return, for each scheme with a number, its requirement and the loaders that meet it."""
    lines: list[tuple[str, str]] = []
    for row in rows:
        if row.epsilon is not None:
            lines.append((row.scheme.name, row.scheme.assumption))
            lines += [("", f"- {loader}") for loader in loaders_of(row.scheme.name)]
    return lines


def sampling_remarks(rows: Sequence[Sampled], answered: bool) -> list[tuple[str, str]]:
    """Return the reasons for missing numbers, or the caveats of the others."""
    return [(row.scheme.name, row.reason) for row in rows if row.reason and (row.epsilon is not None) is answered]


def sampling_warnings(rows: Sequence[Sampled], delta: float) -> list[tuple[str, str]]:
    """Return the warnings on any number of the table, each once."""
    lines = [line for row in rows if row.plan is not None and row.epsilon for line in warning_lines(row.plan, delta)]
    return list(dict.fromkeys(lines))


def sampling_json(plan: Plan, delta: float, target: float | None, rows: Sequence[Sampled]) -> dict[str, Any]:
    """Return the object that ``hockeystick sampling --json`` prints; infinite ends are ``None``, with a ``reason``."""
    return {
        **relation_json(plan),
        "delta": delta,
        "epsilon": target,
        "samplings": [_row_json(row, delta) for row in rows],
        **caveats_json(plan, delta),
    }


def _row_json(row: Sampled, delta: float) -> dict[str, Any]:
    said: Mapping[str, Any] = {
        "scheme": row.scheme.name,
        "parameters": None if row.sampling is None else row.sampling.keys(),
        "epsilon": None if row.epsilon is None else finite_ends(row.epsilon),
        "guarantee": None if row.epsilon is None else row.epsilon.guarantee,
        "noise_multiplier": row.noise_multiplier,
        "reason": row.reason,
    }
    warnings = [] if row.plan is None or row.epsilon is None else [text for _, text in warning_lines(row.plan, delta)]
    loaders = list(loaders_of(row.scheme.name))
    return {**said, "assumption": row.scheme.assumption, "loaders": loaders, "warnings": warnings}
