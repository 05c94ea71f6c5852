"""The three forms of a report as text, and extraction of its numbers from each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hockeystick.plan.file import parsed_json
from hockeystick.report.document.markdown import FENCE, markdown
from hockeystick.report.document.page import ISLAND, page
from hockeystick.report.document.wording import report_blocks
from hockeystick.values.domains import one_line
from hockeystick.values.errors import InvalidInputError

HTML, MARKDOWN, JSON = "HTML", "Markdown", "JSON"  # the forms of a report
ENDINGS: Mapping[str, str] = {".html": HTML, ".htm": HTML, ".md": MARKDOWN, ".markdown": MARKDOWN, ".json": JSON}
"""Form of a report by the suffix of its file."""


def report_text(record: Mapping[str, Any], form: str) -> str:
    """Return a report in one of the forms, ending in a line break.

    Args:
        record: result of :func:`hockeystick.report.document.record.report_record`.
        form: ``"HTML"``, ``"Markdown"`` or ``"JSON"``.

    Raises:
        InvalidInputError: the plan in the record is invalid.
    """
    if form == JSON:
        return json.dumps(record, indent=2, allow_nan=False) + "\n"
    blocks = report_blocks(record)
    if form == MARKDOWN:
        return markdown(blocks, record)
    about = one_line(record["asked"]["title"] or "")
    return page(f"Differential privacy report{': ' + about if about else ''}", blocks, record)


def record_in(text: str) -> tuple[str, dict[str, Any]]:
    """Return the form of a file (HTML, Markdown or JSON) and the record in it.

    Raises:
        InvalidInputError: the file holds no record, several records, or invalid JSON.
    """
    if text.lstrip().startswith("{"):
        return JSON, _parsed(text)
    fence = f"\n{FENCE[0]}\n", f"\n{FENCE[1]}"
    for form, (begin, end) in ((HTML, ISLAND), (MARKDOWN, fence)):
        _, found, rest = text.partition(begin)
        if found:
            return form, _parsed(rest.partition(end)[0])
    raise InvalidInputError("it holds no answer of hockeystick: no JSON object, no report as HTML or Markdown")


def _parsed(text: str) -> dict[str, Any]:
    found = parsed_json(text, "an answer of hockeystick", _whole)
    if not isinstance(found, dict):
        raise InvalidInputError("its numbers are no JSON object")
    return found


def _whole(digits: str) -> int:
    try:
        float(number := int(digits))
    except OverflowError:
        raise InvalidInputError(f"it holds a number of {len(digits)} digits, which no answer of ours has") from None
    return number
