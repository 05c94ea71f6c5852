"""``proof=True``: the interval as a theorem. Checks that one can be had before anything needs python-flint."""

from __future__ import annotations

import importlib

from hockeystick.accountants.base import Accountant
from hockeystick.values.errors import HockeystickError, InvalidInputError

PROVABLE = ("auto", "contour")
MISSING = (
    "a proof needs python-flint, which is missing: install it with `pip install python-flint`, or in a clone with "
    "`pip install '.[proof]'`"
)


def prover(accountant: str) -> Accountant:
    """What answers where a proof is asked for together with an accountant.

    Raises:
        InvalidInputError: an accountant whose numbers have no proof.
        HockeystickError: python-flint is missing.
    """
    if accountant not in PROVABLE:
        known = " or ".join(repr(name) for name in PROVABLE)
        raise InvalidInputError(f"accountant must be {known} where a proof is asked for; received {accountant!r}")
    try:
        importlib.import_module("flint")
    except ImportError:
        raise HockeystickError(MISSING) from None
    from hockeystick.accountants.proved import ProvedAccountant

    return ProvedAccountant()
