"""Figures of the saddle-point accountant: Alghamdi, Asoodeh, Calmon, Gomez, Kosut, Sankar [AAC+23], and its talk.

The talk has two approximations. The accountant ``saddle-point`` computes the first, steepest descent, with ``order=1``.
With ``order=0`` it computes the second, in which the tilted sum of the losses is taken as normal; here it has a
certified error. The default of the accountant, ``order=2``, has one more term of steepest descent. This term is an
addition of this library.

The first figure shows epsilon against rounds for noise 0.65, rate 0.01 and delta 1e-5. The second shows privacy curves
after 2,000 rounds for noise 0.65 and 1, down to delta 1e-60.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hockeystick.papers.experiment import Experiment, Method, Say, Setting, answers, off, panel, spread
from hockeystick.papers.table import Table
from hockeystick.plot import Panel
from hockeystick.plot.asked import ask
from hockeystick.plot.plans import DELTA, EPSILON, ROUNDS

SOURCE = "The Saddle-Point Method in Differential Privacy [AAC+23]"  # citation of the figures
RATE, TARGET, LEAST_DELTA = 0.01, 1e-5, 1e-60  # sample rate, delta, smallest delta shown

NOISES = (0.65, 1.0)  # noise multipliers of the figures
ORDER_1, ORDER_0 = "order 1", "order 0"  # labels of the accountant's orders
METHODS = (
    Method("rdp"),
    Method(ORDER_1, "saddle-point", lambda setting: {"order": 1}),
    Method(ORDER_0, "saddle-point", lambda setting: {"order": 0}),
    Method("saddle-point"),
    Method("gdp"),
    Method("prv"),
)
"""Published methods with their options; PRV has the default ``eps_error`` of 0.1."""

COMPARED = ("rdp", ORDER_1, ORDER_0, "saddle-point", "gdp")  # methods whose errors are drawn


def epsilons(full: bool, say: Say) -> Table:
    """Return epsilon against rounds, by every method and certified."""
    settings = [Setting(NOISES[0], RATE, k) for k in spread(full, 100, 3000, 12, 4, logarithmic=False)]
    return answers(METHODS, settings, [("epsilon", TARGET)], say)


def curves(full: bool, say: Say) -> Table:
    """Return delta against epsilon after 2,000 rounds, down to a delta of 1e-60."""
    table = Table()
    for noise in NOISES:
        setting = Setting(noise, RATE, 2000)
        reach = ask(setting.plan(), "epsilon", LEAST_DELTA).value
        places = [reach * at / (24 if full else 4) for at in range(25 if full else 5)]
        answers(METHODS, [setting], [("delta", at) for at in places], say, table=table)
    return table


def log_ratio(value: float, truth: float) -> float:
    """Return ``|log(value / truth)|``, in which errors by a factor c and by 1/c count alike.

    If the value or the truth is 0, the result is infinite and is not drawn.
    """
    return abs(math.log(value) - math.log(truth)) if value > 0 and truth > 0 else math.inf


def epsilon_panels(table: Table) -> Sequence[Panel]:
    """Return a panel of epsilon and a panel of its errors, each against rounds."""
    reach = (0.0, max(table.numbers("rounds")))
    above = panel(table, "rounds", f"{EPSILON} at $\\delta$ = 10$^{{-5}}$", xlim=reach, ylim=(0, None))
    normal = table.where(method=ORDER_0)  # its certified ends are far apart; the talk shows the value in between
    shown = [
        replace(line, y=normal.numbers("estimate"), lower=None) if line.label == ORDER_0 else line
        for line in above.lines
    ]
    errors = off(table, "rounds", COMPARED, log_ratio)
    below = Panel(ROUNDS, "|log| of $\\varepsilon$ over the truth", errors, yscale="log", xlim=reach)
    return [replace(above, lines=shown), below]


def curve_panels(table: Table) -> Sequence[Panel]:
    """Return, for each noise multiplier, a panel of the privacy curve and a panel of the errors of the estimates."""
    above, below = [], []
    for noise in table.values("noise_multiplier"):
        own = table.where(noise_multiplier=noise)
        reach, depth = (0.0, max(own.numbers("at"))), (LEAST_DELTA / 10, 10.0)
        above.append(panel(own, "at", DELTA, yscale="log", title=f"noise {noise:g}", xlim=reach, ylim=depth))
        errors = off(own, "at", COMPARED, log_ratio)
        ylabel = "|log| of $\\delta$ over the truth"
        below.append(Panel(EPSILON, ylabel, errors, yscale="log", xlim=reach, ylim=(1e-5, 1e3)))
    return [*above, *below]


EXPERIMENTS = (
    Experiment("saddle-epsilon", "Epsilon against rounds", SOURCE, epsilons, epsilon_panels),
    Experiment("saddle-curves", "Privacy curves to delta 1e-60", SOURCE, curves, curve_panels, 2, 3.0),
)  # experiments of the paper
