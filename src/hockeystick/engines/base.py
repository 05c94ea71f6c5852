"""Interface of an engine for one direction, and the default widths of intervals."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from hockeystick.values.interval import Ends, Interval

DEFAULT_GAP = 1e-6  # width of the interval if none is requested: relative for epsilon, absolute for log delta
ROUGH = 1e-2  # width of an interval that only guides the next step, or that is accepted if none narrower is found
WIDER = (1e-4, ROUGH)  # gaps that are tried in turn if no engine reaches the requested gap
LEAST_GAP = 1e-11  # smallest width that an engine tries to reach: about the charge for rounding
ATTEMPTS = 4  # largest number of attempts of an engine; each takes its parameters from the previous attempt's result
TOO_WIDE = "rounding and remainder terms keep the interval wider than the requested gap"
"""Reason for an interval wider than requested after all available attempts."""


class Engine(Protocol):
    """Interface of an engine, which computes certified intervals for one direction, over its finite losses only."""

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Return an interval for the epsilon at which log delta, over finite losses only, falls to a target.

        Args:
            log_delta: ends of an interval that contains the target log delta.
            gap: requested relative width of the interval; the default of the engine if ``None``.

        Raises:
            NotApplicableError: the engine does not apply to the composition.
        """
        ...

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Return an interval for log delta, over finite losses only, at an epsilon below the largest loss.

        Args:
            epsilon: the epsilon.
            gap: requested width of the interval in log delta; the default of the engine if ``None``.

        Raises:
            NotApplicableError: the engine does not apply to the composition.
        """
        ...


class Section(Protocol):
    """Interface of a section, such as a contour: bounds on log delta at every epsilon, narrow only near one epsilon."""

    def log_delta(self, epsilon: npt.NDArray[np.float64]) -> Ends:
        """Return certified ends of log delta at each epsilon, shape (n,)."""
        ...
