"""Privacy filters and an odometer: budgets for rounds whose parameters are chosen after looking at earlier results.

The classes are defined in :mod:`hockeystick.questions.filters`, which also states what is proven of each.
"""

from hockeystick.questions.filters import (
    FILTERS,
    ApproximateDpFilter,
    CurrencyFilter,
    GdpFilter,
    Odometer,
    PrivacyFilter,
    PureDpFilter,
    RdpFilter,
    ZcdpFilter,
    privacy_filter,
)

__all__ = [
    "FILTERS",
    "ApproximateDpFilter",
    "CurrencyFilter",
    "GdpFilter",
    "Odometer",
    "PrivacyFilter",
    "PureDpFilter",
    "RdpFilter",
    "ZcdpFilter",
    "privacy_filter",
]
