"""The results as tables, made from their JSON form: Markdown for the documentation, rows for the terminal."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.cases import short
from hockeystick.report.rounding import round_up

OURS = "hockeystick"
DIGITS = 8

Results = Mapping[str, Any]
Cell = Mapping[str, Any]


@dataclass(frozen=True)
class Summary:
    """One route over all cases.

    Attributes:
        label: which.
        claim: what its numbers are said to be.
        ratios: its time over this library's, one for each case that it answered.
        errors: its true errors, likewise.
        failed: ``(case, what it said)``.
        below: cases where what it gives lies below the truth.
        closer: cases where it came closer than this library's default.
        unmatched: those of them where this library did not come as close when asked to.
        not_offered: how many questions it has no function for.
    """

    label: str
    claim: str
    ratios: tuple[float, ...]
    errors: tuple[float, ...]
    failed: tuple[tuple[str, str], ...]
    below: tuple[str, ...]
    closer: tuple[str, ...]
    unmatched: tuple[str, ...]
    not_offered: int

    @property
    def mean(self) -> float | None:
        """Geometric mean of the ratios."""
        return math.exp(statistics.fmean(map(math.log, self.ratios))) if self.ratios else None


def summaries(results: Results) -> list[Summary]:
    """One for each route."""
    return [_summary(results, label, claim) for label, claim in results["routes"].items()]


def _summary(results: Results, label: str, claim: str) -> Summary:
    cells = [(case, case["cells"][label]) for case in results["cases"] if label in case["cells"]]
    answered = [(case, cell) for case, cell in cells if cell["outcome"] == "answered"]
    return Summary(
        label,
        claim,
        ratios=tuple(cell["seconds"] / cell["ours"] for _, cell in answered if cell["ours"] is not None),
        errors=tuple(cell["error"] for _, cell in answered),
        failed=tuple((case["name"], cell["said"]) for case, cell in cells if cell["outcome"] == "failed"),
        below=tuple(case["name"] for case, cell in answered if cell["below"]),
        closer=tuple(case["name"] for case, cell in answered if cell["gap"] is not None or not cell["matched"]),
        unmatched=tuple(case["name"] for case, cell in answered if not cell["matched"]),
        not_offered=sum(cell["outcome"] == "not offered" for _, cell in cells),
    )


def markdown(results: Results) -> str:
    """Everything between the markers of ``docs/benchmark.md``."""
    parts = [
        _setting(results),
        "## Summary",
        _summary_table(results),
        _own_summary(results),
        "## Failures and wrong answers",
        _failures(results),
        *(("## The same methods in both libraries", _twins(results)) if "twins" in results else ()),
        "## hockeystick alone",
        _alone(results),
        "## Every case",
    ]
    for group, cases in itertools.groupby(results["cases"], key=lambda case: case["group"]):
        parts += [f"### {group}", _group_table(list(cases))]
    return "\n\n".join(parts) + "\n"


def rows(case: Mapping[str, Any]) -> list[tuple[str, str, str, str, str, str]]:
    """Accountant, time, value, true error, ratio and remark, this library first."""
    ours = case["hockeystick"]
    found = [(OURS, *_answer(ours, round_outward=True), "1", _own_remark(ours))]
    for label, cell in case["cells"].items():
        if cell["outcome"] != "not offered":
            ratio = None if cell["ours"] is None or cell["seconds"] is None else cell["seconds"] / cell["ours"]
            found.append((label, *_answer(cell), "" if ratio is None else times(ratio), remark(cell)))
    return found


def remark(cell: Cell) -> str:
    """What has to be said of a peer's answer."""
    said = [cell["said"]] if cell["outcome"] == "failed" else []
    if cell["below"]:
        said.append("below the truth")
    if cell["estimate"] is not None:
        said.append(f"estimate {_value(cell['estimate'])}, off by {relative(cell['estimate_error'])}")
    if cell["gap"] is not None:
        said.append(f"hockeystick with a gap of {relative(cell['gap'])}: {seconds(cell['ours'])}")
    if not cell["matched"]:
        said.append("closer than hockeystick")
    return "; ".join(said)


