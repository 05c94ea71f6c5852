"""The commands ``hockeystick profile``, ``remaining`` and ``audit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hockeystick.cli.group import OneLineGroup
from hockeystick.cli.numbers import FALLING, RISING
from hockeystick.cli.plans import chosen_plan, flag_names, plan_source
from hockeystick.cli.printed import as_json, print_json
from hockeystick.cli.progress import progress
from hockeystick.values.errors import InvalidInputError

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan


def add_questions(group: OneLineGroup) -> None:
    """Add the commands of this file to a group."""
    for command in (profile, remaining, audit):
        group.add_command(command)


@click.command()
@plan_source
@click.option(
    "--delta", "deltas", type=FALLING, multiple=True, metavar="NUMBER", help="State epsilon at this delta, too."
)
@click.option("--epsilon", "epsilons", type=FALLING, multiple=True, metavar="NUMBER", help="State delta there.")
@click.option("--fpr", "rates", type=RISING, multiple=True, metavar="NUMBER", help="False-positive rate.")
@click.option(
    "--group", "group_sizes", type=float, multiple=True, metavar="NUMBER", help="State epsilon of so many records."
)
@as_json
def profile(
    plan: str | None,
    deltas: tuple[float, ...],
    epsilons: tuple[float, ...],
    rates: tuple[float, ...],
    group_sizes: tuple[float, ...],
    as_json: bool,
    **flags: Any,
) -> None:
    """Show the meaning of a plan's privacy: mu, advantage, error rates, reconstruction, groups, points of the curve.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it. Each option may be
    repeated.

    Example: hockeystick profile plan.toml --delta 1e-5 --fpr 0.001 --group 3
    """
    from hockeystick.report.document.envelope import enveloped
    from hockeystick.report.profile import GROUPS, RATES, profile_answer, profile_json
    from hockeystick.report.tables import print_answer
    from hockeystick.values.domains import RECORDS

    chosen = chosen_plan(plan, flags)
    own = () if chosen.delta_target is None else (chosen.delta_target,)
    with flag_names(), progress("computing the profile"):
        sizes = [int(RECORDS.of("records of a group").check(size, "group")) for size in group_sizes] or list(GROUPS)
        asked: dict[str, Any] = {
            "deltas": list(deltas or own),
            "epsilons": list(epsilons),
            "rates": list(rates or RATES),
            "groups": sizes,
        }
        found = profile_json(chosen, **asked)
    if as_json:
        print_json(enveloped("profile", chosen, asked, found))
    else:
        print_answer(profile_answer(chosen, found))


@click.command()
@plan_source
@click.option("--epsilon", type=FALLING, required=True, metavar="NUMBER", help="Epsilon that is to be kept.")
@click.option("--delta", type=FALLING, metavar="NUMBER", help="Delta that is to be kept; beats the one in the plan.")
@click.option("--more", metavar="FILE", help="A plan of the one round that is repeated; the plan's own by default.")
@as_json
def remaining(
    plan: str | None, epsilon: float, delta: float | None, more: str | None, as_json: bool, **flags: Any
) -> None:
    """Count the further epochs or steps that a plan allows within epsilon.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick remaining plan.toml --epsilon 3 --delta 1e-5
    """
    from hockeystick.questions.remaining import remaining as found_remaining
    from hockeystick.report.document.envelope import enveloped
    from hockeystick.report.remaining import remaining_answer, remaining_json
    from hockeystick.report.tables import print_answer

    chosen = chosen_plan(plan, flags)
    target = chosen.delta_target if delta is None else delta
    if target is None:
        raise InvalidInputError("no delta: give --delta, or set the key delta in the plan", "delta")
    repeated = None if more is None else _of_one_round(more)
    with flag_names(), progress("computing what remains"):
        found = found_remaining(chosen, epsilon, target, None if repeated is None else repeated.rounds[0])
    if as_json:
        again = None if repeated is None else repeated.to_dict()
        asked = {"epsilon": epsilon, "delta": target, "more": again}
        print_json(enveloped("remaining", chosen, asked, remaining_json(chosen, found)))
    else:
        print_answer(remaining_answer(chosen, found))


@click.command()
@plan_source
@as_json
@click.option("--canaries", type=int, required=True, metavar="NUMBER", help="Canaries, each in by its own fair coin.")
@click.option("--guesses", type=int, required=True, metavar="NUMBER", help="Of how many it was guessed whether in.")
@click.option("--correct", type=int, required=True, metavar="NUMBER", help="Guesses that are right.")
@click.option(
    "--significance", type=FALLING, default=0.05, show_default=True, metavar="NUMBER", help="P-value that rejects."
)
@click.option("--delta", type=FALLING, metavar="NUMBER", help="Say what epsilon the run has at least, at this delta.")
def audit(
    plan: str | None,
    canaries: int,
    guesses: int,
    correct: int,
    significance: float,
    delta: float | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Test whether an attack on one run contradicts a plan, by a p-value from the plan's own certified curve.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it.

    Example: hockeystick audit plan.toml --canaries 1000 --guesses 200 --correct 190
    """
    from hockeystick.report.audit import audit_answer, audit_json
    from hockeystick.report.document.envelope import enveloped
    from hockeystick.report.tables import print_answer

    chosen = chosen_plan(plan, flags)
    at = chosen.delta_target if delta is None else delta
    with flag_names(), progress("auditing"):
        found = chosen.audit(canaries, guesses, correct, significance)
        if at is not None:
            found.epsilon_below(at)  # refuses an invalid delta
    if as_json:
        counted = {"canaries": canaries, "guesses": guesses, "correct": correct}
        asked = {**counted, "significance": significance, "delta": at}
        print_json(enveloped("audit", chosen, asked, audit_json(chosen, found, at)))
    else:
        print_answer(audit_answer(chosen, found, at))


def _of_one_round(more: str) -> Plan:
    """The plan of the repeated round."""
    plan = chosen_plan(more, {})
    if len(plan.rounds) != 1:
        raise InvalidInputError(f"--more: a plan of one kind of round; received {len(plan.rounds)} kinds", "more")
    return plan
