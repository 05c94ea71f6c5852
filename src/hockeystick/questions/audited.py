"""What an attack leaves possible: the largest noise with which a plan would not be rejected by its audit.

More noise promises more, so that the same right guesses speak more against it. Between a noise that the audit does not
reject and one that it does the search halves the ratio; at unbounded noise guesses are coin tosses, which says without
a search whether any noise is rejected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hockeystick.numerics.work import USED_UP, counted, left
from hockeystick.plan.audit import Audit, p_value, rejects
from hockeystick.plan.plan import Plan
from hockeystick.questions.parameters import noise_of
from hockeystick.values.errors import InvalidInputError, UnsupportedError

TOLERANCE = 1e-3
"""Relative distance of the two noises between which the answer lies: an audit is no more exact than that."""

MOST_FACTOR = 2.0**40
"""Of the plan's own noise, up to which one is looked for that is rejected."""


@dataclass(frozen=True, slots=True)
class UnrejectedNoise:
    """The largest noise that an audit does not reject.

    Attributes:
        parameter: ``"noise-multiplier"`` or ``"scale"``, or ``"noise"``: a factor on all noise of the plan.
        value: the largest value found that is not rejected; infinite where none is rejected, ``None`` where none that
            the mechanism takes is not.
        rejected: the least value found that is rejected, within 1e-3 of the other if nothing ends the search before;
            ``None`` where there is none.
        limited: what bounds the search where one of the two is missing though it may exist, or they are farther apart.
    """

    parameter: str
    value: float | None
    rejected: float | None
    limited: str | None = None


@counted
def unrejected_noise(plan: Plan, found: Audit) -> UnrejectedNoise | None:
    """The largest noise of a plan that an audit's guesses do not reject, at its significance.

    A run whose noise was what the plan says is rejected at a larger noise than its own as soon as the attack is good
    enough: the value says how much noise the guesses are compatible with, and says nothing for any noise below it.

    Args:
        plan: the plan that was audited.
        found: its audit, which says how many guesses were right.

    Returns:
        The noise; ``None`` of a plan without noise that could be scaled.

    Raises:
        UnsupportedError: what an audit refuses.

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
    if p_value(*counts, 0.0, 0.0) > found.significance:
        return UnrejectedNoise(name, math.inf, None, "however large: so many may be right by tossing coins")
    kept, rejected = (None, start) if found.rejected else (start, None)
    factor = 2.0
    while kept is None or rejected is None:
        tried = start / factor if kept is None else start * factor
        if left() <= 0:
            return UnrejectedNoise(name, kept, rejected, USED_UP)
        if factor > MOST_FACTOR:
            return UnrejectedNoise(name, kept, rejected, f"no value beyond {tried:.3g} was tried")
        try:
            other = build(tried)
        except InvalidInputError as error:
            return UnrejectedNoise(name, kept, rejected, str(error))
        if rejects(other, found):
            rejected = tried
        else:
            kept = tried
        factor *= 2
    while rejected > kept * (1 + TOLERANCE):
        if left() <= 0:
            return UnrejectedNoise(name, kept, rejected, USED_UP)
        middle = math.sqrt(kept * rejected)
        if rejects(build(middle), found):
            rejected = middle
        else:
            kept = middle
    return UnrejectedNoise(name, kept, rejected)
