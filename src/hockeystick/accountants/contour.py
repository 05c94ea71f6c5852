"""``contour``: this library's trapezoid rule on the saddle-point contour.

Certified on both sides, for Gaussian rounds and many Laplace rounds, sampled or not, and black boxes among them.

Cost: some hundred evaluations of the characteristic function of each distinct round, whatever the number of rounds.
Known failure: compositions whose contour sum would be too long are refused, such as few Gaussian rounds at a tiny
sampling rate, or few Laplace rounds (whose atoms ``auto`` handles separately).
"""

from __future__ import annotations

from hockeystick.accountants.auto import CertifiedAccountant
from hockeystick.engines.contour.engine import ContourEngine


class ContourAccountant(CertifiedAccountant):
    """Trapezoid rule on the saddle-point contour, with all remainders bounded."""

    name = "contour"
    summary = "certified: saddle-point contour with bounded remainders; the cost does not grow with the rounds"
    engine = ContourEngine
