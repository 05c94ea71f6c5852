"""Named ways to get from a plan to a number; each says what kind of number it gives and what it costs."""

from hockeystick.accountants.auto import AutoAccountant
from hockeystick.accountants.base import Accountant
from hockeystick.accountants.contour import ContourAccountant
from hockeystick.accountants.grid import GridAccountant
from hockeystick.accountants.proof import prover
from hockeystick.accountants.rdp import RdpAccountant
from hockeystick.errors import InvalidInputError

ACCOUNTANTS: dict[str, Accountant] = {
    accountant.name: accountant
    for accountant in (AutoAccountant(), ContourAccountant(), GridAccountant(), RdpAccountant())
}
"""All accountants by name."""


def accountant_named(name: str, proof: bool = False) -> Accountant:
    """The accountant of that name, or what proves its numbers.

    Raises:
        InvalidInputError: there is none, or its numbers have no proof.
        HockeystickError: a proof is asked for, and python-flint is missing.
    """
    if name not in ACCOUNTANTS:
        known = ", ".join(repr(known) for known in ACCOUNTANTS)
        raise InvalidInputError(f"accountant must be one of {known}; received {name!r}", "accountant")
    return prover(name) if proof else ACCOUNTANTS[name]


__all__ = ["ACCOUNTANTS", "Accountant", "accountant_named"]
