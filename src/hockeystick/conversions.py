"""The conversions that papers use, between privacy curves, privacy loss distributions and trade-off functions.

They are written down, with what each describes, in :mod:`hockeystick.questions.conversions`.
"""

from hockeystick.questions.conversions import (
    LossDistribution,
    TradeOff,
    curve_of_tails,
    curve_of_trade_off,
    dominating_pair,
    loss_of_trade_off,
    subsampled,
    tails_of_curve,
    trade_off,
)

__all__ = [
    "LossDistribution",
    "TradeOff",
    "curve_of_tails",
    "curve_of_trade_off",
    "dominating_pair",
    "loss_of_trade_off",
    "subsampled",
    "tails_of_curve",
    "trade_off",
]
