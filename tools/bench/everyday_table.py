"""What an everyday user sees, as tables in Markdown, made from the JSON form of ``bench.everyday``."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.table import relative, signed, table, times

PEER = "dp-accounting PLD"
OURS = "hockeystick"

Cells = Sequence[Mapping[str, Any]]


def markdown(found: Mapping[str, Any]) -> str:
    """The parts that were measured, each under its heading."""
    shown: list[str] = []
    for part, (heading, tables) in PARTS.items():
        if part in found:
            shown += [f"### {heading}", *tables(found[part])]
    return "\n\n".join(shown) + "\n"


def duration(x: float) -> str:
    """Two digits, in µs, ms or s.

    >>> duration(0.000223), duration(0.0149), duration(3.21)
    ('220 µs', '15 ms', '3.2 s')
    """
    for unit, scale in (("µs", 1e6), ("ms", 1e3)):
        if x * scale < 995:
            return f"{float(f'{x * scale:.2g}'):g} {unit}"
    return f"{float(f'{x:.2g}'):g} s"


def ratios(theirs: Sequence[float], ours: Sequence[float]) -> tuple[float, float]:
    """How many times as long the one takes as the other: by the means, and by the medians."""
    return statistics.fmean(theirs) / statistics.fmean(ours), statistics.median(theirs) / statistics.median(ours)


def answered(cells: Cells) -> tuple[list[float], list[float]]:
    """Seconds of both, of what both answer."""
    both = [cell for cell in cells if cell["ours"]["error"] is None and cell["theirs"]["error"] is None]
    return [cell["theirs"]["seconds"] for cell in both], [cell["ours"]["seconds"] for cell in both]


def _sweep(found: Mapping[str, Any]) -> list[str]:
    sizes = [
        (
            f"{cell['plans']:,}",
            duration(cell["asking"]),
            f"{1 / cell['asking']:,.0f}",
            f"{100 * cell['wide']:.2f} %",
            relative(cell["widest"]),
            duration(cell["making"]),
        )
        for cell in found["sizes"]
    ]
    theirs, ours = answered(found["each"])
    largest = found["sizes"][-1]
    together = [largest["asking"]]
    asked, many = len(found["each"]), f"{largest['plans']:,}"
    one_by_one = [
        (f"{PEER}, {asked} of them one by one", theirs),
        (f"{OURS}, the same {asked} one by one", ours),
        (f"{OURS}, all {many} in one call", together),
    ]
    rows = []
    for name, seconds in one_by_one:
        mean, median = ratios(theirs, seconds)
        shown = ("", "") if seconds is theirs else (f"**{times(mean)}**", f"**{times(median)}**")
        middle = duration(statistics.median(seconds)) if seconds is not together else ""
        rows.append((name, duration(statistics.fmean(seconds)), middle, *shown))
    above = [
        (cell["theirs"]["value"] - cell["ours"]["value"]) / cell["ours"]["value"]
        for cell in found["each"]
        if cell["theirs"]["error"] is None and cell["ours"]["error"] is None
    ]
    below = sum(
        cell["theirs"]["value"] < cell["ours"]["value"] * (1 - cell["ours"]["width"])
        for cell in found["each"]
        if cell["theirs"]["error"] is None and cell["ours"]["error"] is None
    )
    hours = statistics.fmean(theirs) * largest["plans"] / 3600
    head = ("plans in one call", "time per plan", "plans per second", "wider than 1e-6", "widest", "building a plan")
    return [
        table(head, sizes),
        table(("plans", "mean", "median", "ratio by the mean", "ratio by the median"), rows),
        f"Both libraries answer {len(theirs)} of {asked} plans. The relative difference between the value "
        f"from {PEER} and the certified upper end ranges from {signed(min(above))} to {signed(max(above))}. The median "
        f"of this difference is {signed(statistics.median(above))}. The number of values from {PEER} below the "
        f"certified lower end is {below}. At this speed, {PEER} would take "
        f"{hours:,.1f} hours to compute all {many} plans one by one. A single call of {OURS} computes all of them in "
        f"{duration(largest['asking'] * largest['plans'])}.",
    ]


def _schedules(found: Mapping[str, Any]) -> list[str]:
    kinds = [
        (f"{cell['size']:,}", duration(cell["ours"]["seconds"]), _width(cell["ours"]), _theirs(cell["theirs"]))
        for cell in found["kinds"]
    ]
    steps = [
        (
            f"{one['size']:,}",
            duration(one["ours"]["seconds"]),
            _theirs(one["theirs"]),
            duration(other["ours"]["seconds"]),
            _theirs(other["theirs"]),
        )
        for one, other in zip(found["different"], found["alike"], strict=True)
    ]
    return [
        table(("kinds of rounds", "one question", "certified width", PEER), kinds),
        table(("steps, one question each", "noise changes every step", PEER, "same noise throughout", PEER), steps),
    ]


def _calibrations(cells: Cells) -> list[str]:
    theirs, ours = answered(cells)
    mean, median = ratios(theirs, ours)
    rows = [
        (PEER, duration(statistics.fmean(theirs)), duration(statistics.median(theirs)), "", ""),
        (
            OURS,
            duration(statistics.fmean(ours)),
            duration(statistics.median(ours)),
            f"**{times(mean)}**",
            f"**{times(median)}**",
        ),
    ]
    differences = [
        (cell["theirs"]["value"] - cell["ours"]["value"]) / cell["ours"]["value"]
        for cell in cells
        if cell["theirs"]["error"] is None and cell["ours"]["error"] is None
    ]
    failed = [cell["theirs"]["error"] for cell in cells if cell["theirs"]["error"] is not None]
    said = f" For the other questions, {PEER} says: {'; '.join(dict.fromkeys(failed))}." if failed else ""
    return [
        table(("calibration", "mean", "median", "ratio by the mean", "ratio by the median"), rows),
        f"Both libraries answer {len(theirs)} of {len(cells)} questions. The relative difference between "
        f"the noise from {PEER} and the noise from {OURS} ranges from {signed(min(differences))} to "
        f"{signed(max(differences))}.{said}",
    ]


def _first(cells: Cells) -> list[str]:
    base = cells[0]["seconds"]
    rows = [(cell["name"], duration(cell["seconds"]), f"{cell['seconds'] / base:.1f}") for cell in cells]
    return [table(("process", "processor time", "relative to `import numpy`"), rows)]


def _theirs(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return ""
    return duration(cell["seconds"]) if cell["error"] is None else str(cell["error"])


def _width(cell: Mapping[str, Any]) -> str:
    return relative(cell["width"]) if cell["error"] is None else str(cell["error"])


PARTS: dict[str, tuple[str, Callable[[Any], list[str]]]] = {
    "sweep": ("Many plans", _sweep),
    "schedules": ("Schedules", _schedules),
    "calibrations": ("The noise for an epsilon", _calibrations),
    "first": ("The first answer of a process", _first),
}
