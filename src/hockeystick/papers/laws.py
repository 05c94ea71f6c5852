"""Width of each method's interval against its cost, and a plan that nearly attains the error bound of PRV.

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
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hockeystick.accountants.evolving import EvolvingAccountant
from hockeystick.accountants.fourier import Composed
from hockeystick.accountants.shared.density_errors import peak
from hockeystick.accountants.shared.lattice import LatticeLaw
from hockeystick.accountants.shared.loss_grid import LossGrid
from hockeystick.directions.directions import compositions
from hockeystick.engines.contour.engine import Plain
from hockeystick.numerics.roots import root
from hockeystick.papers.experiment import CERTIFIED, Experiment, Method, Say, Setting, add, columns, line, off, spread
from hockeystick.papers.gopi import PUBLISHED
from hockeystick.papers.table import Cell, Table
from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import Round
from hockeystick.plot import Line, Panel
from hockeystick.plot.asked import ask
from hockeystick.plot.plans import ROUNDS

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
"""One plan from each publication, by label."""

MASSES = "fourier, rounded masses"  # label of the Fourier accountant with its default rounding
METHODS = (PUBLISHED, MASSES, "evolving", "prv", "connect-the-dots", "contour")
"""Methods whose widths are compared, in order of decreasing width."""

LAWS = (PUBLISHED, MASSES, "prv", "connect-the-dots")  # method of each law of :func:`orders`, in the same order
SIZES = [1 << power for power in range(12, 22, 2)] + [2_700_000]  # numbers of points of a window; more are refused


def options(asked: Asked, method: str, size: float) -> Mapping[str, float]:
    """Return the options with which a method is about as accurate as it can be with ``size`` points on the window."""
    found: dict[str, Mapping[str, float]] = {
        PUBLISHED: {"length": asked.length, "points": size, "rounding": 2},
        MASSES: {"length": asked.length, "points": size},
        "evolving": {"eps_error": 0.8 * SIZES[0] / size},
        "prv": {"mesh": 2 * asked.length / size},
        "connect-the-dots": {"interval": 2 * asked.length / size},
        "contour": {"gap": 0.1 * (SIZES[0] / size) ** 4},
    }
    return found[method]


def counted(asked: Asked, method: str, size: float, epsilon: float) -> float:
    """Return the number of points that a method uses, on all its lattices or on its contour."""
    ((_, composition),) = compositions(asked.setting.plan().directions)
    own = options(asked, method, size)
    if method == "contour":
        return len(Plain(composition).at(epsilon, own["gap"]).s)
    if method == "evolving":
        found = EvolvingAccountant(**own).evolve(composition, math.log(asked.delta / 1000))
        return found.points + 2 * asked.length / found.laws[0][0].above.gap
    return size


def laws(full: bool, say: Say) -> Table:
    """Return the ends of epsilon for the plan of each publication, by every method at each of its accuracies."""
    table = Table()
    for name, asked in PLANS.items():
        for method in METHODS:
            say(f"{name}: {method}")
            for size in SIZES[: None if full else 3]:
                own = options(asked, method, size)
                runner = Method(method, method.partition(",")[0], lambda setting, own=own: own)  # type: ignore[misc]
                answer, told, _ = runner.ask(asked.setting, "epsilon", asked.delta, 2)
                points = math.nan if math.isnan(answer.value) else counted(asked, method, size, answer.value)
                more: dict[str, Cell] = {"plan": name, "points": points, "width": answer.value - answer.lower}
                add(table, method, told, asked.setting, ("epsilon", asked.delta), **more, **vars(answer))
    return table


def orders(asked: Asked, points: float) -> dict[str, float]:
    """Return the widths that the four error laws predict for a grid of ``points`` points on the window, by label."""
    k, h = asked.setting.rounds, 2 * asked.length / points
    return {
        "$kh\\,\\sup\\omega$": k * h * peak(asked.setting.noise, asked.setting.rate)[2],
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
    return slope, widths[-1] / laws_of.get(method, math.nan)


def law_panels(table: Table) -> Sequence[Panel]:
    """Return, for each plan, a panel of the width against points and a panel of the width against time.

    The first panel also shows the error laws.
    """
    out = []
    for name in PLANS:
        reach = (SIZES[0], SIZES[-1])
        ends = [orders(PLANS[name], n) for n in reach]
        guides = [Line(label, reach, [at[label] for at in ends]) for label in ends[0]]
        above, below = (columns(table.where(plan=name), x, "width") for x in ("points", "seconds"))
        first = Panel(
            "points", "width of $\\varepsilon$", above, None, "log", "log", ylim=(1e-12, 20), title=name, guides=guides
        )
        out += [first, replace(first, xlabel="processor time (s)", lines=below, guides=())]
    return out


RESPONSE, MESH, RESPONSE_DELTA = 0.10049, 1e-3, 1e-6  # epsilon of one round, gap of the lattice, delta
CENTRE, SPLIT = "prv, middle", "split (estimate)"  # labels of the estimates


def split(rounds: int) -> float:
    """Return an estimate of epsilon after rounds of randomised response, from losses on the grid.

    The mass of each loss is split between its two neighbouring grid points so that its mean is kept.
    """
    cell = math.floor(RESPONSE / MESH)
    share = RESPONSE / MESH - cell  # fraction of the mass of either loss that goes to the outer of its two grid points
    most = 1 / (1 + math.exp(-RESPONSE))  # mass of the larger loss
    law = np.zeros(2 * cell + 3)
    law[:2], law[-2:] = (1 - most) * np.array([share, 1 - share]), most * np.array([1 - share, share])
    composed = Composed.of(
        [(LatticeLaw(-(cell + 1) * MESH, MESH, law, 0.0, 0.0), rounds)], LossGrid(500.0, round(1000 / MESH))
    )
    return root(lambda at: composed.delta(at) - RESPONSE_DELTA, 0.0, 500.0, xtol=1e-12)


def atoms(full: bool, say: Say) -> Table:
    """Return three answers for epsilon against rounds: certified, by PRV, and by the estimate of :func:`split`."""
    table = Table()
    for rounds in spread(full, 30, 30_000, 10, 3):
        say(f"{rounds} rounds")
        plan = Plan([Round(RandomizedResponse(RESPONSE), count=rounds)], "replace-one")
        for method, found in (
            (CERTIFIED, ask(plan, "epsilon", RESPONSE_DELTA)),
            (CENTRE, ask(plan, "epsilon", RESPONSE_DELTA, "prv", mesh=MESH)),
        ):
            table.add(method=method, rounds=rounds, lower=found.lower, value=found.value, estimate=found.estimate)
        table.add(method=SPLIT, rounds=rounds, value=split(rounds))
    return table


def atom_panels(table: Table) -> Sequence[Panel]:
    """Return the panel of half the width of PRV's interval and of the errors of the estimates, against rounds."""
    prv = table.where(method=CENTRE)
    rounds, ends = prv.numbers("rounds"), zip(prv.numbers("lower"), prv.numbers("value"), strict=True)
    half = line("prv, half the width", rounds, [0.5 * (upper - lower) for lower, upper in ends])
    errors = off(table, "rounds", (CENTRE, SPLIT), lambda value, true: abs(value - true))
    reach = (rounds[0], rounds[-1])
    guides = [
        Line("$\\sqrt{k}\\,h$", reach, [math.sqrt(k) * MESH for k in reach]),
        Line("$kh^2$", reach, [k * MESH**2 for k in reach]),
    ]
    return [Panel(ROUNDS, "distance from the true $\\varepsilon$", [half, *errors], None, "log", "log", guides=guides)]


EXPERIMENTS = (
    Experiment("laws", "Width of epsilon against points and time", SOURCE, laws, law_panels, 2, 3.0),
    Experiment("atoms", "The bound of Theorem 5.5 where laws have atoms", SOURCE, atoms, atom_panels),
)
"""Experiments on the width and the cost of the methods."""
