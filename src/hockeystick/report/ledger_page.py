"""The page about a ledger: what remains of each grant, the latest releases, and what an outsider can learn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hockeystick.numerics.rounding import next_up
from hockeystick.questions.filters.additive import GdpFilter
from hockeystick.questions.filters.base import PrivacyFilter
from hockeystick.questions.ledger.ledger import Ledger, Standing
from hockeystick.questions.ledger.state import WHOLE
from hockeystick.report.budget import STATES, down, guarantee_said, release_said, standing_json, unit_lines
from hockeystick.report.document import blocks
from hockeystick.report.document.page import page
from hockeystick.report.document.shares import half_up
from hockeystick.report.rounding import exact, exp_up
from hockeystick.report.scale import weakness
from hockeystick.values.domains import one_line
from hockeystick.values.version import __version__

LISTED = 100  # latest releases on the page


def ledger_page(ledger: Ledger) -> str:
    """Return the page of a ledger as HTML, after verifying the ledger.

    Raises:
        InvalidInputError: the ledger cannot be read.
    """
    found = ledger.verify()
    standing = ledger.show(LISTED)
    content: list[blocks.Block] = [*_head(standing)]
    if found.findings:
        content.append(blocks.Caution([f"the ledger is inconsistent: {found.findings[0]}"]))
    content += [
        *_outsider(standing),
        *_accounts(standing),
        *_releases(standing),
        *_below(standing, verified=found.sound),
    ]
    return page(f"Budget: {_name(standing)}", content, standing_json(standing))


def _name(standing: Standing) -> str:
    return one_line(standing.begun["dataset"]) or "a ledger"


def _head(standing: Standing) -> list[blocks.Block]:
    state, budget = standing.state, standing.state.budget
    left = budget.remaining(state.left(WHOLE))
    title = f"Privacy budget of {_name(standing)}"
    below = f"Each release is declared before it is made and recorded if it fits. Filter: {budget.filter}."
    lead = f"{down(left)} of {down(budget.made.budget)} {budget.made.currency} remains"
    return [blocks.Title(title, ""), blocks.Lead(lead, below)]


def _outsider(standing: Standing) -> list[blocks.Block]:
    """Paragraphs that bound what an observer of all releases can learn."""
    budget, unit = standing.state.budget, standing.begun["unit"]
    said = guarantee_said(standing)
    out: list[blocks.Block] = [
        blocks.Heading("What an outsider learns"),
        blocks.Paragraph(f"{said[0].upper()}{said[1:]}."),
    ]
    if budget.epsilon is None or budget.delta is None:
        out.append(blocks.Paragraph("Its epsilon depends on delta; create the ledger with --delta to state it here."))
        return out
    beyond = f", plus a probability of {exact(budget.delta)}" if budget.delta else ""
    right = half_up(_advantage(budget.made, budget.epsilon, budget.delta))
    seen = (
        f"Any finding from all releases together is at most {exp_up(budget.epsilon)} times as likely with one of "
        f"two datasets that differ in one {unit} as with the other{beyond}. If both are equally likely beforehand, a "
        f"guess which of them was used is right at most {right} of the time."
    )
    out.append(blocks.Paragraph(seen))
    weak = weakness(budget.epsilon, unit)
    if weak:
        out.append(blocks.Caution(weak))
    if standing.state.period:
        periods = (
            f"This guarantee holds for each of {standing.state.period + 1} periods. A {unit} whose data is in all of "
            "them has the weaker guarantee of their composition."
        )
        out.append(blocks.Paragraph(periods))
    return out


def _advantage(made: PrivacyFilter, epsilon: float, delta: float) -> float:
    """Return delta at epsilon 0, rounded up, for all releases that the budget allows together.

    If the budget is a mu, delta follows from mu. Otherwise it is the largest delta at epsilon 0 of any mechanism with
    the guarantee ``epsilon`` at ``delta``.
    """
    if isinstance(made, GdpFilter):
        found = math.erf(made.mu / math.sqrt(8.0))  # 2 Phi(mu / 2) - 1
    else:
        found = math.tanh(0.5 * epsilon) + 2 * delta / (1 + math.exp(min(epsilon, 700.0)))
    return min(next_up(found, 16), 1.0)


def _accounts(standing: Standing) -> list[blocks.Block]:
    state, budget = standing.state, standing.state.budget
    rows = []
    for name, account in state.accounts.items():
        limit, left = down(budget.remaining(account.limits)), down(budget.remaining(state.left(name)))
        rows.append((name or "all", limit, left))
    out: list[blocks.Block] = [blocks.Table(f"In {budget.made.currency}", ("whose", "limit", "remains"), rows)]
    if state.regions:
        regions = [(name, down(budget.remaining(state.left(WHOLE, name)))) for name in state.regions]
        caption = "Parts of the dataset that share no unit; their releases are counted separately"
        out.append(blocks.Table(caption, ("region", "remains"), regions))
    return out


def _releases(standing: Standing) -> list[blocks.Block]:
    if not standing.last:
        return []
    rows = [(str(keys["id"])[:24], release_said(keys), STATES[keys["state"]]) for keys in standing.last]
    caption = f"The last {len(rows)} of {standing.releases:,} releases, {standing.voids:,} of them voided"
    return [blocks.Heading("Releases"), blocks.Table(caption, ("id", "release", "state"), rows, words=3)]


def _below(standing: Standing, *, verified: bool) -> list[blocks.Block]:
    begun: Mapping[str, Any] = standing.begun
    budget = standing.state.budget
    facts = [
        ("neighbours", f"{budget.adjacency.value}, of a {begun['unit']}"),
        *unit_lines(begun),
        ("begun", f"{begun['when']}, by {begun['who']}"),
        ("last entry", f"{standing.state.number}, hash {standing.state.hash}"),
        ("verified", "log, prices and state agree" if verified else "no: see above"),
        ("version", f"hockeystick {__version__}"),
    ]
    note = (
        "A restored older copy of the database is consistent with itself. Keep receipts elsewhere: \u201chockeystick "
        "budget verify --receipt\u201d checks that the log contains the entry of each."
    )
    return [
        blocks.Heading("Source"),
        blocks.Facts(facts),
        blocks.Paragraph(note),
        blocks.Signature(("name", "date", "signature")),
    ]
