"""The commands. Each reads its arguments, calls the library, and prints a table for people or one JSON object."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hockeystick.cli import options
from hockeystick.cli.budget import budget
from hockeystick.cli.calibrate import TARGET_FLAGS, chosen_target, target_options, without_free
from hockeystick.cli.documents import UNSOUND, report, statement, verify
from hockeystick.cli.group import PROGRAM, OneLineGroup
from hockeystick.cli.new import new
from hockeystick.cli.numbers import RISING
from hockeystick.cli.plots import plot
from hockeystick.cli.reproduce import reproduce
from hockeystick.cli.sweeps import sweep
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.version import __version__
from hockeystick.values.words import place, shown

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}
"""Settings of click for all commands; the width is in characters."""


@click.group(cls=OneLineGroup, context_settings=_SETTINGS)
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
def main() -> None:
    """Certified two-sided bounds on the epsilon and delta of differential privacy.

    Example: hockeystick epsilon plan.toml --delta 1e-5
    """


def _options(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    """Parse repeated options NAME=VALUE; return the values as numbers, by name."""
    form = "NAME=NUMBER, such as eps_error=0.01"

    def read(key: str, value: str) -> float:
        try:
            return float(value)
        except ValueError:
            raise InvalidInputError(f"--option must be {form}; received {shown(f'{key}={value}')}") from None

    return options.named_values("--option", form, given, read)


_OPTION = "Option for the accountant; repeatable."

_method = options.with_options(
    options.with_plan,
    options.name_option("--accountant", default="auto", help="Accountant name; `hockeystick accountants` lists all."),
    options.text_option("--option", "options", metavar="NAME=NUMBER", multiple=True, callback=_options, help=_OPTION),
    options.number_option("--gap", help="Requested relative width of the interval; a narrower interval takes longer."),
    click.option("--proof", is_flag=True, help="Prove the interval in ball arithmetic, or fail; needs python-flint."),
    options.json_option,
)
"""Decorator that adds the arguments and options of ``epsilon`` and ``delta``."""


for each in (new, plot, report, verify, statement, budget, sweep, reproduce):
    main.add_command(each)


@main.command()
@_method
@options.delta_option
def epsilon(plan: Plan, delta: float | None, as_json: bool, **method: Any) -> None:
    """Compute certified bounds on epsilon at a delta.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick epsilon plan.toml --delta 1/60000
    """
    question = {"delta": options.delta_of(plan, delta), **method}
    options.answer("epsilon", plan, question, as_json, "computing epsilon")


@main.command()
@_method
@options.number_option("--epsilon", required=True, help="Epsilon, 0 or greater.")
def delta(plan: Plan, as_json: bool, **question: Any) -> None:
    """Compute certified bounds on delta at an epsilon.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick delta plan.toml --epsilon 2
    """
    options.answer("delta", plan, question, as_json, "computing delta")


@main.command()
@options.with_plan
@options.json_option
@options.number_option("--delta", help="Compare epsilons at this delta; overrides the plan's.")
@options.number_option("--epsilon", help="Compare deltas at this epsilon.")
def compare(plan: Plan, delta: float | None, epsilon: float | None, as_json: bool) -> None:
    """Run all accountants on one plan and show their answers side by side.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it. An estimate,
    marked ~, may be above or below the true value.

    Example: hockeystick compare plan.toml --delta 1e-5
    """
    if epsilon is not None and delta is not None:
        raise InvalidInputError("give --delta to compare epsilons or --epsilon to compare deltas; received both")
    question = {"delta": options.delta_of(plan, delta)} if epsilon is None else {"epsilon": epsilon}
    options.answer("comparison", plan, question, as_json, "comparing")


@main.command()
@click.argument("parameter", shell_complete=options.names)
@options.plan_source
@target_options
@options.number_option("--gap", help="Requested relative width of the intervals.")
@options.output_option(help="Also write the plan with this value to FILE: .toml or .json.")
@options.json_option
def calibrate(
    parameter: str,
    plan: str | None,
    gap: float | None,
    output: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Find the value of PARAMETER, rounded in the safe direction, at which a plan just meets a target.

    PARAMETER is noise-multiplier, scale, noise (a common factor on all noise), epsilon (of black boxes), sample-rate,
    batch-size, check-in, steps or epochs. PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags
    can replace it.

    Example: hockeystick calibrate noise-multiplier plan.toml --epsilon 3 --delta 1e-5
    """
    from hockeystick.questions.calibration import TOLERANCE
    from hockeystick.questions.parameters import named

    if output is not None and Path(output).suffix.lower() not in (".toml", ".json"):
        raise InvalidInputError(f"--output {place(output)}: end the name in .toml or .json", "output")
    free = named(options.unaliased(parameter))
    wanted = {key: flags.pop(key) for key in TARGET_FLAGS}
    with options.flag_names():
        chosen = options.chosen_plan(plan, flags if plan is not None else without_free([free], flags, "is calibrated"))
        target = chosen_target(wanted, chosen).described()
        question = {"parameter": free.name, "target": target, "tolerance": TOLERANCE, "gap": gap}
        said = {**question, "plan": chosen.to_dict()}
        found = options.answer("calibration", chosen, said, as_json, "calibrating")
    if output is not None:
        found.plan.save(output)


