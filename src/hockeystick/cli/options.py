"""Options that several commands share: the plan (from a file, standard input or flags), delta, the form of output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click

from hockeystick.cli.numbers import FALLING, number
from hockeystick.cli.progress import progress
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import cut, shown

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan
    from hockeystick.report.tables import Answer

UNITS = ("record", "user")  # as in plan/users.py, which would slow down --help

STANDARD_INPUT = "-"  # file name that means standard input

FLAGS = {
    "noise_multiplier": "DP-SGD: noise standard deviation / clipping norm.",
    "sample_rate": "DP-SGD: probability that a batch contains a given record (Poisson sampling).",
    "steps": "DP-SGD: number of optimiser steps.",
    "batch_size": "DP-SGD: (expected) batch size; with --dataset-size, replaces --sample-rate.",
    "dataset_size": "DP-SGD: number of records in the dataset.",
    "draws": "DP-SGD: draws per step, for sampling with replacement; needs --dataset-size.",
    "max_batch_size": "DP-SGD: batch size limit; larger batches are reduced to this size (truncated Poisson).",
    "groups": "DP-SGD: number of groups that take turns (cyclic Poisson).",
    "epochs": "DP-SGD: number of passes over the data; replaces --steps.",
    "records_per_unit": "DP-SGD: maximum number of records per user; needs --unit user.",
    "partitions_per_unit": "DP-SGD: most partitions with records of the same user; needs --sampling none.",
}
"""Numeric flags that replace a plan file. 1e4 is a whole number, too."""

TEXTS = {
    "sampling": "DP-SGD: sampling scheme, such as poisson; `hockeystick supported` lists them.",
    "unit": f"DP-SGD: unit of protection, {' or '.join(UNITS)}; 'user' requires --records-per-unit.",
    "adjacency": f"DP-SGD: neighbouring relation: {', '.join(kind.value for kind in Adjacency)}.",
}
"""Flags with a name that replace a plan file."""

PLAN_FLAGS = (*FLAGS, *TEXTS)  # keys of a plan on the command line

ALIASES = {"noise_multiplier": "--sigma", "batch_size": "--batch"}
"""Common other names of flags, from papers and scripts."""

Decorator = Callable[[Any], Any]

FILE = click.Path(readable=False)  # any name, which the shell completes

NAMES = {
    "accountant": "hockeystick.accountants:ACCOUNTANTS",
    "adjacency": "hockeystick.values.adjacency:Adjacency",
    "filter": "hockeystick.questions.ledger.budget:KINDS",
    "mechanism": "hockeystick.plan.mechanisms.registry:MECHANISMS",
    "name": "hockeystick.papers:EXPERIMENTS",
    "parameter": "hockeystick.questions.parameters:PARAMETERS",
    "sampling": "hockeystick.plan.sampling.registry:SAMPLINGS",
    "unit": "hockeystick.cli.options:UNITS",
}
"""Places of the names that a shell completes, by option or argument."""


def names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Shell completion: return the names beginning with ``incomplete`` that the option or argument accepts."""
    from hockeystick.values.late import found

    known = found(NAMES[parameter.opts[0].lstrip("-")])
    listed = [vars(each)["name"] if isinstance(each, type) else str(each) for each in known]
    return [name for name in listed if name.startswith(incomplete)]


number_option = partial(click.option, type=FALLING, metavar="NUMBER")
text_option = partial(click.option, metavar="TEXT", show_default=False)
name_option = partial(click.option, metavar="NAME", shell_complete=names)
file_option = partial(click.option, metavar="FILE", type=FILE)
output_option = partial(file_option, "-o", "--output")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with full precision.")
delta_option = number_option("--delta", help="Target delta; overrides the plan's.")


def names_of(key: str) -> tuple[str, ...]:
    """Return the flag of a key, followed by the alias of the flag if it has one."""
    return (flag_of(key), *([ALIASES[key]] if key in ALIASES else []))


def flag_of(key: str) -> str:
    """Return the command-line flag of a key, such as ``--sample-rate`` for ``sample_rate``."""
    return "--" + key.replace("_", "-")


def with_options(*added: Decorator) -> Decorator:
    """Return a decorator that adds arguments and options to a command, whose help lists them in the given order."""

    def add(command: Any) -> Any:
        for each in reversed(added):
            command = each(command)
        return command

    return add


plan_source = with_options(
    click.argument("plan", required=False, type=FILE),
    *(number_option(*names_of(key), key, type=number(key), help=text) for key, text in FLAGS.items()),
    *(name_option(flag_of(key), help=text) for key, text in TEXTS.items()),
)
"""Decorator that adds the argument and the flags that describe a plan."""


def with_plan(command: Callable[..., Any]) -> Any:
    """Decorate a command that receives a plan, so that users give the plan as a file or by flags."""

    @wraps(command)
    def run(plan: str | None, **given: Any) -> Any:
        flags = {key: given.pop(key) for key in PLAN_FLAGS}
        chosen = chosen_plan(plan, flags)
        with flag_names():
            return command(chosen, **given)

    return plan_source(run)


