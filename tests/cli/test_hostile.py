"""A plan from a stranger stays text: nothing in it steers the terminal, is set as a formula, or becomes markup."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from command import run

pytest.importorskip("matplotlib")

TEXT = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> $\\frac{1}{0}$ $x^{2$ \x1b[31mred\x1b]0;title\x07 \x9b2J "
    "\u202eesrever \u2066iso [x](javascript:alert(1)) \\textbf{b} \\input{/etc/passwd}\rsecond\nline "
    "</style></script></svg>]]><!-- &lt;b&gt; &#x3C;i&#x3E; {{7*7}} `a` |b| "
    "\x1b]8;;http://example.invalid\x1b\\ \u200b\u2028\x85"
)
"""Markup of HTML, Markdown, LaTeX and matplotlib, escape codes of terminals, marks that turn the direction of text."""

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Characters that steer a terminal or the direction of text, but for line breaks."""

PLAN = {
    "delta": 1e-5,
    "published": {"source": TEXT, "accountant": TEXT, "note": TEXT, "epsilon": 1.0, "delta": 1e-5},
    "round": [
        {"mechanism": "gaussian", "noise_multiplier": 2.0, "sampling": "poisson", "sample_rate": 0.01, "count": 20}
    ],
}
"""A plan all of whose texts are hostile."""

COMMANDS = [
    ["epsilon", "PLAN"], ["delta", "PLAN", "--epsilon", "1"], ["compare", "PLAN"],
    ["calibrate", "noise", "PLAN", "--epsilon", "0.5"], ["sampling", "PLAN"], ["profile", "PLAN"],
    ["remaining", "PLAN", "--epsilon", "2"], ["statement", "PLAN"], ["statement", "PLAN", "--latex"],
    ["audit", "PLAN", "--canaries", "100", "--guesses", "20", "--correct", "12"], ["report", "PLAN", "--title", TEXT],
    ["report", "PLAN", "--json"], ["epsilon", "PLAN", "--json"],
]  # fmt: skip
"""Every command that takes a plan, in each form of its answer."""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "\u202e\x1b[31m$x$.json"
    path.write_text(json.dumps(PLAN), encoding="utf-8")
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=[" ".join(words[:3])[:40] for words in COMMANDS])
def test_no_answer_steers_the_terminal(command: list[str], plan: Path) -> None:
    said = run(*[str(plan) if word == "PLAN" else word for word in command])
    assert said.exit_code == 0, said.stderr
    assert not CONTROLS.search(said.stdout)
    assert not CONTROLS.search(said.stderr)


def test_the_page_and_its_check(plan: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    said = run("report", plan, "--title", TEXT, "-o", page)
    assert not CONTROLS.search(said.stdout)
    text = page.read_text(encoding="utf-8")
    outside = text.partition('<script type="application/json"')[0]
    assert "<script" not in outside
    assert "<img" not in text
    assert not CONTROLS.search(text)
    checked = run("verify", page)
    assert checked.exit_code == 0, checked.stdout
    assert not CONTROLS.search(checked.stdout)


@pytest.mark.parametrize("kind", ["curve", "tradeoff", "steps"])
def test_figures_of_it_are_drawn_without_a_formula_of_its_own(kind: str, plan: Path, tmp_path: Path) -> None:
    figure = tmp_path / "figure.svg"
    said = run("plot", kind, plan, "--points", "3", "-o", figure)
    assert said.exit_code == 0, said.stderr
    text = figure.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "alert" not in text
    assert not CONTROLS.search(text)
    assert not CONTROLS.search(said.stderr)
