"""``hockeystick.doctor()``: everything that is assumed of the machine, measured, in one value."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from hockeystick.numerics.doctor.arithmetic import Check, arithmetic_checks
from hockeystick.numerics.doctor.machine import versions
from hockeystick.numerics.doctor.measured import Measured, functions_measured, transform_measured
from hockeystick.numerics.doctor.reference import reference
from hockeystick.values.domains import whole
from hockeystick.values.outward import UP, html_table, rounded

POINTS = 600
"""Points of each range: with six ranges of fifteen functions, each called in seven ways, some hundred thousand values,
and about a second."""

BRIEF = 12  # points of each range of the check whose result goes into a report: some milliseconds
MOST_POINTS = 1_000_000  # of each range: minutes, and some GB

NOT_WITHIN = "NOT within what is assumed"
"""How a summary begins that has to be minded."""

ADVICE = (
    "python-flint is missing: true values come from decimals, at fewer points, and the normal distribution function is "
    "left out; `pip install python-flint`, or `pip install '.[proof]'` in a clone, has them by ball arithmetic"
)
"""What is said where the measure is not that of ball arithmetic."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found of a machine.

    Attributes:
        measured: the largest error of each function, beside what is assumed.
        checks: of the arithmetic of doubles.
        versions: which programs answer.
        reference: what the true values come from.
        advice: what is missing for more; ``None`` where nothing is.
        seconds: how long it took.
    """

    measured: tuple[Measured, ...]
    checks: tuple[Check, ...]
    versions: Mapping[str, str]
    reference: str
    advice: str | None
    seconds: float

    @property
    def sound(self) -> bool:
        """Whether everything was within what is assumed."""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """A line for each assumption that does not hold here."""
        outside = [item.failure for item in self.measured if not item.within]
        return (*outside, *(check.failure for check in self.checks if not check.holds))

    @property
    def values(self) -> int:
        """How many values of functions were compared."""
        return sum(item.values for item in self.measured)

    @property
    def summary(self) -> str:
        """One sentence: what was found at worst, of how much, against what."""
        worst = max(self.measured, key=lambda item: item.largest / item.assumed)
        against = f"{self.values:,} values of {len(self.measured)} functions against {self.reference}"
        if self.sound:
            return (
                f"all within what is assumed, at most {_up(worst.largest)} of {worst.assumed:g} {worst.unit} "
                f"({worst.name}, {worst.library}); {against}"
            )
        more = f", and {len(self.failures) - 1} more" if len(self.failures) > 1 else ""
        return f"{NOT_WITHIN}: {self.failures[0]}{more}; {against}"

    def __str__(self) -> str:
        return self.summary

    def __repr__(self) -> str:
        return f"Diagnosis({self.summary})"

    def _repr_html_(self) -> str:
        rows = [(item.name, item.library, _up(item.largest), f"{item.assumed:g}", item.unit) for item in self.measured]
        checks = [(check.name, "as assumed" if check.holds else "NOT as assumed", check.said) for check in self.checks]
        heads = ("function", "library", "largest error", "assumed", "in")
        return (
            html_table(self.summary, rows, heads)
            + html_table("Arithmetic", checks)
            + html_table("What answers", list(self.versions.items()))
        )

    def to_json(self) -> dict[str, Any]:
        """The diagnosis in values that JSON has; an error that is infinite is ``None``."""
        measured = [{**asdict(item), "within": item.within} for item in self.measured]
        for row in measured:
            row["largest"] = row["largest"] if row["largest"] < float("inf") else None
        return {
            "sound": self.sound,
            "failures": list(self.failures),
            "measured": measured,
            "checks": [asdict(check) for check in self.checks],
            "versions": dict(self.versions),
            "reference": self.reference,
            "advice": self.advice,
            "seconds": self.seconds,
        }


def _up(value: float) -> str:
    return rounded(value, ".3g", UP)


def doctor(points: float = POINTS, seed: float = 1) -> Diagnosis:
    """Measure what the certificate assumes of this machine: its elementary functions and its arithmetic.

    Functions are compared with ball arithmetic where python-flint is installed, else with decimals at fewer points.

    Args:
        points: of each range of each function; a second for the default.
        seed: of the points; another one looks at others.

    Raises:
        InvalidInputError: a number of points or a seed outside its domain.

    >>> import hockeystick as hs
    >>> found = hs.doctor(points=20)
    >>> found.sound, found.failures
    (True, ())
    """
    count = whole(points, "points", "points of each range", least=1, most=MOST_POINTS)
    start = whole(seed, "seed", "the seed of the points", least=0)
    began, known = time.perf_counter(), reference()
    count = max(1, round(count * known.share))
    measured = (*functions_measured(known, count, start), transform_measured(known, count, start))
    checks = tuple(arithmetic_checks(min(count, POINTS), start))
    advice = ADVICE if known.share < 1 else None
    return Diagnosis(measured, checks, versions(), known.name, advice, time.perf_counter() - began)


@lru_cache(maxsize=1)
def brief() -> Diagnosis:
    """A short check, once in a process: what a report says of the machine that made it."""
    return doctor(BRIEF)
