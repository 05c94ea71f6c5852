"""What it takes to show a published figure again: its questions, its answers as a table, its panels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from hockeystick.papers.table import Cell, Table
from hockeystick.plan.dp_sgd import dp_sgd
from hockeystick.plan.mechanisms import Gaussian
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import Round
from hockeystick.plan.sampling import WithoutReplacement
from hockeystick.plot import BRACKET, Bracket, Line, Panel
from hockeystick.plot.asked import Asked, ask
from hockeystick.report.cold import cold

Say = Callable[[str], None]

CERTIFIED = "certified"  # label of the bracket, in tables and legends

COLUMNS = (
    "method",
    "options",
    "noise_multiplier",
    "sample_rate",
    "rounds",
    "adjacency",
    "quantity",
    "at",
    "lower",
    "value",
    "estimate",
    "seconds",
    "reason",
)
"""Of most tables: ``quantity`` (epsilon or delta) ``at`` a delta or an epsilon, by a method with its options."""


@dataclass(frozen=True)
class Setting:
    """DP-SGD as the papers give it.

    Attributes:
        noise: standard deviation of the noise / clipping norm.
        rate: probability that a record is sampled.
        rounds: how many.
        adjacency: what the published methods compose; the certified bracket is always that of both directions.
    """

    noise: float
    rate: float
    rounds: int
    adjacency: str = "remove"

    def plan(self, adjacency: str | None = None, batches: bool = False) -> Plan:
        """As a plan: Poisson-sampled, or with batches of a fixed size, drawn without replacement, of the same rate."""
        neighbours = adjacency or self.adjacency
        if not batches:
            return dp_sgd(self.noise, self.rate, self.rounds, adjacency=neighbours)
        share = Fraction(self.rate).limit_denominator(10**9)
        sampling = WithoutReplacement(share.numerator, share.denominator)
        return Plan([Round(Gaussian(self.noise), sampling, self.rounds)], neighbours)

    @property
    def whole(self) -> str:
        """The adjacency of which the published direction is one."""
        return "add-or-remove" if self.adjacency in ("add", "remove") else self.adjacency


@dataclass(frozen=True)
class Method:
    """An accountant with options, under a label.

    Attributes:
        label: as the legend and the table call it.
        accountant: its name.
        options: what it is given, possibly by the setting.
        batches: whether it is asked about batches of a fixed size drawn without replacement, not about Poisson's.
    """

    label: str
    accountant: str = ""
    options: Callable[[Setting], Mapping[str, float]] = field(default=lambda setting: {})
    batches: bool = False

    def ask(self, setting: Setting, quantity: str, at: float, times: int = 1) -> tuple[Asked, str, str]:
        """Its answer, the options and the adjacency.

        The time is that of one call, or the shortest of so many; the certified bracket's, and all where there are many,
        are of other noise (``report/cold.py``), so that nothing that is kept from before answers.
        """
        certified = self.label == CERTIFIED
        options = {} if certified else dict(self.options(setting))
        adjacency = setting.whole if certified else setting.adjacency
        name = "auto" if certified else self.accountant or self.label
        told = " ".join(f"{key}={value:.6g}" for key, value in options.items())
        plan = setting.plan(adjacency, self.batches)
        answer = ask(plan, quantity, at, name, **options)
        others = [cold(plan) for _ in range(max(times - 1, int(certified)))]
        runs = [ask(other, quantity, at, name, **options).seconds for other in others if other is not None]
        return replace(answer, seconds=min(runs, default=answer.seconds)), told, adjacency


@dataclass(frozen=True)
class Experiment:
    """One figure or table of a paper.

    Attributes:
        name: as the command calls it; files are named by it.
        title: what is shown.
        source: where it was published, with keys of the bibliography in square brackets.
        compute: the table, at full size or small, told how far it is.
        panels: the figure of a table.
        columns: panels beside each other.
        width: of one column in inches.
    """

    name: str
    title: str
    source: str
    compute: Callable[[bool, Say], Table]
    panels: Callable[[Table], Sequence[Panel]]
    columns: int = 1
    width: float = 3.4


def answers(
    methods: Sequence[Method],
    settings: Sequence[Setting],
    questions: Sequence[tuple[str, float]],
    say: Say,
    times: int = 1,
) -> Table:
    """Every method asked every question of every setting so many times, the certified bracket last."""
    table = Table(COLUMNS)
    for method in (*methods, Method(CERTIFIED)):
        for number, setting in enumerate(settings, start=1):
            say(f"{method.label} ({number} of {len(settings)})")
            for quantity, at in questions:
                add(table, method, setting, quantity, at, times)
    return table


def add(table: Table, method: Method, setting: Setting, quantity: str, at: float, times: int = 1) -> None:
    """One answer as a row."""
    answer, options, adjacency = method.ask(setting, quantity, at, times)
    table.add(
        method=method.label,
        options=options,
        noise_multiplier=setting.noise,
        sample_rate=setting.rate,
        rounds=setting.rounds,
        adjacency=adjacency,
        quantity=quantity,
        at=at,
        lower=answer.lower,
        value=answer.value,
        estimate=answer.estimate,
        seconds=round(answer.seconds, 6),
        reason=answer.reason,
    )


def lines(table: Table, x: str, styles: Mapping[str, str] | None = None, skip: Sequence[str] = ()) -> list[Line]:
    """The methods of a table as lines over one of its columns."""
    out = []
    for label in table.values("method"):
        if label == CERTIFIED or label in skip:
            continue
        own = table.where(method=label)
        lower = [low if low > 0 else math.nan for low in own.numbers("lower")]  # 0 is known without asking
        two_sided = any(low > 0 for low in lower)
        style = (styles or {}).get(str(label), "")
        out.append(Line(str(label), own.numbers(x), own.numbers("value"), lower if two_sided else None, style))
    return out


def bracket(table: Table, x: str) -> Bracket:
    """The certified rows of a table."""
    own = table.where(method=CERTIFIED)
    return Bracket(own.numbers(x), own.numbers("lower"), own.numbers("value"))


def timed(table: Table, x: str = "rounds") -> list[Line]:
    """Seconds of every method over a column."""
    out = []
    for label in table.values("method"):
        own = table.where(lambda row: row["value"] != "", method=label)  # a refusal takes no time to speak of
        shown = BRACKET if label == CERTIFIED else str(label)
        out.append(Line(shown, own.numbers(x), own.numbers("seconds")))
    return out


def off(table: Table, x: str, labels: Sequence[str], styles: Mapping[str, str] | None = None) -> list[Line]:
    """Relative distance of methods from the middle of the certified bracket, over a column."""
    truth = table.where(method=CERTIFIED).numbers("estimate")
    out = []
    for label in labels:
        own = table.where(method=label)
        errors = [abs(value / true - 1) for value, true in zip(own.numbers("value"), truth, strict=True)]
        out.append(Line(label, own.numbers(x), errors, style=(styles or {}).get(label, "")))
    return out


def log_ratio(table: Table, x: str, labels: Sequence[str], styles: Mapping[str, str] | None = None) -> list[Line]:
    """``|log(value / truth)|`` of methods over a column: a factor too little counts as much as a factor too much.

    Of a method with two ends it is the number between them. A method that answers 0 where the truth is above it is
    infinitely far off, and not drawn there.
    """
    truth = table.where(method=CERTIFIED).numbers("estimate")
    out = []
    for label in labels:
        own = table.where(method=label)
        between = any(not math.isnan(low) for low in own.numbers("lower"))
        errors = [
            abs(math.log(value) - math.log(true)) if value > 0 and true > 0 else math.inf
            for value, true in zip(own.numbers("estimate" if between else "value"), truth, strict=True)
        ]
        out.append(Line(label, own.numbers(x), errors, style=(styles or {}).get(label, "")))
    return out


def spread(full: bool, low: float, high: float, most: int, least: int = 4, logarithmic: bool = True) -> list[int]:
    """Whole numbers from low to high, ``most`` of them at full size, ``least`` at the small one."""
    places = (np.geomspace if logarithmic else np.linspace)(low, high, most if full else least)
    return sorted({round(float(at)) for at in places})


__all__ = [
    "CERTIFIED",
    "COLUMNS",
    "Cell",
    "Experiment",
    "Method",
    "Say",
    "Setting",
    "Table",
    "add",
    "answers",
    "bracket",
    "lines",
    "log_ratio",
    "off",
    "spread",
    "timed",
]
