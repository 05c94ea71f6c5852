"""Small tables of plans and profiles for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hockeystick.plan.users import USER
from hockeystick.values.errors import UnsupportedError
from hockeystick.values.outward import MOST_ROWS, UP, and_more, html_table, rounded, shortest
from hockeystick.values.words import LONG, cut

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan
    from hockeystick.plan.profile import Profile

RATES = (0.001, 0.01, 0.1)  # false-positive rates at which attacks are shown


def plan_html(plan: Plan) -> str:
    """Return a table with a row for each kind of round, and the adjacency and the target delta in the caption.

    >>> from hockeystick import dp_sgd
    >>> "<td>poisson</td><td>noise_multiplier = 1.0, sample_rate = 0.01</td>" in plan_html(dp_sgd(1.0, 0.01, 10))
    True
    """
    target = "" if plan.delta_target is None else f", delta = {shortest(plan.delta_target)}"
    steps = f"{plan.steps} step{'s' if plan.steps != 1 else ''}"
    rows = []
    for item in plan.to_dict()["round"][:MOST_ROWS]:
        keys = {key: value for key, value in item.items() if key not in ("mechanism", "sampling", "count", "epochs")}
        often = f"{item['epochs']} epochs" if "epochs" in item else str(item["count"])
        settings = cut(", ".join(f"{key} = {value}" for key, value in keys.items()), LONG)
        rows.append((item["mechanism"], item.get("sampling", "none"), settings, often))
    heads = ("mechanism", "sampling", "parameters", "how often")
    users = f", users with at most {plan.records_per_unit} records" if plan.unit == USER else ""
    best = "" if plan.best_of is None else f", the best of {plan.best_of.mean:g} {plan.best_of.runs} runs"
    caption = f"Plan of {steps}, {plan.adjacency.value}{users}{best}{target}"
    return html_table(caption, and_more(rows, len(plan.rounds)), heads)


def profile_html(profile: Profile) -> str:
    """Return the plan, and the advantage and true-positive rates of the best attack or the reason for their absence."""
    try:
        rates = profile.tpr(list(RATES))
    except UnsupportedError as error:
        rows = [("error rates", str(error))]
    else:
        rows = [("advantage", str(profile.advantage()))]
        rows += [
            (f"true-positive rate at {rate!r}", f"at most {rounded(float(upper), '.4g', UP)}")
            for rate, upper in zip(RATES, rates.upper, strict=True)
        ]
    return plan_html(profile.plan) + html_table("Profile", rows)
