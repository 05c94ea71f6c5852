"""What a run leaves in the documentation: the tables between the markers, the data, the plots."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from bench.environments import HOME, ROOT
from bench.everyday_table import markdown as everyday
from bench.files import write_text
from bench.table import markdown

PAGE = ROOT / "docs" / "benchmark.md"
DATA = ROOT / "docs" / "_static" / "benchmark.json"
PLOT = ROOT / "docs" / "_static" / "benchmark.svg"
GROWTH_PLOT = ROOT / "docs" / "_static" / "growth.svg"
EVERYDAY_PLOT = ROOT / "docs" / "_static" / "everyday.svg"
RESULTS = HOME / "results.json"
BEGIN = "<!-- made by `make bench`: begin -->\n"
END = "<!-- made by `make bench`: end -->\n"
EVERYDAY_BEGIN = "<!-- made by `python -m bench.everyday`: begin -->\n"
EVERYDAY_END = "<!-- made by `python -m bench.everyday`: end -->\n"


def filled(page: str, results: dict[str, Any]) -> str:
    """The page with these results between its markers."""
    for begin, end, text in (
        (EVERYDAY_BEGIN, EVERYDAY_END, everyday(results["everyday"])),
        (BEGIN, END, markdown(results)),
    ):
        before, rest = page.split(begin)
        _, after = rest.split(end)
        page = f"{before}{begin}\n{text}\n{end}{after}"
    return page


def write_docs(results: dict[str, Any], python: Path) -> list[Path]:
    """Write page, data and plots; ``python`` has matplotlib."""
    write_text(DATA, json.dumps(results, indent=1) + "\n")
    draw(python)
    write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), results))
    return [PAGE, DATA, PLOT, GROWTH_PLOT, EVERYDAY_PLOT]


def draw(python: Path) -> None:
    """The plots, from the data."""
    for plot, name in ((PLOT, "plot.py"), (GROWTH_PLOT, "growth_plot.py"), (EVERYDAY_PLOT, "everyday_plot.py")):
        temporary = plot.with_name(f".{os.getpid()}.{plot.name}")
        script = Path(__file__).with_name(name)
        subprocess.run([str(python), str(script), str(DATA), str(temporary)], check=True)
        temporary.replace(plot)
