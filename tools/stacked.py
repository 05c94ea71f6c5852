"""Wide tables on a phone: each cell says under which head it stands, so that a row can be shown as a card.

A Sphinx extension. It writes the heads of a table with three columns or more into its cells (``data-head``), and the
style sheet shows rows one below the other where the window is narrow: nothing has to be pushed aside to be read. A cell
that is empty is marked as such (``data-empty``), and left out there.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any

COLUMNS = 3  # fewer fit beside each other on a phone

TABLE = re.compile(r'<table class="table">(.*?)</table>', re.DOTALL)
HEAD = re.compile(r"<th class=\"[^\"]*head[^\"]*\"[^>]*>(.*?)</th>", re.DOTALL)
BODY = re.compile(r"<tbody>.*</tbody>", re.DOTALL)
ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
CELL = re.compile(r"<td\b([^>]*>)(.*?</td>)", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
"""Parts of a table as docutils writes it: no table stands within another."""


def stacked(body: str) -> str:
    """The page with its wide tables marked.

    >>> head = "".join(f'<th class="head"><p>{name}</p></th>' for name in "abc")
    >>> row = "<tr><td>1</td><td>2</td><td>3</td></tr>"
    >>> table = f'<table class="table"><thead><tr>{head}</tr></thead><tbody>{row}</tbody></table>'
    >>> stacked(table).split("<tbody>")[1].removesuffix("</tbody></table>")
    '<tr><td data-head="a">1</td><td data-head="b">2</td><td data-head="c">3</td></tr>'
    """
    return TABLE.sub(_table, body)


def _table(table: re.Match[str]) -> str:
    heads = [escape(unescape(TAG.sub("", head)).strip(), quote=True) for head in HEAD.findall(table[1])]
    if len(heads) < COLUMNS:
        return table[0]

    def row(found: re.Match[str]) -> str:
        names = iter(heads)

        def cell(found: re.Match[str]) -> str:
            head = next(names, "")
            full = "<img" in found[2] or unescape(TAG.sub("", found[2])).strip()
            mark = f'data-head="{head}"' if full else "data-empty"
            return f"<td {mark}{found[1]}{found[2]}"

        return CELL.sub(cell, found[0])

    marked = BODY.sub(lambda body: ROW.sub(row, body[0]), table[1])
    return f'<table class="table stacked">{marked}</table>'


def _page(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if context.get("body"):
        context["body"] = stacked(context["body"])


def setup(app: Any) -> dict[str, bool]:
    """What Sphinx calls: pages are marked before they are written."""
    app.connect("html-page-context", _page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
