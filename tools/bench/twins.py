"""The published methods as this library has them, beside the peers that have them too: do the values agree?

Values only, at the exact parameters of a case; nothing is timed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bench.measure import Row
from bench.workers import Worker


@dataclass(frozen=True)
class Twin:
    """A peer's route, and the accountant of this library that follows the same paper, at the same settings."""

    label: str
    accountant: str
    options: dict[str, float] = field(default_factory=dict)


TWINS = (
    Twin("dp-accounting PLD", "connect-the-dots", {"interval": 1e-4}),
    Twin("dp-accounting RDP", "rdp"),
    Twin("opacus RDP", "rdp"),
    Twin("prv-accountant", "prv", {"eps_error": 0.01}),
    Twin("opacus PRV", "prv", {"eps_error": 0.01}),
)


def compared(rows: list[Row], ours: Worker) -> list[dict[str, Any]]:
    """One entry for each case that a peer's route answered: its value and estimate, ours, or why there is none."""
    found = []
    asked: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        for twin in TWINS:
            cell = row.cells.get(twin.label)
            if cell is None or cell.outcome != "answered" or row.case.quantity == "stepwise":
                continue
            key = (row.case.name, twin.accountant)
            if key not in asked:
                question = {**row.case.question(), "accountant": twin.accountant, "options": twin.options}
                asked[key] = ours.ask({**question, "route": "method"}, row.case.limit)
            reply = asked[key]
            found.append(
                {
                    "case": row.case.name,
                    "label": twin.label,
                    "accountant": twin.accountant,
                    "truth": str(row.case.truth),
                    "theirs": {"value": cell.value, "estimate": cell.estimate},
                    "ours": {name: reply.get(name) for name in ("value", "estimate", "error")},
                }
            )
    return found
