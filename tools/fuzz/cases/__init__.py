"""The cases, one file a kind of call; importing this declares them all."""

from fuzz.cases import (
    accountants,
    audits,
    budgets,
    calibrations,
    command,
    conversions,
    files,
    frames,
    groups,
    many,
    mechanisms,
    odometers,
    plans,
    profiles,
    selections,
    values,
)

__all__ = [
    "accountants",
    "audits",
    "budgets",
    "calibrations",
    "command",
    "conversions",
    "files",
    "frames",
    "groups",
    "many",
    "mechanisms",
    "odometers",
    "plans",
    "profiles",
    "selections",
    "values",
]
