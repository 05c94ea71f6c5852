"""Reports: their numbers against closed forms, their pages as browsers take them and their Markdown, hostile text."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from markdown_it import MarkdownIt
from scipy.special import ndtr, ndtri

import hockeystick as hs
from hockeystick.report.document import chart, page
from hockeystick.report.document.blocks import Bullets, Caution, Facts, Lead, Paragraph
from hockeystick.report.document.chart import Axis, Chart
from hockeystick.report.document.files import HTML, JSON, MARKDOWN, record_in, report_text
from hockeystick.report.document.made import made
from hockeystick.report.document.markdown import escaped
from hockeystick.report.document.record import report_record
from hockeystick.report.document.shares import half_up, of_crowd, percent_up
from hockeystick.report.document.verify import verified
from hockeystick.report.document.wording import report_blocks
from hockeystick.values.errors import InvalidInputError

MU = 0.5
"""Distance of the two normal laws that four Gaussian rounds with noise 4 come to: 1/4 times the root of 4."""

HOSTILE = (
    "<script>alert(1)</script> </script><img src=x onerror=alert(1)> <!-- ]]> & &lt;b&gt; "
    "[link](javascript:alert(1)) ![i](http://example.com/x.png) <http://example.com> **bold** `code` ``` | cell | "
    "https://example.com $x$ \\(y\\) \x1b[31mred\x1b[0m \u202eesrever\u202c \u2066iso\u2069 \x07 \u200b "
    "end\nsecond line"
)
"""Markup of HTML and Markdown, escape codes of terminals, marks that turn the direction of text, a second line."""

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Characters that steer a terminal or the direction of text; line breaks are none of them."""


@pytest.fixture(scope="module")
def gaussian() -> dict[str, Any]:
    plan = hs.Plan([hs.Round(hs.Gaussian(noise_multiplier=4.0), count=4)], delta=1e-5)
    return report_record(plan, None, "four releases", made("2026-01-31"))


@pytest.fixture(scope="module")
def hostile() -> dict[str, Any]:
    published = {"source": HOSTILE, "accountant": HOSTILE, "note": HOSTILE, "epsilon": 1.0, "delta": 1e-5}
    plan = hs.Plan([hs.Round(hs.Gaussian(4.0), hs.Poisson(0.5), count=2)], delta=1e-5, published=published)
    machine = {**made("2026-01-31"), "doctor": f"NOT within what is assumed: {HOSTILE}"}
    return report_record(plan, None, HOSTILE, machine)


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (hs.Plan([hs.Round(hs.ZCDP(0.1))], published={"epsilon": 1e-3, "delta": 1e-5}), "epsilon 0.001 at delta 1e-5"),
        (
            hs.Plan([hs.Round(hs.ZCDP(0.1))], published={"epsilon": 9.0, "delta": 1e-5}),
            "epsilon 9 at delta 1e-5: valid for this plan, not tight",
        ),
        (
            hs.Plan([hs.Round(hs.Gaussian(4.0))], published={"epsilon": 0.5, "delta": 1e-5}),
            "epsilon 0.5 at delta 1e-5: too low for this plan",
        ),
        (
            hs.Plan([hs.Round(hs.ApproximateDP(1.0, 1e-4))], published={"epsilon": 1.0, "delta": 1e-5}),
            "epsilon 1 at delta 1e-5: too low for this plan",
        ),
        (
            hs.Plan([hs.Round(hs.ApproximateDP(1.0, 1e-5))], published={"epsilon": 1.0, "delta": 1e-5}),
            "epsilon 1 at delta 1e-5: consistent with the interval",
        ),
    ],
)
def test_a_claim_is_judged_as_the_command_judges_it(plan: hs.Plan, said: str) -> None:
    """Of zCDP nothing is known from below, so that a small claim is neither right nor wrong; an infinite end is one."""
    assert plan.published is not None
    record = report_record(plan, plan.published["delta"], None, made("2026-01-31"))
    facts = [line for block in report_blocks(record) if isinstance(block, Facts) for line in block.rows]
    assert dict(facts)["claimed elsewhere"] == said
    cautions = [text for block in report_blocks(record) if isinstance(block, Caution) for text in block.texts]
    assert (f"the claimed {said}" in cautions) == said.endswith("too low for this plan")


