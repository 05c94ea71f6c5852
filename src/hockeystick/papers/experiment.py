"""Building blocks of published figures: settings, methods, tables of answers, and panels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from hockeystick.papers.table import Cell, Table
from hockeystick.plan.dp_sgd import dp_sgd
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import Round
from hockeystick.plan.sampling.without_replacement import WithoutReplacement
from hockeystick.plot import BRACKET, Line, Panel
from hockeystick.plot.asked import Asked, ask
from hockeystick.plot.plans import EPSILON, ROUNDS
from hockeystick.questions.parameters import of_plan

Say = Callable[[str], None]

CERTIFIED = "certified"  # label of the certified bracket, in tables and legends
STYLES = {
    "buckets, plain transform": "gdp",
    "closed form": "gdp",
    "fourier, density bounds": "rdp",
    "fourier, rounded masses": "fourier",
    "moments accountant": "zcdp",
    "order 0": "connect-the-dots",
    "order 1": "characteristic-function",
    "plain Fourier transform": "fourier",
    "prv, half the width": "prv",
    "prv, middle": "rdp",
    "Renyi accountant": "zcdp",
    "split (estimate)": "connect-the-dots",
}
"""Accountant whose style a label uses; a label that is an accountant's name uses the style of that accountant."""

STEP = 1e-6
"""Smallest relative change of the noise by :func:`cold`; each call uses the next multiple of it."""

XLABELS = {"rounds": ROUNDS, "at": EPSILON, "odds": "$e^\\varepsilon$", "points": "points $n$"}
"""Labels of horizontal axes, by column."""


@dataclass(frozen=True)
class Setting:
    """Parameters of DP-SGD in a paper.

    Attributes:
        noise: standard deviation of the noise / clipping norm.
        rate: probability that a record is sampled.
        rounds: number of rounds.
        adjacency: direction that the published methods compose. The certified bracket covers both directions.
    """

    noise: float
    rate: float
    rounds: int
    adjacency: str = "remove"

    def plan(self, adjacency: str | None = None, batches: bool = False) -> Plan:
        """Return the plan of this setting.

        Args:
            adjacency: adjacency of the plan; by default the adjacency of the setting.
            batches: True for batches of a fixed size drawn without replacement, at the same rate as the Poisson
                sampling that is used otherwise.
        """
        neighbours = adjacency or self.adjacency
        if not batches:
            return dp_sgd(self.noise, self.rate, self.rounds, adjacency=neighbours)
        share = Fraction(self.rate).limit_denominator(10**9)
        sampling = WithoutReplacement(share.numerator, share.denominator)
        return Plan([Round(Gaussian(self.noise), sampling, self.rounds)], neighbours)

    @property
    def whole(self) -> str:
        """Adjacency of the certified bracket: ``"add-or-remove"`` for ``"add"`` and ``"remove"``, else unchanged."""
        return "add-or-remove" if self.adjacency in ("add", "remove") else self.adjacency


_moves = itertools.count(1)


def cold(plan: Plan) -> Plan:
    """Return the plan with slightly more noise, a new amount in each call, so that no cached results apply to it.

    Intermediate results are cached by the parameters of a round, so a repeated question is answered far faster, even
    by another accountant. The answers for the changed plan differ little and take the same work.
    """
    return of_plan(plan, "noise")[1](1 + STEP * next(_moves))


@dataclass(frozen=True)
class Method:
    """Accountant with options, under a label.

    Attributes:
        label: name in the legend and the table.
        accountant: name of the accountant.
        options: function that returns the options of the accountant for a setting.
        batches: True for batches of a fixed size drawn without replacement instead of Poisson sampling.
    """

    label: str
    accountant: str = ""
    options: Callable[[Setting], Mapping[str, float]] = field(default=lambda setting: {})
    batches: bool = False

    def ask(self, setting: Setting, quantity: str, at: float, times: int = 1) -> tuple[Asked, str, str]:
        """Return the method's answer, its options as a text, and the adjacency.

        The answer contains the shortest running time of ``times`` calls. The certified bracket, and every call after
        the first, is timed at slightly different noise (:func:`cold`), so no cached laws shorten the time.

        Args:
            setting: setting.
            quantity: ``"epsilon"`` or ``"delta"``.
            at: the given delta for ``"epsilon"``, or the given epsilon for ``"delta"``.
            times: number of calls.
        """
        certified = self.label == CERTIFIED
        options = {} if certified else dict(self.options(setting))
        adjacency = setting.whole if certified else setting.adjacency
        name = "auto" if certified else self.accountant or self.label
        told = " ".join(f"{key}={value:.6g}" for key, value in options.items())
        plan = setting.plan(adjacency, self.batches)
        answer = ask(plan, quantity, at, name, **options)
        others = [cold(plan) for _ in range(max(times - 1, int(certified)))]
        runs = [ask(other, quantity, at, name, **options).seconds for other in others]
        return replace(answer, seconds=round(min(runs, default=answer.seconds), 6)), told, adjacency


