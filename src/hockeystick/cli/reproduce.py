"""The command ``hockeystick reproduce``, which recomputes published figures and tables."""

from __future__ import annotations

import time

import click

from hockeystick.cli.options import names
from hockeystick.cli.progress import progress
from hockeystick.values.errors import InvalidInputError


@click.command()
@click.argument("name", required=False, shell_complete=names)
@click.option("--output", metavar="DIR", help="Folder for the CSV, SVG and PNG files; created if missing.")
@click.option(
    "--size",
    type=click.Choice(["full", "small"]),
    default="full",
    help="Compute all published points, or only a few of them.",
)
def reproduce(name: str | None, output: str | None, size: str) -> None:
    """Recompute published figures and tables with certified bounds; needs matplotlib.

    NAME is an experiment, a paper, or the word all. Without NAME, the command lists the experiments.

    Example: hockeystick reproduce gopi-1b --output figures
    """
    from hockeystick.papers import EXPERIMENTS, chosen
    from hockeystick.papers import reproduce as reproduced
    from hockeystick.report.tables import print_pairs
    from hockeystick.values.citations import readable

    if name is None:
        print_pairs([(item.name, f"{item.title}. {readable(item.source)}") for item in EXPERIMENTS.values()])
        return
    if output is None:
        raise InvalidInputError("no folder: give --output DIR", "output")
    for item in chosen(name):
        start = time.perf_counter()
        with progress(item.name) as say:
            paths = reproduced(item.name, output, size == "full", say)
        click.echo(f"{item.name}: {', '.join(path.name for path in paths)} ({time.perf_counter() - start:.1f} s)")
