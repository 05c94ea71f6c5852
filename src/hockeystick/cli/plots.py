"""The commands ``hockeystick plot curve|tradeoff|steps|compare|sampling``, which draw figures of a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hockeystick.cli.files import files
from hockeystick.cli.group import FAILURE, OneLineGroup
from hockeystick.cli.numbers import FALLING
from hockeystick.cli.plans import chosen_plan, flag_names, plan_source
from hockeystick.cli.progress import progress
from hockeystick.values.words import one_line, place

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan
    from hockeystick.plot import Panel

Command = TypeVar("Command", bound=Callable[..., Any])

_output = click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    shell_complete=files,
    help="Where to write it; .svg, .png or .pdf says in which form.",
)
_points = click.option("--points", type=int, metavar="NUMBER", help="Places where it is computed.")
_accountant = click.option(
    "--accountant", "accountants", multiple=True, metavar="NAME", help="Draw what it says too; as often as wanted."
)

_marked = click.option(
    "--delta", type=FALLING, metavar="NUMBER", help="Delta at which epsilon is marked; beats the one in the plan."
)


def _range(command: Command) -> Command:
    command = click.option("--to", "stop", type=FALLING, metavar="NUMBER", help="Largest epsilon.")(command)
    return click.option("--from", "start", type=FALLING, metavar="NUMBER", help="Least epsilon; 0 by default.")(command)


@click.group(cls=OneLineGroup, invoke_without_command=True)
@click.pass_context
def plot(context: click.Context) -> None:
    """Draw figures of a plan with the certified bracket; needs matplotlib.

    Example: hockeystick plot curve plan.toml -o curve.svg
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@plot.command()
@plan_source
@_marked
@_range
@_accountant
@_points
@_output
def curve(
    plan: str | None,
    delta: float | None,
    start: float | None,
    stop: float | None,
    accountants: tuple[str, ...],
    points: int | None,
    output: str,
    **flags: Any,
) -> None:
    """Draw delta against epsilon, with a mark at the target delta.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick plot curve plan.toml -o curve.svg --accountant rdp
    """
    from hockeystick.plot import curve_panel, with_quoted

    def panel(chosen: Plan, say: Callable[[str], None]) -> Panel:
        found = curve_panel(chosen, start, stop, **_given(points), accountants=accountants, say=say)
        return with_quoted(found, chosen, delta)

    _draw(plan, flags, output, panel, _at(delta))


@plot.command()
@plan_source
@click.option("--log", "logarithmic", is_flag=True, help="True-positive rate, on logarithmic axes.")
@_points
@_output
def tradeoff(plan: str | None, logarithmic: bool, points: int | None, output: str, **flags: Any) -> None:
    """Draw the trade-off between the two error rates of the best membership attack.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick plot tradeoff plan.toml -o tradeoff.pdf --log
    """
    from hockeystick.plot import tradeoff_panel

    _draw(plan, flags, output, lambda chosen, say: tradeoff_panel(chosen, logarithmic, **_given(points)))


@plot.command()
@plan_source
@click.option("--delta", type=FALLING, metavar="NUMBER", help="Target delta; beats the one in the plan.")
@_accountant
@_points
@_output
def steps(
    plan: str | None,
    delta: float | None,
    accountants: tuple[str, ...],
    points: int | None,
    output: str,
    **flags: Any,
) -> None:
    """Draw epsilon against the number of rounds.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick plot steps plan.toml -o steps.svg --delta 1e-5
    """
    from hockeystick.plot import steps_panel

    def panel(chosen: Plan, say: Callable[[str], None]) -> Panel:
        return steps_panel(chosen, delta, **_given(points), accountants=accountants, say=say)

    _draw(plan, flags, output, panel, _at(delta))


@plot.command()
@plan_source
@_marked
@_range
@_accountant
@_points
@_output
def compare(
    plan: str | None,
    delta: float | None,
    start: float | None,
    stop: float | None,
    accountants: tuple[str, ...],
    points: int | None,
    output: str,
    **flags: Any,
) -> None:
    """Draw delta against epsilon by several accountants (default: rdp, gdp and prv).

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick plot compare plan.toml -o compare.png
    """
    from hockeystick.plot import compare_panel, with_quoted
    from hockeystick.plot.shown import COMPARED

    names = accountants or COMPARED

    def panel(chosen: Plan, say: Callable[[str], None]) -> Panel:
        return with_quoted(compare_panel(chosen, names, start, stop, **_given(points), say=say), chosen, delta)

    _draw(plan, flags, output, panel, _at(delta))


@plot.command()
@plan_source
@click.option("--delta", type=FALLING, metavar="NUMBER", help="Target delta; beats the one in the plan.")
@_output
def sampling(plan: str | None, delta: float | None, output: str, **flags: Any) -> None:
    """Draw epsilon under every sampling scheme, with everything else as in the plan.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick plot sampling plan.toml -o sampling.svg --delta 1e-5
    """
    from hockeystick.plan.plan import target_delta
    from hockeystick.plot import checked_ending, need_matplotlib, samplings_figure, save
    from hockeystick.questions.samplings import sampled
    from hockeystick.report.answer import warning_lines
    from hockeystick.report.tables import print_caveats

    checked_ending(output)
    need_matplotlib()
    chosen = chosen_plan(plan, flags)
    at = chosen.delta_target if delta is None else delta
    with flag_names(), progress("computing") as say:
        rows = []
        for row in sampled(chosen, delta):
            say(row.scheme.name)
            rows.append(row)
        assert at is not None  # else sampled raised an error
        figure = samplings_figure(rows, target_delta(at))
    save(figure, output)
    click.echo(f"written to {place(output)}", err=True)
    print_caveats(warning_lines(chosen, at))


def _at(delta: float | None) -> Callable[[Plan], float | None]:
    """Function that gives the delta of a plan's figure: the flag, or else the plan's own."""
    return lambda chosen: chosen.delta_target if delta is None else delta


def _given(points: int | None) -> dict[str, Any]:
    return {} if points is None else {"points": points}


def _draw(
    plan: str | None,
    flags: dict[str, Any],
    output: str,
    panel: Callable[[Plan, Callable[[str], None]], Panel],
    at_delta: Callable[[Plan], float | None] = lambda chosen: None,
) -> None:
    """Draw and save a figure, and print its assumptions on standard error; ``at_delta`` marks figures at one delta."""
    from hockeystick.plot import checked_ending, drawn, need_matplotlib, save
    from hockeystick.report.answer import assumption_lines, warning_lines
    from hockeystick.report.tables import print_caveats

    checked_ending(output)
    need_matplotlib()
    chosen = chosen_plan(plan, flags)
    with flag_names(), progress("computing") as say:
        shown = panel(chosen, say)
        figure = drawn([shown])
    save(figure, output)
    click.echo(f"written to {place(output)}", err=True)
    for line in shown.lines:
        said = [*([] if line.answered else ["not drawn"]), line.label, *([line.note] if line.note else [])]
        if len(said) > 1:
            click.echo(one_line(": ".join(said)), err=True)
    print_caveats([*assumption_lines(chosen), *warning_lines(chosen, at_delta(chosen))])
    if any(line.failed for line in shown.lines):  # the other lines are drawn; the status reports the failure
        click.get_current_context().exit(FAILURE)
