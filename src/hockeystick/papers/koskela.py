"""Figures and Table 1 of Koskela, Jalko, Honkela 2020 [KJH20], Computing Exact Guarantees for Differential Privacy.

All are from the first version of the paper.

- Table 1, all twenty cells: epsilon at delta 1e-6 after 10,000 rounds at rate 0.01, with noise 1 and 2. The number of
  points n or the half-width L of the window grows.
- Figures 1 and 2: rate 0.01, noise 1, 2 and 3, up to 4,000 rounds, L = 20, n = 5e6. Figure 1 is for add/remove, and
  compares with TensorFlow's moments accountant. Figure 2 is for substitution, and compares with the Renyi accountant of
  Wang, Balle, Kasiviswanathan 2019 [WBK19].

The published epsilons of Table 1 have two errors (``koskela_table.py``). First, one sample of the density lies below
the smallest possible loss, where the density is 0: the spurious sample. Second, Newton's iteration stops once the
residual in delta is small, even if the error in epsilon is large. The table repeats the published procedure and
separates these errors:

    published - truth = (published - procedure) + from_stopping + from_spurious + root_error.

Here ``procedure`` is the epsilon at which the repeated procedure stops. The last three terms are the errors from early
stopping, from the spurious sample, and from all other causes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hockeystick.papers.experiment import Experiment, Method, Say, Setting, answers, off, panel, spread
from hockeystick.papers.koskela_table import Iterate, Samples, composed, newton
from hockeystick.papers.table import Table
from hockeystick.plot import Line, Panel
from hockeystick.plot.panel import Scale
from hockeystick.plot.plans import EPSILON, ROUNDS

SOURCE = "Koskela, Jälkö, Honkela 2020 [KJH20]"  # citation of the figures
RATE, TARGET, ROUNDS_OF_TABLE = 0.01, 1e-6, 10_000  # sample rate, delta, and rounds of Table 1
NOISES = (1.0, 2.0, 3.0)  # noise multipliers of the figures
NOISES_OF_TABLE = NOISES[:2]  # noise multipliers of Table 1
LENGTH, POINTS = 20.0, 5_000_000  # L and n of Figures 1 and 2
EPSILON_AT = f"{EPSILON} at $\\delta$ = 10$^{{-6}}$"


MOMENTS = Method("moments accountant", "rdp", lambda setting: {"orders": 32})
"""The moments accountant of TensorFlow: whole moments up to the 32nd, and Markov's inequality."""

SUBSAMPLED_RENYI = Method("Renyi accountant", "rdp", batches=True)
"""The accountant of Wang, Balle, Kasiviswanathan 2019 [WBK19], for batches of a fixed size without replacement."""

RESIDUAL = 1e-9
"""Residual in delta at which the iteration stops; 3.35e-10 to 1.22e-9 give the same twenty published values."""

POINTS_OF_TABLE = 4_000_000  # number of points in the left half of the table, where L varies
BY_LENGTH: Mapping[float, tuple[float, float]] = {
    2.5: (2.49628225, 2.34124153),
    5.0: (4.97128256, 2.44670580),
    10.0: (6.90737515, 2.44670554),
    20.0: (6.90735948, 2.44670515),
    40.0: (6.90733782, 2.44670417),
}
"""Left half of Table 1: published epsilons for noise 1 and 2, by L."""

BY_POINTS: Mapping[int, tuple[float, float]] = {
    500_000: (7.05132200, 2.44669858),
    1_000_000: (6.98037918, 2.44670204),
    2_000_000: (6.90733788, 2.44670423),
    4_000_000: (6.90735948, 2.44670515),
    8_000_000: (6.90738305, 2.44670559),
}
"""Right half of Table 1: published epsilons for noise 1 and 2, by n."""

PUBLISHED: Mapping[tuple[float, int, float], float] = {
    (noise, points, length): value
    for points, length, row in (
        *((POINTS_OF_TABLE, length, row) for length, row in BY_LENGTH.items()),
        *((points, LENGTH, row) for points, row in BY_POINTS.items()),
    )
    for noise, value in zip(NOISES_OF_TABLE, row, strict=True)
}
"""Published epsilons of Table 1 by noise, n and L: eighteen distinct cells, since the two halves share one row."""


class Followed(NamedTuple):
    """Repetition of the published procedure for one cell of Table 1.

    Attributes:
        samples: samples of the loss of one round.
        steps: iterates of the procedure, continued until they converge.
        own_root: epsilon to which the procedure converges without the spurious sample.
    """

    samples: Samples
    steps: list[Iterate]
    own_root: float

    @property
    def stopped(self) -> Iterate:
        """Iterate at which the published procedure stopped."""
        return next(step for step in self.steps if abs(step.residual) <= RESIDUAL)

    @property
    def before(self) -> Iterate:
        """Last iterate before :attr:`stopped`."""
        return self.steps[self.steps.index(self.stopped) - 1]

    @property
    def root(self) -> float:
        """Epsilon to which the iterates converge."""
        return self.steps[-1].epsilon


def follow(noise: float, points: int, length: float) -> Followed:
    """Repeat the procedure for one cell of Table 1, to far more digits than were published."""
    samples = Samples.of(noise, RATE, length, points)
    published, own = (newton(tail, TARGET, length) for tail in composed(samples, ROUNDS_OF_TABLE))
    return Followed(samples, published, own[-1].epsilon)


