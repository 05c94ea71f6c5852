"""The page on accountants, from what each says of itself: its ``summary``, its module's docstring, its options."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import fields

from hockeystick.accountants import ACCOUNTANTS, Accountant
from hockeystick.report.rounding import exact
from hockeystick.values.domains import domains_of

KINDS = {
    "certified": ("Certified intervals", "Both ends are proved, and the true value lies between them."),
    "upper bound": (
        "Upper bounds",
        "The true value is at most the upper bound. Its distance from the bound is not known.",
    ),
    "estimate": (
        "Estimates",
        "An estimate is usually near the true value, but may lie on either side of it. Do not quote it as a guarantee.",
    ),
    "": (
        "More than one kind",
        "The kind of answer depends on the plan and on the options. Each result names its kind.",
    ),
}
"""By the words with which summaries begin: title, and what that kind of number means."""

_LABELLED = r"{}:\s+(.*?)(?=\s*(?:Cost|Known\s+failure):\s|\n\n|\Z)"
_CODE = re.compile(r"(``.*?``)", re.DOTALL)


def tables() -> str:
    """For each kind of number a table of its methods: what each does, what it costs, where it fails."""
    parts = []
    for kind, (title, meaning) in KINDS.items():
        names = [name for name, accountant in ACCOUNTANTS.items() if kind_of(accountant) == kind]
        if names:
            head = "| accountant | what it does | cost | known failure |\n| --- | --- | --- | --- |\n"
            parts.append(f"### {title}\n\n{meaning}\n\n{head}" + "".join(_row(name, kind) for name in names))
    return "\n".join(parts)


def sections() -> str:
    """A section for each method: its source and its algorithm, and its options."""
    return "\n".join(f"({_anchor(name)})=\n### `{name}`\n\n{_about(name)}{_options(name)}" for name in ACCOUNTANTS)


def page() -> str:
    """Both."""
    return f"{tables()}\n## Sources and options\n\n{sections()}"


def kind_of(accountant: Accountant) -> str:
    """The kind of its numbers, by the words with which its summary begins; empty if there is more than one."""
    start, colon, _ = accountant.summary.partition(":")
    return start if colon and start in KINDS else ""


def labelled(text: str, label: str) -> str:
    """What stands after ``label:`` in a docstring, on one line; empty if it is not there."""
    found = re.search(_pattern(label), text, re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def _pattern(label: str) -> str:
    return _LABELLED.format(label.replace(" ", r"\s+"))


def _row(name: str, kind: str) -> str:
    accountant = ACCOUNTANTS[name]
    text = _docstring(name)
    what = accountant.summary.removeprefix(kind).lstrip(": ")
    cells = (f"[`{name}`](#{_anchor(name)})", what, labelled(text, "Cost"), labelled(text, "Known failure"))
    return "| " + " | ".join(_markdown(cell).replace("|", "\\|") or "–" for cell in cells) + " |\n"


def _about(name: str) -> str:
    text = _docstring(name)
    for label in ("Cost", "Known failure"):
        text = re.sub(_pattern(label), "", text, flags=re.DOTALL)
    paragraphs = [part.rstrip() for part in text.split("\n\n") if part.strip()]
    return "\n\n".join(part if part.startswith("    ") else _markdown(part) for part in paragraphs) + "\n"


def _default(value: float | None) -> str:
    return "chosen by the method" if value is None else exact(value)


def _options(name: str) -> str:
    accountant = ACCOUNTANTS[name]
    domains = domains_of(type(accountant))
    if not domains:
        return ""
    rows = [
        f"| `{item.name}` | {domains[item.name].accepted} | {_default(getattr(accountant, item.name))} "
        f"| {domains[item.name].meaning} |\n"
        for item in fields(accountant)
        if item.name in domains
    ]
    return "\n| option | value | default | meaning |\n| --- | --- | --- | --- |\n" + "".join(rows)


def _docstring(name: str) -> str:
    return inspect.getdoc(sys.modules[type(ACCOUNTANTS[name]).__module__]) or ""


def _anchor(name: str) -> str:
    return f"accountant-{name}"


def _markdown(text: str) -> str:
    """Docstrings have two backticks around code, and roles; stars and dollars outside code stand for themselves."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"``\1``", text)
    parts = [
        part.replace("``", "`") if part.startswith("``") else re.sub(r"([*$<])", r"\\\1", part)
        for part in _CODE.split(text)
    ]
    return "".join(parts)