def test_a_claim_without_its_delta_is_not_judged() -> None:
    plan = hs.Plan([hs.Round(hs.Gaussian(4.0))], delta=1e-5, published={"epsilon": 0.5})
    assert "without a delta, so this claim cannot be judged" in report_text(
        report_record(plan, None, None, made("2026-01-31")), HTML
    )


def gaussian_delta(epsilon: float) -> float:
    """The privacy curve of two normal laws at distance mu (Balle, Wang 2018 [BW18], Theorem 8)."""
    return float(ndtr(MU / 2 - epsilon / MU) - math.exp(epsilon) * ndtr(-MU / 2 - epsilon / MU))


def test_epsilon_is_where_the_closed_form_has_the_delta(gaussian: dict[str, Any]) -> None:
    for row in gaussian["epsilon"]:
        assert gaussian_delta(row["upper"]) <= row["delta"] * (1 + 1e-9)
        assert gaussian_delta(row["lower"]) >= row["delta"] * (1 - 1e-9)
        assert row["upper"] - row["lower"] < 1e-5


def test_what_an_attacker_reaches_is_the_closed_form(gaussian: dict[str, Any]) -> None:
    """Of two normal laws the best test has ``Phi(Phi^-1(fpr) + mu)``, its advantage is ``2 Phi(mu/2) - 1``."""
    attack = gaussian["attack"]
    truths = [(row, ndtr(ndtri(row["fpr"]) + MU)) for row in attack["tpr"]]
    truths += [(attack["advantage"], 2 * ndtr(MU / 2) - 1)]
    for row, truth in truths:
        assert row["lower"] <= truth * (1 + 1e-9)
        assert row["upper"] >= truth * (1 - 1e-9)
        assert row["upper"] - row["lower"] < 1e-3 * truth


def test_a_picture_is_described_by_numbers_that_hold(gaussian: dict[str, Any]) -> None:
    """The true-positive rate is an upper bound, also at the rate as it is written."""
    said = re.search(
        r"guessing: (\S+) at a false-positive rate of (\S+), (\S+) at (\S+), 1 at 1", report_text(gaussian, HTML)
    )
    assert said is not None
    for most, rate in (said.groups()[:2], said.groups()[2:]):
        assert float(ndtr(ndtri(float(rate)) + MU)) <= float(most)


def test_curves_are_the_closed_forms(gaussian: dict[str, Any]) -> None:
    for at in gaussian["curves"]["delta"]:
        assert at["lower"] * (1 - 1e-9) <= gaussian_delta(at["epsilon"]) <= at["upper"] * (1 + 1e-9)
    for at in gaussian["curves"]["trade_off"]:
        truth = 1.0 if at["fpr"] == 1 else ndtr(ndtri(at["fpr"]) + MU)
        assert at["lower"] * (1 - 1e-9) <= truth <= at["upper"] * (1 + 1e-9)
    rounds = [at["rounds"] for at in gaussian["curves"]["steps"]]
    assert rounds == [1, 2, 3, 4]


def test_a_plan_of_sampled_rounds_says_what_it_would_be_with_other_batches() -> None:
    record = report_record(hs.dp_sgd(1.0, batch_size=10, dataset_size=100, epochs=1), 0.05, None, made())
    rows = {row["scheme"]: row for row in record["samplings"]}
    unsampled = hs.Plan([hs.Round(hs.Gaussian(1.0), count=10)]).epsilon(0.05)
    assert "poisson" not in rows
    assert rows["none"]["upper"] == unsampled.upper
    assert rows["shuffled"]["upper"] > rows["shuffled"]["lower"] > 0
    assert record["warnings"], "a delta above 1/100 allows a record to be published whole"
    assert record["warnings"][0] in report_text(record, HTML)


def test_where_error_rates_are_not_known_the_report_says_why() -> None:
    """One ordering has no error rates, a guarantee by a Renyi curve no curve of its own; both have an epsilon."""
    one_sided = report_record(hs.dp_sgd(1.0, 0.1, 10, adjacency="add"), 1e-5, None, made())
    concentrated = report_record(hs.Plan([hs.Round(hs.ZCDP(rho=0.1))]), 1e-5, None, made())
    for record in (one_sided, concentrated):
        for form in (HTML, MARKDOWN):
            assert "This report states no error rates of attacks" in report_text(record, form)
        assert record["curves"]["trade_off"] == []
    assert "lower" not in concentrated["epsilon"][0]
    assert "upper bound" in report_text(concentrated, HTML)


