"""Named accountants, which compute a number from a plan; each documents its guarantee and its cost."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping
from typing import Any

from hockeystick.accountants.auto import AutoAccountant
from hockeystick.accountants.base import Accountant
from hockeystick.values.domains import choice
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.late import found
from hockeystick.values.needed import need


class Accountants(UserDict[str, Accountant]):
    """Accountants by name, in the order of the names given; each is imported on first use.

    The name determines the class and the file: ``saddle-point`` is the class ``SaddlePointAccountant`` of the file
    ``saddle_point.py``, with its options at their defaults. ``auto``, the default, is imported at once, so that its
    first answer is not delayed.

    Args:
        names: names of the accountants with a file in this folder.

    >>> Accountants("auto", "saddle-point")["saddle-point"]
    SaddlePointAccountant(order=2)
    """

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.data: dict[str, Any] = dict.fromkeys(names)
        self.data[AutoAccountant.name] = AutoAccountant()

    def __getitem__(self, name: str) -> Accountant:
        accountant: Accountant | None = self.data[name]
        if accountant is None:
            words = name.split("-")
            kind = "".join(word.capitalize() for word in words) + "Accountant"
            accountant = self.data[name] = found(f"{__package__}.{'_'.join(words)}:{kind}")()
        return accountant

    def __repr__(self) -> str:
        return f"Accountants({', '.join(map(repr, self))})"


ACCOUNTANTS = Accountants(
    "auto",
    "contour",
    "grid",
    "connect-the-dots",
    "fourier",
    "prv",
    "evolving",
    "privacy-buckets",
    "optimal",
    "rdp",
    "zcdp",
    "advanced",
    "basic",
    "saddle-point",
    "characteristic-function",
    "edgeworth",
    "gdp",
)


def accountant_named(name: str, proof: bool = False, options: Mapping[str, float] | None = None) -> Accountant:
    """Return the accountant of this name with these options; with ``proof``, the accountant of proved bounds.

    Raises:
        InvalidInputError: the name or an option is unknown, or the accountant's numbers cannot be proved.
        HockeystickError: ``proof`` is set, and python-flint is missing.
    """
    if name not in list(ACCOUNTANTS):  # a list, since a name may be unhashable
        raise InvalidInputError(choice("accountant", name, list(ACCOUNTANTS), elsewhere=OTHER_NAMES), "accountant")
    if proof:
        if name not in PROVABLE:
            known = " or ".join(map(repr, PROVABLE))
            raise InvalidInputError(f"accountant must be {known} if proof is set; received {name!r}")
        need("a proof", {"flint": "python-flint"}, "proof")
        from hockeystick.accountants.proved import ProvedAccountant

        accountant: Accountant = ProvedAccountant()
    else:
        accountant = ACCOUNTANTS[name]
    return accountant.with_options(options) if options else accountant


PROVABLE = ("auto", "contour")
"""Accountants whose numbers can be proved."""

OTHER_NAMES = {
    "gaussian-dp": "gdp",
    "moments": "rdp",
    "moments-accountant": "rdp",
    "pessimistic-pld": "connect-the-dots",
    "pld": "connect-the-dots",
    "renyi": "rdp",
}
"""Accountant for each name used elsewhere; dp_accounting's PLDAccountant uses Connect-the-Dots by default."""


__all__ = ["ACCOUNTANTS", "Accountant", "accountant_named"]
