"""What the pages of the documentation are made with: pictures, formulas, tables on a phone, nothing from elsewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import breakable
import mathml
import moving
import outside
import pages
import pytest
import stacked
from pictures import PICTURES
from pictures.drawing import THEMED

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
STYLE = (DOCS / "_static" / "hockeystick.css").read_text(encoding="utf-8")
NOTEBOOK = json.loads((DOCS / "notebook.ipynb").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ('<script async="async" src="https://cdn.example/mathjax.js"></script>', ["https://cdn.example/mathjax.js"]),
        ('<link href="//fonts.example/a.css" rel="stylesheet"/>', ["//fonts.example/a.css"]),
        ('<style>@import url("https://fonts.example/a.css");</style>', ["https://fonts.example/a.css"]),
        ("<style>@font-face {src: url(https://fonts.example/a.woff)}</style>", ["https://fonts.example/a.woff"]),
        ('<img alt="badge" src="https://badge.example/b.svg">', ["https://badge.example/b.svg"]),
        ('<script type="module">import x from "https://esm.example/x.js"</script>', ["https://esm.example/x.js"]),
        ('<a href="https://example.org/1">paper</a> <script src="_static/a.js"></script>', []),
        ('<link rel="canonical" href="https://docs.example/"/>', []),
        ('<svg xmlns="http://www.w3.org/2000/svg"><use href="#mark"/></svg>', []),
    ],
)
def test_what_a_browser_would_fetch_from_elsewhere(text: str, addresses: list[str]) -> None:
    assert list(outside.addresses(text)) == addresses


def test_a_folder_is_searched_with_its_style_sheets(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "page.html").write_text('<script src="https://b.example/x.js"></script>', encoding="utf-8")
    (tmp_path / "style.css").write_text("@import 'https://b.example/x.css';", encoding="utf-8")
    (tmp_path / "script.js").write_text("// https://b.example", encoding="utf-8")
    assert outside.found(tmp_path) == ["a/page.html: https://b.example/x.js", "style.css: https://b.example/x.css"]


def test_the_build_looks_and_uses_no_script_for_formulas() -> None:
    conf = (DOCS / "conf.py").read_text(encoding="utf-8")
    assert '"outside"' in conf
    assert "mathjax" not in conf.lower()
    assert not list(outside.addresses(STYLE, style=True))


def test_formulas_have_limits_below_and_room_after_names() -> None:
    made = mathml.spaced(
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><mrow><msub><mo>sup</mo><mi>E</mi></msub><mi>log</mi><mi>x</mi>'
        "<msup><mi>K</mi><mi>\u2032</mi></msup><mo>(</mo><mo>\u2212</mo><mo>\u221e</mo></mrow></math>",
        display=True,
    )
    assert '<munder><mo lspace="0" rspace="0.17em">sup</mo><mi>E</mi></munder>' in made
    assert '<mi>log</mi><mspace width="0.17em" /><mi>x</mi>' in made
    assert "<mrow><mi>K</mi><mo>\u2032</mo></mrow>" in made
    assert '<mo form="prefix">\u2212</mo><mi>\u221e</mi>' in made


def test_a_root_has_room_below_its_bar() -> None:
    """Without it Chromium hangs the sign from the top of the letter, and strikes that with the bar."""
    room = f'<mspace width="0" height="{mathml.ABOVE}em" depth="{mathml.BELOW}em" />'
    namespace = 'xmlns="http://www.w3.org/1998/Math/MathML"'
    made = mathml.spaced(f"<math {namespace}><mrow><msqrt><mi>n</mi></msqrt></mrow></math>", display=False)
    assert f"<msqrt><mi>n</mi>{room}</msqrt>" in made


def test_wide_tables_say_their_heads_in_every_cell() -> None:
    heads = [f'<th class="head"><p>{name}</p></th>' for name in ("plan", "<code>a</code> &amp; b", "note")]
    rows = "<tr><td><p>1</p></td><td>2</td><td>3</td></tr>" * 2
    wide = f'<table class="table"><thead><tr>{"".join(heads)}</tr></thead><tbody>{rows}</tbody></table>'
    assert stacked.stacked(wide).count('<td data-head="a &amp; b">2</td>') == 2
    gaps = stacked.stacked(wide.replace("<td>3</td>", '<td class="n"><p>\u00a0</p>\n</td>'))
    assert gaps.count('<td data-empty class="n">') == 2
    assert 'data-head="note"' not in gaps
    assert re.search(r"table\.stacked td\[data-empty\] \{\s*display: none;", STYLE)
    narrow = wide.replace(heads[2], "")
    assert stacked.stacked(narrow) == narrow
    assert "table.stacked" in STYLE


def test_names_stay_whole_and_long_words_go_on_where_they_are_marked() -> None:
    word = '<span class="pre">{}</span>'.format
    assert breakable.breakable(word("UnsupportedError")) == '<span class="pre whole">UnsupportedError</span>'
    assert breakable.breakable(word("--records-per-unit")) == '<span class="pre whole">--records-per-unit</span>'
    assert breakable.breakable(word("records_per_unit=4")) == word("records_<wbr>per_<wbr>unit=<wbr>4")
    capital = 'PLD<wbr class="capital">Privacy<wbr class="capital">Accountant'
    assert breakable.breakable(word("PLDPrivacyAccountant")) == word(capital)
    assert ".bd-article code span.pre.whole" in STYLE
    assert ".bd-article wbr.capital" in STYLE


def test_paths_and_numbers_in_plain_words_are_marked_and_nothing_else_is() -> None:
    type_ = "<em>hockeystick.questions.targets.Target</em>"
    assert breakable.breakable(type_) == "<em>hockeystick.<wbr>questions.<wbr>targets.<wbr>Target</em>"
    assert breakable.breakable("off by 4.2e-17.") == 'off by <span class="whole">4.2e-17</span>.'
    bracket = '<span class="sig-paren">{}</span>'.format
    assert breakable.breakable(bracket("(") + bracket(")")) == bracket("(") + bracket(")")
    assert breakable.breakable(bracket("(") + "<em>a</em>") == bracket("(") + "<wbr><em>a</em>"
    for same in (
        "e.g. short.py, 10.1162/99608f92.cfc5dd25, x-1e-4",
        '<a href="plan/sampling/cyclic_poisson.py">here</a>',
        "<pre>plan/sampling/cyclic_poisson.py 1e-5</pre>",
        "<svg><desc>plan/sampling/cyclic_poisson.py 1e-5</desc></svg>",
    ):
        assert breakable.breakable(same) == same
    assert ".bd-article span.whole:not(.pre)" in STYLE


@pytest.mark.parametrize(
    "said",
    ["5.8 ms", "0.1 %", "120 \u00b5s", "8 GiB", "\u2264 1e12", "&lt; 1", "\u2265 -1.5", "-4 s", f"arXiv {2106}.08567"],
)
def test_numbers_stay_beside_their_units_and_limits(said: str) -> None:
    whole = f'<span class="whole">{said}</span>'
    assert breakable.breakable(f"<td>takes {said}, or 2 rounds.</td>") == f"<td>takes {whole}, or 2 rounds.</td>"


def test_other_words_after_a_number_may_go_on_below() -> None:
    for same in ("60 seconds", "v1.5 s", "3 sampled", "the 2 mse", "x \u2264 y", "10 %-points"):
        assert breakable.breakable(same) == same


def test_a_long_line_of_code_goes_on_with_an_indent_and_is_copied_as_it_is() -> None:
    shown = '<div class="highlight"><pre><span></span>{}</pre>'.format
    name = '<span class="n">{}</span>'.format
    long = '<span class="gp">... </span>    ' + name(30 * "a") + '<span class="p">(</span>' + name(30 * "b") + "\n"
    made = breakable.breakable(shown(f"short\n{long}\n"))
    assert '<span class="long" style="--lead: 12ch">' in made
    assert '<span class="p">(</span><wbr>' in made
    assert re.sub("<[^>]*>", "", made) == re.sub("<[^>]*>", "", shown(f"short\n{long}\n"))
    assert breakable.breakable(shown("short\n")) == shown("short\n")
    assert "div.highlight pre .long" in STYLE


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_can_be_read_out_and_is_in_the_colours_of_the_page(name: str) -> None:
    made = PICTURES[name]().html()
    figure = ElementTree.fromstring(made.replace(' xmlns="http://www.w3.org/2000/svg"', ""))
    svg, caption = figure.find("svg"), figure.findtext("figcaption")
    assert svg is not None
    assert svg.get("role") == "img"
    assert len((svg.findtext("title") or "").split()) >= 3
    assert len((svg.findtext("desc") or "").split()) >= 10
    assert caption
    assert not re.search("#[0-9a-f]{6}", made)
    for variable in set(re.findall(r"var\((--picture-\w+)\)", made)):
        assert STYLE.count(f"  {variable}: #") == 2  # light and dark


def test_every_colour_of_a_chart_has_a_variable() -> None:
    from hockeystick.report.document import chart

    assert {getattr(chart, name) for name in ("INK", "GREY", "GRID", "LINE", "BAND", "MARK")} == set(THEMED)


def test_the_citation_is_that_of_the_file() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (version,) = re.findall(r"^version: (.*)$", text, re.MULTILINE)
    assert f"version = {{{version}}}" in pages.citation()
    assert "title   = {hockeystick: two-sided" in pages.citation()


@pytest.mark.parametrize("page", moving.pages(), ids=lambda page: page.stem)
def test_a_page_on_moving_says_exactly_what_it_runs_with(page: Path) -> None:
    assert any(re.fullmatch(r"[\w-]+==[\d.]+", found) for found in moving.requirements(page))
    version = moving.requirements(page)[-1] if page.stem != "tensorflow_privacy" else "tensorflow-privacy==0.9.0"
    text = page.read_text(encoding="utf-8")
    assert version.split("==")[1] in text.split("## ")[0].partition("\n")[2]
    assert ">>> import hockeystick as hs\n" in text
    assert f"]({page.name})" in (page.parent / "index.md").read_text(encoding="utf-8")


def test_the_notebook_is_kept_without_what_it_prints() -> None:
    cells = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


def test_the_cells_of_the_notebook_run_and_show_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    shown = []
    for cell in NOTEBOOK["cells"]:
        if cell["cell_type"] == "code":
            *first, last = "".join(cell["source"]).rsplit("\n", 1)
            try:
                value = compile(last, "cell", "eval")
            except SyntaxError:
                exec("".join(cell["source"]), names)  # noqa: S102
                continue
            exec("".join(first), names)  # noqa: S102
            result = eval(value, names)
            shown.append(None if result is None else result._repr_html_())
    kinds = [table for table in shown if table is not None]
    assert len(kinds) >= 8
    assert all(table.startswith("<table>") for table in kinds)
    assert "epsilon is at most 2.41" in capsys.readouterr().out
