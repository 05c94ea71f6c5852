"""The command ``hockeystick explore``: a page of live curves, served on this machine until Ctrl-C."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from hockeystick.cli.numbers import FALLING
from hockeystick.cli.plans import STANDARD_INPUT, chosen_plan, flag_names, plan_source
from hockeystick.values.words import place


@click.command()
@plan_source
@click.option("--delta", type=FALLING, metavar="NUMBER", help="Target delta; beats the one in the plan.")
@click.option("--port", type=click.IntRange(0, 65_535), metavar="NUMBER", help="Port; 8417, or a free one, by default.")
@click.option("--no-browser", is_flag=True, help="Say the address, and open no browser.")
def explore(plan: str | None, delta: float | None, port: int | None, no_browser: bool, **flags: Any) -> None:
    """Serve a page with sliders and live certified curves of two plans; needs starlette and uvicorn.

    PLAN is a .toml or .json file, or - for standard input. For DP-SGD, flags can replace it; with neither, the page
    shows an example. It is served on this machine alone; Ctrl-C ends it.

    Example: hockeystick explore --sigma 1.1 --batch 256 --dataset-size 60000 --epochs 60 --delta 1e-5
    """
    from hockeystick.explorer.serve import explore as served
    from hockeystick.explorer.serve import need_server

    need_server()
    given = plan is not None or any(value is not None for value in flags.values())
    chosen = chosen_plan(plan, flags) if given else None
    if chosen is not None and delta is not None:
        with flag_names():
            chosen = replace(chosen, delta_target=delta)
    name = "" if plan is None else "standard input" if plan == STANDARD_INPUT else place(Path(plan).name)
    with served(chosen, port=port, browser=not no_browser, name=name) as page:
        click.echo(f"{page.url}\nserved to this machine alone; Ctrl-C ends it")
        try:
            page.wait()
        except KeyboardInterrupt:  # the normal end of this command
            click.echo("", err=True)
