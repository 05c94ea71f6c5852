"""Privacy filters and an odometer: budgets for rounds whose parameters are chosen after looking at earlier results.

The classes, and what is proven of each, are written down in :mod:`hockeystick.questions.filters`.
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
