"""Figures of sweeps: every point of a map where it belongs, a front that is one, and what has no figure."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.plot import sweeps as figures
from hockeystick.plot.shown import literal

mpl = pytest.importorskip("matplotlib")

PLAN = hs.dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=15, delta=1e-5)
MANY = {"noise_multiplier": np.linspace(0.6, 2.0, 15), "epochs": [round(1.3**power) for power in range(3, 17)]}


def words(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_text()]


def test_each_field_has_the_number_of_its_point_rounded_up() -> None:
    found = hs.sweep(PLAN, {"noise_multiplier": [0.8, 1.6], "epochs": [5, 10, 20]})
    axes = found.plot().axes[0]
    fields = {(text.get_position()): text.get_text() for text in axes.texts}
    assert len(fields) == 6
    for row in found.rows:
        place = [0.8, 1.6].index(row["noise_multiplier"]), [5, 10, 20].index(row["epochs"])
        said = float(fields[place])
        assert row["upper"] <= said <= row["upper"] * 1.01
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("noise multiplier", "epochs")


def test_the_axes_can_be_chosen_and_what_is_left_is_fixed() -> None:
    found = hs.sweep(PLAN, {"noise_multiplier": [0.8, 1.6], "epochs": [5, 10], "delta": [1e-5, 1e-7]})
    with pytest.raises(hs.InvalidInputError, match=r"give the delta of the heat map, such as at=\{'delta': 1e-05\}"):
        found.plot()
    axes = found.plot(x="epochs", at={"delta": 1e-7}).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epochs", "noise multiplier")
    first = next(text.get_text() for text in axes.texts if text.get_position() == (0.0, 0.0))
    row = next(row for row in found.rows if (row["noise_multiplier"], row["epochs"], row["delta"]) == (0.8, 5, 1e-7))
    assert row["upper"] <= float(first) <= row["upper"] * 1.01


def test_points_without_an_answer_are_crossed_out() -> None:
    found = hs.sweep(PLAN, {"noise_multiplier": [-1.0, 1.6], "batch_size": [256, 70_000]})
    lines = [line for line in found.plot().axes[0].lines if line.get_marker() == "x"]
    crosses = [np.array(line.get_data()).ravel().tolist() for line in lines]
    assert sorted(crosses) == [[0, 0], [0, 1], [1, 1]]


def test_a_map_of_many_points_has_some_values_and_lines_at_round_numbers() -> None:
    figure = hs.sweep(PLAN, MANY).plot(title="A map")
    axes = figure.axes[0]
    assert axes.get_title() == "A map"
    assert len(axes.get_xticklabels()) <= figures.TICKS
    assert {"0.5", "1", "2"} <= set(words(figure))
    assert len(axes.texts) < 10


def test_the_front_is_drawn_with_what_it_is_chosen_from() -> None:
    found = hs.sweep(PLAN, {"batch_size": [64, 256, 1024], "epochs": [5, 20]}, target=3.0)
    figure: Any = found.plot("pareto", least_steps=500)
    dots, front = figure.axes[0].lines
    assert len(dots.get_xdata()) == len([row for row in found.rows if row["steps"] >= 500])
    kept = found.pareto(least_steps=500)
    assert tuple(front.get_xdata()) == kept.columns["gradients"]
    assert tuple(front.get_ydata()) == kept.columns["noise_per_coordinate"]
    assert "batch size 1,024, epochs 20" in words(figure)


def test_words_of_a_front_stand_on_its_better_side_within_the_figure() -> None:
    """Where no row is better there is no dot for them to cover."""
    found = hs.sweep(PLAN, {"batch_size": [64, 256, 1024, 4096], "epochs": [5, 10, 20, 40]}, target=3.0)
    figure: Any = found.plot("pareto", least_steps=500)
    axes = figure.axes[0]
    renderer = figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in axes.texts]
    assert len(boxes) >= 3
    assert all(box.x0 >= 0 and box.y0 >= 0 for box in boxes)
    dots = axes.transData.transform(np.column_stack(axes.lines[0].get_data()))
    assert not [1 for box in boxes for x, y in dots if box.x0 <= x <= box.x1 and box.y0 <= y <= box.y1]


@pytest.mark.parametrize(
    ("grid", "options", "said"),
    [
        ({"epochs": [5, 10]}, {}, "a heat map needs two parameters with several values each; this grid has 'epochs'"),
        ({"epochs": [5]}, {}, "this grid has none"),
        (
            {"epochs": [5, 10], "noise_multiplier": [1, 2]},
            {"x": "delta"},
            "x must be a parameter of the grid with several values",
        ),
        (
            {"epochs": [5, 10], "noise_multiplier": [1, 2]},
            {"x": "epochs", "y": "epochs"},
            "a heat map needs two parameters",
        ),
        ({"epochs": [5, 10], "noise_multiplier": [1, 2]}, {"at": {"delta": 1.0}}, "is not a further parameter"),
        ({"epochs": [5, 10], "noise_multiplier": [-2, -1]}, {}, "no point of the heat map has a finite answer"),
        ({"epochs": [5, 10]}, {"kind": "bars"}, "kind must be one of 'heat_map', 'pareto'"),
        ({"epochs": [5, 10]}, {"kind": "pareto", "x": "epochs"}, "the figure 'pareto' has no option 'x'"),
    ],
)
def test_what_has_no_figure_is_refused(grid: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(hs.InvalidInputError) as raised:
        hs.sweep(PLAN, grid).plot(**options)
    assert said in str(raised.value)


def test_a_front_has_no_map_and_a_plan_is_no_sweep() -> None:
    found = hs.sweep(PLAN, {"batch_size": [256, 1024], "epochs": [5, 20]}, target=3.0)
    with pytest.raises(hs.InvalidInputError, match="a heat map needs all rows of a sweep"):
        found.pareto(least_steps=2000).plot()
    with pytest.raises(hs.InvalidInputError, match=r"sweep must be a result of hs\.sweep"):
        hs.plot.heat_map(PLAN)  # type: ignore[arg-type]


@pytest.mark.parametrize("title", ["<b>\x1b[31m", "$x^{", "\u202e"])
def test_titles_are_text(title: str) -> None:
    """No character of a title is mathematics or a command, and none is missing from the font."""
    sweep = hs.sweep(PLAN, MANY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sweep.plot(title=title).axes[0].get_title() == literal(title)
