"""The commands ``hockeystick plot curve|steps|tradeoff``, which draw figures of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hockeystick.cli.group import OneLineGroup
from hockeystick.cli.options import delta_option, number_option, output_option, with_plan
from hockeystick.cli.progress import progress
from hockeystick.values.words import place

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan

_output = output_option(required=True, help="File to write: .svg, .png or .pdf.")
_points = number_option("--points", type=int, help="Number of points to compute.")
_accountant = click.option(
    "--accountant",
    "accountants",
    multiple=True,
    metavar="NAME",
    help="Also draw the curve of this accountant; repeatable.",
)


@click.group(cls=OneLineGroup)
def plot() -> None:
    """Draw figures of the certified bounds for a plan; needs matplotlib.

    Example: hockeystick plot curve plan.toml -o curve.svg
    """


@plot.command()
@with_plan
@number_option("--delta", help="Delta at which to mark epsilon; overrides the plan's.")
@number_option("--from", "start", help="Smallest epsilon; 0 by default.")
@number_option("--to", "stop", help="Largest epsilon.")
@_accountant
@_points
@_output
def curve(plan: Plan, output: str, **given: Any) -> None:
    """Plot delta against epsilon, and mark the target delta.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick plot curve plan.toml -o curve.svg --accountant rdp
    """
    _draw("curve", plan, output, given)


@plot.command()
@with_plan
@click.option("--log", "logarithmic", is_flag=True, help="Draw the true-positive rate on logarithmic axes.")
@_points
@_output
def tradeoff(plan: Plan, output: str, **given: Any) -> None:
    """Draw the trade-off between the two error rates of the best membership attack.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick plot tradeoff plan.toml -o tradeoff.pdf --log
    """
    _draw("tradeoff", plan, output, given)


@plot.command()
@with_plan
@delta_option
@_accountant
@_points
@_output
def steps(plan: Plan, output: str, **given: Any) -> None:
    """Draw epsilon against the number of rounds.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick plot steps plan.toml -o steps.svg --delta 1e-5
    """
    _draw("steps", plan, output, given)


def _draw(kind: str, plan: Plan, output: str, given: dict[str, Any]) -> None:
    """Draw and save a figure; print the plan's assumptions, and the warnings about delta, on standard error."""
    from hockeystick.plot import checked_ending, need_matplotlib, save
    from hockeystick.report.answer import caveat_lines
    from hockeystick.report.tables import print_pairs

    checked_ending(output)
    need_matplotlib()
    asked = {key: value for key, value in given.items() if value is not None}
    with progress("computing"):
        figure = plan.plot(kind=kind, **asked)
    save(figure, output)
    click.echo(f"written to {place(output)}", err=True)
    delta = None if kind == "tradeoff" else asked.get("delta", plan.delta_target)
    print_pairs(caveat_lines(plan, delta), error=True)
