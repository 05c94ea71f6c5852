"""Named accountants, which compute a number from a plan; each documents its guarantee and its cost."""

from collections.abc import Mapping

from hockeystick.accountants.base import Accountant
from hockeystick.accountants.registry import Accountants
from hockeystick.values.domains import choice
from hockeystick.values.errors import InvalidInputError

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
    "tcdp",
    "zcdp",
    "cdp",
    "advanced",
    "basic",
    "saddle-point",
    "characteristic-function",
    "edgeworth",
    "gdp",
)


def accountant_named(name: str, proof: bool = False, options: Mapping[str, float] | None = None) -> Accountant:
    """Return the accountant of this name with these options; with ``proof``, the accountant that proves its numbers.

    Raises:
        InvalidInputError: the name or an option is unknown, or the accountant's numbers cannot be proved.
        HockeystickError: ``proof`` is set, and python-flint is missing.
    """
    if name not in list(ACCOUNTANTS):  # a list, since a name may be unhashable
        raise InvalidInputError(choice("accountant", name, list(ACCOUNTANTS), elsewhere=OTHER_NAMES), "accountant")
    if proof:
        from hockeystick.accountants.proof import prover  # imported late, since few answers are proved

        found = prover(name)
    else:
        found = ACCOUNTANTS[name]
    return found.with_options(options) if options else found


OTHER_NAMES = {
    "gaussian-dp": "gdp",
    "moments": "rdp",
    "moments-accountant": "rdp",
    "pessimistic-pld": "connect-the-dots",
    "pld": "connect-the-dots",
    "renyi": "rdp",
}
"""Names of accountants elsewhere; dp_accounting's PLDAccountant connects the dots by default."""


__all__ = ["ACCOUNTANTS", "Accountant", "accountant_named"]
