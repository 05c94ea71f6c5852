"""Source of a command's plan: a file, standard input, or the flags of DP-SGD."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hockeystick.cli.files import files
from hockeystick.cli.numbers import number
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import nearest, shown

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan

UNITS = ("record", "user")  # as in plan/users.py, which would slow down --help

STANDARD_INPUT = "-"  # file name that means standard input

FLAGS = {
    "noise_multiplier": "DP-SGD: standard deviation of the noise / clipping norm.",
    "sample_rate": "DP-SGD: probability that a record enters a batch (Poisson sampling).",
    "steps": "DP-SGD: number of optimiser steps.",
    "batch_size": "DP-SGD: (expected) batch size, in place of the sample rate.",
    "dataset_size": "DP-SGD: number of records, with the batch size.",
    "steps_per_epoch": "DP-SGD: steps of an epoch, with the sampling schemes that ask for them.",
    "last_batch_size": "DP-SGD: expected size of the last batch of an epoch (random allocation).",
    "check_in": "DP-SGD: probability that a record takes part in an epoch at all (random allocation).",
    "draws": "DP-SGD: draws in a step, with the dataset size (with replacement).",
    "max_batch_size": "DP-SGD: largest batch that is not cut (truncated Poisson).",
    "groups": "DP-SGD: groups that take turns (cyclic Poisson).",
    "epochs": "DP-SGD: passes over the data, in place of the steps.",
    "records_per_unit": "DP-SGD: most records that one user has in the dataset, with --unit user.",
    "partitions_per_unit": "DP-SGD: most partitions with records of one user, with --sampling none.",
}
"""Numeric flags that replace a plan file. 1e4 is a whole number, too."""

_OTHERS = (
    "sampling", "adjacency", "unit", "delta", "epsilon", "gap", "accountant", "tolerance", "mu", "advantage", "tpr",
    "fpr", "risk", "prior", "success", "baseline", "points", "seed",
    "jobs", "errors", "parameter", "at_most", "least_steps", "grid",
    "filter", "slack", "order",
)  # fmt: skip
"""Other flags with a value; errors about their keys name the flag instead."""

Command = TypeVar("Command", bound=Callable[..., Any])


def plan_source(command: Command) -> Command:
    """Add the argument and the flags that describe a plan."""
    adjacency = ", ".join(kind.value for kind in Adjacency)
    command = click.option("--adjacency", metavar="NAME", help=f"With the flags above: {adjacency}.")(command)
    who = f"DP-SGD: who is protected: {' or '.join(UNITS)}; a user with --records-per-unit."
    command = click.option("--unit", metavar="NAME", help=who)(command)
    how = "DP-SGD: how batches are made: poisson, or another scheme that `hockeystick supported` lists."
    command = click.option("--sampling", metavar="NAME", help=how)(command)
    dropped = "DP-SGD: a last batch with fewer records is dropped (shuffled batches)."
    command = click.option("--drop-last", "drop_last", is_flag=True, default=None, help=dropped)(command)
    for key, text in reversed(FLAGS.items()):
        command = click.option(*names_of(key), key, type=number(key), metavar="NUMBER", help=text)(command)
    return click.argument("plan", required=False, shell_complete=files)(command)


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
            names = ", ".join(_flag(key) for key in flags)
            line = f"give a PLAN or the flags that stand in place of it; received {shown(plan)} and {names}"
            raise InvalidInputError(f"{line}; {_remedy(list(flags))}")
        return _read(plan)
    if not flags:
        raise InvalidInputError(
            "no plan: give a PLAN file, or - to read one from standard input, or flags such as --noise-multiplier"
        )
    if "noise_multiplier" not in flags:
        raise InvalidInputError("--noise-multiplier is missing: the flags describe DP-SGD, which needs it")
    from hockeystick.plan.dp_sgd import dp_sgd

    with flag_names():
        return dp_sgd(**flags)


def _remedy(flags: list[str]) -> str:
    """Remedy for flags beside a plan file: a similar option of the command, or else keys of the file."""
    context = click.get_current_context(silent=True)
    options = context.command.params if context else []
    others = [item.opts[0] for item in options if isinstance(item, click.Option) and item.name not in FLAGS]
    close = nearest(_flag(flags[0]), others, 0.85) if len(flags) == 1 else None
    if close is not None and close != _flag(flags[0]):
        return f"did you mean {close!r}?"
    return f"with a plan, {'that is a key' if len(flags) == 1 else 'those are keys'} of its file"


@contextmanager
def flag_names() -> Iterator[None]:
    """Name keys by their flags in errors raised in the block."""
    try:
        yield
    except InvalidInputError as error:
        key, message = error.field, str(error)
        if key is not None and (key in FLAGS or key in _OTHERS) and message.startswith(key):
            raise InvalidInputError(_flag(key) + message.removeprefix(key), key) from None
        raise


def _read(plan: str) -> Plan:
    from hockeystick.plan.file import MAX_BYTES, load_plan, parse_plan

    if plan == STANDARD_INPUT:
        if sys.stdin is None:
            raise InvalidInputError("no plan: standard input is closed; give a PLAN file, or flags")
        return parse_plan(sys.stdin.buffer.read(MAX_BYTES + 1), "<stdin>")
    return load_plan(plan)


ALIASES = {"noise_multiplier": "--sigma", "batch_size": "--batch"}
"""Common other names of flags, from papers and scripts."""


def unaliased(name: str) -> str:
    """Return the key of a command-line name; any other name is returned unchanged.

    >>> unaliased("sigma"), unaliased("sample-rate")
    ('noise_multiplier', 'sample-rate')
    """
    return next((key for key, alias in ALIASES.items() if alias == f"--{name}"), name)


def names_of(key: str) -> tuple[str, ...]:
    """Return the flag of a key and its other name, if any."""
    return (_flag(key), *([ALIASES[key]] if key in ALIASES else []))


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")
