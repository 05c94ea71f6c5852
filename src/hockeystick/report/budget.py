"""Answers about a ledger: remaining budget, releases so far, and the guarantee proved for all of them together."""

from __future__ import annotations

from typing import Any

from hockeystick.plan.file import rounds_to_dicts
from hockeystick.plan.plan import Plan, Round
from hockeystick.questions.filters import ApproximateDpFilter
from hockeystick.questions.ledger import Ledger
from hockeystick.report.answer import Answer, assumption_lines, caveats_json, settings_said, warning_lines
from hockeystick.report.document.envelope import sealed
from hockeystick.report.document.wording import settings_of
from hockeystick.report.rounding import SHOWN_DIGITS, exact, round_down, round_up
from hockeystick.values.domains import MAX_COUNT, cut, one_line
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.version import __version__

KIND = "budget"

LISTED_RELEASES = 20  # latest releases listed on the screen; the JSON holds all
MAX_UNROUNDED = 8  # longest number in characters that is shown unrounded, since filters keep the decimals they receive
MAX_PARAMETER_TEXT = 200  # longest text of one release's parameters, in characters


def budget_answer(ledger: Ledger, *, recorded: bool = True) -> Answer:
    """Return remaining and spent budget for people; with ``recorded=False`` the release is described as a trial.

    >>> from hockeystick import Laplace
    >>> ledger = Ledger("pure", {"epsilon": 1.0}, releases=(Round(Laplace(10.0), name="visits"),))
    >>> answer = budget_answer(ledger)
    >>> answer.headline, answer.lines[2], answer.lines[-1]
    ('0.9 of 1 remains (pure epsilon)', ('more of the last', '9'), ('release 1', 'visits: 1 x laplace, scale 10'))
    """
    found, epsilon = ledger.filled, exact(ledger.epsilon)
    left = f"{_down(found.remaining)} of {_down(found.budget)}"
    lines = [
        (
            "proven",
            f"all that the budget allows together is ({epsilon}, {exact(ledger.delta)})-differentially private, also "
            f"where a release depends on what was released before (filter {ledger.filter})",
        ),
        ("spent", f"{found.currency} {_up(found.spent)}"),
    ]
    if isinstance(found, ApproximateDpFilter):
        lines.append(("spent delta", f"{_up(found.spent_delta)} of {_down(found.budget_delta)}"))
    if ledger.releases:
        more = ledger.more_of(ledger.releases[-1])
        lines.append(("more of the last", "as many as are wanted" if more == MAX_COUNT else str(more)))
    lines.append(("adjacency", ledger.adjacency.value))
    plan = _plan(ledger)
    if plan is not None:
        lines += [*assumption_lines(plan), *warning_lines(plan, ledger.delta or None)]
    first = max(len(ledger.releases) - LISTED_RELEASES, 0)
    if first:
        lines.append(
            ("releases", f"{len(ledger.releases)}, of which the last {LISTED_RELEASES} follow; --json has all")
        )
    lines += [
        (f"release {number}", release_said(item))
        for number, item in enumerate(ledger.releases[first:], start=first + 1)
    ]
    return Answer(f"{left} {'remains' if recorded else 'would remain'} ({found.currency})", tuple(lines))


def budget_json(ledger: Ledger) -> dict[str, Any]:
    """Return the object that ``hockeystick budget show --json`` prints, with everything needed to recompute it."""
    found, plan = ledger.filled, _plan(ledger)
    more = ledger.more_of(ledger.releases[-1]) if ledger.releases else None
    content: dict[str, Any] = {
        "currency": found.currency,
        "spent": found.spent,
        "of": found.budget,
        "remaining": found.remaining,
    }
    if isinstance(found, ApproximateDpFilter):
        content |= {"spent_delta": found.spent_delta, "of_delta": found.budget_delta}
    content |= {
        "more_of_the_last": more,
        "epsilon": {"upper": ledger.epsilon},
        "delta": ledger.delta,
        "adjacency": ledger.adjacency.value,
        "guarantee": "privacy filter",
        **({"assumptions": [], "warnings": []} if plan is None else caveats_json(plan, ledger.delta or None)),
        "answer": KIND,
        "asked": {"ledger": ledger.to_dict()},
        "version": __version__,
    }
    return sealed(content)


def budget_again(asked: Any) -> dict[str, Any]:
    """Recompute the answer for the ledger in a file.

    Raises:
        InvalidInputError: the file holds no ledger.
        BudgetError: its releases do not fit its budget.
    """
    ledger = asked.get("ledger") if isinstance(asked, dict) else None
    if not isinstance(ledger, dict) or len(asked) != 1:
        raise InvalidInputError("it does not say which ledger it is about (key 'ledger' of 'asked')", "asked")
    return budget_json(Ledger.from_dict(ledger))


def release_said(item: Round) -> str:
    """Return one line for a release: date, name, count and mechanism."""
    keys = rounds_to_dicts([item])[0]
    called = ", ".join(one_line(text) for key in ("date", "name") if (text := item.labels.get(key)))
    parts = [item.mechanism.name, settings_said(settings_of(keys))]
    if "sampling" in keys:
        parts.append(f"sampling {keys['sampling']}")
    said = f"{item.count} x {cut(', '.join(filter(None, parts)), MAX_PARAMETER_TEXT)}"
    return f"{called}: {said}" if called else said


def _up(value: float) -> str:
    """A short number as it is written, a long one rounded up."""
    return text if len(text := exact(value)) <= MAX_UNROUNDED else round_up(value, SHOWN_DIGITS)


def _down(value: float) -> str:
    """A short number as it is written, a long one rounded down."""
    return text if len(text := exact(value)) <= MAX_UNROUNDED else round_down(value, SHOWN_DIGITS)


def _plan(ledger: Ledger) -> Plan | None:
    """The releases as a plan, for its assumptions alone: a ledger has no composed answer (``questions/ledger.py``)."""
    return Plan(ledger.releases, ledger.adjacency) if ledger.releases else None
