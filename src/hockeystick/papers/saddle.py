"""The saddle-point accountant: Alghamdi, Asoodeh, Calmon, Gomez, Kosut, Sankar [AAC+23], and its talk.

Epsilon against rounds for noise 0.65, rate 0.01, delta 1e-5; privacy curves after 2,000 rounds for noise 0.65 and 1,
down to delta 1e-60.
"""

from __future__ import annotations

from collections.abc import Sequence

from hockeystick.papers.experiment import (
    COLUMNS,
    Experiment,
    Method,
    Say,
    Setting,
    Table,
    answers,
    bracket,
    lines,
    log_ratio,
    off,
    spread,
)
from hockeystick.plot import Panel
from hockeystick.plot.asked import ask
from hockeystick.plot.plans import DELTA, EPSILON, ROUNDS

SOURCE = "The Saddle-Point Method in Differential Privacy [AAC+23]"
RATE, TARGET, CURVE_ROUNDS, LEAST_DELTA = 0.01, 1e-5, 2000, 1e-60
NOISES = (0.65, 1.0)
METHODS = (
    Method("rdp"),
    Method("saddle-point"),
    Method("gdp"),
    Method("prv", options=lambda setting: {"eps_error": 0.1}),
)


def epsilons(full: bool, say: Say) -> Table:
    """Epsilon against rounds."""
    settings = [Setting(NOISES[0], RATE, k) for k in spread(full, 100, 3000, 12, 4, logarithmic=False)]
    return answers(METHODS, settings, [("epsilon", TARGET)], say)


def curves(full: bool, say: Say) -> Table:
    """Delta against epsilon, to where it is 1e-60."""
    table = Table(COLUMNS)
    for noise in NOISES:
        setting = Setting(noise, RATE, CURVE_ROUNDS)
        reach = ask(setting.plan(), "epsilon", LEAST_DELTA).value
        places = [reach * at / (24 if full else 4) for at in range(25 if full else 5)]
        table.rows += answers(METHODS, [setting], [("delta", at) for at in places], say).rows
    return table


def epsilon_panels(table: Table) -> Sequence[Panel]:
    """Epsilon over rounds."""
    ylabel = f"{EPSILON} at $\\delta$ = 10$^{{-5}}$"
    top = max(table.numbers("rounds"))
    above = Panel(ROUNDS, ylabel, lines(table, "rounds"), bracket(table, "rounds"), xlim=(0, top), ylim=(0, None))
    errors = off(table, "rounds", ["rdp", "saddle-point", "gdp"])
    return [above, Panel(ROUNDS, "relative error of $\\varepsilon$", errors, yscale="log", xlim=(0, top))]


def curve_panels(table: Table) -> Sequence[Panel]:
    """A privacy curve for each noise, and how far from it the estimates are."""
    above, below = [], []
    for noise in table.values("noise_multiplier"):
        own = table.where(noise_multiplier=noise)
        band = bracket(own, "at")
        reach = (0.0, max(band.x))
        title = f"noise {noise:g}"
        above.append(
            Panel(
                EPSILON,
                DELTA,
                lines(own, "at"),
                band,
                yscale="log",
                title=title,
                xlim=reach,
                ylim=(LEAST_DELTA / 10, 10),
            )
        )
        errors = log_ratio(own, "at", ["rdp", "saddle-point", "gdp"])
        ylabel = "|log| of $\\delta$ over the truth"
        below.append(Panel(EPSILON, ylabel, errors, yscale="log", xlim=reach, ylim=(1e-5, 1e3)))
    return [*above, *below]


EXPERIMENTS = (
    Experiment("saddle-epsilon", "Epsilon against rounds", SOURCE, epsilons, epsilon_panels),
    Experiment("saddle-curves", "Privacy curves to delta 1e-60", SOURCE, curves, curve_panels, 2, 3.0),
)
