"""Shell completion of file names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return one completion item that lets the shell list matching files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]
