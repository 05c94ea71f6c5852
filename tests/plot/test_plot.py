"""Figures: what is drawn, what is refused, and that files are whole, deterministic and drawn in one place."""

from __future__ import annotations

import builtins
import importlib
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from command import runner
from hockeystick.accountants import ACCOUNTANTS
from hockeystick.cli import main
from hockeystick.plot import (
    Line,
    Panel,
    curve_panel,
    drawn,
    need_matplotlib,
    save,
    steps_panel,
    tradeoff_panel,
)
from hockeystick.plot.draw import BRACKET_WIDTH, plain
from hockeystick.plot.style import STYLES
from hockeystick.values.errors import HockeystickError, InvalidInputError, UnsupportedError

pytest.importorskip("matplotlib")

PLAN = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000, delta=1e-6)
FLAGS = ["--noise-multiplier", "1", "--sample-rate", "0.01", "--steps", "100"]


def test_curve_is_the_certified_band_to_1e_12() -> None:
    panel = curve_panel(PLAN, points=9)
    assert panel.yscale == "log"
    assert panel.bracket is not None
    for x, lower, upper in zip(panel.bracket.x, panel.bracket.lower or [], panel.bracket.y, strict=True):
        bound = PLAN.delta(x)
        assert lower <= bound.upper
        assert upper >= bound.lower
    assert panel.bracket.x[0] == 0
    assert panel.bracket.y[-1] == pytest.approx(1e-12, rel=0.01)


def test_curve_over_a_range() -> None:
    panel = curve_panel(PLAN, 1.0, 2.0, 5, ["rdp"])
    assert list(panel.lines[0].x) == [1.0, 1.25, 1.5, 1.75, 2.0]
    assert panel.lines[0].y[0] == PLAN.delta(1.0, accountant="rdp").quoted


def test_steps_end_with_the_whole_plan() -> None:
    panel = steps_panel(PLAN, points=7)
    assert panel.bracket is not None
    assert panel.bracket.x[-1] == PLAN.steps
    assert panel.bracket.y[-1] == PLAN.epsilon().upper
    assert list(panel.bracket.y) == sorted(panel.bracket.y)


def test_steps_of_few_rounds_are_asked_once_each() -> None:
    panel = steps_panel(hs.dp_sgd(1.0, 0.01, 3), 1e-6, points=50)
    assert panel.bracket is not None
    assert list(panel.bracket.x) == [1, 2, 3]


def test_tradeoff_lies_below_guessing() -> None:
    panel = tradeoff_panel(PLAN, points=11)
    assert panel.bracket is not None
    for x, lower, upper in zip(panel.bracket.x, panel.bracket.lower or [], panel.bracket.y, strict=True):
        assert lower <= upper <= 1 - x + 1e-12
    panel = tradeoff_panel(PLAN, logarithmic=True, points=11)
    assert panel.bracket is not None
    assert all(upper >= x for x, upper in zip(panel.bracket.x, panel.bracket.y, strict=True))


def test_an_accountant_without_an_answer_is_named() -> None:
    laplace = hs.Plan([hs.Round(hs.Laplace(scale=10.0), count=3)])
    assert curve_panel(laplace, 0.0, 0.2, 3, ["rdp"]).lines[0].answered
    with pytest.raises(UnsupportedError, match=r"^characteristic-function: .*does not decay"):
        curve_panel(laplace, 0.0, 0.2, 3, ["rdp", "characteristic-function"])


def test_every_accountant_has_a_look_of_its_own() -> None:
    known = set(ACCOUNTANTS) - {"auto"}
    assert known <= set(STYLES)
    looks = [(STYLES[name].colour, STYLES[name].dash) for name in sorted(known)]
    marks = [(STYLES[name].colour, STYLES[name].mark) for name in sorted(known)]
    assert len(set(looks)) == len(looks)
    assert len(set(marks)) == len(marks)


@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf"])
def test_same_bytes_from_the_same_data(tmp_path: Path, ending: str) -> None:
    """No dates, no random identifiers."""
    panel = Panel(
        "x (s)",
        "y",
        [Line("rdp", [1, 2, 3], [1, math.inf, 3])],
        Line("certified bracket", [1, 2, 3], [1, 2, 3], [0, 1, 2]),
    )
    contents = []
    for name in ("a", "b"):
        path = tmp_path / (name + ending)
        save(drawn([panel]), path)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a" + ending, "b" + ending]


def test_figures_have_a_column_s_width_and_every_label() -> None:
    panel = Panel("rounds", "$\\varepsilon$ (nats)", [Line("rdp", [1, 10, 100], [1, 2, 3])], None, "log")
    figure = drawn([panel, panel])
    assert figure.get_figwidth() == pytest.approx(3.4)
    assert [axes.get_xlabel() for axes in figure.axes] == ["rounds", "rounds"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["rdp"]
    assert min(float(text.get_fontsize()) for text in figure.legends[0].get_texts()) >= 7


def test_the_legend_has_a_dot_for_the_bracket_where_its_line_has_one() -> None:
    for upper, mark in (([1, 2, 3], "None"), ([1, math.inf, 3], "o")):
        figure = drawn([Panel("x", "y", [], Line("certified bracket", [1, 2, 3], upper, [0, 1, 2]))])
        (handle,) = figure.legends[0].get_lines()
        assert handle.get_marker() == mark


def test_no_global_state() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    drawn([Panel("x", "y", [Line("rdp", [1, 2], [1, 2])])])
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("value", "text"),
    [(2000.0, "2,000"), (0.05, "0.05"), (1e-6, "10$^{-6}$"), (5e6, "5·10$^{6}$"), (5e-324, "4.94·10$^{-324}$")],
)
def test_round_numbers_are_written_as_they_are_read(value: float, text: str) -> None:
    assert plain(value) == text


