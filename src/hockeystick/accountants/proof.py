"""Proofs of intervals (``proof=True``): checks that a proof is possible before python-flint is needed."""

from __future__ import annotations

from hockeystick.accountants.base import Accountant
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.needed import need

PROVABLE = ("auto", "contour")


def prover(accountant: str) -> Accountant:
    """Return the accountant that proves the numbers of another.

    Raises:
        InvalidInputError: the numbers of the accountant cannot be proved.
        HockeystickError: python-flint is missing.
    """
    if accountant not in PROVABLE:
        known = " or ".join(repr(name) for name in PROVABLE)
        raise InvalidInputError(f"accountant must be {known} if proof is set; received {accountant!r}")
    need("a proof", {"flint": "python-flint"}, "proof")
    from hockeystick.accountants.proved import ProvedAccountant

    return ProvedAccountant()
