"""Documents as Markdown, for a repository or a ticket: the text of the page, then its numbers as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hockeystick.report.document import blocks

FENCE = ("```json hockeystick-record", "```")
"""Delimiters of the numbers for machines: a code block, which readers show unchanged."""

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$@]|:(?=//)|(?<=www)\.)")
"""Characters that Markdown or embedded HTML may take for markup; the last ones turn bare addresses into links."""

_FIRST = re.compile(r"^(\d+)([.)])(?=\s)|^([-=+#])")
"""Beginnings of a line that would start a list or a heading."""


def markdown(content: Sequence[blocks.Block], record: Mapping[str, Any]) -> str:
    """Return the document as text that ends in a line break.

    >>> print(markdown([blocks.Paragraph("1 < *2*")], {"a": 1}), end="")
    1 \\< \\*2\\*
    <BLANKLINE>
    ```json hockeystick-record
    {"a": 1}
    ```
    """
    parts = ["\n".join(_written(block)) for block in content]
    island = json.dumps(record, ensure_ascii=True, allow_nan=False).replace("`", "\\u0060")  # ` could end the block
    return "\n\n".join([*parts, "\n".join([FENCE[0], island, FENCE[1]])]) + "\n"


def escaped(text: str) -> str:
    """Escape text so that Markdown shows it unchanged.

    >>> escaped("1. a_b <script>")
    '1\\\\. a\\\\_b \\\\<script\\\\>'
    """
    inside = _SPECIAL.sub(r"\\\1", text)
    return _FIRST.sub(lambda found: f"{found[1]}\\{found[2]}" if found[1] else f"\\{found[3]}", inside)


def _written(block: blocks.Block) -> list[str]:
    match block:
        case blocks.Title(text, about):
            return [f"# {escaped(text)}", *(["", escaped(about)] if about else [])]
        case blocks.Heading(text):
            return [f"## {escaped(text)}"]
        case blocks.Lead(text, below):
            return [f"**{escaped(text)}**", "", escaped(below)]
        case blocks.Paragraph(text):
            return [escaped(text)]
        case blocks.Caution(texts):
            return [f"> **Caution:** {escaped(text)}\n>" for text in texts]
        case blocks.Facts(rows):
            return [f"- {escaped(name)}: {escaped(value)}" for name, value in rows]
        case blocks.Table():
            rules = ["---" if at < block.words else "---:" for at in range(len(block.heads))]
            lines = [_row(map(escaped, block.heads)), _row(rules), *(_row(map(escaped, row)) for row in block.rows)]
            return [f"{escaped(block.caption)}:", "", *lines]
        case blocks.Bullets(items):
            return [f"- {escaped(item)}" for item in items]
        case blocks.Figure(chart, caption):
            return [f"{escaped(chart.title)}. {escaped(chart.description)} {escaped(caption)}"]
        case blocks.Code(text, language):
            longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            return [f"{fence}{language}", text.rstrip(), fence]
        case blocks.Signature(fields):
            return [f"{escaped(name)}: \\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\\_\n" for name in fields]


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"
