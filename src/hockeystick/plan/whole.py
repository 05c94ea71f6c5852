"""Plans that are answered for as a whole, and not by composing pairs: what they release is the best of a random number
of runs, or they are about users for whom no pair is proven.

Such a plan has no pairs, curves or profile of its own (``Plan.directions`` refuses), so that a question which knows
nothing of this cannot answer for another release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hockeystick.plan.by_group import NAME, delta_of_group, epsilon_of_group
from hockeystick.plan.caveats import told
from hockeystick.values import domains
from hockeystick.values.bounds import Bound, DeltaBound, DeltaUpperBound, UpperBound
from hockeystick.values.errors import UnsupportedError

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan
    from hockeystick.plan.selection import Selection

AUTO = "auto"  # the accountant by whose name such plans are answered for


def refusal(plan: Plan) -> UnsupportedError:
    """What is said to whoever asks such a plan for what it has not."""
    if plan.best_of is not None:
        return UnsupportedError(
            "the plan releases the best of a random number of runs (selection), of which this question is not "
            "answered: ask for epsilon or delta, calibrate noise to them, or leave the table [selection] out to ask of "
            "one run"
        )
    return UnsupportedError(
        f"no pair is proven for users with {plan.records_per_unit} records of this plan, so that epsilon and delta "
        f"follow by {NAME} alone and this question is not answered; unit 'record' asks it of single records"
    )


def check_route(plan: Plan, accountant: str, proof: bool, options: Mapping[str, float]) -> None:
    """Raise unless such a plan is asked by the one route there is.

    Raises:
        UnsupportedError: another accountant, a proof, or options.
    """
    if accountant != AUTO or proof or options:
        what = "a proof" if proof else f"accountant {domains.shown(accountant)}" if accountant != AUTO else "an option"
        route = "selection" if plan.best_of is not None else NAME
        raise UnsupportedError(f"{what} does not go with {route}, which has a route of its own: use accountant 'auto'")


def whole_epsilon(plan: Plan, delta: float, gap: float | None) -> Bound | UpperBound:
    """The least epsilon at a delta.

    Raises:
        InvalidInputError: delta 0 of a selection.
        UnsupportedError: a round for which nothing is proven.
    """
    if plan.best_of is not None:
        return _selection(plan).epsilon(delta)
    return told(epsilon_of_group(plan, delta, gap), plan, delta)


def whole_delta(plan: Plan, epsilon: float, gap: float | None) -> DeltaBound | DeltaUpperBound:
    """The least delta at an epsilon.

    Raises:
        UnsupportedError: a round for which nothing is proven.
    """
    if plan.best_of is not None:
        return _selection(plan).delta(epsilon)
    found = delta_of_group(plan, epsilon, gap)
    return told(found, plan, found.upper)


def _selection(plan: Plan) -> Selection:
    from hockeystick.plan.selection import Selection

    assert plan.best_of is not None
    return Selection.of(replace(plan, best_of=None), plan.best_of)
