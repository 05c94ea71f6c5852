"""The commands ``hockeystick budget``: a budget in a file, and releases declared there beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hockeystick.cli.documents import UNSOUND
from hockeystick.cli.group import OneLineGroup
from hockeystick.cli.numbers import FALLING, RISING
from hockeystick.cli.options import chosen_plan, files, flag_names, json_option, number_option, print_json
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import BudgetError, InvalidInputError
from hockeystick.values.words import one_line, place

if TYPE_CHECKING:
    from hockeystick.plan.round import Round
    from hockeystick.questions.ledger import Ledger

REFUSED = UNSOUND  # exit status of a release that does not fit: a valid question with a negative answer

PURE = "pure"  # filter without a delta

NUMBERS: dict[str, Any] = {
    "scale": FALLING, "noise_multiplier": FALLING, "epsilon": RISING, "delta": RISING, "sensitivity": RISING,
    "mu": RISING, "rho": RISING, "threshold": FALLING, "bound": FALLING, "keys": RISING, "cutoff": RISING,
    "categories": float, "trials": FALLING, "probability": float, "gamma": float, "projections": FALLING,
    "replace_one_distance": RISING, "noise": str, "steps": RISING, "min_separation": FALLING,
    "max_participations": RISING, "tree_depth": RISING, "norm": str,
}  # fmt: skip
"""Types of the keys of mechanisms; quotients are rounded to the side on which a release costs more."""


@click.group(cls=OneLineGroup, invoke_without_command=True)
@click.pass_context
def budget(context: click.Context) -> None:
    """A budget for releases that are chosen one after the other, kept in a file.

    Example: hockeystick budget init ledger.toml --epsilon 3 --delta 1e-6
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@budget.command()
@click.argument("ledger", shell_complete=files)
@click.option("--epsilon", type=FALLING, required=True, metavar="NUMBER", help="Of all releases together.")
@number_option("--delta", help="Of all releases together; none without it.")
@click.option(
    "--filter",
    "kind",
    metavar="NAME",
    help="What adds up: approximate-dp (the default with --delta), zcdp or gdp (normal noise), rdp (sampled rounds), "
    "or pure (the default without).",
)
@number_option("--slack", help="Of approximate-dp: part of delta not for the releases.")
@number_option("--order", type=float, help="Of rdp: the one order that is counted in.")
@click.option("--adjacency", metavar="NAME", default="add-or-remove", show_default=True, help="Neighbouring relation.")
@json_option
def init(
    ledger: str, kind: str | None, adjacency: str, as_json: bool, delta: float | None, **given: float | None
) -> None:
    """Begin a ledger: a file with a budget and no release yet.

    LEDGER is a new file whose name ends in .toml. The budget also holds if each release is chosen after seeing the
    earlier ones.

    Example: hockeystick budget init ledger.toml --epsilon 3 --delta 1e-6
    """
    from hockeystick.questions.ledger import Ledger, begin

    if delta == 0 and kind in (None, PURE):
        delta = None  # a delta of 0 means no delta; other filters say what they need
    chosen = kind or (PURE if delta is None else "approximate-dp")
    with flag_names():
        if chosen == "approximate-dp" and delta is not None and given["slack"] is None:
            given["slack"] = 0.5 * delta  # written to the file, which keeps its meaning if the default changes
        limits = {
            key: value
            for key, value in {"epsilon": given["epsilon"], "delta": delta, **given}.items()
            if value is not None
        }
        made = Ledger(chosen, limits, Adjacency.parse(adjacency))
    begin(ledger, made)
    _print(made, as_json)


@budget.command()
@click.argument("ledger", shell_complete=files)
@json_option
def show(ledger: str, as_json: bool) -> None:
    """Show the remaining budget and all releases so far.

    Example: hockeystick budget show ledger.toml
    """
    from hockeystick.questions.ledger import read

    _print(read(ledger), as_json)


def _numbers(command: Any) -> Any:
    for key, kind in reversed(NUMBERS.items()):
        flag = "--" + key.replace("_", "-")
        flags = (flag, "--sigma") if key == "noise_multiplier" else (flag,)
        command = click.option(
            *flags, key, type=kind, metavar="NAME" if kind is str else "NUMBER", help=f"The key {key} of the mechanism."
        )(command)
    return command


