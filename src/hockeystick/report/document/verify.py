"""Verification of a file: every number is recomputed and every word of a report is rendered again.

The numbers in the file must follow from its question: no end of an interval may be tighter than the recomputed end, and
no number may differ by more than one part in a million (``differences.py``). The checksum must match the numbers, which
catches edits below that tolerance. Each line of a report must follow from the numbers of the report, which catches
added sentences and edits in the text, in a table or in the path of a picture. The question in a file is untrusted
input: the function that receives a value validates it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hockeystick.plan.file import plan_from_dict
from hockeystick.plan.labels import LABELS
from hockeystick.plan.plan import Plan
from hockeystick.plan.schema import within
from hockeystick.report.answer import MAX_CLAUSE
from hockeystick.report.budget import LEDGER
from hockeystick.report.document.differences import changed_lines, differences
from hockeystick.report.document.envelope import CHECKSUM, digest
from hockeystick.report.document.files import JSON, record_in, report_text
from hockeystick.report.document.record import KIND as REPORT
from hockeystick.report.document.record import report_record
from hockeystick.report.kinds import asked
from hockeystick.values.domains import cut, one_line, shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.formats import check_format
from hockeystick.values.version import __version__

NOT_COMPARED = (CHECKSUM, "version", "made")
"""Keys that are not recomputed: the checksum is compared separately, the others are taken as given."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of a verification.

    Attributes:
        kind: kind of answer: ``"report"``, ``"epsilon"``, ...
        form: ``"HTML"``, ``"Markdown"`` or ``"JSON"``.
        version: version of the library that made the file, according to the file.
        differences: one line for each difference; empty if every number is confirmed.
        numbers: number of recomputed numbers.
        unverified: one line for each statement that recomputation cannot confirm; empty if there are differences.
    """

    kind: str
    form: str
    version: str
    differences: tuple[str, ...]
    numbers: int
    unverified: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """True if everything stated was confirmed."""
        return not self.differences


def verified(text: str) -> Verdict:
    """Recompute everything that a file states.

    Args:
        text: content of a report, or of an answer in JSON.

    Raises:
        InvalidInputError: the text is no report or answer, its question is invalid, or its format is too new.
        UnsupportedError: no guarantee is proved for its plan.

    >>> verified("{}")
    Traceback (most recent call last):
    hockeystick.values.errors.InvalidInputError: it does not say what was asked (key 'answer'); ask again ...
    """
    text = text.replace("\r\n", "\n")
    form, stated = record_in(text)
    again = _again(stated)
    version = one_line(str(stated.get("version", "an unknown version")))
    older = version != __version__
    found = list(differences(_compared(stated), _compared(again), older=older))
    content = {key: value for key, value in stated.items() if key != CHECKSUM}
    if stated.get(CHECKSUM) != digest(content):
        found.append("checksum: it does not match the numbers in the file; some were changed afterwards")
    if form != JSON:  # in JSON all text was compared already, and white space may differ
        if stated["answer"] != REPORT:
            raise InvalidInputError(f"an answer of the kind {stated['answer']!r} is JSON; received {form}", "answer")
        # A confirmed number may differ from the recomputed one within the tolerance and be rounded to other digits.
        found += changed_lines(text, report_text(again if found else stated, form))
    if found and older:
        found.append(f"version: made by hockeystick {version}, recomputed by {__version__}, which may differ")
    open_ends = () if found else tuple(_unverified(stated, older))
    return Verdict(stated["answer"], form, version, tuple(found), _count(_compared(again)), open_ends)


def _again(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Answer the question in a file again, with this version of the library.

    Raises:
        InvalidInputError: this version does not read the format, or the question is missing or invalid.
        UnsupportedError: no guarantee is proved for the plan in the file.
    """
    check_format(stated)
    kind = stated.get("answer")
    if kind in LEDGER:
        raise InvalidInputError(
            "this is the page of a ledger; verify the ledger itself, with `hockeystick budget verify LEDGER`",
            "answer",
        )
    if kind is None:
        raise InvalidInputError("it does not say what was asked (key 'answer'); ask again with this version")
    question, keys = stated.get("asked"), stated.get("plan")
    if not isinstance(question, dict) or not isinstance(keys, dict):
        raise InvalidInputError("the question or its plan is missing (keys 'asked' and 'plan')")
    try:
        plan = plan_from_dict(keys)
    except InvalidInputError as error:
        raise within("its plan", error) from None
    return _report_again(plan, question, stated) if kind == REPORT else asked(kind, plan, question).numbers()


def _report_again(plan: Plan, question: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    made = stated.get("made")
    if set(question) != {"delta", "title"}:
        raise InvalidInputError(f"asked must have the keys 'delta', 'title'; received {shown(list(question))}")
    if not isinstance(made, dict) or not all(isinstance(value, str) for value in made.values()):
        raise InvalidInputError("made must be a table of texts, the versions by which the report was made", "made")
    return report_record(plan, question["delta"], question["title"], made, stated)


def _unverified(stated: Mapping[str, Any], older: bool) -> Iterator[str]:
    """Statements that recomputation cannot confirm even in a sound file, such as its title."""
    if older:
        yield (
            "sharpness: another version made it, so that no upper end lies below the recomputed lower end by "
            f"{__version__}, and no lower end above the upper one"
        )
    if (title := stated.get("asked", {}).get("title")) is not None:
        yield f"the title: {cut(repr(title), MAX_CLAUSE)}"
    if made := stated.get("made"):
        yield f"made with: {_listed(made)}"
    if texts := _texts(stated.get("plan", {})):
        yield f"the texts of the plan: {_listed(texts)}"
    yield "the run: whether the program did what the plan says"


def _listed(texts: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {cut(repr(said), MAX_CLAUSE)}" for key, said in texts.items())


def _texts(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Texts in a plan that cannot be verified: names, dates and notes of rounds, and the entries about its source."""
    named = {
        f"{key} of round {number}": item[key]
        for number, item in enumerate(plan.get("round", ()), start=1)
        for key in LABELS
        if key in item
    }
    return {**named, **plan.get("published", {})}


def _compared(answer: dict[str, Any]) -> dict[str, Any]:
    """The keys of an answer that are recomputed and compared."""
    return {key: value for key, value in answer.items() if key not in NOT_COMPARED}


def _count(value: Any) -> int:
    """Count of the numbers in an answer."""
    if isinstance(value, dict):
        return sum(map(_count, value.values()))
    if isinstance(value, list):
        return sum(map(_count, value))
    return int(isinstance(value, int | float) and not isinstance(value, bool))
