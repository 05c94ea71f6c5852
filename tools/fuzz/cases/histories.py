"""Plans of histories."""

from __future__ import annotations

from typing import Any

from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case
from hockeystick.integrations.history import plan_from_history

NO_HISTORIES: tuple[Any, ...] = (
    None, 3, [3], [()], [(1, 2)], [(0, 0.1, 5)], [(1, 0, 5)], [(1, 0.1, -5)], "ab", [(1, 0.1, 10**400)],
    [("a", "b", "c")], {1: 2}, [(1, 0.1, True)],
)  # fmt: skip
"""What is no history of (noise multiplier, sample rate, steps)."""


@case("history", "integrations.history.plan_from_history")
def history(draw: Draw, held: Held) -> None:
    """The plan of the entries; what is no entry is refused."""
    entries = draw.note(
        "entries", [(draw.noise(), draw.rate(), draw.count()) for _ in range(draw.random.randint(0, 4))]
    )
    found = held.ask("plan_from_history", lambda: plan_from_history(entries), invalid=True)
    if found is not None:
        held.same("steps", found.steps, sum(count for *_, count in entries))
    broken: Any = draw.note("broken", draw.of(*NO_HISTORIES))
    held.law(held.ask("plan_from_history", lambda: plan_from_history(broken), invalid=True) is None,
             f"{broken} is taken for a history")  # fmt: skip
