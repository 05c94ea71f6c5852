"""Connect-the-Dots: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022 (arXiv 2207.04380), and its announcement.

DP-SGD with noise 0.5, rate 2e-5, delta 1e-8: epsilon and running time against the number of rounds, for Renyi, privacy
buckets, PRV and connect-the-dots.
"""

from __future__ import annotations

from collections.abc import Sequence

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

SOURCE = "Differential Privacy Accounting by Connecting the Dots, 2022 (with arXiv 2207.04380)"
NOISE, RATE, TARGET = 0.5, 2e-5, 1e-8
METHODS = (Method("rdp"), Method("privacy-buckets"), Method("prv"), Method("connect-the-dots"))


def compute(full: bool, say: Say) -> Table:
    """Every method at every number of rounds, with its time."""
    settings = [Setting(NOISE, RATE, k) for k in spread(full, 1000, 100_000 if full else 20_000, 9, 3)]
    return answers(METHODS, settings, [("epsilon", TARGET)], say, 2)


def panels(table: Table) -> Sequence[Panel]:
    """Epsilon above, time below."""
    ylabel = f"{EPSILON} at $\\delta$ = 10$^{{-8}}$"
    above = Panel(ROUNDS, ylabel, lines(table, "rounds"), bracket(table, "rounds"), "log", ylim=(0, None))
    return [above, Panel(ROUNDS, "time of one question (s)", timed(table), None, "log", "log")]


EXPERIMENTS = (Experiment("dots", "Epsilon and running time", SOURCE, compute, panels),)
