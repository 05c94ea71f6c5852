"""All figures of Gopi, Lee, Wutschitz 2021, Numerical Composition of Differential Privacy [GLW21].

- Figure 1: rate 1e-3, noise 0.8, delta 1e-7. In (a), both methods have the mesh 4e-5; in (b), ``eps_error`` is 0.1 and
  ``delta_error`` is delta / 1000.
- Figure 2: rate 1, compared with the closed form.
- Figure 3: rate 4e-3. In (a), bounds on delta at epsilon 1.5 after 1,000 rounds, against the number of points; in (b),
  times.
- Web version, Figure 4: error bounds after 10, 100 and 1000 rounds, at rate 0.01 and mesh 8e-4.
- Web version, Figure 6: very small deltas at rate 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hockeystick.accountants.fourier import FourierAccountant
from hockeystick.directions.directions import compositions
from hockeystick.papers.experiment import (
    CERTIFIED,
    Experiment,
    Method,
    Say,
    Setting,
    add,
    answers,
    bracket,
    lines,
    spread,
    timed,
)
from hockeystick.papers.laws import densest
from hockeystick.papers.table import Table
from hockeystick.plot import BRACKET, Bracket, Line, Panel
from hockeystick.plot.asked import ask
from hockeystick.plot.plans import DELTA, EPSILON, ROUNDS

SOURCE = "Gopi, Lee, Wutschitz 2021 [GLW21]"  # citation of the figures
NOISE = 0.8  # noise multiplier of all figures
TARGET = 1e-7  # delta of the figures with epsilon
MESH, COARSE_MESH = 4e-5, 8e-4  # gaps of the lattices of losses, in Figure 1a and in the error bounds
EPS_ERROR, DELTA_SHARE = 0.1, 1000.0  # options of prv: its eps_error, and delta divided by its delta_error
EPSILON_ASKED = 1.5  # epsilon of the figures with delta
WIDTH = 0.2  # width of the intervals whose times are compared
PUBLISHED = "fourier, density bounds"  # label of the Fourier accountant's bounds as published
PLAIN = "plain Fourier transform"  # label of the transform without error bounds
CLOSED_FORM = "closed form"  # label of the exact curve at rate 1
RAW_LENGTH, RAW_POINTS = 16.0, 1 << 22  # half-width of the domain and number of points of the plain transform
FAR_UNSAMPLED, FAR_SAMPLED = 14.0, 8.0  # largest epsilons of Figure 6
ROUNDS_3A = 1000  # rounds of Figure 3a
MOST_POINTS = 1e8  # largest number of points of a window
WINDOW = 2.0  # distance by which a window extends beyond epsilon, as in Theorem 5.5

STYLES = {PUBLISHED: "rdp"}  # accountant whose style a label uses

EPSILON_AT = f"{EPSILON} at $\\delta$ = 10$^{{-7}}$"  # label of an axis


def theorem_error(mesh: float, delta: float, rounds: int) -> float:
    """Return the ``eps_error`` for which Theorem 5.5 prescribes this mesh."""
    return mesh * math.sqrt(rounds / 2 * math.log(12 * DELTA_SHARE / delta))


def window(setting: Setting, mesh: float, delta: float) -> dict[str, float]:
    """Return the options of the Fourier accountant, half-width and number of points, that give it this mesh."""
    length = renyi(setting, delta) + WINDOW + theorem_error(mesh, delta, setting.rounds)
    points = 2 * math.ceil(length / mesh)
    return {"length": points * mesh / 2, "points": points}


def renyi(setting: Setting, delta: float) -> float:
    """Return an upper bound on epsilon at ``delta / 1000`` by Renyi moments, which sets the width of a window."""
    return ask(setting.plan(), "epsilon", delta / DELTA_SHARE, "rdp").value


def same_mesh(mesh: float, delta: float) -> tuple[Method, Method]:
    """Return PRV and the Fourier accountant as methods on the same mesh."""

    def prv(setting: Setting) -> Mapping[str, float]:
        return {"eps_error": theorem_error(mesh, delta, setting.rounds), "delta_error": delta / DELTA_SHARE}

    return Method("prv", options=prv), Method("fourier", options=lambda setting: window(setting, mesh, delta))


def prv_within(eps_error: float) -> Method:
    """Return PRV as a method with a given ``eps_error``."""
    return Method("prv", options=lambda setting: {"eps_error": eps_error, "delta_error": TARGET / DELTA_SHARE})


def figure_1a(full: bool, say: Say) -> Table:
    """Return epsilon against rounds by PRV and by the Fourier accountant with two error bounds, on the mesh 4e-5."""
    settings = [Setting(NOISE, 1e-3, k) for k in spread(full, 250, 5000 if full else 2000, 12, 2, logarithmic=False)]
    mesh = MESH if full else 3 * MESH
    prv, fourier = same_mesh(mesh, TARGET)
    return answers((published(fourier.options), fourier, prv), settings, [("epsilon", TARGET)], say)


def published(options: Callable[[Setting], Mapping[str, float]]) -> Method:
    """Return the Fourier accountant with its published error bounds, which use bounds on the density of the loss.

    Args:
        options: function that returns the half-width and the number of points of the window.
    """
    return Method(PUBLISHED, "fourier", lambda setting: {**options(setting), "rounding": 2})


def figure_1b(full: bool, say: Say) -> Table:
    """Return epsilon against rounds by the Renyi, PRV and Gaussian accountants."""
    settings = [Setting(NOISE, 1e-3, k) for k in spread(full, 250, 20_000, 14, 4, logarithmic=False)]
    methods = (Method("rdp"), prv_within(EPS_ERROR), Method("gdp"))
    return answers(methods, settings, [("epsilon", TARGET)], say)


def figure_2(full: bool, say: Say) -> Table:
    """Return epsilon against rounds without sampling, by PRV and by the closed form, which is exact at rate 1."""
    settings = [Setting(NOISE, 1.0, k) for k in spread(full, 1, 100, 14, 4)]
    methods = (prv_within(EPS_ERROR), Method(CLOSED_FORM, "gdp"))
    return answers(methods, settings, [("epsilon", TARGET)], say)


def figure_3a(full: bool, say: Say) -> Table:
    """Return bounds on delta at epsilon 1.5 after 1,000 rounds, against the number of points.

    All methods have the same window.
    """
    setting = Setting(NOISE, 4e-3, ROUNDS_3A)
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
    """Return the time that each method takes for an interval of fixed width, against rounds."""
    settings = [Setting(NOISE, 4e-3, k) for k in spread(full, 64, 8192 if full else 4096, 8, 3)]

    def fourier(setting: Setting) -> Mapping[str, float]:
        mesh = WIDTH / setting.rounds  # a loss rounded up and the same loss rounded down differ by one mesh
        return window(setting, mesh, TARGET)

    def density(setting: Setting) -> Mapping[str, float]:
        mesh = 2 * WIDTH / (setting.rounds * densest(setting))  # log delta is off by rounds times mesh times density
        found = window(setting, mesh, TARGET)
        return {**found, "points": min(found["points"], MOST_POINTS)}  # the limit is far beyond what is answered

    methods = (prv_within(WIDTH / 2), Method("fourier", options=fourier), published(density))
    return answers(methods, settings, [("epsilon", TARGET)], say, 3)


def figure_floats(full: bool, say: Say) -> Table:
    """Return deltas at rate 1 and with sampling, down to values below the rounding errors of a Fourier transform."""
    table = Table()
    for setting, reach in ((Setting(NOISE, 1.0, 1), FAR_UNSAMPLED), (Setting(NOISE, 4e-3, 1000), FAR_SAMPLED)):
        places = [reach * at / 32 for at in range(0, 33, 1 if full else 4)]
        methods = [Method("prv", options=lambda setting: {"eps_error": EPS_ERROR})]
        if setting.rate == 1:
            methods.append(Method(CLOSED_FORM, "gdp"))
        answers(methods, [setting], [("delta", at) for at in places], say, table=table)
        ((_, composition),) = compositions(setting.plan().directions)
        say(PLAIN)
        composed = FourierAccountant(RAW_LENGTH, RAW_POINTS, 0).estimate(composition, 0.0)
        options = f"length={RAW_LENGTH:g} points={RAW_POINTS} rounding=0"
        for at in places:
            add(table, PLAIN, options, setting, ("delta", at), value=composed.delta(at)[0])
    return table


def figure_bounds(full: bool, say: Say) -> Table:
    """Return bounds on delta against epsilon after 10, 100 and 1000 rounds, on the mesh 8e-4."""
    table = Table()
    for rounds, reach in ((10, 2.0), (100, 2.5), (1000, 5.0)):
        setting = Setting(NOISE, 1e-2, rounds)
        places = [reach * at / (16 if full else 4) for at in range(17 if full else 5)]
        answers(same_mesh(COARSE_MESH, 1e-6), [setting], [("delta", at) for at in places], say, table=table)
    return table


def widths(table: Table) -> list[Line]:
    """Return a line for each method: the width of its interval against rounds."""
    wide = []
    for label in table.values("method"):
        own = table.where(method=label)
        ends = zip(own.numbers("lower"), own.numbers("value"), strict=True)
        shown = BRACKET if label == CERTIFIED else str(label)
        width = [upper - lower for lower, upper in ends]
        wide.append(Line(shown, own.numbers("rounds"), width, style=STYLES.get(str(label), "")))
    return wide


def panels_1a(table: Table) -> Sequence[Panel]:
    """Return a panel of epsilon and a panel of the widths of the intervals, each against rounds."""
    (above,) = panels_1b(table)
    below = Panel(ROUNDS, "width of the interval of $\\varepsilon$", widths(table), xlim=above.xlim, yscale="log")
    top = 1.4 * max(table.where(method=CERTIFIED).numbers("value"))
    return [replace(above, ylim=(None, top)), below]


def panels_1b(table: Table) -> Sequence[Panel]:
    """Return the panel of Figure 1b: epsilon against rounds."""
    top = max(table.numbers("rounds"))
    shown = lines(table, "rounds", STYLES)
    return [Panel(ROUNDS, EPSILON_AT, shown, bracket(table, "rounds"), xlim=(0, top), ylim=(0, None))]


def panels_2(table: Table) -> Sequence[Panel]:
    """Return the panel of the difference from the closed form, against rounds."""
    exact = dict(zip(*(table.where(method=CLOSED_FORM).numbers(name) for name in ("rounds", "value")), strict=True))

    def off(label: str, end: str) -> list[float]:
        own = table.where(method=label)
        return [v - exact[k] for k, v in zip(own.numbers("rounds"), own.numbers(end), strict=True)]

    rounds = table.where(method="prv").numbers("rounds")
    prv = Line("prv", rounds, off("prv", "value"), off("prv", "lower"))
    certified = Bracket(rounds, off(CERTIFIED, "lower"), off(CERTIFIED, "value"))
    return [Panel(ROUNDS, "difference from the closed form", [prv], certified, "log", ylim=(-0.15, 0.15))]


def panels_3a(table: Table) -> Sequence[Panel]:
    """Return the panel of delta against the number of points."""
    ylabel = f"{DELTA} at $\\varepsilon$ = {EPSILON_ASKED}"
    truth = max(table.where(method=CERTIFIED).numbers("value"))
    shown, band = lines(table, "points", STYLES), bracket(table, "points")
    return [Panel("points $n$", ylabel, shown, band, "log", "log", ylim=(truth / 300, truth * 300))]


def panels_3b(table: Table) -> Sequence[Panel]:
    """Return panels against rounds: of running time, of the speed-up by PRV, and of the widths of the intervals."""
    prv, *others = (table.where(method=method).numbers("seconds") for method in ("prv", PUBLISHED, "fourier"))
    answered = table.where(method=PUBLISHED).numbers("value")  # the time of a refusal is meaningless
    others[0] = [math.nan if math.isnan(value) else slow for slow, value in zip(others[0], answered, strict=True)]
    rounds = table.where(method="prv").numbers("rounds")
    faster = [
        Line(label, rounds, [slow / fast for slow, fast in zip(other, prv, strict=True)], style=style)
        for label, other, style in (
            ("density bounds / prv", others[0], "zcdp"),
            ("fourier / prv", others[1], "evolving"),
        )
    ]
    wide = [line for line in widths(table) if line.label != BRACKET]
    return [
        Panel(ROUNDS, f"time for an interval {WIDTH} wide (s)", timed(table, STYLES), None, "log", "log"),
        Panel(ROUNDS, "speed-up by PRV", faster, None, "log", "log"),
        Panel(ROUNDS, "width of the interval of $\\varepsilon$", wide, None, "log", ylim=(0, 2 * WIDTH)),
    ]


def panels_floats(table: Table) -> Sequence[Panel]:
    """Return a panel of very small deltas for each rate.

    The plain Fourier transform may give negative values; their absolute values are shown.
    """
    out = []
    for rate in table.values("sample_rate"):
        own = table.where(sample_rate=rate)
        plain = own.where(method=PLAIN)
        size = Line(PLAIN, plain.numbers("at"), [abs(value) for value in plain.numbers("value")], style="fourier")
        shown = [*lines(own, "at", {CLOSED_FORM: "gdp"}, skip=[PLAIN]), size]
        rounds = own.values("rounds")[0]
        title = f"rate {rate:g}, {rounds} round" + ("s" if rounds != 1 else "")
        out.append(Panel(EPSILON, DELTA, shown, bracket(own, "at"), yscale="log", title=title))
    return out


def panels_bounds(table: Table) -> Sequence[Panel]:
    """Return a panel for each number of rounds: delta against epsilon."""
    out = []
    for rounds in table.values("rounds"):
        own = table.where(rounds=rounds)
        title = f"{rounds} rounds"
        shown, band = lines(own, "at", STYLES), bracket(own, "at")
        out.append(Panel(EPSILON, DELTA, shown, band, yscale="log", title=title, ylim=(1e-10, 1)))
    return out


EXPERIMENTS = (
    Experiment("gopi-1a", "Bounds on one mesh (Figure 1a)", SOURCE, figure_1a, panels_1a),
    Experiment("gopi-1b", "Renyi, PRV and Gaussian accountants (Figure 1b)", SOURCE, figure_1b, panels_1b),
    Experiment("gopi-2", "Rate 1 against the closed form (Figure 2)", SOURCE, figure_2, panels_2),
    Experiment("gopi-3a", "Delta against the number of points (Figure 3a)", SOURCE, figure_3a, panels_3a),
    Experiment("gopi-3b", "Running time (Figure 3b; web version, Figure 9)", SOURCE, figure_3b, panels_3b),
    Experiment("gopi-floats", "Floating point (web version, Figure 6)", SOURCE, figure_floats, panels_floats, 2, 3.0),
    Experiment(
        "gopi-bounds", "Few and many rounds (web version, Figure 4)", SOURCE, figure_bounds, panels_bounds, 3, 2.3
    ),
)  # experiments of the paper
