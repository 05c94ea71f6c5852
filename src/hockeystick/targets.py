"""Targets of a calibration: epsilon, delta, mu, or a bound on what an attacker can do with the output.

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