def chosen_plan(plan: str | None, given: dict[str, Any]) -> Plan:
    """Return the plan that the command line describes.

    Args:
        plan: file, ``-`` for standard input, or ``None``.
        given: values of the flags of :func:`plan_source`; ``None`` where absent.

    Raises:
        InvalidInputError: the plan is invalid, given together with flags, or missing.
    """
    flags = {key: value for key, value in given.items() if value is not None}
    if plan is not None:
        if flags:
            names = ", ".join(flag_of(key) for key in flags)
            raise InvalidInputError(
                f"give either a PLAN or flags, not both; received {shown(plan)} and {names}; set them in the plan file"
            )
        return _read(plan)
    if not flags:
        raise InvalidInputError(
            "no plan: give a PLAN file, - to read one from standard input, or flags such as --noise-multiplier; "
            "`hockeystick new` writes a first plan"
        )
    if "noise_multiplier" not in flags:
        raise InvalidInputError("--noise-multiplier is missing: the DP-SGD flags require it")
    from hockeystick.plan.dp_sgd import dp_sgd

    with flag_names():
        return dp_sgd(**flags)


def _read(plan: str) -> Plan:
    from hockeystick.plan.file import MAX_BYTES, load_plan, parse_plan

    if plan == STANDARD_INPUT:
        if sys.stdin is None:
            raise InvalidInputError("no plan: standard input is closed; give a PLAN file or flags")
        return parse_plan(sys.stdin.buffer.read(MAX_BYTES + 1), "<stdin>")
    return load_plan(plan)


@contextmanager
def flag_names() -> Iterator[None]:
    """Context manager that replaces a key at the start of an error message by the flag of this key."""
    try:
        yield
    except InvalidInputError as error:
        key, message = error.field, str(error)
        context = click.get_current_context(silent=True)
        named = {name for item in (context.command.params if context else []) for name in item.opts}
        if key is None or flag_of(key) not in named or not message.startswith(key):
            raise
        raise InvalidInputError(flag_of(key) + message.removeprefix(key), key) from None


def delta_of(plan: Plan, delta: float | None) -> float:
    """Return the delta given on the command line, or else the target delta of the plan.

    Raises:
        InvalidInputError: neither is given.
    """
    target = plan.delta_target if delta is None else delta
    if target is None:
        raise InvalidInputError("no delta: give --delta or set the key delta in the plan", "delta")
    return target


def answer(kind: str, plan: Plan, question: dict[str, Any], as_json: bool, doing: str) -> Any:
    """Answer a question about a plan, and print the answer as text or as JSON.

    Args:
        kind: kind of answer, a key of ``KINDS`` in ``report/kinds.py``.
        plan: the plan.
        question: values of the question, by keyword.
        as_json: True to print JSON.
        doing: text of the progress message.

    Returns:
        The answer as an object of the library, such as a bound.
    """
    from hockeystick.report.kinds import asked

    with progress(doing) as say:
        found = asked(kind, plan, question, lambda part: say(f"{doing}: {part}"))
    if as_json:
        print_json(found.numbers())
    else:
        found.show()
    return found.result


def print_found(as_json: bool, numbers: Callable[[], Any], said: Callable[[], Answer]) -> None:
    """Print an answer: ``numbers()`` as JSON if ``as_json``, and otherwise the text ``said()``."""
    if as_json:
        print_json(numbers())
        return
    from hockeystick.report.tables import print_answer

    print_answer(said())


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output, on one line with full precision.

    Raises:
        ValueError: the value holds an infinity or nan, which JSON lacks.
    """
    import json  # imported late, since most answers are for people

    click.echo(json.dumps(value, allow_nan=False))


def named_values(option: str, form: str, given: Iterable[str], read: Callable[[str, str], Any]) -> dict[str, Any]:
    """Return the values of a repeated option NAME=VALUE by name, each read by a function of its name and its text.

    Raises:
        InvalidInputError: a text does not have this form, or a name is given twice.
    """
    found: dict[str, Any] = {}
    for text in given:
        name, _, value = text.partition("=")
        key = unaliased(name.strip()).replace("-", "_")
        if not key or not value.strip():
            raise InvalidInputError(f"{option} must be {form}; received {shown(text)}")
        if key in found:
            raise InvalidInputError(f"{option} {cut(key)} is given twice; give it once", key)
        found[key] = read(key, value.strip())
    return found


def unaliased(name: str) -> str:
    """Return the key whose flag has this alias; a name that is no alias is returned unchanged.

    >>> unaliased("sigma"), unaliased("sample-rate")
    ('noise_multiplier', 'sample-rate')
    """
    return next((key for key, alias in ALIASES.items() if alias == f"--{name}"), name)
