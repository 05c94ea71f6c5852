"""What differs between two answers in JSON, number by number, and between two texts, line by line."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

from hockeystick.values.domains import cut

TOLERANCE = 1e-6
"""How far, relative to itself, a number may be from the one that is computed again: the width that intervals are asked
for. Another machine's elementary functions may move an end within it. What is edited below it the checksum notices."""

LENGTH = 90  # characters of a line or a value that are repeated

ROUNDING = 1e-14  # relative: a few roundings, by which ends that agree may cross on another machine

TIMES = frozenset({"seconds"})
"""Keys whose values cannot be computed again: how long an answer took."""

_TAG = re.compile(r"<[^>]*>")
"""A tag of HTML, which is left out where a line is shown to people."""


def differences(stated: Any, again: Any, where: str = "") -> Iterator[str]:
    """A line for each value that was stated and is not what was computed again.

    >>> list(differences({"epsilon": {"upper": 2.0}}, {"epsilon": {"upper": 2.5}}))
    ['epsilon.upper: stated 2.0, computed again 2.5']
    >>> list(differences({"upper": 1.0}, {"upper": 1.0 + 1e-12}))
    []
    """
    if isinstance(stated, Mapping) and isinstance(again, Mapping):
        yield from _contradictions(stated, again, where)
        for key in [*again, *(key for key in stated if key not in again)]:
            place = f"{where}.{key}" if where else str(key)
            if key not in stated:
                yield f"{place}: missing, computed again {_shown(again[key])}"
            elif key not in again:
                yield f"{place}: stated {_shown(stated[key])}, which no answer to this question has"
            elif key not in TIMES:
                yield from differences(stated[key], again[key], place)
    elif isinstance(stated, list) and isinstance(again, list) and len(stated) == len(again):
        for number, (one, other) in enumerate(zip(stated, again, strict=True), start=1):
            yield from differences(one, other, f"{where}[{number}]")
    elif not _alike(stated, again):
        yield f"{where}: stated {_shown(stated)}, computed again {_shown(again)}"


def _contradictions(stated: Mapping[str, Any], again: Mapping[str, Any], where: str) -> Iterator[str]:
    """An upper end below the certified lower end, or a lower end above the upper one, however small the difference."""
    for end, other, sign in (("upper", "lower", 1.0), ("lower", "upper", -1.0)):
        one, bound = stated.get(end), again.get(other)
        if not isinstance(one, int | float) or not isinstance(bound, int | float) or not _alike(one, again.get(end)):
            continue  # no numbers, or far enough apart to be told as another number
        if sign * (bound - one) > ROUNDING * abs(bound):
            yield f"{where}.{end}: stated {one!r}, on the wrong side of the certified {other} end {bound!r}"


def changed_lines(stated: str, again: str) -> Iterator[str]:
    """A line for each place where a text is not what is written again from its own numbers.

    >>> list(changed_lines("a\\n<p>epsilon 2</p>\\n", "a\\n<p>epsilon 3</p>\\n"))
    ["line 2: stated 'epsilon 2', written again 'epsilon 3'"]
    """
    ours, theirs = again.split("\n"), stated.split("\n")
    for kind, low, high, begin, end in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind != "equal":
            for offset in range(max(high - low, end - begin)):
                new = _line(theirs[begin + offset]) if begin + offset < end else "nothing"
                old = _line(ours[low + offset]) if low + offset < high else "nothing"
                yield f"line {begin + offset + 1}: stated {new}, written again {old}"


def _alike(stated: Any, again: Any) -> bool:
    """Whether two values say the same: numbers within the tolerance, all else exactly; a truth value is no number."""
    if type(stated) is bool or type(again) is bool:
        return stated is again
    if isinstance(stated, int | float) and isinstance(again, int | float):
        return stated == again or math.isclose(stated, again, rel_tol=TOLERANCE)
    return type(stated) is type(again) and bool(stated == again)


def _shown(value: Any) -> str:
    return cut(repr(value), LENGTH)


def _line(text: str) -> str:
    """A line as people see it: without tags, and as it is where nothing else is in it."""
    bare = unescape(_TAG.sub(" ", text)).strip()
    return _shown(" ".join(bare.split()) or text)
