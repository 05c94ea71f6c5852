"""Published figures and tables, recomputed by this library alone: ``hockeystick reproduce``.

Each paper has one module, and ``koskela_table`` reconstructs the computation behind one published table. An experiment
computes the same quantities by the published methods and by this library. It writes all answers as a CSV file and draws
its figure from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hockeystick.papers import dots, gopi, koskela, laws, saddle
from hockeystick.papers.experiment import Experiment
from hockeystick.papers.table import Table
from hockeystick.plot import drawn, need_matplotlib, save
from hockeystick.values.domains import choice, place
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.files import cause, write_text

EXPERIMENTS: dict[str, Experiment] = {
    item.name: item for paper in (gopi, koskela, dots, saddle, laws) for item in paper.EXPERIMENTS
}
"""Experiments by name."""

ALL = "all"  # name that stands for all experiments
PAPERS = {"gopi": gopi.EXPERIMENTS, "koskela": koskela.EXPERIMENTS, "saddle": saddle.EXPERIMENTS}
"""Experiments of each paper, by its name; those of ``dots`` and ``laws`` are known by their own names only."""
FIGURES = (".svg", ".png")  # suffixes of drawn files


def chosen(name: str) -> Sequence[Experiment]:
    """Return the experiments with a name: one experiment, those of one paper, or all of them (``"all"``).

    Raises:
        InvalidInputError: the name is unknown.
    """
    if name == ALL:
        return tuple(EXPERIMENTS.values())
    if name in PAPERS:
        return PAPERS[name]
    if name not in EXPERIMENTS:
        raise InvalidInputError(choice("NAME", name, [*EXPERIMENTS, *PAPERS, ALL]), "name")
    return (EXPERIMENTS[name],)


def reproduce(
    name: str, output: str | Path, full: bool = True, say: Callable[[str], None] = lambda text: None
) -> list[Path]:
    """Compute experiments, write their tables and draw their figures.

    Args:
        name: name of an experiment or a paper, or ``"all"``.
        output: folder, created if missing, for NAME.csv, NAME.svg and NAME.png of each experiment.
        full: True for the published size, False for a few coarse points.
        say: function called with each progress message.

    Returns:
        The written files.

    Raises:
        InvalidInputError: the name is unknown, or a file cannot be written.
        HockeystickError: matplotlib is missing.
    """
    experiments = chosen(name)
    need_matplotlib()
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"{place(output)}: cannot be created: {cause(error)}") from None
    written: list[Path] = []
    for number, item in enumerate(experiments, start=1):
        where = f"{item.name} ({number} of {len(experiments)})"
        say(where)
        table = item.compute(full, lambda text, where=where: say(f"{where}: {text}"))  # type: ignore[misc]
        written.append(folder / f"{item.name}.csv")
        write_text(written[-1], table.csv())
        written += draw(item, table, folder)
    return written


def draw(item: Experiment, table: Table, folder: Path) -> list[Path]:
    """Draw the figure of an experiment as SVG and PNG, and return the paths of both files."""
    paths = [folder / f"{item.name}{ending}" for ending in FIGURES]
    for path in paths:
        save(drawn(item.panels(table), item.columns, item.width), path)
    return paths


__all__ = ["EXPERIMENTS", "Experiment", "Table", "chosen", "draw", "reproduce"]
