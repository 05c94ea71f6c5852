"""Text about the diagnosis of a machine: whether its elementary functions are as accurate as assumed."""

from __future__ import annotations

from hockeystick.numerics.doctor import Diagnosis
from hockeystick.numerics.rounding import ULPS
from hockeystick.report.answer import Answer
from hockeystick.report.rounding import round_up
from hockeystick.values.version import __version__


def diagnosis_answer(found: Diagnosis) -> Answer:
    """Return the text: the verdict, the failures, the error of each elementary function, and versions of programs."""
    headline = "sound: this machine meets the assumptions of the certificate"
    if not found.sound:
        headline = f"NOT sound: {len(found.failures)} assumptions of the certificate do not hold on this machine"
    lines = [("failed", failure) for failure in found.failures]
    lines += [(name, f"{round_up(error)} of {ULPS} units in the last place") for name, error in found.measured.items()]
    return Answer(headline, (*lines, ("hockeystick", __version__), *found.versions.items()))