def seconds(x: float | None) -> str:
    """Two digits, in ms or s."""
    if x is None:
        return ""
    return f"{float(f'{x * 1e3:.2g}'):g} ms" if x < 0.995 else f"{float(f'{x:.2g}'):g} s"


def times(x: float) -> str:
    """A ratio to two digits."""
    return f"{float(f'{x:.2g}'):g}×"


def _answer(cell: Cell, round_outward: bool = False) -> tuple[str, str, str]:
    if cell["outcome"] != "answered":
        return "", "", ""
    value = round_up(cell["value"], DIGITS) if round_outward else _value(cell["value"])
    return seconds(cell["seconds"]), value, relative(cell["error"])


def _own_remark(cell: Cell) -> str:
    if cell["outcome"] != "answered":
        return str(cell["said"])
    return f"{cell['by']}, certified width {relative((cell['value'] - cell['lower']) / cell['value'])}"


def _value(x: float) -> str:
    return re.sub(r"e([+-])0?", lambda found: "e" + found[1].strip("+"), f"{x:.{DIGITS}g}")


def relative(x: float) -> str:
    """Relative errors and widths to one digit, up."""
    return "0" if x == 0 else short(float(round_up(x, 1)))


def signed(x: float) -> str:
    """A relative difference to two digits, with its sign.

    >>> signed(5.62e-5), signed(-0.004), signed(1.3), signed(0.0)
    ('+5.6e-5', '-4e-3', '+1.3', '0')
    """
    said = short(float(f"{x:.1e}"))
    return f"+{said}" if x > 0 else said


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _setting(results: Results) -> str:
    setting = results["setting"]
    *others, last = (f"{name} {version}" for name, version in setting["versions"].items())
    versions = f"{', '.join(others)} and {last}" if others else last
    return (
        f"These results were measured with {versions}. Each process ran Python {setting['python']} on one of "
        f"{setting['cores']} shared cores, with at most {setting['memory_mib'] / 1024:g} GiB of memory."
    )


def _summary_table(results: Results) -> str:
    head = ["accountant", "kind of value", "answers", "below the truth", "true error: median, largest"]
    head += ["time ratio: geometric mean, range", "closer than the default", "closer than any gap"]
    body = []
    for item in summaries(results):
        asked = len(item.errors) + len(item.failed)
        line = [item.label, item.claim, f"{len(item.errors)} of {asked}", str(len(item.below))]
        line.append(f"{relative(statistics.median(item.errors))}, {relative(max(item.errors))}" if item.errors else "")
        spread = f", {times(min(item.ratios))} to {times(max(item.ratios))}" if item.ratios else ""
        line.append("" if item.mean is None else f"**{times(item.mean)}**{spread}")
        body.append([*line, str(len(item.closer)), str(len(item.unmatched))])
    return table(head, body)


def _own_summary(results: Results) -> str:
    cells = [case["hockeystick"] for case in results["cases"] if case["hockeystick"]["outcome"] == "answered"]
    errors = [cell["error"] for cell in cells]
    widths = [(cell["value"] - cell["lower"]) / cell["value"] for cell in cells]
    cold = [cell["cold"] for cell in cells if cell.get("cold")]
    after = f", or {seconds(statistics.median(cold))} directly after a call to another accountant" if cold else ""
    below = sum(cell["below"] for cell in cells)
    said = f"{below} of its answers {'is' if below == 1 else 'are'}" if below else "none of its answers is"
    return (
        f"hockeystick answers {len(cells)} of {len(results['cases'])} questions, and {said} below the truth. "
        f"The true error of the upper end has a median of {relative(statistics.median(errors))} and is at most "
        f"{relative(max(errors))}. The certified width has a median of {relative(statistics.median(widths))} and is at "
        f"most {relative(max(widths))}. The median time is "
        f"{seconds(statistics.median(cell['seconds'] for cell in cells))}{after}."
    )


def _failures(results: Results) -> str:
    body = []
    for item in summaries(results):
        said: dict[str, list[str]] = {}
        for case, text in item.failed:
            said.setdefault(text, []).append(f"`{case}`")
        if item.below:
            said["below the truth"] = [f"`{case}`" for case in item.below]
        if item.unmatched:
            said["closer than hockeystick at any gap tried"] = [f"`{case}`" for case in item.unmatched]
        body += [[item.label, text, ", ".join(cases)] for text, cases in said.items()]
    return table(("accountant", "result", "cases"), body)


