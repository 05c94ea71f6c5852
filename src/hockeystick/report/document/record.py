"""The record: all numbers of a report in one JSON object, from which HTML, Markdown and verification take them.

Every number comes with its certified bounds. If something cannot be computed, the record holds the reason. Error rates
of attacks, for example, need guarantees in both directions of adjacency, and Renyi divergences do not determine them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from hockeystick.plan.plan import Plan, asked_delta
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.report.answer import MAX_CLAUSE, epsilon_under, finite_ends, plan_json
from hockeystick.report.document.curves import RATES, Points, band_points, delta_points, steps_points
from hockeystick.report.document.envelope import digest, sealed
from hockeystick.report.profile import RATES as TABLE_RATES
from hockeystick.report.profile import fitted
from hockeystick.values.bounds import Answer
from hockeystick.values.domains import LEAST_DELTA, cut, shown
from hockeystick.values.errors import HockeystickError, InvalidInputError
from hockeystick.values.version import __version__

KIND = "report"

SMALLER = (1, 10, 100, 10_000)
"""Divisors of the report's delta: epsilon is stated at each quotient."""


def report_record(
    plan: Plan,
    delta: float | None,
    title: str | None,
    made: Mapping[str, str],
    stated: Mapping[str, Any] | None = None,
    say: Callable[[str], None] = lambda part: None,
) -> dict[str, Any]:
    """Return the numbers of a report.

    Args:
        plan: the plan.
        delta: delta of the headline; the plan's own by default.
        title: title chosen by the author of the report.
        made: provenance, see :func:`hockeystick.report.document.made.made`.
        stated: stored report to be verified: its curve is computed at the same places, and mu if the report has it.
        say: function that receives the name of each part before it is computed.

    Raises:
        InvalidInputError: no delta is known, a value is outside its domain, or the title is not text.
        UnsupportedError: no guarantee is proved for the plan.

    >>> from hockeystick import dp_sgd
    >>> record = report_record(dp_sgd(1.0, 0.01, 100), 1e-5, None, {"date": "2026-01-31"})
    >>> [row["delta"] for row in record["epsilon"]]
    [1e-05, 1e-06, 1e-07, 1e-09]
    """
    at = asked_delta(plan, delta)
    if title is not None and not isinstance(title, str):
        raise InvalidInputError(f"title must be a text; received {shown(title)}", "title")
    stated = stated or {}
    headline = plan.epsilon(at)
    keys = plan.to_dict()
    say("epsilon at several deltas")
    rows = [_row(delta, headline if delta == at else plan.epsilon(delta)) for delta in _deltas(at)]
    say("other ways of making batches")
    samplings = _samplings(plan, at)
    say("attacks")
    attack, trade_off = _attack(plan, "mu" in stated.get("attack", ()))
    say("curves")
    curves = {
        "delta": delta_points(plan, at, headline, _reach(stated)),
        "trade_off": trade_off,
        "steps": steps_points(plan, at),
    }
    content = {
        "answer": KIND,
        "version": __version__,
        "made": dict(made),
        "asked": {"delta": at, "title": None if title is None else cut(title, MAX_CLAUSE)},
        "plan": keys,
        "plan_sha256": digest(keys),
        "rounds": plan.steps,
        **plan_json(plan, at),
        "epsilon": rows,
        "samplings": samplings,
        "attack": attack,
        "curves": curves,
    }
    return sealed(content)


def _reach(stated: Mapping[str, Any]) -> float | None:
    """The last epsilon on the curve of deltas in a stored report; ``None`` if the report has no such curve."""
    match stated.get("curves"):
        case {"delta": [*_, {"epsilon": int() | float() as reach}]}:
            return float(reach)
    return None


def _deltas(at: float) -> list[float]:
    """Deltas of the table: ``at`` and smaller ones, divided in decimal so that 1e-5 is followed by exactly 1e-6."""
    found = [float(Decimal(repr(at)) / by) for by in SMALLER]
    return [delta for delta in dict.fromkeys(found) if delta >= LEAST_DELTA or delta == at]


def _row(delta: float, bound: Answer) -> dict[str, Any]:
    return {
        "delta": delta,
        **finite_ends(bound),
        "guarantee": bound.guarantee,
        "accountant": bound.accountant,
        "direction": bound.direction,
        "reason": bound.reason,
    }


def _samplings(plan: Plan, delta: float) -> list[dict[str, Any]]:
    """Epsilon of the plan's training under every other sampling scheme for which a guarantee is proved."""
    bounds = [(kind.name, epsilon_under(plan, kind, delta)) for kind in SAMPLINGS]
    return [
        {"scheme": name, **finite_ends(bound), "guarantee": bound.guarantee}
        for name, bound in bounds
        if bound is not None
    ]


def _attack(plan: Plan, with_mu: bool) -> tuple[dict[str, Any], Points]:
    """Upper bounds on the success of attacks, and the points of the curve of attacks.

    If ``with_mu`` is true, the bounds include mu, which older reports state. If there are no bounds, the first value is
    ``{"refused": reason}``, and there are no points.
    """
    if plan.best_of is not None:
        return {"refused": "of the best of several runs only epsilon and delta are known"}, []
    places = (*TABLE_RATES, *RATES)
    try:
        profile = plan.profile()
        advantage, points = profile.advantage(), band_points("fpr", places, profile.tpr(list(places)))
        fit = profile.gdp() if with_mu else None
    except HockeystickError as error:
        return {"refused": str(error)}, []
    count = len(TABLE_RATES)
    found = {"advantage": finite_ends(advantage), **({} if fit is None else fitted(fit)), "tpr": points[:count]}
    return found, points[count:]
