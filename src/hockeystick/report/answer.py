"""Answers about epsilon and delta: as text (a sentence to quote, with lines of details) and as a JSON object."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from hockeystick.numerics.rounding import SMALLEST_NORMAL
from hockeystick.plan.caveats import warnings_of
from hockeystick.plan.plan import Plan
from hockeystick.plan.sampling import NoSampling, Sampling
from hockeystick.plan.users import USER
from hockeystick.report.claims import Verdict, verdict
from hockeystick.report.kinds import Found
from hockeystick.report.rounding import QUOTED_DIGITS, SHOWN_DIGITS, exact, exp_down, exp_up, round_down, round_up
from hockeystick.report.scale import scale_lines
from hockeystick.report.tables import Answer as Answer
from hockeystick.report.tables import print_answer
from hockeystick.values.bounds import Answer as Said
from hockeystick.values.bounds import Bound, DeltaAnswer
from hockeystick.values.domains import cut, one_line
from hockeystick.values.errors import InvalidInputError, UnsupportedError

METHOD: Mapping[str, Any] = {"accountant": "auto", "options": {}, "gap": None, "proof": False}
"""Default arguments of a question for epsilon or delta."""

MAX_CLAUSE = 200  # longest title, parameter or quotation, in characters; the plan in an answer has the full text

_PLACES = {Verdict.TOO_LOW: ": below the lower end", Verdict.NOT_TIGHT: ": above the upper end"}
"""Text that follows a verdict on a claimed epsilon and states its position relative to the bounds."""


def epsilon_answer(plan: Plan, delta: float, bound: Said) -> Answer:
    """Return the text about a bound on epsilon at ``delta``: a sentence to quote, with lines of details.

    >>> from hockeystick import Bound, dp_sgd
    >>> epsilon_answer(dp_sgd(1.0, 0.01, 10), 1e-6, Bound(6.90583, 6.907, 6.90738)).headline
    'epsilon <= 6.91 at delta = 1e-6'
    """
    headline = f"epsilon {_relation(bound)} at delta = {exact(delta)}{_noise(plan)}"
    return Answer(headline, (*_lines(plan, bound, delta), *_way_out(plan, delta)))


def _way_out(plan: Plan, delta: float) -> list[tuple[str, str]]:
    """Return a line with the epsilon of the plan with Poisson batches instead of shuffled batches.

    There is no line for a plan without shuffled batches, or if that epsilon is unknown.
    """
    if all(item.sampling.name != "shuffled" for item in plan.rounds):
        return []
    from hockeystick.plan.sampling.poisson import Poisson

    other = epsilon_under(plan, Poisson, delta)
    if other is None:
        return []
    return [("alternative", f"with Poisson batches: epsilon <= {round_up(other.quoted, QUOTED_DIGITS)}")]


def epsilon_under(plan: Plan, scheme: type[Sampling], delta: float) -> Bound | None:
    """Return the epsilon that the same training would have under another sampling scheme.

    The result is ``None`` if the plan has no sampling or no other scheme than this one, if it lacks a parameter of the
    scheme, or if no guarantee is proved for the scheme.
    """
    if {item.sampling.name for item in plan.rounds} <= {NoSampling.name, scheme.name}:
        return None
    from hockeystick.questions.samplings import resampled  # imported late: other answers load no searches

    try:
        return resampled(plan, scheme).epsilon(delta)
    except (InvalidInputError, UnsupportedError):
        return None


def delta_answer(plan: Plan, epsilon: float, bound: DeltaAnswer) -> Answer:
    """Return the text about a bound on delta at ``epsilon``."""
    headline = f"delta {_relation(bound)} at epsilon = {exact(epsilon)}{_noise(plan)}"
    return Answer(headline, tuple(_lines(plan, bound, bound.quoted)))


def epsilon_json(plan: Plan, delta: float, bound: Said) -> dict[str, Any]:
    """Return the object that ``hockeystick epsilon --json`` prints.

    An infinite bound is ``None``, and the key ``reason`` then says why it is infinite.
    """
    return {"epsilon": finite_ends(bound), "delta": delta, **_common(plan, bound), **caveats_json(plan, delta)}


def delta_json(plan: Plan, epsilon: float, bound: DeltaAnswer) -> dict[str, Any]:
    """Return the object that ``hockeystick delta --json`` prints; if delta is 0, its logarithm is ``None``."""
    return {
        "delta": finite_ends(bound),
        "log_delta": finite_ends(bound.log_delta),
        "epsilon": epsilon,
        **_common(plan, bound),
        **caveats_json(plan, bound.quoted),
    }


def _noise(plan: Plan) -> str:
    """Text in parentheses that names further assumptions of mechanisms, such as the kind of noise; may be empty."""
    kinds = sorted({label for item in plan.rounds for label in item.mechanism.premises})
    return f" ({', '.join(kinds)})" if kinds else ""


def _relation(bound: Said) -> str:
    """Relation of the quantity to the number to quote, followed by this number, such as ``<= 6.91``."""
    *_, quoted = ends_said(bound, QUOTED_DIGITS).values()
    if math.isinf(bound.quoted):
        return f"is {quoted}"
    return f"is about {quoted}" if bound.guarantee == "estimate" else f"<= {quoted}"


def ends_said(bound: Said, digits: int = SHOWN_DIGITS) -> dict[str, str]:
    """Return the ends of an interval as text by name: the lower end rounded down, all others up; the last is quoted.

    A delta below the range of a double is written from its logarithm.
    """
    log = getattr(bound, "log_delta", None) if 0 < bound.quoted < SMALLEST_NORMAL else None
    shown, down, up = (bound, round_down, round_up) if log is None else (log, exp_down, exp_up)
    return {name: (down if name == "lower" else up)(end, digits) for name, end in shown.ends.items()}


def interval_said(bound: Said) -> str:
    """Return the interval as text, from the lower end, if there is one, to the number to quote."""
    *others, quoted = ends_said(bound).items()
    return " to ".join(dict.fromkeys([text for name, text in others if name == "lower"] + [quoted[1]]))


def _lines(plan: Plan, bound: Said, delta: float) -> list[tuple[str, str]]:
    """Lines about a bound on epsilon at ``delta``, or about a bound on delta, whose quoted value is ``delta``."""
    published, judged = plan.published or {}, None
    label = f"{bound.guarantee} interval" if bound.guarantee in ("certified", "proved") else bound.guarantee
    lines = [(label, interval_said(bound))]
    if bound.reason is not None:
        lines.append(("reason", bound.reason))
    if not isinstance(bound, DeltaAnswer) and bound.guarantee != "estimate":
        lines += scale_lines(plan, bound.quoted)
        judged = verdict(published, delta, bound.ends.get("lower"), bound.quoted)
    lines += relation_lines(plan)
    if bound.direction is not None and len(plan.adjacency.directions) > 1:
        lines.append(("direction", f"{bound.direction} (the worse direction)"))
    lines += [("rounds", rounds_said(plan)), ("accountant", f"{bound.accountant} ({bound.guarantee})")]
    return [*lines, *plan.premises.items(), *_published_lines(published, judged), *warning_lines(plan, delta)]


def relation_lines(plan: Plan) -> list[tuple[str, str]]:
    """Return lines on adjacency, on the protected unit, and on the number of runs if only the best one is released."""
    lines = [("adjacency", plan.adjacency.value)]
    parts = plan.partitions_per_unit
    if plan.unit == USER:
        where = "" if parts is None else f" in each of {parts} partitions"
        lines.append(("unit", f"user, with at most {plan.records_per_unit} records{where}"))
    elif parts is not None:
        lines.append(("unit", "record, in one of several partitions"))
    if plan.best_of is not None:
        best = plan.best_of
        shape = "" if best.shape is None else f", shape {exact(best.shape)}"
        lines.append(("released", f"the best of {exact(best.mean)} runs on average ({best.runs}{shape})"))
    return lines


def relation_json(plan: Plan) -> dict[str, Any]:
    """Return the keys of a JSON answer that hold the facts of :func:`relation_lines`."""
    said: dict[str, Any] = {"adjacency": plan.adjacency.value}
    if plan.unit == USER:
        said |= {"unit": plan.unit, "records_per_unit": plan.records_per_unit}
    if plan.partitions_per_unit is not None:
        said["partitions_per_unit"] = plan.partitions_per_unit
    return said if plan.best_of is None else {**said, "selection": plan.best_of.keys()}


def warning_lines(plan: Plan, delta: float | None) -> list[tuple[str, str]]:
    """Return a line for each warning about the sampling schemes and, if ``delta`` is given, about this delta."""
    return [("warning", text) for text in warnings_of(plan.samplings, delta)]


def caveat_lines(plan: Plan, delta: float | None) -> list[tuple[str, str]]:
    """Return a line for each assumption about the program that was run, then the lines of :func:`warning_lines`."""
    return [*plan.premises.items(), *warning_lines(plan, delta)]


def caveats_json(plan: Plan, delta: float | None) -> dict[str, list[str]]:
    """Return the keys ``assumptions`` and ``warnings``, which every JSON answer has."""
    return {
        "assumptions": [f"{label}: {text}" for label, text in plan.premises.items()],
        "warnings": [text for _, text in warning_lines(plan, delta)],
    }


def plan_lines(plan: Plan, delta: float | None) -> list[tuple[str, str]]:
    """Return the lines that follow every number about a plan: adjacency, rounds, assumptions and warnings."""
    return [*relation_lines(plan), ("rounds", rounds_said(plan)), *caveat_lines(plan, delta)]


def plan_json(plan: Plan, delta: float | None, guarantee: str | None = None) -> dict[str, Any]:
    """Return keys of a JSON answer: adjacency and unit, the guarantee if it is given, assumptions and warnings."""
    held = {} if guarantee is None else {"guarantee": guarantee}
    return {**relation_json(plan), **held, **caveats_json(plan, delta)}


def _published_lines(published: Mapping[str, Any], judged: Verdict | None) -> list[tuple[str, str]]:
    """Lines with the epsilon that a source claims for the plan, the verdict on this claim, and the plan's note.

    The note often says how batches are made.
    """
    lines = []
    if published.get("epsilon") is not None:
        text = f"epsilon {exact(published['epsilon'])}"
        if published.get("delta") is not None:
            text += f" at delta {exact(published['delta'])}"
        origin = [one_line(str(published[key])) for key in ("accountant", "source") if published.get(key)]
        lines.append(("published", f"{text} ({'; '.join(origin)})" if origin else text))
    if judged is not None:
        lines.append(("the claim is", judged.value + _PLACES.get(judged, "")))
    if published.get("note"):
        lines.append(("note", one_line(str(published["note"]))))
    return lines


def settings_said(settings: Mapping[str, Any]) -> str:
    """Return parameters as text: names with blanks for underscores, numbers in their shortest form.

    >>> settings_said({"noise_multiplier": 1e-06, "matrix": ["a", "b"]})
    'noise multiplier 1e-6, matrix [a, b]'
    """
    return ", ".join(f"{key.replace('_', ' ')} {_setting(value)}" for key, value in settings.items())


def _setting(value: Any) -> str:
    if isinstance(value, int | float):
        return exact(value)
    return cut(str(value).replace("'", "") if isinstance(value, list) else str(value), MAX_CLAUSE)


def rounds_said(plan: Plan) -> str:
    """Return the number of rounds, with the epochs if the plan states them.

    >>> from hockeystick import dp_sgd
    >>> rounds_said(dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60))
    '14100 (60 epochs of 235)'
    """
    epochs = [f"{item.epochs} epochs of {item.sampling.steps_of_pass}" for item in plan.rounds if item.epochs]
    return f"{plan.steps} ({', '.join(epochs)})" if epochs else str(plan.steps)


def finite_ends(bound: Said) -> dict[str, float | None]:
    """Return the ends of an interval by name; an infinite end is ``None``, because JSON has no infinity."""
    return {name: end if math.isfinite(end) else None for name, end in bound.ends.items()}


def _common(plan: Plan, bound: Said) -> dict[str, Any]:
    said = {
        **relation_json(plan),
        "accountant": bound.accountant,
        "guarantee": bound.guarantee,
        "direction": bound.direction,
        "reason": bound.reason,
    }
    return {key: value for key, value in said.items() if value is not None}


def epsilon_asked(
    plan: Plan, say: Callable[[str], None], /, delta: Any, accountant: Any, options: Any, gap: Any, proof: Any
) -> Found:
    """Answer the question of ``hockeystick epsilon``: an epsilon at ``delta``."""
    bound = plan.epsilon(delta, **_method(accountant, options, gap, proof))
    return Found(
        bound, lambda: epsilon_json(plan, delta, bound), lambda: print_answer(epsilon_answer(plan, delta, bound))
    )


def delta_asked(
    plan: Plan, say: Callable[[str], None], /, epsilon: Any, accountant: Any, options: Any, gap: Any, proof: Any
) -> Found:
    """Answer the question of ``hockeystick delta``: a delta at ``epsilon``."""
    bound = plan.delta(epsilon, **_method(accountant, options, gap, proof))
    return Found(
        bound, lambda: delta_json(plan, epsilon, bound), lambda: print_answer(delta_answer(plan, epsilon, bound))
    )


def _method(accountant: Any, options: Any, gap: Any, proof: Any) -> dict[str, Any]:
    """Keyword arguments of ``Plan.epsilon`` and ``Plan.delta``, from the checked values of a question."""
    if not isinstance(options, dict) or not isinstance(accountant, str) or not isinstance(proof, bool):
        raise InvalidInputError("asked: accountant must be a name, options a table, proof true or false")
    from hockeystick.accountants import accountant_named

    accountant_named(accountant, proof, options)  # refuses an unknown option by name
    return {"accountant": accountant, "gap": gap, "proof": proof, **options}
