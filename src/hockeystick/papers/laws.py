"""Width of the interval of each method against its cost, and a plan that nearly attains PRV's error bound.

The first figure has one plan from each of five publications. It shows the width of the certified interval of epsilon,
at the plan's delta, against the number of grid points and against time. The following widths hold up to a factor. Here
h is the gap of the grid, k the number of rounds, and omega the density of the loss of one round.

- The published Fourier bounds: ``k h sup omega`` in log delta.
- The Fourier accountant with rounded masses: ``k h`` in epsilon.
- PRV: ``sqrt(k) h`` in epsilon.
- Connect-the-dots: ``k h^2`` in epsilon.

The contour method has no grid, and therefore no gap.

The second figure shows that randomised response nearly attains PRV's bound. Its loss has atoms, each of which is
equally far from the grid points in every round.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hockeystick.accountants.evolving import EvolvingAccountant
from hockeystick.accountants.shared.density_errors import log_density
from hockeystick.accountants.shared.lattice import Enclosed, LatticeLaw, tilt_for_delta, window_of
from hockeystick.directions.directions import compositions
from hockeystick.engines.contour.engine import Plain
from hockeystick.numerics.roots import root
from hockeystick.papers.experiment import CERTIFIED, Experiment, Say, Setting, spread
from hockeystick.papers.table import Table
from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import Round
from hockeystick.plot import Line, Panel
from hockeystick.plot.asked import ask
from hockeystick.plot.plans import ROUNDS
from hockeystick.report.cold import cold
from hockeystick.values.bounds import Bound
from hockeystick.values.errors import UnsupportedError

SOURCE = "Hockeystick, on the plans of [GLW21], [KJH20], [DGK+22] and [AAC+23]"  # citation of the figures


class Asked(NamedTuple):
    """Plan from a publication: setting, delta, and half-width of a window that contains the sum of its losses."""

    setting: Setting
    delta: float
    length: float


PLANS = {
    "PRV, Figure 3": Asked(Setting(0.8, 4e-3, 1000), 1e-7, 8.0),
    "PRV, web version": Asked(Setting(0.8, 0.01, 1000), 1e-6, 10.0),
    "Fourier, Table 1": Asked(Setting(1.0, 0.01, 10_000), 1e-6, 12.0),
    "connecting the dots": Asked(Setting(0.5, 2e-5, 1000), 1e-8, 8.0),
    "saddle point": Asked(Setting(0.65, 0.01, 2000), 1e-5, 14.0),
}
"""One plan of each document."""

DENSITY, MASSES = "fourier, density bounds", "fourier, rounded masses"  # labels of the two roundings
METHODS = (DENSITY, MASSES, "evolving", "prv", "connect-the-dots", "contour")
"""Methods of the error law, the widest first."""

LAWS = (DENSITY, MASSES, "prv", "connect-the-dots")  # methods of the laws of :func:`orders`, in order
STYLES = {DENSITY: "rdp", MASSES: "fourier", "evolving": "privacy-buckets"}  # accountant whose style a label uses
POINTS = [1 << power for power in range(12, 22, 2)] + [2_700_000]  # numbers of points of a window; more are refused
ERRORS = [0.8 / 4**power for power in range(6)]  # eps_error of evolving
MOST_POINTS, MOST_SECONDS = 1e7, 10.0  # ends of the axes
GAPS = [10.0**-power for power in (1, 2, 4, 6, 8, 10, 12)]  # relative widths asked of the contour


def laws(full: bool, say: Say) -> Table:
    """Return the ends of epsilon for the plan of each publication, by every method at each of its accuracies."""
    table = Table()
    for name, asked in PLANS.items():
        for method in METHODS:
            say(f"{name}: {method}")
            for size in sizes(method)[: None if full else 3]:
                one(table, name, asked, method, size)
    return table


def sizes(method: str) -> Sequence[float]:
    """Return the accuracies at which a method is run: numbers of points, errors of epsilon, or relative widths."""
    return {"evolving": ERRORS, "contour": GAPS}.get(method, POINTS)


def one(table: Table, name: str, asked: Asked, method: str, size: float) -> None:
    """Add the answer of a method to a table.

    The running time is measured at slightly different noise, so that it does not profit from cached laws.
    """
    setting, delta, length = asked
    accountant = method.partition(",")[0]
    options: dict[str, Any]
    if method == "evolving":
        options = {"eps_error": size}
    elif method == "contour":
        options = {"gap": size}
    elif accountant == "fourier":
        options = {"length": length, "points": size, "rounding": 2 if method == DENSITY else 1}
    else:
        options = {"mesh" if method == "prv" else "interval": 2 * length / size}
    plan = setting.plan()
    other = cold(plan)
    assert other is not None
    lower = upper = math.nan
    points: float = size if size > 1 else math.nan
    reason = ""
    try:
        bound = plan.epsilon(delta, accountant=accountant, **options)
        start = time.process_time()
        other.epsilon(delta, accountant=accountant, **options)
        seconds = time.process_time() - start
        assert isinstance(bound, Bound)
        lower, upper, reason = bound.lower, bound.upper, bound.reason or ""
        if method in COUNTED:
            points = COUNTED[method](asked, size, upper)
    except UnsupportedError as error:
        seconds, reason = math.nan, str(error)
    table.add(
        plan=name,
        method=method,
        noise_multiplier=setting.noise,
        sample_rate=setting.rate,
        rounds=setting.rounds,
        delta=delta,
        options=" ".join(f"{key}={value:.6g}" for key, value in options.items()),
        points=points,
        lower=lower,
        value=upper,
        width=upper - lower,
        seconds=seconds,
        reason=reason,
    )


def evolved(asked: Asked, eps_error: float, epsilon: float) -> float:
    """Return the number of points of all lattices that the accountant ``evolving`` uses.

    The points of the last lattice are counted on the window of the plan.
    """
    ((_, composition),) = compositions(asked.setting.plan().directions)
    found = EvolvingAccountant(eps_error=eps_error).evolve(composition, math.log(asked.delta / 1000))
    return sum(found.sizes) + 2 * asked.length / found.laws[0][0].above.gap


def on_contour(asked: Asked, gap: float, epsilon: float) -> float:
    """Return the number of points at which the contour integral for an epsilon is evaluated.

    The requested width of log delta is ``gap``, relative to log delta.
    """
    ((_, composition),) = compositions(asked.setting.plan().directions)
    return len(Plain(composition).at(epsilon, gap).s)


COUNTED: dict[str, Callable[[Asked, float, float], float]] = {"evolving": evolved, "contour": on_contour}
"""Points of the methods that are not asked by points."""


def densest(setting: Setting) -> float:
    """Return the largest density of the loss of one round, on a fine grid."""
    edge = math.log1p(-setting.rate)
    losses = edge - edge * np.linspace(1e-6, 2.0, 200_001)
    return math.exp(float(log_density(setting.noise, setting.rate, losses)[0].max()))


def orders(asked: Asked, points: float) -> dict[str, float]:
    """Return the widths that the four error laws predict for a grid of ``points`` points on the window, by label."""
    k, h = asked.setting.rounds, 2 * asked.length / points
    return {
        "$kh\\,\\sup\\omega$": k * h * densest(asked.setting),
        "$kh$": k * h,
        "$\\sqrt{k}\\,h$": math.sqrt(k) * h,
        "$kh^2$": k * h * h,
    }


def fitted(table: Table, plan: str, method: str) -> tuple[float, float]:
    """Return two numbers that compare a method with its error law.

    The first is the slope of log width against log points. The second is the width at the last number of points,
    divided by the predicted width; it is NaN for a method without an error law.
    """
    own = table.where(lambda row: row["width"] != "", plan=plan, method=method)
    points, widths = own.numbers("points"), own.numbers("width")
    slope = float(np.polyfit(np.log(points), np.log(widths), 1)[0])
    laws_of = dict(zip(LAWS, orders(PLANS[plan], points[-1]).values(), strict=True))
    return slope, widths[-1] / laws_of[method] if method in laws_of else math.nan


def law_panels(table: Table) -> Sequence[Panel]:
    """Return, for each plan, a panel of the width against points and a panel of the width against time.

    The first panel also shows the error laws.
    """
    out = []
    for name in map(str, table.values("plan")):
        reach = (POINTS[0], MOST_POINTS)
        guides = [
            Line(label, reach, [at[label] for at in (orders(PLANS[name], n) for n in reach)])
            for label in orders(PLANS[name], POINTS[0])
        ]
        above, below = (
            [
                Line(str(method), own.numbers(x), own.numbers("width"), style=STYLES.get(str(method), ""))
                for method in table.values("method")
                for own in [table.where(lambda row: row["width"] != "", plan=name, method=method)]
            ]
            for x in ("points", "seconds")
        )
        panel = Panel("points", "width of $\\varepsilon$", above, None, "log", "log", xlim=(1, MOST_POINTS),
                      ylim=(1e-12, 20.0), title=name, guides=guides)  # fmt: skip
        timed = replace(panel, xlabel="processor time (s)", lines=below, xlim=(1e-3, MOST_SECONDS), guides=())
        out += [panel, timed]
    return out


RESPONSE, MESH, RESPONSE_DELTA = 0.10049, 1e-3, 1e-6  # epsilon of one round, gap of the lattice, delta
CENTRE, WIDTH, SPLIT = "prv, middle", "prv, half the width", "split (estimate)"
"""Labels of the distances from the truth."""


def response(rounds: int) -> Plan:
    """Return a plan of randomised response whose losses lie halfway between two points of the grid."""
    return Plan([Round(RandomizedResponse(RESPONSE), count=rounds)], "replace-one")


def split(rounds: int) -> float:
    """Return an estimate of epsilon from losses on the grid.

    The mass of each loss is split between its two neighbouring grid points so that its mean is kept.
    """
    ((_, composition),) = compositions(response(rounds).directions)
    ((pair, _),) = composition.rounds
    loss, mass = pair.atoms.loss / MESH, np.exp(pair.atoms.log_p)
    first = math.floor(loss.min())
    law = np.zeros(math.ceil(loss.max()) - first + 2)
    for at, weight in zip(loss - first, mass, strict=True):
        cell = math.floor(at)
        law[cell : cell + 2] += weight * np.array([cell + 1 - at, at - cell])
    laws_of, target = [(LatticeLaw(first * MESH, MESH, law), rounds)], math.log(RESPONSE_DELTA)
    tilt = tilt_for_delta(laws_of, target)
    both = Enclosed.of(laws_of, laws_of, tilt, window_of(laws_of, tilt), "")
    return root(lambda at: both.above.log_delta(at) - target, 0.0, both.window.high, xtol=1e-12)


def atoms(full: bool, say: Say) -> Table:
    """Return the errors of the middle of PRV's interval and of :func:`split`, against rounds."""
    table = Table()
    for rounds in spread(full, 30, 30_000, 10, 3):
        say(f"{rounds} rounds")
        plan = response(rounds)
        truth = ask(plan, "epsilon", RESPONSE_DELTA)
        prv = ask(plan, "epsilon", RESPONSE_DELTA, "prv", mesh=MESH)
        estimate = split(rounds)
        for method, found, off in (
            (CERTIFIED, truth, truth.value - truth.lower),
            (WIDTH, prv, (prv.value - prv.lower) / 2),
            (CENTRE, prv, prv.estimate - truth.estimate),
        ):
            ends = {"lower": found.lower, "value": found.value, "estimate": found.estimate}
            table.add(method=method, rounds=rounds, **ends, off=off)
        table.add(method=SPLIT, rounds=rounds, estimate=estimate, off=estimate - truth.estimate)
    return table


def atom_panels(table: Table) -> Sequence[Panel]:
    """Return the panel of the errors against rounds."""
    rounds = table.where(method=CENTRE).numbers("rounds")
    shown = [
        Line(method, rounds, [abs(off) for off in table.where(method=method).numbers("off")], style=style)
        for method, style in ((WIDTH, "prv"), (CENTRE, "rdp"), (SPLIT, "connect-the-dots"))
    ]
    ends = (rounds[0], rounds[-1])
    guides = [
        Line("$\\sqrt{k}\\,h$", ends, [math.sqrt(k) * MESH for k in ends]),
        Line("$kh^2$", ends, [k * MESH**2 for k in ends]),
    ]
    return [Panel(ROUNDS, "distance from the true $\\varepsilon$", shown, None, "log", "log", guides=guides)]


EXPERIMENTS = (
    Experiment(
        "laws",
        "Width of epsilon against points and time, on the plans of all documents",
        SOURCE,
        laws,
        law_panels,
        2,
        3.0,
    ),
    Experiment("atoms", "The bound of Theorem 5.5 where laws have atoms", SOURCE, atoms, atom_panels),
)
"""Experiments on what the methods cost."""