@main.command()
@options.with_plan
@options.json_option
@options.delta_option
@options.number_option("--epsilon", help="Find the noise that meets this epsilon.  [default: the plan's epsilon]")
def sampling(plan: Plan, delta: float | None, epsilon: float | None, as_json: bool) -> None:
    """Compare sampling schemes for one training run: their epsilons, the noise for a target, and suitable loaders.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick sampling plan.toml --delta 1e-5 --epsilon 3
    """
    at = options.delta_of(plan, delta)
    target = plan.epsilon(at).upper if epsilon is None else epsilon
    options.answer("samplings", plan, {"delta": at, "epsilon": target}, as_json, "comparing samplings")


@main.command()
@options.with_plan
@options.number_option("--delta", "deltas", multiple=True, help="Also state epsilon at this delta.")
@options.number_option("--epsilon", "epsilons", multiple=True, help="Also state delta at this epsilon.")
@options.number_option(
    "--fpr", "rates", type=RISING, multiple=True, help="State the true-positive rate at this false-positive rate."
)
@options.number_option(
    "--group", "sizes", type=float, multiple=True, help="State epsilon for a group of this many records."
)
@options.json_option
def profile(plan: Plan, sizes: tuple[float, ...], as_json: bool, **given: Any) -> None:
    """Show the privacy of a plan in other terms: mu, success rates of attacks, groups, and points of the privacy curve.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it. Each option may be
    repeated.

    Example: hockeystick profile plan.toml --delta 1e-5 --fpr 0.001 --group 3
    """
    from hockeystick.report.profile import GROUPS, RATES
    from hockeystick.values.domains import RECORDS

    own = () if plan.delta_target is None else (plan.delta_target,)
    groups = [int(RECORDS.of("records in a group").check(size, "group")) for size in sizes]
    usual = {"deltas": own, "epsilons": (), "rates": RATES, "groups": GROUPS}
    question = {key: list(value or usual[key]) for key, value in {**given, "groups": groups}.items()}
    options.answer("profile", plan, question, as_json, "computing the profile")


@main.command()
@options.with_plan
@options.number_option("--epsilon", required=True, help="Epsilon to stay within.")
@options.number_option("--delta", help="Delta to stay within; overrides the plan's.")
@click.option("--more", metavar="FILE", help="Plan whose single round is repeated.  [default: the plan's own round]")
@options.json_option
def remaining(plan: Plan, epsilon: float, delta: float | None, more: str | None, as_json: bool) -> None:
    """Count how many more epochs or steps of a plan stay within a given epsilon.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick remaining plan.toml --epsilon 3 --delta 1e-5
    """
    at = options.delta_of(plan, delta)
    repeated = None if more is None else options.chosen_plan(more, {})
    if repeated is not None and len(repeated.rounds) != 1:
        raise InvalidInputError(
            f"--more must be a plan with one kind of round; received {len(repeated.rounds)} kinds", "more"
        )
    question = {"epsilon": epsilon, "delta": at, "more": None if repeated is None else repeated.to_dict()}
    options.answer("remaining", plan, question, as_json, "computing what remains")


