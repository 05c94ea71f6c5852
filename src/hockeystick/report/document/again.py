"""Recomputation of an answer of any kind, from the question and the plan that its file holds.

The question in a file is untrusted input: the function that receives a value validates it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hockeystick.plan.file import plan_from_dict
from hockeystick.plan.plan import Plan
from hockeystick.plan.schema import within
from hockeystick.report.budget import LEDGER
from hockeystick.report.document.record import KIND as REPORT
from hockeystick.report.document.record import report_record
from hockeystick.report.kinds import asked
from hockeystick.values.domains import shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.formats import check_format


def computed_again(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Answer the question in a file again, with this version of the library.

    Raises:
        InvalidInputError: this version does not read the format, or the question is missing or invalid.
        UnsupportedError: no guarantee is proved for the plan in the file.
    """
    check_format(stated)
    kind = stated.get("answer")
    if kind in LEDGER:
        raise InvalidInputError(
            "this is the page of a ledger; verify the ledger itself, with `hockeystick budget verify LEDGER`",
            "answer",
        )
    if kind is None:
        raise InvalidInputError("it does not say what was asked (key 'answer'); ask again with this version")
    question, keys = stated.get("asked"), stated.get("plan")
    if not isinstance(question, dict) or not isinstance(keys, dict):
        raise InvalidInputError("the question or its plan is missing (keys 'asked' and 'plan')")
    try:
        plan = plan_from_dict(keys)
    except InvalidInputError as error:
        raise within("its plan", error) from None
    return _report(plan, question, stated) if kind == REPORT else asked(kind, plan, question).json()


def _report(plan: Plan, question: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    made = stated.get("made")
    if set(question) != {"delta", "title"}:
        raise InvalidInputError(f"asked must have the keys 'delta', 'title'; received {shown(list(question))}")
    if not isinstance(made, dict) or not all(isinstance(value, str) for value in made.values()):
        raise InvalidInputError("made must be a table of texts, the versions by which the report was made", "made")
    return report_record(plan, question["delta"], question["title"], made, stated)
