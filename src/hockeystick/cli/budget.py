"""The commands ``hockeystick budget``: a privacy budget in a database, where each release is declared beforehand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hockeystick.cli.documents import UNSOUND
from hockeystick.cli.group import OneLineGroup
from hockeystick.cli.numbers import FALLING, RISING
from hockeystick.cli.options import (
    FILE,
    chosen_plan,
    file_option,
    flag_names,
    flag_of,
    json_option,
    name_option,
    names_of,
    number_option,
    output_option,
    print_found,
    print_json,
    text_option,
    with_options,
)
from hockeystick.values.errors import BudgetError, InvalidInputError
from hockeystick.values.words import one_line, place

if TYPE_CHECKING:
    from hockeystick.plan.round import Round
    from hockeystick.questions.ledger.ledger import Ledger, Receipt
    from hockeystick.values.adjacency import Adjacency

REFUSED = UNSOUND  # exit status for a release that does not fit: a valid question with a negative answer

NUMBERS: dict[str, Any] = {
    "scale": FALLING, "noise_multiplier": FALLING, "epsilon": RISING, "delta": RISING, "sensitivity": RISING,
    "mu": RISING, "rho": RISING, "threshold": FALLING, "bound": FALLING, "keys": RISING, "cutoff": RISING,
    "categories": float, "trials": FALLING, "probability": float, "gamma": float, "projections": FALLING,
    "replace_one_distance": RISING, "noise": str, "steps": RISING, "min_separation": FALLING,
    "max_participations": RISING, "tree_depth": RISING, "norm": str, "variance": FALLING,
}  # fmt: skip
"""Types of the keys of mechanisms; quotients are rounded to the side on which a release costs more."""


def _opened(context: click.Context, parameter: click.Parameter, name: str) -> Ledger:
    from hockeystick.questions.ledger.ledger import Ledger

    return Ledger(name)


NAME = click.argument("ledger", type=FILE)
LEDGER = click.argument("ledger", type=FILE, callback=_opened)
"""Arguments that are a ledger: its name, and the ledger itself."""

who_option = text_option("--who", help="Name to record for this action.  [default: the system user]")


@click.group(cls=OneLineGroup)
def budget() -> None:
    """Manage a shared privacy budget, in which each release is declared before it is made.

    LEDGER is a file such as ledger.db, or a database address such as postgresql://user@host/name.

    Example: hockeystick budget init ledger.db --epsilon 3 --delta 1e-6
    """


@budget.command()
@NAME
@number_option("--epsilon", help="Epsilon budget for all releases together.")
@number_option(
    "--delta",
    help="Delta budget for all releases together; with --rho or --mu, the delta at which epsilon is stated.",
)
@number_option("--rho", help="Budget rho of zero-concentrated DP; replaces --epsilon.")
@number_option("--mu", help="Budget mu of Gaussian DP; replaces --epsilon.")
@name_option(
    "--filter",
    "kind",
    help="Privacy filter: approximate-dp (default with --delta), pure (default without --delta), zcdp, gdp, rdp (for "
    "sampled rounds) or currency.",
)
@number_option("--slack", help="For approximate-dp and currency: the part of delta reserved for composition or prices.")
@number_option("--order", type=float, help="For rdp: the order of the Renyi divergence.")
@file_option("--reference", metavar="PLAN", help="For currency: plan whose single round is the unit of the currency.")
@name_option("--adjacency", default="add-or-remove", help="Neighbouring relation.")
@text_option("--dataset", default="", help="Name of the dataset.")
@text_option(
    "--unit",
    default="record",
    show_default=True,
    help="Unit of protection, such as person. The noise of each release must be relative to everything that one unit "
    "contributes.",
)
@text_option(
    "--region", "regions", multiple=True, help="Name of a part of the dataset; no unit may be in two parts; repeatable."
)
@who_option
@json_option
def init(ledger: str, as_json: bool, **given: Any) -> None:
    """Create a ledger with a budget.

    The guarantee also holds if you choose each release after looking at earlier releases. You cannot change the filter
    later.

    Example: hockeystick budget init ledger.db --rho 2.63 --delta 1e-10
    """
    from hockeystick.questions.ledger.ledger import Ledger

    texts: dict[str, Any] = {key: given.pop(key) for key in ("dataset", "unit", "regions", "who")}
    kind, adjacency, reference = (given.pop(key) for key in ("kind", "adjacency", "reference"))
    limits = {key: value for key, value in given.items() if value is not None}
    with flag_names():
        if reference is not None:
            from hockeystick.plan.file import rounds_to_dicts
            from hockeystick.values.adjacency import Adjacency

            rounds = rounds_to_dicts(_of_plan(reference, Adjacency.parse(adjacency)))
            if len(rounds) > 1:
                raise InvalidInputError(f"{place(reference)}: a reference must be one round; received {len(rounds)}")
            limits["reference"] = rounds[0]
        if not limits:
            raise InvalidInputError("the budget is missing: give --epsilon (with --delta), --rho or --mu", "budget")
        usual = "approximate-dp" if limits.get("delta") else "pure"
        filters = {"reference": "currency", "rho": "zcdp", "mu": "gdp"}
        chosen = kind or next((name for key, name in filters.items() if key in limits), usual)
        if limits.get("delta") == 0 and chosen == "pure":
            del limits["delta"]  # a delta of 0 means no delta; other filters refuse it with their own messages
        if chosen == "approximate-dp" and "delta" in limits:
            limits.setdefault("slack", 0.5 * limits["delta"])  # stored, in case the default changes later
        made = Ledger.begin(ledger, chosen, limits, adjacency=adjacency, **texts)
    _show(made, as_json)


@budget.command()
@LEDGER
@click.argument("name")
@number_option("--amount", required=True, help="Amount to set aside, in the unit of the filter (mu squared for gdp).")
@who_option
@json_option
def grant(ledger: Ledger, name: str, amount: float, who: str | None, as_json: bool) -> None:
    """Set part of the budget aside for a team or a person.

    The grant limits the releases that name it. The rest of the budget limits all other releases. Exit status 3: less
    than this amount is left.

    Example: hockeystick budget grant ledger.db maps --amount 0.5
    """
    _receipt(ledger, lambda: ledger.grant(name, amount, who=who), as_json)


@budget.command()
@LEDGER
@click.argument("period")
@who_option
@json_option
def renew(ledger: Ledger, period: str, who: str | None, as_json: bool) -> None:
    """Begin a new PERIOD, such as 2027, with nothing spent; grants remain in force.

    The budget applies to each period separately. A person whose data is in several periods has only the weaker
    guarantee of the composition of these periods.

    Example: hockeystick budget renew ledger.db 2027
    """
    _receipt(ledger, lambda: ledger.renew(period, who=who), as_json)


@budget.command()
@LEDGER
@json_option
def show(ledger: Ledger, as_json: bool) -> None:
    """Show what remains of a budget, and the latest releases.

    Example: hockeystick budget show ledger.db
    """
    _show(ledger, as_json)


def _named(context: click.Context, option: click.Parameter, value: str) -> str:
    """Return the value of an option that takes a name.

    An empty name is refused, since it may come from an unset shell variable.
    """
    given = context.get_parameter_source(option.name or "") is not click.core.ParameterSource.DEFAULT
    if given and not value.strip():
        raise InvalidInputError(f"--{option.name} must not be empty; leave it out for none", option.name)
    return value


def _parameter(key: str, kind: Any) -> Any:
    metavar = "NAME" if kind is str else "NUMBER"
    return click.option(*names_of(key), key, type=kind, metavar=metavar, help=f"Mechanism parameter {key}.")


_release = with_options(
    LEDGER,
    click.argument("plan", required=False, type=FILE),
    name_option("--mechanism", help="Name of the mechanism, such as laplace or gaussian."),
    *(_parameter(key, kind) for key, kind in NUMBERS.items()),
    number_option("--count", type=float, help="Number of repetitions.  [default: 1]"),
    text_option("--name", help="Name of the release."),
    text_option("--note", help="Note to record with the release."),
    text_option("--grant", default="", callback=_named, help="Grant to which the release is charged."),
    text_option("--region", default="", callback=_named, help="Region whose records the release uses."),
)
"""Decorator that adds the flags that describe a release, and the grant and region it is charged to."""


@budget.command()
@_release
@json_option
def price(ledger: Ledger, plan: str | None, grant: str, region: str, as_json: bool, **flags: Any) -> None:
    """Compute the cost of a release and check whether it fits the budget, without recording anything.

    PLAN is a plan file that replaces the flags.

    Example: hockeystick budget price ledger.db --mechanism laplace --scale 10
    """
    from hockeystick.report.budget import price_answer, price_json

    found = ledger.price(_rounds(plan, flags, ledger), grant=grant, region=region)
    print_found(as_json, lambda: price_json(ledger.budget, found), lambda: price_answer(ledger.budget, found))


@budget.command()
@_release
@text_option("--id", "request", help="ID of the request; a repeated request is recorded once.  [default: a new ID]")
@click.option("--reserve", is_flag=True, help="Return a token that can later void or confirm the release.")
@who_option
@json_option
def spend(ledger: Ledger, plan: str | None, as_json: bool, **flags: Any) -> None:
    """Declare a release before you make it; the ledger records a release that fits and refuses any other.

    PLAN is a plan file that replaces the flags. Either all of its rounds are recorded or none. Sampled rounds and
    parameters that are lists require a plan file. Exit status 0: the release is recorded, now or by an earlier request
    with the same --id. Exit status 3: the release does not fit, or the ID belongs to another release. The ledger is
    then unchanged.

    Example: hockeystick budget spend ledger.db --mechanism laplace --scale 10 --name visits --id q17
    """
    asked = {key: flags.pop(key) for key in ("request", "grant", "region", "who", "reserve")}
    rounds = _rounds(plan, flags, ledger)
    _receipt(ledger, lambda: ledger.spend(rounds, **asked), as_json)


_settling = with_options(
    LEDGER,
    click.argument("request", metavar="ID"),
    text_option("--token", required=True, help="Token from the receipt."),
    who_option,
    json_option,
)
"""Decorator that adds the arguments and options that settle a reserved release."""


@budget.command()
@_settling
def void(ledger: Ledger, request: str, token: str, who: str | None, as_json: bool) -> None:
    """Cancel a reserved release, and thereby declare that no noise was generated.

    Exit status 3: the release was confirmed, or its period is over.

    Example: hockeystick budget void ledger.db q17 --token 3f...
    """
    _receipt(ledger, lambda: ledger.void(request, token, who=who), as_json)


@budget.command()
@_settling
def run(ledger: Ledger, request: str, token: str, who: str | None, as_json: bool) -> None:
    """Confirm a reserved release, which can then no longer be voided.

    Example: hockeystick budget run ledger.db q17 --token 3f...
    """
    _receipt(ledger, lambda: ledger.run(request, token, who=who), as_json)


@budget.command()
@NAME
@file_option("--receipt", "receipts", multiple=True, help="Receipt to check (JSON); repeatable.")
@json_option
def verify(ledger: str, receipts: tuple[str, ...], as_json: bool) -> None:
    """Recompute all prices and the state of a ledger from its log, and report every difference.

    LEDGER may also be a file that `budget export` wrote. Exit status 3: there are differences.

    Example: hockeystick budget verify ledger.db --receipt receipt.json
    """
    from hockeystick.questions.ledger.verification import verified
    from hockeystick.report.budget import verification_answer

    known = [_json(name) for name in receipts]
    for name, content in zip(receipts, known, strict=True):
        if not {"number", "hash"} <= content.keys():
            raise InvalidInputError(f"--receipt {place(name)}: not a receipt; `budget spend --json` prints one")
    if Path(ledger).suffix.lower() == ".json":
        from hockeystick.questions.ledger.entries import entries_of

        found = verified(entries_of(_json(ledger)), receipts=known)
    else:
        from hockeystick.questions.ledger.ledger import Ledger

        found = Ledger(ledger).verify(known)
    print_found(
        as_json,
        lambda: {"entries": found.entries, "hash": found.hash, "findings": list(found.findings)},
        lambda: verification_answer(found, len(known)),
    )
    if not found.sound:
        click.get_current_context().exit(REFUSED)


@budget.command()
@NAME
@output_option(help="File to write.  [default: standard output]")
def export(ledger: str, output: str | None) -> None:
    """Write the log of a ledger as JSON, which `budget verify` reads.

    Example: hockeystick budget export ledger.db -o log.json
    """
    import json  # late: --help does not need it

    from hockeystick.questions.ledger.entries import exported
    from hockeystick.questions.ledger.ledger import Ledger
    from hockeystick.values.files import write_text

    found = exported(Ledger(ledger).entries())
    if output is None:
        print_json(found)
    else:
        write_text(_apart(output, ledger), json.dumps(found, indent=1) + "\n")


@budget.command()
@NAME
@output_option(required=True, help="File to write: .html.")
def report(ledger: str, output: str) -> None:
    """Write a page about a ledger: the remaining budget, the latest releases, and what outsiders can learn.

    Example: hockeystick budget report ledger.db -o budget.html
    """
    from hockeystick.questions.ledger.ledger import Ledger
    from hockeystick.report.ledger_page import ledger_page
    from hockeystick.values.files import write_text

    if Path(output).suffix.lower() not in (".html", ".htm"):
        raise InvalidInputError(f"--output {place(output)}: end the name in .html", "output")
    write_text(_apart(output, ledger), ledger_page(Ledger(ledger)))


def _apart(output: str, ledger: str) -> str:
    """Return the name of the output file, after checking that it is not the ledger itself."""
    if Path(output).exists() and Path(ledger).exists() and Path(output).samefile(ledger):
        raise InvalidInputError(f"--output {place(output)}: this is the ledger; give another name", "output")
    return output


def _show(ledger: Ledger, as_json: bool) -> None:
    from hockeystick.report.budget import standing_answer, standing_json

    standing = ledger.show()
    print_found(as_json, lambda: standing_json(standing), lambda: standing_answer(standing))


def _receipt(ledger: Ledger, work: Callable[[], Receipt], as_json: bool) -> None:
    """Run ``work``, which changes the ledger, and print its receipt; for a refused change, print why and exit."""
    from hockeystick.report.budget import receipt_answer

    try:
        with flag_names():
            found = work()
    except BudgetError as error:
        click.echo(f"error: {place(str(ledger))}: {one_line(str(error))}; nothing was recorded", err=True)
        click.get_current_context().exit(REFUSED)
    print_found(as_json, found.json, lambda: receipt_answer(ledger.show(0).state, found))


def _rounds(plan: str | None, flags: dict[str, Any], ledger: Ledger) -> list[Round]:
    """Rounds of the plan file, or else the single round that the flags describe."""
    given = {key: value for key, value in flags.items() if value is not None}
    labels: dict[str, str] = {key: given.pop(key) for key in ("name", "note") if key in given}
    if plan is not None:
        if given:
            names = ", ".join(map(flag_of, given))
            raise InvalidInputError(f"give either a PLAN or flags, not both; received {place(plan)} and {names}")
        return [item.changed(**{**item.labels, **labels}) for item in _of_plan(plan, ledger.budget.adjacency)]
    if "mechanism" not in given:
        raise InvalidInputError("--mechanism is missing: give it with its parameters, or give a PLAN file", "mechanism")
    from hockeystick.plan.file import rounds_in_order
    from hockeystick.plan.schema import within

    with flag_names():
        try:
            return rounds_in_order([{**given, **labels}])
        except InvalidInputError as error:
            raise within("the release", InvalidInputError(str(error).removeprefix("round 1: "), error.field)) from None


def _of_plan(name: str, relation: Adjacency) -> list[Round]:
    """Rounds of a plan file, after checking that its adjacency is the ledger's and that it protects single records."""
    plan = chosen_plan(name, {})
    if plan.adjacency is not relation:
        raise InvalidInputError(
            f"{place(name)}: adjacency must be {relation.value!r}, as in the ledger; received {plan.adjacency.value!r}",
            "adjacency",
        )
    if plan.unit != "record" or plan.best_of is not None or not plan.of_records:
        unit = "partitions_per_unit" if plan.partitions_per_unit else f"unit {plan.unit!r}"
        what = "a selection" if plan.best_of is not None else unit
        raise InvalidInputError(
            f"{place(name)}: a budget accepts only plans for single records; received {what}. To spend on a person, "
            "declare noise relative to everything that one person contributes: twice the records, half the noise "
            "multiplier"
        )
    return list(plan.rounds)


def _json(name: str) -> dict[str, Any]:
    """Content of a JSON file.

    Raises:
        InvalidInputError: the file cannot be read, or does not hold a JSON object.
    """
    from hockeystick.plan.file import parsed_json
    from hockeystick.values.files import cause

    try:
        found = parsed_json(Path(name).read_bytes(), "a receipt or a log")
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{place(name)}: cannot be read as JSON: {cause(error)}") from None
    if not isinstance(found, dict):
        raise InvalidInputError(f"{place(name)}: must be a JSON object")
    return found
