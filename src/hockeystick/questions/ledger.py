"""A budget and what was spent of it, in one file: releases are declared there before they are made.

**What is proven.** The budget is that of a privacy filter (``questions/filters``), which is chosen when the ledger is
begun and never changes. Whatever the mechanisms, noises and counts of the releases were made to depend on, what was
released before among it, all that the filter allows together is private with the epsilon and the delta of the
budget. The certified accountants are not asked: they answer for releases that were fixed beforehand, and their number
for a list that grew by looking at results may be too small [TKRH26, RHL+26].

**The file** is TOML: a table ``[budget]``, and a ``[[round]]`` for each release with the keys of a plan file, in the
order in which they were spent. It is read and added to under a lock, and written whole or not at all, so that neither
two processes nor a power cut can spend what is not there. Whoever reads it spends all releases again, so that a file in
which somebody has raised a count beyond the budget by hand is refused.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hockeystick.plan.file import MAX_BYTES, load_keys, rounds_in_order, rounds_to_dicts, toml_text
from hockeystick.plan.plan import Round
from hockeystick.plan.schema import within
from hockeystick.questions.filters import ApproximateDpFilter, PrivacyFilter, PureDpFilter, RdpFilter, privacy_filter
from hockeystick.questions.filters.gdp import GdpFilter
from hockeystick.questions.filters.zcdp import ZcdpFilter
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.domains import MAX_COUNT, choice, place, shown
from hockeystick.values.errors import BudgetError, InvalidInputError, UnsupportedError
from hockeystick.values.files import cause, held, write_text
from hockeystick.values.formats import FORMAT, check_format

ENDING = ".toml"  # of the file's name

KEYS: Mapping[str, tuple[str, ...]] = {
    PureDpFilter.name: ("epsilon",),
    ApproximateDpFilter.name: ("epsilon", "delta", "slack"),
    GdpFilter.name: ("epsilon", "delta"),
    ZcdpFilter.name: ("epsilon", "delta"),
    RdpFilter.name: ("epsilon", "delta", "order"),
}
"""What the budget of each filter is said by; slack and order may be left out."""

OPTIONAL = ("slack", "order")  # of these keys; the filter has a default

REACHING = {kind.name: kind for kind in (GdpFilter, ZcdpFilter, RdpFilter)}
"""Filters that count in something else than epsilon, and find the budget that meets one."""

HEAD = "# Releases under one budget, added to by `hockeystick budget spend` and shown by `hockeystick budget show`.\n"
"""The first line of a ledger, for whoever opens it."""


@dataclass(frozen=True)
class Ledger:
    """A budget, and the releases that were declared, in order.

    Args:
        filter: the name of a privacy filter.
        budget: what it is given, by :data:`KEYS`.
        adjacency: neighbouring relation.
        releases: what was spent, in order.

    Raises:
        InvalidInputError: no filter, a key that it has not, or a value outside its domain.
        BudgetError: releases that do not fit together; the message says which is the first one.
        UnsupportedError: a release for which this kind of budget has no proven cost.

    >>> from hockeystick import Laplace
    >>> ledger = Ledger("approximate-dp", {"epsilon": 3.0, "delta": 1e-6})
    >>> spent = ledger.with_releases([Round(Laplace(10.0), count=25)])
    >>> spent.filled.said(), spent.more_of(Round(Laplace(10.0)))
    ('epsilon: 2.5 of 3 is spent; delta: 0 of 5e-7 is spent', 5)
    """

    filter: str
    budget: Mapping[str, float]
    adjacency: Adjacency = Adjacency.ADD_OR_REMOVE
    releases: tuple[Round, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", Adjacency.parse(self.adjacency))
        if self.filter not in tuple(KEYS):  # whatever stands in a file: a list has no hash
            raise InvalidInputError(choice("filter", self.filter, list(KEYS)), "filter")
        keys = KEYS[self.filter]
        for key in self.budget:
            if key not in keys:
                raise InvalidInputError(
                    f"{key} does not go with filter {self.filter!r}, whose budget has {', '.join(keys)}", key
                )
        for key in keys:
            if key not in self.budget and key not in OPTIONAL:
                raise InvalidInputError(f"{key} is missing; filter {self.filter!r} needs it", key)
        self.filled  # noqa: B018  # refuses releases that do not fit together

    @cached_property
    def filled(self) -> PrivacyFilter:
        """The filter, with all releases spent."""
        make = REACHING[self.filter].reaching if self.filter in REACHING else None
        given: dict[str, Any] = {**self.budget, "adjacency": self.adjacency}
        found = privacy_filter(self.filter, **given) if make is None else make(**given)
        for number, item in enumerate(self.releases, start=1):
            try:
                found.spend(item)
            except (BudgetError, UnsupportedError) as error:
                raise type(error)(f"release {number}: {error}") from None
        return found

    @property
    def epsilon(self) -> float:
        """The epsilon of all that the budget allows together."""
        return float(self.budget["epsilon"])

    @property
    def delta(self) -> float:
        """The delta of all that the budget allows together; 0 of pure epsilon."""
        return float(self.budget.get("delta", 0.0))

    def with_releases(self, releases: Iterable[Round]) -> Ledger:
        """The ledger after further releases, all of them or none.

        Raises:
            BudgetError: they do not fit.
            UnsupportedError: a release for which this kind of budget has no proven cost.
        """
        added, trial = tuple(releases), copy.copy(self.filled)
        for number, item in enumerate(added):
            try:
                fits = trial.allows(item)
            except UnsupportedError as error:
                raise UnsupportedError(
                    f"{error}; the filter of a ledger is chosen when it is begun (`hockeystick budget init --filter`)"
                ) from None
            if not fits:
                room = replace(self, releases=(*self.releases, *added[:number])).more_of(item)
                raise BudgetError(
                    f"{item.count} x {item.mechanism.name} does not fit the budget, {room} x would ({trial.said()})"
                )
            trial.spend(item)
        return replace(self, releases=(*self.releases, *added))

    def more_of(self, item: Round) -> int:
        """How many more of one release fit, up to 10^12; whatever its own count is."""
        one = item.changed(count=1)
        low, high = 0, 1
        while high <= MAX_COUNT and self.filled.allows(one.changed(count=high)):
            low, high = high, 2 * high
        high = min(high, MAX_COUNT + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.filled.allows(one.changed(count=middle)) else (low, middle)
        return low

    def to_dict(self) -> dict[str, Any]:
        """The keys of the file."""
        return {
            "format": FORMAT,
            "adjacency": self.adjacency.value,
            "budget": {"filter": self.filter, **self.budget},
            "round": rounds_to_dicts(self.releases),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Ledger:
        """The ledger with the keys of the file.

        Raises:
            InvalidInputError: a format that this version does not read, or a key or value that the file may not have.
            BudgetError: releases that do not fit together.
        """
        check_format(data)
        for key in data:
            if key not in ("format", "adjacency", "budget", "round"):
                raise InvalidInputError(
                    f"unknown key {shown(key)}; a ledger has adjacency, [budget] and [[round]]", str(key)
                )
        budget, rounds = data.get("budget"), data.get("round", [])
        if not isinstance(budget, dict) or "filter" not in budget:
            raise InvalidInputError(
                "no table [budget] with a filter: it is no ledger; `hockeystick budget init` begins one", "budget"
            )
        chosen = {key: value for key, value in budget.items() if key != "filter"}
        releases = [] if rounds == [] else rounds_in_order(rounds)
        return cls(budget["filter"], chosen, data.get("adjacency", Adjacency.ADD_OR_REMOVE), tuple(releases))


def begin(path: str | Path, ledger: Ledger) -> None:
    """Write a new ledger.

    Raises:
        InvalidInputError: the name does not end in .toml, there is a file of that name that is not empty, or it cannot
            be written; no file is left behind.
    """
    _check_name(path)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        made = True
    except FileExistsError:
        made = False
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{place(path)}: cannot be written: {cause(error)}") from None
    try:
        with held(path):
            if Path(path).stat().st_size:  # an empty file is what a beginning leaves that was killed
                raise InvalidInputError(
                    f"{place(path)}: there is a file of that name, which may be a ledger in use; give another name"
                )
            _write(path, ledger)
    except BaseException:
        if made and not Path(path).stat().st_size:
            Path(path).unlink()
        raise


def read(path: str | Path) -> Ledger:
    """The ledger of a file.

    Raises:
        InvalidInputError: it cannot be read, or is no ledger; one line that names the file and the key.
    """
    _check_name(path)
    try:
        return Ledger.from_dict(load_keys(path))
    except BudgetError as error:
        raise InvalidInputError(
            f"{place(path)}: {error}: releases were added or the budget was lowered by hand; put the file right"
        ) from None
    except UnsupportedError as error:
        raise InvalidInputError(f"{place(path)}: {error}: the file was changed by hand; put it right") from None
    except InvalidInputError as error:
        named = str(error).startswith(place(path))
        raise (error if named else within(place(path), error)) from None


def spend(path: str | Path, releases: Iterable[Round]) -> Ledger:
    """Add releases to the ledger of a file, before they are made: all of them or none.

    Raises:
        BudgetError: they do not fit; the file stays as it is.
        InvalidInputError: it cannot be read or written, or is no ledger.
        UnsupportedError: a release for which this kind of budget has no proven cost.
    """
    _check_name(path)
    with held(path):
        ledger = read(path)
        spent = ledger.with_releases(releases)
        _write(path, spent)
    return spent


def _write(path: str | Path, ledger: Ledger) -> None:
    text = HEAD + toml_text(ledger.to_dict())
    if len(text.encode()) > MAX_BYTES:
        raise InvalidInputError(
            f"{place(path)}: would take more than {MAX_BYTES // 10**6} MB: give releases that repeat once, with a count"
        )
    write_text(path, text)


def _check_name(path: str | Path) -> None:
    if Path(path).suffix.lower() != ENDING:
        raise InvalidInputError(f"{place(path)}: the name of a ledger ends in {ENDING}")
