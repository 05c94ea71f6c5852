"""Figures of Connect-the-Dots: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022 [DGK+22], and its announcement.

The first figure is on DP-SGD with noise 0.5, rate 2e-5 and delta 1e-8. It shows epsilon and running time against the
number of rounds, for Renyi, privacy buckets, PRV and connect-the-dots.

The "privacy buckets" of the announcement round every loss up to a grid and compose by a plain Fourier transform.
:func:`buckets` computes them. :func:`corrected` adds the real and virtual errors, which correct the rounding of the
losses. The accountant ``privacy-buckets`` instead composes its law with itself repeatedly, and charges the rounding of
every transform to delta, so that beyond some 12,000 rounds it has no answer. Connect-the-dots uses the gap 1e-3 between
grid points, ten times the gap of the buckets.

The second figure is on Gaussian noise. Its first panel shows the hockey-stick divergence as the area
between the density of P and e^eps times the density of Q, where P is above. Its second panel shows the divergence as a
function of e^eps, exactly and discretised by both methods on one grid. Connect-the-dots connects the points of the
exact curve at the grid by straight lines. The connected curve is the divergence of a law supported on the grid, shown
in the third panel. The method composes this law.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hockeystick.accountants.fourier import Composed
from hockeystick.accountants.shared.buckets import Buckets, Correction
from hockeystick.accountants.shared.loss_grid import LossGrid, rounded
from hockeystick.directions.directions import compositions
from hockeystick.numerics.fourier import convolution_power, fast_length
from hockeystick.papers.experiment import Experiment, Method, Say, Setting, add, answers, bracket, lines, spread, timed
from hockeystick.papers.table import Table
from hockeystick.plot import Bracket, Line, Mark, Panel
from hockeystick.plot.plans import EPSILON, ROUNDS
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
"""Published methods under their names here, with their options."""

INTERVAL = 1e-3  # gap of the announcement's grid of losses
BUCKETS = "buckets, plain transform"  # label of the announcement's privacy buckets
TILT = 2.5  # exponential tilt of the masses in :func:`corrected`
GRID, LENGTH = 1e-4, 20.0  # gap and half-width of the grid of losses of the announcement's buckets
CORRECTED = "buckets with error correction"  # label of the buckets with real and virtual errors
STYLES = {BUCKETS: "gdp", CORRECTED: "fourier"}  # accountant whose style each label uses


def compute(full: bool, say: Say) -> Table:
    """Return the answer and the running time of every method at every number of rounds."""
    settings = [Setting(NOISE, RATE, k) for k in spread(full, 1000, 100_000 if full else 20_000, 9, 2)]
    table = answers(METHODS, settings, [("epsilon", TARGET)], say, 2)
    for setting in settings:
        for label, ask in ((BUCKETS, lambda given: (math.nan, buckets(given))), (CORRECTED, corrected)):
            say(f"{label}, {setting.rounds} rounds")
            start = time.perf_counter()
            lower, upper = ask(setting)
            seconds = round(time.perf_counter() - start, 6)
            question = ("epsilon", TARGET)
            add(table, label, f"grid={GRID:g}", setting, question, lower=lower, value=upper, seconds=seconds)
    return table


def buckets(setting: Setting, gap: float = GRID) -> float:
    """Return epsilon, computed from losses that are rounded up to a grid.

    The rounding error of the Fourier transform is not charged to delta.
    """
    ((_, composition),) = compositions(setting.plan().directions)
    grid = LossGrid(LENGTH, round(2 * LENGTH / gap))
    up = Composed.of([(rounded(pair, grid, Side.ABOVE), count) for pair, count in composition.rounds], grid)
    low, high = 0.0, LENGTH
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if up.delta(middle)[0] + up.lost > TARGET else (low, middle)
    return high


def corrected(setting: Setting) -> tuple[float, float]:
    """Return both ends of epsilon by buckets with real and virtual errors.

    The grid is the same as for :func:`buckets`, with gap h. The mass at ``i h`` is multiplied by ``e^(t i h)`` before
    the Fourier transform and divided by it afterwards. The rounding of the transform, which is charged to delta, is
    then small compared with delta. Mass that wraps around the circle of the transform is not charged. For larger t, the
    mass of two large losses that wraps around would matter.
    """
    ((_, composition),) = compositions(setting.plan().directions)
    ((pair, rounds),) = composition.rounds
    half, t = round(LENGTH / GRID), TILT
    ends = []
    for side in Side:
        one = Buckets.of(pair, GRID, half, side, True)
        assert one.correction is not None
        (mass, error), (lifted, more) = (power(each, rounds, half, t) for each in (one.mass, one.correction.mass))
        infinite = 1 - (1 - one.infinite) ** rounds
        low, high = 0.0, LENGTH
        while high - low > 1e-9:
            middle = 0.5 * (low + high)
            beyond = math.exp(-t * middle) / -math.expm1(-t * GRID)  # sum of the inverse tilts of all losses above
            own = Correction(lifted, more * beyond)
            law = Buckets(GRID, mass, infinite, error * beyond, 0.0, side, rounds, own)
            low, high = (middle, high) if law.log_delta(middle) > math.log(TARGET) else (low, middle)
        ends.append(low if side is Side.BELOW else high)
    return min(ends), max(ends)


def power(mass: npt.NDArray[np.float64], count: int, half: int, t: float) -> tuple[npt.NDArray[np.float64], float]:
    """Return the masses after ``count`` rounds, shape (2 half + 1,), and a bound on the error of each.

    The masses lie at the grid points ``-half .. half``; sums of losses wrap around a circle of ``2 half`` points. The
    bound is for masses that are still multiplied by ``e^(t i h)``, with h the gap of the grid.
    """
    losses = GRID * np.arange(-half, half + 1, dtype=np.float64)
    with np.errstate(divide="ignore"):
        tilted = np.exp(np.log(mass) + t * losses)
    found = convolution_power([(tilted, count)], fast_length(2 * half))
    turned = np.roll(found.values, (found.origin - count * half + half) % len(found.values))
    scale = math.exp(found.log_scale)
    error = (found.error + 2 * found.scale_error * float(np.abs(turned).max())) * scale
    back = np.append(np.maximum(turned[: 2 * half], 0.0) * scale * np.exp(-t * losses[:-1]), 0.0)
    return np.where(losses > 0, back, 0.0), error


def panels(table: Table) -> Sequence[Panel]:
    """Return a panel of epsilon and a panel of the running time, each against the number of rounds."""
    ylabel = f"{EPSILON} at $\\delta$ = 10$^{{-8}}$"
    above = Panel(ROUNDS, ylabel, lines(table, "rounds", STYLES), bracket(table, "rounds"), "log", ylim=(0, None))
    return [above, Panel(ROUNDS, "time of one question (s)", timed(table, STYLES), None, "log", "log")]


SHOWN_NOISE, SHOWN_EPSILON, SHOWN_GAP = 1.0, 0.5, 0.5  # noise, epsilon and distance of the dots in the pictures
TRUE, DOTS, BUCKETED = "hockey-stick divergence", "connect-the-dots", "privacy-buckets"

P_NAME, Q_NAME = "density of P", "e^eps times that of Q"  # labels of two densities


def pictures(full: bool, say: Say) -> Table:
    """Return densities of P and of e^eps Q, and three curves of delta: exact, by dots, by buckets."""
    from scipy.stats import norm

    table = Table()
    many = 161 if full else 21
    for x in np.linspace(-3.0, 4.0, many):
        p, q = float(norm.pdf(x - 1 / SHOWN_NOISE)), math.exp(SHOWN_EPSILON) * float(norm.pdf(x))
        for curve, y in ((P_NAME, p), (Q_NAME, q)):
            table.add(picture="divergence", curve=curve, x=float(x), y=y)
    grid = SHOWN_GAP * np.arange(-8.0, 9.0, dtype=np.float64)
    for epsilon in np.linspace(-1.0, 2.5, many):
        for curve, y in (
            (TRUE, divergence(np.array([epsilon]))[0]),
            (DOTS, connected(grid, float(epsilon))),
            (BUCKETED, bucketed(grid, float(epsilon))),
        ):
            table.add(picture="curve", curve=curve, x=float(epsilon), y=float(y))
    for loss in np.linspace(-4.0, 4.0, many):
        density = float(norm.pdf(loss, loc=0.5 / SHOWN_NOISE**2, scale=1 / SHOWN_NOISE))
        table.add(picture="law", curve=TRUE, x=float(loss), y=density)
    for loss, mass in zip(grid, masses(grid), strict=True):
        table.add(picture="law", curve=DOTS, x=float(loss), y=float(mass) / SHOWN_GAP)
    return table


def masses(grid: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the masses of the law that connect-the-dots composes, at the points of a grid, shape (points,).

    The divergence of this law is the curve of connected dots. As a function of ``x = e^eps`` it is ``sum p_i (1 - x /
    x_i)_+``: its slope grows by ``p_i / x_i`` at dot i. The divergence at the last dot is the mass at infinity, which
    is not returned.
    """
    x, delta = np.append(0.0, np.exp(grid)), np.append(1.0, divergence(grid))
    slopes = np.append(np.diff(delta) / np.diff(x), 0.0)
    return np.asarray(x[1:] * np.diff(slopes))