@dataclass(frozen=True)
class Experiment:
    """Figure or table of a paper.

    Attributes:
        name: name in the command and of the files.
        title: title of the figure.
        source: publication, with keys of the bibliography in square brackets.
        compute: function that returns the table, at full or small size.
        panels: function that returns the panels of a table.
        columns: number of panels in a row.
        width: width of one column in inches.
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
    table: Table | None = None,
    **more: Cell,
) -> Table:
    """Return a table of the answers of every method, and then of the certified bracket, to every question.

    Args:
        methods: published methods.
        settings: settings.
        questions: pairs ``("epsilon", delta)`` or ``("delta", epsilon)``.
        say: function called with each progress message.
        times: number of calls for each answer; the table has the shortest time.
        table: table to which the answers are added; a new one by default.
        more: further cells of each row.
    """
    table = Table() if table is None else table
    for method in (*methods, Method(CERTIFIED)):
        for number, setting in enumerate(settings, start=1):
            say(f"{method.label} ({number} of {len(settings)})")
            for quantity, at in questions:
                answer, options, adjacency = method.ask(setting, quantity, at, times)
                add(
                    table,
                    method.label,
                    options,
                    replace(setting, adjacency=adjacency),
                    (quantity, at),
                    **vars(answer),
                    width=answer.value - answer.lower,
                    **more,
                )
    return table


def add(table: Table, label: str, options: str, setting: Setting, question: tuple[str, float], **answer: Cell) -> None:
    """Add a row to a table: the answer of a method to a question."""
    table.add(
        method=label,
        options=options,
        noise_multiplier=setting.noise,
        sample_rate=setting.rate,
        rounds=setting.rounds,
        adjacency=setting.adjacency,
        quantity=question[0],
        at=question[1],
        **answer,
    )


def line(label: str, x: Sequence[float], y: Sequence[float], lower: Sequence[float] | None = None) -> Line:
    """Return a line in the style of its label."""
    return Line(label, x, y, lower, STYLES.get(label, ""))


def panel(table: Table, x: str, ylabel: str, **more: Any) -> Panel:
    """Return a panel of all answers against the column ``x``, with the certified bracket."""
    shown = []
    for label in table.values("method"):
        if label != CERTIFIED:
            own = table.where(method=label)
            lower = [low if low > 0 else math.nan for low in own.numbers("lower")]  # a lower end of 0 is trivial
            two_sided = any(low > 0 for low in lower)
            shown.append(line(str(label), own.numbers(x), own.numbers("value"), lower if two_sided else None))
    own = table.where(method=CERTIFIED)
    band = Line(BRACKET, own.numbers(x), own.numbers("value"), own.numbers("lower"))
    return Panel(XLABELS[x], ylabel, shown, band, **more)


def columns(table: Table, x: str, y: str) -> list[Line]:
    """Return a line for each method: the column ``y`` against the column ``x``, without refused questions."""
    out = []
    for label in table.values("method"):
        own = table.where(lambda row: row["value"] != "", method=label)  # the time of a refusal is meaningless
        shown = BRACKET if label == CERTIFIED else str(label)
        out.append(line(shown, own.numbers(x), own.numbers(y)))
    return out


def off(table: Table, x: str, labels: Sequence[str], distance: Callable[[float, float], float]) -> list[Line]:
    """Return a line for each method: the distance of its answers from the certified estimate, against the column ``x``.

    If a method gives two ends, its estimate between them is taken as its answer.
    """
    truth = table.where(method=CERTIFIED).numbers("estimate")
    out = []
    for label in labels:
        own = table.where(method=label)
        between = any(not math.isnan(low) for low in own.numbers("lower"))
        values = own.numbers("estimate" if between else "value")
        errors = [distance(value, true) for value, true in zip(values, truth, strict=True)]
        out.append(line(label, own.numbers(x), errors))
    return out


def spread(full: bool, low: float, high: float, most: int, least: int = 4, logarithmic: bool = True) -> list[int]:
    """Return distinct whole numbers from low to high, evenly spread on a logarithmic scale or a linear one.

    There are at most ``most`` of them at full size, and at most ``least`` at the small size.
    """
    places = (np.geomspace if logarithmic else np.linspace)(low, high, most if full else least)
    return sorted({round(float(at)) for at in places})