@budget.command()
@click.argument("ledger", shell_complete=files)
@click.argument("plan", required=False, shell_complete=files)
@click.option("--mechanism", metavar="NAME", help="What answers: laplace, gaussian, ...; as in a plan file.")
@_numbers
@number_option("--count", type=float, help="How often.  [default: 1]")
@click.option("--name", metavar="TEXT", help="What the release is called.")
@click.option("--note", metavar="TEXT", help="Anything worth knowing of it.")
@click.option("--date", metavar="DAY", help="When, such as 2026-11-22.  [default: today]")
@click.option("--dry-run", is_flag=True, help="Say what would remain, and write nothing.")
@json_option
def spend(ledger: str, plan: str | None, dry_run: bool, as_json: bool, **flags: Any) -> None:
    """Declare a release, before it is made: it is recorded if it fits, and refused if not.

    PLAN is a plan file that replaces the flags: its rounds are spent, all or none. Sampled rounds and lists need a
    file. --name, --note and --date override the file. Status 0: recorded. Status 3: it does not fit, and nothing is
    written.

    Example: hockeystick budget spend ledger.toml --mechanism laplace --scale 10 --name visits
    """
    from hockeystick.questions.ledger import read
    from hockeystick.questions.ledger import spend as spent

    known = read(ledger)
    releases = _releases(plan, {key: value for key, value in flags.items() if value is not None}, known)
    try:
        found = known.with_releases(releases) if dry_run else spent(ledger, releases)
    except BudgetError as error:
        click.echo(f"error: {place(ledger)}: {one_line(str(error))}; nothing was recorded", err=True)
        click.get_current_context().exit(REFUSED)
    _print(found, as_json, recorded=not dry_run)


def _releases(plan: str | None, given: dict[str, Any], ledger: Ledger) -> list[Round]:
    """Rounds of a plan file, or the one described by flags, with the date."""
    import datetime  # imported late, since --help does not need it

    labels: dict[str, str] = {key: given.pop(key) for key in ("name", "note", "date") if key in given}
    said = dict(labels)
    labels.setdefault("date", datetime.date.today().isoformat())
    if plan is None:
        if "mechanism" not in given:
            raise InvalidInputError("--mechanism is missing: give it with its parameters, or a PLAN file", "mechanism")
        from hockeystick.plan.file import rounds_in_order
        from hockeystick.plan.schema import within

        with flag_names():
            try:
                return rounds_in_order([{**given, **labels}])
            except InvalidInputError as error:
                raise within(
                    "the release", InvalidInputError(str(error).removeprefix("round 1: "), error.field)
                ) from None
    if given:
        names = ", ".join(f"--{key.replace('_', '-')}" for key in given)
        raise InvalidInputError(f"give a PLAN or the flags of one release; received {place(plan)} and {names}")
    return _of_plan(plan, labels, said, ledger)


def _of_plan(name: str, labels: dict[str, str], said: dict[str, str], ledger: Ledger) -> list[Round]:
    """Rounds of a plan file; flags override its name, note and date."""
    plan = chosen_plan(name, {})
    if plan.adjacency is not ledger.adjacency:
        raise InvalidInputError(
            f"{place(name)}: adjacency must be that of the ledger, {ledger.adjacency.value!r}; received "
            f"{plan.adjacency.value!r}",
            "adjacency",
        )
    if plan.unit != "record" or plan.best_of is not None:
        what = "a selection" if plan.best_of is not None else f"unit {plan.unit!r}"
        raise InvalidInputError(f"{place(name)}: a budget is for rounds of single records; received {what}")
    return [item.changed(**{**labels, **item.labels, **said}) for item in plan.rounds]


def _print(ledger: Ledger, as_json: bool, *, recorded: bool = True) -> None:
    from hockeystick.report.budget import budget_answer, budget_json
    from hockeystick.report.tables import print_answer

    if as_json:
        print_json(budget_json(ledger))
    else:
        print_answer(budget_answer(ledger, recorded=recorded))
