"""Answer of ``hockeystick doctor``: the verdict, a line for each function and each check, and the versions."""

from __future__ import annotations

from hockeystick.numerics.doctor import DIGITS as DECIMALS
from hockeystick.numerics.doctor import Diagnosis
from hockeystick.report.answer import Answer
from hockeystick.report.rounding import exact, round_up
from hockeystick.values.version import __version__

DIGITS = 3  # significant digits of an error; further ones depend on the points


def diagnosis_answer(found: Diagnosis) -> Answer:
    """Return the diagnosis for people: verdict, failures, and a line for each function, check and program."""
    if found.sound:
        headline = "sound: this machine meets the assumptions of the certificate"
    else:
        headline = f"NOT sound: {len(found.failures)} assumptions of the certificate do not hold on this machine"
    lines = [("failed", failure) for failure in found.failures]
    for item in found.measured:
        error = round_up(item.largest, DIGITS) if item.largest < float("inf") else "infinite"
        lines.append((f"{item.name} ({item.library})", f"{error} of {exact(item.assumed)} {item.unit}"))
    lines += [(check.name, check.said) for check in found.checks]
    lines.append(("compared with", f"decimals of {DECIMALS} digits, {found.values:,} values in {found.seconds:.1f} s"))
    lines += [("hockeystick", __version__), *found.versions.items()]
    return Answer(headline, tuple(lines))
