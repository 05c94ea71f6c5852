"""The command, run within the test: what it prints on standard output and on standard error, apart."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from hockeystick.cli import main


def runner() -> CliRunner:
    """A runner that keeps the two streams apart: click before 8.2 mixes them unless it is told not to."""
    apart: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
    return CliRunner(**apart)


def run(*args: str | Path, stdin: str | bytes | None = None) -> Result:
    """What the command makes of its arguments, with both streams and its status."""
    return runner().invoke(main, [str(arg) for arg in args], input=stdin)


def refused(*args: str | Path, stdin: str | bytes | None = None) -> str:
    """The message with which the command refuses its arguments: one line on standard error, and nothing beside it."""
    result = run(*args, stdin=stdin)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("error: ").removesuffix("\n")
