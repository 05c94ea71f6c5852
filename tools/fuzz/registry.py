"""Which cases there are, of which kind, and for which public names each stands."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzz.draws import Draw
from fuzz.laws import Held

Check = Callable[[Draw, Held], None]


@dataclass(frozen=True)
class Entry:
    """One function that draws a call and holds its answer to laws.

    Attributes:
        kind: the group it is drawn in; every kind is drawn equally often.
        name: ``kind.function``, which is what ``--kind`` takes to run it alone.
        check: the function.
        covers: the public names that it calls, such as ``"Profile.tpr"``.
    """

    kind: str
    name: str
    check: Check
    covers: tuple[str, ...]

    def draw(self, seed: int, index: int) -> Draw:
        """What is drawn for the case of that number: the same on every machine."""
        return Draw(f"{seed}:{index}:{self.name}")


_CASES: dict[str, Entry] = {}


def case(kind: str, *covers: str) -> Callable[[Check], Check]:
    """Declare a case of a kind that calls these public names."""

    def declare(check: Check) -> Check:
        name = f"{kind}.{check.__name__}"
        assert name not in _CASES, name
        _CASES[name] = Entry(kind, name, check, covers)
        return check

    return declare


def declared() -> dict[str, Entry]:
    """All cases by name, in the order in which they are declared."""
    importlib.import_module("fuzz.cases")
    return _CASES


def kinds() -> list[str]:
    """The kinds, in the order in which they are declared."""
    return list(dict.fromkeys(entry.kind for entry in declared().values()))


def chosen(seed: int, index: int, only: Sequence[str] = ()) -> Entry:
    """The case of that number: a kind first, each as likely as the others, then one of its cases.

    Args:
        seed: of the run.
        index: number of the case, from 0.
        only: kinds or names of cases to choose among; all kinds if empty.
    """
    draw = random.Random(f"{seed}:{index}")
    named = draw.choice(list(only) or kinds())
    return draw.choice([entry for entry in declared().values() if named in (entry.kind, entry.name)])