def test_an_infinite_epsilon_is_called_infinite() -> None:
    record = report_record(hs.Plan([hs.Round(hs.ApproximateDP(epsilon=1.0, delta=0.1))]), 1e-5, None, made())
    assert record["epsilon"][0]["upper"] is None
    text = report_text(record, HTML)
    assert "\u03b5 is infinite at \u03b4 = 1e-5" in text
    assert "At this delta, the plan guarantees nothing" in text
    others = "a black box fails with probability 0.1, which exceeds delta."
    assert f"No finite epsilon is proved at delta = 1e-6 and 1e-7 and 1e-9: {others}" in text


def test_shares_are_rounded_to_the_safe_side() -> None:
    assert (percent_up(0.2249999), percent_up(0.5), percent_up(1e-12)) == ("22.5%", "50%", "1.00e-10%")
    assert (of_crowd(0.0400001), of_crowd(0.04), of_crowd(0.0)) == ("41", "41", "0")
    assert half_up(0.2) == "60.1%"  # the double 0.2 is above a fifth


class Page(HTMLParser):
    """What a browser sees: elements with their attributes, and the text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "wbr", "path", "circle", "polyline", "polygon"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("path", "circle", "polyline", "polygon"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.words.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_a_page_is_self_contained_and_says_what_readers_of_screens_need(gaussian: dict[str, Any]) -> None:
    text = report_text(gaussian, HTML)
    seen = Page(text)
    assert not seen.open, "every element is closed"
    assert [script.get("type") for script in seen.named("script")] == ["application/json"]
    assert {tag for tag, _ in seen.elements} <= {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "div", "strong", "span", "dl", "dt",
        "dd", "ul", "li", "table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "svg", "desc",
        "path", "polygon", "polyline", "circle", "text", "pre", "code", "script", "wbr",
    }  # fmt: skip
    for _, attributes in seen.elements:
        assert not {"src", "href", "xlink:href", "style", "action"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert "url(" not in text
    assert "@import" not in text
    assert seen.named("html")[0]["lang"] == "en"
    assert len(seen.named("h1")) == 1
    assert all(head.get("scope") in ("col", "row") for head in seen.named("th"))
    assert len(seen.named("caption")) == len(seen.named("table")) > 2
    ids = [attributes["id"] for _, attributes in seen.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for picture in seen.named("svg"):
        assert picture["role"] == "img"
        assert set((picture["aria-labelledby"] or "").split()) <= set(ids)


def luminance(colour: str) -> float:
    """Relative luminance of a colour such as ``#1a1a1a``, after the Web Content Accessibility Guidelines 2.1."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_words_have_contrast() -> None:
    """At least 4.5 to the background, which the guidelines ask of running text."""
    pairs = [(colour, "#ffffff") for colour in (chart.INK, chart.GREY, chart.LINE, chart.MARK)]
    soft = re.search(r"--soft: (#\w+)", page.STYLE)
    pale = re.search(r"--pale: (#\w+)", page.STYLE)
    assert soft is not None
    assert pale is not None
    pairs.append(("#" + "".join(2 * letter for letter in soft[1][1:]), pale[1]))
    for ink, paper in pairs:
        high, low = sorted((luminance(ink), luminance(paper)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, paper)


def drawn(svg: str) -> Iterator[list[tuple[float, float]]]:
    """The points of each solid line of a chart, in its own units."""
    for line in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}polyline"):  # we wrote it
        if "stroke-dasharray" not in line.attrib:
            yield [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.attrib["points"].split())]


def test_a_chart_shows_the_numbers_where_they_belong() -> None:
    """Places are turned back into numbers by the places of two of the marks on each axis."""
    points = [(0.0, 1.0), (1.5, 1e-3), (4.0, 1e-6)]
    made_of = Chart("test", "t", "d", Axis("x", 0, 4), Axis("y", 1e-6, 1, logarithmic=True), points)
    svg = made_of.svg()
    texts = {
        text.text: (float(text.attrib["x"]), float(text.attrib["y"]), text.attrib["text-anchor"])
        for text in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")  # we wrote it
    }
    x0, x4 = texts["0"][0], texts["4"][0]
    shift = 0.35 * chart.LETTER  # of a label below its mark
    y0, y6 = texts["1e-6"][1] - shift, texts["0.01"][1] - shift
    (line,) = drawn(svg)
    for (x, y), (across, down) in zip(points, line, strict=True):
        assert 4 * (across - x0) / (x4 - x0) == pytest.approx(x, abs=1e-3)
        assert -6 + 4 * (down - y0) / (y6 - y0) == pytest.approx(math.log10(y), abs=1e-3)


