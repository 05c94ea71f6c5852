"""The commands ``hockeystick report``, ``statement`` and ``verify``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hockeystick.cli import options
from hockeystick.cli.progress import progress
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import one_line, place

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan

UNSOUND = 3  # exit status for a file with a statement that recomputation does not confirm
MOST_BYTES = 50_000_000
"""Largest size in bytes of a file that is verified, above that of the report of the largest plan."""


@click.command()
@options.with_plan
@options.output_option(help="File to write: .html, .md or .json.  [default: standard output]")
@options.json_option
@options.text_option("--title", help="Title of the report, such as the name of the run.")
@options.number_option("--delta", help="Delta for the headline; overrides the plan's.")
@click.option("--checker", is_flag=True, help="Also write the independent checker to the same folder.")
def report(
    plan: Plan, output: str | None, as_json: bool, title: str | None, delta: float | None, checker: bool
) -> None:
    """Write a report on a plan: its steps, its guarantee, and the meaning and the assumptions of this guarantee.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it. The report contains
    figures, the plan and machine-readable numbers; `hockeystick verify` recomputes every number.

    Example: hockeystick report plan.toml -o report.html
    """
    from hockeystick.report.document.checker import NAME, source
    from hockeystick.report.document.files import ENDINGS, HTML, JSON, report_text
    from hockeystick.report.document.made import made
    from hockeystick.report.document.record import report_record
    from hockeystick.report.document.wording import headline
    from hockeystick.values.files import write_bytes, write_text

    if as_json and output is not None:
        raise InvalidInputError("give --json to print the numbers or --output to write a file; received both")
    if checker and output is None:
        raise InvalidInputError("--checker is written beside the report: give the report's file with --output")
    form = JSON if as_json else HTML if output is None else ENDINGS.get(Path(output).suffix.lower())
    if form is None:
        raise InvalidInputError(f"--output {place(str(output))}: end the name in .html, .md or .json")
    at = options.delta_of(plan, delta)
    with progress("computing the report") as say:
        record = report_record(plan, at, title, made(), say=lambda part: say(f"computing the report: {part}"))
        text = report_text(record, form)
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)
    if checker:
        write_bytes(Path(output).with_name(NAME), source())
    click.echo(f"{headline(record)}, written to {place(output)}")


@click.command()
@options.with_plan
@click.option("--latex", "as_latex", is_flag=True, help="Print LaTeX, with special characters escaped.")
@options.json_option
@options.number_option("--delta", help="Delta for the statement; overrides the plan's.")
@options.number_option(
    "--records-per-person",
    "records",
    type=float,
    help="Also state the guarantee for people with up to this many records.",
)
def statement(plan: Plan, as_latex: bool, as_json: bool, delta: float | None, records: float | None) -> None:
    """Print a paragraph to paste into a paper or a model card.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick statement plan.toml --latex --records-per-person 3
    """
    from hockeystick.report.document.statement import statement_json

    if as_latex and as_json:
        raise InvalidInputError("give --latex or --json, whose object holds the LaTeX too; received both")
    at = options.delta_of(plan, delta)
    if as_latex:
        click.echo(statement_json(plan, at, records)["latex"])
    else:
        options.answer("statement", plan, {"delta": at, "records": records}, as_json, "computing the statement")


@click.command()
@click.argument("file", type=options.FILE)
@click.option("--independent", is_flag=True, help="Prove the epsilons in FILE with the independent checker.")
def verify(file: str, independent: bool) -> None:
    """Recompute every number that FILE states.

    FILE is a report (HTML, Markdown or JSON) or any other answer printed with --json; the name - stands for standard
    input. Exit status 0: every number is sound, and the output lists the statements that could not be verified. Exit
    status 3: some numbers are not sound, and the output lists each of them. Exit status 4, with --independent only: the
    checker does not cover the plan.

    Example: hockeystick verify report.html
    """
    from hockeystick.report.document.checker import checked
    from hockeystick.report.document.files import record_in
    from hockeystick.report.document.verify import verified

    named = "<stdin>" if file == options.STANDARD_INPUT else place(file)
    try:
        text = _read(file)
        if independent:
            record_in(text)  # refuses a plan, which claims nothing
            status, lines = checked(text)  # the checker shows its own progress
            click.echo(lines, nl=False)
            click.get_current_context().exit(status)
        with progress("recomputing"):
            found = verified(text)
    except InvalidInputError as error:
        raise InvalidInputError(f"{named}: {error}", error.field) from None
    of = f"{found.kind} as {found.form}, made by hockeystick {found.version}"
    if found.sound:
        click.echo(f"{named}: sound: {found.numbers} numbers recomputed ({of})")
        for line in found.unverified:
            click.echo(f"{named}: not verified: {one_line(line)}")
        return
    for line in found.differences:
        click.echo(f"{named}: {one_line(line)}")
    click.echo(f"{named}: NOT sound: {len(found.differences)} differences ({of})")
    click.get_current_context().exit(UNSOUND)


def _read(file: str) -> str:
    from hockeystick.values.files import cause

    try:
        if file == options.STANDARD_INPUT:
            if sys.stdin is None:
                raise InvalidInputError("standard input is closed; give a file name")
            content = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                content = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"cannot be read: {cause(error)}") from None
    if len(content) > MOST_BYTES:
        raise InvalidInputError(f"larger than {MOST_BYTES // 10**6} MB, so not a hockeystick report")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInputError("not UTF-8 text, so not a hockeystick report") from None
