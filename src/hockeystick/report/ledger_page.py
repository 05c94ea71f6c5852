"""The page about a ledger: what remains of each grant, the latest releases, and what an outsider can learn."""

from __future__ import annotations

import math

from hockeystick.numerics.rounding import next_up
from hockeystick.questions.filters.additive import GdpFilter
from hockeystick.questions.filters.base import PrivacyFilter
from hockeystick.questions.ledger.ledger import Ledger, Standing
from hockeystick.report.budget import standing_answer, standing_json
from hockeystick.report.document import blocks
from hockeystick.report.document.page import page
from hockeystick.report.document.shares import half_up
from hockeystick.report.rounding import exact, exp_up
from hockeystick.report.scale import weakness
from hockeystick.values.domains import one_line
from hockeystick.values.version import __version__

LISTED = 100  # latest releases on the page

COPIES = (
    "A restored older copy of the database is consistent with itself. Keep receipts elsewhere: \u201chockeystick "
    "budget verify --receipt\u201d checks that the log contains the entry of each."
)
"""Paragraph on the page about a change that verification of a ledger alone cannot detect."""


def ledger_page(ledger: Ledger) -> str:
    """Return the page of a ledger as HTML, after verifying the ledger.

    Raises:
        InvalidInputError: the ledger cannot be read.
    """
    found = ledger.verify()
    standing = ledger.show(LISTED)
    said, begun = standing_answer(standing), standing.begun
    name = one_line(begun["dataset"]) or "a ledger"
    below = "Each release is declared before it is made and recorded if it fits."
    content: list[blocks.Block] = [blocks.Title(f"Privacy budget of {name}", ""), blocks.Lead(said.headline, below)]
    if found.findings:
        content.append(blocks.Caution([f"the ledger is inconsistent: {found.findings[0]}"]))
    facts = [
        ("begun", f"{begun['when']}, by {begun['who']}"),
        ("verified", "log, prices and state agree" if found.sound else "no: see above"),
        ("version", f"hockeystick {__version__}"),
        *said.lines,
    ]
    content += [
        *_outsider(standing),
        blocks.Heading("Budget and latest releases"),
        blocks.Facts(facts),
        blocks.Paragraph(COPIES),
        blocks.Signature(("name", "date", "signature")),
    ]
    return page(f"Budget: {name}", content, standing_json(standing))


def _outsider(standing: Standing) -> list[blocks.Block]:
    """Paragraphs that bound what an observer of all releases can learn."""
    budget, unit = standing.state.budget, standing.begun["unit"]
    out: list[blocks.Block] = [blocks.Heading("What an outsider learns")]
    if budget.epsilon is None or budget.delta is None:
        out.append(blocks.Paragraph("Epsilon depends on delta. To state it here, create the ledger with --delta."))
        return out
    beyond = f", plus a probability of {exact(budget.delta)}" if budget.delta else ""
    right = half_up(_advantage(budget.made, budget.epsilon, budget.delta))
    seen = (
        f"Any finding from all releases together is at most {exp_up(budget.epsilon)} times as likely with one of "
        f"two datasets that differ in one {unit} as with the other{beyond}. If both are equally likely beforehand, a "
        f"guess about which dataset was used is right at most {right} of the time."
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