@pytest.mark.parametrize("name", ["thin", "wide", "corner"])
def test_words_of_a_mark_are_struck_by_no_line(name: str) -> None:
    """Of a thin curve, of a wide band, and of a curve that ends in the corner at its mark."""
    epsilons = [at / 20 for at in range(41)]
    upper = [(at, 10.0 ** -(1 + 2 * at * at)) for at in epsilons]
    lower = [(at, 10.0 ** -(1 + 4 * at * at)) for at in epsilons] if name == "wide" else []
    at = upper[-1 if name == "corner" else 28]
    words = "\u03b5 \u2264 1.81 at \u03b4 = 1e-6"
    shown = Chart("t", "t", "d", Axis("x", 0, 2), Axis("y", 1e-9, 0.1, True), upper, lower, mark=(at, words)).svg()
    (text,) = (each for each in ET.fromstring(shown).iter("{http://www.w3.org/2000/svg}text") if each.text == words)
    assert text.attrib["text-anchor"] == "end"
    end, base = float(text.attrib["x"]), float(text.attrib["y"])
    start, top = end - chart.LETTER_WIDTH * chart.LETTER * len(words), base - 0.8 * chart.LETTER
    assert start >= chart.LEFT
    assert top >= 0
    for line in drawn(shown):
        for (x0, y0), (x1, y1) in pairwise(line):
            for share in (number / 16 for number in range(17)):
                x, y = x0 + share * (x1 - x0), y0 + share * (y1 - y0)
                assert not (start <= x <= end and top <= y <= base), (x, y)


def test_marks_of_axes_lie_on_them() -> None:
    for axis in (Axis("x", 0, 0.037), Axis("x", 0, 12345.0), Axis("x", 0, 3e9), Axis("y", 1e-300, 1, True),
                 Axis("y", 1e-4, 1, True)):  # fmt: skip
        ticks = axis.ticks()
        assert 3 <= len(ticks) <= 8
        assert all(axis.low * (1 - 1e-9) <= at <= axis.high * (1 + 1e-9) for at, _ in ticks)
        assert all(float(text.replace(",", "")) == pytest.approx(at, rel=1e-2) for at, text in ticks)


@pytest.mark.parametrize("form", [HTML, MARKDOWN, JSON])
def test_no_character_of_a_plan_steers_anything(hostile: dict[str, Any], form: str) -> None:
    assert not CONTROLS.search(report_text(hostile, form))


def test_hostile_text_stays_text_on_the_page(hostile: dict[str, Any], gaussian: dict[str, Any]) -> None:
    text = report_text(hostile, HTML)
    seen = Page(text)
    assert not seen.open
    own = {tag for tag, _ in Page(report_text(gaussian, HTML)).elements}
    assert {tag for tag, _ in seen.elements} <= own | {"wbr"}  # we put it into the names of loaders
    assert [script.get("type") for script in seen.named("script")] == ["application/json"]
    words = " ".join(" ".join(seen.words).split())
    assert words.count("<script>alert(1)</script> </script><img src=x onerror=alert(1)>") >= 3
    assert record_in(text) == (HTML, hostile)
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ET.fromstring(svg)  # we wrote it


def test_hostile_text_stays_text_in_markdown(hostile: dict[str, Any]) -> None:
    """As a reader of Markdown takes it, with tables, links of bare addresses, and HTML let through."""
    text = report_text(hostile, MARKDOWN)
    shown = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    seen = Page(shown)
    assert not {"script", "img", "a", "b"} & {tag for tag, _ in seen.elements}
    words = " ".join(" ".join(seen.words).split())
    assert "<script>alert(1)</script> </script><img src=x onerror=alert(1)>" in words
    assert "[link](javascript:alert(1)) ![i](http://example.com/x.png) <http://example.com> **bold** `code`" in words
    assert record_in(text) == (MARKDOWN, hostile)


