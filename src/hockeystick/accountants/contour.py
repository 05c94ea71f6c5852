"""``contour``: this library's trapezoid rule on the saddle-point contour.

Certified on both sides. Cost independent of the number of rounds; Gaussian rounds, sampled or not, and black boxes
among them. Not for Laplace noise, nor for a few rounds at a small sampling rate: those are refused.
"""

from __future__ import annotations

from typing import ClassVar

from hockeystick.accountants.certified import CertifiedAccountant, EngineFactory
from hockeystick.engines.contour.engine import ContourEngine


class ContourAccountant(CertifiedAccountant):
    """Trapezoid rule on the saddle-point contour, all remainders bounded."""

    name: ClassVar[str] = "contour"
    summary: ClassVar[str] = "certified: saddle-point contour with bounded remainders, cost independent of the rounds"
    engine: ClassVar[EngineFactory] = ContourEngine
