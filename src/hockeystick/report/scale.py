"""The meaning of an epsilon in plain words: the guesses of an attacker, and published epsilons.

Let an output be drawn from P or from Q, each with probability one half. A guess about which of P and Q was used is
right with probability at most ``(1 + TV) / 2``. Here ``TV = sup_A P(A) - Q(A)`` is the total variation. It equals delta
at epsilon 0.
"""

from __future__ import annotations

import math

from hockeystick.plan.plan import Plan
from hockeystick.plan.users import USER
from hockeystick.report.document.shares import half_up
from hockeystick.values.adjacency import Adjacency

QUESTIONS = {
    Adjacency.ADD_OR_REMOVE: ("whether one record is in the data", "whether the records of one user are in the data"),
    Adjacency.REPLACE_ONE: (
        "which of two given records is in the data",
        "which of two given sets of records one user has in the data",
    ),
    Adjacency.ZERO_OUT: (
        "whether one record contributed anything",
        "whether the records of one user contributed anything",
    ),
}
"""Question of an attacker about a record and about a user, by adjacency.

``add`` and ``remove`` have the question of ``add-or-remove``."""

PUBLISHED = (
    "per user: Google's keyboard 0.994 to 13.69 at delta 1e-10 (Xu, Zhang 2024), "
    "Apple 2 to 16 a day (Desfontaines 2021)"
)
"""Published epsilons; ``docs/primer.md`` quotes the sentences with their addresses."""


WEAK = 7.0
"""Smallest epsilon at which a guarantee is called meaningless for one person: by Bayes' rule a result that is e^7 times
as likely under one of two hypotheses turns even odds into a probability of 1 / (1 + e^-7) = 99.9 %."""


def weakness(epsilon: float | None, unit: str) -> list[str]:
    """Return a warning if epsilon is at least :data:`WEAK`, and else an empty list.

    ``None`` stands for an infinite epsilon, and ``unit`` names what is protected, such as a person.
    """
    if epsilon is not None and epsilon < WEAK:
        return []
    sure = "certain" if epsilon is None else "more than 99.9% sure"
    return [
        f"this number gives a single {unit} no meaningful protection: some results can make a previously "
        f"undecided attacker {sure} about that {unit}"
    ]


def scale_lines(plan: Plan, epsilon: float) -> list[tuple[str, str]]:
    """Return the lines on a weak epsilon, on the guesses of an attacker, and on published epsilons.

    The line on guesses follows from delta at epsilon 0. It is missing if the plan releases the best of several runs and
    no bound below 1 on that delta is known.

    >>> from hockeystick import dp_sgd
    >>> scale_lines(dp_sgd(1.0, 0.01, 1000), 2.11)[0][1]
    'a guess about whether one record is in the data is right at most 58.1% of the time; a coin toss, 50%'
    """
    lines = [("caution", text) for text in weakness(epsilon if epsilon < math.inf else None, "person")]
    advantage = plan.delta(0.0).quoted
    if plan.best_of is not None and advantage == 1:
        return [*lines, ("elsewhere", PUBLISHED)]
    question = QUESTIONS.get(plan.adjacency, QUESTIONS[Adjacency.ADD_OR_REMOVE])[plan.unit == USER]
    right = half_up(advantage)
    words = f"a guess about {question} is right at most {right} of the time; a coin toss, 50%"
    return [*lines, ("in words", words), ("elsewhere", PUBLISHED)]
