"""Figures of Gopi, Lee, Wutschitz 2021, Numerical Composition of Differential Privacy [GLW21].

- Figure 1: epsilon against rounds, at rate 1e-3, noise 0.8 and delta 1e-7. In (a), both methods have the mesh 4e-5. In
  (b), ``eps_error`` is 0.1 and ``delta_error`` is delta / 1000.
- Figure 3: rate 4e-3. Part (a) shows bounds on delta at epsilon 1.5 after 1,000 rounds, against the number of points.
  Part (b) shows running times.
- Figure 2, and Figure 6 of the web version: delta at rate 1, compared with the closed form, down to very small deltas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hockeystick.accountants.fourier import FourierAccountant
from hockeystick.accountants.shared.density_errors import peak
from hockeystick.directions.directions import compositions
from hockeystick.papers.experiment import (
    CERTIFIED,
    Experiment,
    Method,
    Say,
    Setting,
    add,
    answers,
    columns,
    panel,
    spread,
)
from hockeystick.papers.table import Table
from hockeystick.plot import Panel
from hockeystick.plot.asked import ask
from hockeystick.plot.plans import DELTA, EPSILON, ROUNDS

SOURCE = "Gopi, Lee, Wutschitz 2021 [GLW21]"  # citation of the figures
NOISE = 0.8  # noise multiplier of all figures
TARGET = 1e-7  # delta of the figures with epsilon
MESH = 4e-5  # gap of the lattice of losses in Figure 1a
DELTA_SHARE = 1000.0  # delta divided by the delta_error of prv
EPSILON_ASKED = 1.5  # epsilon of the figures with delta
PLAIN = "plain Fourier transform"  # label of the transform without error bounds
CLOSED_FORM = "closed form"  # label of the exact curve at rate 1
RAW_LENGTH, RAW_POINTS = 16.0, 1 << 22  # half-width of the domain and number of points of the plain transform
WIDTH = 0.2  # width of the intervals whose times are compared, and of the intervals of prv
PUBLISHED = "fourier, density bounds"  # label of the Fourier accountant's bounds as published
WINDOW = 2.0  # distance by which a window extends beyond epsilon, as in Theorem 5.5

EPSILON_AT = f"{EPSILON} at $\\delta$ = 10$^{{-7}}$"  # label of an axis
WIDTH_LABEL = "width of the interval of $\\varepsilon$"  # label of an axis


def theorem_error(mesh: float, delta: float, rounds: int) -> float:
    """Return the ``eps_error`` for which Theorem 5.5 of [GLW21] prescribes this mesh, the gap of the lattice."""
    return mesh * math.sqrt(rounds / 2 * math.log(12 * DELTA_SHARE / delta))


def window(setting: Setting, mesh: float, delta: float) -> dict[str, float]:
    """Return the half-width and the number of points with which the Fourier accountant has this mesh, as options."""
    length = renyi(setting, delta) + WINDOW + theorem_error(mesh, delta, setting.rounds)
    points = 2 * math.ceil(length / mesh)
    return {"length": points * mesh / 2, "points": points}


def renyi(setting: Setting, delta: float) -> float:
    """Return an upper bound on epsilon at ``delta / 1000`` by Renyi moments, which sets the width of a window."""
    return ask(setting.plan(), "epsilon", delta / DELTA_SHARE, "rdp").value


def same_mesh(mesh: float, delta: float) -> tuple[Method, Method]:
    """Return two methods on the same mesh: PRV and the Fourier accountant."""

    def prv(setting: Setting) -> Mapping[str, float]:
        return {"eps_error": theorem_error(mesh, delta, setting.rounds), "delta_error": delta / DELTA_SHARE}

    return Method("prv", options=prv), Method("fourier", options=lambda setting: window(setting, mesh, delta))


def figure_1a(full: bool, say: Say) -> Table:
    """Return epsilon against rounds, on the mesh 4e-5: by PRV, and by the Fourier accountant with two error bounds."""
    settings = [Setting(NOISE, 1e-3, k) for k in spread(full, 250, 5000 if full else 2000, 12, 2, logarithmic=False)]
    mesh = MESH if full else 3 * MESH
    prv, fourier = same_mesh(mesh, TARGET)
    return answers((published(fourier.options), fourier, prv), settings, [("epsilon", TARGET)], say)


def published(options: Callable[[Setting], Mapping[str, float]]) -> Method:
    """Return the Fourier accountant with these options, and with its published bounds on the density of the loss."""
    return Method(PUBLISHED, "fourier", lambda setting: {**options(setting), "rounding": 2})


def figure_1b(full: bool, say: Say) -> Table:
    """Return epsilon against rounds by the Renyi, PRV and Gaussian accountants."""
    settings = [Setting(NOISE, 1e-3, k) for k in spread(full, 250, 20_000, 14, 4, logarithmic=False)]
    methods = (Method("rdp"), Method("prv"), Method("gdp"))
    return answers(methods, settings, [("epsilon", TARGET)], say)


def figure_3a(full: bool, say: Say) -> Table:
    """Return bounds on delta at epsilon 1.5 after 1,000 rounds, against the number of points.

    All methods have the same window.
    """
    setting = Setting(NOISE, 4e-3, 1000)
    length = EPSILON_ASKED + WINDOW + renyi(setting, TARGET)
    table = Table()
    for points in (round(1000 * 10 ** (at / 4)) for at in (range(14) if full else (2, 5, 8, 10))):
        say(f"{points} points")
        options = {"length": length, "points": points}
        fourier = Method("fourier", options=lambda setting, options=options: options)  # type: ignore[misc]
        methods = (same_mesh(2 * length / points, TARGET)[0], fourier, published(fourier.options))
        answers(methods, [setting], [("delta", EPSILON_ASKED)], lambda text: None, table=table, points=points)
    return table


def figure_3b(full: bool, say: Say) -> Table:
    """Return the running time of each method, for an interval of the same width, against rounds."""
    settings = [Setting(NOISE, 4e-3, k) for k in spread(full, 64, 4096, 7, 3)]
    fourier = Method("fourier", options=lambda setting: window(setting, WIDTH / setting.rounds, TARGET))
    highest = peak(NOISE, 4e-3)[2]  # log delta is off by rounds times mesh times the highest density
    density = published(lambda setting: window(setting, 2 * WIDTH / (setting.rounds * highest), TARGET))
    return answers((Method("prv"), fourier, density), settings, [("epsilon", TARGET)], say, 3)


def figure_floats(full: bool, say: Say) -> Table:
    """Return deltas at rate 1 and with sampling, down to values below the rounding errors of a Fourier transform."""
    table = Table()
    for setting, reach in ((Setting(NOISE, 1.0, 1), 14.0), (Setting(NOISE, 4e-3, 1000), 8.0)):
        places = [reach * at / 32 for at in range(0, 33, 1 if full else 4)]
        methods = [Method("prv")]
        if setting.rate == 1:
            methods.append(Method(CLOSED_FORM, "gdp"))
        answers(methods, [setting], [("delta", at) for at in places], say, table=table)
        ((_, composition),) = compositions(setting.plan().directions)
        say(PLAIN)
        composed = FourierAccountant(RAW_LENGTH, RAW_POINTS, 0).estimate(composition, 0.0)
        options = f"length={RAW_LENGTH:g} points={RAW_POINTS} rounding=0"
        for at in places:
            add(table, PLAIN, options, setting, ("delta", at), value=composed.delta(at))
    return table


def panels_1a(table: Table) -> Sequence[Panel]:
    """Return a panel of epsilon and a panel of the widths of the intervals, each against rounds."""
    (above,) = panels_1b(table)
    below = Panel(ROUNDS, WIDTH_LABEL, columns(table, "rounds", "width"), xlim=above.xlim, yscale="log")
    top = 1.4 * max(table.where(method=CERTIFIED).numbers("value"))
    return [replace(above, ylim=(0, top)), below]


def panels_1b(table: Table) -> Sequence[Panel]:
    """Return the panel of Figure 1b: epsilon against rounds."""
    return [panel(table, "rounds", EPSILON_AT, xlim=(0, max(table.numbers("rounds"))), ylim=(0, None))]


def panels_3a(table: Table) -> Sequence[Panel]:
    """Return the panel of delta against the number of points."""
    ylabel = f"{DELTA} at $\\varepsilon$ = {EPSILON_ASKED}"
    truth = max(table.where(method=CERTIFIED).numbers("value"))
    return [panel(table, "points", ylabel, xscale="log", yscale="log", ylim=(truth / 300, truth * 300))]


def panels_3b(table: Table) -> Sequence[Panel]:
    """Return a panel of the running time and a panel of the widths of the intervals, each against rounds."""
    compared = table.where(lambda row: row["method"] != CERTIFIED)
    return [
        Panel(
            ROUNDS, f"time for an interval {WIDTH} wide (s)", columns(table, "rounds", "seconds"), None, "log", "log"
        ),
        Panel(ROUNDS, WIDTH_LABEL, columns(compared, "rounds", "width"), None, "log", ylim=(0, 2 * WIDTH)),
    ]


def panels_floats(table: Table) -> Sequence[Panel]:
    """Return a panel of very small deltas for each rate.

    The plain Fourier transform may give negative values; their absolute values are shown.
    """
    out = []
    for rate in table.values("sample_rate"):
        own = table.where(sample_rate=rate)
        rounds = own.values("rounds")[0]
        title = f"rate {rate:g}, {rounds} round" + ("s" if rounds != 1 else "")
        found = panel(own, "at", DELTA, yscale="log", title=title)
        out.append(replace(found, lines=[replace(each, y=[abs(y) for y in each.y]) for each in found.lines]))
    return out


EXPERIMENTS = (
    Experiment("gopi-1a", "Bounds on one mesh (Figure 1a)", SOURCE, figure_1a, panels_1a),
    Experiment("gopi-1b", "Renyi, PRV and Gaussian accountants (Figure 1b)", SOURCE, figure_1b, panels_1b),
    Experiment("gopi-3a", "Delta against the number of points (Figure 3a)", SOURCE, figure_3a, panels_3a),
    Experiment("gopi-3b", "Running time (Figure 3b; web version, Figure 9)", SOURCE, figure_3b, panels_3b),
    Experiment("gopi-floats", "Floating point (web version, Figure 6)", SOURCE, figure_floats, panels_floats, 2, 3.0),
)  # experiments of the paper
