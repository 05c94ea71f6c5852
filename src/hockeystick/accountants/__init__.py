"""Named ways to get from a plan to a number; each says what kind of number it gives and what it costs."""

from collections.abc import Mapping

from hockeystick.accountants.advanced import AdvancedAccountant
from hockeystick.accountants.auto import AutoAccountant
from hockeystick.accountants.base import Accountant
from hockeystick.accountants.basic import BasicAccountant
from hockeystick.accountants.cdp import CdpAccountant
from hockeystick.accountants.characteristic_function import CharacteristicFunctionAccountant
from hockeystick.accountants.connect_the_dots import ConnectTheDotsAccountant
from hockeystick.accountants.contour import ContourAccountant
from hockeystick.accountants.edgeworth import EdgeworthAccountant
from hockeystick.accountants.evolving import EvolvingAccountant
from hockeystick.accountants.fourier import FourierAccountant
from hockeystick.accountants.gdp import GdpAccountant
from hockeystick.accountants.grid import GridAccountant
from hockeystick.accountants.optimal import OptimalAccountant
from hockeystick.accountants.privacy_buckets import PrivacyBucketsAccountant
from hockeystick.accountants.proof import prover
from hockeystick.accountants.prv import PrvAccountant
from hockeystick.accountants.rdp import RdpAccountant
from hockeystick.accountants.saddle_point import SaddlePointAccountant
from hockeystick.accountants.tcdp import TcdpAccountant
from hockeystick.accountants.zcdp import ZcdpAccountant
from hockeystick.values.domains import choice
from hockeystick.values.errors import InvalidInputError

ACCOUNTANTS: dict[str, Accountant] = {
    accountant.name: accountant
    for accountant in (
        AutoAccountant(),
        ContourAccountant(),
        GridAccountant(),
        ConnectTheDotsAccountant(),
        FourierAccountant(),
        PrvAccountant(),
        EvolvingAccountant(),
        PrivacyBucketsAccountant(),
        OptimalAccountant(),
        RdpAccountant(),
        TcdpAccountant(),
        ZcdpAccountant(),
        CdpAccountant(),
        AdvancedAccountant(),
        BasicAccountant(),
        SaddlePointAccountant(),
        CharacteristicFunctionAccountant(),
        EdgeworthAccountant(),
        GdpAccountant(),
    )
}
"""All accountants by name."""


def accountant_named(name: str, proof: bool = False, options: Mapping[str, float] | None = None) -> Accountant:
    """The accountant of that name with these options, or what proves its numbers.

    Raises:
        InvalidInputError: there is none, its numbers have no proof, or it has no such option.
        HockeystickError: a proof is asked for, and python-flint is missing.
    """
    if name not in list(ACCOUNTANTS):  # a list: a name may be anything, also what has no hash
        raise InvalidInputError(choice("accountant", name, list(ACCOUNTANTS)), "accountant")
    found = prover(name) if proof else ACCOUNTANTS[name]
    return found.with_options(options) if options else found


__all__ = ["ACCOUNTANTS", "Accountant", "accountant_named"]
