"""Privacy filters and an odometer: budgets for rounds whose parameters are chosen after looking at earlier results.

The classes are defined in :mod:`hockeystick.questions.filters`, which also states what is proven for each class.
"""

from hockeystick.questions.filters.additive import GdpFilter, PureDpFilter, RdpFilter, ZcdpFilter
from hockeystick.questions.filters.approximate import ApproximateDpFilter, Odometer
from hockeystick.questions.filters.base import PrivacyFilter
from hockeystick.questions.filters.currency import CurrencyFilter

__all__ = [
    "ApproximateDpFilter",
    "CurrencyFilter",
    "GdpFilter",
    "Odometer",
    "PrivacyFilter",
    "PureDpFilter",
    "RdpFilter",
    "ZcdpFilter",
]
