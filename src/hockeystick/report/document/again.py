"""Recomputation of every kind of answer, by name, from the question and the plan in a file.

The question in a file is untrusted input: the function that receives a value validates it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from hockeystick.plan.file import plan_from_dict
from hockeystick.plan.plan import Plan
from hockeystick.plan.schema import within
from hockeystick.report.budget import KIND as BUDGET
from hockeystick.report.budget import budget_again
from hockeystick.report.document.envelope import enveloped
from hockeystick.report.several import SEVERAL, several_json
from hockeystick.values.domains import choice, shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.formats import check_format


def computed_again(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Answer the question in a file with this version.

    Raises:
        InvalidInputError: this version does not read the format, or the question is missing or invalid.
        UnsupportedError: no guarantee is proved for the plan in the file.
    """
    check_format(stated)
    kind = stated.get("answer")
    if kind == SEVERAL:
        answers = stated.get("answers")
        if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
            raise InvalidInputError("answers must be a list of answers", "answers")
        if any(answer.get("answer") == SEVERAL for answer in answers):
            raise InvalidInputError("several answers within one of several", "answers")
        return several_json([computed_again(answer) for answer in answers])
    if kind == BUDGET:
        return budget_again(stated.get("asked"))
    if kind is None:
        raise InvalidInputError("it does not say what was asked (key 'answer'); ask again with this version")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInputError(choice("answer", kind, list(KINDS)), "answer")
    asked, keys = stated.get("asked"), stated.get("plan")
    if not isinstance(asked, dict) or not isinstance(keys, dict):
        raise InvalidInputError("the question or its plan is missing (keys 'asked' and 'plan')")
    try:
        plan = plan_from_dict(keys)
    except InvalidInputError as error:
        raise within("its plan", error) from None
    return KINDS[kind](plan, asked, stated)


