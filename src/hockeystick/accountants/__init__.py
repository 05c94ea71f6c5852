"""Named ways to get from a plan to a number; each says what kind of number it gives and what it costs."""

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
"""All accountants by name."""


def accountant_named(name: str, proof: bool = False, options: Mapping[str, float] | None = None) -> Accountant:
    """The accountant of that name with these options, or what proves its numbers.

    Raises:
        InvalidInputError: there is none, its numbers have no proof, or it has no such option.
        HockeystickError: a proof is asked for, and python-flint is missing.
    """
    if name not in list(ACCOUNTANTS):  # a list: a name may be anything, also what has no hash
        raise InvalidInputError(choice("accountant", name, list(ACCOUNTANTS), elsewhere=OTHER_NAMES), "accountant")
    if proof:
        from hockeystick.accountants.proof import prover  # late: few answers are proved

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
"""What accountants are called elsewhere: dp_accounting's PLDAccountant connects the dots by default."""


__all__ = ["ACCOUNTANTS", "Accountant", "accountant_named"]
