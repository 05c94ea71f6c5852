"""Published figures and tables again, from this library alone: ``hockeystick reproduce``.

One file a paper; ``koskela_table`` is how one of their tables was computed. Each experiment asks the published methods
and the certified bracket the same questions, writes all answers as CSV and draws its figure from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hockeystick.papers import dots, gopi, koskela, saddle
from hockeystick.papers.experiment import Experiment
from hockeystick.papers.table import Table
from hockeystick.plot import drawn, need_matplotlib, save
from hockeystick.values.domains import choice, place
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.files import cause, write_text

EXPERIMENTS: dict[str, Experiment] = {
    item.name: item for item in (*gopi.EXPERIMENTS, *koskela.EXPERIMENTS, *dots.EXPERIMENTS, *saddle.EXPERIMENTS)
}
"""By name."""

ALL = "all"  # stands for every experiment where the name of one is expected
PAPERS = {"gopi": gopi.EXPERIMENTS, "koskela": koskela.EXPERIMENTS, "saddle": saddle.EXPERIMENTS}
"""Names for all experiments of a paper; the announcement's are called one by one."""
FIGURES = (".svg", ".png")  # endings of the files that are drawn


def chosen(name: str) -> Sequence[Experiment]:
    """The experiments of that name, of that paper, or all.

    Raises:
        InvalidInputError: there is none.
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
    """Compute, write and draw.

    Args:
        name: of an experiment, of a paper, or ``"all"``.
        output: a folder, made if need be; each experiment leaves NAME.csv, NAME.svg and NAME.png there.
        full: at the published size; a few points of each, coarser, otherwise.
        say: told what is being computed.

    Returns:
        The files that were written.

    Raises:
        InvalidInputError: an unknown name, or a place that cannot be written.
        HockeystickError: matplotlib is missing.
    """
    experiments = chosen(name)
    need_matplotlib()
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"{place(output)}: cannot be made: {cause(error)}") from None
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
    """The figure of a table, in both forms."""
    paths = [folder / f"{item.name}{ending}" for ending in FIGURES]
    for path in paths:
        save(drawn(item.panels(table), item.columns, item.width), path)
    return paths


__all__ = ["EXPERIMENTS", "Experiment", "Table", "chosen", "draw", "reproduce"]
