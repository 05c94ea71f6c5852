"""Figures for use from Python: one or several plans in one figure, with a mark at the epsilon to quote.

Each function takes plans and returns a matplotlib figure. Notebooks show the figure, ``figure.savefig`` writes it to a
file, and :func:`hockeystick.plot.save` does so atomically. The extra ``plot`` installs matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any

from hockeystick.plan.plan import Plan, target_delta
from hockeystick.plot.draw import drawn
from hockeystick.plot.panel import Line, Mark, Panel
from hockeystick.plot.plans import (
    FEWER_POINTS,
    LEAST_DELTA,
    POINTS,
    curve_panel,
    reach,
    steps_panel,
    tradeoff_panel,
)
from hockeystick.plot.style import OTHERS
from hockeystick.values.domains import choice, cut, one_line, shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.outward import UP, rounded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COMPARED = ("rdp", "gdp", "prv")
"""Default accountants beside the certified band: the best-known one, an approximation by one number, and the numerical
accountant of most libraries. More lines are hard to tell apart.
"""

MOST_PLANS = len(OTHERS)  # largest number of plans in one figure
LABEL = 60  # longest label in the legend, in characters


def curve(
    *plans: Plan,
    delta: float | None = None,
    start: float | None = None,
    stop: float | None = None,
    points: int = POINTS,
    accountants: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> Figure:
    """Draw certified bounds on delta against epsilon, with a mark at each plan's delta and the epsilon to quote.

    Args:
        plans: one to six plans.
        delta: delta of the marks; by default the plan's own delta, and no mark for a plan without one.
        start: least epsilon; 0 by default.
        stop: largest epsilon; by default large enough that delta falls to 1e-12 for every plan.
        points: number of points at which delta is computed.
        accountants: accountants whose answers are drawn with the band; for a single plan only.
        labels: names of the plans in the legend, one for each plan.

    Raises:
        InvalidInputError: the number of plans or of labels is wrong, or accountants are given with several plans.
        UnsupportedError: a round has no proved dominating pair.
        HockeystickError: matplotlib is missing.

    >>> import hockeystick as hs
    >>> figure = curve(hs.dp_sgd(1.0, 0.01, 1000, delta=1e-5), stop=3.0, points=5)  # doctest: +SKIP
    """
    _some(plans)
    if stop is None and len(plans) > 1:  # all curves end where the longest one ends
        stop = max(reach(plan) for plan in plans)
    panels = [curve_panel(plan, start, stop, points, accountants if len(plans) == 1 else ()) for plan in plans]
    at = [plan.delta_target if delta is None else target_delta(delta) for plan in plans]
    marks = [_quoted(plan, target) for plan, target in zip(plans, at, strict=True) if target is not None]
    return _figure(panels, labels, accountants, marks)


def steps(
    *plans: Plan,
    delta: float | None = None,
    points: int = POINTS,
    accountants: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> Figure:
    """Draw epsilon against the number of rounds run, with a mark for the whole plan.

    Args:
        plans: one to six plans.
        delta: target delta; each plan's own by default.
        points: number of points at which epsilon is computed.
        accountants: accountants whose answers are drawn with the band; for a single plan only.
        labels: names of the plans in the legend, one for each plan.

    Raises:
        InvalidInputError: the number of plans or of labels is wrong, a plan has no delta, or the deltas differ.
        UnsupportedError: a round has no proved dominating pair.
        HockeystickError: matplotlib is missing.
    """
    panels = [steps_panel(plan, delta, points, accountants if len(plans) == 1 else ()) for plan in _some(plans)]
    if len({panel.ylabel for panel in panels}) > 1:
        raise InvalidInputError("the plans have different deltas, but a figure has one; pass delta", "delta")
    marks = []
    for panel in panels:
        assert panel.bracket is not None  # steps_panel has one
        marks.append(_mark(panel.bracket.x[-1], panel.bracket.upper[-1], panel.bracket.upper[-1]))
    return _figure(panels, labels, accountants, marks)


def tradeoff(
    *plans: Plan,
    logarithmic: bool = False,
    points: int = POINTS,
    labels: Sequence[str] = (),
) -> Figure:
    """Draw certified bounds on the two error rates of the best attack against each other, compared with guessing.

    Args:
        plans: one to six plans.
        logarithmic: True to show the true-positive rate instead, on logarithmic axes, as is usual for attacks.
        points: number of false-positive rates.
        labels: names of the plans in the legend, one for each plan.

    Raises:
        InvalidInputError: the number of plans or of labels is wrong.
        UnsupportedError: the adjacency compares the two datasets in one direction only.
        HockeystickError: matplotlib is missing.
    """
    panels = [tradeoff_panel(plan, logarithmic, points) for plan in _some(plans)]
    return _figure(panels, labels, (), [])


def compare(
    plan: Plan,
    accountants: Sequence[str] = COMPARED,
    start: float | None = None,
    stop: float | None = None,
    points: int = FEWER_POINTS,
) -> Figure:
    """Draw delta against epsilon as several accountants compute it, together with the certified band.

    Args:
        plan: what was run.
        accountants: names of the accountants.
        start: least epsilon; 0 by default.
        stop: largest epsilon; by default the epsilon at which delta is 1e-12.
        points: number of points at which delta is computed.

    Raises:
        InvalidInputError: no accountant is given, or one is unknown.
        UnsupportedError: a round has no proved dominating pair.
        HockeystickError: matplotlib is missing.
    """
    if not accountants:
        raise InvalidInputError("accountants must name at least one accountant to compare", "accountants")
    return curve(plan, start=start, stop=stop, points=points, accountants=accountants)


FIGURES: dict[str, Callable[..., Any]] = {"curve": curve, "steps": steps, "tradeoff": tradeoff, "compare": compare}
"""Figures by the names that ``plan.plot`` and the command line accept."""


def plotted(kind: str, *plans: Plan, **options: Any) -> Figure:
    """Draw a figure by name, for ``plan.plot`` and ``profile.plot``.

    Raises:
        InvalidInputError: the name or an option is unknown, or the figure refuses its arguments.
        UnsupportedError: no guarantee is proved for a round.
        HockeystickError: matplotlib is missing.
    """
    if kind == "compare" and len(plans) > 1:
        raise InvalidInputError(f"the figure 'compare' takes one plan; received {len(plans)}", "plans")
    name = str(kind).replace("-", "_")
    if name not in FIGURES:
        raise InvalidInputError(choice("kind", kind, list(FIGURES)), "kind")
    taken = [key for key in signature(FIGURES[name]).parameters if key not in ("plans", "plan")]
    for key in options:
        if key not in taken:
            raise InvalidInputError(
                f"the figure {name!r} has no option {shown(key)}; its options are {', '.join(taken)}", key
            )
    figure: Figure = FIGURES[name](*plans, **options)
    return figure


def _some(plans: Sequence[Plan]) -> Sequence[Plan]:
    for plan in plans:
        if not isinstance(plan, Plan):
            raise InvalidInputError(f"a figure takes plans; received {shown(plan)}", "plans")
    if not 1 <= len(plans) <= MOST_PLANS:
        raise InvalidInputError(f"a figure takes 1 to {MOST_PLANS} plans; received {len(plans)}", "plans")
    return plans


def _figure(
    panels: Sequence[Panel],
    labels: Sequence[str],
    accountants: Sequence[str],
    marks: Sequence[Mark],
) -> Figure:
    if isinstance(labels, str) or (labels and len(labels) != len(panels)):
        raise InvalidInputError(
            f"labels must have one label for each of {len(panels)} plans; received {shown(labels)}", "labels"
        )
    if len(panels) > 1 and accountants:
        raise InvalidInputError(
            "accountants can be drawn for a single plan only; leave them out of a figure of several"
        )
    first = panels[0]
    if len(panels) == 1:
        bracket = first.bracket
        if labels and bracket is not None:
            bracket = replace(bracket, label=literal(labels[0]))
        panel = replace(first, bracket=bracket, points=marks)
    else:
        named = [literal(text) for text in labels] or [f"plan {number}" for number in range(1, len(panels) + 1)]
        panel = replace(_together(panels, named), points=marks)
    return drawn([panel])


def _together(panels: Sequence[Panel], labels: Sequence[str]) -> Panel:
    """Combine panels into one that shows each certified band as two lines, its lower and its upper bound."""
    lines, first = list(panels[0].lines), panels[0]
    for number, (panel, label) in enumerate(zip(panels, labels, strict=True)):
        assert panel.bracket is not None  # every figure of a plan has a bracket
        band = panel.bracket
        unique = label if label not in labels[:number] else f"{label} ({number + 1})"
        lines.append(Line(unique, band.x, band.upper, band.lower, style=f"plan {number + 1}"))
    ends = [panel.xlim for panel in panels if panel.xlim is not None]
    floors = [panel.ylim[0] for panel in panels if panel.ylim[0] is not None]
    xlim = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None
    low = min(floors, default=None)
    if low is not None and first.yscale == "log":  # the deepest plan sets the lower edge
        low = min(max(low, LEAST_DELTA / 3), max(floors))
    return replace(first, lines=lines, bracket=None, xlim=xlim, ylim=(low, first.ylim[1]))


def _quoted(plan: Plan, delta: float) -> Mark:
    epsilon = plan.epsilon(delta).upper
    return _mark(epsilon, delta, epsilon)


def with_quoted(panel: Panel, plan: Plan, delta: float | None = None) -> Panel:
    """Return the panel with a mark at ``delta`` and the epsilon to quote for it.

    Args:
        panel: panel of the plan's delta against epsilon.
        plan: what was run.
        delta: delta of the mark; by default the plan's own, and no mark if the plan has none.

    Raises:
        InvalidInputError: delta is outside (0, 1).
        UnsupportedError: a round has no proved dominating pair.
    """
    at = plan.delta_target if delta is None else target_delta(delta)
    return panel if at is None else replace(panel, points=[_quoted(plan, at)])


def _mark(x: float, y: float, epsilon: float) -> Mark:
    return Mark(x, y, f"$\\varepsilon$ \u2264 {rounded(epsilon, '.3g', UP)}")


def literal(text: str) -> str:
    """Return a text with its dollar signs escaped, since matplotlib would take the text between them for mathematics.

    >>> literal("a $b$")
    'a \\\\$b\\\\$'
    """
    return cut(one_line(str(text)), LABEL).replace("$", "\\$")
