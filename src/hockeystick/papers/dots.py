"""Figures of Connect-the-Dots: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022 [DGK+22], and its announcement.

The first figure is on DP-SGD with noise 0.5, rate 2e-5 and delta 1e-8. It shows epsilon and running time against the
number of rounds, for Renyi, privacy buckets, PRV and connect-the-dots.

The "privacy buckets" of the announcement round every loss up to a grid and compose by a plain Fourier transform.
:func:`buckets` computes them. The accountant ``privacy-buckets`` instead composes its law with itself repeatedly, and
charges the rounding of every transform to delta, so that beyond some 12,000 rounds it has no answer. Connect-the-dots
uses the gap 1e-3 between grid points, ten times the gap of the buckets.

The second figure is on one round of Gaussian noise. It shows the hockey-stick divergence as a function of e^eps:
exact, and discretised on one grid by buckets and by connect-the-dots. The latter method connects the points of the
exact curve at the grid by straight lines.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from hockeystick.accountants.fourier import Composed
from hockeystick.accountants.shared.loss_grid import LossGrid, rounded
from hockeystick.directions.directions import compositions
from hockeystick.numerics.roots import root
from hockeystick.papers.experiment import Experiment, Method, Say, Setting, add, answers, columns, panel, spread
from hockeystick.papers.table import Table
from hockeystick.plot import Mark, Panel
from hockeystick.plot.plans import DELTA, EPSILON, ROUNDS
from hockeystick.values.side import Side

SOURCE = "Differential Privacy Accounting by Connecting the Dots, 2022, announcement of Connect the Dots [DGK+22]"
"""Citation of the figures."""

NOISE, RATE, TARGET = 0.5, 2e-5, 1e-8  # noise multiplier, sample rate, delta
METHODS = (
    Method("rdp"),
    Method("privacy-buckets"),
    Method("prv"),
    Method("connect-the-dots", options=lambda setting: {"interval": INTERVAL}),
)
"""Published methods, under the names of this library's accountants, with their options."""

INTERVAL = 1e-3  # gap of the announcement's grid of losses
BUCKETS = "buckets, plain transform"  # label of the announcement's privacy buckets
GRID, LENGTH = 1e-4, 20.0  # gap and half-width of the grid of losses of the announcement's buckets


def compute(full: bool, say: Say) -> Table:
    """Return the answer and the running time of every method at every number of rounds."""
    settings = [Setting(NOISE, RATE, k) for k in spread(full, 1000, 100_000 if full else 20_000, 9, 2)]
    table = answers(METHODS, settings, [("epsilon", TARGET)], say, 2)
    for setting in settings:
        say(f"{BUCKETS}, {setting.rounds} rounds")
        start = time.process_time()
        upper = buckets(setting)
        seconds = round(time.process_time() - start, 6)
        add(table, BUCKETS, f"grid={GRID:g}", setting, ("epsilon", TARGET), value=upper, seconds=seconds)
    return table


def buckets(setting: Setting, gap: float = GRID) -> float:
    """Return epsilon, computed from losses that are rounded up to a grid.

    The rounding error of the Fourier transform is not charged to delta.
    """
    ((_, composition),) = compositions(setting.plan().directions)
    grid = LossGrid(LENGTH, round(2 * LENGTH / gap))
    up = Composed.of([(rounded(pair, grid, Side.ABOVE), count) for pair, count in composition.rounds], grid)
    return root(lambda epsilon: up.delta(epsilon) + up.lost - TARGET, 0.0, LENGTH, xtol=1e-9)


def panels(table: Table) -> Sequence[Panel]:
    """Return a panel of epsilon and a panel of the running time, each against the number of rounds."""
    ylabel = f"{EPSILON} at $\\delta$ = 10$^{{-8}}$"
    above = panel(table, "rounds", ylabel, xscale="log", ylim=(0, None))
    return [above, Panel(ROUNDS, "time of one question (s)", columns(table, "rounds", "seconds"), None, "log", "log")]


SHOWN_GAP = 0.5  # gap of losses between the dots in the picture
PICTURED = (
    Method("connect-the-dots", options=lambda setting: {"interval": SHOWN_GAP}),
    Method("privacy-buckets", options=lambda setting: {"factor": math.exp(SHOWN_GAP), "correction": 0}),
)
"""Methods of the picture, which use the same grid."""


def pictures(full: bool, say: Say) -> Table:
    """Return the delta of one round of Gaussian noise at each epsilon, exactly and by each method of the picture."""
    table = Table()
    for at in (step / 20 for step in range(0, 33, 1 if full else 5)):
        answers(PICTURED, [Setting(1.0, 1.0, 1)], [("delta", at)], say, table=table, odds=math.exp(at))
    return table


def picture_panels(table: Table) -> Sequence[Panel]:
    """Return the panel of delta against e^eps, with the dots that connect-the-dots connects."""
    own = table.where(lambda row: float(row["at"]) % SHOWN_GAP == 0, method=PICTURED[0].label)
    dots = [Mark(x, y, "") for x, y in zip(own.numbers("odds"), own.numbers("value"), strict=True)]
    return [replace(panel(table, "odds", DELTA, marks=False), points=dots)]


EXPERIMENTS = (
    Experiment("dots", "Epsilon and running time", SOURCE, compute, panels),
    Experiment("dots-pictures", "The divergence, discretised by dots and buckets", SOURCE, pictures, picture_panels),
)
"""Experiments of the announcement."""