def table_1(full: bool, say: Say) -> Table:
    """Return every printed cell of Table 1, with its errors.

    First n varies at L = 20, then L varies at n = 4,000,000. At the small size, each half has only two rows.

    ``procedure`` is the epsilon at which the repeated procedure stops.
    """
    table = Table()
    by_points = [(n, LENGTH) for n in (BY_POINTS if full else list(BY_POINTS)[:2])]
    by_length = [(POINTS_OF_TABLE, length) for length in (BY_LENGTH if full else list(BY_LENGTH)[:4:3])]
    for half, cells in (("n", by_points), ("L", by_length)):
        for noise in NOISES_OF_TABLE:
            for points, length in cells:
                say(f"noise {noise:g}, n = {points}, L = {length:g}")
                _entry(table, half, noise, points, length)
    return table


def _entry(table: Table, half: str, noise: float, points: int, length: float) -> None:
    plan = Setting(noise, RATE, ROUNDS_OF_TABLE).plan("add-or-remove")
    followed = follow(noise, points, length)
    procedure, published = followed.stopped.epsilon, PUBLISHED[noise, points, length]
    certified = plan.epsilon(TARGET, gap=1e-10)
    truth = certified.estimate
    delta = plan.delta(published, gap=1e-9)
    table.add(
        half=half,
        noise_multiplier=noise,
        points=points,
        length=length,
        published=published,
        procedure=procedure,
        lower=certified.lower,
        upper=certified.upper,
        published_error=published - truth,
        published_less_procedure=published - procedure,
        from_stopping=procedure - followed.root,
        from_spurious=followed.root - followed.own_root,
        root_error=followed.own_root - truth,
        procedure_error=procedure - truth,
        procedure_root_error=followed.root - truth,
        published_delta_lower=delta.lower,
        published_delta_upper=delta.upper,
    )


def estimate(full: bool) -> Method:
    """Return the published method, which samples the density on the published window.

    At the small size, the mesh is ten times coarser.
    """
    points = POINTS if full else POINTS // 10
    return Method("fourier", options=lambda setting: {"length": LENGTH, "points": points, "rounding": 0})


def _by_noise(opponent: Method, adjacency: str, full: bool, say: Say) -> Table:
    counts = spread(full, 100, 4000, 9, 2, logarithmic=False)
    settings = [Setting(noise, RATE, k, adjacency) for noise in NOISES for k in counts]
    return answers((opponent, Method("rdp"), estimate(full)), settings, [("epsilon", TARGET)], say)


def figure_1(full: bool, say: Say) -> Table:
    """Return epsilon against rounds, up to 4,000, if one record is added or removed."""
    return _by_noise(MOMENTS, "remove", full, say)


def figure_2(full: bool, say: Say) -> Table:
    """Return epsilon against rounds, up to 4,000, if one record is substituted.

    The Renyi accountant assumes batches of a fixed size.
    """
    return _by_noise(SUBSAMPLED_RENYI, "replace-one", full, say)


def panels_table(table: Table) -> Sequence[Panel]:
    """Return panels of the distance from the true epsilon, for each half of Table 1 and each noise multiplier.

    The lines are the published values, the repeated procedure, the exact root of the equation that the procedure
    solves, and the root without the spurious sample.
    """
    out = []
    for half, x, xlabel in (("n", "points", "points $n$ at $L$ = 20"), ("L", "length", "half-width $L$ of the window")):
        for noise in NOISES_OF_TABLE:
            own = table.where(half=half, noise_multiplier=noise)
            shown = []
            for label, name, style in (
                ("published procedure", "procedure_error", "rdp"),
                ("its root", "procedure_root_error", "connect-the-dots"),
                ("without the spurious sample", "root_error", "prv"),
                ("published", "published_error", "fourier"),
            ):
                errors = [abs(value) for value in own.numbers(name)]
                shown.append(Line(label, own.numbers(x), errors, style=style))
            xscale: Scale = "log" if half == "n" else "linear"
            title = f"noise {noise:g}"
            out.append(Panel(xlabel, "distance from $\\varepsilon$", shown, None, xscale, "log", title=title))
    return out


def panels_by_noise(table: Table) -> Sequence[Panel]:
    """Return, for each noise multiplier, a panel of epsilon and a panel of the relative errors of the methods.

    An error is relative to the certified epsilon.
    """
    above, below = [], []
    for noise in table.values("noise_multiplier"):
        own = table.where(noise_multiplier=noise)
        reach = (0.0, max(own.numbers("rounds")))
        above.append(panel(own, "rounds", EPSILON_AT, xlim=reach, ylim=(0, None), title=f"noise {noise:g}"))
        labels = [line.label for line in above[-1].lines]
        errors = off(own, "rounds", labels, lambda value, true: abs(value / true - 1))
        below.append(Panel(ROUNDS, "relative error of $\\varepsilon$", errors, yscale="log", xlim=reach))
    return [*above, *below]


EXPERIMENTS = (
    Experiment("koskela-table", "Convergence in n and L (Table 1)", SOURCE, table_1, panels_table, 2, 3.0),
    Experiment(
        "koskela-1", "Add/remove beside the moments accountant (Figure 1)", SOURCE, figure_1, panels_by_noise, 3, 2.3
    ),
    Experiment(
        "koskela-2", "Substitution beside the Renyi accountant (Figure 2)", SOURCE, figure_2, panels_by_noise, 3, 2.3
    ),
)
"""Experiments of the paper."""
