"""Formulas of the documentation as MathML, made when the pages are built: no script, and nothing from outside.

A Sphinx extension: ``html_math_renderer = "mathml"``. What the converter does not know is an error of the build, not a
formula with a hole. Machines without a font for mathematics get STIX Two Math, of which the part that formulas use lies
beside the style sheet.
"""

from __future__ import annotations

import re
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

FONT = "STIXTwoMath-Regular.ttf"  # of the package ziamath, under the SIL Open Font License 1.1
SUBSET = "math.woff"  # its part, in _static

CHARACTERS = (
    range(0x20, 0x100),  # Latin
    range(0x391, 0x3F7),  # Greek
    range(0x2010, 0x2065),  # dashes, strokes of derivatives, invisible operators
    range(0x2102, 0x2139),  # double-struck and script letters
    range(0x2190, 0x22F0),  # arrows and operators
    range(0x2308, 0x230C),  # floors and ceilings
    range(0x27E6, 0x27F0),  # angles
    range(0x1D400, 0x1D800),  # letters of mathematics: browsers set a single letter in italics of their own
)
"""What of the font is kept."""

OPENING, CLOSING = re.compile(r"\\[Bb]igg?l?\s*(\\\{|[(\[])"), re.compile(r"\\[Bb]igg?r?\s*(\\\}|[)\]])")
"""Sizes that are set by hand; browsers stretch delimiters to what they enclose."""

NAMES = ("arg", "Pr", "argmax", "argmin")
"""Functions that the converter sets as a command it does not know."""

PRIMED = re.compile(r"([A-Za-z]'+)\^")
"""A derivative with an exponent: the converter takes the stroke for an exponent, too."""

NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"  # as the parser writes it before the name of an element

STROKE = "\u2032"  # of a derivative, which the font has at its height

LIMITS = {"msub": "munder", "msubsup": "munderover"}
"""What stands beside an operator within a line, and what stands below it in a formula of its own."""

OPERATORS = ("sup", "inf", "max", "min", "lim", "\u220f", "\u2211")
"""The operators that have limits: the last two are the product and the sum."""

ABOVE, BELOW = 0.8, 0.2
"""What a root holds above and below the line of letters, at least: they fill the smallest sign of the font."""

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
    return spaced(made, display)


def spaced(made: str, display: bool) -> str:
    """The element with limits below their operators where there is room, and room about the names of functions.

    >>> spaced("<math><mi>log</mi><mi>x</mi></math>", False)
    '<math><mi>log</mi><mspace width="0.17em" /><mi>x</mi></math>'
    >>> spaced("<math><mi>k</mi><mi>log</mi><mo>(</mo></math>", False)
    '<math><mi>k</mi><mspace width="0.17em" /><mi>log</mi><mo>(</mo></math>'
    """
    ElementTree.register_namespace("", NAMESPACE.strip("{}"))
    whole = ElementTree.fromstring(made)  # our own formulas
    for element in list(whole.iter()):
        name = element.tag.removeprefix(NAMESPACE)
        if display and name in LIMITS and len(element) and element[0].text in OPERATORS:
            element.tag = element.tag.removesuffix(name) + LIMITS[name]
        if name == "msup" and len(element) > 1 and set(element[1].text or " ") <= {STROKE}:
            element.tag, element[1].tag = element.tag.removesuffix(name) + "mrow", element[1].tag[:-2] + "mo"
        _settled(element)
        if name == "msqrt":
            _under_the_bar(element)
        if name in (*LIMITS, *LIMITS.values(), "msup", "mfrac"):
            continue  # these have a part in each place
        for at in range(len(element) - 1, 0, -1):
            if _apart(element[at - 1], element[at]):
                element.insert(at, ElementTree.Element(element.tag.removesuffix(name) + "mspace", width="0.17em"))
    return ElementTree.tostring(whole, encoding="unicode")


def _apart(before: ElementTree.Element, after: ElementTree.Element) -> bool:
    """Whether one of two neighbours is the name of a function, and neither a sign, which has room of its own."""
    signs = ("mo", "mspace")
    opening = after[0] if after.tag.endswith("mrow") and len(after) else after
    if before.tag.endswith(signs) or opening.tag.endswith(signs):
        return False
    return _is_name(before) or _is_name(after)


def _is_name(element: ElementTree.Element) -> bool:
    """Whether it is the name of a function, perhaps with an exponent or an index."""
    while element.tag.endswith(("msup", "msub", "msubsup")) and len(element):
        element = element[0]
    text = element.text or ""
    return element.tag.endswith("mi") and len(text) > 1 and text.isascii() and text.isalpha()


def _settled(element: ElementTree.Element) -> None:
    """Signs before a term are prefixes, bars of a norm as high as letters; infinity is a letter, sup stands close."""
    before = "("
    for part in element:
        text = part.text or ""
        if text in ("|", "\u2225", "\u2016") and "fence" not in part.attrib:
            part.set("stretchy", "false")
        if text in ("-", "\u2212", "+", "\u00b1") and before[-1:] in ("(", "[", ",", "="):
            part.set("form", "prefix")
        if part.tag.endswith("mo") and len(text) > 1 and text.isascii() and text.isalpha():  # sup, max: as TeX has it
            part.set("lspace", "0" if before[-1:] in ("(", "[", ",", "=", "+") else "0.17em")
            part.set("rspace", "0.17em")
        if text == "\u221e":
            part.tag = part.tag[:-2] + "mi"
        before = text if part.tag.endswith("mo") else "x"


def _under_the_bar(root: ElementTree.Element) -> None:
    """Below the bar of a root there is room for a tall letter and one that descends, whatever stands there.

    Browsers hang the smallest sign from a bar that lies on the letters: that of a single n would stand too low, and
    strike its top. As TeX has it, what the sign is taller than the letter is shared between both sides.
    """
    space = root.tag.removesuffix("msqrt") + "mspace"
    inner = root[0] if len(root) == 1 and root[0].tag.endswith("mrow") else root
    inner.append(ElementTree.Element(space, width="0", height=f"{ABOVE}em", depth=f"{BELOW}em"))


def _inline(translator: Any, node: Any) -> None:
    from docutils import nodes

    translator.body.append(mathml(node.astext(), display=False))
    raise nodes.SkipNode


def _block(translator: Any, node: Any) -> None:
    from docutils import nodes

    translator.body.append(f'<div class="math-block">{mathml(node.astext(), display=True)}</div>\n')
    raise nodes.SkipNode


def write_font(target: Path) -> None:
    """Write the part of the font that formulas need, with its table of sizes and distances."""
    from fontTools import subset

    options = subset.Options(flavor="woff", layout_features=["*"], notdef_outline=True)
    with as_file(files("ziamath.fonts") / FONT) as path:
        font = subset.load_font(str(path), options)
    part = subset.Subsetter(options)
    part.populate(unicodes=[code for block in CHARACTERS for code in block])
    part.subset(font)
    subset.save_font(font, str(target), options)


def _finished(app: Any, failure: Exception | None) -> None:
    target = Path(app.outdir) / "_static" / SUBSET
    if failure is None and app.builder.format == "html" and not target.exists():
        write_font(target)


def setup(app: Any) -> dict[str, bool]:
    """What Sphinx calls to register the renderer."""
    app.connect("build-finished", _finished)
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
