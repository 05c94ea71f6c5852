"""Formulas of the documentation as MathML, made when the pages are built: no script, no font, nothing from outside.

A Sphinx extension: ``html_math_renderer = "mathml"``. What the converter does not know is an error of the build, not a
formula with a hole.
"""

from __future__ import annotations

import re
from typing import Any

OPENING, CLOSING = re.compile(r"\\[Bb]igg?l?\s*(\\\{|[(\[])"), re.compile(r"\\[Bb]igg?r?\s*(\\\}|[)\]])")
"""Sizes that are set by hand; browsers stretch delimiters to what they enclose."""

NAMES = ("arg", "Pr", "argmax", "argmin")
"""Functions that the converter sets as a command it does not know."""

PRIMED = re.compile(r"([A-Za-z]'+)\^")
"""A derivative with an exponent: the converter takes the stroke for an exponent, too."""

UNKNOWN = re.compile(r">[^<]*\\[A-Za-z]+[^<]*<")
"""A command that went through to the output as it was written."""


def mathml(formula: str, display: bool) -> str:
    """The formula as a ``math`` element.

    Args:
        formula: TeX, without the dollar signs.
        display: whether it stands on a line of its own.

    Raises:
        ValueError: a command that the converter does not know.
    """
    from latex2mathml.converter import convert

    text = CLOSING.sub(r"\\right\1", OPENING.sub(r"\\left\1", formula.strip()))
    text = PRIMED.sub(r"{\1}^", text)
    for name in NAMES:
        text = re.sub(rf"\\{name}(?![A-Za-z])", rf"\\operatorname{{{name}}}", text)
    try:
        made = str(convert(text, display="block" if display else "inline"))
    except Exception as error:  # its exceptions have no common base
        raise ValueError(f"no MathML for {formula!r}: {type(error).__name__}") from error
    if UNKNOWN.search(made):
        raise ValueError(f"no MathML for {formula!r}: {UNKNOWN.findall(made)}")
    return made


def _inline(translator: Any, node: Any) -> None:
    from docutils import nodes

    translator.body.append(mathml(node.astext(), display=False))
    raise nodes.SkipNode


def _block(translator: Any, node: Any) -> None:
    from docutils import nodes

    translator.body.append(f'<div class="math-block">{mathml(node.astext(), display=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """What Sphinx calls to register the renderer."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