def test_what_is_escaped_in_markdown_reads_as_it_was() -> None:
    for text in (
        "1. first",
        "- item",
        "= x",
        "# head",
        "a*b*c",
        "x_1_",
        "~~no~~",
        "a | b",
        "&amp;",
        "user@example.com",
    ):
        shown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(escaped(text))
        seen = Page(shown)
        assert [tag for tag, _ in seen.elements] == ["p"], text
        assert "".join(seen.words).strip() == text


def test_all_forms_hold_the_same_numbers(gaussian: dict[str, Any]) -> None:
    for form in (HTML, MARKDOWN, JSON):
        assert record_in(report_text(gaussian, form)) == (form, gaussian)
    assert json.loads(report_text(gaussian, JSON)) == gaussian


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no answer of hockeystick"),
        ("<p>epsilon 3</p>", "no answer of hockeystick"),
        ("{", "not valid JSON"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": 1, "a": 2}', "is given twice"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        (page.ISLAND[0] + "[1]" + page.ISLAND[1], "no JSON object"),
    ],
)
def test_what_holds_no_numbers_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        record_in(text)


def test_a_report_needs_a_delta_and_a_title_that_is_text() -> None:
    plan = hs.dp_sgd(1.0, 0.1, 10)
    with pytest.raises(InvalidInputError, match="no delta"):
        report_record(plan, None, None, made())
    with pytest.raises(InvalidInputError, match="title must be a text; received 3"):
        report_record(plan, 1e-5, 3, made())  # type: ignore[arg-type]


@pytest.mark.long
def test_a_report_of_the_best_of_several_runs_says_what_is_known_and_leaves_out_what_is_not() -> None:
    """Every number is an answer of the plan itself; error rates and epsilon over the steps have none."""
    one = hs.Plan([hs.Round(hs.Gaussian(4.0), count=4)], delta=1e-5)
    plan = hs.Plan.from_dict({**one.to_dict(), "selection": {"runs": "poisson", "mean": 3}})
    record = report_record(plan, None, None, made("2026-01-31"))
    single = report_record(one, None, None, made("2026-01-31"))
    for row, alone in zip(record["epsilon"], single["epsilon"], strict=True):
        assert row["upper"] == plan.epsilon(row["delta"]).upper
        assert alone["lower"] < row["lower"] <= row["upper"]  # the best of several costs more than one
    points = record["curves"]["delta"]
    assert len(points) > 20
    assert all(point["lower"] <= point["upper"] for point in points)
    assert points[3]["upper"] == plan.delta(points[3]["epsilon"]).upper
    assert record["curves"]["steps"] == record["curves"]["trade_off"] == []
    text = report_text(record, MARKDOWN)
    assert "released: the best of 3 runs on average (poisson)" in text
    assert "steps of each run: 4" in text
    assert (
        "This report states no error rates of attacks: of the best of several runs only epsilon and delta are known."
        in text
    )
    assert (
        "No figure shows epsilon against the number of steps, because nothing is released before the runs end." in text
    )
    assert verified(text).sound
    assert not verified(text.replace("runs on average", "runs in all")).sound


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("adjacency", "question"),
    [
        ("add-or-remove", "an attacker guesses whether the records of one user are in the data."),
        ("replace-one", "an attacker guesses which of two given sets of records one user has in the data."),
        ("zero-out", "an attacker guesses whether the records of one user contributed anything."),
    ],
)
def test_an_attacker_of_users_is_asked_about_users(adjacency: str, question: str) -> None:
    plan = hs.Plan([hs.Round(hs.Gaussian(9.0))], adjacency, 1e-4, unit="user", records_per_unit=3)
    text = report_text(report_record(plan, None, None, made("2026-01-31")), MARKDOWN)
    meaning = text[text.index("## What an attacker can learn") :]
    assert question in meaning
    words = meaning[meaning.index("Suppose that an attacker raises, on average") :].split("\n", 1)[0]
    assert words.count(" users ") == 2
    assert "record is" not in words
    assert "records that" not in words
    assert "knows every record of every other user" in meaning
    assert verified(text).sound


