"""``contour``: this library's trapezoid rule on the saddle-point contour.

Certified on both sides, for compositions of Gaussian rounds or of many Laplace rounds, sampled or not; some of the
rounds may be black boxes.

Cost: about a hundred evaluations of the characteristic function of each distinct round, whatever the number of rounds.
Known failure: the method refuses compositions whose contour sum would be too long, such as a few Gaussian rounds at a
tiny sample rate, or a few Laplace rounds (whose atoms ``auto`` handles separately).
"""

from __future__ import annotations

from hockeystick.accountants.auto import CertifiedAccountant
from hockeystick.engines.contour.engine import ContourEngine


class ContourAccountant(CertifiedAccountant):
    """Accountant by the trapezoid rule on the saddle-point contour, with a bound on every remainder."""

    name = "contour"
    summary = "certified: saddle-point contour with bounded remainders; the cost does not grow with the rounds"
    engine = ContourEngine
