"""No page of the documentation loads anything from elsewhere: the build fails on one that does.

Links are for people to follow and may lead anywhere. What a browser fetches by itself, to show a page, has to lie in
the built folder: scripts, styles, fonts, pictures, frames.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FETCHED = re.compile(r"<(script|img|iframe|source|video|audio|embed|object|link|image|use)\b[^>]*>", re.IGNORECASE)
"""Elements that a browser may fetch something for."""

ADDRESS = re.compile(r"""\b(?:src|href|srcset|data|poster)\s*=\s*["']?\s*((?:https?:)?//[^"'\s>]+)""", re.IGNORECASE)
"""The address of something elsewhere, in such an element."""

NOT_FETCHED = re.compile(r"""\brel\s*=\s*["']?(?:canonical|author|license|next|prev|alternate)\b""", re.IGNORECASE)
"""Links in the head that say something and load nothing."""

STYLED = re.compile(r"""(?:@import\s+|url\()\s*["']?\s*((?:https?:)?//[^"')\s]+)""", re.IGNORECASE)
"""An address in a style sheet, or in a style within a page."""

IMPORTED = re.compile(r"""(?:\bimport\s*\(?|\bfrom)\s*["']((?:https?:)?//[^"']+)""")
"""An address that a script within a page imports."""


def addresses(text: str, style: bool = False) -> Iterator[str]:
    """The addresses elsewhere that a browser fetches for a page, or for a style sheet.

    >>> list(addresses('<a href="https://a.org">x</a><script src="https://b.org/x.js"></script>'))
    ['https://b.org/x.js']
    """
    yield from STYLED.findall(text)
    if style:
        return
    yield from IMPORTED.findall(text)
    for element in FETCHED.finditer(text):
        if not NOT_FETCHED.search(element[0]):
            yield from ADDRESS.findall(element[0])


def found(folder: Path) -> list[str]:
    """What the pages and style sheets of a folder fetch from elsewhere: a line for each file and address."""
    return [
        f"{path.relative_to(folder)}: {address}"
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".html", ".css")
        for address in addresses(path.read_text(encoding="utf-8"), style=path.suffix == ".css")
    ]


def _finished(app: Any, failure: Exception | None) -> None:
    from sphinx.errors import ExtensionError

    if failure is None and app.builder.format == "html":
        lines = found(Path(app.outdir))
        if lines:
            raise ExtensionError("pages load from elsewhere:\n" + "\n".join(lines))


def setup(app: Any) -> dict[str, bool]:
    """What Sphinx calls: the check runs when all pages are written."""
    app.connect("build-finished", _finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
