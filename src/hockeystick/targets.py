"""Targets of a calibration: bounds on epsilon, on delta, on mu, or on the success of an attacker.

The classes are defined in :mod:`hockeystick.questions.targets`; :func:`hockeystick.calibrate` takes any of them.
"""

from hockeystick.questions.targets import (
    Advantage,
    BayesRisk,
    Delta,
    Epsilon,
    GaussianDP,
    Reconstruction,
    Target,
    TruePositiveRate,
)

__all__ = [
    "Advantage",
    "BayesRisk",
    "Delta",
    "Epsilon",
    "GaussianDP",
    "Reconstruction",
    "Target",
    "TruePositiveRate",
]
