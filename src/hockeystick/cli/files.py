"""The shell completes the names of files where the command takes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """A word that stands for all names of files which begin so: the shell looks for them."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]
