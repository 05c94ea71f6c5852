"""Answers of the server to questions of the page, both as JSON values; this module has no network code.

A question names the wanted quantity and the plan. The answer to ``"epsilon"`` is the object that ``hockeystick epsilon
--json`` prints, plus the text that the command prints without ``--json``. A refusal is one line, the library's error
message.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from hockeystick.explorer.curves import CURVES, Check, curve
from hockeystick.explorer.given import Given
from hockeystick.explorer.keys import EXAMPLE, SCHEMES, SLIDERS, TEXTS, Slider, number, plan_of
from hockeystick.plan.file import plan_text
from hockeystick.plan.plan import Plan, asked_delta
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.questions.calibration import calibrate
from hockeystick.questions.parameters import noise_of
from hockeystick.questions.targets import Epsilon
from hockeystick.report.answer import METHOD, ends_said, epsilon_answer, epsilon_json
from hockeystick.report.document.envelope import enveloped
from hockeystick.report.rounding import QUOTED_DIGITS, SHOWN_DIGITS, exact, round_up
from hockeystick.values.domains import choice, shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.version import __version__

TARGET = Slider("target", "Target epsilon", 0.01, 100.0)
"""Slider of the target epsilon for calibration, which is not part of the plan."""


def start(given: Given | None) -> dict[str, Any]:
    """Return the data that the page loads first: sliders, sampling schemes, adjacencies, an example, the given plan."""
    says = {kind.name: kind.assumption for kind in SAMPLINGS}
    return {
        "version": __version__,
        "sliders": [asdict(slider) for slider in SLIDERS],
        "schemes": [{"name": name, "ways": ways, "assumption": says[name]} for name, ways in SCHEMES.items()],
        "adjacencies": TEXTS["adjacency"],
        "example": dict(EXAMPLE),
        "target": asdict(TARGET),
        "given": None if given is None else given.said(),
    }


def answer(question: Mapping[str, Any], given: Given | None, check: Check = lambda: None) -> dict[str, Any]:
    """Answer a question.

    Args:
        question: table with the keys ``want``, one of :data:`WANTS`, and ``plan``. The plan is ``{"keys": ...}`` for
            arguments of ``hs.dp_sgd``, or ``{"given": digest, "moved": ...}`` for the given plan with some sliders
            moved. A question for ``"calibrate"`` also has the key ``target``, an epsilon.
        given: plan with which the server was started, if any.
        check: function called between the points of a slow curve; it may raise an exception to stop the computation.

    Raises:
        InvalidInputError: the question is unknown, or a value is outside its domain.
        UnsupportedError: the question has no answer for the plan.
        UnreachableError: no noise meets the target.

    >>> found = answer({"want": "epsilon", "plan": {"keys": dict(EXAMPLE)}}, None)
    >>> found["headline"], found["values"]["epochs"]
    ('epsilon <= 2.39 at delta = 1e-5', 60)
    """
    want = question.get("want")
    if not isinstance(want, str) or want not in WANTS:
        raise InvalidInputError(choice("want", want, list(WANTS)), "want")
    began = time.perf_counter()
    plan, values = _plan(question.get("plan"), given)
    found = curve(plan, want, check) if want in CURVES else NUMBERS[want](plan, question)
    return {**found, "values": values, "milliseconds": round(1e3 * (time.perf_counter() - began), 1)}


def _plan(asked: object, given: Given | None) -> tuple[Plan, dict[str, Any]]:
    """Plan that a question describes, with the values of its sliders by key.

    Raises:
        InvalidInputError: the question refers to a plan other than the given one, or has no plan.
    """
    if isinstance(asked, Mapping) and isinstance(asked.get("keys"), Mapping):
        return plan_of(asked["keys"])
    if not isinstance(asked, Mapping) or not isinstance(asked.get("moved"), Mapping):
        raise InvalidInputError(f"plan must have keys, or given and moved; received {shown(asked)}", "plan")
    if given is None or asked.get("given") != given.digest:
        raise InvalidInputError(
            "this link is about another plan file: run `hockeystick explore` with that file",
            "plan",
        )
    return given.moved(asked["moved"])


def _epsilon(plan: Plan, question: Mapping[str, Any]) -> dict[str, Any]:
    """Epsilon at the plan's delta: as a JSON answer, and as text to display."""
    delta = asked_delta(plan, None)
    bound = plan.epsilon(delta)
    said, ends = epsilon_answer(plan, delta, bound), ends_said(bound)
    return {
        "answer": enveloped("epsilon", plan, {"delta": delta, **METHOD}, epsilon_json(plan, delta, bound)),
        "headline": said.headline,
        "quoted": ends_said(bound, QUOTED_DIGITS)["upper"],
        "delta": exact(delta),
        "ends": [ends.get("lower"), ends["upper"]],
        "lines": said.lines,
    }


def _calibrate(plan: Plan, question: Mapping[str, Any]) -> dict[str, Any]:
    """The noise with which the plan just meets a target epsilon."""
    target = number(TARGET, question.get("target"))
    name = noise_of(plan)[0].name
    found = calibrate(plan, name, Epsilon(target, asked_delta(plan, None)))
    return {
        "parameter": name,
        "value": found.value,
        "noise": round_up(found.value, SHOWN_DIGITS),  # more noise protects at least as well
        "target": exact(target),
        "achieved": found.achieved.upper,
        "limited": found.limited,
    }


def _copies(plan: Plan, question: Mapping[str, Any]) -> dict[str, Any]:
    """The plan as a file, as command-line flags and as Python code; each reproduces the epsilon on the page."""
    asked: Any = question["plan"]
    keys = asked.get("keys")
    if keys is None:
        return {"toml": plan_text(plan), "flags": None, "python": f"hs.Plan.from_dict({plan.to_dict()!r}).epsilon()"}
    values = {key: value if isinstance(value, str) else exact(value) for key, value in plan_of(keys)[1].items()}
    flags = [part for key, text in values.items() for part in (f"--{key.replace('_', '-')}", text)]
    arguments = ", ".join(f"{key}={text!r}" if key in TEXTS else f"{key}={text}" for key, text in values.items())
    return {
        "toml": plan_text(plan),
        "flags": shlex.join(["hockeystick", "epsilon", *flags]),
        "python": f"import hockeystick as hs\nhs.dp_sgd({arguments}).epsilon()",
    }


NUMBERS: dict[str, Callable[[Plan, Mapping[str, Any]], dict[str, Any]]] = {
    "epsilon": _epsilon,
    "calibrate": _calibrate,
    "copies": _copies,
}
"""Functions that answer the questions for numbers, by name; curves take longer and have a thread of their own."""

WANTS = (*NUMBERS, *CURVES)
