"""Sweeps: one question about a plan at every point of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import islice, product
from typing import Any

from hockeystick.plan.plan import Plan
from hockeystick.questions.sweeps.grid import DELTA, grid_of
from hockeystick.questions.sweeps.question import Row, question_of
from hockeystick.questions.sweeps.table import Sweep, sweep_of
from hockeystick.questions.targets import Target
from hockeystick.values.domains import unmet

TOGETHER = 2048  # points answered at once, after which progress is reported

Told = Callable[[int, int], None]
"""Function called with the number of finished rows and the total."""


def sweep(
    template: Plan,
    grid: Mapping[str, Any],
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    target: float | Target | None = None,
    parameter: str | None = None,
    gap: float | None = None,
    progress: Told = lambda done, of: None,
) -> Sweep:
    """Answer one question about a plan at every point of a grid, as a table of certified intervals.

    Args:
        template: plan whose parameters vary; its epochs stay, and steps derive from the batch size.
        grid: values by name: the parameters of ``calibrate``, and ``delta``. All combinations are computed; the last
            name changes fastest.
        delta: delta at which epsilon is wanted; the plan's own by default.
        epsilon: epsilon at which delta is wanted instead.
        target: target that the value of ``parameter`` must meet: an epsilon (at the delta of each point), or one of
            ``hockeystick.targets``.
        parameter: parameter calibrated to a target; ``"noise-multiplier"`` by default.
        gap: requested relative width of the intervals.
        progress: function called with the number of finished rows and the total.

    Returns:
        The table; the row of a point without an answer has a ``reason``. A row does not depend on the other points, to
        the last bit.

    Raises:
        InvalidInputError: the grid or the question is invalid.

    >>> import hockeystick as hs
    >>> plan = hs.dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=15, delta=1e-5)
    >>> found = sweep(plan, {"noise_multiplier": [0.8, 1.2], "epochs": [15, 30]})
    >>> [f"{row['noise_multiplier']} {row['steps']} {hs.UpperBound(row['upper'], 'auto'):.4f}" for row in found.rows]
    ['0.8 3525 2.2720', '0.8 7050 3.1739', '1.2 3525 0.9813', '1.2 7050 1.4192']
    """
    if not isinstance(template, Plan):
        raise unmet("template", "must be a Plan", template)
    given: Any = grid
    has_delta = isinstance(given, Mapping) and DELTA in given
    question = question_of(template, has_delta, delta, epsilon, target, parameter, gap)
    axes = grid_of(template, grid, None if question.target is None else question.free)
    points = (dict(zip(axes, each, strict=True)) for each in product(*axes.values()))
    total = math.prod(map(len, axes.values()))
    rows: list[Row] = []
    progress(0, total)
    while some := list(islice(points, TOGETHER if question.target is None else 1)):
        rows += question.rows(template, some)
        progress(len(rows), total)
    return sweep_of(template, axes, question, rows)