@main.command()
@options.with_plan
@options.json_option
@options.number_option(
    "--canaries", type=int, required=True, help="Number of canaries, each included or left out by a fair coin toss."
)
@options.number_option("--guesses", type=int, required=True, help="Number of canaries whose inclusion was guessed.")
@options.number_option("--correct", type=int, required=True, help="Number of correct guesses.")
@options.number_option("--significance", default=0.05, help="Significance level of the test.")
@options.number_option("--delta", help="Also state a lower bound on the run's epsilon at this delta.")
def audit(plan: Plan, delta: float | None, as_json: bool, **counted: Any) -> None:
    """Test whether an attack on one run contradicts a plan; the p-value comes from the plan's certified curve.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick audit plan.toml --canaries 1000 --guesses 200 --correct 190
    """
    at = plan.delta_target if delta is None else delta
    options.answer("audit", plan, {**counted, "delta": at}, as_json, "auditing")


@main.command()
def accountants() -> None:
    """List the accountants and the guarantee of each.

    Example: hockeystick accountants
    """
    from hockeystick.accountants import ACCOUNTANTS
    from hockeystick.report.tables import print_pairs

    print_pairs([(name, accountant.summary) for name, accountant in ACCOUNTANTS.items()])


@main.command()
@click.argument("mechanism", required=False, shell_complete=options.names)
def supported(mechanism: str | None) -> None:
    """List the supported mechanisms, sampling schemes and adjacencies, and the theorems behind them.

    MECHANISM is a name such as laplace. Without MECHANISM, the command lists all mechanisms.

    Example: hockeystick supported gaussian
    """
    from hockeystick.report.tables import print_supported

    print_supported(mechanism)


@main.command()
def schema() -> None:
    """Print the JSON Schema of plan files.

    Example: hockeystick schema > plan.schema.json
    """
    import json  # imported late, since most answers are for people

    from hockeystick.plan.schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2, allow_nan=False))


@main.command()
@options.json_option
def doctor(as_json: bool) -> None:
    """Check whether this machine meets the certificate's assumptions on elementary functions, rounding and versions.

    Elementary functions are compared with Python's decimal arithmetic. Exit status 0: all assumptions hold. Exit status
    3: some assumptions do not hold; the output has a line for each of them.

    Example: hockeystick doctor
    """
    from hockeystick.numerics.doctor import doctor as examined
    from hockeystick.report.diagnosis import diagnosis_answer

    found = examined()
    options.print_found(as_json, lambda: {"version": __version__, **found.to_json()}, lambda: diagnosis_answer(found))
    if not found.sound:
        click.get_current_context().exit(UNSOUND)


@main.command()
@options.plan_source
@options.delta_option
@options.number_option("--port", type=int, help="Port; by default 8417, or a free one if 8417 is taken.")
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
def explore(plan: str | None, delta: float | None, port: int | None, no_browser: bool, **flags: Any) -> None:
    """Serve a page with sliders and live certified curves of two plans; needs starlette and uvicorn.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it. Without a plan and
    without flags, the page shows an example. Only this machine can open the page. Ctrl-C stops the server.

    Example: hockeystick explore --sigma 1.1 --batch 256 --dataset-size 60000 --epochs 60 --delta 1e-5
    """
    from hockeystick.explorer.serve import explore as served

    given = plan is not None or any(value is not None for value in flags.values())
    chosen = options.chosen_plan(plan, flags) if given else None
    if chosen is not None and delta is not None:
        with options.flag_names():
            chosen = replace(chosen, delta_target=delta)
    name = "" if plan is None else "standard input" if plan == options.STANDARD_INPUT else place(Path(plan).name)
    with options.flag_names(), served(chosen, port=port, browser=not no_browser, name=name) as page:
        click.echo(f"{page.url}\nserved to this machine alone; Ctrl-C ends it")
        try:
            page.wait()
        except KeyboardInterrupt:  # the normal end of this command
            click.echo("", err=True)
