"""Privacy filters and an odometer: budgets for rounds whose parameters are chosen after looking at earlier results.

The classes are defined in :mod:`hockeystick.questions.filters`, which also states what is proven of each.
"""

from hockeystick.questions.filters import (
    ApproximateDpFilter,
    CurrencyFilter,
    GdpFilter,
    Odometer,
    PrivacyFilter,
    PureDpFilter,
    RdpFilter,
    ZcdpFilter,
)

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
