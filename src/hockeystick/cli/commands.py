"""The commands. Each reads its arguments, calls the library, and prints a table for people or one JSON object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from hockeystick.cli.budget import budget
from hockeystick.cli.calibrate import TARGET_FLAGS, chosen_target, free_parameter, free_plan, target_options
from hockeystick.cli.doctor import doctor
from hockeystick.cli.documents import add_documents
from hockeystick.cli.explore import explore
from hockeystick.cli.files import files
from hockeystick.cli.group import FAILURE, OneLineGroup
from hockeystick.cli.numbers import FALLING
from hockeystick.cli.plans import chosen_plan, flag_names, plan_source
from hockeystick.cli.plots import plot
from hockeystick.cli.printed import as_json as with_json
from hockeystick.cli.printed import print_json
from hockeystick.cli.progress import progress
from hockeystick.cli.questions import add_questions
from hockeystick.cli.reproduce import reproduce
from hockeystick.cli.sweeps import sweep
from hockeystick.start import PROGRAM
from hockeystick.values.errors import InvalidInputError, UnsupportedError
from hockeystick.values.version import __version__
from hockeystick.values.words import cut, place, shown

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings of click for all commands; the width is in characters."""


@click.group(cls=OneLineGroup, context_settings=_SETTINGS, invoke_without_command=True)
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Certified two-sided bounds on the epsilon and delta of differential privacy.

    Example: hockeystick epsilon plan.toml --delta 1e-5
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _options(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    """Parse repeated NAME=VALUE options as numbers by name."""
    found: dict[str, float] = {}
    for text in given:
        name, _, value = text.partition("=")
        key = name.strip().replace("-", "_")
        try:
            number = float(value)
        except ValueError:
            raise InvalidInputError(
                f"--option must be NAME=NUMBER, such as eps_error=0.01; received {shown(text)}"
            ) from None
        if not key:
            raise InvalidInputError(f"--option must be NAME=NUMBER; received {shown(text)}, without a name")
        if key in found:
            raise InvalidInputError(f"--option {cut(key)} is given twice; give it once", key)
        found[key] = number
    return found


def _question(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what ``epsilon`` and ``delta`` have in common: a plan, an accountant, a gap, an output format."""
    command = with_json(command)
    command = click.option(
        "--proof", is_flag=True, help="Prove the interval by ball arithmetic, or refuse; needs python-flint."
    )(command)
    command = click.option(
        "--gap",
        type=FALLING,
        metavar="NUMBER",
        help="Widest relative width wanted of the interval; smaller takes longer.",
    )(command)
    command = click.option(
        "--option",
        "options",
        multiple=True,
        callback=_options,
        metavar="NAME=NUMBER",
        help="An option of the accountant; as often as it has some.",
    )(command)
    command = click.option(
        "--accountant", default="auto", metavar="NAME", show_default=True, help="Route; see `hockeystick accountants`."
    )(command)
    return plan_source(command)


main.add_command(plot)
add_documents(main)
add_questions(main)
main.add_command(budget)
main.add_command(sweep)
main.add_command(reproduce)
main.add_command(explore)
main.add_command(doctor)


@main.command()
@_question
@click.argument("others", nargs=-1, metavar="[PLAN]...", shell_complete=files)
@click.option("--delta", type=FALLING, metavar="NUMBER", help="Target delta; beats the one in the plan.")
def epsilon(
    plan: str | None,
    others: tuple[str, ...],
    delta: float | None,
    accountant: str,
    options: dict[str, float],
    gap: float | None,
    proof: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Certified bounds on epsilon at a delta.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it. Several plans
    have a line each.

    Example: hockeystick epsilon plan.toml --delta 1/60000
    """
    from hockeystick.accountants import accountant_named
    from hockeystick.report.answer import epsilon_answer, epsilon_json
    from hockeystick.report.document.envelope import enveloped
    from hockeystick.report.tables import print_answer

    chosen = [(plan, chosen_plan(plan, flags)), *((other, chosen_plan(other, {})) for other in others)]
    rows = []
    with flag_names(), progress("computing epsilon"):
        _check_gap(gap)
        accountant_named(accountant, proof, options)  # refuses an unknown option
        for name, each in chosen:
            target = _target(each, delta)
            with _named(name if others else None):
                bound = each.epsilon(target, accountant=accountant, gap=gap, proof=proof, **options)
            rows.append((name or "", each, target, bound))
    if as_json:
        method = {"accountant": accountant, "options": options, "gap": gap, "proof": proof}
        answers = [
            enveloped("epsilon", each, {"delta": target, **method}, epsilon_json(each, target, bound))
            for _, each, target, bound in rows
        ]
        print_json(_together(answers) if others else answers[0])
    elif others:
        from hockeystick.report.several import several_answer

        print_answer(several_answer(rows))
    else:
        _, each, target, bound = rows[0]
        print_answer(epsilon_answer(each, target, bound))


def _together(answers: list[dict[str, Any]]) -> dict[str, Any]:
    from hockeystick.report.several import several_json

    return several_json(answers)


@contextmanager
def _named(source: str | None) -> Iterator[None]:
    """Name the refused plan in errors if there are several plans."""
    try:
        yield
    except UnsupportedError as error:
        if source is None:
            raise
        raise UnsupportedError(f"{place(source)}: {error}") from None


@main.command()
@_question
@click.option("--epsilon", type=FALLING, required=True, metavar="NUMBER", help="Epsilon, 0 or greater.")
def delta(
    plan: str | None,
    epsilon: float,
    accountant: str,
    options: dict[str, float],
    gap: float | None,
    proof: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Certified bounds on delta at an epsilon.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick delta plan.toml --epsilon 2
    """
    from hockeystick.accountants import accountant_named
    from hockeystick.report.answer import delta_answer, delta_json
    from hockeystick.report.document.envelope import enveloped
    from hockeystick.report.tables import print_answer

    chosen = chosen_plan(plan, flags)
    with flag_names(), progress("computing delta"):
        _check_gap(gap)
        accountant_named(accountant, proof, options)  # refuses an unknown option
        bound = chosen.delta(epsilon, accountant=accountant, gap=gap, proof=proof, **options)
    if as_json:
        asked = {"epsilon": epsilon, "accountant": accountant, "options": options, "gap": gap, "proof": proof}
        print_json(enveloped("delta", chosen, asked, delta_json(chosen, epsilon, bound)))
    else:
        print_answer(delta_answer(chosen, epsilon, bound))


@main.command()
@plan_source
@with_json
@click.option("--delta", type=FALLING, metavar="NUMBER", help="Compare epsilons at this delta; beats the plan's.")
@click.option("--epsilon", type=FALLING, metavar="NUMBER", help="Compare deltas at this epsilon.")
def compare(plan: str | None, delta: float | None, epsilon: float | None, as_json: bool, **flags: Any) -> None:
    """All accountants on one plan, side by side.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it. An estimate,
    marked ~, may lie on either side of the truth.

    Example: hockeystick compare plan.toml --delta 1e-5
    """
    from hockeystick.accountants import ACCOUNTANTS
    from hockeystick.report.comparison import comparison_json, comparison_lines, delta_entry, epsilon_entry
    from hockeystick.report.document.envelope import enveloped
    from hockeystick.report.rounding import exact
    from hockeystick.report.tables import print_comparison
    from hockeystick.values import domains

    chosen = chosen_plan(plan, flags)
    if epsilon is not None and delta is not None:
        raise InvalidInputError("give --delta, to compare epsilons, or --epsilon, to compare deltas; received both")
    quantity, given = ("epsilon", "delta") if epsilon is None else ("delta", "epsilon")
    with flag_names():
        if epsilon is None:
            at = domains.delta(_target(chosen, delta), given, "the target delta")
        else:
            at = domains.epsilon(epsilon, given, "the target epsilon")
    entries = []
    with progress("comparing") as say:
        for number, accountant in enumerate(ACCOUNTANTS.values(), start=1):
            say(f"comparing: {accountant.name} ({number} of {len(ACCOUNTANTS)})")
            entries.append((epsilon_entry if epsilon is None else delta_entry)(chosen, at, accountant))
    if as_json:
        found = comparison_json(chosen, quantity, {given: at}, entries)
        print_json(enveloped("comparison", chosen, {given: at}, found))
    else:
        lines = comparison_lines(chosen, {given: at}, entries)
        print_comparison(f"{quantity} at {given} = {exact(at)}", entries, lines)
    failed = [entry.name for entry in entries if entry.failed]
    if failed:  # the table is still printed; the status and this line report the failure
        click.echo(f"error: failed unexpectedly, see the reason: {', '.join(failed)}", err=True)
        click.get_current_context().exit(FAILURE)


@main.command()
@click.argument("parameter")
@plan_source
@target_options
@click.option("--tolerance", type=FALLING, metavar="NUMBER", help="Relative, on the parameter.  [default: 1e-6]")
@click.option("--gap", type=FALLING, metavar="NUMBER", help="Widest relative width wanted of the intervals.")
@with_json
def calibrate(
    parameter: str,
    plan: str | None,
    tolerance: float | None,
    gap: float | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Find the value of PARAMETER with which a plan just meets a target, on the safe side.

    PARAMETER is noise-multiplier, scale, noise (a common factor), epsilon (of black boxes), sample-rate, batch-size,
    check-in, steps or epochs. PLAN is a .toml or .json file, or - for standard input. For DP-SGD flags can stand in
    place of it.

    Example: hockeystick calibrate noise-multiplier plan.toml --epsilon 3 --delta 1e-5
    """
    from hockeystick.questions.calibration import TOLERANCE
    from hockeystick.questions.calibration import calibrate as calibrated
    from hockeystick.report.calibration import calibration_answer, calibration_json
    from hockeystick.report.document.envelope import enveloped
    from hockeystick.report.tables import print_answer

    free = free_parameter(parameter)
    wanted = {key: flags.pop(key) for key in TARGET_FLAGS}
    with flag_names():
        chosen = free_plan(free, plan, flags)
        target = chosen_target(wanted, chosen)
        _check_gap(gap)
        tolerance = TOLERANCE if tolerance is None else tolerance
        with progress("calibrating"):
            found = calibrated(chosen, free.name, target, tolerance=tolerance, gap=gap)
    if as_json:
        question = {"parameter": free.name, "target": target.described(), "tolerance": tolerance, "gap": gap}
        asked = {**question, "plan": chosen.to_dict()}
        print_json(enveloped("calibration", found.plan, asked, calibration_json(found)))
    else:
        print_answer(calibration_answer(found))


@main.command()
@plan_source
@with_json
@click.option("--delta", type=FALLING, metavar="NUMBER", help="Target delta; beats the one in the plan.")
@click.option("--epsilon", type=FALLING, metavar="NUMBER", help="Look for the noise that reaches this one.")
def sampling(plan: str | None, delta: float | None, epsilon: float | None, as_json: bool, **flags: Any) -> None:
    """Compare sampling schemes for one training: epsilon, noise for the target, matching loaders.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it. The noise meets --epsilon,
    or else the epsilon of the plan as it is.

    Example: hockeystick sampling plan.toml --delta 1e-5 --epsilon 3
    """
    from hockeystick.plan.sampling import SAMPLINGS
    from hockeystick.questions.samplings import sampled
    from hockeystick.report.document.envelope import enveloped
    from hockeystick.report.samplings import (
        sampling_cells,
        sampling_headline,
        sampling_json,
        sampling_notes,
        sampling_remarks,
        sampling_warnings,
    )
    from hockeystick.report.tables import print_samplings

    chosen = chosen_plan(plan, flags)
    at = _target(chosen, delta)
    with flag_names(), progress("comparing samplings") as say:
        if epsilon is None:
            epsilon = chosen.epsilon(at).upper
        rows = []
        for number, row in enumerate(sampled(chosen, at, epsilon), start=1):
            say(f"comparing samplings: {row.scheme.name} ({number} of {len(SAMPLINGS)})")
            rows.append(row)
    if as_json:
        found = sampling_json(chosen, at, epsilon, rows)
        print_json(enveloped("samplings", chosen, {"delta": at, "epsilon": epsilon}, found))
        return
    blocks = [
        ("What each asks of the loader, and which loaders do that", sampling_notes(rows)),
        ("Remarks", sampling_remarks(rows, answered=True)),
        ("Not answered", sampling_remarks(rows, answered=False)),
        ("Mind", sampling_warnings(rows, at)),
    ]
    cells = [sampling_cells(row) for row in rows if row.epsilon is not None]
    print_samplings(sampling_headline(chosen, at, epsilon), cells, blocks)


@main.command()
def accountants() -> None:
    """List the accountants and the guarantee of each.

    Example: hockeystick accountants
    """
    from hockeystick.accountants import ACCOUNTANTS
    from hockeystick.report.tables import print_accountants

    print_accountants((name, accountant.summary) for name, accountant in ACCOUNTANTS.items())


@main.command()
@click.argument("mechanism", required=False)
@with_json
def supported(mechanism: str | None, as_json: bool) -> None:
    """List the mechanisms, samplings and adjacencies with a proved pair, and the theorems.

    MECHANISM is a name such as laplace; without it all are listed.

    Example: hockeystick supported gaussian
    """
    from hockeystick.report.supported import supported_json
    from hockeystick.report.tables import print_supported

    if as_json:
        print_json(supported_json(mechanism))
    else:
        print_supported(mechanism)


@main.command()
def schema() -> None:
    """The JSON Schema of plan files.

    Example: hockeystick schema > plan.schema.json
    """
    import json  # imported late, since most answers are for people

    from hockeystick.plan.schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2, allow_nan=False))


def _target(plan: Plan, delta: float | None) -> float:
    target = plan.delta_target if delta is None else delta
    if target is None:
        raise InvalidInputError("no delta: give --delta, or set the key delta in the plan", "delta")
    return target


def _check_gap(gap: float | None) -> None:
    from hockeystick.values import domains

    if gap is not None:
        domains.share(gap, "gap", "widest relative width wanted of the interval")
