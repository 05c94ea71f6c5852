"""The meaning of an epsilon in plain words, each with its source: the guesses of an attacker, and published epsilons.

For a test between P and Q that are (epsilon, delta)-close in both orderings, ``P(A) - Q(A) <= TV`` with ``TV <= (e^eps
- 1 + 2 delta) / (e^eps + 1)`` (Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.4: the worst pair attains it). At even
odds a guess is right with probability at most ``(1 + TV) / 2``.
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
"""Question of an attacker about a record and about a user, by adjacency; one ordering alone has none."""

PUBLISHED = "0.994 to 13.69 for Google's keyboard models (Xu, Zhang 2024), 2 to 16 a day for Apple (Desfontaines 2021)"
"""Published epsilons for a user; ``docs/primer.md`` quotes the sentences with their addresses."""

SPARE = 1e-12  # pays for the roundings of the closed form


def scale_lines(plan: Plan, epsilon: float, delta: float) -> list[tuple[str, str]]:
    """Return the lines for the guesses of an attacker and for published epsilons; none for an infinite epsilon.

    A guarantee for one ordering alone has no such lines: the bound on guesses needs both.

    >>> from hockeystick import dp_sgd
    >>> scale_lines(dp_sgd(1.0, 0.01, 10), 1.0, 1e-6)[0][1]
    'a guess whether one record is in the data is right at most 73.2% of the time; tossing a coin, 50%'
    """
    if plan.adjacency not in QUESTIONS or not math.isfinite(epsilon):
        return []
    question = QUESTIONS[plan.adjacency][plan.unit == USER]
    # TV = tanh(eps / 2) + 2 delta / (1 + e^eps)
    advantage = math.tanh(epsilon / 2) + 2 * delta / (1 + math.exp(min(epsilon, 700.0)))
    right = half_up(min(advantage * (1 + SPARE), 1.0))
    words = f"a guess {question} is right at most {right} of the time; tossing a coin, 50%"
    return [("in words", words), ("elsewhere", PUBLISHED)]
