"""The meaning of an epsilon in plain words: the guesses of an attacker, and published epsilons.

At even odds a guess between P and Q is right with probability at most ``(1 + TV) / 2``, with the total variation ``TV =
sup_A P(A) - Q(A)``, which is delta at epsilon 0.
"""

from __future__ import annotations

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
"""Question of an attacker about a record and about a user, by adjacency; one ordering alone has that of both."""

PUBLISHED = (
    "per user: Google's keyboard 0.994 to 13.69 at delta 1e-10 (Xu, Zhang 2024), "
    "Apple 2 to 16 a day (Desfontaines 2021)"
)
"""Published epsilons; ``docs/primer.md`` quotes the sentences with their addresses."""


def scale_lines(plan: Plan) -> list[tuple[str, str]]:
    """Return the lines on the guesses of an attacker, from the plan's whole privacy curve, and on published epsilons.

    >>> from hockeystick import dp_sgd
    >>> scale_lines(dp_sgd(1.0, 0.01, 1000))[0][1]
    'a guess whether one record is in the data is right at most 58.1% of the time; tossing a coin, 50%'
    """
    question = QUESTIONS.get(plan.adjacency, QUESTIONS[Adjacency.ADD_OR_REMOVE])[plan.unit == USER]
    right = half_up(plan.delta(0.0).quoted)
    words = f"a guess {question} is right at most {right} of the time; tossing a coin, 50%"
    return [("in words", words), ("elsewhere", PUBLISHED)]
