"""Text about a sweep: the number of its rows, reasons for missing answers, assumptions and warnings."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hockeystick.questions.sweeps.question import REFUSED
from hockeystick.questions.sweeps.sweep import Sweep
from hockeystick.report.answer import Answer
from hockeystick.values.domains import place

MOST_REASONS = 5  # largest number of reasons listed; the file has all


def sweep_answer(sweep: Sweep, output: str | Path) -> Answer:
    """Return the text about a sweep: a sentence on the written file, reasons for missing answers, and caveats.

    Args:
        sweep: table of the sweep.
        output: path of the written file.
    """
    lines = [("question", sweep.question), *_unanswered(sweep)]
    many = "1 row" if len(sweep) == 1 else f"{len(sweep)} rows"
    return Answer(f"{many} in {place(output)}", (*lines, *caveat_lines(sweep)))


def caveat_lines(sweep: Sweep) -> list[tuple[str, str]]:
    """Return a line for each assumption and each warning of the rows."""
    said = [text.partition(": ") for text in sweep.assumptions]
    return [*((label, text) for label, _, text in said), *(("warning", text) for text in sweep.warnings)]


def _unanswered(sweep: Sweep) -> list[tuple[str, str]]:
    """Reasons for missing answers, each with the number of rows that it concerns."""
    rows = zip(sweep.columns["guarantee"], sweep.columns["reason"], strict=True)
    reasons = Counter(reason for guarantee, reason in rows if guarantee == REFUSED)
    told = [(f"{many} without answer", reason) for reason, many in list(reasons.items())[:MOST_REASONS]]
    left = sum(list(reasons.values())[MOST_REASONS:])
    return told + ([(f"{left} without answer", "other reasons; see the file")] if left else [])
