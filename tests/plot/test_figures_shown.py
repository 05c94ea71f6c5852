"""Figures from Python: several plans in one, the quoted point marked, text that stays text, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import hockeystick as hs
from command import run
from hockeystick.plot.shown import FIGURES, literal

mpl = pytest.importorskip("matplotlib")

ONE = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000, delta=1e-6)
OTHER = hs.dp_sgd(noise_multiplier=2.0, sample_rate=0.01, steps=500, delta=1e-6)
HOSTILE = "$\\frac{1}{0}$ <script>\x1b[31m\u202e x_1^2"


def words(figure: Any) -> list[str]:
    """All texts of a figure: titles, labels, annotations and the legend."""
    return [text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_text()]


def dots(figure: Any) -> list[tuple[float, float]]:
    """The marks of what is quoted."""
    single = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 1]
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in single]


def test_the_quoted_point_is_marked_and_rounded_up() -> None:
    figure: Any = ONE.plot(points=9)
    upper = ONE.epsilon().upper
    assert dots(figure) == [(upper, 1e-6)]
    (text,) = (text for text in words(figure) if "\u2264" in text)
    assert text == f"$\\varepsilon$ \u2264 {ONE.epsilon():.3g}"
    assert float(text.split()[-1]) >= upper


def test_a_plan_without_delta_has_no_mark_unless_one_is_given() -> None:
    bare = hs.dp_sgd(1.0, 0.01, 100)
    assert dots(bare.plot(points=5, stop=2.0)) == []
    assert dots(bare.plot(points=5, stop=2.0, delta=1e-3)) == [(bare.epsilon(1e-3).upper, 1e-3)]


def test_the_command_marks_the_epsilon_at_the_delta_of_the_flag(tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    flags = ["--sigma", "1", "--sample-rate", "1%", "--steps", "100", "--points", "5"]
    for delta, marked in (([], False), (["--delta", "1e-3"], True)):
        assert run("plot", "curve", *flags, *delta, "-o", path).exit_code == 0
        quoted = f"{hs.dp_sgd(1.0, 0.01, 100).epsilon(1e-3):.3g}"
        assert (quoted in path.read_text(encoding="utf-8")) == marked
    warned = run("plot", "curve", *flags, "--delta", "2", "-o", path)
    assert warned.exit_code == 2


def test_several_plans_in_one_figure() -> None:
    """Each certified, with both ends, and its own mark and label; all as far as the one that reaches furthest."""
    figure: Any = ONE.plot(OTHER, labels=["noise 1", "noise 2"], points=9)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["noise 1", "noise 2"]
    assert {x for x, _ in dots(figure)} == {ONE.epsilon().upper, OTHER.epsilon().upper}
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 9]
    assert len(lines) == 4
    assert len({line.get_color() for line in lines}) == 2
    for plan, upper, lower in ((ONE, lines[0], lines[1]), (OTHER, lines[2], lines[3])):
        for x, high, low in zip(upper.get_xdata(), upper.get_ydata(), lower.get_ydata(), strict=True):
            bound = plan.delta(float(x))
            assert not high < bound.lower
            assert not low > bound.upper


def test_labels_that_are_alike_are_told_apart() -> None:
    figure: Any = hs.plot.curve(ONE, OTHER, labels=["run", "run"], points=5)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["run", "run (2)"]


def test_steps_mark_what_the_whole_plan_costs() -> None:
    figure: Any = ONE.plot(kind="steps", points=4)
    assert dots(figure) == [(1000.0, ONE.epsilon().upper)]


def test_a_profile_plots_the_errors_of_attacks() -> None:
    for figure in (ONE.profile().plot(points=5), ONE.profile().plot("tradeoff", logarithmic=True, points=5)):
        assert "false-positive rate of the attack" in words(figure)
        assert dots(figure) == []


def test_text_is_no_mathematics() -> None:
    """What stands between dollars would be set as a formula, or raise: names come from anybody."""
    figure: Any = ONE.plot(OTHER, labels=[HOSTILE, "b"], points=5)
    said = literal(HOSTILE)
    assert said == "\\$\\frac{1}{0}\\$ <script> [31m x_1^2"
    assert words(figure).count(said) == 1
    out = io.BytesIO()
    figure.savefig(out, format="svg")  # would raise on a formula that is none
    assert b"<script" not in out.getvalue()
    assert b"\x1b" not in out.getvalue()


def test_notebooks_show_a_picture() -> None:
    figure: Any = ONE.plot(points=5)
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_figure_is_saved_whole(tmp_path: Path) -> None:
    hs.plot.save(ONE.plot(points=5), str(tmp_path / "a.svg"))
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ONE.plot(kind="curves"), "kind must be one of 'curve', .*did you mean 'curve'"),
        (lambda: ONE.plot(colour="red"), "the figure 'curve' has no option 'colour'; its options are delta, start, "),
        (lambda: ONE.plot(OTHER, labels=["a"]), "labels must have one label for each of 2 plans; received"),
        (lambda: ONE.plot(OTHER, labels="ab"), "labels must have one label for each of 2 plans"),
        (lambda: ONE.plot(3), "a figure takes plans; received 3"),  # type: ignore[arg-type]
        (lambda: hs.plot.curve(), "a figure takes 1 to 6 plans; received 0"),
        (lambda: hs.plot.steps(*[ONE] * 7), "a figure takes 1 to 6 plans; received 7"),
        (lambda: ONE.plot(OTHER, accountants=["rdp"]), "accountants can be drawn for a single plan only"),
        (
            lambda: ONE.plot(hs.dp_sgd(1.0, 0.01, 10, delta=1e-5), kind="steps"),
            "different deltas, but a figure has one",
        ),
        (lambda: hs.dp_sgd(1.0, 0.01, 10).plot(kind="steps"), "no delta"),
    ],
)
def test_what_is_no_figure_is_refused(call: Any, said: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=said):
        call()


def test_every_figure_of_the_command_line_is_one_from_python() -> None:
    from hockeystick.cli.plots import plot

    assert set(FIGURES) == set(plot.commands)