@pytest.mark.long
def test_a_report_about_users_of_whom_no_pair_is_proven() -> None:
    """Epsilon and delta follow by group privacy, and are upper bounds."""
    rounds = [hs.Round(hs.Laplace(20.0), hs.Poisson(0.1), count=2)]
    plan = hs.Plan(rounds, delta=1e-4, unit="user", records_per_unit=3)
    assert plan.by_group
    record = report_record(plan, None, None, made("2026-01-31"))
    assert all(row["upper"] == plan.epsilon(row["delta"]).upper for row in record["epsilon"])
    assert "refused" in record["attack"]
    text = report_text(record, MARKDOWN)
    assert "one user with at most 3 records" in text
    assert verified(text).sound


def test_a_long_name_goes_on_in_the_next_line_after_a_dot_and_paper_keeps_facts_together() -> None:
    (line,) = page._written(Paragraph("of hockeystick.integrations.batches.PoissonBatches; 0.1.0 <a.b.c>"))
    assert line == (
        "<p>of hockeystick.<wbr>integrations.<wbr>batches.<wbr>PoissonBatches; 0.1.0 &lt;a.<wbr>b.<wbr>c&gt;</p>"
    )
    assert re.search(r"\n  [^\n]*\bdl\b[^\n]*break-inside: avoid", page.STYLE.partition("@media print")[2])


def test_numbers_of_an_axis_end_within_the_picture_and_the_mark_keeps_off_them() -> None:
    falling = [(0.0, 1.0), (10_000.0, 1e-6)]
    drawn = Chart(
        "end", "title", "description", Axis("steps", 0, 10_000), Axis("delta", 1e-6, 1, True), falling,
        mark=(falling[-1], "the end"),
    ).svg()  # fmt: skip
    texts = [item for item in ET.fromstring(drawn).iter() if item.tag.endswith("}text")]
    (last,) = [item for item in texts if item.text == "10,000"]
    assert float(last.attrib["x"]) + 0.5 * 0.65 * chart.LETTER * len("10,000") <= chart.WIDTH
    (mark,) = [item for item in texts if item.text == "the end"]
    assert float(mark.attrib["y"]) < chart.HEIGHT - chart.BOTTOM < float(last.attrib["y"])


@pytest.mark.parametrize(("noise", "said"), [(1.0, False), (0.2, True)])
def test_a_report_says_first_that_a_guarantee_is_no_protection(noise: float, said: bool) -> None:
    """From epsilon 7 on, before all other warnings."""
    record = report_record(hs.Plan([hs.Round(hs.Gaussian(noise))]), 1e-5, None, {})
    content = report_blocks(record)
    cautions = [text for block in content if isinstance(block, Caution) for text in block.texts]
    assert "".join(cautions[:1]).startswith("this number gives a single person no meaningful protection") is said
    (lead,) = [block.text for block in content if isinstance(block, Lead)]
    assert lead.startswith("No meaningful protection: \u03b5 \u2264 ") is said


def test_a_report_says_how_large_delta_is_for_the_records() -> None:
    plan = hs.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=1)
    (said,) = [text for text in _questions(plan) if text.startswith("Delta is much smaller")]
    assert said.endswith(": delta times the 60,000 records of the plan is 0.600.")
    (unknown,) = [text for text in _questions(hs.dp_sgd(1.1, 0.01, 10)) if text.startswith("Delta is much smaller")]
    assert unknown == "Delta is much smaller than 1 divided by the number of people."


def _questions(plan: hs.Plan) -> list[str]:
    """What the signer must check."""
    content = report_blocks(report_record(plan, 1e-5, None, {}))
    return [text for block in content if isinstance(block, Bullets) for text in block.items]


@pytest.mark.parametrize("delta", [0.0, 1e-300])
def test_a_report_at_the_least_deltas_is_verified(delta: float) -> None:
    """At delta 0 only pure mechanisms have an epsilon, and there is no smaller delta to show."""
    plan = hs.Plan([hs.Round(hs.Laplace(2.0)), hs.Round(hs.Laplace(2.5))])
    record = report_record(plan, delta, None, {"date": "2026-01-31"})
    assert [row["delta"] for row in record["epsilon"]] == [delta]
    text = report_text(record, "Markdown")
    assert ("on a neighbouring dataset, plus" in text) == (delta > 0)
    assert "at other deltas" not in text
    assert verified(text).sound
