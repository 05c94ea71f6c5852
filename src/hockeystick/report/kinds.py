"""Kinds of answers about one plan: each takes a question in JSON values, and answers as text and as JSON.

A question from the command line holds the values of its options. A question from a verification holds values from a
file, which are untrusted. The function that receives a value validates it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from hockeystick.plan.plan import Plan
from hockeystick.report.document.envelope import enveloped
from hockeystick.values.domains import shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.late import found as imported
from hockeystick.values.words import choice

KINDS: Mapping[str, str] = {
    "epsilon": "answer:epsilon_asked",
    "delta": "answer:delta_asked",
    "comparison": "comparison:comparison_asked",
    "calibration": "calibration:calibration_asked",
    "samplings": "samplings:samplings_asked",
    "profile": "profile:profile_asked",
    "remaining": "remaining:remaining_asked",
    "audit": "audit:audit_asked",
    "statement": "document.statement:statement_asked",
}
"""Function of each kind, by the value of the key ``answer``; it is imported on first use."""


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a question.

    Attributes:
        result: object of the library.
        numbers: function that returns the numbers of the answer in JSON values.
        show: function that prints the answer as text.
        plan: plan of the result, if it differs from the plan of the question.
    """

    result: Any
    numbers: Callable[[], dict[str, Any]]
    show: Callable[[], None]
    plan: Plan | None = None


def asked(kind: Any, plan: Plan, question: Mapping[str, Any], say: Callable[[str], None] = lambda text: None) -> Found:
    """Answer a question about a plan; the numbers of the result come with question, plan, version and checksum.

    Args:
        kind: kind of answer, a key of :data:`KINDS`.
        plan: the plan.
        question: keyword arguments of the function that computes answers of this kind.
        say: function that receives the name of each part of a long answer, as a progress message.

    Raises:
        InvalidInputError: the kind is unknown, or a value of the question is missing, unknown or invalid.
        UnsupportedError: no guarantee is proved for the plan.
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInputError(choice("answer", kind, list(KINDS)), "answer")
    function = imported(f"hockeystick.report.{KINDS[kind]}")
    _, _, *keys = signature(function).parameters.values()  # the parameters after plan and say
    names = [key.name for key in keys]
    if not {key.name for key in keys if key.default is key.empty} <= set(question) <= set(names):
        received = shown(list(question))
        raise InvalidInputError(f"asked must have the keys {', '.join(map(repr, names))}; received {received}")
    ordered = {key: question[key] for key in names if key in question}
    found: Found = function(plan, say, **ordered)
    return replace(found, numbers=lambda: enveloped(kind, found.plan or plan, ordered, found.numbers()))