@pytest.mark.parametrize("most", [9e8, 1e15, 1e100])
def test_an_axis_of_huge_numbers_has_room_for_the_curve(most: float) -> None:
    """Ticks of a hundred digits would leave none, of which matplotlib warns: warnings are errors here."""
    figure = drawn([Panel("x", "y", [Line("rdp", [0.0, most], [1, 2])])])
    labels = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert max(map(len, labels)) < 20
    assert "0" in labels


def test_a_logarithmic_axis_of_three_hundred_and_fifty_decades() -> None:
    """The quotient of its ends is no double."""
    figure = drawn([Panel("x", "y", [Line("rdp", [1, 2], [1e-200, 1e150])], yscale="log")])
    low, high = figure.axes[0].get_ylim()
    assert low <= 1e-200
    assert high >= 1e150


def test_without_matplotlib_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, *rest: Any) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(HockeystickError, match=r"`pip install matplotlib`, or in a clone with `pip .*\.\[plot\]'`$"):
        need_matplotlib()
    monkeypatch.undo()
    real = builtins.__import__

    def no_matplotlib(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(importlib, "import_module", no_matplotlib)
    result = runner().invoke(main, ["plot", "curve", *FLAGS, "-o", "x.png"])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("panel", "message"),
    [
        (lambda: curve_panel(PLAN, 2.0, 1.0), "must increase"),
        (lambda: curve_panel(PLAN, points=1), "points"),
        (lambda: steps_panel(hs.dp_sgd(1.0, 0.01, 10)), "no delta"),
        (lambda: steps_panel(hs.Plan([]), 1e-6), "no rounds"),
    ],
)
def test_refusals(panel: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        panel()


def test_error_rates_need_both_orderings() -> None:
    with pytest.raises(UnsupportedError):
        tradeoff_panel(hs.dp_sgd(1.0, 0.01, 10, adjacency="remove"))


@pytest.mark.parametrize("kind", ["curve", "steps", "tradeoff"])
def test_command(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    more = {"steps": ["--delta", "1e-6"], "curve": ["--accountant", "rdp", "--accountant", "gdp"]}.get(kind, [])
    result = runner().invoke(main, ["plot", kind, *FLAGS, *more, "--points", "5", "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert path.read_bytes().startswith(b"<?xml")


def test_command_says_who_has_no_answer(tmp_path: Path) -> None:
    plan, path = tmp_path / "plan.toml", tmp_path / "x.png"
    plan.write_text('[[round]]\nmechanism = "laplace"\nscale = 10\ncount = 3\n')
    more = ["--accountant", "rdp", "--to", "0.2", "--points", "3", "-o", str(path)]
    result = runner().invoke(main, ["plot", "curve", str(plan), *more, "--accountant", "characteristic-function"])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: characteristic-function: ")
    assert "does not decay" in result.stderr
    result = runner().invoke(main, ["plot", "curve", str(plan), *more])
    assert result.exit_code == 0
    written, *others = result.stderr.splitlines()
    assert written == f"written to {path}"
    assert [line.split("  ")[0] for line in others] == ["sampling none"]


def test_a_single_round_is_seen() -> None:
    """One point has no line through it: it has a mark, inside the axes, at a whole number of rounds."""
    figure = drawn([steps_panel(hs.Plan([hs.Round(hs.Laplace(scale=10.0))]), 1e-6)])
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    marked = [line for line in axes.lines if line.get_marker() == "o" and line.get_markevery() == [0]]
    assert [np.asarray(line.get_xdata()).tolist() for line in marked] == [[1.0]]
    assert low < 1.0 < high
    assert axes.get_ylim()[1] > 1.1 * float(np.asarray(marked[0].get_ydata())[0])
    assert all(float(tick).is_integer() for tick in axes.get_xticks())


@pytest.mark.filterwarnings("error")
def test_a_plan_of_no_round_has_a_curve_of_nothing(tmp_path: Path) -> None:
    # delta is 0 everywhere, which a logarithmic axis cannot show: the figure says so by being empty, without a warning
    path, rounds = tmp_path / "curve.svg", ["--noise-multiplier", "1", "--sample-rate", "0.1", "--steps", "0"]
    found = runner().invoke(main, ["plot", "curve", *rounds, "-o", str(path)])
    assert found.exit_code == 0, found.output
    assert path.exists()


def test_rounds_are_whole_numbers() -> None:
    figure = drawn([steps_panel(hs.dp_sgd(1.0, 0.01, 3), 1e-6)])
    assert all(float(tick).is_integer() for tick in figure.axes[0].get_xticks())


@pytest.mark.parametrize("name", ["figure.gif", "figure", "missing/figure.png"])
def test_command_writes_nothing_where_it_cannot(name: str, tmp_path: Path) -> None:
    result = runner().invoke(main, ["plot", "curve", *FLAGS, "--points", "3", "-o", str(tmp_path / name)])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_no_line_is_hidden_under_another() -> None:
    """Each line is wider than what is drawn over it; the dashes stay as long as they are."""
    x = [1.0, 2.0, 3.0, 4.0]
    lines = [Line("rdp", x, x), Line("gdp", x, x), Line("prv", x, x)]
    for bracket in (None, Line("certified bracket", x, x, x)):
        seen = [line.get_linewidth() for line in drawn([Panel("x", "y", lines, bracket)]).axes[0].get_lines()]
        assert all(below >= over + 0.25 for below, over in itertools.pairwise(seen[:3]))
        assert seen[2] > BRACKET_WIDTH
