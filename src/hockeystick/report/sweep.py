"""A sweep in front of people: how many rows there are, between what they lie, and what they are about."""

from __future__ import annotations

from pathlib import Path

from hockeystick.questions.sweeps.table import CERTAIN, Sweep
from hockeystick.report.answer import Answer
from hockeystick.report.rounding import exact
from hockeystick.values.domains import place
from hockeystick.values.outward import DIGITS, DOWN, UP, rounded

MOST_REASONS = 5  # of rows without an answer: all are in the file


def sweep_answer(sweep: Sweep, output: str | Path) -> Answer:
    """The sentence that says what was written and where, then the range of the ends and what is to be known of them.

    Args:
        sweep: the table.
        output: the file that it was written to.
    """
    lines = [("question", sweep.question)]
    lines += [(name, _range(values)) for name, values in sweep.axes.items()]
    rows = [row for row in sweep.rows if row["guarantee"] in CERTAIN]
    if rows:
        least, most = min(row["lower"] for row in rows), max(row["upper"] for row in rows)
        lines.append((sweep.quantity, f"{rounded(least, DIGITS, DOWN)} to {rounded(most, DIGITS, UP)}"))
    if sweep.calibrated is not None and rows:
        found = [row[sweep.calibrated] for row in rows]
        ends = (rounded(end, DIGITS, sweep.rounding) for end in (min(found), max(found)))
        lines.append((sweep.calibrated, " to ".join(ends)))
    lines += _unanswered(sweep)
    many = "1 row" if len(sweep) == 1 else f"{len(sweep)} rows"
    return Answer(f"{many} in {place(output)}", (*lines, *caveat_lines(sweep)))


def caveat_lines(sweep: Sweep) -> list[tuple[str, str]]:
    """What the numbers assume, and what is to be minded with them."""
    said = [tuple(text.split(": ", 1)) for text in sweep.assumptions]
    return [*((label, text) for label, text in said), *(("warning", text) for text in sweep.warnings)]


def _range(values: tuple[float, ...]) -> str:
    """The values of an axis in a few words."""
    if len(values) <= 4:
        return ", ".join(exact(value) for value in values)
    return f"{len(values)} values from {exact(min(values))} to {exact(max(values))}"


def _unanswered(sweep: Sweep) -> list[tuple[str, str]]:
    """The reasons of rows without an answer, each once, with how many rows have it."""
    reasons: dict[str, int] = {}
    for guarantee, reason in zip(sweep.columns["guarantee"], sweep.columns["reason"], strict=True):
        if guarantee not in CERTAIN:
            reasons[reason] = reasons.get(reason, 0) + 1
    told = [(f"{many} without answer", reason) for reason, many in list(reasons.items())[:MOST_REASONS]]
    left = sum(list(reasons.values())[MOST_REASONS:])
    return told + ([(f"{left} without answer", "for other reasons, which are in the file")] if left else [])