def _twins(results: Results) -> str:
    head = [
        *("peer", "accountant here", "both answer", "only the peer", "difference in value: median, largest"),
        *("ours minus theirs", "difference in estimate: median, largest"),
    ]
    body = []
    groups: dict[tuple[str, str], list[Cell]] = {}
    for item in results["twins"]:
        groups.setdefault((item["label"], item["accountant"]), []).append(item)
    for (label, accountant), items in groups.items():
        both = [(item["ours"], item["theirs"]) for item in items if item["ours"]["value"] is not None]
        line = [label, f"`{accountant}`", str(len(both)), str(len(items) - len(both))]
        values = [(ours["value"] - theirs["value"]) / theirs["value"] for ours, theirs in both]
        guesses = [
            abs(ours["estimate"] - theirs["estimate"]) / theirs["estimate"]
            for ours, theirs in both
            if ours["estimate"] is not None and theirs["estimate"] is not None
        ]
        line += [_spread([abs(value) for value in values]), _range(values) if both else ""]
        body.append([*line, _spread(guesses)])
    return table(head, body)


def _range(values: Sequence[float]) -> str:
    return f"{signed(min(values))} to {signed(max(values))}"


def _spread(differences: Sequence[float]) -> str:
    return f"{relative(statistics.median(differences))}, {relative(max(differences))}" if differences else ""


def _alone(results: Results) -> str:
    scaling = [
        (short(found["rounds"]), seconds(found["seconds"]), relative(found["width"]), found["by"])
        if found["error"] is None
        else (short(found["rounds"]), "", "", found["error"])
        for found in results["alone"]["scaling"]
    ]
    memory = [
        (f"`{found['name']}`", f"{found['mib']:.0f} MiB" if found["error"] is None else found["error"])
        for found in results["alone"]["memory"]
    ]
    return "\n\n".join(
        (
            "One plan (noise 4, rate 1e-3, delta 1e-6) with an increasing number of rounds:",
            table(("rounds", "time", "certified width", "engine"), scaling),
            *_growth(results["alone"]["allocation"]),
            "The next table shows the peak memory of each case in a new process, minus the memory that `import "
            "hockeystick` uses. The numbers include the parts of SciPy that the first question loads:",
            table(("case", "memory"), memory),
        )
    )


def _growth(found: Mapping[str, Any]) -> list[str]:
    """Epochs of random allocation, with more and more steps, and more and more of them."""
    published = found["published"]
    cells = {(cell["steps"], cell["epochs"]): cell for series in ("steps", "epochs") for cell in found[series]}
    body = [
        (*map(short, place), seconds(cell["seconds"]), round_up(cell["value"], DIGITS), relative(cell["width"]))
        if cell["error"] is None
        else (*map(short, place), "", "", cell["error"])
        for place, cell in cells.items()
    ]
    width = (published["upper"] - published["lower"]) / published["upper"]
    theirs = f"published accountant: {_value(published['upper'])}"
    where = short(published["steps"]), short(published["epochs"])
    body.append((*where, f"{published['seconds']:g} s", theirs, relative(width)))
    return [
        "The next table shows random allocation (noise 1, delta 1e-6, a record added or removed). In the upper rows, "
        "the number of steps per epoch increases. In the lower rows, the number of epochs increases. The last row "
        "shows the published accountant, for the remove direction only:",
        table(("steps per epoch", "epochs", "time", "epsilon", "certified width"), body),
    ]


def _group_table(cases: Sequence[Mapping[str, Any]]) -> str:
    head = ("question", "accountant", "time", "value", "true error", "time ratio", "remarks")
    body = []
    for case in cases:
        given = "epsilon" if case["quantity"] == "delta" else "delta"
        name = f"{short(case['rounds'])} rounds, {given} {short(case['at'])}: {_value(float(case['truth']))}"
        for i, row in enumerate(rows(case)):
            body.append(["" if i else name, *row])
    return table(head, body)