def _of(asked: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Exactly the expected values of the question.

    Raises:
        InvalidInputError: a value is missing or unknown.
    """
    if set(asked) != set(keys):
        raise InvalidInputError(f"asked must have the keys {', '.join(map(repr, keys))}; received {shown(list(asked))}")
    return {key: asked[key] for key in keys}


def _method(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The accountant of a question with its options, as a plan's methods accept it."""
    options, name = asked["options"], asked["accountant"]
    if not isinstance(options, dict) or not isinstance(name, str) or not isinstance(asked["proof"], bool):
        raise InvalidInputError("asked: accountant must be a name, options a table, proof true or false")
    from hockeystick.accountants import accountant_named

    accountant_named(name, asked["proof"], options)  # refuses an unknown option by name
    return {"accountant": name, "gap": asked["gap"], "proof": asked["proof"], **options}


def _epsilon(plan: Plan, asked: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    from hockeystick.report.answer import epsilon_json

    values = _of(asked, "delta", "accountant", "options", "gap", "proof")
    bound = plan.epsilon(values["delta"], **_method(values))
    return enveloped("epsilon", plan, asked, epsilon_json(plan, values["delta"], bound))


def _delta(plan: Plan, asked: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    from hockeystick.report.answer import delta_json

    values = _of(asked, "epsilon", "accountant", "options", "gap", "proof")
    bound = plan.delta(values["epsilon"], **_method(values))
    return enveloped("delta", plan, asked, delta_json(plan, values["epsilon"], bound))


def _comparison(plan: Plan, asked: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    from hockeystick.accountants import ACCOUNTANTS
    from hockeystick.report.comparison import comparison_json, delta_entry, epsilon_entry

    given = "epsilon" if "epsilon" in asked else "delta"
    at = _of(asked, given)[given]
    entry = epsilon_entry if given == "delta" else delta_entry
    quantity = "epsilon" if given == "delta" else "delta"
    getattr(plan, quantity)(at)  # refuses an invalid value with the usual message
    entries = [entry(plan, at, accountant) for accountant in ACCOUNTANTS.values()]
    return enveloped("comparison", plan, asked, comparison_json(plan, quantity, {given: at}, entries))


def _calibration(plan: Plan, asked: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    from hockeystick.questions.calibration import calibrate
    from hockeystick.report.calibration import calibration_json

    values = _of(asked, "parameter", "target", "tolerance", "gap", "plan")
    start, wanted = values["plan"], values["target"]
    if not isinstance(start, dict) or not isinstance(wanted, dict):
        raise InvalidInputError("asked: plan and target must be tables of keys")
    found = calibrate(
        plan_from_dict(start), values["parameter"], _target(wanted), tolerance=values["tolerance"], gap=values["gap"]
    )
    return enveloped("calibration", found.plan, asked, calibration_json(found))


def _target(described: Mapping[str, Any]) -> Any:
    """Target with these keys.

    Raises:
        InvalidInputError: no target has these keys, or a value is outside its domain.
    """
    from hockeystick.questions import targets

    kinds = (
        targets.Epsilon, targets.GaussianDP, targets.Advantage, targets.TruePositiveRate, targets.BayesRisk,
        targets.Reconstruction,
    )  # fmt: skip
    for kind in kinds:
        if {item.name for item in fields(kind)} == set(described):
            return kind(**described)
    raise InvalidInputError(f"asked: no target has the keys {shown(list(described))}", "target")


def _samplings(plan: Plan, asked: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    from hockeystick.questions.samplings import samplings
    from hockeystick.report.samplings import sampling_json

    values = _of(asked, "delta", "epsilon")
    rows = samplings(plan, values["delta"], values["epsilon"])
    return enveloped("samplings", plan, asked, sampling_json(plan, values["delta"], values["epsilon"], rows))


def _profile(plan: Plan, asked: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    from hockeystick.report.profile import profile_json

    values = _of(asked, "deltas", "epsilons", "rates", "groups")
    if not all(isinstance(value, list) for value in values.values()):
        raise InvalidInputError("asked: deltas, epsilons, rates and groups must be lists")
    return enveloped("profile", plan, asked, profile_json(plan, **values))


def _remaining(plan: Plan, asked: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    from hockeystick.questions.remaining import remaining
    from hockeystick.report.remaining import remaining_json

    values = _of(asked, "epsilon", "delta", "more")
    more = None if values["more"] is None else plan_from_dict(values["more"]).rounds[0]
    found = remaining(plan, values["epsilon"], values["delta"], more)
    return enveloped("remaining", plan, asked, remaining_json(plan, found))


def _audit(plan: Plan, asked: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    from hockeystick.report.audit import audit_json

    values = _of(asked, "canaries", "guesses", "correct", "significance", "delta")
    delta = values.pop("delta")
    return enveloped("audit", plan, asked, audit_json(plan, plan.audit(**values), delta))


def _report(plan: Plan, asked: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    from hockeystick.report.document.record import report_record

    values, made = _of(asked, "delta", "title"), stated.get("made")
    if not isinstance(made, dict) or not all(isinstance(value, str) for value in made.values()):
        raise InvalidInputError("made must be a table of texts, the versions by which the report was made", "made")
    return report_record(plan, values["delta"], values["title"], made, _reach(stated))


def _reach(stated: Mapping[str, Any]) -> float | None:
    """The last epsilon of the stated curve of deltas; ``None`` where the report has no such curve."""
    match stated.get("curves"):
        case {"delta": [*_, {"epsilon": int() | float() as reach}]}:
            return float(reach)
    return None


def _statement(plan: Plan, asked: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    from hockeystick.report.document.statement import statement_json

    values = _of(asked, "delta", "records")
    return enveloped("statement", plan, asked, statement_json(plan, values["delta"], values["records"]))


Again = Callable[[Plan, Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]
"""Function that recomputes an answer from its plan, its question and the whole content of the file."""

KINDS: Mapping[str, Again] = {
    "epsilon": _epsilon,
    "delta": _delta,
    "comparison": _comparison,
    "calibration": _calibration,
    "samplings": _samplings,
    "profile": _profile,
    "remaining": _remaining,
    "audit": _audit,
    "report": _report,
    "statement": _statement,
}
"""Recomputation of each kind of answer, by the value of the key ``answer``."""
