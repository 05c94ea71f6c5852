"""Ledgers of the first format: a TOML file with a table ``[budget]`` and a ``[[round]]`` for each release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hockeystick.plan.file import load_keys, rounds_in_order
from hockeystick.plan.plan import Round
from hockeystick.plan.schema import within
from hockeystick.questions.ledger.budget import Budget
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.domains import place, shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.formats import check_format


class First(NamedTuple):
    """Content of a ledger of the first format.

    Attributes:
        budget: budget of the ledger.
        releases: releases so far, in order.
    """

    budget: Budget
    releases: tuple[Round, ...]


def first_of(keys: Mapping[str, Any]) -> First:
    """Return the ledger that the keys of a file describe.

    Raises:
        InvalidInputError: the format, a key or a value is invalid.
    """
    check_format(keys)
    for key in keys:
        if key not in ("format", "adjacency", "budget", "round"):
            raise InvalidInputError(
                f"unknown key {shown(key)}; a ledger has adjacency, [budget] and [[round]]", str(key)
            )
    budget, rounds = keys.get("budget"), keys.get("round", [])
    if not isinstance(budget, dict) or "filter" not in budget:
        raise InvalidInputError("not a ledger, because it has no table [budget] with a filter", "budget")
    chosen = {key: value for key, value in budget.items() if key != "filter"}
    relation = Adjacency.parse(keys.get("adjacency", Adjacency.ADD_OR_REMOVE))
    return First(Budget(budget["filter"], chosen, relation), () if rounds == [] else tuple(rounds_in_order(rounds)))


def read_first(path: str | Path) -> First:
    """Read a ledger of the first format.

    Raises:
        InvalidInputError: the file cannot be read, or is not a ledger; the message names the file and the key.
    """
    keys = load_keys(path)
    try:
        return first_of(keys)
    except InvalidInputError as error:
        raise within(place(path), error) from None