def divergence(epsilon: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return delta of one round of Gaussian noise at each epsilon, in closed form."""
    from scipy.stats import norm

    mu = 1 / SHOWN_NOISE
    return np.asarray(norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def connected(grid: npt.NDArray[np.float64], epsilon: float) -> float:
    """Return delta at ``epsilon``, interpolated linearly in e^eps between neighbouring points of a grid."""
    return float(np.interp(math.exp(epsilon), np.exp(grid), divergence(grid)))


def bucketed(grid: npt.NDArray[np.float64], epsilon: float) -> float:
    """Return delta at ``epsilon``, computed from losses rounded up to a grid; losses above the grid become infinite."""
    from scipy.stats import norm

    mu = 1 / SHOWN_NOISE
    below = norm.cdf(grid, loc=mu * mu / 2, scale=mu)
    mass = np.diff(below, prepend=0.0)
    return float(1 - below[-1] + (mass * np.maximum(-np.expm1(epsilon - grid), 0.0)).sum())


def picture_panels(table: Table) -> Sequence[Panel]:
    """Return three panels: the divergence as an area, its curve by both methods, and the law of connect-the-dots.

    In the first panel, the area lies between the densities of P and e^eps Q. In the second, the curve is drawn over
    e^eps.
    """
    left = table.where(picture="divergence")
    p, q = (left.where(curve=curve) for curve in (P_NAME, Q_NAME))
    edges = [
        Line("P", p.numbers("x"), p.numbers("y"), style="prv"),
        Line("$e^\\varepsilon Q$", q.numbers("x"), q.numbers("y"), style="rdp"),
    ]
    between = [max(a, b) for a, b in zip(p.numbers("y"), q.numbers("y"), strict=True)]
    area = Bracket(p.numbers("x"), q.numbers("y"), between, "mass of P above $e^\\varepsilon Q$")
    right = table.where(picture="curve")
    lines_of = [
        Line(str(name), [math.exp(at) for at in own.numbers("x")], own.numbers("y"), style=style)
        for name, style in ((BUCKETED, BUCKETED), (DOTS, DOTS), (TRUE, "contour"))
        for own in [right.where(curve=name)]
    ]
    over = Panel(
        "$e^\\varepsilon$",
        "$\\delta$ (probability)",
        lines_of,
        title=f"dots {SHOWN_GAP:g} apart, and buckets",
        marks=False,
    )
    knots = SHOWN_GAP * np.arange(-2, 4, dtype=np.float64)
    dots = [Mark(float(x), float(y), "") for x, y in zip(np.exp(knots), divergence(knots), strict=True)]
    true, own = (table.where(picture="law", curve=curve) for curve in (TRUE, DOTS))
    stems = [
        (at, y) for at, mass in zip(own.numbers("x"), own.numbers("y"), strict=True) for y in (0.0, mass, math.nan)
    ]
    law = [
        Line("density of the loss", true.numbers("x"), true.numbers("y"), style="grid"),
        Line(DOTS, [at for at, _ in stems], [y for _, y in stems], style=DOTS),
    ]
    return [
        Panel("outcome", "density", edges, area, title=f"$\\varepsilon$ = {SHOWN_EPSILON:g}", marks=False),
        replace(over, lines=lines_of[1:], xlim=(0.0, 5.0), title="the dots, connected", points=dots),
        Panel("privacy loss", "density; mass over the gap", law, title="the law of the dots", marks=False),
        over,
    ]


EXPERIMENTS = (
    Experiment("dots", "Epsilon and running time", SOURCE, compute, panels),
    Experiment(
        "dots-pictures", "The divergence, discretised by dots and buckets", SOURCE, pictures, picture_panels, 2, 3.0
    ),
)
"""Experiments of the announcement."""
