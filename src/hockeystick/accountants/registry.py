"""A dictionary of accountants, each imported on first use.

The name determines the class and the file: ``saddle-point`` is the class ``SaddlePointAccountant`` of the file
``saddle_point.py``, with its options at their defaults. ``auto``, the default, is imported with the library
(``accountants/__init__.py``), so that its first answer is not delayed.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

from hockeystick.accountants.auto import AutoAccountant
from hockeystick.accountants.base import Accountant
from hockeystick.values.late import found


class Accountants(MutableMapping[str, Accountant]):
    """Accountants by name, in the order of the names given.

    Args:
        names: names of the accountants with a file in this folder.

    >>> Accountants("auto", "saddle-point")["saddle-point"]
    SaddlePointAccountant(order=2)
    """

    def __init__(self, *names: str) -> None:
        self._known: dict[str, Accountant | None] = dict.fromkeys(names)
        self._known[AutoAccountant.name] = AutoAccountant()

    def __getitem__(self, name: str) -> Accountant:
        accountant = self._known[name]
        if accountant is None:
            accountant = self._known[name] = _made(name)
        return accountant

    def __setitem__(self, name: str, accountant: Accountant) -> None:
        self._known[name] = accountant

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"Accountants({', '.join(map(repr, self))})"


def _made(name: str) -> Accountant:
    """Return the accountant of a name, with default options."""
    words = name.split("-")
    kind = "".join(word.capitalize() for word in words) + "Accountant"
    made: Accountant = found(f"{__package__}.{'_'.join(words)}:{kind}")()
    return made
