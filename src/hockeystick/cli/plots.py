"""The commands ``hockeystick plot curve|tradeoff|steps|compare``, which draw figures of a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from hockeystick.cli.group import FAILURE, OneLineGroup
from hockeystick.cli.options import delta_option, number_option, output_option, with_options, with_plan
from hockeystick.cli.progress import progress
from hockeystick.values.words import one_line, place

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan
    from hockeystick.plot import Panel

_output = output_option(required=True, help="File to write: .svg, .png or .pdf.")
_points = number_option("--points", type=int, help="Number of points to compute.")
_accountant = click.option(
    "--accountant", "accountants", multiple=True, metavar="NAME", help="Also draw this accountant's answer; repeatable."
)


_deltas = with_options(
    with_plan,
    number_option("--delta", help="Delta at which to mark epsilon; overrides the plan's."),
    number_option("--from", "start", help="Smallest epsilon; 0 by default."),
    number_option("--to", "stop", help="Largest epsilon."),
    _accountant,
    _points,
    _output,
)
"""Decorator that adds the options of a figure of delta against epsilon."""


@click.group(cls=OneLineGroup)
def plot() -> None:
    """Draw figures of the certified bounds for a plan; needs matplotlib.

    Example: hockeystick plot curve plan.toml -o curve.svg
    """


@plot.command()
@_deltas
def curve(plan: Plan, points: int | None, **given: Any) -> None:
    """Plot delta against epsilon, and mark the target delta.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick plot curve plan.toml -o curve.svg --accountant rdp
    """
    _curve(plan, **given, **_given(points))


@plot.command()
@with_plan
@click.option("--log", "logarithmic", is_flag=True, help="Draw the true-positive rate on logarithmic axes.")
@_points
@_output
def tradeoff(plan: Plan, logarithmic: bool, points: int | None, output: str) -> None:
    """Draw the trade-off between the two error rates of the best membership attack.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick plot tradeoff plan.toml -o tradeoff.pdf --log
    """
    from hockeystick.plot import tradeoff_panel

    _draw(plan, output, lambda say: tradeoff_panel(plan, logarithmic, **_given(points)), None)


@plot.command()
@with_plan
@delta_option
@_accountant
@_points
@_output
def steps(plan: Plan, delta: float | None, accountants: tuple[str, ...], points: int | None, output: str) -> None:
    """Draw epsilon against the number of rounds.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick plot steps plan.toml -o steps.svg --delta 1e-5
    """
    from hockeystick.plot import steps_panel

    def panel(say: Callable[[str], None]) -> Panel:
        return steps_panel(plan, delta, **_given(points), accountants=accountants, say=say)

    _draw(plan, output, panel, plan.delta_target if delta is None else delta)


@plot.command()
@_deltas
def compare(plan: Plan, accountants: tuple[str, ...], points: int | None, **given: Any) -> None:
    """Plot delta against epsilon for several accountants (default: rdp, gdp and prv).

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick plot compare plan.toml -o compare.png
    """
    from hockeystick.plot.plans import FEWER_POINTS
    from hockeystick.plot.shown import COMPARED

    many = FEWER_POINTS if points is None else points
    _curve(plan, accountants=accountants or COMPARED, points=many, **given)


def _curve(plan: Plan, delta: float | None, output: str, **given: Any) -> None:
    """Draw delta against epsilon, with a mark at the target delta."""
    from hockeystick.plot import curve_panel, with_quoted

    def panel(say: Callable[[str], None]) -> Panel:
        return with_quoted(curve_panel(plan, **given, say=say), plan, delta)

    _draw(plan, output, panel, plan.delta_target if delta is None else delta)


def _given(points: int | None) -> dict[str, Any]:
    return {} if points is None else {"points": points}


def _draw(plan: Plan, output: str, panel: Callable[[Callable[[str], None]], Panel], delta: float | None) -> None:
    """Draw and save a figure; print the plan's assumptions, and the warnings about ``delta``, on standard error."""
    from hockeystick.plot import checked_ending, drawn, need_matplotlib, save
    from hockeystick.report.answer import assumption_lines, warning_lines
    from hockeystick.report.tables import print_pairs

    checked_ending(output)
    need_matplotlib()
    with progress("computing") as say:
        shown = panel(say)
        figure = drawn([shown])
    save(figure, output)
    click.echo(f"written to {place(output)}", err=True)
    for line in shown.lines:
        said = [*([] if line.answered else ["not drawn"]), line.label, *([line.note] if line.note else [])]
        if len(said) > 1:
            click.echo(one_line(": ".join(said)), err=True)
    print_pairs([*assumption_lines(plan), *warning_lines(plan, delta)], error=True)
    if any(line.failed for line in shown.lines):  # the other lines are drawn, and the status reports the failure
        click.get_current_context().exit(FAILURE)
