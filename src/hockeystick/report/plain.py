"""The layout of ``tables.py`` for pipes and files, without rich, which takes as long to import as an answer does.

What is written is what rich would write there, to the character; texts whose layout is not plain (letters beyond
ASCII, words longer than a line, long headlines) are left to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

USUAL_WIDTH = 80  # characters of a line where nobody says how many
LEAST_WIDTH = 40  # characters that are filled, however narrow the terminal is: a label and the digits of a count
LEAST_COLUMN = 20  # characters below which the second of two columns is left to rich
FORCED = ("FORCE_COLOR", "TTY_COMPATIBLE", "JPY_PARENT_PID")
"""Variables of the environment by which rich takes for a terminal what is none, or looks further."""


def is_piped(stream: object) -> bool:
    """Whether a stream is surely no terminal, and is not to be taken for one either."""
    try:
        terminal = stream.isatty()  # type: ignore[attr-defined]  # whatever has none is left to rich
    except (AttributeError, ValueError):
        return False
    return not terminal and not any(name in os.environ for name in FORCED)


def line_width() -> int:
    """Characters of a line: those of the terminal that the command was called from, if there is one."""
    columns = os.environ.get("COLUMNS", "")
    width = 0
    for number in range(3):  # the standard streams
        try:
            width = os.get_terminal_size(number).columns
        except (AttributeError, ValueError, OSError):
            continue
        break
    if columns.isdigit():
        width = int(columns)
    return max(width or USUAL_WIDTH, LEAST_WIDTH)


def written(stream: object, headline: str | None, lines: Iterable[Sequence[str]]) -> bool:
    """Whether a headline, if there is one, and lines of two columns have been written, because it could be done."""
    if not is_piped(stream):
        return False
    text = laid_out(headline, list(lines), line_width())
    if text is None:
        return False
    stream.write(text)  # type: ignore[attr-defined]  # it has an isatty
    stream.flush()  # type: ignore[attr-defined]
    return True


def laid_out(headline: str | None, lines: Sequence[Sequence[str]], width: int) -> str | None:
    """A headline and a table of two columns, the second with its words wrapped; ``None`` where it is not plain.

    >>> print(laid_out("epsilon <= 1", [("adjacency", "add"), ("rounds", "word " * 20 + "end")], 60), end="")
    epsilon <= 1
    <BLANKLINE>
    adjacency  add
    rounds     word word word word word word word word word
               word word word word word word word word word
               word word end
    """
    first = max((len(label) for label, _ in lines), default=0)
    if width - first - 2 < LEAST_COLUMN or (headline is not None and (len(headline) > width or not _plain(headline))):
        return None
    out = [] if headline is None else [headline, ""]
    for label, text in lines:
        column = _wrapped(text, width - first - 2)
        if column is None or not _plain(label):
            return None
        labels = [label, *[""] * (len(column) - 1)]
        out += [f"{start:<{first}}  {part}".rstrip() for start, part in zip(labels, column, strict=True)]
    return "".join(line + "\n" for line in out)


def _wrapped(text: str, width: int) -> list[str] | None:
    """The lines of a text, each with as many words as it holds; ``None`` where it is not plain."""
    if not _plain(text):
        return None
    lines: list[str] = []
    for word in text.split(" "):
        if len(word) > width:
            return None
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def _plain(text: str) -> bool:
    """Whether a text is of printable ASCII, with single spaces between its words and none around them."""
    return text.isascii() and text.isprintable() and text == " ".join(text.split())
