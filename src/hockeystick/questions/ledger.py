"""A budget and its releases in one file; releases are declared there before they are made.

**Guarantee.** The budget is that of a privacy filter (``questions/filters``), chosen when the ledger is begun and never
changed. Mechanisms, noises and counts of releases may depend on anything, including earlier releases: everything that
the filter allows together is private with the epsilon and delta of the budget. The certified accountants are not used.
They answer for releases fixed beforehand, and their number for a list that grew after looking at results may be too
small [TKRH26, RHL+26].

**The file** is TOML: a table ``[budget]``, and a ``[[round]]`` for each release with the keys of a plan file, in order.
It is read and extended under a lock, and written atomically, so that neither two processes nor a power cut can
overspend. Every reader spends all releases again, so a file whose count was raised by hand beyond the budget is
refused.
"""

from __future__ import annotations

import copy
import os
from bisect import bisect_left
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

ENDING = ".toml"  # suffix of the file's name

KEYS: Mapping[str, tuple[str, ...]] = {
    PureDpFilter.name: ("epsilon",),
    ApproximateDpFilter.name: ("epsilon", "delta", "slack"),
    GdpFilter.name: ("epsilon", "delta"),
    ZcdpFilter.name: ("epsilon", "delta"),
    RdpFilter.name: ("epsilon", "delta", "order"),
}
"""Keys of the budget of each filter; slack and order may be left out."""

OPTIONAL = ("slack", "order")  # keys for which the filter has a default

REACHING = {kind.name: kind for kind in (GdpFilter, ZcdpFilter, RdpFilter)}
"""Filters that do not count in epsilon, and compute the budget that meets one."""

HEAD = "# Releases under one budget, added to by `hockeystick budget spend` and shown by `hockeystick budget show`.\n"
"""First line of a ledger, for people who open it."""


@dataclass(frozen=True)
class Ledger:
    """Budget with its declared releases, in order.

    Args:
        filter: name of a privacy filter.
        budget: its arguments, see :data:`KEYS`.
        adjacency: neighbouring relation.
        releases: declared releases, in order.

    Raises:
        InvalidInputError: the filter or a key is unknown, or a value is outside its domain.
        BudgetError: the releases do not fit together; the message names the first that does not.
        UnsupportedError: a release has no proved cost in this kind of budget.

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
        if self.filter not in tuple(KEYS):  # a file may hold anything, and a list has no hash
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
        """Filter with all releases spent."""
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
        """Epsilon of everything that the budget allows together."""
        return float(self.budget["epsilon"])

    @property
    def delta(self) -> float:
        """Delta of everything that the budget allows together; 0 for pure epsilon."""
        return float(self.budget.get("delta", 0.0))

    def with_releases(self, releases: Iterable[Round]) -> Ledger:
        """Return the ledger after further releases, all or none.

        Raises:
            BudgetError: they do not fit.
            UnsupportedError: a release has no proved cost in this kind of budget.
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
        """Return how many more of one release fit, up to 10^12, whatever its own count."""
        one = item.changed(count=1)
        counts = range(1, MAX_COUNT + 1)
        return bisect_left(counts, True, key=lambda count: not self.filled.allows(one.changed(count=count)))

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the file."""
        return {
            "format": FORMAT,
            "adjacency": self.adjacency.value,
            "budget": {"filter": self.filter, **self.budget},
            "round": rounds_to_dicts(self.releases),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Ledger:
        """Return the ledger with the keys of a file.

        Raises:
            InvalidInputError: the format, a key or a value is invalid.
            BudgetError: the releases do not fit together.
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
        InvalidInputError: the name does not end in .toml, a non-empty file of that name exists, or it cannot be
            written; no file is left behind.
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
            if Path(path).stat().st_size:  # a killed call leaves an empty file
                raise InvalidInputError(
                    f"{place(path)}: there is a file of that name, which may be a ledger in use; give another name"
                )
            _write(path, ledger)
    except BaseException:
        if made and not Path(path).stat().st_size:
            Path(path).unlink()
        raise


def read(path: str | Path) -> Ledger:
    """Read the ledger of a file.

    Raises:
        InvalidInputError: the file cannot be read, or is no ledger; the message names the file and the key.
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
    """Add releases, all or none, to the ledger of a file, before they are made.

    Raises:
        BudgetError: they do not fit; the file is unchanged.
        InvalidInputError: the file cannot be read or written, or is no ledger.
        UnsupportedError: a release has no proved cost in this kind of budget.
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
