"""Answers about a plan's profile: mu, the success of attacks, groups of records, and points of the privacy curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hockeystick.directions.gaussian_fit import GaussianFit
from hockeystick.plan.plan import Plan
from hockeystick.plan.profile import Profile
from hockeystick.report.answer import Answer, finite_ends, plan_json, plan_lines
from hockeystick.report.document.shares import half_up
from hockeystick.report.kinds import Found
from hockeystick.report.rounding import SHOWN_DIGITS, ends, exact, limited, quoted
from hockeystick.report.tables import print_answer
from hockeystick.values.band import Band
from hockeystick.values.bounds import Bound
from hockeystick.values.errors import InvalidInputError, UnsupportedError

RATES = (0.001, 0.01, 0.1)  # default false-positive rates
GROUPS = (2, 3)  # default group sizes
MOST_VALUES = 10_000  # largest number of values of one kind, like the largest number of points of a figure


def profile_json(
    plan: Plan,
    deltas: Sequence[float],
    epsilons: Sequence[float] = (),
    rates: Sequence[float] = RATES,
    groups: Sequence[int] = GROUPS,
) -> dict[str, Any]:
    """Return the object that ``hockeystick profile --json`` prints.

    Args:
        plan: the plan.
        deltas: deltas at which epsilon is stated, for one record and for groups.
        epsilons: epsilons at which delta is stated.
        rates: false-positive rates of membership attacks; also baselines of reconstruction (success rates by chance).
        groups: group sizes in records.

    Raises:
        InvalidInputError: a value is outside its domain, or there are too many values.
        UnsupportedError: a round has no proved dominating pair.

    >>> from hockeystick import dp_sgd
    >>> found = profile_json(dp_sgd(1.0, 0.01, 1000), [1e-6], [1.0], [0.01], [2])
    >>> round(found["mu"]["upper"], 3), found["groups"][0]["records"]
    (0.508, 2)
    """
    for values in (deltas, epsilons, rates, groups):
        if len(values) > MOST_VALUES:
            raise InvalidInputError(f"at most {MOST_VALUES} values of each kind are accepted; received {len(values)}")
    profile = plan.profile()
    return {
        "epsilon": _rows("delta", deltas, profile.epsilon),
        "delta": _rows("epsilon", epsilons, profile.delta),
        **_attacks(profile, rates),
        "groups": [
            {"records": size, "epsilon": _rows("delta", deltas, profile.group(size).epsilon)} for size in groups
        ],
        **plan_json(plan, max(deltas, default=None), "certified"),
    }


def profile_answer(plan: Plan, found: Mapping[str, Any]) -> Answer:
    """Return the object of :func:`profile_json` as text, with numbers rounded outward."""
    if "refused" in found:
        lines = [("error rates", found["refused"])]
    else:
        lines = [
            ("mu (Gaussian DP)", ends(found["mu"])),
            ("regret of mu", ends(found["regret"])),
            ("advantage", ends(found["advantage"])),
            ("correct guesses", f"at most {half_up(found['advantage']['upper'])} of two equally likely answers"),
            *((f"tpr at fpr {exact(row['fpr'])}", ends(row)) for row in found["tpr"]),
        ]
        if found["tpr"]:
            means = "succeeds at most with the tpr whose fpr is the success probability of guessing"
            lines.append(("reconstruction", means))
    lines += [(f"epsilon at delta {exact(row['delta'])}", ends(row)) for row in found["epsilon"]]
    lines += [(f"delta at epsilon {exact(row['epsilon'])}", ends(row)) for row in found["delta"]]
    for group in found["groups"]:
        lines += [
            (f"group of {group['records']}, {exact(row['delta'])}", f"epsilon at most {quoted(row, SHOWN_DIGITS)}")
            for row in group["epsilon"]
        ]
    largest = max((row["delta"] for row in found["epsilon"]), default=None)
    return Answer(_headline(found), (*lines, *plan_lines(plan, largest)))


def _headline(found: Mapping[str, Any]) -> str:
    if "mu" in found:
        return f"mu {limited(found['mu'])} (Gaussian differential privacy)"
    if found["epsilon"]:
        row = found["epsilon"][0]
        return f"epsilon {limited(row)} at delta = {exact(row['delta'])}"
    return "no mu, because there are no error rates; give --delta for epsilon"


def _rows(key: str, places: Sequence[float], ask: Callable[[Any], Band]) -> list[dict[str, Any]]:
    if not places:
        return []
    band = ask(np.array(places, dtype=np.float64))
    ends = zip(places, band.lower.tolist(), band.estimate.tolist(), band.upper.tolist(), strict=True)
    return [{key: float(place), **finite_ends(Bound(low, guess, high))} for place, low, guess, high in ends]


def fitted(fit: GaussianFit) -> dict[str, Any]:
    """Return, in JSON values, the fitted mu, its regret, and the smallest error rate for which both hold."""
    return {"mu": finite_ends(fit.mu), "regret": finite_ends(fit.regret), "least_rate": fit.least_rate}


def _attacks(profile: Profile, rates: Sequence[float]) -> dict[str, Any]:
    """Upper bounds on the success of attacks, or the reason why no error rates of attacks are known."""
    try:
        fit = profile.gdp()
    except UnsupportedError as error:
        return {"refused": str(error)}
    return {
        **fitted(fit),
        "advantage": finite_ends(profile.advantage()),
        "tpr": _rows("fpr", rates, profile.tpr),
    }


def profile_asked(
    plan: Plan, say: Callable[[str], None], /, deltas: Any, epsilons: Any, rates: Any, groups: Any
) -> Found:
    """Answer the question of ``hockeystick profile``; the arguments are those of :func:`profile_json`."""
    if not all(isinstance(value, list) for value in (deltas, epsilons, rates, groups)):
        raise InvalidInputError("asked: deltas, epsilons, rates and groups must be lists")
    found = profile_json(plan, deltas, epsilons, rates, groups)
    return Found(found, lambda: found, lambda: print_answer(profile_answer(plan, found)))
