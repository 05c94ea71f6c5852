"""The largest noise with which an audit would not reject a plan.

More noise promises more privacy, so the same number of correct guesses is stronger evidence against the plan. The
search keeps a noise that the audit does not reject and a larger one that it rejects, and brings them together by
bisection. At unbounded noise every guess is a coin toss: a single test there tells if any noise is rejected at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hockeystick.plan.audit import Audit
from hockeystick.plan.audit_recursion import WrongGuesses, impossible
from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import noise_of
from hockeystick.values.errors import InvalidInputError, UnsupportedError

TOLERANCE = 1e-3
"""Relative distance of the two noises between which the answer lies; an audit is no more exact."""

MOST_FACTOR = 2.0**40
"""Largest noise tried, relative to the plan's own."""


@dataclass(frozen=True, slots=True)
class UnrejectedNoise:
    """The largest noise that an audit does not reject.

    Attributes:
        parameter: ``"noise-multiplier"`` or ``"scale"``, or ``"noise"``: a factor on all noise of the plan.
        value: largest value found that is not rejected; infinite if no value is rejected, ``None`` if all valid values
            are.
        rejected: smallest value found that is rejected, within 1e-3 of ``value`` unless the search ends early; ``None``
            if no value is rejected.
        limited: limit that ended the search early, if ``value`` or ``rejected`` is therefore missing, or if they are
            farther apart than 1e-3.
    """

    parameter: str
    value: float | None
    rejected: float | None
    limited: str | None = None


def unrejected_noise(plan: Plan, found: Audit) -> UnrejectedNoise | None:
    """Return the largest noise of a plan that an audit's guesses do not reject, at its significance.

    A good attack on a run with the plan's noise makes the audit reject larger noise. The result is the largest noise
    that is compatible with the guesses. It does not show that the run had any particular noise below it.

    Args:
        plan: audited plan.
        found: its audit, with the number of correct guesses.

    Returns:
        The noise; ``None`` if the plan has no noise to scale.

    Raises:
        UnsupportedError: an audit refuses the plan.

    >>> import hockeystick as hs
    >>> plan = hs.Plan([hs.Round(hs.Gaussian(2.0))])
    >>> most = unrejected_noise(plan, plan.audit(canaries=1000, guesses=100, correct=90))
    >>> most.parameter, round(most.value, 2)
    ('noise-multiplier', 1.66)
    """
    try:
        parameter, build = noise_of(plan)
    except UnsupportedError:
        return None
    name, start = parameter.name, parameter.start
    counts = found.canaries, found.guesses, found.correct
    if not impossible(*counts, WrongGuesses([(0.0, 0.0)]), found.significance):
        return UnrejectedNoise(name, math.inf, None, "at any noise, because coin tosses could be right so often")
    kept, rejected = (None, start) if found.rejected else (start, None)
    factor = 1.0
    while kept is None or rejected is None or rejected > kept * (1 + TOLERANCE):
        if kept is not None and rejected is not None:
            tried = math.sqrt(kept * rejected)
        else:
            factor *= 2
            tried = start / factor if kept is None else start * factor
            if factor > MOST_FACTOR:
                return UnrejectedNoise(name, kept, rejected, f"values beyond {tried:.3g} were not tried")
        try:
            other = build(tried)
        except InvalidInputError as error:
            return UnrejectedNoise(name, kept, rejected, str(error))
        kept, rejected = (kept, tried) if found.rejects(other) else (tried, rejected)
    return UnrejectedNoise(name, kept, rejected)
