"""Documents as one self-contained HTML page without scripts or external resources, for screen, paper and phone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from hockeystick.report.document import blocks

ISLAND = ('<script type="application/json" id="hockeystick-record">', "</script>")
"""Delimiters of the numbers for machines; browsers do not run a script of this type."""

STYLE = """
:root { color-scheme: light; --ink: #1a1a1a; --soft: #555; --rule: #c9c9c9; --blue: #0059a3; --pale: #eef4fa; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 46rem; color: var(--ink); background: #fff;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2.2rem 0 .6rem; padding-bottom: .25rem;
  border-bottom: 1px solid var(--rule); }
p { margin: .7rem 0; }
p, li, .lead { overflow-wrap: anywhere; }
.about { margin: .3rem 0 0; font-size: 1.1rem; color: var(--soft); overflow-wrap: anywhere; }
.lead { margin: 1.4rem 0; padding: 1rem 1.2rem; background: var(--pale); border-left: 5px solid var(--blue); }
.lead strong { display: block; font-size: 1.8rem; line-height: 1.25; }
.lead span { color: var(--soft); }
.caution { margin: 1rem 0; padding: .6rem 1.2rem; background: #fdf3e7; border-left: 5px solid #b3400a; }
.caution p { margin: .4rem 0; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .35rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--rule); }
thead th { border-bottom: 2px solid var(--soft); vertical-align: bottom; }
tbody th { font-weight: 600; }
td.number, th.number { font-variant-numeric: tabular-nums; }
td, th { overflow-wrap: break-word; }
td.number, tbody th.number { white-space: nowrap; }
dl { display: grid; grid-template-columns: fit-content(40%) minmax(0, 1fr); gap: .3rem 1.2rem; margin: 1rem 0; }
dt { color: var(--soft); overflow-wrap: anywhere; }
dd { margin: 0; overflow-wrap: anywhere; }
li { margin: .35rem 0; }
figure { margin: 1.6rem 0; max-width: 36rem; break-inside: avoid; }
figure svg { display: block; width: 100%; height: auto; font-family: inherit; }
figure svg text { paint-order: stroke; stroke: #fff; stroke-width: 3px; stroke-linejoin: round; }
figcaption { color: var(--soft); font-size: .95rem; margin-top: .3rem; }
pre { margin: .7rem 0; padding: .8rem 1rem; background: #f5f5f5; border: 1px solid var(--rule); font-size: .85rem;
  line-height: 1.45; white-space: pre-wrap; overflow-wrap: anywhere;
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.signature { display: grid; grid-template-columns: repeat(3, 1fr); gap: 1.5rem; margin-top: 4.5rem;
  break-inside: avoid; }
.signature span { border-top: 1px solid var(--ink); padding-top: .3rem; color: var(--soft); font-size: .9rem; }
@media (max-width: 34rem) {
  body { padding: 1.2rem 1rem 3rem; }
  .lead strong { font-size: 1.45rem; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: .6rem; }
  table { font-size: .8rem; }
  th, td { padding-right: .4rem; }
  th:last-child, td:last-child { padding-right: 0; }
  td.number:last-child { white-space: normal; }
  .signature { grid-template-columns: 1fr; gap: 3.5rem; }
}
@media print {
  @page { size: A4; margin: 9mm 15mm; }
  html { font-size: 8.4pt; }
  body { padding: 0; max-width: none; line-height: 1.35; }
  h2 { break-after: avoid; margin: .7rem 0 .25rem; }
  p { margin: .25rem 0; }
  li { margin: 0; }
  .lead, dl, ul, .wide { margin: .5rem 0; }
  th, td { padding-top: .2rem; padding-bottom: .2rem; }
  .signature { margin-top: 2.6rem; }
  pre { margin: .4rem 0; padding: .4rem .8rem; line-height: 1.3; }
  tr, .lead, .caution, .wide, ul, dl, pre { break-inside: avoid; }
  .signature, ul, p:has(+ .signature) { break-before: avoid; }
  figure { display: inline-block; width: 56mm; margin: .4rem 1.5mm 0 0; vertical-align: top; font-size: .85em; }
  .lead, .caution, pre { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  .wide { overflow: visible; }
}
"""
"""Style of the page: one column of at most 46 em, with narrower margins on a phone."""

LONG = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){2,}")
"""Dotted names, which are longer than a line on a phone."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Content security policy: the page may load only its own style, even if some text were taken for markup."""


def page(title: str, content: Sequence[blocks.Block], record: Mapping[str, Any]) -> str:
    """Return the page as text that ends in a line break.

    Args:
        title: title of the window.
        content: visible blocks.
        record: numbers for machines, embedded as JSON.

    >>> text = page("Report", [blocks.Paragraph("a <b> & c")], {"note": "</script>"})
    >>> "a &lt;b&gt; &amp; c" in text, text.count("</script>")
    (True, 1)
    """
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en" dir="ltr">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="generator" content="hockeystick">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        "<main>",
        *(line for block in content for line in _written(block)),
        "</main>",
        ISLAND[0],
        island(record),
        ISLAND[1],
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def island(record: Mapping[str, Any]) -> str:
    """Return the record as JSON on one line, escaped so that HTML cannot take any text in it for markup."""
    text = json.dumps(record, ensure_ascii=True, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _written(block: blocks.Block) -> list[str]:
    match block:
        case blocks.Title(text, about):
            return [f"<h1>{escape(text)}</h1>", *([f'<p class="about">{escape(about)}</p>'] if about else [])]
        case blocks.Heading(text):
            return [f"<h2>{escape(text)}</h2>"]
        case blocks.Lead(text, below):
            return ['<div class="lead">', f"<strong>{escape(text)}</strong>", f"<span>{escape(below)}</span>", "</div>"]
        case blocks.Paragraph(text):
            divided = LONG.sub(lambda name: name[0].replace(".", ".<wbr>"), escape(text))  # a line may break there
            return [f"<p>{divided}</p>"]
        case blocks.Caution(texts):
            marked = (f"<p><strong>Caution:</strong> {escape(text)}</p>" for text in texts)
            return ['<div class="caution" role="note">', *marked, "</div>"]
        case blocks.Facts(rows):
            pairs = (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
            return ["<dl>", *pairs, "</dl>"]
        case blocks.Table():
            return _table(block)
        case blocks.Bullets(items):
            return ["<ul>", *(f"<li>{escape(item)}</li>" for item in items), "</ul>"]
        case blocks.Figure(chart, caption):
            return ["<figure>", *chart.svg().split("\n"), f"<figcaption>{escape(caption)}</figcaption>", "</figure>"]
        case blocks.Code(text, _):
            return f"<pre><code>{escape(text.rstrip())}</code></pre>".split("\n")
        case blocks.Signature(fields):
            return ['<div class="signature">', *(f"<span>{escape(name)}</span>" for name in fields), "</div>"]


def _table(block: blocks.Table) -> list[str]:
    def kind(column: int) -> str:
        return "" if column < block.words else ' class="number"'

    heads = "".join(f'<th scope="col"{kind(at)}>{escape(text)}</th>' for at, text in enumerate(block.heads))
    lines = [f'<div class="wide" role="region" aria-label="{escape(block.caption)}" tabindex="0">', "<table>"]
    lines += [f"<caption>{escape(block.caption)}</caption>", f"<thead><tr>{heads}</tr></thead>", "<tbody>"]
    for first, *others in block.rows:
        cells = "".join(f"<td{kind(at)}>{escape(text)}</td>" for at, text in enumerate(others, start=1))
        lines.append(f'<tr><th scope="row"{kind(0)}>{escape(first)}</th>{cells}</tr>')
    return [*lines, "</tbody>", "</table>", "</div>"]
