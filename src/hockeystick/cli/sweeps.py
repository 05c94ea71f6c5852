"""The command ``hockeystick sweep``, which answers one question at every point of a grid."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hockeystick.cli import options
from hockeystick.cli.calibrate import TARGET_FLAGS, chosen_target, without_free
from hockeystick.cli.grids import grids
from hockeystick.cli.numbers import number
from hockeystick.cli.progress import progress
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import cut, place, shown

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan
    from hockeystick.questions.parameters import Parameter
    from hockeystick.questions.sweeps.sweep import Sweep
    from hockeystick.questions.targets import Target


def _target(context: click.Context, parameter: click.Parameter, given: str | None) -> dict[str, float]:
    """Parse the option ``--target``, comma-separated pairs NAME=NUMBER; return the numbers by name."""
    form = "NAME=NUMBER, such as epsilon=3, mu=1, advantage=0.1 or tpr=0.1,fpr=0.01"

    def read(key: str, value: str) -> float:
        if key not in TARGET_FLAGS:
            raise InvalidInputError(f"--target must be {form}; received {shown(given)}")
        return number(key).convert(value, parameter, context)

    return options.named_values("--target", form, [] if given is None else given.split(","), read)


@click.command()
@options.plan_source
@click.option(
    "--grid",
    "grid",
    multiple=True,
    required=True,
    callback=grids,
    metavar="NAME=VALUES",
    help="Parameter with its values, such as 0.5:2:50 or 1,2,4; repeatable.",
)
@options.delta_option
@options.number_option("--epsilon", help="Compute delta at this epsilon.")
@click.option("--target", callback=_target, metavar="NAME=NUMBER", help="Calibrate to this target, such as epsilon=3.")
@click.option("--parameter", metavar="NAME", help="Parameter that --target calibrates.  [default: noise-multiplier]")
@options.number_option("--gap", help="Requested relative width of the intervals.")
@options.output_option(help="File for the rows: .csv.  [default: standard output]")
def sweep(
    plan: str | None,
    grid: dict[str, tuple[float, ...]],
    delta: float | None,
    target: dict[str, float],
    parameter: str | None,
    output: str | None,
    **asked: Any,
) -> None:
    """Answer one question about a plan at every point of a grid, and write CSV with one row per point.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick sweep plan.toml --grid noise_multiplier=0.5:2:50 --grid epochs=10,20 -o sweep.csv
    """
    from hockeystick.questions.sweeps.question import FREE
    from hockeystick.questions.sweeps.sweep import sweep as swept

    flags = {key: asked.pop(key) for key in options.PLAN_FLAGS}
    parameter = None if parameter is None else options.unaliased(parameter)
    free = [parameter or FREE] if target else []
    chosen = options.chosen_plan(plan, _filled(grid, free, flags) if plan is None else flags)
    delta, wanted = _wanted(target, delta, chosen)
    _check_output(output)
    with options.flag_names(), progress("sweeping") as say:
        asked["progress"] = lambda done, of: say(f"sweeping: {done} of {of}")
        found = swept(chosen, grid, delta=delta, target=wanted, parameter=parameter, **asked)
    _say(found, output)


def _check_output(output: str | None) -> None:
    """Refuse an output file with a wrong ending, or in a missing folder, before anything is computed."""
    if output is None:
        return
    if not output.lower().endswith(".csv"):
        raise InvalidInputError(f"{place(output)}: the name of a sweep's file must end in .csv", "output")
    if not Path(output).absolute().parent.is_dir():
        raise InvalidInputError(f"{place(output)}: its folder does not exist; create it or give another name", "output")


def _filled(grid: Iterable[str], free: Iterable[str], flags: dict[str, Any]) -> dict[str, Any]:
    """The flags, with a placeholder for each parameter that ``--grid`` varies or ``--target`` finds.

    Raises:
        InvalidInputError: a flag sets such a parameter, or the grid varies the parameter that the target finds.
    """
    from hockeystick.questions.parameters import PARAMETERS
    from hockeystick.questions.sweeps.grid import parameter_of

    def known(names: Iterable[str]) -> list[Parameter]:
        return [PARAMETERS[name] for each in names if (name := parameter_of(each)) in PARAMETERS]

    found, varied = known(free), known(grid)
    for parameter in found:
        if parameter in varied:
            raise InvalidInputError(
                f"--grid sets {parameter.name}, and --target finds it: leave it out of --grid, or name another with "
                "--parameter",
                "grid",
            )
    return without_free(found, without_free(varied, flags, "is in --grid"), "is found by --target")


def _wanted(target: dict[str, float], delta: float | None, plan: Plan) -> tuple[float | None, float | Target | None]:
    """Delta and target of the sweep.

    A target that is a number is an epsilon, to be met at the delta of each point of the grid.
    """
    if not target:
        return delta, None
    if delta is not None and target.keys() != {"epsilon"}:
        raise InvalidInputError(f"--delta cannot be combined with --target {cut(', '.join(target))}", "delta")
    if "epsilon" in target and target.keys() <= {"epsilon", "delta"}:
        return target.get("delta", delta), target["epsilon"]
    return None, chosen_target(target, plan)


def _say(found: Sweep, output: str | None) -> None:
    """Print the rows, or write them to a file and print a summary; in both cases, print assumptions and warnings."""
    from hockeystick.report.sweep import caveat_lines, sweep_answer
    from hockeystick.report.tables import print_answer, print_pairs

    if output is None:
        click.echo(found.to_csv(), nl=False)
        print_pairs(caveat_lines(found), error=True)
    else:
        found.to_csv(output)
        print_answer(sweep_answer(found, output))
