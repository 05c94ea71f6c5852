"""The code can be read cold: no docstring needs the one before it, and every number has a word."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "hockeystick"
FILES = sorted(PACKAGE.rglob("*.py"))
LEANING = re.compile(r"(The same|That of|Those of)\b")
"""How a docstring begins that is about the one before it."""

NO_WORD = re.compile(r"#\s*(noqa|type:|fmt:|pragma)")
"""A comment that is for a tool."""


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    """The docstrings of a file, each with the line of its definition."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found = ast.get_docstring(node)
            if found is not None:
                yield getattr(node, "lineno", 1), found


def commented(text: str) -> tuple[set[int], set[int]]:
    """The lines that end in a comment with a word for people, and those that are such a comment and nothing else."""
    ends, whole = set(), set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not NO_WORD.match(token.string):
            ends.add(token.start[0])
            if token.line.lstrip().startswith("#"):
                whole.add(token.start[0])
    return ends, whole


def mute_constants(text: str) -> Iterator[tuple[int, str]]:
    """Module constants with a number in them and no comment on their lines or above, or string below; line and name."""
    ends, whole = commented(text)
    body = ast.parse(text).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
        if not any(re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name) for name in names):
            continue
        values = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
        if not any(type(value) in (int, float) for value in values):
            continue  # texts, patterns and tables of names say by their names what they are
        if any(isinstance(value, str) and " " in value for value in values):
            continue  # a domain has its words in itself
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        below = (
            isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)
        )
        if not (ends.intersection(lines) or node.lineno - 1 in whole or below):
            yield node.lineno, ", ".join(names)


def place(path: Path, line: int, what: str) -> str:
    return f"{path.relative_to(PACKAGE)}:{line}: {what}"


def test_no_docstring_leans_on_the_one_before_it() -> None:
    """A reader comes to one definition by its name, not down the file."""
    found = [(path, line, text) for path in FILES for line, text in docstrings(path.read_text(encoding="utf-8"))]
    assert len(found) > 1500
    assert not [place(path, line, text) for path, line, text in found if LEANING.match(text)]


def test_every_number_of_a_module_has_a_word() -> None:
    """What it is, in which unit, or why that value: on its line, above it, or in a string below it."""
    assert not [
        place(path, line, names) for path in FILES for line, names in mute_constants(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(
    ("text", "mute"),
    [
        ("A = 1\n", ["A"]),
        ("A = 1  # second\n", []),
        ("A = 1  # noqa: E731\n", ["A"]),
        ("# Seconds.\nA = 1\nB = 2\n", ["B"]),
        ('A, _B = 1, 2\n"""Seconds."""\n', []),
        ('A: int = 1\n\n\ndef f() -> None:\n    """Seconds."""\n', ["A"]),
        ("A = (\n    1,  # second\n    2,\n)\nlower = 3\n", []),
        ("lower = 3\n", []),
        ('KIND = "report"\n', []),
        ('A = ("report", 1.5)\n', ["A"]),
        ('A = Domain("a number from 0 to 1", {"minimum": 0})\n', []),
    ],
)
def test_what_counts_as_a_word(text: str, mute: list[str]) -> None:
    assert [name for _, name in mute_constants(text)] == mute
