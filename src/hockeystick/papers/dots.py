"""Connect-the-Dots: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022 [DGK+22], and its announcement.

DP-SGD with noise 0.5, rate 2e-5, delta 1e-8: epsilon and running time against the number of rounds, for Renyi, privacy
buckets, PRV and connect-the-dots.

What the announcement calls privacy buckets rounds every loss up to a grid and composes by a plain Fourier transform;
that is :func:`buckets` here. The accountant ``privacy-buckets`` charges the rounding of its transforms to delta, and
has no answer at this delta.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from hockeystick.accountants.fourier import FourierAccountant
from hockeystick.directions.directions import compositions
from hockeystick.papers.experiment import (
    Experiment,
    Method,
    Say,
    Setting,
    Table,
    answers,
    bracket,
    lines,
    spread,
    timed,
)
from hockeystick.plot import Panel
from hockeystick.plot.plans import EPSILON, ROUNDS

SOURCE = "Differential Privacy Accounting by Connecting the Dots, 2022, announcement of Connect the Dots [DGK+22]"
"""What is cited with the figures."""

NOISE, RATE, TARGET = 0.5, 2e-5, 1e-8  # noise multiplier, sample rate, delta
METHODS = (Method("rdp"), Method("privacy-buckets"), Method("prv"), Method("connect-the-dots"))
"""Published methods, as they are called here, with their own options."""

BUCKETS = "buckets, plain transform"  # label of what the announcement calls privacy buckets
GRID, LENGTH = 1e-4, 20.0  # gap and half-width of its grid of losses
STYLES = {BUCKETS: "privacy-buckets"}  # whose line looks like which accountant's


def compute(full: bool, say: Say) -> Table:
    """Every method at every number of rounds, with its time."""
    settings = [Setting(NOISE, RATE, k) for k in spread(full, 1000, 100_000 if full else 20_000, 9, 2)]
    table = answers(METHODS, settings, [("epsilon", TARGET)], say, 2)
    for setting in settings:
        say(f"{BUCKETS}, {setting.rounds} rounds")
        start = time.perf_counter()
        epsilon = buckets(setting)
        table.add(
            method=BUCKETS,
            options=f"grid={GRID:g}",
            noise_multiplier=setting.noise,
            sample_rate=setting.rate,
            rounds=setting.rounds,
            adjacency=setting.adjacency,
            quantity="epsilon",
            at=TARGET,
            value=epsilon,
            seconds=round(time.perf_counter() - start, 6),
        )
    return table


def buckets(setting: Setting) -> float:
    """Epsilon of losses rounded up to a grid, nothing charged for the rounding of the transform."""
    ((_, composition),) = compositions(setting.plan().directions)
    _, up = FourierAccountant(LENGTH, round(2 * LENGTH / GRID)).ends(composition, 0.0)
    low, high = 0.0, LENGTH
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if up.delta(middle)[0] + up.lost > TARGET else (low, middle)
    return high


def panels(table: Table) -> Sequence[Panel]:
    """Epsilon above, time below."""
    ylabel = f"{EPSILON} at $\\delta$ = 10$^{{-8}}$"
    above = Panel(ROUNDS, ylabel, lines(table, "rounds", STYLES), bracket(table, "rounds"), "log", ylim=(0, None))
    return [
        above,
        Panel(
            ROUNDS,
            "time of one question (s)",
            [replace(line, style=STYLES.get(line.label, "")) for line in timed(table)],
            None,
            "log",
            "log",
        ),
    ]


EXPERIMENTS = (Experiment("dots", "Epsilon and running time", SOURCE, compute, panels),)  # what is shown of the paper
