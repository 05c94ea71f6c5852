"""The output of ``--json``: one object on one line, with full precision."""

from __future__ import annotations

from typing import Any

import click

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with full precision.")


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output.

    Raises:
        ValueError: the value holds an infinity or nan, which JSON lacks.
    """
    import json  # imported late, since most answers are for people

    click.echo(json.dumps(value, allow_nan=False))
