"""Differences between two answers in JSON, number by number, and between two texts, line by line."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping
from html import unescape
from itertools import takewhile
from typing import Any

from hockeystick.values.domains import cut

TOLERANCE = 1e-6
"""Largest relative difference between a stated number and the recomputed one: the usual relative width of an interval.

A stated end that is tighter than the recomputed end has the smaller tolerance :data:`ELSEWHERE`."""

LENGTH = 90  # longest quotation of a line or a value, in characters

ROUNDING = 1e-14  # relative size of a few roundings; on another machine, equal lower and upper ends may cross by it

ELSEWHERE = 1e-12
"""Relative change of an end that another machine's elementary functions may cause."""

GIVEN = frozenset({"delta", "fpr"})
"""Keys of the arguments at which bounds are stated, with tolerance :data:`ELSEWHERE`.

A bound that holds at one delta may fail at a delta that is smaller by a millionth."""

OPPOSITE = {"upper": "lower", "lower": "upper"}
"""Key of the opposite end of an interval."""

TIMES = frozenset({"seconds"})
"""Keys of running times, which cannot be recomputed."""

_TAG = re.compile(r"<[^>]*>")
"""HTML tag, left out of lines shown to people."""


def differences(stated: Any, again: Any, where: str = "", *, older: bool = False) -> Iterator[str]:
    """Yield a line for each stated value that the recomputation does not confirm.

    Args:
        stated: answer as JSON values.
        again: the same answer, recomputed.
        where: path of keys to both values, with which each line begins.
        older: True if another version of the library stated the answer. Its intervals may be wider or narrower, so a
            stated interval need only overlap the recomputed one: its upper end must be at least the recomputed lower
            end, and its lower end at most the recomputed upper end.

    >>> list(differences({"epsilon": {"upper": 2.0}}, {"epsilon": {"upper": 2.5}}))
    ['epsilon.upper: stated 2.0, recomputed 2.5']
    >>> list(differences({"upper": 1.0 + 1e-9}, {"upper": 1.0}))
    []
    >>> list(differences({"upper": 1.0 - 1e-9}, {"upper": 1.0}))
    ['upper: stated 0.999999999, below the recomputed upper end, 1.0']
    """
    if isinstance(stated, Mapping) and isinstance(again, Mapping):
        for key in [*again, *(key for key in stated if key not in again)]:
            place = f"{where}.{key}" if where else str(key)
            if key not in stated:
                yield f"{place}: missing, recomputed {_shown(again[key])}"
            elif key not in again:
                yield f"{place}: stated {_shown(stated[key])}, which no answer to this question has"
            elif key in OPPOSITE and _are_numbers(stated[key], again[key]):
                yield from _end(stated[key], again, key, place, older)
            elif key in GIVEN and _are_numbers(stated[key], again[key]):
                if not _alike(stated[key], again[key], ELSEWHERE):
                    yield f"{place}: stated {stated[key]!r}, recomputed {again[key]!r}"
            elif key not in TIMES:
                yield from differences(stated[key], again[key], place, older=older)
    elif isinstance(stated, list) and isinstance(again, list) and len(stated) == len(again):
        for number, (one, other) in enumerate(zip(stated, again, strict=True), start=1):
            yield from differences(one, other, f"{where}[{number}]", older=older)
    elif not _alike(stated, again):
        yield f"{where}: stated {_shown(stated)}, recomputed {_shown(again)}"


def _end(stated: float, again: Mapping[str, Any], end: str, place: str, older: bool) -> Iterator[str]:
    """Yield a line if a stated end is tighter than the recomputed end, or differs from it beyond the tolerance."""
    opposite, side = OPPOSITE[end], "below" if end == "upper" else "above"
    both = _are_numbers(again.get(opposite))
    slack = ({} if older and both else {end: ELSEWHERE}) | ({opposite: ROUNDING} if both else {})
    if not older and not _alike(stated, again[end]):
        yield f"{place}: stated {stated!r}, recomputed {again[end]!r}"
        return
    for against, share in slack.items():
        bound = again[against]
        if (bound - stated if end == "upper" else stated - bound) > share * abs(bound):
            yield f"{place}: stated {stated!r}, {side} the recomputed {against} end, {bound!r}"
            return


def changed_lines(stated: str, again: str) -> Iterator[str]:
    """Yield a message for each line in which the text in a file differs from the text rendered from its numbers.

    >>> list(changed_lines("a\\n<p>epsilon 2</p>\\n", "a\\n<p>epsilon 3</p>\\n"))
    ["line 2: stated 'epsilon 2', should be 'epsilon 3'"]
    """
    ours, theirs = again.split("\n"), stated.split("\n")
    for kind, low, high, begin, end in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind != "equal":
            for offset in range(max(high - low, end - begin)):
                new = _line(theirs[begin + offset]) if begin + offset < end else None
                old = _line(ours[low + offset]) if low + offset < high else None
                if new is not None and new == old:  # such as text that was hidden
                    new, old = theirs[begin + offset], ours[low + offset]
                alike = sum(
                    1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(new or "", old or "", strict=False))
                )
                new, old = (_from(line, alike) for line in (new, old))
                yield f"line {begin + offset + 1}: stated {new}, should be {old}"


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _alike(stated: Any, again: Any, share: float = TOLERANCE) -> bool:
    """True if two values agree: floats within the relative tolerance ``share``, everything else exactly.

    Whole numbers must agree exactly, since they are counts, and a count that is off by one is a different claim. Truth
    values are not numbers here.
    """
    if _are_numbers(stated, again):
        share = ELSEWHERE if isinstance(again, int) else share
        return bool(stated == again or math.isclose(stated, again, rel_tol=share))
    return type(stated) is type(again) and bool(stated == again)


def _shown(value: Any) -> str:
    return cut(repr(value), LENGTH)


def _line(text: str) -> str:
    """A line of HTML as readers see it: without tags, unless it consists of tags only."""
    bare = unescape(_TAG.sub(" ", text)).strip()
    return " ".join(bare.split()) or text


def _from(line: str | None, alike: int) -> str:
    """Excerpt of a line around its first difference from another line; ``nothing`` for a missing line.

    ``alike`` is the number of equal characters before the difference.
    """
    if line is None:
        return "nothing"
    start = alike - LENGTH // 3 if alike > LENGTH // 3 and len(line) > LENGTH else 0
    return _shown(f"...{line[start:]}" if start else line)
