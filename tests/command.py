"""The command, run within the test: what it prints on standard output and on standard error, apart."""

from __future__ import annotations

import inspect
from typing import Any

from click.testing import CliRunner


def runner() -> CliRunner:
    """A runner that keeps the two streams apart: click before 8.2 mixes them unless it is told not to."""
    apart: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
    return CliRunner(**apart)
