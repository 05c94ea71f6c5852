"""Where long words of code may go on in the next line: after a slash, a dot, a bracket, an underscore, an equals sign.

A Sphinx extension. Code within sentences and tables is set with such places marked (``<wbr>``, which is not copied), so
that a column is as narrow as its longest name between them, and a name is not cut after an arbitrary letter. On a
phone the long name of a class goes on before a capital (the style sheet says where). A flag keeps its dashes, here and
in the commands that are shown: browsers would end a line between them and its name. So does a number such as 1e-5, and
one stays beside its unit, or beside the sign that says it is a limit. Paths and dotted names within plain words are
marked like code, and so is a signature after its opening bracket. A line of shown code that is too long for the column
goes on below with an indent, so that what is typed is not taken for what is printed.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

SHORT = 16
"""Letters that stay together: as many as ``UnsupportedError`` has, a tenth of the column of text."""

WORD = re.compile(r'<span class="pre">([^<]*)</span>')
PLACE = re.compile(r"(?<=[/.(\[_=,:])(?=[\w\"'])")
CAPITAL = re.compile(r"((?<=[a-z])|(?<=[A-Z]{2}))(?=[A-Z][a-z])")
COMMAND = re.compile(r'<div class="highlight-console[^"]*">.*?</pre>', re.DOTALL)
FLAG = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")
NAME = re.compile(r"(?<![\w./-])[A-Za-z]\w*(?:[/.-]\w+)*")
NUMBER = re.compile(r"(?<![\w.-])[-+]?\d[\d.]*e-\d+(?![\w-])")
UNITS = "%|×|ns|µs|ms|s|kB|MB|GB|KiB|MiB|GiB"
QUANTITY = re.compile(
    rf"(?<![\w.-])(?:(?:≤|≥|&lt;|&gt;)\s(?P<limit>-?)|[-+]?)\d+(?:[.,]\d+)*(?:e[-+]?\d+)?(?(limit)|\s(?:{UNITS}))(?![\w-])"
    r"|(?<!\w)arXiv\s\d{4}\.\d{4,5}(?!\w)"
)
OPENED = re.compile(r'<span class="sig-paren">\(</span>(?!<span class="sig-paren">)')
APART = "pre|code|script|style|svg|math"
PIECE = re.compile(rf"(<({APART})\b.*?</\2>|<[^>]*>)", re.DOTALL)
"""What is not plain words: a tag; and code, a drawing or a formula as a whole."""

SHOWN = re.compile(r'(<div class="highlight"><pre>)(.*?)(</pre>)', re.DOTALL)
TAG = re.compile(r"<[^>]*>")
LEAD = re.compile(r"(?:>>> |\.\.\. |\$ )?\s*")
COLUMN = 60
"""Letters of a line of code that fit wherever such a line may stand."""
LONG_WORD = re.compile(r"\S{49,}")
PUNCTUATION = re.compile(r'<span class="[op]">[^<]*[(.,=]</span>')
INDENT = 4
"""Letters by which a line that goes on stands farther in."""


def breakable(body: str) -> str:
    """The page with the places marked.

    >>> breakable('<span class="pre">engines/grid/laws.py</span>')
    '<span class="pre">engines/<wbr>grid/<wbr>sums.<wbr>py</span>'
    >>> breakable('<span class="pre">--delta</span>')
    '<span class="pre whole">--delta</span>'
    >>> breakable('<div class="highlight-console"><pre>$ a --b 1</pre></div>')
    '<div class="highlight-console"><pre>$ a <span class="whole">--b</span> 1</pre></div>'
    >>> breakable("<p>proof in plan/sampling/shuffled.py, to 1e-5</p>")
    '<p>proof in plan/<wbr>sampling/<wbr>shuffled.<wbr>py, to <span class="whole">1e-5</span></p>'
    """
    body = OPENED.sub(r"\g<0><wbr>", WORD.sub(_word, body))
    body = _plain(body)
    body = COMMAND.sub(lambda shown: FLAG.sub(r'<span class="whole">\1</span>', shown[0]), body)
    return SHOWN.sub(
        lambda shown: f"{shown[1]}{''.join(map(_line, shown[2].splitlines(keepends=True)))}{shown[3]}", body
    )


def _line(line: str) -> str:
    """A line of shown code, with what the style sheet needs to know if it goes on.

    >>> _line("short")
    'short'
    >>> _line("    " + 20 * "long ")[:60]
    '<span class="long" style="--lead: 8ch">    long long long lo'
    """
    text = unescape(TAG.sub("", line))
    if len(text.rstrip()) <= COLUMN or line.count("<span") != line.count("</span>"):
        return line
    if LONG_WORD.search(text):
        line = PUNCTUATION.sub(r"\g<0><wbr>", line)
    lead = LEAD.match(text)
    within = len(lead[0]) if lead else 0
    return f'<span class="long" style="--lead: {min(within, COLUMN // 2) + INDENT}ch">{line}</span>'


def _word(found: re.Match[str]) -> str:
    word = found[1]
    if len(word) <= SHORT or FLAG.fullmatch(word):
        return f'<span class="pre whole">{word}</span>'
    marked = CAPITAL.sub('<wbr class="capital">', PLACE.sub("<wbr>", word))
    return f'<span class="pre">{NUMBER.sub(_whole, marked)}</span>'


def _plain(body: str) -> str:
    """The words between the tags, marked."""
    made, at = [], 0
    for tag in PIECE.finditer(body):
        made += [_words(body[at : tag.start()]), tag[0]]
        at = tag.end()
    return "".join([*made, _words(body[at:])])


def _words(text: str) -> str:
    text = NAME.sub(lambda found: PLACE.sub("<wbr>", found[0]) if len(found[0]) > SHORT else found[0], text)
    made, at = [], 0
    for found in QUANTITY.finditer(text):
        made += [NUMBER.sub(_whole, text[at : found.start()]), _whole(found)]
        at = found.end()
    return "".join([*made, NUMBER.sub(_whole, text[at:])])


def _whole(found: re.Match[str]) -> str:
    return f'<span class="whole">{found[0]}</span>'


def _page(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if context.get("body"):
        context["body"] = breakable(context["body"])


def setup(app: Any) -> dict[str, bool]:
    """What Sphinx calls: pages are marked before they are written."""
    app.connect("html-page-context", _page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
